"""Operations of a step: linear in links, for chains, trees and chains of loops."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.zoo import four_bar_windows, pendulum, rhombic_chain


def tree(n):
    """Body i hangs from body (i - 1) // 2."""
    mechanism = dy.Mechanism()
    bodies = []
    for i in range(n):
        bodies.append(mechanism.add_body(mass=1.0, inertia=[0.1] * 3, name=i))
        parent = bodies[(i - 1) // 2] if i else mechanism.world
        mechanism.add_joint(
            dy.Revolute(parent, bodies[i], [1.0, 0.0, 0.0], child_point=[0, 0, 1.0], name=("j", i))
        )
    return mechanism.finalize()


FAMILIES = {
    "revolute chain": lambda n: pendulum(n)[0],
    "spherical chain": lambda n: pendulum(n, "spherical")[0],
    "tree": tree,
    "rhombi": lambda n: rhombic_chain(n)[0],
    "windows": lambda n: four_bar_windows(n)[0],
}


@pytest.mark.parametrize("name", FAMILIES)
def test_operations_of_a_factorization_are_linear_in_links(name):
    operations = [FAMILIES[name](n).symbolic.operations for n in (16, 32, 64)]
    # a n + b: the second difference vanishes, up to the ends where an order is free to choose
    growth = np.diff(operations)
    assert growth[1] / growth[0] == pytest.approx(2.0, rel=0.05)
    assert operations[2] / operations[1] == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("name", ["revolute", "spherical"])
def test_iterations_do_not_grow_with_the_chain(name):
    for n in (10, 40, 80):
        bends = np.zeros(n)
        bends[:2] = np.pi / 2, 0.3
        model, state = pendulum(n, name, angles=bends)
        info = dy.simulate(model, state, 1.0).info
        # some five solutions with one factorization: it is kept while it serves
        assert info["iterations"] <= 6 * info["steps"]
        assert info["factorizations"] <= 1.1 * info["steps"]


def test_a_joint_costs_what_its_rows_do():
    # a spherical chain has 3 rows a link, a revolute one 5
    few, many = (
        FAMILIES[f"{name} chain"](50).symbolic.operations for name in ("spherical", "revolute")
    )
    assert few < 0.75 * many
