"""Factorizations shared by threads: the same factors, whoever does what."""

import threading

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys import families
from graphsys.kernels.base.layout import ARENA_SIZE
from graphsys.kernels.single import parallel
from graphsys.numeric import threads


@pytest.fixture(autouse=True)
def small_is_worth_it(monkeypatch):
    monkeypatch.setattr(threads, "WORTH_IT", 0.0)


def panels(factor):
    """The factors alone, without workspace."""
    return factor._factorization.arena[: factor.symbolic.program[ARENA_SIZE]]


def check_same(system, symbolic=None, counts=(2, 3, 16), **options):
    symbolic = system.analyze() if symbolic is None else symbolic
    one = system.factorize(symbolic, **options)
    b = np.random.default_rng(1).standard_normal(system.shape[0])
    for count in counts:
        many = system.factorize(symbolic, threads=count, **options)
        assert many._factorization._tasks is not None
        assert np.array_equal(panels(one), panels(many))
        assert (one.pivot_ratio, one.redundant) == (many.pivot_ratio, many.redundant)
        assert np.array_equal(one.solve(b), many.solve(b))
        many.refactorize(2.0 * system.values)
        assert np.allclose(many.solve(b), one.solve(b) / 2.0, rtol=1e-9)


@pytest.mark.parametrize("size", [1, 3, 6, 12])
def test_nets_and_crystals_get_the_same_factors(size):
    for graph in (nx.grid_graph((9, 9)), nx.grid_graph((4, 4, 4))):
        check_same(families.random_system(graph, size))


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": complex},
        {"symmetric": True},
        {"dtype": "f4"},
        {"dtype": complex, "symmetric": "hermitian"},
    ],
)
def test_complex_symmetric_and_single_precision(options):
    check_same(families.random_system(nx.grid_graph((8, 8)), 4, **options))


def test_a_forest_of_small_trees_and_loose_nodes():
    graph = nx.disjoint_union_all([nx.grid_graph((3, 3)) for _ in range(9)])
    graph.add_nodes_from(["loose", "looser"])
    check_same(families.random_system(graph, 3))


def test_zero_diagonal_blocks_are_watched_alike():
    """A net of bodies, a joint of one row on each edge."""
    graph, net = nx.Graph(), nx.grid_graph((6, 6))
    graph.add_nodes_from((("body", node) for node in net), dim=6)
    for edge in net.edges:
        graph.add_node(("joint", edge), dim=1)
        graph.add_edges_from((("body", node), ("joint", edge)) for node in edge)
    check_same(families.random_saddle_system(graph))


def test_the_first_singular_pivot_is_named():
    graph = nx.grid_graph((8, 8))
    system = families.random_system(graph, 3)
    for neighbour in graph[4, 4]:
        system[(4, 4), neighbour] = np.zeros((3, 3))
    system[(4, 4), (4, 4)] = np.zeros((3, 3))
    symbolic = system.analyze(ordering=list(graph))
    with pytest.raises(gs.SingularPivotError, match=r"\(4, 4\)"):
        system.factorize(symbolic, threads=2)


def test_helpers_that_never_come_are_not_waited_for():
    gate = threading.Event()
    busy = threads.pool(1).submit(gate.wait)
    try:
        check_same(families.random_system(nx.grid_graph((8, 8)), 4), counts=(2,))
    finally:
        gate.set()
    assert busy.result(timeout=10)


def test_kernels_of_threads_are_found_at_once(monkeypatch):
    # a number of numpy would pass through the search for machine code, as often as a thread waits
    given, original = [], threads.take_part

    def recorded(*arguments):
        given.extend(arguments)
        return original(*arguments)

    monkeypatch.setattr(threads, "take_part", recorded)
    check_same(families.random_system(nx.grid_graph((8, 8)), 4))
    assert given and not any(isinstance(argument, np.generic) for argument in given)


def test_who_waits_long_leaves_and_goes_on_where_it_was():
    system = families.random_system(nx.grid_graph((8, 8)), 4)
    symbolic = system.analyze()
    one, two = system.factorize(symbolic), system.factorize(symbolic, threads=2)
    part, numeric = two._factorization._tasks, two._factorization
    reach, arena, magnitude = part.reach, numeric.arena, numeric.magnitude
    tables = reach.load_start, reach.source_start, reach.source, reach.update_at
    arena[:] = np.nan
    part.ready[-1] += 1
    ticket = np.zeros(2, np.int64)

    def take_part(task_start, state):
        return parallel.take_part(
            symbolic.supernodal_program, tables, (task_start, part.task),
            ticket, part.ready, part.ready[-1], system.values, 1e-14,
            int(symbolic.program[ARENA_SIZE]), state, magnitude, arena, np.array([1.0, 0.0, 0.0]),
        )  # fmt: skip

    root = np.array([part.task_start.size - 2, part.task_start[-2], -1])
    assert take_part(part.task_start, root) == parallel.WAITING
    there = root.copy()
    assert take_part(part.task_start, root) == parallel.WAITING
    assert np.array_equal(root, there)
    assert take_part(part.task_start[:-1], np.array([-1, 0, -1])) == parallel.DONE  # all the others
    assert take_part(part.task_start, root) == parallel.DONE
    assert np.array_equal(panels(one), panels(two))


@pytest.mark.parametrize("count", [0, -1, True])
def test_a_count_below_one_is_refused(count):
    system = families.random_system(nx.path_graph(3), 2)
    with pytest.raises(ValueError, match="threads is"):
        system.factorize(threads=count)


def test_small_and_narrow_systems_stay_with_one_thread(monkeypatch):
    chain = families.random_system(nx.path_graph(50), 6)
    assert chain.factorize(threads=2)._factorization._tasks is None
    monkeypatch.undo()
    net = families.random_system(nx.grid_graph((5, 5)), 6)
    assert net.factorize(threads=2)._factorization._tasks is None
