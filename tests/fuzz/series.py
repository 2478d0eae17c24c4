"""Series: many cases in one process, and the table of what became of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator

from tests.fuzz.families import draw
from tests.fuzz.functions import FUNCTIONS, Function
from tests.fuzz.judge import APART, FAULTS, NEEDLESS, OUTCOMES, WRONG, Verdict, observe, verdict
from tests.fuzz.trial import Trial


def examine(trial: Trial, function: Function) -> Verdict:
    """Verdict on one function of a case."""
    seen = observe(lambda: function.call(trial))
    refused = seen.error is not None and function.regular(trial)
    found = verdict(seen, bool(refused), lambda result: function.measures(trial, result))
    if function.apart and found.outcome in (WRONG, NEEDLESS):
        return Verdict(APART, found.detail)
    return found


def examine_case(family: str, seed: int, names: Iterable[str]) -> Iterator[tuple[str, Verdict]]:
    """Verdicts on the functions of one case."""
    trial = Trial(draw(family, seed))
    for name in names:
        if FUNCTIONS[name].applies(trial):
            yield name, examine(trial, FUNCTIONS[name])


def run(family: str, seeds: Iterable[int], names: Iterable[str]) -> tuple[Counter, list]:
    """Counts of (function, outcome) over many cases, and the faults (seed, function, verdict)."""
    counts: Counter = Counter()
    faults = []
    for seed in seeds:
        for name, found in examine_case(family, seed, names):
            counts[name, found.outcome] += 1
            if found.outcome in FAULTS:
                faults.append((seed, name, found))
    return counts, faults


def table(counts: Counter) -> str:
    """Counts of outcomes by function, as text; outcomes that never came are left out."""
    columns = [o for o in OUTCOMES if any(outcome == o for _, outcome in counts)]
    lines = [f"{'':24}" + "".join(f"{column:>10}" for column in columns)]
    for name in FUNCTIONS:
        row = [counts[name, column] for column in columns]
        if any(row):
            lines.append(f"{name:24}" + "".join(f"{n or '':>10}" for n in row))
    return "\n".join(lines)


def quick(family: str, count: int, names: Iterable[str] = tuple(FUNCTIONS)) -> int:
    """Run the first cases of a family in this process, print the table, return the faults."""
    start = time.perf_counter()
    counts, faults = run(family, range(count), names)
    seconds = time.perf_counter() - start
    print(f"== {family}: {count} cases, {seconds:.1f} s", table(counts), sep="\n")
    first: dict = {}
    for seed, name, found in faults:
        if name not in {n for key in first if key[0] == found.outcome for n in first[key]}:
            first.setdefault((found.outcome, seed, found.detail[:120]), []).append(name)
    for (outcome, seed, detail), functions in first.items():
        print(f"{outcome}, seed {seed}: {', '.join(functions)}: {detail}")
    return len(faults)
