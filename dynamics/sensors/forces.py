"""Forces of joints' constraints and of contacts, as sensors feel them."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from dynamics.interrupts import around
from dynamics.kernels.base import layout
from dynamics.kernels.observables.measure import placed
from dynamics.kernels.rows.rows import evaluate
from dynamics.kinematics.spanning_tree import soft_rows
from dynamics.model import Model
from dynamics.sensors.places import (
    Place,
    force_share,
    pose_at_force,
    quaternion_at_force,
    skew,
    turn,
)
from dynamics.trajectory import Trajectory

__all__ = ["contact_force", "contacts_of", "joint_wrench"]

Float = NDArray[np.float64]


def joint_wrench(motion: Trajectory, joint: Hashable, place: Place) -> tuple[Float, Float]:
    """Force and torque of a joint's constraints on its child.

    Parameters
    ----------
    motion : Trajectory
    joint : hashable
    place : Place
        On the child.

    Returns
    -------
    force, torque : ndarray of float, shape (k, 3)
        In the sensor's frame, about its origin, N and N m.
    """
    model = motion.model
    plan, constant = model.tables.plan, model.tables.constant
    n, k = model.n_bodies, model.tables.joint_index[joint]
    group = plan[plan[layout.GROUP_AT] + k * layout.GROUP_FIELDS :][: layout.GROUP_FIELDS]
    rows = slice(int(group[layout.FIRST_ROW]), int(group[layout.FIRST_ROW] + group[layout.N_ROWS]))
    # impulses of rigid rows act at the start of an interval, forces of soft ones all the time
    share = np.where(soft_rows(model)[rows], 1.0, force_share(motion)[:, None])
    forces = share * motion._multipliers(joint)
    poses, R = motion.states[:, : layout.POSE * n].copy(), np.eye(3)[None]
    for body in {int(group[layout.A]), int(group[layout.B])} - {n}:
        at = layout.POSE * body
        poses[:, at : at + 3], turned = pose_at_force(motion, body)
        poses[:, at + 3 : at + layout.POSE] = quaternion_at_force(motion, body)
        R = turned if body == int(group[layout.B]) else R
    pose, matrix = np.zeros(layout.POSE * (n + 1)), np.zeros(9 * (n + 1))
    every = int(plan[layout.MEASURED_ROWS])
    g, G = np.zeros(every), np.zeros(layout.SLOPES * every)
    wrench = np.empty((len(motion), layout.TWIST))
    with around(model.tables.callbacks):
        for i in range(len(motion)):
            placed(n, poses[i], pose, matrix)
            evaluate(plan, constant, k, k + 1, pose, matrix, True, g, G)
            wrench[i] = forces[i] @ G.reshape(-1, layout.SLOPES)[rows, layout.TWIST :]
    model.workspace.reraise()
    force = turn(R.transpose(0, 2, 1), wrench[:, :3])
    torque = wrench[:, 3:] - turn(skew(place.point)[0], force)
    return force @ place.matrix, torque @ place.matrix


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
    for name in contacts:
        if name in known:
            for force in motion.contact(name).normal_force.T:  # in the same order for any k
                total += force
    return np.asarray(force_share(motion) * total)
