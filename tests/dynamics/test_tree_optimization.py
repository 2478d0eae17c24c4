"""Plans of the minimal-coordinate integrator: derivatives, a closed form, the example."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from dynamics.errors import ConvergenceError
from dynamics.integrators.tree import Tree
from dynamics.integrators.tree_integrator import TreeIntegrator
from dynamics.integrators.tree_optimization import plan
from dynamics.integrators.tree_twist import prismatic

from .trees import pendulum

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "cart_pole.py"


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
    example = runpy.run_path(str(EXAMPLE))

    found, gap = example["main"]()

    assert gap <= 1e-4
    assert np.abs(found.forces).max() <= 20.0
    assert found.cost == pytest.approx(58.82, abs=0.02)  # 58.997, 58.819, 58.808 at N = 20, 40, 80


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
