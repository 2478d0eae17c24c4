"""PyTorch: sparse solves as a custom operator with derivatives of any order, on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsys.errors import MissingExtraError
from graphsys.interop.pattern import Pattern, check, number_of, pattern_of

__all__ = ["solve"]


def __dir__() -> list[str]:
    return list(__all__)


#: The module torch and the operator, once they are loaded. A list, because PyTorch's compiler warns
#: about `functools.cache`.
_LOADED: list[tuple[Any, Any]] = []
SCHEMA = "(Tensor data, Tensor b, int pattern, bool transposed, bool raises) -> Tensor"


def solve(pattern: Pattern, data: Any, b: Any, *, singular: str = "raise") -> Any:
    """Solve A x = b in PyTorch, on the CPU.

    Works with autograd (reverse and forward mode, any order), `torch.func` and `torch.compile`.
    Many matrices are factorized several at a time. The adjoint solve reuses the factors of the
    solve.

    Parameters
    ----------
    pattern : Pattern
        Positions of the entries; keep a reference while functions compiled with it are used.
    data : torch.Tensor, shape (nz,) or (count, nz)
        Entries of one matrix, or of many, differentiable.
    b : torch.Tensor, shape (n,) or (n, k), or (count, n) or (count, n, k) with many matrices
        Right-hand sides, differentiable.
    singular : {"raise", "nan"}, optional
        For a singular matrix, raise an error or return NaN for its solutions.

    Returns
    -------
    torch.Tensor, shape of b
        NaN also if entries or right-hand sides are not finite.

    Raises
    ------
    MissingExtraError
        Without torch.
    SingularPivotError
        If a matrix is singular, with its number among many and a row.
    TypeError
        For arguments that are not dense tensors, and for types other than float32, float64,
        complex64 and complex128.
    ValueError
        If data or b has the wrong shape or is not on the CPU, or `singular` is unknown.

    Examples
    --------
    >>> import graphsys as gs, torch  # doctest: +SKIP
    >>> pattern = gs.Pattern([0, 1], [0, 1])  # doctest: +SKIP
    >>> gs.torch.solve(pattern, torch.tensor([2.0, 4.0]), torch.ones(2))  # doctest: +SKIP
    tensor([0.5000, 0.2500])
    """
    torch, apply = _LOADED[0] if _LOADED else _load()
    check(pattern, singular)
    for name, tensor in (("data", data), ("b", b)):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, not {type(tensor).__name__}")
        if tensor.device.type != "cpu":
            raise ValueError(
                f"{name} is on {tensor.device}: gs.torch.solve runs on the CPU, pass {name}.cpu()"
            )
        if tensor.layout != torch.strided:
            raise TypeError(f"{name} is a tensor of layout {tensor.layout}: pass a dense one")
    if data.ndim not in (1, 2) or data.shape[-1] != pattern.nz:
        raise ValueError(
            f"data has shape {tuple(data.shape)}, it must be ({pattern.nz},) or "
            f"(count, {pattern.nz})"
        )
    lead, shape = tuple(data.shape[:-1]), tuple(b.shape)
    if b.ndim not in (len(lead) + 1, len(lead) + 2) or shape[: len(lead) + 1] != (*lead, pattern.n):
        one, many = (*lead, pattern.n), (*lead, pattern.n, "k")
        raise ValueError(f"b has shape {shape}, it must be {one} or {many}".replace("'", ""))
    dtype = torch.promote_types(data.dtype, b.dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = torch.get_default_dtype()
    if dtype not in (torch.float32, torch.float64, torch.complex64, torch.complex128):
        raise TypeError(f"numbers of type {dtype} are not supported: use float32 or float64")
    number = number_of(pattern)
    return apply(data.to(dtype), b.to(dtype), number, False, singular == "raise")


def _load() -> tuple[Any, Any]:
    """The module torch, and the operator with its derivatives, registered once."""
    try:
        import torch
    except ImportError as error:
        if error.name not in (None, "torch"):
            raise
        raise MissingExtraError("graphsys.torch", "torch", "torch") from None

    def substitute(data: Any, b: Any, number: int, transposed: bool, raises: bool) -> Any:
        pattern, trans = pattern_of(number), "T" if transposed else "N"
        entries, right = (
            tensor.detach().resolve_conj().resolve_neg().numpy() for tensor in (data, b)
        )
        x = pattern.solve(entries, right, trans, singular="raise" if raises else "nan")
        return torch.from_numpy(np.ascontiguousarray(x))

    operator: Any = torch.library.custom_op(
        "graphsys::solve", substitute, mutates_args=(), device_types="cpu", schema=SCHEMA
    )

    def like(data: Any, b: Any, number: int, transposed: bool, raises: bool) -> Any:
        return torch.empty_like(b, memory_format=torch.contiguous_format)

    operator.register_fake(like)

    def positions(pattern: Pattern, transposed: bool) -> tuple[Any, Any]:
        rows, columns = (torch.from_numpy(i.copy()) for i in (pattern.rows, pattern.columns))
        return (columns, rows) if transposed else (rows, columns)

    class Solve(torch.autograd.Function):
        """The operator with its derivatives and maps, which operators alone lack in torch.func."""

        @staticmethod
        def forward(data: Any, b: Any, number: int, transposed: bool, raises: bool) -> Any:
            return operator(data, b, number, transposed, raises)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            data, _, *ctx.options = inputs
            ctx.pattern = pattern_of(ctx.options[0])  # exists as long as the graph of gradients
            ctx.save_for_backward(data, output)
            ctx.save_for_forward(data, output)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            data, x = ctx.saved_tensors
            number, transposed, raises = ctx.options
            # A^H lam = g, and -lam_i conj(x_j) for the entry (i, j) that lam_i A_ij x_j contains.
            lam = Solve.apply(data.conj(), gradient, number, not transposed, raises)
            of_data = None
            if ctx.needs_input_grad[0]:
                rows, columns = positions(ctx.pattern, transposed)
                axis = data.ndim - 1
                product = lam.index_select(axis, rows) * x.conj().index_select(axis, columns)
                of_data = -(product if product.ndim == data.ndim else product.sum(-1))
            return of_data, lam, None, None, None

        @staticmethod
        def jvp(ctx: Any, of_data: Any, of_b: Any, *_: Any) -> Any:
            data, x = ctx.saved_tensors
            right = torch.zeros_like(x) if of_b is None else of_b
            if of_data is not None:  # A x' = b' - A' x
                rows, columns = positions(ctx.pattern, ctx.options[1])
                axis = data.ndim - 1
                entries = of_data if x.ndim == data.ndim else of_data[..., None]
                product = entries * x.index_select(axis, columns)
                right = right.index_add(axis, rows, product, alpha=-1)
            return Solve.apply(data, right, *ctx.options)

        @staticmethod
        def vmap(info: Any, axes: Any, data: Any, b: Any, *options: Any) -> Any:
            lanes = info.batch_size
            b = b.expand(lanes, *b.shape) if axes[1] is None else b.movedim(axes[1], 0)
            if axes[0] is None and data.ndim == 1:  # columns of one solve
                flat = b.movedim(0, -1)
                x = Solve.apply(data, flat.reshape(flat.shape[0], -1), *options)
                return x.reshape(flat.shape).movedim(-1, 0), 0
            data = data.expand(lanes, *data.shape) if axes[0] is None else data.movedim(axes[0], 0)
            lead = data.ndim - 1
            x = Solve.apply(
                data.reshape(-1, data.shape[-1]), b.reshape(-1, *b.shape[lead:]), *options
            )
            return x.reshape(b.shape), 0

    _LOADED.append((torch, Solve.apply))
    return _LOADED[0]
