"""URDF files that are saved, and those of others."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.io import (
    LoadWarning,
    UnsupportedElementWarning,
)
from dynamics.parts.geometry import Geometry, Mesh, Surface

from .robots import (
    falling,
    four_bar,
    joint,
    joint_inertia,
    link,
    load,
    moved,
    pose_of_frame,
    random_urdf,
    robot,
)

SHARED = Path(__file__).parents[3] / "shared" / "data" / "robots"

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
    H, K = (joint_inertia(one, at) for one in (model, other))
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
    again = dy.load(tmp_path / "again.urdf")  # its root link is called "world"
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


def test_shapes_and_colors_are_saved_and_read_again(tmp_path):
    mech = dy.Mechanism()
    turn = rotation.from_rpy((0.3, -0.2, 0.5))
    parts = [
        (dy.Sphere(0.1, mass=1.0), (0.0, 0.0, 0.3)),
        (dy.Box(0.1, 0.2, 0.3, mass=1.0), (0.0, 0.0, -0.3), turn),
    ]
    several = mech.add_body(dy.Compound(parts), name="several")
    cylinder = dy.Cylinder(0.1, 0.5, axis=(1, 0, 0), mass=1.0)
    red = np.array([1.0, 0.0, 0.0, 0.5])
    painted = Geometry(cylinder, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]), red)
    rod = mech.add_body(cylinder, name="rod", visuals=(painted,))
    pill = mech.add_body(dy.Capsule(0.1, 0.5, mass=1.0), name="pill")
    for body, other in ((mech.world, several), (several, rod), (rod, pill)):
        mech.add_joint(dy.Revolute(body, other, (1, 0, 0)))
    dy.save_urdf(mech, tmp_path / "a.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoadWarning)
        again = dy.load(tmp_path / "a.urdf", base="fixed")

    sphere, box = again.bodies["several"].visuals
    assert (sphere.shape.radius, *sphere.position) == (0.1, 0.0, 0.0, 0.3)
    assert (box.shape.x, box.shape.y, box.shape.z, *box.position) == (0.1, 0.2, 0.3, 0, 0, -0.3)
    assert abs(box.orientation @ turn) == pytest.approx(1.0, abs=1e-15)
    (shown,), (solid,) = again.bodies["rod"].visuals, again.bodies["rod"].collisions
    assert (shown.shape.radius, shown.shape.length) == (0.1, 0.5) == (
        solid.shape.radius, solid.shape.length,
    )  # fmt: skip
    np.testing.assert_array_equal(shown.color, red)
    axis = rotation.rotate(shown.orientation, np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(np.abs(axis), [1.0, 0.0, 0.0], atol=1e-15)
    assert type(again.bodies["pill"].visuals[0].shape) is dy.Capsule


def test_what_urdf_cannot_say_is_refused_or_named(tmp_path):
    mech = dy.Mechanism()
    a = mech.add_body(dy.Sphere(0.1, mass=1.0), name="a", drag=0.1)
    mech.add_joint(dy.Revolute(mech.world, a, (1, 0, 0), stiffness=1.0, name="j"))
    with pytest.warns(UnsupportedElementWarning) as caught:
        dy.save_urdf(mech, tmp_path / "a.urdf")
    assert caught[0].message.elements == {"drag": ["a"], "stiffness of joints": ["j"]}
    thin = dy.Mechanism()
    line = Geometry(dy.Rod(1.0, mass=1.0), np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    body = thin.add_body(mass=1.0, inertia=[0.1] * 3, name="thin", visuals=(line,))
    planar = dy.PlanarAxis(thin.world, body, (1, 0, 0), damping=[0.1, 0.2, 0.3], name="p")
    thin.add_joint(planar)
    with pytest.warns(UnsupportedElementWarning) as caught:
        dy.save_urdf(thin, tmp_path / "thin.urdf")
    assert caught[0].message.elements == {
        "visual of type Rod": ["thin"],
        "damping that differs between axes": ["p"],
    }

    held = dy.Mechanism()
    foot = held.add_body(dy.Sphere(0.1, mass=1.0), name="foot", gravity_scale=0.5)
    held.add_joint(dy.Spherical(held.world, foot, limits=[(-1, 1)] * 3, name="hip"))
    held.add_frame("foot", foot, position=(0.1, 0, 0))
    with pytest.warns(UnsupportedElementWarning) as caught:
        dy.save_urdf(held, tmp_path / "held.urdf")
    assert caught[0].message.elements == {
        "gravity_scale": ["foot"],
        "limits of spherical joints": ["hip"],
        "frames with names of links that are elsewhere": ["foot"],
    }

    b = mech.add_body(dy.Sphere(0.1, mass=1.0), name="b")
    with pytest.raises(ValueError, match="no joints connect"):
        dy.save_urdf(mech, tmp_path / "b.urdf")
    mech.add_joint(dy.Cylindrical(a, b, (1, 0, 0), name="k"))
    with pytest.raises(ValueError, match="joint 'k' is cylindrical"):
        dy.save_urdf(mech, tmp_path / "b.urdf")
    assert not (tmp_path / "b.urdf").exists()


def test_what_is_saved_keeps_the_order_of_joints_and_the_friction_of_links(tmp_path):
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    slip = '<contact><lateral_friction value="0.3"/><rolling_friction value="0.01"/></contact>'
    text = robot(
        link("a"), link("b", more=ball + slip), link("c", more=ball), link("d"),
        joint("late", "continuous", "b", "c", (0, 0, 1)),
        '<loop_joint name="loop" type="continuous"><axis xyz="0 0 1"/>'
        '<link1 link="c"/><link2 link="d"/></loop_joint>',
        joint("early", "continuous", "a", "b"), joint("last", "continuous", "b", "d", (0, 0, 1)),
    )  # fmt: skip
    mech = load(tmp_path, text)
    dy.save_urdf(mech, tmp_path / "again.urdf")
    again = dy.load(tmp_path / "again.urdf")

    assert list(again.joints) == list(mech.joints) == ["late", "loop", "early", "last"]
    for name in "bc":
        ours, theirs = (one.bodies[name].collisions[0].surface for one in (mech, again))
        assert ours == theirs


def test_what_is_saved_names_gravity_meshes_and_friction_that_are_lost(tmp_path):
    (tmp_path / "far").mkdir()
    mesh = Mesh("part.obj", str(tmp_path / "far"), np.ones(3))
    (tmp_path / "far" / "part.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n")
    at = np.zeros(3), np.array([1.0, 0, 0, 0])
    ball = dy.Sphere(0.1, mass=1.0)
    shapes = (Geometry(ball, *at, surface=Surface(0.2)), Geometry(ball, *at), Geometry(mesh, *at))
    mech = dy.Mechanism(gravity=(0, 0, -1.62))
    mech.add_body(ball, name="a", collisions=shapes)
    mech.add_obstacle(dy.HalfSpace(), name="floor")
    for folder, lost in ((tmp_path, ["part.obj"]), (tmp_path / "far", None)):
        with pytest.warns(UnsupportedElementWarning) as caught:
            dy.save_urdf(mech, folder / "a.urdf")
        expected = {
            "friction that differs between shapes, and filters": ["a"],
            "gravity other than (0, 0, -9.81)": ["0.0 0.0 -1.62"],
            "obstacles": ["floor"],
        }
        if lost is not None:
            expected["meshes that are not found from the folder of the file"] = lost
        assert caught[0].message.elements == expected


def test_frames_motors_and_the_place_of_the_root_are_saved(tmp_path):
    text = robot(
        link("trunk", 2.0, (0.1, 0.2, 0.3)), link("leg", 1.0, (0, 0, -0.2)), link("foot", mass=0),
        link("camera", mass=0),
        joint("hip", "continuous", "trunk", "leg", (0.1, 0, 0), (0.3, 0, 0)),
        joint("ankle", "fixed", "leg", "foot", (0, 0, -0.4), (0, 0.5, 0)),
        joint("mount", "fixed", "trunk", "camera", (0.3, 0, 0.1), (0, 0.2, 0.4)),
    )  # fmt: skip
    place = {"position": (1.0, 2.0, 3.0), "orientation": (0.6, 0, 0.8, 0)}
    mech = load(tmp_path, text, actuated=["hip"], **place)
    dy.save_urdf(mech, tmp_path / "again.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoadWarning)
        again = dy.load(tmp_path / "again.urdf", **place)
    model, other = mech.finalize(), again.finalize()

    assert again.joints["hip"].actuated and set(again.frames) == set(mech.frames)
    for name in mech.frames:
        for ours, theirs in zip(
            pose_of_frame(mech, model.initial_state(), model, name),
            pose_of_frame(again, other.initial_state(), other, name),
        ):
            np.testing.assert_allclose(ours, theirs, atol=1e-14)


@pytest.mark.parametrize(
    ("bodies", "joints", "said"),
    [
        ([], [], "the mechanism has no bodies"),
        ([3, "3"], ["a", "b"], "the bodies 3 and '3' have the same name in a URDF file"),
        (["x", "y"], ["a\0b", "c"], r"the name 'a\\x00b' among joints is empty, or holds"),
        (["x", "y "], ["a", "b"], "the name 'y ' among bodies is empty, or holds blanks"),
    ],
)
def test_names_that_a_file_would_not_keep_are_refused(tmp_path, bodies, joints, said):
    mech = dy.Mechanism()
    for one, other in zip(bodies, joints):
        made = mech.add_body(dy.Sphere(0.1, mass=1.0), name=one)
        mech.add_joint(dy.Revolute(mech.world, made, (1, 0, 0), name=other))

    with pytest.raises(ValueError, match=said):
        dy.save_urdf(mech, tmp_path / "a.urdf")
    assert not (tmp_path / "a.urdf").exists()


def test_followers_with_quotes_in_their_names_are_saved(tmp_path):
    mech = dy.Mechanism()
    for name in ("lead", """it's ["b"]"""):
        made = mech.add_body(dy.Sphere(0.1, mass=1.0), name=f"body of {name}")
        mech.add_joint(dy.Revolute(mech.world, made, (1, 0, 0), name=name))
    mech.add_coupling("lead", """it's ["b"]""", ratio=2.0)
    dy.save_urdf(mech, tmp_path / "a.urdf")

    (one,) = dy.load(tmp_path / "a.urdf").couplings.values()
    assert (one.leader, one.follower, one.ratio) == ("lead", """it's ["b"]""", 2.0)


# Real robots


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("a1.urdf", "floating"),
        ("exoskeleton.urdf", "fixed"),
        ("fourbar_loop.urdf", "fixed"),
        ("atlas_simple.urdf", "floating"),
        ("5bar_linkage/robot.urdf", "fixed"),  # two of its balls are 654 t, on rods of 25 kg
    ],
)
def test_models_of_others_move_for_ten_seconds(name, base):
    path = SHARED / name
    if not path.is_file():
        pytest.skip("the models of others are not next to this checkout")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoadWarning)
        model = dy.load(path, base=base).finalize(0.01)
    trajectory = dy.simulate(model, model.initial_state(), 10.0)

    assert len(trajectory) == 1001
    assert trajectory.constraint_violation().max() < 1e-8


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
        pytest.skip("the models of others are not next to this checkout")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoadWarning)
        mech = dy.load(SHARED / name, base=base)
    model = mech.finalize(0.002)
    trajectory = dy.simulate(model, model.initial_state(), 0.1)

    assert len(mech.bodies) == bodies
    assert mech.mass == pytest.approx(mass, rel=1e-12)
    assert trajectory.constraint_violation().max() < 1e-8
