"""Series: many cases in one process, and the table of what became of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from tests.fuzz.families import draw
from tests.fuzz.functions import FUNCTIONS, Function
from tests.fuzz.judge import APART, FAULTS, NEEDLESS, OUTCOMES, WRONG, Verdict, observe, verdict
from tests.fuzz.trial import Trial

#: Rows up to which a matrix is printed.
PRINTED = 12


@dataclass
class Findings:
    """What became of all calls.

    Attributes
    ----------
    counts : Counter of (family, function, outcome)
    faults : list of (family, seed, function, Verdict)
    cases : Counter of family
    """

    counts: Counter = field(default_factory=Counter)
    faults: list = field(default_factory=list)
    cases: Counter = field(default_factory=Counter)

    def add(self, family: str, seed: int, name: str, found: Verdict) -> None:
        """Count a verdict."""
        self.counts[family, name, found.outcome] += 1
        if found.outcome in FAULTS:
            self.faults.append((family, seed, name, found))


def examine(trial: Trial, function: Function) -> Verdict:
    """Verdict on one function of a case."""
    seen = observe(lambda: function.call(trial))
    refused = seen.error is not None and function.regular(trial)
    found = verdict(seen, bool(refused), lambda result: function.measures(trial, result))
    if function.apart and found.outcome in (WRONG, NEEDLESS):
        return Verdict(APART, found.detail)
    return found


def examine_case(
    family: str, seed: int, names: Iterable[str], before: Callable[[str], None] = lambda name: None
) -> Iterator[tuple[str, Verdict]]:
    """Verdicts on the functions of one case; ``before(name)`` is called before each."""
    trial = Trial(draw(family, seed))
    for name in names:
        if FUNCTIONS[name].applies(trial):
            before(name)
            yield name, examine(trial, FUNCTIONS[name])


def table(counts: Counter) -> str:
    """Counts of (function, outcome) as text; outcomes that never came are left out."""
    columns = [o for o in OUTCOMES if any(outcome == o for _, outcome in counts)]
    lines = [f"{'':24}" + "".join(f"{column:>10}" for column in columns)]
    for name in [*FUNCTIONS, "draw"]:
        row = [counts[name, column] for column in columns]
        if any(row):
            lines.append(f"{name:24}" + "".join(f"{n or '':>10}" for n in row))
    return "\n".join(lines)


def summary(findings: Findings) -> str:
    """A table for each family, and the first fault of each function and outcome."""
    lines = [f"{fault[3].outcome}: {fault[3].detail}" for fault in findings.faults if not fault[0]]
    for family, cases in findings.cases.items():
        mine = Counter({key[1:]: n for key, n in findings.counts.items() if key[0] == family})
        lines += [f"== {family}: {cases} cases", table(mine)]
        first: dict[tuple, list[str]] = {}
        seen = set()
        for found_in, seed, name, found in findings.faults:
            if found_in == family and (name, found.outcome) not in seen:
                seen.add((name, found.outcome))
                first.setdefault((found.outcome, seed, found.detail[:120]), []).append(name)
        for (outcome, seed, detail), functions in first.items():
            lines.append(f"{outcome}, seed {seed}: {', '.join(functions)}: {detail}")
    return "\n".join(lines)


def examine_cases(
    families: Iterable[str],
    seeds: Iterable[int],
    names: Iterable[str],
    drawn: int | None = None,
) -> Findings:
    """Examine some cases of families in this process, each by all functions or by `drawn` ones."""
    findings = Findings()
    seeds, names = list(seeds), list(names)
    for family in families:
        for seed in seeds:
            findings.cases[family] += 1
            mine = names if drawn is None else random.Random(seed).sample(names, drawn)
            for name, found in examine_case(family, seed, mine):
                findings.add(family, seed, name, found)
    return findings


def describe(family: str, seed: int, names: Iterable[str]) -> Findings:
    """Examine one case and print everything about it."""
    trial = Trial(draw(family, seed))
    case, findings = trial.case, Findings()
    findings.cases[family] += 1
    print(case, f"sizes {case.sizes}", f"edges {list(case.graph.edges)}", sep="\n")
    for k, matrix in enumerate(case.matrices):
        condition = trial.reference(k).condition
        print(f"matrix {k}: condition {condition:.1e} when equilibrated")
        if len(matrix) <= PRINTED:
            print(repr(matrix))
    print(f"changed {case.changed}", f"kept {case.kept}", f"order {case.order}", sep="\n")
    for name, found in examine_case(family, seed, names, lambda name: print(end="", flush=True)):
        findings.add(family, seed, name, found)
        print(f"{name:24}{found.outcome:10}{found.detail}", flush=True)
    return findings
