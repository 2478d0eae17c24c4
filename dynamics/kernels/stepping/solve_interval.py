"""The equations of one interval, by the method that its mechanism needs.

If ``columns`` is None, there are no contacts, and numba does not compile the branch for them: a
third of all code.
"""

from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.layout import (
    ACTIVE_AT,
    CONTACT_WORK,
    CONTACTS,
    FRICTION_PART_AT,
    RESTITUTION_AT,
    UNITS_AT,
)
from dynamics.kernels.base.settings import FRICTION_PART, TOLERANCE
from dynamics.kernels.base.status import PASSED_THROUGH
from dynamics.kernels.base.step_info import LENGTH, NEAREST, RESTITUTION_PART
from dynamics.kernels.contacts.interior_point import interior
from dynamics.kernels.contacts.rows import impulses
from dynamics.kernels.contacts.sweep import passed
from dynamics.kernels.interval.equations import Equations, attempt
from dynamics.kernels.interval.newton import EPS, ROUNDED, Goal
from dynamics.kernels.interval.planar import set_tolerances
from dynamics.kernels.interval.residual import extent
from dynamics.kernels.rows.stiff_forces import part_of


@kernel
def spacing_of(guess, h, info):
    """Half of the last interval and of this one where lengths vary, else 0."""
    if guess is None:
        return 0.0
    return 0.5 * (info[LENGTH] + h)


@kernel
def solve_interval(
    # Tables:
    plan,
    constant,
    program,
    # In:
    settings,
    part,
    node,
    # In and out:
    motion,
    trial,
    work,
    # Work:
    solver,
    columns,
    # Out:
    info,
):  # fmt: skip
    """Solve the equations of an interval; iterations, or what went wrong."""
    h = part.length
    set_tolerances(plan, constant, settings, node.pose, solver.planar)
    if columns is None:
        tolerance = settings[TOLERANCE]
        rounding = EPS * extent(plan, constant, node.pose)
        closed = max(tolerance, 64.0 * rounding)
        goal = Goal(
            stages=1, rough=False, tolerance=tolerance, closed=closed,
            rounding=ROUNDED * rounding * constant[plan[UNITS_AT]] / h, rounded=ROUNDED * rounding,
        )  # fmt: skip
        equations = Equations(h=h, node=node, trial=trial)
        return attempt(plan, constant, program, goal, equations, work, solver, info)
    else:
        contacts, c = work.contacts, motion.c
        for k in range(plan[CONTACTS]):
            contacts[k * CONTACT_WORK + ACTIVE_AT] = 1.0
            contacts[k * CONTACT_WORK + RESTITUTION_AT] = info[RESTITUTION_PART]
            contacts[k * CONTACT_WORK + FRICTION_PART_AT] = settings[FRICTION_PART]
        time = part_of(plan, h, node.g)  # for which compliant contacts act
        impulses(plan, constant, h, time, contacts, c)
        done = interior(
            plan,
            constant,
            program,
            h,
            spacing_of(part.guess, h, info),
            settings,
            node,
            motion,
            trial,
            work,
            solver,
            info,
        )
        impulses(plan, constant, 1.0 / h, 1.0 / time, contacts, c)
        if done >= 0 and passed(
            plan, constant, h, node, work.x, trial, pointer(info, NEAREST), contacts
        ):
            return PASSED_THROUGH
        return done
