"""Sensors of the forces of motors and servos: online, of records, in environments, of files."""

import pickle

import numpy as np
import pytest

import dynamics as dy

from .test_mjcf import load, world

#: N m/rad, N m s/rad, N m
SERVO = dy.PositionServo(30.0, 2.0, force_limit=4.0)


def arm(collide=False, timestep=0.01, **options):
    """An upper arm with a motor of at most 3 N m and a lower one with a servo."""
    mech = dy.Mechanism()
    upper = mech.add_body(dy.Box(0.1, 0.1, 0.5, mass=1.0), name="upper")
    lower = mech.add_body(dy.Box(0.1, 0.1, 0.5, mass=1.0), name="lower")
    motor = {"actuated": True, "control_limits": (-3.0, 3.0), "name": "shoulder"}
    ends = {"parent_point": (0, 0, -0.25), "child_point": (0, 0, 0.25)}
    mech.add_joint(dy.Revolute(mech.world, upper, (0, 1, 0), child_point=(0, 0, 0.25), **motor))
    mech.add_joint(dy.Revolute(upper, lower, (0, 1, 0), servo=SERVO, name="elbow", **ends))
    for joint in ("shoulder", "elbow"):
        mech.add_sensor(dy.JointSensor(joint, quantities="motor force", name=joint, **options))
    if collide:
        ball = mech.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=(0, 0, -3.0))
        mech.add_joint(dy.Prismatic(mech.world, ball, (0, 0, 1), parent_point=(0, 0, -3.0)))
        mech.collide()
    return mech.finalize(timestep)


def wave(time):
    return [5.0 * np.sin(20.0 * time), 0.4 * np.cos(9.0 * time)]


@pytest.mark.parametrize("collide", [False, True])
def test_forces_of_motors_are_read_online_as_in_the_record(collide):
    model = arm(collide)
    sensors, seen = dy.Sensors(model), []

    def controller(state, time):
        seen.append({name: x.copy() for name, x in sensors.read(state).items()})
        return wave(time)

    motion = dy.simulate(model, model.initial_state(), 0.5, controller=controller)
    found = sensors.history(motion)
    for name, readings in found.items():
        np.testing.assert_array_equal(readings[:-1], [one[name] for one in seen])
        np.testing.assert_array_equal(readings[:, 0], motion.motor_force(name))
    assert found["shoulder"].max() == 3.0  # at its limit
    assert found["shoulder"][0] == found["elbow"][0] == 0.0  # nothing is known before

    later = dy.simulate(model, motion.final, 0.1, controller=controller)
    np.testing.assert_array_equal(seen[50]["elbow"], found["elbow"][-1])
    np.testing.assert_array_equal(sensors.history(later)["elbow"][0], found["elbow"][-1])
    np.testing.assert_array_equal(sensors.history(motion[20:])["elbow"], found["elbow"][20:])
    np.testing.assert_array_equal(sensors.history(motion[::7])["elbow"], found["elbow"][::7])
    every = dy.simulate(model, model.initial_state(), 0.5, controls=motion.controls, every=5)
    np.testing.assert_array_equal(sensors.history(every)["elbow"], found["elbow"][::5])


@pytest.mark.parametrize("collide", [False, True])
def test_a_state_knows_the_controls_that_led_to_it(collide):
    model = arm(collide)
    state = model.initial_state()
    assert state.controls is None
    after, _ = model.step(state, [2.0, 0.3])
    assert state.controls is None and after.controls.tolist() == [2.0, 0.3]
    for one in (after.copy(), pickle.loads(pickle.dumps(after))):
        assert dy.Sensors(model).read(one)["shoulder"] == 2.0
    given = np.array([wave(0.01 * k) for k in range(20)])
    motion = dy.simulate(model, state, 0.2, controls=given)
    np.testing.assert_array_equal(motion[7].controls, given[6])
    assert motion[0].controls is None


def test_event_functions_see_the_forces_of_motors():
    model = arm()
    sensors, given = dy.Sensors(model, ["shoulder"]), np.zeros((50, 2))
    given[:, 0] = np.linspace(0.0, 2.5, 50)

    def stalls(time, state):
        return sensors.read(state)["shoulder"][0] - 1.0

    motion = dy.simulate(model, model.initial_state(), 0.5, controls=given, events=stalls)
    (event,) = motion.events
    step = int(np.argmax(given[:, 0] > 1.0))  # controls jump from step to step
    assert event.kind == "rises" and event.time == pytest.approx(0.01 * step, abs=1e-9)


def test_environments_observe_the_forces_of_motors():
    model = arm()
    task = dy.gym.Task(model, lambda q, rate, action: 0.0, most=[2.0, 0.5], skip=2,
                       sensors=dy.Sensors(model))  # fmt: skip
    env, many = dy.gym.MechanismEnv(task), dy.gym.MechanismVectorEnv(task, num_envs=2)
    assert env.reset(seed=0)[0][-2:].tolist() == [0.0, 0.0]
    many.reset(seed=0)
    for action in (0.7, -3.0):
        seen = env.step(np.array([action, 0.2], np.float32))[0]
        assert seen[-2] == pytest.approx(2.0 * np.clip(action, -1.0, 1.0), rel=1e-6)
        both = many.step(np.array([[action, 0.2]] * 2, np.float32))[0]
        np.testing.assert_allclose(both[:, -2], seen[-2], rtol=1e-6)
    state = env.state
    wanted = dy.Sensors(model).read(state)["elbow"]
    assert seen[-1] == pytest.approx(wanted[0], rel=1e-6)


def test_a_joint_without_a_motor_has_no_such_sensor():
    mech = dy.Mechanism()
    body = mech.add_body(dy.Box(0.1, 0.1, 0.5, mass=1.0), name="body")
    mech.add_joint(dy.Revolute(mech.world, body, (0, 1, 0), name="hinge"))
    mech.add_sensor(dy.JointSensor("hinge", quantities=("position", "motor force")))
    with pytest.raises(ValueError, match="joint 'hinge' has none; actuated=True"):
        dy.Sensors(mech.finalize())


BODIES = (
    '<body name="a"><joint name="p" axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/>'
    '<body name="b" pos="0.5 0 0"><joint name="q" axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/>'
    '<body name="c" pos="0.5 0 0"><joint name="r" axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/>'
    "</body></body></body>"
)
ACTUATORS = (
    '<actuator><motor name="m" joint="p" ctrlrange="-0.5 0.5"/>'
    '<position name="s" joint="q" kp="3" kv="0.1"/>'
    '<velocity name="v" joint="r" kv="0.2" gear="2"/></actuator>'
)


def test_forces_of_actuators_of_a_file_are_mujocos(tmp_path, mujoco):
    sensors = "".join(f'<actuatorfrc name="{one}" actuator="{one}"/>' for one in "ms")
    sensors += "".join(f'<jointactuatorfrc name="{one}" joint="{one}"/>' for one in "pqr")
    text = world(BODIES, f"{ACTUATORS}<sensor>{sensors}</sensor>")
    theirs = mujoco.MjModel.from_xml_string(text)
    theirs.opt.timestep, theirs.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(theirs)
    data.ctrl[:] = 0.8, 0.4, 1.5
    for _ in range(2000):
        mujoco.mj_step(theirs, data)
    mujoco.mj_forward(theirs, data)

    names, readings = ["m", "s", "p", "q", "r"], []
    for h in (2e-3, 1e-3):
        mech = load(tmp_path, text)
        model = mech.finalize(h)
        controls = model.controls({"m": 0.8, "s": 0.4, "v": 1.5})
        motion = dy.simulate(model, model.initial_state(), 0.2, controls=controls)
        found = dy.Sensors(model).read(motion.final)
        assert list(found) == names
        readings.append(np.concatenate(list(found.values())))
    wanted = [data.sensor(name).data[0] for name in names]
    # servos are implicit, with errors of first order in the step, which the difference estimates
    change = readings[1] - readings[0]
    np.testing.assert_allclose(readings[1], wanted, atol=1.1 * abs(change).max())
    np.testing.assert_allclose(readings[1] + change, wanted, atol=0.05 * abs(change).max())


@pytest.mark.parametrize(
    ("more", "sensor"),
    [
        ('<motor name="x" joint="p"/>', '<actuatorfrc name="f" actuator="m"/>'),  # shares a joint
        ("", '<actuatorfrc name="f" actuator="v"/>'),  # has a gear
        ("", '<jointactuatorfrc name="f" joint="free"/>'),
    ],
)
def test_forces_of_actuators_that_are_not_alone_are_left_out_by_name(
    tmp_path, mujoco, more, sensor
):
    bodies = BODIES + '<body pos="0 0 3"><joint name="free" axis="1 0 0"/><geom size="1"/></body>'
    actuators = ACTUATORS.replace("</actuator>", f"{more}</actuator>")
    mech = load(tmp_path, world(bodies, f"{actuators}<sensor>{sensor}</sensor>"))
    (names,) = [x for what, x in mech.report.left_out.items() if what.startswith("sensors of type")]
    assert names == ["f"] and not mech.sensors


def test_forces_of_motors_that_are_not_loaded_are_left_out_by_name(tmp_path, mujoco):
    sensor = '<sensor><actuatorfrc name="f" actuator="m"/></sensor>'
    mech = load(tmp_path, world(BODIES, ACTUATORS + sensor), actuated=False)
    assert mech.report.left_out["sensors of joints or bodies that are not here"] == ["f"]
