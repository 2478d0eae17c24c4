"""First cases of families in one process: `python -m tests.fuzz COUNT --family F --function G`."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "asv_benchmarks"))
import benchmarks  # noqa: F401  sets NUMBA_CACHE_DIR and one thread for every library
from tests.fuzz.families import FAMILIES
from tests.fuzz.functions import FUNCTIONS
from tests.fuzz.series import quick

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("count", type=int, help="cases of each family")
    parser.add_argument("--family", action="append", choices=FAMILIES, help="all by default")
    parser.add_argument("--function", action="append", choices=FUNCTIONS, help="all by default")
    given = parser.parse_args()
    functions = given.function or list(FUNCTIONS)
    faults = [quick(name, given.count, functions) for name in given.family or FAMILIES]
    sys.exit(any(faults))
