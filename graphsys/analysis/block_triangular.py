"""Block triangular form of an unsymmetric pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graphsys.analysis.matching import maximum_matching
from graphsys.kernels.analysis.block_order import order_blocks

Ints = npt.NDArray[np.int64]

#: Rows up to which a diagonal block is factorized as a dense matrix.
DENSE = 16


@dataclass(frozen=True, slots=True, eq=False)
class BlockTriangularForm:
    """Rows and columns in an order that makes a matrix block lower triangular.

    Attributes
    ----------
    row, column : ndarray of int, shape (N,)
        Row and column of the matrix at each place of the form.
    block : ndarray of int, shape (K + 1,)
        First place of each diagonal block, and N.
    run : ndarray of int, shape (R + 1,)
        First block of each run, and K. Blocks of a run are all of at most `DENSE` rows, or all
        larger; larger ones of a run do not need each other.
    """

    row: Ints
    column: Ints
    block: Ints
    run: Ints


def block_triangular_form(pattern: Any) -> BlockTriangularForm | None:
    """Finest block triangular form of a pattern; None where it would change nothing.

    Its blocks are the strongly connected components of the columns once each has a row (Dulmage
    and Mendelsohn 1958; Duff and Reid 1978).

    Parameters
    ----------
    pattern : scipy sparse array, shape (N, N)
        In CSR.

    Returns
    -------
    BlockTriangularForm or None
        None if the pattern is structurally singular, or if no entry is outside the diagonal blocks.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = pattern.shape[0]
    column_of, row_of = maximum_matching(pattern)
    if (column_of < 0).any():
        return None
    row = np.repeat(np.arange(n), np.diff(pattern.indptr))
    needing, needed = column_of[row], pattern.indices.astype(np.int64)
    links = csr_array((np.ones(needing.size, np.int8), (needing, needed)), shape=(n, n))
    count, component = connected_components(links, connection="strong")
    outside = component[needing] != component[needed]
    if not outside.any():
        return None
    order, run = _ordered(
        component[needed[outside]], component[needing[outside]], np.bincount(component)
    )
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    column = np.argsort(place[component], kind="stable")
    block = np.concatenate([[0], np.cumsum(np.bincount(component)[order])])
    # A block on the diagonal keeps its rows beside its columns, and its symmetry with them.
    moved = np.zeros(count, np.bool_)
    moved[component[component != component[column_of]]] = True
    at_row = np.where(moved[component], row_of, np.arange(n))
    return BlockTriangularForm(at_row[column], column, block, run)


def _ordered(before: Ints, after: Ints, size: Ints) -> tuple[Ints, Ints]:
    """Order of blocks of which some come before others, and where its runs begin."""
    count = size.size
    by_before = np.argsort(before, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(before, minlength=count))])
    waits = np.bincount(after, minlength=count)
    order, large, run = (np.empty(count + 1, np.int64) for _ in range(3))
    runs = order_blocks(
        start, after[by_before].astype(np.int64), size <= DENSE, waits, large, order, run
    )
    return order[:count], run[: runs + 1].copy()
