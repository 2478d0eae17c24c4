"""The systems that are timed: families of graphs, blocks on every node and edge.

A size is a number of nodes; nets and crystals take the nearest square or cube, mechanisms as many
bodies as joints. Bodies and joints have random blocks; those with hinges have what mechanisms have.
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
    "hinge chain": lambda n: families.body_joint_chain(n // 2),
    "hinge tree": lambda n: families.body_joint_tree(n // 2),
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
    if family.startswith("hinge"):
        return hinges(graph(family, n))
    if family == "mixed tree":
        block = np.random.default_rng(1).integers(1, 7, n).tolist()
    # Above the spectral radius of the rest, about the square root of the entries in a row.
    entries = (n if family == "complete" else 7) * np.max(block)
    dominance = max(10.0, 1.5 * entries**0.5)
    return families.random_system(graph(family, n), block, dominance=dominance)


def hinges(graph, seed=0):
    """Return mass matrices of random ellipsoids, with constraint rows of hinges between them.

    Masses are from 0.1 to 10 kg, semi-axes from 5 to 30 cm; a hinge is anywhere within 30 cm. Its
    rows are three of the distance of two points, and two of angular velocities across the axis.
    """
    rng = np.random.default_rng(seed)
    system = gs.System(graph, "dim")
    for body in (node for node in graph if node[0] == "body"):
        mass, turned = np.exp(rng.uniform(-1.0, 1.0) * np.log(10.0)), _rotation(rng)
        a, b, c = rng.uniform(0.05, 0.3, 3) ** 2
        inertia = mass / 5.0 * (turned * [b + c, a + c, a + b]) @ turned.T
        system[body, body] = np.block(
            [[mass * np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), inertia]]
        )
    for joint in (node for node in graph if node[0] == "joint"):
        across = _rotation(rng)[:2]
        for sign, body in zip((1.0, -1.0), graph[joint], strict=False):
            turned, (x, y, z) = _rotation(rng), rng.uniform(-0.3, 0.3, 3)
            arm = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
            rows = sign * np.block(
                [[np.eye(3), -turned @ arm], [np.zeros((2, 3)), across @ turned]]
            )
            system[joint, body], system[body, joint] = rows, rows.T
    return system


def _rotation(rng):
    """Return a random orthogonal matrix, (3, 3)."""
    return np.linalg.qr(rng.standard_normal((3, 3)))[0]


def entries(symbolic):
    """Entries of L, D and U; blocks count as full."""
    size = symbolic.graph.size[symbolic.step_node].astype(float)
    step = np.repeat(np.arange(size.size), np.diff(symbolic.front_start))
    behind = np.bincount(step, weights=size[symbolic.front], minlength=size.size)
    return float(np.sum(size * (size + 2.0 * behind)))
