"""Zero diagonal blocks: precedence waits for whom, accuracy on mechanisms, what cannot be saved."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import graphsys as gs
from graphsys.analysis.pivot_supply import find_precedence, missing_rank
from graphsys.families import (
    body_joint_chain,
    body_joint_tree,
    grounded_loop,
    random_saddle_system,
)
from tests.graphsys.test_factor import backward_error, right_hand_side

ORDERINGS = ["auto", "dfs", "amd", "nd"]


def waits_of(system, demand):
    """{node: nodes it waits for} by label."""
    graph = system.graph
    precedence = find_precedence(
        graph, np.array([demand.get(v, 0) for v in graph.labels], np.int64)
    )
    result = {}
    for i, label in enumerate(graph.labels):
        for j in precedence.release[precedence.release_start[i] : precedence.release_start[i + 1]]:
            result.setdefault(graph.labels[j], set()).add(label)
    return result, precedence


def test_missing_rank_is_found_in_values():
    system = gs.System(gs.chain(5), [2, 2, 3, 0, 1])
    assert missing_rank(system.graph, system.values).tolist() == [0, 0, 0, 0, 0]  # nothing known
    system[0, 0] = [[0, 1], [1, 0]]  # zeros on its diagonal, but regular
    system[1, 1] = [[1, 1], [0, 0]]
    system[2, 2] = np.diag([1.0, 0.0, 0.0])

    assert missing_rank(system.graph, system.values).tolist() == [0, 1, 2, 0, 1]


def test_a_chain_of_joints_takes_one_body_each():
    # the world joint is a leaf with one body; the next joint may not lean on the same body
    system = gs.System(
        nx.path_graph(["j0", "b0", "j1", "b1"]), {"j0": 5, "b0": 6, "j1": 5, "b1": 6}
    )
    waits, precedence = waits_of(system, {"j0": 5, "j1": 5})

    assert waits == {"j0": {"b0"}, "j1": {"b1"}}
    assert precedence.joined == () and precedence.short.size == 0


def test_a_demand_is_shared_when_no_neighbour_can_meet_it_alone():
    system = gs.System(nx.path_graph(["a", "j", "b"]), {"a": 3, "j": 5, "b": 3})

    assert waits_of(system, {"j": 5})[0] == {"j": {"a", "b"}}


def test_supplies_move_on_along_an_augmenting_path():
    # j can only lean on a; k took a first and changes to b
    graph = nx.Graph([("k", "a"), ("k", "b"), ("j", "a"), ("l", "b"), ("l", "c")])
    system = gs.System(graph, {"k": 2, "a": 2, "b": 2, "j": 2, "l": 2, "c": 2})
    waits, precedence = waits_of(system, {"k": 2, "j": 2, "l": 2})

    assert waits == {"j": {"a"}, "k": {"b"}, "l": {"c"}}
    assert precedence.short.size == 0


def test_structural_redundancy_is_told():
    # 3 + 3 + 3 rows on a body of 6: three are too many
    graph = nx.star_graph(3)
    waits, precedence = waits_of(gs.System(graph, [6, 3, 3, 3]), {1: 3, 2: 3, 3: 3})

    assert precedence.short.size == 1
    assert waits == {1: {0}, 2: {0}, 3: {0}}


def test_nodes_that_can_only_lean_on_each_other_share_a_pivot_block():
    # [0 1; 1 0] has no pivot on its diagonal at all
    system = gs.System(gs.chain(2), 1, blocks={(0, 1): 2.0, (1, 0): 4.0})
    symbolic = system.analyze()

    assert symbolic.precedence.joined == ((0, 1),)
    assert system.solve([2.0, 4.0]) == pytest.approx([1.0, 1.0])
    # large ones as well, and within a larger graph
    rng = np.random.default_rng(0)
    graph = nx.path_graph(6)
    system = gs.System(graph, 7)
    for u, v in graph.edges:
        system[u, v], system[v, u] = rng.normal(size=(2, 7, 7))
    b = right_hand_side(system)
    for ordering in ORDERINGS:
        x = system.factorize(system.analyze(ordering)).solve(b)
        assert backward_error(system.to_dense(), x, b) < 1e-12


def test_pairs_are_a_matching_not_the_first_that_come():
    # path 2-0-1-3 without diagonal: the pair (0, 1) would leave 2 and 3 alone
    graph = nx.Graph([(0, 1), (0, 2), (1, 3)])
    system = gs.System(graph, 1, nodelist=range(4))
    for u, v in graph.edges:
        system[u, v] = system[v, u] = 1.0

    assert system.analyze().precedence.joined == ((0, 2), (1, 3))
    assert np.allclose(system.to_dense() @ system.solve(np.arange(4.0)), np.arange(4.0))


def test_an_order_as_given_has_no_more_fill_in_than_its_graph_makes():
    # path without diagonal: auto joins neighbours in pairs, a given order does not
    system = gs.System(gs.chain(4), 9)
    for u, v in gs.chain(4).edges:
        system[u, v] = system[v, u] = np.eye(9)
    symbolic = system.analyze([0, 3, 1, 2])

    assert symbolic.precedence.joined == () and symbolic.n_fill == 0
    assert system.analyze().precedence.joined == ((0, 1), (2, 3))


def test_a_node_that_got_its_pivot_gives_one_to_the_next():
    # x - a - b with zero blocks on a and b: x serves a, and only a can serve b
    graph = nx.path_graph(["x", "a", "b"])
    system = gs.System(graph, 9)
    rng = np.random.default_rng(0)
    system["x", "x"] = rng.normal(size=(9, 9))
    for u, v in graph.edges:
        system[u, v], system[v, u] = rng.normal(size=(2, 9, 9))
    symbolic = system.analyze()
    b = right_hand_side(system)

    assert symbolic.order == ("x", "a", "b")
    assert backward_error(system.to_dense(), system.solve(b), b) < 1e-12


@pytest.mark.parametrize("ordering", ORDERINGS)
@pytest.mark.parametrize("n", [2, 3, 10, 50])
@pytest.mark.parametrize("family", [body_joint_chain, body_joint_tree, grounded_loop])
def test_mechanisms_solve_to_1e_12(family, n, ordering):
    for seed in range(3):
        system = random_saddle_system(family(n), seed=seed)
        symbolic = system.analyze(ordering)
        step = {v: k for k, v in enumerate(symbolic.order)}
        factor = system.factorize(symbolic)
        b = right_hand_side(system)
        x = factor.solve(b)

        assert backward_error(system.to_dense(), x, b) < 1e-12
        assert factor.symbolic is symbolic  # the first order was good enough
        for label in symbolic.order:  # never before a neighbour has given it a pivot
            if label[0] == "joint":
                bodies = [v for v in system.labels if _joined(system, label, v)]
                assert min(step[v] for v in bodies) < step[label]


def _joined(system, u, v):
    try:
        return u != v and system.graph.edge_at(system.graph.index[u], system.graph.index[v]) >= 0
    except gs.UnknownEdgeError:
        return False


@pytest.mark.parametrize("ratio", [1.0, 1e3, 1e6])
def test_masses_far_apart_lose_no_digits(ratio):
    # a pivot is compared with what its own row held: units and mass ratios are no cancellation
    system = random_saddle_system(body_joint_chain(20), seed=1)
    for k, label in enumerate(system.labels):
        if label[0] == "body" and k % 4 == 0:
            system[label, label] = ratio * system[label, label]
    factor, b = system.factorize(), right_hand_side(system)

    assert backward_error(system.to_dense(), factor.solve(b), b) < 1e-12


def test_a_pivot_that_cancels_is_delayed_to_its_neighbour():
    # body "a" has a regular-looking block that is singular in numbers only
    rng = np.random.default_rng(2)
    graph = nx.path_graph(["a", "b", "c"])
    system = gs.System(graph, 3)
    for v in graph:
        system[v, v] = rng.normal(size=(3, 3)) + 5 * np.eye(3)
    system["a", "a"] = np.ones((3, 3))
    for u, v in graph.edges:
        system[u, v], system[v, u] = rng.normal(size=(2, 3, 3))
    first = system.analyze("dfs")
    factor, b = system.factorize(first), right_hand_side(system)

    assert factor.delayed_pivots > 0
    assert backward_error(system.to_dense(), factor.solve(b), b) < 1e-14
    assert backward_error(system.to_dense(), factor.refactorize(system.values).solve(b), b) < 1e-14


@pytest.mark.parametrize("ordering", ORDERINGS)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("dims", [1, 2])
def test_rounding_noise_does_not_pass_for_a_pivot(dims, symmetric, ordering):
    # Constraint 3 holds variable 4, so constraint 5 gets nothing from it but noise; values are
    # random, for every one of them leads into the same trap (in blocks of 2, depth first)
    at = [(0, 0), (0, 1), (1, 2), (1, 7), (2, 0), (2, 5), (3, 1), (3, 4), (4, 1), (4, 2)]
    at += [(5, 0), (5, 4)]
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows = np.zeros((6, 8))
        rows[tuple(zip(*at, strict=True))] = rng.normal(size=len(at))
        inertia = np.diag(rng.uniform(1, 2, size=8))
        matrix = np.block([[inertia, rows.T], [rows, np.zeros((6, 6))]])
        system = gs.System.from_scipy(scipy.sparse.csr_array(matrix), dims, symmetric=symmetric)
        b = right_hand_side(system)
        x = system.factorize(system.analyze(ordering)).solve(b)

        assert backward_error(matrix, x, b) < 1e-12


def test_factors_that_lost_digits_say_so_where_nothing_can_mend_them():
    system = gs.System(gs.chain(2), 1, symmetric=True)
    system[0, 0], system[1, 1], system[0, 1] = 1.0, 1.0 + 1e-12, 1.0
    factor = system.factorize()
    with pytest.warns(gs.InaccurateSolutionWarning, match="the determinant may be wrong in its"):
        factor.slogdet()
    with pytest.warns(
        gs.InaccurateSolutionWarning, match="the selected inverse may be wrong in its"
    ):
        factor.selected_inverse()
    assert factor.inertia() == (2, 0)  # signs are sure: refinement contracts with these factors


@given(seed=st.integers(0, 10**6), n=st.integers(2, 25), constraints=st.integers(1, 12))
def test_random_saddle_systems_solve_or_say_why_not(seed, n, constraints):
    # scalar KKT systems on random graphs: regular by structure or not, never a wrong number
    rng = np.random.default_rng(seed)
    graph = nx.Graph()
    graph.add_nodes_from(("x", i) for i in range(n))
    for c in range(constraints):
        for i in rng.choice(n, size=min(n, rng.integers(1, 4)), replace=False):
            graph.add_edge(("c", c), ("x", int(i)))
    for _ in range(n):
        i, j = rng.choice(n, size=2, replace=False)
        graph.add_edge(("x", int(i)), ("x", int(j)))
    system = gs.System(graph, 1)
    for v in graph:
        if v[0] == "x":
            system[v, v] = rng.normal() + 4
    for u, v in graph.edges:
        system[u, v], system[v, u] = rng.normal(size=2)
    matrix, b = system.to_dense(), right_hand_side(system)
    condition = np.linalg.cond(matrix)
    try:
        x = system.factorize().solve(b)
    except gs.SingularPivotError:
        assert condition > 1e10
    else:
        assert backward_error(matrix, x, b) < 1e-12


def test_redundant_rows_are_an_error_that_names_a_joint():
    # the same constraint twice: no order can help
    system = random_saddle_system(body_joint_chain(3), seed=0)
    graph = nx.Graph()
    graph.add_edges_from([("body", "one"), ("body", "two")])
    system = gs.System(graph, {"body": 6, "one": 3, "two": 3})
    rows = np.random.default_rng(0).normal(size=(3, 6))
    system["body", "body"] = np.eye(6)
    for joint in ("one", "two"):
        system[joint, "body"], system["body", joint] = rows, -rows.T
    with pytest.raises(gs.SingularPivotError, match="(one|two).*remove redundant rows") as caught:
        system.factorize()
    assert caught.value.node in ("one", "two")
