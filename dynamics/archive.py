"""Motion files: arrays in an archive, whose directory is checked before anything is unpacked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

import graphsys as gs
from dynamics.tables.error_control import Event

__all__ = ["event_arrays", "read_motion", "write_motion"]

Array = NDArray[Any]

VERSION = 1
#: Kind of numbers and number of axes of each array.
ARRAYS = {
    "version": ("iu", 0), "time": ("f", 1), "states": ("f", 2), "controls": ("f", 2),
    "bodies": ("U", 1), "joints": ("U", 1), "intervals": ("f", 2), "event_times": ("f", 1),
    "event_names": ("U", 1), "event_kinds": ("U", 1), "event_states": ("f", 2),
    "near_counts": ("iu", 2), "near_names": ("U", 1), "near_states": ("f", 1),
}  # fmt: skip
#: Arrays that a motion may lack; it has all those of events or none.
EVENTS = {"event_times", "event_names", "event_kinds", "event_states"}
#: Likewise of pairs that were near, part by part: `dynamics.kinematics.near_run.part_arrays`.
NEAR = {"near_counts", "near_names", "near_states"}
OPTIONAL = {"intervals", *EVENTS, *NEAR}
#: Kinds of events without and with a row of ``event_states``: the state and its interval.
PLAIN, WITH_STATE = {"closes", "opens"}, {"rises", "falls"}
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

    Raises
    ------
    ValueError
        For a name that is too long to be read again.
    """
    everything: dict[str, Any] = {"version": np.array(VERSION), **arrays}
    for one in arrays.values():
        if one.dtype.kind == "U" and one.dtype.itemsize > 4 * LONGEST:
            name = max(one.tolist(), key=len)
            raise ValueError(f"name {name[:40]!r}... is longer than {LONGEST} characters")
    if hasattr(target, "write"):
        np.savez_compressed(target, **everything)
        return
    path = Path(target)
    path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
    gs.check_writable(path, "motion")
    with gs.whole_file(path) as temporary:
        np.savez_compressed(temporary, **everything)


def event_arrays(events: Sequence[Event], size: int) -> dict[str, Array]:
    """Arrays of the events of a motion whose states have ``size`` numbers."""
    kept = [event.state for event in events if event.state is not None]
    rows = [np.append(state.data, state.interval) for state in kept]
    return {
        "event_times": np.array([event.time for event in events], np.float64),
        "event_names": np.array([str(event.name) for event in events], str),
        "event_kinds": np.array([event.kind for event in events], str),
        "event_states": np.array(rows, np.float64).reshape(len(rows), size + 2),
    }


def read_motion(path: str | Path) -> dict[str, Array]:
    """Arrays of a motion.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    ValueError
        If the file holds something else, or more than it may.
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
            found = {
                name: _unpacked(archive, entries[f"{name}.npy"])
                for name in names if name != "version"
            }  # fmt: skip
            _check_events(found)
            _check_near(found)
            return found
    except FileNotFoundError:
        raise
    except Exception as error:  # whatever zipfile, zlib and numpy make of bytes by others
        what = str(error) or type(error).__name__
        raise ValueError(f"{path} holds no trajectory of dynamics: {what}") from None


def _check_near(found: dict[str, Array]) -> None:
    """Refuse arrays of near pairs that do not belong together."""
    have = NEAR & {*found}
    if not have:
        return
    if have != NEAR:
        raise ValueError(f"of its near pairs it lacks {', '.join(sorted(NEAR - have))}")
    counts = found["near_counts"]
    if counts.shape[1] != 3 or (counts < 0).any() or (counts > 2**31).any():
        raise ValueError(f"it has counts of near pairs of shape {counts.shape}")
    records, pairs, size = counts.astype(np.int64).T
    given = [len(found["time"]), len(found["near_names"]), len(found["near_states"])]
    if [records.sum(), pairs.sum(), (records * size).sum()] != given:
        raise ValueError("its counts of near pairs are not those of its arrays")


def _check_events(found: dict[str, Array]) -> None:
    """Refuse arrays of events that do not belong together."""
    have = EVENTS & {*found}
    if not have:
        return
    if have != EVENTS:
        raise ValueError(f"of its events it lacks {', '.join(sorted(EVENTS - have))}")
    kinds = found["event_kinds"].tolist()
    if not {*kinds} <= PLAIN | WITH_STATE:
        raise ValueError(f"it has events of kind {sorted({*kinds} - PLAIN - WITH_STATE)[0]!r}")
    counts = [len(found[f"event_{what}"]) for what in ("times", "names", "kinds")]
    with_state = sum(kind in WITH_STATE for kind in kinds)
    rows, columns = found["event_states"].shape
    if len({*counts}) > 1 or (rows, columns) != (with_state, found["states"].shape[1] + 2):
        raise ValueError(
            f"it has {counts[0]} times, {counts[1]} names and {counts[2]} kinds of events, and "
            f"states of shape {(rows, columns)} for {with_state} of them"
        )
    if not np.isfinite(found["event_times"]).all():
        raise ValueError("it has an event at a time that is not finite")


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
