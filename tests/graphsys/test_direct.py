"""Factors and solution in one call, and calls without a look at types: as the long way, always."""

import copy
import gc
import pickle
import weakref
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from numba import njit

import graphsys as gs
from graphsys import kernels
from graphsys.families import body_joint_chain, random_saddle_system, random_system
from graphsys.kernels.base.layout import WIDEST
from graphsys.kernels.single.fused_solve import DONE, MISFIT
from graphsys.kernels.single.refinement import FINE
from tests.graphsys.test_factor import SLOW_TYPES, backward_error, right_hand_side

EPS = np.finfo(float).eps
#: A chain has the nodal program, a complete graph has not: each has kernels of its own.
GRAPHS = {"chain": gs.chain(6), "complete": nx.complete_graph(4)}


@pytest.fixture(params=GRAPHS)
def graph(request):
    return GRAPHS[request.param]


def two_systems(graph, dims=3, **options):
    return [random_system(graph, dims, seed=seed, **options) for seed in (0, 1)]


@pytest.mark.parametrize("dtype", SLOW_TYPES)
def test_one_call_is_the_same_as_two(graph, dtype):
    system, other = two_systems(graph, dtype=dtype)
    factor, b = system.factorize(), right_hand_side(system)
    expected = other.factorize(factor.symbolic)

    x = factor.refactorize_and_solve(other.values, b)
    assert np.array_equal(x, expected.solve(b)) and x.dtype == dtype
    assert np.array_equal(factor.solve(b), x)
    assert factor.pivot_ratio == expected.pivot_ratio
    assert factor.refactorized == expected.refactorized
    assert factor.rcond() == expected.rcond()  # nothing of the matrix before is left
    assert np.array_equal(factor.residual(x, b), expected.residual(x, b))


def test_an_array_may_be_changed_in_place_between_two_calls(graph):
    system, other = two_systems(graph)
    factor, b = system.factorize(), right_hand_side(system)
    norm = factor.rcond()
    system.values = other.values

    x = factor.refactorize_and_solve(system.values, b)
    assert backward_error(other.to_dense(), x, b) < 1e-14
    assert factor.rcond() == other.factorize(factor.symbolic).rcond() != norm


def test_whatever_is_given_is_understood_as_by_the_two_calls(graph):
    system, other = two_systems(graph)
    factor, two = system.factorize(), system.factorize()
    b, values = right_hand_side(system, 2), other.values
    single = right_hand_side(system)
    apart, big = np.repeat(values, 2)[::2], single.astype(">f8")
    fixed, shifted = values.copy(), np.zeros(values.nbytes + 1, np.uint8)[1:].view(float)
    fixed.flags.writeable = False
    shifted[:] = values
    masked = np.ma.MaskedArray(single)
    for v in (values, values.tolist(), apart, fixed, shifted, values.astype(np.float32)):
        for right in (
            single, single.tolist(), big, b, b[:, 0], np.asfortranarray(b), masked,
            single + 1j * b[:, 1], np.arange(single.size), system.split(single), b[:, :0],
        ):  # fmt: skip
            two.refactorize(v)
            expected, x = two.solve(right), factor.refactorize_and_solve(v, right)
            again = factor.solve(right)
            assert type(x) is type(again) is type(expected)
            if isinstance(right, dict):
                expected, x, again = (system.join(each) for each in (expected, x, again))
            assert np.array_equal(x, expected) and x.shape == expected.shape
            assert np.array_equal(again, expected)


def test_what_is_wrong_is_said_as_by_the_two_calls(graph):
    system, other = two_systems(graph)
    factor, b = system.factorize(), right_hand_side(system)
    x = factor.solve(b)
    for values in (other.values[:-1], other.values.reshape(-1, 1), np.zeros((2, 3, 4)), 1.0):
        with pytest.raises(ValueError, match="values has shape"):
            factor.refactorize_and_solve(values, b)
        with pytest.raises(ValueError, match="values has shape"):
            factor.refactorize(values)
        assert np.array_equal(factor.solve(b), x)  # as it was
        assert factor.pivot_ratio == system.factorize(factor.symbolic).pivot_ratio
    for right in (b[:-1], np.zeros((b.size, 1, 1)), np.float64(1.0)):
        with pytest.raises(ValueError, match="vector has shape"):
            factor.refactorize_and_solve(other.values, right)
        with pytest.raises(ValueError, match="vector has shape"):
            factor.solve(right)
    bad = b.copy()
    bad[4] = np.nan
    with pytest.raises(ValueError, match="b is not finite at node 1"):
        factor.refactorize_and_solve(other.values, bad)
    values = other.values.copy()
    values[system.graph.diagonal_at[2] + 1] = np.inf
    with pytest.raises(ValueError, match=r"of block \(2, 2\), is inf"):
        factor.refactorize_and_solve(values, b)
    with pytest.raises(ValueError, match="last refactorize failed"):
        factor.solve(b)
    assert np.array_equal(factor.refactorize_and_solve(system.values, b), x)
    with pytest.raises(OverflowError, match="scale"):
        factor.refactorize_and_solve(1e-300 * system.values, 1e300 * b)


def test_a_singular_matrix_is_named_and_the_factor_recovers(graph):
    system = random_system(graph, 3)
    factor, b = system.factorize(), right_hand_side(system)
    with pytest.raises(gs.SingularPivotError, match="singular"):
        factor.refactorize_and_solve(np.zeros_like(system.values), b)
    with pytest.raises(ValueError, match="last refactorize failed"):
        factor.solve(b)

    x = factor.refactorize_and_solve(system.values, b)
    assert backward_error(system.to_dense(), x, b) < 1e-14


@pytest.mark.parametrize("refine", [None, True, False])
def test_doubtful_pivots_are_refined_and_good_ones_are_not_again(refine):
    good = random_system(gs.chain(30), 3)
    doubtful = good.copy()  # a block by itself, whose second pivot is a thousandth of its row
    doubtful[0, 0] = [[1.0, 1.0, 0.0], [1.0, 1.001, 0.0], [0.0, 0.0, 1.0]]
    doubtful[0, 1] = doubtful[1, 0] = np.zeros((3, 3))
    b = right_hand_side(good)
    factor, two = (good.factorize(refine=refine) for _ in range(2))
    for system in (doubtful, good, good, doubtful, doubtful, good):
        x, expected = (
            factor.refactorize_and_solve(system.values, b),
            two.refactorize(system.values).solve(b),
        )
        assert np.array_equal(x, expected)
        assert factor.report == two.report and factor.pivot_ratio == two.pivot_ratio
        refined = refine is True or (refine is None and system is doubtful)
        assert (factor.report.backward_error is not None) == refined
        if refined:
            assert factor.report.backward_error <= FINE * EPS


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["small", "wide"])
def test_refined_solutions_are_those_of_the_long_way(kind, dtype):
    graph, size = (gs.chain(60), 4) if kind == "small" else (nx.complete_graph(5), 12)
    for seed in range(10):  # whether factors are refined, or replaced, depends on their rounding
        system = random_system(graph, size, seed, dominance=0.0, dtype=dtype)
        factor, b = system.factorize(), right_hand_side(system)
        if factor._fast is not None and factor._refining is not None:
            break
    assert (factor.symbolic.program[WIDEST] > 8) == (kind == "wide")

    x, told = factor._fast.fast_solve_refined(factor._refining, b)
    y, report = factor._solver.solve(b, "N", None)
    assert np.array_equal(x, y)
    assert told == (report.refinements, report.backward_error) and report.refinements > 0
    assert np.array_equal(factor.solve(b), x)
    assert factor.report == replace(report, componentwise_error=None)
    assert backward_error(system.to_dense(), x, b) < 10 * np.finfo(dtype).eps


@njit
def compiled_both(*arguments):
    return kernels.factorize_and_solve(*arguments)


@pytest.mark.parametrize("dtype", SLOW_TYPES)
@pytest.mark.parametrize("count", [0, 1, 4])
def test_compiled_code_factorizes_and_solves_at_once(graph, count, dtype):
    system, other = two_systems(graph.subgraph(list(graph)[:count]), dtype=dtype)
    symbolic, b = system.analyze(), right_hand_side(system)
    factor = system.factorize(symbolic)
    is_complex = np.dtype(dtype).kind == "c"
    program = symbolic.supernodal_program if is_complex else symbolic.program
    sizes = kernels.work_sizes(program, 1)
    arena, magnitude = np.empty(sizes[0], dtype), np.empty(sizes[1], b.real.dtype)
    x, info, out = np.empty(sizes[2], dtype), np.zeros(3), np.empty_like(b)

    def both(values, b):
        arguments = program, values, b, 1e-14, magnitude, x, arena, info, out
        return compiled_both(*arguments)

    assert both(other.values, b) == 0 and both(system.values, b) == 0
    assert np.array_equal(out, factor.solve(b)) and info[0] == factor.pivot_ratio
    if count:
        assert both(np.zeros_like(system.values), b) > 0
        assert both(system.values, np.full_like(b, np.nan)) == -1


@pytest.mark.parametrize("refine", [None, True, False])
def test_pivots_that_lost_nothing_are_good_even_where_all_is_refined(graph, refine):
    system = gs.System(graph, 3)
    for u in graph.nodes:
        system[u, u] = 2.0 * np.eye(3)
    factor, b = system.factorize(refine=refine), np.arange(1.0, 3.0 * len(graph) + 1.0)
    for x in (factor.refactorize(system.values).solve(b), factor.solve(b)):
        assert factor.pivot_ratio == 1.0 and np.array_equal(x, b / 2.0)
    assert factor._fast_again is not None and np.array_equal(
        factor.refactorize_and_solve(system.values, b), x
    )
    assert (factor.report.backward_error == 0.0) == (refine is True)


def test_refinement_keeps_a_matrix_of_its_own():
    system = random_saddle_system(body_joint_chain(12))
    factor, b = system.factorize(), right_hand_side(system)
    other = 1.5 * system.values
    for values in (system.values, other):
        x = factor.refactorize(values).solve(b)
        values *= 7.0
        assert np.array_equal(factor.solve(b), x)


def test_what_refinement_cannot_mend_goes_the_long_way():
    system = random_saddle_system(body_joint_chain(12))
    factor, b = system.factorize(), right_hand_side(system)
    assert factor._fast.fast_solve_refined(factor._refining, b[:-1]) is None
    b[3] = np.nan
    with pytest.raises(ValueError, match="b is not finite"):
        factor.solve(b)
    b[3] = 1.0
    with np.errstate(invalid="ignore"):  # the workspace holds anything
        factor._factorization.arena[:] *= 1.0 + 1e-3  # factors of no matrix at all
        factor._factorization.arena[:] += 1e2
    x = factor.solve(b)  # found by its residual, and mended by another factorization
    assert backward_error(system.to_dense(), x, b) < 1e-14
    factor = system.factorize(refine=False)
    with np.errstate(invalid="ignore"):
        factor._factorization.arena[:] += 1e2
    assert not backward_error(system.to_dense(), factor.solve(b), b) < 1e-2  # unchecked


def test_multifrontal_factors_replace_those_with_a_singular_pivot():
    system = random_system(gs.chain(4), 6, seed=2)
    factor, b = system.factorize(), right_hand_side(system)
    first = factor.symbolic.order[0]
    system[first, first] = np.zeros((6, 6))

    for _ in range(2):
        x = factor.refactorize_and_solve(system.values, b)
        assert backward_error(system.to_dense(), x, b) < 1e-14
    assert factor._factorization.fronts is not None


def test_zero_diagonal_blocks_and_redundant_rows_go_the_long_way_where_they_must():
    system = random_saddle_system(body_joint_chain(4))
    b = right_hand_side(system)
    for redundant in (False, True):
        factor, two = (system.factorize(redundant=redundant) for _ in range(2))
        for scale in (1.0, 2.0):
            x = factor.refactorize_and_solve(scale * system.values, b)
            assert np.array_equal(x, two.refactorize(scale * system.values).solve(b))
            assert factor.report == two.report


@pytest.mark.parametrize("dims", [1, 3])
def test_solutions_are_refined_in_the_same_call(graph, dims):
    system, other = two_systems(graph, dims)
    factor, two = (system.factorize(refine=True) for _ in range(2))
    b, given = right_hand_side(system), other.values.copy()
    again, norm = factor._fast_again, factor.rcond()
    assert again.fast_factorize_and_refine(factor._refining, given, b) is not None  # the short way

    x, expected = factor.refactorize_and_solve(given, b), two.refactorize(other.values).solve(b)
    if dims == 1:  # single rows are substituted by another kernel
        assert backward_error(other.to_dense(), x, b) <= (FINE + 8) * EPS
        assert factor.report.backward_error <= FINE * EPS
    else:
        assert np.array_equal(x, expected) and factor.report == two.report
    given[:] = np.nan  # it refines with a copy
    assert np.array_equal(factor.solve(b), expected)
    assert factor.rcond() == two.rcond() != norm


def test_calls_that_refine_and_calls_that_do_not_take_turns():
    good, doubtful = (random_system(gs.chain(30), 6, dominance=d) for d in (10.0, 0.0))
    factor, b = doubtful.factorize(), right_hand_side(good)
    for system in (doubtful, good, good, doubtful):
        x = factor.refactorize_and_solve(system.values, b)
        assert backward_error(system.to_dense(), x, b) < 1e-14
        assert factor.refines == (system is doubtful)
        assert (factor.report.backward_error is None) == (system is good)
        assert np.array_equal(factor.residual(x, b), system.factorize().residual(x, b))


def test_what_a_call_cannot_refine_goes_the_long_way():
    system = random_saddle_system(body_joint_chain(4))
    factor, b = system.factorize(), right_hand_side(system)
    expected = factor.solve(b)
    both = factor._fast_again.fast_factorize_and_refine
    for values, right in (
        (system.values[1:], b), (system.values, b[1:]), (system.values, b[:, None]),
        (system.values, np.full_like(b, 1e308)), (0.0 * system.values, b),
    ):  # fmt: skip
        assert both(factor._refining, values, right) is None
    with pytest.raises(ValueError, match="not finite"):
        factor.refactorize_and_solve(system.values, np.full_like(b, np.inf))
    with pytest.raises(gs.SingularPivotError):
        factor.refactorize_and_solve(0.0 * system.values, b)
    assert np.array_equal(factor.refactorize_and_solve(system.values, b), expected)


def test_after_a_change_of_some_nodes_all_is_computed_again():
    system, other = two_systems(gs.net(4))
    factor, b = system.factorize(), right_hand_side(system)
    whole = factor.refactorized
    system[5, 5] *= 2.0
    assert factor.refactorize(system.values, changed=[5]).refactorized < whole

    for _ in range(2):
        x = factor.refactorize_and_solve(other.values, b)
        assert backward_error(other.to_dense(), x, b) < 1e-14
        assert factor.refactorized == whole


def test_threads_share_the_factorization_of_one_call(monkeypatch):
    monkeypatch.setattr("graphsys.numeric.threads.WORTH_IT", 0.0)
    system, other = two_systems(gs.net(6), 4)
    factor, b = system.factorize(threads=2), right_hand_side(system)
    expected = other.factorize(factor.symbolic).solve(b)

    assert np.array_equal(factor.refactorize_and_solve(other.values, b), expected)
    assert factor._factorization._tasks.ready[-1] == 2


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
def test_a_copy_works_by_itself(graph, copied):
    system, other = two_systems(graph)
    factor, b = system.factorize(), right_hand_side(system)
    x = factor.refactorize_and_solve(system.values, b)
    twin = copied(factor)

    assert np.array_equal(twin.solve(b), x)
    assert twin._fast.fast_solve(b) is not None  # the short way
    y = twin.refactorize_and_solve(other.values, b)
    assert np.array_equal(y, other.factorize(factor.symbolic).solve(b))
    assert np.array_equal(factor.solve(b), x)
    assert np.array_equal(twin.refactorize(system.values).solve(b), x)


@pytest.mark.parametrize("dims", [1, 3])
def test_what_is_called_keeps_the_arrays_that_it_works_on(graph, dims):
    system, other = two_systems(graph, dims)
    factor, b = system.factorize(), right_hand_side(system)
    factorize, solve = factor._fast.fast_factorize, factor._fast.fast_solve
    both = factor._fast_again.load_factorize_and_solve()
    magnitude = weakref.ref(factor._fast.magnitude)
    expected = other.factorize(factor.symbolic).solve(b)
    del factor
    gc.collect()

    assert magnitude() is not None
    assert factorize(system.values) == DONE and np.array_equal(both(other.values, b), expected)
    assert np.array_equal(solve(b), expected)
    del factorize, both
    gc.collect()
    assert magnitude() is None


def test_the_everyday_calls_go_the_short_way(graph):
    system = random_system(graph, 3)
    factor, b = system.factorize(), right_hand_side(system)
    fast = factor._fast

    both = fast.load_factorize_and_solve()
    assert fast.fast_factorize(system.values) == DONE and fast.fast_solve(b) is not None
    assert both(system.values, b) is not None
    for other in (b[:-1], b.astype(np.float32), np.repeat(b, 2)[::2], b[:, None], b.tolist()):
        assert fast.fast_solve(other) is None
        assert both(system.values, other) is None
    apart = np.repeat(system.values, 2)[::2]
    for other in (system.values[1:], apart, apart.reshape(-1, 1), apart.tolist()):
        assert fast.fast_factorize(other) == MISFIT
        assert both(other, b) is None


def test_systems_without_rows_or_of_one_row():
    for system in (random_system(nx.empty_graph(0), 2), random_system(gs.chain(1), 1)):
        factor, b = system.factorize(), right_hand_side(system)
        x = factor.refactorize_and_solve(2.0 * system.values, b)
        assert x.shape == b.shape and np.allclose(2.0 * system.to_dense() @ x, b)
