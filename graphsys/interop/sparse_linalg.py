"""Direct solves with the names and arguments of `scipy.sparse.linalg`."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, hstack, issparse

from graphsys.analysis.block_triangular import block_triangular_form
from graphsys.analysis.matching import maximum_matching
from graphsys.analysis.partition import Partition, find_partition, has_similar_rows, mirror
from graphsys.analysis.supervariables import FEWEST_NODES
from graphsys.errors import SingularPivotError
from graphsys.factor import Factor
from graphsys.interop.found_blocks import FoundBlocks, by_columns
from graphsys.kernels.analysis.one_pass import DENSE_MATRIX, SYMMETRIC
from graphsys.kernels.base.layout import is_nodal
from graphsys.kernels.single.entries import PLACED, UNSYMMETRIC
from graphsys.kernels.single.sparse_lu import DONE, OTHER_PATTERN
from graphsys.matrix.block import as_numbers
from graphsys.matrix.from_scipy import canonical
from graphsys.numeric.measures import linear_operator
from graphsys.numeric.one_pass_lu import EXPENSIVE, GOOD, OnePassLU
from graphsys.numeric.small_matrix import SmallFactor
from graphsys.numeric.sparse_lu import SparseLUFactor
from graphsys.system import System

__all__ = ["FactorizedMatrix", "factorized", "splu", "spsolve"]

Array = NDArray[Any]
_analyzing = threading.Lock()

#: Names that scipy has for column orderings. All but the last choose the order here.
ORDERINGS = (None, "COLAMD", "MMD_AT_PLUS_A", "MMD_ATA", "NATURAL")

#: Operations per entry of the matrix up to which sparse LU factors are made. Matrices with more
#: fill-in, such as grids, take less time with the dense panels of `Factor`: grids from 25 x 25 on.
SPARSE = 24
#: The same where the alternative takes 3 to 8 times as long: it delays pivots, or the pattern is
#: not nearly symmetric, which `Factor` makes it.
SPARSE_BEFORE_DELAYS = 1024
#: Operations that a pattern without symmetry may take besides: to find that they do not suffice
#: takes 1 to 2 s.
SPARSE_AT_MOST = 20_000_000
#: The same for operations of a `Factor`, up to which large matrices with a symmetric pattern get
#: sparse LU factors. Power flow takes 6 in networks with few loops, where they take 0.4 of the time
#: (`asv_benchmarks/benchmarks/networks.py`), and 20 in others, where they take as long.
SPARSE_MESH = 12
#: Operations of sparse LU factors per entry up to which nodes of few rows take longer whose solves
#: refine: power flow takes 4 in networks with few loops, optimal control with 3 states 6.
SPARSE_WEAK = 6
#: Rows of these nodes on average, at most.
SMALL_NODES = 4
#: Entries of a matrix with a symmetric pattern from which `Factor` is tried first: most such
#: matrices are meshes, and to find that they fill in takes as long as their analysis.
MESH = 20_000
#: Entries per row from which rows are compared before factors are made in one pass: nodes of such
#: rows then take less time. With fewer they do after some right-hand sides, by which solves have
#: taken as long as an analysis: those of bands of 11 diagonals take a fifth, of others as long.
FEWEST_SHARED, MOST_SOLVES = 16, 64
#: Effort for an order that one factorization uses. Level sets then save 10 to 55 % of `spsolve` of
#: grids in space from 27,000 rows on (`benchmarks.grids.SingleSolves`), and others lose none.
ONCE = 0.1
#: Effort for one that many factorizations use.
REPEATED = 10.0
#: Columns of a sparse right-hand side that are solved, dense, at a time.
AT_ONCE = 64
#: Rows of a singular matrix that its error names.
SHOWN = 5


def _without_a_meaning(name: str, why: str) -> property:
    """Attribute that raises AttributeError and says why; `__getattr__` would slow all others."""

    def refuse(_: Any) -> None:
        raise AttributeError(f"there is no {name!r}: {why}")

    return property(refuse, doc=f"Not there: {why}.")


#: Attributes of other factorizations, and why they are not there or what is used instead.
_ELSEWHERE = {
    **dict.fromkeys(
        ("L", "U", "perm_c", "perm_r"),
        "pivot blocks are stored as inverses; the determinant is factor.slogdet(), and gs.cholesky "
        "has L of positive definite matrices",
    ),
    **dict.fromkeys(("det", "logdet", "slogdet"), "use factor.slogdet()"),
    **dict.fromkeys(("cond", "rcond"), "use factor.rcond()"),
    **dict.fromkeys(("factorize", "refactor", "update"), "use refactorize(A)"),
    "inertia": "use gs.System.from_scipy(A, symmetric=True).factorize().inertia()",
    "inv": "use solve(B), or factor.selected_inverse()",
}


class FactorizedMatrix:
    """Factorization of a scipy sparse matrix, as `scipy.sparse.linalg.SuperLU`; made by `splu`.

    The first factorization chooses pivots and computes sparse LU factors in one pass over the
    blocks of the block triangular form. Matrices with more fill-in get a `Factor`, whose nodes are
    rows of similar pattern. The first `refactorize` analyzes the pattern, so that later ones repeat
    only the arithmetic.

    Parameters
    ----------
    A : scipy sparse matrix or array, shape (N, N)
    permc_spec : str, optional
        As for `splu`.

    Attributes
    ----------
    shape : tuple of int
        (N, N).
    dtype : numpy.dtype
    nnz : int
        Number of entries stored for the factors.
    diagonal_blocks : int
        Number of blocks of the block triangular form; 1 if it is not used.
    system : System
        The matrix as a `System`.
    factor : Factor
        `Factor` of the whole matrix, for determinant, inertia, selected inverse and so on, with the
        rows in the order of the matrix. If `solve` uses other factors, its first use factorizes the
        matrix again.
    """

    def __init__(self, A: Any, permc_spec: Any = None) -> None:
        if not issparse(A):
            A = _sparse(A)
        if A.dtype.kind in "biu":
            A = A.astype(float)
        _check_square(A)
        if not isinstance(permc_spec, str | None):
            kind = type(permc_spec).__name__
            raise TypeError(
                f"permc_spec is a {kind}, not a string; splu(A).solve(b) solves A x = b"
            )
        if permc_spec not in ORDERINGS:
            raise ValueError(
                f"permc_spec {permc_spec!r} is unknown; use {', '.join(map(repr, ORDERINGS[1:]))}"
            )
        self._natural = permc_spec == "NATURAL"
        self.shape, self.dtype = A.shape, A.dtype
        self._small: SmallFactor | None = None if self._natural else SmallFactor.of(A)
        if self._small is None:
            self._begin(A)

    def _begin(self, A: Any) -> None:
        """Factorize the first matrix, with little analysis."""
        if A.format not in ("csr", "csc"):
            A = canonical(A)
        if self._natural:
            self._analyze(A)
        elif self._may_share_nodes(A) and has_similar_rows(A):
            self._analyze(A, once=True)
        elif (status := self._in_one_pass(A)) != GOOD:
            self._analyze(A, once=True, status=status)

    @staticmethod
    def _may_share_nodes(A: Any) -> bool:
        """True if nodes of similar rows, if there are any, take less time than one pass."""
        n = A.shape[0]
        return bool(FEWEST_SHARED * n <= A.nnz < DENSE_MATRIX * n * n)

    def _clear(self) -> None:
        """No factors."""
        self._rows: Any = None
        self._system: System | None = None
        self._factor: Factor | None = None
        self._columns: tuple[Array, Array, Array] | None = None  # of `_by_rows`
        self._stale = False  # if system and factor are of an earlier matrix
        self._one_pass: OnePassLU | None = None
        self._lu: SparseLUFactor | None = None
        self._blocks: FoundBlocks | None = None
        self._uses_lu = self._once = False
        self._solves = 0  # in one pass

    def _in_one_pass(self, A: Any) -> int:
        """Make factors in one pass; a status."""
        found = OnePassLU.of(A)
        if isinstance(found, int):
            return found
        self._clear()
        self._one_pass = found
        return GOOD

    def _analyze(
        self, A: Any, once: bool = False, status: int | None = None, symmetric: bool = True
    ) -> None:
        """Analyze a matrix, and factorize it; ``symmetric`` looks for that in values.

        ``once`` saves analysis. Unless there is a ``status`` of factors in one pass, rows are known
        to be similar, and these factors are tried where their nodes do not suit.
        """
        rows = canonical(A)
        self._clear()
        self.shape, self.dtype, self._once = rows.shape, rows.dtype, once
        self._rows = rows if A.format == "csc" else rows.copy()  # those of A may change
        mirrored = mirror(rows) if rows.nnz else None
        equal = symmetric and mirrored is not None and self.dtype.kind == "f"
        same = mirrored if equal and np.array_equal(rows.data, rows.data[mirrored]) else None
        if self._natural or not rows.nnz:
            self._blocks = self._with_nodes(None, None)
        else:
            fewest = FEWEST_NODES if once else 0
            similar = (once and status is None) or has_similar_rows(rows, fewest)
            partition = find_partition(rows, mirrored) if similar else None
            if partition is not None:
                self._blocks = self._by_partition(partition, same)
            if self._blocks is None and self._lu is None:
                if once and status is None and (status := self._in_one_pass(rows)) == GOOD:
                    return
                self._choose(rows, mirrored, same, status == EXPENSIVE)
        self._uses_lu = self._lu is not None
        if self._blocks is not None:
            self._factor_of(self._blocks)  # now, to refuse what is singular

    def _with_nodes(self, partition: Partition | None, mirrored: Array | None) -> FoundBlocks:
        """System of nodes, analyzed."""

        def analyze(system: System) -> Any:
            order: Any = list(system.labels) if self._natural else "auto"
            return system.analyze(order, effort=ONCE if self._once else REPEATED)

        return FoundBlocks(self._rows, partition, mirrored, analyze)

    def _by_partition(self, partition: Partition, same: Array | None) -> FoundBlocks | None:
        """Factors by nodes of similar rows; None if others take less time, which may be made."""
        small = self.shape[0] <= SMALL_NODES * partition.size.size
        found = self._with_nodes(partition, same)
        if small or same is None:
            refines, suffices = found.judge_pivots()
            if same is None and not suffices:  # unsymmetric fronts take several times as long
                return None
            if small and refines and not self._once:
                form, most = block_triangular_form(self._rows), SPARSE_WEAK * self._rows.nnz
                if form is not None:
                    self._lu = SparseLUFactor.of(self._rows, form, most, False)
                if self._lu is not None:
                    return None
        try:
            self._factor_of(found)
        except SingularPivotError:
            return None
        return found

    def _choose(
        self, rows: Any, mirrored: Array | None, same: Array | None, expensive: bool
    ) -> None:
        """Make sparse LU factors, or a `Factor` by equal rows that follow each other."""
        if self._once and mirrored is not None:
            self._blocks = self._with_nodes(None, None)  # a search for pivots takes longer
            return
        form, most = block_triangular_form(rows), SPARSE * rows.nnz
        if mirrored is None and not _is_nearly_symmetric(rows):
            most = max(most, min(SPARSE_BEFORE_DELAYS * rows.nnz, SPARSE_AT_MOST))
        blocks: FoundBlocks | None = None
        whole = form is not None and form.block.size == 2
        sparse = form is not None and not expensive
        # Of chains a `Factor` takes 0.5 of the time; to order weak pivots takes longer than that.
        if whole and mirrored is not None and (rows.nnz >= MESH or _is_easy_tree(rows)):
            blocks = self._with_nodes(None, same)
            sparse = self._fills_little(blocks)
        if form is not None and sparse:
            self._lu = SparseLUFactor.of(self._rows, form, most, self._once, mirrored)
        if self._lu is not None:
            return
        self._blocks = blocks or self._with_nodes(None, same)
        if form is not None and self._factor_of(self._blocks).delayed_pivots > 0 and same is None:
            most = SPARSE_BEFORE_DELAYS * rows.nnz
            self._lu = SparseLUFactor.of(self._rows, form, most, self._once, mirrored)
            self._blocks = None if self._lu is not None else self._blocks

    def _fills_little(self, blocks: FoundBlocks) -> bool:
        """True if a `Factor` has small panels and takes few operations.

        That of larger blocks is faster, and those of blocks of two rows, of chains and trees are
        unless their solves refine.
        """
        found, size = blocks.symbolic, blocks.system.graph.size
        if size.max() > 2:
            return False
        tree = is_nodal(found.program, self.dtype) and (size.max() == 2 or found.n_fill == 0)
        operations = found.operations * (2.0 if found.symmetric else 1.0)
        if not tree and operations > SPARSE_MESH * self._rows.nnz:
            return False
        return bool((size.max() == 1 and not tree) or blocks.judge_pivots()[0])

    def _factor_of(self, blocks: FoundBlocks) -> Factor:
        """Factors of blocks; a singular matrix is refused by its rows."""
        try:
            return blocks.factor
        except SingularPivotError as failure:
            raise _in_rows(blocks, failure) from failure

    def _without_small(self) -> None:
        """Sparse factors in place of dense ones, before attributes are read that these lack."""
        if self._small is not None:
            with _analyzing:
                if (small := self._small) is not None:  # not by another thread meanwhile
                    made = object.__new__(type(self))
                    made.__dict__.update(self.__dict__, _small=None)
                    made._begin(small.matrix())
                    self.__dict__.update(made.__dict__)  # all at once

    def _for_repeats(self) -> None:
        """Analysis of the pattern for factors that take little time to repeat."""
        self._without_small()
        with _analyzing:
            if self._one_pass is not None or self._once:
                made = object.__new__(type(self))
                made.__dict__.update(self.__dict__)
                made._analyze(self._first_rows())
                self.__dict__.update(made.__dict__)

    def _analyze_instead(self, A: Any) -> None:
        """Analysis of another matrix with the pattern of the first."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _small=None)
        small = self._small
        other._rows = canonical(self._first_rows() if small is None else small.matrix())
        A = other._rows_of(other._entries(A))
        try:
            other._analyze(A)
        finally:  # which does not solve if A is singular
            self.__dict__.update(other.__dict__)

    def _count(self, rhs: Array) -> None:
        """Count right-hand sides: `MOST_SOLVES` are worth nodes of similar rows."""
        columns = rhs.shape[1] if rhs.ndim == 2 else 1
        before, self._solves = self._solves, self._solves + columns
        if before <= MOST_SOLVES < self._solves and has_similar_rows(self._first_rows()):
            with suppress(SingularPivotError):  # in single precision: the others stay
                self._for_repeats()

    def _first_rows(self) -> Any:
        """The first matrix by rows; also for `system` and `factor`."""
        if self._rows is None and self._one_pass is not None:
            self._rows = self._one_pass.matrix()
        return self._rows

    @property
    def system(self) -> System:
        """The matrix as a `System`."""
        self._without_small()
        blocks, rows = self._blocks, self._first_rows()
        if blocks is not None and blocks.is_plain:
            return blocks.system
        if self._uses_lu and self._lu is not None:
            rows.data = self._lu.data.copy()
        elif blocks is not None:
            rows.data = blocks.entries()
        if self._system is None:
            self._system = System.from_scipy(rows)
        elif self._stale:
            self._system.set_from_scipy(rows)
        return self._system

    @property
    def factor(self) -> Factor:
        """Factorization of the whole matrix."""
        system, blocks = self.system, self._blocks
        if blocks is not None and blocks.is_plain:
            return self._factor_of(blocks)
        try:
            if self._factor is None:
                self._factor = system.factorize(system.analyze(effort=REPEATED))
            elif self._stale:
                self._factor.refactorize(system.values)
        except SingularPivotError as failure:
            raise _in_rows(system, failure) from failure
        self._stale = False
        return self._factor

    @property
    def diagonal_blocks(self) -> int:
        """Number of blocks of the block triangular form; 1 if it is not used."""
        self._without_small()
        if self._one_pass is not None:
            return self._one_pass.diagonal_blocks
        return self._lu.form.block.size - 1 if self._lu and self._uses_lu else 1

    @property
    def nnz(self) -> int:
        """Number of entries stored for the factors."""
        self._without_small()
        if self._one_pass is not None:
            return self._one_pass.nnz
        if self._lu is not None and self._uses_lu:
            return self._lu.nnz
        symbolic = self.factor.symbolic if self._blocks is None else self._blocks.symbolic
        return int(symbolic.arena_size)

    def solve(self, rhs: Any, trans: str = "N") -> Array:
        """Solve A x = rhs.

        Parameters
        ----------
        rhs : array_like, shape (N,) or (N, k)
        trans : {"N", "T", "H"}, optional
            Solve with A, its transpose, or its conjugate transpose.

        Returns
        -------
        ndarray, shape of rhs

        Raises
        ------
        ValueError
            If rhs has the wrong shape or is not finite.
        OverflowError
            If the solution overflows.
        """
        rhs = np.asarray(rhs)
        if rhs.dtype.kind == "b" or not rhs.flags.aligned:
            rhs = rhs.astype(self.dtype if rhs.dtype.kind == "b" else rhs.dtype)
        if (small := self._small) is not None:
            if trans == "N" and (x := small.solve(rhs)) is not None:
                return x
            self._without_small()
        if self._one_pass is not None:
            self._count(rhs)
        lu = self._one_pass or (self._lu if self._uses_lu else None)
        if lu is not None and (x := lu.solve(rhs, trans)) is not None:
            return x
        if self._blocks is not None:
            return self._blocks.solve(rhs, trans)
        factor = self._factor
        if factor is None or self._stale:
            factor = self.factor
        return np.asarray(factor.solve(rhs, trans))

    def as_linear_operator(self) -> Any:
        """The inverse as a `scipy.sparse.linalg.LinearOperator`: a preconditioner, or ``OPinv``.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator, shape (N, N)
        """
        return linear_operator(self.solve, self.shape, self.dtype)

    def refactorize(self, A: Any) -> None:
        """Factorize another matrix with the same pattern; scipy has no such method.

        An unsymmetric matrix after symmetric ones is analyzed again.

        Parameters
        ----------
        A : scipy sparse matrix or array, shape (N, N)
            Without entries outside the pattern of the first. CSR and CSC matrices with equal
            patterns and types are fastest.

        Raises
        ------
        ValueError
            For another shape or pattern; the factors are kept.
        SingularPivotError
            If the matrix is singular.
        """
        if not issparse(A):
            if (dense := _dense(A)).ndim == 1:
                raise ValueError(f"refactorize takes a matrix of shape {self.shape}, not its data")
            A = _sparse(dense)
        if A.dtype.kind == "b":
            A = A.astype(float)
        if self._small is not None or self._one_pass is not None or self._once:
            try:
                self._for_repeats()
            except SingularPivotError:  # the first matrix in single precision
                self._analyze_instead(A)
                return
        if self._lu is None:
            self._refactorize_blocks(A)
            return
        status, form = OTHER_PATTERN, getattr(A, "format", "")
        if form == "csr" and A.shape == self.shape:
            values = A.data
            status = self._lu.refactorize(A.indptr, A.indices, values)
        elif form == "csc" and (by_rows := self._by_rows(A)) is not None:
            values = by_rows
            status = self._lu.refactorize(self._rows.indptr, self._rows.indices, values)
        if status == OTHER_PATTERN:
            values = self._entries(A)
            status = self._lu.refactorize(self._rows.indptr, self._rows.indices, values)
        self._stale, self._uses_lu = True, status == DONE
        if status != DONE:
            self._rows.data = values.copy()
            self._factor = self.factor  # now, to refuse what is singular

    def _refactorize_blocks(self, A: Any) -> None:
        """`refactorize` by blocks; a matrix that is not symmetric any more is analyzed anew."""
        blocks = self._blocks
        assert blocks is not None
        status = blocks.load(A)
        if status != PLACED:
            if blocks.is_plain:
                self._refuse_complex(A)
                blocks.system.set_from_scipy(A)
                status = PLACED
            else:
                A = self._rows_of(self._entries(A))
                status = blocks.load(A)
        self._stale = True
        if status == UNSYMMETRIC:
            other = object.__new__(type(self))
            other.__dict__.update(self.__dict__)
            blocks.factor._forget()  # of an earlier matrix
            other._analyze(self._rows_of(self._entries(A)), symmetric=False)
            self.__dict__.update(other.__dict__)
            return
        try:
            blocks.factor.refactorize(blocks.system.values)
        except SingularPivotError as failure:
            raise _in_rows(blocks, failure) from failure

    def _rows_of(self, entries: Array) -> Any:
        """Matrix with the pattern of the first."""
        return csr_array((entries, self._rows.indices, self._rows.indptr), self.shape)

    def _by_rows(self, A: Any) -> Array | None:
        """Entries by rows of a CSR or CSC matrix with the pattern of the first; None for others."""
        form, rows = getattr(A, "format", ""), self._rows
        if form not in ("csr", "csc") or A.shape != self.shape:
            return None
        if form == "csr":
            start, index, at = rows.indptr, rows.indices, None
        else:
            if self._columns is None:
                self._columns = by_columns(rows.indptr, rows.indices)
            start, index, at = self._columns
        if not np.array_equal(A.indptr, start) or not np.array_equal(A.indices, index):
            return None
        found: Array = A.data if at is None else A.data[at]
        return found

    def __copy__(self) -> FactorizedMatrix:
        return copy.deepcopy(self)  # factors of its own: `refactorize` works in place

    def __repr__(self) -> str:
        return f"FactorizedMatrix({self.shape[0]} rows, {self.dtype})"

    def _refuse_complex(self, A: Any) -> None:
        """TypeError for complex numbers where those before were real."""
        if np.iscomplexobj(A) and self.dtype.kind != "c":
            raise TypeError(f"A is complex, the first matrix was {self.dtype}: call splu(A)")

    def _entries(self, A: Any) -> Array:
        """Entries of another matrix, in the pattern of the first."""
        old, n = self._rows, self.shape[0]

        new = canonical(A)
        if new.shape != self.shape:
            raise ValueError(f"A has shape {new.shape}, the first matrix has {self.shape}")
        self._refuse_complex(new)
        given = as_numbers(new.data, self.dtype, "A")
        names = [np.repeat(np.arange(n), np.diff(one.indptr)) * n + one.indices
                 for one in (old, new)]  # fmt: skip
        place = np.searchsorted(*names)
        outside = np.flatnonzero(np.append(names[0], -1)[place] != names[1])
        if outside.size:
            i, j = divmod(int(names[1][outside[0]]), n)
            raise ValueError(
                f"A[{i}, {j}] lies outside the pattern of the first matrix: factorize A anew, or "
                "give the first matrix an entry there, which may be 0"
            )
        entries = np.zeros(old.nnz, self.dtype)
        entries[place] = given
        return entries


for _name, _why in _ELSEWHERE.items():
    setattr(FactorizedMatrix, _name, _without_a_meaning(_name, _why))


def _in_rows(system: System | FoundBlocks, failure: SingularPivotError) -> SingularPivotError:
    """Error for a singular matrix in the rows of the user instead of nodes."""
    row: Callable[[Any], int] = int
    if isinstance(system, FoundBlocks):
        row, system = system.row, system.system
    A = system.to_scipy()
    A.eliminate_zeros()
    bare, idle = (sorted(map(row, np.flatnonzero(of < 0))) for of in maximum_matching(A))
    if bare:
        return SingularPivotError(
            f"the matrix is structurally singular: no pivot is left for {_some('row', bare)}; none "
            f"is left for {_some('column', idle)} either: add entries there, or remove both",
            bare[0], failure.step, failure.ratio,
        )  # fmt: skip
    node = system.graph.node(failure.node)
    first, size = int(system.graph.row_start[node]), int(system.graph.size[node])
    own = sorted(row(k) for k in range(first, first + size))
    where = f"row {own[0]}"
    if size > 1:
        named = f"{own[0]} to {own[-1]}"
        if own[-1] - own[0] >= size:
            named = ", ".join(map(str, own[:SHOWN])) + (", ..." if size > SHOWN else "")
        where = f"one of the rows {named}"
    return SingularPivotError(
        f"the matrix is singular to working precision at {where}: the smallest pivot is "
        f"{failure.ratio:.1e} of what its row held; add to its diagonal, or remove rows that "
        "depend on others, and as many columns",
        own[0], failure.step, failure.ratio,
    )  # fmt: skip


def _some(what: str, numbers: list[int]) -> str:
    """The first of some rows or columns, and how many more there are."""
    more = f" and {len(numbers) - SHOWN} more" if len(numbers) > SHOWN else ""
    return f"{what}{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:SHOWN]))}{more}"


def _is_nearly_symmetric(rows: Any) -> bool:
    """True if most entries have one across the diagonal."""
    n = rows.shape[0]
    row, column = np.repeat(np.arange(n), np.diff(rows.indptr)), rows.indices.astype(np.int64)
    place, across = row * n + column, column * n + row
    found = place[np.minimum(np.searchsorted(place, across), place.size - 1)] == across
    return bool(found.mean() >= SYMMETRIC)


def _is_easy_tree(rows: Any) -> bool:
    """True for a real tree of single rows whose largest entries are on the diagonal."""
    if rows.nnz >= 3 * rows.shape[0] or rows.dtype.kind == "c":
        return False
    largest = abs(rows).max(axis=1).toarray().ravel()
    return bool((np.abs(rows.diagonal()) >= largest).all())


def splu(
    A: Any,
    permc_spec: str | None = None,
    diag_pivot_thresh: float | None = None,
    relax: int | None = None,
    panel_size: int | None = None,
    options: Any = None,
) -> FactorizedMatrix:
    """Factorize a sparse matrix, as `scipy.sparse.linalg.splu` does.

    Parameters
    ----------
    A : scipy sparse matrix or array, shape (N, N)
        Of any format; integers become float64.
    permc_spec : {"NATURAL", "COLAMD", "MMD_ATA", "MMD_AT_PLUS_A"}, optional
        "NATURAL" uses the order of the rows, or one with the same fill-in. All others choose the
        order by values and fill-in.
    diag_pivot_thresh, relax, panel_size, options
        Options of SuperLU, without effect.

    Returns
    -------
    FactorizedMatrix
        With `solve`, `shape` and `nnz` as in scipy. It has no `L`, `U`, `perm_r` and `perm_c`,
        because pivot blocks are stored as inverses.

    Raises
    ------
    SingularPivotError
        If the matrix is singular; the error's attribute `node` is a row without a pivot. scipy
        raises a RuntimeError.
    ValueError, TypeError
        If A is not square, not finite or not numeric.

    Notes
    -----
    The first `FactorizedMatrix.refactorize` takes longer than the first factorization and later
    ones, because it analyzes the pattern. Factors of float32 and complex64 are in double precision
    before it, except for matrices with much fill-in, and in single precision after it: rows far
    smaller than others may lose digits then, as with SuperLU.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csc_array
    >>> A = csc_array(np.array([[4.0, 1.0], [2.0, 3.0]]))
    >>> print(splu(A).solve(np.array([6.0, 8.0])))
    [1. 2.]
    """
    return FactorizedMatrix(A, permc_spec)


def factorized(A: Any) -> Callable[[Any], Array]:
    """Return a function that solves A x = b, as `scipy.sparse.linalg.factorized` does.

    Parameters
    ----------
    A : scipy sparse matrix or array, shape (N, N)

    Returns
    -------
    callable
        ``x = solve(b)``, b of shape (N,) or (N, k).

    Raises
    ------
    SingularPivotError, ValueError, TypeError
        As `splu`.
    """
    return splu(A).solve


def spsolve(A: Any, b: Any, permc_spec: str | None = None, use_umfpack: Any = None) -> Any:
    """Solve A x = b once, as `scipy.sparse.linalg.spsolve` does.

    Parameters
    ----------
    A : scipy sparse matrix or array, shape (N, N)
    b : array_like or scipy sparse matrix or array, shape (N,), (N, 1) or (N, k)
    permc_spec : str, optional
        As for `splu`.
    use_umfpack : bool, optional
        No effect.

    Returns
    -------
    ndarray, shape (N,) or (N, k)
        A column b of shape (N, 1) gives shape (N,). A sparse b of several columns gives a sparse
        matrix of the type of A, or csc_array if A is neither CSR nor CSC.

    Raises
    ------
    SingularPivotError
        If the matrix is singular; scipy warns and returns nan.
    OverflowError
        If the solution overflows.
    ValueError, TypeError
        As `splu`, and for b of the wrong length.
    """
    if not issparse(A):
        A = _sparse(A)
    sparse = issparse(b) and b.ndim == 2 and b.shape[1] > 1
    right: Any = b if sparse else np.asarray(b.toarray() if issparse(b) else b)
    if right.ndim not in (1, 2) or right.shape[0] != A.shape[0]:
        _check_square(A)
        raise ValueError(f"b has shape {right.shape}, the matrix has shape {A.shape}")
    if right.dtype.kind not in "biufc":
        raise TypeError(f"b is not an array of numbers but of type {right.dtype}")
    dtype = np.result_type(A.dtype, right.dtype, np.float32)
    factors = FactorizedMatrix(A.astype(dtype, copy=False), permc_spec)
    right = right.astype(dtype, copy=False)
    if not sparse:
        one = right.ndim == 2 and right.shape[1] == 1
        return factors.solve(right.ravel() if one else right)
    right = right.tocsc()
    parts = [csc_array(factors.solve(right[:, at : at + AT_ONCE].toarray()))
             for at in range(0, right.shape[1], AT_ONCE)]  # fmt: skip
    return (type(A) if A.format in ("csr", "csc") else csc_array)(hstack(parts, format="csc"))


def _check_square(A: Any) -> None:
    """ValueError for a matrix that is not square."""
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"the matrix must be square, its shape is {A.shape}")


def _sparse(A: Any) -> Any:
    """Sparse array of a dense matrix."""
    dense = np.atleast_2d(_dense(A))
    _check_square(dense)
    return csc_array(dense)


def _dense(A: Any) -> Array:
    """Array of numbers that scipy's matrices take."""
    if isinstance(A, System):
        raise TypeError("A is a System: call its solve(b) or factorize(), or give its to_scipy()")
    try:
        dense = np.asarray(A)
    except ValueError:  # rows of different lengths
        dense = np.empty(0, object)
    if dense.dtype.kind not in "biufc":
        raise TypeError(f"A is a {type(A).__name__}, no matrix of numbers")
    return dense.astype(np.float32) if dense.dtype == np.float16 else dense
