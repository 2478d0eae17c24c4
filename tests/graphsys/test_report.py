"""What `explain` says, against graphs whose numbers are counted by hand."""

import doctest

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import graphsys as gs
from graphsys import symbolic
from graphsys.analysis import cycles
from graphsys.display import report
from graphsys.display.report import in_words
from graphsys.families import random_system


def facts(symbolic):
    """The lines of `explain` by their first words, each unwrapped."""
    found = {}
    for line in gs.explain(symbolic).split("\n"):
        if not line.startswith(" "):
            name = line[: report.MARGIN].strip()
            found[name] = ""
        found[name] += " " + line[report.MARGIN :].strip()
    return {name: text.strip() for name, text in found.items()}


def loop_with_leaves():
    """As the graph of Fig. 5: a loop a - b - c - d and leaves, e on b, f on c, g on f."""
    graph = nx.Graph(["ab", "bc", "cd", "da", "be", "cf", "fg"])
    return gs.System(graph, 2, nodelist="abcdefg")


def test_the_example_in_the_docstring_is_what_is_printed():
    examples = doctest.DocTestFinder().find(gs.explain, "explain", globs={})
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in examples:
        runner.run(example)

    assert runner.summarize().attempted == 2
    assert runner.summarize().failed == 0


def test_a_path_counts_two_products_and_an_inverse_a_step():
    # Blocks of d = 1: 2 + 2 + 2 for each of 9 steps with a front of one row, 2 for the last.
    said = facts(gs.System(gs.chain(10), 1).analyze())

    assert said["graph"] == "10 nodes, 9 edges, 1 connected component"
    assert said["unknowns"] == "10, in blocks of 1"
    assert said["cycles"] == "none: no edge closes a loop"
    assert said["order"] == '"dfs" (depth-first search), which has no fill-in'
    assert said["fill-in"].startswith("none")
    assert said["operations"].startswith("56 floating-point operations")
    assert said["operations"].endswith("dense LU takes 667, 12 times as many")
    assert "loop openers" not in said


def test_a_ring_in_turn_fills_three_pairs():
    said = facts(gs.System(nx.cycle_graph(6), 6).analyze(ordering=range(6)))

    assert said["graph"] == "6 nodes, 6 edges, 1 connected component"
    assert said["cycles"] == "1 independent (edges - nodes + components)"
    assert said["loop openers"] == "1 node where a loop closes in a depth-first search: 0"
    assert said["order"] == "as given"
    assert said["fill-in"].startswith("3 pairs of blocks")
    assert said["fill-in"].endswith("0.5 for each edge")


def test_a_loop_with_leaves_fills_one_pair():
    said = facts(loop_with_leaves().analyze())

    assert said["graph"] == "7 nodes, 7 edges, 1 connected component"
    assert said["cycles"].startswith("1 independent")
    assert said["loop openers"] == "1 node where a loop closes in a depth-first search: 'a'"
    assert said["fill-in"].startswith("1 pair of blocks")


def test_loop_openers_are_those_of_the_analysis():
    analyzed = gs.System(gs.net(4), 1).analyze()
    first = ", ".join(map(repr, analyzed.loop_openers[:5]))

    assert facts(analyzed)["loop openers"] == (
        f"{len(analyzed.loop_openers)} nodes where loops close in a depth-first search: "
        f"{first}, ..."
    )


def test_components_of_a_forest_are_counted():
    graph = nx.disjoint_union(nx.path_graph(3), nx.empty_graph(2))
    said = facts(gs.System(graph, 1).analyze())

    assert said["graph"] == "5 nodes, 2 edges, 3 connected components"


def test_the_cheapest_candidate_is_named_with_the_others():
    analyzed = gs.System(gs.ladder(5), 3).analyze()
    text = facts(analyzed)["order"]

    assert set(analyzed.candidates) == {"amd", "dfs"}
    assert "the fewest operations of those tried" in text
    for name, operations in analyzed.candidates.items():
        assert f"{name} {in_words(operations)}" in text


def test_an_order_asked_for_is_the_only_one_tried():
    said = facts(gs.System(gs.net(4), 1).analyze(ordering="amd"))

    assert said["order"] == '"amd" (approximate minimum degree), the only one tried'


def test_operations_memory_and_supernodes_are_those_of_the_analysis():
    analyzed = gs.System(gs.net(12), 6).analyze()
    said = facts(analyzed)

    assert said["operations"].startswith(f"{in_words(analyzed.operations)} floating-point")
    assert said["memory"].startswith(f"{8 * analyzed.arena_size / 1e3:.3g} kB for factors")
    groups = np.diff(analyzed.row_of[analyzed.super_start])
    assert said["supernodes"].startswith(f"{groups.size} groups of nodes")
    assert said["supernodes"].endswith(f"{groups.max()} rows")


def test_a_dense_graph_takes_as_many_operations_as_dense_lu():
    said = facts(gs.System(nx.complete_graph(20), 1).analyze())

    assert said["operations"].endswith("dense LU takes 5,333, as many")


def test_a_symmetric_factorization_is_compared_with_a_dense_symmetric_one():
    said = facts(gs.System(gs.chain(10), 1, symmetric=True).analyze())

    assert said["operations"].endswith("dense LDL^T takes 333, 6 times as many")


def test_mixed_block_sizes_are_named_by_their_range():
    said = facts(gs.System(gs.chain(3), [2, 0, 5]).analyze())

    assert said["unknowns"] == "7, in blocks of 0 to 5"


@pytest.mark.parametrize("graph", [nx.empty_graph(0), nx.empty_graph(3)])
def test_a_system_without_unknowns_has_no_cost(graph):
    said = facts(gs.System(graph, 0).analyze())

    assert said["cycles"].startswith("none")
    assert not {"operations", "memory", "supernodes"} & set(said)


def star_of_joints(n_joints, body_size):
    """Zero-diagonal joints of one row on one body."""
    graph = nx.relabel_nodes(nx.star_graph(n_joints), {0: "body"})
    system = gs.System(graph, {node: body_size if node == "body" else 1 for node in graph})
    system["body", "body"] = np.eye(body_size)
    for i in range(1, n_joints + 1):
        row = np.zeros((1, body_size))
        row[0, min(i, body_size) - 1] = 1.0
        system[i, "body"], system["body", i] = row, row.T
    return system


def test_nodes_with_zero_diagonal_name_whom_they_wait_for():
    said = facts(star_of_joints(2, 3).analyze())

    assert said["zero diagonal"] == (
        "2 nodes with a diagonal block that is singular by its zeros, 2 of them eliminated after "
        "neighbours that fill it: 1 after 'body'; 2 after 'body'"
    )
    assert "redundant" not in said


def test_a_node_that_nobody_can_supply_is_called_redundant():
    said = facts(star_of_joints(3, 2).analyze())

    assert said["redundant"].startswith("1 node finds no neighbours to make the diagonal block")
    assert said["redundant"].endswith("the matrix singular: 3")


def test_nodes_that_share_a_pivot_block_are_named():
    system = gs.System(gs.chain(2), 1, blocks={(0, 1): 1.0, (1, 0): 1.0})

    assert (
        facts(system.analyze())["joined"] == "1 group of such nodes share a pivot block: 0 with 1"
    )


def test_a_node_whose_pivot_failed_is_said_to_be_put_later():
    system = random_system(gs.net(4), 2)
    system[5, 5] = [[1.0, 1.0], [1.0, 1.0]]  # singular by its values, not by its zeros
    after = symbolic.analyze(system.graph, values=system.values, after_all=frozenset([5]))

    assert facts(after)["put later"].startswith("1 node after all neighbours")
    assert facts(after)["put later"].endswith(": 5")


def test_systems_and_factors_of_any_kind_are_explained():
    system = gs.System(nx.path_graph(3), 2)
    assert gs.explain(system) == gs.explain(system.analyze())
    A = sp.csc_array(np.eye(3))
    for made in (gs.splu(A), gs.cholesky(A)):
        assert gs.explain(made) == gs.explain(made.factor)
    with pytest.raises(TypeError, match="csc_array is not a System, .* gs.System.from_scipy"):
        gs.explain(A)


def test_long_labels_are_shortened():
    labels = ["x" * 500, "y" * 500, "z" * 500]
    graph = nx.relabel_nodes(nx.cycle_graph(3), dict(enumerate(labels)))
    text = gs.explain(gs.System(graph, 1).analyze())

    assert "'xxxx" in text
    assert max(map(len, text.split("\n"))) <= report.WIDTH


def test_a_large_graph_takes_few_lines_and_lists_no_cycle(monkeypatch):
    analyzed = gs.System(gs.net(100), 1).analyze("amd", zero_diagonal=range(0, 10_000, 3))

    def listed(graph):
        raise AssertionError("every cycle of a large graph was written down")

    monkeypatch.setattr(cycles, "fundamental_cycles", listed)
    monkeypatch.setattr(symbolic, "fundamental_cycles", listed)
    text = gs.explain(analyzed)

    assert "9,801 independent" in text
    assert text.count("\n") < 20
    assert max(map(len, text.split("\n"))) <= report.WIDTH


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0"),
        (7.3, "7"),
        (5333.3, "5,333"),
        (999_400, "999,400"),
        (999_600, "1 million"),
        (1_234_567, "1.23 million"),
        (999.6e6, "1 billion"),
        (4.56e10, "45.6 billion"),
        (7.89e14, "789 trillion"),
        (6.67e17, "667 quadrillion"),
        (6.67e20, "667 quintillion"),
    ],
)
def test_numbers_have_three_digits_and_a_word(count, words):
    assert in_words(count) == words
