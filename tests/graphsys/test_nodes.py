"""Compiled elimination of and substitution with small nodes against their NumPy twins."""

import networkx as nx
import numpy as np
import pytest
from numba import njit

import graphsys as gs
from graphsys.kernels.base.layout import PANEL_FIELDS
from graphsys.kernels.blocks import blocks, nodes, reference

TYPES = [np.float64, np.float32]
STARTS = 3  # where the programs below say where their panels begin


@njit
def compiled_eliminate(arena, values, program, magnitude, given_at, symmetric, x):
    nodes.eliminate_node(
        arena, values, program, 1, PANEL_FIELDS + 1, magnitude, given_at, symmetric, 0, x
    )


@njit
def compiled_invert(d, d_at, ldd, a, a_at, lda, k, k_at, s, s_at, n):
    return blocks.invert_small(d, d_at, ldd, a, a_at, lda, k, k_at, s, s_at, n)


@njit
def compiled_forward(x, arena, program, begin, end):
    return nodes.forward_nodes(x, arena, program, STARTS, begin, end)


@njit
def compiled_backward(x, arena, program, begin, end):
    return nodes.backward_nodes(x, arena, program, STARTS, begin, end)


def twin_forward(x, arena, program, begin, end):
    return reference.forward_nodes(x, arena, program, STARTS, begin, end)


def twin_backward(x, arena, program, begin, end):
    return reference.backward_nodes(x, arena, program, STARTS, begin, end)


@njit
def compiled_forward_transposed(x, arena, program, begin, end):
    return nodes.forward_transposed_nodes(x, arena, program, STARTS, begin, end)


@njit
def compiled_backward_transposed(x, arena, program, begin, end):
    return nodes.backward_transposed_nodes(x, arena, program, STARTS, begin, end)


def twin_forward_transposed(x, arena, program, begin, end):
    return reference.forward_transposed_nodes(x, arena, program, STARTS, begin, end)


def twin_backward_transposed(x, arena, program, begin, end):
    return reference.backward_transposed_nodes(x, arena, program, STARTS, begin, end)


@njit
def compiled_residual(r, worst, b, values, x, floor, fine, enough, tables, sizes=None):
    nodes.small_residual(r, worst, sizes, b, values, x, floor, fine, enough, *tables)


def twin_residual(r, worst, b, values, x, floor, fine, enough, tables, sizes=None):
    return reference.small_residual(r, worst, sizes, b, values, x, floor, fine, enough, *tables)


@njit
def compiled_scalar_residual(r, sizes, b, values, x, neighbor_start, neighbor, diagonal_at):
    nodes.scalar_residual(r, sizes, b, values, x, neighbor_start, neighbor, diagonal_at)


def numbers(rng, count, dtype):
    return rng.normal(size=count).astype(dtype)


def tolerance(dtype, w):
    # two products of w terms, entries of size 1: |error| <= (w + 1) eps sum |a| sum |b c|, with
    # sums of at most 3 w and 9 w^2 for normal numbers
    return (w + 1) * 27 * w**2 * float(np.finfo(dtype).eps)


def node(rng, w, sizes, symmetric, dtype):
    """A node with neighbours, blocks of all origins: values, the panels, zeros for fill-in.

    Its neighbours' rows begin with row 2, its own are behind them.
    """
    below = sum(sizes)
    m = w + below
    lower, upper = 3, 3 + m * w
    zeros = upper + w * below
    free = zeros + 8
    places = np.cumsum([0, *sizes])[:-1].tolist()
    panel = [99, w, below, below + 4, lower, upper, *[99] * (PANEL_FIELDS - 5)]
    program, at = [*panel, len(sizes), -1], 5
    for i, (rows, place) in enumerate(zip(sizes, places, strict=True)):
        outside = i % 2 == 0
        left, right = (
            (at, at + rows * w) if outside else (~(lower + w + place), ~(upper + place * w))
        )
        at += 2 * rows * w
        program += [rows, place, 2 + place, left, right]
    for j in range(len(sizes)):
        for i in range(j if symmetric else 0, len(sizes)):
            rows, columns, ld = sizes[i], sizes[j], sizes[i] + i
            origin = (i + 2 * j) % 3
            source, lds = [(at, rows), (~free, ld), (~zeros, 0)][origin]
            at += rows * columns
            program += [source, lds, free, ld]
            free += ld * columns
    arena = numbers(rng, free + 4, dtype)
    arena[zeros : zeros + 8] = 0.0
    return np.array(program), numbers(rng, at, dtype), arena


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("symmetric", [0, 1])
@pytest.mark.parametrize("w", range(1, 9))
def test_a_node_is_eliminated_like_its_twin_and_nothing_else_is_touched(w, symmetric, dtype):
    rng = np.random.default_rng(w)
    for sizes in ([], [w], [w, w], [1, 8], [6, 5, 3], [2, 7, 1, 4]):
        program, values, arena = node(rng, w, sizes, symmetric, dtype)
        rows = sum(sizes) + 4
        magnitude = np.abs(numbers(rng, 2 * rows, dtype))
        vector = numbers(rng, sum(sizes) + 4 + w, dtype)
        row = sum(sizes) + 4
        for solving in (False, True):
            result, expected = arena.copy(), arena.copy()
            held, expected_held = magnitude.copy(), magnitude.copy()
            x, z = (vector.copy(), vector.copy()) if solving else (None, None)

            compiled_eliminate(result, values, program, held, rows, symmetric, x)
            reference.eliminate_node(
                expected, values, program, 1, PANEL_FIELDS + 1, expected_held, rows, symmetric, 0, z
            )

            assert np.array_equal(held, expected_held)
            same = expected == arena  # blocks that changed differ by rounding only
            assert np.array_equal(result[same], arena[same])
            assert np.allclose(result, expected, rtol=0, atol=tolerance(dtype, w))
            if solving:
                assert np.array_equal(x[z == vector], vector[z == vector])
                assert np.allclose(x, z, rtol=0, atol=tolerance(dtype, w))
                assert not np.any(z[row:] == vector[row:])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("w", range(1, 9))
@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize("outside", [False, True])
def test_a_pivot_block_is_inverted_like_its_twin(w, dtype, exchanged, outside):
    rng = np.random.default_rng(w)
    arena, values = numbers(rng, 200, dtype), numbers(rng, 200, dtype)
    block = numbers(rng, w * w, dtype).reshape(w, w) + 100 * np.eye(w, dtype=dtype)
    if exchanged and w > 1:  # no pivots on the diagonal
        block = np.roll(block, 1, axis=0)
    lower, ld, first = 3, w + 2, 1
    source = (values, 5, w) if outside else (arena, lower, ld)
    array, at, lda = source
    for j in range(w):
        array[at + j * lda : at + j * lda + w] = block[:, j]
    s, expected_s, twin = np.full(20, 200.0, dtype), np.full(20, 200.0, dtype), arena.copy()
    twin_source = source if outside else (twin, lower, ld)

    kept, expected_kept = np.zeros(w * w + 2, dtype), np.zeros(w * w + 2, dtype)

    expected = reference.invert_small(
        twin, lower, ld, *twin_source, expected_kept, 1, expected_s, first, w
    )
    before = arena.copy()
    ratio = compiled_invert(arena, lower, ld, *source, kept, 1, s, first, w)

    assert np.array_equal(kept, expected_kept)  # nothing beside the block is touched
    assert np.array_equal(kept[1:-1].reshape(w, w).T, block)

    # entries of size 1/100 and pivots of size 100 at least 90 apart from 0: w^2 roundings
    rounding = 4 * w**2 * float(np.finfo(dtype).eps)
    assert np.allclose(arena, twin, rtol=0, atol=rounding)
    assert np.array_equal(arena[twin == before], before[twin == before])
    assert np.array_equal(s, expected_s)
    assert abs(ratio - expected) <= 16 * rounding
    inverse = arena[lower + ld * np.arange(w) + np.arange(w)[:, None]]
    assert np.allclose(inverse @ block, np.eye(w), rtol=0, atol=16 * rounding)


def panels(w, lists, several=None, one_triangle=False):
    """A program of nodes of w rows with runs of the given lengths, arena and rows that it takes.

    That of the node ``several`` says that it has two pivot blocks.
    """
    starts, panel, used = [], [], 1
    behind = 2 + (w + 1) * len(lists)  # all runs read and write rows behind all pivots
    for s, lengths in enumerate(lists):
        below, places = sum(lengths), np.cumsum([0, *lengths])[:-1]
        starts.append(STARTS + len(lists) + len(panel))
        first, upper = 2 + (w + 1) * s, used + (w + below) * w
        blocks = 2 if s == several else 1
        place = -1 - upper if one_triangle else upper
        panel += [w, below, first, used, place, blocks, len(lengths), w]
        panel += np.column_stack([places, lengths, behind + places]).ravel().tolist()
        used = upper + (w * w if one_triangle else w * below)
    program = np.array([7] * STARTS + starts + panel, np.int64)
    return program, used + 3, behind + max(map(sum, lists)) + 3


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("w", range(9))
def test_substitution_with_nodes_is_that_of_their_twins(w, dtype):
    rng = np.random.default_rng(w)
    lists = [[], [5], [8, 1], [3, 17, 6]]
    program, entries, rows = panels(w, lists)
    arena, x = numbers(rng, entries, dtype), numbers(rng, rows, dtype)
    for compiled, twin in (
        (compiled_forward, twin_forward),
        (compiled_backward, twin_backward),
        (compiled_forward_transposed, twin_forward_transposed),
        (compiled_backward_transposed, twin_backward_transposed),
    ):
        down = compiled in (compiled_backward, compiled_backward_transposed)
        for begin, end in ((0, 1), (1, 2), (2, 3), (3, 4), (1, 4), (2, 2)):
            result, expected = x.copy(), x.copy()
            reached = twin(expected, arena, program, begin, end)
            assert compiled(result, arena, program, begin, end) == reached
            assert reached == (begin if down else end)
            # each node's terms are of size 1 but for the rows behind, which grow by one a node
            bound = (end - begin + 1) * tolerance(dtype, max(w, 26))
            assert np.allclose(result, expected, rtol=0, atol=bound)
            assert np.array_equal(result[expected == x], x[expected == x])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("w", range(1, 9))
def test_back_substitution_with_one_triangle_is_that_of_its_twin(w, dtype):
    rng = np.random.default_rng(w)
    lists = [[], [5], [8, 1], [3, 17, 6]]
    program, entries, rows = panels(w, lists, one_triangle=True)
    arena, x = numbers(rng, entries, dtype), numbers(rng, rows, dtype)
    copies = -1 - program[program[STARTS : STARTS + len(lists)] + 4]
    arena[copies] = np.inf  # no block is weak
    for begin, end in ((0, 1), (1, 2), (2, 3), (3, 4), (1, 4), (2, 2)):
        result, expected = x.copy(), x.copy()
        assert compiled_backward(result, arena, program, begin, end) == begin
        assert twin_backward(expected, arena, program, begin, end) == begin
        # two products, of 26 and of w terms at most
        bound = 3 * 26 * tolerance(dtype, w)
        assert np.allclose(result, expected, rtol=0, atol=bound)
        assert np.array_equal(result[expected == x], x[expected == x])

    arena[copies[1]] = 1.0  # this one is
    for backward in (compiled_backward, twin_backward):
        assert backward(x, arena, program, 0, 4) == 2


@pytest.mark.parametrize("w", [4, 9])
def test_substitution_stops_at_a_node_that_is_not_one_small_block(w):
    lists = [[5], [2], [5], [1]]
    program, entries, rows = panels(w, lists, several=2)
    arena, x = np.ones(entries), np.ones(rows)
    stops = (2, 3) if w == 4 else (0, 4)
    for forward, backward in (
        (compiled_forward, compiled_backward),
        (twin_forward, twin_backward),
        (compiled_forward_transposed, compiled_backward_transposed),
        (twin_forward_transposed, twin_backward_transposed),
    ):
        assert (forward(x, arena, program, 0, 4), backward(x, arena, program, 0, 4)) == stops
        assert forward(x, arena, program, 3, 4) == (4 if w == 4 else 3)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("edges", [[], [(0, 3), (0, 1), (1, 2), (3, 4), (2, 5), (4, 6), (0, 6)]])
@pytest.mark.parametrize("w", range(9))
def test_residuals_of_small_nodes_are_those_of_their_twins(w, edges, dtype):
    rng = np.random.default_rng(w)
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(7))
    system = gs.System(graph, dict(enumerate([w, 1, 8, 5, 2, 7, 6])))
    values, total = numbers(rng, system.values.size, dtype), system.shape[0]
    tables = tuple(system.graph.tables())
    x, b = numbers(rng, total, dtype), numbers(rng, total, dtype)
    result, expected = (np.full(total + 1, 7.0, dtype) for _ in range(2))
    worst, expected_worst = np.full((2, 16), 5.0, dtype)
    floor = dtype(3.0)

    sizes, expected_sizes = (np.full(total + 1, 7.0, dtype) for _ in range(2))

    compiled_residual(result[:-1], worst, b, values, x, floor, 0.0, np.inf, tables, sizes[:-1])
    twin_residual(
        expected[:-1], expected_worst, b, values, x, floor, 0.0, np.inf, tables, expected_sizes[:-1]
    )

    system.values = values
    matrix = system.to_dense()
    # sums of at most 8 + 4 x 8 products, of entries of size 1 to 3
    enough = 9 * 40**2 * np.finfo(dtype).eps
    assert np.allclose(expected[:-1], b - matrix @ x, rtol=0, atol=enough)
    assert np.allclose(result, expected, rtol=0, atol=enough) and result[-1] == 7.0
    held = abs(matrix) @ abs(x) + abs(b)
    for found in (sizes, expected_sizes):
        assert np.allclose(found[:-1], held, rtol=0, atol=enough) and found[-1] == 7.0
    bounds = np.maximum(held, floor * abs(matrix).sum(axis=1)), held
    for k, bound in enumerate(bounds):
        found = (abs(b - matrix @ x) / bound).max(initial=0.0)
        # both residual and bound are off by at most `enough` of what the bound holds
        rounding = 4 * 40 * np.finfo(dtype).eps
        assert abs(worst[8 * k : 8 * k + 8].max() - found) <= rounding
        assert np.allclose(worst, expected_worst, rtol=0, atol=rounding)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("first", range(5))
def test_residuals_after_one_that_is_large_enough_are_not_compared(first, dtype):
    system = gs.System(gs.chain(5), [2, 1, 3, 8, 2], dtype=dtype)
    for node in system.labels:
        system[node, node] = np.eye(system.graph.size[node])
    x, b = np.ones(16, dtype), np.full(16, 3.0, dtype)  # |r| / d = 1 / 2
    rows = system.graph.row_start
    b[rows[first] : rows[first + 1]] = 7.0  # 6 / 8
    b[rows[first + 1] :] = 15.0  # 14 / 16
    for residual in (compiled_residual, twin_residual):
        r, worst = np.empty(16, dtype), np.empty(16, dtype)
        residual(r, worst, b, system.values, x, 0.0, 0.0, 0.6, tuple(system.graph.tables()))
        assert (r == b - 1.0).all()
        assert worst[:8].max() == worst[8:].max() == 0.75


def test_sizes_of_rows_count_for_nodes_with_large_residuals_only():
    # |r| / d is 1/3 at node 0 and 2/4 at node 1, |r| / floor s 1/40 and 2/40
    system = gs.System(gs.chain(2), 1, blocks={(0, 0): 1.0, (1, 1): 1.0})
    x, b = np.array([1.0, 1.0]), np.array([2.0, 3.0])
    for residual in (compiled_residual, twin_residual):
        for fine, floored in ((0.1, 0.05), (0.4, 1.0 / 3.0), (0.6, 0.5)):
            r, worst = np.empty(2), np.empty(16)
            tables = tuple(system.graph.tables())
            residual(r, worst, b, system.values, x, 40.0, fine, np.inf, tables)
            assert (r == [1.0, 2.0]).all()
            assert worst[[0, 8]] == pytest.approx([floored, 0.5], rel=1e-15)


def test_a_floor_that_overflows_is_none():
    system = gs.System(gs.chain(2), 1)
    system[0, 0], system[1, 1], system[0, 1] = 1e-90, 1e200, 1e260
    x, b = np.array([1e90, 1e-260]), np.array([4.0, 2e-60])
    for residual in (compiled_residual, twin_residual):
        r, worst = np.empty(2), np.empty(16)
        tables = tuple(system.graph.tables())
        residual(r, worst, b, system.values, x, 1e-10 * x.max(), 0.0, np.inf, tables)
        assert np.allclose(r, [2.0, 1e-60], rtol=1e-15, atol=0)
        assert np.allclose(worst[[0, 8]], 1.0 / 3.0, rtol=1e-15, atol=0)


def test_a_residual_whose_bound_overflows_is_no_small_one():
    system = gs.System(gs.chain(2), 1)
    system[0, 0], system[1, 1], system[0, 1], system[1, 0] = 1e300, 1.0, 1e300, 1.0
    x, b = np.array([1e10, -1e10]), np.array([1.0, 1.0])
    for residual in (compiled_residual, twin_residual):
        r, worst = np.empty(2), np.empty(16)
        with np.errstate(all="ignore"):
            tables = tuple(system.graph.tables())
            residual(r, worst, b, system.values, x, 0.0, 0.0, np.inf, tables)
        assert not worst.max() < np.inf


@pytest.mark.parametrize("dtype", TYPES)
def test_residuals_of_single_rows_whether_neighbours_follow_each_other_or_not(dtype):
    # node 0 has 0 to 40 neighbours, all of a stretch or every other one, and others a few
    rng = np.random.default_rng(0)
    for count in (0, 1, 3, 4, 7, 8, 9, 12, 17, 40):
        for step in (1, 2):
            graph = nx.empty_graph(85)
            graph.add_edges_from((0, 2 + step * k) for k in range(count))
            graph.add_edges_from(rng.integers(1, 85, (60, 2)).tolist())
            graph.remove_edges_from(list(nx.selfloop_edges(graph)))
            system = gs.System(graph, 1, dtype=dtype)
            values, x, b = (numbers(rng, k, dtype) for k in (system.values.size, 85, 85))
            _, _, start, neighbor, diagonal_at, _ = system.graph.tables()
            found = []
            for residual in (compiled_scalar_residual, reference.scalar_residual):
                r, sizes = np.full((2, 86), 7.0, dtype)
                residual(r, sizes, b, values, x, start, neighbor, diagonal_at)
                assert r[-1] == sizes[-1] == 7.0
                found.append((r, sizes))
            system.values = values
            matrix = system.to_dense()
            # sums of at most 42 terms, of entries of size 1 to 4
            enough = 42**2 * 16 * np.finfo(dtype).eps
            for r, sizes in found:
                assert np.allclose(r[:-1], b - matrix @ x, rtol=0, atol=enough)
                held = abs(matrix) @ abs(x) + abs(b)
                assert np.allclose(sizes[:-1], held, rtol=0, atol=enough)
