"""The systems that are timed: five families of graphs, a full 6x6 block on every node and edge."""

import graphsys as gs
from graphsys.families import random_system

DIM = 6

# The sizes are numbers of nodes; net and crystal take the nearest square or cube.
PARAMS = (["chain", "tree", "ladder", "net", "crystal"], [10, 100, 1000])
PARAM_NAMES = ("graph", "nodes")


def graph(family, n):
    """Return the networkx graph of `family` with about `n` nodes."""
    if family == "chain":
        return gs.chain(n)
    if family == "tree":
        return gs.random_tree(n, seed=0)
    if family == "ladder":
        return gs.ladder(n // 2)
    if family == "net":
        return gs.net(round(n ** (1 / 2)))
    if family == "crystal":
        return gs.crystal(round(n ** (1 / 3)))
    raise ValueError(f"unknown family {family!r}")


def system(family, n):
    """Return a well-conditioned system on that graph, the same at every call."""
    return random_system(graph(family, n), DIM)
