"""Planes between convex shapes where they belong: see `dynamics.parts.separating_planes`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.kernels.base import layout
from dynamics.kernels.base.settings import CONTACT_TOLERANCE
from dynamics.kernels.collisions.planes import lay
from dynamics.kernels.observables import contacts as kernel
from dynamics.kinematics import coordinates
from dynamics.parts.bodies import WORLD
from dynamics.parts.convex_hulls import Core, Separation, separation
from dynamics.state import State

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["apart", "look_at", "placed"]

Float = NDArray[np.float64]


def look_at(model: Model, states: Float) -> Float:
    """Gap, normal, arms and row N of every touch: see `dynamics.kernels.observables.contacts`.

    Parameters
    ----------
    model : Model
    states : ndarray of float, shape (k, state size)

    Returns
    -------
    ndarray of float, shape (k, touches, 22)
    """
    space, plan = model.workspace, model.tables.plan
    out = np.empty((states.shape[0], int(plan[layout.CONTACTS]), kernel.NEAREST_AND_ROW))
    if out.size:
        kernel.nearest_points(
            plan, model.tables.constant, states, space.pose, space.matrix, space.g, space.G, out
        )
        space.reraise()
    return out


def placed(model: Model, state: State) -> State:
    """State whose planes lie between their bodies.

    Planes that do, or that compliant contacts press, stay where they are; the others are put where
    `separation` finds the bodies farthest apart, and move along with the bodies they are tied to.

    Parameters
    ----------
    model : Model
    state : State
        Left as it is.

    Returns
    -------
    State
        A copy.
    """
    after = state.copy()
    contacts = [one for one in model.mechanism.contacts.values() if one.plane is not None]
    if not contacts:
        return after
    gaps = _unexplained(model, state)
    names = [name for name, _ in model.tables.contact_touches]
    crossed = {name for name, gap in zip(names, gaps) if gap < 0.0}
    away = [one for one in contacts if one.name in crossed]
    if away:
        twists, moved = coordinates.twists_of(model, state), []
        for one in away:
            _place(model, after, one)
            moved.append(coordinates.ride(model, after, twists, one.plane))
        coordinates.set_twists(model, after, twists, moved)
    return after


def _unexplained(model: Model, state: State) -> Float:
    """Gaps of all touches and limits, with the depth C F of compliant ones by their stored force.

    It is open by the error of a step, over units of speed.
    """
    plan, constant = model.tables.plan, model.tables.constant
    count, first = len(model.tables.contact_touches), int(plan[layout.CONTACT_CONSTANT_AT])
    numbers = constant[first : first + count * layout.CONTACT_SIZE].reshape(count, -1)
    soft = numbers[:, layout.SOFTNESS]
    force = state.contacts[model.tables.contact_slot[:count] + layout.GAMMA]
    error = model.settings[CONTACT_TOLERANCE] * model.timestep / numbers[:, layout.CONTACT_PACE]
    gaps = look_at(model, state.data[None])[0, :count, 0]  # dry friction has none, and comes last
    return np.asarray(gaps + np.where(soft > 0.0, soft * force + error, 0.0))


def apart(model: Model, state: State, contact: Any) -> Separation:
    """Distance of the shapes of a contact with a plane.

    Parameters
    ----------
    model : Model
    state : State
    contact : Contact

    Returns
    -------
    Separation
        In the world's frame.
    """
    ends = ((contact.parent, contact.plane.first), (contact.child, contact.plane.other))
    return separation(*(_in_world(model, state, *end) for end in ends))


def _in_world(model: Model, state: State, body: Any, core: Core) -> Core:
    if body is WORLD:
        return core
    pose = state.pose[model.body_number(body.name)]
    q = np.broadcast_to(pose[3:], (len(core.points), 4))
    points = pose[:3] + rotation.rotate(q, core.points)
    return replace(core, points=points, axis=rotation.rotate(pose[3:], core.axis))


def _place(model: Model, state: State, contact: Any) -> None:
    """Put a plane next to its owner."""
    plane = contact.plane
    number = model.body_number
    found = apart(model, state, contact).as_numbers()
    lay(plane.height, found, number(plane.owner.name), number(plane.body.name), state.data)
