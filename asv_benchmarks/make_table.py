"""Measure graphsys against its peers and write the tables of the docs and of the README.

python asv_benchmarks/make_table.py                 # all rows but the slow ones, about 5 minutes
python asv_benchmarks/make_table.py --all           # the slow ones too, about 30 minutes
python asv_benchmarks/make_table.py --only ladder   # these rows anew, the others as saved
python asv_benchmarks/make_table.py --draw          # nothing anew: tables and pictures only

Results are saved in docs/benchmarks/results.json after each row.
"""

import argparse
import json
import math
import sys
import time
from pathlib import Path

import benchmarks  # noqa: F401  one thread, before numpy is imported

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "benchmarks"
RESULTS = FOLDER / "results.json"


def main(arguments):
    """Measure what is asked for, then write tables and pictures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--all", action="store_true", help="the slow rows too")
    parser.add_argument("--only", metavar="TEXT", action="append", help="rows whose name has TEXT")
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    parser.add_argument("--no-write", action="store_true", help="leave docs and README as they are")
    options = parser.parse_args(arguments)
    FOLDER.mkdir(exist_ok=True)
    if not options.draw:
        measure(options)
    if not options.no_write:
        write(load())


def load():
    """Return the saved results."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {"rows": {}}


def measure(options):
    """Measure rows one by one; save and print each."""
    from benchmarks import machine, tables
    from benchmarks.compare import compare
    from benchmarks.rows import ROWS

    described = machine.describe()
    start = time.process_time()
    for row in ROWS:
        if options.only and not any(text in row.key for text in options.only):
            continue
        if row.slow and not options.all:
            continue
        comparison = compare(row.family, row.nodes, row.block)
        if not options.no_write:
            saved = load() | {"machine": described}  # another run may have added to it
            saved["rows"][row.key] = rounded(comparison.as_dict())
            RESULTS.write_text(json.dumps(saved, indent=1) + "\n")
        print(tables.results([(row, comparison)]).splitlines()[-1], flush=True)
    if not options.only or any(text in "batch" for text in options.only):
        batches = measure_batches()
        print(tables.batches(batches), flush=True)
        if not options.no_write:
            RESULTS.write_text(json.dumps(load() | {"batches": batches}, indent=1) + "\n")
    print(f"{time.process_time() - start:.0f} s of CPU time")


def measure_batches():
    """Return what `benchmarks.batch` shows: family, nodes, block and two times of each row."""
    from benchmarks import batch

    return rounded([[*row, *batch.Systems(*row).seconds()] for row in batch.ROWS])


def rounded(found):
    """Return nested results with four digits, and None for what is not a number."""
    if isinstance(found, dict):
        return {name: rounded(value) for name, value in found.items()}
    if isinstance(found, list):
        return [rounded(value) for value in found]
    if isinstance(found, float):
        return None if math.isnan(found) else float(f"{found:.4g}")
    return found


def write(saved):
    """Write the tables of the pages and of README.md, and the pictures."""
    from benchmarks import pictures, tables
    from benchmarks.compare import Comparison
    from benchmarks.rows import ROWS

    measured = [
        (row, Comparison.from_dict(saved["rows"][row.key]))
        for row in ROWS
        if row.key in saved["rows"]
    ]
    rate = saved["machine"]["dgemm"]
    sections = {
        "machine": tables.machine(saved["machine"]),
        "results": tables.results(measured),
        "analysis": tables.analysis(measured),
        "batches": tables.batches(saved["batches"]),
        "peers": tables.peers(measured),
        "readme": tables.readme(measured),
    }
    for name in ("docs/benchmarks.md", "docs/benchmark_notes.md", "README.md"):
        page = ROOT / name
        page.write_text(filled(page.read_text(), sections))
    for family, comparisons in pictures.families(measured).items():
        name = family.replace("/", "_").replace(" ", "_")
        pictures.save_family(FOLDER / f"{name}.png", family, comparisons, rate)
    pictures.save_pair(FOLDER / "ladder_and_net.png", measured, rate)


def filled(text, sections):
    """Return a page with what stands between its `begin` and `end` comments written anew."""
    for name, section in sections.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        if begin in text:
            before, rest = text.split(begin)
            text = f"{before}{begin}\n{section}\n{end}{rest.split(end)[1]}"
    return text


if __name__ == "__main__":
    main(sys.argv[1:])
