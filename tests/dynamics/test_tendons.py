"""Tendons: lengths that joints or points make; forces along them, and MuJoCo's own motion."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest

import dynamics as dy
from dynamics.display.viewer import looks
from dynamics.errors import InconsistentStateError, UnknownNameError
from dynamics.io import LoadWarning, UnsupportedElementWarning

from .test_mjcf import load, world

SECONDS = 0.25


def arm(gravity=(0, 0, -9.81)):
    """Two hinges and a slide on the world, in a row."""
    mech = dy.Mechanism(gravity)
    bodies = [
        mech.add_body(mass=1.0 + k, inertia=[0.03, 0.02, 0.01], name=name)
        for k, name in enumerate("abc")
    ]
    a, b, c = bodies
    low, high = (0, 0, -0.3), (0, 0, 0.3)
    mech.add_joint(dy.Revolute(mech.world, a, (0, 1, 0), child_point=high, name="p"))
    mech.add_joint(dy.Revolute(a, b, (0, 1, 0), parent_point=low, child_point=high, name="q"))
    mech.add_joint(dy.Prismatic(b, c, (0, 0, 1), parent_point=low, name="r"))
    return mech


def posed(model, p=0.3, q=-0.4, r=0.05):
    state = model.initial_state()
    for name, value in {"p": p, "q": q, "r": r}.items():
        model.set_joint(state, name, value)
    return state


PATH = [("world", (0.2, 0.1, 0.1)), ("a", (0.02, 0, -0.1)), ("b", (0.03, 0, 0)), ("c", (0, 0, 0))]


def length_of_path(model, state):
    """Sum of the distances of its points, in the world."""
    points = []
    for name, point in PATH:
        if name == "world":
            points.append(np.array(point))
        else:
            pose = state.pose[model.body_number(name)]
            points.append(pose[:3] + dy.rotation.rotate(pose[3:], np.array(point)))
    return sum(np.linalg.norm(one - other) for one, other in zip(points, points[1:]))


def test_length_is_the_sum_of_coordinates_and_of_distances():
    mech = arm()
    mech.add_tendon({"p": 1.0, mech.joints["r"]: -2.0}, name="fixed", offset=0.25)
    mech.add_tendon(path=PATH, name="spatial")
    model = mech.finalize()
    state = posed(model)

    assert model.joint(state, "fixed")[0] == pytest.approx([0.3 - 0.1 + 0.25], abs=1e-14)
    assert model.joint(state, "spatial")[0] == pytest.approx(
        [length_of_path(model, state)], abs=1e-14
    )
    assert np.abs(model.constraint_violation(state)).max() < 1e-14
    assert dy.JointSpace(model).names == ("p", "q", "r")


def test_rates_of_lengths_follow_those_of_joints():
    mech = arm()
    mech.add_tendon({"p": 1.0, "q": -0.5}, name="fixed")
    mech.add_tendon(path=PATH, name="spatial")
    model = mech.finalize()
    state = posed(model)
    model.set_joint(state, "q", -0.4, 2.0)
    later = posed(model, q=-0.4 + 2e-6)
    before = posed(model, q=-0.4 - 2e-6)

    rate = (length_of_path(model, later) - length_of_path(model, before)) / 2e-6
    assert model.joint(state, "fixed")[1] == pytest.approx([-1.0], abs=1e-9)
    assert model.joint(state, "spatial")[1] == pytest.approx([rate], rel=1e-8)


def test_assemble_moves_joints_to_a_length_and_slides_to_joints():
    mech, bare = arm(), arm().finalize()
    mech.add_tendon({"p": 1.0, "q": 2.0}, name="t")
    model = mech.finalize()
    state = posed(model)

    one, other = model.assemble(state, {"p": 0.1}), bare.assemble(posed(bare), {"p": 0.1})
    assert model.joint(one, "q")[0] == pytest.approx(bare.joint(other, "q")[0], abs=1e-4)
    assert model.joint(one, "t")[0] == model.joint(one, "p")[0] + 2.0 * model.joint(one, "q")[0]
    two = model.assemble(state, {"t": 0.7})
    assert model.joint(two, "t")[0] == pytest.approx([0.7], abs=1e-9)


def test_a_tendon_of_one_joint_is_its_spring_and_damper():
    # along s = c q a spring k is c^2 k along q
    plain, tied = arm(), arm()
    hinge = plain.joints["p"]
    tied.add_tendon({"p": 2.0}, stiffness=5.0, rest=0.2, damping=0.3, name="t")
    model = tied.finalize(1e-3)
    joint = dy.Revolute(
        plain.world, hinge.child, (0, 1, 0), child_point=(0, 0, 0.3), name="p", stiffness=20.0,
        rest=0.1, damping=1.2,
    )  # fmt: skip
    plain.joints["p"] = joint
    other = plain.finalize(1e-3)

    ours = dy.simulate(model, posed(model), 0.5)
    theirs = dy.simulate(other, posed(other), 0.5)
    # the slide adds 1e-5 of the inertia of the bodies next to the joint
    assert ours.joint("p") == pytest.approx(theirs.joint("p"), abs=2e-5)


@pytest.mark.parametrize("order", [2, 4, 6])
def test_a_spring_along_a_path_keeps_energy_and_momentum(order):
    mech = dy.Mechanism((0, 0, 0))
    bodies = [
        mech.add_body(mass=1.0 + k, inertia=[0.03, 0.02, 0.01], name=k, position=(k, 0.2 * k, 0))
        for k in range(3)
    ]
    path = [(bodies[0], (0, 0.1, 0)), (bodies[1], (0.1, 0, 0)), (bodies[1], (0.1, 0.1, 0)),
            (bodies[2], (0, 0, 0.1))]  # fmt: skip
    mech.add_tendon(path=path, stiffness=30.0, rest=1.0, name="t")
    model = mech.finalize(2e-3, order=order)
    motion = dy.simulate(model, model.initial_state(), 1.0)

    energy = motion.energy()
    change = {2: 1e-3, 4: 1e-7, 6: 1e-9}[order]
    assert np.ptp(energy) < change * energy[0]
    momentum = sum((k + 1.0) * motion.body_velocity(k)[0] for k in range(3))
    assert np.abs(momentum).max() < 1e-5 * np.abs(motion.body_velocity(0)[0]).max()
    assert motion.joint("t").max() > motion.joint("t").min() + 0.1


def test_a_motor_along_a_tendon_pulls_its_joints_by_their_factors():
    # forces c u along q, as of actuated joints
    tied, plain = arm(), arm()
    factors = {"p": 1.5, "q": -0.7, "r": 2.0}
    tied.add_tendon(factors, name="t", actuated=True)
    actuated = arm()
    for name in factors:
        actuated.joints[name] = replace(plain.joints[name], actuated=True)
    # of one mechanism: bodies and joints have to be the same ones
    for name, joint in actuated.joints.items():
        ends = {what: actuated.bodies.get(getattr(joint, what).name, getattr(joint, what))
                for what in ("parent", "child")}  # fmt: skip
        actuated.joints[name] = replace(joint, **ends)
    model, other = tied.finalize(1e-3), actuated.finalize(1e-3)

    ours = dy.simulate(model, posed(model), 0.3, controls={"t": 2.0})
    forces = {name: 2.0 * factor for name, factor in factors.items()}
    theirs = dy.simulate(other, posed(other), 0.3, controls=forces)
    for name in factors:
        assert ours.joint(name) == pytest.approx(theirs.joint(name), abs=1e-4)
        assert np.ptp(theirs.joint(name)) > 0.005


def test_limits_and_servos_of_tendons_hold():
    mech = arm()
    mech.add_tendon({"p": 1.0, "q": 1.0}, name="t", limits=(-0.3, 0.2))
    mech.add_tendon({"r": 3.0}, name="s", servo=dy.PositionServo(3e4, 3e2, force_limit=200.0))
    model = mech.finalize(2e-3)
    motion = dy.simulate(model, posed(model), 1.0, controls={"s": 0.3})

    assert motion.joint("t").max() < 0.2 + 1e-9 and motion.joint("t").min() > -0.3 - 1e-9
    assert motion.joint("r")[-1] == pytest.approx(0.1, abs=1e-3)
    assert np.abs(motion.constraint_violation()).max() < 1e-9


@pytest.mark.parametrize("kv", [1e1, 1e3, 1e5])
@pytest.mark.parametrize("h", [5e-4, 1e-2])
def test_servos_of_any_gain_converge(kv, h):
    mech = arm()
    mech.add_tendon({"p": 1.0, "q": -0.7, "r": 3.0}, name="t", servo=dy.VelocityServo(kv))
    model = mech.finalize(h)
    state = posed(model)
    start = model.joint(state, "t")[0]
    motion = dy.simulate(model, state, 0.25, controls={"t": 0.4})
    found = (motion.joint("t")[-1] - start) / 0.25
    assert found == pytest.approx(0.4, abs=200.0 / kv + 0.41 * h / 0.25)


def test_a_step_with_tendons_is_linearized_exactly():
    mech = arm()
    mech.add_tendon(path=PATH, stiffness=40.0, rest=0.5, damping=0.5, name="t", actuated=True)
    mech.add_tendon({"p": 1.0, "q": -0.5, "r": 2.0}, stiffness=7.0, name="u")
    model = mech.finalize(1e-2)
    space = dy.JointSpace(model)
    at = np.array([0.3, -0.4, 0.05, 0.7, -0.2, 0.1])
    state = model.initial_state()
    space.place(state, at[:3], at[3:])
    A, B = dy.linearize(model, state, [0.1], coordinates="joint")

    def after(values, control):
        start = model.initial_state()
        space.place(start, values[:3], values[3:])
        return np.concatenate(space.read(model.step(start, [control])[0]))

    e, eye = 1e-5, np.eye(6)
    columns = [(after(at + e * d, 0.1) - after(at - e * d, 0.1)) / (2 * e) for d in eye]
    assert np.transpose(columns) == pytest.approx(A, abs=1e-5)
    slope = (after(at, 0.1 + e) - after(at, 0.1 - e)) / (2 * e)
    assert slope == pytest.approx(B[:, 0], abs=1e-6)


def test_models_with_tendons_pickle_and_have_variants():
    mech = arm()
    mech.add_tendon(path=PATH, stiffness=40.0, name="t")
    model = mech.finalize(1e-3)
    state = posed(model)
    again = pickle.loads(pickle.dumps(model))
    heavier = dy.variant(model, {"c": {"mass": 4.0}, "t": {"stiffness": 0.0}})

    assert np.array_equal(again.step(state)[0].data, model.step(state)[0].data)
    assert heavier.mechanism.joints["t"].stiffness[0] == 0.0
    copied = mech.copy()
    copied.add_tendon({"p": 1.0}, name="u")
    assert list(mech.tendons) == ["t"]


def test_kinematics_and_error_control_know_tendons():
    mech = arm()
    mech.add_tendon(path=PATH, stiffness=40.0, rest=0.5, damping=0.5, name="t")
    model = mech.finalize(2e-3)
    state = posed(model)
    kinematics = dy.Kinematics(model)
    assert list(kinematics.columns) == ["p", "q", "r"]
    goal = kinematics.pose(state, "c")[0] + [0.01, 0.0, 0.01]
    found = kinematics.inverse(state, {"c": goal})
    assert np.abs(model.constraint_violation(found)).max() < 1e-12

    fine = arm()
    fine.add_tendon(path=PATH, stiffness=40.0, rest=0.5, damping=0.5, name="t")
    fine = fine.finalize(1e-4)
    ours = dy.simulate(model, state, 0.3, accuracy=1e-5)
    theirs = dy.simulate(fine, posed(fine), 0.3)
    assert ours.joint("r")[-1] == pytest.approx(theirs.joint("r")[-1], abs=3e-5)


@pytest.mark.parametrize(("gain", "most"), [(3.0, np.inf), (1e4, np.inf), (3.0, 0.5)])
def test_a_servo_on_a_tendon_of_one_joint_is_that_of_the_joint(gain, most):
    motions = []
    for on_joint in (True, False):
        servo = dy.PositionServo(gain, gain / 100.0, target=0.1, force_limit=most)
        mech = arm()
        if on_joint:
            mech = dy.Mechanism()
            a, b, c = (
                mech.add_body(mass=1.0 + k, inertia=[0.03, 0.02, 0.01], name=name)
                for k, name in enumerate("abc")
            )
            low, high = (0, 0, -0.3), (0, 0, 0.3)
            axis = {"axis": (0, 1, 0), "child_point": high}
            mech.add_joint(dy.Revolute(mech.world, a, name="p", servo=servo, **axis))
            mech.add_joint(dy.Revolute(a, b, name="q", parent_point=low, **axis))
            mech.add_joint(dy.Prismatic(b, c, (0, 0, 1), parent_point=low, name="r"))
        else:
            mech.add_tendon({"p": 1.0}, servo=servo, name="s")
        model = mech.finalize(2e-3)
        motions.append(dy.simulate(model, posed(model), 0.2, accuracy=1e-3))

    for name in "pqr":
        one, other = (motion.joint(name) for motion in motions)
        assert np.abs(one - other).max() < 1e-3  # the accuracy


def test_slides_of_tendons_are_no_mass_and_not_drawn():
    mech, bare = arm(), arm()
    mech.add_tendon({"p": 1.0, "r": 2.0}, armature=5.0, name="t")
    model, other = mech.finalize(), bare.finalize()
    state, same = posed(model), posed(other)
    ours, theirs = dy.Kinematics(model), dy.Kinematics(other)

    assert mech.mass == bare.mass
    assert ours.center_of_mass(state) == pytest.approx(theirs.center_of_mass(same))
    assert ours.centroidal_matrix(state) == pytest.approx(theirs.centroidal_matrix(same), abs=1e-12)
    c = np.array([1.0, 0.0, 2.0])  # but inertia: M + a c c^T
    assert ours.mass_matrix(state) == pytest.approx(
        theirs.mass_matrix(same) + 5.0 * np.outer(c, c), rel=1e-4
    )
    assert {body.name for body in looks.visible(mech)} == {"a", "b", "c"}


def test_ropes_between_free_bodies_and_contacts_hold():
    mech = arm()
    mech.add_obstacle(dy.HalfSpace(point=(0, 0, -1.6)), name="floor")
    mech.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=(0.3, 0, -1.0))
    mech.add_body(dy.Box(0.2, 0.2, 0.2, mass=1.0), name="box", position=(0.9, 0.2, -1.3))
    mech.add_tendon(
        path=[("ball", (0, 0, 0.1)), ("c", (0, 0, 0)), ("box", (0, 0, 0.1))], limits=(0, 1.6),
        name="rope",
    )  # fmt: skip
    mech.collide()
    model = mech.finalize(2e-3)
    motion = dy.simulate(model, posed(model), 0.5)

    assert motion.joint("rope").max() < 1.6 + 1e-9
    assert np.abs(motion.constraint_violation()).max() < 1e-9
    assert motion.contact("rope").normal_force.max() > 1.0


def test_files_and_trees_are_without_tendons(tmp_path):
    mech = arm()
    mech.add_tendon({"p": 1.0, "q": -0.5}, stiffness=7.0, name="u")
    with pytest.warns(UnsupportedElementWarning, match="tendons: 'u'"):
        dy.save_urdf(mech, tmp_path / "a.urdf")
    assert list(dy.load(tmp_path / "a.urdf").joints)[-3:] == ["p", "q", "r"]
    with pytest.raises(ValueError, match="a tree has no tendons, and the mechanism has 'u'"):
        dy.integrators.Tree.from_mechanism(mech)


def test_what_is_no_tendon_is_refused():
    mech = arm()
    ball = mech.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=(1, 1, 1))
    mech.add_joint(dy.Spherical(mech.world, ball, parent_point=(1, 1, 1), name="s"))
    other = arm()
    cases = [
        (({},), {}, ValueError, "neither joints nor a path"),
        (({"x": 1.0},), {}, UnknownNameError, "'x', which is not a joint"),
        (({other.joints["p"]: 1.0},), {}, UnknownNameError, "'p', which is not a joint"),
        (({"s": 1.0},), {}, ValueError, "has 3"),
        (({"p": 0.0},), {}, ValueError, "factor of joint 'p'"),
        (({"p": np.nan},), {}, ValueError, "factor of joint 'p'"),
        (({"p": 1.0},), {"offset": np.inf}, ValueError, "offset"),
        (({"p": 1.0},), {"armature": -1.0}, ValueError, "armature"),
        ((), {"path": [("a", (0, 0, 0))]}, ValueError, "two bodies"),
        ((), {"path": [("a", (0, 0, 0)), ("a", (1, 0, 0))]}, ValueError, "two bodies"),
        ((), {"path": [("a", (0, 0, 0)), ("z", (1, 0, 0))]}, UnknownNameError, "'z'"),
        ((), {"path": ["a", "b"]}, TypeError, "pairs"),
        (({"p": 1.0},), {"name": "p"}, ValueError, "in use"),
        (({"p": 1.0},), {"speed": 1.0}, TypeError, "speed"),
    ]
    for given, options, error, what in cases:
        with pytest.raises(error, match=what):
            mech.add_tendon(*given, **options)
    assert len(mech.tendons) == 0 and "tendon 0 slider" not in mech
    mech.add_tendon({"p": 1.0})
    model = mech.finalize()
    with pytest.raises(InconsistentStateError, match="length of a tendon"):
        model.set_joint(model.initial_state(), "tendon 0", 0.1)


# MuJoCo

ARM = (
    '<body name="a" pos="0 0 2"><joint name="p" axis="0 1 0"/><geom type="capsule" '
    'fromto="0 0 0 0 0 -0.5" size="0.03"/><site name="s1" pos="0.02 0 -0.3"/>'
    '<body name="b" pos="0 0 -0.5"><joint name="q" axis="0 1 0" ref="10"/><geom type="capsule" '
    'fromto="0 0 0 0 0 -0.4" size="0.03"/><site name="s2" pos="0.03 0.01 -0.2"/>'
    '<body name="c" pos="0 0 -0.4"><joint name="r" type="slide" axis="0 0 1"/><geom size="0.05"/>'
    '<site name="s3" pos="0.01 0 0"/></body></body></body><site name="s0" pos="0.1 0.2 2"/>'
)
FIXED = (
    '<fixed name="t" {}><joint joint="p" coef="1"/><joint joint="q" coef="-0.7"/>'
    '<joint joint="r" coef="3"/></fixed>'
)
SPATIAL = (
    '<spatial name="t" {}><site site="s0"/><site site="s1"/><site site="s2"/><site site="s3"/>'
    "</spatial>"
)
START = (0.3, -0.4, 0.02)
#: Properties of the tendon, actuator, command, how far our motion may be from theirs, m: their dry
#: friction and limits are soft.
CASES = {
    "spring": ('stiffness="30" springlength="0.5"', "", None, 1e-4),
    "spring at rest": ('stiffness="30"', "", None, 1e-4),
    "damper": ('damping="2"', "", None, 1e-4),
    "rotor": ('armature="0.1"', "", None, 1e-4),
    "friction": ('frictionloss="0.3"', "", None, 1e-2),
    "limit": ('limited="true" range="0.1 1.25"', "", None, 1e-2),
    "servo": ('damping="1"', '<position tendon="t" kp="50" kv="2" gear="2"/>', 1.0, 1e-3),
    "servo with a limit": (
        "", '<position tendon="t" kp="500" kv="20" forcerange="-5 5"/>', 0.8, 1e-3,
    ),
    "velocity servo": ("", '<velocity tendon="t" kv="40"/>', 0.4, 1e-3),
    "motor": ('damping="1"', '<motor tendon="t" gear="2"/>', 1.0, 1e-4),
}  # fmt: skip


@pytest.mark.parametrize("tendon", [FIXED, SPATIAL], ids=["fixed", "spatial"])
@pytest.mark.parametrize("case", CASES)
def test_tendons_move_robots_as_in_mujoco(tmp_path, mujoco, tendon, case):
    options, actuator, command, most = CASES[case]
    sensors = '<sensor><tendonpos name="l" tendon="t"/><tendonvel name="v" tendon="t"/></sensor>'
    more = f"<tendon>{tendon.format(options)}</tendon><actuator>{actuator}</actuator>{sensors}"
    text = world(ARM, more)
    mech = load(tmp_path, text)
    theirs = mujoco.MjModel.from_xml_string(text)
    theirs.opt.timestep, theirs.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(theirs)
    model = mech.finalize(5e-4)
    state = model.initial_state()
    for j, (name, value) in enumerate(zip("pqr", START)):
        data.qpos[j] = theirs.qpos0[j] + value
        model.set_joint(state, name, value)
    mujoco.mj_forward(theirs, data)
    readings = dy.Sensors(model).read(state)
    assert readings["l"] == pytest.approx(data.sensor("l").data, abs=1e-12)
    controls = None
    if command is not None:
        data.ctrl[:] = command
        controls = model.controls([command])
    for _ in range(round(SECONDS / 1e-4)):
        mujoco.mj_step(theirs, data)
    motion = dy.simulate(model, state, SECONDS, controls=controls)
    mujoco.mj_forward(theirs, data)

    found = [motion.frame(name)[0][-1] - data.body(name).xpos for name in "abc"]
    print(case, np.linalg.norm(found, axis=1).max())
    assert np.linalg.norm(found, axis=1).max() < most
    assert not mech.report.left_out
    assert motion.joint("t")[-1] == pytest.approx(data.ten_length[0], abs=10 * most)


def test_a_gripper_with_one_servo_for_two_fingers(tmp_path, mujoco):
    # as the hand of Franka's arm: a servo on the mean of two slides that an equality couples
    finger = (
        '<body name="{0}" pos="0 {1} 0"><joint name="{0}" type="slide" axis="0 {2} 0" '
        'range="0 0.04" limited="true" armature="0.1" damping="1"/><geom type="box" '
        'size="0.01 0.01 0.02"/></body>'
    )
    text = world(
        finger.format("left", 0.01, 1) + finger.format("right", -0.01, -1),
        '<tendon><fixed name="split"><joint joint="left" coef="0.5"/>'
        '<joint joint="right" coef="0.5"/></fixed></tendon>'
        '<equality><joint joint1="left" joint2="right"/></equality>'
        '<actuator><general name="grip" tendon="split" ctrlrange="0 255" ctrllimited="true" '
        'forcerange="-100 100" forcelimited="true" biastype="affine" '
        'gainprm="0.01568627451 0 0" biasprm="0 -100 -10"/></actuator>',
    )
    mech = load(tmp_path, text, gravity=(0, 0, 0))
    model = mech.finalize(2e-3)
    controls = model.controls({"grip": 200.0})
    motion = dy.simulate(model, model.initial_state(), 3.0, controls=controls)

    wanted = 200.0 * 0.01568627451 / 100
    assert motion.joint("left")[-1] == pytest.approx(wanted, abs=1e-6)
    assert motion.joint("right")[-1] == pytest.approx(wanted, abs=1e-6)


def test_coupled_tendons_keep_their_ratio(tmp_path, mujoco):
    text = world(
        ARM,
        '<tendon><fixed name="t"><joint joint="p" coef="1"/><joint joint="q" coef="1"/></fixed>'
        '<fixed name="u"><joint joint="r" coef="5"/></fixed></tendon>'
        '<equality><tendon tendon1="t" tendon2="u" polycoef="0 2"/></equality>',
    )
    mech = load(tmp_path, text)
    model = mech.finalize(2e-3)
    motion = dy.simulate(model, model.initial_state(), 0.5)
    change = {name: motion.joint(name) - motion.joint(name)[0] for name in "tu"}

    assert np.ptp(change["t"]) > 0.05
    assert change["t"] == pytest.approx(2.0 * change["u"], abs=1e-9)


@pytest.mark.parametrize("tendon", [FIXED, SPATIAL], ids=["fixed", "spatial"])
def test_a_tendon_that_an_equality_holds_keeps_its_length(tmp_path, mujoco, tendon):
    text = world(
        ARM,
        f"<tendon>{tendon.format('')}</tendon>"
        '<equality><tendon tendon1="t" polycoef="0.05 0 0 0 0" solref="0.002 1"/></equality>',
    )
    theirs = mujoco.MjModel.from_xml_string(text)
    mech = load(tmp_path, text)
    model = mech.finalize(1e-3)
    state = model.initial_state()
    motion = dy.simulate(model, state, 0.5)
    wanted = theirs.tendon_length0[0] + 0.05

    assert not mech.report.left_out
    x = [motion.frame(name)[0] for name in "abc"]
    assert np.abs(motion.constraint_violation()).max() < 1e-9
    if tendon == FIXED:
        q = [motion.joint(name) for name in "pqr"]
        ours = q[0] - 0.7 * (q[1] + np.radians(10)) + 3.0 * q[2]
    else:
        points = [np.tile([0.1, 0.2, 2.0], (len(motion), 1))]
        points += [motion.frame(site)[0] for site in ("s1", "s2", "s3")]
        ours = sum(np.linalg.norm(a - b, axis=1) for a, b in zip(points, points[1:]))
    assert ours == pytest.approx(wanted, abs=1e-9)
    assert np.ptp(x[2], axis=0).max() > 0.01
    with pytest.raises(TypeError, match="never changes"):
        arm().add_tendon({"p": 1.0}, length=0.3, stiffness=1.0)


def test_a_tendon_of_one_joint_is_merged_into_it(tmp_path, mujoco):
    tendon = (
        '<fixed name="t" limited="true" range="-0.2 0.1" stiffness="3" springlength="0.2" '
        'damping="0.5" armature="0.02" frictionloss="0.1"><joint joint="q" coef="-0.5"/></fixed>'
    )
    body = ARM.replace(
        'ref="10"', 'ref="10" range="-40 30" limited="true" stiffness="2" damping="1"'
    )
    mech = load(tmp_path, world(body, f"<tendon>{tendon}</tendon>"))
    joint, start = mech.joints["q"], np.radians(10)

    assert len(mech.tendons) == 0
    # -0.5 (q + 10 degrees) from -0.2 to 0.1, and q + 10 degrees from -40 to 30 degrees
    np.testing.assert_allclose(joint.limits, [[-0.2 - start, min(0.4, np.radians(30)) - start]])
    np.testing.assert_allclose(joint.stiffness, [2 + 0.75])
    np.testing.assert_allclose(
        joint.rest, [(2 * -start + 0.75 * (-0.4 - start)) / 2.75]
    )  # springref is 0 in the file's coordinate
    np.testing.assert_allclose(
        [*joint.damping, *joint.armature, *joint.friction], [1.125, 0.005, 0.05]
    )


def test_hinges_of_a_body_that_tendons_pull_stay_hinges(tmp_path, mujoco):
    body = (
        '<body name="b"><joint name="x" axis="1 0 0"/><joint name="y" axis="0 1 0"/>'
        '<geom type="box" size="0.1 0.2 0.3" pos="0 0 0.3"/></body>'
    )
    both = (
        '<fixed name="t" stiffness="2"><joint joint="x" coef="1"/>'
        '<joint joint="y" coef="1"/></fixed>'
    )
    mech = load(tmp_path, world(body, f"<tendon>{both}</tendon>"))
    assert list(mech.joints) == ["x", "y", "t"] and not mech.report.left_out


def test_dead_bands_and_idle_tendons_are_left_out_by_name(tmp_path, mujoco):
    band = (
        '<fixed name="band" stiffness="1" springlength="0 1"><joint joint="p" coef="1"/>'
        '<joint joint="q" coef="1"/></fixed>'
    )
    idle = '<spatial name="idle"><site site="s0"/><site site="s1"/></spatial>'
    text = world(ARM, f"<tendon>{band}{idle}</tendon>")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoadWarning)
        warnings.simplefilter("default", UnsupportedElementWarning)
        with pytest.warns(UnsupportedElementWarning) as caught:
            mech = load(tmp_path, text, quiet=False)
    assert caught[0].message.elements.items() >= {
        "springs of tendons with a dead band": ["band"],
        "tendons that do nothing": ["idle"],
    }.items()  # fmt: skip
    assert set(mech.tendons) == {"band"}


@pytest.mark.parametrize(
    "factors", [(0.7,), (1.0, 1.0, -2.0), (0.3128, -0.8635), (0.3, np.pi, -0.77)]
)
def test_hinges_of_a_tendon_wind_on_without_end(factors):
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    for k in range(len(factors)):
        body = mechanism.add_body(mass=1.0 + k, inertia=[0.2, 0.3, 0.4], position=(k, 0, 0))
        mechanism.add_joint(
            dy.Revolute(mechanism.world, body, (0, 1, 0), parent_point=(k, 0, 0), name=f"j{k}")
        )
    mechanism.add_tendon(
        {f"j{k}": factor for k, factor in enumerate(factors)}, name="t", stiffness=2.0
    )
    model = mechanism.finalize(0.01)
    assert not model.stiff
    state = model.initial_state()
    for k in range(len(factors)):
        model.set_joint(state, f"j{k}", 0.1, (15.0, -11.0, 9.0)[k])

    motion = dy.simulate(model, state, 5.0)

    angles = [motion.joint(f"j{k}") for k in range(len(factors))]
    change = motion.joint("t") - sum(factor * q for factor, q in zip(factors, angles))
    if len(factors) > 1:
        assert np.abs(angles).max() > 4.0 * np.pi
    assert np.abs(change - change[0]).max() < 1e-9
    assert np.ptp(motion.energy()) < 5e-3 * motion.energy()[0]


@pytest.mark.parametrize("offset", [0.0, 30.0])
@pytest.mark.parametrize("factors", [(1.0, 1.0), (2.0, -1.0), (0.3128, -0.8635)])
def test_lengths_of_postures_are_sums_of_angles_within_a_turn(factors, offset):
    mechanism = dy.Mechanism()
    for k in range(2):
        body = mechanism.add_body(mass=1.0, inertia=[0.2, 0.3, 0.4], position=(k, 0, 0))
        mechanism.add_joint(
            dy.Revolute(mechanism.world, body, (0, 1, 0), parent_point=(k, 0, 0), name=f"j{k}")
        )
    mechanism.add_tendon(
        {f"j{k}": factor for k, factor in enumerate(factors)}, name="t", offset=offset
    )
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    assert model.joint(state, "t")[0][0] == pytest.approx(offset, abs=1e-12)
    for angles in ((5.0, 0.0), (5.0, -6.0), (-0.1, 6.2)):
        for k in range(2):
            model.set_joint(state, f"j{k}", angles[k])
        wanted = offset + np.dot(factors, angles)
        assert model.joint(state, "t")[0][0] == pytest.approx(wanted, abs=1e-9)
        assert np.abs(model.constraint_violation(state)).max() < 1e-9
