"""Contacts of states and of recorded motion by label: gaps, forces, starts without overlap."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.errors import (
    ConvergenceError,
    InconsistentStateError,
    UnknownNameError,
    check_model,
)
from dynamics.kernels.base import layout
from dynamics.kernels.contacts.geometry import ROUND
from dynamics.kinematics import loop_closure, posture_search
from dynamics.kinematics.plane_placement import apart, look_at, placed
from dynamics.parts.bodies import WORLD
from dynamics.state import State, check_state

if TYPE_CHECKING:
    from dynamics.kinematics.near_models import NearModels
    from dynamics.model import Model
    from dynamics.trajectory import Trajectory

__all__ = ["ContactHistory", "normal_force", "separate", "stored_at"]

Float = NDArray[np.float64]

#: Left between what `separate` moves apart, over the unit of length or in rad, and how often it
#: tries.
APART, ROUNDS = 1e-9, 100
#: Overlap that may be left in the end, in the same units: less than a motion may begin with.
LEFT = 5e-7
#: Overlap that a motion may begin with, and how far its constraints may be open, in the same units.
CONSISTENT = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class ContactHistory:
    """A contact at k records; its t touches are pairs of vertices, end points and similar features.

    Attributes
    ----------
    gap : ndarray of float, shape (k, t)
        Distance of the surfaces at the record, m, inf if a pair of `Mechanism.collide` is not near;
        for a limit the distance to it, m or rad; for a velocity limit the distance in the interval
        before, m/s or rad/s.
    normal : ndarray of float, shape (k, t, 3)
        World, out of the body or world that is touched; zeros for a limit.
    point : ndarray of float, shape (k, t, 3)
        Point of the touching body nearest to the other one, world, m; zeros for a limit.
    normal_force : ndarray of float, shape (k, t)
        In the interval before the record, N, or N m for a limited rotation.
    friction_force : ndarray of float, shape (k, t, 3)
        On the touching body in that interval, world, N.
    """

    gap: Float
    normal: Float
    point: Float
    normal_force: Float
    friction_force: Float

    def __repr__(self) -> str:
        nodes, touches = self.gap.shape
        return f"ContactHistory({touches} touches at {nodes} nodes of time)"


def history(trajectory: Trajectory, name: Hashable) -> ContactHistory:
    """Gaps and forces over time; see `Trajectory.contact`."""
    model, states = trajectory.model, trajectory.states
    if model.near is not None and name in model.near.candidates.numbers:
        return _near_history(trajectory, model.near, name)
    own = _touches(model, name)
    if not own:
        raise UnknownNameError(f"there is no contact {name!r}; there are {trajectory.contacts}")
    found = look_at(model, states)[:, own]
    numbers = _numbers(model, states)
    slot, slots = model.tables.contact_slot[own], model.tables.contact_slot
    normal = found[:, :, 1:4]
    plan = model.tables.plan
    count = len(model.tables.contact_touches)
    records = plan[plan[layout.CONTACT_AT] :][: layout.CONTACT_FIELDS * count]
    bodies = records.reshape(-1, layout.CONTACT_FIELDS)[own, layout.B]
    poses = states[:, : layout.POSE * model.n_bodies].reshape(len(states), -1, layout.POSE)
    place = np.pad(poses[:, :, :3], ((0, 0), (0, 1), (0, 0)))  # the world is the last body
    point = np.where(normal.any(axis=-1, keepdims=True), place[:, bodies] + found[:, :, 7:10], 0.0)
    friction = np.zeros_like(normal)
    if slots[own[0] + 1] - slots[own[0]] > 2:
        one, two = _tangents(normal)
        friction = numbers[:, slot + 2, None] * one + numbers[:, slot + 3, None] * two
    gap = np.where(np.isinf(found[:, :, 0]), numbers[:, slot + 1], found[:, :, 0])
    return ContactHistory(gap, normal, point, numbers[:, slot], friction)


def _touches(model: Model, name: Hashable) -> list[int]:
    """Numbers of a contact's touches; of a plane's those on one side."""
    contact = model.mechanism.contacts.get(name)
    return [
        k for k, (owner, i) in enumerate(model.tables.contact_touches)
        if owner == name and not (contact is not None and contact.touches[i].of_parent)
    ]  # fmt: skip


def _numbers(model: Model, states: Float) -> Float:
    """Numbers of all contacts in states."""
    return states[:, (layout.POSE + 3 * layout.TWIST) * model.n_bodies + model.n_rows :]


def normal_force(trajectory: Trajectory, name: Hashable) -> Float:
    """Normal force of a contact, the sum over its touches, as `history` has them.

    Parameters
    ----------
    trajectory : Trajectory
    name : hashable

    Returns
    -------
    ndarray of float, shape (k,)
        N.
    """
    models = trajectory.model.near
    if models is None or name not in models.candidates.numbers:
        return _pushed(trajectory.model, trajectory.states, name)
    pair = models.candidates.numbers[name]
    return np.concatenate([
        _pushed(models.of(part.pairs).model, part.states, name)
        if pair in part.pairs else np.zeros(len(part.states))
        for part in trajectory.parts
    ])  # fmt: skip


def gives_way(model: Model, name: Hashable) -> bool:
    """True for a contact with a compliance.

    Parameters
    ----------
    model : Model
    name : hashable
        Of a contact or a pair of `Mechanism.collide`.

    Returns
    -------
    bool
    """
    if name in model.mechanism.contacts:
        return bool(model.mechanism.contacts[name].compliance > 0.0)
    assert model.near is not None
    pairs = model.near.candidates
    return bool(pairs.options[pairs.numbers[name]].get("compliance", 0.0) > 0.0)


def _pushed(model: Model, states: Float, name: Hashable) -> Float:
    """Sum of the normal forces of a contact's touches, in the same order for any k."""
    numbers, total = _numbers(model, states), np.zeros(len(states))
    for k in _touches(model, name):
        total += numbers[:, model.tables.contact_slot[k]]
    return total


def _near_history(trajectory: Trajectory, models: NearModels, name: Hashable) -> ContactHistory:
    """Gaps and forces of a pair, part by part; where it was not near the gap is inf."""
    pair = models.candidates.numbers[name]
    contact = models.contact(pair)
    touches = sum(not touch.of_parent for touch in contact.touches)
    if not trajectory.parts:
        raise ValueError(
            f"the trajectory holds no forces of {name!r}, as files of earlier versions; simulate "
            "again from one of its states"
        )
    found = []
    for part in trajectory.parts:
        if pair in part.pairs:
            model, zeros = models.of(part.pairs).model, np.zeros(len(part.states))
            found.append(history(type(trajectory)(model, zeros, part.states), name))
            continue
        shape = (len(part.states), touches)
        vectors, numbers = np.zeros((*shape, 3)), np.zeros(shape)
        found.append(ContactHistory(np.full(shape, np.inf), vectors, vectors, numbers, vectors))
    names = ("gap", "normal", "point", "normal_force", "friction_force")
    return ContactHistory(*(np.concatenate([getattr(one, x) for one in found]) for x in names))


def stored_at(model: Model, state: State) -> float:
    """Energy that compliant contacts and limits store at a state, near pairs included, J.

    Parameters
    ----------
    model : Model
    state : State

    Returns
    -------
    float
    """
    if not model.tables.plan[layout.SOFT_CONTACTS]:
        return 0.0
    if model.near is not None:
        entry = model.near.entry(state)
        return float(_stored(entry.near.model, entry.state.data[None])[0])
    return float(_stored(model, placed(model, state).data[None])[0])


def _stored(model: Model, states: Float) -> Float:
    """d^2 / (2 C) of compliant contacts and limits at depths d, the sum for each state."""
    softness = _constants(model, layout.SOFTNESS)
    soft = softness > 0.0
    depth = np.minimum(look_at(model, states)[:, soft, 0], 0.0)
    return np.asarray(0.5 * (depth**2 / softness[soft]).sum(axis=1))


def stored_history(trajectory: Trajectory) -> Float:
    """Energy that compliant contacts and limits store over a recorded motion; see `stored_at`.

    Parameters
    ----------
    trajectory : Trajectory

    Returns
    -------
    ndarray of float, shape (k,)
        J.
    """
    model, parts = trajectory.model, trajectory.parts
    if not model.tables.plan[layout.SOFT_CONTACTS]:
        return np.zeros(len(trajectory))
    models = model.near
    if models is None or not parts:
        return _stored(model, trajectory.states)
    return np.concatenate([_stored(models.of(x.pairs).model, x.states) for x in parts])


def rubbing(trajectory: Trajectory, name: Hashable) -> Float:
    """Dry friction of a joint over time; see `Trajectory.friction`.

    Parameters
    ----------
    trajectory : Trajectory
    name : hashable

    Returns
    -------
    ndarray of float, shape (k, number of coordinates)

    Raises
    ------
    UnknownNameError
    """
    model, slots = trajectory.model, trajectory.model.tables.friction_slot
    names = list(dict.fromkeys(owner for owner, _ in slots))
    if name not in names:
        raise UnknownNameError(f"there is no joint {name!r} with friction; there are {names}")
    numbers = _numbers(model, trajectory.states)
    count = model.mechanism.joints[name].n_coordinates
    columns = [slots.get((name, i)) for i in range(count)]
    still = np.zeros(len(numbers))
    return np.column_stack([still if c is None else numbers[:, c + 2] for c in columns])


def _tangents(n: Float) -> tuple[Float, Float]:
    """Unit vectors across normals: those of `dynamics.kernels.contacts.rows.tangents`."""
    x, y, z = np.moveaxis(n, -1, 0)
    sign = np.copysign(1.0, z)
    a = -1.0 / (sign + z)
    b = x * y * a
    one = np.stack([1.0 + sign * x * x * a, sign * b, -sign * x], -1)
    return one, np.stack([b, sign + y * y * a, -y], -1)


def check_apart(model: Model, state: State, most: float) -> None:
    """Refuse a state in which something rigid overlaps, or is beyond a limit.

    Parameters
    ----------
    model : Model
    state : State
    most : float
        What is let through, over the unit of length, or in rad.

    Raises
    ------
    InconsistentStateError
    """
    if not model.tables.contact_touches:
        return
    state = placed(model, state)
    gaps = look_at(model, state.data[None])[0, :, 0]
    over = np.where(_constants(model, layout.SOFTNESS) > 0.0, 0.0, gaps / _lengths(model))
    for k in np.flatnonzero(over < -most).tolist():
        contact = model.mechanism.contacts.get(model.tables.contact_touches[k][0])
        if contact is not None and contact.plane is not None:
            # a motion sees rounded rims, which a plane between sharp ones may cut
            rims = contact.plane.first.rim + contact.plane.other.rim
            over[k] = min(0.0, (gaps[k] + ROUND * rims) / _lengths(model)[k])
    k = int(np.argmin(over))
    if over[k] < -most:
        name = model.tables.contact_touches[k][0]
        contact = model.mechanism.contacts.get(name)
        if contact is not None:
            depth = -gaps[k] if contact.plane is None else -apart(model, state, contact).distance
            raise InconsistentStateError(
                f"contact {name!r} overlaps by {depth:.2e} m at the start; place the bodies "
                "apart, or use dynamics.separate(model, state)"
            )
        raise InconsistentStateError(
            f"{name!r} is {-gaps[k]:.2e} beyond its limit at the start; set it within, or use "
            "dynamics.separate(model, state)"
        )


def failed_from(model: Model, state: State, error: ConvergenceError) -> ConvergenceError:
    """Error of a step that failed: what its start violates, if anything, is the reason."""
    try:
        check_apart(model, state, CONSISTENT)
    except InconsistentStateError as violated:
        return ConvergenceError(str(violated), error.step, error.residual, error.name)
    return error


def _lengths(model: Model) -> Float:
    """Units of length of all touches and of dry friction, 1 of an angle."""
    return _constants(model, layout.CONTACT_LENGTH)


def _constants(model: Model, which: int) -> Float:
    """One of the constants of all touches and of dry friction."""
    plan, constant = model.tables.plan, model.tables.constant
    first = int(plan[layout.CONTACT_CONSTANT_AT]) + which
    return np.asarray(constant[first :: layout.CONTACT_SIZE][: int(plan[layout.CONTACTS])])


def separate(model: Model, state: State) -> State:
    """Move a state so that shapes do not overlap, joints are within limits, and loops are closed.

    Every part of the mechanism that no joint connects to the world moves out of the ground and
    other shapes of the world as a whole, with the same joint coordinates. All other overlaps are
    removed by the smallest displacements, measured by mass and inertia (repeated Gauss-Newton
    steps).

    Parameters
    ----------
    model : Model
    state : State
        Not changed.

    Returns
    -------
    State
        With the same velocities.

    Raises
    ------
    InconsistentStateError
        If no such state is found, with the names of what stays in conflict.
    """
    check_model(model, "separate")
    check_state(model, state)
    try:
        return _separated(model, state)
    except InconsistentStateError:
        within = posture_search.within_limits(model, state, {}, {})
        if within is state:
            raise
        return _separated(model, within)


def _separated(model: Model, state: State) -> State:
    """`separate` by least moves alone.

    Touches of planes count where a move would have the plane cross them: it could be that of the
    plane alone otherwise, which `placed` undoes.
    """
    from scipy.sparse import vstack

    if model.near is not None:
        return _separate_near(model.near, state)
    after = _lifted(model, placed(model, state))
    weights, least = loop_closure.inverse_masses(model), loop_closure.LeastChange()
    between = _plane_touches(model)
    for _ in range(ROUNDS):
        after = placed(model, after)
        found = look_at(model, after.data[None])[0]
        over = np.flatnonzero(found[:, 0] < 0.0)
        g, G = loop_closure.equations(model, after, {})
        if over.size == 0 and loop_closure.is_closed(model, after, loop_closure.CLOSED):
            return after
        touches = _touch_rows(model, found)
        while True:
            rows = vstack([G, touches[over]]).tocsr()
            short = found[over, 0] - APART * _lengths(model)[over]
            move = -least(rows, np.concatenate([g, short]), weights)
            then = found[:, 0] + touches @ move
            crossed = np.setdiff1d(between[then[between] < 0.0], over)
            if crossed.size == 0:
                break
            over = np.union1d(over, crossed)
        move = move.reshape(-1, 6)
        part = min(1.0, 0.5 / max(1e-300, np.abs(move[:, 3:]).max(initial=0.0)))
        after.pose[:, :3] += part * move[:, :3]
        turned = rotation.from_rotation_vector(part * move[:, 3:])
        after.pose[:, 3:] = rotation.normalized(rotation.multiply(after.pose[:, 3:], turned))
    gaps = look_at(model, after.data[None])[0, :, 0]
    closed = loop_closure.is_closed(model, after, loop_closure.CLOSED)
    if closed and (gaps >= -LEFT * _lengths(model)).all():
        return after
    left = gaps.min(initial=np.inf)
    if left < -LEFT * _lengths(model).max(initial=0.0):
        name = model.tables.contact_touches[int(np.argmin(gaps))][0]
        text = f"{name!r} cannot be moved apart"
    else:
        name = loop_closure.most_open(model, after)
        left, text = -np.abs(model.constraint_violation(after)).max(), f"{name!r} cannot be closed"
    raise InconsistentStateError(
        f"{text} together with all other contacts, limits and joints: {-left:.2e} is left"
    )


def _lifted(model: Model, state: State) -> State:
    """State in which parts that are free have left the world, each by a displacement."""
    part, count = _free_parts(model)
    lengths, ends = _lengths(model), _ends(model)
    after = state.copy()
    for _ in range(ROUNDS):
        found = look_at(model, after.data[None])[0]
        moves = np.zeros((count + 1, 3))
        for k in np.flatnonzero(found[:, 0] < 0.0):
            body, other = ends[k]
            if (body < model.n_bodies) == (other < model.n_bodies):
                continue  # joints' limits, and two that move
            side = 0 if body < model.n_bodies else 6
            here = part[min(body, other)]
            if here < count:
                normal = found[k, 10 + side : 13 + side]
                lack = APART * lengths[k] - found[k, 0] - normal @ moves[here]
                moves[here] += max(0.0, lack) * normal / max(1e-300, normal @ normal)
        if not moves.any():
            break
        after.pose[:, :3] += moves[part]
    return after


def _free_parts(model: Model) -> tuple[NDArray[np.int64], int]:
    """Part of each body that no joint connects to the world, their number for the others."""
    graph = nx.Graph()
    mechanism = model.mechanism
    planes = [one.plane.body.name for one in mechanism.contacts.values() if one.plane is not None]
    graph.add_edges_from((WORLD.name, name) for name in planes)  # they follow their bodies
    graph.add_nodes_from([WORLD.name, *(body.name for body in model.bodies)])
    for joint in mechanism.joints.values():
        names = [body.name for body in joint.bodies]
        if joint.n_rows > 0 and not set(names) & set(planes):
            graph.add_edges_from(zip(names, names[1:]))
    parts = [names for names in nx.connected_components(graph) if WORLD.name not in names]
    number = {name: k for k, names in enumerate(parts) for name in names}
    found = [number.get(body.name, len(parts)) for body in model.bodies]
    return np.array(found, np.int64), len(parts)


def _ends(model: Model) -> NDArray[np.int64]:
    """Numbers of the two bodies of all touches, shape (k, 2); the world's is the largest."""
    plan = model.tables.plan
    records = plan[plan[layout.CONTACT_AT] :][: layout.CONTACT_FIELDS * int(plan[layout.CONTACTS])]
    return records.reshape(-1, layout.CONTACT_FIELDS)[:, layout.A : layout.B + 1]


def _separate_near(models: NearModels, state: State) -> State:
    """`separate` of the near pairs, again while others come near and overlap."""
    for k in range(ROUNDS):
        entry = models.entry(state)
        if k and _is_apart(entry.near.model, entry.state):
            return state
        after = _separated(entry.near.model, entry.state)
        if np.array_equal(after.data, entry.state.data):
            return state.copy()
        made = models.model.state_of(after.data[entry.near.columns], state.time)
        state = made
    return state


def _is_apart(model: Model, state: State) -> bool:
    """Whether no more overlap is left than `separate` may leave."""
    try:
        check_apart(model, state, LEFT)
    except InconsistentStateError:
        return False
    return True


def _plane_touches(model: Model) -> NDArray[np.int64]:
    """Numbers of the touches of contacts that have a plane."""
    found = [model.mechanism.contacts.get(name) for name, _ in model.tables.contact_touches]
    return np.flatnonzero([one is not None and one.plane is not None for one in found])


def _touch_rows(model: Model, found: Float) -> Any:
    """Slopes of all gaps by small moves of the bodies, sparse, shape (touches, 6 n)."""
    from scipy.sparse import csr_array

    n, ends = model.n_bodies, _ends(model)
    k, side = np.nonzero(ends < n)
    columns = (6 * ends[k, side])[:, None] + np.arange(6)
    values = found[k[:, None], 10 + 6 * side[:, None] + np.arange(6)]
    return csr_array((values.ravel(), (np.repeat(k, 6), columns.ravel())), (len(ends), 6 * n))
