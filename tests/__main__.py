"""Run every check of the project: `python -m tests`.

Each check runs even if an earlier one failed; the exit code is non-zero if any did. Tests marked
slow are left out. Arguments go to pytest, and then pytest runs alone, with all tests that they
choose: `python -m tests -k ladder`, `python -m tests -m slow`.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
WORKERS_FROM = 4  # every worker loads numba and its kernels anew: with fewer cores it is slower


def checks(pytest_arguments: Sequence[str]) -> dict[str, list[str]]:
    """Return the commands by name, pytest last so that its closing line is seen."""
    python = sys.executable
    pytest = [python, "-m", "pytest", *pytest_arguments]
    if pytest_arguments:
        return {"pytest": pytest}
    pytest += ["-m", "not slow", "--durations=15"]
    if find_spec("xdist") and (os.cpu_count() or 1) >= WORKERS_FROM:
        pytest += ["-n", str(WORKERS_FROM)]
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


def main(pytest_arguments: Sequence[str]) -> int:
    """Run the checks, print a summary, and return the number of those that failed."""
    summary = []
    failed = 0
    for name, command in checks(pytest_arguments).items():
        print(f"== {name}", flush=True)
        start = time.perf_counter()
        output = ""
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
        for line in process.stdout or ():
            print(line, end="", flush=True)
            output = line.strip() or output
        code = process.wait()
        failed += code != 0
        seconds = time.perf_counter() - start
        summary.append(f"{'ok    ' if code == 0 else 'FAILED'} {name} ({seconds:.1f} s)")
    print("== summary", *summary, sep="\n")
    print(output, flush=True)  # pytest's own closing line once more
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) != 0)
