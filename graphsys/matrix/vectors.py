"""Vectors by label: {label: rows of the node} and one array, either way; arrays on cache lines."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.kernels.base.widths import LANES
from graphsys.matrix.block import as_numbers
from graphsys.matrix.graph import BlockGraph

__all__ = ["aligned", "check_rows", "join", "split"]


def check_rows(graph: BlockGraph, x: NDArray[Any]) -> None:
    """ValueError where `x` has not the shape (N,) or (N, k)."""
    rows, shape = graph.rows, x.shape
    if len(shape) not in (1, 2) or shape[0] != rows:
        raise ValueError(f"vector has shape {x.shape}, it must be ({rows},) or ({rows}, k)")


def split(graph: BlockGraph, x: Any) -> dict[Hashable, NDArray[Any]]:
    """Rows of each node.

    Parameters
    ----------
    graph : BlockGraph
    x : array_like, shape (N,) or (N, k)

    Returns
    -------
    dict of label to ndarray, shape (size,) or (size, k)
        Views of x.
    """
    vector = np.asarray(x)
    check_rows(graph, vector)
    start = graph.row_start.tolist()
    return {label: vector[start[i] : start[i + 1]] for i, label in enumerate(graph.labels)}


def join(graph: BlockGraph, vectors: Mapping[Any, Any], dtype: Any = float) -> NDArray[Any]:
    """Array whose rows are those of each node: the reverse of `split`.

    Parameters
    ----------
    graph : BlockGraph
    vectors : mapping of label to array_like, shape (size,) or (size, k)
        One k for all; a scalar stands for shape (1,). Nodes of size 0 may be left out.
    dtype : dtype
        Lowest type of the result; it becomes complex, or double, where a vector is.

    Returns
    -------
    ndarray, shape (N,) or (N, k)

    Raises
    ------
    UnknownNodeError
        If a label names no node.
    TypeError
        If a vector is not numeric.
    ValueError
        If a node has no vector, or one of another shape.
    """
    if not isinstance(vectors, Mapping):
        raise TypeError(f"vectors is a {type(vectors).__name__}: give a vector for each label")
    if (numbers := _scalars(graph, vectors)) is not None:
        return numbers.astype(np.result_type(dtype, numbers.dtype), copy=False)
    for label in vectors:
        graph.node(label)
    parts: list[NDArray[Any]] = []
    for label, size in zip(graph.labels, graph.size.tolist(), strict=True):
        if label not in vectors:
            if size == 0:
                continue
            raise ValueError(f"node {label!r} has no vector")
        part = as_numbers(vectors[label], None, f"vector of node {label!r}")
        if part.ndim == 0 and size == 1:
            part = part.reshape(1)
        # The first vector decides whether there are columns, and how many.
        columns = parts[0].shape[1:] if parts else part.shape[1:2]
        if part.shape != (size, *columns):
            raise ValueError(
                f"vector of node {label!r} has shape {part.shape}, it must be {(size, *columns)}"
            )
        parts.append(part)
    result = np.result_type(dtype, *{part.dtype for part in parts})
    return np.concatenate(parts, dtype=result) if parts else np.zeros(0, dtype=result)


def _scalars(graph: BlockGraph, vectors: Mapping[Any, Any]) -> NDArray[np.float64] | None:
    """Array of a Python float for each node of one row; None for other vectors and labels."""
    if len(vectors) != len(graph.labels) or not (graph.size == 1).all():
        return None
    given = list(map(vectors.get, graph.labels))
    return np.array(given) if set(map(type, given)) == {float} else None


def aligned(size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Array whose vectors of eight do not straddle cache lines."""
    room = np.empty(size + LANES, dtype)
    first = -(room.ctypes.data // room.itemsize) % LANES
    return room[first : first + size]
