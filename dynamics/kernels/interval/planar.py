"""Linear equations of Newton's method; of a planar mechanism those in its plane alone.

A mechanism is planar if one plane is its plane of symmetry and its joints hold all bodies to it
(`dynamics.tables.planar`). Each unknown and each equation then is in the plane, where a reflection
leaves it as it is, or out of it, where a reflection reverses it: of a body two velocities and one
angular velocity are in the plane, of a hinge two rows. No block of the matrix joins the two kinds.
So where residuals out of the plane are within the tolerances, Newton's step changes nothing out of
it, and blocks of 3 and 2 rows are factorized instead of 6 and 5. Where anything acts out of the
plane, or joints are open there, residuals show it, and all equations are solved together.
Convergence is always that of all residuals. Trees are factorized in panels (`interval.panels`),
loops by `graphsys`.
"""

from dynamics.kernels.base.arguments import Planar, Solver
from dynamics.kernels.base.jit import inlined, kernel, lazy, pointer
from dynamics.kernels.base.lanes import as_numbers
from dynamics.kernels.base.layout import (
    BALANCED,
    BODIES,
    CLOSED,
    CONTACTS,
    ENTRIES,
    IMPULSE,
    INNER,
    LIGHTNESS,
    OUTER,
    PANEL,
    PANEL_GROUPS,
    PANEL_NUMBERS,
    PLANAR_AT,
    PLANAR_HEADER,
    PLANAR_STATE,
    PROGRAM_SIZE,
    TAKEN,
    TWIST,
    UNITS_AT,
)
from dynamics.kernels.base.settings import CONTACT_TOLERANCE, TOLERANCE
from dynamics.kernels.interval.newton import EPS
from dynamics.kernels.interval.panels import factorize_panels, solve_panels
from dynamics.kernels.interval.residual import extent
from graphsys.kernels import factorize, solve
from graphsys.kernels.batch.ldu import factorize_eight, solve_eight


@inlined
def planar_of(plan, work, at):
    """`Planar` of a plan, with its arrays in the workspace from place ``at``; the place after."""
    table, inner, entries, outer, size, own = plan[PLANAR_AT], 0, 0, 0, 0, 0
    groups, more = 0, 0
    if table > 0:
        inner, outer, own = plan[table + INNER], plan[table + OUTER], PLANAR_STATE
        entries, size = plan[table + ENTRIES], plan[table + PROGRAM_SIZE]
        groups, more = plan[table + PANEL_GROUPS], plan[table + PANEL_NUMBERS]
    program = table + PLANAR_HEADER + inner + 2 * outer + entries + more
    a = at + own
    b = a + entries
    c = b + inner
    d = c + inner
    planar = Planar(
        table=pointer(plan, table), program=plan[program : program + size],
        state=pointer(work, at), values=work[a:b], rhs=work[b:c], solution=work[c:d],
        panels=pointer(work, d),
    )  # fmt: skip
    return planar, d + (2 * PANEL * groups + inner + 1 if groups > 0 else 0)


@kernel
def set_tolerances(plan, constant, settings, pose, planar):
    """Residuals out of the plane that are solved, over units: as large as all may be in the end."""
    if planar.program.size > 0:
        contacts = plan[CONTACTS] > 0
        planar.state[BALANCED] = settings[CONTACT_TOLERANCE if contacts else TOLERANCE]
        planar.state[CLOSED] = max(settings[TOLERANCE], 64.0 * EPS * extent(plan, constant, pose))


@lazy("bool")
def in_plane(plan, constant, h, table, state, r):
    """Whether residuals out of the plane are within the tolerances."""
    last, at = TWIST * plan[BODIES], PLANAR_HEADER + table[INNER]
    units = IMPULSE if plan[CONTACTS] > 0 else LIGHTNESS
    most, open_most = 0.0, 0.0
    for k in range(table[OUTER]):
        i, place = table[at + 2 * k], table[at + 2 * k + 1]
        if i < last:
            most = max(most, constant[place + units] * abs(r[i]))
        else:
            open_most = max(open_most, constant[plan[UNITS_AT] + place] * abs(r[i]))
    return most <= state[BALANCED] and h * open_most <= state[CLOSED]


@lazy("int")
def factorize_in_panels(table, values, panels):
    """Factors of the blocks in the plane of a tree, given all blocks; as `factorize`."""
    at = PLANAR_HEADER + table[INNER] + 2 * table[OUTER]
    targets = pointer(table, at + table[ENTRIES])
    records = pointer(targets, table[ENTRIES] + table[INNER])
    return factorize_panels(
        table[PANEL_GROUPS], table[ENTRIES], records, pointer(table, at), targets, values, panels
    )


@lazy("int")
def factorize_in_plane(solver):
    """Factors of the blocks in the plane, with loops; as `factorize`."""
    planar = solver.planar
    table, values = planar.table, planar.values
    at = PLANAR_HEADER + table[INNER] + 2 * table[OUTER]
    for k in range(table[ENTRIES]):
        values[k] = solver.values[table[at + k]]
    program = planar.program
    return factorize(program, values, 1e-15, solver.magnitude, solver.factors, solver.status)


@lazy("None")
def solve_in_panels(table, panels, rhs, solution):
    """Solution in the plane of a tree, 0 out of it."""
    groups, inner, at = table[PANEL_GROUPS], table[INNER], PLANAR_HEADER + table[INNER]
    for k in range(table[OUTER]):
        solution[table[at + 2 * k]] = 0.0
    order = pointer(table, at + 2 * (table[OUTER] + table[ENTRIES]))
    y = pointer(panels, 2 * PANEL * groups)
    for k in range(inner):
        y[k] = rhs[order[k]]
    y[inner] = 0.0
    solve_panels(groups, pointer(order, inner), panels, y)
    for k in range(inner):
        solution[order[k]] = y[k]


@lazy("None")
def solve_in_plane(solver, rhs, solution):
    """Solution in the plane, with loops; 0 out of it."""
    planar = solver.planar
    table, inner = planar.table, planar.table[INNER]
    at = PLANAR_HEADER + inner
    for k in range(table[OUTER]):
        solution[table[at + 2 * k]] = 0.0
    for k in range(inner):
        planar.rhs[k] = rhs[table[PLANAR_HEADER + k]]
    solve(planar.program, solver.factors, planar.rhs, 1, solver.workspace, planar.solution)
    for k in range(inner):
        solution[table[PLANAR_HEADER + k]] = planar.solution[k]


@inlined
def numbers_of(solver):
    """The solver without lanes: for branches that are compiled for lanes, but not taken there."""
    planar = solver.planar
    values, rhs, solution = as_numbers(solver.values), as_numbers(solver.rhs), solver.solution
    return Solver(
        values=values, magnitude=as_numbers(solver.magnitude), factors=as_numbers(solver.factors),
        workspace=as_numbers(solver.workspace), status=as_numbers(solver.status), rhs=rhs,
        solution=as_numbers(solution), columns=solver.columns, matrix=solver.matrix,
        planar=Planar(
            table=planar.table, program=planar.program, state=as_numbers(planar.state),
            values=as_numbers(planar.values), rhs=as_numbers(planar.rhs),
            solution=as_numbers(planar.solution), panels=as_numbers(planar.panels),
        ),
        schedule=None,
    )  # fmt: skip


@inlined
def factorize_system(plan, constant, program, h, whole, solver):
    """Factors of the matrix, of its blocks in the plane if the right-hand side lies there.

    0, or not. ``whole``: in any case all blocks.
    """
    return factorize_with(plan, constant, program, h, whole, solver.schedule, solver)


@kernel
def factorize_with(plan, constant, program, h, whole, schedule, solver):
    """`factorize_system`; eight matrices side by side if there is a schedule."""
    one = numbers_of(solver)
    if schedule is None:
        planar = one.planar
        state, table = planar.state, planar.table
        if planar.program.size > 0:
            state[TAKEN] = 1.0
            if not whole and in_plane(plan, constant, h, table, state, pointer(one.rhs, 0)):
                if table[PANEL_GROUPS] > 0:
                    failed = factorize_in_panels(table, pointer(one.values, 0), planar.panels)
                else:
                    failed = factorize_in_plane(one)
                if failed == 0:
                    return 0
            state[TAKEN] = 0.0
        return factorize(program, one.values, 1e-15, one.magnitude, one.factors, one.status)
    else:
        factorize_eight(
            program, schedule, one.values, 0, 0, 0, one.magnitude, one.workspace, one.factors, 0,
            one.status, 0,
        )  # fmt: skip
        return 0 if solver.status[0] > 1e-15 else 1


@inlined
def suit(plan, constant, h, solver):
    """Whether the factors are for the right-hand side: those in the plane may not be."""
    return suit_with(plan, constant, h, solver.schedule, solver)


@kernel
def suit_with(plan, constant, h, schedule, solver):
    """`suit`; eight matrices side by side if there is a schedule."""
    if schedule is None:
        one = numbers_of(solver)
        planar = one.planar
        if planar.program.size > 0 and planar.state[TAKEN] != 0.0:
            rhs = pointer(one.rhs, 0)
            return in_plane(plan, constant, h, planar.table, planar.state, rhs)
    return True


@inlined
def in_panels(solver):
    """Whether `factorize_system` left factors in panels."""
    planar = solver.planar
    if planar.program.size > 0:
        return planar.state[TAKEN] != 0.0 and planar.table[PANEL_GROUPS] > 0
    return False


@inlined
def solve_system(program, solver, rhs, solution):
    """Solution by the factors of `factorize_system`."""
    solve_with(program, solver.schedule, solver, as_numbers(rhs), as_numbers(solution))


@kernel
def solve_with(program, schedule, solver, rhs, solution):
    """`solve_system`; eight matrices side by side if there is a schedule."""
    one = numbers_of(solver)
    if schedule is None:
        planar = one.planar
        if in_panels(one):
            solve_in_panels(planar.table, planar.panels, pointer(rhs, 0), pointer(solution, 0))
        elif planar.program.size > 0 and planar.state[TAKEN] != 0.0:
            solve_in_plane(one, rhs, solution)
        else:
            solve(program, one.factors, rhs, 1, one.workspace, solution)
    else:
        solve_eight(program, one.factors, rhs, one.workspace, solution)
