"""What is said of circuits: zeros on the diagonal that need not make the matrix singular."""

import numpy as np
import pytest
import scipy.sparse as sp

import graphsys as gs

# nodal analysis: a source at node 0, whose one neighbour is the source's own row 2
REGULAR = np.array([[0.0, 0, 1, 0], [0, 1, -1, 0], [1, -1, 0, 0], [0, 0, 0, 1]])
# two sources at node 0: their rows are the same
SINGULAR = np.array([[1.0, 1, 1], [1, 0, 0], [1, 0, 0]])


def test_a_regular_circuit_is_not_said_to_be_singular():
    system = gs.System.from_scipy(sp.csr_array(REGULAR), 1)
    said = gs.explain(system.analyze())

    assert "singular:" not in said and "redundant" not in said
    assert "late pivots" in said
    b = np.arange(4.0)
    assert system.solve(b) == pytest.approx(np.linalg.solve(REGULAR, b))


def test_redundant_sources_are_still_said_to_be():
    said = gs.explain(gs.System.from_scipy(sp.csr_array(SINGULAR), 1).analyze())

    assert "may" in said and "redundant" in said
