"""Partition of the rows of a scalar matrix into nodes, from its pattern alone.

Unknowns of one bus of a power network, of one point of a mesh, or of one stage of an optimal
control problem make blocks that are almost dense. Factors by blocks take 0.2 to 0.9 of the time of
scalars (`benchmarks.networks`, `benchmarks.interior_point`), and their analysis 0.05 to 0.5.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from graphsys.analysis.supervariables import FEWEST_NEIGHBORS, FEWEST_NODES, same_neighbours
from graphsys.kernels.analysis.graph import mirror_entries, similar_part
from graphsys.matrix.from_scipy import MOST_GROUPS, MOST_ZEROS, neighbor_lists, similar_rows

Ints = npt.NDArray[np.int64]

#: Rows that are compared with others to see if any are similar, and part of these that must be: to
#: compare all takes a fifth of `splu` of a circuit, and random matrices of 300 rows would take 1.5
#: times as long.
SAMPLE, FEWEST_SIMILAR = 200, 0.1


class Partition(NamedTuple):
    """Nodes of a matrix.

    Attributes
    ----------
    order : ndarray of int, shape (N,), or None
        Rows of the matrix, node by node; None for their own order.
    size : ndarray of int, shape (n,)
        Rows of each node.
    """

    order: Ints | None
    size: Ints


def mirror(rows: Any) -> Ints | None:
    """Entry across the diagonal of each entry; None where the pattern is not symmetric.

    Parameters
    ----------
    rows : scipy.sparse.csr_array, shape (N, N)
        Canonical.
    """
    mirrored, passed = np.empty(rows.nnz, np.int64), np.empty(rows.shape[0], np.int64)
    tables = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    return mirrored if mirror_entries(*tables, passed, mirrored) else None


def has_similar_rows(A: Any, fewest: int = FEWEST_NODES) -> bool:
    """True if many of some rows of a CSR matrix, or columns of CSC, have a similar one after them.

    Those of other matrices, and of fewer rows than ``fewest`` or few entries, have none.
    """
    n = A.shape[0]
    if A.format not in ("csr", "csc") or n < fewest or A.indices.size < FEWEST_NEIGHBORS * n:
        return False
    start, neighbor = A.indptr.astype(np.int64), A.indices.astype(np.int64)
    count, seen = similar_part(start, neighbor, max(1, n // SAMPLE), np.full(n, -1))
    return bool(count >= FEWEST_SIMILAR * seen)


def find_partition(rows: Any, mirrored: Ints | None) -> Partition | None:
    """Nodes of rows of `has_similar_rows`; None if they would have few rows, or many zeros.

    Rows with the same neighbours come together first (`same_neighbours`), wherever they stand: a
    matrix may have all angles before all voltages. Rows that follow each other then share a node if
    their patterns are similar (`similar_rows`).

    Parameters
    ----------
    rows : scipy.sparse.csr_array, shape (N, N)
        Canonical.
    mirrored : ndarray of int, shape (N_entries,), or None
        From `mirror`.
    """
    n = rows.shape[0]
    start, neighbor = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    alone = np.ones(n, np.bool_)
    if mirrored is None:
        start, neighbor = neighbor_lists(rows)
    else:
        alone[neighbor[mirrored == np.arange(rows.nnz)]] = False
    members, order = same_neighbours(start, neighbor, alone), None
    if members is not None and (np.diff(members) < 0).any():
        order = np.argsort(members, kind="stable")
    size, entries = similar_rows(start, neighbor, np.arange(n) if order is None else order)
    if size.size > MOST_GROUPS * n or (1.0 - MOST_ZEROS) * entries > rows.nnz:
        return None
    return Partition(order, size)
