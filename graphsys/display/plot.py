"""Pictures of an analysis: the matrix before and after ordering, and its graph."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from graphsys.analysis.cycles import spanning_forest
from graphsys.display.embedding import embed
from graphsys.display.report import symbolic_of
from graphsys.errors import MissingExtraError
from graphsys.matrix.graph import BlockGraph
from graphsys.symbolic import Symbolic, analyze

__all__ = ["plot_fill", "plot_graph"]

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

#: Okabe and Ito's blue and vermilion: distinguishable for colour-blind readers, one dark.
BLUE, VERMILION = "#0072B2", "#D55E00"
GREY = "#9A9A9A"

#: Up to so many nodes a picture shows their labels.
MOST_LABELS = 32
#: From so many nodes up blocks are pixels of an image.
MANY = 2000
PIXELS = 1000
#: Blocks on and between the first and last of each row, up to which fill-in of any order is found.
MOST_IN_ENVELOPE = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """Blocks of a matrix in one order, as rectangles in scalar rows and columns.

    Attributes
    ----------
    node : ndarray of int, shape (n,)
        Node of each place along the diagonal.
    start : ndarray of int, shape (n + 1,)
        First row of each place.
    blocks : ndarray of int, shape (n + 2 m - z, 4)
        First row, first column, rows, columns of each block of the matrix but the next ones.
    zero : ndarray of int, shape (z, 4)
        The same for diagonal blocks that are singular by zeros.
    fill : ndarray of int, shape (2 f, 4)
        The same for fill-in.
    """

    node: Ints
    start: Ints
    blocks: Ints
    zero: Ints
    fill: Ints


def plot_fill(symbolic: Any, ax: Any = None) -> Any:
    """Draw the matrix in the user's order and in elimination order, with their fill-in.

    Squares are blocks of the matrix, diamonds are fill-in, both in the scale of the block sizes.
    Structurally singular diagonal blocks are hollow. Matrices of more than 2000 nodes are drawn as
    images, in which fill-in has another colour, and a pixel with both shows the matrix.

    Parameters
    ----------
    symbolic : Symbolic, Factor or System
        A system is analyzed first.
    ax : sequence of two matplotlib Axes, optional
        Axes to draw in; by default those of a new figure.

    Returns
    -------
    ndarray of matplotlib Axes, shape (2,)

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ValueError
        If `ax` is not two axes.
    TypeError
        For anything but the objects above.

    References
    ----------
    .. [1] J. Bruedigam, S. Sosnowski, Z. Manchester, S. Hirche, Variational integrators and
       graph-based solvers for multibody dynamics in maximal coordinates, 2023, Fig. 6.
    """
    symbolic = symbolic_of(symbolic)
    pyplot = _matplotlib("plot_fill", "pyplot")
    own = ax is None
    if own:
        _, ax = pyplot.subplots(1, 2, figsize=(10.0, 5.6), layout="compressed")
    axes = np.asarray(ax, dtype=object).ravel()
    if axes.shape != (2,):
        raise ValueError(f"ax holds {axes.size} axes, plot_fill draws on two")
    graph = symbolic.graph
    given = analyze(graph, graph.labels) if _envelope(graph) <= MOST_IN_ENVELOPE else None
    zero = symbolic.precedence.demand > 0
    left = _pattern(graph, np.arange(graph.size.size), zero, given)
    right = _pattern(graph, symbolic.step_node, zero, symbolic)
    _draw_pattern(axes[0], graph, left)
    _draw_pattern(axes[1], graph, right)
    count = f"{_some(graph.size.size, 'node')}, {_some(graph.neighbor.size // 2, 'edge')}"
    name = "the order given" if symbolic.ordering == "given" else f'order "{symbolic.ordering}"'
    axes[0].set_title(f"{count}: {_fill_ins(given)} in your order")
    axes[1].set_title(f"{_fill_ins(symbolic)} in {name}")
    handles = _fill_legend(symbolic)
    if own:
        axes[0].figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    else:
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.02)}
        axes[1].legend(handles=handles, ncols=3, frameon=False, **below)
    return axes


def plot_graph(symbolic: Any, ax: Any = None) -> Any:
    """Draw the graph: spanning forest solid, edges that close loops dashed, loop openers square.

    The forest is that of a depth-first search from the first node of each component, regardless of
    the elimination order.

    Parameters
    ----------
    symbolic : Symbolic, Factor or System
    ax : matplotlib Axes, optional
        Axes to draw in; by default those of a new figure.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    TypeError
        For anything but the objects above.
    """
    symbolic = symbolic_of(symbolic)
    pyplot = _matplotlib("plot_graph", "pyplot")
    collections = _matplotlib("plot_graph", "collections")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(7.0, 6.0), layout="constrained")
    graph = symbolic.graph
    n = graph.size.size
    forest = spanning_forest(graph)
    place = embed(graph)
    i, j = np.repeat(np.arange(n), np.diff(graph.neighbor_start)), graph.neighbor
    ends = np.stack((i[i < j], j[i < j]), axis=1)
    u, v = ends.T
    solid = (forest.parent[u] == v) | (forest.parent[v] == u)
    width = 1.8 if n <= 200 else 0.8
    for chosen, style, colour, name in (
        (solid, "solid", "black", "spanning forest"),
        (~solid, (0, (3, 2)), VERMILION, "closes a loop"),
    ):
        if chosen.any():
            label = f"{name} ({_some(int(chosen.sum()), 'edge')})"
            lines = place[ends[chosen]]
            ax.add_collection(
                collections.LineCollection(
                    lines, linestyles=[style], colors=colour, linewidths=width, label=label
                )
            )
    opens = np.zeros(n, np.bool_)
    opens[forest.loop_openers] = True
    names = [str(label) for label in graph.labels] if n <= MOST_LABELS else []
    inside = 0 < max(map(len, names), default=0) <= 3
    area = 420.0 if inside else float(np.clip(12000.0 / max(n, 1), 3.0, 60.0))
    for chosen, marker, colour, name in (
        (~opens, "o", BLUE, "other node" if opens.any() else "node"),
        (opens, "s", VERMILION, "loop opener"),
    ):
        if chosen.any():
            ax.scatter(
                *place[chosen].T,
                s=area,
                marker=marker,
                facecolors="white" if inside else colour,
                edgecolors=colour,
                linewidths=1.8 if inside else 0.0,
                zorder=2,
                label=_some(int(chosen.sum()), name),
            )
    beside = {"xytext": (4, 5), "textcoords": "offset points", "rotation": 30}
    centred = {"ha": "center", "va": "center"}
    for name, at in zip(names, place):
        ax.annotate(name, at, fontsize=8, zorder=3, **(centred if inside else beside))
    ax.set_title(
        f"{_some(n, 'node')}, {_some(len(ends), 'edge')}, "
        f"{_some(forest.lower.size, 'independent cycle')}"
    )
    _frame(ax, place)
    if n:
        ax.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=2,
            frameon=False,
            markerscale=7.0 / area**0.5,
        )
    return ax


def _frame(axes: Any, place: Array) -> None:
    """Limits with a margin about all places, not much lower than wide; no axes."""
    low, high = (place.min(axis=0), place.max(axis=0)) if len(place) else (np.zeros(2), np.ones(2))
    extent = high - low
    half = np.maximum(extent, 0.4 * extent[0]) / 2 + 0.08 * extent.max() + 0.1
    for limit, middle, reach in zip((axes.set_xlim, axes.set_ylim), (low + high) / 2, half):
        limit(middle - reach, middle + reach)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _matplotlib(purpose: str, module: str) -> Any:
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError:
        raise MissingExtraError(purpose, "matplotlib", "plot") from None


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _fill_ins(symbolic: Symbolic | None) -> str:
    if symbolic is None:
        return "fill-in not counted"
    return _some(symbolic.n_fill, "fill-in") if symbolic.n_fill else "no fill-in"


def _envelope(graph: BlockGraph) -> int:
    """Blocks between the first of each row and the diagonal: in the user's order fill stays there.

    See A. George and J. W. Liu, Computer Solution of Large Sparse Positive Definite Systems, 1981,
    ch. 4.
    """
    nodes = np.flatnonzero(np.diff(graph.neighbor_start))
    first = graph.neighbor[graph.neighbor_start[nodes]]
    return int(np.maximum(nodes - first, 0).sum())


def _pattern(
    graph: BlockGraph, node: Ints, zero: npt.NDArray[np.bool_], symbolic: Symbolic | None
) -> Pattern:
    """Pattern of the graph with its nodes in this order, and the fill-in of an elimination."""
    n = node.size
    start = np.zeros(n + 1, np.int64)
    np.cumsum(graph.size[node], out=start[1:])
    place = np.empty(n, np.int64)
    place[node] = np.arange(n)

    def rectangles(i: Ints, j: Ints) -> Ints:
        return np.stack((start[place[i]], start[place[j]], graph.size[i], graph.size[j]), axis=1)

    i, j = graph.pairs()
    singular = (i == j) & zero[i]
    fill = np.zeros((0, 4), np.int64)
    if symbolic is not None:
        steps = np.repeat(np.arange(n), np.diff(symbolic.front_start))[symbolic.fill]
        u, v = symbolic.step_node[steps], symbolic.step_node[symbolic.front[symbolic.fill]]
        fill = np.concatenate((rectangles(u, v), rectangles(v, u)))
    blocks = rectangles(i, j)
    return Pattern(node, start, blocks[~singular], blocks[singular], fill)


def _draw_pattern(axes: Any, graph: BlockGraph, pattern: Pattern) -> None:
    n, rows = pattern.node.size, max(int(pattern.start[-1]), 1)
    if n > MANY:
        image = _image(pattern, rows)
        axes.imshow(image, extent=(0, rows, rows, 0), interpolation="nearest", zorder=1)
    else:
        collections = _matplotlib("plot_fill", "collections")
        gap, width = (0.06, 1.2) if n <= 200 else (0.0, 0.3)  # width: small blocks must not vanish
        for rectangles, corners, colour, inside, name in (
            (pattern.blocks, _squares, BLUE, BLUE, "blocks"),
            (pattern.zero, _squares, BLUE, "white", "zero"),
            (pattern.fill, _diamonds, VERMILION, VERMILION, "fill"),
        ):
            polygons = collections.PolyCollection(
                corners(rectangles, gap),
                facecolors=inside,
                edgecolors=colour,
                linewidths=width if n > 200 or name == "zero" else 0.0,
                zorder=2,
                gid=name,
            )
            axes.add_collection(polygons)
    if n <= 2 * MOST_LABELS:
        for line in (axes.hlines, axes.vlines):
            line(pattern.start, 0, rows, colors=GREY, linewidths=0.4, zorder=1)
    axes.set_xlim(0, rows)
    axes.set_ylim(rows, 0)
    axes.set_aspect("equal")
    axes.xaxis.tick_top()
    if 0 < n <= MOST_LABELS:
        middle = (pattern.start[:-1] + pattern.start[1:]) / 2
        names = [str(graph.labels[i]) for i in pattern.node]
        turn = 90 if max(map(len, names)) > 2 else 0
        axes.set_xticks(middle, names, rotation=turn, fontsize=7)
        axes.set_yticks(middle, names, fontsize=7)
        axes.tick_params(length=0)
    else:
        axes.locator_params(nbins=6)


def _squares(rectangles: Ints, gap: float) -> Array:
    """Corners, shape (b, 4, 2), of rectangles with a gap around them as a part of their size."""
    y, x, height, width = rectangles.T.astype(float)
    left, right = x + gap * width, x + (1 - gap) * width
    top, bottom = y + gap * height, y + (1 - gap) * height
    return np.stack(((left, top), (right, top), (right, bottom), (left, bottom))).transpose(2, 0, 1)


def _diamonds(rectangles: Ints, gap: float) -> Array:
    """Corners, shape (b, 4, 2), of diamonds that touch the sides of rectangles."""
    y, x, height, width = rectangles.T.astype(float)
    u, v = x + width / 2, y + height / 2
    w, h = (0.5 - gap) * width, (0.5 - gap) * height
    return np.stack(((u, v - h), (u + w, v), (u, v + h), (u - w, v))).transpose(2, 0, 1)


def _image(pattern: Pattern, rows: int) -> Array:
    """RGB image, shape (p, p, 3), of a pattern: the matrix upon its fill-in upon white."""
    to_rgb = _matplotlib("plot_fill", "colors").to_rgb
    pixels = min(rows, PIXELS)
    image = np.ones((pixels, pixels, 3))
    image[_covered(pattern.fill, rows, pixels)] = to_rgb(VERMILION)
    for rectangles in (pattern.blocks, pattern.zero):
        image[_covered(rectangles, rows, pixels)] = to_rgb(BLUE)
    return image


def _covered(rectangles: Ints, rows: int, pixels: int) -> npt.NDArray[np.bool_]:
    """Pixels that rectangles touch: the corners of each, summed up along both axes."""
    top, left, height, width = rectangles[(rectangles[:, 2:] > 0).all(axis=1)].T
    first = [start * pixels // rows for start in (top, left)]
    last = [-(-(start + size) * pixels // rows) for start, size in ((top, height), (left, width))]
    corners = np.zeros((pixels + 1) ** 2)
    for y, x, sign in (
        (first[0], first[1], 1.0),
        (first[0], last[1], -1.0),
        (last[0], first[1], -1.0),
        (last[0], last[1], 1.0),
    ):
        corners += sign * np.bincount(y * (pixels + 1) + x, minlength=corners.size)
    count = corners.reshape(pixels + 1, -1).cumsum(axis=0).cumsum(axis=1)
    return np.asarray(count[:-1, :-1] > 0.5)


def _fill_legend(symbolic: Symbolic) -> list[Any]:
    Line2D = _matplotlib("plot_fill", "lines").Line2D
    many = symbolic.graph.size.size > MANY
    marks = [("s", BLUE, "full", "block of the matrix")]
    if symbolic.precedence.demand.any() and not many:
        marks.append(("s", BLUE, "none", "diagonal block singular by zeros"))
    marks.append(("s" if many else "D", VERMILION, "full", "fill-in"))
    return [
        Line2D([], [], ls="", marker=marker, color=colour, fillstyle=fill, ms=7, label=name)
        for marker, colour, fill, name in marks
    ]
