"""Program of the page: three.js as trimesh ships it for its own viewer, and the page's own code."""

from __future__ import annotations

import gzip
import re
import zipfile
from functools import lru_cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import graphsys as gs

__all__ = ["program", "three_js"]

#: Files of the page's own code, in the order in which they run.
CODE = ("decode.js", "bodies.js", "world.js", "camera.js", "curves.js", "main.js")
#: three.js in a longer script: its licence, and the one line that follows.
LIBRARY = re.compile(r"/\*\*\n \* @license\n.*?Three\.js Authors.*?\*/\n[^\n]+\n", re.S)


def three_js() -> str:
    """Text of three.js (MIT licence), with its licence, from the installed trimesh.

    Returns
    -------
    str

    Raises
    ------
    graphsys.MissingExtraError
        If trimesh is not installed.
    RuntimeError
        If this version of trimesh ships no three.js.
    """
    spec = find_spec("trimesh")
    if spec is None or spec.origin is None:
        raise gs.MissingExtraError("the picture of a motion", "trimesh", "view")
    archive = Path(spec.origin).parent / "resources" / "templates" / "viewer.zip"
    try:
        with zipfile.ZipFile(archive) as opened:
            page = opened.read("viewer.html.template").decode("utf-8")
    except (OSError, KeyError, zipfile.BadZipFile):
        page = ""
    found = LIBRARY.search(page)
    if found is None:
        raise RuntimeError(
            "the installed trimesh ships no three.js, which draws a motion; install trimesh 5.2"
        )
    return found[0]


@lru_cache(maxsize=1)
def program() -> bytes:
    """Compressed script of the page: three.js, then the code of this folder."""
    folder = files("dynamics.display.viewer")
    own = [folder.joinpath(name).read_text(encoding="utf-8") for name in CODE]
    text = "\n".join([three_js(), *own])
    return gzip.compress(text.encode("utf-8"), 9, mtime=0)
