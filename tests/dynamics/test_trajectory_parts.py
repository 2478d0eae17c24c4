"""Recorded motions: parts of them by number and time, what was put in, and forces of motors."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.kernels.base import layout
from dynamics.zoo import cart_pole, double_pendulum

H = 0.01


def slider(**options):
    """2 kg on a rail along x, without weight."""
    mech = dy.Mechanism(gravity=(0, 0, 0))
    box = mech.add_body(dy.Box(0.1, 0.1, 0.1, mass=2.0), name="box")
    mech.add_joint(dy.Prismatic(mech.world, box, (1, 0, 0), name="rail", **options))
    return mech.finalize(H)


def tilted():
    model, state = cart_pole()
    model.set_joint(state, "hinge", 0.3)
    return model, state


def back(model, asked):
    """A controller of a cart, and a list of what it gives."""

    def controller(state, time):
        asked.append(-3.0 * model.joint(state, "hinge")[0].item() + time)
        return [asked[-1]]

    return controller


# Parts


def test_records_are_chosen_by_slices_masks_and_numbers():
    model, state = double_pendulum()
    motion = dy.simulate(model, state, 0.5)
    for chosen in (slice(10, 20), slice(None, None, 7), motion.time > 0.3, [0, 3, 50]):
        part = motion[chosen]
        assert np.array_equal(part.states, motion.states[chosen])
        assert np.array_equal(part.time, motion.time[chosen])
        assert np.array_equal(part.joint(("joint", 1)), motion.joint(("joint", 1))[chosen])
    assert len(motion[3:3]) == 0
    with pytest.raises(ValueError, match="in the order of time, each once"):
        motion[::-1]


def test_the_state_at_a_time_is_that_of_the_nearest_record():
    model, state = double_pendulum()
    motion = dy.simulate(model, state, 0.5, every=5)
    for time, record in ((0.0, 0), (0.05, 1), (0.07, 1), (0.08, 2), (0.5, 10)):
        found = motion.at(time)
        assert np.array_equal(found.data, motion.states[record])
        assert found.time == motion.time[record]
    for time in (-0.1, 0.6, np.nan):
        with pytest.raises(ValueError, match=r"goes from 0 s to 0.5 s, so that it has no state at"):
            motion.at(time)
    with pytest.raises(TypeError, match=r"whole numbers, not 0.5; motion.at\(time\)"):
        motion[0.5]


def test_a_part_has_its_own_controls_and_events():
    model, state = tilted()
    events = {"early": lambda time, state: time - 0.105, "late": lambda time, state: time - 0.305}
    motion = dy.simulate(model, state, 0.5, controls=np.arange(50.0)[:, None], events=events)
    part = motion[20:]
    assert part.controls[:, 0].tolist() == list(range(20, 50))
    assert [one.name for one in part.events] == ["late"]
    np.testing.assert_array_equal(part.motor_force("rail")[1:], motion.motor_force("rail")[21:])


# Controls of controllers


@pytest.mark.parametrize("options", [{}, {"every": 5}, {"accuracy": 1e-5}])
def test_controls_of_a_controller_are_recorded(options):
    model, state = tilted()
    asked = []
    motion = dy.simulate(model, state, 0.5, controller=back(model, asked), **options)
    assert len(asked) == 50 and motion.controls[:, 0].tolist() == asked
    again = dy.simulate(model, state, 0.5, controls=motion.controls, **options)
    assert np.array_equal(again.states, motion.states)


@pytest.mark.parametrize("accuracy", [None, 1e-4])
def test_controls_of_a_controller_are_recorded_where_contacts_are_found(accuracy):
    mech = dy.Mechanism()
    mech.add_obstacle(dy.HalfSpace(), name="floor")
    for k in range(3):
        mech.add_body(dy.Sphere(0.1, mass=1.0), name=k, position=(0.02 * k, 0, 0.2 + 0.3 * k))
    lift = mech.add_body(dy.Sphere(0.1, mass=1.0), name="lift")
    place = {"parent_point": (1, 0, 0.5), "name": "rail", "actuated": True}
    mech.add_joint(dy.Prismatic(mech.world, lift, (0, 0, 1), **place))
    mech.collide()
    model, asked = mech.finalize(H), []

    def controller(state, time):
        asked.append(9.81 + 5.0 * np.sin(9.0 * time))
        return [asked[-1]]

    start = model.initial_state()
    motion = dy.simulate(model, start, 0.5, controller=controller, accuracy=accuracy)
    assert len(asked) == 50 and motion.controls[:, 0].tolist() == asked


def test_a_run_that_ends_early_has_the_controls_of_its_steps():
    model, state = tilted()
    asked = []
    controller = back(model, asked)

    def late(state, time):
        if time > 0.205:
            raise OSError("late")
        return controller(state, time)

    with pytest.raises(OSError, match="late") as caught:
        dy.simulate(model, state, 0.5, controller=late)
    assert caught.value.trajectory.controls[:, 0].tolist() == asked

    def end(time, state):
        return time - 0.205

    end.terminal = True
    asked.clear()
    motion = dy.simulate(model, state, 0.5, controller=controller, events=end)
    assert motion.time[-1] == pytest.approx(0.205) and len(motion.controls) == 21
    assert motion.motor_force("rail")[1:].tolist() == asked[:21]


def test_a_discrete_start_has_the_control_of_its_first_step():
    model, state = cart_pole(form="first order")
    model.set_joint(state, "hinge", 0.3)
    given = np.arange(1.0, 21.0)[:, None]
    steady = dy.simulate(model, state, 0.2, controls=given, start="discrete")
    assert np.array_equal(steady.controls, given)

    def controller(state, time):
        return given[round(time / H)]

    motion = dy.simulate(model, state, 0.2, controller=controller, start="discrete")
    assert np.array_equal(motion.controls, given)
    assert np.array_equal(motion.states, steady.states)


# Motors


def test_the_force_of_a_motor_is_its_control_within_its_limits():
    model = slider(actuated=True, control_limits=(-3.0, 2.0))
    table = np.array([[1.0], [5.0], [-7.0], [0.5]])
    motion = dy.simulate(model, model.initial_state(), 4 * H, controls=table)
    assert motion.motor_force("rail").tolist() == [0.0, 1.0, 2.0, -3.0, 0.5]
    steady = dy.simulate(model, model.initial_state(), 4 * H, controls=[1.5], every=2)
    assert steady.motor_force("rail").tolist() == [0.0, 1.5, 1.5]


@pytest.mark.parametrize(
    "servo",
    [
        dy.PositionServo(50.0, 2.0, gear=3.0),
        dy.PositionServo(50.0, 2.0, gear=3.0, force_limit=4.0),
        dy.PositionServo(1e6, 10.0, target=0.2),
        dy.VelocityServo(2.0, gear=-2.0, force_limit=1.0),
    ],
)
def test_the_force_of_a_servo_is_what_accelerates_its_body(servo):
    model = slider(servo=servo)
    targets = np.sin(0.05 * np.arange(200))
    motion = dy.simulate(model, model.initial_state(), 2.0, controls={"rail": targets})
    force = motion.motor_force("rail")

    # m (v_k - v_{k-1}) = h f of the intervals' velocities: theory/step (3)
    first = layout.POSE + layout.TWIST
    v = motion.states[:, first]
    gain = 2.0 * np.diff(v)[1:]
    assert np.abs(force).max() > 0.5
    # Newton's tolerance of velocities, 5e-12 of 1 m/s, times the servo's stiffness h k + c
    numbers = servo.rows(1, "")
    stiffness = H * numbers[0].item() + numbers[1].item()
    np.testing.assert_allclose(H * force[2:], gain, atol=H * stiffness * 1e-11 + 1e-12)


@pytest.mark.parametrize("options", [{}, {"every": 4}])
def test_the_torque_of_a_stiff_servo_is_exact_over_many_turns(options):
    """The rate at a node differs from that of the interval by 1e-4, and the servo multiplies it."""
    mech = dy.Mechanism(gravity=(0, 0, 0))
    wheel = mech.add_body(dy.Box(0.3, 0.2, 0.1, mass=2.0), name="wheel")
    servo = dy.VelocityServo(1000.0, gear=2.0)
    mech.add_joint(dy.Revolute(mech.world, wheel, (0, 0, 1), name="hinge", servo=servo))
    model = mech.finalize(H)
    targets = 20.0 + 20.0 * np.sin(0.05 * np.arange(200))
    options = {"controls": {"hinge": targets}} | options
    state = model.initial_state()
    model.set_joint(state, "hinge", 0.0, 10.0)
    motion = dy.simulate(model, state, 2.0, **options)
    torque = motion.motor_force("hinge")
    assert np.ptp(motion.joint("hinge")) > 2.0 * np.pi

    # theory/step (3) about a fixed axis: I (w_k s_k - w_{k-1} s_{k-1}) = d f, s = cos of half the
    # turn, d half of both intervals
    n = model.n_bodies
    first = layout.POSE * n + layout.TWIST * n + 5
    now, past = motion.states[:, first], motion.states[:, first + layout.TWIST * n]
    length, spacing = motion.intervals.T
    other = 2.0 * spacing - length
    swing = [w * np.sqrt(1.0 - (0.5 * h * w) ** 2) for w, h in ((now, length), (past, other))]
    gain = wheel.inertia[2, 2] * (swing[0] - swing[1])
    assert np.abs(torque).max() > 1e-3
    # Newton's tolerance of velocities, 5e-12, and rounding of angles over h, times gear^2 c h
    np.testing.assert_allclose((spacing * torque)[2:], gain[2:], atol=4e3 * H * 1e-11 + 1e-12)


def test_springs_and_thrusters_have_motors_too():
    mech = dy.Mechanism()
    box = mech.add_body(dy.Box(0.1, 0.1, 0.1, mass=2.0), name="box", position=(0, 0, 1))
    cable = dy.Spring(mech.world, box, name="cable", actuated=True, control_limits=(-2.0, 5.0))
    mech.add_force(cable)
    mech.add_force(dy.Thruster(box, force=(0, 0, 1), name="up", control_limits=(0.0, 3.0)))
    model = mech.finalize(H)
    motion = dy.simulate(model, model.initial_state(), 0.02, controls={"cable": -4.0, "up": 4.0})
    assert motion.motor_force("cable").tolist() == [0.0, -2.0, -2.0]
    assert motion.motor_force("up").tolist() == [0.0, 3.0, 3.0]


def test_what_has_no_motor_has_no_force_of_one():
    model, state = tilted()
    motion = dy.simulate(model, state, 0.1)
    for name in ("hinge", "hing"):
        with pytest.raises(dy.UnknownNameError, match=rf"'{name}' has no motor.*are \['rail'\]"):
            motion.motor_force(name)
    assert motion.motor_force("rail").tolist() == [0.0] * 11


# Files


def test_load_says_which_argument_is_which(tmp_path):
    model, state = double_pendulum()
    motion = dy.simulate(model, state, 0.1)
    motion.save(tmp_path / "m.npz")
    with pytest.raises(TypeError, match=r"the file first: Trajectory.load\(path, model\)"):
        dy.Trajectory.load(model, tmp_path / "m.npz")
    with pytest.raises(TypeError, match="load takes a model, not Mechanism"):
        dy.Trajectory.load(tmp_path / "m.npz", model.mechanism)
