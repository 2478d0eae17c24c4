"""Momenta of bodies from their velocities, and their derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import graphsys as gs
from dynamics import rotation
from dynamics.kernels.base import layout
from dynamics.kernels.observables.measure import placed
from dynamics.kernels.rows.curvature import hessian
from dynamics.kernels.rows.rows import evaluate
from dynamics.tables.model_tables import Tables

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = [
    "momenta", "places_of", "slopes_of", "steady_forces", "turned_momenta", "turned_rows",
    "velocities_of",
]  # fmt: skip

Float = NDArray[np.float64]


def momenta(
    tables: Tables,
    pose: Float,
    twists: Float,
    constant: Float | None = None,
    rotors: bool = True,
) -> Float:
    """M V of many velocities at one pose.

    Parameters
    ----------
    tables : Tables
    pose : ndarray of float, shape (n, 7)
    twists : ndarray of float, shape (k, 6 n)
    constant : ndarray of float, optional
        Other masses and inertias than those of the tables.
    rotors : bool, optional
        Whether M has the inertia of the rotors of joints.

    Returns
    -------
    ndarray of float, shape (k, 6 n)
    """
    constant = tables.constant if constant is None else constant
    found = _of_bodies(tables, pose, twists, constant)
    if rotors and tables.plan[layout.ROTORS]:
        inertias, G = _rotors(tables, pose, constant)
        found += (G.T @ (G @ twists.T * inertias[:, None])).T
    return found


def velocities_of(model: Model, pose: Float, momentum: Float) -> Float:
    """V of M V = p.

    Parameters
    ----------
    model : Model
    pose : ndarray of float, shape (n, 7)
    momentum : ndarray of float, shape (n, 6)

    Returns
    -------
    ndarray of float, shape (n, 6)
    """
    tables, n = model.tables, len(momentum)
    if not momentum.any():
        return np.zeros(momentum.shape)
    units = np.tile(np.eye(layout.TWIST), n)
    columns = _of_bodies(tables, pose, units, tables.constant).reshape(
        layout.TWIST, n, layout.TWIST
    )
    blocks = columns.transpose(1, 2, 0)
    if "rotors" not in model.structures:
        rows, armature = _rotor_rows(tables), places_of(tables, _rotor_rows(tables))
        armature += layout.ARMATURE
        heavy = [row for row, at in zip(rows, armature) if tables.constant[at] > 0.0]
        model.structures["rotors"] = _BodiesAndRotors(tables, heavy) if heavy else None
    solver: _BodiesAndRotors | None = model.structures["rotors"]
    if solver is None:
        return np.asarray(np.linalg.solve(blocks, momentum[..., None])[..., 0])
    return solver(tables, pose, blocks, momentum)


class _BodiesAndRotors:
    """Velocities of bodies and momenta of rotors as unknowns of one system.

    M + G^T I G has no digits of bodies that weigh 1e-10 of their rotors. The matrix is symmetric,
    but pivots of symmetric factors would leave noise in the velocities of such bodies.
    """

    def __init__(self, tables: Tables, rows: list[tuple[int, int, int, int]]) -> None:
        n = int(tables.plan[layout.BODIES])
        self._places = places_of(tables, rows) + layout.ARMATURE
        sides = [(k, side) for k, row in enumerate(rows) for side in (0, 1) if row[2 + side] < n]
        rotors, bodies = ([n + k for k, _ in sides], [rows[k][2 + side] for k, side in sides])
        graph = nx.Graph()
        graph.add_nodes_from(range(n), size=layout.TWIST)
        graph.add_nodes_from(range(n, n + len(rows)), size=1)
        graph.add_edges_from(zip(bodies, rotors))
        self._system = gs.System(graph, "size")
        self._own = self._system.places(range(n), range(n))
        self._rotor = self._system.places(*[range(n, n + len(rows))] * 2).ravel()
        self._down = self._system.places(rotors, bodies).reshape(-1, layout.TWIST)
        self._across = self._system.places(bodies, rotors).reshape(-1, layout.TWIST)
        first = np.array([2 * rows[k][1] + side for k, side in sides])
        self._taken = layout.TWIST * first[:, None] + np.arange(layout.TWIST)
        self._idle: list[gs.Factor] = []  # of other threads than those that solve

    def __call__(self, tables: Tables, pose: Float, blocks: Float, momentum: Float) -> Float:
        """V of M V = p, for the blocks M of the bodies alone."""
        values = self._system.values.copy()
        slopes = _force_slopes(tables, pose, tables.constant)[1][self._taken]
        values[self._own] = blocks
        values[self._rotor] = -1.0 / tables.constant[self._places]
        values[self._down] = values[self._across] = slopes
        if self._idle:
            factor = self._idle.pop()
            factor.refactorize(values)
        else:
            self._system.values[:] = values  # which say where pivots are
            factor = gs.Factor(self._system.analyze(), values)
        V = factor.solve(np.concatenate([momentum.ravel(), np.zeros(self._rotor.size)]))
        self._idle.append(factor)
        return np.asarray(V[: momentum.size]).reshape(momentum.shape)


def _of_bodies(tables: Tables, pose: Float, twists: Float, constant: Float) -> Float:
    """`momenta` without those of rotors."""
    out = twists.reshape(len(twists), twists.shape[1] // layout.TWIST, layout.TWIST).copy()
    bodies = constant[: layout.BODY_SIZE * out.shape[1]].reshape(-1, layout.BODY_SIZE)
    inertia = bodies[:, layout.INERTIA : layout.INERTIA + 9].reshape(-1, 3, 3)
    out[:, :, :3] *= bodies[:, layout.MASS, None]
    out[:, :, 3:] = (out[:, :, 3:].transpose(1, 0, 2) @ inertia).transpose(1, 0, 2)
    given = twists.reshape(out.shape)
    for i, matrix in _spatial(tables, constant):
        Q = rotation.to_matrix(pose[i, 3:])
        a, b = _products(matrix, given[:, i, 3:], given[:, i, :3] @ Q)
        out[:, i, :3] = b @ Q.T
        out[:, i, 3:] += a
    return out.reshape(twists.shape)


def turned_momenta(tables: Tables, pose: Float, twist: Float, dz: Float) -> Float:
    """Changes of M V with poses, V fixed: 0 for rigid bodies about their centres of mass.

    Parameters
    ----------
    tables : Tables
    pose : ndarray of float, shape (n, 7)
    twist : ndarray of float, shape (6 n,)
    dz : ndarray of float, shape (k, 6 n)
        Position and rotation vector (body frame) of each body.

    Returns
    -------
    ndarray of float, shape (k, 6 n)
    """
    out = _turned_bodies(tables, pose, twist, dz)
    inertias, G = _rotors(tables, pose, tables.constant)
    if inertias.size:
        turned = turned_rows(tables, pose, dz, _rotor_rows(tables))
        rates = inertias * (G @ twist)
        out += np.einsum("kri,r->ki", turned, rates)
        out += (turned @ twist * inertias) @ G
    return out


def steady_forces(tables: Tables, pose: Float, twist: Float) -> Float:
    """Forces and torques that keep velocities as they are: p' of V' = 0 and what turns it.

    Parameters
    ----------
    tables : Tables
    pose : ndarray of float, shape (n, 7)
    twist : ndarray of float, shape (6 n,)

    Returns
    -------
    ndarray of float, shape (6 n,)
    """
    V = twist.reshape(-1, layout.TWIST)
    p = _of_bodies(tables, pose, twist[None], tables.constant).reshape(V.shape)
    out = _turned_bodies(tables, pose, twist, twist[None]).reshape(V.shape)
    out[:, 3:] += rotation.cross(V[:, 3:], p[:, 3:])
    if tables.plan[layout.ADDED]:  # else momentum is along the velocity
        carried = rotation.cross(V[:, :3], p[:, :3])
        out[:, 3:] += rotation.rotate(rotation.conjugate(pose[:, 3:]), carried)
    if tables.plan[layout.ROTORS]:  # a q'' G^T, q'' = G' V where V' = 0
        inertias, G = _rotors(tables, pose, tables.constant)
        rates = inertias * (turned_rows(tables, pose, twist[None], _rotor_rows(tables))[0] @ twist)
        out += (rates @ G).reshape(V.shape)
    return out.ravel()


def _turned_bodies(tables: Tables, pose: Float, twist: Float, dz: Float) -> Float:
    """`turned_momenta` without those of rotors."""
    out = np.zeros((len(dz), dz.shape[1] // layout.TWIST, layout.TWIST))
    given = twist.reshape(-1, layout.TWIST)
    for i, matrix in _spatial(tables, tables.constant):
        Q = rotation.to_matrix(pose[i, 3:])
        d, theta = given[i, :3] @ Q, dz.reshape(out.shape)[:, i, 3:]
        _, b = _products(matrix, given[i, 3:], d)
        da, db = _products(matrix, np.zeros(3), np.cross(d, theta))
        out[:, i, :3] = (db + np.cross(theta, b)) @ Q.T
        out[:, i, 3:] = da
    return out.reshape(dz.shape)


def _rotor_rows(tables: Tables) -> list[tuple[int, int, int, int]]:
    """Group, row and bodies of each row with a rotor's inertia."""
    plan, found = tables.plan, []
    for k in range(plan[layout.JOINTS], plan[layout.JOINTS] + plan[layout.ROTORS]):
        group = plan[plan[layout.GROUP_AT] + k * layout.GROUP_FIELDS :][
            : layout.GROUP_FIELDS
        ].tolist()
        rows = range(group[layout.FIRST_ROW], group[layout.FIRST_ROW] + group[layout.N_ROWS])
        found += [(k, row, group[layout.A], group[layout.B]) for row in rows]
    return found


def _rotors(tables: Tables, pose: Float, constant: Float) -> tuple[Float, Any]:
    """Inertias of rotors, and the slopes of their coordinates by all poses (scipy.sparse)."""
    rows = _rotor_rows(tables)
    if not rows:
        return np.zeros(0), csr_array((0, layout.TWIST * len(pose)))
    return constant[places_of(tables, rows) + layout.ARMATURE], slopes_of(tables, pose, rows)[1]


def places_of(tables: Tables, rows: list[tuple[int, int, int, int]]) -> NDArray[np.int64]:
    """Places of the constants of rows (group, row, a, b)."""
    first = int(tables.plan[layout.ROW_CONSTANT_AT])
    return first + layout.ROW_SIZE * np.array([row for _, row, _, _ in rows], np.int64)


def slopes_of(
    tables: Tables,
    pose: Float,
    rows: list[tuple[int, int, int, int]],
    constant: Float | None = None,
) -> tuple[Float, Any]:
    """Values of rows of forces, and their slopes by all poses (scipy.sparse)."""
    n = len(pose)
    g, G = _force_slopes(tables, pose, tables.constant if constant is None else constant)
    _, chosen, *ends = np.array(rows, np.int64).reshape(-1, 4).T
    bodies = np.stack(ends, axis=1)
    moving = bodies < n
    columns = layout.TWIST * bodies[moving][:, None] + np.arange(layout.TWIST)
    starts = layout.TWIST * np.concatenate([[0], np.cumsum(moving.sum(axis=1))])
    entries = G.reshape(-1, 2, layout.TWIST)[chosen][moving]
    shape = len(rows), layout.TWIST * n
    return g[chosen], csr_array((entries.ravel(), columns.ravel(), starts), shape=shape)


def _force_slopes(tables: Tables, pose: Float, constant: Float) -> tuple[Float, Float]:
    """Values and slopes of all rows of forces, at the places of their rows."""
    plan = tables.plan
    poses, matrix = _placed(pose)
    g, G = np.zeros(plan[layout.ALL_ROWS]), np.zeros(12 * plan[layout.ALL_ROWS])
    ends = int(plan[layout.JOINTS]), int(plan[layout.GROUPS])
    evaluate(plan, constant, *ends, poses, matrix, g, G)
    return g, G


def turned_rows(
    tables: Tables, pose: Float, dz: Float, rows: list[tuple[int, int, int, int]]
) -> Float:
    """Changes of the slopes of rows along dz, shape (k, rows, 6 n)."""
    plan, n = tables.plan, len(pose)
    poses, matrix = _placed(pose)
    work, H = np.zeros(12 + 14 + 13 * max(1, int(plan[layout.ROWS]))), np.zeros(144)
    wide = np.hstack([dz, np.zeros((len(dz), layout.TWIST))]).reshape(len(dz), n + 1, layout.TWIST)
    out = np.zeros((len(dz), len(rows), n + 1, layout.TWIST))
    for k, (group, row, a, b) in enumerate(rows):
        hessian(plan, tables.constant, group, row, poses, matrix, work, H)
        both = wide[:, [a, b]].reshape(len(dz), 12) @ H.reshape(12, 12)
        out[:, k, a] += both[:, : layout.TWIST]
        out[:, k, b] += both[:, layout.TWIST :]
    return out[:, :, :n].reshape(len(dz), len(rows), layout.TWIST * n)


def _placed(pose: Float) -> tuple[Float, Float]:
    """Poses of bodies, then of the world, and their rotation matrices."""
    n = len(pose)
    poses, matrix = np.zeros(layout.POSE * (n + 1)), np.zeros(9 * (n + 1))
    placed(n, pose.ravel(), poses, matrix)
    return poses, matrix


def _spatial(tables: Tables, constant: Float) -> list[tuple[int, Float]]:
    """Bodies with an inertia of 6 x 6, and what of it is not about rotation alone."""
    plan = tables.plan
    count, first = int(plan[layout.ADDED]), int(plan[layout.ADDED_AT])
    if not count:
        return []
    records = plan[first : first + count * layout.ADDED_FIELDS].reshape(count, layout.ADDED_FIELDS)
    places = records[:, [layout.ADDED_BODY, layout.SPATIAL]].tolist()
    return [(body, constant[place : place + 36].reshape(6, 6)) for body, place in places]


def _products(matrix: Float, omega: Float, d: Float) -> tuple[Float, Float]:
    """M [omega; d] by its two parts, omega and d by rows."""
    both = omega @ matrix[:, :3].T + d @ matrix[:, 3:].T
    return both[..., :3], both[..., 3:]
