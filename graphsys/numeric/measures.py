"""Properties of a matrix by its factors: residuals, determinant, inertia, condition number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphsys.kernels.single.determinant import definite_signs, log_determinant
from graphsys.kernels.single.substitution import pivot_blocks
from graphsys.matrix.block import HERMITIAN, as_numbers, as_plain
from graphsys.matrix.equilibration import scaled
from graphsys.matrix.vectors import check_rows
from graphsys.numeric.residuals import Matrix

if TYPE_CHECKING:
    from graphsys.numeric.factorization import Factorization

Array = NDArray[Any]

#: Smallest eigenvalue of a pivot block, in machine epsilons, rows and largest eigenvalues, whose
#: sign counts as certain.
CERTAIN_SIGN = 8.0
#: Smallest eigenvalue of a block whose diagonal is scaled to 1, from which it is definite by far: E
#: has about the machine epsilon times the condition number, no more than 1e3 times the rows then.
BY_FAR = 1e-3
#: Most steps of Hager's method; two are usual.
NORM_STEPS = 5
#: Sweeps that equilibrate pivot blocks: each halves the exponents of their rows.
EQUILIBRATIONS = 8


def residual(matrix: Matrix, b: Any, x: Any) -> Array:
    """b - A x, complex where b or x is.

    Parameters
    ----------
    matrix : Matrix
    b, x : array_like, shape (N,) or (N, k)
    """
    b, x, dtype = np.asarray(b), np.asarray(x), matrix.values.dtype
    if "c" in (b.dtype.kind, x.dtype.kind) and dtype.kind != "c":
        return residual(matrix, b.real, x.real) + 1j * residual(matrix, b.imag, x.imag)
    b, x = as_numbers(b, dtype, "b"), as_numbers(x, dtype, "x")
    check_rows(matrix.graph, b)
    if x.shape != b.shape:
        raise ValueError(f"x has shape {x.shape}, b {b.shape}")
    count = 1 if b.ndim == 1 else b.shape[1]
    r = matrix.residual(b.ravel(order="F"), x.ravel(order="F"), count, False)
    return r.reshape(b.shape, order="F")


def backward_error(matrix: Matrix, b: Any, x: Any) -> float:
    """Largest ``|A x - b| / (|A| |x| + |b|)`` of the columns, in the maximum norm.

    Parameters
    ----------
    matrix : Matrix
    b, x : array_like, shape (N,) or (N, k)
    """
    vectors = residual(matrix, b, x), as_plain(np.asarray(b)), as_plain(np.asarray(x))
    r, b, x = (vector.ravel(order="F") for vector in vectors)
    return matrix.backward_error(r, b, x, b.size // max(matrix.graph.rows, 1), False)


def pivot_inverses(places: NDArray[np.int64], arena: Array) -> Iterator[Array]:
    """Inverses of pivot blocks, those of one size w together.

    Parameters
    ----------
    places : ndarray of int, shape (3, blocks)
        From `pivot_blocks`.
    arena : ndarray
        Factors.

    Yields
    ------
    ndarray, shape (count, w, w)
    """
    at, ld, w = places
    for size in np.unique(w):
        chosen = w == size
        steps = np.arange(size)
        places = (
            at[chosen, None, None]
            + steps[None, :, None]
            + steps[None, None, :] * ld[chosen, None, None]
        )
        yield arena[places]


def slogdet(factorization: Factorization) -> tuple[Any, float]:
    """Sign (or phase) and logarithm of the absolute determinant."""
    sign: Any
    if factorization.fronts is not None:
        sign, logarithm = factorization.fronts.slogdet()
    else:
        places, arena = pivot_blocks(factorization.program), factorization.arena
        widest, found = int(places[2].max(initial=1)), np.empty(1, arena.dtype)
        work = np.empty(widest**2, arena.dtype), np.empty(widest, np.int64)
        logarithm = -log_determinant(places, arena, *work, found)  # of the inverses
        sign = found.conj()[0]
    if factorization.scaling is not None:
        logarithm -= factorization.scaling.logarithm()
    if factorization.symbolic.symmetric == HERMITIAN:  # the determinant is real
        sign = np.sign(sign.real).astype(factorization.dtype)
    return sign, logarithm


def inertia(factorization: Factorization) -> tuple[int, int]:
    """Numbers of positive and negative eigenvalues of all symmetric or Hermitian pivot blocks.

    An inverse has its errors on one side, X = S^-1 (I + E), and so keeps the signs of all
    eigenvalues; its symmetric part does not where S is ill-conditioned. Blocks that are definite by
    far need no eigenvalues. Others are equilibrated first, which changes no sign. Eigenvalues that
    rounding may have moved past zero do not count: the two numbers then sum up to less than the
    rows.
    """
    if factorization.fronts is not None:
        return factorization.fronts.inertia()
    places, arena = pivot_blocks(factorization.program), factorization.arena
    sign = np.zeros(places.shape[1], np.int64)
    work = np.empty(int(places[2].max(initial=1)) ** 2, arena.dtype)
    definite_signs(places, arena, BY_FAR, work, sign)
    positive, negative = (int(places[2, sign == one].sum()) for one in (1, -1))
    for inverses in pivot_inverses(places[:, sign == 0], arena):
        eigenvalues = np.linalg.eigvals(_equilibrated(inverses)).real
        largest = np.abs(eigenvalues).max(axis=1, keepdims=True)
        least = CERTAIN_SIGN * factorization.eps * inverses.shape[1] * largest
        positive += int((eigenvalues > least).sum())
        negative += int((eigenvalues < -least).sum())
    return positive, negative


def _equilibrated(blocks: Array) -> Array:
    """D X D of symmetric blocks X, shape (count, w, w), whose rows are about as large."""
    for _ in range(EQUILIBRATIONS):
        _, exponent = np.frexp(np.abs(blocks).max(axis=2))
        half = -(exponent // 2)
        if not half.any():
            break
        blocks = scaled(blocks, half[:, :, None] + half[:, None, :])
    return blocks


def rcond(matrix: Matrix, solve: Callable[..., Array]) -> float:
    """Estimate of ``1 / (|A| |A^-1|)`` in the 1-norm by Hager's method from two starts.

    Ones alone may be orthogonal to what makes the inverse large, as rows that repeat each other do
    [1]_: the second start alternates and grows, as in LAPACK.

    Parameters
    ----------
    matrix : Matrix
    solve : callable
        As for `linear_operator`.

    References
    ----------
    .. [1] N. J. Higham, FORTRAN codes for estimating the one-norm of a real or complex matrix, ACM
       Trans. Math. Softw. 14, 381-396, 1988.
    """
    rows, dtype = matrix.graph.rows, matrix.values.dtype
    if rows == 0:
        return 1.0
    norm = matrix.norm(True)
    exponent = math.floor(math.log2(norm)) if 0.0 < norm < np.inf else 0
    unit = 2.0 ** (exponent // 2 if exponent > 0 else exponent)  # substitution has room above it
    growing = np.linspace(1.0, 2.0, rows) * (1.0 - 2.0 * (np.arange(rows) % 2))
    starts = np.stack([np.full(rows, 1.0 / rows), growing / np.abs(growing).sum()], axis=1)
    try:  # (A / unit)^-1 overflows later
        found = solve((starts * unit).astype(dtype))
        sums = np.abs(found).sum(axis=0, dtype=float)
        best = int(sums.argmax())
        inverse, x, column = float(sums[best]), starts[:, best], found[:, best]
        for _ in range(NORM_STEPS):
            signs = np.exp(1j * np.angle(column)) if dtype.kind == "c" else np.copysign(1.0, column)
            slope = solve((signs * unit).astype(dtype), "H")
            place = int(np.abs(slope).argmax())
            if np.abs(slope[place]) <= np.vdot(slope, x).real:
                break
            x = np.eye(1, rows, place)[0]
            column = solve((x * unit).astype(dtype))
            if (largest := float(np.abs(column).sum(dtype=float))) <= inverse:
                break
            inverse = largest
    except OverflowError:
        return 0.0
    return 1.0 / (norm / unit * inverse)


def linear_operator(
    solve: Callable[..., Array], shape: tuple[int, int], dtype: np.dtype[Any]
) -> Any:
    """`scipy.sparse.linalg.LinearOperator` of a solve.

    Parameters
    ----------
    solve : callable
        ``solve(b)`` and ``solve(b, "H")``, of one or many columns.
    shape : tuple of int
    dtype : numpy.dtype
    """
    from scipy.sparse.linalg import LinearOperator

    def forward(b: Array) -> Array:
        return solve(b)

    def adjoint(b: Array) -> Array:
        return solve(b, "H")

    return LinearOperator(
        shape, matvec=forward, rmatvec=adjoint, matmat=forward, rmatmat=adjoint, dtype=dtype
    )
