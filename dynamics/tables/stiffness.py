"""Springs and dampers too stiff for the time step, which steps take implicitly.

A spring of stiffness k along a coordinate of effective inertia m vibrates with omega^2 = k / m. The
half kicks of a step keep its energy for h omega < 2; from sqrt(2) on they feed fast vibrations from
slow motions where forces are not linear (resonance of fourth order: Schlick, Mandziuk, Skeel,
Srinivas, J. Comput. Phys. 140, 1998). A damper c shrinks the velocity by (2 - y) / (2 + y), y = h c
/ m: above y = 2 it turns the velocity round. Beyond either bound the row is taken at the end of the
interval (`dynamics.kernels.rows.stiff_forces`; dampers with theta = 1).

The effective inertia is that of the joint's two bodies alone, held by the joint's own constraints
where all its coordinates are 0. Whatever else hangs on them only adds inertia.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.kernels.rows import rows as kinds
from dynamics.parts.bodies import WORLD

__all__ = ["EXPLICIT", "mobility", "stiff_rows"]

Float = NDArray[np.float64]

#: Largest h^2 k / m and h c / m of springs and dampers that steps take explicitly, by order. Those
#: of order 4 grow from h^2 k / m = 8 on, those of order 6 from 9.8 on.
EXPLICIT = {2: 2.0, 4: 4.0, 6: 4.0}


def stiff_rows(groups: Iterable[Any], timestep: float, order: int = 2) -> dict[str, float]:
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

    Returns
    -------
    dict
        What is stiff, as "spring of joint 'name'", and the longest time step at which it is not, s.
    """
    found: dict[str, float] = {}
    most = EXPLICIT[order]
    live = [g for g in groups if g.source is not None and (g.stiffness.any() or g.damping.any())]
    mobilities = {id(group): mobility(group) for group in live}
    for what, numbers, power in (("spring", "stiffness", 2), ("damper", "damping", 1)):
        scaled = [
            (group, _scaled(group, getattr(group, numbers), mobilities[id(group)], timestep**power))
            for group in live
        ]
        at_body: dict[Hashable, list[tuple[Any, float]]] = defaultdict(list)
        for group, matrix in scaled:
            for root in np.sqrt(np.diag(matrix)):
                for body in {group.parent, group.child} - {WORLD}:
                    at_body[body].append((group, float(root)))
        for group, matrix in scaled:
            roots = np.sqrt(np.diag(matrix))
            for i, root in enumerate(roots):
                softer = roots <= root
                total = float(np.abs(matrix[i, softer]).sum())
                others = {
                    (id(other), k): near
                    for body in (group.parent, group.child)
                    for k, (other, near) in enumerate(at_body.get(body, ()))
                    if other is not group and near <= root
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


def _scaled(group: Any, strength: Float, mobility: Float, time: float) -> Float:
    """Time K^(1/2) W K^(1/2) of the rows of a group; those that push outwards count as none."""
    roots = np.sqrt(time * np.maximum(strength, 0.0))
    return np.asarray(roots[:, None] * mobility * roots)


def mobility(group: Any) -> Float:
    """Inverse inertias W that the rows of a group meet, shape (rows, rows).

    W = J (Y - Y C^T (C Y C^T)^+ C Y) J^T with the mobility Y of the relative twist of both frames,
    the constraints C of the joint and the slopes J of the rows.

    Parameters
    ----------
    group : finalize.Group
        Of a joint or a spring.

    Returns
    -------
    ndarray of float, shape (rows, rows)
        1/kg or 1/(kg m^2).
    """
    turn = rotation.to_matrix(group.offset)
    sides = []
    for body, point, Q in zip(
        (group.parent, group.child), group.points, (np.eye(3), turn)
    ):  # in the frame of a
        if body is not WORLD:
            arm = Q @ point
            cross = np.array(
                [[0.0, -arm[2], arm[1]], [arm[2], 0.0, -arm[0]], [-arm[1], arm[0], 0.0]]
            )
            T = np.block([[np.eye(3), -cross], [np.zeros((3, 3)), np.eye(3)]])
            M = np.zeros((6, 6))
            spatial = body.spatial_inertia
            mass = body.mass if spatial is None else np.trace(spatial[3:, 3:]) / 3.0
            M[:3, :3], M[3:, 3:] = mass * np.eye(3), Q @ body.inertia @ Q.T
            sides.append(T @ np.linalg.solve(M, T.T))
    if any(row.kind == kinds.DISTANCE for row in group.rows):  # along any line
        return np.full((1, 1), sum(np.linalg.eigvalsh(Y[:3, :3])[-1] for Y in sides))
    Y = sum(sides, np.zeros((6, 6)))
    held = [_slope(row, turn) for row in getattr(group.source, "rows", ())]
    C = np.array([slope for slope in held if slope is not None]).reshape(-1, 6)
    size = np.sqrt(np.diag(Y))  # of one unit, for the rank
    Z, C = Y / np.outer(size, size), C * size
    Z -= Z @ C.T @ np.linalg.pinv(C @ Z @ C.T, 1e-12, hermitian=True) @ C @ Z
    slopes = [_slope(row, turn) for row in group.rows]
    J = np.array([np.zeros(6) if one is None else one for one in slopes]) * size
    if group.mix is not None:
        J = group.mix.rows @ J
    W = J @ Z @ J.T
    rigid = np.diag(W) <= 0.0
    W[rigid] = W[:, rigid] = 0.0
    loose = np.diag(W).copy()
    # with the rotor on the row, and what a tendon moves
    loaded = loose / (1.0 + (group.armature + group.driven) * loose)
    part = np.sqrt(np.divide(loaded, loose, out=np.ones_like(loose), where=loose > 0.0))
    return np.asarray(part[:, None] * W * part)


def _slope(row: Any, turn: Float) -> Float | None:
    """Slope of a row by the relative twist (translation, rotation) in the frame of a."""
    out = np.zeros(6)
    if row.kind in (kinds.POINT, kinds.TRANSLATION):
        out[:3] = row.axis
    elif row.kind in (kinds.ROTATION, kinds.ANGLE, kinds.LOGARITHM, kinds.SPIN):
        out[3:] = turn @ row.axis
    elif row.kind == kinds.SCREW:
        out[:3], out[3:] = row.axis, -row.pitch * (turn @ row.second)
    elif row.kind == kinds.HEADING_A:
        out[3:] = row.axis
    elif row.kind == kinds.HEADING_B:
        out[3:] = turn @ row.second
    elif row.kind == kinds.DOT:  # turns about what is across both axes
        out[3:] = np.cross(turn @ row.second, row.axis)
    else:
        return None
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
    out = []
    for body in bodies:
        thin = float(np.linalg.eigvalsh(body.inertia)[0])
        most = max(body.drag / body.mass, body.spin_drag / thin)
        out.append(1.0 if timestep * most > EXPLICIT[2] else 0.5)
    return np.array(out)
