"""Refinement of velocities where stiff contacts between bodies cost the factors their digits.

A body that two stiff contacts or limits hold has a pivot block with a condition number of 1e10 and
more. Its inverse, as `graphsys` keeps it, then loses what its light directions have in common with
those of its neighbours, and all of a robot may turn by a thousand times what it should. Panels of
planar trees have scalar pivots and no inverses: their solutions are not refined.
"""

from dynamics.kernels.base.copying import copy_numbers
from dynamics.kernels.base.jit import inlined, kernel
from dynamics.kernels.base.layout import BODIES, BODY_SIZE, IMPULSE, TWIST
from dynamics.kernels.base.six import largest, most_of, nothing, products
from dynamics.kernels.interval.planar import in_panels, solve_system
from graphsys.kernels import subtract_matrix_product

#: Part of the error of momenta before the iteration that a solution of the linear equations may
#: leave, or the tolerance. At 0.1, a humanoid at rest takes 1.14 times the factorizations.
LEFT = 1e-3
#: Steps of refinement at most. Without any, a driven ant takes 2.7 times the factorizations.
REFINEMENTS = 3


@kernel
def momentum_error(plan, constant, r):
    """Largest part of r, momenta of bodies, over units."""
    most = 0.0
    for body in range(plan[BODIES]):
        sums = products(nothing(), constant, body * BODY_SIZE + IMPULSE, r, TWIST * body)
        most = max(most, most_of(largest(nothing(), sums)))
    return most


@inlined
def solve_refined(plan, constant, program, before, tolerance, solver):
    """Solution of the linear equations, with an error that is small beside that ``before``."""
    solve_system(program, solver, solver.rhs, solver.solution)
    if not in_panels(solver):
        refine(plan, constant, program, before, tolerance, solver)


@kernel
def refine(plan, constant, program, before, tolerance, solver):
    """Steps of refinement of a solution."""
    rows = solver.rhs.size
    left, change = solver.columns[:rows], solver.columns[rows : 2 * rows]
    size, start, first, neighbor, diagonal, block = solver.matrix
    for _ in range(REFINEMENTS):
        copy_numbers(solver.rhs, 0, left, 0, rows)
        subtract_matrix_product(
            size, start, first, neighbor, diagonal, block, solver.values, False, solver.solution,
            0, left,
        )  # fmt: skip
        if momentum_error(plan, constant, left) <= max(LEFT * before, tolerance):
            return
        solve_system(program, solver, left, change)
        for i in range(rows):
            solver.solution[i] += change[i]
