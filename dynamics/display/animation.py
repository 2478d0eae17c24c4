"""Motion as a matplotlib animation: bodies as the lines between their joints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from dynamics import rotation
from dynamics.display.plot import matplotlib_module
from dynamics.parts.bodies import Body
from dynamics.parts.shapes import Box, Round, Sphere
from dynamics.trajectory import Trajectory

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.state import State

__all__ = ["Animation", "Sketch", "animate"]

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Animation:
    """An animation that a notebook shows.

    Attributes
    ----------
    figure : matplotlib Figure
    movie : matplotlib FuncAnimation
    """

    figure: Any
    movie: Any

    def save(self, path: str | Path, **options: Any) -> None:
        """Write a film, as ``.gif`` or what else matplotlib has a writer for.

        Parameters
        ----------
        path : str or Path
        **options
            Those of matplotlib's `FuncAnimation.save`.

        Raises
        ------
        ValueError
            If matplotlib has no writer for such a file.
        """
        writers = matplotlib_module("animation", "save").writers
        films = Path(path).suffix.lower() in (".mp4", ".mov", ".m4v", ".avi", ".mkv", ".webm")
        if films and "writer" not in options and not writers.is_available("ffmpeg"):
            raise ValueError(
                f"{Path(path).name} needs the program ffmpeg, which is not there: install it, or "
                "save a .gif, or a page by motion.export_html"
            )
        with gs.whole_file(path) as temporary:
            self.movie.save(str(temporary), **options)

    def to_html(self) -> str:
        """Player with the pictures inside, without a network."""
        return str(self.movie.to_jshtml())

    def _repr_html_(self) -> str:
        return self.to_html()


def animate(trajectory: Trajectory, *, rate: float = 25.0, view: tuple[float, float] | None = None,
            ) -> Animation:  # fmt: skip
    """Animate a motion; made for some twenty bodies, `Trajectory.show` draws more and better.

    Parameters
    ----------
    trajectory : Trajectory
    rate : float, optional
        Pictures a second of motion.
    view : (float, float), optional
        Elevation and azimuth of the camera, degrees.

    Returns
    -------
    Animation

    Raises
    ------
    ValueError
        If the rate is not positive.
    graphsys.MissingExtraError
        If matplotlib is not installed.
    """
    if not (np.isfinite(rate) and rate > 0.0):
        raise ValueError(f"rate is {rate}, and must be positive")
    pyplot = matplotlib_module("pyplot", "animate")
    movies = matplotlib_module("animation", "animate")
    time = trajectory.time
    wanted = np.arange(time[0], time[-1] + 0.5 / rate, 1.0 / rate)
    records = np.unique(np.searchsorted(time, wanted - 1e-9).clip(0, time.size - 1))
    lines = _lines(trajectory, records)
    figure = pyplot.figure(figsize=(6.0, 5.0), layout="constrained")
    ax, drawn = _axes(figure, len(lines), view)
    _aim(ax, *_bounds(lines))
    title = ax.set_title("")

    def update(k: int) -> list[Any]:
        for artist, line in zip(drawn, lines):
            artist.set_data_3d(*line[k].T)
        title.set_text(f"{time[records[k]]:.2f} s")
        return [*drawn, title]

    movie = movies.FuncAnimation(
        figure, update, frames=len(records), interval=1000.0 / rate, blit=False
    )
    update(0)
    pyplot.close(figure)  # a notebook would show the still picture as well
    return Animation(figure, movie)


class Sketch:
    """Pictures of states, drawn as `animate` does; the camera follows the bodies.

    Parameters
    ----------
    model : Model
    size : (int, int), optional
        Width and height, pixels.
    view : (float, float), optional
        Elevation and azimuth of the camera, degrees.

    Raises
    ------
    graphsys.MissingExtraError
        If matplotlib is not installed.
    """

    def __init__(
        self, model: Model, size: tuple[int, int] = (480, 480),
        view: tuple[float, float] | None = None,
    ) -> None:  # fmt: skip
        made = matplotlib_module("figure", "pictures of states").Figure
        agg = matplotlib_module("backends.backend_agg", "pictures of states").FigureCanvasAgg
        self.model, self._reach = model, 0.0
        self._canvas = agg(made(figsize=(size[0] / 100.0, size[1] / 100.0), dpi=100.0))
        self._ax, self._drawn = _axes(self._canvas.figure, len(model.mechanism.bodies), view)

    def draw(self, state: State) -> NDArray[np.uint8]:
        """Picture of a state, shape (height, width, 3)."""
        lines = _lines(Trajectory(self.model, np.zeros(1), state.data[None]), np.zeros(1, int))
        middle, reach = _bounds(lines)
        self._reach = max(self._reach, reach)  # one scale while it moves
        _aim(self._ax, middle, self._reach)
        for artist, line in zip(self._drawn, lines):
            artist.set_data_3d(*line[0].T)
        self._ax.set_title(f"{state.time:.2f} s")
        self._canvas.draw()
        return np.array(self._canvas.buffer_rgba())[:, :, :3]


def _axes(figure: Any, count: int, view: tuple[float, float] | None) -> tuple[Any, list[Any]]:
    """Axes of a scene, and a line for each body."""
    ax = figure.add_subplot(projection="3d")
    ax.set(xlabel="x, m", ylabel="y, m", zlabel="z, m")
    ax.set_box_aspect((1.0, 1.0, 1.0))
    if view is not None:
        ax.view_init(*view)
    return ax, [ax.plot([], [], [], "o-", linewidth=2.5, markersize=4)[0] for _ in range(count)]


def _bounds(lines: list[Float]) -> tuple[Float, float]:
    """Middle of some lines, and how far they reach from it."""
    every = np.concatenate([line.reshape(-1, 3) for line in lines])
    low, high = every.min(axis=0), every.max(axis=0)
    return (low + high) / 2.0, 0.55 * float((high - low).max()) or 1.0


def _aim(ax: Any, middle: Float, reach: float) -> None:
    for axis, center in zip("xyz", middle):
        getattr(ax, f"set_{axis}lim")(center - reach, center + reach)


def _lines(trajectory: Trajectory, records: Any) -> list[Float]:
    """Lines of all bodies: see `_line`."""
    bodies = trajectory.model.mechanism.bodies.values()
    return [_line(trajectory, body, records) for body in bodies]


def _line(trajectory: Trajectory, body: Body, records: Any) -> Float:
    """Points of a body over time, shape (k, p, 3): its joints, its centre between them."""
    ends = []
    for joint in trajectory.model.mechanism.joints.values():
        for end, point in ((joint.parent, joint.parent_point), (joint.child, joint.child_point)):
            if end is body:
                ends.append(point)
    if len(ends) < 2:
        ends = [*ends, *_tips(body, ends)]
    points = [ends[0], np.zeros(3), *ends[1:]]
    if len(ends) > 2:  # a star: back to the centre after each joint
        points = [point for end in ends for point in (end, np.zeros(3))]
    x, q = trajectory.body(body.name)
    x, q = x[records], q[records]
    turned = [x + rotation.rotate(q, np.broadcast_to(point, x.shape)) for point in points]
    return np.stack(turned, axis=1)


def _tips(body: Body, ends: list[Float]) -> list[Float]:
    """Ends of a body that joints do not give: mirrored at the centre, or those of its shape."""
    if ends and np.any(ends[0]):
        return [-ends[0]]
    tip = np.zeros(3)
    if isinstance(body.shape, Round):
        tip = body.shape.axis * body.shape.length / 2.0
    elif isinstance(body.shape, Box):
        edges = np.array([body.shape.x, body.shape.y, body.shape.z])
        tip = np.where(edges == edges.max(), edges / 2.0, 0.0)
    elif isinstance(body.shape, Sphere):
        tip = np.array([0.0, 0.0, body.shape.radius])
    return [-tip, tip]
