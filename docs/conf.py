"""Settings of Sphinx, which makes a site of this folder: see developing.md."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

os.environ["MPLBACKEND"] = "agg"
ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import site_pages as pages
from docutils import nodes

import graphsys

project = "graphsys"
author = copyright = "graphsys developers"
version = release = graphsys.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
default_role = "py:obj"
#: Members that a class inherits are shown, except those of Python's own exceptions.
autodoc_default_options = {"members": True, "inherited-members": "ImportError, Exception"}
autodoc_typehints = "none"  # docstrings say more: shapes, units
napoleon_google_docstring = napoleon_use_param = napoleon_use_rtype = False
napoleon_use_ivar = True
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "**/__pycache__"]
copybutton_prompt_text = r">>> |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "graphsys and dynamics"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_sidebars = {"index": []}
html_theme_options = {
    "logo": {"text": "graphsys"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc", "edit-this-page"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark-high-contrast",
}


def repository():
    """Address of the code host: from the environment, or of the clone; empty if there is none."""
    ask = ["git", "-C", str(ROOT), "remote", "get-url", "origin"]
    with contextlib.suppress(OSError):
        found = subprocess.run(ask, capture_output=True, text=True).stdout.strip()
        found = os.environ.get("GRAPHSYS_REPOSITORY", found).removesuffix(".git")
        return found if found.startswith("https://") else ""
    return ""


if REPOSITORY := repository():
    html_context = {
        "edit_page_url_template": REPOSITORY + "/edit/main/docs/{{ file_name }}",
    }
    html_theme_options["use_edit_page_button"] = True

#: MathJax as a package brings it, so that equations need no network: see dependencies.md.
MATHJAX = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"
mathjax_path = "mathjax/tex-chtml.js"
mathjax3_config = {
    "options": {"enableMenu": False},
    "chtml": {"matchFontHeight": False, "scale": 1.05},
}

#: Folder whose content goes into the site: pictures that the code of pages draws there.
DRAWN = Path(tempfile.mkdtemp(prefix="gallery-"))
html_extra_path = [str(DRAWN)]
pages.DRAWN = DRAWN
MENU, menu = pages.MENU, pages.menu


def ship_mathjax(app):
    """Copy the one script and its fonts, 1.5 MB of the package's 24."""
    goal = Path(app.outdir) / "_static" / "mathjax"
    fonts = Path("output") / "chtml" / "fonts" / "woff-v2"
    (goal / fonts).mkdir(parents=True, exist_ok=True)
    for path in (MATHJAX / "tex-chtml.js", *(MATHJAX / fonts).glob("*.woff")):
        shutil.copyfile(path, goal / path.relative_to(MATHJAX))


def tagged(app, doctree):
    r"""Leave equations as they are: Sphinx would put a \tag into an environment that forbids it."""
    for node in doctree.findall(nodes.math_block):
        node.children = [nodes.Text(rf"\[{node.astext()}\]")]
        node["nowrap"] = node["no-wrap"] = True


def sidebars(app, name, template, context, doctree):
    """No menu on the front page; nothing to edit on pages that are written from docstrings."""
    if name == "index":
        context["meta"] = {**(context["meta"] or {}), "html_theme.sidebar_secondary.remove": ""}
    if name.startswith("reference/objects/"):
        context["theme_use_edit_page_button"] = False


def adapt(app, name, source):
    """Add to a page what its Markdown cannot say on a code host: cards, menus, pictures."""
    source[0] = pages.adapted(name, source[0])


def is_skipped(app, what, name, thing, skip, options):
    """Leave out names of other programs, which are no members (`dynamics.elsewhere`)."""
    return True if type(thing).__module__ == "dynamics.elsewhere" else None


def setup(app):
    app.connect("autodoc-skip-member", is_skipped)
    app.connect("builder-inited", lambda app: pages.write_reference())
    app.connect("source-read", adapt)
    app.connect("doctree-read", tagged)
    app.connect("html-page-context", sidebars, priority=100)
    app.connect("autodoc-process-docstring", pages.plain)
    app.connect("build-finished", lambda app, error: ship_mathjax(app))
