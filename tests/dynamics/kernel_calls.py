"""Kernels that take named tuples, for calls from Python, which hands on plain ones."""

import numpy as np

from dynamics.kernels.base import layout
from dynamics.kernels.base.arguments import Inputs, Motion, Planar, Solver, Work, node_of_tuple
from dynamics.kernels.base.jit import kernel
from dynamics.kernels.contacts import delassus, islands, refinement, rows
from dynamics.kernels.galerkin import matrix, middle, residual, step
from dynamics.kernels.galerkin.arguments import Rule, nodes_of_tuple
from dynamics.kernels.interval import energy_audit, equations
from dynamics.kernels.interval.planar import planar_of
from dynamics.kernels.stepping import loop_curvature, resonance
from dynamics.tables.model_tables import lasting
from graphsys.kernels import factorize


def planar_place(plan):
    """Place of the work arrays of `Planar` in a workspace of order 2."""
    state = layout.state_size(*(int(plan[k]) for k in (layout.BODIES, layout.ROWS, layout.SLOTS)))
    state += int(plan[layout.STIFF_NUMBERS])
    return lasting(plan) + 2 * state


@kernel
def not_planar(program, values):
    """`Planar` of a mechanism in space."""
    none, nothing = program[:0], values[:0]
    return Planar(none, none, nothing, nothing, nothing, nothing, nothing)


@kernel
def solver_of_tuple(solver, planar):
    """The named tuple of a plain one."""
    values, magnitude, factors, workspace, status, rhs, solution, columns = solver
    return Solver(
        values, magnitude, factors, workspace, status, rhs, solution, columns, (), planar, None
    )  # fmt: skip


@kernel
def solve_refined(plan, constant, program, before, tolerance, solver, matrix):
    """`refinement.solve_refined` of new factors; 0, or 1 + the row of a singular pivot."""
    values, magnitude, factors, workspace, status, rhs, solution, columns = solver
    failed = factorize(program, values, 1e-15, magnitude, factors, status)
    linear = Solver(
        values, magnitude, factors, workspace, status, rhs, solution, columns, matrix,
        not_planar(program, values), None,
    )  # fmt: skip
    refinement.solve_refined(plan, constant, program, before, tolerance, linear)
    return failed


@kernel
def evaluate_residual(plan, constant, h, kick, node, x, trial, r):
    """`equations.evaluate`."""
    interval = equations.Equations(h, node_of_tuple(node), node_of_tuple(trial))
    work = Work(
        x=x, r=r, dx=r, kept=r, kick=kick, given=kick, past=(x, x, x), dc=x, kept_c=x, contacts=x
    )
    return equations.evaluate(plan, constant, interval, work)


def with_list(plan, contacts):
    """Work arrays of contacts with the list of those whose ACTIVE is not 0, and islands."""
    size = layout.contact_work_size(int(plan[layout.CONTACTS]), int(plan[layout.BODIES]))
    longer = np.zeros(size)
    longer[: contacts.size] = contacts
    rows.list_acting(plan, longer)
    islands.open_all(plan, longer)
    islands.start_attempt(plan, longer)
    return longer


def contact_rows(plan, constant, h, node, u, reach, found, contacts):
    """`contacts.rows.contact_rows` of all contacts."""
    longer = with_list(plan, contacts)
    rows.list_all(plan, longer)
    failed = contact_rows_of_tuple(plan, constant, h, node, u, reach, found, longer)
    contacts[:] = longer[: contacts.size]
    return failed


@kernel
def contact_rows_of_tuple(plan, constant, h, node, u, reach, found, contacts):
    """`contacts.rows.contact_rows`."""
    node = node_of_tuple(node)
    return rows.contact_rows(plan, constant, h, node, u, reach, found, contacts)


def contact_gaps(plan, constant, h, u, trial, found, contacts):
    """`contacts.rows.gaps`."""
    longer = with_list(plan, contacts)
    failed = contact_gaps_of_tuple(plan, constant, h, u, trial, found, longer)
    contacts[:] = longer[: contacts.size]
    return failed


@kernel
def contact_gaps_of_tuple(plan, constant, h, u, trial, found, contacts):
    """`contacts.rows.gaps`."""
    return rows.gaps(plan, constant, h, u, node_of_tuple(trial), found, contacts)


@kernel
def impulse_work(plan, u, x, r):
    """`energy_audit.work_of`."""
    work = Work(x=x, r=r, dx=r, kept=r, kick=r, given=r, past=(x, x, x), dc=x, kept_c=x, contacts=x)
    return energy_audit.work_of(plan, u, work)


@kernel
def squared_frequency(plan, constant, h, node, mu, u, past):
    """`resonance.squared_frequency`."""
    return resonance.squared_frequency(plan, constant, h, node_of_tuple(node), mu, u, past)


@kernel
def choose_halvings(plan, constant, h, failed, node, mu, u, past, info):
    """`resonance.choose_halvings`."""
    motion = Motion(p=u, u=u, u_prev=u, mu=mu, c=u, stiff=u)
    resonance.choose_halvings(plan, constant, h, failed, node_of_tuple(node), motion, past, info)


@kernel
def rotation_energy(plan, constant, program, node, trial, u, work, at, solver):
    """`loop_curvature.rotation_energy`."""
    node, trial = node_of_tuple(node), node_of_tuple(trial)
    linear = solver_of_tuple(solver, planar_of(plan, work, at)[0])
    return loop_curvature.rotation_energy(plan, constant, program, node, trial, u, linear)


@kernel
def responses(plan, program, solver, rows, contacts, D):
    """`delassus.responses`."""
    linear = solver_of_tuple(solver, not_planar(program, solver[0]))
    delassus.responses(plan, program, linear, rows, contacts, D)


@kernel
def galerkin_residual(plan, constant, rule, time, h, control, wrench, p, x, nodes, f, r):
    """`galerkin.residual.residual`."""
    s, weights, slope, place = rule
    rule = Rule(s=s, weights=weights, slope=slope, place=place)
    inputs, nodes = Inputs(control=control, wrench=wrench), nodes_of_tuple(nodes)
    return residual.residual(plan, constant, rule, time, h, inputs, p, x, nodes, f, r)


@kernel
def galerkin_matrix(plan, constant, rule, blocks, h, control, nodes, x, table, arrays, values):
    """`galerkin.matrix.assemble`."""
    s, weights, slope, place = rule
    rule = Rule(s=s, weights=weights, slope=slope, place=place)
    nodes, work = nodes_of_tuple(nodes), step.work_of(x, table, control, arrays)
    matrix.assemble(plan, constant, rule, blocks, h, control, nodes, work, values)


@kernel
def factorize_middle(plan, constant, program, s, h, x, nodes, f, solver):
    """`galerkin.middle.factorize_middle`."""
    nodes = nodes_of_tuple(nodes)
    return middle.factorize_middle(plan, constant, program, s, h, x, nodes, f, solver)
