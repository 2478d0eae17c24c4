"""The systems that are timed: families of graphs, blocks on every node and edge.

A size is a number of nodes; nets and crystals take the nearest square or cube, mechanisms as many
bodies as joints.
"""

import networkx as nx
import numpy as np

import graphsys as gs
from graphsys import families

DIM = 6

PARAMS = (["chain", "tree", "ladder", "net", "crystal"], [10, 100, 1000])
PARAM_NAMES = ("graph", "nodes")

GRAPHS = {
    "chain": lambda n: gs.chain(n),
    "tree": lambda n: gs.random_tree(n, seed=0),
    "ladder": lambda n: gs.ladder(n // 2),
    "net": lambda n: gs.net(round(n ** (1 / 2))),
    "crystal": lambda n: gs.crystal(round(n ** (1 / 3))),
    "complete": nx.complete_graph,
    "mixed tree": lambda n: gs.random_tree(n, seed=0),
    "body/joint chain": lambda n: families.body_joint_chain(n // 2),
    "body/joint tree": lambda n: families.body_joint_tree(n // 2),
}


def graph(family, n):
    """Return the networkx graph of `family` with about `n` nodes."""
    return GRAPHS[family](n)


def system(family, n, block=DIM):
    """Return a well-conditioned system on that graph, the same at every call.

    Joints have zero blocks on the diagonal, and their own sizes; so have the nodes of a mixed tree,
    1 to 6. Elsewhere every node has `block` unknowns.
    """
    if family.startswith("body/joint"):
        return families.random_saddle_system(graph(family, n))
    if family == "mixed tree":
        block = np.random.default_rng(1).integers(1, 7, n).tolist()
    # Above the spectral radius of the rest, about the square root of the entries in a row.
    entries = (n if family == "complete" else 7) * np.max(block)
    dominance = max(10.0, 1.5 * entries**0.5)
    return families.random_system(graph(family, n), block, dominance=dominance)


def entries(symbolic):
    """Entries of L, D and U; blocks count as full."""
    size = symbolic.graph.size[symbolic.step_node].astype(float)
    step = np.repeat(np.arange(size.size), np.diff(symbolic.front_start))
    behind = np.bincount(step, weights=size[symbolic.front], minlength=size.size)
    return float(np.sum(size * (size + 2.0 * behind)))
