"""Compile what users meet first: ``python -m graphsys.compiler.packaging.build FOLDER``.

For each processor level, processes of their own run the warm-ups of both packages with an empty
cache; what they compile is collected in ``FOLDER/<level>``. `hook` calls it when a wheel is
built, so that an installed package starts without compiling.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from graphsys.compiler import machine, store

#: What is run with an empty cache, by two processes that share it and take about as long: each
#: loads what the other has compiled by then.
WARM_UPS = {
    "systems and contacts": ("graphsys.warmup.warm_up", "dynamics.warmup.with_contacts"),
    "joints": ("dynamics.warmup.without_contacts",),
}


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
        Where a warm-up fails, with what it said.
    """
    with tempfile.TemporaryDirectory() as scratch:
        left = [(level, name) for level in levels for name in WARM_UPS]
        running: list[tuple[str, subprocess.Popen[str]]] = []
        while left or running:
            while left and len(running) < workers:
                level, name = left.pop(0)
                print(f"graphsys: compiling {name} for {level}", flush=True)
                running.append((level, _start(WARM_UPS[name], level, Path(scratch) / level)))
            level, process = running.pop(0)
            out, _ = process.communicate()
            if process.returncode != 0:
                for _, other in running:
                    other.kill()
                raise RuntimeError(f"compiling for {level} failed:\n{out}")
        return sum(_collect(Path(scratch) / level, folder / level) for level in levels)


def _start(functions: Sequence[str], level: str, cache: Path) -> subprocess.Popen[str]:
    """Process that calls some functions for a level."""
    cache.mkdir(parents=True, exist_ok=True)
    modules = {name.rpartition(".")[0] for name in functions}
    calls = [f"import {module}" for module in sorted(modules)] + [f"{name}()" for name in functions]
    return subprocess.Popen(
        [sys.executable, "-c", "\n".join(calls)],
        env=environment(level, cache), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def environment(level: str, cache: Path) -> dict[str, str]:
    """Environment of a process that compiles for a level into an empty cache."""
    features = ",".join(f"+{feature}" for feature in machine.LEVELS[level])
    return os.environ | {
        "NUMBA_CACHE_DIR": str(cache), "NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": features,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3]), *sys.path]),
        machine.NOT_SHIPPED: "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip


def _collect(cache: Path, folder: Path) -> int:
    """Move files without what only numba needs; their number."""
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the object files go")
    parser.add_argument("--levels", nargs="+", choices=[*machine.LEVELS, "host"], default=["host"])
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    levels = [machine.host_level() if level == "host" else level for level in given.levels]
    count = build(given.folder, list(dict.fromkeys(levels)), given.workers)
    size = sum(path.stat().st_size for path in given.folder.rglob("*") if path.is_file())
    print(f"{count} object files, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
