"""Scene of the page: looks of bodies and world, poses, contact forces and curves over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.display.viewer.looks import (
    Part,
    Surface,
    ends_of,
    looks_of,
    still_of,
    visible,
)  # fmt: skip
from dynamics.display.viewer.packing import Packer
from dynamics.kernels.rows import rows as kinds
from dynamics.parts.bodies import WORLD
from dynamics.parts.joints import Joint
from dynamics.parts.surroundings import planes_of

if TYPE_CHECKING:
    from dynamics.trajectory import Trajectory

__all__ = ["scene_of"]

Float = NDArray[np.float64]
FELT = 1e-3  #: of the largest contact force of a motion: below it is that of distant surfaces
AROUND = {kinds.ROTATION, kinds.ANGLE, kinds.LOGARITHM, kinds.SPIN}
#: Rounding of what is drawn: of lengths over the size of the scene, of quaternions, of forces over
#: the usual one, of curves over their range. A picture of 4000 pixels shows 2.5e-4.
FINE = 1e-5
SECOND = 1e-6  #: rounding of times, s
MOST_CURVES = 8  #: lines in one chart
MOST_POINTS = 600  #: records in one chart
SAMPLES = 60  #: records that frame the motion
FAR = 4.0  #: a motion over so many sizes of its start is followed instead of framed


def scene_of(trajectory: Trajectory, title: str, rate: float) -> bytes:
    """Scene of a trajectory, packed.

    Parameters
    ----------
    trajectory : Trajectory
    title : str
    rate : float
        Most records a second; pictures between them are interpolated.

    Returns
    -------
    bytes
        See `dynamics.display.viewer.packing`.

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
    packer, shelf = Packer(), _Shelf()
    bodies = visible(mechanism)
    numbers = {body.name: i for i, body in enumerate(bodies)}
    shown = poses[:, [trajectory.model.body_number(body.name) for body in bodies]]
    looks = [looks_of(body, i) for i, body in enumerate(bodies)]
    still = still_of(mechanism)
    low, high, reach, roams = _frame(shown, [ends_of(parts) for parts in looks])
    planes = planes_of(mechanism)
    points, forces, usual = _contacts(trajectory, chosen)
    part = _every(chosen, MOST_POINTS)
    unit = FINE * reach
    places, turns = packer.series(shown[:, :, :3], unit), packer.series(shown[:, :, 3:], FINE)
    return packer.packed({
        "title": title,
        "time": packer.series(trajectory.time[chosen], SECOND),
        "bodies": [
            {"name": str(body.name), "parts": [shelf.entry(part, packer) for part in parts]}
            for body, parts in zip(bodies, looks)
        ],
        "still": [
            {"name": name, "parts": [shelf.entry(part, packer) for part in parts]}
            for name, parts in still.items()
        ],
        "meshes": shelf.meshes,
        "positions": places,
        "orientations": turns,
        "joints": [
            _joint(joint, numbers) for joint in mechanism.joints.values()
            if joint.n_rows > 0 and (joint.parent is WORLD or joint.parent.name in numbers)
        ],
        "touches": points.shape[1],
        "points": packer.series(points, unit),
        "forces": packer.series(forces, FINE),  # 1 is drawn in one length
        "usual": usual,
        "planes": [
            {"point": p.tolist(), "normal": n.tolist()} for p, n in planes if not _level(n)
        ],
        "floor": _floor(planes, float(low[2]), reach),
        "low": low.tolist(),
        "high": high.tolist(),
        "reach": reach,
        "roams": roams,
        "curve_time": packer.series(trajectory.time[part], SECOND),
        "curves": _curves(trajectory, part, packer),
    })  # fmt: skip


def _chosen(time: Float, rate: float) -> NDArray[np.int64]:
    """Records at most `rate` a second, the last one among them."""
    every = 1
    if time.size > 1:
        every = max(1, int(np.floor(1.0 / rate / max(1e-12, float(np.diff(time).max())) + 1e-9)))
    chosen = np.arange(0, time.size, every)
    return chosen if chosen[-1] == time.size - 1 else np.append(chosen, time.size - 1)


def _every(chosen: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """At most so many of the records, evenly, the first and the last among them."""
    if chosen.size <= most:
        return chosen
    return chosen[np.rint(np.linspace(0, chosen.size - 1, most)).astype(np.int64)]


def _frame(poses: Float, ends: list[Float]) -> tuple[Float, Float, float, bool]:
    """Box of the motion, size of the scene, and whether the motion leaves the box of its start."""
    records = np.unique(np.linspace(0, len(poses) - 1, SAMPLES).astype(np.int64))
    boxes = []
    for k in records:
        corners = [
            x[:3] + rotation.rotate(np.broadcast_to(x[3:], (len(e), 4)), e)
            for x, e in zip(poses[k], ends)
        ]
        every = np.concatenate([np.zeros((0, 3)), *corners])
        boxes.append((every.min(axis=0, initial=np.inf), every.max(axis=0, initial=-np.inf)))
    if not ends:
        return -np.ones(3), np.ones(3), 1.0, False
    first = float(np.linalg.norm(boxes[0][1] - boxes[0][0])) or 1.0
    low = np.min([box[0] for box in boxes], axis=0)
    high = np.max([box[1] for box in boxes], axis=0)
    if np.linalg.norm(high - low) > FAR * first:
        return boxes[0][0], boxes[0][1], first, True
    return low, high, 0.6 * float(np.linalg.norm(high - low)) or 1.0, False


def _level(normal: Float) -> bool:
    return bool(normal[2] > 1.0 - 1e-9)


def _floor(planes: list[tuple[Float, Float]], low: float, reach: float) -> float:
    """Height of the ground: that of contacts, else 0 if nothing is below it, else below all."""
    heights = [float(point[2]) for point, normal in planes if _level(normal)]
    if heights:
        return min(heights)
    least = min([low, *(float(point[2]) - reach for point, _ in planes)])
    return 0.0 if -0.03 * reach <= least <= reach else least - 0.1 * reach


def _contacts(trajectory: Trajectory, chosen: NDArray[np.int64]) -> tuple[Float, Float, float]:
    """Points of all contacts, m, forces there over the median force, and that force, N.

    Points and forces have shape (k, touches, 3), along the world's axes.
    """
    part = trajectory[chosen]
    names = [*trajectory.model.mechanism.contacts, *part.near_pairs]
    found = [part.contact(name) for name in names]
    empty = [np.zeros((chosen.size, 0, 3))]
    points = np.concatenate(empty + [one.point for one in found], axis=1)
    each = [one.normal_force[..., None] * one.normal + one.friction_force for one in found]
    forces = np.concatenate(empty + each, axis=1)
    sizes = np.linalg.norm(forces, axis=-1)
    felt = sizes[sizes > FELT * sizes.max(initial=0.0)]
    usual = float(np.median(felt)) if felt.size else 0.0
    return points, forces / usual if usual else forces, usual


def _curves(
    trajectory: Trajectory, chosen: NDArray[np.int64], packer: Packer
) -> list[dict[str, Any]]:
    """Charts: energies, coordinates of joints, forces of contacts."""
    if chosen.size < 2:
        return []
    model = trajectory.model
    part = trajectory[chosen]
    energies = {name: values for name, values in part.energies().items() if np.any(values)}
    energies["total"] = np.asarray(part.energy())
    ties = [c.plane.tie for c in model.mechanism.contacts.values() if c.plane is not None]
    joints: dict[str, Float] = {}
    coordinates = 0
    for name, joint in model.mechanism.joints.items():
        free = len(joint.positions)
        if not 0 < free < 6 or joint in ties:
            continue
        coordinates += free
        if len(joints) < MOST_CURVES:
            for i, column in enumerate(part.joint(name).reshape(chosen.size, -1).T):
                joints[f"{name} {i}" if free > 1 else str(name)] = column
    names = [*model.mechanism.contacts, *part.near_pairs]
    forces = {str(name): part.contact(name).normal_force.sum(axis=1) for name in names}
    touching = len(forces)
    largest = sorted(forces, key=lambda name: -float(np.abs(forces[name]).max()))[:MOST_CURVES]
    forces = {name: values for name, values in forces.items() if name in largest}
    charts = (("energy", "J", energies, len(energies)), ("joints", "m or rad", joints, coordinates),
              ("contact forces", "N", forces, touching))  # fmt: skip
    return [_chart(title, unit, lines, n, packer) for title, unit, lines, n in charts if lines]


def _chart(
    title: str, unit: str, lines: dict[str, Float], count: int, packer: Packer
) -> dict[str, Any]:
    """Lines of one chart, and in its title how many of all they are, where it has not all."""
    names = list(lines)[:MOST_CURVES]
    if len(names) < count:
        unit = f"{unit}: {len(names)} of {count}"
    values = np.stack([lines[name] for name in names], axis=1)
    fine = FINE * float(np.ptp(values)) or 1e-12
    return {"title": title, "unit": unit, "names": names, "values": packer.series(values, fine)}


class _Shelf:
    """Meshes of a scene, each kept once."""

    def __init__(self) -> None:
        self.meshes: list[dict[str, Any]] = []
        self._numbers: dict[bytes, int] = {}

    def entry(self, part: Part, packer: Packer) -> dict[str, Any]:
        """One part, ready for JSON."""
        made = {
            "kind": part.kind, "size": [float(x) for x in part.size],
            "position": part.position.tolist(), "orientation": part.orientation.tolist(),
            "color": list(part.color),
        }  # fmt: skip
        if part.surface is not None:
            made["mesh"] = self._number(part.surface, packer)
        return made

    def _number(self, surface: Surface, packer: Packer) -> int:
        colors = surface.colors
        key = surface.vertices.tobytes() + surface.faces.tobytes()
        key += b"" if colors is None else colors.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self.meshes)
            low = surface.vertices.min(axis=0)
            step = float((surface.vertices.max(axis=0) - low).max()) / 65535.0 or 1.0
            places = np.rint((surface.vertices - low) / step).astype(np.int64)
            made = {
                "low": low.tolist(), "step": step,
                "vertices": packer.integers(places), "faces": packer.integers(surface.faces),
            }  # fmt: skip
            if colors is not None:
                palette, index = np.unique(colors[:, :3], axis=0, return_inverse=True)
                made["palette"] = (palette / 255.0).round(4).tolist()
                made["colors"] = packer.integers(index.ravel())
            self.meshes.append(made)
        return self._numbers[key]


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
