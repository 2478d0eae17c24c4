"""Block triangular form of an unsymmetric pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graphsys.analysis.matching import maximum_matching
from graphsys.kernels.analysis.block_order import order_blocks

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class BlockTriangularForm:
    """Rows and columns in an order that makes a matrix block lower triangular.

    Attributes
    ----------
    row, column : ndarray of int, shape (N,)
        Row and column of the matrix at each place of the form.
    block : ndarray of int, shape (K + 1,)
        First place of each diagonal block, and N.
    """

    row: Ints
    column: Ints
    block: Ints


def block_triangular_form(pattern: Any) -> BlockTriangularForm | None:
    """Finest block triangular form of a pattern; None if it is structurally singular.

    Its blocks are the strongly connected components of the columns once each has a row (Dulmage
    and Mendelsohn 1958; Duff and Reid 1978).

    Parameters
    ----------
    pattern : scipy sparse array, shape (N, N)
        In CSR.

    Returns
    -------
    BlockTriangularForm or None
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
    size = np.bincount(component, minlength=count)
    order = _ordered(component[needed[outside]], component[needing[outside]], size)
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    column = np.argsort(place[component], kind="stable")
    block = np.concatenate([[0], np.cumsum(size[order])])
    # A block on the diagonal keeps its rows beside its columns, and its symmetry with them.
    moved = np.zeros(count, np.bool_)
    moved[component[component != component[column_of]]] = True
    at_row = np.where(moved[component], row_of, np.arange(n))
    return BlockTriangularForm(at_row[column], column, block)


def _ordered(before: Ints, after: Ints, size: Ints) -> Ints:
    """Order of blocks of which some come before others: those of one row as soon as they can."""
    count = size.size
    by_before = np.argsort(before, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(before, minlength=count))])
    waits = np.bincount(after, minlength=count)
    large, order = np.empty(count, np.int64), np.empty(count, np.int64)
    order_blocks(start, after[by_before].astype(np.int64), size == 1, waits, large, order)
    return order
