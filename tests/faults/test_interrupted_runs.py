"""Ctrl-C in runs: KeyboardInterrupt with the motion so far, and the model stays usable."""

import signal
import threading
import time

import numpy as np
import pytest

import dynamics as dy
from dynamics import interrupts
from dynamics.integrators.dual_quaternion.rigid_body import RigidBody
from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.zoo import cart_pole, double_pendulum

from ..dynamics.trees import pendulum as pendulum_tree
from .interrupting import Flag, interrupted

LONG = 1000.0  # s; nobody waits for the end of these runs


def check_prefix(motion, whole):
    """A motion, however far it got, is the first part of another, to the last bit."""
    common = min(len(motion), len(whole))
    assert common > 1
    assert np.array_equal(motion.states[:common], whole.states[:common])
    assert motion.info["steps"] == len(motion) - 1


def test_a_run_in_compiled_code_stops_within_a_fraction_of_a_second():
    model, state = double_pendulum()
    whole = dy.simulate(model, state, 3.0)
    with interrupted(0.2) as caught:
        start = time.perf_counter()
        dy.simulate(model, state, 20_000.0)
    assert time.perf_counter() - start < 2.0  # 0.25 s where nobody else is at work
    check_prefix(caught.value.trajectory, whole)
    assert np.array_equal(dy.simulate(model, state, 3.0).states, whole.states)


def swinging(state, time):
    return [np.sin(time)]


def test_a_run_with_a_controller_stops_wherever_the_interrupt_comes():
    model, state = cart_pole()
    begun = Flag()

    def controller(state, time):
        if time > 0.025:  # two steps are done
            begun.up = True
        return swinging(state, time)

    whole = dy.simulate(model, state, 5.0, controller=swinging)
    for delay in np.random.default_rng(2).uniform(0.0, 0.03, 12):
        begun.up = False
        with interrupted(delay, begun) as caught:
            dy.simulate(model, state, LONG, controller=controller)
        check_prefix(caught.value.trajectory, whole)
    assert np.array_equal(dy.simulate(model, state, 5.0, controller=swinging).states, whole.states)


def test_a_controller_that_takes_long_is_interrupted_itself():
    model, state = cart_pole()

    def slow(state, now):
        if now > 0.05:
            time.sleep(30.0)
        return [0.0]

    start = time.perf_counter()
    with interrupted(0.2) as caught:
        dy.simulate(model, state, 1.0, controller=slow)
    assert time.perf_counter() - start < 5.0
    assert len(caught.value.trajectory) >= 5


def test_a_force_that_is_a_python_function_stops_wherever_the_interrupt_comes():
    mechanism = dy.Mechanism(gravity=(0.0, 0.0, 0.0))
    body = mechanism.add_body(mass=2.0, inertia=[1.0, 2.0, 3.0], name="ball")
    begun = Flag()

    def wind(t, z, u):
        if t > 0.025:  # two steps are done
            begun.up = True
        return np.cos(t) * np.ones(6)

    mechanism.add_force(dy.Wrench(body, wind, name="wind"))
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    whole = dy.simulate(model, state, 1.0)
    for delay in np.random.default_rng(2).uniform(0.0, 0.02, 8):
        begun.up = False
        with interrupted(delay, begun) as caught:
            dy.simulate(model, state, LONG)
        check_prefix(caught.value.trajectory, whole)
    with interrupted(0.02):
        while True:
            model.step(state)
    assert np.array_equal(dy.simulate(model, state, 1.0).states, whole.states)


def test_runs_of_one_body_and_of_trees_stop_with_their_motion():
    body = RigidBody(np.eye(6))
    state = body.state(angular_velocity=(0.1, 0.2, 0.3), velocity=(0.0, 0.0, 1.0))
    whole = body.simulate(state, 0.01, 5000)
    with interrupted(0.5) as caught:
        body.simulate(state, 0.01, 2_000_000)
    part = caught.value.trajectory
    common = min(len(part.time), 5001)
    assert np.array_equal(part.position[:common], whole.position[:common])

    tree = TreeIntegrator(pendulum_tree(2), 0.01)
    start = [1.0, 0.5], [0.0, 0.0]
    whole = tree.simulate(*start, 500)
    with interrupted(0.5) as caught:
        tree.simulate(*start, 500_000)
    part = caught.value.trajectory
    common = min(len(part.time), 501)
    assert common > 1
    assert np.array_equal(part.q[:common], whole.q[:common])
    assert np.array_equal(tree.simulate(*start, 500).q, whole.q)


def test_users_own_handlers_are_asked_and_come_back():
    model, state = cart_pole()
    asked = []
    before = signal.signal(signal.SIGINT, lambda number, frame: asked.append(number))
    try:
        own = signal.getsignal(signal.SIGINT)
        timer = threading.Timer(0.01, signal.raise_signal, [signal.SIGINT])
        timer.start()
        motion = dy.simulate(model, state, 20.0, controller=swinging)
        timer.join()
        assert asked == [signal.SIGINT]
        assert len(motion) == 2001
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


def test_handlers_come_back_after_errors():
    model, state = cart_pole()
    before = signal.getsignal(signal.SIGINT)

    def fails(state, time):
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing") as caught:
        dy.simulate(model, state, 1.0, controller=fails)
    assert len(caught.value.trajectory) == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_of_the_progress_function_keeps_the_motion():
    model, state = double_pendulum()

    def progress(part):
        if part > 0.5:
            raise OSError("no terminal")

    with pytest.raises(OSError, match="no terminal") as caught:
        dy.simulate(model, state, 1.0, progress=progress)
    assert len(caught.value.trajectory) == 52


@pytest.mark.parametrize("order", [2, 4])
def test_no_bit_of_a_motion_depends_on_how_its_run_is_cut(monkeypatch, order):
    model, state = double_pendulum(order=order)
    whole = dy.simulate(model, state, 4.0)
    shown = []
    with_progress = dy.simulate(model, state, 4.0, progress=shown.append)
    monkeypatch.setattr(interrupts, "PORTION", 0.0)
    steps = dy.simulate(model, state, 4.0)
    third = dy.simulate(model, state, 3.99, every=3)

    assert np.array_equal(with_progress.states, whole.states)
    assert shown == [k / 100 for k in range(1, 101)]
    assert np.array_equal(steps.states, whole.states)
    assert steps.info == whole.info
    assert np.array_equal(third.states, whole.states[::3])


def drop():
    """A body that falls on the ground, rolls and slides."""
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(shape=dy.Sphere(0.1, density=500.0), name="ball")
    mechanism.add_contact(ball, friction=0.5)
    model = mechanism.finalize(0.005)
    state = model.initial_state()
    model.set_body(state, "ball", position=(0.0, 0.0, 0.3), velocity=(1.0, 0.3, 0.0))
    return model, state


SCENES = {
    "order 2": double_pendulum,
    "order 4": lambda: double_pendulum(order=4),
    "first order": lambda: double_pendulum(form="first order"),
    "composition": lambda: composed(),
    "contacts": drop,
}


def composed():
    model, state = double_pendulum()
    return dy.compose(model, "kahan-li8"), state


@pytest.mark.parametrize("scene", SCENES)
def test_no_bit_depends_on_where_a_motion_is_taken_up(scene):
    model, state = SCENES[scene]()
    h, steps = model.timestep, 60
    whole = dy.simulate(model, state, steps * h)

    first = dy.simulate(model, state, 23 * h)
    dy.simulate(model, state, 5 * h)  # something else in between
    second = dy.simulate(model, first.final, (steps - 23) * h)
    assert np.array_equal(second.states, whole.states[23:])

    now = state
    for k in range(steps):
        model.step(now)  # a look ahead
        now, _ = model.step(now)
        assert np.array_equal(now.data, whole.states[k + 1])
    last = first.final
    for _ in range(23, 30):
        last, _ = model.step(last)
    assert np.array_equal(last.data, whole.states[30])


def test_a_state_that_was_changed_is_taken_as_it_is():
    model, state = double_pendulum()
    after = dy.simulate(model, state, 0.2).final
    name = next(iter(model.mechanism.bodies))
    model.set_body(after, name, velocity=(0.0, 0.1, 0.0))
    plain = dy.State(after.data.copy(), after.n, after.rows, after.time)
    assert np.array_equal(
        dy.simulate(model, after, 0.1).states, dy.simulate(model, plain, 0.1).states
    )


def test_an_interrupted_motion_goes_on_as_if_it_had_not_been():
    model, state = cart_pole()
    whole = dy.simulate(model, state, 3.0, controller=swinging)

    def stops(state, time):
        if time > 1.234:
            raise KeyboardInterrupt
        return swinging(state, time)

    with pytest.raises(KeyboardInterrupt) as caught:
        dy.simulate(model, state, 3.0, controller=stops)
    part = caught.value.trajectory
    rest = dy.simulate(model, part.final, 3.0 - part.time[-1], controller=swinging)
    assert np.array_equal(np.vstack([part.states, rest.states[1:]]), whole.states)


def test_a_controller_may_step_and_simulate_its_own_model():
    # as one that predicts does; the run it is asked by keeps its place
    model, state = cart_pole()

    def predicting(state, time):
        model.step(state, [1.0])
        dy.simulate(model, state, 0.05)
        return swinging(state, time)

    apart = dy.simulate(model, state, 0.5, controller=swinging)
    assert np.array_equal(
        dy.simulate(model, state, 0.5, controller=predicting).states, apart.states
    )


def test_a_run_in_another_thread_ends_where_it_is_told_to():
    model, state = double_pendulum()
    stop, errors = threading.Event(), []

    def run():
        with interrupts.Stop(stop):
            try:
                dy.simulate(model, state, 20_000.0)
            except KeyboardInterrupt as error:
                errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.1)
    stop.set()
    thread.join(10.0)
    assert not thread.is_alive()
    assert len(errors[0].trajectory) > 1
