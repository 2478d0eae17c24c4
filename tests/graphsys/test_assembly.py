"""Blocks as arrays: `add`, `set`, `places`, `from_blocks`, and what users of scipy expect."""

import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import bsr_array, coo_array, csr_array
from scipy.sparse.linalg import LinearOperator, aslinearoperator, cg

import graphsys as gs
from graphsys.families import random_system


def triangle(**options):
    return gs.System(csr_array(np.ones((3, 3))), 2, **options)


def test_blocks_are_added_and_repeats_are_summed():
    system = triangle()
    B = np.arange(12.0).reshape(3, 2, 2)
    system.add([0, 1, 0], [1, 1, 1], B)
    system.add(np.array([2]), np.array([0]), 5.0 * np.eye(2))

    expected = np.zeros((6, 6))
    expected[0:2, 2:4] = B[0] + B[2]
    expected[2:4, 2:4] = B[1]
    expected[4:6, 0:2] = 5.0 * np.eye(2)
    assert np.array_equal(system.toarray(), expected)


def test_the_last_of_equal_pairs_is_set():
    system = triangle()
    system.set([0, 0], [1, 1], [np.eye(2), 2.0 * np.eye(2)])
    assert np.array_equal(system[0, 1], 2.0 * np.eye(2))


def test_of_an_edge_given_in_both_directions_the_last_one_is_set():
    system = triangle(symmetric=True)
    B = np.array([[1.0, 2.0], [3.0, 4.0]])
    system.set([0, 1], [1, 0], [np.eye(2), B])
    assert np.array_equal(system[1, 0], B) and np.array_equal(system[0, 1], B.T)


@pytest.mark.parametrize("labels", [[2, 0, 1], [-3, 5, 1], [2**70, 2**70 + 1, 0], [True, 0, 7]])
@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint64, object])
def test_nodes_as_arrays_of_whole_numbers_are_found_by_label(labels, kind):
    system = gs.System(nx.complete_graph(labels), 1)
    small = [label for label in labels if 0 <= label < 2**7]
    rows = np.array(small * 3)[:3].astype(kind)  # as many as there are nodes
    system.add(rows, rows[::-1], np.arange(3.0).reshape(3, 1, 1))

    expected = gs.System(nx.complete_graph(labels), 1)
    for k, (u, v) in enumerate(zip(rows, rows[::-1], strict=True)):
        expected[u, v] += float(k)
    assert np.array_equal(system.values, expected.values)
    with pytest.raises(gs.UnknownNodeError, match="100"):
        system.add(np.array([*rows, 100], kind), np.array([*rows, 100], kind), np.eye(1))


@pytest.mark.parametrize(
    "rows",
    [
        [2, 0, 1], range(3), (0, 2), [1], [], [True, 2], [1.0, np.int8(2)],
        np.array([2, 1], np.uint8), np.array([1.0, 0.0]),
    ],
)  # fmt: skip
def test_numbers_of_nodes_come_in_any_kind(rows):
    system = gs.System.from_edges([0, 1], [1, 2], [2, 2, 2])
    blocks = np.arange(1.0, 4.0 * len(rows) + 1.0).reshape(len(rows), 2, 2)
    system.set(rows, rows, blocks)
    for u, block in zip(rows, blocks, strict=True):
        assert np.array_equal(system[int(u), int(u)], block)
    assert np.count_nonzero(system.values) == 4 * len(rows)
    for wrong in ([3], range(4), [-1], np.array([2, 3]), [0.5], [2**70], [[0, 1]], ["0"]):
        with pytest.raises(gs.UnknownNodeError):
            system.set(wrong, wrong, np.eye(2))


def test_a_symmetric_system_gets_the_transposed_block_too():
    system = triangle(symmetric=True)
    B = np.array([[1.0, 2.0], [3.0, 4.0]])
    system.add([1, 0, 2], [0, 0, 2], [B, B + B.T, np.eye(2)])
    assert np.array_equal(system[1, 0], B) and np.array_equal(system[0, 1], B.T)
    assert np.array_equal(system[0, 0], B + B.T)
    system.set([0], [1], [B])
    assert np.array_equal(system[1, 0], B.T)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([float, complex]))
def test_assembly_is_what_a_loop_does(seed, symmetric, dtype):
    rng = np.random.default_rng(seed)
    pattern = np.triu(rng.random((7, 7)) < 0.4)
    size = rng.integers(0, 3, 7)
    i, j = np.nonzero(pattern | np.eye(7, dtype=bool))
    one, many = (
        gs.System(csr_array(pattern | pattern.T), size, dtype=dtype, symmetric=symmetric)
        for _ in range(2)
    )
    for a in range(3):
        for b in range(3):
            chosen = np.flatnonzero((size[i] == a) & (size[j] == b)).repeat(2)
            blocks = rng.normal(size=(chosen.size, a, b)).astype(dtype)
            if symmetric and a == b:
                diagonal = i[chosen] == j[chosen]
                blocks[diagonal] += blocks[diagonal].transpose(0, 2, 1)
            many.add(i[chosen], j[chosen], blocks)
            for k, block in zip(chosen, blocks):
                one[i[k], j[k]] = one[i[k], j[k]] + block
    assert np.allclose(one.values, many.values, rtol=0, atol=1e-14)


def test_places_are_found_once_and_used_often():
    system = random_system(gs.net(3), 3, dominance=4.0)
    labels = [system.labels[0], system.labels[4]]
    places = system.places(labels, labels)
    assert places.shape == (2, 3, 3)
    B = np.random.default_rng(0).normal(size=(2, 3, 3))
    system.values[places] = B
    for label, block in zip(labels, B):
        assert np.array_equal(system[label, label], block)


@pytest.mark.parametrize("seed", range(5))
def test_a_graph_of_edges_is_that_of_an_adjacency(seed):
    rng = np.random.default_rng(seed)
    n = 12
    i, j = rng.integers(0, n, (2, 40))
    dims = rng.integers(0, 4, n)
    labels = [f"node {k}" for k in range(n)]
    pattern = coo_array((np.ones(40), (i, j)), shape=(n, n))
    found = gs.System.from_edges(i, j, dims, labels=labels)
    wanted = gs.System(pattern, dims, nodelist=labels)
    dense = np.zeros((n, n), bool)
    dense[i, j] = dense[j, i] = True
    np.fill_diagonal(dense, False)
    graph = found.graph
    for k in range(n):
        own = graph.neighbor[graph.neighbor_start[k] : graph.neighbor_start[k + 1]]
        assert own.tolist() == np.flatnonzero(dense[k]).tolist()
    assert graph.lies_like(wanted.graph) and graph.nnz == wanted.graph.nnz


def test_edges_without_nodes_make_an_empty_system():
    assert gs.System.from_edges([], [], []).shape == (0, 0)
    assert gs.System.from_edges([], [], 2, labels="ab").shape == (4, 4)


@pytest.mark.parametrize(
    ("edges", "dims", "error", "words"),
    [
        (([0], [3]), [1, 1, 1], ValueError, "j names nodes outside 0 to 2"),
        (([-1], [1]), [1, 1, 1], ValueError, "i names nodes outside"),
        (([0.5], [1]), [1, 1, 1], TypeError, "i must hold numbers of nodes"),
        (([0, 1], [1]), [1, 1, 1], ValueError, "shapes"),
        (([0], [1]), 2, ValueError, "number of nodes"),
        (([0], [1]), [1, -1], ValueError, "block size"),
    ],
)
def test_edges_that_make_no_sense_are_refused(edges, dims, error, words):
    with pytest.raises(error, match=words):
        gs.System.from_edges(*edges, dims)


def test_from_blocks_makes_the_graph_and_a_solution():
    rng = np.random.default_rng(1)
    n = 30
    i = np.arange(n - 1)
    rows = np.concatenate([np.arange(n), i, i + 1])
    cols = np.concatenate([np.arange(n), i + 1, i])
    blocks = rng.normal(size=(rows.size, 3, 3))
    blocks[:n] += 10.0 * np.eye(3)
    system = gs.System.from_blocks(rows, cols, blocks)
    dense = np.zeros((3 * n, 3 * n))
    for r, c, block in zip(rows, cols, blocks):
        dense[3 * r : 3 * r + 3, 3 * c : 3 * c + 3] += block
    assert system.labels == tuple(range(n))
    assert np.array_equal(system.toarray(), dense)
    b = rng.normal(size=3 * n)
    assert np.allclose(dense @ system.solve(b), b, atol=1e-12)


@pytest.mark.parametrize("kind", [np.int64, np.int16, np.uint64])
@pytest.mark.parametrize("first, step", [(0, 1), (5, 3), (-7, 2), (0, 1000)])
def test_arrays_of_whole_numbers_make_the_system_of_their_lists(first, step, kind):
    first = max(first, 0) if kind is np.uint64 else first
    rng = np.random.default_rng(0)
    rows, cols = (first + step * rng.integers(0, 20, (2, 40))).astype(kind)
    blocks = rng.normal(size=(40, 2, 2))
    found = gs.System.from_blocks(rows, cols, blocks)
    expected = gs.System.from_blocks(rows.tolist(), cols.tolist(), blocks)

    assert found.labels == expected.labels and set(map(type, found.labels)) == {int}
    assert np.array_equal(found.toarray(), expected.toarray())
    with pytest.raises(ValueError, match="rows has 40 nodes and cols has 39"):
        gs.System.from_blocks(rows, cols[1:], blocks)


def test_labels_of_from_blocks_are_in_the_order_asked_for():
    ends = [("b", 1), ("a", 0)], [("b", 1), ("b", 1)]
    assert gs.System.from_blocks(*ends, np.eye(2)).labels == (("b", 1), ("a", 0))
    named = gs.System.from_blocks(*ends, np.eye(2), labels=[("a", 0), "alone", ("b", 1)])
    assert named.labels == (("a", 0), "alone", ("b", 1)) and named.shape == (6, 6)
    assert gs.System.from_blocks([3, 1], [3, 3], np.eye(1)).labels == (1, 3)
    assert gs.System.from_blocks([0], [1], np.ones((2, 3)), dims=[2, 3]).shape == (5, 5)
    assert gs.System.from_blocks([0], [0], np.eye(2, dtype=np.float32)).dtype == np.float32


def test_blocks_of_a_bsr_matrix_are_the_nodes():
    dense = np.kron(np.eye(4) + np.eye(4, k=1), np.arange(9.0).reshape(3, 3) + 10.0 * np.eye(3))
    system = gs.System.from_scipy(bsr_array(dense, blocksize=(3, 3)))
    assert system.graph.size.tolist() == [3] * 4
    assert np.array_equal(system.toarray(), dense)


@given(st.data())
def test_bsr_matrices_give_what_their_entries_give(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    side, n = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 6))
    dtype = data.draw(st.sampled_from([float, np.float32, complex, int]))
    count = data.draw(st.integers(1, 12))  # in no order, with repeats
    start = np.sort(np.append(rng.integers(0, count + 1, n - 1), [0, count]))
    numbers = (8 * rng.normal(size=(count, side, side))).astype(dtype)
    shape = (n * side, n * side)
    A = bsr_array((numbers, rng.integers(0, n, count), start), shape=shape)
    system, by_entries = gs.System.from_scipy(A), gs.System.from_scipy(A.tocsr(), side)
    rounding = count * np.finfo(system.dtype).eps * abs(numbers).sum()
    assert np.abs(system.toarray() - by_entries.toarray()).max() <= rounding
    assert system.labels == by_entries.labels and system.dtype == by_entries.dtype
    assert np.array_equal(system.graph.neighbor, by_entries.graph.neighbor)
    again = pickle.loads(pickle.dumps(system))
    assert np.array_equal(again.entry_at, by_entries.entry_at)
    system.set_from_scipy(2 * A)
    assert np.abs(system.toarray() - 2 * by_entries.toarray()).max() <= 2 * rounding


def test_bsr_matrices_that_are_wrong_are_named_by_their_entries():
    A = bsr_array(np.kron(np.eye(2), np.ones((2, 2))), blocksize=(2, 2))
    system = gs.System.from_scipy(A, labels=["a", "b"])
    before = system.values.copy()
    wrong, full = A.copy(), bsr_array(np.ones((4, 4)), blocksize=(2, 2))
    wrong.data[1, 0, 1] = np.nan
    for make in (system.set_from_scipy, gs.System.from_scipy):
        with pytest.raises(ValueError, match=r"A\[2, 3\] is nan: every entry must be finite"):
            make(wrong)
    with pytest.raises(ValueError, match=r"A\[0, 2\] lies outside .* no edge joins 'a' and 'b'"):
        system.set_from_scipy(full)
    with pytest.raises(ValueError, match="labels has 3 names, A has 2 blocks on its diagonal"):
        gs.System.from_scipy(A, labels=["a", "b", "c"])
    with pytest.raises(ValueError, match="labels has 1 names, A has 2 blocks"):
        gs.System.from_scipy(A.tocsr(), 2, labels=["a"])
    assert np.array_equal(system.values, before)
    full.data[0, 0, 1] = 5.0
    with pytest.raises(ValueError, match="symmetric"):
        gs.System.from_scipy(full, symmetric=True)


REFUSED = [
    (([0], [5], np.eye(2)), gs.UnknownNodeError, "5 is not a node"),
    (([0, 1], [0], np.eye(2)), ValueError, "rows has 2 nodes and cols has 1"),
    (([0], [0], np.eye(3)), ValueError, r"shape \(3, 3\), it must be \(1, 2, 2\)"),
    (([0, 1], [1, 2], [np.eye(2), np.full((2, 2), np.inf)]), ValueError, r"\(1, 2\) .* not finite"),
    (([0], [0], [[["a", "b"], ["c", "d"]]]), TypeError, "blocks is not an array of numbers"),
    ((0, 0, np.eye(2)), TypeError, r"labels of nodes are 0: give a sequence, \[0\]"),
    ((np.zeros((1, 1), int), [0], np.eye(2)), ValueError, r"labels of nodes have shape \(1, 1\)"),
    (([0], [0], 1j * np.eye(2)), TypeError, "complex"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "error", "sentence"), REFUSED)
@pytest.mark.parametrize("way", ["add", "set"])
def test_refused_blocks_leave_the_system_as_it_is(way, arguments, error, sentence):
    system = triangle()
    system.values[:] = 1.0
    with pytest.raises(error, match=sentence):
        getattr(system, way)(*arguments)
    assert (system.values == 1.0).all()


def test_labels_of_from_blocks_that_make_no_list_are_refused():
    with pytest.raises(ValueError, match=r"labels of nodes have shape \(2, 1\)"):
        gs.System.from_blocks(np.zeros((2, 1)), np.zeros((2, 1)), np.ones((2, 1, 1)))


def test_missing_edges_and_mixed_sizes_are_named():
    path = gs.System(csr_array(np.eye(3, k=1)), [1, 2, 1])
    with pytest.raises(gs.UnknownEdgeError, match="no edge joins 0 and 2"):
        path.add([0, 0], [1, 2], np.ones((1, 2)))
    with pytest.raises(ValueError, match=r"block \(1, 1\) is 2 x 2 and block \(0, 0\) is 1 x 1"):
        path.places([0, 1], [0, 1])
    symmetric = triangle(symmetric=True)
    with pytest.raises(ValueError, match="diagonal block of node 1 is not symmetric"):
        symmetric.add([0, 1], [0, 1], [np.eye(2), [[0.0, 1.0], [0.0, 0.0]]])
    with pytest.raises(ValueError, match="labels does not name node 1"):
        gs.System.from_blocks([0], [1], np.eye(1), labels=[0])


def test_a_system_is_a_linear_operator_for_scipy():
    system = random_system(gs.ladder(5), 2, dominance=9.0)
    A = system.toarray()
    x = np.random.default_rng(2).normal(size=A.shape[0])
    operator = aslinearoperator(system)
    assert isinstance(operator, LinearOperator)
    assert np.allclose(operator @ x, A @ x) and np.allclose(operator.H @ x, A.T @ x)
    assert np.allclose(x @ system, x @ A) and np.allclose(np.eye(20) @ system, A)
    assert np.array_equal(system.T.toarray(), A.T) and system.nnz == system.values.size
    assert np.array_equal(system.T.T.values, system.values)
    with pytest.raises(ValueError, match="its last axis must be 20"):
        np.ones(19) @ system
    definite = gs.System.from_scipy(csr_array(A @ A.T), 2)
    found, failed = cg(definite, x, rtol=1e-12)
    assert not failed and np.allclose(A @ A.T @ found, x)


def test_complex_systems_have_the_adjoint_of_scipy():
    rng = np.random.default_rng(3)
    B = rng.normal(size=(1, 2, 2)) + 1j * rng.normal(size=(1, 2, 2))
    system = gs.System.from_blocks([0], [0], B)
    x = np.array([1.0 + 2.0j, -1.0j])
    assert np.allclose(aslinearoperator(system).H @ x, B[0].conj().T @ x)
    columns = np.outer(x, [1.0, 2.0j])
    assert np.allclose(aslinearoperator(system).H @ columns, B[0].conj().T @ columns)
    assert np.array_equal(system.rmatvec(columns[:, :1]), system.rmatvec(x)[:, None])


def test_scalars_are_blocks_of_nodes_of_one_unknown():
    rows, cols = ["a", "a", "b", "a"], ["a", "b", "b", "a"]
    system = gs.System.from_blocks(rows, cols, [1, 2, 3.5, 4])
    assert system.toarray().tolist() == [[5.0, 2.0], [0.0, 3.5]]
    system.add(["b"], ["a"], [7.0])
    system.set(["a", "b"], ["a", "b"], 2.0)  # one for all
    assert system.toarray().tolist() == [[2.0, 2.0], [7.0, 2.0]]
    with pytest.raises(ValueError, match=r"blocks has shape \(3,\), it must be \(1, 1, 1\)"):
        system.add(["b"], ["a"], [7.0, 1.0, 2.0])
    with pytest.raises(ValueError, match=r"blocks has shape \(2,\), it must be \(2, 2, 2\)"):
        triangle().add([0, 1], [0, 1], [7.0, 1.0])


def test_blocks_of_unequal_shapes_are_refused_in_words():
    with pytest.raises(TypeError, match="blocks is not an array of numbers: .* unequal shapes"):
        gs.System.from_blocks([0, 1], [0, 1], [np.eye(2), np.eye(3)])
