"""The page of the papers: no algorithm, table or figure is left out, every object named exists."""

import importlib
import re

import pytest

from .source import ROOT, expect_none, text

PAGE = "docs/papers.md"
#: Numbered parts of each document, as printed.
PRINTED = {
    "000": ("Algorithm 1 2 3 4", "Fig. 1 2 3 4 5 6 7 8"),
    "001": (
        "Algorithm 1 2 3 4 5 6 7 8",
        "Fig. 1 2 3 4 5 6 7 8 9 10 11 12 13 14 B.1",
        "Table B.1 B.2",
    ),
    "002": (),
    "003": ("Algorithm 1 2 3 B.1 B.2", "Fig. 1 2 3 4 5 6", "Table 1"),
    "004": (),
}


def rows(document):
    """Cells of the table of one document, its head left out."""
    section = re.search(rf"^## {document}:.*?(?=^## |\Z)", text(PAGE), re.M | re.S)[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [re.split(r"\s*\|\s*", line)[1:-1] for line in lines[1:]]


def names():
    """Dotted names of objects in the tables."""
    found = re.findall(r"`((?:graphsys|dynamics)\.[\w.]+)`", text(PAGE))
    return sorted(set(found))


def resolved(name):
    """The module, class or function of a dotted name; None where there is none."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:k]))
        except ImportError:
            continue
        for part in parts[k:]:
            thing = getattr(thing, part, None)
        return thing
    return None


@pytest.mark.parametrize("document", PRINTED)
def test_every_numbered_part_has_a_row(document):
    there = [row[0] for row in rows(document)]
    wanted = []
    for line in PRINTED[document]:
        kind, *numbers = line.split()
        wanted += [f"{kind} {number}" for number in numbers]

    assert there
    expect_none([p for p in wanted if not any(re.match(rf"{re.escape(p)}\b", t) for t in there)])


@pytest.mark.parametrize("document", PRINTED)
def test_every_row_says_where_or_that_it_is_missing(document):
    short = [row for row in rows(document) if len(row) != 4]
    silent = [row[0] for row in rows(document) if not row[1] and not row[3].startswith("missing")]

    expect_none(short)
    expect_none(silent)


def test_every_object_exists():
    assert len(names()) > 30
    expect_none([name for name in names() if resolved(name) is None])


def test_every_file_that_is_named_exists():
    paths = set(re.findall(r"`((?:dynamics|tests|asv_benchmarks|docs)/[\w./]+)`", text(PAGE)))

    assert len(paths) > 20
    expect_none([path for path in sorted(paths) if not (ROOT / path).is_file()])


def test_every_kernel_that_is_named_exists():
    named = re.findall(r"`(\w+)` in `([\w/]+)\.py`", text(PAGE))
    modules = [(name, importlib.import_module(path.replace("/", "."))) for name, path in named]

    assert len(named) >= 4
    expect_none([name for name, module in modules if not hasattr(module, name)])
