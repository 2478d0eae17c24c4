"""Decorators of kernels, and modules of numba and LLVM that kernels' intrinsics use.

Nothing here imports numba: see `graphsys.compiler`.
"""

from graphsys.compiler import (
    DIFFER,
    DISABLE_JIT,
    Hint,
    Inlined,
    Interpreted,
    Intrinsic,
    Kernel,
    LanesDifferError,
    Lazy,
    LazyModule,
    bind_all,
    compile_all,
)

__all__ = [
    "DIFFER",
    "DISABLE_JIT",
    "LanesDifferError",
    "LazyModule",
    "arrayobj",
    "bind_all",
    "compile_all",
    "cgutils",
    "hint",
    "inlined",
    "interpreted",
    "intrinsic",
    "ir",
    "kernel",
    "lazy",
    "shared",
    "types",
]

types = LazyModule("numba.types")
cgutils = LazyModule("numba.core.cgutils")
arrayobj = LazyModule("numba.np.arrayobj")
ir = LazyModule("llvmlite.ir")


def kernel(function):
    """Decorator of a kernel: it allocates nothing and counts no references."""
    return function if DISABLE_JIT else Kernel(function, _nrt=False)


def inlined(function):
    """Decorator of a kernel with one caller: compiled as part of it.

    LLVM optimizes a function again with every caller that links it.
    """
    return function if DISABLE_JIT else Inlined(function, _nrt=False)


def lazy(result):
    """Decorator of a kernel that is compiled at its first call, also by kernels.

    A feature that few mechanisms have costs the others no compiling so. `result` is the kind of the
    kernel's result, such as "None" or "float": its callers are compiled before it.
    """
    return lambda function: function if DISABLE_JIT else Lazy(function, result, _nrt=False)


def interpreted(function):
    """Decorator of a kernel that Python runs while its arrays are small: compiling takes longer."""
    return function if DISABLE_JIT else Interpreted(function, _nrt=False)


def shared(emit):
    """Decorator of a function that emits an LLVM function: compiled once for all that call it."""
    from graphsys.compiler.shared import Shared

    return Shared(emit)


def intrinsic(function):
    """Decorator of a function that emits LLVM code where a kernel calls it."""
    return Intrinsic(function)


def hint(function):
    """Decorator of an intrinsic that only saves time: what Python runs goes on without it."""
    return Hint(function)
