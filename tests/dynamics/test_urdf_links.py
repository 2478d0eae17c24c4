"""Links of URDF files that are no bodies of their own: merged, filled, renamed."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.io import (
    ImplausibleInertiaWarning,
    MergedLinkWarning,
)

from .robots import (
    joint,
    joint_inertia,
    link,
    load,
    pose_of_frame,
    random_urdf,
    robot,
    rpy_matrix,
)


def test_a_fixed_link_without_mass_is_merged_and_keeps_its_frame(tmp_path):
    text = robot(
        link("arm", 1.0, (0.5, 0, 0)),
        link("tool", mass=0),
        joint("mount", "fixed", "arm", "tool", (1, 0, 0), (0, 0, np.pi / 2)),
    )
    mech = load(tmp_path, text, quiet=False)  # without a warning
    model = mech.finalize()

    assert mech.report.changed == {"merged into 'arm'": ["tool"]}

    assert list(mech.bodies) == ["arm"] and not mech.joints
    x, R = pose_of_frame(mech, model.initial_state(), model, "tool")
    np.testing.assert_allclose(x, [1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(R, rpy_matrix((0, 0, np.pi / 2)), atol=1e-15)


def test_a_root_without_mass_takes_the_name_of_what_is_fixed_to_it(tmp_path):
    text = robot(link("base", mass=0), link("trunk", 3.0),
                 joint("j", "fixed", "base", "trunk", (0, 0, 1)))  # fmt: skip
    mech = load(tmp_path, text)
    model = mech.finalize()
    state = model.initial_state()

    assert list(mech.bodies) == ["trunk"]
    np.testing.assert_allclose(pose_of_frame(mech, state, model, "base")[0], 0, atol=1e-15)
    np.testing.assert_allclose(pose_of_frame(mech, state, model, "trunk")[0], [0, 0, 1])


def test_merged_links_have_the_mass_and_inertia_of_the_whole(tmp_path):
    # Two points of 1 kg (almost) at x = 0 and x = 2: 2 kg at 1, and 2 kg m^2 across.
    tiny = (1e-9, 1e-9, 1e-9)
    text = robot(link("a", 1.0, inertia=tiny), link("b", 1.0, inertia=tiny),
                 joint("j", "fixed", "a", "b", (2, 0, 0)))  # fmt: skip
    mech = load(tmp_path, text, merge_fixed=True)
    body = mech.bodies["a"]

    assert body.mass == 2.0
    np.testing.assert_allclose(body.inertia, np.diag([2e-9, 2 + 2e-9, 2 + 2e-9]), atol=1e-15)
    np.testing.assert_array_equal(mech.frames["a"].position, [-1, 0, 0])


@pytest.mark.parametrize("merge_fixed", [False, True])
def test_merging_leaves_the_motion_as_it_is(tmp_path, merge_fixed):
    text = random_urdf(9, 5)
    mech = load(tmp_path, text, merge_fixed=merge_fixed)
    other = load(tmp_path, text, merge_fixed=not merge_fixed)
    model, reference = mech.finalize(), other.finalize()
    names = [name for name, one in mech.joints.items() if one.n_coordinates]
    at = dict(zip(names, np.linspace(-1, 1, len(names))))

    H, K = (joint_inertia(one, at) for one in (model, reference))
    np.testing.assert_allclose(H, K, atol=1e-13 * abs(K).max())


def test_a_link_without_mass_that_moves_is_refused_by_name(tmp_path):
    text = robot(link("a"), link("ghost", mass=0), joint("j", "continuous", "a", "ghost"))
    with pytest.raises(ValueError, match="link 'ghost' moves and has no mass"):
        load(tmp_path, text)


def test_a_link_without_mass_is_a_small_ball_where_one_is_asked_for(tmp_path):
    point = link("point", 2.0, inertia=(0, 0, 0))
    text = robot(link("a"), link("ghost", mass=0), joint("j", "continuous", "a", "ghost"),
                 point, joint("k", "continuous", "ghost", "point"))  # fmt: skip
    with pytest.warns(MergedLinkWarning, match="a ball of radius 0.01 m: 'ghost', 'point'"):
        mech = load(tmp_path, text, quiet=False, least_radius=0.01)
    ball = dy.Sphere(0.01, density=1000.0)

    assert mech.bodies["ghost"].mass == pytest.approx(ball.mass, rel=1e-15)
    np.testing.assert_allclose(mech.bodies["ghost"].inertia, ball.inertia, rtol=1e-15)
    np.testing.assert_allclose(mech.bodies["point"].inertia, 0.4 * 2 * 1e-4 * np.eye(3))
    with pytest.raises(ValueError, match="least_radius must be positive"):
        load(tmp_path, text, least_radius=0.0)


def test_a_floating_root_without_mass_is_refused_with_the_way_out(tmp_path):
    text = robot(link("base", mass=0), link("a"), joint("j", "continuous", "base", "a"))
    with pytest.raises(ValueError, match="moves and has no mass: .*fixed', for it is the root"):
        load(tmp_path, text)
    assert list(load(tmp_path, text, base="fixed").bodies) == ["a"]


def test_a_fixed_base_with_mass_is_a_body_welded_to_the_world(tmp_path):
    mech = load(tmp_path, robot(link("a", 2.0)), base="fixed")
    model = mech.finalize(0.01)
    trajectory = dy.simulate(model, model.initial_state(), 0.05)

    np.testing.assert_allclose(trajectory.final.pose[0], [0, 0, 0, 1, 0, 0, 0], atol=1e-12)
    assert trajectory.reaction("world-a")[-1, 2] == pytest.approx(2.0 * 9.81, rel=1e-9)


def test_an_inertia_with_a_negative_moment_is_refused_by_the_name_of_its_link(tmp_path):
    # moments 1 +- 2: products of inertia that are larger than the moments; a fixed empty link
    # does not take the blame
    bad = link("bad", inertia=[[1, 2, 0], [2, 1, 0], [0, 0, 1]])
    text = robot(bad, link("shell", mass=0), joint("glue", "fixed", "bad", "shell"))
    for options in ({}, {"least_radius": 0.1}):
        with pytest.raises(ValueError, match=r"link 'bad' has .* moments \[-(1|0.9).* negative"):
            load(tmp_path, text, **options)


@pytest.mark.parametrize("seed", range(8))
def test_no_inertia_about_an_axis_is_none_in_any_frame(tmp_path, seed):
    # 0 is some 1e-17 there, of either sign
    rpy = np.random.default_rng(seed).uniform(-3, 3, 3)
    rod = link("rod", 1.0, (0, 0, 0), rpy, (0.1, 0.1, 0.0))
    text = robot(rod, link("b"), joint("j", "continuous", "rod", "b", (0.1, 0.2, 0.3)))
    with pytest.raises(ValueError, match=r"link 'rod' moves and has no inertia about some axis"):
        load(tmp_path, text)


def test_inertia_of_no_rigid_body_is_kept_and_named(tmp_path):
    with pytest.warns(ImplausibleInertiaWarning, match="'odd'"):
        mech = load(tmp_path, robot(link("odd", inertia=(1.0, 1.0, 3.0))), quiet=False)
    assert mech.bodies["odd"].inertia[2, 2] == 3.0


def test_joints_that_are_made_take_no_names_of_the_file(tmp_path):
    # the joint that holds the base, and the cross of two hinges around a massless link
    text = robot(
        link("a"), link("b"), link("c", mass=0), link("d"),
        joint("world-a", "continuous", "a", "b", (0, 0, 1)),
        joint("i", "continuous", "b", "c", axis=(1, 0, 0)),
        joint("k", "continuous", "c", "d", axis=(0, 1, 0)),
        joint("i+k", "prismatic", "a", "e", (0, 1, 0)), link("e"),
    )  # fmt: skip
    mech = load(tmp_path, text, base="fixed")

    kinds = {name: one.kind for name, one in mech.joints.items()}
    assert kinds == {"world-a": "revolute", "i+k": "prismatic", "world-a 2": "fixed",
                     "i+k 2": "universal"}  # fmt: skip


def test_bodies_and_contacts_take_other_names_where_theirs_are_in_use(tmp_path):
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    text = robot(
        link("x", more=ball * 2), link("x body", more=ball), link("x body 2 2", more=ball),
        joint("x", "continuous", "x", "x body", (0, 0, 1)),
        joint("y", "continuous", "x", "x body 2 2", (0, 1, 1)),
    )  # fmt: skip
    mech = load(tmp_path, text, ground=True)

    assert list(mech.bodies) == ["x body 2", "x body", "x body 2 2"]
    contacts = [f"ground|{name}" for name in ("x body 2", "x body 2 2", "x body", "x body 2 2 2")]
    assert list(mech.contacts) == contacts
    with pytest.raises(ValueError, match=r"robot.urdf: joint 'world' has the name of the world"):
        load(tmp_path, robot(link("a"), link("b"), joint("world", "continuous", "a", "b")))


def test_a_fixed_link_may_be_called_ground(tmp_path):
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    text = robot(
        link("ground", mass=0, more=ball), link("a", more=ball),
        joint("j", "continuous", "ground", "a", (0, 0, 1)),
    )  # fmt: skip
    mech = load(tmp_path, text, base="fixed", collide=True, ground=True)

    assert mech.finalize().near.candidates.names == ("ground plane|a",)


def test_a_body_with_the_name_of_a_joint_is_renamed_and_named(tmp_path):
    text = robot(link("a"), link("hip"), joint("hip", "continuous", "a", "hip"))
    with pytest.warns(MergedLinkWarning, match="'hip body'"):
        mech = load(tmp_path, text, quiet=False)

    assert list(mech.bodies) == ["a", "hip body"] and "hip" in mech.joints
    assert mech.frames["hip"].body is mech.bodies["hip body"]


@pytest.mark.parametrize("mass", [0, 5.0])
@pytest.mark.parametrize("base", [None, "fixed"])
def test_a_root_called_world_is_the_world(tmp_path, base, mass):
    text = robot(
        link("world", mass), link("arm", 1.0, (0.5, 0, 0)),
        joint("j", "continuous", "world", "arm", (0, 0, 2), axis=(0, 1, 0)),
    )  # fmt: skip
    mech = load(tmp_path, text, base=base, position=(1, 0, 0))
    state = mech.finalize().initial_state()

    assert list(mech.bodies) == ["arm"] and mech.joints["j"].parent is mech.world
    assert mech.frames["world"].body is mech.world
    np.testing.assert_allclose(state.pose[0, :3], [1.5, 0, 2], atol=1e-15)


def test_a_root_called_world_floats_where_asked(tmp_path):
    text = robot(link("world"), link("arm"), joint("j", "continuous", "world", "arm"))
    mech = load(tmp_path, text, base="floating")

    assert list(mech.bodies) == ["world body", "arm"]
    assert mech.joints["j"].parent is mech.bodies["world body"]


@pytest.mark.parametrize("shape", ["box", "mesh", "two"])
def test_a_link_with_a_mass_alone_has_the_inertia_of_its_shapes(tmp_path, shape):
    # a box of 0.2 x 0.4 x 0.6, also as a mesh, or as two boxes on each other
    corners = np.array(list(np.ndindex(2, 2, 2))) * [0.2, 0.4, 0.6] + 0.1
    faces = [f"f {a} {b} {c}" for a in range(1, 9) for b in range(1, 9) for c in range(1, 9)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners.tolist()]
    (tmp_path / "box.obj").write_text("\n".join(lines + faces[:60]))
    half = (
        '<collision><origin xyz="0 0 {}"/><geometry><box size="0.2 0.4 0.3"/></geometry>'
        "</collision>"
    )
    text = {
        "box": '<collision><geometry><box size="0.2 0.4 0.6"/></geometry></collision>',
        "mesh": '<collision><geometry><mesh filename="box.obj"/></geometry></collision>',
        "two": half.format(0.15) + half.format(-0.15),
    }[shape]
    zero = '<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/>'
    path = tmp_path / "a.urdf"
    path.write_text(
        f'<robot name="a"><link name="b"><inertial><mass value="3"/>{zero}</inertial>{text}</link>'
        "</robot>"
    )
    with pytest.warns(MergedLinkWarning, match="inertia of their shapes: 'b'"):
        body = dy.load(path).bodies["b"]
    wanted = dy.Box(0.2, 0.4, 0.6, mass=3.0)
    assert body.mass == 3.0
    np.testing.assert_allclose(body.inertia, wanted.inertia, atol=1e-12)
