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

#: Rows that are compared with the next one to see if any are similar, and part of these that must
#: be: for patterns without symmetry, whose neighbours take as long to list as a simple analysis.
SAMPLE, FEWEST_SIMILAR = 200, 0.1


class Partition(NamedTuple):
    """Nodes of a matrix.

    Attributes
    ----------
    order : ndarray of int, shape (N,), or None
        Rows of the matrix, node by node; None for their own order.
    size : ndarray of int, shape (n,), or None
        Rows of each node; None for those of `find_blocks`.
    """

    order: Ints | None
    size: Ints | None


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


def find_partition(rows: Any, mirrored: Ints | None) -> tuple[Partition, bool]:
    """Nodes of rows with similar patterns, and whether they suit better than scalars.

    Rows with the same neighbours come together first (`same_neighbours`), wherever they stand: a
    matrix may have all angles before all voltages. Rows that follow each other then share a node if
    their patterns are similar (`similar_rows`). Those that do not suit are of `find_blocks`.

    Parameters
    ----------
    rows : scipy.sparse.csr_array, shape (N, N)
        Canonical.
    mirrored : ndarray of int, shape (N_entries,), or None
        From `mirror`.
    """
    n = rows.shape[0]
    order, members = np.arange(n), None
    if n < FEWEST_NODES or rows.nnz < FEWEST_NEIGHBORS * n or mirrored is None and _differ(rows):
        return Partition(None, None), False
    if mirrored is not None:
        start, neighbor = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
        alone = np.ones(n, np.bool_)
        alone[neighbor[mirrored == np.arange(rows.nnz)]] = False
        members = same_neighbours(start, neighbor, alone)
    else:
        start, neighbor = neighbor_lists(rows)
    if members is not None and (np.diff(members) < 0).any():
        order = np.argsort(members, kind="stable")
    else:
        members = None
    size, entries = similar_rows(start, neighbor, order)
    if size.size <= MOST_GROUPS * n and (1.0 - MOST_ZEROS) * entries <= rows.nnz:
        return Partition(order if members is not None else None, size), True
    return Partition(None, size if members is None else None), False


def _differ(rows: Any) -> bool:
    """True if hardly a row is similar to the next one."""
    n, mark = rows.shape[0], np.full(rows.shape[0], -1)
    step = max(1, n // SAMPLE)
    tables = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    return bool(similar_part(*tables, step, mark) * step < FEWEST_SIMILAR * n)
