"""Couplings: the coordinate of one joint follows that of another, as gears and linkages make it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np

from dynamics.errors import UnknownNameError
from dynamics.kernels.rows import rows as kinds
from dynamics.parts.joints import Joint, Row

__all__ = ["Coupling", "Half", "coupling", "halves", "row_of", "turns"]

#: Teeth of the leader's wheel up to which ratios count as one wheel's turns over the other's.
MOST_TURNS = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Coupling:
    """``q_follower = ratio q_leader + offset``; made by `Mechanism.add_coupling`.

    Attributes
    ----------
    name : hashable
    leader, follower : hashable
        Names of the joints.
    ratio : float
        Of the coordinates: rad or m of the follower over rad or m of the leader.
    offset : float
        rad or m of the follower.
    """

    name: Hashable
    leader: Hashable
    follower: Hashable
    ratio: float
    offset: float


@dataclass(frozen=True, slots=True, eq=False)
class Half:
    """Term of one joint in a coupling's equation.

    Attributes
    ----------
    joint : Joint
        Or what has its ends.
    row : Row
        Its coordinate, with its factor.
    period : float
        Whole multiples of it in the equation mean nothing; 0 where there is none.
    """

    joint: Any
    row: Row
    period: float

    @property
    def ends(self) -> tuple[Any, Any]:
        """Parent and child."""
        return self.joint.parent, self.joint.child


def coupling(
    leader: Joint, follower: Joint, name: Hashable, ratio: float, offset: float
) -> Coupling:
    """Check a coupling; see `Coupling` for the parameters.

    Parameters
    ----------
    leader, follower : Joint
    name : hashable
    ratio, offset : float

    Returns
    -------
    Coupling

    Raises
    ------
    ValueError
        For joints that have not one coordinate, that are the same, and numbers that couple nothing.
    """
    label = f"coupling {name!r}"
    if leader.name == follower.name:
        raise ValueError(f"{label} couples joint {leader.name!r} with itself")
    for joint in (leader, follower):
        if joint.n_coordinates != 1:
            raise ValueError(
                f"{label} needs joints of one coordinate each; joint {joint.name!r} ({joint.kind}) "
                f"has {joint.n_coordinates}"
            )
    if not (math.isfinite(ratio) and ratio != 0.0):
        raise ValueError(f"ratio of {label} is {ratio}, and must be finite and not 0")
    if not math.isfinite(offset):
        raise ValueError(f"offset of {label} is {offset}, and must be finite")
    return Coupling(name, leader.name, follower.name, float(ratio), float(offset))


def halves(one: Coupling, joints: Mapping[Hashable, Joint]) -> tuple[Half, Half]:
    """Rows whose sum is ``q_follower - ratio q_leader - offset``.

    Parameters
    ----------
    one : Coupling
    joints : mapping
        By name.

    Returns
    -------
    tuple of two Half
        That of the leader, that of the follower.

    Raises
    ------
    UnknownNameError
        Where one of the joints is gone.
    """
    for name in (one.leader, one.follower):
        if name not in joints:
            raise UnknownNameError(f"coupling {one.name!r} is of joint {name!r}, which is gone")
    leader, follower = joints[one.leader], joints[one.follower]
    period = _period(leader, follower, one.ratio)
    return (
        Half(leader, row_of(leader, -one.ratio, 0.0), 0.0),
        Half(follower, row_of(follower, 1.0, one.offset), period),
    )


def row_of(joint: Joint, factor: float, rest: float) -> Row:
    """A joint's coordinate times a factor."""
    row = joint.positions[0]
    if not turns(joint):  # linear in its axis
        return Row(row.kind, factor * row.axis, factor * row.axis, rest=rest)
    # a screw that does not look at the displacement
    return Row(kinds.SCREW, np.zeros(3), row.axis, -factor, rest)


def turns(joint: Joint) -> bool:
    """True if the coordinate of a joint is an angle."""
    return joint.positions[0].kind == kinds.ANGLE


def _period(leader: Joint, follower: Joint, ratio: float) -> float:
    """Jump of the equation, or of a part of it, as angles pass two turns: theory/joints."""
    if not turns(follower):
        return kinds.FULL_TURNS * abs(ratio) if turns(leader) else 0.0
    if not turns(leader):
        return kinds.FULL_TURNS
    teeth = Fraction(abs(ratio)).limit_denominator(MOST_TURNS)
    exact = teeth > 0 and abs(float(teeth) - abs(ratio)) <= 1e-12 * abs(ratio)
    # jumps of 1 and of a / b full turns are whole multiples of 1 / b
    return kinds.FULL_TURNS / teeth.denominator if exact else 0.0


def on_loops(couplings: Mapping[Hashable, Coupling]) -> set[Any]:
    """Names of couplings that close a ring of coupled joints, as gears in a circle do."""
    graph = nx.MultiGraph()
    for one in couplings.values():
        graph.add_edge(one.leader, one.follower, key=one.name)
    alone = [graph[u][v] for u, v in nx.bridges(nx.Graph(graph))]
    return set(couplings) - {key for keys in alone if len(keys) == 1 for key in keys}
