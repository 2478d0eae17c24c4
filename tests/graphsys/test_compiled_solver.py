"""Solver compiled for one graph: its solutions are those of a factor, and it knows when not."""

import copy
import pickle
import shutil
import sys

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys.c_code import build
from graphsys.compiler import DISABLE_JIT
from graphsys.families import body_joint_chain, random_saddle_system, random_system
from graphsys.kernels.single.one_graph import LOCK

EPS = np.finfo(float).eps
GOOD = 1e3 * EPS  # componentwise backward error that a factor accepts, too
pytestmark = pytest.mark.skipif(
    DISABLE_JIT or not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    """A folder for what is compiled here."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setattr(build, "cache_folder", lambda: folder)
        yield folder


def backward_error(matrix, x, b):
    return np.max(np.abs(matrix @ x - b) / (np.abs(matrix) @ np.abs(x) + np.abs(b)))


def two_nodes():
    """[4 1; 2 3], whose values are 4, 1 of node 0 and 3, 2 of node 1."""
    blocks = {(0, 0): 4.0, (0, 1): 1.0, (1, 0): 2.0, (1, 1): 3.0}
    return gs.System(gs.chain(2), 1, blocks=blocks)


# ---------------------------------------------------------------- by hand


def test_two_nodes_by_hand():
    system = two_nodes()
    solver = system.compile()

    assert solver.solve_once(system.values, np.array([9.0, 7.0])) == pytest.approx([2.0, 1.0])
    assert solver.solve_once([4, 1, 3, 2], [9, 7]) == pytest.approx([2.0, 1.0])  # integers
    strided = np.array([9.0, 0.0, 7.0, 0.0])[::2]
    assert solver.solve_once(system.values, strided) == pytest.approx([2.0, 1.0])
    assert solver._factor is None
    assert repr(solver) == "CompiledSolver(2 nodes)"


def test_what_it_cannot_vouch_for_is_left_to_a_factor():
    solver = two_nodes().compile()
    with pytest.raises(gs.SingularPivotError, match="node"):
        solver.solve_once([1.0, 1.0, 1.0, 1.0], [1.0, 1.0])
    # no pivot at node 0, but the matrix is regular: an exchange of 0 and 1
    x = solver.solve_once([0.0, 1.0, 0.0, 1.0], [1.0, 2.0])
    assert x.tolist() == [2.0, 1.0]
    assert solver._factor is not None
    # and on it goes, with the code where that will do
    assert solver.solve_once([2.0, 0.0, 4.0, 0.0], [2.0, 8.0]).tolist() == [1.0, 2.0]
    assert solver.solve_once([0.0, 1.0, 0.0, 1.0], [3.0, 4.0]).tolist() == [4.0, 3.0]


# ---------------------------------------------------------------- families and laws


@pytest.mark.parametrize(
    ("graph", "sizes"), [(gs.chain(7), 6), (gs.net(3), [1, 2, 3, 4, 5, 6, 5, 4, 3])]
)
def test_solutions_are_those_of_a_factor(graph, sizes):
    system = random_system(graph, sizes)
    solver, factor = system.compile(), system.factorize()
    rng, dense = np.random.default_rng(0), system.to_dense()
    condition = np.linalg.cond(dense)
    for scale in (1.0, 1e100):
        b = scale * rng.standard_normal(len(dense))
        x, reference = solver.solve_once(system.values, b), factor.solve(b)
        bound = 512 * len(dense) * EPS * condition * np.abs(reference).max()
        assert np.abs(x - reference).max() <= bound
    assert solver._factor is None


def test_doubtful_solutions_are_refined_to_what_a_factor_accepts():
    system = random_saddle_system(body_joint_chain(6))
    solver, dense = system.compile(), system.to_dense()
    for seed in range(20):
        b = np.random.default_rng(seed).standard_normal(len(dense))
        x = solver.solve_once(system.values, b)
        assert backward_error(dense, x, b) <= GOOD


@pytest.mark.parametrize("seed", range(8))
def test_matrices_of_any_kind_on_one_graph(seed):
    system = random_system(gs.ladder(3), [1, 2, 3, 3, 2, 1])
    solver, rng = system.compile(), np.random.default_rng(seed)
    values = system.values.copy()
    for i in rng.integers(0, 6, 3).tolist():  # some diagonal blocks are zero, or tiny
        at, d = int(system.graph.diagonal_at[i]), int(system.graph.size[i])
        values[at : at + d * d] *= rng.choice([0.0, 1e-9])
    system.values = values
    dense, b = system.to_dense(), rng.standard_normal(12)
    if np.linalg.cond(dense) < 1e10:
        assert backward_error(dense, solver.solve_once(values, b), b) <= GOOD


def test_it_is_compiled_once_for_each_graph(cache, monkeypatch):
    two_nodes().compile()
    count = len(list(cache.iterdir()))
    monkeypatch.setattr(build, "compiler", lambda _: pytest.fail("it is there"))
    solver = two_nodes().compile()
    assert len(list(cache.iterdir())) == count

    for other in (copy.copy(solver), pickle.loads(pickle.dumps(solver))):
        assert other._work is not solver._work
        assert other.solve_once([4.0, 1.0, 3.0, 2.0], [9.0, 7.0]) == pytest.approx([2.0, 1.0])


# ---------------------------------------------------------------- rejections


def test_bad_input_is_refused_and_leaves_the_solver_as_it_was():
    solver = two_nodes().compile()
    values, b = [4.0, 1.0, 3.0, 2.0], [9.0, 7.0]
    for bad in ([1.0], [1.0, 2.0, 3.0], np.ones((2, 2))):
        with pytest.raises(ValueError, match="b has shape"):
            solver.solve_once(values, bad)
    with pytest.raises(ValueError, match="values has shape"):
        solver.solve_once(values[:3], b)
    with pytest.raises(TypeError, match="b is complex"):
        solver.solve_once(values, [1j, 0.0])
    with pytest.raises(ValueError, match="b is not finite at node 1"):
        solver.solve_once(values, [1.0, np.nan])
    with pytest.raises(ValueError, match="every entry must be finite"):
        solver.solve_once([4.0, np.inf, 3.0, 2.0], b)
    assert solver.solve_once(values, b) == pytest.approx([2.0, 1.0])


def test_two_threads_at_once_are_refused():
    solver = two_nodes().compile()
    solver._frame[LOCK] = 1  # another one is at work
    with pytest.raises(RuntimeError, match="each needs one of its own"):
        solver.solve_once(np.array([4.0, 1.0, 3.0, 2.0]), np.array([9.0, 7.0]))


def test_graphs_that_are_too_large_are_refused():
    with pytest.raises(ValueError, match="block updates"):
        gs.System(gs.net(30), 1).compile()


def test_without_a_compiler_the_error_names_one(monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"system\.compile\(\) needs a C compiler once"):
        gs.System(nx.path_graph(4), [3, 1, 4, 2]).compile()


def test_only_float64_and_only_what_this_system_analyzed():
    for dtype in (np.float32, np.complex128):
        with pytest.raises(ValueError, match=f"for float64, this system is of {np.dtype(dtype)}"):
            gs.System(gs.chain(2), 1, dtype=dtype).compile()
    with pytest.raises(ValueError, match="is not of this system"):
        two_nodes().compile(gs.System(gs.chain(3), 1).analyze())


def test_another_process_finds_the_code(cache, monkeypatch):
    system = gs.System(nx.path_graph(3), [2, 3, 2])
    for i in range(3):
        system[i, i] = np.eye(system[i, i].shape[0])
    expected = system.compile().solve_once(system.values, np.arange(7.0))
    monkeypatch.setattr(build, "compiler", lambda needed_by: pytest.fail("compiled again"))
    assert system.compile().solve_once(system.values, np.arange(7.0)).tolist() == expected.tolist()


def test_a_terminal_is_told_while_the_c_compiler_runs(tmp_path, monkeypatch):
    # the command ends only after the second line of progress
    said = tmp_path / "said"
    lines = []

    def tick():
        lines.append(build.progress.depth)
        if len(lines) == 2:
            said.touch()

    monkeypatch.setattr(build, "TICK", 0.01)
    monkeypatch.setattr(build.progress, "tick", tick)
    wait = f"import os, sys\nwhile not os.path.exists({str(said)!r}): pass\nsys.exit('no room')"
    assert build._run([sys.executable, "-S", "-c", wait]) == (1, "no room\n")
    assert len(lines) >= 2
    assert set(lines) == {1}
