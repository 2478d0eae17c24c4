"""Entries that are not finite, and halves of symmetric matrices that disagree, are found."""

import numpy as np
import pytest

import graphsys as gs
from graphsys.families import random_system


def symmetric(rows, dtype=float):
    """Symmetric system on a path of three nodes."""
    system = gs.System(gs.chain(3), rows, dtype=dtype, symmetric=True)
    one = random_system(gs.chain(3), rows, dtype=dtype)
    for u in system.labels:
        system[u, u] = one[u, u] + one[u, u].T
    for u, v in ((0, 1), (1, 2)):
        system[u, v] = one[u, v]
    return system


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("rows", [1, 2, 6, 9, 12, 17])
def test_every_entry_of_every_block_is_looked_at(rows, dtype):
    system = random_system(gs.chain(3), rows, dtype=dtype)
    factor, good = system.factorize(), system.values.copy()
    places = {*range(0, good.size, 1 + good.size // 40), *(rows + 1) * np.arange(rows)}
    for bad in (np.inf, -np.inf, np.nan):
        for place in sorted(places):
            values = good.copy()
            values[place] = bad
            with pytest.raises(ValueError, match="every entry must be finite"):
                factor.refactorize(values)
            factor.refactorize(good)


@pytest.mark.parametrize("dtype", [float, complex])
def test_the_node_is_named(dtype):
    system = random_system(gs.chain(3), 12, dtype=dtype)
    system.values[system.graph.diagonal_at[1] + 5 * 13] = np.inf

    with pytest.raises(ValueError, match=r"of block \(1, 1\), is \(?inf"):
        system.factorize()


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("rows", [1, 3, 9])
def test_both_halves_of_a_symmetric_matrix_are_looked_at_once(rows, dtype):
    system = symmetric(rows, dtype)
    symbolic = system.analyze()
    system.factorize()
    for place in range(0, system.values.size, 1 + system.values.size // 40):
        for change, sentence in ((np.nan, "finite"), (np.inf, "finite"), (1e-6, "symmetric")):
            values = system.values.copy()
            values[place] += change
            if change == 1e-6 and place in diagonal_entries(system.graph):
                continue  # symmetric by itself
            with pytest.raises(ValueError, match=sentence):
                gs.Factor(symbolic, values)


def diagonal_entries(graph):
    return {
        int(at) + k * (int(size) + 1)
        for at, size in zip(graph.diagonal_at, graph.size, strict=True)
        for k in range(size)
    }


def test_rounding_between_the_halves_is_allowed():
    system = symmetric(6)
    values = system.values * (1.0 + np.random.default_rng(0).uniform(-4e-16, 4e-16, 252))

    gs.Factor(system.analyze(), values)
