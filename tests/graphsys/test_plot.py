"""Pictures hold what the analysis found: as many marks, in their places, to scale."""

import sys

import matplotlib
import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys.display import plot
from graphsys.display.embedding import MOST_EVEN, embed
from graphsys.display.plot import plot_fill, plot_graph
from graphsys.families import body_joint_tree, grounded_loop, random_saddle_system

matplotlib.use("Agg")

from matplotlib import pyplot


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def marks(axes, name):
    """Boxes (first row, first column, rows, columns) about the marks of a kind."""
    (found,) = [c for c in axes.collections if c.get_gid() == name]
    boxes = [path.get_extents() for path in found.get_paths()]
    return np.array([(box.y0, box.x0, box.height, box.width) for box in boxes]).reshape(-1, 4)


@pytest.mark.parametrize("graph", [gs.chain(5), gs.ladder(4), gs.net(6), nx.cycle_graph(6)])
def test_every_block_and_every_fill_in_is_drawn_on_both_sides_of_the_diagonal(graph):
    symbolic = gs.System(graph, 3).analyze()
    given = gs.System(graph, 3).analyze(ordering=list(graph))
    left, right = plot_fill(symbolic)

    n_blocks = graph.number_of_nodes() + 2 * graph.number_of_edges()
    assert len(marks(left, "blocks")) == len(marks(right, "blocks")) == n_blocks
    assert len(marks(left, "fill")) == 2 * given.n_fill
    assert len(marks(right, "fill")) == 2 * symbolic.n_fill


def test_a_ring_in_turn_fills_the_last_row_and_column():
    # Step k joins k + 1 to 5 until 4 - 5 is an edge already: rows and columns 5 of 1, 2, 3.
    (left, right) = plot_fill(gs.System(nx.cycle_graph(6), 2).analyze(ordering=range(6)))

    for axes in (left, right):
        middle = marks(axes, "fill")[:, :2] + marks(axes, "fill")[:, 2:] / 2
        places = {tuple(place) for place in np.floor(middle / 2).astype(int).tolist()}
        assert places == {(1, 5), (2, 5), (3, 5), (5, 1), (5, 2), (5, 3)}


def test_marks_lie_in_the_blocks_that_they_stand_for():
    symbolic = gs.System(gs.crystal(3), {i: 1 + i % 4 for i in range(27)}).analyze()
    left, right = plot_fill(symbolic)
    graph = symbolic.graph

    for axes, node in ((left, np.arange(27)), (right, symbolic.step_node)):
        start = np.concatenate(([0], np.cumsum(graph.size[node])))
        drawn = np.zeros((27, 27), bool)
        for y, x, height, width in marks(axes, "blocks"):
            i, j = (np.searchsorted(start, at, side="right") - 1 for at in (y, x))
            drawn[node[i], node[j]] = True
            assert y + height <= start[i + 1]
            assert x + width <= start[j + 1]
            assert height >= 0.8 * graph.size[node[i]]
            assert width >= 0.8 * graph.size[node[j]]
        dense = np.eye(27, dtype=bool)
        dense[np.repeat(np.arange(27), np.diff(graph.neighbor_start)), graph.neighbor] = True
        assert (drawn == dense).all()


def test_fill_in_is_told_apart_by_colour_and_by_shape():
    _, axes = plot_fill(gs.System(gs.net(4), 2).analyze())
    blocks, fill = (
        next(c for c in axes.collections if c.get_gid() == name) for name in ("blocks", "fill")
    )

    assert (blocks.get_facecolor() != fill.get_facecolor()).any()
    square, diamond = blocks.get_paths()[0].vertices, fill.get_paths()[0].vertices
    assert len({x for x, _ in square}) == 2
    assert len({x for x, _ in diamond}) == 3


def test_singular_diagonal_blocks_are_hollow():
    axes = plot_fill(random_saddle_system(grounded_loop(3)).analyze())[1]
    (zero,) = [c for c in axes.collections if c.get_gid() == "zero"]

    assert len(zero.get_paths()) == 4
    assert zero.get_facecolor().tolist() == [[1.0, 1.0, 1.0, 1.0]]
    texts = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert texts == ["block of the matrix", "diagonal block singular by zeros", "fill-in"]


def test_titles_count_the_fill_in_of_both_orders():
    left, right = plot_fill(gs.System(gs.net(6), 1).analyze(ordering="amd"))
    given = gs.System(gs.net(6), 1).analyze(ordering=range(36))
    fill = gs.System(gs.net(6), 1).analyze(ordering="amd").n_fill

    assert left.get_title() == f"36 nodes, 60 edges: {given.n_fill} fill-ins in your order"
    assert right.get_title() == f'{fill} fill-ins in order "amd"'


def test_small_matrices_have_labels_in_the_order_of_each_panel():
    graph = nx.relabel_nodes(nx.path_graph(4), dict(enumerate("hip knee foot toe".split())))
    symbolic = gs.System(graph, 2).analyze(ordering=["toe", "foot", "knee", "hip"])
    left, right = plot_fill(symbolic)

    assert [text.get_text() for text in left.get_yticklabels()] == ["hip", "knee", "foot", "toe"]
    assert [text.get_text() for text in right.get_xticklabels()] == list(symbolic.order)
    assert left.get_yticks().tolist() == [1, 3, 5, 7]


def test_a_large_matrix_is_an_image_in_two_colours_and_white():
    symbolic = gs.System(gs.net(46), 3).analyze(ordering="amd")
    assert symbolic.graph.size.size > plot.MANY
    left, right = plot_fill(symbolic)

    for axes in (left, right):
        (image,) = axes.images
        colours = {tuple(c) for c in np.round(np.asarray(image.get_array()).reshape(-1, 3), 2)}
        assert len(colours) == 3
        assert image.get_array().shape == (plot.PIXELS, plot.PIXELS, 3)
        assert image.get_extent() == [0, 3 * 46**2, 3 * 46**2, 0]


def test_an_image_covers_exactly_the_pixels_that_rectangles_touch():
    random = np.random.default_rng(0)
    rectangles = np.concatenate(
        (random.integers(0, 80, (40, 2)), random.integers(0, 20, (40, 2))), axis=1
    )
    expected = np.zeros((40, 40), bool)
    for y, x, height, width in rectangles:  # 100 rows on 40 pixels of 2.5
        for p in range(40):
            for q in range(40):
                overlap_y = min(y + height, 2.5 * (p + 1)) - max(y, 2.5 * p)
                overlap_x = min(x + width, 2.5 * (q + 1)) - max(x, 2.5 * q)
                expected[p, q] |= overlap_y > 0 and overlap_x > 0

    assert (plot._covered(rectangles, 100, 40) == expected).all()


def test_fill_in_of_a_hopeless_order_is_not_counted(monkeypatch):
    monkeypatch.setattr(plot, "MOST_IN_ENVELOPE", 10)
    left, right = plot_fill(gs.System(gs.net(5), 1).analyze())

    assert left.get_title().endswith("fill-in not counted in your order")
    assert len(marks(left, "fill")) == 0
    assert len(marks(right, "fill")) > 0


def test_the_envelope_bounds_the_fill_in_of_the_order_given():
    for graph in (gs.net(7), gs.random_tree(50), nx.star_graph(9), nx.empty_graph(3)):
        symbolic = gs.System(graph, 1).analyze(ordering=list(graph))
        assert symbolic.n_fill <= plot._envelope(symbolic.graph)


def test_axes_are_drawn_on_where_they_are_given():
    figure, axes = pyplot.subplots(2, 1)
    drawn = plot_fill(gs.System(gs.net(3), 1).analyze(), axes)

    assert drawn.tolist() == axes.tolist()
    assert axes[1].get_legend() is not None
    assert pyplot.get_fignums() == [figure.number]


def test_one_axes_is_refused_for_two_panels():
    _, axes = pyplot.subplots()
    with pytest.raises(ValueError, match="ax holds 1 axes, plot_fill draws on two"):
        plot_fill(gs.System(gs.net(3), 1).analyze(), axes)


@pytest.mark.parametrize(
    ("graph", "dims"),
    [
        (nx.empty_graph(0), 3),
        (nx.empty_graph(1), 0),
        (nx.empty_graph(3), 2),
        (gs.net(3), [0, 1, 2, 0, 4, 1, 0, 0, 3]),
    ],
)
def test_odd_systems_are_drawn(tmp_path, graph, dims):
    symbolic = gs.System(graph, dims).analyze()
    plot_fill(symbolic)[0].figure.savefig(tmp_path / "fill.png")
    plot_graph(symbolic).figure.savefig(tmp_path / "graph.png")


@pytest.mark.parametrize("draw", [plot_fill, plot_graph])
def test_without_matplotlib_the_error_names_the_extra(monkeypatch, draw):
    symbolic = gs.System(gs.chain(3), 1).analyze()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)

    with pytest.raises(gs.MissingExtraError, match=rf"{draw.__name__} needs matplotlib.*\[plot\]"):
        draw(symbolic)


def test_the_graph_shows_forest_loops_and_openers():
    symbolic = gs.System(gs.ladder(5), 2).analyze()
    axes = plot_graph(symbolic)
    lines = {c.get_label(): len(c.get_segments()) for c in axes.collections[:2]}
    points = {c.get_label(): len(c.get_offsets()) for c in axes.collections[2:]}
    openers = len(symbolic.loop_openers)

    assert lines == {"spanning forest (9 edges)": 9, "closes a loop (4 edges)": 4}
    assert points == {
        f"{10 - openers} other nodes": 10 - openers,
        f"{openers} loop openers": openers,
    }
    assert axes.collections[0].get_linestyles() != axes.collections[1].get_linestyles()
    assert [text.get_text() for text in axes.texts] == [str(i) for i in range(10)]
    assert axes.get_title() == "10 nodes, 13 edges, 4 independent cycles"


def test_loop_openers_stand_where_their_labels_stand():
    symbolic = gs.System(nx.cycle_graph(["a", "b", "c"]), 1).analyze()
    axes = plot_graph(symbolic)
    (opener,) = [c for c in axes.collections if c.get_label() == "1 loop opener"]
    where = {text.get_text(): text.xy for text in axes.texts}

    assert symbolic.loop_openers == ("a",)
    assert np.allclose(opener.get_offsets(), [where["a"]])


def test_a_graph_is_drawn_on_given_axes():
    _, axes = pyplot.subplots()

    assert plot_graph(gs.System(gs.chain(2), 1).analyze(), axes) is axes
    assert len(pyplot.get_fignums()) == 1


@pytest.mark.parametrize(
    "graph",
    [
        gs.ladder(6),
        gs.net(13),  # spectral
        gs.random_tree(200),  # radial
        body_joint_tree(5),
        nx.disjoint_union_all([nx.cycle_graph(5), nx.path_graph(2), nx.empty_graph(3)]),
        nx.complete_graph(4),
        nx.star_graph(30),
    ],
)
def test_nodes_stand_apart_and_the_same_each_time(graph):
    block_graph = gs.System(graph, 1).graph
    place = embed(block_graph)

    gaps = np.linalg.norm(place[:, None] - place[None], axis=2) + np.eye(len(place))
    assert np.isfinite(place).all()
    assert gaps.min() > 1e-3
    assert (embed(block_graph) == place).all()


def test_a_ladder_is_drawn_without_a_twist():
    graph = gs.ladder(6)
    place = embed(gs.System(graph, 1).graph)

    for u, v in graph.edges:  # all about equally long, rungs not crossed
        assert 0.5 < np.linalg.norm(place[u] - place[v]) / np.linalg.norm(place[0] - place[1]) < 2
    along, across = place[2::2] - place[:-2:2], (place[1::2] - place[::2])[:-1]
    sides = along[:, 0] * across[:, 1] - along[:, 1] * across[:, 0]
    assert len(set(np.sign(sides))) == 1


def test_edges_of_a_long_tree_do_not_cross():
    graph = gs.random_tree(MOST_EVEN + 10, seed=3)
    place = embed(gs.System(graph, 1).graph)
    ends = np.array(graph.edges)
    a, b = place[ends[:, 0]], place[ends[:, 1]]

    def side(p, q, r):
        (u, v), (s, t) = np.moveaxis(q - p, -1, 0), np.moveaxis(r - p, -1, 0)
        return np.sign(np.round(u * t - v * s, 9))

    a, b, c, d = a[:, None], b[:, None], a[None], b[None]
    crossing = (side(a, b, c) * side(a, b, d) < 0) & (side(c, d, a) * side(c, d, b) < 0)
    assert not crossing.any()


def test_systems_and_factors_are_drawn_as_their_symbolic_factorization():
    system = gs.System(gs.net(3), 2)
    for u in system.labels:
        system[u, u] = np.eye(2)
    factor = system.factorize()
    for one in (system, factor, gs.splu(system.to_scipy())):
        left, right = plot_fill(one)
        assert left.get_title() and len(marks(right, "blocks")) >= 9
        plot_graph(one)
    for draw in (plot_fill, plot_graph):
        with pytest.raises(TypeError, match=r"Graph is not a System, .* gs.System\(graph, dims\)"):
            draw(gs.net(3))
