"""Motion files: arrays in an archive, whose directory is checked before anything is unpacked."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

import graphsys as gs

__all__ = ["read_motion", "write_motion"]

Array = NDArray[Any]

VERSION = 1
#: Kind of numbers and number of axes of each array.
ARRAYS = {
    "version": ("iu", 0), "time": ("f", 1), "states": ("f", 2), "controls": ("f", 2),
    "bodies": ("U", 1), "joints": ("U", 1), "intervals": ("f", 2),
}  # fmt: skip
#: Arrays that a motion may lack.
OPTIONAL = {"intervals"}
#: Bytes that a motion may take beyond `RATIO` times its file; a motion at rest packs very well.
ROOM, RATIO = 2**28, 100
#: Characters of a name, and of an array's header.
LONGEST, HEADER = 4096, 4096


def write_motion(target: str | Path | IO[bytes], arrays: dict[str, Array]) -> None:
    """Write a motion; a file is replaced when all of it is written.

    Parameters
    ----------
    target : str, Path or file
    arrays : dict of ndarray
        Those of `ARRAYS` but for the version.
    """
    everything: dict[str, Any] = {"version": np.array(VERSION), **arrays}
    if hasattr(target, "write"):
        np.savez_compressed(target, **everything)
        return
    path = Path(target)
    path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
    with gs.whole_file(path) as temporary:
        np.savez_compressed(temporary, **everything)


def read_motion(path: str | Path) -> dict[str, Array]:
    """Arrays of a motion.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    ValueError
        Where the file holds something else, or more than it may.
    """
    size = Path(path).stat().st_size
    try:
        with ZipFile(path) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            names = [name for name in ARRAYS if f"{name}.npy" in entries]
            if len(names) < len(entries) or {*ARRAYS} - {*names} - OPTIONAL:
                raise ValueError(f"its arrays are {sorted(entries)[:8]}")
            if sum(entry.file_size for entry in entries.values()) > ROOM + RATIO * size:
                raise ValueError(f"it unpacks to more than {RATIO} times its size")
            shapes = {name: _checked(archive, entries[f"{name}.npy"], name) for name in names}
            version = int(_unpacked(archive, entries["version.npy"]))
            if version != VERSION:
                raise ValueError(f"it is of version {version}, this one reads {VERSION}")
            states, times = shapes["states"][0], shapes["time"][0]
            if states != times:
                raise ValueError(f"it has {states} states at {times} times")
            if shapes.get("intervals", (times, 2)) != (times, 2):
                raise ValueError(f"it has intervals of shape {shapes['intervals']}")
            return {
                name: _unpacked(archive, entries[f"{name}.npy"])
                for name in names if name != "version"
            }  # fmt: skip
    except FileNotFoundError:
        raise
    except Exception as error:  # whatever zipfile, zlib and numpy make of bytes by others
        what = str(error) or type(error).__name__
        raise ValueError(f"{path} holds no trajectory of dynamics: {what}") from None


def _checked(archive: ZipFile, entry: ZipInfo, name: str) -> tuple[int, ...]:
    """Shape of an array, by its header alone."""
    kinds, axes = ARRAYS[name]
    with archive.open(entry) as file:
        major, _ = npy.read_magic(file)
        if major not in (1, 2):
            raise ValueError(f"{name} is in a format of numpy that is not read")
        read = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
        shape, _, dtype = read(file, max_header_size=HEADER)
        begun = file.tell()
    if dtype.kind not in kinds or len(shape) != axes or dtype.itemsize > 4 * LONGEST:
        raise ValueError(f"{name} is of type {dtype} and shape {shape}")
    if kinds == "f" and dtype.itemsize != 8:
        raise ValueError(f"{name} is of type {dtype}, not float64")
    count = 1
    for length in shape:
        count *= int(length)
    if count * dtype.itemsize != entry.file_size - begun:
        raise ValueError(f"{name} says shape {shape}, and has {entry.file_size - begun} bytes")
    return tuple(shape)


def _unpacked(archive: ZipFile, entry: ZipInfo) -> Array:
    with archive.open(entry) as file:
        return np.asarray(npy.read_array(file, allow_pickle=False))
