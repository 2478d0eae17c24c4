"""Demonstration: systems of graphs with cycles, solved by graphsys, SuperLU and LAPACK."""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from graphsys.display.report import in_words
from graphsys.families import crystal, ladder, net, random_system
from graphsys.symbolic import Symbolic
from graphsys.system import System

__all__ = ["SIZES", "demo"]

#: Graphs of each size: family and its parameter.
SIZES: dict[str, tuple[tuple[Callable[[int], Any], int], ...]] = {
    "small": ((ladder, 50), (net, 8), (crystal, 4)),
    "medium": ((ladder, 500), (net, 20), (crystal, 6)),
}
BLOCK = 6
#: Unknowns up to which the dense solver is tried.
MOST_DENSE = 2500
#: A measurement is the least of so many runs, and of more while they take less than this, in s.
RUNS, SECONDS = 3, 0.2

COLUMNS = (
    ("graph", 14),
    ("nodes", 6),
    ("cycles", 7),
    ("fill-in", 8),
    ("operations", 13),
    ("analyze", 8),
    ("graphsys", 9),
    ("splu", 8),
    ("LAPACK", 8),
    ("vs splu", 9),
    ("vs LAPACK", 11),
    ("residual", 9),
)

NOTES = (
    "Blocks are {block} x {block}. Times are {clock} in milliseconds, the least of several runs "
    "{threads}.",
    "analyze: once for a graph. graphsys: refactorize and solve. splu: factorize and solve with "
    "scipy's SuperLU, with a new ordering each time, the faster of COLAMD and MMD_AT_PLUS_A. "
    "LAPACK: the same with the dense matrix, up to {most:,} unknowns.",
    "residual: |A x - b| / (|A| |x| + |b|) of graphsys, in the maximum norm.",
)


@dataclass(frozen=True, slots=True)
class Timing:
    """CPU seconds of a call, and seconds on the wall; the least of several runs."""

    cpu: float
    wall: float


def demo(size: str = "medium") -> Iterator[str]:
    """Solve systems on a ladder, a net and a crystal, and compare with SuperLU and LAPACK.

    Parameters
    ----------
    size : {"small", "medium"}
        Of the graphs.

    Yields
    ------
    str
        Lines of a table, each as soon as it is known.
    """
    with _one_thread():
        yield "".join(_cell(k, name) for k, (name, _) in enumerate(COLUMNS))
        most_threads = 1.0
        for family, parameter in SIZES[size]:
            system = random_system(family(parameter), BLOCK)
            cells, threads = _compare(_title(family.__name__, parameter), system)
            most_threads = max(most_threads, threads)
            yield "".join(_cell(k, text) for k, text in enumerate(cells))
    words = {
        "block": BLOCK,
        "clock": "CPU time" if _clock is time.process_time else "time",
        "threads": "on one thread"
        if most_threads < 1.3
        else f"(graphsys and splu on one thread, LAPACK on {most_threads:.1f}, summed up)",
        "most": MOST_DENSE,
    }
    yield ""
    for note in NOTES:
        yield from textwrap.wrap(note.format(**words), 100)


def _compare(title: str, system: System) -> tuple[list[str], float]:
    """Cells of a system's line, and how many threads LAPACK kept busy."""
    b = np.random.default_rng(1).standard_normal(system.shape[0])
    symbolic: Symbolic = system.analyze()
    factor = system.factorize()
    x = factor.solve(b)
    analysis = _fastest(system.analyze).cpu
    ours = _fastest(lambda: factor.refactorize(system.values).solve(b)).cpu
    others = [_superlu(system, b), _lapack(system, b)]
    times = [None if other is None else 1e3 * other.cpu for other in others]
    cells = [
        title,
        f"{len(system.labels):,}",
        f"{symbolic.n_cycles:,}",
        f"{symbolic.n_fill:,}",
        in_words(symbolic.operations),
        f"{1e3 * analysis:.2f}",
        f"{1e3 * ours:.3f}",
        *("-" if t is None else f"{t:.2f}" for t in times),
        *("-" if t is None else f"{t / (1e3 * ours):.1f} x" for t in times),
        f"{factor.backward_error(x, b):.1e}",
    ]
    dense = others[1]
    return cells, 1.0 if dense is None else dense.cpu / dense.wall


def _superlu(system: System, b: Any) -> Timing:
    A = system.to_scipy("csc")
    orders = ("COLAMD", "MMD_AT_PLUS_A")
    found = [_fastest(partial(_factorize_and_solve, A, name, b)) for name in orders]
    return min(found, key=lambda timing: timing.cpu)


def _factorize_and_solve(A: Any, order: str, b: Any) -> Any:
    from scipy.sparse.linalg import splu

    return splu(A, permc_spec=order).solve(b)


def _lapack(system: System, b: Any) -> Timing | None:
    from scipy.linalg import lu_factor, lu_solve

    if system.shape[0] > MOST_DENSE:
        return None
    A = system.to_dense()
    return _fastest(lambda: lu_solve(lu_factor(A, check_finite=False), b, check_finite=False))


# Other processes at work do not slow CPU time down; some systems only know it to a few ms.
_clock = (
    time.process_time
    if time.get_clock_info("process_time").resolution <= 1e-6
    else time.perf_counter
)


def _fastest(call: Callable[[], Any]) -> Timing:
    least, wall, total, runs = np.inf, np.inf, 0.0, 0
    while runs < RUNS or (total < SECONDS and runs < 1000):
        cpu_start, start = _clock(), time.perf_counter()
        call()
        passed, wall_passed = _clock() - cpu_start, time.perf_counter() - start
        if passed < least:
            least, wall = passed, wall_passed
        total, runs = total + passed, runs + 1
    return Timing(max(float(least), 1e-9), max(float(wall), 1e-9))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep LAPACK to one thread: BLAS libraries read the environment when they are loaded."""
    names = [f"{library}_NUM_THREADS" for library in ("OMP", "OPENBLAS", "MKL")]
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        import_module("scipy.linalg")
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    with ExitStack() as stack:
        if find_spec("threadpoolctl"):
            stack.enter_context(import_module("threadpoolctl").threadpool_limits(1))
        yield


def _title(family: str, parameter: int) -> str:
    dimension = {"ladder": 1, "net": 2, "crystal": 3}[family]
    return f"{family} " + "x".join([str(parameter)] * dimension)


def _cell(column: int, text: str) -> str:
    width = COLUMNS[column][1]
    return f"{text:<{width}}" if column == 0 else f"{text:>{width}}"
