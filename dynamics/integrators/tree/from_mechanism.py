"""Bodies and joints of a mechanism as a tree in minimal coordinates."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.integrators.tree.twists import at_origin, prismatic, revolute
from dynamics.kernels.rows import rows as kinds
from dynamics.parts.bodies import WORLD, Body
from dynamics.parts.couplings import counters
from dynamics.parts.joints import Joint, Row

if TYPE_CHECKING:
    from dynamics.integrators.tree.description import Tree
    from dynamics.mechanism import Mechanism

__all__ = ["fill", "label_of"]

Float = NDArray[np.float64]

#: Rows whose value is the coordinate of one hinge or slider.
SINGLE = (kinds.TRANSLATION, kinds.ANGLE, kinds.HEADING_A, kinds.HEADING_B)
#: Bounds that a joint of a mechanism may have.
LIMITS = ("limits", "velocity_limits", "control_limits")


def fill(tree: Tree, mechanism: Mechanism) -> None:
    """Add all bodies, joints and couplings of a mechanism; see `Tree.from_mechanism`."""
    counted = counters(mechanism.couplings)  # which a tree needs not: its angles are no poses
    _refuse_parts(mechanism, counted)
    slides = {mechanism.tendons[name].slider for name in counted}
    left = {name: joint for name, joint in mechanism.joints.items() if name not in counted}
    reached: list[Hashable] = [WORLD.name]
    for name in reached:
        for joint in [one for one in left.values() if one.parent.name == name]:
            del left[joint.name]
            if joint.child.name in reached:
                raise ValueError(
                    f"joint {joint.name!r} closes a loop: leave it out and hold its points with "
                    "add_pin"
                )
            reached.append(joint.child.name)
            _add(tree, joint)
    for joint in left.values():
        raise ValueError(
            f"joint {joint.name!r} is reached from its child {joint.child.name!r}, or from nothing "
            "that the world holds: exchange parent and child, or join its bodies to the world"
        )
    for body in mechanism.bodies.values():
        if body.name not in reached and body.name not in slides:
            raise ValueError(f"body {body.name!r} has no joint: use Tree.add_floating_joint")
    for one in mechanism.couplings.values():
        ends = (mechanism.joints[one.follower], mechanism.joints[one.leader])
        follower, leader = (label_of(joint, 0) for joint in ends)
        tree.add_coupling(one.name, {follower: 1.0, leader: -one.ratio}, one.offset)


def label_of(joint: Joint, coordinate: int) -> Hashable:
    """Label in the tree of a joint's coordinate: the child, or (child, k) before the last."""
    last = coordinate == len(joint.positions) - 1
    return joint.child.name if last else (joint.child.name, coordinate)


def _refuse_parts(mechanism: Mechanism, counted: set[Hashable]) -> None:
    """Refuse parts that trees do not have, but for tendons that count turns."""
    for what in ("tendons", "springs", "thrusters", "wrenches", "potentials", "contacts"):
        for name in (one for one in getattr(mechanism, what) if one not in counted):
            raise ValueError(
                f"a tree has no {what}, and the mechanism has {name!r}; forces at joints are "
                "stiffness= and damping=, others go to TreeIntegrator.simulate"
            )
    for joint in (one for one in mechanism.joints.values() if one.name not in counted):
        label = f"joint {joint.name!r}"
        odd = [row for row in joint.positions if row.kind not in SINGLE]
        odd += [row for row in joint.rows if row.kind == kinds.SCREW]
        if not joint.positions or odd or joint.user is not None:
            raise ValueError(
                f"{label} ({joint.kind}) is not a chain of hinges and sliders; a tree takes "
                "Revolute, Prismatic, Cylindrical, Planar, PlanarAxis, FixedOrientation, FreeAxis "
                "and Universal"
            )
        _refuse_properties(joint)
        if joint.soft:
            raise ValueError(f"{label} is compliant, and the joints of a tree are rigid")


def _refuse_properties(joint: Joint) -> None:
    """Refuse properties of joints that trees do not have, with the options that leave them out."""
    found = [what for what in ("friction", "armature") if getattr(joint, what).any()]
    found += [what for what in LIMITS if getattr(joint, what) is not None]
    if joint.servo is not None:
        raise ValueError(
            f"joint {joint.name!r} has a servo, and those of a tree have none: load a robot file "
            f"with actuated={{{joint.name!r}: 'motor'}}, or give no servo="
        )
    if found:
        bounds = set(found) & set(LIMITS)
        planners = "; planners have least_q=, most_q= and most_force= for limits" if bounds else ""
        raise ValueError(
            f"joint {joint.name!r} has {', '.join(found)}, and those of a tree have none: load a "
            f"robot file with without={found}, or leave them out{planners}"
        )


def _add(tree: Tree, joint: Joint) -> None:
    """Add a joint's child, after a massless body for each coordinate but the last."""
    above: Any = "world" if joint.parent is WORLD else joint.parent.name
    to_child = rotation.to_matrix(joint.offset).T
    position = joint.parent_point - to_child.T @ joint.child_point
    orientation = joint.offset
    for k, row in enumerate(joint.positions):
        label = label_of(joint, k)
        if label == joint.child.name:
            _add_body(tree, joint.child)
        else:
            tree.add_body(label)
        tree.add_joint(
            above,
            label,
            _twist(row, to_child, joint.child_point),
            position=position,
            orientation=orientation,
            stiffness=joint.stiffness[k],
            rest=joint.rest[k],
            damping=joint.damping[k],
        )
        above, position, orientation = label, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])


def _twist(row: Row, to_child: Float, point: Float) -> Float:
    """Twist of a coordinate in the child's frame where all coordinates are 0."""
    if row.kind == kinds.TRANSLATION:
        return prismatic(to_child @ row.axis)
    if row.kind == kinds.HEADING_A:
        return revolute(to_child @ row.axis, point)
    return revolute(row.second if row.kind == kinds.HEADING_B else row.axis, point)


def _add_body(tree: Tree, body: Body) -> None:
    """Add a body with its inertia about the origin of its frame, and its drag."""
    inertia = body.spatial_inertia
    if inertia is None:
        inertia = at_origin(body.mass, body.inertia, np.zeros(3))
    tree.add_body(
        body.name,
        body.gravity_scale * body.mass,
        center=body.center_of_mass,
        spatial_inertia=inertia,
        drag=np.diag([body.spin_drag] * 3 + [body.drag] * 3),
    )
