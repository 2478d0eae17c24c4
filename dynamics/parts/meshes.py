"""Meshes as triangles, read at their first use: STL, OBJ, and by trimesh COLLADA and glTF."""

from __future__ import annotations

import io
import re
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from dynamics.parts.geometry import Mesh

__all__ = ["colored_triangles_of", "corners_of", "read_triangles", "triangles_of"]

Float = NDArray[np.float64]
Colored = tuple[Float, NDArray[np.uint8] | None]
#: Triangles of one mesh in a page; finer ones are made coarser.
MOST = 20_000
#: Kinds of files that trimesh reads, and packages that it needs for them.
BY_TRIMESH = {
    ".dae": "trimesh and pycollada",
    ".glb": "trimesh",
    ".gltf": "trimesh",
    ".ply": "trimesh",
}
#: Folders between the one that the user names and the packages in it, as in a workspace of ROS.
DEEPEST = 2
#: An STL file's triangle: normal, three corners, two bytes of anything.
STL = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")])


def triangles_of(mesh: Mesh) -> Float | None:
    """Corners of a mesh, scaled, of no more triangles than a page bears.

    Parameters
    ----------
    mesh : Mesh

    Returns
    -------
    ndarray of float, shape (t, 3, 3), or None
        None, and a warning, where the file is missing or of a kind that is not read.
    """
    found = colored_triangles_of(mesh)
    return None if found is None else found[0]


def colored_triangles_of(mesh: Mesh) -> tuple[Float, NDArray[np.uint8] | None] | None:
    """Corners as of `triangles_of`, and the colours that the file gives its triangles.

    Parameters
    ----------
    mesh : Mesh

    Returns
    -------
    triangles : ndarray of float, shape (t, 3, 3)
    colors : ndarray of uint8, shape (t, 4), or None
        Red, green, blue and opacity. COLLADA, glTF and PLY files have them.
    """
    try:
        corners, colors = _triangles(mesh)
    except FileNotFoundError:
        warnings.warn(f"mesh {mesh.path!r} is not there, so it is not drawn", stacklevel=2)
        return None
    except (ValueError, OSError, IndexError, gs.MissingExtraError) as error:
        warnings.warn(f"mesh {mesh.path!r} is not drawn: {error}", stacklevel=2)
        return None
    cells = 256
    coarse, kept = corners, slice(None)
    while len(coarse) > MOST and cells > 4:
        coarse, kept = _coarser(corners, cells)
        cells = int(cells / 1.25)
    return np.asarray(coarse * mesh.scale), None if colors is None else colors[kept]


def corners_of(mesh: Mesh) -> Float:
    """Corners of all triangles of a mesh, scaled.

    Parameters
    ----------
    mesh : Mesh

    Returns
    -------
    ndarray of float, shape (k, 3)

    Raises
    ------
    FileNotFoundError
        If its file does not exist.
    ValueError
        For files of a kind that is not read, and broken ones.
    graphsys.MissingExtraError
        For COLLADA, glTF and PLY files where ``trimesh`` is not installed.
    """
    return np.asarray((_triangles(mesh)[0] * mesh.scale).reshape(-1, 3))


def _triangles(mesh: Mesh) -> Colored:
    """Corners of the triangles, before scaling, and their colours."""
    if mesh.vertices is not None and mesh.faces is not None:
        return np.asarray(mesh.vertices[mesh.faces]), None
    path = found(mesh)
    if path is None:
        raise FileNotFoundError("its file does not exist")
    return _read_once(path)


def _coarser(corners: Float, cells: int) -> tuple[Float, Any]:
    """Triangles between the mean corners of the cells of a grid; those inside one cell vanish.

    Returns their corners, and which triangles are kept.
    """
    points = corners.reshape(-1, 3)
    low, high = points.min(axis=0), points.max(axis=0)
    cell = np.floor((points - low) / max(float((high - low).max()), 1e-300) * cells)
    owner = (cell.astype(np.int64) @ [(cells + 1) ** 2, cells + 1, 1]).ravel()
    count = np.bincount(owner)
    sums = np.stack([np.bincount(owner, points[:, i]) for i in range(3)], axis=1)
    means = sums / np.maximum(count, 1)[:, None]
    i, j, k = (faces := owner.reshape(-1, 3)).T
    kept = (i != j) & (j != k) & (k != i)
    return np.asarray(means[faces[kept]]), kept


def found(mesh: Mesh) -> Path | None:
    """File of a mesh: below its folder, or of a package ``name/...`` in ``within`` or above.

    Parameters
    ----------
    mesh : Mesh

    Returns
    -------
    Path or None

    Raises
    ------
    ValueError
        If it lies outside the folders it may lie in, its links resolved.
    """
    start = Path(mesh.folder).resolve()
    parts = Path(mesh.path).parts
    places = [start / mesh.path]
    for folder in (start, *start.parents):
        if parts and folder.name == parts[0]:
            places.append(folder.parent / mesh.path)
    if len(parts) > 1:  # a package's own folder, of whatever name
        places += [start.joinpath(*parts[1:]), start.parent.joinpath(*parts[1:])]
    root = Path(mesh.within).resolve() if mesh.within else start
    files = [place.resolve() for place in places if place.is_file()]
    if not files and mesh.within and parts:
        places = [root / mesh.path, *_packages(root, mesh.path, parts[0], DEEPEST)]
        files = [place.resolve() for place in places if place.is_file()]
    inside = [file for file in files if file.is_relative_to(root)]
    if files and not inside:
        raise ValueError(
            f"it lies outside the folder {root.name!r} of the robot file; name the folder that "
            "holds both by within="
        )
    return inside[0] if inside else None


def _packages(folder: Path, path: str, name: str, depth: int) -> list[Path]:
    """Places of a path in packages of a name below a folder, no deeper than ``depth`` folders."""
    places: list[Path] = []
    try:
        insides = sorted(folder.iterdir()) if depth else []
    except OSError:  # no folder, or none that may be read
        return places
    for inside in insides:
        if inside.is_dir() and not inside.is_symlink():
            if (inside / name).is_dir():
                places.append(inside / path)
            places += _packages(inside, path, name, depth - 1)
    return places


def read_triangles(path: Path) -> Float:
    """Corners of all triangles in an STL (binary or text), OBJ, COLLADA, glTF or PLY file.

    Lengths are in metres: the unit of a COLLADA file is applied. Its upward axis is ignored, as in
    other readers of URDF.

    Parameters
    ----------
    path : Path

    Returns
    -------
    ndarray of float, shape (t, 3, 3)

    Raises
    ------
    ValueError
        For other kinds of files, and broken ones.
    graphsys.MissingExtraError
        For COLLADA, glTF and PLY files where ``trimesh`` is not installed.
    """
    return _read_once(path)[0]


def _read_once(path: Path) -> Colored:
    """Corners and colours of all triangles in a file, which is read again when it has changed."""
    about = path.stat()
    return _read(path, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=64)
def _read(path: Path, changed: int, size: int) -> Colored:
    """Corners and colours of all triangles in a file as of a time."""
    kind = path.suffix.lower()
    colors = None
    if kind == ".stl":
        found = _stl(path.read_bytes())
    elif kind == ".obj":
        found = _obj(path.read_text(encoding="utf-8", errors="replace"))
    elif kind in BY_TRIMESH:
        found, colors = _by_trimesh(path, kind)
    else:
        raise ValueError(f"files of kind {kind!r} are not read; convert it to .stl or .obj")
    if len(found) == 0 or not np.isfinite(found).all():
        raise ValueError("it holds no triangles, or numbers that are not finite")
    return found, colors


class _Beside:
    """Files that a mesh names, as glTF its buffers; none outside the mesh's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def get(self, name: str) -> bytes:
        """Content of a file."""
        file = (self.folder / name.strip()).resolve()
        if not file.is_relative_to(self.folder):
            raise ValueError(f"it names {name!r}, which lies outside its folder")
        return file.read_bytes()

    __getitem__ = get


def _by_trimesh(path: Path, kind: str) -> Colored:
    """Triangles of all parts of a scene, each where the scene has it, with their colours."""
    data = path.read_bytes()
    unit = 1.0
    if kind == ".dae":  # its parser would expand entities, which can fill the memory
        if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:100]:
            raise ValueError("it is not UTF-8; save it as such")
        if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
            raise ValueError("it declares a document type or entities, which no mesh needs")
        given = re.search(rb"<unit\b[^>]*\bmeter\s*=\s*[\"']([^\"']+)", data)
        unit = float(given[1]) if given else 1.0
    try:
        import trimesh

        if kind == ".dae":
            import collada  # noqa: F401
    except ImportError:
        raise gs.MissingExtraError(f"a {kind} file", BY_TRIMESH[kind], "meshes") from None
    resolver: Any = _Beside(path.parent)
    try:
        scene = trimesh.load_scene(io.BytesIO(data), file_type=kind[1:], resolver=resolver)
        surfaces = scene.dump()
    except (ValueError, OSError):
        raise
    except Exception as error:  # of whatever kind in the libraries below
        raise ValueError(f"trimesh cannot read it: {error}") from None
    parts: list[Any] = [one for one in surfaces if hasattr(one, "triangles")]
    corners = [np.asarray(one.triangles) for one in parts]
    colors = None
    if any(one.visual.kind is not None for one in parts):
        colors = np.concatenate([_colors(one) for one in parts])
    return unit * np.concatenate([np.zeros((0, 3, 3)), *corners]), colors


def _colors(surface: Any) -> NDArray[np.uint8]:
    """Colours of a surface's triangles: those of faces, or the material's one colour."""
    if surface.visual.kind == "texture":
        color = np.asarray(surface.visual.material.main_color, np.uint8)
        return np.tile(color, (len(surface.faces), 1))
    return np.asarray(surface.visual.face_colors, np.uint8)


def _stl(data: bytes) -> Float:
    if len(data) >= 84:
        count = int.from_bytes(data[80:84], "little")
        if len(data) >= 84 + STL.itemsize * count and not _is_text(data):
            corners = np.frombuffer(data, STL, count, 84)["corners"]
            return np.asarray(corners, np.float64)
    words = [line.split() for line in data.decode("ascii", "replace").lower().splitlines()]
    found = [w[1:4] for w in words if w[:1] == ["vertex"]]
    if not found or len(found) % 3 or any(len(corner) < 3 for corner in found):
        raise ValueError("the STL file is broken")
    return np.array(found, np.float64).reshape(-1, 3, 3)


def _is_text(data: bytes) -> bool:
    """True if an STL file is text; some binary ones begin with "solid", too."""
    return data[:5] == b"solid" and b"facet" in data[:512]


def _obj(text: str) -> Float:
    vertices: list[list[float]] = []
    corners: list[list[int]] = []
    for line in text.splitlines():
        word, *rest = line.split() or [""]
        if word == "v":
            if len(rest) < 3:
                raise ValueError(f"vertex {len(vertices) + 1} has {len(rest)} coordinates, not 3")
            vertices.append([float(x) for x in rest[:3]])
        elif word == "f":
            index = [int(item.split("/")[0]) for item in rest]
            index = [i - 1 if i >= 0 else len(vertices) + i for i in index]
            corners += [[index[0], *index[k : k + 2]] for k in range(1, len(index) - 1)]
    if not corners:
        return np.zeros((0, 3, 3))
    faces = np.array(corners)
    lost = faces[(faces < 0) | (faces >= len(vertices))]
    if lost.size:
        raise ValueError(
            f"a face names vertex {lost[0] + 1}, and there are vertices 1 to {len(vertices)}"
        )
    return np.asarray(np.array(vertices, np.float64)[faces])
