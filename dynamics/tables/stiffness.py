"""Springs and dampers too stiff for the time step, which steps take implicitly.

A spring of stiffness k along a coordinate of effective inertia m vibrates with omega^2 = k / m. The
half kicks of a step keep its energy for h omega < 2; from sqrt(2) on they feed fast vibrations from
slow motions where forces are not linear (resonance of fourth order: Schlick, Mandziuk, Skeel,
Srinivas, J. Comput. Phys. 140, 1998). A damper c shrinks the velocity by (2 - y) / (2 + y), y = h c
/ m: above y = 2 it turns the velocity round. Beyond either bound the row is taken at the end of the
interval (`dynamics.kernels.rows.stiff_forces`; dampers with theta = 1).

The effective inertia is that of the joint's two bodies alone, held by the joint's own constraints
where all its coordinates are 0. Whatever else hangs on them only adds inertia. Dampers of links
with a trace of mass meet the bodies at the ends of their chain (`dynamics.tables.trace_links`): by
the trapezoidal rule nothing grows, whatever the inertia. Springs have no such bound.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.kernels.rows import rows as kinds
from dynamics.parts.bodies import WORLD

__all__ = ["EXPLICIT", "mobilities", "stiff_rows"]

Float = NDArray[np.float64]

#: Largest h^2 k / m and h c / m of springs and dampers that steps take explicitly, by order. Those
#: of order 4 grow from h^2 k / m = 8 on, those of order 6 from 9.8 on.
EXPLICIT = {2: 2.0, 4: 4.0, 6: 4.0}
#: Rounding of h omega, relative, within which two rows are no stiffer than each other.
ALIKE = 1e-9


def stiff_rows(
    groups: Iterable[Any],
    timestep: float,
    order: int = 2,
    chains: Mapping[Hashable, float] | None = None,
) -> dict[str, float]:
    """Take what is stiff out of the explicit forces of groups, into their implicit ones.

    What acts on the same body adds up: a row is stiff where its own h^2 k / m and the couplings
    with all rows of these bodies that are no stiffer sum up to more than `EXPLICIT` (Gershgorin).

    Parameters
    ----------
    groups : iterable of finalize.Group
        Groups of forces; changed.
    timestep : float
        s.
    order : int, optional
    chains : mapping of float, optional
        Inverse inertias that dampers of joints meet by name: `trace_links.chain_mobilities`.

    Returns
    -------
    dict
        What is stiff, as "spring of joint 'name'", and the longest time step at which it is not, s.
    """
    found: dict[str, float] = {}
    most = EXPLICIT[order]
    live = [g for g in groups if g.source is not None and (g.stiffness.any() or g.damping.any())]
    met = list(zip(live, mobilities(live)))
    along = {} if chains is None else chains
    for what, numbers, power in (("spring", "stiffness", 2), ("damper", "damping", 1)):
        scaled = [
            (group, _scaled(getattr(group, numbers), W, timestep**power))
            for group, W in (met if what == "spring" else [_in_chain(*one, along) for one in met])
            if getattr(group, numbers).any()
        ]
        at_body: dict[Hashable, list[tuple[Any, int, float]]] = defaultdict(list)
        for group, matrix in scaled:
            for i, root in enumerate(np.sqrt(np.diag(matrix)).tolist()):
                for body in {group.parent, group.child} - {WORLD}:
                    at_body[body].append((group, i, root))
        for group, matrix in scaled:
            roots = np.sqrt(np.diag(matrix))
            for i, root in enumerate(roots):
                alike = root * (1.0 + ALIKE)
                softer = roots <= alike
                total = float(np.abs(matrix[i, softer]).sum())
                others = {
                    (id(other), k): near
                    for body in (group.parent, group.child)
                    for other, k, near in at_body.get(body, ())
                    if other is not group and near <= alike
                }
                total += root * sum(others.values())
                if total > most:
                    label, longest = (
                        f"{group.words.get(what, what)} of {group.label}",
                        timestep * (most / total) ** (1 / power),
                    )
                    found[label] = min(longest, found.get(label, longest))
                    if what == "spring":
                        group.implicit_stiffness[i] = group.stiffness[i]
                        group.stiffness[i] = 0.0
                    else:
                        group.theta[i] = 1.0
    return found


def _in_chain(group: Any, W: Float, chains: Mapping[Hashable, float]) -> tuple[Any, Float]:
    """A group and what its dampers meet, by the chain that its joint is in."""
    name = getattr(group.source, "name", None)
    plain = W.shape == (1, 1) and group.mix is None and not group.driven
    plain = plain and hasattr(group.source, "positions")  # of a joint, not of a spring
    return group, np.full((1, 1), chains[name]) if plain and name in chains else W


def _scaled(strength: Float, mobility: Float, time: float) -> Float:
    """Time K^(1/2) W K^(1/2) of the rows of a group; those that push outwards count as none."""
    roots = np.sqrt(time * np.maximum(strength, 0.0))
    return np.asarray(roots[:, None] * mobility * roots)


def mobilities(groups: list[Any]) -> list[Float]:
    """Inverse inertias W that the rows of each group meet.

    W = J (Y - Y C^T (C Y C^T)^+ C Y) J^T with the mobility Y of the relative twist of both frames,
    the constraints C of the joint and the slopes J of the rows.

    Parameters
    ----------
    groups : list of finalize.Group
        Of joints and springs.

    Returns
    -------
    list of ndarray of float, shape (rows, rows)
        1/kg or 1/(kg m^2).
    """
    if not groups:
        return []
    turn = rotation.to_matrix(np.array([group.offset for group in groups]))
    sides = _sides(groups, turn)
    Y = sides.sum(axis=1)
    size = np.sqrt(np.diagonal(Y, axis1=1, axis2=2))[:, None]  # of one unit, for the rank
    C = size * _slopes([getattr(group.source, "rows", ()) for group in groups], turn)
    J = size * _slopes([group.rows for group in groups], turn)
    Z = Y / (size * size.swapaxes(1, 2))
    CZ = C @ Z
    inner = np.linalg.pinv(CZ @ C.swapaxes(1, 2), 1e-12, hermitian=True)
    Z = Z - CZ.swapaxes(1, 2) @ inner @ CZ
    found = []
    for group, slopes, free, both in zip(groups, J, Z, sides):
        if any(row.kind == kinds.DISTANCE for row in group.rows):  # along any line
            found.append(np.full((1, 1), np.linalg.eigvalsh(both[:, :3, :3])[:, -1].sum()))
            continue
        slopes = slopes[: group.n_rows]
        if group.mix is not None:
            slopes = group.mix.rows @ slopes
        W = slopes @ free @ slopes.T
        rigid = W.diagonal() <= 0.0
        W[rigid] = W[:, rigid] = 0.0
        loose = W.diagonal()
        # with the rotor on the row, and what a tendon moves
        part = np.sqrt(1.0 / (1.0 + (group.armature + group.driven) * loose))
        found.append(part[:, None] * W * part)
    return found


def _sides(groups: list[Any], turn: Float) -> Float:
    """Mobilities of the frames on both bodies of each group, in the frame of a: (k, 2, 6, 6)."""
    Y = np.zeros((len(groups), 2, 6, 6))
    bodies = [(group.parent, group.child) for group in groups]
    moving = np.array([[body is not WORLD for body in both] for both in bodies])
    chosen = [body for both in bodies for body in both if body is not WORLD]
    masses = np.array([
        body.mass if (M := body.spatial_inertia) is None else np.trace(M[3:, 3:]) / 3.0
        for body in chosen
    ])  # fmt: skip
    Q = np.stack([np.broadcast_to(np.eye(3), turn.shape), turn], axis=1)[moving]
    arm = Q @ np.array([group.points for group in groups])[moving][..., None]
    B = np.zeros((len(chosen), 6, 3))  # from the torque at the centre to the twist of the frame
    B[:, :3] = -np.cross(arm, np.eye(3), axis=1)
    B[:, 3:] = np.eye(3)
    B = B @ Q
    found = B @ np.linalg.solve([body.inertia for body in chosen], B.swapaxes(1, 2))
    found[:, range(3), range(3)] += 1.0 / masses[:, None]
    Y[moving] = found
    return Y


def _slopes(lists: list[Any], turn: Float) -> Float:
    """Slopes of rows by the relative twist (translation, rotation) in the frame of a.

    Shape (groups, most rows, 6), 0 where there are none.
    """
    counts = [len(rows) for rows in lists]
    rows = [row for some in lists for row in some]
    owner = np.repeat(np.arange(len(lists)), counts)
    kind = np.array([row.kind for row in rows], np.int64)
    pitch = np.array([row.pitch for row in rows])[:, None]
    axis, second = (
        np.array([getattr(row, name) for row in rows]).reshape(-1, 3) for name in ("axis", "second")
    )
    about, along = ((turn[owner] @ way[..., None])[..., 0] for way in (axis, second))
    found = np.zeros((len(rows), 6))

    def put(part: slice, slopes: Float, *names: int) -> None:
        chosen = np.isin(kind, names)
        found[chosen, part] = slopes[chosen]

    moves, turns = slice(0, 3), slice(3, 6)
    put(moves, axis, kinds.POINT, kinds.TRANSLATION, kinds.SCREW)
    put(turns, about, kinds.ROTATION, kinds.ANGLE, kinds.LOGARITHM, kinds.SPIN)
    put(turns, -pitch * along, kinds.SCREW)
    put(turns, axis, kinds.HEADING_A)
    put(turns, along, kinds.HEADING_B)
    put(turns, rotation.cross(along, axis), kinds.DOT)  # about what is across both axes
    out = np.zeros((len(lists), max(counts), 6))
    out[owner, np.concatenate([np.arange(count) for count in counts])] = found
    return out


def stiff_drags(bodies: Iterable[Any], timestep: float) -> Float:
    """Parts of each body's drags that act at the start of an interval: 1/2, or 1 beyond the bound.

    Parameters
    ----------
    bodies : iterable of Body
    timestep : float
        s.

    Returns
    -------
    ndarray of float, shape (n,)
    """
    return np.where(timestep * _drag_rates(bodies) > EXPLICIT[2], 1.0, 0.5)


def longest_dragged(bodies: Iterable[Any]) -> float:
    """Longest interval for which no drag is stiff, s."""
    rate = float(_drag_rates(bodies).max(initial=0.0))
    return EXPLICIT[2] / rate if rate > 0.0 else math.inf


def _drag_rates(bodies: Iterable[Any]) -> Float:
    """Largest c / m of each body's drags, 1/s."""
    chosen = list(bodies)
    drag, spin_drag, mass = (
        np.array([getattr(body, name) for body in chosen]) for name in ("drag", "spin_drag", "mass")
    )
    thin = np.linalg.eigvalsh([body.inertia for body in chosen])[:, 0]
    return np.asarray(np.maximum(drag / mass, spin_drag / thin))
