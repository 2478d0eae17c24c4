"""Numeric factorization of a system, and solves with it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphsys.accuracy import Matrix, inertia, residual, slogdet
from graphsys.block import as_values
from graphsys.direct import Direct
from graphsys.gradient import values_gradient
from graphsys.graph import BlockGraph
from graphsys.numeric import Numeric
from graphsys.redundancy import Regularized
from graphsys.selected_inverse import SelectedInverse, selected_inverse
from graphsys.solution import UNREFINED, Solver, SolveReport, linear_operator
from graphsys.symbolic import Symbolic, analyze

if TYPE_CHECKING:
    from graphsys.system import System

Array = NDArray[Any]

#: Solves are checked and refined when a pivot is smaller than this beside what its block held.
DOUBTFUL = 0.05


def factorize(
    system: System,
    symbolic: Symbolic | None = None,
    *,
    refine: bool | None = None,
    redundant: bool = False,
    threads: int = 1,
) -> Factor:
    """Numeric factorization of a system.

    Parameters
    ----------
    system : System
    symbolic : Symbolic, optional
        From `System.analyze`; made here with the automatic ordering by default.
    refine : bool, optional
        Whether solves compute their residual and refine until it is at rounding level. By default
        they do when a pivot was small beside what its block held before.
    redundant : bool, optional
        Whether constraint rows (zero in the diagonal block) may depend on each other. Multipliers
        then stay small, all solves refine, and a b that contradicts itself is refused.
    threads : int, optional
        How many factorize together, to the same result; small and narrow systems stay with one.

    Returns
    -------
    Factor

    Raises
    ------
    SingularPivotError
        Where a pivot block is singular in every order that was tried.
    ValueError
        Where a block has entries that are not finite, or `symbolic` is of another graph.
    """
    if symbolic is None:
        symbolic = analyze(system.graph, values=system.values, symmetric=system.symmetric)
    elif not symbolic.graph.lies_like(system.graph) or symbolic.symmetric != system.symmetric:
        raise ValueError(f"{symbolic!r} is not of this system: use what its analyze() returns")
    return Factor(symbolic, system.values, refine=refine, redundant=redundant, threads=threads)


class Factor:
    """Block L D U factors of a matrix; `solve` uses them, `refactorize` replaces them.

    Parameters
    ----------
    symbolic : Symbolic
    values : ndarray, shape (symbolic.graph.nnz,)
        Blocks in the layout of the graph, copied when solves have to refine; `residual`,
        `backward_error` and `rcond` otherwise read them where they are: leave them as they were.
    refine, redundant, threads : optional
        As for `factorize`.

    """

    def __init__(
        self,
        symbolic: Symbolic,
        values: Array,
        *,
        refine: bool | None = None,
        redundant: bool = False,
        threads: int = 1,
    ) -> None:
        self.dtype = np.asarray(values).dtype
        self._told: SolveReport | tuple[int, float] = UNREFINED
        kind = Regularized if redundant else Numeric
        enough = DOUBTFUL if refine is None else np.inf if refine else 0.0
        self._numeric = kind(symbolic, self.dtype, threads=threads, enough=enough)
        self._nnz, self._enough = symbolic.graph.nnz, enough  # refined below that pivot ratio
        self._solver: Solver | None = None
        self._direct: Direct | None = None  # the short way for solves
        self._once: Direct | None = None  # and for factorizations
        self._refining: Matrix | None = None  # where solves refine
        self._checked: Matrix | None = None
        self.refactorize(values)

    @property
    def symbolic(self) -> Symbolic:
        """Symbolic factorization in use: another than was given where a pivot was singular."""
        return self._numeric.symbolic

    @property
    def graph(self) -> BlockGraph:
        """The graph of the matrix."""
        return self.symbolic.graph

    @property
    def pivot_ratio(self) -> float:
        """Smallest pivot beside what its row ever held in its block: small if digits were lost."""
        return self._numeric.pivot_ratio

    @property
    def refactorized(self) -> int:
        """Supernodes that the last factorization computed."""
        return self._numeric.factorized

    @property
    def redundant(self) -> dict[Hashable, int]:
        """Constraint rows that depend on others, by node; empty without ``redundant=True``."""
        return self._numeric.redundant

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix."""
        return self.graph.rows, self.graph.rows

    @property
    def report(self) -> SolveReport:
        """What the last solve took."""
        return SolveReport(*self._told) if isinstance(self._told, tuple) else self._told

    @property
    def nbytes(self) -> int:
        """Bytes of the factors."""
        return self._numeric.arena.nbytes

    def refactorize(self, values: Any, changed: Iterable[Hashable] | None = None) -> Factor:
        """Factors of another matrix on the same graph; everything symbolic is reused.

        Parameters
        ----------
        values : array_like, shape (graph.nnz,)
            Blocks in the layout of the graph, of the type of this factor.
        changed : iterable of labels, optional
            Nodes whose diagonal block is another than last time, and both ends of each edge with
            another block; all by default. Only they and their ancestors in the elimination tree
            are computed anew, the result is the same.

        Returns
        -------
        Factor
            This one. Where a pivot turns out singular, an order that avoids it replaces the old
            one.

        Raises
        ------
        SingularPivotError
            As for `factorize`; the factor cannot solve before the next `refactorize` then.
        ValueError
            Where `values` has another shape or entries that are not finite.
        """
        if changed is None and self._once is not None and self._once.factorize(values):
            if self._refining is None and self._once.ratio >= self._enough:
                self._values, self._checked = values, None  # as `_remember` would
            else:
                self._remember(values, self._once.ratio < self._enough)
            return self
        values = as_values(values, self.dtype, self._nnz)
        nodes = None
        if changed is not None and self._solver is not None:
            nodes = np.array([self.graph.node(label) for label in changed], np.int64)
        self._solver = self._direct = self._once = self._checked = None
        numeric = self._numeric
        numeric.factorize(values, nodes)
        doubtful = numeric.pivot_ratio < self._enough or (numeric.suspect and self._enough > 0.0)
        self._remember(values, doubtful or numeric.must_refine)
        self._direct = None if numeric.must_refine else numeric.direct
        self._once = self._direct if numeric.plain else None
        return self

    def _remember(self, values: Array, refine: bool) -> None:
        """Hold a matrix: as it is, or copied where solves refine with it."""
        if refine or self._refining is not None or self._solver is None:
            self._solver = self._numeric.solver(values if refine else None)
            self._refining = self._solver.matrix
        self._checked = self._refining
        self._values = values if self._checked is None else self._checked.values

    def solve(self, b: Any, trans: str = "N", *, out: Array | None = None) -> Any:
        """Solution of A x = b.

        Parameters
        ----------
        b : array_like, shape (N,) or (N, k), or {label: vector}
            Right-hand sides; cast to the type of the factor, but for a complex one of a real
            factor.
        trans : {"N", "T", "H"}, optional
            Solve with A, its transpose, or its conjugate transpose.
        out : ndarray, shape of b, optional
            Where to put the solution.

        Returns
        -------
        ndarray, shape of b, or {label: vector} for such a b

        Raises
        ------
        ValueError
            Where b or `out` has another shape, b is not finite, or `trans` is unknown.
        SingularPivotError
            Where refinement cannot bring the residual down: the factors are useless.

        Warns
        -----
        InaccurateSolutionWarning
            Where refinement leaves a residual well above rounding level.
        """
        if self._direct is not None and trans == "N" and out is None:
            if self._refining is not None:
                if (told := self._direct.solve_refined(b, self._refining)) is not None:
                    solution, self._told = told
                    return solution
            elif (x := self._direct.solve(b)) is not None:
                self._told = UNREFINED
                return x
        solution, self._told = self._ready().solve(b, trans, out)
        return solution

    def refactorize_and_solve(self, values: Any, b: Any) -> Any:
        """`refactorize` and then `solve` in one call, which is quicker for systems of a few nodes.

        Parameters
        ----------
        values : array_like, shape (graph.nnz,)
        b : array_like, shape (N,) or (N, k), or {label: vector}

        Returns
        -------
        ndarray, shape of b, or {label: vector} for such a b

        Raises
        ------
        SingularPivotError, ValueError
            As for `refactorize` and `solve`, which may warn as well.
        """
        if self._once is not None and self._refining is None:
            if (x := self._once.factorize_and_solve(values, b)) is not None:
                self._values, self._checked, self._told = values, None, UNREFINED
                return x
        return self.refactorize(values).solve(b)

    def _ready(self) -> Solver:
        if self._solver is not None:
            return self._solver
        raise ValueError("the last refactorize failed, so there are no factors to solve with")

    def solve_gradient(self, x: Any, g: Any) -> tuple[Array, Any]:
        """Gradients of a real function f(x) of a solution x = A^-1 b in A and in b.

        ``df = Re(sum(conj(values_gradient) * dvalues)) + Re(sum(conj(b_gradient) * db))`` for any
        change of A on its pattern; the conjugates matter to complex systems only.

        Parameters
        ----------
        x : array_like, shape (N,) or (N, k), or {label: vector}
            Solution.
        g : array_like, shape of x, or {label: vector}
            Gradient of f in x, ``df = Re(sum(conj(g) * dx))``: df/dRe x + i df/dIm x.

        Returns
        -------
        values_gradient : ndarray, shape (graph.nnz,)
            Blocks ``-lam_i x_j^H`` laid out as `System.values`, summed over the columns. Of a
            symmetric system it is symmetric, as every change then is: a change of the pair that
            ``system[u, v] = block`` sets meets block (u, v) and (v, u), hence twice block (u, v).
        b_gradient : ndarray, shape of g, or {label: vector}
            The adjoint lam, ``A^H lam = g``: one solve, all that this costs beside the blocks.

        Raises
        ------
        ValueError
            As for `solve`, and where x and g have different shapes.
        """
        lam = self.solve(g, "H")
        return values_gradient(self.graph, self.dtype, self.symbolic.symmetric, x, lam), lam

    def selected_inverse(self) -> SelectedInverse:
        """Blocks of A^-1 on the nodes and edges of the graph, for about two factorizations' cost.

        ``inverse[u, u]`` is the marginal covariance of node u where A is a precision matrix. The
        blocks come from the factors alone, without refinement.

        Returns
        -------
        SelectedInverse

        References
        ----------
        .. [1] A. M. Erisman and W. F. Tinney, On computing certain elements of the inverse of a
           sparse matrix, Comm. ACM 18, 1975.
        """
        self._ready()
        self._numeric.warn_of_lost_digits("the selected inverse")
        return selected_inverse(self.symbolic, self._numeric.arena)

    def _matrix(self) -> Matrix:
        if self._checked is None:
            self._checked = Matrix(self.graph, self._values)
        return self._checked

    def residual(self, x: Any, b: Any) -> Array:
        """b - A x.

        Parameters
        ----------
        x, b : array_like, shape (N,) or (N, k)

        Returns
        -------
        ndarray, shape of b
        """
        return residual(self._matrix(), b, x)

    def backward_error(self, x: Any, b: Any) -> float:
        """Largest ``|A x - b| / (|A| |x| + |b|)`` in the maximum norm.

        Parameters
        ----------
        x, b : array_like, shape (N,) or (N, k)

        Returns
        -------
        float
        """
        r, b, x = (v.ravel(order="F") for v in (self.residual(x, b), np.asarray(b), np.asarray(x)))
        return self._matrix().backward_error(r, b, x, b.size // max(self.shape[0], 1), False)

    def slogdet(self) -> tuple[Any, float]:
        """Sign (or phase) of the determinant, and logarithm of its magnitude."""
        self._numeric.warn_of_lost_digits("the determinant")
        return slogdet(self.symbolic.program, self._numeric.arena)

    def inertia(self) -> tuple[int, int]:
        """Numbers of positive and negative eigenvalues of a symmetric matrix (Sylvester's law).

        Returns
        -------
        positive, negative : int

        Raises
        ------
        ValueError
            Where the factorization is not of a real symmetric system.
        """
        if not self.symbolic.symmetric or self.dtype.kind == "c":
            raise ValueError("inertia needs a real system made with symmetric=True")
        self._numeric.warn_of_lost_digits("the inertia")
        return inertia(self.symbolic.program, self._numeric.arena)

    def rcond(self) -> float:
        """Estimate of ``1 / (|A| |A^-1|)`` in the 1-norm, at the cost of a few solves.

        References
        ----------
        .. [1] N. J. Higham and F. Tisseur, A block algorithm for matrix 1-norm estimation, SIAM J.
           Matrix Anal. Appl. 21, 2000.
        """
        if self.shape[0] == 0:
            return 1.0
        from scipy.sparse.linalg import onenormest

        inverse = onenormest(self.as_linear_operator(), t=1)
        return 1.0 / (self._matrix().norm(True) * float(inverse))

    def as_linear_operator(self) -> Any:
        """The inverse as a `scipy.sparse.linalg.LinearOperator`, say to precondition with.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator, shape (N, N)
        """
        return linear_operator(self.solve, self.shape, self.dtype)

    def __repr__(self) -> str:
        return (
            f"Factor({self.shape[0]} unknowns, {self.symbolic.ordering} order, {self.dtype}, "
            f"pivot ratio {self.pivot_ratio:.1e})"
        )
