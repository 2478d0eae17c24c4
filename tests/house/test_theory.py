"""Equations of the theory pages are numbered in turn, and what the code cites is there."""

import re

import pytest

from .source import ROOT, text

PAGES = sorted(path.stem for path in ROOT.glob("docs/theory/*.md"))
#: Pages whose equations have numbers of their own (those of papers keep the paper's).
NUMBERED = [
    "compliance", "contacts", "elimination", "galerkin", "joints", "loops", "step",
    "tree_integrator",
]  # fmt: skip
SOURCES = [p for package in ("graphsys", "dynamics") for p in ROOT.glob(f"{package}/**/*.py")]
CITATION = re.compile(r"theory/(\w+)((?:(?:,| to| and)?\s\(\d+\))+)")


def equations(page):
    return [int(n) for n in re.findall(r"^    .*\((\d+)\)$", text(f"docs/theory/{page}.md"), re.M)]


def citations():
    for path in SOURCES:
        for page, numbers in CITATION.findall(path.read_text(encoding="utf-8")):
            for number in re.findall(r"\d+", numbers):
                yield path.relative_to(ROOT).as_posix(), page, int(number)


CITED = sorted(set(citations()))


@pytest.mark.parametrize("page", NUMBERED)
def test_equations_are_numbered_in_turn(page):
    found = equations(page)

    assert found and found == list(range(1, len(found) + 1))


@pytest.mark.parametrize(("path", "page", "number"), CITED)
def test_an_equation_that_code_cites_is_there(path, page, number):
    assert page in PAGES
    assert number in equations(page)


@pytest.mark.parametrize("page", NUMBERED)
def test_code_cites_every_page(page):
    assert any(cited == page for _, cited, _ in CITED)
