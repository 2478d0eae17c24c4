"""Text report of a symbolic or numeric factorization."""

from __future__ import annotations

import reprlib
import textwrap
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from graphsys.analysis.cycles import spanning_forest
from graphsys.analysis.matching import structural_rank
from graphsys.factor import Factor
from graphsys.matrix.block import HERMITIAN
from graphsys.matrix.from_scipy import coordinates
from graphsys.matrix.graph import BlockGraph
from graphsys.symbolic import Symbolic
from graphsys.system import System

__all__ = ["explain", "in_words"]

Ints = npt.NDArray[np.int64]

#: Labels that are listed before "..." stands for the rest.
FEW = 5
WIDTH, MARGIN = 96, 15

METHOD = {
    "dfs": "depth-first search",
    "amd": "approximate minimum degree",
    "nd": "nested dissection",
}


def symbolic_of(given: Any) -> Symbolic:
    """Symbolic factorization of a system or of factors, or `given` itself; TypeError for others."""
    if isinstance(given, System):
        return given.analyze()
    factor = getattr(given, "factor", given)
    found = factor.symbolic if isinstance(factor, Factor) else given
    if isinstance(found, Symbolic):
        return found
    raise TypeError(
        f"{type(given).__name__} is not a System, Symbolic or Factor; gs.System.from_scipy(A) or "
        "gs.System(graph, dims) makes one"
    )


def explain(symbolic: Any) -> str:
    """Describe the analysis of a graph in words, in a dozen lines at any size.

    Parameters
    ----------
    symbolic : Symbolic, Factor or System
        A system is analyzed first. With a factor, or what `splu` and `cholesky` return, the text
        reports its pivots as well and, with ``redundant=True``, rows that depend on others.

    Returns
    -------
    str
        Graph, cycles, loop openers, elimination order and its reason, fill-in, operations, memory,
        supernodes, and the nodes that must follow others to get a pivot, if any.

    Raises
    ------
    TypeError
        For anything else.

    Examples
    --------
    >>> import graphsys as gs
    >>> print(gs.explain(gs.System(gs.chain(3), 2).analyze()))
    graph          3 nodes, 2 edges, 1 connected component
    unknowns       6, in blocks of 2
    cycles         none: no edge closes a loop
    order          "dfs" (depth-first search), which has no fill-in
    fill-in        none: the factors have no block that the matrix does not have
    operations     112 floating-point operations for one factorization; dense LU takes 144, 1.3
                   times as many
    memory         ... kB for factors and workspace in double precision, ... for tables
    supernodes     3 groups of nodes eliminated together, the widest of 1 node and 2 rows
    """
    dependent: dict[Hashable, int] = {}
    quality: list[tuple[str, str]] = []
    factor = getattr(symbolic, "factor", symbolic)
    if isinstance(factor, Factor):
        quality, dependent = _quality(factor), factor.redundant
    symbolic = symbolic_of(symbolic)
    facts = [*_graph(symbolic), *_order(symbolic), *_cost(symbolic), *_pivots(symbolic), *quality]
    if dependent:
        rows = [f"{_some(n, 'row')} of {reprlib.repr(u)}" for u, n in dependent.items()][:FEW]
        text = f"{_some(sum(dependent.values()), 'constraint row')} of this matrix depend on others"
        facts.append(("dependent", f"{text}: {_and_so_on(rows, len(dependent), ', ')}"))
    return "\n".join(
        textwrap.fill(
            text,
            WIDTH,
            initial_indent=f"{name:<{MARGIN}}",
            subsequent_indent=" " * MARGIN,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for name, text in facts
    )


def in_words(count: float) -> str:
    """Large number in three digits and a word.

    Parameters
    ----------
    count : float
        0 or more.

    Returns
    -------
    str
        "1.23 million", say.
    """
    for power, word in enumerate(("quintillion", "quadrillion", "trillion", "billion", "million")):
        unit = 1000.0 ** (6 - power)
        if count >= 0.9995 * unit:
            return f"{count / unit:.3g} {word}"
    return f"{count:,.0f}"


Fact = tuple[str, str]


def _quality(factor: Factor) -> list[tuple[str, str]]:
    """Pivot ratio and growth of a factor, in words."""
    text = (
        f"smallest pivot {factor.pivot_ratio:.1e} of what its row held; rows of pivot blocks grew "
        f"up to {factor.pivot_growth:.1e} times; solutions are "
        + ("checked and refined" if factor.refines else "not checked: nothing is in doubt")
    )
    if factor.delayed_pivots:
        text += f"; {_some(factor.delayed_pivots, 'pivot')} delayed to a later front"
    return [("pivots", text)]


def _graph(symbolic: Symbolic) -> Iterator[Fact]:
    graph = symbolic.graph
    nodes, edges = graph.size.size, graph.neighbor.size // 2
    forest = spanning_forest(graph)
    parts, openers = forest.n_components, forest.loop_openers
    n_cycles = edges - nodes + parts
    yield (
        "graph",
        f"{_some(nodes, 'node')}, {_some(edges, 'edge')}, {_some(parts, 'connected component')}",
    )
    smallest, largest = int(graph.size.min(initial=2**31)), int(graph.size.max(initial=0))
    if nodes:
        rows = f"{largest}" if smallest == largest else f"{smallest} to {largest}"
        yield "unknowns", f"{graph.rows:,}, in blocks of {rows}"
    if n_cycles == 0:
        yield "cycles", "none: no edge closes a loop"
        return
    yield "cycles", f"{n_cycles:,} independent (edges - nodes + components)"
    where = "node where a loop closes" if openers.size == 1 else "nodes where loops close"
    yield (
        "loop openers",
        f"{openers.size:,} {where} in a depth-first search: {_labels(graph, openers)}",
    )


def _order(symbolic: Symbolic) -> Iterator[Fact]:
    name, tried = symbolic.ordering, symbolic.candidates
    if name == "given":
        yield "order", "as given"
    elif len(tried) > 1:
        each = ", ".join(f"{other} {in_words(count)}" for other, count in tried.items())
        yield (
            "order",
            f'"{name}" ({METHOD[name]}), the fewest operations of those tried: {each}',
        )
    elif symbolic.n_fill == 0:
        yield "order", f'"{name}" ({METHOD[name]}), which has no fill-in'
    else:
        yield "order", f'"{name}" ({METHOD[name]}), the only one tried'
    edges = symbolic.graph.neighbor.size // 2
    if symbolic.n_fill == 0:
        yield "fill-in", "none: the factors have no block that the matrix does not have"
        return
    per_edge = symbolic.n_fill / edges
    yield (
        "fill-in",
        f"{_some(symbolic.n_fill, 'pair')} of blocks that the factors have and the matrix does "
        f"not, {per_edge:.2g} for each edge",
    )


def _cost(symbolic: Symbolic) -> Iterator[Fact]:
    rows = int(symbolic.row_of[-1])
    if rows == 0:
        return
    dense = (1 if symbolic.symmetric else 2) / 3 * float(rows) ** 3
    methods: dict[bool | str, str] = {False: "LU", True: "LDL^T", HERMITIAN: "LDL^H"}
    method = methods[symbolic.symmetric]
    yield (
        "operations",
        f"{in_words(symbolic.operations)} floating-point operations for one factorization; dense "
        f"{method} takes {in_words(dense)}{_times(dense / symbolic.operations)}",
    )
    factors = 8 * symbolic.arena_size
    yield (
        "memory",
        f"{_bytes(factors)} for factors and workspace in double precision, "
        f"{_bytes(symbolic.nbytes - factors)} for tables",
    )
    start = symbolic.super_start
    widest = int(np.argmax(np.diff(symbolic.row_of[start])))
    nodes = int(start[widest + 1] - start[widest])
    columns = int(symbolic.row_of[start[widest + 1]] - symbolic.row_of[start[widest]])
    yield (
        "supernodes",
        f"{_some(start.size - 1, 'group')} of nodes eliminated together, the widest of "
        f"{_some(nodes, 'node')} and {_some(columns, 'row')}",
    )


def _pivots(symbolic: Symbolic) -> Iterator[Fact]:
    graph, precedence = symbolic.graph, symbolic.precedence
    lacking = np.flatnonzero(precedence.demand)
    if lacking.size:
        supplier = np.repeat(np.arange(graph.size.size), np.diff(precedence.release_start))
        waiting = lacking[precedence.waits[lacking] > 0]
        some = [(j, supplier[precedence.release == j]) for j in waiting[:FEW].tolist()]
        pairs = [f"{_label(graph, j)} after {_labels(graph, i)}" for j, i in some]
        text = f"{_some(lacking.size, 'node')} with a diagonal block that is singular by its zeros"
        if pairs:
            text += f", {waiting.size:,} of them eliminated after neighbours that fill it: "
            text += _and_so_on(pairs, waiting.size, "; ")
        yield "zero diagonal", text
    if precedence.joined:
        pairs = [
            " with ".join(_label(graph, j) for j in group) for group in precedence.joined[:FEW]
        ]
        yield (
            "joined",
            f"{_some(len(precedence.joined), 'group')} of such nodes share a pivot block: "
            + _and_so_on(pairs, len(precedence.joined), "; "),
        )
    failed = np.flatnonzero((precedence.waits > 0) & (precedence.demand == 0))
    if failed.size:
        yield (
            "put later",
            f"{_some(failed.size, 'node')} after all neighbours, because the pivot block was "
            f"singular in an earlier order: {_labels(graph, failed)}",
        )
    if precedence.short.size:
        verb = "finds" if precedence.short.size == 1 else "find"
        nodes = _some(precedence.short.size, "node")
        found = f"{nodes} {verb} no neighbours to make the diagonal block "
        if _regular_by_structure(graph, precedence.demand):
            name, found = "late pivots", f"{found}regular before others wait for pivots too: "
        else:
            name = "redundant"
            found += "regular, so that rows may be redundant and the matrix singular: "
        yield name, found + _labels(graph, precedence.short)


def _regular_by_structure(graph: BlockGraph, demand: Ints) -> bool:
    """True if rows and columns match by structure: no diagonal block lacks only a part."""
    if ((demand > 0) & (demand < graph.size)).any():
        return False
    from scipy.sparse import coo_array

    row, column = coordinates(graph)
    node = np.repeat(np.arange(graph.size.size), graph.size)
    keep = (node[row] != node[column]) | ((row == column) & (demand[node[row]] == 0))
    entries = (np.ones(int(keep.sum())), (row[keep], column[keep]))
    return bool(structural_rank(coo_array(entries, (graph.rows,) * 2).tocsr()) == graph.rows)


def _times(ratio: float) -> str:
    rounded = float(f"{ratio:.2g}" if ratio < 9.95 else f"{ratio:.3g}")
    if rounded == 1.0:
        return ", as many"
    return (
        f", {rounded:.2g} times as many" if rounded < 10 else f", {in_words(rounded)} times as many"
    )


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _bytes(count: int) -> str:
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= 0.9995 * unit:
            return f"{count / unit:.3g} {name}"
    return f"{count} bytes"


def _label(graph: BlockGraph, node: int) -> str:
    return reprlib.repr(graph.labels[node])


def _labels(graph: BlockGraph, nodes: Ints) -> str:
    some = (_label(graph, node) for node in nodes[:FEW].tolist())
    return _and_so_on(some, nodes.size, ", ")


def _and_so_on(some: Iterable[str], count: int, separator: str) -> str:
    return separator.join([*some, *(["..."] if count > FEW else [])])
