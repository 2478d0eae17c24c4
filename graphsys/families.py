"""Graphs and systems to try things on: chains, trees, ladders, nets, crystals, mechanisms."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from graphsys.matrix.block import HERMITIAN
from graphsys.matrix.from_scipy import offsets
from graphsys.system import System

__all__ = [
    "body_joint_chain",
    "body_joint_tree",
    "chain",
    "crystal",
    "grounded_loop",
    "ladder",
    "net",
    "random_graph",
    "random_saddle_system",
    "random_system",
    "random_tree",
]

BODY_DIM = 6  # velocity and angular velocity
REVOLUTE_DIM = 5  # constraints of a joint about one axis
SPHERICAL_DIM = 3  # constraints of a ball joint


def chain(n: int) -> Any:
    """Path 0 - 1 - ... - (n - 1).

    Parameters
    ----------
    n : int
        Nodes, 1 or more.

    Returns
    -------
    networkx.Graph

    Raises
    ------
    ValueError
        If n < 1.
    """
    return _grid(_count("n", n))


def ladder(n: int) -> Any:
    """Ladder of 2 n nodes: rung i connects nodes 2 i and 2 i + 1.

    Parameters
    ----------
    n : int
        Rungs, 1 or more.

    Returns
    -------
    networkx.Graph

    Raises
    ------
    ValueError
        If n < 1.
    """
    return _grid(_count("n", n), 2)


def net(m: int) -> Any:
    """Square grid, m x m; row i and column j is node i m + j.

    Parameters
    ----------
    m : int
        Nodes along each side, 1 or more.

    Returns
    -------
    networkx.Graph

    Raises
    ------
    ValueError
        If m < 1.
    """
    return _grid(_count("m", m), m)


def crystal(m: int) -> Any:
    """Cubic grid, m x m x m; point (i, j, k) is node (i m + j) m + k.

    Parameters
    ----------
    m : int
        Nodes along each side, 1 or more.

    Returns
    -------
    networkx.Graph

    Raises
    ------
    ValueError
        If m < 1.
    """
    return _grid(_count("m", m), m, m)


def random_tree(n: int, seed: int = 0) -> Any:
    """Random recursive tree: the parent of node i > 0 is one of 0, ..., i - 1, equally likely.

    Parameters
    ----------
    n : int
        Nodes, 1 or more.
    seed : int

    Returns
    -------
    networkx.Graph

    Raises
    ------
    ValueError
        If n < 1.
    """
    above = _random_parents(_count("n", n), np.random.default_rng(seed))
    return _graph(n, zip(above, range(1, n), strict=True))


def random_graph(n: int, degree: float, seed: int = 0) -> Any:
    """Random connected graph: a random recursive tree and random edges besides.

    Parameters
    ----------
    n : int
        Nodes, 1 or more.
    degree : float
        Mean degree, up to n - 1; a tree's, 2 (n - 1) / n, is the least there is.
    seed : int

    Returns
    -------
    networkx.Graph

    Raises
    ------
    ValueError
        If n < 1, or the degree is negative or above n - 1.
    """
    _count("n", n)
    if not 0 <= degree <= max(n - 1, 0):
        raise ValueError(f"degree is {degree}: the mean degree of {n} nodes is from 0 to {n - 1}")
    rng = np.random.default_rng(seed)
    n_edges = max(n - 1, round(n * degree / 2))
    key = np.array(_random_parents(n, rng), dtype=np.int64) * n + np.arange(1, n)
    while key.size < n_edges:
        u, v = rng.integers(0, n, size=(2, 2 * n_edges))
        more = np.minimum(u, v) * n + np.maximum(u, v)
        key = np.concatenate([key, more[u != v]])
        first = np.unique(key, return_index=True)[1]
        key = key[np.sort(first)][:n_edges]  # the earliest stay, the tree among them
    return _graph(n, zip((key // n).tolist(), (key % n).tolist(), strict=True))


def body_joint_chain(n: int) -> Any:
    """Chain of n bodies: joint i ties body i to body i - 1, joint 0 ties body 0 to the world.

    Parameters
    ----------
    n : int
        Bodies, 1 or more.

    Returns
    -------
    networkx.Graph
        Nodes ("body", i) and ("joint", i) with attribute "dim", 6 and 5. The world is no node,
        so joint 0 is a leaf.

    Raises
    ------
    ValueError
        If n < 1.
    """
    return _mechanism(range(-1, _count("n", n) - 1))


def body_joint_tree(n: int, seed: int = 0) -> Any:
    """Random tree of n bodies: as `body_joint_chain`, body i > 0 on one of bodies 0, ..., i - 1.

    Parameters
    ----------
    n : int
        Bodies, 1 or more.
    seed : int

    Returns
    -------
    networkx.Graph

    Raises
    ------
    ValueError
        If n < 1.
    """
    return _mechanism([-1, *_random_parents(_count("n", n), np.random.default_rng(seed))])


def grounded_loop(n: int) -> Any:
    """Chain of n bodies with ball joints, whose both ends joints tie to the world.

    Parameters
    ----------
    n : int
        Bodies, 1 or more.

    Returns
    -------
    networkx.Graph
        Nodes ("body", i) and ("joint", i) with attribute "dim", 6 and 3; joint 0 and joint n are
        leaves, for the world, which closes the loop, is no node.

    Raises
    ------
    ValueError
        If n < 1.
    """
    graph = _mechanism(range(-1, _count("n", n) - 1), SPHERICAL_DIM)
    graph.add_node(("joint", n), dim=SPHERICAL_DIM)
    graph.add_edge(("joint", n), ("body", n - 1))
    return graph


def random_system(
    graph: Any,
    dims: Any,
    seed: int = 0,
    dtype: Any = float,
    symmetric: bool | str = False,
    dominance: float = 10.0,
) -> System:
    """System of standard normal blocks, `dominance` times the identity added on the diagonal.

    Parameters
    ----------
    graph, dims, dtype, symmetric
        As for `System`.
    seed : int
    dominance : float
        The matrix is well conditioned where this is above the spectral radius of the rest, about
        the square root of the entries in a row.

    Returns
    -------
    System
    """
    system = System(graph, dims, dtype=dtype, symmetric=symmetric)
    values = _normal(system, np.random.default_rng(seed))
    values[_diagonal_at(system, np.arange(len(system.labels)))] += dominance
    if symmetric:
        pattern = offsets(system.graph)
        upper, lower = pattern.data, pattern.T.tocsr().data
        row = np.repeat(np.arange(system.shape[0]), np.diff(pattern.indptr))
        above = row < pattern.indices
        values[lower[above]] = values[upper[above]]
        if system.symmetric == HERMITIAN:
            values[lower[above]] = values[upper[above]].conj()
            diagonal = upper[row == pattern.indices]
            values[diagonal] = values[diagonal].real
    system.values = values
    return system


def random_saddle_system(graph: Any, seed: int = 0) -> System:
    """System of a mechanism: bodies normal + 10 I, joints zero on the diagonal, normal couplings.

    Parameters
    ----------
    graph : networkx.Graph
        As `body_joint_chain`, `body_joint_tree` and `grounded_loop` make it.
    seed : int

    Returns
    -------
    System
        Unsymmetric in its values.
    """
    system = System(graph, "dim")
    values = _normal(system, np.random.default_rng(seed))
    joint = np.array([kind == "joint" for kind, _ in graph], dtype=np.bool_)
    values[_diagonal_at(system, np.flatnonzero(~joint))] += 10.0
    i, j = system.graph.pairs()
    zero = (i == j) & joint[i]
    values[np.repeat(zero, system.graph.size[i] * system.graph.size[j])] = 0.0
    system.values = values
    return system


def _count(name: str, value: int) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{name} is {value}, it must be an integer")
    if operator.index(value) < 1:
        raise ValueError(f"{name} is {value}, it must be 1 or more")
    return value


def _graph(n: int, edges: Iterable[tuple[int, int]]) -> Any:
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges)
    return graph


def _grid(*shape: int) -> Any:
    """Grid graph of any dimension, nodes numbered in C order."""
    node = np.arange(np.prod(shape)).reshape(shape)
    graph = _graph(node.size, ())
    for axis, length in enumerate(shape):
        u = node.take(range(length - 1), axis).ravel().tolist()
        v = node.take(range(1, length), axis).ravel().tolist()
        graph.add_edges_from(zip(u, v, strict=True))
    return graph


def _random_parents(n: int, rng: np.random.Generator) -> list[int]:
    """For nodes 1, ..., n - 1 a random earlier node."""
    return [int(parent) for parent in rng.integers(0, np.arange(1, n))]


def _mechanism(parent: Iterable[int], joint_dim: int = REVOLUTE_DIM) -> Any:
    """Bodies on joints: joint i ties body i to body parent[i], or to the world where it is -1."""
    graph = nx.Graph()
    for i, above in enumerate(parent):
        graph.add_node(("joint", i), dim=joint_dim)
        graph.add_node(("body", i), dim=BODY_DIM)
        graph.add_edge(("joint", i), ("body", i))
        if above >= 0:
            graph.add_edge(("joint", i), ("body", above))
    return graph


def _normal(system: System, rng: np.random.Generator) -> NDArray[Any]:
    """Values, standard normal; complex ones have variance 1 in each part."""
    values = rng.standard_normal(system.graph.nnz)
    if system.dtype.kind == "c":
        return values + 1j * rng.standard_normal(system.graph.nnz)
    return values.astype(system.dtype)


def _diagonal_at(system: System, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places in `values` of the scalar diagonal entries of these nodes."""
    size = system.graph.size[nodes]
    step = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    start = np.repeat(system.graph.diagonal_at[nodes], size)
    return np.asarray(start + step * (np.repeat(size, size) + 1), dtype=np.int64)
