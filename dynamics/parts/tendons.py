"""Tendons: a length that several joints, or points of several bodies, make together.

The length s is the coordinate of a slide of its own, "<name> slider", almost without mass, and one
constraint ties it to the mechanism (theory/joints (17)):

    sum of c_i q_i + sum of |p_k+1 - p_k| - s = 0.

Springs, dampers, limits, friction, rotors, motors and servos of the tendon are those of the slide.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.errors import UnknownNameError
from dynamics.kernels.rows import rows as kinds
from dynamics.parts.bodies import WORLD, Body, body
from dynamics.parts.couplings import Half, row_of, turns
from dynamics.parts.joint_types import Fixed, Prismatic
from dynamics.parts.joints import Joint, Row

__all__ = ["Tendon", "looseness", "sliders_of", "tendon", "terms"]

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
class Tendon:
    """Length of a tendon; made by `Mechanism.add_tendon`.

    Attributes
    ----------
    name : hashable
        Also of the joint whose coordinate the length is.
    joints : dict of float
        Factors of coordinates by name of joint: rad or m to m, or to rad.
    path : tuple of tuple of (hashable, ndarray of float, shape (3,))
        Runs of points, by name of body or of the world, in the body's frame, m.
    slider : hashable
        Name of the slide's body.
    equation : hashable
        Name of the constraint.
    offset : float
        Length where all its coordinates and distances are 0.
    held : bool
        Whether its length never changes: the slide's body is fixed.
    """

    name: Hashable
    joints: Mapping[Hashable, float]
    path: tuple[tuple[tuple[Hashable, Float], ...], ...]
    slider: Hashable
    equation: Hashable
    offset: float = 0.0
    held: bool = False


def tendon(
    mechanism: Any,
    joints: Mapping[Any, float] | None,
    path: Iterable[Any] | None,
    name: Hashable,
    offset: float,
    length: float | None,
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
            raise UnknownNameError(f"{label} is of {key!r}, which is no joint of this mechanism")
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
    for what, value in (("offset", offset), ("length", 0.0 if length is None else length)):
        if not math.isfinite(value):
            raise ValueError(f"{what} of {label} is {value}, and must be finite")
    held = length is not None
    if held and options:
        raise TypeError(f"{label} has a length= that never changes, and takes no {list(options)}")
    made = Tendon(name, factors, runs, f"{name} slider", f"{name} length", float(offset), held)
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


def _runs(
    mechanism: Any, path: Iterable[Any] | None, label: str
) -> tuple[tuple[tuple[Hashable, Float], ...], ...]:
    """Runs of points, checked."""
    points = [] if path is None else list(path)
    parts = points if points and isinstance(points[0], list) else [points]
    found = []
    for part in parts if points else ():
        run: list[tuple[Hashable, Float]] = []
        for entry in part:
            if not isinstance(entry, tuple) or len(entry) != 2:
                raise TypeError(f"path of {label} takes pairs (body, point), not {entry!r}")
            end, point = entry
            key: Hashable = getattr(end, "name", end)
            known = WORLD if key == WORLD.name else mechanism.bodies.get(key)
            if known is None or (isinstance(end, Body) and known is not end):
                raise UnknownNameError(f"{label} holds {key!r}, which is no body of this mechanism")
            run.append((key, rotation.as_numbers(point, (3,), f"point of {label}")))
        if len({key for key, _ in run}) < 2:
            raise ValueError(f"path of {label} needs points of two bodies")
        found.append(tuple(run))
    return tuple(found)


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
        Where a joint or body is gone.
    """
    found = []
    for name, factor in one.joints.items():
        if name not in mechanism.joints:
            raise UnknownNameError(f"tendon {one.name!r} is of joint {name!r}, which is gone")
        joint = mechanism.joints[name]
        found.append(Half(joint, row_of(joint, factor, 0.0), 0.0))
    for run in one.path:
        for (a, p), (b, q) in zip(run, run[1:]):
            if a == b:
                continue
            first, other = (
                WORLD if name == WORLD.name else mechanism.bodies[name] for name in (a, b)
            )
            ends = SimpleNamespace(
                name=None, parent=first, child=other, parent_point=p, child_point=q,
                offset=UNTURNED,
            )  # fmt: skip
            found.append(Half(ends, Row(kinds.DISTANCE, ZERO, ZERO), 0.0))
    return found


def halves(one: Tendon, mechanism: Any) -> tuple[Half, ...]:
    """Rows whose sum is 0: the slide's, then those of `terms`."""
    fixed = one.offset + sum(
        float(np.linalg.norm(q - p))
        for run in one.path
        for (a, p), (b, q) in zip(run, run[1:])
        if a == b
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
    moving = [
        (one, point)
        for one, point in (
            (half.joint.parent, half.joint.parent_point),
            (half.joint.child, half.joint.child_point),
        )
        if one is not WORLD
    ]
    if half.row.kind == kinds.DISTANCE:
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
