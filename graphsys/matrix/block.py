"""One block of a system: what it must be, and the view that `system[u, v]` hands out."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from graphsys.system import System

__all__ = [
    "Block",
    "as_block",
    "as_dtype",
    "as_numbers",
    "as_symmetry",
    "as_values",
    "asymmetry",
    "mirrored",
    "symmetric_block",
]

#: What `symmetric` is of matrices that equal their conjugate transpose.
HERMITIAN = "hermitian"
# Rounding in products like J.T @ W @ J leaves blocks this many ulp from symmetric, not more.
SYMMETRY_ULP = 64


class Block(np.ndarray[Any, Any]):
    """View of one block, shape (size of u, size of v), column-major in `system.values`.

    Results of arithmetic are ordinary arrays. The in-place operators ``+= -= *= /=`` assign
    through the system, hence check what they write and leave the old values where they refuse:
    ``system[u, v] += block`` is an assignment. Writing to elements (``view[0, 1] = x``) is
    not checked, as writing to `system.values` is not.
    """

    _place: tuple[System, Hashable, Hashable] | None

    def __array_finalize__(self, origin: Any) -> None:
        self._place = None  # a slice or a copy is no block of the system any more

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else np.asarray(array)

    def _assign(self, block: Any) -> Block:
        assert self._place is not None
        system, u, v = self._place
        system[u, v] = block
        return self

    def _operand(self, other: Any) -> NDArray[Any]:
        assert self._place is not None
        system, u, v = self._place
        return as_block(other, self.shape, system.dtype, u, v)

    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]
        if self._place is None:
            return super().__iadd__(other)
        return self._assign(np.asarray(self) + self._operand(other))

    def __isub__(self, other: Any) -> Any:  # type: ignore[misc]
        if self._place is None:
            return super().__isub__(other)
        return self._assign(np.asarray(self) - self._operand(other))

    def __imul__(self, other: Any) -> Any:  # type: ignore[misc]
        if self._place is None:
            return super().__imul__(other)
        return self._assign(np.asarray(self) * other)

    def __itruediv__(self, other: Any) -> Any:  # type: ignore[misc]
        if self._place is None:
            return super().__itruediv__(other)
        with np.errstate(divide="ignore", invalid="ignore"):  # the assignment finds inf and nan
            return self._assign(np.asarray(self) / other)


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """float64, float32, complex128 or complex64 in native byte order; integers become float64.

    Raises
    ------
    TypeError
        For every other dtype.
    """
    try:
        given = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"dtype {dtype!r} is not a numpy dtype") from None
    if given.kind in "iu":
        return np.dtype(np.float64)
    native = given.newbyteorder("=")
    for supported in (np.float64, np.float32, np.complex128, np.complex64):
        if native == supported:
            return np.dtype(supported)
    raise TypeError(
        f"dtype {given} is not supported: use float64, float32, complex128 or complex64"
    )


def as_symmetry(given: Any, dtype: np.dtype[Any]) -> bool | str:
    """False, True, or `HERMITIAN` for complex numbers; of real ones that is True.

    Raises
    ------
    ValueError
        For another word.
    """
    if not isinstance(given, str):
        return bool(given)
    if given != HERMITIAN:
        raise ValueError(f"symmetric is {given!r}: use True, False or {HERMITIAN!r}")
    return HERMITIAN if dtype.kind == "c" else True


def mirrored(block: NDArray[Any], symmetric: bool | str) -> NDArray[Any]:
    """Transpose of blocks, shape (..., r, c), or conjugate transpose where they are Hermitian."""
    transposed = np.swapaxes(block, -1, -2)
    return transposed.conj() if symmetric == HERMITIAN else transposed


def as_numbers(given: Any, dtype: np.dtype[Any] | None, name: str) -> NDArray[Any]:
    """`given` as an array of `dtype` (None: its own); `name` starts the sentence of a refusal.

    Raises
    ------
    TypeError
        If `given` is not numeric, or complex and `dtype` is real.
    """
    try:
        array = np.asarray(given)
    except ValueError:  # nested sequences of unequal lengths
        raise TypeError(
            f"{name} is not an array of numbers: its parts have unequal shapes"
        ) from None
    if array.dtype.kind not in "iufc":
        inner = array.item() if array.ndim == 0 else given  # of a sparse matrix, or None
        named = array.dtype.kind == "O" and not isinstance(inner, np.ndarray)
        what = type(inner).__name__ if named else f"{array.dtype}"
        if hasattr(inner, "toarray"):
            what += ": give its toarray()"
        raise TypeError(f"{name} is not an array of numbers but of type {what}")
    if dtype is None or array.dtype == dtype:
        return as_plain(array)
    if array.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"{name} is complex, the system is {dtype}: make it with dtype=complex")
    with np.errstate(over="ignore"):  # what overflows is found as inf
        return array.astype(dtype)


def as_plain(array: NDArray[Any]) -> NDArray[Any]:
    """`array`, or a copy where it is read-only or in another byte order.

    Kernels are compiled for every kind of arrays that they meet, which takes seconds.
    """
    flags, dtype = array.flags, array.dtype
    if flags.writeable and flags.aligned and dtype.isnative:
        return array
    return array.astype(dtype.newbyteorder("="))


def as_values(given: Any, dtype: np.dtype[Any], nnz: int) -> NDArray[Any]:
    """`given` as values of a system: contiguous, of `dtype` and shape (nnz,).

    Raises
    ------
    TypeError
        As for `as_numbers`.
    ValueError
        If the shape is wrong.
    """
    if type(given) is np.ndarray and given.dtype is dtype and given.flags.carray:
        values: NDArray[Any] = given
    else:
        if hasattr(given, "toarray"):  # a System, or a matrix of scipy
            raise TypeError(
                f"values is a {type(given).__name__}: give system.values, where "
                "system.set_from_scipy(A) puts the entries of a scipy matrix"
            )
        values = np.ascontiguousarray(as_numbers(given, dtype, "values"))
    if values.shape != (nnz,):
        raise ValueError(f"values has shape {values.shape}, it must be ({nnz},)")
    return values


def as_block(
    given: Any, shape: tuple[int, ...], dtype: np.dtype[Any], u: Hashable, v: Hashable
) -> NDArray[Any]:
    """`given` as block (u, v): numbers of `dtype`, of that shape, finite.

    Returns
    -------
    ndarray, of shape `shape`; `given` itself where it is one

    Raises
    ------
    TypeError
        If `given` is not numeric, or complex and the system is real.
    ValueError
        If the shape is wrong (a scalar stands for a 1 x 1 block), or an entry is not finite.
    """
    name = f"block ({u!r}, {v!r})"
    block = as_numbers(given, dtype, name)
    if block.ndim == 0 and shape == (1, 1):
        block = block.reshape(1, 1)
    if block.shape != shape:
        raise ValueError(f"{name} has shape {block.shape}, its nodes make it {shape}")
    if not np.isfinite(block).all():
        r, c = np.argwhere(~np.isfinite(block))[0]
        raise ValueError(f"{name} is {block[r, c]} at ({r}, {c}): every entry must be finite")
    return block


def symmetric_block(
    block: NDArray[Any],
    across: NDArray[Any],
    u: Hashable,
    v: Hashable,
    symmetric: bool | str = True,
) -> NDArray[Any]:
    """Mean of block (u, v) and what block (v, u) makes it, equal up to rounding.

    Parameters
    ----------
    block, across : ndarray of float or complex, shape (a, b)
        The latter is the transpose of block (v, u), or its conjugate transpose.
    u, v : hashable
    symmetric : bool or str, optional
        Of the system.

    Raises
    ------
    ValueError
        If they differ by more than rounding.
    """
    gap = np.abs(block - across).max(initial=0.0)
    scale = max(np.abs(block).max(initial=0.0), np.abs(across).max(initial=0.0))
    if gap > SYMMETRY_ULP * np.finfo(block.dtype).eps * scale:
        raise asymmetry(u, v, gap, symmetric)
    return block if gap == 0.0 else block / 2 + across / 2


def asymmetry(u: Hashable, v: Hashable, gap: float, symmetric: bool | str = True) -> ValueError:
    """Error for a block (u, v) of a symmetric system that differs by `gap` from (v, u)."""
    hermitian = symmetric == HERMITIAN
    kind = "Hermitian" if hermitian else "symmetric"
    what = (
        f"diagonal block of node {u!r} is not {kind}"
        if u == v
        else f"block ({u!r}, {v!r}) is not the {'conjugate ' * hermitian}transpose of block "
        f"({v!r}, {u!r})"
    )
    return ValueError(f"{what}: entries differ by {gap:.3g}, and the system is {kind}")
