"""Places in the plane for the nodes of a graph, to draw it."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from graphsys.matrix.graph import BlockGraph

__all__ = ["embed"]

Places = npt.NDArray[np.float64]

#: Up to so many nodes of a component edges are made equally long, which takes their square in time.
MOST_EVEN = 150


def embed(graph: BlockGraph) -> Places:
    """Places of the nodes of a graph; the same graph gives the same places.

    Parameters
    ----------
    graph : BlockGraph

    Returns
    -------
    ndarray of float, shape (n, 2)
        Each component by itself, the components in rows, the largest first.
    """
    network = nx.Graph()
    network.add_nodes_from(range(graph.size.size))
    i = np.repeat(np.arange(graph.size.size), np.diff(graph.neighbor_start))
    network.add_edges_from(zip(i.tolist(), graph.neighbor.tolist(), strict=True))
    place = np.zeros((graph.size.size, 2))
    components = sorted(nx.connected_components(network), key=len, reverse=True)
    row_width = 1.2 * graph.size.size**0.5
    x = y = height = 0.0
    for component in components:
        nodes = sorted(component)
        here = _component(network.subgraph(nodes), nodes) * len(nodes) ** 0.5
        width, depth = here.max(axis=0)
        if x > 0.0 and x + width > row_width:
            x, y, height = 0.0, y - height - 1.0, 0.0
        place[nodes] = here + (x, y - depth)
        x, height = x + width + 1.0, max(height, depth)
    return place


def _component(network: Any, nodes: list[int]) -> Places:
    """Places of a connected graph from (0, 0) on, the longer way along x and 1 long."""
    n = len(nodes)
    if n < 3:
        return np.array([(0.0, 0.0), (1.0, 0.0)])[:n]
    if n > MOST_EVEN and network.number_of_edges() == n - 1:
        place = _radial(network, nodes)
    elif n > MOST_EVEN:
        place = _spectral(network, nodes)[:, :2]
    else:
        place = _even(network, nodes, _spectral(network, nodes))
    place = _upright(place)
    place = place - place.min(axis=0)
    return np.asarray(place / max(float(place.max()), 1e-300))


def _upright(place: Places) -> Places:
    """Places turned about their middle so that they reach farthest along x, next along y."""
    place = place - place.mean(axis=0)
    return np.asarray(place @ np.linalg.svd(place, full_matrices=False)[2].T)


def _even(network: Any, nodes: list[int], place: Places) -> Places:
    """Distances as on the graph; in space first, where a twisted graph finds room to turn round.

    See T. Kamada and S. Kawai, An algorithm for drawing general undirected graphs, Inform. Process.
    Lett. 31(1), 1989.
    """
    for dimension in (3, 2):
        start = dict(zip(nodes, _upright(place)[:, :dimension], strict=True))
        found = nx.kamada_kawai_layout(network, pos=start, dim=dimension)
        place = np.array([found[node] for node in nodes])
    return place


def _spectral(network: Any, nodes: list[int]) -> Places:
    """Three smoothest eigenvectors of the graph's Laplacian (Hall 1970), by inverse iteration."""
    import scipy.sparse as sp
    from scipy.sparse.linalg import eigsh

    n = len(nodes)
    laplacian = sp.csc_array(nx.laplacian_matrix(network, nodelist=nodes).astype(float))
    random = np.random.default_rng(0)
    count = min(4, n - 1)
    found = eigsh(laplacian, k=count, sigma=-1e-3 / n, v0=random.standard_normal(n))[1]
    place = np.zeros((n, 3))
    place[:, : count - 1] = found[:, 1:]  # the first is constant
    place += 1e-3 / n**0.5 * random.standard_normal((n, 3))  # no two nodes in one place
    return place


def _radial(network: Any, nodes: list[int]) -> Places:
    """Tree about its middle: circles by depth, angles by leaves."""
    longest = nodes[:1]
    for _ in range(2):  # the farthest node from the farthest from any: a longest path
        longest = list(nx.single_source_shortest_path(network, longest[-1]).values())[-1]
    middle = longest[len(longest) // 2]
    above = {child: parent for parent, child in nx.bfs_edges(network, middle)}
    leaves = dict.fromkeys(nodes, 0)
    for node in [*reversed(above), middle]:
        leaves[node] = max(leaves[node], 1)
        if node != middle:
            leaves[above[node]] += leaves[node]
    index = {node: k for k, node in enumerate(nodes)}
    depth, angle = np.zeros((2, len(nodes)))
    first = {middle: 0.0}  # leaves before those of a node and of what was placed of its branch
    angle[index[middle]] = leaves[middle] / 2
    for node, parent in above.items():
        first[node] = first[parent]
        first[parent] += leaves[node]
        depth[index[node]] = depth[index[parent]] + 1
        angle[index[node]] = first[node] + leaves[node] / 2
    angle *= 2 * np.pi / leaves[middle]
    return np.stack((depth * np.cos(angle), depth * np.sin(angle)), axis=1)
