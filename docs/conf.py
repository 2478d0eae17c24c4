"""Settings of Sphinx, which makes a site of this folder: see developing.md."""

import contextlib
import importlib
import inspect
import os
import re
import sys
import tempfile
from pathlib import Path

os.environ["MPLBACKEND"] = "agg"
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import graphsys

project = "graphsys"
author = copyright = "graphsys developers"
version = release = graphsys.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
default_role = "py:obj"
#: What a class has of a base of ours is shown with it, not what it has of Python's.
autodoc_default_options = {"members": True, "inherited-members": "ImportError, Exception"}
autodoc_typehints = "none"  # docstrings say more: shapes, units
napoleon_google_docstring = napoleon_use_param = napoleon_use_rtype = False
napoleon_use_ivar = True
myst_heading_anchors = 3
html_theme = "alabaster"
html_title = "graphsys and dynamics"
html_theme_options = {
    "description": "systems on graphs, and mechanisms",
    "page_width": "1280px",  # lines of code, of up to 100 characters, fit beside the menu
    "body_max_width": "none",
    "code_font_size": "0.85em",
}
html_show_sourcelink = False
exclude_patterns = ["_build", "**/__pycache__"]
#: Folder whose content goes into the site: pictures that the code of pages draws there.
DRAWN = Path(tempfile.mkdtemp(prefix="gallery-"))
html_extra_path = [str(DRAWN)]

#: Pages in the order of the menu; those that are not named come last.
MENU = [
    (
        "Use",
        [
            "start",
            "tutorials/index",
            "gallery/index",
            "figures/index",
            "api",
            "reference/*",
            "conventions",
            "robots*",
        ]
        + ["examples/index", "recipes/*", "large_systems", "reliability"],
    ),
    (
        "Tutorials",
        [
            f"tutorials/{name}"
            for name in ("linear_system", "pendulum", "closed_loop", "contacts", "load_a_robot")
            + ("control", "accuracy")
        ],
    ),
    ("Why it works", ["theory/*"]),
    ("Figures of the papers", ["figures/*"]),
    ("Beside others", ["benchmarks", "alternatives", "citing"]),
    ("Work on it", ["architecture", "developing", "dependencies", "release", "changelog"]),
]


def menu():
    """Text of the tables of contents, which the index keeps out of sight of plain Markdown."""
    pages = {
        path.relative_to(ROOT / "docs").with_suffix("").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
    } - {"index"}
    blocks, placed = [], set()
    for caption, names in MENU:
        found = [p for name in names for p in sorted(pages - placed) if Path(p).match(name)]
        placed |= set(found)
        blocks.append((caption, found))
    blocks.append(("More", sorted(pages - placed)))
    return "".join(
        "\n```{toctree}\n:hidden:\n:caption: " + caption + "\n\n" + "\n".join(found) + "\n```\n"
        for caption, found in blocks
        if found
    )


def drawn(match, page):
    """Run a piece of a page's code, and show what it has drawn below it."""
    folder = (DRAWN / page).parent
    folder.mkdir(exist_ok=True)
    before = set(folder.iterdir())
    with contextlib.chdir(folder):
        exec(compile(match[1], page, "exec"), {})
    new = sorted(path.name for path in set(folder.iterdir()) - before)
    return match[0] + "".join(f'\n<img src="{name}" alt="what the code draws">\n' for name in new)


def described(package):
    """Directives for all public names of a package."""
    module, text = importlib.import_module(package), ""
    for name in module.__all__:
        thing = getattr(module, name)
        if not inspect.ismodule(thing):
            kind = "class" if inspect.isclass(thing) else "function"
            text += f".. auto{kind}:: {package}.{name}\n\n"
    return "\n```{eval-rst}\n" + text + "```\n"


def plain(app, what, name, thing, options, lines):
    """References as a list, whose numbers are those of one docstring; types without links."""
    lines[:] = [re.sub(r"^\.\. \[(\d+)\] ", r"\1. ", line) for line in lines]
    lines[:] = [re.sub(r"^(:vartype .*?:) (.+)$", r"\1 *\2*", line) for line in lines]


def adapt(app, name, source):
    """Add menu, pictures and docstrings where they belong; links out of the folder become words."""
    text = re.sub(r"\[([^\]]+)\]\((?:\.\./)+(?:README|LICENSE)[^)]*\)", r"\1", source[0])
    if name.startswith(("gallery/", "figures/")):
        text = re.sub(r"^```python\n(.*?)^```$", lambda m: drawn(m, name), text, flags=re.M | re.S)
    if name.startswith("reference/"):
        text += described(name.removeprefix("reference/"))
    source[0] = text + menu() if name == "index" else text


def setup(app):
    app.connect("source-read", adapt)
    app.connect("autodoc-process-docstring", plain)
