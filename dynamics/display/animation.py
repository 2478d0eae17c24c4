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

if TYPE_CHECKING:
    from dynamics.trajectory import Trajectory

__all__ = ["Animation", "animate"]

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
        """
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
        Where the rate is not positive.
    graphsys.MissingExtraError
        Where matplotlib is not installed.
    """
    if not (np.isfinite(rate) and rate > 0.0):
        raise ValueError(f"rate is {rate}, and must be positive")
    pyplot = matplotlib_module("pyplot", "animate")
    movies = matplotlib_module("animation", "animate")
    time = trajectory.time
    wanted = np.arange(time[0], time[-1] + 0.5 / rate, 1.0 / rate)
    records = np.unique(np.searchsorted(time, wanted - 1e-9).clip(0, time.size - 1))
    mechanism = trajectory.model.mechanism
    lines = [_line(trajectory, body, records) for body in mechanism.bodies.values()]
    every = np.concatenate([line.reshape(-1, 3) for line in lines])
    low, high = every.min(axis=0), every.max(axis=0)
    middle, reach = (low + high) / 2.0, 0.55 * float((high - low).max()) or 1.0
    figure = pyplot.figure(figsize=(6.0, 5.0), layout="constrained")
    ax = figure.add_subplot(projection="3d")
    ax.set(xlabel="x, m", ylabel="y, m", zlabel="z, m")
    for axis, center in zip("xyz", middle):
        getattr(ax, f"set_{axis}lim")(center - reach, center + reach)
    ax.set_box_aspect((1.0, 1.0, 1.0))
    if view is not None:
        ax.view_init(*view)
    drawn = [ax.plot([], [], [], "o-", linewidth=2.5, markersize=4)[0] for _ in lines]
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
