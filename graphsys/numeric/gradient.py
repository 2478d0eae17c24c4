"""Gradient of a scalar function of a solve with respect to the blocks of the matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.kernels.single.matrix import subtract_outer_products
from graphsys.matrix.block import HERMITIAN, as_numbers
from graphsys.matrix.graph import BlockGraph
from graphsys.matrix.vectors import check_rows, join

Array = NDArray[Any]


def values_gradient(
    graph: BlockGraph, dtype: np.dtype[Any], symmetric: bool | str, x: Any, adjoint: Any
) -> Array:
    """Blocks ``-adjoint_i conj(x_j)^T`` on the pattern of the graph; many columns are summed.

    From A x = b, ``A dx = db - dA x``, so that ``Re(g^H dx) = Re(lam^H db) - Re(lam^H dA x)`` with
    ``A^H lam = g``.

    Parameters
    ----------
    graph : BlockGraph
    dtype : numpy.dtype
        Of the matrix: where it is real and the vectors are not, the real part.
    symmetric : bool or str
        Whether the matrix stays symmetric, or Hermitian: the gradient is then projected onto such
        matrices.
    x, adjoint : array_like, shape (N,) or (N, k), or {label: vector}
        Solution, and solution with the conjugate transpose.

    Returns
    -------
    ndarray of `dtype`, shape (graph.nnz,)

    Raises
    ------
    ValueError
        If the shapes of x and of the adjoint differ, or are not those of the graph.
    """
    right, left = (_columns(graph, v, name) for v, name in ((x, "x"), (adjoint, "g")))
    if right.shape != left.shape:
        raise ValueError(f"x has shape {right.shape}, g {left.shape}")
    right, left = (v[:, None] if v.ndim == 1 else v for v in (right, left))
    if dtype.kind == "c":
        right = right.conj()
    elif "c" in (right.dtype.kind, left.dtype.kind):
        right, left = (np.hstack((v.real, v.imag)) for v in (right, left))
    if symmetric:
        left = left / 2
        across = (right.conj(), left.conj()) if symmetric == HERMITIAN else (right, left)
        right, left = np.hstack((right, across[1])), np.hstack((left, across[0]))
    gradient = np.zeros(graph.nnz, dtype)
    subtract_outer_products(
        graph.size,
        graph.row_start,
        graph.neighbor_start,
        graph.neighbor,
        graph.diagonal_at,
        graph.block_at,
        left.ravel(order="F").astype(dtype, copy=False),
        right.ravel(order="F").astype(dtype, copy=False),
        right.shape[1],
        gradient,
    )
    return gradient


def _columns(graph: BlockGraph, vectors: Any, name: str) -> Array:
    if isinstance(vectors, Mapping):
        return join(graph, vectors)
    columns = as_numbers(vectors, None, name)
    check_rows(graph, columns)
    return columns
