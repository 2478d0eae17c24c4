"""Equations of the theory pages are numbered in turn, and what the code cites is there."""

import re

from .source import ROOT, expect_none, text

PAGES = sorted(path.stem for path in ROOT.glob("docs/theory/*.md"))
#: Pages whose equations have numbers of their own (those of papers keep the paper's).
NUMBERED = [
    "compliance", "contacts", "elimination", "galerkin", "joints", "loops", "step",
    "tree_integrator",
]  # fmt: skip
SOURCES = [
    p for package in ("graphsys", "dynamics", "tests") for p in ROOT.glob(f"{package}/**/*.py")
]
#: A citation of a note that is not in the repository, such as "maths X.2".
DEAD = re.compile(r"\bmaths [A-Z]\b(?:\.\d+)?|\bdesign study\b|\bthe specification\b")
CITATION = re.compile(r"theory/(\w+)((?:(?:,| to| and)?\s\(\d+\))+)")


def equations(page):
    return [int(n) for n in re.findall(r"\\tag\{(\d+)\}", text(f"docs/theory/{page}.md"))]


def citations():
    for path in SOURCES:
        for page, numbers in CITATION.findall(path.read_text(encoding="utf-8")):
            for number in re.findall(r"\d+", numbers):
                yield path.relative_to(ROOT).as_posix(), page, int(number)


CITED = sorted(set(citations()))


def test_equations_are_numbered_in_turn():
    for page in NUMBERED:
        found = equations(page)
        assert found and found == list(range(1, len(found) + 1)), page


def test_an_equation_that_code_cites_is_there():
    there = {page: equations(page) for page in PAGES}
    wrong = [
        f"{path}: theory/{page} ({number})"
        for path, page, number in CITED
        if number not in there.get(page, [])
    ]
    assert CITED
    expect_none(wrong)


def test_code_cites_every_page():
    expect_none(sorted(set(NUMBERED) - {page for _, page, _ in CITED}))


def test_no_file_cites_a_note_that_is_not_here():
    names = [
        path
        for folder in ("graphsys", "dynamics", "tests", "asv_benchmarks", "docs")
        for path in ROOT.glob(f"{folder}/**/*")
        if path.suffix in (".py", ".md") and path.name != "test_theory.py"
    ]
    expect_none(
        [
            f"{path.relative_to(ROOT)}: {found[0]}"
            for path in names
            for found in DEAD.finditer(path.read_text(encoding="utf-8"))
        ]
    )


def test_the_pattern_of_dead_citations_finds_them():
    found = DEAD.findall("see (maths C): and maths F.2, maths of rings, the design study")

    assert found == ["maths C", "maths F.2", "design study"]
