"""Joints that follow another joint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynamics.io.description import Mimic
from dynamics.io.notes import Notes
from dynamics.mechanism import Mechanism

__all__ = ["follow"]

#: A follower whose limits leave it less than this has none of its own, rad or m.
LEAST_RANGE = 1e-6


def follow(mechanism: Mechanism, mimic: Mimic, notes: Notes) -> None:
    """Add the coupling ``q = multiplier q_leader + offset``, or note that it is left out.

    Parameters
    ----------
    mechanism : Mechanism
        Changed.
    mimic : Mimic
    notes : Notes
    """
    leader, joint = mechanism.joints.get(mimic.leader), mechanism.joints.get(mimic.joint)
    if leader is None or joint is None or mimic.multiplier == 0.0:
        notes.leave_out("mimic (needs two joints that move, and a multiplier)", mimic.joint)
    elif leader is joint or {leader.n_coordinates, joint.n_coordinates} != {1}:
        notes.leave_out("mimic (needs two joints of one axis)", mimic.joint)
    else:
        if leader.limits is not None and joint.limits is not None:
            led = np.sort(mimic.multiplier * leader.limits[0] + mimic.offset)
            low, high = joint.limits[0]
            if min(high, led[1]) - max(low, led[0]) < LEAST_RANGE:
                notes.leave_out("limits of followers that those of leaders exclude", mimic.joint)
                joint = mechanism.joints[joint.name] = replace(joint, limits=None)
        mechanism.add_coupling(
            leader, joint, mimic.multiplier, mimic.offset,
            name=f"{mimic.joint} mimics {mimic.leader}",
        )  # fmt: skip
