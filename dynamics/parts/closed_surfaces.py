"""Closed surfaces of triangles: corners joined, faces turned outward, and what keeps them open."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics.parts.convex_hulls import hull_of
from dynamics.parts.geometry import Mesh
from dynamics.parts.meshes import corners_of

__all__ = ["MOST", "UnfitMeshError", "closed_surface", "signed_volume"]

Float = NDArray[np.float64]
Int = NDArray[np.int64]
#: Triangles up to which a surface is examined; CoACD takes about 20 s for 100 000 of them.
MOST = 200_000
#: Corners nearer than this part of the mesh's size are one: files list them triangle by triangle.
SAME = 1e-7


class UnfitMeshError(ValueError):
    """A surface that has no inside, or too many triangles.

    Parameters
    ----------
    label : str
        Of the mesh.
    reason : str
        Without numbers, so that meshes can be listed by it.
    advice : str
        What to do.
    detail : str, optional
        With numbers.
    """

    def __init__(self, label: str, reason: str, advice: str, detail: str = "") -> None:
        more = f" ({detail})" if detail else ""
        super().__init__(f"{label} cannot be cut into convex parts: it is {reason}{more}; {advice}")
        self.reason, self.detail = reason, detail


def closed_surface(mesh: Mesh, label: str) -> tuple[Float, Int, int]:
    """Vertices, each once, faces seen anticlockwise from outside, and how many were turned for it.

    A surface is closed if each edge has as many faces one way as the other. One whose faces wind
    either way, with two of them at each edge, is turned face by face, each of its pieces outward;
    one that is inverted as a whole is turned as a whole, with its cavities.

    Raises
    ------
    UnfitMeshError
        If it is open or flat or has too many triangles.
    ValueError
        If it cannot be read.
    """
    try:
        corners = corners_of(mesh)
    except FileNotFoundError:
        raise FileNotFoundError(f"{label} is not there") from None
    except (OSError, IndexError, ValueError) as error:
        raise ValueError(f"{label}: {error}") from None
    if len(corners) > 3 * MOST:
        raise UnfitMeshError(
            label, f"of more than {MOST:,} triangles", "simplify it first", f"{len(corners) // 3:,}"
        )
    vertices, faces = _joined(corners)
    if np.prod(mesh.scale) < 0.0:  # a mirror image
        faces = faces[:, ::-1]
    if hull_of(vertices, label).flat:
        raise UnfitMeshError(label, "flat", "give it a thickness")
    outward = faces
    if not _balanced(faces, len(vertices)):
        neighbors = _neighbors(faces, len(vertices), label)
        outward = _wound_alike(faces, neighbors, vertices)
    if signed_volume(vertices[outward]) < 0.0:
        outward = outward[:, ::-1]
    turned = int(np.any(_from_least(outward) != _from_least(faces), axis=1).sum())
    return vertices, np.ascontiguousarray(outward), turned


def signed_volume(corners: Float) -> float:
    """Volume inside a closed surface of triangles, shape (t, 3, 3); negative if inverted."""
    a, b, c = np.moveaxis(corners - corners[0, 0], 1, 0)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def _joined(corners: Float) -> tuple[Float, Int]:
    """Vertices and faces of the triangles of a file; those without an area are left out."""
    size = float(np.ptp(corners, axis=0).max())
    rounded = np.round((corners - corners.min(axis=0)) / max(size * SAME, 1e-300))
    _, first, place = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    faces = place.reshape(-1, 3).astype(np.int64)
    i, j, k = faces.T
    return corners[first], faces[(i != j) & (j != k) & (k != i)]


def _edges(faces: Int) -> Int:
    """Directed edges, shape (3 f, 2): the first of all faces, the second, the third."""
    return np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])


def _balanced(faces: Int, n: int) -> bool:
    """True if each edge is passed as often in one direction as in the other."""
    edges = _edges(faces)
    return np.array_equal(np.sort(edges @ [n, 1]), np.sort(edges @ [1, n]))


def _neighbors(faces: Int, n: int, label: str) -> tuple[Int, NDArray[np.bool_]]:
    """Face across each edge, shape (f, 3), and whether it winds alike.

    Raises
    ------
    UnfitMeshError
        If an edge has not two faces.
    """
    edges = _edges(faces)
    key = edges.min(axis=1) * n + edges.max(axis=1)
    count = np.unique(key, return_counts=True)[1]
    if np.any(count != 2):
        raise UnfitMeshError(
            label, "open", "close its surface, so that each edge has two faces",
            f"{int((count != 2).sum()):,} of {len(count):,} edges",
        )  # fmt: skip
    one, two = np.argsort(key, kind="stable").reshape(-1, 2).T
    across = np.empty(len(edges), np.int64)
    across[one], across[two] = two % len(faces), one % len(faces)
    alike = np.empty(len(edges), np.bool_)
    alike[one] = alike[two] = edges[one, 0] != edges[two, 0]
    return across.reshape(3, -1).T, alike.reshape(3, -1).T


def _wound_alike(faces: Int, neighbors: tuple[Int, NDArray[np.bool_]], vertices: Float) -> Int:
    """Faces of each piece wound like its first one, or all the other way if that is outward."""
    across, alike = (array.tolist() for array in neighbors)
    flip: list[bool | None] = [None] * len(faces)
    made = faces.copy()
    for first in range(len(faces)):
        if flip[first] is not None:
            continue
        flip[first] = False
        piece = [first]
        for f in piece:  # grows
            for g, same in zip(across[f], alike[f]):
                if flip[g] is None:
                    flip[g] = flip[f] if same else not flip[f]
                    piece.append(g)
        turned = np.array(piece)[[bool(flip[f]) for f in piece]]
        made[turned] = made[turned][:, ::-1]
        if signed_volume(vertices[made[piece]]) < 0.0:
            made[piece] = made[piece][:, ::-1]
    return made


def _from_least(faces: Int) -> Int:
    """Each face from its least vertex on, in its own direction."""
    start = faces.argmin(axis=1)[:, None]
    return np.take_along_axis(faces, (start + np.arange(3)) % 3, axis=1)
