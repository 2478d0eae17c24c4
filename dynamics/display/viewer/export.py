"""Scene and template to a page; the page to a file, a browser or a notebook."""

from __future__ import annotations

import base64
import html
import re
import sys
import tempfile
import warnings
import webbrowser
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import graphsys as gs
from dynamics.display.viewer.library import program
from dynamics.display.viewer.scene import scene_of

if TYPE_CHECKING:
    from dynamics.trajectory import Trajectory

__all__ = ["Page", "export_html", "page_of", "show"]


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A self-contained HTML page; a notebook displays it.

    Attributes
    ----------
    html : str
    """

    html: str

    def save(self, path: str | Path) -> None:
        """Write the page."""
        gs.check_writable(Path(path), "page")
        with gs.whole_file(path) as temporary:
            temporary.write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        content = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{content}" style="width:100%;height:520px;border:0"></iframe>'


def page_of(trajectory: Trajectory, title: str = "", *, rate: float = 60.0) -> Page:
    """Page of a motion.

    Parameters
    ----------
    trajectory : Trajectory
    title : str, optional
    rate : float, optional
        Most records a second of motion; pictures between them are interpolated.

    Returns
    -------
    Page

    Raises
    ------
    TypeError
        If it is not a trajectory.
    ValueError
        If the trajectory or the rate is none that can be shown.
    """
    if not hasattr(trajectory, "states"):
        raise TypeError(
            f"a page shows a trajectory, not {trajectory!r}; a state alone is "
            "dynamics.simulate(model, state, 0.0), or model.view(state)"
        )
    scene = scene_of(trajectory, title, rate)
    page = files("dynamics.display.viewer").joinpath("page.html").read_text(encoding="utf-8")
    filled = {
        "TITLE": html.escape(title or "Motion"),
        "SCENE": base64.b64encode(scene).decode("ascii"),
        "PROGRAM": base64.b64encode(program()).decode("ascii"),
    }
    return Page(re.sub(r"\[\[(\w+)\]\]", lambda mark: filled[mark[1]], page))


def export_html(
    trajectory: Trajectory, path: str | Path, title: str = "", *, rate: float = 60.0
) -> None:
    """Write a motion as one HTML file, which a browser opens without a network.

    The page plays, pauses and scrubs, also in its curves. Drag to rotate, shift-drag to pan, use
    the wheel to zoom, press `f` to fit the motion into the window, and double click a body to
    follow it. Joint axes, frames and contact forces are drawn on demand. The arrow of the median
    force is 0.3 of the scene's size long, and no arrow is longer than three times that.
    ``file.html#time=1.5&axes&forces&play`` opens the page with these settings.

    Parameters
    ----------
    trajectory : Trajectory
    path : str or Path
    title : str, optional
    rate : float, optional
        Largest number of records per second of simulated time; poses between records are
        interpolated.

    Raises
    ------
    graphsys.MissingExtraError
        If trimesh, which contains three.js, is not installed.
    """
    page_of(trajectory, title, rate=rate).save(path)


def show(trajectory: Trajectory, title: str = "", *, rate: float = 60.0) -> Page:
    """Open a motion in the browser; a notebook shows the page below the cell instead.

    Where there is no browser, a warning says where the page is.

    Parameters
    ----------
    trajectory : Trajectory
    title : str, optional
    rate : float, optional
        Most records a second of motion.

    Returns
    -------
    Page
    """
    page = page_of(trajectory, title, rate=rate)
    if not _in_notebook():
        with tempfile.NamedTemporaryFile(
            "w", suffix=".html", prefix="motion-", delete=False, encoding="utf-8"
        ) as file:
            file.write(page.html)
        if not webbrowser.open(Path(file.name).as_uri()):
            warnings.warn(
                f"no browser was found; the page is {file.name}, and export_html(file) writes it "
                "elsewhere", stacklevel=3,
            )  # fmt: skip
    return page


def _in_notebook() -> bool:
    """True if a kernel of Jupyter runs this."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")
