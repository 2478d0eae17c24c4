"""Description of a tree of rigid bodies by labels, for `TreeIntegrator`.

Twists and wrenches are [rotation, translation]; quaternions are [s, v]; SI units.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.errors import UnknownNameError
from dynamics.integrators.tree.twists import (
    at_origin,
    direction,
    prismatic,
    revolute,
    rotation,
    semidefinite,
    vector,
)

if TYPE_CHECKING:
    from dynamics.mechanism import Mechanism

__all__ = ["WORLD", "Tree"]

Float = NDArray[np.float64]

#: Label of what does not move.
WORLD = "world"


@dataclass(frozen=True)
class _Body:
    """Body: spatial inertia, drag (6, 6), about its frame's origin; mass and center for gravity."""

    inertia: Float
    mass: float
    center: Float
    drag: Float
    drag_area: float


@dataclass(frozen=True)
class _Joint:
    """Joint above a body: parent (None for the world), twist, home pose, spring and damper."""

    parent: Hashable
    twist: Float
    rotation: Float
    position: Float
    stiffness: float
    rest: float
    damping: float


@dataclass
class Tree:
    """Tree of rigid bodies, each with one joint of one coordinate to its parent.

    A joint with more coordinates is a chain of joints with massless bodies between them: see
    `add_floating_joint`.

    Parameters
    ----------
    gravity : array_like, shape (3,)
        Acceleration in the world's frame, m / s^2.

    Attributes
    ----------
    bodies, joints : dict
        By name; a joint has the name of its child.
    constraints : list
        Pins and couplings.

    Examples
    --------
    >>> tree = Tree()
    >>> tree.add_body("rod", mass=1.0, inertia=[1 / 12, 1 / 12, 0.0])
    >>> tree.add_joint("world", "rod", revolute([1, 0, 0], point=[0, 0, 0.5]))
    """

    gravity: ArrayLike = (0.0, 0.0, -9.81)
    bodies: dict[Hashable, _Body] = field(default_factory=dict, init=False, repr=False)
    joints: dict[Hashable, _Joint] = field(default_factory=dict, init=False, repr=False)
    #: name, kind, bodies or joints, nine numbers: one row each, as in `tree.layout`.
    constraints: list[tuple[Hashable, str, tuple[Hashable, Hashable], Float]] = field(
        default_factory=list, init=False, repr=False
    )

    def __post_init__(self) -> None:
        """Check the gravity."""
        self.gravity = vector(self.gravity, "gravity")

    def __repr__(self) -> str:
        return (
            f"Tree({len(self.bodies)} bodies, {len(self.joints)} joints, "
            f"{len(self.constraints)} constraints)"
        )

    @classmethod
    def from_mechanism(cls, mechanism: Mechanism) -> Tree:
        """Make the tree of a mechanism without loops and contacts.

        Bodies keep their names. A joint has the name of its child; a joint with several coordinates
        becomes a chain of sliders and hinges, ``(child, 0)``, ``(child, 1)``, ... and the child
        itself for the last. Coordinates and their rates are those of the mechanism.

        Parameters
        ----------
        mechanism : Mechanism
            Left as it is.

        Returns
        -------
        Tree

        Raises
        ------
        ValueError
            For a mechanism with loops, springs between points, forces by functions, contacts,
            limits, dry friction or rotors, with bodies without a joint, and with joints that are
            not chains of hinges and sliders.
        """
        from dynamics.integrators.tree.from_mechanism import fill

        tree = cls(mechanism.gravity)
        fill(tree, mechanism)
        return tree

    def add_body(
        self,
        label: Hashable,
        mass: float = 0.0,
        inertia: ArrayLike | None = None,
        center: ArrayLike = (0.0, 0.0, 0.0),
        *,
        spatial_inertia: ArrayLike | None = None,
        drag: ArrayLike = 0.0,
        drag_area: float = 0.0,
    ) -> None:
        """Add a rigid body; the origin of its frame may be any point.

        Parameters
        ----------
        label : hashable
            Its name, which is also that of its joint.
        mass : float
            Mass on which gravity acts, kg.
        inertia : array_like, shape (3,) or (3, 3), optional
            About the center of mass in the axes of the body, kg m^2; none by default.
        center : array_like, shape (3,)
            Center of mass in the body's frame, m.
        spatial_inertia : array_like, shape (6, 6), optional
            Inertia about the origin of the body's frame, rotation before translation, instead of
            that of mass and inertia; it may include added mass.
        drag : float or array_like, shape (6, 6)
            Linear drag: a force -drag * velocity of the center of mass (N s / m), or the wrench
            -drag @ twist in the body's frame.
        drag_area : float
            Quadratic drag: a force -drag_area * speed * velocity at the center of mass, kg / m.

        Raises
        ------
        ValueError
            If the label is taken, or an inertia or drag is not symmetric positive semidefinite.
        """
        if label == WORLD or label in self.bodies:
            raise ValueError(f"there is a body {label!r} already: choose another label")
        place = vector(center, f"center of body {label!r}")
        if not (np.isfinite(mass) and mass >= 0.0):
            raise ValueError(f"mass of body {label!r} is {mass}: it must be 0 or more")
        if spatial_inertia is None:
            J = np.zeros((3, 3)) if inertia is None else np.asarray(inertia, float)
            J = semidefinite(np.diag(J) if J.ndim == 1 else J, 3, f"inertia of body {label!r}")
            matrix = at_origin(mass, J, place)
        elif inertia is not None:
            raise ValueError(f"body {label!r} has inertia and spatial_inertia: give one of them")
        else:
            matrix = semidefinite(spatial_inertia, 6, f"spatial_inertia of body {label!r}")
        damp = np.asarray(drag, float)
        if damp.ndim == 0:
            damp = at_origin(float(damp), np.zeros((3, 3)), place)
        damp = semidefinite(damp, 6, f"drag of body {label!r}")
        if not (np.isfinite(drag_area) and drag_area >= 0.0):
            raise ValueError(f"drag_area of body {label!r} is {drag_area}: it must be 0 or more")
        self.bodies[label] = _Body(matrix, float(mass), place, damp, float(drag_area))

    def add_joint(
        self,
        parent: Hashable,
        child: Hashable,
        twist: ArrayLike,
        *,
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        stiffness: float = 0.0,
        rest: float = 0.0,
        damping: float = 0.0,
    ) -> None:
        """Connect a body to its parent, a body or the world, by a joint of one coordinate.

        Parameters
        ----------
        parent, child : hashable
            Labels of bodies; the joint has the child's label.
        twist : array_like, shape (6,)
            From `revolute`, `prismatic` or `screw`, in the child's frame.
        position : array_like, shape (3,)
            Origin of the child's frame in the parent's at zero coordinate, m.
        orientation : array_like, shape (4,)
            Unit quaternion, child to parent, scalar first, at zero coordinate.
        stiffness, damping : float
            Force -stiffness * (q - rest) - damping * dq/dt; N m / rad or N / m, and times s.
        rest : float
            Coordinate at which the spring has no force.

        Raises
        ------
        UnknownNameError
            If there is no such body.
        ValueError
            If the joint would close a loop, or its numbers are invalid.
        """
        name = f"joint of {child!r} on {parent!r}"
        for label in (parent, child):
            if label != WORLD and label not in self.bodies:
                raise UnknownNameError(f"there is no body {label!r}: add it before the {name}")
        if child == WORLD:
            raise ValueError(f"{name}: the world cannot be a child, exchange the two")
        path = self._path(parent)
        if child in self.joints or child in path:
            other = self.joints[child].parent if child in self.joints else path[0]
            raise ValueError(
                f"{name} closes a loop: {child!r} hangs on {other!r} already; this integrator is "
                f"for trees, close the loop with add_pin"
            )
        axis = np.asarray(twist, float)
        if axis.shape != (6,) or not np.isfinite(axis).all():
            raise ValueError(f"{name}: twist must be 6 finite numbers, as from revolute")
        size = float(np.linalg.norm(axis[:3])) or float(np.linalg.norm(axis[3:]))
        if abs(size - 1.0) > 1e-9:
            raise ValueError(
                f"{name}: twist has length {size:.6g}, take revolute, prismatic or screw"
            )
        for word, number in (("stiffness", stiffness), ("rest", rest), ("damping", damping)):
            if not np.isfinite(number) or (number < 0.0 and word == "damping"):
                raise ValueError(f"{name}: {word} is {number}")
        self.joints[child] = _Joint(
            parent,
            axis / size,
            rotation(orientation, name),
            vector(position, f"position of the {name}"),
            float(stiffness),
            float(rest),
            float(damping),
        )

    def add_floating_joint(
        self, child: Hashable, position: ArrayLike = (0.0, 0.0, 0.0)
    ) -> list[Hashable]:
        """Add six joints to a free body: three sliders, then hinges about z, y and x.

        Parameters
        ----------
        child : hashable
            Body without a joint.
        position : array_like, shape (3,)
            Its origin in the world at zero coordinates, m.

        Returns
        -------
        list of hashable
            The six joints: (child, "x"), (child, "y"), (child, "z"), (child, "yaw"),
            (child, "pitch") and child itself, the roll.

        Notes
        -----
        The coordinates are singular at a pitch of 90 degrees.
        """
        axes = np.eye(3)
        steps = [("x", prismatic(axes[0])), ("y", prismatic(axes[1])), ("z", prismatic(axes[2]))]
        steps += [("yaw", revolute(axes[2])), ("pitch", revolute(axes[1]))]
        above: Hashable = WORLD
        labels: list[Hashable] = []
        for word, twist in steps:
            label = (child, word)
            self.add_body(label)
            self.add_joint(above, label, twist, position=position)
            position = (0.0, 0.0, 0.0)
            labels.append(label)
            above = label
        self.add_joint(above, child, revolute(axes[0]))
        return [*labels, child]

    def add_pin(
        self,
        name: Hashable,
        a: Hashable,
        b: Hashable = WORLD,
        *,
        point_a: ArrayLike = (0.0, 0.0, 0.0),
        point_b: ArrayLike = (0.0, 0.0, 0.0),
        axes: ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    ) -> None:
        """Constrain a point of body a to a point of body b, along given world axes.

        Parameters
        ----------
        name : hashable
            Label of the constraint.
        a, b : hashable
            Two bodies, or a body and the world.
        point_a, point_b : array_like, shape (3,)
            Points in the frames of the two, m.
        axes : array_like, shape (rows, 3)
            Directions in the world frame, one constraint each. Leave out those along which the
            joints allow no motion, such as the normal of a plane mechanism.
        """
        for label in (a, b):
            if label != WORLD and label not in self.bodies:
                raise UnknownNameError(f"constraint {name!r}: there is no body {label!r}")
        if a == WORLD or a == b:
            raise ValueError(f"constraint {name!r}: a must be a body, and another one than b")
        ends = [vector(x, f"point of constraint {name!r}") for x in (point_a, point_b)]
        for axis in np.atleast_2d(np.asarray(axes, float)):
            numbers = np.concatenate([direction(axis), *ends])
            self.constraints.append((name, "pin", (a, b), numbers))

    def add_coupling(
        self, name: Hashable, ratios: Mapping[Hashable, float], constant: float = 0.0
    ) -> None:
        """Keep the sum of ratio * coordinate of one or two joints constant, as a gear does.

        Parameters
        ----------
        name : hashable
            Label of the constraint.
        ratios : mapping of hashable to float
            Ratios by label of one or two joints.
        constant : float
            Value of the sum.
        """
        for label in ratios:
            if label not in self.joints:
                raise UnknownNameError(f"constraint {name!r}: there is no joint {label!r}")
        if len(ratios) not in (1, 2) or not any(ratios.values()):
            raise ValueError(f"constraint {name!r} needs ratios of one or two joints")
        labels = [*ratios, WORLD][:2]
        numbers = np.zeros(9)
        numbers[: len(ratios)] = list(ratios.values())
        numbers[2] = constant
        self.constraints.append((name, "coupling", (labels[0], labels[1]), numbers))

    def order(self) -> list[Hashable]:
        """Joints in the order in which they were added, with parents before children.

        Returns
        -------
        list of hashable

        Raises
        ------
        ValueError
            If a body has no joint.
        """
        loose = [label for label in self.bodies if label not in self.joints]
        if loose or not self.joints:
            what = f"body {loose[0]!r} has no joint" if loose else "the tree has no joint"
            raise ValueError(f"{what}: call add_joint or add_floating_joint")
        found: dict[Hashable, None] = {}
        for label in self.joints:
            for above in [*reversed(self._path(label))]:
                found.setdefault(above)
        return list(found)

    def _path(self, label: Hashable) -> list[Hashable]:
        """The body and its ancestors, without the world."""
        path = []
        while label != WORLD:
            path.append(label)
            if label not in self.joints:
                break
            label = self.joints[label].parent
        return path
