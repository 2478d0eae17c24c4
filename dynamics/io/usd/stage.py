"""Stages of USD: units, values, and frames of prims in metres with z upwards."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from dynamics import rotation
from dynamics.io.description import Pose
from dynamics.io.usd.layers import open_layers, reason_of

__all__ = ["Stage", "authored", "quiet"]

Float = NDArray[np.float64]
#: Least singular value over the largest of a frame that is no plane or line.
FLAT = 1e-9
#: Beginnings of the names of attributes that are read.
READ = (
    "physics:", "drive:", "limit:", "xformOp", "primvars:display", "size", "radius", "height",
    "axis", "points", "faceVertex", "orientation",
)  # fmt: skip
#: Numbers of Python that stand for each other.
NUMBERS = (bool, int, float)
#: A quarter turn about x: y becomes z.
Y_TO_Z = np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0])


def authored(value: float) -> float:
    """A number in single precision as the shortest decimal that it stands for."""
    return float(str(np.float32(value)))


@contextmanager
def quiet(path: Path) -> Iterator[None]:
    """Keep OpenUSD from printing its warnings, and make its errors ours.

    Parameters
    ----------
    path : Path
        Of the file that is read.

    Yields
    ------
    None

    Raises
    ------
    graphsys.MissingExtraError
        If ``usd-core`` is not installed.
    ValueError
        If OpenUSD refuses the file.
    """
    try:
        import pxr.Tf
        import pxr.UsdUtils
    except ImportError:
        raise gs.MissingExtraError("a USD file", "usd-core", "usd") from None
    delegate = pxr.UsdUtils.CoalescingDiagnosticDelegate()
    try:
        yield
    except pxr.Tf.ErrorException as error:
        reason = reason_of(error, path.parent)
        raise ValueError(f"{path.name}: OpenUSD refuses it: {reason}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} holds names that are not UTF-8: save it as UTF-8") from None
    finally:
        delegate.TakeUncoalescedDiagnostics()
        del delegate


class Stage:
    """An open stage.

    Parameters
    ----------
    path : Path
    within : Path or None
        Folder that all its layers must lie in; by default that of the file.

    Attributes
    ----------
    pxr : module
    stage : pxr.Usd.Stage
    length, mass : float
        Metres and kilograms in one of the file's units.
    has_units : bool
        Whether the file gives its unit of length.

    Raises
    ------
    ValueError
        For a file that OpenUSD refuses, and layers outside the folder.
    FileNotFoundError
        For a layer that is not there.
    """

    def __init__(self, path: Path, within: Path | None) -> None:
        import pxr.Usd
        import pxr.UsdGeom
        import pxr.UsdPhysics
        import pxr.UsdShade

        self.pxr: Any = pxr
        self.path = path
        self.layers = open_layers(path, within)
        self.stage = pxr.Usd.Stage.Open(str(path))
        wrong: list[Any] = getattr(self.stage, "GetCompositionErrors", list)()
        if wrong:
            reason = reason_of(ValueError(wrong[0]), path.parent)
            raise ValueError(f"{path.name}: its layers do not fit together: {reason}")
        geom = pxr.UsdGeom
        self.length = float(geom.GetStageMetersPerUnit(self.stage))
        self.has_units = bool(geom.StageHasAuthoredMetersPerUnit(self.stage))
        self.mass = float(pxr.UsdPhysics.GetStageKilogramsPerUnit(self.stage))
        for name, unit in (("metersPerUnit", self.length), ("kilogramsPerUnit", self.mass)):
            if not 0.0 < unit < np.inf:
                raise ValueError(f"{path.name}: {name} is {unit}, and must be positive")
        up = str(geom.GetStageUpAxis(self.stage))
        if up not in ("Y", "Z"):
            raise ValueError(f"{path.name}: upAxis is {up!r}, and must be Y or Z")
        self.upright = Pose(orientation=Y_TO_Z) if up == "Y" else Pose()
        first = pxr.Usd.TimeCode.EarliestTime()
        self.cache = geom.XformCache(first)  # transforms with time samples alone have no default

    def check(self, prim: Any) -> None:
        """Refuse attributes that are no numbers, or not of the types of their schemas.

        Parameters
        ----------
        prim : pxr.Usd.Prim

        Raises
        ------
        ValueError
        """
        for attribute in prim.GetAuthoredAttributes():
            if not str(attribute.GetName()).startswith(READ):
                continue
            kind, value = attribute.GetTypeName(), attribute.Get()
            if not kind or value is None:
                continue
            if isinstance(value, float) and math.isnan(value):
                raise ValueError(f"{self.path.name}: {attribute.GetPath()} is no number")
            meant = type(kind.defaultValue)
            if isinstance(value, meant) or (
                meant in NUMBERS and isinstance(value, NUMBERS) and not attribute.IsCustom()
            ):
                continue
            raise ValueError(f"{self.path.name}: {attribute.GetPath()} must be a {kind}, not "
                             f"{str(value)[:40]!r}")  # fmt: skip

    # Frames

    def matrix(self, prim: Any) -> tuple[Float, Float]:
        """Matrix and origin of a prim's frame in the world, in metres and z upwards.

        Parameters
        ----------
        prim : pxr.Usd.Prim

        Returns
        -------
        matrix : ndarray of float, shape (3, 3)
            Columns are its axes, with their scales, and lengths in the file's unit.
        origin : ndarray of float, shape (3,)
        """
        M = np.array(self.cache.GetLocalToWorldTransform(prim), np.float64).T
        if not np.isfinite(M).all():
            raise ValueError(f"{self.path.name}: {prim.GetPath()} has a transform with no numbers")
        R = rotation.to_matrix(self.upright.orientation)
        return R @ M[:3, :3], self.length * (R @ M[:3, 3])

    def pose(self, prim: Any) -> Pose:
        """Pose of a prim's frame in the world, without its scale.

        Parameters
        ----------
        prim : pxr.Usd.Prim

        Returns
        -------
        Pose
        """
        matrix, origin = self.matrix(prim)
        return Pose(origin, _turn(matrix, f"{self.path.name}: {prim.GetPath()}"))

    def inside(self, prim: Any, frame: Pose) -> tuple[Pose, Float, Float, Float]:
        """Pose of a prim in a frame, its scales, and its matrix and origin there.

        Parameters
        ----------
        prim : pxr.Usd.Prim
        frame : Pose
            In the world.

        Returns
        -------
        pose : Pose
        scales : ndarray of float, shape (3,)
            Metres of one of the prim's units along its axes.
        matrix : ndarray of float, shape (3, 3)
            From the prim's coordinates to metres in the frame.
        origin : ndarray of float, shape (3,)
        """
        matrix, origin = self.matrix(prim)
        back = frame.inverse()
        matrix = self.length * (rotation.to_matrix(back.orientation) @ matrix)
        pose = Pose(back.point(origin), _turn(matrix, f"{self.path.name}: {prim.GetPath()}"))
        return pose, np.linalg.norm(matrix, axis=0), matrix, pose.position

    def name(self, prim: Any) -> str:
        """Path of a prim for messages."""
        return f"{self.path.name}: {prim.GetPath()}"


def _turn(matrix: Float, label: str) -> Float:
    """Rotation next to a matrix of axes; what mirrors or shears is no part of it."""
    u, s, v = np.linalg.svd(matrix / np.maximum(np.linalg.norm(matrix, axis=0), 1e-300))
    if s[-1] < FLAT * s[0] or not matrix.any():
        raise ValueError(f"{label} is scaled to nothing along some axis")
    turned = u @ v
    if np.linalg.det(turned) < 0.0:  # mirrored: primitives look the same mirrored along an axis
        turned = turned * [1.0, 1.0, -1.0]
    return rotation.from_matrix(turned)
