"""PyTensor: solves and log-determinants as operations with gradients, for models in PyMC."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from graphsys.errors import MissingExtraError, SingularPivotError
from graphsys.interop.pattern import Pattern, check

__all__ = ["logdet", "solve"]


def solve(pattern: Pattern, data: Any, b: Any, *, singular: str = "raise") -> Any:
    """Solve A x = b in PyTensor.

    Differentiable in data and b, any number of times. The adjoint solve uses the factors of the
    solve.

    Parameters
    ----------
    pattern : Pattern
        Positions of the entries.
    data : TensorVariable or array_like, shape (nz,)
        Entries of A.
    b : TensorVariable or array_like, shape (n,) or (n, k)
    singular : {"raise", "nan"}, optional
        What a singular matrix does when the function runs: raise an error, or give NaN, which
        samplers reject.

    Returns
    -------
    TensorVariable, shape of b
        NaN also where entries or right-hand sides are not finite.

    Raises
    ------
    MissingExtraError
        Without pytensor.
    TypeError, ValueError
        Where data or b has another number of axes or is complex, or `singular` is unknown.

    Examples
    --------
    >>> import graphsys as gs
    >>> pattern = gs.Pattern([0, 1], [0, 1])
    >>> x = gs.pytensor.solve(pattern, [2.0, 4.0], [2.0, 2.0])  # doctest: +SKIP
    >>> x.eval()  # doctest: +SKIP
    array([1. , 0.5])
    """
    check(pattern, singular)
    return _operations().Solve(pattern, False, singular)(data, b)


def logdet(pattern: Pattern, data: Any) -> Any:
    """Logarithm of the determinant of A in PyTensor, differentiable once.

    Parameters
    ----------
    pattern : Pattern
    data : TensorVariable or array_like, shape (nz,)
        Entries of A.

    Returns
    -------
    TensorVariable, scalar
        NaN where the determinant is negative, -inf where A is singular. Of an indefinite matrix
        with an even number of negative eigenvalues it is finite.

    Raises
    ------
    MissingExtraError
        Without pytensor.
    TypeError
        Where data is no vector of real numbers.

    Examples
    --------
    >>> import graphsys as gs
    >>> value = gs.pytensor.logdet(gs.Pattern([0], [0]), [2.0])  # doctest: +SKIP
    """
    check(pattern)
    return _operations().LogDet(pattern)(data)


@cache
def _operations() -> Any:
    """Classes of operations, of PyTensor's base class."""
    try:
        import pytensor.tensor as pt
        from pytensor.graph.basic import Apply
        from pytensor.graph.op import Op
    except ImportError as error:
        if (error.name or "pytensor").partition(".")[0] != "pytensor":
            raise
        raise MissingExtraError("graphsys.pytensor", "pytensor", "pytensor") from None

    def real(x: Any, name: str, axes: tuple[int, ...]) -> Any:
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
            data, b = real(data, "data", (1,)), real(b, "b", (1, 2))
            dtype = np.result_type(data.type.dtype, b.type.dtype).name
            data, b = data.astype(dtype), b.astype(dtype)
            return Apply(self, [data, b], [pt.tensor(dtype=dtype, shape=b.type.shape)])

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            trans = "T" if self.transposed else "N"
            try:
                x = self.pattern.solve(inputs[0], inputs[1], trans, singular=self.singular)
            except SingularPivotError as failure:  # PyTensor adds to messages: one argument only
                raise np.linalg.LinAlgError(str(failure)) from failure
            output_storage[0][0] = np.ascontiguousarray(x)

        def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> Any:
            return [shapes[1]]

        def pullback(self, inputs: Any, outputs: Any, gradients: Any) -> Any:
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
            data = real(data, "data", (1,))
            return Apply(self, [data], [pt.scalar(dtype=data.type.dtype)])

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            found = self.pattern.logdet(inputs[0])
            output_storage[0][0] = np.asarray(found, inputs[0].dtype)

        def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> Any:
            return [()]

        def pullback(self, inputs: Any, outputs: Any, gradients: Any) -> Any:
            return [gradients[0] * Gradient(self.pattern)(inputs[0])]

        L_op = pullback

    class Gradient(Op):
        """Gradient of log det A in the entries of A."""

        __props__ = ("pattern",)

        def __init__(self, pattern: Pattern) -> None:
            self.pattern = pattern

        def make_node(self, data: Any) -> Any:
            return Apply(self, [data], [data.type()])

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            output_storage[0][0] = self.pattern.logdet_gradient(inputs[0])

        def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> Any:
            return [shapes[0]]

    return SimpleNamespace(Solve=Solve, LogDet=LogDet)
