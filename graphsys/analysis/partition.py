"""Partition of the rows of a scalar matrix into nodes, from its pattern alone.

Unknowns of one bus of a power network, of one point of a mesh, or of one stage of an optimal
control problem make blocks that are almost dense. Factors by blocks take 0.2 to 0.9 of the time of
scalars (`benchmarks.networks`, `benchmarks.interior_point`), and their analysis 0.05 to 0.5.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from graphsys.analysis.supervariables import FEWEST_NEIGHBORS, FEWEST_NODES, same_neighbours
from graphsys.matrix.from_scipy import MOST_GROUPS, MOST_ZEROS, neighbor_lists, similar_rows

Ints = npt.NDArray[np.int64]


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


def find_partition(rows: Any) -> Partition | None:
    """Nodes of rows with similar patterns, wherever they stand; None where scalars suit better.

    Rows with the same neighbours come together first (`same_neighbours`): a matrix may have all
    angles before all voltages. Rows that follow each other then share a node if their patterns are
    similar (`similar_rows`).

    Parameters
    ----------
    rows : scipy.sparse.csr_array, shape (N, N)
    """
    n = rows.shape[0]
    if n < FEWEST_NODES or rows.nnz < FEWEST_NEIGHBORS * n:
        return None
    start, neighbor = neighbor_lists(rows)
    members = same_neighbours(start, neighbor, np.zeros(n, np.bool_))
    order = np.arange(n)
    if members is not None and (np.diff(members) < 0).any():
        order = np.argsort(members, kind="stable")
    else:
        members = None
    size, entries = similar_rows(start, neighbor, order)
    if size.size > MOST_GROUPS * n or (1.0 - MOST_ZEROS) * entries > rows.nnz:
        return None
    return Partition(order if members is not None else None, size)
