"""Laws that the dual-quaternion integrator keeps, and the examples that use it."""

import runpy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamics import rotation
from dynamics.integrators.dual_quaternion.forces import (
    AnchoredSpring,
    Pivot,
    WorldForce,
    spatial_inertia,
)
from dynamics.integrators.dual_quaternion.rigid_body import RigidBody

from .bodies import (
    BARE,
    CENTER,
    DRAG,
    EPS,
    EXAMPLES,
    FULL,
    MASS,
    MOMENTS,
    SPRING,
    START,
    WEIGHT,
    figure_body,
    heavy_top,
    numbers,
    top_state,
)

# Laws


def test_a_free_body_keeps_its_momentum_and_its_energy_has_no_drift():
    body = RigidBody(FULL)

    swum = body.simulate(body.state(**START), 0.02, 20_000)

    P, E = swum.momentum(), swum.energy()
    away = np.linalg.norm(swum.position, axis=1).max()
    steps = len(swum.time)
    assert away > 400
    # Rounding of each step adds up, at worst all one way; an angular one by the lever arm.
    scale = abs(FULL @ swum.twist[0]).max()
    assert abs(P - P[0])[:, 3:].max() <= steps * EPS * scale
    assert abs(P - P[0])[:, :3].max() <= steps * EPS * scale * away
    assert E[0] == pytest.approx(4.29, abs=0.005)
    assert abs(E - E[0]).max() <= 2.0e-3
    assert abs(E[:10_000].mean() - E[10_000:].mean()) <= 1e-4


@given(
    st.lists(st.floats(-1, 1), min_size=36, max_size=36),
    st.lists(st.floats(-2, 2), min_size=6, max_size=6),
    st.booleans(),
)
def test_any_free_body_keeps_its_momentum_and_any_held_one_its_pivot(entries, twist, held):
    root = np.reshape(entries, (6, 6))
    pivot = Pivot((0.3, -0.5, 0.2), (1, 2, 3)) if held else None
    body = RigidBody(root @ root.T + np.eye(6), pivot=pivot)
    velocity = None if held else twist[3:]

    run = body.simulate(body.state(angular_velocity=twist[:3], velocity=velocity), 0.05, 20)

    P = run.momentum((1, 2, 3))
    kept = np.s_[:, :3] if held else np.s_[:]  # the pivot's force has no moment about itself
    # Momenta up to 40, arms up to 6, some 100 products in each of 20 steps
    assert abs(P - P[0])[kept].max() <= 20 * 100 * EPS * 6 * 40
    if held:
        gap = run.position + rotation.rotate(run.orientation, pivot.point) - pivot.anchor
        assert abs(gap).max() <= 16 * EPS


def test_energy_on_the_spring_stays_in_a_band_that_narrows_with_the_square_of_the_step():
    # The motion is chaotic: rounding decides where it goes after 50 s. Bounds leave room for 25
    # motions whose starts are 1e-13 apart: minima of -16 to -12 mJ, halves 0.17 mJ apart.
    body = figure_body()

    coarse, fine = (body.simulate(body.state(**START), 1 / n, 200 * n).energy() for n in (100, 200))

    assert coarse[0] == pytest.approx(20.24, abs=0.01)
    assert -2.0e-2 <= (coarse - coarse[0]).min() and (coarse - coarse[0]).max() <= 5.0e-3
    assert abs(coarse[:10_000].mean() - coarse[10_000:].mean()) <= 4e-4
    assert coarse.std() / fine.std() == pytest.approx(4.0, rel=0.3)


def test_the_top_keeps_its_pivot_its_vertical_momentum_and_its_energy_band():
    top = heavy_top()

    spun = top.simulate(top_state(top), 0.01, 10_000)

    E, P = spun.energy(), spun.momentum(about=top.pivot.anchor)
    held = spun.position + rotation.rotate(spun.orientation, top.pivot.point) - top.pivot.anchor
    assert E[0] == pytest.approx(8.2167, abs=1e-4)
    assert (E - E[0]).min() == pytest.approx(-4.5e-3, rel=0.02)
    assert (E - E[0]).max() == pytest.approx(1.4e-3, rel=0.05)
    assert abs(P[:, 2] - P[0, 2]).max() <= len(E) * EPS * abs(P[0]).max()
    assert abs(held).max() <= 8 * EPS  # not adding up: each step aims at the anchor
    slip = spun.twist[:, 3:] + np.cross(spun.twist[:, :3], top.pivot.point)
    assert abs(slip).max() <= 64 * EPS * abs(spun.twist).max()
    assert spun.iterations.mean() <= 3.1


def test_the_motion_does_not_depend_on_the_reference_point():
    # Psi' = Psi + Phi x c is linear as v' = v + omega x c is, so the discrete action is the same
    c = np.array([0.5, -0.3, 0.2])
    here = RigidBody(BARE, [WEIGHT, SPRING])
    shifted = [
        WorldForce(WEIGHT.force, CENTER - c),
        AnchoredSpring(30.0, SPRING.point - c, SPRING.anchor),
    ]
    there = RigidBody(spatial_inertia(MASS, MOMENTS, CENTER - c), shifted)
    a = here.state(**START)
    b = there.state(
        c, angular_velocity=a.twist[:3], velocity=a.twist[3:] + np.cross(a.twist[:3], c)
    )

    p, q = here.simulate(a, 0.02, 100), there.simulate(b, 0.02, 100)

    # A hundred steps of rounding, on a motion that is not chaotic.
    assert q.orientation == pytest.approx(p.orientation, abs=1e4 * EPS)
    assert q.position - rotation.rotate(q.orientation, c) == pytest.approx(
        p.position, abs=1e4 * EPS
    )
    assert q.energy() == pytest.approx(p.energy(), abs=1e5 * EPS)


@pytest.mark.parametrize("body", [figure_body(), heavy_top()], ids=["spring", "top"])
def test_the_motion_runs_back_when_its_twist_is_turned_round(body):
    state = body.state(**START) if body.pivot is None else top_state(body)
    last = body.simulate(state, 0.02, 200).state()

    back = body.state(
        last.position, last.orientation, angular_velocity=-last.twist[:3], velocity=-last.twist[3:]
    )
    first = body.simulate(back, 0.02, 200).state()

    assert first.orientation == pytest.approx(state.orientation, abs=1e5 * EPS)
    assert first.position == pytest.approx(state.position, abs=1e5 * EPS)
    assert -first.twist == pytest.approx(state.twist, abs=1e6 * EPS)


def test_a_function_does_what_built_in_forces_do():
    def push(time, position, orientation, twist):
        force = rotation.rotate(rotation.conjugate(orientation), WEIGHT.force)
        return np.concatenate([np.cross(CENTER, force), force]) - DRAG.matrix @ twist

    built_in, own = RigidBody(FULL, [WEIGHT, DRAG]), RigidBody(FULL, external=push)
    state = built_in.state(**START)

    p, q = built_in.simulate(state, 0.01, 50), own.simulate(state, 0.01, 50)

    # The repetition stops at a relative change of 1e-13 in each of 50 steps.
    assert q.position == pytest.approx(p.position, abs=50 * 1e-12)
    assert q.twist == pytest.approx(p.twist, abs=50 * 1e-12 * abs(p.twist).max())


def test_steps_in_a_row_are_one_run():
    body = figure_body()
    state = body.state(**START, time=5.0)

    for _ in range(20):
        state = body.step(state, 0.01)

    whole = body.simulate(body.state(**START, time=5.0), 0.01, 20).state()
    assert state.time == pytest.approx(5.2, abs=1e-12)
    assert numbers(state) == pytest.approx(numbers(whole), abs=1e4 * EPS)  # M^-1 M in between


# Examples


@pytest.mark.parametrize("name", ["heavy_top", "underwater_vehicle"])
def test_the_example_runs_and_asserts_its_number(name, capsys):
    path = EXAMPLES / f"{name}.py"

    runpy.run_path(str(path), run_name="__main__")

    assert capsys.readouterr().out
    assert "\n    assert " in path.read_text()
