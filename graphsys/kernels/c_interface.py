"""The kernels that C can call: addresses, and a header with all their arguments.

The functions have C's calling convention, allocate nothing, raise nothing and need no GIL. Numbers
of type T are double, float or, for complex matrices, pairs of them; R is that of real numbers.
"""

from typing import Any, NamedTuple

import numpy as np

from graphsys.kernels.base.layout import work_sizes
from graphsys.kernels.single.fused_solve import factorize_and_solve
from graphsys.kernels.single.ldu import factorize
from graphsys.kernels.single.substitution import solve, solve_transposed

#: Types of numbers: numpy's name, those of C for T and R, and what names of functions end in.
TYPES = {"float64": ("double", "double", "f64"), "float32": ("float", "float", "f32"),
         "complex128": ("double", "double", "c128"),
         "complex64": ("float", "float", "c64")}  # fmt: skip


class Argument(NamedTuple):
    """One argument: its name, type, length, and what it is for."""

    name: str
    type: str
    length: str
    text: str


PROGRAM = Argument(
    "program",
    "table",
    "program.size",
    "in: symbolic.program, if complex symbolic.supernodal_program",
)
VALUES = Argument("values", "T", "graph.nnz", "in: blocks of the matrix")
TOLERANCE = Argument("tolerance", "double", "", "in: ratio below which a pivot is singular")
MAGNITUDE = Argument("magnitude", "R", "sizes[1]", "work")
ARENA = Argument("arena", "T", "sizes[0]", "out: factors; in where they are used")
INFO = Argument("info", "real64", "3", "out: pivot ratio, row of the smallest, growth")
COUNT = Argument("count", "int64_t", "", "in: number of right-hand sides")
B = Argument("b", "T", "rows * count", "in: right-hand sides by columns")
X = Argument("x", "T", "sizes[2]", "work")
OUT = Argument("out", "T", "rows * count", "out: solutions by columns")

#: Functions: kernel, arguments, what comes back.
FUNCTIONS = {
    "work_sizes": (work_sizes, (PROGRAM, COUNT), "sizes"),
    "factorize": (
        factorize, (PROGRAM, VALUES, TOLERANCE, MAGNITUDE, ARENA, INFO),
        "0, 1 + the row of a singular pivot block, or -2 where the program is another one",
    ),
    "solve": (solve, (PROGRAM, ARENA, B, COUNT, X, OUT), "0, or not 0 where not finite"),
    "solve_transposed": (
        solve_transposed, (PROGRAM, ARENA, B, COUNT, X, OUT), "0, or not 0 where not finite",
    ),
    "factorize_and_solve": (
        factorize_and_solve,
        (PROGRAM, VALUES, B, TOLERANCE, MAGNITUDE, X, ARENA, INFO, OUT),
        "as factorize, or -1 where the solution is not finite",
    ),
}  # fmt: skip


def address(name: str, dtype: Any = "float64") -> int:
    """Address of a kernel as a C function, for programs that are not Python.

    It is valid until the process ends. `header` documents its arguments.

    Parameters
    ----------
    name : str
        "factorize_and_solve", "factorize", "solve", "solve_transposed" or "work_sizes".
    dtype : dtype_like, optional
        Of the matrix: float64, float32, complex128 or complex64.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        For other names and types.
    NotImplementedError
        If kernels are plain Python (``NUMBA_DISABLE_JIT=1``).
    """
    if name not in FUNCTIONS:
        raise ValueError(f"there is no C function {name!r}; there are {list(FUNCTIONS)}")
    kind = np.dtype(dtype)
    if kind.name not in TYPES:
        raise ValueError(f"matrices are of {list(TYPES)}, not {kind.name}")
    kernel, arguments, _ = FUNCTIONS[name]
    if not hasattr(kernel, "address"):
        raise NotImplementedError("there is no machine code under NUMBA_DISABLE_JIT=1")
    real = np.empty(0, kind).real.dtype
    kinds = {
        "table": "i8,1Cr", "T": f"{kind.str[1:]},1Cw", "R": f"{real.str[1:]},1Cw",
        "real64": "f8,1Cw", "double": "float", "int64_t": "int",
    }  # fmt: skip
    return int(kernel.address(" ".join(kinds[argument.type] for argument in arguments), "c"))


def header() -> str:
    """C header: types of the functions whose addresses `address` gives, arguments explained.

    Returns
    -------
    str
    """
    lines = [
        "/* graphsys: block LDU of matrices on graphs. Written by graphsys.kernels.header().",
        " *",
        " * A length follows every array. The functions allocate nothing and raise nothing.",
        " * Memory comes from work_sizes: sizes[0] numbers for arena, sizes[1] for magnitude,",
        " * sizes[2] for x. Complex numbers are pairs of reals; lengths count pairs.",
        " */",
        "#ifndef GRAPHSYS_H", "#define GRAPHSYS_H", "#include <stdint.h>", "",
    ]  # fmt: skip
    for name, (_, arguments, back) in FUNCTIONS.items():
        many = list(TYPES.values()) if any(one.type in "TR" for one in arguments) else [None]
        lines += [f"/* {name}: {back}"]
        lines += [f" *   {one.name:<10} {one.length:<13} {one.text}" for one in arguments]
        lines += [" */"]
        for types in many:
            declared = [_declared(one, types) for one in arguments]
            result, more = ("void", ["int64_t sizes[3]"]) if back == "sizes" else ("int64_t", [])
            end = f"_{types[2]}" if types else ""
            lines += [f"typedef {result} (*graphsys_{name}{end})({', '.join([*declared, *more])});"]
        lines += [""]
    return "\n".join([*lines, "#endif", ""])


def _declared(argument: Argument, types: tuple[str, str, str] | None) -> str:
    """An argument in C, with its length where it is an array."""
    kind = {"table": "const int64_t", "real64": "double"}.get(argument.type, argument.type)
    if types and kind in "TR":
        kind = types["TR".index(kind)]
        if argument.text.startswith("in:"):
            kind = f"const {kind}"
    if not argument.length:
        return f"{kind} {argument.name}"
    return f"{kind} *{argument.name}, int64_t {argument.name}_length"
