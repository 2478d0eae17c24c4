"""The pages make a site: every page in its menu, every link whole, no warning, no network."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from .source import ROOT, expect_none, text

NEEDS = "needs the extra docs (sphinx and myst-parser)"


@pytest.fixture
def settings(monkeypatch, tmp_path):
    """What `docs/conf.py` defines."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("MPLBACKEND", "agg")
    return runpy.run_path(str(ROOT / "docs" / "conf.py"))


def pages():
    return sorted(p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md"))


def anchors(page):
    """Anchors of a page's headings, as GitHub and myst-parser name them."""
    prose = re.sub(r"^```.*?^```$", "", text(page), flags=re.M | re.S)
    titles = re.findall(r"^#{1,3} (.+)$", prose, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_menu_has_every_page_once(settings):
    menu = settings["menu"]()
    listed = [line for line in menu.splitlines() if line and not line.startswith(("```", ":"))]

    assert sorted(f"{page}.md" for page in listed) == [
        page for page in pages() if page != "index.md"
    ]


def test_every_name_of_the_menu_is_a_page(settings):
    names = [name for _, group in settings["MENU"] for name in group]

    expect_none([n for n in names if not any(Path(p).with_suffix("").match(n) for p in pages())])


def test_every_anchor_that_a_link_names_is_a_heading():
    broken = []
    for page in ["README.md", *(f"docs/{page}" for page in pages())]:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", text(page)):
            goal = (ROOT / page).parent / target if target else ROOT / page
            if "://" not in target and anchor not in anchors(goal.resolve().relative_to(ROOT)):
                broken.append(f"{page}: {target}#{anchor}")
    expect_none(broken)


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("sphinx", reason=NEEDS)
    pytest.importorskip("myst_parser", reason=NEEDS)
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
    menu = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    for page in map(Path, pages()):
        assert (tmp_path / "site" / page.with_suffix(".html")).is_file()
        if page.stem != "index" or page.parent.name:
            assert f'href="{page.with_suffix(".html").as_posix()}"' in menu
