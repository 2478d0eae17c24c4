"""Stages of USD: layers that are allowed, units, and frames of prims in metres with z upwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from dynamics import rotation
from dynamics.io.description import Pose
from dynamics.io.parsing import mesh_path

__all__ = ["Stage", "authored", "quiet"]

Float = NDArray[np.float64]
#: Least singular value over the largest of a frame that is no plane or line.
FLAT = 1e-9
#: Layers of one stage, prims that it is composed to, and how deep these nest.
MOST, MOST_PRIMS, DEEPEST = 10_000, 1_000_000, 200
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
        Where ``usd-core`` is not installed.
    ValueError
        Where OpenUSD refuses the file.
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
        reason = _reason(error, path.parent)
        raise ValueError(f"{path.name}: OpenUSD refuses it: {reason}") from None
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
        self.layers = self._checked(within)  # alive, so that none is read twice
        self.stage = pxr.Usd.Stage.Open(str(path))
        wrong: list[Any] = getattr(self.stage, "GetCompositionErrors", list)()
        if wrong:
            reason = _reason(ValueError(wrong[0]), path.parent)
            raise ValueError(f"{path.name}: its layers do not fit together: {reason}")
        geom = pxr.UsdGeom
        self.length = float(geom.GetStageMetersPerUnit(self.stage))
        self.has_units = bool(geom.StageHasAuthoredMetersPerUnit(self.stage))
        self.mass = float(pxr.UsdPhysics.GetStageKilogramsPerUnit(self.stage))
        for name, unit in (("metersPerUnit", self.length), ("kilogramsPerUnit", self.mass)):
            if not 0.0 < unit < np.inf:
                raise ValueError(f"{path.name}: {name} is {unit}, and must be positive")
        up = str(geom.GetStageUpAxis(self.stage))
        self.upright = Pose(orientation=Y_TO_Z) if up == "Y" else Pose()
        self.cache = geom.XformCache()

    def _checked(self, within: Path | None) -> list[Any]:
        """Layers of the file and of all that it names, each in a folder that it may lie in."""
        sdf, tf = self.pxr.Sdf, self.pxr.Tf
        layers: dict[Path, Any] = {}
        waiting = [self.path]
        while waiting:
            file = waiting.pop()
            if file.resolve() in layers:
                continue
            try:
                layer = sdf.Layer.FindOrOpen(str(file))
            except tf.ErrorException as error:
                reason = _reason(error, file.parent)
                raise ValueError(f"{file.name}: OpenUSD refuses it: {reason}") from None
            if layer is None:
                raise ValueError(f"{file.name}: OpenUSD cannot read it")
            layers[file.resolve()] = layer
            if len(layers) > MOST:
                raise ValueError(f"{self.path.name} names more than {MOST} layers")
            for name in filter(None, sorted(layer.GetCompositionAssetDependencies())):
                label = f"{self.path.name}: layer {name!r}"
                starts = [file.parent]
                bare = mesh_path(
                    name, label, "move it there", starts=starts, within=within or self._folder()
                )
                one = file.parent / bare
                if one.suffix.lower() == ".usdz":
                    raise ValueError(f"{label}: .usdz archives are not read; unpack it")
                if not one.is_file():
                    raise FileNotFoundError(f"{label}: there is no file {bare!r}")
                waiting.append(one)
        _Counter(self.path, layers).check()
        return list(layers.values())

    def _folder(self) -> Path:
        return self.path.parent.resolve()

    def check(self, prim: Any) -> None:
        """Refuse attributes whose values are not of the types of their schemas.

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


class _Counter:
    """Prims that a stage is composed to, before it is: a reference may stand for any number."""

    def __init__(self, path: Path, layers: dict[Path, Any]) -> None:
        self.path, self.layers = path, layers
        self.known: dict[tuple[Any, str], int] = {}
        self.waiting: set[tuple[Any, str]] = set()

    def check(self) -> None:
        """Refuse a stage of too many prims; all layers are counted, referenced ones once more."""
        total = sum(self.count(one, "/", 0) for one in self.layers.values())
        if total > MOST_PRIMS:
            raise ValueError(
                f"{self.path.name} stands for {total:.0e} prims by its references; at most "
                f"{MOST_PRIMS:.0e} are read"
            )

    def of(self, layer: Any, name: str) -> Any:
        """Layer that another one names; itself by no name."""
        file = Path(layer.realPath).parent / name
        return self.layers.get(file.resolve()) if name else layer

    def count(self, layer: Any, path: str, depth: int) -> int:
        """Prims at and below a path, with those of references and payloads."""
        key = (layer, path)
        prim = None if layer is None else layer.GetPrimAtPath(path)
        if prim is None or key in self.waiting:  # a circle is refused by OpenUSD
            return 1
        if depth > DEEPEST:
            raise ValueError(f"{self.path.name} nests prims more than {DEEPEST} deep")
        if key not in self.known:
            self.waiting.add(key)
            total = 1
            for one in self.specs(prim):
                total += sum(
                    self.count(layer, str(child.path), depth + 1) for child in one.nameChildren
                )
                for arcs in (one.referenceList, one.payloadList):
                    for arc in arcs.GetAddedOrExplicitItems():
                        other = self.of(layer, arc.assetPath)
                        start = str(arc.primPath) or f"/{getattr(other, 'defaultPrim', '')}"
                        total += self.count(other, start, depth + 1)
                for arcs in (one.inheritPathList, one.specializesList):
                    for base in arcs.GetAddedOrExplicitItems():
                        total += self.count(layer, str(base), depth + 1)
            self.waiting.discard(key)
            self.known[key] = total
        return self.known[key]

    @staticmethod
    def specs(prim: Any) -> Iterator[Any]:
        """A prim and all its variants."""
        yield prim
        for sets in getattr(prim, "variantSets", {}).values():
            for variant in sets.variants.values():
                yield variant.primSpec


def _turn(matrix: Float, label: str) -> Float:
    """Rotation next to a matrix of axes; what mirrors or shears is no part of it."""
    u, s, v = np.linalg.svd(matrix / np.maximum(np.linalg.norm(matrix, axis=0), 1e-300))
    if s[-1] < FLAT * s[0] or not matrix.any():
        raise ValueError(f"{label} is scaled to nothing along some axis")
    turned = u @ v
    if np.linalg.det(turned) < 0.0:  # mirrored: primitives look the same mirrored along an axis
        turned = turned * [1.0, 1.0, -1.0]
    return rotation.from_matrix(turned)


def _reason(error: Exception, folder: Path) -> str:
    """First sentence of OpenUSD's errors, without the folder of the file."""
    texts = [str(getattr(one, "commentary", one)) for one in error.args] or [str(error)]
    return " ".join(texts[0].replace(f"{folder}/", "").split()).rstrip(".")
