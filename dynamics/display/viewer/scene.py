"""Scene of the page: parts of bodies, joint axes, and poses over time."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.kernels.rows import rows as kinds
from dynamics.parts.bodies import WORLD, Body
from dynamics.parts.geometry import Geometry, Mesh
from dynamics.parts.joints import Joint
from dynamics.parts.meshes import triangles_of
from dynamics.parts.shapes import Box, Capsule, Compound, Round, Sphere

if TYPE_CHECKING:
    from dynamics.trajectory import Trajectory

__all__ = ["scene_of"]

Float = NDArray[np.float64]
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
#: Okabe and Ito's colours, distinguishable for colour-blind readers.
COLORS = (
    (0.0, 0.447, 0.698), (0.902, 0.624, 0.0), (0.0, 0.62, 0.451), (0.8, 0.475, 0.655),
    (0.337, 0.706, 0.914), (0.835, 0.369, 0.0), (0.6, 0.6, 0.6),
)  # fmt: skip
THINNEST = 0.02  #: of the longest edge, so that a rod or a plate without thickness is seen
FELT = 1e-3  #: of the largest contact force of a motion: below it is that of distant surfaces
AROUND = {kinds.ROTATION, kinds.ANGLE, kinds.LOGARITHM, kinds.SPIN}


def scene_of(trajectory: Trajectory, title: str, rate: float) -> dict[str, Any]:
    """Scene of a trajectory, ready for JSON.

    Parameters
    ----------
    trajectory : Trajectory
    title : str
    rate : float
        Most pictures a second.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        For a trajectory without records or with numbers that are not finite, or a rate that is not
        positive.
    """
    if not (np.isfinite(rate) and rate > 0.0):
        raise ValueError(f"rate is {rate}, and must be positive")
    if len(trajectory) == 0:
        raise ValueError("the trajectory has no records to show")
    chosen = _chosen(trajectory.time, rate)
    mechanism = trajectory.model.mechanism
    n = trajectory.model.n_bodies
    poses = trajectory.states[chosen, : 7 * n].reshape(-1, n, 7)
    if not np.isfinite(poses).all():
        raise ValueError("the trajectory holds poses that are not finite")
    bodies: list[dict[str, Any]] = [
        {"name": str(body.name), "parts": _parts(body, COLORS[i % len(COLORS)])}
        for i, body in enumerate(mechanism.bodies.values())
    ]
    low, high = poses[0, :, :3].min(axis=0), poses[0, :, :3].max(axis=0)
    sizes = [_size(part) for body in bodies for part in body["parts"]]
    reach = 0.6 * float(np.linalg.norm(high - low)) + max(sizes, default=0.0)
    numbers = {name: i for i, name in enumerate(mechanism.bodies)}
    points, forces = _contacts(trajectory, chosen)
    sizes_of = np.linalg.norm(forces, axis=-1)
    felt = sizes_of[sizes_of > FELT * sizes_of.max(initial=0.0)]
    usual = float(np.median(felt)) if felt.size else 0.0
    return {
        "title": title,
        "time": [round(float(t), 6) for t in trajectory.time[chosen]],
        "bodies": bodies,
        "poses": _packed(poses),
        "joints": [_joint(joint, numbers) for joint in mechanism.joints.values()],
        "touches": points.shape[1],
        "points": _packed(points),
        "forces": _packed(forces / usual if usual else forces),  # 1 is drawn in one length
        "center": [float(x) for x in (low + high) / 2.0],
        "reach": reach or 1.0,
    }


def _chosen(time: Float, rate: float) -> NDArray[np.int64]:
    """Records at most `rate` a second, the last one among them."""
    every = 1
    if time.size > 1:
        every = max(1, int(np.floor(1.0 / rate / max(1e-12, float(np.diff(time).max())) + 1e-9)))
    chosen = np.arange(0, time.size, every)
    return chosen if chosen[-1] == time.size - 1 else np.append(chosen, time.size - 1)


def _contacts(trajectory: Trajectory, chosen: NDArray[np.int64]) -> tuple[Float, Float]:
    """Points of all contacts and the forces there, world, m and N, shape (k, touches, 3)."""
    model = trajectory.model
    part = type(trajectory)(model, trajectory.time[chosen], trajectory.states[chosen])
    found = [part.contact(name) for name in model.mechanism.contacts]
    empty = [np.zeros((chosen.size, 0, 3))]
    points = np.concatenate(empty + [one.point for one in found], axis=1)
    forces = [one.normal_force[..., None] * one.normal + one.friction_force for one in found]
    return points, np.concatenate(empty + forces, axis=1)


def _packed(numbers: Any) -> str:
    """Single-precision numbers as text."""
    return base64.b64encode(np.asarray(numbers, "<f4").tobytes()).decode("ascii")


def _parts(body: Body, color: tuple[float, ...]) -> list[dict[str, Any]]:
    """Looks of a body: its visuals, its shape, or the box of its inertia."""
    shown = list(body.visuals)
    if not shown and body.shape is not None:
        shown = [Geometry(body.shape, np.zeros(3), IDENTITY)]
    parts = [part for one in shown or body.collisions for part in _drawn(one, color)]
    return parts or _drawn(_inertia_box(body), color)


def _drawn(geometry: Geometry, color: tuple[float, ...]) -> list[dict[str, Any]]:
    """Parts of one geometry; none for a mesh whose file is not there."""
    shape, x, q = geometry.shape, geometry.position, geometry.orientation
    if isinstance(shape, Compound):
        found = []
        for part in shape.parts:
            place = x + rotation.rotate(q, part.position)
            turned = rotation.multiply(q, part.orientation)
            found += _drawn(Geometry(part.shape, place, turned, geometry.color), color)
        return found
    entry: dict[str, Any] = {}
    if isinstance(shape, Box):
        entry = {"kind": "box", "size": [shape.x, shape.y, shape.z]}
    elif isinstance(shape, Sphere):
        entry = {"kind": "sphere", "size": [shape.radius, 0.0]}
    elif isinstance(shape, Round):
        q = rotation.multiply(q, rotation.align((0.0, 0.0, 1.0), shape.axis))
        radius = shape.radius or 0.5 * THINNEST * shape.length
        kind = "capsule" if isinstance(shape, Capsule) else "cylinder"
        entry = {"kind": kind, "size": [radius, shape.length]}
    elif isinstance(shape, Mesh):
        triangles = triangles_of(shape)
        if triangles is None:
            return []
        size = np.abs(triangles).max(initial=0.0)
        entry = {"kind": "mesh", "size": [float(size), 0.0], "triangles": _packed(triangles)}
    else:
        return []
    rgba = (*color, 1.0) if geometry.color is None else geometry.color
    entry["position"], entry["orientation"] = [float(c) for c in x], [float(c) for c in q]
    entry["color"] = [float(c) for c in rgba]
    return [entry]


def _inertia_box(body: Body) -> Geometry:
    """Box with the mass and inertia of a body."""
    moments, axes = np.linalg.eigh(body.inertia)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    squares = 6.0 / body.mass * (moments.sum() - 2.0 * moments)
    edges = np.sqrt(np.maximum(squares, 0.0))
    edges = np.maximum(edges, THINNEST * edges.max())
    return Geometry(Box(*edges, mass=body.mass), np.zeros(3), rotation.from_matrix(axes))


def _size(part: dict[str, Any]) -> float:
    size = part["size"]
    edges = size if part["kind"] == "box" else [2.0 * size[0], size[1]]
    return float(np.linalg.norm(edges) + np.linalg.norm(part["position"]))


def _joint(joint: Joint, numbers: dict[Any, int]) -> dict[str, Any]:
    """Place of a joint on its parent, and turns from z to the axes about which it is free."""
    axes = []
    for row in joint.positions:
        axis = row.axis
        if row.kind in AROUND:  # these axes are in the child's frame at 0
            axis = rotation.rotate(joint.offset, axis)
        if np.linalg.norm(axis) > 0.0:
            axes.append([float(c) for c in rotation.align((0.0, 0.0, 1.0), axis)])
    return {
        "name": str(joint.name),
        "body": -1 if joint.parent is WORLD else numbers[joint.parent.name],
        "point": [float(c) for c in joint.parent_point],
        "axes": axes,
    }
