"""Maximum matching of the rows of a pattern with its columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from graphsys.kernels.analysis.matching import WORK_ROWS, match

Ints = npt.NDArray[np.int64]


def maximum_matching(pattern: Any) -> tuple[Ints, Ints]:
    """Match as many rows with columns as there can be.

    scipy's `maximum_bipartite_matching` may take exponential time (scipy issue 26147).

    Parameters
    ----------
    pattern : scipy sparse array, shape (n, n)
        In CSR; stored zeros count as entries.

    Returns
    -------
    column_of, row_of : ndarray of int, shape (n,)
        Column of each row and row of each column; -1 where there is none.
    """
    n = pattern.shape[0]
    column_of, row_of = np.empty(n, np.int64), np.empty(n, np.int64)
    start, index = pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64)
    match(start, index, np.empty((WORK_ROWS, n), np.int64), row_of, column_of)
    return column_of, row_of


def structural_rank(pattern: Any) -> int:
    """Largest rank that a matrix with this pattern can have."""
    return int(np.count_nonzero(maximum_matching(pattern)[0] >= 0))
