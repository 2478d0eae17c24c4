"""Sparse Cholesky factors with the names of scikit-sparse, and what Gauss-Markov fields need."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsys.errors import NotPositiveDefiniteError, SingularPivotError
from graphsys.factor import Factor
from graphsys.interop.cholesky_root import IndefiniteError, Root, Tables, is_sound, ranges
from graphsys.interop.symmetric_entries import SymmetricEntries
from graphsys.kernels.base.layout import ORDER_AT
from graphsys.matrix.block import HERMITIAN, as_numbers
from graphsys.matrix.from_scipy import canonical, find_equal
from graphsys.matrix.scipy_tables import checked
from graphsys.numeric.diagnosis import without_options
from graphsys.numeric.factorization import Factorization
from graphsys.numeric.selected_inverse import SelectedInverse, selected_inverse
from graphsys.symbolic import analyze
from graphsys.system import System

__all__ = ["CholeskyFactor", "cholesky", "cholesky_AAt"]

Array = NDArray[Any]
Ints = NDArray[np.int64]

#: Names that scikit-sparse has for orderings, and orderings here.
ORDERINGS = {
    "default": "auto",
    "best": "auto",
    "amd": "auto",
    "colamd": "auto",
    "natural": "natural",
    "metis": "nd",
    "nesdis": "nd",
}
#: Columns that are solved at once for entries of the inverse outside the pattern: 64 columns of
#: 100 000 rows take 50 MB.
COLUMNS = 64
#: Pivot ratio below which L has one row for each pivot block: errors of L L^T are about the machine
#: epsilon over the ratio, if L comes from inverses of larger blocks.
WEAK = 2.0**-8

Method = TypeVar("Method", bound=Callable[..., Any])


def _of_sparse_too(method: Method) -> Method:
    """A method of an array b, for a sparse b with a sparse result."""

    @wraps(method)
    def either(self: CholeskyFactor, b: Any, *args: Any, **options: Any) -> Any:
        if sp.issparse(b):
            return self._sparse(method(self, b.toarray(), *args, **options))
        return method(self, b, *args, **options)

    return either  # type: ignore[return-value]


class CholeskyFactor:
    """Cholesky factor of a sparse matrix, as scikit-sparse's `Factor`; made by `cholesky`.

    ``L @ L.T == A[P][:, P]`` with ``P = factor.P()`` and ``L = factor.L()``. For a complex
    Hermitian A, conjugate transposes replace transposes, as in scikit-sparse. Sparse results are
    sparse matrices (``*`` is the matrix product) if A is one, and sparse arrays if A is an array.
    Sparse right-hand sides give sparse solutions.

    Parameters
    ----------
    A : scipy sparse matrix or array, shape (N, N)
    beta : float, optional
    ordering_method : str, optional
        As for `cholesky`.

    Attributes
    ----------
    system : System
        The matrix in blocks.
    factor : Factor
        Its L D L^T factors by blocks.
    """

    def __init__(self, A: Any, beta: float = 0.0, ordering_method: str = "default") -> None:
        if ordering_method not in list(ORDERINGS):
            raise ValueError(
                f"ordering_method {ordering_method!r} is unknown; use one of {list(ORDERINGS)}"
            )
        full = _full(A, beta)
        self._matrices = sp.isspmatrix(A)
        self.system = System._from_rows(full, find_equal(full), None, HERMITIAN)
        ordering: Any = ORDERINGS[ordering_method]
        if ordering == "natural":
            ordering = list(self.system.labels)
        self._symbolic = self.system.analyze(ordering)  # of all roots; `factor` may take another
        self._tables: Tables | None = None
        self._selected: SelectedInverse | None = None
        self._root: Root | None = None
        self._entries: SymmetricEntries | None = None
        try:
            self.factor: Factor = self.system.factorize(self._symbolic)
        except SingularPivotError as failure:
            raise _singular(self.system, failure) from failure
        self._use()

    def __call__(self, b: Any) -> Any:
        """Solve A x = b, as `solve_A`."""
        return self.solve_A(b)

    def cholesky(self, A: Any, beta: float = 0.0) -> CholeskyFactor:
        """Factorize another matrix with the same pattern into a new factor; the analysis is shared.

        Parameters
        ----------
        A, beta
            As for `cholesky_inplace`.

        Returns
        -------
        CholeskyFactor

        Raises
        ------
        ValueError, NotPositiveDefiniteError
            As `cholesky_inplace`.
        """
        other = CholeskyFactor.__new__(CholeskyFactor)
        other.system, other._tables = self.system.copy(), self._tables
        other._symbolic = self._symbolic
        other._selected = other._root = None
        other._matrices, other._entries = self._matrices, self._entries
        other._load(A, beta)
        self._entries = other._entries
        try:
            other.factor = other.system.factorize(self._symbolic)
        except SingularPivotError as failure:
            raise _singular(self.system, failure) from failure
        other._use()
        return other

    def cholesky_inplace(self, A: Any, beta: float = 0.0) -> None:
        """Factorize A + beta I with the same pattern; the analysis is reused.

        Parameters
        ----------
        A : scipy sparse matrix or array, shape (N, N)
            Without entries outside the pattern of the first matrix; as for `cholesky`.
        beta : float, optional

        Raises
        ------
        ValueError
            For another shape or pattern; the factor is kept.
        NotPositiveDefiniteError
            If the matrix is not positive definite; the factor is then unusable until the next call.
        """
        self._load(A, beta)
        self._refactorize(None)

    def cholesky_AAt_inplace(self, A: Any, beta: float = 0.0) -> None:
        """Factorize A A^T + beta I (complex: A A^H), as `cholesky_inplace`.

        Parameters
        ----------
        A : scipy sparse matrix or array, shape (N, M)
        beta : float, optional

        Raises
        ------
        ValueError, NotPositiveDefiniteError
            As `cholesky_inplace`.
        """
        self.cholesky_inplace(_gram(A), beta)

    def update_inplace(self, C: Any, subtract: bool = False) -> None:
        """Update A to A + C C^T or A - C C^T, and recompute only the dependent parts.

        For complex numbers C C^H is used.

        Parameters
        ----------
        C : scipy sparse matrix or array, shape (N, k) or (N,)
            The entries of C C^T must lie within the blocks of A.
        subtract : bool, optional

        Raises
        ------
        ValueError
            If C has the wrong length, or C C^T an entry outside the blocks; the factor is kept.
        NotPositiveDefiniteError
            If A - C C^T is not positive definite; the factor is kept.
        """
        if not sp.issparse(C):
            C = np.asarray(C)
            if C.ndim not in (1, 2) or C.dtype.kind not in "biufc":
                raise TypeError(f"C must be a matrix or vector of numbers, not {C.dtype} {C.shape}")
            C = sp.csc_array(C[:, None] if C.ndim == 1 else C)
        if C.shape[0] != self.system.shape[0]:
            raise ValueError(f"C has {C.shape[0]} rows, the matrix has {self.system.shape[0]}")
        at, change, nodes = self._outer(C)
        graph, before = self.system.graph, self.system.values.copy()
        with np.errstate(over="ignore"):  # `refactorize` refuses inf
            np.add.at(self.system.values, at, -change if subtract else change)
        changed = [graph.labels[node] for node in nodes]
        try:
            self._refactorize(changed)
        except ValueError:  # not positive definite, or sums that overflow
            self.system.values[...] = before
            self._refactorize(None)
            raise

    def copy(self) -> CholeskyFactor:
        """Return a copy with its own factors."""
        return copy.deepcopy(self)

    __copy__ = copy

    @_of_sparse_too
    def solve_A(self, b: Any) -> Any:
        """Solve A x = b.

        Parameters
        ----------
        b : array_like or scipy sparse matrix, shape (N,) or (N, k)

        Returns
        -------
        ndarray or sparse matrix, shape of b

        Raises
        ------
        ValueError
            If b has the wrong shape or is not finite.
        """
        self._ready()
        return self.factor.solve(np.asarray(b))

    solve = solve_A  # as `splu` and `Factor` have it

    @_of_sparse_too
    def solve_LDLt(self, b: Any) -> Array:
        """Solve L D L^T x = b, in elimination order.

        Parameters
        ----------
        b : array_like or scipy sparse matrix, shape (N,) or (N, k)

        Returns
        -------
        ndarray or sparse matrix, shape of b
        """
        return self._solve(self._solve(b, False), True)

    @_of_sparse_too
    def solve_L(self, b: Any, use_LDLt_decomposition: bool = True) -> Array:
        """Solve L x = b, in elimination order: permute b by `apply_P` before.

        Parameters
        ----------
        b : array_like or scipy sparse matrix, shape (N,) or (N, k)
        use_LDLt_decomposition : bool, optional
            Use L of L D L^T, with ones on the diagonal; if False, L of L L^T.

        Returns
        -------
        ndarray or sparse matrix, shape of b
        """
        x = self._solve(b, False)
        return self._times_diagonal(x) if use_LDLt_decomposition else x

    @_of_sparse_too
    def solve_Lt(self, b: Any, use_LDLt_decomposition: bool = True) -> Array:
        """Solve L^T x = b, in elimination order: permute x by `apply_Pt` afterwards.

        Parameters
        ----------
        b : array_like or scipy sparse matrix, shape (N,) or (N, k)
        use_LDLt_decomposition : bool, optional
            As for `solve_L`.

        Returns
        -------
        ndarray or sparse matrix, shape of b
        """
        b = self._columns(b)
        return self._solve(self._times_diagonal(b) if use_LDLt_decomposition else b, True)

    @_of_sparse_too
    def solve_LD(self, b: Any) -> Array:
        """Solve L D x = b, in elimination order.

        Parameters
        ----------
        b : array_like or scipy sparse matrix, shape (N,) or (N, k)

        Returns
        -------
        ndarray or sparse matrix, shape of b
        """
        return self._times_diagonal(self._solve(b, False), -1)

    @_of_sparse_too
    def solve_DLt(self, b: Any) -> Array:
        """Solve D L^T x = b, in elimination order.

        Parameters
        ----------
        b : array_like or scipy sparse matrix, shape (N,) or (N, k)

        Returns
        -------
        ndarray or sparse matrix, shape of b
        """
        return self._solve(self._times_diagonal(self._columns(b), -1), True)

    @_of_sparse_too
    def solve_D(self, b: Any) -> Array:
        """Solve D x = b, in elimination order.

        Parameters
        ----------
        b : array_like or scipy sparse matrix, shape (N,) or (N, k)

        Returns
        -------
        ndarray or sparse matrix, shape of b
        """
        return self._times_diagonal(self._columns(b), -2)

    @_of_sparse_too
    def apply_P(self, b: Any) -> Array:
        """Rows of b in elimination order, P b.

        Parameters
        ----------
        b : array_like or scipy sparse matrix, shape (N,) or (N, k)

        Returns
        -------
        ndarray or sparse matrix, shape of b
        """
        found: Array = self._columns(b)[self.P()]
        return found

    @_of_sparse_too
    def apply_Pt(self, b: Any) -> Array:
        """Rows in the order of the matrix, P^T b.

        Parameters
        ----------
        b : array_like or scipy sparse matrix, shape (N,) or (N, k)

        Returns
        -------
        ndarray or sparse matrix, shape of b
        """
        b = self._columns(b)
        found: Array = np.empty_like(b)
        found[self.P()] = b
        return found

    def P(self) -> Ints:
        """Elimination order by rows, shape (N,): row ``P[k]`` of A is row k of L."""
        return self._trusted().tables.order.copy()

    def L(self) -> Any:
        """Return L of L L^T = P A P^T, compressed by columns."""
        return self._sparse(self._trusted().matrix())

    def L_D(self) -> tuple[Any, Any]:
        """Return L and D of L D L^T = P A P^T: ones on the diagonal of L, and D diagonal."""
        root = self._trusted()
        L = root.matrix()
        L.data /= np.repeat(root.diagonal, np.diff(L.indptr))
        L.data[L.indptr[:-1]] = 1.0  # complex division rounds
        return self._sparse(L), self._sparse(sp.diags_array(root.diagonal**2))

    def LD(self) -> Any:
        """Return L of L D L^T with D in place of the ones on its diagonal."""
        L, D = self.L_D()
        L.data[L.indptr[:-1]] = D.diagonal()
        return L

    def D(self) -> Array:
        """Diagonal of D of L D L^T, shape (N,)."""
        found: Array = self._trusted().diagonal ** 2
        return found

    def logdet(self) -> float:
        """Logarithm of the determinant of A."""
        return 2.0 * float(np.log(self._trusted().diagonal).sum(dtype=float))

    def slogdet(self) -> tuple[float, float]:
        """Sign of the determinant, which is 1, and its logarithm."""
        return 1.0, self.logdet()

    def det(self) -> float:
        """Determinant of A; infinite or 0 where it exceeds the range of numbers."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.logdet()))

    def logdet_gradient(self) -> Any:
        """Gradient of `logdet` with respect to the entries of A: A^-1 at the blocks of A.

        Returns
        -------
        sparse matrix, shape (N, N)
            ``d logdet(A) = gradient.multiply(dA).sum()`` for any symmetric dA in the blocks of A;
            with the conjugate of the gradient for Hermitian ones.
        """
        return self._sparse(self._selected_inverse().to_scipy(), "csr")

    def inv(self) -> Any:
        """Return A^-1 with all its entries, compressed by columns."""
        return self._sparse(self.solve_A(np.eye(self.system.shape[0], dtype=self.system.dtype)))

    def inverse_at(self, pattern: Any) -> Any:
        """Entries of A^-1 where a sparse matrix has entries.

        Entries within the blocks of A come from the selected inverse, which costs about two
        factorizations. Each column with other entries costs a solve.

        Parameters
        ----------
        pattern : scipy sparse matrix or array, shape (N, N)
            Only its pattern is used.

        Returns
        -------
        sparse matrix, shape (N, N)

        Raises
        ------
        ValueError
            If the pattern has the wrong shape.
        """
        if not sp.issparse(pattern) or pattern.shape != self.system.shape:
            raise ValueError(f"the pattern must be a sparse matrix of shape {self.system.shape}")
        where = sp.csr_array(pattern, copy=True)
        where.sum_duplicates()
        n = where.shape[0]
        row = np.repeat(np.arange(n), np.diff(where.indptr))
        known = self._selected_inverse().to_scipy()
        known.sort_indices()
        keys = np.repeat(np.arange(n), np.diff(known.indptr)) * n + known.indices
        wanted = row * n + where.indices
        at = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
        inside = keys[at] == wanted if keys.size else np.zeros(wanted.size, bool)
        entries = np.empty(wanted.size, self.system.dtype)
        entries[inside] = known.data[at[inside]]
        other = np.flatnonzero(~inside)
        columns, column_of = np.unique(where.indices[other], return_inverse=True)
        for first in range(0, columns.size, COLUMNS):
            some = columns[first : first + COLUMNS]
            unit = np.zeros((n, some.size), self.system.dtype)
            unit[some, np.arange(some.size)] = 1.0
            x = self.solve_A(unit)
            mine = (column_of >= first) & (column_of < first + COLUMNS)
            entries[other[mine]] = x[row[other[mine]], column_of[mine] - first]
        found = sp.csr_array((entries, where.indices, where.indptr), shape=where.shape)
        return self._sparse(found, "csr")

    def variances(self, C: Any = None) -> Array:
        """Diagonal of C A^-1 C^T: variances of C x for a field x of precision A.

        Rows of C whose nonzeros are within one block of A use the selected inverse; each other row
        costs a substitution with L.

        Parameters
        ----------
        C : scipy sparse matrix or array, shape (M, N), optional
            The identity by default: marginal variances.

        Returns
        -------
        ndarray, shape (M,)

        Raises
        ------
        ValueError
            If C has the wrong shape.
        TypeError
            If C is complex, and A is not.
        """
        selected = self._selected_inverse()
        if C is None:
            return selected.diagonal().real
        n = self.system.shape[0]
        if np.shape(C)[1:] != (n,):
            raise ValueError(f"C has shape {np.shape(C)}, it must be (M, {n})")
        C = sp.csr_array(C)
        C.data = as_numbers(C.data, self.system.dtype, "C")
        inverse = selected.to_scipy()
        found: Array = np.asarray((C @ inverse).multiply(C.conj()).sum(axis=1)).ravel().real
        ones, joined = (
            sp.csr_array((np.ones(M.nnz), M.indices, M.indptr), M.shape) for M in (C, inverse)
        )
        pairs = np.asarray((ones @ joined).multiply(ones).sum(axis=1)).ravel()
        other = np.flatnonzero(pairs < np.diff(C.indptr) ** 2.0)
        for first in range(0, other.size, COLUMNS):
            some = other[first : first + COLUMNS]
            y = self._solve(C[some].toarray().conj().T[self.P()], False)
            found[some] = (y * y.conj()).sum(axis=0).real
        return found

    def sample(self, rng: np.random.Generator | int, size: int | None = None) -> Array:
        """Samples P^T L^-T z of a field with precision A and mean 0, z standard normal.

        For a complex A, z has independent real and imaginary parts of variance 1/2.

        Parameters
        ----------
        rng : numpy.random.Generator or int
            Generator, or a seed.
        size : int, optional
            Number of samples; by default one sample of shape (N,).

        Returns
        -------
        ndarray, shape (N,) or (size, N)
        """
        n = self.system.shape[0]
        if isinstance(rng, int | np.integer):
            rng = np.random.default_rng(rng)
        shape = (n,) if size is None else (n, size)
        z: Array = rng.standard_normal(shape)
        if self.system.dtype.kind == "c":
            z = (z + 1j * rng.standard_normal(shape)) / 2.0**0.5
        x: Array = self.apply_Pt(self._solve(z, True))
        return x if size is None else np.ascontiguousarray(x.T)

    def _outer(self, C: Any) -> tuple[Ints, Array, Ints]:
        """Places and numbers of C C^T, column by column of C, and the nodes of its rows."""
        C, graph = sp.csc_array(checked(C, "C")), self.system.graph
        C.sum_duplicates()
        if not np.isfinite(C.data).all():
            raise ValueError("C has an entry that is not finite")
        length = np.diff(C.indptr)
        partners = np.repeat(length, length)
        e = np.repeat(np.arange(C.nnz), partners)
        f = ranges(np.repeat(C.indptr[:-1], length), partners)
        node = np.searchsorted(graph.row_start, C.indices, side="right") - 1
        inside, u, v = C.indices - graph.row_start[node], node[e], node[f]
        at = graph.blocks_at(u, v)
        if (at < 0).any():
            raise ValueError(
                "C C^T has an entry outside the blocks of A: store zeros there before the first "
                "cholesky, or call cholesky with the sum"
            )
        numbers = as_numbers(C.data, self.system.dtype, "C")
        with np.errstate(over="ignore", invalid="ignore"):
            products = numbers[e] * numbers[f].conj()
        if not np.isfinite(products).all():
            raise ValueError("C C^T overflows: scale A and C")
        return at + inside[e] + graph.size[u] * inside[f], products, np.unique(node)

    def _load(self, A: Any, beta: float) -> None:
        """Take the numbers of A + beta I; quick for matrices like the last one."""
        beta = _real(beta)
        known = self._entries
        if known is not None and sp.issparse(A) and A.shape == self.system.shape:
            if known.load(A, beta, self.system):
                return
        full = _full(A, beta)
        if np.iscomplexobj(full) and self.system.dtype.kind != "c":
            kind = self.system.dtype
            raise TypeError(f"A is complex, the first matrix was {kind}: call gs.cholesky(A)")
        self.system.set_from_scipy(full)
        self._entries = SymmetricEntries.of(A, self.system)

    def _refactorize(self, changed: list[Any] | None) -> None:
        """Factorize the system again."""
        before, self._selected, self._root = self._root, None, None
        try:
            self.factor.refactorize(self.system.values, changed)
        except SingularPivotError as failure:
            raise _singular(self.system, failure) from failure
        found = self.factor._factorization
        reached = None if changed is None else found.reached
        if reached is None or before is None or not before.belongs_to(found) or found.doubtful:
            self._use()
            return
        try:  # an update of a net of 150 x 150 takes 0.4 of the time
            before.renew(reached)
        except IndefiniteError as failure:
            self._root = self._by_rows(failure.args[0])
        else:
            self._root = before

    def _use(self) -> None:
        """Take the root of the pivot blocks, which exists if A is positive definite."""
        found, values = self.factor._factorization, self.system.values
        if is_sound(found) or (found.fronts is None and found.can_refine(values)):
            self._root = self._root_of(found)
            return
        try:  # without exchanges of rows
            found = Factorization(self._symbolic, self.system.dtype)
            found = found.stable(values, delays=False)[0]
        except SingularPivotError as failure:
            self._root = self._by_rows(self._row(failure))
        else:
            self._root = self._root_of(found)

    def _row(self, failure: SingularPivotError) -> int:
        """First row of the node of a singular pivot."""
        graph = self.system.graph
        return int(graph.row_start[graph.node(failure.node)])

    def _root_of(self, found: Factorization) -> Root:
        """Root of factors, or of those of `_by_rows`; tables of a program are made once."""
        if self._tables is None or self._tables.program is not found.panels:
            self._tables = Tables.of(found.panels)
        by_rows = is_sound(found) and self._tables.size.max(initial=1) == 1
        try:
            return Root(found, self._tables, by_rows)
        except IndefiniteError as failure:
            row = failure.args[0]
        return self._by_rows(row)

    def _by_rows(self, row: int) -> Root:
        """Root of factors with one row for each pivot block, which is Cholesky's method.

        It succeeds up to condition numbers of about the reciprocal of the machine epsilon, once the
        diagonal is scaled to 1 (J. W. Demmel, On floating point errors in Cholesky, LAPACK Working
        Note 14, 1989). Inverses of larger blocks lose their signs from the square root of that on.
        """
        program, n = self._symbolic.program_for(self.system.dtype), self.system.shape[0]
        order = program[program[ORDER_AT] : program[ORDER_AT] + n].tolist()
        symmetric = self.system.symmetric
        single = System.from_scipy(self.system.to_scipy(), 1, symmetric=symmetric)
        symbolic = analyze(single.graph, order, zero_diagonal=(), symmetric=symmetric, merge=False)
        try:
            found = Factorization(symbolic, self.system.dtype)
            if found._eliminate(single.values) != 0 or not is_sound(found):
                found = found.stable(single.values, delays=False)[0]
            return Root(found, Tables.of(found.panels), by_rows=True)
        except (SingularPivotError, IndefiniteError):
            pass
        try:
            negative = self.factor.inertia()[1]
        except SingularPivotError as failure:
            raise _singular(self.system, failure) from None
        raise self._not_definite(row, negative)

    def _not_definite(self, row: int, negative: int) -> NotPositiveDefiniteError:
        """Error for a matrix with so many negative eigenvalues, seen at a row."""
        n = self.system.shape[0]
        other = f"gs.System.from_scipy(A, symmetric={self.system.symmetric!r}).factorize()"
        if negative == 0:
            text = (
                f"the matrix is positive definite, but so close to singular at row {row} that "
                f"rounding errors take its Cholesky factor: add to its diagonal with beta, or "
                f"solve with {other}"
            )
        else:
            text = (
                f"the matrix is not positive definite: {negative} of its {n} eigenvalues are not "
                f"positive, one of them at row {row}; for indefinite ones use {other}"
            )
        return NotPositiveDefiniteError(text, row)

    def _sparse(self, A: Any, form: str = "csc") -> Any:
        """A as a sparse matrix or array, as the user's is."""
        kinds = (sp.csc_matrix, sp.csr_matrix) if self._matrices else (sp.csc_array, sp.csr_array)
        return kinds[form == "csr"](A)

    def _ready(self) -> Root:
        """Root of the last matrix; ValueError if it was not positive definite."""
        if self._root is None:
            raise ValueError(
                "the last matrix was not positive definite, so there is no factor: call "
                "cholesky_inplace again"
            )
        return self._root

    def _trusted(self) -> Root:
        """Root of factors that are right without refinement."""
        root = self._ready()
        if root.by_rows:
            return root
        if self.factor._factorization.fronts is None and not is_sound(root._factorization):
            found = self.factor._trusted("the Cholesky factor", delays=False)
            if found is not root._factorization:
                root = self._root_of(found)
        if root.pivot_ratio < WEAK:
            root = self._by_rows(0)
        self._root = root
        return root

    def _selected_inverse(self) -> SelectedInverse:
        """Selected inverse, computed once per matrix."""
        self._ready()
        if self._selected is None:
            found = self.factor._factorization
            sound = is_sound(found)
            self._selected = selected_inverse(found) if sound else self.factor.selected_inverse()
        return self._selected

    def _columns(self, b: Any) -> Array:
        """Numbers of b in the type of the factor, shape (N,) or (N, k)."""
        numbers: Array = as_numbers(np.asarray(b), self.system.dtype, "b")
        n = self.system.shape[0]
        if numbers.ndim not in (1, 2) or numbers.shape[0] != n:
            raise ValueError(f"b has shape {numbers.shape}, it must be ({n},) or ({n}, k)")
        return numbers

    def _solve(self, b: Any, transposed: bool) -> Array:
        """L^-1 b or L^-T b with L of L L^T."""
        return self._trusted().solve(self._columns(b), transposed)

    def _times_diagonal(self, b: Array, power: int = 1) -> Array:
        """b times a power of the diagonal of L of L L^T, row by row."""
        d = self._trusted().diagonal ** power
        found: Array = b * d.reshape(-1, *(1,) * (b.ndim - 1))
        return found

    def __repr__(self) -> str:
        return f"CholeskyFactor({self.system.shape[0]} unknowns, {self.system.dtype})"


def cholesky(
    A: Any,
    beta: float = 0.0,
    mode: str = "auto",
    ordering_method: str = "default",
    use_long: Any = None,
) -> CholeskyFactor:
    """Factorize a sparse positive definite matrix, as `sksparse.cholmod.cholesky` does.

    Parameters
    ----------
    A : scipy sparse matrix or array, shape (N, N)
        Symmetric (complex: Hermitian) matrix, or one of its triangles with the diagonal; integers
        become float64.
    beta : float, optional
        Added to the diagonal.
    ordering_method : {"default", "best", "amd", "colamd", "natural", "metis", "nesdis"}, optional
        "natural" uses the order of the rows, or one with the same fill-in; "metis" and "nesdis" use
        nested dissection. All others choose the order with the fewest operations.
    mode, use_long
        Options of CHOLMOD, without effect.

    Returns
    -------
    CholeskyFactor

    Raises
    ------
    NotPositiveDefiniteError
        If A + beta I is not positive definite to working precision: if its condition number, scaled
        to a unit diagonal, is above 1e12.
    ValueError
        If A is not square, symmetric or Hermitian, and finite, or the ordering is unknown.
    TypeError
        If the entries of A are not numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csc_array
    >>> factor = cholesky(csc_array(np.array([[4.0, 2.0], [2.0, 5.0]])))
    >>> print(factor(np.array([8.0, 12.0])))
    [1. 2.]
    >>> print(round(factor.logdet(), 6))  # log(4 * 5 - 2 * 2)
    2.772589
    """
    return CholeskyFactor(A, beta, ordering_method)


def cholesky_AAt(A: Any, beta: float = 0.0, **options: Any) -> CholeskyFactor:
    """Factorize A A^T + beta I (complex: A A^H), as `sksparse.cholmod.cholesky_AAt` does.

    Parameters
    ----------
    A : scipy sparse matrix or array, shape (N, M)
    beta : float, optional
    **options
        As for `cholesky`.

    Returns
    -------
    CholeskyFactor

    Raises
    ------
    NotPositiveDefiniteError, ValueError, TypeError
        As `cholesky`.
    """
    return cholesky(_gram(A), beta, **options)


def _check_sparse(A: Any) -> None:
    """Refuse what is no scipy sparse matrix."""
    if not sp.issparse(A):
        raise TypeError(
            f"A must be a scipy sparse matrix, not {type(A).__name__}: "
            "use scipy.sparse.csc_array(A)"
        )


def _gram(A: Any) -> Any:
    """A A^T, or A A^H."""
    _check_sparse(A)
    return A @ A.T.conj(copy=False)


def _real(beta: Any) -> float:
    """Number that is added to the diagonal; TypeError for anything but a real number."""
    number = as_numbers(beta, None, "beta")
    if number.ndim != 0 or number.dtype.kind == "c":
        raise TypeError(f"beta is {beta!r}: give a real number")
    return float(number)


def _full(A: Any, beta: float) -> Any:
    """A + beta I with both triangles, in canonical CSR."""
    _check_sparse(A)
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"the matrix must be square, its shape is {A.shape}")
    beta = _real(beta)
    full = given = canonical(A)
    row = np.repeat(np.arange(A.shape[0]), np.diff(full.indptr))
    some = full.data != 0
    below, above = (some & (row > full.indices)).any(), (some & (row < full.indices)).any()
    if below != above:
        full = full + sp.csr_array((sp.tril(full, -1) if below else sp.triu(full, 1)).conj().T)
    if beta:
        full = full + sp.diags_array(np.full(A.shape[0], beta, np.result_type(A.dtype, np.float32)))
    return full if full is given else canonical(full)


def _singular(system: System, failure: SingularPivotError) -> NotPositiveDefiniteError:
    """Error for a matrix with a singular pivot."""
    row = int(system.graph.row_start[system.graph.node(failure.node)])
    return NotPositiveDefiniteError(
        f"the matrix is not positive definite but singular to working precision at row {row}: add "
        f"to its diagonal with beta ({without_options(failure)})",
        row,
    )
