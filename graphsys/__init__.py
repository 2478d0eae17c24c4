"""Direct solver for linear systems whose sparsity is a graph with a block on every node and edge.

Describe a matrix with labels (`System`), analyze its graph once (`Symbolic`), factorize and solve
as often as values change (`Factor`).
"""

from typing import Any

from graphsys.errors import (
    InaccurateSolutionWarning,
    MissingExtraError,
    NotPositiveDefiniteError,
    SingularPivotError,
    UnknownEdgeError,
    UnknownNodeError,
)
from graphsys.families import chain, crystal, ladder, net, random_tree
from graphsys.system import System

__version__ = "0.1.0"

# What needs the compiler or a picture is imported when it is first asked for.
_LATER = {
    "Batch": "batch",
    "Certificate": "numeric.certificate",
    "CholeskyFactor": "interop.cholesky",
    "Condensation": "condensation",
    "Factor": "factor",
    "Pattern": "interop.pattern",
    "SelectedInverse": "numeric.selected_inverse",
    "SolveReport": "numeric.solver",
    "Symbolic": "symbolic",
    "cache_folder": "compiler.store",
    "check_writable": "files",
    "cholesky": "interop.cholesky",
    "cholesky_AAt": "interop.cholesky",
    "condense": "condensation",
    "explain": "display.report",
    "factorized": "interop.sparse_linalg",
    "ipopt": "interop",
    "plot_fill": "display.plot",
    "plot_graph": "display.plot",
    "splu": "interop.sparse_linalg",
    "spsolve": "interop.sparse_linalg",
    "whole_file": "files",
}

__all__ = [
    "Batch",
    "Certificate",
    "CholeskyFactor",
    "Condensation",
    "Factor",
    "InaccurateSolutionWarning",
    "MissingExtraError",
    "NotPositiveDefiniteError",
    "Pattern",
    "SelectedInverse",
    "SingularPivotError",
    "SolveReport",
    "Symbolic",
    "System",
    "UnknownEdgeError",
    "UnknownNodeError",
    "chain",
    "cholesky",
    "cholesky_AAt",
    "condense",
    "crystal",
    "explain",
    "factorized",
    "ladder",
    "net",
    "plot_fill",
    "plot_graph",
    "random_tree",
    "splu",
    "spsolve",
]


#: Modules of interop that users reach by a short name, such as `gs.jax.solve`.
_MODULES = ("jax", "pytensor", "qtqp", "torch")
#: What `dir` lists as well.
_LISTED = ("__version__", "ipopt", "kernels", *_MODULES)


#: What other programs call functions, and the way here.
_ELSEWHERE = {
    "analyze": "System(...).analyze()",
    **dict.fromkeys(("Cholesky", "cho_factor", "cho_solve"), "cholesky(A)"),
    **dict.fromkeys(("cg", "gmres", "linalg", "minres"), "spsolve(A, b)"),
    **dict.fromkeys(("cond", "rcond"), "splu(A).factor.rcond()"),
    **dict.fromkeys(("cyipopt", "hsllib", "ma27"), "ipopt.library()"),
    **dict.fromkeys(("det", "logdet", "slogdet"), "splu(A).factor.slogdet()"),
    **dict.fromkeys(("factor", "factorize"), "System(...).factorize()"),
    "eigsh": "splu(A).as_linear_operator() as OPinv of scipy.sparse.linalg.eigsh",
    "from_scipy": "System.from_scipy(A)",
    "inertia": "System.from_scipy(A, symmetric=True).factorize().inertia()",
    "inv": "splu(A).solve(B), or splu(A).factor.selected_inverse()",
    **dict.fromkeys(("LDL", "ldl", "ldlt"), "System.from_scipy(A, symmetric=True).factorize()"),
    **dict.fromkeys(("lu", "lu_factor"), "splu(A)"),
    **dict.fromkeys(("lsqr", "lstsq"), "spsolve(K, c), K = [[I, A], [A.T, 0]], c = [b, 0]"),
    "solve": "spsolve(A, b) or System(...).solve(b)",
    "spilu": "splu(A)",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"graphsys.interop.{name}")
    if name == "kernels":
        return import_module("graphsys.kernels")
    if name not in _LATER:
        hint = f"; use graphsys.{_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
        raise AttributeError(f"module 'graphsys' has no attribute {name!r}{hint}")
    return getattr(import_module(f"graphsys.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_LISTED])
