"""An order of elimination that needs no pivoting between blocks, whatever the loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import networkx as nx

import graphsys as gs
from dynamics.parts.bodies import WORLD
from dynamics.parts.couplings import Half

if TYPE_CHECKING:
    from dynamics.parts.joints import Joint
    from dynamics.tables.contacts import Record

__all__ = ["loops_last", "loops_of", "overburdened", "symbolic_of"]


def loops_of(
    bodies: Iterable[Hashable], joints: Sequence[Joint]
) -> tuple[tuple[Hashable, ...], ...]:
    """Joints on each independent loop of bodies, joints and the world; graphsys finds them.

    Parameters
    ----------
    bodies : iterable of hashable
        Names.
    joints : sequence of Joint
        Those with constraints.

    Returns
    -------
    tuple of tuple
        Names of joints.
    """
    graph = nx.Graph()
    graph.add_node(WORLD.name)
    graph.add_nodes_from(bodies)
    for joint in joints:
        graph.add_edges_from((body.name, joint.name) for body in joint.bodies)
    if nx.is_forest(graph):
        return ()
    symbolic = gs.System(graph, 1).analyze("dfs")
    held = {joint.name for joint in joints}
    return tuple(tuple(name for name in cycle if name in held) for cycle in symbolic.cycles)


def symbolic_of(
    bodies: Iterable[Hashable],
    joints: Sequence[Joint],
    coupled: Mapping[Hashable, tuple[Half, ...]],
    forces: Iterable[Any],
    records: Iterable[Record],
    loops: bool,
) -> tuple[gs.Symbolic, gs.Symbolic | None]:
    """Symbolic factorization of the block graph: bodies of 6, joints of as many as they hold.

    Contacts between bodies are stiff and need rows with small residuals, by a rule that does not
    depend on units (`graphsys.Symbolic.refining`). There is a second one for when the first finds a
    singular pivot, where that can be. Couplings and constraints of three and more bodies wait for
    all of these: what they hold on one body may well be nothing.

    Parameters
    ----------
    bodies : iterable of hashable
        Names.
    joints : sequence of Joint
        Those with constraints.
    coupled : mapping
        Halves of couplings, and terms of tendons, by name.
    forces : iterable
        Groups of rows that carry forces.
    records : iterable of Record
        Contacts.
    loops : bool
        Whether joints are on loops.

    Returns
    -------
    first : graphsys.Symbolic
    second : graphsys.Symbolic or None
    """
    graph = nx.Graph()
    sizes = {name: 6 for name in bodies}
    graph.add_nodes_from(bodies)
    joined = [(joint.name, joint.n_rows, joint.bodies) for joint in joints]
    joined += [(name, 1, tuple(_bodies_of(pair))) for name, pair in coupled.items()]
    for name, rows, ends in joined:
        graph.add_node(name)
        sizes[name] = rows
        graph.add_edges_from((body.name, name) for body in ends if body is not WORLD)
    for group in forces:
        if group.paired and WORLD not in (group.parent, group.child):
            graph.add_edge(group.parent.name, group.child.name)
    touching = False
    for record in records:
        if record.joins_bodies:
            graph.add_edge(record.parent.name, record.child.name)
            touching = True
    system = gs.System(graph, sizes)
    if coupled or any(len(joint.bodies) > 2 for joint in joints):
        order = loops_last(bodies, joints)
        found = system.analyze(with_couplings(order, coupled, loops))
        return found.refining(touching), None
    zero = [joint.name for joint in joints]
    symbolic = system.analyze(zero_diagonal=zero).refining(touching)
    if not (loops or overburdened(symbolic.order, joints)):
        return symbolic, None
    return symbolic, system.analyze(loops_last(bodies, joints)).refining(touching)


def with_couplings(
    order: list[Hashable], coupled: Mapping[Hashable, tuple[Half, ...]], loops: bool
) -> list[Hashable]:
    """An order with couplings after their joints and bodies or, where there are loops, last.

    Parameters
    ----------
    order : list of hashable
        Of bodies and joints.
    coupled : mapping
        Halves of couplings, and terms of tendons, by name.
    loops : bool

    Returns
    -------
    list of hashable
    """
    place = {name: k for k, name in enumerate(order)}
    behind: dict[int, list[Hashable]] = {}
    for name, pair in coupled.items():
        parts = [one.name for one in (*(half.joint for half in pair), *_bodies_of(pair))]
        last = max(place.get(part, -1) for part in parts)
        behind.setdefault(len(order) - 1 if loops else last, []).append(name)
    return [one for k, name in enumerate(order) for one in (name, *behind.get(k, ()))]


def loops_last(bodies: Iterable[Hashable], joints: Sequence[Joint]) -> list[Hashable]:
    """Bodies before the joint they hang from, and a joint that closes a loop after its loop.

    The pivot block of a joint is the mobility of what was eliminated before it, and has to be
    regular. A body on a tree gives its joint all it needs. A joint that closes a loop may find
    directions that the loop's other joints are yet to hold: it waits for all of a shortest loop but
    the top body, so that what its pivot lacks then is truly redundant. A constraint of three and
    more bodies waits for these and for all that lies between them, the top body too, but not for
    the joint of that.

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
        if len(joint.bodies) < 3 and not graph.has_edge(joint.parent.name, joint.child.name):
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
    before: dict[Hashable, list[Hashable]] = {name: [] for name in place}
    behind: dict[Hashable, list[Hashable]] = {name: [] for name in place}
    for name, joint_name in held.items():
        behind[name].append(joint_name)
    for joint in joints:
        if len(joint.bodies) > 2:
            chains = [_upwards(body.name, above) for body in joint.bodies if body is not WORLD]
            shared = set.intersection(*chains)
            between = set.union(*chains) - shared
            if shared:
                between.add(min(shared, key=place.__getitem__))
            between.discard(WORLD.name)
            before[max(between, key=place.__getitem__)].append(joint.name)
        elif joint.name not in tree_joints:
            loop = _upwards(joint.parent.name, above) ^ _upwards(joint.child.name, above)
            behind[max(loop, key=place.__getitem__)].append(joint.name)
    order: list[Hashable] = []
    for name in place:
        order += [] if name == WORLD.name else [name, *before[name]]
        order += behind[name]
    return order


def overburdened(order: Sequence[Hashable], joints: Iterable[Joint]) -> bool:
    """True if one body gives pivots to several joints, which may hold the same direction of it.

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
        ends = [end.name for end in joint.bodies if end is not WORLD]
        before = [name for name in ends if place[name] < place[joint.name]]
        if len(before) == 1:
            load[before[0]] += 1
    return max(load.values(), default=0) > 1


def _bodies_of(pair: tuple[Half, ...]) -> list[Any]:
    """Bodies of all joints of a coupling or tendon."""
    return [body for half in pair for body in (half.joint.parent, half.joint.child)]


def _upwards(name: Hashable, above: dict[Hashable, Hashable]) -> set[Hashable]:
    """A body and all it hangs from."""
    found = {name}
    while name in above:
        name = above[name]
        found.add(name)
    return found
