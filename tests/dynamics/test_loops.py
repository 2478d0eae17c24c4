"""Loops of ordinary joints: redundant, singular now and then, closed all the time."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.zoo import bricard, double_four_bar, four_bar, four_bar_windows, rhombic_chain

CLOSED = 1e-10  # what Newton's method is asked for


def test_a_redundant_four_bar_moves_to_second_order():
    # Kirchhoff ODE of the same bars, DOP853 at 1e-13; four 3-D revolutes: 20 rows of rank 17
    errors, ranges = [], []
    for steps in (100, 200, 400, 800):
        model, state = four_bar(timestep=2.0 / steps, tolerance=1e-12, largest_turn=2.0)
        motion = dy.simulate(model, state, 2.0)
        errors.append(abs(motion.joint("crank ground")[-1] + 3.7003974368))
        ranges.append(np.ptp(motion.energy()))
        assert motion.constraint_violation().max() <= 1e-12
    np.testing.assert_allclose(ranges[:3], [1.32e-1, 3.23e-2, 8.03e-3], rtol=5e-3)
    assert np.abs(np.log2(np.divide(errors[1:-1], errors[2:])) - 2.0).max() < 0.03


def test_the_four_bar_reaches_its_reference_at_one_second():
    model, state = four_bar(timestep=1e-3, tolerance=1e-12)
    coarse = dy.simulate(model, state, 1.0).final
    model, state = four_bar(timestep=5e-4, tolerance=1e-12)
    fine = dy.simulate(model, state, 1.0).final
    angle, rate = (
        (4.0 * model.joint(fine, "crank ground")[k][0] - model.joint(coarse, "crank ground")[k][0])
        / 3.0
        for k in range(2)
    )
    # Richardson leaves h^4: (1e-3 / 1e-2)^2 of the error 1e-3 at h = 1e-2, squared
    assert angle == pytest.approx(-2.8504425850, abs=1e-8)
    assert rate == pytest.approx(-10.7383714671, abs=1e-6)


def test_the_double_four_bar_passes_its_change_points():
    model, state = double_four_bar()
    assert model.energy(state) == pytest.approx(35.835, abs=1e-12)
    motion = dy.simulate(model, state, 10.0)
    assert np.ptp(motion.energy()) == pytest.approx(4.24e-2, rel=3e-3)
    assert motion.constraint_violation().max() <= CLOSED
    assert motion.info["most_iterations"] <= 5 and motion.info["intervals"] == 1000
    assert np.ptp(motion.joint(("ground", 0))) > 2.0 * np.pi  # round and round


def test_the_double_four_bar_in_the_form_of_the_papers():
    model, state = double_four_bar(form="first order")
    energy = dy.simulate(model, state, 10.0).energy()
    assert 1.0 < np.ptp(energy) < 2.5  # some 1.8


def test_the_double_four_bar_reaches_the_exact_reduction():
    # IFToMM A02, N = 2: theta'' = -(g K / J) cos theta, exact to the digits shown
    ends = []
    for h in (1e-3, 5e-4):
        model, state = double_four_bar(timestep=h, tolerance=1e-12)
        motion = dy.simulate(model, state, 1.0, every=round(1.0 / h))
        crank = motion.body(("crank", 0))[0][-1, :2]
        velocity = motion.body_velocity(("crank", 0))[0][-1, :2]
        ends.append(2.0 * np.concatenate([crank, velocity]))
    found = (4.0 * ends[1] - ends[0]) / 3.0
    expected = [-0.19502030195, -0.98079920566, -6.67667803688, 1.32757832516]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("n", [1, 5, 40])
def test_windows_stay_closed(n):
    model, state = four_bar_windows(n)
    motion = dy.simulate(model, state, 10.0 if n < 40 else 4.0, every=5)
    assert motion.constraint_violation().max() <= CLOSED
    # the range of one window, 2.6e-2 J (second order in h), times the number of windows
    assert np.ptp(motion.energy()) < 4e-2 * n


def test_a_bricard_linkage_moves_though_its_constraints_are_as_many_as_its_freedoms():
    # IFToMM A04: what is judged is energy and the way of the third point over 10 s
    model, state = bricard()
    motion = dy.simulate(model, state, 10.0)
    assert motion.constraint_violation().max() <= CLOSED
    assert np.abs(motion.energy() + 29.43).max() < 1e-3
    points, turns = motion.body(("rod", 2))
    tip = points + rotation.rotate(turns, np.array([0.0, 0.0, 0.5]))
    # it swings through, and comes back to where it began: a pendulum of one freedom
    assert np.ptp(tip[:, 0]) > 1.0
    assert np.abs(tip - tip[0]).max(axis=1)[100:].min() < 0.02


def test_a_bricard_linkage_is_of_second_order():
    ends = []
    for h in (0.02, 0.01, 0.005, 0.0025):
        model, state = bricard(timestep=h, tolerance=1e-12)
        ends.append(dy.simulate(model, state, 2.0).body(("rod", 2))[0][-1])
    gaps = np.linalg.norm(np.diff(ends, axis=0), axis=1)
    assert np.abs(np.log2(gaps[:-1] / gaps[1:]) - 2.0).max() < 0.1


#: Rhombus branch in minimal coordinates, DOP853 at 3e-14: time, segment, (psi1, psi2).
RHOMBI = {
    1: [
        (1.0, 0, (2.45758144697, 2.75407056068)),
        (2.0, 0, (1.89918162858, 1.75594717574)),
        (5.0, 0, (2.10479292116, 1.29733480744)),  # through nine flat positions
    ],
    2: [
        (2.0, 0, (3.12435467321, 2.43683208231)),
        (2.0, 1, (4.21401207049, 3.49709747145)),
    ],
}


def directions(motion, i):
    """Pitch of the links A1 and B1 of segment i from +x about +y, unwrapped; those of B2, A2."""
    found = []
    for name in ("A1", "B1"):
        x = rotation.rotate(motion.body((name, i))[1], np.array([1.0, 0.0, 0.0]))
        found.append(np.unwrap(np.arctan2(-x[:, 2], x[:, 0])))
    return np.array(found)


@pytest.mark.parametrize("n", [1, 2])
def test_rhombi_reach_their_reference_through_flat_positions(n):
    runs = []
    for h in (2e-3, 1e-3):
        model, state = rhombic_chain(n, timestep=h, tolerance=1e-12)
        seconds = max(time for time, _, _ in RHOMBI[n])
        motion = dy.simulate(model, state, seconds, every=round(0.02 / h))
        runs.append([directions(motion, i) for i in range(n)])
    found = (4.0 * np.array(runs[1]) - np.array(runs[0])) / 3.0
    for time, i, expected in RHOMBI[n]:
        at = round(time / 0.02)
        error = np.exp(1j * found[i][:, at]) - np.exp(1j * np.array(expected))
        # what is left is the tolerance, 1e-12, over h and the slope of nearly flat constraints
        assert np.abs(error).max() < (1e-6 if n == 1 else 1e-4)


# What the model says


def test_a_four_bar_in_space_has_three_constraints_too_many():
    model, state = four_bar()
    found = model.redundancy(state)
    assert (found.n_rows, found.rank, found.redundant, found.n_freedoms) == (20, 17, 3, 1)
    joints = {"crank ground", "crank coupler", "rocker coupler", "rocker ground"}
    assert [(set(names), count) for names, count in found.loops] == [(joints, 3)]
    assert "3 redundant among" in str(found) and "1 degree of freedom" in str(found)


def test_a_bricard_linkage_has_one_constraint_too_many():
    model, state = bricard()
    found = model.redundancy(state)
    assert (found.n_rows, found.redundant, found.n_freedoms) == (30, 1, 1)


def test_an_aligned_double_four_bar_gains_two_freedoms():
    # upright it has one; flat, N + 1 (IFToMM A02)
    model, state = double_four_bar()
    assert model.redundancy(state).n_freedoms == 1
    flat = state.copy()
    for i in range(3):
        model.set_body(flat, ("crank", i), position=[i + 0.5, 0, 0], orientation=[1, 0, 0, 0])
    for i in range(2):
        model.set_body(flat, ("coupler", i), position=[i + 1.5, 0, 0])
    assert np.abs(model.constraint_violation(flat)).max() < 1e-14
    assert model.redundancy(flat).n_freedoms == 3


def test_segments_share_no_load():
    model, state = rhombic_chain(3)
    found = model.redundancy(state)
    assert [count for _, count in found.loops] == [3, 3, 3]
    assert all(len({i for _, i in names}) == 1 for names, _ in found.loops)
    assert found.n_freedoms == 6  # each segment opens, and turns


def test_trees_have_no_redundant_constraints():
    model, state = dy.zoo.random_tree(12, 3)
    found = model.redundancy(state)
    assert found.redundant == 0 and found.loops == ()


def test_cycles_are_found_and_named():
    model, _ = rhombic_chain(2)
    assert len(model.tables.cycles) == 2
    assert {frozenset(cycle) for cycle in model.tables.cycles} == {
        frozenset((name, i) for name in "abcde") for i in range(2)
    }


def test_the_walker_of_the_documentation_walks(monkeypatch, capsys):
    example = Path(__file__).parents[2] / "docs/examples/jansen_walker.py"
    monkeypatch.setattr(sys, "argv", ["jansen_walker.py"])
    runpy.run_path(str(example), run_name="__main__")
    assert "38 bodies, 55 hinges" in capsys.readouterr().out
