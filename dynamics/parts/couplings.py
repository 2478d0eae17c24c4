"""Couplings: the coordinate of one joint follows that of another, as gears and linkages make it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
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
        Coordinate of the follower per coordinate of the leader, in rad or m each.
    offset : float
        Coordinate of the follower at zero coordinate of the leader, rad or m.
    counter : hashable or None
        Name of the tendon that counts the turns of the leader, if the ratio is not a ratio of whole
        numbers.
    """

    name: Hashable
    leader: Hashable
    follower: Hashable
    ratio: float
    offset: float
    counter: Hashable = None


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
    moves : tuple of Half
        Terms of the length that the joint is, where it is the slide of a tendon.
    """

    joint: Any
    row: Row
    period: float
    moves: tuple[Half, ...] = ()

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
        If one of the joints is gone.
    """
    for name in (one.leader, one.follower):
        if name not in joints:
            raise UnknownNameError(f"coupling {one.name!r} is of joint {name!r}, which was removed")
    leader, follower = joints[one.leader], joints[one.follower]
    moves: tuple[Half, ...] = ()
    if one.counter is not None:
        moves = (Half(leader, row_of(leader, 1.0, 0.0), 0.0),)
        leader = joints[one.counter]
    return (
        Half(leader, row_of(leader, -one.ratio, 0.0), 0.0, moves),
        Half(follower, row_of(follower, 1.0, one.offset), period_of(one, leader, follower) or 0.0),
    )


def period_of(one: Coupling, leader: Joint, follower: Joint) -> float | None:
    """`common_period` of a coupling."""
    return common_period([(follower, 1.0), (leader, one.ratio)])


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


def counters(couplings: Mapping[Hashable, Coupling]) -> set[Hashable]:
    """Names of the tendons that count turns for couplings."""
    return {one.counter for one in couplings.values() if one.counter is not None}


def winds(joint: Joint) -> bool:
    """True if the coordinate of a joint is an angle that no limits keep within a turn of 0."""
    if joint.limits is None:
        return turns(joint)
    return turns(joint) and not bool(np.abs(joint.limits).max() < 0.5 * kinds.FULL_TURNS)


def common_period(terms: Sequence[tuple[Joint, float]], most: int = MOST_TURNS) -> float | None:
    """Jump of a sum of coordinates times factors, or of a part of it, as angles pass two turns.

    0 where none winds on; None where their jumps have no common part of at least 1 / ``most`` of
    the first one (theory/joints (13)).
    """
    factors = [abs(factor) for joint, factor in terms if winds(joint)]
    if not factors:
        return 0.0
    teeth = [Fraction(one / factors[0]).limit_denominator(most) for one in factors]
    exact = all(
        abs(float(each) - one / factors[0]) <= 1e-12 * one / factors[0] and each > 0
        for each, one in zip(teeth, factors)
    )
    whole = math.lcm(*(each.denominator for each in teeth))
    if not exact or whole > most:
        return None
    part = math.gcd(*(int(each * whole) for each in teeth))
    return kinds.FULL_TURNS * factors[0] * part / whole


def on_loops(couplings: Mapping[Hashable, Coupling]) -> set[Any]:
    """Names of couplings that close a ring of coupled joints, as gears in a circle do."""
    graph = nx.MultiGraph()
    for one in couplings.values():
        graph.add_edge(one.leader, one.follower, key=one.name)
    alone = [graph[u][v] for u, v in nx.bridges(nx.Graph(graph))]
    return set(couplings) - {key for keys in alone if len(keys) == 1 for key in keys}
