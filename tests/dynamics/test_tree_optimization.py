"""Plans of the minimal-coordinate integrator: derivatives, a closed form, the example."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from dynamics.errors import ConvergenceError
from dynamics.integrators.tree.description import Tree
from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.integrators.tree.optimization import plan
from dynamics.integrators.tree.twists import prismatic

from .trees import pendulum

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def cart(N):
    tree = Tree(gravity=(0.0, 0.0, 0.0))
    tree.add_body("cart", 2.0)
    tree.add_joint("world", "cart", prismatic([1.0, 0.0, 0.0]))
    return TreeIntegrator(tree, 1.0 / N)


def test_a_cart_by_hand_moves_with_a_force_that_is_linear_in_time():
    # m x'' = u, x: 0 -> 1 in 1 s from rest to rest: u = 6 m (1 - 2 t), cost 12 m^2
    found = plan(cart(10), [0.0], [1.0], 10)

    assert found.forces[:, 0] == pytest.approx(12.0 * (1.0 - 2.0 * found.time), abs=1e-4)
    assert found.cost == pytest.approx(48.0, rel=1e-6)
    assert found.q[:, 0] == pytest.approx(found.time**2 * (3.0 - 2.0 * found.time), abs=1e-5)
    assert found.defect <= 1e-10


def test_bounds_on_forces_are_kept():
    found = plan(cart(10), [0.0], [1.0], 10, most_force=9.0)

    assert np.abs(found.forces).max() <= 9.0 + 1e-9
    assert found.cost > 48.0


def test_the_cart_pole_example_swings_up():
    example = runpy.run_path(str(EXAMPLES / "cart_pole.py"))

    found, gap = example["main"]()

    assert gap <= 1e-4
    assert np.abs(found.forces).max() <= 20.0
    assert found.cost == pytest.approx(58.82, abs=0.02)  # 58.997, 58.819, 58.808 at N = 20, 40, 80


def test_longer_shots_and_phases_of_one_tree_change_nothing():
    made = cart(10)
    whole = plan(made, [0.0], [1.0], 10)
    for found in (
        plan(made, [0.0], [1.0], 10, shot=4),
        plan([made, made], [0.0], [1.0], [6, 4], shot=3),
    ):
        # the cost is flat: the optimizer's 1e-8 of it leaves 1e-4 of the forces' size of 12
        assert found.q == pytest.approx(whole.q, abs=1e-5)
        assert found.forces == pytest.approx(whole.forces, abs=2e-3)


def test_what_a_new_pin_stops_is_at_rest_behind_it():
    # a cart pushed for half a second, then a pin that holds it: m x'' = u, rest needs no more force
    free, held = Tree(gravity=(0.0, 0.0, 0.0)), Tree(gravity=(0.0, 0.0, 0.0))
    for tree in (free, held):
        tree.add_body("cart", 2.0)
        tree.add_joint("world", "cart", prismatic([1.0, 0.0, 0.0]))
    held.add_pin("buffer", "cart", point_b=[1.0, 0.0, 0.0], axes=[[1.0, 0.0, 0.0]])
    found = plan([TreeIntegrator(tree, 0.05) for tree in (free, held)], [0.0], [1.0], [10, 5])

    # from rest over 1 m in T = 0.5 s at any end speed: u = 3 m (T - t) / T^3, cost 3 m^2 / T^3,
    # and 0 behind it; u is linear between steps, so that it ends in a kink at T
    assert found.q[10:, 0] == pytest.approx(1.0, abs=1e-9)
    assert np.abs(found.forces[11:]).max() < 1e-3
    assert found.cost == pytest.approx(3.0 * 2.0**2 / 0.5**3, rel=1e-3)
    assert found.p[9, 0] > 1.0


@pytest.mark.slow
def test_the_biped_example_hops():
    example = runpy.run_path(str(EXAMPLES / "biped_hop.py"))
    (stand, fly, land), found = example["main"]()
    first, second, _ = np.cumsum(example["STEPS"])

    assert found.defect < 1e-6
    assert found.cost == pytest.approx(334.6, rel=0.02)
    for k, q in enumerate(found.q):
        turns, origins = fly.poses(q)
        for leg, x in example["FEET"].items():
            shank = fly.index((leg, "shank"))
            foot = origins[shank] + turns[shank] @ example["DOWN"]
            if k <= first or k >= second:  # stands on the ground where it was, or is to be
                place = x + (example["HOP"] if k >= second else 0.0)
                assert foot[[0, 2]] == pytest.approx([place, 0.0], abs=1e-6)
            else:
                assert foot[2] > 0.0
    # in flight nothing pushes along x: momentum is kept but for the gaps
    assert found.p[first + 1 : second, 0] == pytest.approx(found.p[first, 0], abs=1e-5)
    assert np.abs(land.velocity(found.q[-1], found.p[-1])).max() < 1e-6


def test_phases_that_do_not_follow_each_other_are_refused():
    with pytest.raises(ValueError, match="2 integrators and steps for 1"):
        plan([cart(10), cart(10)], [0.0], [1.0], [10])
    with pytest.raises(ValueError, match="phases differ"):
        plan([cart(10), cart(20)], [0.0], [1.0], [5, 5])
    with pytest.raises(ValueError, match="shot is 0"):
        plan(cart(10), [0.0], [1.0], 10, shot=0)


def test_a_plan_that_cannot_be_is_refused():
    with pytest.raises(ConvergenceError, match="no motion was found"):
        plan(cart(10), [0.0], [1.0], 10, most_force=1.0, most_iterations=20)
    with pytest.raises(ValueError, match="needs 2 or more"):
        plan(cart(10), [0.0], [1.0], 1)
    with pytest.raises(ValueError, match="q_guess has shape"):
        plan(cart(10), [0.0], [1.0], 10, q_guess=np.zeros((3, 1)))
    with pytest.raises(ValueError, match="no actuated joint"):
        plan(TreeIntegrator(pendulum(1), 0.1, actuated=[]), [0.0], [1.0], 10)
    with pytest.raises(ValueError, match="start and goal"):
        plan(cart(10), [0.0, 0.0], [1.0, 0.0], 10)
