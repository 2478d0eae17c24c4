"""Blocks that a networkx graph carries as attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx

__all__ = ["attribute_blocks"]


def attribute_blocks(
    graph: Any, index: Mapping[Any, int], block: str, diagonal: str, symmetric: bool | str
) -> dict[tuple[Any, Any], Any]:
    """Blocks by ordered pair of labels, as `System` takes them.

    Parameters
    ----------
    graph : networkx.DiGraph, or networkx.Graph where `symmetric`
    index : mapping of label to int
        Nodes to take, and their order.
    block, diagonal : str
        Names of the edge attribute and of the node attribute.
    symmetric : bool or "hermitian"
        Whether block (v, u) is the transpose of (u, v), so that an undirected edge defines both:
        its block is (u, v) where u has the lower index.

    Returns
    -------
    dict of (label, label) to the attribute's value

    Raises
    ------
    TypeError
        If the graph is not of networkx, or undirected and the system not symmetric.
    ValueError
        If it has nodes, but none of them and no edge carries the attribute.
    """
    if not isinstance(graph, nx.Graph):
        raise TypeError(f"graph is a {type(graph).__name__}: only networkx has attributes")
    if not graph.is_directed() and not symmetric:
        raise TypeError(
            "an undirected edge has one block for both (u, v) and (v, u): "
            "give a DiGraph, or symmetric=True"
        )
    blocks = {}
    for u, v, value in graph.edges(data=block, default=_MISSING):
        if value is not _MISSING and u in index and v in index:
            as_given = graph.is_directed() or index[u] < index[v]
            blocks[(u, v) if as_given else (v, u)] = value
    for u, value in graph.nodes(data=diagonal, default=_MISSING):
        if value is not _MISSING and u in index:
            blocks[u, u] = value
    if not blocks and index:
        raise ValueError(f"no edge has an attribute {block!r} and no node one {diagonal!r}")
    return blocks


_MISSING = object()
