"""JAX: sparse solves inside of jit, vmap and grad, by XLA's foreign function interface.

XLA calls one C function with a frame of pointers (``xla/ffi/api/c_api.h``), so nothing is compiled
against XLA's headers. It solves by a plan of the pattern (`graphsys.interop.direct_calls`), or it
calls back to Python, which reads the frame by ctypes. A solve of 100 rows takes 8 us by a plan, 24
by Python, and some 90 by `jax.pure_callback`, where all arrays become arrays of JAX on the way. On
GPUs and TPUs it is `jax.pure_callback`, which copies to the CPU and back.
"""

from __future__ import annotations

import atexit
import ctypes
import math
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from graphsys.errors import MissingExtraError
from graphsys.interop.direct_calls import CODES, Plans
from graphsys.interop.exit_guard import ExitGuard
from graphsys.interop.pattern import Pattern, check, number_of, pattern_of

__all__ = ["solve"]


def __dir__() -> list[str]:
    return list(__all__)


Array = NDArray[Any]

TARGET = "graphsys_solve"
#: Version of XLA's interface that the structures below are of, and the stage that executes.
MAJOR, MINOR, EXECUTE = 0, 1, 3
#: XLA's codes of types, of the metadata extension and of errors.
TYPES = {code: dtype for dtype, code in CODES.items()}
METADATA, INVALID_ARGUMENT, INTERNAL = 1, 3, 13

#: Places of words of 8 bytes in XLA's structures. XLA_FFI_CallFrame: extension, api, stage, and the
#: arrays of pointers to arguments, results and attributes.
FRAME, EXTENSION, API, STAGE, ARGUMENTS, RESULTS, ATTRIBUTES = 21, 1, 2, 4, 9, 14, 20
#: XLA_FFI_Metadata_Extension: type, address of XLA_FFI_Metadata; there is the place of the version.
EXTENDED, TYPE, METADATA_AT, VERSION = 4, 1, 3, 3
#: XLA_FFI_Api: XLA_FFI_Error_Create.
API_WORDS, CREATE_ERROR = 8, 6
#: XLA_FFI_Buffer: type, address of the numbers, number of axes, address of their lengths.
BUFFER, DTYPE, DATA, RANK, LENGTHS = 6, 2, 3, 4, 5
#: A call in one integer: three bits, and the number of its pattern before them.
COLUMNS, RAISES, TRANSPOSED, BITS = 1, 2, 4, 3
INT = 2**32 - 1
#: Plans of patterns, once JAX is loaded.
_PLANS: list[Plans] = []
#: Compiled solves of patterns that exist, by whether singular matrices raise.
_COMPILED: WeakKeyDictionary[Pattern, dict[bool, Any]] = WeakKeyDictionary()
_WORDS = [ctypes.c_int64 * count for count in range(FRAME + 1)]


def solve(pattern: Pattern, data: Any, b: Any, *, singular: str = "raise") -> Any:
    """Solve A x = b in JAX, on the CPU; arrays on other devices are copied to it and back.

    Works under `jax.jit`, `jax.vmap`, `jax.grad`, `jax.jvp` and their compositions, of any order.
    A `vmap` over matrices factorizes several at a time; a `vmap` over right-hand sides only
    factorizes once. The adjoint solve reuses the factors of the solve.

    Parameters
    ----------
    pattern : Pattern
        Positions of the entries; keep a reference while functions compiled with it are used.
    data : array_like, shape (nz,)
        Entries of A, differentiable.
    b : array_like, shape (n,) or (n, k)
        Right-hand sides, differentiable.
    singular : {"raise", "nan"}, optional
        For a singular matrix, raise an error with its row when the result is used, as ValueError or
        `jax.errors.JaxRuntimeError`, or return NaN for the solutions of that matrix.

    Returns
    -------
    jax.Array, shape of b
        NaN also if entries or right-hand sides are not finite.

    Raises
    ------
    MissingExtraError
        Without jax.
    TypeError
        For types other than float32, float64, complex64 and complex128.
    ValueError
        If data or b has the wrong shape, or `singular` is unknown.

    Examples
    --------
    >>> import graphsys as gs
    >>> pattern = gs.Pattern([0, 1], [0, 1])
    >>> gs.jax.solve(pattern, [2.0, 4.0], [2.0, 2.0])  # doctest: +SKIP
    Array([1. , 0.5], dtype=float32)
    """
    jax = _jax()
    jnp = jax.numpy
    check(pattern, singular)
    data, b = jnp.asarray(data), jnp.asarray(b)
    if data.shape != (pattern.nz,):
        raise ValueError(f"data has shape {data.shape}, the pattern has {pattern.nz} entries")
    if b.ndim not in (1, 2) or b.shape[0] != pattern.n:
        raise ValueError(
            f"b has shape {b.shape}, it must be ({pattern.n},) or ({pattern.n}, k); map over "
            "further axes with jax.vmap"
        )
    dtype = jnp.promote_types(jnp.result_type(data, b), jnp.float32)
    if np.dtype(dtype) not in TYPES.values():
        raise TypeError(f"numbers of type {dtype} are not supported: use float32 or float64")
    return _compiled(pattern, singular == "raise")(data.astype(dtype), b.astype(dtype))


def _compiled(pattern: Pattern, raises: bool) -> Any:
    """Solve of a pattern under jit: without it each call would be traced anew, for 4 ms."""
    known = _COMPILED.setdefault(pattern, {})
    if raises not in known:
        known[raises] = _jax().jit(_solving(pattern, raises))
    return known[raises]


def _solving(pattern: Pattern, raises: bool) -> Callable[[Any, Any], Any]:
    """``solve(data, b)`` for arrays of JAX, which does not keep the pattern alive."""
    jax = _jax()
    jnp = jax.numpy
    number = number_of(pattern)
    # JAX keeps constants by identity, also across a change of jax_enable_x64, of which the type of
    # int64 constants depends.
    rows, columns = (of.astype(np.int32) for of in (pattern.rows, pattern.columns))

    def solve(data: Any, b: Any) -> Any:
        def product(x: Any) -> Any:
            of_entry = data if x.ndim == 1 else data[:, None]
            return jnp.zeros_like(x).at[rows].add(of_entry * x[columns])

        def substitute(right: Any, transposed: bool) -> Any:
            call = jax.ffi.ffi_call(
                TARGET, jax.ShapeDtypeStruct(right.shape, right.dtype), vmap_method="expand_dims"
            )
            bits = (right.ndim - 1) * COLUMNS + raises * RAISES + transposed * TRANSPOSED
            number_and_bits = (number << BITS) + bits
            return jax.lax.platform_dependent(
                data,
                right,
                cpu=lambda data, right: call(data, right, call=np.int64(number_and_bits)),
                default=lambda data, right: _copied(jax, number_and_bits, data, right),
            )

        return jax.lax.custom_linear_solve(
            product,
            b,
            lambda _, right: substitute(right, False),
            lambda _, right: substitute(right, True),
        )

    return solve


def _copied(jax: Any, call: int, data: Any, b: Any) -> Any:
    """Solve on the CPU with copies of the arrays of another device."""

    def solve(data: Any, b: Any) -> Array:
        data, b = np.asarray(data), np.asarray(b)
        own = b.ndim - 1 - (call & COLUMNS)
        lead = np.broadcast_shapes(data.shape[:-1], b.shape[:own])
        x = np.empty((*lead, *b.shape[own:]), b.dtype)
        _solve(call, data, b, x)
        return x

    shape = jax.ShapeDtypeStruct(b.shape, b.dtype)
    return jax.pure_callback(solve, shape, data, b, vmap_method="expand_dims")


@cache
def _jax() -> Any:
    """The module jax, with the C function registered."""
    try:
        import jax
    except ImportError as error:
        if error.name not in (None, "jax", "jaxlib"):
            raise
        raise MissingExtraError("graphsys.jax", "jax", "jax") from None
    guard = ExitGuard(int(ctypes.cast(_HANDLER, ctypes.c_void_p).value or 0))
    _PLANS.append(Plans(guard))
    function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(guard.address)
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(function), platform="cpu")
    atexit.register(_finish, jax, guard)  # before JAX's own, which would wait for ever
    return jax


def _finish(jax: Any, guard: ExitGuard) -> None:
    """Wait for results that are referred to, and refuse all later calls."""
    for array in jax.live_arrays():
        with suppress(Exception):
            array.block_until_ready()
    guard.close()


def _handle(address: int) -> int | None:
    """C function that XLA calls: None, or the address of an error of XLA."""
    frame = _words(address, FRAME)
    try:
        if frame[EXTENSION]:
            extension = _words(frame[EXTENSION], EXTENDED)
            if extension[TYPE] & INT == METADATA:
                version = (ctypes.c_int64 * (VERSION + 1)).from_address(extension[METADATA_AT])
                version[VERSION] = MAJOR + (MINOR << 32)
                return None
        if frame[STAGE] & INT == EXECUTE:
            _execute(frame)
        return None
    except BaseException as error:  # nothing may pass through C
        known = isinstance(error, (ArithmeticError, ValueError, np.linalg.LinAlgError))
        return _error(frame[API], str(error) or repr(error), known)


_HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(_handle)


def _execute(frame: Any) -> None:
    """Solve with the arrays of a frame."""
    data, b = (_array(at) for at in _words(frame[ARGUMENTS], 2))
    x = _array(_words(frame[RESULTS], 1)[0])
    scalar = _words(_words(frame[ATTRIBUTES], 1)[0], 2)[1]
    _solve(_words(scalar, 1)[0], data, b, x)


def _solve(call: int, data: Array, b: Array, x: Array) -> None:
    """Solve with data (..., nz) and b (..., n[, k]) into x (..., n[, k])."""
    number, columns = call >> BITS, call & COLUMNS
    trans = "T" if call & TRANSPOSED else "N"
    singular = "raise" if call & RAISES else "nan"
    pattern = pattern_of(number)
    core, lead = x.shape[x.ndim - columns - 1 :], x.shape[: x.ndim - columns - 1]
    if data.size == pattern.nz:  # one matrix for all lanes
        if b.size == x.size and len(lead) == 0:
            x[...] = pattern._solve_columns(data.reshape(-1), b, trans, singular)
            _PLANS[0].look_at(number, pattern, data.reshape(-1), x.size // max(pattern.n, 1))
            return
        b = np.broadcast_to(b, x.shape).reshape(-1, *core)
        flat = np.moveaxis(b, 0, -1).reshape(pattern.n, -1)
        found = pattern._solve_columns(data.reshape(-1), flat, trans, singular)
        x[...] = np.moveaxis(found.reshape(*core, len(b)), -1, 0).reshape(x.shape)
        if not columns:
            _PLANS[0].look_at(number, pattern, data.reshape(-1), len(b))
        return
    lanes = int(np.prod(lead))
    data = np.broadcast_to(data, (*lead, pattern.nz)).reshape(lanes, pattern.nz)
    b = np.broadcast_to(b, x.shape).reshape(lanes, *core)
    x[...] = pattern._solve_many(data, b, trans, singular).reshape(x.shape)
    _PLANS[0].look_at_many(number, pattern, data, core[1] if columns else 1)


def _words(address: int, count: int) -> list[int]:
    """Words of 8 bytes in memory."""
    kind = _WORDS[count] if count < FRAME + 1 else ctypes.c_int64 * count
    return kind.from_address(address)[:]


def _array(address: int) -> Array:
    """Memory of a buffer as an array."""
    buffer = _words(address, BUFFER)
    shape, dtype = _words(buffer[LENGTHS], buffer[RANK]), TYPES[buffer[DTYPE] & INT]
    size = math.prod(shape) * dtype.itemsize
    if size == 0:
        return np.empty(shape, dtype)
    memory: Any = (ctypes.c_char * size).from_address(buffer[DATA])
    return np.ndarray(shape, dtype, memory)


def _error(api: int, message: str, known: bool) -> int:
    """Address of a new error of XLA."""
    create = _words(api, API_WORDS)[CREATE_ERROR]
    text = ctypes.create_string_buffer(message.encode())
    code = INVALID_ARGUMENT if known else INTERNAL
    arguments = (ctypes.c_int64 * 4)(32, 0, ctypes.addressof(text), code)
    made = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(create)(ctypes.addressof(arguments))
    return int(made)
