"""Kernels that take named tuples, for calls from Python, which hands on plain ones."""

from dynamics.kernels.base.arguments import Motion, Solver, node_of_tuple
from dynamics.kernels.base.jit import kernel
from dynamics.kernels.contacts import gauss_seidel
from dynamics.kernels.interval import newton
from dynamics.kernels.stepping import loop_curvature, resonance


@kernel
def solver_of_tuple(solver):
    """The named tuple of a plain one."""
    values, magnitude, factors, workspace, status, rhs, solution, columns = solver
    return Solver(values, magnitude, factors, workspace, status, rhs, solution, columns)


@kernel
def try_out(plan, constant, h, slopes, kick, node, x, trial, r):
    """`newton.try_out`."""
    node, trial = node_of_tuple(node), node_of_tuple(trial)
    return newton.try_out(plan, constant, h, slopes, kick, node, x, trial, r)


@kernel
def shaking(plan, constant, h, node, mu, u, past):
    """`resonance.shaking`."""
    return resonance.shaking(plan, constant, h, node_of_tuple(node), mu, u, past)


@kernel
def begin(plan, constant, h, failed, node, mu, u, past, info):
    """`resonance.begin`."""
    motion = Motion(p=u, u=u, u_prev=u, mu=mu, c=u, late=u)
    resonance.begin(plan, constant, h, failed, node_of_tuple(node), motion, past, info)


@kernel
def swerve(plan, constant, program, node, trial, u, solver):
    """`loop_curvature.swerve`."""
    node, trial = node_of_tuple(node), node_of_tuple(trial)
    return loop_curvature.swerve(
        plan, constant, program, node, trial, u, solver_of_tuple(solver)
    )  # fmt: skip


@kernel
def responses(plan, program, solver, rows, contacts, D):
    """`gauss_seidel.responses`."""
    gauss_seidel.responses(plan, program, solver_of_tuple(solver), rows, contacts, D)
