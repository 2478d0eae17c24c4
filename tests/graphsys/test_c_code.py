"""C code of one graph: compiled here, and compared with LAPACK and with the package's kernels."""

import ctypes
import re
import shutil
import subprocess

import networkx as nx
import numpy as np
import pytest

import graphsys as gs
from graphsys.c_code.block_functions import REGISTERS
from graphsys.families import (
    body_joint_chain,
    body_joint_tree,
    random_saddle_system,
    random_system,
)
from graphsys.kernels.base.layout import NODAL_AT
from graphsys.kernels.single.refinement import FINE

COMPILER = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
EPS = np.finfo(float).eps
DONE, DOUBTFUL, SINGULAR, NOT_FINITE = range(4)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


class Compiled:
    """The C code of a graph as functions of Python; arrays have room that must stay as it is."""

    def __init__(self, symbolic, folder, *flags):
        text = symbolic.to_c("g")
        self.sizes = {
            key: int(value) for key, value in re.findall(r"G_(ROWS|VALUES|WORK) = (\d+)", text)
        }
        name = f"g{len(list(folder.iterdir()))}"  # a library in use must not be overwritten
        source, built = folder / f"{name}.c", folder / f"{name}.so"
        source.write_text(text)
        strict = "-Wall", "-Wextra", "-Werror"
        command = [COMPILER, *strict, *(flags or ("-O1",)), "-shared", "-fPIC", "-o"]
        subprocess.run([*command, str(built), str(source), "-lm"], check=True)
        self.library = ctypes.CDLL(str(built))
        self.library.g_refine.restype = ctypes.c_double
        self.work = self._room(self.sizes["WORK"])

    def _room(self, size, values=None):
        room = np.full(size + 8, 0.625)
        if values is not None:
            room[4:-4] = values
        return room

    def _call(self, name, *arrays):
        given = [array[4:].ctypes.data_as(ctypes.c_void_p) for array in arrays]
        result = getattr(self.library, f"g_{name}")(*given)
        for array in arrays:
            assert (array[:4] == 0.625).all() and (array[-4:] == 0.625).all()
        return result

    def factorize(self, values):
        self.values = self._room(self.sizes["VALUES"], values)
        status = self._call("factorize", self.values, self.work)
        assert np.array_equal(self.values[4:-4], values, equal_nan=True)
        return status

    def solve(self, b, name="solve", in_place=False):
        right = self._room(self.sizes["ROWS"], b)
        x = right if in_place else self._room(self.sizes["ROWS"])
        status = self._call(name, self.values, self.work, right, x)
        return status, x[4:-4].copy()

    def factorize_and_solve(self, values, b):
        self.values = self._room(self.sizes["VALUES"], values)
        return self.solve(b, "factorize_and_solve")

    def refine(self, b, x):
        right, found = self._room(self.sizes["ROWS"], b), self._room(self.sizes["ROWS"], x)
        error = self._call("refine", self.values, self.work, right, found)
        return error, found[4:-4].copy()


def backward_error(matrix, x, b):
    """Componentwise backward error (Oettli and Prager)."""
    bound = np.abs(matrix) @ np.abs(x) + np.abs(b)
    return np.max(np.abs(matrix @ x - b) / np.where(bound > 0, bound, 1.0), initial=0.0)


def check_solutions(system, code):
    """All ways to a solution are as good as LAPACK's; the status is that of `Factor`."""
    dense, rng = system.to_dense(), np.random.default_rng(0)
    b = rng.standard_normal(len(dense))
    reference = np.linalg.solve(dense, b)
    condition = np.linalg.cond(dense)
    status, x = code.factorize_and_solve(system.values, b)
    factor = system.factorize(refine=False)
    doubtful = factor.pivot_ratio < 0.125 or factor.pivot_growth > 64.0
    if factor.symbolic.program[NODAL_AT]:  # supernodes have larger pivot blocks
        assert status == (DOUBTFUL if doubtful else DONE)
    assert code.factorize(system.values) == status
    found, separate = code.solve(b)
    assert found == DONE
    _, in_place = code.solve(b, in_place=True)
    assert np.array_equal(separate, in_place)
    error, refined = code.refine(b, x)
    # two ways to round one residual: the sums have no more than `entries` terms each
    entries = int((dense != 0).sum(axis=1).max()) + 1
    assert abs(error - backward_error(dense, refined, b)) <= 2 * entries * EPS
    assert error <= 2 * entries * EPS  # what the rounding of the residual leaves
    scale = np.abs(reference).max()
    assert np.abs(refined - reference).max() <= 100 * len(dense) * EPS * condition * scale
    if status == DONE:  # growth is 64 at most, ratios are 1/8 at least
        for one in (x, separate):
            assert np.abs(one - reference).max() <= 512 * len(dense) * EPS * condition * scale


# ---------------------------------------------------------------- by hand


@needs_compiler
def test_two_nodes_by_hand(tmp_path):
    # [4 1; 2 3] x = [9, 7]: x = [2, 1]; values are 4, 1 of node 0 and then 3, 2 of node 1
    code = Compiled(gs.System(gs.chain(2), 1).analyze(), tmp_path)
    assert code.sizes["ROWS"] == 2 and code.sizes["VALUES"] == 4

    assert code.factorize([4.0, 1.0, 3.0, 2.0]) == DONE
    assert code.solve([9.0, 7.0])[1] == pytest.approx([2.0, 1.0], rel=4 * EPS)
    # 1e-3 left of 1: the ratio of the second pivot
    assert code.factorize([1.0, 1.0, 1.001, 1.0]) == DOUBTFUL
    # 1 - 100 * 100 = -9999: growth
    assert code.factorize([1.0, 100.0, 1.0, 100.0]) == DOUBTFUL
    # half of the second pivot is left
    assert code.factorize([1.0, 1.0, 2.0, 1.0]) == DONE
    for singular in ([1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0], [0.0] * 4):
        assert code.factorize(singular) == SINGULAR
        assert code.factorize_and_solve(singular, [1.0, 1.0])[0] == SINGULAR


@needs_compiler
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, REGISTERS + 1, 12])
def test_one_node_whose_rows_have_to_be_exchanged(n, tmp_path):
    system = gs.System(nx.empty_graph(1), n)
    code = Compiled(system.analyze(), tmp_path)
    rng = np.random.default_rng(n)
    b = np.arange(1.0, n + 1.0)
    for matrix in (np.eye(n)[::-1], np.eye(n)[rng.permutation(n)]):
        assert code.factorize(matrix.T.ravel()) == DONE
        assert code.solve(b)[1].tolist() == (matrix.T @ b).tolist()
    for _ in range(20):
        matrix = rng.standard_normal((n, n)) * 10.0 ** rng.integers(-3, 4, n)[:, None]
        status, x = code.factorize_and_solve(matrix.T.ravel(), b)
        assert status in (DONE, DOUBTFUL)  # rows of any scale
        error, x = code.refine(b, x)
        accepted = FINE + 2 * (n + 1)
        assert error <= accepted * EPS
        assert backward_error(matrix, x, b) <= (accepted + 2 * (n + 1)) * EPS
    matrix[:, -1] = matrix[:, 0]
    assert n == 1 or code.factorize(matrix.T.ravel()) == SINGULAR


@needs_compiler
def test_what_is_not_finite_has_a_status(tmp_path):
    system = random_system(gs.chain(4), 3)
    code = Compiled(system.analyze(), tmp_path)
    b = np.ones(12)
    for at in range(0, system.values.size, 7):
        for bad in (np.nan, np.inf):
            values = system.values.copy()
            values[at] = bad
            assert code.factorize_and_solve(values, b)[0] in (SINGULAR, NOT_FINITE)
    assert code.factorize(system.values) == DONE
    b[5] = np.nan
    status, x = code.solve(b)
    assert status == NOT_FINITE
    assert np.isnan(code.refine(b, x)[0])
    # overflow: 1e308 over 1e-308
    code = Compiled(gs.System(gs.chain(2), 1).analyze(), tmp_path)
    assert code.factorize([1e-308, 0.0, 1.0, 0.0]) == DONE
    assert code.solve([1e308, 1.0])[0] == NOT_FINITE


@needs_compiler
def test_refinement_that_diverges_leaves_the_solution_as_it_was(tmp_path):
    # factors of another matrix: each correction is 2e6 times too large
    code = Compiled(gs.System(gs.chain(2), 1).analyze(), tmp_path)
    code.factorize([1e-6, 0.0, 1e-6, 0.0])
    code.values = code._room(4, [2.0, 0.0, 2.0, 0.0])
    x, b = np.array([0.5, 0.75]), np.array([1.0, 1.0])
    error, after = code.refine(b, x)
    assert error == pytest.approx(0.5 / 2.5)
    assert after.tolist() == x.tolist()


# ---------------------------------------------------------------- families against LAPACK


@needs_compiler
@pytest.mark.parametrize(
    ("graph", "sizes"),
    [
        (gs.chain(10), 6),
        (gs.random_tree(12), 5),
        (gs.ladder(5), 3),
        (gs.net(4), 2),
        (gs.crystal(2), 7),
        (nx.complete_graph(5), 8),
        (gs.chain(5), 10),
        (gs.net(3), [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (gs.random_tree(8), [12, 1, 0, 9, 4, 0, 8, 3]),
        (nx.empty_graph(3), 2),
    ],
)
def test_solutions_are_those_of_lapack(graph, sizes, tmp_path):
    system = random_system(graph, sizes)
    system.analyze()
    check_solutions(system, Compiled(system.analyze(), tmp_path))


@needs_compiler
@pytest.mark.parametrize("graph", [gs.chain(6), gs.ladder(4)])
def test_symmetric_systems_and_given_orders(graph, tmp_path):
    system = gs.System(graph, 3, symmetric=True)
    rng = np.random.default_rng(2)
    for u in graph:
        system[u, u] = 9.0 * np.eye(3)
    for u, v in graph.edges:
        system[u, v] = rng.standard_normal((3, 3))
    for ordering in ("auto", list(reversed(list(graph)))):
        check_solutions(system, Compiled(system.analyze(ordering), tmp_path))


@needs_compiler
@pytest.mark.parametrize("graph", [body_joint_chain(4), body_joint_tree(5)])
def test_zero_diagonal_blocks(graph, tmp_path):
    system = random_saddle_system(graph)
    check_solutions(system, Compiled(system.analyze(), tmp_path))


@needs_compiler
def test_nodes_that_share_a_pivot_block(tmp_path):
    # a ring of four empty nodes: two pairs, and a regular node that hangs on one of them
    graph = nx.cycle_graph(4)
    graph.add_edge(0, 4)
    system = random_system(graph, {0: 2, 1: 2, 2: 2, 3: 2, 4: 3})
    for node in range(4):
        system[node, node] = np.zeros((2, 2))
    symbolic = system.analyze()
    assert symbolic.precedence.joined

    dense, b = system.to_dense(), np.arange(11.0)
    code = Compiled(symbolic, tmp_path)
    status, x = code.factorize_and_solve(system.values, b)
    assert status in (DONE, DOUBTFUL)
    error, x = code.refine(b, x)
    assert error <= 2 * len(dense) * EPS
    assert backward_error(dense, x, b) <= 4 * len(dense) * EPS


@needs_compiler
def test_nodes_without_pivots_leave_factors_in_doubt(tmp_path):
    # a star of empty leaves around one node of one row: none of them but one gets a pivot
    graph = nx.star_graph(3)
    system = gs.System(graph, 1)
    for leaf in (1, 2, 3):
        system[0, leaf] = system[leaf, 0] = float(leaf)
    symbolic = system.analyze()
    assert symbolic.precedence.short.size

    status = Compiled(symbolic, tmp_path).factorize(system.values)
    assert status in (DOUBTFUL, SINGULAR)


@needs_compiler
@pytest.mark.parametrize("flags", [("-O0",), ("-O3", "-march=native"), ("-O2", "-std=c99")])
def test_compilers_find_nothing_to_warn_of(flags, tmp_path):
    system = random_system(gs.net(3), [1, 2, 3, 4, 5, 6, 7, 8, 9])
    check_solutions(system, Compiled(system.analyze(), tmp_path, *flags))


@needs_compiler
def test_long_graphs_are_cut_into_several_functions(tmp_path):
    system = random_system(gs.chain(150), 2)
    symbolic = system.analyze()
    assert "eliminate_part_1" in symbolic.to_c()
    check_solutions(system, Compiled(symbolic, tmp_path))


@needs_compiler
@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_of_random_sizes(seed, tmp_path):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    graph = nx.gnm_random_graph(n, int(rng.integers(n, 2 * n)), seed=seed)
    system = random_system(graph, rng.integers(0, 11, n).tolist())
    check_solutions(system, Compiled(system.analyze(), tmp_path))


# ---------------------------------------------------------------- the text


def test_the_text_needs_nothing_and_is_the_same_each_time():
    symbolic = gs.System(gs.ladder(4), 6).analyze()
    text = symbolic.to_c("arm")

    assert re.findall(r"#include (\S+)", text) == ["<math.h>"]
    assert not re.search(r"\b(malloc|calloc|free|printf)\b", text)
    assert text == gs.System(gs.ladder(4), 6).analyze().to_c("arm")
    visible = re.findall(r"^(?:int|double) (\w+)\(.*\)$", text, re.MULTILINE)
    assert visible == ["arm_factorize", "arm_solve", "arm_factorize_and_solve", "arm_refine"]


@needs_compiler
def test_a_graph_without_unknowns_compiles(tmp_path):
    code = Compiled(gs.System(nx.empty_graph(2), 0).analyze(), tmp_path)
    assert code.factorize([]) == DONE
    assert code.solve([])[0] == DONE


@pytest.mark.parametrize("name", ["", "3a", "a b", "int", "grün", "a-b", 7, None])
def test_names_that_c_does_not_know_are_refused(name):
    with pytest.raises(ValueError, match="give a name of C"):
        gs.System(gs.chain(2), 1).analyze().to_c(name)


def test_graphs_that_are_too_large_are_refused():
    with pytest.raises(ValueError, match="call compiled kernels from C instead"):
        gs.System(gs.net(30), 1).analyze().to_c()
