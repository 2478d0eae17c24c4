"""Operations of PyTensor: solves and log-determinants, their gradients, and numba's calls of them.

Compiled code of numba calls a C function with the addresses of arrays. It is a callback of ctypes
that takes the interpreter's lock for some microseconds; the numeric kernels release it. So threads
of a sampler work at the same time, and no part of a model is in numba's object mode.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_funcify, numba_njit

from graphsys.errors import SingularPivotError
from graphsys.interop.pattern import Pattern

__all__ = ["Gradient", "LogDet", "Solve"]

Array = NDArray[Any]

#: Bytes of the message of an error.
TEXT = 1000
#: Addresses and sizes of the result, entries, right-hand side (rows, columns), and message. The
#: length of the message comes back, negative for a `ValueError`; 0 without an error.
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 7)


def real(x: Any, name: str, axes: tuple[int, ...]) -> Any:
    """Real variable with one of some numbers of axes."""
    x = pt.as_tensor_variable(x)
    if x.type.ndim not in axes:
        wanted = " or ".join(map(str, axes))
        raise TypeError(f"{name} has {x.type.ndim} axes, it must have {wanted}")
    if x.type.dtype not in ("float32", "float64"):
        if x.type.dtype.startswith(("complex", "float")):
            raise TypeError(f"{name} is of type {x.type.dtype}: use float32 or float64")
        x = x.astype("float64")
    return x


class Solve(Op):
    """x of A x = b, or of A^T x = b."""

    __props__ = ("pattern", "transposed", "singular")

    def __init__(self, pattern: Pattern, transposed: bool, singular: str) -> None:
        self.pattern, self.transposed, self.singular = pattern, transposed, singular

    def make_node(self, data: Any, b: Any) -> Any:
        """Node of the graph, of variables of one type."""
        data, b = real(data, "data", (1,)), real(b, "b", (1, 2))
        dtype = np.result_type(data.type.dtype, b.type.dtype).name
        data, b = data.astype(dtype), b.astype(dtype)
        return Apply(self, [data, b], [pt.tensor(dtype=dtype, shape=b.type.shape)])

    def compute(self, data: Array, b: Array) -> Array:
        """Solution for numbers."""
        trans = "T" if self.transposed else "N"
        return self.pattern.solve(data, b, trans, singular=self.singular)

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        """Compute in Python."""
        try:
            x = self.compute(*inputs)
        except SingularPivotError as failure:  # PyTensor adds to messages: one argument only
            raise np.linalg.LinAlgError(str(failure)) from failure
        output_storage[0][0] = np.ascontiguousarray(x)

    def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> Any:
        """Shape of the result."""
        return [shapes[1]]

    def pullback(self, inputs: Any, outputs: Any, gradients: Any) -> Any:
        """Gradients in the inputs."""
        (data, _), (x,), (g,) = inputs, outputs, gradients
        lam = Solve(self.pattern, not self.transposed, self.singular)(data, g)
        rows, columns = self.pattern.rows, self.pattern.columns
        if self.transposed:
            rows, columns = columns, rows
        product = lam[rows] * x[columns]
        return [-(product if product.type.ndim == 1 else product.sum(axis=1)), lam]

    L_op = pullback  # the name before PyTensor 3


class LogDet(Op):
    """log det A."""

    __props__ = ("pattern",)

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern

    def make_node(self, data: Any) -> Any:
        """Node of the graph."""
        data = real(data, "data", (1,))
        return Apply(self, [data], [pt.scalar(dtype=data.type.dtype)])

    def compute(self, data: Array) -> float:
        """Logarithm for numbers."""
        return self.pattern.logdet(data)

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        """Compute in Python."""
        output_storage[0][0] = np.asarray(self.compute(inputs[0]), inputs[0].dtype)

    def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> Any:
        """Shape of the result."""
        return [()]

    def pullback(self, inputs: Any, outputs: Any, gradients: Any) -> Any:
        """Gradients in the inputs."""
        return [gradients[0] * Gradient(self.pattern)(inputs[0])]

    L_op = pullback


class Gradient(Op):
    """Gradient of log det A in the entries of A."""

    __props__ = ("pattern",)

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern

    def make_node(self, data: Any) -> Any:
        """Node of the graph."""
        return Apply(self, [data], [data.type()])

    def compute(self, data: Array) -> Array:
        """Gradient for numbers."""
        return self.pattern.logdet_gradient(data)

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        """Compute in Python."""
        output_storage[0][0] = self.compute(inputs[0])

    def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> Any:
        """Shape of the result."""
        return [shapes[0]]


def _solve_of_numba(op: Solve, node: Any, **_: Any) -> Any:
    """Function that numba compiles, of entries and right-hand sides."""
    dtype, matrix = np.dtype(node.outputs[0].type.dtype), node.outputs[0].type.ndim == 2

    def compute(data: Array, b: Array) -> Array:
        return op.compute(data, b if matrix else b.reshape(-1))

    call = _callback(compute, dtype)

    @numba_njit
    def solve(data, b):  # type: ignore[no-untyped-def]
        data, b = np.ascontiguousarray(data), np.ascontiguousarray(b)
        x, text = np.empty_like(b), np.empty(TEXT, np.uint8)
        rows = b.shape[0]
        columns = b.size // max(rows, 1)
        found = call(
            x.ctypes.data, data.ctypes.data, data.size, b.ctypes.data, rows, columns,
            text.ctypes.data,
        )  # fmt: skip
        if found > 0:
            raise np.linalg.LinAlgError("".join([chr(c) for c in text[:found]]))
        if found < 0:
            raise ValueError("".join([chr(c) for c in text[:-found]]))
        return x

    return solve


def _logdet_of_numba(op: LogDet | Gradient, node: Any, **_: Any) -> Any:
    """Function that numba compiles, of entries."""
    scalar = isinstance(op, LogDet)
    call = _callback(lambda data, _: op.compute(data), np.dtype(node.outputs[0].type.dtype))

    @numba_njit
    def logdet(data):  # type: ignore[no-untyped-def]
        data = np.ascontiguousarray(data)
        x, text = np.empty(1 if scalar else data.size, data.dtype), np.empty(TEXT, np.uint8)
        found = call(
            x.ctypes.data, data.ctypes.data, data.size, x.ctypes.data, x.size, 1, text.ctypes.data
        )
        if found != 0:
            raise ValueError("".join([chr(c) for c in text[: abs(found)]]))
        return x

    if not scalar:
        return logdet

    @numba_njit
    def number(data):  # type: ignore[no-untyped-def]
        return np.asarray(logdet(data)[0])

    return number


def _callback(compute: Callable[[Array, Array], Any], dtype: np.dtype[Any]) -> Any:
    """C function of `CALLBACK` that writes x = compute(data, b)."""

    def array(at: int, *shape: int) -> Array:
        size = int(np.prod(shape)) * dtype.itemsize
        if size == 0:
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, (ctypes.c_char * size).from_address(at))  # type: ignore[arg-type]

    def handle(x: int, data: int, nz: int, b: int, rows: int, columns: int, text: int) -> int:
        try:
            right = array(b, rows, columns)
            array(x, rows, columns)[...] = np.reshape(compute(array(data, nz), right), right.shape)
        except BaseException as error:  # nothing may pass through C
            message = (str(error) or repr(error)).encode("ascii", "replace")[:TEXT]
            ctypes.memmove(text, message, len(message))
            singular = isinstance(error, SingularPivotError | np.linalg.LinAlgError)
            return len(message) if singular else -len(message)
        return 0

    return CALLBACK(handle)


numba_funcify.register(Solve, _solve_of_numba)
numba_funcify.register(LogDet, _logdet_of_numba)
numba_funcify.register(Gradient, _logdet_of_numba)
