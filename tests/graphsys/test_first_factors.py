"""Factors of dominant matrices are never replaced, whatever the type of numbers and the call.

Solutions stay right where a kernel follows the wrong tables, as other factors take over; they only
take many times as long.
"""

import copy
import pickle

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys import condensation
from graphsys.families import random_system
from graphsys.numeric.factorization import Factorization

GRAPHS = {
    "chain": gs.chain(20),
    "tree": nx.random_labeled_tree(25, seed=1),
    "net": gs.net(5),
    "star": nx.star_graph(12),
}
TYPES = [np.float32, np.float64, np.complex64, np.complex128]


@pytest.fixture
def replaced(monkeypatch):
    """Searches for other factors, by name, in a list."""
    calls = []

    def count(owner, name):
        method = getattr(owner, name)

        def counted(self, *args, **options):
            calls.append(f"{owner.__name__}.{name}")
            return method(self, *args, **options)

        monkeypatch.setattr(owner, name, counted)

    count(Factorization, "stable")
    count(gs.Batch, "_go_alone")
    count(condensation._Separate, "__init__")
    return calls


def calls_of(system, b):
    """Every way to a solution, by name."""
    factor, many = system.factorize(), np.stack([system.values] * 9)
    node = next(iter(system.labels))
    for trans in "NTH":
        yield f"one column, {trans}", factor.solve(b[:, 0], trans)
        yield f"columns, {trans}", factor.solve(b, trans)
        yield f"certificate, {trans}", factor.solve(b[:, 0], trans, report=True)
    yield "again", factor.refactorize(system.values).solve(b)
    yield "in one call", factor.refactorize_and_solve(system.values, b[:, 0])
    yield "a change", factor.refactorize(system.values, changed=[node]).solve(b)
    yield "selected inverse", factor.selected_inverse()
    yield "determinant", factor.slogdet()
    yield "copy", copy.copy(factor).solve(b)
    yield "pickle", pickle.loads(pickle.dumps(factor)).solve(b)
    yield "batch", gs.Batch(system.analyze(), many).solve(np.stack([b[:, 0]] * 9))
    yield "columns of a batch", gs.Batch(system.analyze(), many).solve(np.stack([b] * 9))
    yield "batch, T", gs.Batch(system.analyze(), many).solve(np.stack([b[:, 0]] * 9), "T")
    yield "batch, at once", gs.Batch(system.analyze()).solve_once(many, np.stack([b[:, 0]] * 9))
    yield "batch, refined", gs.Batch(system.analyze(), many, refine=True).solve(np.stack([b] * 9))
    yield "condensation", gs.condense(system, [node]).reduce(b)


@pytest.mark.parametrize(
    ("dtype", "symmetric"),
    [(dtype, symmetric) for dtype in TYPES for symmetric in (False, True)]
    + [(dtype, "hermitian") for dtype in TYPES[2:]],
)
@pytest.mark.parametrize("size", [1, 2, 6])
@pytest.mark.parametrize("graph", GRAPHS)
def test_dominant_matrices_keep_their_factors(replaced, graph, size, dtype, symmetric):
    wide = np.result_type(dtype, np.float64)
    wanted = random_system(GRAPHS[graph], size, dtype=wide, symmetric=symmetric, dominance=30.0)
    system = gs.System(GRAPHS[graph], size, dtype=dtype, symmetric=symmetric)
    system.values[:] = wanted.values
    b = np.random.default_rng(0).normal(size=(system.shape[0], 3)).astype(dtype)

    for what, _ in calls_of(system, b):
        assert not replaced, what
