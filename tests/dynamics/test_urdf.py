"""URDF files to mechanisms: frames, masses, joints and shapes."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation

from .others import beside_pinocchio
from .robots import (
    ROUNDING,
    joint,
    link,
    load,
    moved,
    pose_of_frame,
    random_urdf,
    robot,
    rpy_matrix,
)

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


def test_orientations_may_be_quaternions_scalar_last(tmp_path):
    # a turn of 120 degrees about (1, 1, 1) maps x to y, of which the frame's z axis is the x axis
    place = '<origin xyz="0 0 1" quat_xyzw="1 1 1 1"/>'
    child = f'<joint name="j" type="fixed"><parent link="a"/><child link="b"/>{place}</joint>'
    text = robot(link("a"), link("b"), child)
    mech = load(tmp_path, text)
    model = mech.finalize()
    x, R = pose_of_frame(mech, model.initial_state(), model, "b")
    np.testing.assert_allclose(x, [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(R, [[0, 0, 1], [1, 0, 0], [0, 1, 0]], atol=1e-15)

    for bad, message in (('rpy="0 0 0" quat_xyzw', "rpy and quat_xyzw"), ("quat_xyzw", "is zero")):
        with pytest.raises(ValueError, match=f"joint 'j': .*{message}"):
            load(tmp_path, text.replace('quat_xyzw="1 1 1 1"', f'{bad}="0 0 0 0"'))


@pytest.mark.parametrize(
    ("kind", "coordinates"),
    [("fixed", 0), ("revolute", 1), ("continuous", 1), ("prismatic", 1), ("planar", 3),
     ("floating", 6), ("spherical", 3), ("ball", 3)],
)  # fmt: skip
def test_every_type_of_joint_has_its_coordinates(tmp_path, kind, coordinates):
    mech = load(tmp_path, robot(link("a"), link("b"), joint("j", kind, "a", "b")))

    assert mech.joints["j"].n_coordinates == coordinates


def test_a_planar_joint_slides_along_the_axes_of_its_own_frame(tmp_path):
    rpy = (0.4, -0.7, 1.1)
    text = robot(link("a"), link("b"), joint("j", "planar", "a", "b", (1, 2, 3), rpy))
    mech = load(tmp_path, text, base="fixed")
    model = mech.finalize()
    state = moved(model, {"j": (0.2, 0.5, 0.3)})

    x, R = pose_of_frame(mech, state, model, "b")
    np.testing.assert_allclose(x, (1, 2, 3) + rpy_matrix(rpy) @ (0.2, 0.5, 0), atol=ROUNDING)
    np.testing.assert_allclose(R, rpy_matrix(rpy) @ rpy_matrix((0, 0, 0.3)), atol=ROUNDING)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, -1), (0.8, -0.6, 0)])
def test_coordinates_of_planar_joints_do_not_jump_with_rounding_of_their_axis(tmp_path, axis):
    places = []
    for off in (0.0, -0.0, 1e-17, -1e-17):
        near = np.array(axis) + [off, off, off]
        text = robot(link("a"), link("b"), joint("j", "planar", "a", "b", axis=near))
        model = load(tmp_path, text, base="fixed").finalize()
        places.append(moved(model, {"j": (0.2, 0.5, 0.3)}).pose)
    np.testing.assert_allclose(places, [places[0]] * 4, atol=ROUNDING)


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


def test_joints_of_a_file_get_servos_within_its_efforts(tmp_path):
    effort = '<limit lower="-1" upper="1" effort="7" velocity="9"/>'
    text = robot(*(link(x) for x in "abc"), joint("p", "revolute", "a", "b", more=effort),
                 joint("q", "continuous", "b", "c"))  # fmt: skip
    servo = dy.PositionServo(50.0, 5.0, gear=2.0)

    joints = load(tmp_path, text, actuated=servo).joints
    np.testing.assert_array_equal(joints["p"].servo.force_limit, [3.5])  # of the motor: 7 / gear
    assert joints["q"].servo is servo and not joints["q"].actuated
    own = dy.PositionServo(50.0, force_limit=2.0)
    mech = load(tmp_path, text, actuated={"p": own, "q": True}, base="fixed")
    assert mech.joints["p"].servo is own and mech.joints["q"].actuated
    free = load(tmp_path, text, actuated=servo, without=["control_limits"]).joints["p"]
    assert free.servo is servo
    with pytest.raises(TypeError, match="actuated is 1, and must be True, False, a servo or names"):
        load(tmp_path, text, actuated=1)
    with pytest.raises(TypeError, match="actuated of joint 'p' is 3, and must be True, False, "):
        load(tmp_path, text, actuated={"p": 3})

    model = load(tmp_path, text, base="fixed", actuated=dy.PositionServo(1e3, 1e2)).finalize(0.01)
    pose = {"p": 0.3, "q": -0.4}
    motion = dy.simulate(model, model.initial_state(), 3.0, controls=pose)
    for name, q in pose.items():
        assert motion.joint(name)[-1] == pytest.approx(q, abs=0.05)  # the weight's share


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


@pytest.mark.parametrize("base", ["floating", "fixed"])
@pytest.mark.parametrize("seed", range(3))
def test_random_trees_agree_with_pinocchio(tmp_path, seed, base):
    pytest.importorskip("pinocchio", reason="Pinocchio (pip install pin) is not installed")
    mech = load(tmp_path, random_urdf(8, seed), base=base)

    errors = beside_pinocchio(tmp_path / "robot.urdf", mech, {"base": base}, seed=seed)
    assert max(errors.values()) < 1e-9, errors


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
