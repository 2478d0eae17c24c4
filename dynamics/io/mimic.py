"""Joints that follow another joint."""

from __future__ import annotations

from dynamics.io.description import Mimic
from dynamics.io.notes import Notes
from dynamics.mechanism import Mechanism

__all__ = ["follow"]


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
        mechanism.add_coupling(
            leader, joint, mimic.multiplier, mimic.offset,
            name=f"{mimic.joint} mimics {mimic.leader}",
        )  # fmt: skip
