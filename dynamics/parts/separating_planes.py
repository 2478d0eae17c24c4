"""Planes between two convex shapes: bodies of their own, almost without mass, that both touch.

Of two convex shapes that do not overlap some plane has all of the one below it and all of the
other before it, and the normals of such planes form a convex cone: a plane that is free to move is
never caught. What presses on it from both sides is in balance, as it weighs next to nothing, so
that forces pass where faces, edges and corners of both meet, without a look at which they are.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynamics.parts.bodies import WORLD, Body, body
from dynamics.parts.contact_primitives import HalfSpace, Touch, core_of, touches_of
from dynamics.parts.convex_hulls import Core, Hull
from dynamics.parts.joints import Joint, free_rows, joint

__all__ = ["Plane", "plane_between", "plane_name"]

#: Mass of a plane over that of the body it is tied to, and its inertia over that body's: between
#: polyhedra, and where a shape is rounded. A force F on spheres of radii r and s turns a plane
#: between them back with F (r + s) per radian, which steps can follow if it is not too light.
LIGHT = 1e-3
SLOW = (1e-3, 1e-2)
#: Reach of the larger shape over that of the lighter body from which on a plane's inertia grows
#: with its square, as a corner R away sees the effective mass I / R^2: at 1000 times without this,
#: rounding of impulses exceeds the tolerance of contacts. At `MOST_REACH` it is 0.4 of the body's
#: own; beyond, the body would feel it (tests/dynamics/laws/test_one_scale.py).
REACH, MOST_REACH = 100.0, 2000.0
#: Sides of the prism around a cylinder, which it counts as where the other shape is rounded, too.
SIDES = 24
#: Of the tie: rates at which a plane's motion along its body and its turning fade, and that of the
#: spring that keeps it near, over sqrt(STANDARD_GRAVITY / size of its body): 10, 1 and 3 per second
#: at 0.43 m, of a cube of 0.5 m. They hold up what rolls on a plane, by a part LIGHT or SLOW.
FADING, SPIN_FADING, NEAR = 2.1, 0.21, 0.63
STANDARD_GRAVITY = 9.81  # m/s^2
#: Friction of a plane with its owner over that with the other body. If both were the same, either
#: side could slide, and only the plane's inertia would decide which. Sliding friction is that of
#: the other side. A spin about the normal on a larger face is braked by up to a tenth too much.
GRIP = 1.1
#: Height of a plane over its frame, as a part of how far its body reaches.
HEIGHT = 0.6
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
#: Rows of every tie, those of a floating joint: they take longer than all else of a tie.
FREE_ROWS = free_rows("floating", np.array([0.0, 0.0, 1.0]), IDENTITY)


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """Plane between two convex shapes.

    Attributes
    ----------
    body : Body
        That moves as the plane does; its z axis is the normal, from the first shape to the other.
    tie : Joint
        Weak spring and damper to the owner.
    owner : Body
        The lighter body, near whose centre of mass that of the plane's body stays.
    height : float
        Of the plane along z of its body, m.
    first, other : Core
        The shapes, in the frames of their bodies.
    """

    body: Body
    tie: Joint
    owner: Body
    height: float
    first: Core
    other: Core


def plane_name(name: Hashable) -> str:
    """Name of the body of a contact's plane."""
    return f"{name} plane"


def plane_between(
    first: Any, other: Any, one: Any, two: Any, name: Hashable
) -> tuple[Plane, list[Touch]]:
    """Plane between two bodies, and how both touch it.

    Parameters
    ----------
    first, other : Body or world
    one, two : Shape, Hull or ndarray of float, shape (3,)
        Their shapes.
    name : hashable
        Of the contact.

    Returns
    -------
    Plane, list of Touch

    Raises
    ------
    ValueError
        For shapes that are not convex, points that lie in a plane, and a shape that reaches more
        than `MOST_REACH` times as far as the lighter body.
    """
    label = f"contact {name!r}"
    cores: list[Core] = []
    for shape, against in ((one, two), (two, one)):
        core = core_of(shape)
        if core is None:
            raise ValueError(
                f"{label}: contact of {type(shape).__name__} with {type(against).__name__} is not "
                "offered, as the first is not convex; add a contact for each of its parts, with "
                "shape=, or use distance= with a function of your own"
            )
        if isinstance(shape, Hull) and shape.flat:
            raise ValueError(
                f"points of {label} lie in a plane; against another body than a half-space their "
                "hull needs a thickness"
            )
        cores.append(core)
    if all(map(_is_rounded, cores)):
        cores = [
            Core(core.corners(SIDES, around=True)) if core.rim > 0.0 else core for core in cores
        ]
        one, two = (
            shape if _is_rounded(core) else Hull(core.points)
            for shape, core in zip((one, two), cores)
        )
    moving = [end for end in (first, other) if end is not WORLD]
    owner = min(moving, key=lambda end: float(end.mass))
    own = cores[0 if owner is first else 1]
    size = float(np.linalg.norm(own.points, axis=1).max()) + own.radius + own.rim
    height = HEIGHT * size if owner is first else -HEIGHT * size
    slow = SLOW[any(map(_is_rounded, cores))]
    far = max(
        float(np.linalg.norm(core.points, axis=1).max()) + core.radius + core.rim for core in cores
    )
    if far > MOST_REACH * size:
        raise ValueError(
            f"shapes of {label} differ {far / size:.0f} times in size, more than {MOST_REACH:.0f}: "
            "use a HalfSpace for the large one, or a contact for each of smaller parts of it"
        )
    slow = max(slow, LIGHT * (far / (REACH * size)) ** 2)
    mass, inertia = LIGHT * owner.mass, slow * float(np.trace(owner.inertia)) / 3.0
    made = body(
        None, name=plane_name(name), mass=mass, inertia=np.full(3, inertia),
        gravity_scale=owner.gravity_scale,
    )  # fmt: skip
    rate = math.sqrt(STANDARD_GRAVITY / size)
    near = (NEAR * rate) ** 2 * mass
    tie = joint(
        "floating", made, owner, *FREE_ROWS, IDENTITY, name=f"{name} tie",
        stiffness=[near, near, 0, 0, 0, 0],
        damping=[FADING * rate * mass] * 3 + [SPIN_FADING * rate * inertia] * 3,
    )  # fmt: skip
    up, at = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, height])
    grips = (GRIP, 1.0) if owner is first else (1.0, GRIP)
    front = touches_of(HalfSpace(up, at), two, grip=grips[1]) or []
    back = touches_of(HalfSpace(-up, at), one, grip=grips[0], of_parent=True) or []
    return Plane(made, tie, owner, height, *cores), front + back


def _is_rounded(core: Core) -> bool:
    return core.radius > 0.0 or core.rim > 0.0
