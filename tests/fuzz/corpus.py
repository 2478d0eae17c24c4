"""Corpus: cases that once failed, as {family: {seed: [function, ...]}}."""

from __future__ import annotations

import json
from pathlib import Path

PATH = Path(__file__).with_name("corpus.json")
#: Cases of one function of a family, so that the corpus is replayed in seconds.
MOST = 4

Corpus = dict[str, dict[str, list[str]]]


def load(path: Path = PATH) -> Corpus:
    """Corpus of a file; empty where there is none."""
    return json.loads(path.read_text()) if path.exists() else {}


def save(corpus: Corpus, path: Path = PATH) -> None:
    """Write a corpus, a case to a line."""
    families = []
    for family, cases in sorted(corpus.items()):
        lines = [
            f"  {json.dumps(seed)}: {json.dumps(cases[seed])}" for seed in sorted(cases, key=int)
        ]
        families.append(f" {json.dumps(family)}: {{\n" + ",\n".join(lines) + "\n }")
    path.write_text("{\n" + ",\n".join(families) + "\n}\n")


def extend(corpus: Corpus, faults: list) -> int:
    """Add the first fault of each function and outcome; return how many were new.

    Seeds that are in the corpus already come first: a case is drawn once for all its functions.
    Workers that failed before they called a function ("draw") have no case to keep.
    """
    added, seen = 0, set()
    for family, seed, name, found in sorted(
        faults, key=lambda fault: (str(fault[1]) not in corpus.get(fault[0], {}), fault[1])
    ):
        if name == "draw":
            continue
        cases = corpus.setdefault(family, {})
        held = sum(name in names for names in cases.values())
        if (family, name, found.outcome) in seen or held >= MOST:
            continue
        seen.add((family, name, found.outcome))
        names = cases.setdefault(str(seed), [])
        if name not in names:
            names.append(name)
            added += 1
    return added
