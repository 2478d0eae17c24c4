"""Values of a system: by label, as one array; products; what is refused."""

import copy
import pickle
from operator import iadd, imul, isub, itruediv

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsys.errors import UnknownEdgeError, UnknownNodeError
from graphsys.families import random_system
from graphsys.matrix.block import Block
from graphsys.matrix.graph import block_graph
from graphsys.system import System

DTYPES = [np.float64, np.float32, np.complex128, np.complex64]

# a - b - c with sizes 1, 2, 0: aa | ab ab | bb bb bb bb | ba ba, blocks column-major
HAND_BLOCKS = {
    ("a", "a"): 1.0,
    ("a", "b"): [[2.0, 3.0]],
    ("b", "b"): [[4.0, 6.0], [5.0, 7.0]],
    ("b", "a"): [[8.0], [9.0]],
    ("c", "c"): np.zeros((0, 0)),
    ("b", "c"): np.zeros((2, 0)),
}
HAND_VALUES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
HAND_DENSE = [[1.0, 2.0, 3.0], [8.0, 4.0, 6.0], [9.0, 5.0, 7.0]]


@pytest.fixture
def hand():
    return System(nx.path_graph(["a", "b", "c"]), [1, 2, 0], blocks=HAND_BLOCKS)


@st.composite
def systems(draw, symmetric=None):
    n = draw(st.integers(0, 6))
    every = [(i, j) for i in range(n) for j in range(i)]
    graph = nx.Graph()
    graph.add_nodes_from(draw(st.permutations(range(n))))
    graph.add_edges_from(draw(st.lists(st.sampled_from(every), unique=True)) if every else [])
    dims = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    return random_system(
        graph,
        dims,
        seed=draw(st.integers(0, 99)),
        dtype=draw(st.sampled_from(DTYPES)),
        symmetric=draw(st.booleans()) if symmetric is None else symmetric,
    )


def dense_by_blocks(system):
    """The dense matrix, put together label by label."""
    dense = np.zeros(system.shape, dtype=system.dtype)
    start = system.graph.row_start
    for u, i in system.graph.index.items():
        for v, j in system.graph.index.items():
            try:
                block = system[u, v]
            except UnknownEdgeError:
                continue
            dense[start[i] : start[i + 1], start[j] : start[j + 1]] = block
    return dense


def test_path_of_sizes_1_2_0_has_these_values(hand):
    assert hand.values.tolist() == HAND_VALUES
    assert hand.to_dense().tolist() == HAND_DENSE
    assert hand.shape == (3, 3)
    assert hand.labels == ("a", "b", "c")


def test_blocks_read_back_as_column_major_views(hand):
    for (u, v), block in HAND_BLOCKS.items():
        assert hand[u, v].tolist() == np.reshape(block, hand[u, v].shape).tolist()
        assert hand[u, v].flags.f_contiguous
        assert np.shares_memory(hand[u, v], hand.values) == (hand[u, v].size > 0)
    assert hand["c", "b"].shape == (0, 2)
    hand["b", "b"][1, 0] = 50.0
    assert hand.values[4] == 50.0


def test_product_by_hand(hand):
    assert (hand @ [1.0, 0.0, 2.0]).tolist() == [7.0, 20.0, 23.0]
    by_label = hand @ {"a": 1.0, "b": [0.0, 2.0]}
    assert {u: y.tolist() for u, y in by_label.items()} == {"a": [7.0], "b": [20.0, 23.0], "c": []}


def test_a_new_system_is_zero_and_says_its_sizes():
    system = System(nx.path_graph(3), [1, 2, 0])

    assert not system.values.any()
    assert repr(system) == "System(3 nodes, 2 edges, 3 unknowns, float64)"


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_have_the_dtype_asked_for(dtype):
    system = System(nx.path_graph(2), 2, dtype=dtype, blocks={(0, 1): np.ones((2, 2), dtype=int)})

    assert system.dtype == dtype
    assert system.values.dtype == dtype
    assert system.to_dense().dtype == dtype
    assert (system @ np.ones(4, dtype=dtype)).dtype == dtype


@pytest.mark.parametrize(
    ("given_dtype", "dtype"), [(int, float), ("i4", float), (complex, complex)]
)
def test_integers_become_double(given_dtype, dtype):
    assert System(nx.path_graph(2), 1, dtype=given_dtype).dtype == dtype


def test_in_place_operators_assign(hand):
    hand["a", "a"] += 10.0
    hand["b", "b"] += [[1.0, 1.0], [0.0, 0.0]]
    hand["b", "a"] -= [[8.0], [9.0]]
    hand["a", "b"] *= 2.0
    hand["b", "b"] /= 2.0

    assert hand.to_dense().tolist() == [[11.0, 4.0, 6.0], [0.0, 2.5, 3.5], [0.0, 2.5, 3.5]]


def test_a_block_kept_is_a_view_and_its_in_place_operators_assign_too(hand):
    block = hand["a", "b"]
    block += [[1.0, 1.0]]

    assert isinstance(block, Block)
    assert hand["a", "b"].tolist() == [[3.0, 4.0]]


def test_arithmetic_on_blocks_gives_ordinary_arrays(hand):
    block = hand["b", "b"]
    for result in (block + 1.0, block @ block, np.exp(block), np.linalg.inv(block)):
        assert type(result) is np.ndarray
        assert not np.shares_memory(result, hand.values)
    assert type(block.sum()) is np.float64
    for operator in (iadd, isub, imul, itruediv):  # a slice is a view as ever: +2 -2 *2 /2
        operator(block[:, 0], 2.0)
    assert hand.values.tolist() == HAND_VALUES
    assert pickle.loads(pickle.dumps(block)).tolist() == block.tolist()


def test_assembly_by_sums_equals_the_sum():
    graph = nx.cycle_graph(5)
    system, dense = System(graph, 2), np.zeros((10, 10))
    rng = np.random.default_rng(0)
    for _ in range(3):
        for u, v in graph.edges:
            element = rng.integers(-9, 10, size=(4, 4)).astype(float)
            rows = [2 * u, 2 * u + 1, 2 * v, 2 * v + 1]
            dense[np.ix_(rows, rows)] += element
            system[u, u] += element[:2, :2]
            system[u, v] += element[:2, 2:]
            system[v, u] += element[2:, :2]
            system[v, v] += element[2:, 2:]

    assert system.to_dense().tolist() == dense.tolist()


def test_values_are_copied_in(hand):
    other = System(hand.graph)
    array = hand.values.copy()
    kept = other.values
    other.values = array
    array[:] = 0.0

    assert other.values is kept
    assert other.values.tolist() == HAND_VALUES


@given(systems())
def test_dense_and_sparse_equal_the_blocks(system):
    dense = dense_by_blocks(system)

    assert np.array_equal(system.to_dense(), dense)
    for format in ("csr", "csc", "coo", "bsr", "lil"):
        sparse = system.to_scipy(format)
        assert sparse.format == format
        assert np.array_equal(sparse.toarray(), dense)
    assert system.to_scipy().has_canonical_format
    assert system.to_scipy().nnz == system.graph.nnz


@given(systems(), st.sampled_from([(), (1,), (3,)]))
def test_product_equals_the_dense_one(system, columns):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((system.shape[0], *columns)).astype(system.dtype)
    dense = system.to_dense()
    # Both sum up at most N products in some order: error <= N eps |A| |x| each.
    bound = 2 * x.shape[0] * np.finfo(system.dtype).eps * (np.abs(dense) @ np.abs(x))

    assert (system @ x).shape == x.shape
    assert (np.abs(system @ x - dense @ x) <= bound).all()
    by_label = system @ system.split(x)
    assert all(np.array_equal(by_label[u], y) for u, y in system.split(system @ x).items())


@pytest.mark.parametrize("dtype", DTYPES)
def test_join_takes_numbers_of_all_kinds_for_single_rows(dtype):
    system = System(nx.path_graph(3), 1, dtype=dtype)
    plain, mixed = {2: 3.0, 0: 1.0, 1: 2.0}, {0: [1], 1: np.float32(2), 2: 3.0}

    for vectors in (plain, mixed):
        x = system.join(vectors)
        assert x.tolist() == [1.0, 2.0, 3.0] and x.dtype == np.result_type(dtype, float)
    with pytest.raises(ValueError, match="node 1 has no vector"):
        system.join({0: 1.0, 2: 3.0})
    with pytest.raises(UnknownNodeError, match="7 is not a node"):
        system.join({0: 1.0, 1: 2.0, 7: 3.0})


@given(systems(), st.sampled_from([(), (2,)]))
def test_join_undoes_split(system, columns):
    x = np.arange(system.shape[0] * int(np.prod(columns)), dtype=float)
    x = x.reshape(system.shape[0], *columns)
    parts = system.split(x)

    assert list(parts) == list(system.labels)
    assert [part.shape for part in parts.values()] == [
        (size, *columns) for size in system.graph.size.tolist()
    ]
    joined = system.join(parts)
    assert np.array_equal(joined, x) or not system.labels  # no node tells how many columns
    assert not np.shares_memory(joined, x)


@given(systems())
def test_transposes_equal_dense_ones(system):
    dense, x = system.to_dense(), np.arange(1.0, system.shape[0] + 1.0).astype(system.dtype)
    assert np.array_equal(system.T.to_dense(), dense.T)
    assert np.array_equal(system.H.to_dense(), dense.conj().T)
    bound = 2 * x.size * np.finfo(system.dtype).eps * (x @ np.abs(dense))
    assert (np.abs(x @ system - x @ dense) <= bound).all()


def test_vectors_of_any_kind_are_multiplied(hand):
    # by hand: rows of the matrix times 1, 2, 3
    for kind in (np.int64, np.float32, np.float64, np.complex128):
        x = np.array([1, 2, 3], kind)
        x.setflags(write=False)
        strided = np.array([[1, 0], [2, 0], [3, 0]], kind)[:, 0]
        for vector in (x, strided, x.astype(x.dtype.newbyteorder(">"))):
            assert (hand @ vector).tolist() == [14.0, 34.0, 40.0]
            assert (vector @ hand).tolist() == [44.0, 25.0, 36.0]
            assert (hand @ vector).dtype == np.result_type(kind, float)
    assert not np.signbit(hand @ np.zeros(3)).any()
    single = System(nx.path_graph(2), 1, dtype=np.float32)
    assert (single @ np.ones(2)).dtype == np.float64


def test_product_follows_the_values(hand):
    x = np.ones(3)
    before = hand @ x
    hand.values[0] += 1.0

    assert (hand @ x - before).tolist() == [1.0, 0.0, 0.0]


def test_uniform_blocks_become_the_blocks_of_bsr():
    assert random_system(nx.path_graph(3), 3).to_scipy("bsr").blocksize == (3, 3)


@given(systems())
def test_copies_are_equal_and_apart(system):
    for other in (system.copy(), copy.deepcopy(system), pickle.loads(pickle.dumps(system))):
        assert repr(other) == repr(system)
        assert other.labels == system.labels
        assert np.array_equal(other.to_dense(), system.to_dense())
        assert not np.shares_memory(other.values, system.values)


def test_a_block_graph_is_shared_between_systems(hand):
    assert System(hand.graph).graph is hand.graph


# Symmetric systems.


@pytest.mark.parametrize(
    ("pair", "block", "error", "sentence"),
    [
        (("a", "z"), 1.0, UnknownNodeError, "'z' is not a node of the graph"),
        (("a", "c"), 1.0, UnknownEdgeError, "no edge joins 'a' and 'c'"),
        ("a", 1.0, TypeError, r"named by two labels, as in system\[u, v\], not by 'a'"),
        (("a", "b"), [[1.0], [2.0]], ValueError, r"\('a', 'b'\) has shape \(2, 1\).*\(1, 2\)"),
        (("a", "b"), [1.0, 2.0], ValueError, r"\('a', 'b'\) has shape \(2,\)"),
        (("a", "b"), 1.0, ValueError, r"\('a', 'b'\) has shape \(\)"),
        (("a", "a"), [1.0], ValueError, r"\('a', 'a'\) has shape \(1,\)"),
        (("b", "c"), 0.0, ValueError, r"\('b', 'c'\) has shape \(\), its nodes make it \(2, 0\)"),
        (("a", "b"), [[1.0, np.nan]], ValueError, r"\('a', 'b'\) is nan at \(0, 1\)"),
        (("a", "b"), [[-np.inf, 1.0]], ValueError, r"\('a', 'b'\) is -inf at \(0, 0\)"),
        (("a", "b"), [[1.0, 1j]], TypeError, r"\('a', 'b'\) is complex, the system is float64"),
        (("a", "b"), "ab", TypeError, r"\('a', 'b'\) is not an array of numbers but of type <U2"),
        (("a", "b"), [[True, False]], TypeError, "not an array of numbers but of type bool"),
        (("a", "b"), [[1.0, None]], TypeError, "not an array of numbers but of type list"),
        (("a", "b"), [[1.0], [1.0, 2.0]], TypeError, "not an array of numbers"),
        (("b", "b"), sp.eye_array(2), TypeError, "not an array of numbers but of type dia_array"),
    ],
)
def test_a_bad_block_is_refused_by_label_and_changes_nothing(hand, pair, block, error, sentence):
    with pytest.raises(error, match=sentence):
        hand[pair] = block
    with pytest.raises(error, match=sentence):
        hand[pair] += block
    with pytest.raises(error, match=sentence):
        hand[pair] -= block
    with pytest.raises(error, match=sentence):
        System(hand.graph, blocks={pair: block})
    assert hand.values.tolist() == HAND_VALUES


def test_an_in_place_result_that_is_not_finite_is_refused(hand):
    with pytest.raises(ValueError, match=r"block \('a', 'b'\) is inf at \(0, 0\)"):
        hand["a", "b"] /= 0.0
    with pytest.raises(ValueError, match=r"block \('a', 'b'\) is nan at \(0, 0\)"):
        hand["a", "b"] *= np.nan
    with pytest.raises(TypeError, match=r"block \('a', 'b'\) is complex"):
        hand["a", "b"] *= 1j
    assert hand.values.tolist() == HAND_VALUES


def test_a_value_too_large_for_single_precision_is_refused():
    system = System(nx.path_graph(2), 1, dtype=np.float32)
    with pytest.raises(ValueError, match=r"block \(0, 1\) is inf"):
        system[0, 1] = 1e60


@pytest.mark.parametrize(
    ("values", "error", "sentence"),
    [
        (np.zeros(8), ValueError, r"values has shape \(8,\), it must be \(9,\)"),
        (np.zeros((9, 1)), ValueError, r"values has shape \(9, 1\)"),
        (np.zeros(9, dtype=complex), TypeError, "values is complex"),
        (["1"] * 9, TypeError, "values is not an array of numbers"),
        (System(nx.path_graph(2), 1), TypeError, r"values is a System: give system\.values"),
        (sp.eye_array(9), TypeError, r"values is a dia_array: .* system\.set_from_scipy\(A\)"),
        ([0.0] * 8 + [np.nan], ValueError, r"values\[8\], of block \('b', 'a'\), is nan"),
        ([0.0, np.inf] + [0.0] * 7, ValueError, r"values\[1\], of block \('a', 'b'\), is inf"),
    ],
)
def test_bad_values_are_refused_and_change_nothing(hand, values, error, sentence):
    with pytest.raises(error, match=sentence):
        hand.values = values
    assert hand.values.tolist() == HAND_VALUES


@pytest.mark.parametrize("dtype", [bool, np.float16, np.longdouble, object, "U3"])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(TypeError, match="use float64, float32, complex128 or complex64"):
        System(nx.path_graph(2), 1, dtype=dtype)


def test_what_is_no_dtype_is_refused():
    with pytest.raises(TypeError, match="'doubel' is not a numpy dtype"):
        System(nx.path_graph(2), 1, dtype="doubel")


@pytest.mark.parametrize(
    ("x", "error", "sentence"),
    [
        (np.ones(2), ValueError, r"vector has shape \(2,\), it must be \(3,\) or \(3, k\)"),
        (np.ones((3, 1, 1)), ValueError, r"vector has shape \(3, 1, 1\)"),
        (1.0, ValueError, r"vector has shape \(\)"),
        (["1", "2", "3"], TypeError, "x is not an array of numbers"),
        ({"a": 1.0}, ValueError, "node 'b' has no vector"),
        ({"a": 1.0, "b": [1.0]}, ValueError, r"node 'b' has shape \(1,\), it must be \(2,\)"),
        ({"a": 1.0, "b": 1.0}, ValueError, r"node 'b' has shape \(\)"),
        ({"a": [[1.0, 2.0]], "b": [1.0, 2.0]}, ValueError, r"'b' has shape \(2,\).* \(2, 2\)"),
        ({"a": 1.0, "b": ["1", "2"]}, TypeError, "vector of node 'b' is not an array of numbers"),
        ({"a": 1.0, "b": [1.0, 2.0], "z": 1.0}, UnknownNodeError, "'z' is not a node"),
    ],
)
def test_a_bad_vector_is_refused_by_label(hand, x, error, sentence):
    with pytest.raises(error, match=sentence):
        hand @ x


@pytest.mark.parametrize("vectors", [np.ones(3), np.array(1.0), [1.0, 2.0]])
def test_vectors_to_join_need_labels(hand, vectors):
    with pytest.raises(TypeError, match=f"is a {type(vectors).__name__}: give a vector for each"):
        hand.join(vectors)


def test_only_numbers_are_multiplied_from_the_left(hand):
    with pytest.raises(TypeError, match="x is not an array of numbers"):
        np.array(["a", "b", "c"]) @ hand


def test_nothing_the_user_passed_is_changed():
    graph = nx.path_graph(["a", "b"])
    block = np.array([[1.0, 2.0], [3.0, 4.0]])
    blocks = {("a", "b"): block}
    dims = {"a": 2, "b": 2}
    system = System(graph, dims, blocks=blocks)
    system["a", "b"] += 1.0 * block
    system.values[:] = 7.0
    system["a", "a"] = block
    x = np.ones(4)
    parts = {"a": x[:2], "b": x[2:]}
    system @ x
    system @ parts
    system.join(parts)[:] = 0.0

    assert list(graph.nodes(data=True)) == [("a", {}), ("b", {})]
    assert list(graph.edges(data=True)) == [("a", "b", {})]
    assert blocks == {("a", "b"): block}
    assert block.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert dims == {"a": 2, "b": 2}
    assert x.tolist() == [1.0] * 4


def test_what_comes_out_is_not_the_system_itself(hand):
    hand.to_dense()[:] = 0.0
    sparse = hand.to_scipy()
    sparse.data[:] = 0.0
    sparse.indices[:] = 0

    assert hand.to_dense().tolist() == HAND_DENSE


@pytest.mark.parametrize("graph", [nx.Graph(), nx.empty_graph(3), nx.path_graph(1)])
@pytest.mark.parametrize("size", [0, 2])
def test_small_systems_work_in_every_way(graph, size):
    system = System(block_graph(graph, size))
    n = len(graph) * size
    system.values = np.zeros(system.graph.nnz)

    assert system.to_dense().shape == (n, n)
    assert (system @ np.ones((n, 2))).shape == (n, 2)
    assert list(system @ {u: np.ones(size) for u in graph}) == list(graph)
    assert System(system.graph, symmetric=True).values.shape == system.values.shape
