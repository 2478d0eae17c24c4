"""Mutation testing: `python -m tests.mutants [MODULE ...] [--most N] [--seed K]`.

Each mutant is the project with one operator, number or keyword of one module changed; its tests run
as plain Python (`NUMBA_DISABLE_JIT=1`), so nothing is compiled. A mutant that no test fails on
survives: it is printed, and the exit status is 1. It becomes a test, or the code that nobody misses
goes. Needs cosmic-ray (extra `mutants`); hours for all modules, so it runs before a release.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOLVER = ("graphsys", "factor", "kernels", "pivots", "symmetric", "scalars", "hermitian")
JOINTS = ("dynamics", "joints", "rotation", "coordinates", "nonholonomic")
FRONTS = ("graphsys", "fronts", "hermitian")
TOUCHES = ("dynamics", "contact_rows", "contact_geometry")
#: Folder and names of the tests that protect a module.
SUITES = {
    "graphsys/analysis/pivot_supply.py": ("graphsys", "pivot_supply", *SOLVER[1:]),
    "graphsys/matrix/equilibration.py": ("graphsys", "equilibration"),
    "graphsys/kernels/analysis/equilibration.py": ("graphsys", "equilibration"),
    "graphsys/kernels/analysis/product_matching.py": ("graphsys", "product_matching"),
    "graphsys/kernels/blocks/growth.py": ("graphsys", "kernels", "stability"),
    "graphsys/kernels/blocks/large.py": SOLVER,
    "graphsys/kernels/frontal/front.py": FRONTS,
    "graphsys/kernels/frontal/multifrontal.py": FRONTS,
    "graphsys/kernels/frontal/pivots.py": FRONTS,
    "graphsys/kernels/frontal/substitution.py": FRONTS,
    "graphsys/kernels/batch/scalar_ldu.py": ("graphsys", "scalar_lanes"),
    "graphsys/kernels/program/scalar_lanes.py": ("graphsys", "scalar_lanes"),
    "graphsys/kernels/program/updates.py": ("graphsys", "bottom_nodes", "kernels", "changed"),
    "graphsys/kernels/single/ldu.py": SOLVER,
    "graphsys/kernels/single/substitution.py": SOLVER,
    "graphsys/kernels/single/refinement.py": ("graphsys", "refinement", "stability", "factor"),
    "dynamics/kernels/rows/rows.py": JOINTS,
    "dynamics/kernels/rows/poses.py": ("dynamics", "turns", *JOINTS[1:]),
    "dynamics/kernels/base/quaternion.py": ("dynamics", "kernel_parts", *JOINTS[1:4]),
    "dynamics/kernels/interval/energy_audit.py": ("dynamics", "kernel_parts"),
    "dynamics/kernels/contacts/rows.py": TOUCHES,
    "dynamics/kernels/observables/contacts.py": TOUCHES,
}
#: Changes that only make nonsense of index arithmetic, or of what plain Python cannot run.
LEFT_OUT = (
    "(Pow|Mod|Shift|Bit|FloorDiv|Decorator|Exception|ZeroIteration|UnaryOperator_Invert|[tqE]_Is)"
)
#: What lanes of vectors need compiled code for.
COMPILED = "not values_that_are_not_finite and not batch and not threads"


def configuration(module: str, seconds: float) -> str:
    """Settings of cosmic-ray for a module."""
    folder, *names = SUITES[module]
    tests = " ".join(f"tests/{folder}/test_{name}.py" for name in names)
    options = f"-x -q -p no:cacheprovider -W ignore::RuntimeWarning -m 'not slow' -k '{COMPILED}'"
    command = f"{sys.executable} -m pytest {options} {tests}"
    return f"""[cosmic-ray]
module-path = "{module}"
timeout = {seconds:.1f}
excluded-modules = []
test-command = {json.dumps(command)}

[cosmic-ray.distributor]
name = "local"

[cosmic-ray.filters.operators-filter]
exclude-operators = ["core/.*{LEFT_OUT}.*"]
"""


def survivors(module: str, most: int, seed: int, seconds: float) -> tuple[int, list[str]]:
    """How many mutants of a module were tried, and the changes that no test noticed."""
    from cosmic_ray.work_db import use_db
    from cosmic_ray.work_item import WorkerOutcome, WorkResult

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "project"  # mutants are written over the sources
        ignored = shutil.ignore_patterns("__pycache__", ".*", "build", "dist")
        shutil.copytree(ROOT, copy, ignore=ignored)
        settings, session = Path(folder) / "settings.toml", Path(folder) / "session.sqlite"
        settings.write_text(configuration(module, seconds))

        def run(*command: str) -> None:
            environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
            subprocess.run([sys.executable, "-m", *command], cwd=copy, env=environment, check=True)

        run("cosmic_ray.cli", "baseline", str(settings))  # the tests pass on the code as it is
        run("cosmic_ray.cli", "init", str(settings), str(session))
        run("cosmic_ray.tools.filters.operators_filter", str(session), str(settings))
        with use_db(str(session)) as jobs:
            waiting = sorted(item.job_id for item in jobs.pending_work_items)
            random.Random(seed).shuffle(waiting)
            for job in waiting[most:]:
                jobs.set_result(job, WorkResult(worker_outcome=WorkerOutcome.SKIPPED))
        run("cosmic_ray.cli", "exec", str(settings), str(session))
        with use_db(str(session)) as jobs:
            done = [result for _, result in jobs.results if result.test_outcome is not None]
    return len(done), [result.diff or "" for result in done if not result.is_killed]


def main(arguments: Sequence[str]) -> int:
    """Try the mutants, print the survivors, and return 1 where there are any."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=", ".join(SUITES))
    parser.add_argument(
        "--most", type=int, default=100, help="mutants of a module, drawn at random"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=300.0, help="after which a mutant hangs")
    given = parser.parse_args(arguments)
    if unknown := set(given.modules) - set(SUITES):
        parser.error(f"no tests are named for {', '.join(sorted(unknown))}: add them to SUITES")
    if find_spec("cosmic_ray") is None:
        parser.error("cosmic-ray is not installed: pip install graphsys[mutants]")
    total = 0
    for module in given.modules or SUITES:
        tried, alive = survivors(module, given.most, given.seed, given.seconds)
        total += len(alive)
        print(f"{module}: {tried - len(alive)} of {tried} mutants failed a test", flush=True)
        for change in alive:
            print(change, flush=True)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
