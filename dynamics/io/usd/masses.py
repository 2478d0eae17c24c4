"""Masses of USD's bodies, as OpenUSD sums them up from what bodies, colliders and densities say."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamics import rotation
from dynamics.io.description import Link, Pose
from dynamics.io.notes import Notes
from dynamics.io.usd.shapes import Shapes, extent_of
from dynamics.io.usd.stage import Stage, authored

__all__ = ["fill_mass"]


def fill_mass(
    stage: Stage, body: Any, link: Link, place: Pose, shapes: Shapes, notes: Notes
) -> None:
    """Give a link its mass, centre of mass and inertia.

    Parameters
    ----------
    stage : Stage
    body : pxr.UsdPhysics.RigidBodyDesc
    link : Link
        Changed.
    place : Pose
        Of the body in the world.
    shapes : Shapes
    notes : Notes

    Raises
    ------
    ValueError
        For numbers that no body has, and open meshes that would have to give them.
    """
    pxr, label = stage.pxr, f"{stage.path.name}: body {link.name!r}"
    prim = stage.stage.GetPrimAtPath(body.primPath)
    mass, moments, axes = (
        prim.GetAttribute(f"physics:{name}").Get()
        for name in ("mass", "diagonalInertia", "principalAxes")
    )
    if mass is not None and mass < 0.0:
        raise ValueError(f"{label} has the mass {mass}, which is negative")
    problems: list[ValueError] = []
    volumes: list[float] = []

    def extent(collider: Any) -> Any:
        """Volume, inertia at a density of 1 and place of a collider, in the file's units."""
        info, unit = pxr.UsdPhysics.RigidBodyAPI.MassInformation(), stage.length
        volume, inertia, center, at = 0.0, np.zeros((3, 3)), np.zeros(3), Pose()
        try:
            geometry = shapes.read(collider, place)
            if geometry is not None:
                volume, inertia, center = extent_of(geometry, stage.name(collider))
                at = Pose(geometry.position, geometry.orientation)
        except ValueError as error:
            problems.append(error)
        volumes.append(volume)
        info.volume = volume / unit**3
        info.inertia = pxr.Gf.Matrix3f(*(inertia / unit**5).ravel().tolist())
        info.centerOfMass = pxr.Gf.Vec3f(*(center / unit).tolist())
        info.localPos = pxr.Gf.Vec3f(*(at.position / unit).tolist())
        info.localRot = pxr.Gf.Quatf(*at.orientation.tolist())
        return info

    api = pxr.UsdPhysics.RigidBodyAPI(prim)
    found_mass, found_moments, center, found_axes = api.ComputeMassProperties(extent)
    has_inertia = moments is not None and any(moments)
    if problems and not (mass and has_inertia):
        raise problems[0]
    if not any(volumes):  # OpenUSD does not set the axes then
        given = axes is not None and (axes.GetReal() or any(axes.GetImaginary()))
        found_axes = axes if given else pxr.Gf.Quatf(1.0)
        if mass and not has_inertia:
            notes.merge("bodies without inertia and shapes, balls of 0.1 m as USD says", link.name)
    values = [authored(x) for x in (found_mass, *found_moments, *center)]
    q = np.array([authored(x) for x in (found_axes.GetReal(), *found_axes.GetImaginary())])
    if not np.isfinite([*values, *q]).all() or not q.any():
        raise ValueError(
            f"{label} has the mass {found_mass}, inertia {found_moments} and centre {center}"
        )
    link.mass = stage.mass * max(values[0], 0.0)
    R = rotation.to_matrix(rotation.normalized(q))
    inertia = R @ np.diag(values[1:4]) @ R.T
    link.inertia = stage.mass * stage.length**2 * (inertia + inertia.T) / 2.0
    link.center = stage.length * np.array(values[4:])
