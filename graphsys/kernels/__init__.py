"""Compiled interface: what other compiled code calls to factorize and solve without Python.

All functions take flat arrays and return a status or nothing; they allocate nothing, raise nothing
and hold no GIL. With ``symbolic = system.analyze()``, ``program = symbolic.program``, or
``symbolic.supernodal_program`` for complex numbers, and

=============  ==================================  ==========================================
array          shape                               what
=============  ==================================  ==========================================
``values``     (graph.nnz,)                        blocks, laid out as in `BlockGraph`
``arena``      (symbolic.arena_size,)              factors, same type as values
``magnitude``  (2 rows,)                           workspace, real
``info``       (3,)                                see `factorize`, float64
``x``          (rows * count + widest pivot,)      workspace of a solve
``b, out``     (rows * count,)                     right-hand sides and solutions by columns;
                                                   ``out`` is workspace before
=============  ==================================  ==========================================

``failed = factorize(program, values, tolerance, magnitude, arena, info)`` is 0, or 1 + the row (in
elimination order) of a singular pivot block; ``solve(program, arena, b, count, x, out)`` and
`solve_transposed` use the factors.
`solve_side_by_side` is faster where there are eight columns, which lie row by row in elimination
order (`row_places`, `clear_side_by_side`). Factors and solution for one right-hand side, quicker
where nodes are small: ``factorize_and_solve(program, values, b, tolerance, magnitude, x, arena,
info, out)``, -1 where the solution is not finite. `work_sizes` gives the lengths from the program
alone.

A status of -2 means that the calling code was compiled with another version of graphsys and links
its kernels of then: remove what numba has cached of it (``__pycache__/*.nbi``). Or numbers are
complex and the program is not for them.

`address` gives the first of these functions to C and other languages, and `header` their types.
"""

from graphsys.kernels.base.layout import work_sizes
from graphsys.kernels.blocks.blocks import add_product, assign_product, subtract_product
from graphsys.kernels.c_interface import address, header
from graphsys.kernels.single.fused_solve import factorize_and_solve
from graphsys.kernels.single.ldu import factorize
from graphsys.kernels.single.matrix import absolute_sums, subtract_matrix_product
from graphsys.kernels.single.multiple_rhs import clear_side_by_side, row_places, solve_side_by_side
from graphsys.kernels.single.substitution import solve, solve_transposed

__all__ = [
    "absolute_sums",
    "add_product",
    "address",
    "assign_product",
    "clear_side_by_side",
    "factorize",
    "factorize_and_solve",
    "header",
    "row_places",
    "solve",
    "solve_side_by_side",
    "solve_transposed",
    "subtract_matrix_product",
    "subtract_product",
    "work_sizes",
]
