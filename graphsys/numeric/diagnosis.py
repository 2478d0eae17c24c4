"""Diagnosis of a failed factorization, in the user's labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.analysis.matching import maximum_matching
from graphsys.errors import SingularPivotError
from graphsys.kernels.base.layout import BLOCKS, PANEL_FIELDS, STARTS_AT, SUPERNODES, TARGETS_AT
from graphsys.kernels.single.ldu import factorize_supernodes
from graphsys.matrix.block import mirrored
from graphsys.matrix.from_scipy import coordinates
from graphsys.matrix.graph import BlockGraph
from graphsys.symbolic import Symbolic

Array = NDArray[Any]

#: Pivots larger than this relative to their block are singular for their size alone.
REGULAR = 1e-3
#: The way out where redundant rows are constraints that do not contradict each other.
ALLOW = ", or allow them with factorize(redundant=True)"
#: Where only the errors of solutions without refinement are too large.
REFINED = "; factorize(redundant=True) refines all solutions"
#: Rows that an error names.
SHOWN = 5


def singular_step(
    symbolic: Symbolic, values: Array, row: int, arena: Array, magnitude: Array
) -> tuple[int, float]:
    """Elimination step whose rows make a pivot block singular, and how singular it is.

    A pivot block may hold several small nodes. The factorization is run again up to that block,
    which shows it as it was before it was inverted.

    Parameters
    ----------
    symbolic : Symbolic
    values : ndarray, shape (graph.nnz,)
    row : int
        First row of the pivot block, from `kernels.factorize`.
    arena, magnitude : ndarray
        Workspace of the factorization, overwritten.

    Returns
    -------
    step : int
    ratio : float
        Smallest singular value of the block, its rows relative to their largest magnitudes.
    """
    program = symbolic.supernodal_program.copy()
    starts = program[program[STARTS_AT] :][: program[SUPERNODES]]
    s = int(np.searchsorted(program[starts + 2], row, side="right")) - 1
    at = int(starts[s])
    p, q, first, lower, pivots = (int(program[at + k]) for k in (0, 1, 2, 3, 5))
    sizes = program[at + PANEL_FIELDS : at + PANEL_FIELDS + pivots]
    block = int(np.searchsorted(np.cumsum(sizes), row - first, side="right"))
    w = int(sizes[block])
    program[SUPERNODES] = s + 1
    program[at + BLOCKS] = block  # stop before the block, update nothing
    program[program[program[TARGETS_AT] + s]] = 0
    factorize_supernodes(program, values, -1.0, magnitude, arena, np.empty(3))

    place = lower + (row - first) * (p + q + 1)
    pivot_block = np.array([arena[place + j * (p + q) :][:w] for j in range(w)]).T
    if symbolic.symmetric:
        pivot_block = np.tril(pivot_block) + mirrored(np.tril(pivot_block, -1), symbolic.symmetric)
    overflown = ~np.isfinite(pivot_block).all(axis=1)
    if overflown.any():  # by pivots before it that were next to nothing
        return _step_of(symbolic, row + int(np.argmax(overflown))), 0.0
    largest = np.fmax(magnitude[row : row + w], np.abs(pivot_block).max(axis=1))
    left, singular_values, _ = np.linalg.svd(_relative(pivot_block, largest))
    guilty = row + int(np.argmax(np.abs(left[:, -1]).round(8)))
    return _step_of(symbolic, guilty), float(singular_values[-1])


def _relative(block: Array, largest: Array) -> Array:
    """Rows of a block relative to their largest magnitudes, without overflow."""
    part, exponent = np.frexp(np.where(largest > 0, largest, 1.0))
    scaled = np.empty_like(block)
    scaled.real = np.ldexp(block.real, -exponent[:, None]) / part[:, None]
    if np.iscomplexobj(block):
        scaled.imag = np.ldexp(block.imag, -exponent[:, None]) / part[:, None]
    return scaled


def _step_of(symbolic: Symbolic, row: int) -> int:
    """Elimination step that a row belongs to."""
    return int(np.searchsorted(symbolic.row_of, row, side="right")) - 1


def check_structure(graph: BlockGraph, values: Array, last: frozenset[int]) -> None:
    """SingularPivotError that names rows without a pivot: singular whatever the values are.

    Parameters
    ----------
    graph : BlockGraph
    values : ndarray, shape (nnz,)
    last : frozenset of int
        Nodes that are not eliminated, and need no pivots.
    """
    from scipy.sparse import csr_array

    node = np.repeat(np.arange(graph.size.size), graph.size)
    inside = ~np.isin(node, list(last))
    row, column = coordinates(graph)
    some = (values != 0) & inside[row] & inside[column]
    pattern = csr_array(
        (np.ones(int(some.sum()), np.int8), (row[some], column[some])),
        shape=(graph.rows, graph.rows),
    )
    column_of, _ = maximum_matching(pattern)
    bare = np.flatnonzero((column_of < 0) & inside)
    if not bare.size:
        return
    names = [f"{graph.labels[node[i]]!r} ({i - graph.row_start[node[i]]})" for i in bare[:SHOWN]]
    more = f" and {bare.size - SHOWN} more" if bare.size > SHOWN else ""
    where = f"by node (and row in it) {', '.join(names)}{more}"
    if values.any():
        text = (
            f"the matrix is structurally singular: no pivot is left for {bare.size} of its "
            f"{graph.rows} rows, {where}; add entries there, or remove these rows and as many "
            f"columns{ALLOW}"
        )
    else:
        text = (
            f"the matrix is singular: all entries are zero, {where}; set blocks first, as "
            "system[u, v] = block"
        )
    raise SingularPivotError(
        text,
        graph.labels[node[bare[0]]],
        0,
        0.0,
    )


def without_options(failure: Exception) -> str:
    """Message of an error here, for callers that have no option of `gs.factorize`."""
    return _not_allowed(failure).replace(REFINED, "")


def nothing_to_allow(failure: SingularPivotError) -> SingularPivotError:
    """The same error where ``redundant=True`` would not help: no row is a constraint."""
    return SingularPivotError(_not_allowed(failure), failure.node, failure.step, failure.ratio)


def _not_allowed(failure: Exception) -> str:
    """Message of an error without `ALLOW`."""
    text = str(failure).replace(f", remove redundant rows{ALLOW}", " or remove redundant rows")
    return text.replace(ALLOW, "")


def allowed_in_vain(failure: SingularPivotError) -> SingularPivotError:
    """The same error where ``redundant=True`` is set already."""
    if ALLOW not in str(failure):
        return failure
    text = f"{without_options(failure)}; redundant=True allows rows with a zero diagonal block only"
    return SingularPivotError(text, failure.node, failure.step, failure.ratio)


def singular_pivot(symbolic: Symbolic, step: int, ratio: float) -> SingularPivotError:
    """Error for a pivot block that stays singular.

    Parameters
    ----------
    symbolic : Symbolic
    step : int
        Elimination step.
    ratio : float
        From `singular_step`.

    Returns
    -------
    SingularPivotError
    """
    label = symbolic.graph.labels[int(symbolic.step_node[step])]
    if symbolic.ordering == "given":
        remedy = "give it later in the ordering, or use ordering='auto'"
    else:
        remedy = (
            "the matrix is singular there or close to it; add to its diagonal block, remove "
            f"redundant rows{ALLOW}"
        )
    what, why = "is singular", f"smallest pivot {ratio:.1e} of what the block held"
    if ratio > REGULAR:
        what, why = "cannot be inverted", "its inverse leaves the range of numbers"
        remedy = "scale the matrix"
    return SingularPivotError(
        f"pivot block of node {label!r} {what} (elimination step {step} of "
        f"{symbolic.step_node.size}, {why}); {remedy}",
        label,
        step,
        ratio,
    )


def singular_matrix(
    symbolic: Symbolic, step: int, condition: float, ratio: float
) -> SingularPivotError:
    """Error for a matrix that is singular to working precision.

    Parameters
    ----------
    symbolic : Symbolic
    step : int
        Elimination step with the weakest pivot block.
    condition : float
        Lower bound of the condition number of the equilibrated matrix.
    ratio : float
        Pivot ratio of the factors.
    """
    label = symbolic.graph.labels[int(symbolic.step_node[step])]
    return SingularPivotError(
        f"the matrix is singular to working precision: its condition number is {condition:.1e} or "
        f"more, most likely for node {label!r} (elimination step {step}); add to its diagonal "
        f"block, remove redundant rows{ALLOW}",
        label,
        step,
        ratio,
    )


def unstable_factors(
    symbolic: Symbolic, step: int, error: float, ratio: float
) -> SingularPivotError:
    """Error for a matrix whose factors are inaccurate, with static and with delayed pivots.

    Parameters
    ----------
    symbolic : Symbolic
    step : int
        Elimination step with the weakest pivot block.
    error : float
        Smallest error of solutions by the factors alone, relative to those of a stable method.
    ratio : float
        Pivot ratio of the factors.
    """
    label = symbolic.graph.labels[int(symbolic.step_node[step])]
    return SingularPivotError(
        f"the factors lose too many digits, with static and with delayed pivots: their relative "
        f"errors are {error:.1e} where a stable method leaves rounding, most likely from node "
        f"{label!r} (elimination step {step}){REFINED}",
        label,
        step,
        ratio,
    )


def uncertain_signs(symbolic: Symbolic, step: int, count: int, ratio: float) -> SingularPivotError:
    """Error for eigenvalues of pivot blocks that rounding may have moved past zero.

    Parameters
    ----------
    symbolic : Symbolic
    step : int
        Elimination step with the weakest pivot block.
    count : int
        Number of these eigenvalues.
    ratio : float
        Pivot ratio of the factors.
    """
    label = symbolic.graph.labels[int(symbolic.step_node[step])]
    return SingularPivotError(
        f"the signs of {count} eigenvalues are uncertain: rounding errors are as large as they, "
        f"most likely at node {label!r} (elimination step {step}); add to its diagonal block, or "
        "scale the matrix",
        label,
        step,
        ratio,
    )


def useless_factors(symbolic: Symbolic, row: int, error: float, ratio: float) -> SingularPivotError:
    """Error for factors whose solutions cannot be refined.

    Parameters
    ----------
    symbolic : Symbolic
    row : int
        First row of the pivot block that lost most digits.
    error : float
        Backward error that refinement ended with.
    ratio : float
        Pivot ratio of the factor.

    Returns
    -------
    SingularPivotError
    """
    step = _step_of(symbolic, row)
    label = symbolic.graph.labels[int(symbolic.step_node[step])]
    return SingularPivotError(
        f"the backward error stays at {error:.1e} after refinement: the matrix is singular to "
        f"working precision, most likely at node {label!r} (elimination step {step}); add to its "
        f"diagonal block, remove redundant rows{ALLOW}",
        label,
        step,
        ratio,
    )
