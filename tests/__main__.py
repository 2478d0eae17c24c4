"""Run every check of the project: `python -m tests`.

Each check runs even if an earlier one failed; the exit code is non-zero if any did. Tests marked
slow are left out. Arguments go to pytest, and then pytest runs alone, with all tests that they
choose: `python -m tests -k ladder`, `python -m tests -m slow`. A first argument `--plain`,
`--bounds`, `--lowest` or `--coverage` runs pytest in another way, see `WAYS`; further arguments go
to it, too.
`--fuzz MINUTES` tries random systems instead, see `tests.fuzz`. `--help` prints this;
`python -m pytest --help` has what pytest takes.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
#: Tests that plain Python runs in minutes, those of every kernel's loops among them.
PLAIN = [
    *(f"tests/graphsys/test_{name}.py" for name in ("factor", "frame", "kernels", "pivots",
                                                    "scalars", "symmetric", "system")),
    *(f"tests/dynamics/test_{name}.py" for name in ("coordinates", "joints", "rotation",
                                                    "urdf_closures")),
]  # fmt: skip
#: Other ways to run pytest: what is set in the environment, and arguments.
WAYS = {
    # Kernels as plain Python, whose floats warn where compiled code gives NaN or inf in silence,
    # and whose max() drops a NaN that the compiled one keeps.
    "--plain": (
        {"NUMBA_DISABLE_JIT": "1"},
        ["-W", "ignore::RuntimeWarning", "-k", "not values_that_are_not_finite", *PLAIN],
    ),
    # Kernels that check every index: an index beyond an array raises IndexError.
    "--bounds": ({"NUMBA_BOUNDSCHECK": "1"}, ["-m", "not slow"]),
    # In an environment of the lowest versions, which warn about each other.
    "--lowest": ({}, ["-m", "not slow", "-W", "default"]),
    # Which branches of the Python layers the tests take, by pytest-cov; `pyproject.toml` has the
    # files that count and the floor. Kernels are compiled, so none of their lines are traced.
    "--coverage": ({}, ["-m", "not slow", "--cov", "--cov-report=term-missing:skip-covered"]),
}
#: Workers by cores, the most that fit. Each compiles all kernels that it meets first: two divide
#: the files so that they meet few of the same at the same time, see `SHARES` in `conftest.py`.
WORKERS = {4: ["-n", "4"], 2: ["-n", "2", "--dist", "loadgroup"]}


def checks(pytest_arguments: Sequence[str]) -> dict[str, list[str]]:
    """Return the commands by name, pytest last so that its closing line is seen."""
    python = sys.executable
    way, rest = list(pytest_arguments[:1]), pytest_arguments[1:]
    if way and way[0] in WAYS:
        settings, chosen = WAYS[way[0]]
        os.environ.update(settings)
        pytest_arguments = [*chosen, *rest]
    if way == ["--fuzz"]:
        return {"fuzz": [python, "-m", "tests.fuzz", *rest]}
    pytest = [python, "-m", "pytest", *pytest_arguments]
    if pytest_arguments:
        return {"pytest": pytest}
    pytest += ["-m", "not slow", "--durations=15"]
    if find_spec("xdist"):
        fitting = (how for cores, how in WORKERS.items() if (os.cpu_count() or 1) >= cores)
        pytest += next(fitting, [])
    commands = {
        "ruff check": [python, "-m", "ruff", "check", "."],
        "ruff format": [python, "-m", "ruff", "format", "--check", "."],
        "mypy": [python, "-m", "mypy"],
        "lint-imports": [str(BIN / "lint-imports"), "--no-cache"],  # it misses new modules
    }
    if find_spec("asv") and (ROOT / ".git").exists():
        config = str(ROOT / "asv_benchmarks" / "asv.conf.json")
        asv = [python, "-m", "asv", "check", "--python=same", "--config", config]
        commands["asv check"] = asv
    return commands | {"pytest": pytest}


class Ended(NamedTuple):
    """A check that has run."""

    name: str
    code: int
    output: str
    seconds: float

    def __str__(self) -> str:
        return f"{'ok    ' if self.code == 0 else 'FAILED'} {self.name} ({self.seconds:.1f} s)"


def run(name: str, command: list[str], live: bool = False) -> Ended:
    """Run a command; if live, print what it says as it says it."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace",
    )  # fmt: skip
    output = ""
    for line in process.stdout or ():
        output += line
        if live:
            print(line, end="", flush=True)
    return Ended(name, process.wait(), output, time.perf_counter() - start)


def main(pytest_arguments: Sequence[str]) -> int:
    """Run pytest and, in parallel, the other checks; print a summary; return how many failed."""
    if pytest_arguments[:1] in (["-h"], ["--help"]):
        print(__doc__, end="")
        return 0
    *others, (name, command) = checks(pytest_arguments).items()
    with ThreadPoolExecutor(1) as thread:
        beside = [thread.submit(run, *other) for other in others]
        print(f"== {name}", flush=True)
        last = run(name, command, live=True)
    ended = [*(other.result() for other in beside), last]
    for one in ended[:-1]:
        print(f"== {one.name}\n{one.output}", end="")
    print("== summary", *ended, sep="\n")
    print(last.output.rstrip().rpartition("\n")[2], flush=True)  # pytest's closing line once more
    return sum(one.code != 0 for one in ended)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) != 0)
