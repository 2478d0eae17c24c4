"""Tendons: a length that several joints, or points of several bodies, make together.

The length s is the coordinate of a slide of its own, "<name> slider", almost without mass, and one
constraint ties it to the mechanism (theory/joints (17)):

    sum of c_i q_i + sum of |p_k+1 - p_k| / d - s = 0.

A path may run around spheres and cylinders, and over pulleys with divisors d.

Springs, dampers, limits, friction, rotors, motors and servos of the tendon are those of the slide.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.errors import UnknownNameError
from dynamics.kernels.rows import rows as kinds
from dynamics.kernels.rows import wrapping
from dynamics.parts.bodies import WORLD, Body, body
from dynamics.parts.couplings import Half, common_period, row_of, turns, winds
from dynamics.parts.joint_types import Fixed, Prismatic
from dynamics.parts.joints import Joint, Row

__all__ = ["Tendon", "Wrap", "looseness", "run_length", "sliders_of", "tendon", "terms"]

Float = NDArray[np.float64]
ZERO, UNTURNED = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
#: Mass of a slide over the inertia that its tendon moves, which grows by so much.
LIGHT = 1e-5
#: Mass of a slide over the tendon's dampers, s, and springs, s^2: with less, steps of a millisecond
#: lose the digits that Newton's method needs (tests/dynamics/test_tendons.py). No step sees times
#: as short as these.
DAMPED, SPRUNG = 1e-8, 1e-11
AXIS = (0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Wrap:
    """A sphere or a cylinder that a tendon's path runs around, between two of its points.

    Parameters
    ----------
    body : Body, world or hashable
        Body that carries it.
    radius : float
        m.
    position : array_like, shape (3,), optional
        Position of its centre in the body's frame, m.
    axis : array_like, shape (3,), optional
        Axis of an infinite cylinder, in the body's frame; without it this is a sphere.
    side : array_like, shape (3,), optional
        Point in the body's frame, m, that chooses the side: the path turns about the centre in the
        same direction as a path from its first end through this point to its other end, even if
        that is the longer way. A point inside the sphere or cylinder makes it a ring, through which
        the path runs. Without it the path takes the shorter way, and is straight if a straight line
        does not intersect the sphere or cylinder.
    """

    body: Any
    radius: float
    position: Any = (0.0, 0.0, 0.0)
    axis: Any = None
    side: Any = None

    def _checked(self, label: str) -> Wrap:
        """The same with arrays and the body's name; see `tendon` for what is raised."""
        position = rotation.as_numbers(self.position, (3,), f"position of a wrap of {label}")
        axis, side = self.axis, self.side
        if not (math.isfinite(self.radius) and self.radius > 0.0):
            raise ValueError(f"radius of a wrap of {label} is {self.radius}, and must be positive")
        if axis is not None:
            axis = rotation.as_numbers(axis, (3,), f"axis of a wrap of {label}")
            if not np.any(axis):
                raise ValueError(f"axis of a wrap of {label} is zero")
            axis = axis / np.linalg.norm(axis)
        if side is not None:
            side = rotation.as_numbers(side, (3,), f"side of a wrap of {label}")
        name = getattr(self.body, "name", self.body)
        return Wrap(name, float(self.radius), position, axis, side)

    def _row(self, factor: float) -> tuple[Row, Float]:
        """Row of a path around it, and its orientation in the body's frame."""
        turn, seen, sided = UNTURNED, ZERO, wrapping.NO_SIDE
        if self.axis is not None:
            turn = rotation.align(np.array(AXIS), self.axis)
        if self.side is not None:
            seen = rotation.rotate(rotation.conjugate(turn), self.side - self.position)
            inside = float(np.linalg.norm(seen)) < self.radius
            sided = wrapping.INSIDE if inside else wrapping.OUTSIDE
        shape = 0.0 if self.axis is None else wrapping.CYLINDER
        return Row(wrapping.WRAP, seen, np.array([factor, shape, sided]), self.radius), turn


class Segment(NamedTuple):
    """Part of a path from one point to the next."""

    ends: tuple[Hashable, Hashable]  # names of bodies
    points: tuple[Float, Float]
    wrap: Wrap | None  # what lies between
    factor: float

    @property
    def bodies(self) -> set[Hashable]:
        """Names of all bodies that it depends on."""
        return {*self.ends} if self.wrap is None else {*self.ends, self.wrap.body}


@dataclass(frozen=True, slots=True, eq=False)
class Tendon:
    """Length of a tendon; made by `Mechanism.add_tendon`.

    Attributes
    ----------
    name : hashable
        Also of the joint whose coordinate the length is.
    joints : dict of float
        Factors of coordinates by name of joint: rad or m to m, or to rad.
    path : tuple of tuple of (hashable, ndarray of float, shape (3,)) or Wrap
        Runs of points, by name of body or of the world, in the body's frame, m, and what lies
        between them.
    slider : hashable
        Name of the slide's body.
    equation : hashable
        Name of the constraint.
    offset : float
        Length where all its coordinates and distances are 0.
    held : bool
        Whether its length never changes: the slide's body is fixed.
    divisors : tuple of float
        Of the lengths of runs.
    """

    name: Hashable
    joints: Mapping[Hashable, float]
    path: tuple[tuple[Any, ...], ...]
    slider: Hashable
    equation: Hashable
    offset: float = 0.0
    held: bool = False
    divisors: tuple[float, ...] = ()

    def segments(self) -> Iterator[Segment]:
        """All parts of the path from point to point."""
        for run, divisor in zip(self.path, self.divisors):
            before, between = None, None
            for one in run:
                if isinstance(one, Wrap):
                    between = one
                    continue
                if before is not None:
                    ends, points = zip(before, one)
                    yield Segment(ends, points, between, 1.0 / divisor)
                before, between = one, None


def tendon(
    mechanism: Any,
    joints: Mapping[Any, float] | None,
    path: Iterable[Any] | None,
    name: Hashable,
    offset: float,
    length: float | None,
    divisors: Iterable[float] | None,
    options: Mapping[str, Any],
) -> tuple[Tendon, Body, Joint]:
    """Check a tendon; see `Mechanism.add_tendon`.

    Returns
    -------
    Tendon, Body, Joint
        And the slide that it needs, not added to the mechanism.

    Raises
    ------
    ValueError
    UnknownNameError
    """
    label = f"tendon {name!r}"
    factors: dict[Hashable, float] = {}
    for given, factor in (joints or {}).items():
        key: Hashable = given.name if isinstance(given, Joint) else given
        found = mechanism.joints.get(key)
        if found is None or (isinstance(given, Joint) and found is not given):
            raise UnknownNameError(f"{label} is of {key!r}, which is not a joint of this mechanism")
        if found.n_coordinates != 1:
            raise ValueError(
                f"{label} needs joints of one coordinate each; joint {key!r} ({found.kind}) has "
                f"{found.n_coordinates}"
            )
        if not (math.isfinite(factor) and factor != 0.0):
            raise ValueError(f"factor of joint {key!r} in {label} is {factor}, and must not be 0")
        factors[key] = float(factor)
    runs = _runs(mechanism, path, label)
    if not factors and not runs:
        raise ValueError(f"{label} has neither joints nor a path of two points of two bodies")
    parts = (1.0,) * len(runs) if divisors is None else tuple(float(one) for one in divisors)
    if len(parts) != len(runs) or not all(math.isfinite(one) and one > 0.0 for one in parts):
        raise ValueError(
            f"divisors of {label} are {list(parts)}, and must be positive, one for each of the "
            f"{len(runs)} lists of points"
        )
    for what, value in (("offset", offset), ("length", 0.0 if length is None else length)):
        if not math.isfinite(value):
            raise ValueError(f"{what} of {label} is {value}, and must be finite")
    held = length is not None
    if held and options:
        raise TypeError(f"{label} has a length= that never changes, and takes no {list(options)}")
    slider, equation = f"{name} slider", f"{name} length"
    made = Tendon(name, factors, runs, slider, equation, float(offset), held, parts)
    ends = terms(made, mechanism)
    given = dict(options)
    rotor = float(given.pop("armature", 0.0))  # the slide's own mass: it only moves along s
    if not (math.isfinite(rotor) and rotor >= 0.0):
        raise ValueError(f"armature of {label} is {rotor}, and must not be negative")
    mass = rotor + LIGHT / sum(map(looseness, ends))

    def joint(mass: float) -> tuple[Body, Joint]:
        slide = body(None, name=made.slider, mass=mass, inertia=np.full(3, mass), gravity_scale=0.0)
        if length is not None:
            return slide, Fixed(WORLD, slide, parent_point=(0, 0, length), name=name)
        return slide, replace(Prismatic(WORLD, slide, AXIS, name=name, **given), kind="tendon")

    first = joint(mass)[1]
    stiffness, damping = float(first.stiffness.sum()), float(first.damping.sum())
    if first.servo is not None:
        k, c = (float(one[0]) for one in first.servo.rows(1, label)[:2])
        stiffness, damping = stiffness + k, damping + c
    return made, *joint(mass + DAMPED * damping + SPRUNG * stiffness)


def _runs(mechanism: Any, path: Iterable[Any] | None, label: str) -> tuple[tuple[Any, ...], ...]:
    """Runs of points and wraps, checked."""
    points = [] if path is None else list(path)
    parts = points if points and isinstance(points[0], list) else [points]
    found = []
    for part in parts if points else ():
        run: list[Any] = []
        for entry in part:
            if isinstance(entry, Wrap):
                run.append(entry._checked(label))
                _known(mechanism, entry.body, label)
                continue
            if not isinstance(entry, tuple) or len(entry) != 2:
                raise TypeError(
                    f"path of {label} takes pairs (body, point) and dynamics.Wrap, not {entry!r}"
                )
            end, point = entry
            key = _known(mechanism, end, label)
            run.append((key, rotation.as_numbers(point, (3,), f"point of {label}")))
        bare = [isinstance(one, Wrap) for one in run]
        if any(bare[:1]) or any(bare[-1:]) or any(a and b for a, b in zip(bare, bare[1:])):
            raise ValueError(f"path of {label} needs points on both sides of each wrap")
        names = {one.body if isinstance(one, Wrap) else one[0] for one in run}
        if len(names) < 2:
            raise ValueError(f"path of {label} needs points of two bodies")
        found.append(tuple(run))
    return tuple(found)


def _known(mechanism: Any, end: Any, label: str) -> Hashable:
    """Name of a body of the mechanism, or of the world."""
    key: Hashable = getattr(end, "name", end)
    known = WORLD if key == WORLD.name else mechanism.bodies.get(key)
    if known is None or (isinstance(end, Body) and known is not end):
        raise UnknownNameError(f"{label} holds {key!r}, which is not a body of this mechanism")
    return key


def terms(one: Tendon, mechanism: Any) -> list[Half]:
    """Rows whose sum is the tendon's length; points of one body keep their distance.

    Parameters
    ----------
    one : Tendon
    mechanism : Mechanism
        Has its joints and bodies.

    Returns
    -------
    list of Half

    Raises
    ------
    UnknownNameError
        If a joint or body is gone.
    """
    found = []
    for segment in one.segments():
        if len(segment.bodies) > 1:
            found += _halves(segment, mechanism)
    given = []
    for name, factor in one.joints.items():
        if name not in mechanism.joints:
            raise UnknownNameError(f"tendon {one.name!r} is of joint {name!r}, which was removed")
        given.append((mechanism.joints[name], factor))
    period = 0.0 if one.held else _period(given) or 0.0
    for k, (joint, factor) in enumerate(given):  # the last one sees the whole sum
        last, inner = k == len(given) - 1, mechanism.tendons.get(joint.name)
        moves = () if inner is None else tuple(terms(inner, mechanism))
        found.append(Half(joint, row_of(joint, factor, 0.0), period if last else 0.0, moves))
    return found


def to_count(joints: Mapping[Joint, float]) -> list[Joint]:
    """Joints of a sum whose turns have to be counted: all that wind but the first, or none.

    Parameters
    ----------
    joints : mapping
        Factors.

    Returns
    -------
    list of Joint
    """
    if _period(list(joints.items())) is not None:
        return []
    return [joint for joint in joints if winds(joint)][1:]


def _period(terms: list[tuple[Joint, float]]) -> float | None:
    """Jump of a length that is the least of its joints' jumps: else lengths are ambiguous."""
    return common_period(sorted(terms, key=lambda term: abs(term[1])), 1)


def _ends(parent: Any, child: Any, at_parent: Float, at_child: Float, turn: Float) -> Any:
    """What a group of rows reads of a joint."""
    return SimpleNamespace(
        name=None, parent=parent, child=child, parent_point=at_parent, child_point=at_child,
        offset=turn,
    )  # fmt: skip


def _halves(segment: Segment, mechanism: Any) -> list[Half]:
    """Rows of one part of a path: a distance, or the two of `dynamics.kernels.rows.wrapping`."""
    bodies = {**mechanism.bodies, WORLD.name: WORLD}
    (a, b), (p, q), wrap = segment.ends, segment.points, segment.wrap
    if wrap is None and segment.factor == 1.0:
        ends = _ends(bodies[a], bodies[b], p, q, UNTURNED)
        return [Half(ends, Row(kinds.DISTANCE, ZERO, ZERO), 0.0)]
    if wrap is None:  # straight, as around no geom of the second body
        geom, center, turn = b, q, UNTURNED
        row = Row(wrapping.WRAP, ZERO, np.array([segment.factor, 0.0, 0.0]))
    else:
        geom, center = wrap.body, wrap.position
        row, turn = wrap._row(segment.factor)
    if a == geom:  # the first row is of two bodies
        a, b, p, q = b, a, q, p
    other: Hashable = WORLD.name
    if b in (a, geom, other):  # the second row has no slopes, and ends that differ
        other = a if a != b else geom
    first = _ends(bodies[a], bodies[geom], p, center, turn)
    second = _ends(bodies[other], bodies[b], ZERO, q, UNTURNED)
    return [Half(first, row, 0.0), Half(second, Row(wrapping.WRAPPED, ZERO, ZERO), 0.0)]


def _length(segment: Segment) -> float:
    """Length of a part of a path that lies on one body."""
    if segment.wrap is None:
        return float(np.linalg.norm(segment.points[1] - segment.points[0]))
    row, turn = segment.wrap._row(1.0)
    back, center = rotation.conjugate(turn), segment.wrap.position
    ends = [tuple(rotation.rotate(back, one - center).tolist()) for one in segment.points]
    _, shape, sided = row.second
    side = tuple(row.axis.tolist())
    return float(wrapping.path(*ends, row.pitch, float(shape), side, float(sided))[0])


def run_length(run: Iterable[Any]) -> float:
    """Length of a run of points and wraps of one body, m.

    Parameters
    ----------
    run : iterable of (Body or world, ndarray of float, shape (3,)) or Wrap

    Returns
    -------
    float
    """
    checked = tuple(
        one._checked("a run of one body") if isinstance(one, Wrap) else (one[0].name, one[1])
        for one in run
    )
    made = Tendon(None, {}, (checked,), None, None, divisors=(1.0,))
    return sum(map(_length, made.segments()))


def halves(one: Tendon, mechanism: Any) -> tuple[Half, ...]:
    """Rows whose sum is 0: the slide's, then those of `terms`."""
    fixed = one.offset + sum(
        segment.factor * _length(segment) for segment in one.segments() if len(segment.bodies) == 1
    )
    slide = mechanism.joints[one.name]
    axis = -np.array(AXIS)
    length = Row(kinds.TRANSLATION, axis, axis, rest=-fixed)
    # of a held one its place, where the world's frame is that of the slide
    ends = SimpleNamespace(
        name=one.name, parent=slide.parent, child=slide.child, parent_point=ZERO,
        child_point=ZERO, offset=UNTURNED,
    )  # fmt: skip
    return Half(ends, length, 0.0), *terms(one, mechanism)


def looseness(half: Half) -> float:
    """Rough inverse inertia that a row of a tendon or coupling meets."""
    if half.moves:
        return float(half.row.axis @ half.row.axis) * sum(map(looseness, half.moves))
    moving = [
        (one, point)
        for one, point in (
            (half.joint.parent, half.joint.parent_point),
            (half.joint.child, half.joint.child_point),
        )
        if one is not WORLD
    ]
    if half.row.kind == kinds.DISTANCE or half.row.kind < 0:
        return float(
            sum(
                1.0 / one.mass + 3.0 * float(point @ point) / float(np.trace(one.inertia))
                for one, point in moving
            )
        )
    if turns(half.joint):
        return half.row.pitch**2 * sum(3.0 / float(np.trace(one.inertia)) for one, _ in moving)
    return float(half.row.axis @ half.row.axis * sum(1.0 / one.mass for one, _ in moving))


def sliders_of(mechanism: Any) -> dict[Hashable, Tendon]:
    """Tendons by the name of their slide's body."""
    return {one.slider: one for one in getattr(mechanism, "tendons", {}).values()}
