"""Postures of closed loops within limits: out of mirrored branches, by limits as equations."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import diags_array

from dynamics.errors import InconsistentStateError
from dynamics.kernels.base import layout
from dynamics.kinematics import coordinates
from dynamics.kinematics.joint_frames import STILL, Frame, at_rest
from dynamics.kinematics.joint_space import space_of
from dynamics.kinematics.loop_closure import (
    assemble,
    closest,
    equations,
    mobilities,
    reciprocal_units,
)
from dynamics.parts.bodies import WORLD

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.state import State

Float = NDArray[np.float64]

SLACK = 1e-9  #: m or rad beyond a limit that counts as within
ITERATIONS, LEFT = 100, 1e-6  # of a search, and where it has failed, units of length or rad
STARTS = 8  #: how often it begins, at most
SPREAD = 3.0  #: rad or m, how far within their limits joints are drawn


def within_limits(
    model: Model,
    found: State,
    joints: Mapping[Hashable, ArrayLike],
    velocities: Mapping[Hashable, ArrayLike],
) -> State:
    """State whose joints are within their limits, or else the given one.

    Limits that are exceeded count as equations while they are; a loop that has closed in a mirrored
    branch thus changes over. The search begins with the given state, then with postures drawn
    within the limits.

    Parameters
    ----------
    model : Model
    found : State
        That `loop_closure.assemble` has found.
    joints, velocities : mapping
        That it has found it for; these joints may be beyond their limits.

    Returns
    -------
    State
    """
    if not model.tables.cycles or not beyond(model, found, joints):
        return found
    rng = np.random.default_rng(0)
    for k in range(STARTS):
        here, left = _towards_limits(model, _drawn(model, found, rng) if k else found, joints)
        if left > LEFT:
            continue
        try:
            trial = assemble(model, here, joints, velocities)
        except InconsistentStateError:
            continue
        if not beyond(model, trial, joints):
            return trial
    return found


def _towards_limits(
    model: Model, state: State, joints: Mapping[Hashable, ArrayLike]
) -> tuple[State, float]:
    """Closest state to closed loops, joints as asked or within limits; how far one is from it."""
    ends = {
        name: joint.limits
        for name, joint in model.mechanism.joints.items()
        if joint.limits is not None
    }
    for name, value in joints.items():
        given = coordinates.per_coordinate(coordinates.joint_of(model, name), value, "position")
        ends[name] = np.stack([given, given], 1)
    low, high = np.concatenate(list(ends.values())).T
    zeros = {name: np.zeros(len(one)) for name, one in ends.items()}

    def evaluate(trial: State) -> tuple[Float, Any]:
        g, G = equations(model, trial, zeros)
        q = g[model.n_rows :]
        over = q - np.clip(q, low, high)
        exceeded = np.concatenate([np.ones(model.n_rows), over != 0.0])
        return np.concatenate([g[: model.n_rows], over]), diags_array(exceeded) @ G

    units = reciprocal_units(model, zeros)
    after, g = closest(state, mobilities(model), units, evaluate, 0, ITERATIONS)
    return after, float(np.abs(units * g).max(initial=0.0))


def beyond(
    model: Model, state: State, given: Mapping[Hashable, ArrayLike]
) -> dict[Hashable, Float]:
    """Coordinates within limits, next to those that are beyond; not of joints that are given."""
    found: dict[Hashable, Float] = {}
    for name, q in _positions(model, state).items():
        joint = model.mechanism.joints[name]
        if joint.limits is None or name in given:
            continue
        near = np.clip(q, *joint.limits.T)
        if np.abs(near - q).max() > SLACK:
            found[name] = near
    return found


def _positions(model: Model, state: State) -> dict[Hashable, Float]:
    """Coordinates of all joints that have some, by name."""
    space = space_of(model, model.tables.measure_group)
    q = space.positions(state)
    return {name: q[first : first + count] for name, (first, count) in space.start.items()}


def _drawn(model: Model, state: State, rng: np.random.Generator) -> State:
    """Posture with the same roots and open loops, its joints drawn within their limits."""
    n, graph = model.n_bodies, nx.Graph()
    graph.add_nodes_from([WORLD.name, *(body.name for body in model.bodies)])
    for joint in model.mechanism.joints.values():
        names = [body.name for body in joint.bodies]
        graph.add_edges_from(zip(names, names[1:]))
    known = {}
    frames: dict[Hashable, Frame] = {WORLD.name: STILL}
    frames |= {body.name: at_rest(p) for body, p in zip(model.bodies, state.pose.tolist())}
    for name, q in _positions(model, state).items():
        joint = model.mechanism.joints[name]
        if joint.limits is None:
            q = q + rng.normal(size=q.size)
        else:
            q = np.clip(q, *joint.limits.T)
            low, high = np.clip(joint.limits.T, q - SPREAD, q + SPREAD)
            q = rng.uniform(low, high)
        known[name] = q.tolist(), [0.0] * q.size
    after, twists = state.copy(), coordinates.twists_of(model, state)
    placed = {}  # one body of each part, the world of its own
    for part in nx.connected_components(graph):
        first = next(name for name in frames if name in part)
        placed[first] = frames[first]
    coordinates.hang(model, after, np.zeros((n, layout.TWIST)), placed, known, before=frames)
    coordinates.set_twists(model, after, twists, list(range(n)))
    return after
