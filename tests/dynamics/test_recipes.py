"""Recipes of docs/recipes: their gradients against differences, and that they learn."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import dynamics as dy
import graphsys as gs
from dynamics.kinematics.joint_space import JointSpace

RECIPES = Path(__file__).parents[2] / "docs" / "recipes"
X = np.array([0.1, 0.3, -0.2, 0.5])
U = np.array([0.7])


def chain():
    """A system on a chain with random blocks, its symbolic factorization, and b."""
    rng = np.random.default_rng(0)
    system = gs.System(gs.chain(4), 2)
    system.values = 0.2 * rng.normal(size=system.values.size)
    for i in range(4):
        system[i, i] = system[i, i] + 3.0 * np.eye(2)
    return system, system.analyze(), rng.normal(size=8)


def cart_pole():
    """Joint coordinates of a cart-pole whose steps are solved to round-off."""
    return JointSpace(dy.zoo.cart_pole(timestep=0.02, tolerance=1e-14)[0])


def test_gradients_in_torch_agree_with_differences():
    torch = pytest.importorskip("torch")
    recipe = runpy.run_path(str(RECIPES / "torch_gradients.py"))
    system, symbolic, b = chain()
    numbers = [torch.tensor(v, requires_grad=True) for v in (system.values.copy(), b)]

    solve, step, space = recipe["Solve"].apply, recipe["Step"].apply, cart_pole()
    assert torch.autograd.gradcheck(lambda v, b: solve(v, b, system, symbolic), numbers)
    numbers = [torch.tensor(v, requires_grad=True) for v in (X, U)]
    assert torch.autograd.gradcheck(lambda x, u: step(x, u, space), numbers)


def test_torch_learns_to_bring_the_pole_up():
    pytest.importorskip("torch")

    losses = runpy.run_path(str(RECIPES / "torch_gradients.py"))["main"]()

    assert losses[-1] < 0.05 * losses[0]


@pytest.mark.filterwarnings("ignore")
def test_gradients_in_jax_agree_with_differences():
    pytest.importorskip("jax")
    recipe = runpy.run_path(str(RECIPES / "jax_gradients.py"))
    from jax.test_util import check_grads

    system, symbolic, b = chain()
    solve, step = recipe["solver"](system, symbolic), recipe["stepper"](cart_pole())

    check_grads(solve, (system.values.copy(), b), order=1, modes=["rev"])
    check_grads(step, (X, U), order=1, modes=["rev"])


@pytest.mark.filterwarnings("ignore")
def test_jax_learns_to_bring_the_pole_up():
    pytest.importorskip("jax")

    losses = runpy.run_path(str(RECIPES / "jax_gradients.py"))["main"]()

    assert losses[-1] < 0.05 * losses[0]
