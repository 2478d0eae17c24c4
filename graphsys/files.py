"""Files that are written whole or not at all, and refused before the work for them begins."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["check_writable", "whole_file"]


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Temporary file in the folder of a file, which it replaces once it is written.

    Where that fails, as on a full disk, the temporary file is removed and the file is as it was.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():  # a device or a pipe has nothing to replace
        yield target
        return
    temporary = target.with_name(f".{target.stem[:80]}-{secrets.token_hex(4)}{target.suffix}")
    try:
        yield temporary
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def check_writable(path: Path, option: str) -> None:
    """Refuse an output whose folder is missing or cannot be written.

    Parameters
    ----------
    path : Path
    option : str
        That names it, for the message.

    Raises
    ------
    OSError
    """
    folder = path.resolve().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{option} {path}: there is no folder {folder}; make it first")
    if path.is_dir():
        raise IsADirectoryError(f"{option} {path} is a folder; name a file in it")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise PermissionError(f"{option} {path}: this user may not write there")
