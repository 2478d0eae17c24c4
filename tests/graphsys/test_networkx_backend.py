"""The backend of networkx gives what networkx gives, and Foster's theorem holds."""

import os
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsys.interop import networkx_backend
from graphsys.interop.networkx_backend import edge_resistance

pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs:UserWarning")

#: Functions of one number or a number per node, edge or pair, and their arguments.
CALLS = [
    (nx.resistance_distance, {}),
    (nx.resistance_distance, {"nodeA": 3}),
    (nx.resistance_distance, {"nodeB": 3}),
    (nx.resistance_distance, {"nodeA": 3, "nodeB": 7}),
    (nx.resistance_distance, {"nodeA": 0, "nodeB": 5, "invert_weight": False}),
    (nx.effective_graph_resistance, {}),
    (nx.number_of_spanning_trees, {}),
    (nx.current_flow_closeness_centrality, {}),
    (nx.information_centrality, {}),
    (nx.current_flow_betweenness_centrality, {}),
    (nx.current_flow_betweenness_centrality, {"normalized": False}),
    (nx.edge_current_flow_betweenness_centrality, {}),
    (nx.edge_current_flow_betweenness_centrality, {"normalized": False}),
]


def graph(n=30, seed=0, kind=nx.Graph):
    rng = np.random.default_rng(seed)
    G = kind(nx.connected_watts_strogatz_graph(n, 4, 0.3, seed=seed))
    for *_, d in G.edges(data=True):
        d["w"] = rng.uniform(0.5, 2.0)
    return G


def same(found, wanted):
    if isinstance(wanted, dict):
        assert list(found) == list(wanted) or found.keys() == wanted.keys()
        for key, value in wanted.items():
            same(found[key], value)
    else:
        assert found == pytest.approx(wanted, rel=1e-10, abs=1e-11)


@pytest.mark.parametrize(("function", "options"), CALLS)
@pytest.mark.parametrize("weight", [None, "w"])
def test_it_gives_what_networkx_gives(function, options, weight):
    G = graph()
    if "betweenness" not in function.__name__:  # there networkx lets a loop change all values
        G.add_edge(2, 2, w=3.0)
    same(function(G, weight=weight, backend="graphsys", **options),
         function(G, weight=weight, **options))  # fmt: skip


def test_parallel_edges_add_their_conductances():
    G = graph(kind=nx.MultiGraph)
    G.add_edge(0, 1, w=0.7)
    for function in (nx.resistance_distance, nx.effective_graph_resistance):
        same(function(G, weight="w", backend="graphsys"), function(G, weight="w"))


@pytest.mark.parametrize("weight", [None, "w"])
def test_arborescences_are_counted_from_a_root(weight):
    G = graph(12).to_directed()
    G.remove_edge(*next(iter(G.edges(4))))
    options = {"root": 3, "weight": weight}
    same(nx.number_of_spanning_trees(G, backend="graphsys", **options),
         nx.number_of_spanning_trees(G, **options))  # fmt: skip
    away = nx.DiGraph([(0, 1), (2, 1)])
    assert nx.number_of_spanning_trees(away, root=0, backend="graphsys") == 0.0


def test_cases_by_hand():
    path = nx.path_graph(3)
    assert edge_resistance(path) == {(0, 1): 1.0, (1, 2): 1.0}
    square = nx.cycle_graph(4)
    assert edge_resistance(square) == pytest.approx(dict.fromkeys(square.edges(), 0.75))
    assert nx.number_of_spanning_trees(square, backend="graphsys") == pytest.approx(4.0)
    alone = nx.empty_graph(1)
    assert nx.number_of_spanning_trees(alone, backend="graphsys") == 1.0
    assert nx.effective_graph_resistance(alone, backend="graphsys") == 0.0
    assert edge_resistance(alone) == {}
    assert nx.effective_graph_resistance(nx.empty_graph(2), backend="graphsys") == float("inf")
    assert nx.number_of_spanning_trees(nx.empty_graph(2), backend="graphsys") == 0


@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_conductances_times_resistances_sum_up_to_a_tree(n, seed):
    # Foster's theorem: sum of c r over the edges is n - 1
    rng = np.random.default_rng(seed)
    G = nx.random_labeled_tree(n, seed=seed)
    G.add_edges_from(rng.integers(0, n, (n, 2)).tolist())
    G.remove_edges_from(list(nx.selfloop_edges(G)))  # networkx loses digits by them
    for *_, d in G.edges(data=True):
        d["w"] = 10.0 ** rng.uniform(-0.5, 0.5)  # condition below 10 n^2
    found = edge_resistance(G, "w")
    assert sum(r / G[u][v]["w"] for (u, v), r in found.items()) == pytest.approx(n - 1, rel=1e-9)
    u, v = next(iter(found))
    assert found[u, v] == pytest.approx(nx.resistance_distance(G, u, v, "w"), rel=1e-9)


def test_resistances_of_chosen_pairs(monkeypatch):
    monkeypatch.setattr(networkx_backend, "COLUMNS", 3)
    path = nx.path_graph(["a", "b", "c", ("d", 1)])
    assert edge_resistance(path, ebunch=[]) == {}
    pairs = [("a", "c"), ("c", "a"), ("b", "b"), (("d", 1), "a"), ["b", "c"]]
    lengths = {("a", "c"): 2.0, ("c", "a"): 2.0, ("b", "b"): 0.0, (("d", 1), "a"): 3.0}
    assert edge_resistance(path, ebunch=pairs) == pytest.approx(lengths | {("b", "c"): 1.0})
    assert edge_resistance(nx.empty_graph(1), ebunch=[(0, 0)]) == {(0, 0): 0.0}
    G = nx.gnm_random_graph(30, 80, seed=2)
    nx.set_edge_attributes(G, {edge: 1.0 + k for k, edge in enumerate(G.edges)}, "w")
    for invert in (True, False):
        found = edge_resistance(G, "w", invert, ebunch=[(0, k) for k in range(1, 30)])
        wanted = nx.resistance_distance(G, 0, None, "w", invert)
        assert all(found[0, k] == pytest.approx(wanted[k], rel=1e-9) for k in range(1, 30))


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: nx.resistance_distance(nx.Graph(), backend="graphsys"),
         nx.NetworkXError, "one node"),
        (lambda: nx.resistance_distance(nx.path_graph(2), 0, 9, backend="graphsys"),
         nx.NetworkXError, "Node B is not in graph G"),
        (lambda: nx.current_flow_closeness_centrality(nx.empty_graph(2), backend="graphsys"),
         nx.NetworkXError, "not connected"),
        (lambda: nx.number_of_spanning_trees(nx.DiGraph([(0, 1)]), backend="graphsys"),
         nx.NetworkXError, "root"),
        (lambda: edge_resistance(nx.empty_graph(2)), nx.NetworkXError, "must be connected"),
        (lambda: edge_resistance(nx.DiGraph([(0, 1)])), nx.NetworkXError, "undirected graphs"),
        (lambda: edge_resistance(nx.Graph()), nx.NetworkXError, "at least one node"),
        (lambda: edge_resistance(nx.path_graph(2), ebunch=[(0, 9)]),
         nx.NetworkXError, r"\(0, 9\) is not a pair of nodes of G"),
        (lambda: edge_resistance(nx.path_graph(3), ebunch=[(0, 1, 2)]),
         nx.NetworkXError, "not a pair"),
        (lambda: edge_resistance(nx.path_graph(2), [(0, 1)]),
         TypeError, "pairs of nodes are ebunch"),
    ],
)  # fmt: skip
def test_bad_graphs_are_refused_as_by_networkx(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


@pytest.mark.parametrize("edges", [[(0, 1), (2, 3)], [(0, 1), (1, 2), (0, 2)], [(1, 2), (2, 3)]])
def test_graphs_that_fall_apart_are_told_as_networkx_does(edges):
    G = nx.empty_graph(4)  # a node or two that no edge joins with node 0, or node 0 alone
    G.add_edges_from(edges)
    for function in (
        nx.resistance_distance,
        nx.current_flow_closeness_centrality,
        nx.current_flow_betweenness_centrality,
        nx.edge_current_flow_betweenness_centrality,
    ):
        with pytest.raises(nx.NetworkXError) as theirs:
            function(G, backend="networkx")
        with pytest.raises(nx.NetworkXError, match=str(theirs.value)):
            function(G, backend="graphsys")
        with pytest.raises(nx.NetworkXException):
            function(nx.empty_graph(0), backend="graphsys")
    assert nx.number_of_spanning_trees(G, backend="graphsys") == 0
    assert nx.effective_graph_resistance(G, backend="graphsys") == float("inf")
    with pytest.raises(nx.NetworkXError, match="must be connected"):
        edge_resistance(G)


def test_edges_of_weight_zero_carry_no_current():
    G = nx.cycle_graph(5)
    nx.set_edge_attributes(G, 2.0, "w")
    G[0][1]["w"] = 0.0
    P = nx.path_graph([1, 2, 3, 4, 0])
    options = {"weight": "w", "invert_weight": False, "backend": "graphsys"}
    found = nx.resistance_distance(G, 0, 1, **options)
    assert found == pytest.approx(2.0) == nx.resistance_distance(P, 0, 1) / 2.0
    assert nx.number_of_spanning_trees(G, weight="w", backend="graphsys") == pytest.approx(16.0)
    G[2][3]["w"] = 0.0  # and this one cuts it
    assert nx.number_of_spanning_trees(G, weight="w", backend="graphsys") == 0.0
    assert nx.effective_graph_resistance(G, **options) == np.inf
    for function, more in (
        (nx.resistance_distance, {"invert_weight": False}),
        (nx.current_flow_closeness_centrality, {}),
        (nx.edge_current_flow_betweenness_centrality, {}),
    ):
        with pytest.raises(nx.NetworkXError, match="edges of weight 0 carry no current"):
            function(G, weight="w", backend="graphsys", **more)


@pytest.mark.parametrize("weight", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused(weight):
    G = nx.cycle_graph(5)
    G[2][3]["w"] = weight
    with pytest.raises(nx.NetworkXError, match=r"weight of edge \(2, 3\) is not finite"):
        nx.current_flow_closeness_centrality(G, weight="w", backend="graphsys")


def test_many_nodes_go_by_portions(monkeypatch):
    monkeypatch.setattr(networkx_backend, "COLUMNS", 7)
    G = graph()
    for function, options in (CALLS[0], CALLS[9], CALLS[11]):
        same(function(G, backend="graphsys", **options), function(G, **options))


@pytest.mark.slow
def test_networkx_passes_its_own_tests_with_it():
    tests = (
        "centrality.tests.test_current_flow_betweenness_centrality",
        "tests.test_distance_measures",
    )
    tests += ("centrality.tests.test_current_flow_closeness", "tree.tests.test_mst")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs"]
        + [f"networkx.algorithms.{name}" for name in tests],
        env=os.environ | {"NETWORKX_TEST_BACKEND": "graphsys", "NETWORKX_FALLBACK_TO_NX": "True"},
        cwd=os.path.dirname(nx.__file__), capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-3000:]
    assert " passed" in run.stdout and "xfailed" not in run.stdout
