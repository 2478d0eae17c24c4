"""Tables of a graph: worked by hand, against networkx, and what is refused."""

import copy
import pickle
from collections import defaultdict

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsys.errors import UnknownEdgeError, UnknownNodeError
from graphsys.matrix.graph import BlockGraph, block_graph, graph_of_edges
from graphsys.matrix.numbering import Numbering

ARRAYS = ("size", "row_start", "neighbor_start", "neighbor", "diagonal_at", "block_at")


@pytest.fixture
def path():
    # a - b - c with sizes 1, 2, 0; values are
    # aa | ab ab | bb bb bb bb | ba ba, then three blocks without entries: bc, cc, cb
    return block_graph(nx.path_graph(["a", "b", "c"]), [1, 2, 0])


def tables(graph):
    return [graph.labels, graph.nnz, *(getattr(graph, name).tolist() for name in ARRAYS)]


@st.composite
def sized_graphs(draw):
    n = draw(st.integers(0, 7))
    every = [(i, j) for i in range(n) for j in range(i)]
    edges = draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    graph = nx.Graph()
    graph.add_nodes_from(draw(st.permutations(range(n))))
    graph.add_edges_from(edges)
    return graph, {i: draw(st.integers(0, 4)) for i in range(n)}


def test_path_of_sizes_1_2_0_has_these_tables(path):
    assert path.labels == ("a", "b", "c")
    assert path.index == {"a": 0, "b": 1, "c": 2}
    assert path.size.tolist() == [1, 2, 0]
    assert path.row_start.tolist() == [0, 1, 3, 3]
    assert path.neighbor_start.tolist() == [0, 1, 3, 4]
    assert path.neighbor.tolist() == [1, 0, 2, 1]
    assert path.diagonal_at.tolist() == [0, 3, 9]
    assert path.block_at.tolist() == [1, 7, 9, 9]
    assert path.nnz == 9


def test_blocks_are_found_by_index(path):
    assert [path.edge_at(i, j) for i, j in [(0, 0), (0, 1), (1, 0), (1, 1)]] == [0, 1, 7, 3]
    i, j = np.array([0, 0, 1, 2, 2]), np.array([1, 2, 0, 2, 0])
    assert path.blocks_at(i, j).tolist() == [1, -1, 7, 9, -1]


def test_pairs_follow_the_order_of_values(path):
    i, j = path.pairs()

    assert list(zip(i.tolist(), j.tolist(), strict=True)) == [
        (0, 0),
        (0, 1),
        (1, 1),
        (1, 0),
        (1, 2),
        (2, 2),
        (2, 1),
    ]


@given(sized_graphs())
def test_tables_have_the_shapes_they_declare(case):
    graph = block_graph(*case)
    n, m = case[0].number_of_nodes(), case[0].number_of_edges()

    shapes = {name: getattr(graph, name).shape for name in ARRAYS}
    assert shapes == {
        "size": (n,),
        "row_start": (n + 1,),
        "neighbor_start": (n + 1,),
        "neighbor": (2 * m,),
        "diagonal_at": (n,),
        "block_at": (2 * m,),
    }
    for name in ARRAYS:
        assert getattr(graph, name).dtype == np.int64
        assert not getattr(graph, name).flags.writeable


@given(sized_graphs())
def test_neighbors_are_those_of_networkx_ascending_and_blocks_fill_values(case):
    nx_graph, dims = case
    graph = block_graph(nx_graph, dims)
    filled = np.zeros(graph.nnz, dtype=int)
    for u in nx_graph:
        i = graph.index[u]
        run = graph.neighbor[graph.neighbor_start[i] : graph.neighbor_start[i + 1]].tolist()
        assert run == sorted(graph.index[v] for v in nx_graph[u])
        for v in [u, *nx_graph[u]]:
            at = graph.edge_at(i, graph.index[v])
            filled[at : at + dims[u] * dims[v]] += 1
    assert (filled == 1).all()


@pytest.mark.parametrize(
    "graph",
    [
        nx.DiGraph([("a", "b"), ("c", "b")]),
        nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")]),
    ],
)
def test_a_digraph_joins_nodes_with_either_direction(graph, path):
    assert tables(block_graph(graph, [1, 2, 0], nodelist="abc")) == tables(path)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("make", [sp.coo_array, sp.coo_matrix])
def test_an_adjacency_of_any_format_counts_by_its_pattern(format, make, path):
    one_sided = make(([1.0, 5.0, 2.0], ([0, 1, 2], [1, 1, 1])), shape=(3, 3)).asformat(format)

    graph = block_graph(one_sided, [1, 2, 0], nodelist=["a", "b", "c"])

    assert tables(graph) == tables(path)
    assert block_graph(one_sided, 1).labels == (0, 1, 2)


@pytest.mark.parametrize(
    "dims",
    [
        [1, 2, 0],
        (1, 2, 0),
        np.array([1, 2, 0], dtype=np.int32),
        [np.int64(1), 2, np.uint8(0)],
        {"a": 1, "b": 2, "c": 0},
        "dim",
    ],
)
def test_dims_come_in_every_form(dims, path):
    graph = nx.path_graph(["a", "b", "c"])
    nx.set_node_attributes(graph, {"a": 1, "b": 2, "c": 0}, "dim")

    assert tables(block_graph(graph, dims)) == tables(path)


@pytest.mark.parametrize("dims", [3, np.int64(3)])
def test_one_int_is_the_size_of_every_node(dims):
    assert block_graph(nx.path_graph(2), dims).size.tolist() == [3, 3]


def test_nodelist_sets_the_order_and_may_be_a_part():
    graph = nx.path_graph(["a", "b", "c", "d"])

    part = block_graph(graph, {"a": 4, "b": 1, "c": 2, "d": 3}, nodelist=["d", "b", "c"])

    assert part.labels == ("d", "b", "c")
    assert part.size.tolist() == [3, 1, 2]
    assert part.neighbor.tolist() == [2, 2, 0, 1]  # a - b is left out


@pytest.mark.parametrize(
    ("graph", "n", "m"),
    [
        (nx.Graph(), 0, 0),
        (nx.path_graph(1), 1, 0),
        (nx.empty_graph(3), 3, 0),
        (nx.Graph([(0, 1), (2, 3)]), 4, 2),
        (sp.csr_array((0, 0)), 0, 0),
        (sp.csr_array((2, 2)), 2, 0),
    ],
)
@pytest.mark.parametrize("size", [0, 2])
def test_empty_single_edgeless_and_disconnected_graphs_are_graphs(graph, n, m, size):
    made = block_graph(graph, size)

    assert (len(made.labels), made.neighbor.size) == (n, 2 * m)
    assert made.nnz == (n + 2 * m) * size**2
    assert repr(made) == f"BlockGraph({n} nodes, {m} edges, {n * size} unknowns)"


def test_labels_are_any_hashables():
    labels = [("body", 0), "x", 3, frozenset([1]), 2.5]

    assert block_graph(nx.path_graph(labels), 1).labels == tuple(labels)


def test_a_block_graph_is_taken_as_it_is(path):
    assert block_graph(path) is path
    with pytest.raises(TypeError, match="leave out dims and nodelist"):
        block_graph(path, 2)


def test_a_pickled_graph_comes_back_read_only_and_a_copy_is_itself(path):
    back = pickle.loads(pickle.dumps(path))

    assert tables(back) == tables(path)
    assert not any(getattr(back, name).flags.writeable for name in ARRAYS)
    assert copy.deepcopy(path) is path and copy.copy(path) is path


def test_nothing_the_user_passed_is_changed():
    graph = nx.path_graph(["a", "b"])
    graph.nodes["a"]["dim"] = 2
    before = copy.deepcopy(graph)
    dims = defaultdict(lambda: 6, {"a": 1})
    with pytest.raises(ValueError, match="no block size for node 'b'"):
        block_graph(graph, dims)
    adjacency = sp.csr_array((np.ones(3), [1, 0, 0], [0, 2, 3]), shape=(2, 2))
    arrays = [array.copy() for array in (adjacency.data, adjacency.indices, adjacency.indptr)]
    sizes = np.array([1, 2])
    made = block_graph(adjacency, sizes)

    assert dims == {"a": 1}
    assert nx.utils.graphs_equal(graph, before)
    for array, old in zip((adjacency.data, adjacency.indices, adjacency.indptr), arrays):
        assert array.tolist() == old.tolist()
    assert sizes.flags.writeable
    assert not np.shares_memory(made.size, sizes)


def test_a_hundred_thousand_nodes_make_tables_of_their_length():
    graph = block_graph(nx.path_graph(100_000), 6)

    assert graph.nnz == 36 * (100_000 + 2 * 99_999)


# What is refused.


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_a_multigraph_is_refused(kind):
    with pytest.raises(TypeError, match=f"{kind.__name__}.*merge parallel"):
        block_graph(kind([("a", "b")]), 1)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_an_edge_to_itself_is_refused(kind):
    with pytest.raises(ValueError, match="node 'b' has an edge to itself"):
        block_graph(kind([("a", "b"), ("b", "b")]), 1)


@pytest.mark.parametrize("graph", [np.eye(2), [[0, 1]], "abc", None])
def test_what_is_no_graph_is_refused(graph):
    with pytest.raises(TypeError, match=r"networkx\.Graph or a scipy sparse adjacency"):
        block_graph(graph, 1)


def test_a_matrix_in_place_of_a_graph_is_sent_to_from_scipy():
    with pytest.raises(TypeError, match=r"dims is missing: .*; gs.System.from_scipy\(A\) takes"):
        block_graph(sp.eye_array(3))


def test_an_adjacency_that_is_not_square_is_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 3\), it must be square"):
        block_graph(sp.csr_array((2, 3)), 1)


@pytest.mark.parametrize(
    ("dims", "error", "sentence"),
    [
        (None, TypeError, "dims is missing"),
        (-1, ValueError, "dims is -1"),
        (2.0, TypeError, r"dims is 2\.0: a block size is an integer"),
        (True, TypeError, "dims is True"),
        (2**31, ValueError, "from 0 to 2147483647"),
        (10**30, ValueError, "from 0 to 2147483647"),
        ([1, 2], ValueError, "dims has 2 block sizes for 3 nodes"),
        ([1, 2, -3], ValueError, "dims of node 'c' is -3"),
        ([1, 2.5, 3], TypeError, r"dims of node 'b' is 2\.5"),
        ([1, True, 3], TypeError, "dims of node 'b' is True"),
        (np.array([1.0, 2.0, 3.0]), TypeError, r"dims of node 'a' is 1\.0"),
        (np.array([True, False, True]), TypeError, "dims of node 'a' is True"),
        (np.eye(3, dtype=int), TypeError, "dims of node 'a' is"),
        ({1, 2, 3}, TypeError, "set, which has no order"),
        (iter([1, 2, 3]), TypeError, "has no order"),
        ({"a": 1, "c": 2}, ValueError, "dims has no block size for node 'b'"),
        ({"a": 1, "b": -2, "c": 2}, ValueError, "dims of node 'b' is -2"),
        ({"a": 1, "b": 2, "c": "3"}, TypeError, "dims of node 'c' is '3'"),
        ({"a": 1, "b": 1, "c": 1, "d": 1}, UnknownNodeError, "dims names 'd'"),
        ("dim", ValueError, "node attribute 'dim' has no block size for node 'b'"),
        ("size", TypeError, "node attribute 'size' of node 'a' is '2'"),
    ],
)
def test_a_bad_dims_is_refused_by_label(dims, error, sentence):
    graph = nx.path_graph(["a", "b", "c"])
    graph.nodes["a"]["dim"] = 2
    nx.set_node_attributes(graph, "2", "size")
    with pytest.raises(error, match=sentence):
        block_graph(graph, dims)


def test_an_attribute_name_needs_a_networkx_graph():
    with pytest.raises(TypeError, match="only a networkx graph has any"):
        block_graph(sp.csr_array((2, 2)), "dim")


def test_blocks_beyond_any_memory_are_refused():
    with pytest.raises(ValueError, match=r"more than 2\*\*62 entries"):
        block_graph(nx.path_graph(2), 2**31 - 1)


@pytest.mark.parametrize("unknown", ["z", ["a"]])
def test_a_nodelist_with_an_unknown_node_is_refused(unknown):
    with pytest.raises(UnknownNodeError, match="nodelist names .*, which is not a node"):
        block_graph(nx.path_graph(["a", "b"]), 1, nodelist=["a", unknown])


def test_a_nodelist_with_a_node_named_twice_is_refused():
    with pytest.raises(ValueError, match="node 'a' is named twice"):
        block_graph(nx.path_graph(["a", "b"]), 1, nodelist=["a", "b", "a"])
    with pytest.raises(ValueError, match="node 'x' is named twice"):
        block_graph(sp.csr_array((2, 2)), 1, nodelist=["x", "x"])


def test_a_nodelist_has_one_label_for_each_row_of_an_adjacency():
    with pytest.raises(ValueError, match="nodelist has 1 labels for 2 rows"):
        block_graph(sp.csr_array((2, 2)), 1, nodelist=["x"])


def test_unknown_nodes_and_edges_are_named_in_a_plain_sentence(path):
    with pytest.raises(UnknownNodeError) as unknown_node:
        path.node("z")
    with pytest.raises(UnknownNodeError, match=r"\['a'\] is not a node"):
        path.node(["a"])
    with pytest.raises(UnknownEdgeError) as unknown_edge:
        path.edge_at(2, 0)

    assert str(unknown_node.value) == "'z' is not a node of the graph"
    assert str(unknown_edge.value) == (
        "no edge joins 'c' and 'a', so the system has no block there"
    )
    for error in (unknown_node.value, unknown_edge.value):
        assert isinstance(error, KeyError)
        assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_tables_do_not_change(path):
    assert isinstance(path, BlockGraph)
    with pytest.raises(AttributeError):
        path.nnz = 3
    with pytest.raises(ValueError, match="read-only"):
        path.size[0] = 3


def test_nodes_without_labels_are_found_by_number_without_a_table():
    graph = graph_of_edges([0, 1], [1, 2], [1, 1, 1])
    assert type(graph.index) is Numbering and graph.labels == (0, 1, 2)
    assert graph.index == {0: 0, 1: 1, 2: 2} and dict(graph.index) == {0: 0, 1: 1, 2: 2}
    for label in (2, np.int64(2), 2.0, np.float32(2.0)):  # as a dict finds what is equal
        assert graph.node(label) == 2 and label in graph.index
    for label in (3, -1, 2.5, "2", None, np.nan, (2,), np.int64(-1)):
        assert label not in graph.index
        with pytest.raises(UnknownNodeError):
            graph.node(label)
    for label in ([2], np.array([2])):
        with pytest.raises(UnknownNodeError, match="not a node"):
            graph.node(label)
    again = pickle.loads(pickle.dumps(graph))
    assert again.index == graph.index and again.lies_like(graph)
