"""An order of elimination that needs no pivoting between blocks, whatever the loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

import networkx as nx

from dynamics.bodies import WORLD

if TYPE_CHECKING:
    from dynamics.joints import Joint

__all__ = ["loops_last", "overburdened"]


def loops_last(bodies: Iterable[Hashable], joints: Sequence[Joint]) -> list[Hashable]:
    """Bodies before the joint they hang from, and a joint that closes a loop behind its loop.

    The pivot block of a joint is the mobility of what was eliminated beside it, and has to be
    regular. A body on a tree gives its joint all it needs. A joint that closes a loop may find
    directions that the loop's other joints are yet to hold: it waits for all of a shortest loop but
    the top body, so that what its pivot lacks then is truly redundant.

    Parameters
    ----------
    bodies : iterable of hashable
        Names.
    joints : sequence of Joint
        Those with constraints.

    Returns
    -------
    list of hashable
        Names of all bodies and joints.
    """
    graph = nx.Graph()
    graph.add_nodes_from([WORLD.name, *bodies])
    for joint in joints:
        if not graph.has_edge(joint.parent.name, joint.child.name):
            graph.add_edge(joint.parent.name, joint.child.name, joint=joint.name)
    above: dict[Hashable, Hashable] = {}
    place: dict[Hashable, int] = {}
    for root in graph:
        if root not in place:
            tree = nx.bfs_tree(graph, root)
            above.update((child, parent) for parent, child in tree.edges)
            for name in nx.dfs_postorder_nodes(tree, root):
                place[name] = len(place)
    held = {child: graph.edges[child, parent]["joint"] for child, parent in above.items()}
    tree_joints = set(held.values())
    behind: dict[Hashable, list[Hashable]] = {name: [] for name in place}
    for name, joint_name in held.items():
        behind[name].append(joint_name)
    for joint in joints:
        if joint.name not in tree_joints:
            loop = _upwards(joint.parent.name, above) ^ _upwards(joint.child.name, above)
            behind[max(loop, key=place.__getitem__)].append(joint.name)
    order: list[Hashable] = []
    for name in place:
        order += behind[name] if name == WORLD.name else [name, *behind[name]]
    return order


def overburdened(order: Sequence[Hashable], joints: Iterable[Joint]) -> bool:
    """Whether a body alone is to give pivots to several joints, which may all hold the same of it.

    Parameters
    ----------
    order : sequence of hashable
        Names of bodies and joints as they are eliminated.
    joints : iterable of Joint
        Those with constraints.

    Returns
    -------
    bool
    """
    place = {name: k for k, name in enumerate(order)}
    load: Counter[Hashable] = Counter()
    for joint in joints:
        ends = [end.name for end in (joint.parent, joint.child) if end is not WORLD]
        before = [name for name in ends if place[name] < place[joint.name]]
        if len(before) == 1:
            load[before[0]] += 1
    return max(load.values(), default=0) > 1


def _upwards(name: Hashable, above: dict[Hashable, Hashable]) -> set[Hashable]:
    """A body and all it hangs from."""
    found = {name}
    while name in above:
        name = above[name]
        found.add(name)
    return found
