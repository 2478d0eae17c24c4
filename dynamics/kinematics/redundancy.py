"""Redundant constraints: rank of the joints' Jacobian, part by part."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from dynamics.kernels.base import layout
from dynamics.parts.tendons import halves
from dynamics.state import State

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["Redundancy"]

Float = NDArray[np.float64]

#: Singular values below this, over the largest, count as 0. Rows that are closed to 1e-12 differ
#: from exact ones by that much; the smallest that matter are those near a change point.
RANK = 1e-8


@dataclass(frozen=True, slots=True)
class Redundancy:
    """Counts of the constraints of a model in one state.

    Attributes
    ----------
    n_rows : int
        Number of constraints.
    rank : int
        Number of independent constraints.
    n_freedoms : int
        Degrees of freedom, 6 n - rank.
    redundant : int
        Number of redundant constraints, n_rows - rank.
    loops : tuple of (tuple of hashable, int)
        Joints and couplings that share redundant constraints, and the number of these; the forces
        of these joints are not unique.
    """

    n_rows: int
    rank: int
    n_freedoms: int
    redundant: int
    loops: tuple[tuple[tuple[Hashable, ...], int], ...]

    def __str__(self) -> str:
        text = (
            f"{self.n_rows} constraints, {self.rank} independent; "
            f"{self.n_freedoms} degree{'s' * (self.n_freedoms != 1)} of freedom"
        )
        for names, count in self.loops:
            text += f"\n{count} redundant among {', '.join(map(repr, names))}"
        return text


def redundancy_of(model: Model, state: State) -> Redundancy:
    """Count redundant constraints, theory/loops (2); see `Model.redundancy`.

    Only joints on a common loop can share a load that nothing else feels, so that each biconnected
    part of the mechanism has a rank of its own; a coupling makes one of those that it joins.
    """
    zeros = np.zeros((1, layout.TWIST * model.n_bodies))
    joints = int(model.tables.plan[layout.JOINTS])
    model.workspace.measured(0, joints, state.data[None], zeros)
    slopes = model.workspace.G.reshape(-1, 2, 6).copy()
    graph = nx.Graph()
    names = list(model.tables.joint_index)
    ends = [_bodies(model, name) for name in names]
    for k, bodies in enumerate(ends):
        graph.add_edges_from(((0, body.name), (1, k)) for body in bodies)
    lost = 0
    loops = []
    for part in _parts(graph, [(1, k) for k, bodies in enumerate(ends) if len(bodies) > 2]):
        inside = sorted(
            k for kind, k in part
            if kind == 1 and all((0, body.name) in part for body in ends[k])
        )  # fmt: skip
        if len(inside) < 2:
            continue
        G = _jacobian(model, inside, slopes)
        missing = G.shape[0] - _rank(G)
        if missing:
            loops.append((tuple(names[k] for k in inside), missing))
        lost += missing
    rank = model.n_rows - lost
    return Redundancy(
        model.n_rows,
        rank,
        layout.TWIST * model.n_bodies - rank,
        lost,
        tuple(sorted(loops, key=str)),
    )


def _bodies(model: Model, name: Hashable) -> list[Any]:
    """Bodies of a joint, or of all joints of a coupling or tendon."""
    mechanism = model.mechanism
    for tendon in mechanism.tendons.values():
        if tendon.equation == name:
            return [end for part in halves(tendon, mechanism) for end in part.ends]
    one = mechanism.couplings.get(name)
    joints = (name,) if one is None else (one.leader, one.follower)
    return [body for j in joints for body in mechanism.joints[j].bodies]


def _parts(graph: nx.Graph, joining: list[tuple[int, int]]) -> list[Any]:
    """Biconnected parts, as one where one of these nodes is in them."""
    parts = list(nx.biconnected_components(graph))
    for node in joining:
        joined = set().union(*(part for part in parts if node in part))
        parts = [part for part in parts if node not in part] + [joined]
    return parts


def _jacobian(model: Model, joints: list[int], slopes: Float) -> Float:
    """Rows of some joints over their bodies, in units of the bodies' own inertia."""
    column: dict[int, int] = {}
    blocks = []
    row = 0
    plan = model.tables.plan
    groups = plan[plan[layout.GROUP_AT] :][: layout.GROUP_FIELDS * plan[layout.JOINTS]]
    groups = groups.reshape(-1, layout.GROUP_FIELDS)
    for k in joints:
        start, last = model.tables.row_start[k : k + 2]
        count = int(last - start)
        for group in groups[groups[:, layout.EQUATION] == start]:
            first = group[layout.FIRST_ROW]
            for end, number in enumerate(group[[layout.A, layout.B]].tolist()):
                if number < model.n_bodies:
                    body = model.bodies[number]
                    scale = np.repeat([body.mass**-0.5, (np.trace(body.inertia) / 3) ** -0.5], 3)
                    place = column.setdefault(number, len(column))
                    block = slopes[first : first + count, end] * scale
                    blocks.append((row, layout.TWIST * place, block))
        row += count
    out = np.zeros((row, layout.TWIST * len(column)))
    for row, place, block in blocks:
        out[row : row + len(block), place : place + layout.TWIST] += block
    return out


def _rank(G: Float) -> int:
    """Numerical rank, all rows brought to length 1."""
    length = np.linalg.norm(G, axis=1, keepdims=True)
    singular = np.linalg.svd(G / np.where(length == 0.0, 1.0, length), compute_uv=False)
    return int((singular > RANK * singular[0]).sum()) if singular.size else 0
