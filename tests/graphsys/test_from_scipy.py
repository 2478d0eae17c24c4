"""Scipy matrices cut into blocks: worked by hand, round trips, and what is refused."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from graphsys.families import net, random_system
from graphsys.matrix.from_scipy import (
    LARGEST_FOUND_BLOCK,
    MOST_GROUPS,
    MOST_ZEROS,
    canonical,
    find_blocks,
    find_equal,
)
from graphsys.system import System

FORMATS = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]

# Cut into sizes 1, 2: the lower left block is not stored, the entry 0 is.
ONE_SIDED = np.array([[1.0, 0.0, 3.0], [0.0, 4.0, 0.0], [0.0, 5.0, 6.0]])


@st.composite
def matrices(draw):
    n = draw(st.integers(0, 9))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    dense = rng.standard_normal((n, n)) * (rng.random((n, n)) < draw(st.floats(0.0, 0.6)))
    dtype = draw(st.sampled_from([np.float64, np.float32, np.complex128, np.complex64]))
    return dense.astype(dtype)


def arrays_of(matrix):
    """Every array that the matrix is made of."""
    names = ("data", "indices", "indptr", "row", "col", "coords", "offsets")
    return {
        name: np.array(getattr(matrix, name), copy=True)
        for name in names
        if hasattr(matrix, name) and matrix.format not in ("lil", "dok")
    }


def brute_groups(full, equal):
    """Sizes of runs of rows that are like the first one, by sets of neighbours."""
    n, sizes, r = len(full), [], 0
    while r < n:
        rows, again = 1, True
        while again and r + rows < n and rows < LARGEST_FOUND_BLOCK:
            q = r + rows
            one, other = (set(np.flatnonzero(full[k])) - {r, q} for k in (r, q))
            both, either, linked = len(one & other), len(one | other), full[r, q]
            if equal:
                again = linked and both == either
            else:
                again = 3 * both >= 2 * either and (linked or both > rows)
            rows += bool(again)
        sizes.append(rows)
        r += rows
    return sizes


def entries_of_blocks(full, sizes):
    """Entries of all blocks of a partition that hold one of the pattern."""
    ends = np.cumsum([0, *sizes])
    parts = [slice(a, b) for a, b in zip(ends, ends[1:])]
    return sum(full[p, q].size for p in parts for q in parts if full[p, q].any())


def brute_blocks(pattern):
    """Block sizes by comparing consecutive rows of the symmetrized pattern."""
    full = (pattern != 0) | (pattern != 0).T | np.eye(pattern.shape[0], dtype=bool)
    sizes = brute_groups(full, False)
    few = len(sizes) <= MOST_GROUPS * len(full)
    if few and (1.0 - MOST_ZEROS) * entries_of_blocks(full, sizes) <= full.sum():
        return sizes
    return brute_groups(full, True)


def test_a_one_sided_matrix_gets_zero_blocks_on_the_other_side():
    system = System.from_scipy(sp.csr_array(ONE_SIDED), [1, 2], labels="ab")

    assert system.labels == ("a", "b")
    assert system.values.tolist() == [1.0, 0.0, 3.0, 4.0, 5.0, 0.0, 6.0, 0.0, 0.0]
    # Entries in the order of the rows: (0, 0), (0, 2), (1, 1), (2, 1), (2, 2)
    assert system.entry_at.tolist() == [0, 2, 3, 4, 6]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("make", [sp.coo_array, sp.coo_matrix])
def test_every_format_is_cut_and_none_is_changed(format, make):
    given_matrix = make(ONE_SIDED).asformat(format)
    before = arrays_of(given_matrix)

    system = System.from_scipy(given_matrix, [1, 2])
    system.values[:] = 7.0
    system.set_from_scipy(given_matrix)

    assert np.array_equal(system.to_dense(), ONE_SIDED)
    for name, array in arrays_of(given_matrix).items():
        assert np.array_equal(array, before[name]), name


def test_duplicates_are_summed_in_a_copy():
    data, indices, indptr = np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), np.array([0, 3, 3])
    matrix = sp.csr_array((data, indices, indptr), shape=(2, 2))

    assert System.from_scipy(matrix, 1).to_dense().tolist() == [[2.0, 5.0], [0.0, 0.0]]
    assert (matrix.data.tolist(), matrix.indices.tolist()) == ([1.0, 2.0, 4.0], [1, 0, 1])
    coo = sp.coo_array((data, ([0, 0, 0], indices)), shape=(2, 2))
    assert System.from_scipy(coo, 1).to_dense().tolist() == [[2.0, 5.0], [0.0, 0.0]]
    assert coo.nnz == 3


@given(matrices(), st.sampled_from(FORMATS), st.data())
def test_any_matrix_comes_back_from_its_blocks(dense, format, data):
    sizes, left = [], len(dense)
    while left:
        sizes.append(data.draw(st.integers(0, min(4, left))))
        left -= sizes[-1]
    matrix = sp.coo_array(dense).asformat(format)

    for dims in (sizes, 1, None):
        if dims == 1 and len(dense) == 0:
            continue
        system = System.from_scipy(matrix, dims)
        assert system.dtype == dense.dtype
        assert np.array_equal(system.to_dense(), dense)
        rows = canonical(matrix)
        assert np.array_equal(system.values[system.entry_at], rows.data)


@pytest.mark.parametrize("seed", range(4))
def test_entries_of_blocks_of_many_sizes_are_placed(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 5, 150)
    start = np.concatenate([[0], np.cumsum(sizes)])
    pattern = rng.random((start[-1], start[-1])) < 0.02
    A = sp.csr_array(np.where(pattern, rng.normal(size=pattern.shape), 0.0))
    system = System.from_scipy(A, sizes)

    assert np.array_equal(system.to_dense(), A.toarray())
    assert np.array_equal(system.values[system.entry_at], A.data)
    node = np.repeat(np.arange(150), sizes)
    joined = {(i, j) for r, c in zip(*A.nonzero()) for i, j in [sorted((node[r], node[c]))]}
    i, j = system.graph.pairs()
    assert {(u, v) for u, v in zip(i, j) if u < v} == {(u, v) for u, v in joined if u < v}


@given(st.integers(0, 99), st.sampled_from([0, 1, 2, 3, (4, 0, 1)]))
def test_a_system_comes_back_from_scipy(seed, dims):
    graph = nx.gnp_random_graph(6, 0.4, seed=seed)
    sizes = [dims] * 6 if isinstance(dims, int) else [dims[i % 3] for i in range(6)]
    system = random_system(graph, sizes, seed=seed)

    back = System.from_scipy(system.to_scipy(), sizes)

    assert np.array_equal(back.to_dense(), system.to_dense())
    if 0 not in sizes:  # a node without rows leaves no trace of its edges
        assert back.graph.neighbor.tolist() == system.graph.neighbor.tolist()
        assert np.array_equal(back.values, system.values)


@given(matrices())
def test_blocks_found_are_runs_of_similar_rows(dense):
    assert find_blocks(canonical(sp.csr_array(dense))).tolist() == brute_blocks(dense)


@pytest.mark.parametrize("size", [2, 6])
def test_the_blocks_of_a_net_are_found(size):
    matrix = random_system(net(5), size).to_scipy()

    system = System.from_scipy(matrix)

    assert system.graph.size.tolist() == [size] * 25
    assert system.graph.neighbor.size // 2 == net(5).number_of_edges()


def test_equal_rows_by_hand():
    # Rows 0, 1 are coupled and alike; 2, 3 are alike but for each other; 4, 5 touch nothing.
    pattern = np.zeros((6, 6))
    pattern[:2, :2] = 1.0
    pattern[0, 2] = pattern[3, 0] = 1.0
    pattern[2, 1] = pattern[1, 3] = 1.0
    rows = canonical(sp.csr_array(pattern))

    assert find_equal(rows).tolist() == [2, 1, 1, 1, 1]
    assert find_blocks(rows).tolist() == [2, 2, 1, 1]  # 2 and 3 share both of their neighbours


def test_leaves_of_a_star_stay_alone():
    # they share their only neighbour, and a block of two would be all zeros
    pattern = np.eye(9)
    pattern[8] = pattern[:, 8] = 1.0

    assert find_blocks(canonical(sp.csr_array(pattern))).tolist() == [1] * 9


def test_cliques_with_links_of_their_own_stay_as_they_are():
    # Each of the 8 rows of a clique has a link to another clique: 8 of 9 neighbours are shared,
    # and blocks of 8 would hold 8 * 9 * 64 entries for 9 * 8 * 9 of the matrix.
    n = 8
    pattern = sp.kron(sp.eye_array(n + 1), np.ones((n, n))).toarray()
    for i in range(n + 1):
        for k in range(n):
            j = k + (k >= i)
            pattern[n * i + k, n * j + (i - (i > j))] = 1.0

    assert find_blocks(canonical(sp.csr_array(pattern))).tolist() == [1] * n * (n + 1)


@pytest.mark.parametrize(("states", "controls"), [(3, 1), (6, 2)])
def test_unknowns_and_multipliers_of_a_stage_are_found(states, controls):
    # x' = f(x, u): each state of the next stage has a 1 in the row of its own multiplier
    stages, width = 5, states + controls
    H = sp.kron(sp.eye_array(stages), np.ones((width, width)))
    last = np.hstack([np.eye(states), np.zeros((states, controls))])
    G = sp.kron(sp.eye_array(stages), np.ones((states, width)))
    G = G + sp.kron(sp.eye_array(stages, k=1), last)
    K = sp.block_array([[H, G.T], [G, None]])

    assert find_blocks(canonical(K)).tolist() == [width] * stages + [states] * stages


def test_a_dense_matrix_is_cut_into_blocks_of_8():
    assert System.from_scipy(sp.csr_array(np.ones((20, 20)))).graph.size.tolist() == [8, 8, 4]


def test_stored_zeros_belong_to_the_pattern():
    matrix = sp.csr_array(([0.0, 1.0], ([0, 1], [1, 1])), shape=(2, 2))

    assert System.from_scipy(matrix, 1).graph.neighbor.tolist() == [1, 0]
    assert matrix.nnz == 2


def test_integers_become_double():
    assert System.from_scipy(sp.csr_array([[2]]), 1).dtype == np.float64


@pytest.mark.parametrize("dims", [2, None, []])
def test_a_matrix_without_rows_is_a_system_without_nodes(dims):
    assert System.from_scipy(sp.csr_array((0, 0)), dims).labels == ()


def test_a_matrix_without_entries_has_no_edges():
    system = System.from_scipy(sp.csr_array((4, 4)))

    assert (system.graph.size.tolist(), system.graph.neighbor.size) == ([1, 1, 1, 1], 0)


def test_same_pattern_refills_and_a_part_of_it_too():
    matrix = sp.csr_array(ONE_SIDED)
    system = System.from_scipy(matrix, [1, 2])
    system.set_from_scipy(3 * matrix)
    assert np.array_equal(system.to_dense(), 3 * ONE_SIDED)

    part = sp.csc_array(np.diag([1.0, 2.0, 3.0]))
    system.set_from_scipy(part)
    assert np.array_equal(system.to_dense(), part.toarray())


def test_a_system_by_label_takes_a_scipy_matrix_of_its_pattern():
    system = System(nx.path_graph(["a", "b"]), [1, 2])
    system.set_from_scipy(sp.csr_array(ONE_SIDED))

    assert np.array_equal(system.to_dense(), ONE_SIDED)


def test_a_symmetric_matrix_makes_a_symmetric_system():
    dense = np.array([[1.0, 2.0, 0.0], [2.0, 3.0, 4.0], [0.0, 4.0, 5.0]])
    system = System.from_scipy(sp.csr_array(dense), 1, symmetric=True)

    assert system.symmetric
    assert np.array_equal(system.to_dense(), dense)


# What is refused.


@pytest.mark.parametrize("triangle", [sp.tril, sp.triu])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("symmetric", [True, "hermitian"])
def test_one_triangle_of_a_symmetric_matrix_is_enough(triangle, form, symmetric):
    across = 1.0 + (2.0j if symmetric == "hermitian" else 3.0)
    A = np.array([[4.0, across, 0.0], [np.conj(across), 5.0, 7.0], [0.0, 7.0, 6.0]])
    part = triangle(sp.csr_array(A)).asformat(form)
    stored = part.toarray().copy()

    system = System.from_scipy(part, symmetric=symmetric)
    assert (system.to_dense() == A).all()
    system.set_from_scipy(2.0 * part)
    assert (system.to_dense() == 2.0 * A).all()
    assert system.values[system.entry_at].size == np.count_nonzero(A)
    assert (part.toarray() == stored).all()

    assert (System.from_scipy(part).to_dense() == stored).all()  # without symmetry it is all


def test_an_unsymmetric_matrix_is_no_symmetric_system():
    with pytest.raises(ValueError, match=r"block \(0, 1\) is not the transpose.*differ by 5"):
        System.from_scipy(sp.csr_array(ONE_SIDED), [2, 1], symmetric=True)


@pytest.mark.parametrize(
    ("dims", "error", "sentence"),
    [
        (2, ValueError, "dims=2 does not divide the 3 rows of A"),
        (0, ValueError, "dims=0 does not divide the 3 rows of A"),
        (-1, ValueError, "dims is -1"),
        (1.5, TypeError, r"dims is 1\.5"),
        (True, TypeError, "dims is True"),
        (np.array(1.5), TypeError, r"dims is 1\.5"),
        ([1, 1], ValueError, "dims sum up to 2, A has 3 rows"),
        ([1, 2, 1], ValueError, "dims sum up to 4, A has 3 rows"),
        ([4, -1], ValueError, "dims of node 1 is -1"),
        ([1.0, 2.0], TypeError, r"dims of node 0 is 1\.0"),
        ("dim", TypeError, "only a networkx graph has any"),
    ],
)
def test_dims_that_do_not_fit_are_refused(dims, error, sentence):
    with pytest.raises(error, match=sentence):
        System.from_scipy(sp.csr_array(ONE_SIDED), dims)


@pytest.mark.parametrize(
    ("dims", "sentence"),
    [
        (1, "labels has 2 names, A has 3 blocks on its diagonal"),
        ([1, 1, 1], "dims has 3 block sizes for 2 nodes"),
    ],
)
def test_labels_are_as_many_as_blocks(dims, sentence):
    with pytest.raises(ValueError, match=sentence):
        System.from_scipy(sp.csr_array(ONE_SIDED), dims, labels="ab")


def test_a_label_for_each_row_makes_nodes_of_one_row():
    A = sp.csr_array(np.eye(3) + 1.0)  # its rows are alike: one node without labels
    assert System.from_scipy(A).labels == (0,)
    system = System.from_scipy(A, labels=iter("cab"))
    assert system.labels == ("c", "a", "b") and system["a", "b"].tolist() == [[1.0]]
    assert System.from_scipy(A, labels="x").labels == ("x",)
    with pytest.raises(ValueError, match="labels has 2 names, A has 1 blocks"):
        System.from_scipy(A, labels="ab")


def test_unknown_formats_are_refused():
    system = System.from_scipy(sp.csr_array(np.eye(2)))
    for convert in (system.to_scipy, system.factorize().selected_inverse().to_scipy):
        for unknown in ("x", True):
            with pytest.raises(ValueError, match=f"format {unknown!r} is unknown; use one of csr,"):
                convert(unknown)


def test_labels_that_are_not_hashable_are_refused():
    with pytest.raises(TypeError, match=r"\[2\] cannot name a node: give numbers, strings"):
        System.from_scipy(sp.csr_array(ONE_SIDED), [1, 2], labels=[1, [2]])
    with pytest.raises(TypeError, match=r"\[2\] cannot name a node"):
        System.from_edges([0], [1], [1, 2], labels=[1, [2]])
    with pytest.raises(TypeError, match=r"\[2\] cannot name a node"):
        System.from_blocks([1], [1], np.eye(1), labels=[1, [2]])


def test_a_label_used_twice_is_refused():
    with pytest.raises(ValueError, match="node 'a' is named twice"):
        System.from_scipy(sp.csr_array(ONE_SIDED), [1, 2], labels="aa")


@pytest.mark.parametrize(
    ("matrix", "error", "sentence"),
    [
        (ONE_SIDED, TypeError, "A is a ndarray; give a scipy sparse matrix"),
        (sp.csr_array((2, 3)), ValueError, r"A has shape \(2, 3\), it must be square"),
        (sp.coo_array(np.ones(3)), ValueError, r"A has shape \(3,\), it must be square"),
        (sp.csr_array([[True]]), TypeError, "dtype bool is not supported"),
        (sp.csr_array([[1.0]], dtype=np.longdouble), TypeError, "use float64, float32, complex128"),
        (sp.csr_array([[0.0, 0.0], [np.nan, 1.0]]), ValueError, r"A\[1, 0\] is nan"),
        (sp.csr_array([[0.0, 0.0], [2.0, -np.inf]]), ValueError, r"A\[1, 1\] is -inf"),
    ],
)
def test_what_is_no_finite_square_sparse_matrix_is_refused(matrix, error, sentence):
    with pytest.raises(error, match=sentence):
        System.from_scipy(matrix, 1)


@pytest.mark.parametrize(
    ("matrix", "error", "sentence"),
    [
        (sp.csr_array((2, 2)), ValueError, r"A has shape \(2, 2\), the system has \(3, 3\)"),
        (
            sp.csr_array(np.ones((3, 3))),
            ValueError,
            r"A\[0, 2\] lies outside .* joins 'a' and 'c'; begin",
        ),
        (sp.csr_array(np.diag([1.0, np.nan, 1.0])), ValueError, r"A\[1, 1\] is nan"),
        (sp.csr_array(np.eye(3) * 1j), TypeError, "A is complex, the system is float64"),
    ],
)
def test_a_matrix_that_does_not_fit_changes_nothing(matrix, error, sentence):
    system = System(nx.path_graph(["a", "b", "c"]), 1, blocks={("a", "a"): 2.0})
    before = system.values.copy()
    with pytest.raises(error, match=sentence):
        system.set_from_scipy(matrix)
    assert np.array_equal(system.values, before)
