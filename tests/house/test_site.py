"""The pages make a site: every page in its menu, every link whole, no warning, no network."""

import re
import subprocess
import sys

import pytest

from .source import ROOT

NEEDS = "needs the extra docs (sphinx and myst-parser)"


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
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    menu = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    for page in pages:
        assert (tmp_path / "site" / page.with_suffix(".html")).is_file()
        if page.stem != "index" or page.parent.name:
            assert f'href="{page.with_suffix(".html").as_posix()}"' in menu
