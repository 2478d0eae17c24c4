"""Concave meshes as convex parts, by CoACD: in a process of its own, kept in the user's cache."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import graphsys as gs
from dynamics import rotation
from dynamics.parts.closed_surfaces import closed_surface, signed_volume
from dynamics.parts.contacts import check_coefficients
from dynamics.parts.convex_hulls import hull_mesh, hull_of, outermost
from dynamics.parts.geometry import Geometry, Mesh, Surface

__all__ = ["FILLED", "convex_parts", "cut", "hull_ratio"]

Float = NDArray[np.float64]
#: Part of its volume that a mesh's hull may have more, and it counts as convex: printed curves.
FILLED = 1e-3
#: Version of cache entries; their key also has CoACD's version and the settings.
VERSION = 1
WORKER = """
import sys
import numpy as np
import coacd
given = np.load(sys.argv[1])
coacd.set_log_level("info")
parts = coacd.run_coacd(
    coacd.Mesh(given["vertices"], given["faces"]), threshold=float(sys.argv[3]), seed=0
)
count = [len(points) for points, _ in parts]
np.savez(sys.argv[2], count=count, points=np.concatenate([points for points, _ in parts]))
"""
ROUND, PART = re.compile(r"iter (\d+) ----"), re.compile(r"Processing \[([\d.]+)%\]")


def convex_parts(
    mesh: str | Path | Mesh | Geometry | Any,
    *,
    concavity: float = 0.05,
    position: ArrayLike = (0.0, 0.0, 0.0),
    orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
    friction: float = 0.5,
) -> list[Geometry]:
    """Convex decomposition of a concave mesh, by CoACD.

    Use the parts as ``collisions=`` of a body, or add each as an obstacle of the world. They are
    stored in the user's cache (`NUMBA_CACHE_DIR`, or the system's folder for caches) by the content
    of the mesh, so only the first call takes seconds. Needs the extra ``convex``.

    Parameters
    ----------
    mesh : str, Path, Geometry or object
        File (STL, OBJ, and with the extra ``meshes`` COLLADA, glTF and PLY), collision shape of a
        body, or an object with ``vertices``, shape (v, 3), and ``faces``, shape (f, 3), such as a
        mesh of trimesh.
    concavity : float, optional
        Largest distance between a part and the mesh inside it, relative to half the size of the
        mesh; from 0.01, with many parts, to 1.
    position : array_like, shape (3,), optional
        Position of the mesh in the frame of its body or the world, m. A geometry has its own pose.
    orientation : array_like, shape (4,), optional
        Orientation, mesh to body or world, scalar first. A geometry has its own pose.
    friction : float, optional
        Coefficient of sliding friction; a geometry has its own.

    Returns
    -------
    list of Geometry
        The mesh itself if it is convex. Parts have at most 26 vertices.

    Raises
    ------
    ValueError
        For a mesh that is open, flat, has more than 200 000 triangles or cannot be read, and for
        invalid numbers. Faces that wind inward are turned.
    FileNotFoundError
        If the file does not exist.
    graphsys.MissingExtraError
        If ``coacd`` is not installed.

    References
    ----------
    .. [1] X. Wei, M. Liu, Z. Ling, H. Su, Approximate convex decomposition for 3D meshes with
       collision-aware concavity and tree search, ACM Transactions on Graphics 41(4), 2022.
    """
    if isinstance(mesh, Geometry):
        owner, label = mesh, f"mesh {getattr(mesh.shape, 'path', '') or 'of a geometry'!r}"
        if not isinstance(mesh.shape, Mesh):
            raise TypeError(f"{type(mesh.shape).__name__} is not a mesh, and convex already")
    else:
        surface, label = _mesh(mesh)
        check_coefficients(label, {"friction": friction})
        x = rotation.as_numbers(position, (3,), f"position of {label}")
        q = rotation.as_numbers(orientation, (4,), f"orientation of {label}")
        owner = Geometry(surface, x, rotation.normalized(q), surface=Surface(float(friction)))
    vertices, faces, _ = closed_surface(owner.shape, label)
    return cut(owner, vertices, faces, label, concavity)


def cut(
    geometry: Geometry, vertices: Float, faces: NDArray[np.int64], label: str, concavity: float
) -> list[Geometry]:
    """Convex parts of a geometry with a closed surface, in its place; see `convex_parts`."""
    if not 0.01 <= concavity <= 1.0:
        raise ValueError(f"concavity of {label} is {concavity}, and must be from 0.01 to 1")
    if hull_ratio(vertices, faces) <= 1.0 + FILLED:
        return [geometry]
    points = _kept(vertices, faces, label, float(concavity))
    return [replace(geometry, shape=one) for one in points]


def hull_ratio(vertices: Float, faces: NDArray[np.int64]) -> float:
    """Volume of the convex hull of a closed surface, relative to its own."""
    from scipy.spatial import ConvexHull

    return float(ConvexHull(vertices).volume) / max(signed_volume(vertices[faces]), 1e-300)


def _mesh(given: Any) -> tuple[Mesh, str]:
    """Mesh of a file or of an object with vertices and faces."""
    if isinstance(given, Mesh):
        return given, f"mesh {given.path or 'of arrays'!r}"
    if isinstance(given, (str, Path)):
        path = Path(given)
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        return Mesh(path.name, str(path.resolve().parent), np.ones(3)), f"mesh {path.name!r}"
    if not (hasattr(given, "vertices") and hasattr(given, "faces")):
        raise TypeError(
            f"convex_parts takes a file, a geometry, or what has vertices and faces, not {given!r}"
        )
    vertices, faces = np.array(given.vertices, np.float64), np.array(given.faces)
    if vertices.ndim != 2 or vertices.shape[1] != 3 or not np.isfinite(vertices).all():
        raise ValueError("vertices of a mesh must be finite numbers of shape (v, 3)")
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu" or len(faces) == 0:
        raise ValueError("faces of a mesh must be numbers of vertices, of shape (f, 3)")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise ValueError(f"faces of a mesh must be numbers of its {len(vertices)} vertices")
    return Mesh("", "", np.ones(3), vertices, faces.astype(np.int64)), "mesh of arrays"


def _kept(vertices: Float, faces: NDArray[np.int64], label: str, concavity: float) -> list[Mesh]:
    """Hulls of the parts, from the cache where they are there."""
    try:
        version = metadata.version("coacd")
    except metadata.PackageNotFoundError:
        raise gs.MissingExtraError(
            f"cutting {label} into convex parts", "coacd", "convex"
        ) from None
    settings = json.dumps([VERSION, version, concavity, vertices.shape, faces.shape])
    name = hashlib.sha256(settings.encode() + vertices.tobytes() + faces.tobytes()).hexdigest()
    path = gs.cache_folder() / "convex-parts" / f"{name}.npz"
    try:
        with suppress(OSError):  # none yet
            data = io.BytesIO(path.read_bytes())
            with np.load(data, allow_pickle=False) as kept:
                return _hulls(kept, label)
    except Exception:  # damaged, in whatever way: it is written again
        warnings.warn(f"{path} is damaged; it is computed again", RuntimeWarning, stacklevel=5)
    with tempfile.TemporaryDirectory(prefix="graphsys-") as folder:
        made = _run(Path(folder), vertices, faces, label, concavity)
        with np.load(made, allow_pickle=False) as archive:
            arrays = dict(archive)
    found = _hulls(arrays, label)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with gs.whole_file(path) as temporary:
            np.savez_compressed(temporary, **arrays)
    except OSError as error:
        warnings.warn(
            f"convex parts of {label} cannot be kept in {path.parent} ({error.strerror}), and are "
            "computed again next time",
            RuntimeWarning,
            stacklevel=5,
        )
    return found


def _hulls(arrays: Any, label: str) -> list[Mesh]:
    """Convex parts with an inside, of arrays as the worker writes them."""
    count, points = np.asarray(arrays["count"], np.int64), np.asarray(arrays["points"], np.float64)
    if points.shape != (count.sum(), 3) or count.min(initial=1) < 1:
        raise ValueError("arrays that do not belong together")
    groups = np.split(points, np.cumsum(count)[:-1])
    hulls = [hull_of(one, label) for one in groups]
    found = [hull_mesh(outermost(one.corners), label) for one in hulls if not one.flat]
    if not found:
        raise ValueError(f"CoACD finds no convex parts of {label}")
    return found


def _run(
    folder: Path, vertices: Float, faces: NDArray[np.int64], label: str, concavity: float
) -> Path:
    """Let CoACD work in another process: what ends it there does not end this one."""
    given, made = folder / "mesh.npz", folder / "parts.npz"
    np.savez(given, vertices=vertices, faces=faces.astype(np.int32))
    command = [sys.executable, "-c", WORKER, str(given), str(made), repr(concavity)]
    places = os.pathsep.join(one for one in sys.path if one)
    last: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        env=os.environ | {"PYTHONPATH": places},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            _watch(process.stdout, label, last.append)
        except BaseException:
            process.kill()
            raise
    if process.returncode or not made.is_file():
        why = last[-1].strip() if last else "no word"
        raise ValueError(f"CoACD cannot cut {label}: it ended with {process.returncode} ({why})")
    return made


def _watch(lines: Iterable[str], label: str, keep: Callable[[str], Any]) -> None:
    """Show how far CoACD is, where a person looks at stderr."""
    shown = sys.stderr is not None and sys.stderr.isatty()
    round_, part = 0, 0.0
    for line in lines:
        keep(line)
        if found := ROUND.search(line):
            round_, part = int(found[1]) + 1, 0.0
        elif found := PART.search(line):
            part = max(part, float(found[1]))
        else:
            continue
        if shown:
            text = f"\rcutting {label} into convex parts: round {round_}, {part:.0f} %  "
            print(text, end="", file=sys.stderr, flush=True)
    if shown:
        print(file=sys.stderr)
