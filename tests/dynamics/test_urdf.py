"""URDF files to mechanisms: frames, masses, closures, and what is refused or left out."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.errors import InconsistentStateError
from dynamics.io import (
    ImplausibleInertiaWarning,
    LoadWarning,
    MergedLinkWarning,
    UnsupportedElementWarning,
)

from .robots import (
    falling,
    floating_slopes,
    joint,
    link,
    mass_matrix,
    moved,
    pose_of_frame,
    random_urdf,
    robot,
    slopes,
)

SHARED = Path(__file__).parents[3] / "shared" / "data" / "robots"
#: Sums and products of some ten transformations, each with a few roundings of numbers below 10.
ROUNDING = 1e-13


def load(tmp_path, text, quiet=True, **options):
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", LoadWarning)
        return dy.load(path, **options)


def rpy_matrix(rpy):
    return rotation.to_matrix(rotation.from_rpy(rpy))


# By hand


def test_a_body_has_its_frame_at_the_centre_of_mass_along_the_axes_of_its_link(tmp_path):
    # A quarter turn about z: the inertial frame's x axis is the link's y axis.
    quarter = (0.0, 0.0, np.pi / 2)
    mech = load(tmp_path, robot(link("a", 2.0, (0.1, 0.2, 0.3), quarter, (0.1, 0.2, 0.25))))
    state = mech.finalize().initial_state()

    assert mech.bodies["a"].mass == 2.0
    np.testing.assert_allclose(mech.bodies["a"].inertia, np.diag([0.2, 0.1, 0.25]), atol=1e-16)
    np.testing.assert_array_equal(state.pose[0], [0.1, 0.2, 0.3, 1, 0, 0, 0])
    np.testing.assert_array_equal(mech.frames["a"].position, [-0.1, -0.2, -0.3])


def test_a_hanging_arm_turns_about_the_axis_of_the_file(tmp_path):
    # The joint lies at (0, 0, 2) with x and z swapped by a turn about y: its z axis is the world's
    # x axis, so that the arm, which points along the joint's x axis (down), swings to the side.
    text = robot(
        link("base", mass=0),
        link("arm", 1.0, (0.5, 0, 0)),
        joint("hip", "revolute", "base", "arm", (0, 0, 2), (0, np.pi / 2, 0), (0, 0, 1)),
    )
    mech = load(tmp_path, text, base="fixed")
    model = mech.finalize()
    state = model.initial_state()
    np.testing.assert_allclose(state.pose[0, :3], [0, 0, 1.5], atol=1e-15)

    model.set_joint(state, "hip", np.pi / 2)
    np.testing.assert_allclose(state.pose[0, :3], [0, 0.5, 2.0], atol=1e-15)


def test_position_and_orientation_place_the_root_link(tmp_path):
    turn = rotation.from_axis_angle((0, 0, 1), np.pi / 2)
    text = robot(link("a", 1.0, (1.0, 0, 0)))
    mech = load(tmp_path, text, position=(0, 0, 3), orientation=turn)
    state = mech.finalize().initial_state()

    np.testing.assert_allclose(state.pose[0], [0, 1, 3, *turn], atol=1e-15)


@pytest.mark.parametrize(
    ("kind", "coordinates"),
    [("fixed", 0), ("revolute", 1), ("continuous", 1), ("prismatic", 1), ("planar", 3),
     ("floating", 6), ("spherical", 3), ("ball", 3)],
)  # fmt: skip
def test_every_type_of_joint_has_its_coordinates(tmp_path, kind, coordinates):
    mech = load(tmp_path, robot(link("a"), link("b"), joint("j", kind, "a", "b")))

    assert mech.joints["j"].n_coordinates == coordinates


def test_limits_damping_and_motors_are_kept(tmp_path):
    more = '<limit lower="-1" upper="2"/><dynamics damping="0.5"/>'
    motor = '<transmission name="t"><joint name="j"/></transmission>'
    text = robot(link("a"), link("b"), joint("j", "revolute", "a", "b", more=more), motor)
    hip = load(tmp_path, text).joints["j"]

    np.testing.assert_array_equal(hip.limits, [[-1, 2]])
    np.testing.assert_array_equal(hip.damping, [0.5])
    assert hip.actuated
    assert not load(tmp_path, text, actuated=False).joints["j"].actuated


def test_actuated_chooses_joints_by_name(tmp_path):
    text = robot(*(link(x) for x in "abc"), joint("p", "continuous", "a", "b"),
                 joint("q", "continuous", "b", "c"))  # fmt: skip

    assert load(tmp_path, text, actuated=["q"]).finalize().n_controls == 1
    assert load(tmp_path, text, actuated=True).finalize().n_controls == 2
    with pytest.raises(ValueError, match=r"actuated names no joint: \['r'\]"):
        load(tmp_path, text, actuated="r")


def test_a_limited_joint_starts_at_the_limit_next_to_zero(tmp_path):
    more = '<limit lower="0.3" upper="1"/>'
    text = robot(link("a"), link("b"), joint("j", "revolute", "a", "b", more=more))
    model = load(tmp_path, text).finalize()

    assert model.joint(model.initial_state(), "j")[0] == pytest.approx(0.3, abs=1e-15)


# Against products of matrices, and against Pinocchio


@pytest.mark.parametrize("seed", range(4))
def test_frames_of_all_links_are_the_products_of_transformations(tmp_path, seed):
    from xml.etree import ElementTree

    text = random_urdf(8, seed)
    mech = load(tmp_path, text)
    model = mech.finalize()
    rng = np.random.default_rng(seed)
    names = [name for name, one in mech.joints.items() if one.n_coordinates]
    at = dict(zip(names, rng.uniform(-1, 1, len(names))))
    state = moved(model, at)
    placed = {"link0": (np.zeros(3), np.eye(3))}
    for one in ElementTree.fromstring(text).iter("joint"):
        parent, child = one.find("parent").get("link"), one.find("child").get("link")
        xyz, rpy, axis = (
            np.array([float(x) for x in one.find(tag).get(key).split()])
            for tag, key in (("origin", "xyz"), ("origin", "rpy"), ("axis", "xyz"))
        )
        x, R = placed[parent]
        q = at.get(one.get("name"), 0.0)
        turn = np.eye(3)
        x, R = x + R @ xyz, R @ rpy_matrix(rpy)
        if one.get("type") == "prismatic":
            x = x + R @ axis * q
        else:
            turn = rotation.to_matrix(rotation.from_rotation_vector(q * axis))
        placed[child] = (x, R @ turn)

    for name, (x, R) in placed.items():
        ours, turned = pose_of_frame(mech, state, model, name)
        np.testing.assert_allclose(ours, x, atol=ROUNDING * 10)
        np.testing.assert_allclose(turned, R, atol=ROUNDING)


@pytest.mark.parametrize("seed", range(3))
def test_inertia_and_fall_of_trees_agree_with_pinocchio(tmp_path, seed):
    pin = pytest.importorskip("pinocchio", reason="Pinocchio (pip install pin) is not installed")
    text = random_urdf(8, seed)
    mech = load(tmp_path, text)
    model = mech.finalize()
    theirs = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
    data = theirs.createData()
    rng = np.random.default_rng(seed)
    q, at, order = pin.neutral(theirs), {}, list(range(6))
    for name, one in mech.joints.items():
        if one.n_coordinates:
            here = theirs.joints[theirs.getJointId(name)]
            at[name] = rng.uniform(-1, 1)
            turned = [np.cos(at[name]), np.sin(at[name])]
            q[here.idx_q : here.idx_q + here.nq] = at[name] if here.nq == 1 else turned
            order.append(here.idx_v)
    state = moved(model, at)
    x, R = pose_of_frame(mech, state, model, "link0")
    J = np.hstack([floating_slopes(state, x) @ np.kron(np.eye(2), R), slopes(model, at)])
    inertia = np.triu(pin.crba(theirs, data, q))
    inertia = inertia + np.triu(inertia, 1).T
    fall = J @ pin.aba(theirs, data, q, np.zeros(theirs.nv), np.zeros(theirs.nv))[order]
    pin.framesForwardKinematics(theirs, data, q)

    assert mech.mass == pytest.approx(pin.computeTotalMass(theirs), rel=1e-14)
    for name in mech.frames:
        place = data.oMf[theirs.getFrameId(name, pin.FrameType.BODY)]
        np.testing.assert_allclose(
            pose_of_frame(mech, state, model, name)[0], place.translation, atol=1e-9
        )
    np.testing.assert_allclose(
        J.T @ mass_matrix(model) @ J, inertia[np.ix_(order, order)], atol=1e-9 * inertia.max()
    )
    np.testing.assert_allclose(falling(model, state), fall, atol=1e-9 * abs(fall).max())


# Links that are no bodies


def test_a_fixed_link_without_mass_is_merged_and_keeps_its_frame(tmp_path):
    text = robot(
        link("arm", 1.0, (0.5, 0, 0)),
        link("tool", mass=0),
        joint("mount", "fixed", "arm", "tool", (1, 0, 0), (0, 0, np.pi / 2)),
    )
    with pytest.warns(MergedLinkWarning, match="merged into 'arm': 'tool'"):
        mech = load(tmp_path, text, quiet=False)
    model = mech.finalize()

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

    H, K = ((J := slopes(one, at)).T @ mass_matrix(one) @ J for one in (model, reference))
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
    with pytest.raises(ValueError, match="'base' moves and has no mass: it is the root: .*fixed"):
        load(tmp_path, text)
    assert list(load(tmp_path, text, base="fixed").bodies) == ["a"]


def test_a_fixed_base_with_mass_is_a_body_welded_to_the_world(tmp_path):
    mech = load(tmp_path, robot(link("a", 2.0)), base="fixed")
    model = mech.finalize(0.01)
    trajectory = dy.simulate(model, model.initial_state(), 0.05)

    np.testing.assert_allclose(trajectory.final.pose[0], [0, 0, 0, 1, 0, 0, 0], atol=1e-12)
    assert trajectory.reaction("world-a")[-1, 2] == pytest.approx(2.0 * 9.81, rel=1e-9)


def test_inertia_of_no_rigid_body_is_kept_and_named(tmp_path):
    with pytest.warns(ImplausibleInertiaWarning, match="'odd'"):
        mech = load(tmp_path, robot(link("odd", inertia=(1.0, 1.0, 3.0))), quiet=False)
    assert mech.bodies["odd"].inertia[2, 2] == 3.0


def test_a_body_with_the_name_of_a_joint_is_renamed_and_named(tmp_path):
    text = robot(link("a"), link("hip"), joint("hip", "continuous", "a", "hip"))
    with pytest.warns(MergedLinkWarning, match="'hip body'"):
        mech = load(tmp_path, text, quiet=False)

    assert list(mech.bodies) == ["a", "hip body"] and "hip" in mech.joints
    assert mech.frames["hip"].body is mech.bodies["hip body"]


# Geometry


def test_primitives_and_meshes_are_kept_in_the_frame_of_the_body(tmp_path):
    shapes = "".join(
        f'<{what}><origin xyz="0 0 1"/><geometry>{shape}</geometry>'
        '<material name="m"><color rgba="1 0 0 1"/></material></' + what + ">"
        for what, shape in (
            ("visual", '<box size="1 2 3"/>'),
            ("visual", '<cylinder radius="0.1" length="0.5"/>'),
            ("visual", '<capsule radius="0.1" length="0.5"/>'),
            ("visual", '<mesh filename="package://me/arm.stl" scale="2 2 2"/>'),
            ("collision", '<sphere radius="0.4"/>'),
        )
    )
    body = load(tmp_path, robot(link("a", 1.0, (0, 0, 0.25), more=shapes))).bodies["a"]
    kinds = [type(one.shape).__name__ for one in body.visuals]

    assert kinds == ["Box", "Cylinder", "Capsule", "Mesh"]
    assert [one.shape.radius for one in body.collisions] == [0.4]
    assert body.visuals[3].shape.path == "me/arm.stl"
    np.testing.assert_array_equal(body.visuals[0].position, [0, 0, 0.75])
    np.testing.assert_array_equal(body.visuals[0].color, [1, 0, 0, 1])


# What is left out


@pytest.mark.parametrize(
    ("part", "kind", "name"),
    [
        ('<gazebo reference="a"/>', "<gazebo>", "a"),
        ('<sensor name="s"/>', "<sensor>", "s"),
        (joint("k", "revolute", "a", "c", more='<dynamics friction="0.1"/>') + link("c"),
         "friction of joints", "k"),
        (joint("k", "revolute", "a", "c", more='<limit effort="3" lower="0" upper="1"/>')
         + link("c"), "limit of effort", "k"),
        (joint("k", "revolute", "a", "c", more="<safety_controller/>") + link("c"),
         "<safety_controller> of joints", "k"),
        (joint("k", "continuous", "a", "c", more='<mimic joint="j" multiplier="2"/>') + link("c"),
         "mimic (both joints must hang on the world)", "k"),
        (joint("k", "continuous", "a", "c", more='<mimic joint="none"/>') + link("c"),
         "mimic (both joints must hang on the world)", "k"),
        (joint("k", "revolute", "a", "c", more='<limit lower="0" upper="0"/>') + link("c"),
         "limits without a range between them", "k"),
        ("<transmission><joint name='none'/></transmission>", "<transmission> of no joint",
         "none"),
        (joint("k", "fixed", "a", "c")
         + link("c", more="<visual><geometry><cone/></geometry></visual>"),
         "<cone> as a geometry", "c"),
        (joint("k", "fixed", "a", "c") + link("c", more="<contact/>"), "<contact> of links", "c"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_named(tmp_path, part, kind, name):
    text = robot(link("a"), link("b"), joint("j", "continuous", "a", "b"), part)
    with pytest.warns(UnsupportedElementWarning) as caught:
        load(tmp_path, text, quiet=False)

    assert caught[0].message.elements == {kind: [name]}
    assert name in str(caught[0].message) and kind in str(caught[0].message)


def test_a_file_that_is_supported_whole_gives_no_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(tmp_path, robot(link("a"), link("b"), joint("j", "continuous", "a", "b")), False)


# Broken and hostile files

AB = link("a") + link("b")
BROKEN = {
    "no well-formed XML: .* in line 2": "<robot>\n<link></robot>",
    "the root of a URDF file is <robot>, not <sdf>": "<sdf/>",
    "has no link": "<robot/>",
    "a link: <link> has no name": "<robot><link/></robot>",
    "link 'a' is there twice": robot(link("a"), link("a")),
    "joint 'j' is there twice": robot(AB, joint("j", "fixed", "a", "b") * 2),
    "joint 'j' has the unknown type 'hinge'": robot(AB, joint("j", "hinge", "a", "b")),
    "joint 'j' names no link: 'c'": robot(AB, joint("j", "fixed", "a", "c")),
    "joint 'j' has no <child>": robot(
        AB, '<joint name="j" type="fixed"><parent link="a"/></joint>'
    ),
    "hangs on two joints": robot(
        AB, link("c"), joint("i", "fixed", "a", "c"), joint("j", "fixed", "b", "c")
    ),
    r"one link without a parent, this has \['a', 'b'\]": robot(AB),
    r"the joints of \['b', 'c'\] run in a circle": robot(
        AB, link("c"), joint("i", "fixed", "b", "c"), joint("j", "fixed", "c", "b")
    ),
    "joint 'j': the axis is zero": robot(AB, joint("j", "revolute", "a", "b", axis=(0, 0, 0))),
    "joint 'j': its lower limit 1.0 is above": robot(
        AB, joint("j", "revolute", "a", "b", more='<limit lower="1" upper="0"/>')
    ),
    "damping is -1.0": robot(AB, joint("j", "revolute", "a", "b", more='<dynamics damping="-1"/>')),
    "link 'a': the mass must be a finite number, not 'nan'": robot(link("a", np.nan)),
    "link 'a' has the mass -1.0, which is negative": robot(link("a", -1.0)),
    "xyz must be 3 finite numbers, not '1.0 2.0'": robot(link("a", xyz=(1, 2))),
    "needs <mass> and <inertia>": robot('<link name="a"><inertial/></link>'),
    "link 'a', visual: radius must be a finite number": robot(
        link("a", more='<visual><geometry><sphere radius="x"/></geometry></visual>')
    ),
    "radius of Sphere must be positive": robot(
        link("a", more='<visual><geometry><sphere radius="-1"/></geometry></visual>')
    ),
    "run xacro on it first": '<robot xmlns:xacro="x"><xacro:macro name="m"/></robot>',
    "declares a document type or entities": (
        '<!DOCTYPE robot [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><robot>&b;</robot>'
    ),
    "nests elements more than": "<robot>" + "<a>" * 500 + "</a>" * 500 + "</robot>",
}


@pytest.mark.parametrize("message", BROKEN)
def test_a_broken_file_is_refused_by_the_label_of_what_is_wrong(tmp_path, message):
    with pytest.raises(ValueError, match=message) as caught:
        load(tmp_path, BROKEN[message])
    assert "robot.urdf" in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../secret.stl", "package://a/../../b.stl", "file:///etc/x.stl", "C:\\x.stl",
     "a/../../x.stl", "http://host/x.stl"],
)  # fmt: skip
def test_a_mesh_outside_the_folder_is_refused(tmp_path, name):
    mesh = f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
    with pytest.raises(ValueError, match="lies outside the robot's folder"):
        load(tmp_path, robot(link("a", more=mesh)))
    assert load(tmp_path, robot(link("a", more=mesh)), meshes=False).bodies["a"].visuals == ()


def test_a_utf16_file_is_read_and_its_entities_are_refused(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text('<?xml version="1.0" encoding="utf-16"?>' + robot(link("a"))[21:], "utf-16")
    assert list(dy.load(path).bodies) == ["a"]
    path.write_text('<?xml version="1.0" encoding="utf-16"?><!DOCTYPE r><robot/>', "utf-16")
    with pytest.raises(ValueError, match="document type"):
        dy.load(path)


def test_what_is_no_file_or_no_kind_or_no_base_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        dy.load(tmp_path / "none.urdf")
    (tmp_path / "robot.sdf").write_text("<sdf/>")
    with pytest.raises(ValueError, match="neither .urdf nor .xml"):
        dy.load(tmp_path / "robot.sdf")
    with pytest.raises(ValueError, match="base is 'loose'"):
        load(tmp_path, robot(link("a")), base="loose")


# Closures


def four_bar(reach=1.0):
    """Four rods of 1 m in a square, as a tree and one closure (Drake's form)."""
    rod = {"xyz": (0, 0, 0.5), "inertia": (1 / 12, 1 / 12, 1e-3)}
    return robot(
        link("ground", mass=0),
        link("left", **rod), link("top", **rod), link("right", **rod),
        joint("a", "continuous", "ground", "left", axis=(1, 0, 0)),
        joint("b", "continuous", "left", "top", (0, 0, 1), (-np.pi / 2, 0, 0), (1, 0, 0)),
        joint("d", "continuous", "ground", "right", (0, 1, 0), axis=(1, 0, 0)),
        '<loop_joint name="c" type="continuous"><axis xyz="1 0 0"/>'
        f'<link1 link="top" xyz="0 0 {reach}" rpy="0 0 0"/>'
        '<link2 link="right" xyz="0 0 1" rpy="0 0 0"/></loop_joint>',
    )  # fmt: skip


def test_a_loop_joint_closes_a_loop_that_stays_closed(tmp_path):
    mech = load(tmp_path, four_bar(), base="fixed")
    model = mech.finalize(0.01)
    start = model.assemble(model.initial_state(), {"a": 0.3})
    trajectory = dy.simulate(model, start, 1.0)

    assert len(model.tables.cycles) == 1
    assert model.joint(start, "a")[0] == pytest.approx(0.3, abs=1e-10)
    assert trajectory.constraint_violation().max() < 1e-8
    np.testing.assert_allclose(trajectory.joint("a"), trajectory.joint("d"), atol=1e-7)


def test_a_closure_that_cannot_meet_is_named(tmp_path):
    model = load(tmp_path, four_bar(reach=9.0), base="fixed").finalize()
    with pytest.raises(InconsistentStateError, match="stays open"):
        model.initial_state()


def test_a_default_namespace_is_no_obstacle(tmp_path):
    text = four_bar().replace("<robot ", '<robot xmlns="http://drake.mit.edu" ')
    assert len(load(tmp_path, text, base="fixed").joints) == 4


def closed_by(yaml, tmp_path):
    text = four_bar()
    text = text[: text.index("<loop_joint")] + "</robot>"
    tips = "".join(
        link(name, mass=0) + joint(f"{name} joint", "fixed", parent, name, (0, 0, 1), rpy)
        for name, parent, rpy in (("tip", "top", (np.pi / 2, 0, 0)), ("goal", "right", (0, 0, 0)))
    )
    (tmp_path / "robot.yaml").write_text(yaml)
    return load(tmp_path, text.replace("</robot>", tips + "</robot>"), base="fixed")


@pytest.mark.parametrize(
    ("yaml", "kind"),
    [
        ("closed_loop: [['tip', 'goal']]\ntype: ['3d']\nname_mot: ['a']", "spherical"),
        ('closed_loop: [["tip joint", goal]]  # by joint\ntype: [6d]\n', "fixed"),
    ],
)
def test_closures_of_gepetto_are_joints_between_frames(tmp_path, yaml, kind):
    mech = closed_by(yaml, tmp_path)
    closure = next(one for name, one in mech.joints.items() if "goal" in str(name))

    assert closure.kind == kind
    assert mech.joints["a"].actuated == ("name_mot" in yaml)
    assert (
        np.abs(mech.finalize().constraint_violation(mech.finalize().initial_state())).max() < 1e-9
    )


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("closed_loop: [['tip', 'none']]\ntype: ['3d']", "neither link nor joint: 'none'"),
        ("closed_loop: [['tip', 'goal']]\ntype: ['4d']", "type 3d or 6d"),
        ("closed_loop: [['tip', 'goal']]\ntype: []", "lists of one length"),
        ("closed_loop: [['tip'", "a bracket is not closed"),
        ("closed_loop: [[[['tip']]]]", "nest too deep"),
        ("- nothing", "must hold lines like"),
        ("closed_loop: [['tip', 'goal']]\ntype: ['3d']\nname_mot: [x]", "names no joint: 'x'"),
    ],
)
def test_broken_closures_are_refused(tmp_path, yaml, message):
    with pytest.raises(ValueError, match=message):
        closed_by(yaml, tmp_path)


def test_a_joint_on_the_world_follows_another(tmp_path):
    more = '<mimic joint="a" multiplier="-2" offset="0.1"/>'
    text = robot(
        link("ground", mass=0), link("p", 1.0, (0.5, 0, 0)), link("q", 1.0, (0.3, 0.1, 0)),
        link("r", 1.0, (0.1, 0.2, 0.3)),
        joint("a", "continuous", "ground", "p", (0, 0, 0), (1, 0.2, 0), (0, 1, 0)),
        joint("b", "continuous", "ground", "q", (0, 2, 0), (0.3, 0, 0.5), (0, 0.6, 0.8), more),
        joint("c", "prismatic", "ground", "r", (0, 3, 0), (0.1, 0.2, 0.5), (0, 0.6, 0.8), more),
    )  # fmt: skip
    model = load(tmp_path, text, base="fixed").finalize(0.01)
    trajectory = dy.simulate(model, model.initial_state(), 1.0)
    a = trajectory.joint("a")

    assert np.ptp(a) > 0.5
    turns = trajectory.joint("b") - (0.1 - 2.0 * a)
    np.testing.assert_allclose(turns, 2 * np.pi * np.round(turns / (2 * np.pi)), atol=1e-7)
    np.testing.assert_allclose(trajectory.joint("c"), 0.1 - 2.0 * a, atol=1e-7)


# Saving


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_what_is_saved_and_loaded_moves_alike(tmp_path, base):
    mech = load(tmp_path, random_urdf(7, 3), base=base)
    dy.save_urdf(mech, tmp_path / "again.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoadWarning)
        again = dy.load(tmp_path / "again.urdf", base=base)
    model, other = mech.finalize(), again.finalize()
    names = [name for name, one in mech.joints.items() if one.n_coordinates]
    at = dict(zip(names, np.linspace(-1, 1, len(names))))

    assert list(again.bodies) == list(mech.bodies)
    H, K = ((J := slopes(one, at)).T @ mass_matrix(one) @ J for one in (model, other))
    np.testing.assert_allclose(H, K, atol=1e-13 * abs(K).max())
    fall, again_fall = (falling(one, moved(one, at)) for one in (model, other))
    np.testing.assert_allclose(fall, again_fall, atol=1e-10 * abs(fall).max())


def test_loops_and_joints_that_lead_backwards_are_saved(tmp_path):
    mech = dy.Mechanism()
    box = dy.Box(0.2, 0.3, 1.0, mass=1.0)
    turn = rotation.from_rpy((0.3, -0.2, 0.5))
    a, b, c = (mech.add_body(box, name=name) for name in "abc")
    ends = {"parent_point": (0.1, 0, 0.5), "child_point": (0, 0.2, -0.5)}
    mech.add_joint(dy.Revolute(mech.world, a, (0, 0.6, 0.8), name="wa", **ends))
    mech.add_joint(dy.Revolute(b, a, (0.6, 0, 0.8), name="ba", orientation=turn, **ends))
    mech.add_joint(dy.Prismatic(c, b, (0, 0.6, 0.8), name="cb", orientation=turn, **ends))
    dy.save_urdf(mech, tmp_path / "again.urdf")
    with pytest.warns(MergedLinkWarning, match="'world'"):
        again = dy.load(tmp_path / "again.urdf", base="fixed")
    model, other = mech.finalize(), again.finalize()
    at = {"wa": 0.3, "ba": -0.4, "cb": 0.2}

    for name in "abc":
        i, j = model.body_number(name), other.body_number(name)
        ours = model.assemble(model.initial_state(), at).pose[i]
        theirs = other.assemble(other.initial_state(), at).pose[j]
        np.testing.assert_allclose(ours[:3], theirs[:3], atol=1e-10)  # assemble stops at 1e-12
        assert abs(ours[3:] @ theirs[3:]) == pytest.approx(1.0, abs=1e-14)
    assert [type(one.shape).__name__ for one in again.bodies["a"].visuals] == ["Box"]

    loop = load(tmp_path, four_bar(), base="fixed")
    dy.save_urdf(loop, tmp_path / "loop.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoadWarning)
        closed = dy.load(tmp_path / "loop.urdf", base="fixed").finalize()
    assert len(closed.tables.cycles) == 1
    assert np.abs(closed.constraint_violation(closed.initial_state())).max() < 1e-12


def test_what_urdf_cannot_say_is_refused_or_named(tmp_path):
    mech = dy.Mechanism()
    a = mech.add_body(dy.Sphere(0.1, mass=1.0), name="a", drag=0.1)
    mech.add_joint(dy.Revolute(mech.world, a, (1, 0, 0), spring=1.0, name="j"))
    with pytest.warns(UnsupportedElementWarning) as caught:
        dy.save_urdf(mech, tmp_path / "a.urdf")
    assert caught[0].message.elements == {"drag": ["a"], "stiffness of joints": ["j"]}

    b = mech.add_body(dy.Sphere(0.1, mass=1.0), name="b")
    with pytest.raises(ValueError, match="no joints connect"):
        dy.save_urdf(mech, tmp_path / "b.urdf")
    mech.add_joint(dy.Cylindrical(a, b, (1, 0, 0), name="k"))
    with pytest.raises(ValueError, match="joint 'k' is cylindrical"):
        dy.save_urdf(mech, tmp_path / "b.urdf")
    assert not (tmp_path / "b.urdf").exists()


# Real robots


@pytest.mark.parametrize(
    ("name", "base", "bodies", "mass"),
    [
        ("a1.urdf", "floating", 13, 13.5),
        ("exoskeleton.urdf", "fixed", 7, 17.106),
        ("fourbar_loop.urdf", "fixed", 4, 4.0),
        ("atlas_simple.urdf", "floating", 31, 174.0503),
        ("5bar_linkage/robot.urdf", "fixed", 7, 1309191.7802686268),
    ],
)
def test_models_of_others_load_assemble_and_move(name, base, bodies, mass):
    if not (SHARED / name).is_file():
        pytest.skip("the models of others are not beside this checkout")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoadWarning)
        mech = dy.load(SHARED / name, base=base)
    model = mech.finalize(0.002)
    trajectory = dy.simulate(model, model.initial_state(), 0.1)

    assert len(mech.bodies) == bodies
    assert mech.mass == pytest.approx(mass, rel=1e-12)
    assert trajectory.constraint_violation().max() < 1e-8
