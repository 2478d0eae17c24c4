"""The pages make a site: every page in its menu, every link whole, no warning, no network."""

import inspect
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import dynamics
import graphsys
from dynamics import integrators

from .source import ROOT, expect_none, text

NEEDS = "needs the extra docs"
MODULES = [
    "sphinx", "myst_parser", "pydata_sphinx_theme", "sphinx_design", "sphinx_copybutton",
    "sphinx-mathjax-offline",
]  # fmt: skip


@pytest.fixture
def site():
    """What `docs/site_pages.py` defines."""
    return runpy.run_path(str(ROOT / "docs" / "site_pages.py"))


def pages():
    return sorted(p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md"))


def anchors(page):
    """Anchors of a page's headings, as GitHub and myst-parser name them."""
    prose = re.sub(r"^```.*?^```$", "", text(page), flags=re.M | re.S)
    titles = re.findall(r"^#{1,3} (.+)$", prose, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_menu_has_every_page_once(site):
    listed = sum(site["menu"]().values(), [])

    assert sorted(f"{page}.md" for page in listed) == [
        page for page in pages() if page != "index.md"
    ]


def test_every_name_of_the_menu_is_a_page(site):
    names = sum(site["MENU"].values(), [])

    expect_none([n for n in names if not any(Path(p).with_suffix("").match(n) for p in pages())])


def test_a_list_after_its_comment_becomes_cards(site):
    text = "<!-- cards 2 -->\n- ![a](b.svg)\n  **[One](c/d.md)**:\n  Words\n  more.\n- [Two](#e)\n"
    made = site["adapted"]("page", text)

    assert "{grid} 1 2 2 2" in made
    assert (
        '{grid-item-card} One\n:link: "c/d"\n:link-type: doc\n\n![a](b.svg)\n\nWords more.' in made
    )
    assert '{grid-item-card} Two\n:link: "#e"\n' in made


def test_numbers_of_equations_become_links(site):
    text = "By (1) and (3), see `f(1)`.\n\n$$\nx = y(1) \\tag{1}\n$$\n"
    made = site["adapted"]("theory/page", text)

    assert made.startswith('By <a class="equation" href="#equation-1">(1)</a> and (3), see `f(1)`.')
    assert '<span id="equation-1"></span>\n\n$$\nx = y(1) \\tag{1}\n$$' in made


def test_every_public_object_has_a_group(site):
    grouped = {(package, name) for _, found in site["objects"]() for package, name, _ in found}
    public = {
        (package.__name__, name)
        for package in (graphsys, dynamics, integrators)
        for name in package.__all__
        if not inspect.ismodule(getattr(package, name))
    } | {
        (f"{package.__name__}.{module}", name)
        for package, modules in ((graphsys, ("ipopt", "jax", "pytensor", "qtqp", "torch")),
                                 (dynamics, ("gym", "rotation", "trajectory_optimization")))
        for module in modules
        for name in getattr(package, module).__all__
        if (module, name) != ("qtqp", "Choice")  # which users only hold
    }  # fmt: skip
    expect_none(sorted(f"{package}.{name}" for package, name in public - grouped))


def test_every_anchor_that_a_link_names_is_a_heading():
    broken = []
    for page in ["README.md", *(f"docs/{page}" for page in pages())]:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", text(page)):
            goal = (ROOT / page).parent / target if target else ROOT / page
            if "://" not in target and anchor not in anchors(goal.resolve().relative_to(ROOT)):
                broken.append(f"{page}: {target}#{anchor}")
    expect_none(broken)


@pytest.mark.slow
def test_the_site_builds_without_a_warning_or_a_network(tmp_path, site):
    for module in MODULES:
        pytest.importorskip(module, reason=NEEDS)
    command = ["-W", "--keep-going", "-q", "-b", "html", "-d", tmp_path / "trees", "docs"]
    build = subprocess.run(
        [sys.executable, "-m", "sphinx", *command, tmp_path / "site"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )

    assert (build.returncode, build.stderr) == (0, "")
    gallery = tmp_path / "site" / "gallery"
    pictures = re.findall(r'<img src="(\w+\.png)"', (gallery / "index.html").read_text())
    assert {path.name for path in gallery.glob("*.png")} == set(pictures) != set()
    for page in map(Path, pages()):
        assert (tmp_path / "site" / page.with_suffix(".html")).is_file()
    for section, entries in site["menu"]().items():
        menu = (tmp_path / "site" / f"{section}.html").read_text(encoding="utf-8")
        for page in entries:
            assert f'href="{os.path.relpath(page, Path(section).parent)}.html"' in menu
    written = "".join(path.read_text() for path in (tmp_path / "site").rglob("*.html"))
    expect_none(re.findall(r'<(?:script|link)[^>]+(?:src|href)="https?://[^"]*"', written))
