"""Object files on disk: never of other sources, never damaged, and never a reason to stop.

A file is named after a kernel and a hash of all that decides on its machine code. It holds a
header (JSON), the object file, and what numba needs to compile callers. Each part has a checksum.
What does not fit is compiled again; where nothing can be written, code is kept in memory. A warning
says so, once.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import warnings
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

MAGIC = b"graphsys"
DAY = 24 * 3600.0
#: Folder of machine code that came with an installed package.
SHIPPED = Path(__file__).parent / "objects"


class Entry(NamedTuple):
    """One file: its symbol, the files it needs, machine code, and what numba wants of it."""

    header: dict[str, Any]
    code: bytes
    payload: bytes


@cache
def warn(what: str, folder: str) -> None:
    """Say once per process and folder what is wrong with it."""
    warnings.warn(what.format(folder=folder), RuntimeWarning, stacklevel=3)


def read(path: Path, payload: bool = False) -> Entry | None:
    """Content of a file; None if there is none, or, with a warning, if it is damaged.

    Parameters
    ----------
    path : Path
    payload : bool, optional
        Whether to read what numba needs, too.
    """
    try:
        with path.open("rb") as file:
            data, touched = file.read(), os.fstat(file.fileno()).st_mtime
    except OSError:
        return None
    if time.time() - touched > DAY:
        with suppress(OSError):
            os.utime(path)  # in use: see `_delete_unused`
    try:
        if data[:8] != MAGIC:
            raise ValueError("no file of ours")
        size, checksum = (int.from_bytes(data[at : at + 4], "little") for at in (8, 12))
        text = data[16 : 16 + size]
        if zlib.crc32(text) != checksum:
            raise ValueError("damaged header")
        header = json.loads(text)
        (length, code_sum), (more, payload_sum) = header["code"], header["payload"]
        start = 16 + size
        code, rest = data[start : start + length], data[start + length :]
        if len(code) != length or zlib.crc32(code) != code_sum:
            raise ValueError("damaged code")
        if payload and (len(rest) != more or zlib.crc32(rest) != payload_sum):
            raise ValueError("damaged payload")
    except (ValueError, KeyError, TypeError):
        warn_damaged(path)
        return None
    return Entry(header, code, rest if payload else b"")


def warn_damaged(path: Path) -> None:
    """Say that a file is not what was written."""
    warn(
        f"the machine code in {{folder}} is damaged ({path.name}); what is needed of it is "
        "compiled again and replaced. If this comes back, delete that folder",
        str(path.parent),
    )


def write(path: Path, header: dict[str, Any], code: bytes, payload: bytes = b"") -> None:
    """Write a file whole, or leave what was there and warn.

    Parameters
    ----------
    path : Path
    header : dict
    code : bytes
        Object file.
    payload : bytes, optional
        What numba needs.
    """
    parts = {"code": (len(code), zlib.crc32(code)), "payload": (len(payload), zlib.crc32(payload))}
    text = json.dumps(header | parts).encode()
    head = MAGIC + len(text).to_bytes(4, "little") + zlib.crc32(text).to_bytes(4, "little")
    name = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _delete_unused(path.parent)
        handle, name = tempfile.mkstemp(prefix="tmp", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(head + text + code + payload)
        os.replace(name, path)
    except OSError as error:
        if name is not None:
            with suppress(OSError):
                os.unlink(name)
        warn(
            f"machine code cannot be written to {{folder}} ({error.strerror}); it is kept in "
            "memory, and the next start compiles again. Free some space there, or name another "
            "folder by NUMBA_CACHE_DIR",
            str(path.parent),
        )


@cache
def _delete_unused(folder: Path) -> None:
    """Delete what no process has used for a month, such as code of sources that have changed."""
    oldest = time.time() - 30 * DAY
    for path in folder.parent.glob("objects-*/*"):
        with suppress(OSError):  # another process was faster
            if path.stat().st_mtime < oldest:
                path.unlink()


def cache_folder() -> Path:
    """Folder of this user's cache: `NUMBA_CACHE_DIR`, or where the system keeps caches."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return Path(given)
    if sys.platform == "win32":
        parent = Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local")
    elif sys.platform == "darwin":
        parent = Path("~/Library/Caches")
    else:
        parent = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    try:
        return parent.expanduser() / "graphsys"
    except RuntimeError:  # no home
        return _private()


@cache
def _private() -> Path:
    """Folder of this process alone: in one that others can write, they could place code."""
    return Path(tempfile.mkdtemp(prefix="graphsys-"))
