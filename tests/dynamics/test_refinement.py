"""Linear equations of bodies that stiff contacts hold: solutions refined to what is asked for."""

import numpy as np

import dynamics as dy
from dynamics.kernels.base import layout
from dynamics.kernels.contacts import refinement

from .kernel_calls import solve_refined
from .test_step import dense

H = 0.01


def star(arms=4):
    """Light arms of two links on hinges around a heavy body, every hinge with a limit."""
    mechanism = dy.Mechanism()
    hub = mechanism.add_body(dy.Sphere(0.2, mass=10.0), name="hub", position=(0, 0, 2.0))
    mechanism.add_contact(hub)
    for k in range(arms):
        angle = 2.0 * np.pi * k / arms
        out, before = np.array([np.cos(angle), np.sin(angle), 0.0]), hub
        for i in range(2):
            mass = 0.1 / (1 + i)
            x = (0.3 + 0.2 * i) * out + [0, 0, 2.0]
            link = mechanism.add_body(dy.Capsule(0.02, 0.2, mass=mass), name=(k, i), position=x)
            point = (0.2 + 0.2 * i) * out
            parent = point if before is hub else 0.1 * out
            mechanism.add_joint(
                dy.Revolute(
                    before,
                    link,
                    axis=(-out[1], out[0], 0),
                    parent_point=parent,
                    child_point=-0.1 * out,
                    limits=(0.0, 1.0),
                    name=f"hinge {k} {i}",
                )  # fmt: skip
            )
            before = link
    return mechanism.finalize(H)


def test_stiff_limits_of_light_bodies_leave_the_error_that_is_asked_for():
    """Every pair of bodies at a hinge shares a stiffness of 1e9 effective masses.

    A substitution alone leaves errors of momentum of 30 to 3,000 here, rounding of residuals 1e-6.
    """
    model, rng = star(), np.random.default_rng(0)
    model.step(model.initial_state())  # leaves a matrix
    space, plan = model.workspace, model.tables.plan
    graph, values = model.symbolic.graph, space.solver[0]
    for k in range(1, int(plan[layout.CONTACTS])):  # the first one is that of the hub
        at = plan[layout.CONTACT_AT] + k * layout.CONTACT_FIELDS
        a, b = int(plan[at + layout.A]), int(plan[at + layout.B])
        row = rng.normal(size=12)
        block = np.outer(row, row).T * 1e6
        for i, j, place in (
            (0, 0, graph.diagonal_at[a]), (1, 1, graph.diagonal_at[b]),
            (0, 1, plan[at + layout.AB_AT]), (1, 0, plan[at + layout.BA_AT]),
        ):  # fmt: skip
            part = block[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]
            values[place : place + 36] += part.ravel(order="F")
    matrix = dense(model)
    wanted = rng.normal(size=len(matrix))
    rhs, solution = matrix @ wanted, np.zeros(len(matrix))
    columns = np.zeros(2 * len(matrix))

    before, tolerance = 0.0, 1e-4
    failed = solve_refined(
        plan, model.tables.constant, space.program, before, tolerance,
        (*space.solver, rhs, solution, columns), graph.tables(),
    )  # fmt: skip

    left = rhs - matrix @ solution
    error = refinement.momentum_error(plan, model.tables.constant, left)
    assert failed == 0
    assert error <= tolerance
