"""Compile the kernels that users meet first: ``python -m graphsys.compiler.build FOLDER``.

For each processor level, processes of their own run the warm-ups of both packages with an empty
cache; what they compile is collected in ``FOLDER/<level>``. `wheel_hook` calls it when a wheel is
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

from . import machine, store

#: What is run with an empty cache, each in a process of its own.
WARM_UPS = "graphsys.warmup", "dynamics.warmup"


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
        left = [(level, module) for level in levels for module in WARM_UPS]
        running: list[tuple[str, subprocess.Popen[str]]] = []
        while left or running:
            while left and len(running) < workers:
                level, module = left.pop(0)
                print(f"graphsys: compiling {module.split('.')[0]} for {level}", flush=True)
                running.append((level, _start(module, level, Path(scratch) / level)))
            level, process = running.pop(0)
            out, _ = process.communicate()
            if process.returncode != 0:
                for _, other in running:
                    other.kill()
                raise RuntimeError(f"compiling for {level} failed:\n{out}")
        return sum(_collect(Path(scratch) / level, folder / level) for level in levels)


def _start(module: str, level: str, cache: Path) -> subprocess.Popen[str]:
    """Process that runs a warm-up for a level."""
    cache.mkdir(parents=True, exist_ok=True)
    features = ",".join(f"+{feature}" for feature in machine.LEVELS[level])
    environment = {
        "NUMBA_CACHE_DIR": str(cache), "NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": features,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path]),
        machine.NOT_SHIPPED: "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-c", f"from {module} import warm_up; warm_up()"],
        env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def _collect(cache: Path, folder: Path) -> int:
    """Move files without what only numba needs; their number."""
    files = [path for path in cache.glob("objects-*/*") if not path.name.startswith("tmp")]
    for path in files:
        entry = store.read(path)
        if entry is None:
            raise RuntimeError(f"{path.name} is damaged")
        header = {name: entry.header[name] for name in ("symbol", "needs")}
        store.write(folder / path.name, header, entry.code)
    (folder / "manifest.json").write_text(json.dumps(machine.build_of()))
    return len(files)


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m graphsys.compiler.build", description=__doc__)
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
