"""Compile what users meet first: ``python graphsys/compiler/packaging/build.py FOLDER``.

For each processor level, processes that share an empty cache compile the kernels of ``shipped.txt``
and all lazy kernels that these may call; the files are collected in ``FOLDER/<level>``. `hook`
calls it when a wheel is built, so that an installed package starts without compiling. It needs
numpy and numba alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[3]
#: A line for each kernel that is called from outside: its module, its name, for other roles than
#: "stub" a colon and the role, and the kinds of its arguments.
SHIPPED = Path(__file__).parent / "shipped.txt"
#: Endings of files of what is called from outside: the roles of `Kernel.address`.
CALLED = ".stub", ".solution", ".c"
#: What `store.write` adds to a header.
PARTS = "code", "payload"
STALE = (
    "does not compile. If that kernel has changed, write shipped.txt anew: "
    "python -m graphsys.compiler.packaging.record"
)


def import_kernels_only() -> None:
    """Let kernels be imported without scipy and networkx, which the packages import."""
    sys.path[0] = str(ROOT)  # instead of this folder
    for name in ("graphsys", "dynamics"):
        package = ModuleType(name)
        package.__path__ = [str(ROOT / name)]
        sys.modules[name] = package


def kernels() -> dict[str, list[tuple[str, str, str]]]:
    """Kernels of ``shipped.txt`` by module: names, kinds of arguments, and roles."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for line in SHIPPED.read_text().splitlines():
        module, called, kinds = line.split(maxsplit=2)
        name, _, role = called.partition(":")
        found.setdefault(module, []).append((name, kinds, role or "stub"))
    return found


def build(folder: Path, levels: Sequence[str], workers: int) -> int:
    """Compile for some processor levels; the number of files.

    Parameters
    ----------
    folder : Path
    levels : sequence of str
        See `machine.LEVELS`.
    workers : int
        Processes at a time.

    Raises
    ------
    RuntimeError
        If a process fails, with what it said.
    """
    with tempfile.TemporaryDirectory() as scratch:
        for level in levels:
            print(f"graphsys: compiling kernels for {level} in {workers} processes", flush=True)
            cache = Path(scratch) / level
            cache.mkdir()
            running = [_start(level, cache) for _ in range(workers)]
            said = [process.communicate()[0] for process in running]
            for process, text in zip(running, said):
                if process.returncode != 0:
                    raise RuntimeError(f"compiling for {level} failed:\n{text}")
        return sum(_collect(Path(scratch) / level, folder / level) for level in levels)


def _start(level: str, cache: Path) -> subprocess.Popen[str]:
    """Process that compiles for a level what others leave."""
    return subprocess.Popen(
        [sys.executable, __file__, str(cache), "--share"],
        env=environment(level, cache), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def environment(level: str, cache: Path) -> dict[str, str]:
    """Environment of a process that compiles for a level into an empty cache."""
    from graphsys.compiler import machine

    features = ",".join(f"+{feature}" for feature in machine.LEVELS[level])
    return os.environ | {
        "NUMBA_CACHE_DIR": str(cache), "NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": features,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        machine.NOT_SHIPPED: "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip


def compile_shipped(cache: Path) -> None:
    """Compile what no other process with this cache has claimed.

    The kernels of a module, which share callees, are claimed together.
    """
    from graphsys.compiler import ahead, backend, machine
    from graphsys.compiler.lazy_binding import from_text

    ahead.left.clear()  # the other processes do that
    for module, entries in kernels().items():
        if _claim(cache, module):
            for name, kinds, role in entries:
                try:
                    getattr(import_module(module), name).machine_code(kinds, role)
                except Exception as error:
                    raise RuntimeError(f"{module} {name} {kinds} {STALE}") from error
    done: set[str] = set()
    while left := _lazy_kernels(machine.folder(), done):
        for file, place in sorted(left.items()):
            if _claim(cache, file):
                backend.compiled_lazy(*from_text(place))
        done |= left.keys()


def _lazy_kernels(folder: Path, done: set[str]) -> dict[str, str]:
    """Files of lazy kernels that those in a folder may call, and what these are compiled from."""
    from graphsys.compiler import store

    entries = [store.read(path) for path in folder.glob("*.kernel")]
    slots = [slot for entry in entries if entry for slot in entry.header.get("slots", ())]
    return {file: place for _, file, place in slots if file not in done}


def _claim(cache: Path, what: str) -> bool:
    """True for the first process that asks for something."""
    try:
        (cache / what).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _collect(cache: Path, folder: Path) -> int:
    """Move what is called from outside and what that needs, less what numba needs; count files.

    Small kernels are part of their callers: their own files are of no use.
    """
    from graphsys.compiler import machine, store

    files = {path.name: path for path in cache.glob("objects-*/*")}
    left = [name for name in files if name.endswith(CALLED)]
    done: set[str] = set()
    while left:
        name = left.pop()
        if name in done:
            continue
        done.add(name)
        entry = store.read(files[name])
        if entry is None:
            raise RuntimeError(f"{name} is damaged")
        header = {key: entry.header[key] for key in entry.header if key not in PARTS}
        store.write(folder / name, header, entry.code)
        left += header["needs"] + [file for _, file, _ in header.get("slots", ())]
    (folder / "manifest.json").write_text(json.dumps(machine.build_of()))
    return len(done)


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    from graphsys.compiler import machine

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the object files go")
    parser.add_argument("--levels", nargs="+", choices=[*machine.LEVELS, "host"], default=["host"])
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--share", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.share:
        compile_shipped(given.folder)
        return
    levels = [machine.host_level() if level == "host" else level for level in given.levels]
    count = build(given.folder, list(dict.fromkeys(levels)), given.workers)
    size = sum(path.stat().st_size for path in given.folder.rglob("*") if path.is_file())
    print(f"{count} object files, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    import_kernels_only()
    main()
