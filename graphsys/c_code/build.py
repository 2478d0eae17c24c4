"""Shared libraries from C: compiled once, and kept in the cache folder of machine code."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from graphsys.compiler.progress import progress
from graphsys.compiler.store import cache_folder

#: Seconds between two lines of progress.
TICK = 0.5


def shared_library(source: bytes, name: str, needed_by: str, flags: Sequence[str] = ()) -> Path:
    """Path of a library, which is compiled if the cache folder has none of this source.

    Parameters
    ----------
    source : bytes
        Text of one C file.
    name : str
        What the library's name begins with.
    needed_by : str
        Who asks for a compiler where there is none, and what else helps then.
    flags : sequence of str, optional
        For the compiler, besides ``-shared -fPIC``.
    """
    kind = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
    machine = ctypes.sizeof(ctypes.c_void_p), sys.platform, platform.machine(), *flags
    digest = hashlib.sha256(source + repr(machine).encode()).hexdigest()[:16]
    path = cache_folder().absolute() / f"graphsys-{name}-{digest}{kind}"
    if path.is_file():
        return path
    command = compiler(needed_by)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        text, built = Path(folder, f"{name}.c"), Path(folder, f"{name}{kind}")
        text.write_bytes(source)
        given = [*command, *(flags or ("-O2",)), "-shared", "-fPIC", "-o", str(built), str(text)]
        status, said = _run([*given, "-lm"])
        if status != 0:
            raise RuntimeError(f"the C compiler failed ({' '.join(command)}):\n{said}")
        with suppress(PermissionError):  # Windows: another process uses the same one by now
            os.replace(built, path)
    return path


def _run(command: Sequence[str]) -> tuple[int, str]:
    """Status and errors of a command, with a line on the terminal while it takes long."""
    pipe = subprocess.PIPE
    with progress, subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as running:
        while True:
            try:
                _, said = running.communicate(timeout=TICK)
                return running.returncode, said
            except subprocess.TimeoutExpired:
                progress.tick()
            except BaseException:
                running.kill()
                raise


def compiler(needed_by: str) -> list[str]:
    """Command of a C compiler."""
    given = os.environ.get("CC")
    if given:
        return given.split()
    for name in ("cc", "gcc", "clang"):
        found = shutil.which(name)
        if found:
            return [found]
    from importlib.util import find_spec

    if find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise RuntimeError(
        f"{needed_by} needs a C compiler once: install one (Debian: gcc), name it by "
        'the environment variable CC, or run pip install "graphsys[ipopt]" for ziglang'
    )
