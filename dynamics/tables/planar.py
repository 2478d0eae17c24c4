"""Planar mechanisms: their unknowns and equations in the plane, and the block graph of these.

A mechanism is planar if a plane across an axis of the world is its plane of symmetry: joints hold
each body to it, and all axes lie in it or are normal to it. An axis of each body is its normal then
in any posture. `dynamics.kernels.interval.planar` says what steps gain.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from dynamics.kernels.base import layout
from dynamics.kernels.rows import rows as kinds
from dynamics.parts.bodies import WORLD
from dynamics.tables.panels import panel_tables

if TYPE_CHECKING:
    from dynamics.mechanism import Mechanism
    from dynamics.tables.finalize import Group

__all__ = ["planar_numbers", "planar_program", "planar_work"]

Float = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Axis that is normal to the plane, in the frame of the world and of each body, by name.
Normals = dict[Hashable, int]

#: Components of unit vectors, and heights of points over the longest, that count as 0: rounding of
#: files.
ZERO = 1e-12
#: Sides of a row: reflection leaves it as it is, reverses it, or makes another one of it.
IN, OUT, NEITHER = 1, -1, 0
#: Rows that look at turns about their axis, in the child's frame where all coordinates are 0.
TURNING = {kinds.ROTATION, kinds.ANGLE, kinds.LOGARITHM, kinds.SPIN}


def planar_numbers(
    mechanism: Mechanism,
    equations: list[Group],
    forces: list[Group],
    symbolic: gs.Symbolic,
    touching: bool,
) -> Ints:
    """Numbers of a plan from `layout.PLANAR_AT`, none where the mechanism is not planar.

    One body alone gains nothing, and is left out.

    Parameters
    ----------
    mechanism : Mechanism
    equations, forces : list of Group
        Groups of constraint rows, and of rows that carry forces.
    symbolic : Symbolic
        Of the block graph of bodies and joints. Blocks in the plane keep its order: their pivot
        blocks are parts of its own, and regular where these are.
    touching : bool
        Whether contacts join bodies: see `Symbolic.refining`.

    Returns
    -------
    ndarray of int
    """
    none, bodies = np.zeros(0, np.int64), mechanism.bodies
    if len(bodies) < 2 or mechanism.wrenches:
        return none
    if any(body.spatial_inertia is not None for body in bodies.values()):
        return none
    groups = [*equations, *forces]
    if any(group.mix is not None or group.callback != 0 for group in groups):
        return none
    for axis in range(3):
        normals = _normals(axis, equations)
        if len(normals) <= len(bodies) or not _balanced(mechanism, groups, normals):
            continue
        sides = [_sides(group, normals) for group in groups]
        if not any(NEITHER in side for side in sides):
            return _written(mechanism, normals, equations, sides, symbolic, touching)
    return none


def planar_work(numbers: Ints) -> int:
    """Length of the work arrays of `planar_numbers`.

    Parameters
    ----------
    numbers : ndarray of int

    Returns
    -------
    int
    """
    if numbers.size == 0:
        return 0
    sizes = layout.INNER, layout.ENTRIES, layout.PANEL_GROUPS
    return layout.planar_work_size(*(int(numbers[at]) for at in sizes))


def planar_program(numbers: Ints) -> list[Ints]:
    """Program of the block graph in the plane, for `solver_sizes`; none where there is none.

    Parameters
    ----------
    numbers : ndarray of int
        See `planar_numbers`.

    Returns
    -------
    list of ndarray of int
    """
    return [numbers[numbers.size - numbers[layout.PROGRAM_SIZE] :]] if numbers.size else []


def _normals(axis: int, equations: list[Group]) -> Normals:
    """Normals of the world and of the bodies that joints hold to the plane across an axis."""
    normals: Normals = {WORLD.name: axis}
    waiting, count = equations, len(equations) + 1
    while len(waiting) < count:
        count, left = len(waiting), []
        for group in waiting:
            a, b = group.parent.name, group.child.name
            if a not in normals and b not in normals:
                left.append(group)
            elif a not in normals or b not in normals:
                known, other = (a, b) if a in normals else (b, a)
                normal = _beyond(group, normals[known], known is b)
                if normal is not None:
                    if _sides(group, normals | {other: normal}).count(OUT) == 3:
                        normals[other] = normal
        waiting = left
    return normals


def _beyond(group: Group, normal: int, upwards: bool) -> int | None:
    """Axis of the child that is an axis of the parent where coordinates are 0, or the reverse."""
    w, *u = group.offset.tolist()
    w = -w if upwards else w
    j, k = (normal + 1) % 3, (normal + 2) % 3
    axis = [2.0 * part * u[normal] for part in u]  # R^T e, e the axis
    axis[normal] += 2.0 * w * w - 1.0
    axis[j] -= 2.0 * w * u[k]
    axis[k] += 2.0 * w * u[j]
    found = [i for i, part in enumerate(axis) if abs(part) > ZERO]
    return found[0] if len(found) == 1 else None


def _sides(group: Group, normals: Normals) -> list[int]:
    """Side of each row, given normals of the plane."""
    a, b = normals[group.parent.name], normals[group.child.name]
    sides, aligned = [], _beyond(group, a, False) == b
    for row in group.rows:
        side = NEITHER
        if row.kind == kinds.POINT:
            side = _side(row.axis, normals[WORLD.name])
        elif row.kind == kinds.TRANSLATION:
            side = _side(row.axis, a)
        elif row.kind == kinds.EDGE:
            side = _side(row.axis, b)
        elif row.kind == kinds.DOT:
            side = _side(row.axis, a) * _side(row.second, b)
        elif row.kind == kinds.DISTANCE:
            side = IN
        elif row.kind in TURNING and aligned:
            side = -_side(row.axis, b)
        sides.append(side)
    return sides


def _side(vector: Float, normal: int) -> int:
    """Side of a vector: IN the plane, OUT of it along its normal."""
    parts = [abs(part) for part in vector.tolist()]
    least = ZERO * max(parts)
    if parts.pop(normal) <= least:
        return IN
    return OUT if max(parts) <= least else NEITHER


def _balanced(mechanism: Mechanism, groups: list[Group], normals: Normals) -> bool:
    """Whether the plane is one of symmetry of masses and of points: these lie in it."""
    for name, body in mechanism.bodies.items():
        spin = np.abs(body.inertia[normals[name]])
        spin[normals[name]] = 0.0
        if spin.max() > ZERO * np.abs(body.inertia).max():
            return False
    longest, highest, levels = 0.0, 0.0, list[float]()
    for group in groups:
        for end, point in zip((group.parent, group.child), group.points):
            parts = point.tolist()
            height = parts[normals[end.name]]
            longest = max(longest, *map(abs, parts))
            if end is WORLD:
                levels.append(height)
            else:
                highest = max(highest, abs(height))
    return max(highest, max(levels) - min(levels)) <= ZERO * longest


def _written(
    mechanism: Mechanism,
    normals: Normals,
    equations: list[Group],
    sides: list[list[int]],
    symbolic: gs.Symbolic,
    touching: bool,
) -> Ints:
    """Unknowns in the plane and out of it, places of blocks in it, their program."""
    inner, outer, own = list[int](), list[int](), list[Ints]()  # own: rows in it of each node
    for k, name in enumerate(mechanism.bodies):
        within = [j != normals[WORLD.name] for j in range(3)]
        within += [j == normals[name] for j in range(3)]
        own.append(np.flatnonzero(within))
        inner += [layout.TWIST * k + j for j in range(layout.TWIST) if within[j]]
        for j in range(layout.TWIST):
            if not within[j]:
                outer += [layout.TWIST * k + j, layout.BODY_SIZE * k + j]
    first, rows = layout.TWIST * len(mechanism.bodies), 0
    for group, side in zip(equations, sides):
        if group.partner is not None:
            if side != sides[group.partner]:
                return np.zeros(0, np.int64)
            continue
        own.append(np.flatnonzero(np.equal(side, IN)))
        for j, one in enumerate(side):
            if one == IN:
                inner.append(first + rows + j)
            else:
                outer += [first + rows + j, 1 + rows + j]
        rows += group.n_rows
    places, ends, small = _blocks(own, symbolic, touching)
    groups, panels = 0, np.zeros(0, np.int64)
    if _is_tree(equations):
        groups, panels = panel_tables(small, ends, np.array(inner))
    head = [len(inner), len(outer) // 2, places.size, groups, panels.size, small.program.size]
    return np.concatenate([head, inner, outer, places, panels, small.program]).astype(np.int64)


def _is_tree(equations: list[Group]) -> bool:
    """Whether no joints close a loop, through the world or not."""
    graph = nx.Graph()
    for group in equations:
        a, b = group.parent.name, group.child.name
        if group.partner is not None or (a in graph and b in nx.node_connected_component(graph, a)):
            return False
        graph.add_edge(a, b)
    return True


def _blocks(
    own: list[Ints], symbolic: gs.Symbolic, touching: bool
) -> tuple[Ints, Ints, gs.Symbolic]:
    """Places, rows and columns of all entries of blocks of some rows of each node, and their order.

    Rows and columns are numbered node after node.
    """
    whole = symbolic.graph
    sizes = np.array([rows.size for rows in own])
    kept = np.flatnonzero(sizes)
    number = np.full(sizes.size, -1)
    number[kept] = np.arange(kept.size)
    i, j = number[np.stack(whole.pairs())]
    both = (i >= 0) & (j >= 0)
    system = gs.System.from_edges(i[both], j[both], sizes[kept])
    order = number[symbolic.step_node]
    small = system.analyze(order[order >= 0], ()).refining(touching)
    i, j = kept[np.stack(system.graph.pairs())]
    at = whole.blocks_at(i, j).tolist()
    first = np.concatenate([[0], np.cumsum(sizes)])
    entries, ends = list[Ints](), list[Ints]()
    for place, a, b in zip(at, i.tolist(), j.tolist()):
        entries.append((place + own[a] + whole.size[a] * own[b][:, None]).ravel())
        rows, columns = np.arange(sizes[a]) + first[a], np.arange(sizes[b]) + first[b]
        ends.append(np.stack([np.tile(rows, sizes[b]), np.repeat(columns, sizes[a])]))
    return np.concatenate(entries), np.concatenate(ends, axis=1), small
