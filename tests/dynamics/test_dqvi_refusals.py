"""What the dual-quaternion integrator refuses, with a sentence."""

import pickle

import numpy as np
import pytest

from dynamics.errors import ConvergenceError, InconsistentStateError
from dynamics.integrators.dual_quaternion.forces import (
    AnchoredSpring,
    BodyWrench,
    Drag,
    Pivot,
    WorldForce,
    spatial_inertia,
)
from dynamics.integrators.dual_quaternion.rigid_body import RigidBody

from .bodies import BARE, FULL, figure_body, heavy_top

# What is refused


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            spatial_inertia(1.0, np.diag([1, 1, 0])),
            r"not positive definite: its entry \(2, 2\) is 0",
        ),
        (spatial_inertia(1.0, np.zeros((3, 3)), (1, 1, 1)), "the inertia is singular"),
        (BARE - 0.9 * np.diag(np.diag(BARE)), "the inertia is indefinite"),
        (BARE + np.eye(6, k=2), r"not symmetric: entry \(\d, \d\) is"),
        (np.diag([1, 1, 1, 1, 1, np.nan]), "must be finite"),
        (np.eye(3), r"shape \(3, 3\), it must be \(6, 6\)"),
    ],
)
def test_an_inertia_that_is_none_is_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        RigidBody(matrix)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: RigidBody(FULL, [9.81]), TypeError, "force 0 must be WorldForce, "),
        (lambda: RigidBody(FULL, pivot=(0, 0, 0)), TypeError, "pivot must be a Pivot"),
        (lambda: RigidBody(FULL, external=3), TypeError, "external must be a function"),
        (lambda: WorldForce((0, 0)), ValueError, "force of WorldForce has shape"),
        (lambda: BodyWrench((0, 0, np.nan)), ValueError, "torque of BodyWrench must be finite"),
        (lambda: AnchoredSpring(-1, (0, 0, 0), (0, 0, 0)), ValueError, "stiffness of the spring"),
        (lambda: Drag(-np.eye(6)), ValueError, "drives some motion"),
        (lambda: Pivot((0, 0, np.inf)), ValueError, "point of Pivot must be finite"),
        (lambda: spatial_inertia(0, np.eye(3)), ValueError, "mass must be positive"),
        (lambda: figure_body().state(orientation=(0, 0, 0, 0)), ValueError, "must not be zero"),
        (
            lambda: figure_body().state(velocity=(np.nan, 0, 0)),
            ValueError,
            "velocity must be finite",
        ),
        (lambda: heavy_top().state((1, 0, 0)), InconsistentStateError, "m from its anchor; leave"),
        (lambda: heavy_top().state(velocity=(0, 0, 1)), InconsistentStateError, "moves at 1 m/s"),
    ],
)
def test_what_is_no_body_force_or_state_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(("h", "steps"), [(0.0, 1), (-0.1, 1), (0.1, -1), (np.nan, 1)])
def test_a_timestep_that_is_none_is_refused(h, steps):
    body = figure_body()

    with pytest.raises(ValueError, match="timestep"):
        body.simulate(body.state(), h, steps)


@pytest.mark.parametrize("turn", [1.01, 1.9, 2.5, 3.5, 40.0])
def test_a_step_that_turns_too_far_is_refused_and_the_state_kept(turn):
    ball = RigidBody(spatial_inertia(1.0, 0.1 * np.eye(3)))
    state = ball.state(angular_velocity=(turn / 0.1, 0, 0), time=2.0)

    with pytest.raises(ConvergenceError, match="take a smaller timestep") as failure:
        ball.simulate(state, 0.1, 3)

    assert failure.value.step == 0
    assert f"turns by {turn:.3g} rad" in str(failure.value)
    assert np.array_equal(state.twist, [turn / 0.1, 0, 0, 0, 0, 0])
    assert ball.step(state, 0.05 / turn).time > 2.0


def test_a_body_that_is_spun_up_fails_at_the_step_where_it_turns_too_far():
    # 1 N m on 0.1 kg m^2: 10 rad/s^2, and h omega is 1 at t = 1 s
    ball = RigidBody(spatial_inertia(1.0, 0.1 * np.eye(3)), [BodyWrench((0, 0, 1.0))])

    with pytest.raises(ConvergenceError, match="take a smaller timestep") as failure:
        ball.simulate(ball.state(), 0.1, 20)

    assert failure.value.step in (9, 10)
    assert pickle.loads(pickle.dumps(failure.value)).step == failure.value.step


def test_a_motion_that_is_not_finite_is_refused():
    body = RigidBody(FULL, [WorldForce((1e300, 0, 0))])

    ignored = np.errstate(over="ignore", invalid="ignore")  # kernels may run as plain Python
    with ignored, pytest.raises(ConvergenceError, match="is not finite"):
        body.simulate(body.state(), 1e10, 3)


@pytest.mark.parametrize(
    ("wrench", "error", "message"),
    [
        (lambda *_: np.full(6, np.nan), ValueError, "external at t = 1 s must be finite"),
        (lambda *_: np.zeros(3), ValueError, r"external at t = 1 s has shape \(3,\)"),
        (lambda *node: -1e4 * node[3], ConvergenceError, "depends on the twist so strongly"),
        (lambda *_: 1 / 0, ZeroDivisionError, "division"),
    ],
)
def test_a_function_that_gives_no_wrench_is_refused(wrench, error, message):
    body = RigidBody(FULL, external=wrench)

    with pytest.raises(error, match=message):
        body.simulate(body.state(velocity=(1e-6, 0, 0), time=1.0), 0.1, 2)
