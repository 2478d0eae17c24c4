"""Forces of joints' constraints and of contacts, as sensors feel them."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray

from dynamics.interrupts import around
from dynamics.kernels.base import layout
from dynamics.kernels.observables import sensing
from dynamics.kinematics.contact_queries import gives_way, normal_force
from dynamics.kinematics.spanning_tree import groups_of, soft_rows
from dynamics.model import Model
from dynamics.sensors.places import Place, force_share, lengths
from dynamics.trajectory import Trajectory

__all__ = ["contact_force", "contacts_of", "joint_wrench"]

Float = NDArray[np.float64]


def joint_wrench(model: Model, joint: Hashable, place: Place) -> Callable[[Trajectory], Float]:
    """Function that measures force and torque of a joint's constraints on its child.

    Parameters
    ----------
    model : Model
    joint : hashable
    place : Place
        On the child.

    Returns
    -------
    callable
        Its result has shape (k, 6): in the sensor's frame, about its origin, N and N m.
    """
    tables, k = model.tables, model.tables.joint_index[joint]
    group, middle = groups_of(model)[k], hasattr(model.stages, "s")
    first = int(group[layout.FIRST_ROW])
    soft = soft_rows(model)[first : first + int(group[layout.N_ROWS])]
    where = np.concatenate([place.point, place.orientation])

    def measure(motion: Trajectory) -> Float:
        spans, found = lengths(motion), np.empty((len(motion), layout.TWIST))
        # impulses of rigid rows act at the start of an interval, forces of soft ones all the time
        share = np.where(soft, 1.0, spans[:, :1] / spans[:, 1:])
        space = model.workspace
        with around(tables.callbacks):
            sensing.wrenches(
                tables.plan, tables.constant, k, motion.states, spans, middle,
                share * motion._multipliers(joint), where,
                (space.pose, space.matrix, space.g, space.G), found,
            )  # fmt: skip
        space.reraise()
        return found

    return measure


def contacts_of(model: Model, body: Hashable, against: Hashable) -> list[Hashable]:
    """Names of the contacts of a body, with another one if that is not None."""
    ends = {one.name: (one.parent, one.child) for one in model.mechanism.contacts.values()}
    if model.near is not None:
        solids = model.near.candidates.solids
        for name, pair in zip(model.near.candidates.names, model.near.candidates.pairs):
            ends[name] = (solids[pair[0]].end, solids[pair[1]].end)
    return [
        name
        for name, (one, other) in ends.items()
        if body in (one.name, other.name) and (against is None or against in (one.name, other.name))
    ]


def contact_force(motion: Trajectory, contacts: list[Hashable]) -> Float:
    """Sum of the normal forces of contacts, N, shape (k,)."""
    total, known = np.zeros(len(motion)), {*motion.model.mechanism.contacts, *motion.near_pairs}
    share = force_share(motion)
    for name in contacts:
        if name in known:
            found = normal_force(motion, name)
            total += found if gives_way(motion.model, name) else share * found
    return total
