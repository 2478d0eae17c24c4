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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphsys.compiler import Kernel

ROOT = Path(__file__).parents[3]
#: A line for each kernel that Python calls: its module, its name and the kinds of its arguments.
SHIPPED = Path(__file__).parent / "shipped.txt"


def import_kernels_only() -> None:
    """Let kernels be imported without scipy and networkx, which the packages import."""
    sys.path[0] = str(ROOT)  # instead of this folder
    for name in ("graphsys", "dynamics"):
        package = ModuleType(name)
        package.__path__ = [str(ROOT / name)]
        sys.modules[name] = package


def kernels() -> list[tuple[Kernel, str]]:
    """Kernels of ``shipped.txt``, each with the kinds of its arguments."""
    lines = [line.split(maxsplit=2) for line in SHIPPED.read_text().splitlines()]
    return [(getattr(import_module(module), name), kinds) for module, name, kinds in lines]


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
        Where a process fails, with what it said.
    """
    with tempfile.TemporaryDirectory() as scratch:
        for level in levels:
            print(f"graphsys: compiling kernels for {level} in {workers} processes", flush=True)
            cache = Path(scratch) / level
            cache.mkdir()
            running = [_start(level, cache, i / workers) for i in range(workers)]
            said = [process.communicate()[0] for process in running]
            for process, text in zip(running, said):
                if process.returncode != 0:
                    raise RuntimeError(f"compiling for {level} failed:\n{text}")
        return sum(_collect(Path(scratch) / level, folder / level) for level in levels)


def _start(level: str, cache: Path, begin: float) -> subprocess.Popen[str]:
    """Process that compiles for a level, from a part of the list on."""
    return subprocess.Popen(
        [sys.executable, __file__, str(cache), "--from", str(begin)],
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


def compile_shipped(cache: Path, begin: float) -> None:
    """Compile what no other process with this cache has claimed.

    Parameters
    ----------
    cache : Path
    begin : float
        Part of the list to begin at: neighbours in the list share callees.
    """
    from graphsys.compiler import backend, machine, store
    from graphsys.compiler.lazy_binding import from_text

    found = kernels()
    first = int(begin * len(found))
    for kernel, kinds in found[first:] + found[:first]:
        if _claim(cache, kernel.file_of(kinds, "stub")):
            kernel.address(kinds)
    left = True
    while left:
        headers = [store.read(path).header for path in machine.folder().glob("*.kernel")]
        slots = {file: place for one in headers for _, file, place in one.get("slots", ())}
        left = [place for file, place in sorted(slots.items()) if _claim(cache, file)]
        for place in left:
            backend.compiled_lazy(*from_text(place))


def _claim(cache: Path, file: str) -> bool:
    """True for the first process that asks for a file."""
    try:
        (cache / file).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _collect(cache: Path, folder: Path) -> int:
    """Move files without what only numba needs; their number."""
    from graphsys.compiler import machine, store

    files = [path for path in cache.glob("objects-*/*") if not path.name.startswith("tmp")]
    for path in files:
        entry = store.read(path)
        if entry is None:
            raise RuntimeError(f"{path.name} is damaged")
        kept = entry.header.keys() - {"code", "payload"}
        header = {name: entry.header[name] for name in kept}
        store.write(folder / path.name, header, entry.code)
    (folder / "manifest.json").write_text(json.dumps(machine.build_of()))
    return len(files)


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    from graphsys.compiler import machine

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the object files go")
    parser.add_argument("--levels", nargs="+", choices=[*machine.LEVELS, "host"], default=["host"])
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--from", dest="begin", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.begin is not None:
        compile_shipped(given.folder, given.begin)
        return
    levels = [machine.host_level() if level == "host" else level for level in given.levels]
    count = build(given.folder, list(dict.fromkeys(levels)), given.workers)
    size = sum(path.stat().st_size for path in given.folder.rglob("*") if path.is_file())
    print(f"{count} object files, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    import_kernels_only()
    main()
