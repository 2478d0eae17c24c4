"""Fuzz the solver: `python -m tests --fuzz MINUTES`.

Random systems of several families go through every public function, and LAPACK judges the results.
The exit status is 0 where nothing was silently wrong, refused although regular, unclear, crashed or
hung; otherwise one case of each fault is added to the corpus, which the tests replay.

`--family NAME --seed N` examines one case in this process and prints everything about it.
`--cases N` examines the first N cases of each family in this process, `--drawn K` each by K
functions that its seed draws: many systems in little time.
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "asv_benchmarks"))
import benchmarks  # noqa: F401  one thread for every library
from tests.fuzz import corpus, series, workers
from tests.fuzz.families import FAMILIES
from tests.fuzz.functions import FUNCTIONS


def main(arguments: list[str]) -> int:
    """Fuzz as the arguments say; return whether there were faults."""
    parser = argparse.ArgumentParser(
        "python -m tests --fuzz", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("minutes", type=float, nargs="?", default=1.0)
    parser.add_argument("--family", action="append", choices=FAMILIES, help="all by default")
    parser.add_argument("--function", action="append", choices=FUNCTIONS, help="all by default")
    parser.add_argument("--seed", type=int, help="of the case, or of the first case")
    parser.add_argument("--cases", type=int, help="instead of minutes, in this process")
    parser.add_argument("--drawn", type=int, help="functions of each of `--cases`")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--corpus", type=Path, default=corpus.PATH, help="file to add faults to")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.worker:
        workers.work(*json.loads(given.worker))
        return 0
    families, functions = given.family or list(FAMILIES), given.function or list(FUNCTIONS)
    first, start = given.seed or 0, time.perf_counter()
    if given.cases:
        seeds = range(first, first + given.cases)
        findings = series.examine_cases(families, seeds, functions, given.drawn)
    elif given.seed is not None and len(families) == 1:
        return bool(series.describe(families[0], first, functions).faults)
    else:
        seconds = 60.0 * given.minutes
        findings = workers.examine_for(seconds, families, functions, first, given.workers)
        held = corpus.load(given.corpus)
        if corpus.extend(held, findings.faults):
            corpus.save(held, given.corpus)
    calls, seconds = sum(findings.counts.values()), time.perf_counter() - start
    print(series.summary(findings))
    print(
        f"{sum(findings.cases.values())} cases, {calls} calls, {len(findings.faults)} faults in "
        f"{seconds:.0f} s"
    )
    return bool(findings.faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
