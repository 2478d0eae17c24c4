"""What numeric factors tell of their matrix: residuals, norms, determinant, inverse, gradients."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.matrix.block import as_plain
from graphsys.matrix.graph import BlockGraph
from graphsys.numeric.factorization import Numeric
from graphsys.numeric.gradient import values_gradient
from graphsys.numeric.residuals import Matrix, inertia, residual, slogdet
from graphsys.numeric.selected_inverse import SelectedInverse, selected_inverse
from graphsys.numeric.solver import linear_operator
from graphsys.symbolic import Symbolic

Array = NDArray[Any]


class Measures(ABC):
    """What a `Factor` tells of its matrix, beside solutions.

    Attributes
    ----------
    dtype : numpy.dtype
        Of the matrix and its factors.
    solve : method
        As `Factor.solve`.
    """

    dtype: np.dtype[Any]
    solve: Callable[..., Any]
    _numeric: Numeric
    #: What was factorized: as it was given, or held to check with from the first time that is done.
    _held: Array | Matrix

    @property
    def symbolic(self) -> Symbolic:
        """Symbolic factorization in use: another than was given where a pivot was singular."""
        return self._numeric.symbolic

    @property
    def graph(self) -> BlockGraph:
        """The graph of the matrix."""
        return self.symbolic.graph

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix."""
        return self.graph.rows, self.graph.rows

    def residual(self, x: Any, b: Any) -> Array:
        """b - A x.

        Parameters
        ----------
        x, b : array_like, shape (N,) or (N, k)

        Returns
        -------
        ndarray, shape of b

        Raises
        ------
        ValueError
            Where x or b has another shape.
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
            Without a unit; at rounding level, about the machine epsilon, after a good solve.

        Raises
        ------
        ValueError
            As for `residual`.
        """
        vectors = self.residual(x, b), as_plain(np.asarray(b)), as_plain(np.asarray(x))
        r, b, x = (vector.ravel(order="F") for vector in vectors)
        return self._matrix().backward_error(r, b, x, b.size // max(self.shape[0], 1), False)

    def slogdet(self) -> tuple[Any, float]:
        """Sign (or phase) of the determinant, and logarithm of its magnitude.

        Returns
        -------
        sign : float or complex
        logabsdet : float

        Raises
        ------
        ValueError
            Where the last `refactorize` failed.
        SingularPivotError
            Where the matrix is singular to working precision.

        Warns
        -----
        InaccurateSolutionWarning
            Where many digits are lost: the matrix is close to a singular one.
        """
        numeric = self._trusted("the determinant")
        sign, logarithm = slogdet(numeric.program, numeric.arena)
        if numeric.scaling is not None:
            logarithm -= numeric.scaling.logarithm()
        return sign, logarithm

    def inertia(self) -> tuple[int, int]:
        """Numbers of positive and negative eigenvalues of a symmetric matrix (Sylvester's law).

        Returns
        -------
        positive, negative : int

        Raises
        ------
        ValueError
            Where the factorization is not of a real symmetric system, or failed.
        SingularPivotError
            As for `slogdet`.

        Warns
        -----
        InaccurateSolutionWarning
            As for `slogdet`.
        """
        if not self.symbolic.symmetric or self.dtype.kind == "c":
            raise ValueError("inertia needs a real system made with symmetric=True")
        numeric = self._trusted("the inertia")
        return inertia(numeric.program, numeric.arena)

    def rcond(self) -> float:
        """Estimate of ``1 / (|A| |A^-1|)`` in the 1-norm, at the cost of a few solves.

        Returns
        -------
        float
            At most 1; about the machine epsilon where the matrix is singular to rounding, or where
            its rows differ as much; 0 where the norm of the inverse overflows.

        Raises
        ------
        ValueError, SingularPivotError
            As for `solve`.

        References
        ----------
        .. [1] N. J. Higham and F. Tisseur, A block algorithm for matrix 1-norm estimation, SIAM J.
           Matrix Anal. Appl. 21, 2000.
        """
        if self.shape[0] == 0:
            return 1.0
        from scipy.sparse.linalg import onenormest

        norm = self._matrix().norm(True)
        unit = 2.0 ** math.floor(math.log2(norm)) if 0.0 < norm < np.inf else 1.0

        def solve(b: Array, trans: str = "N") -> Array:  # of A / unit: its inverse overflows later
            solution: Array = self.solve(b * unit, trans)
            return solution

        try:
            inverse = onenormest(linear_operator(solve, self.shape, self.dtype), t=1)
        except OverflowError:
            return 0.0
        return 1.0 / (norm / unit * float(inverse))

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

        Raises
        ------
        ValueError
            Where the last `refactorize` failed.
        SingularPivotError
            As for `slogdet`.

        Warns
        -----
        InaccurateSolutionWarning
            As for `slogdet`.

        References
        ----------
        .. [1] A. M. Erisman and W. F. Tinney, On computing certain elements of the inverse of a
           sparse matrix, Comm. ACM 18, 1975.
        """
        numeric = self._trusted("the selected inverse")
        return selected_inverse(numeric.symbolic, numeric.arena, numeric.scaling)

    def as_linear_operator(self) -> Any:
        """The inverse as a `scipy.sparse.linalg.LinearOperator`, say to precondition with.

        Returns
        -------
        scipy.sparse.linalg.LinearOperator, shape (N, N)
        """
        return linear_operator(self.solve, self.shape, self.dtype)

    @abstractmethod
    def _trusted(self, what: str) -> Numeric:
        """Factors that are right by themselves, without refinement or regularization."""

    @abstractmethod
    def _ready(self) -> object:
        """Raise where the last factorization failed."""

    def _matrix(self) -> Matrix:
        if not isinstance(self._held, Matrix):
            self._held = Matrix(self.graph, as_plain(self._held))
        return self._held
