"""Frame Jacobians, mass matrix, centroidal matrix and inverse kinematics, loops included."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import dynamics as dy
from dynamics import rotation, zoo
from dynamics.kinematics import frames
from dynamics.parts.geometry import Frame

Y = (0, 1, 0)


def arm(limits=None):
    """Two rods of 1 m that hang on hinges about y, with a frame at the end of the second."""
    mech = dy.Mechanism()
    rods = [
        mech.add_body(dy.Box(0.1, 0.1, 1.0, mass=m), name=name) for m, name in ((2, "a"), (3, "b"))
    ]
    ends = dict(axis=Y, child_point=(0, 0, 0.5))
    mech.add_joint(dy.Revolute(mech.world, rods[0], name="one", limits=limits, **ends))
    mech.add_joint(dy.Revolute(*rods, name="two", parent_point=(0, 0, -0.5), **ends))
    mech.frames["tip"] = Frame("tip", rods[1], np.array([0, 0, -0.5]), np.array([1.0, 0, 0, 0]))
    return mech.finalize()


def at(model, **joints):
    state = model.initial_state()
    for name, q in joints.items():
        model.set_joint(state, name, q)
    return state


def test_an_arm_has_the_jacobian_and_mass_matrix_of_the_textbook():
    # links of length l = 1, centres at 1/2; q from the vertical, turning about y
    model, one, two = arm(), 0.3, -0.8
    state, kinematics = at(model, one=one, two=two), dy.Kinematics(model)

    def tip(q):
        both = q[0] + q[1]
        return np.array([-np.sin(q[0]) - np.sin(both), 0.0, -np.cos(q[0]) - np.cos(both)])

    position, orientation = kinematics.pose(state, "tip")
    assert position == pytest.approx(tip([one, two]))
    assert orientation == pytest.approx(rotation.from_axis_angle(Y, one + two))
    s1, c1, s, c = np.sin(one), np.cos(one), np.sin(one + two), np.cos(one + two)
    expected = [[-c1 - c, -c], [0, 0], [s1 + s, s], [0, 0], [1, 1], [0, 0]]
    assert kinematics.jacobian(state, "tip") == pytest.approx(np.array(expected))
    assert kinematics.columns == {"one": slice(0, 1), "two": slice(1, 2)}
    moments = [model.bodies[i].inertia[1, 1] for i in (0, 1)]
    b = moments[1] + 3 * 0.25
    a = moments[0] + 2 * 0.25 + 3 * 1.0 + b + 2 * 3 * 0.5 * np.cos(two)
    off = b + 3 * 0.5 * np.cos(two)
    assert kinematics.mass_matrix(state) == pytest.approx(np.array([[a, off], [off, b]]))


@pytest.mark.parametrize("make", [lambda: arm(), lambda: zoo.four_bar()[0]])
def test_jacobians_are_those_of_positions_along_the_motion(make):
    # J v against differences of the pose along a motion of velocity v, in closed loops too
    model = make()
    kinematics = dy.Kinematics(model)
    state = model.initial_state()
    name = model.bodies[-1].name
    v = kinematics.jacobian(state, name)
    twist = (kinematics._motions(state) @ np.ones(kinematics.size)).reshape(-1, 6)
    h = 1e-6
    poses = []
    for sign in (1.0, -1.0):
        moved = state.copy()
        moved.pose[:, :3] += sign * h * twist[:, :3]
        turned = rotation.from_rotation_vector(sign * h * twist[:, 3:])
        moved.pose[:, 3:] = rotation.multiply(moved.pose[:, 3:], turned)
        poses.append(kinematics.pose(moved, name))
    velocity = (poses[0][0] - poses[1][0]) / (2 * h)
    spin = rotation.multiply(poses[0][1], rotation.conjugate(poses[1][1]))
    spin = rotation.to_rotation_vector(spin) / (2 * h)
    rates = v @ np.ones(kinematics.size)
    assert np.concatenate([velocity, spin]) == pytest.approx(rates, abs=1e-8)  # h^2 and eps / h


def test_mass_and_centroidal_matrix_give_the_energy_and_momentum_of_a_motion():
    rng = np.random.default_rng(0)
    model = zoo.quadruped()[0]
    kinematics, state = dy.Kinematics(model), zoo.quadruped()[1]
    base = next(iter(kinematics.columns))
    assert kinematics.columns[base] == slice(0, 6)  # the trunk is free
    v = rng.normal(size=kinematics.size)
    twists = (kinematics._motions(state) @ v).reshape(-1, 6)
    for body, twist in zip(model.bodies, twists):
        model.set_body(state, body.name, velocity=twist[:3], angular_velocity=twist[3:])
    assert kinematics.velocities(state) == pytest.approx(v)

    masses = [body.mass for body in model.bodies]
    energy = sum(
        0.5 * body.mass * twist[:3] @ twist[:3] + 0.5 * twist[3:] @ body.inertia @ twist[3:]
        for body, twist in zip(model.bodies, twists)
    )
    assert 0.5 * v @ kinematics.mass_matrix(state) @ v == pytest.approx(energy)
    center = np.array(masses) @ state.pose[:, :3] / sum(masses)
    assert kinematics.center_of_mass(state) == pytest.approx(center)
    linear, angular = np.zeros(3), np.zeros(3)
    for body, twist, pose in zip(model.bodies, twists, state.pose):
        linear += body.mass * twist[:3]
        angular += rotation.rotate(pose[3:], body.inertia @ twist[3:])
        angular += np.cross(pose[:3] - center, body.mass * twist[:3])
    assert kinematics.centroidal_matrix(state) @ v == pytest.approx(
        np.concatenate([linear, angular])
    )


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_rotors_have_a_part_of_the_energy_and_none_of_the_centroidal_momentum(kind):
    # one body at 0.5 m from its hinge, 2 rad/s: m r w along x and J w about y; or on a slide, 2 m/s
    mechanism = dy.Mechanism()
    body = mechanism.add_body(mass=3.0, inertia=[0.1, 0.2, 0.3], name="body")
    options = {"armature": 0.4, "name": "j"}
    joint = dy.Revolute(mechanism.world, body, (0, 1, 0), child_point=(0, 0, -0.5), **options)
    if kind == "prismatic":
        joint = dy.Prismatic(mechanism.world, body, (1, 0, 0), **options)
    mechanism.add_joint(joint)
    model = mechanism.finalize()
    state = model.initial_state()
    model.set_joint(state, "j", 0.0, 2.0)
    kinematics = dy.Kinematics(model)

    momentum = kinematics.centroidal_matrix(state) @ kinematics.velocities(state)
    (inertia,) = kinematics.mass_matrix(state).ravel()

    turns = kind == "revolute"
    assert inertia == pytest.approx(3.0 * 0.5**2 + 0.2 + 0.4 if turns else 3.0 + 0.4)
    assert momentum == pytest.approx([3.0, 0, 0, 0, 0.4, 0] if turns else [6.0, 0, 0, 0, 0, 0])
    (read,) = dy.Sensors(model, [dy.CentroidalSensor()]).read(state).values()
    assert momentum == pytest.approx([*(3.0 * read[3:6]), *read[6:]], abs=1e-12)


def test_inverse_kinematics_of_an_arm_is_that_of_the_law_of_cosines():
    model = arm()
    kinematics, start = dy.Kinematics(model), at(model, one=0.4, two=0.2)
    found = kinematics.inverse(start, {"tip": [-1.0, 0.0, -1.0]})

    assert kinematics.pose(found, "tip")[0] == pytest.approx([-1.0, 0.0, -1.0], abs=1e-7)
    # reach sqrt 2 of two links of 1: the elbow is at a right angle
    assert abs(model.joint(found, "two")[0][0]) == pytest.approx(np.pi / 2)
    assert np.abs(model.velocities(found)).max() == 0.0
    assert model.joint(start, "one")[0][0] == pytest.approx(0.4)  # left as it is


@pytest.mark.parametrize("seed", range(5))
def test_inverse_kinematics_reaches_what_a_random_posture_reaches(seed):
    rng = np.random.default_rng(seed)
    model = zoo.quadruped()[0]
    kinematics, start = dy.Kinematics(model), zoo.quadruped()[1]
    goal = start.copy()
    for name in (n for n in kinematics.columns if n in model.mechanism.joints):
        q = model.joint(start, name)[0]
        model.set_joint(goal, name, q + 0.2 * rng.normal(size=q.shape))
    chosen = [model.bodies[i].name for i in rng.choice(model.n_bodies, 3, replace=False)]
    targets = {name: kinematics.pose(goal, name) for name in chosen}
    found = kinematics.inverse(start, targets, limits=False)

    for name, (position, orientation) in targets.items():
        x, q = kinematics.pose(found, name)
        assert x == pytest.approx(position, abs=1e-6)
        assert abs(q @ orientation) == pytest.approx(1.0)
    assert np.abs(model.constraint_violation(found)).max() < 1e-10


def test_columns_of_the_free_joint_of_a_loop_are_derivatives_along_it():
    model, state = zoo.four_bar()
    kinematics = dy.Kinematics(model, joints=["crank ground"])
    angle, h = model.joint(state, "crank ground")[0][0], 1e-4
    ahead, before = (
        kinematics.pose(model.assemble(state.copy(), {"crank ground": angle + step}), "coupler")[0]
        for step in (h, -h)
    )
    # the error of central differences is h^2 / 6 of a third derivative of some m/rad^3
    expected = (ahead - before) / (2.0 * h)
    assert kinematics.jacobian(state, "coupler")[:3, 0] == pytest.approx(expected, abs=1e-7)


def test_limits_hold_and_the_nearest_posture_is_the_one_at_the_limit():
    # the upper rod may turn to 0.2 rad only; the tip would want it at pi/2
    model = arm(limits=(-0.2, 0.2))
    kinematics, start = dy.Kinematics(model), at(model, one=0.0, two=0.1)
    target = {"tip": [-2.0, 0.0, 0.0]}
    stopped = r"'tip' cannot reach.*m off, where joints stand at their limits: \['one'\];"
    with pytest.raises(dy.InconsistentStateError, match=stopped):
        kinematics.inverse(start, target)
    with pytest.raises(dy.InconsistentStateError, match="'tip' cannot reach.*m off; start"):
        kinematics.inverse(start, {"tip": [-9.0, 0.0, 0.0]}, limits=False)
    with pytest.raises(ValueError, match=r"shape \(4, 4\): give its position, or"):
        kinematics.inverse(start, {"tip": np.eye(4)})
    found = kinematics.inverse(start, target, nearest=True)
    one, two = (model.joint(found, name)[0][0] for name in ("one", "two"))
    assert one == pytest.approx(0.2, abs=1e-8)

    def distance(q):  # of the tip with the upper rod at its limit
        tip = [-np.sin(0.2) - np.sin(0.2 + q[0]), -np.cos(0.2) - np.cos(0.2 + q[0])]
        return np.hypot(tip[0] + 2.0, tip[1])

    assert approx_fprime([two], distance, 1e-7) == pytest.approx([0.0], abs=1e-5)


@pytest.mark.parametrize("limits", [None, (-0.2, 0.2)])
@pytest.mark.parametrize("target", [(-3.0, 0.0, 0.0), (-1.0, 0.0, 1.9), (3.0, 0.0, 0.0)])
def test_the_search_ends_at_the_nearest_posture(monkeypatch, limits, target):
    model, steps, step = arm(limits), [], frames._bounded_step
    monkeypatch.setattr(frames, "_bounded_step", lambda *a: steps.append(a) or step(*a))
    kinematics, start = dy.Kinematics(model), at(model, one=0.0, two=0.1)
    found = kinematics.inverse(start, {"tip": target}, nearest=True)
    assert len(steps) < frames.STEPS / 2
    # out of reach: the arm is stretched towards the target, as far as its upper rod may turn
    one, two = (model.joint(found, name)[0].item() for name in ("one", "two"))
    assert limits is None or abs(one) < 0.2 + 1e-8
    tip = kinematics.pose(found, "tip")[0]
    off = np.linalg.norm(tip - target)
    for change in (-1e-2, 1e-2):
        for moved in ((one + change, two), (one, two + change)):
            if limits is None or abs(moved[0]) <= 0.2:
                other = kinematics.pose(at(model, one=moved[0], two=moved[1]), "tip")[0]
                assert np.linalg.norm(other - target) > off - 1e-6


def test_loops_stay_closed_on_the_way_to_a_target():
    model, start = zoo.four_bar()
    kinematics = dy.Kinematics(model)
    name = model.bodies[1].name
    goal = dy.simulate(model, start, seconds=0.3)[-1]
    x = kinematics.pose(goal, name)[0]
    found = kinematics.inverse(start, {name: x}, tolerance=1e-7)
    assert kinematics.pose(found, name)[0] == pytest.approx(x, abs=1e-6)
    assert np.abs(model.constraint_violation(found)).max() < 1e-10


def test_frames_of_ones_own_lie_on_bodies_frames_and_the_world():
    mech = dy.Mechanism()
    turned = np.sqrt([0.5, 0.0, 0.0, 0.5])  # a quarter about z
    body = mech.add_body(
        dy.Box(1.0, 1.0, 1.0, mass=1.0), name="a", position=(1, 0, 0), orientation=turned
    )
    first = mech.add_frame("first", body, position=(0.5, 0, 0), orientation=2.0 * turned)
    mech.add_frame("second", "first", position=(0.5, 0, 0))
    mech.add_frame("a", first, position=(0, 0, 1))
    mech.add_frame("wall", mech.world, position=(0, 0, 2))
    model = mech.finalize()
    mech.add_frame("late", "a")
    kinematics, state = dy.Kinematics(model), model.initial_state()

    # a's x is y of the world, and the first frame's x is a's y
    expected = {
        "first": (1, 0.5, 0), "second": (0.5, 0.5, 0), "a": (1, 0.5, 1), "wall": (0, 0, 2),
        "late": (1, 0.5, 1),
    }  # fmt: skip
    for name, x in expected.items():
        np.testing.assert_allclose(kinematics.pose(state, name)[0], x, atol=1e-15)
    np.testing.assert_allclose(kinematics.pose(state, "late")[1], (0, 0, 0, 1), atol=1e-15)


def test_frames_without_a_place_are_refused():
    mech = dy.Mechanism()
    body = mech.add_body(dy.Box(1.0, 1.0, 1.0, mass=1.0), name="a")
    mech.add_frame("tip", body)
    other = dy.Mechanism().add_body(dy.Box(1.0, 1.0, 1.0, mass=1.0), name="a")
    for on in ("b", None, other, 3):
        with pytest.raises(dy.UnknownNameError, match="on= of frame 'new' is neither a body"):
            mech.add_frame("new", on)
    with pytest.raises(ValueError, match="there is a frame 'tip'"):
        mech.add_frame("tip", body)
    for place in ({"position": (1, 2)}, {"position": (np.nan, 0, 0)}, {"orientation": np.zeros(4)}):
        with pytest.raises(ValueError):
            mech.add_frame("new", body, **place)
    assert list(mech.frames) == ["tip"]


def test_unknown_frames_targets_of_another_shape_and_the_world_are_refused():
    model = arm()
    model.mechanism.frames["wall"] = Frame(
        "wall", model.mechanism.world, np.array([1.0, 2.0, 3.0]), np.array([1.0, 0, 0, 0])
    )
    kinematics, state = dy.Kinematics(model), model.initial_state()
    with pytest.raises(dy.UnknownNameError, match="neither a body nor a frame 'hand'"):
        kinematics.jacobian(state, "hand")
    with pytest.raises(ValueError, match=r"position of the target of 'tip' has shape \(2,\)"):
        kinematics.inverse(state, {"tip": [1.0, 2.0]})
    with pytest.raises(ValueError, match="'wall' is on the world"):
        kinematics.inverse(state, {"wall": [0.0, 0.0, 0.0]})
    assert kinematics.pose(state, "wall")[0] == pytest.approx([1.0, 2.0, 3.0])
    assert not kinematics.jacobian(state, "wall").any()
    for world in ("world", model.mechanism.world):
        assert kinematics.pose(state, world)[0].tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(dy.UnknownNameError, match="three"):
        dy.Kinematics(model, ["three"])


def test_the_name_of_a_link_is_its_frame_and_a_body_its_centre_of_mass(tmp_path):
    # each link of a robot file has a frame and a body of its name: 0.2 m apart here
    path = tmp_path / "arm.urdf"
    path.write_text(
        "<robot name='arm'><link name='hand'><inertial><origin xyz='0 0 -0.2'/><mass value='1'/>"
        "<inertia ixx='0.02' iyy='0.02' izz='0.01' ixy='0' ixz='0' iyz='0'/></inertial></link>"
        "<link name='world'/><joint name='pin' type='continuous'><parent link='world'/>"
        "<child link='hand'/><origin xyz='0 0 1'/><axis xyz='0 1 0'/></joint></robot>"
    )
    mech = dy.load(path)
    model, body = mech.finalize(), mech.bodies["hand"]
    kinematics, state = dy.Kinematics(model), model.initial_state()
    model.set_joint(state, "pin", np.pi / 2)

    for owner, x in (("hand", 0.0), (mech.frames["hand"], 0.0), (body, -0.2)):
        assert kinematics.pose(state, owner)[0] == pytest.approx([x, 0.0, 1.0], abs=1e-12)
        assert kinematics.jacobian(state, owner)[2, 0] == pytest.approx(-x, abs=1e-12)
        sensors = dy.Sensors(model, [dy.FrameSensor(owner, name="at", quantities="position")])
        assert sensors.read(state)["at"] == pytest.approx([x, 0.0, 1.0], abs=1e-12)
    motion = dy.simulate(model, state, 0.0)
    assert motion.frame("hand")[0][0] == pytest.approx([0, 0, 1])
    four = dy.simulate(*zoo.four_bar(), 0.0)  # without frames
    assert (four.frame("coupler")[0] == four.body("coupler")[0]).all()


def test_coordinates_are_placed_at_rest_unless_rates_are_given():
    model = arm()
    state, space = model.initial_state(), dy.JointSpace(model)
    space.place(state, [0.3, -0.5])
    q, rate = space.read(state)
    np.testing.assert_allclose(q, [0.3, -0.5], atol=1e-14)
    np.testing.assert_allclose(rate, 0.0, atol=1e-14)
    space.place(state, [0.3, -0.5], 0.2)
    np.testing.assert_allclose(space.read(state)[1], [0.2, 0.2], atol=1e-12)
    for wrong in ([0.1], [0.1, 0.2, 0.3]):
        with pytest.raises(ValueError, match="position has shape"):
            space.place(state, wrong)
