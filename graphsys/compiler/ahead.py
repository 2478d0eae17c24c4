"""Compiling ahead: a second process for what a first motion or solution needs later.

The first process starts it when it meets a kernel without machine code that begins a block of
``ahead.txt``, and goes on. Both write to the same store, and each takes from there what the other
has compiled. The second begins with what is needed last, so that they meet. It has a low priority
and ends with the first. Whatever fails in it is ignored: the first compiles what it does not find.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from graphsys.compiler import machine, store

if TYPE_CHECKING:
    from graphsys.compiler.kernel import Kernel

#: Lines of kernels in the order of their first use (module, name, kinds of arguments), in blocks.
RECORD = Path(__file__).with_suffix(".txt")
#: Priority relative to the first process: a core that others use is left to them to nine tenths.
NICE = 10
#: The second process is no child of the first, which may wait for any child of its own. It imports
#: kernels and not what the packages import.
PROGRAM = """
import json, os, sys
if os.fork():
    os._exit(0)
from types import ModuleType
sys.path[:], packages, lines, nice = json.loads(sys.argv[1])
for name, path in packages.items():
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__path__ = path
from graphsys.compiler.ahead import compile_ahead
os.nice(nice)
compile_ahead(lines)
"""


def blocks() -> dict[str, list[str]]:
    """Blocks of the record by their first lines."""
    found = [text.splitlines() for text in RECORD.read_text().split("\n\n")]
    return {lines[0]: lines for lines in found}


#: Blocks that this process has not begun.
left: dict[str, list[str]] = {}
with suppress(OSError):  # in an archive
    left = blocks()


def start(kernel: Kernel, kinds: str) -> None:
    """Start the second process if a kernel without machine code begins a block of the record."""
    lines = left.pop(f"{kernel.__module__} {kernel.__qualname__} {kinds}", None)
    with suppress(OSError, subprocess.SubprocessError):
        if lines and is_possible():
            _start(lines)


def _start(lines: list[str]) -> None:
    names = {line.split(".")[0] for line in (__name__, *lines)}
    packages = {name: list(sys.modules[name].__path__) for name in names}
    given = json.dumps([list(map(str, sys.path)), packages, lines, NICE])
    folder = {"NUMBA_CACHE_DIR": str(store.cache_folder())}
    reading, _ = os.pipe()  # its other end is closed when this process ends, however it does
    try:
        subprocess.run(
            [sys.executable, "-P", "-c", PROGRAM, given], env=os.environ | folder, stdin=reading,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=5.0, check=False,
        )  # fmt: skip
    finally:
        os.close(reading)


def is_possible() -> bool:
    """Whether a core is free, and Python can be started to use it."""
    if os.name != "posix" or getattr(sys, "frozen", False):
        return False
    if not Path(sys.executable or "").name.startswith("python"):  # an application with Python in it
        return False
    affinity = getattr(os, "sched_getaffinity", None)
    cores = (len(affinity(0)) if affinity else os.cpu_count()) or 1
    return cores > 1 and os.getloadavg()[0] < cores


def compile_ahead(lines: list[str]) -> None:
    """Compile kernels of the record, the last first, but not the first that is missing.

    The other process is compiling that one.
    """
    left.clear()  # no third process
    threading.Thread(target=_end_with_the_first, daemon=True).start()
    _take_turn()
    split = [line.split(maxsplit=2) for line in lines]
    kernels = [(getattr(import_module(module), name), kinds) for module, name, kinds in split]
    for one in reversed(kernels):
        missing = [(kernel, kinds) for kernel, kinds in kernels if not kernel.is_stored(kinds)]
        if one in missing[1:]:
            one[0].address(one[1])


def _end_with_the_first() -> None:
    """Wait until the first process has ended."""
    os.read(sys.stdin.fileno(), 1)
    os._exit(0)


def _take_turn() -> None:
    """Lock the store until this process ends.

    Raises
    ------
    OSError
        If another second process is at work there, or nothing can be written.
    """
    import fcntl

    machine.folder().mkdir(parents=True, exist_ok=True)
    lock = os.open(machine.folder() / "ahead.lock", os.O_CREAT | os.O_WRONLY)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
