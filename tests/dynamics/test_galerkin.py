"""Orders 4 and 6 in maximal coordinates: the equations, their matrix, and motion known elsewhere."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import galerkin, rotation, zoo
from dynamics.kernels import galerkin_matrix, galerkin_residual, galerkin_step
from dynamics.kernels import layout as at

X, Y, Z = np.eye(3)
WIDE = 2.4  # rad: steps of convergence tests are never cut


def dense(stages, values):
    """Matrix of the blocks at their places."""
    graph = stages.symbolic.graph
    n, start = len(graph.labels), graph.row_start
    matrix = np.zeros((start[n], start[n]))
    for i in range(n):
        places = graph.blocks_at(np.full(n, i), np.arange(n))
        for j in np.flatnonzero(places >= 0):
            block = values[places[j] : places[j] + graph.size[i] * graph.size[j]]
            square = block.reshape(graph.size[j], graph.size[i]).T
            matrix[start[i] : start[i + 1], start[j] : start[j + 1]] = square
    return matrix


def machine(damped):
    """Five bodies with a row of every kind whose stiffness is known."""
    m = dy.Mechanism(gravity=(0.3, -1.0, -9.0))
    rng = np.random.default_rng(3)
    turn = rotation.normalized(rng.normal(size=4))
    drag = {"drag": 0.4, "spin_drag": 0.3} if damped else {}
    b = [
        m.add_body(mass=1.0 + i, inertia=[0.4, 0.3 + 0.05 * i, 0.2], name=i, **drag)
        for i in range(5)
    ]
    loose = {"spring": 30.0, "damper": 2.0 if damped else 0.0, "actuated": True}
    p, q = [0.1, 0.2, -0.3], [-0.2, 0.1, 0.4]
    m.add_joint(dy.Revolute(m.world, b[0], X, child_point=q, name="hinge"))
    m.add_joint(
        dy.Prismatic(b[0], b[1], [0.6, 0.0, 0.8], parent_point=p, child_point=q, orientation=turn,
                     name="slide", **loose)
    )  # fmt: skip
    m.add_joint(dy.Universal(b[1], b[2], X, Y, parent_point=p, child_point=q, name="cross"))
    m.add_joint(dy.Revolute(b[2], b[3], Z, parent_point=q, child_point=p, orientation=turn,
                            name="second hinge"))  # fmt: skip
    m.add_joint(dy.Distance(b[3], b[4], 1.0, parent_point=q, child_point=p, name="rod"))
    m.add_force(dy.Spring(b[0], b[4], 50.0, 3.0 if damped else 0.0, 0.5, parent_point=p))
    m.add_force(dy.Spring(m.world, b[4], 20.0, 1.0 if damped else 0.0, 0.0, child_point=q))
    return m


@pytest.mark.parametrize("order", [4, 6])
@pytest.mark.parametrize("damped", [False, True])
def test_matrix_is_the_residuals_derivative(order, damped):
    # dampers leave out how their lever arms change, which is nothing at rest: there x = 0
    model = machine(damped).finalize(0.05)
    stages = galerkin.Stages(model.tables, order, coupled=True)
    rule, nodes, _, _, (r, dx, kept, mu, f, V, small) = stages.work()
    values = stages.solver()[0]
    plan, constant, _ = stages.tables
    h, control, wrench = 0.05, np.array([0.7]), np.linspace(-1.0, 1.0, 30)
    rng = np.random.default_rng(5)
    state = model.initial_state()
    state.pose[:, :3] += rng.normal(size=(5, 3))
    state.pose[:, 3:] = rotation.normalized(rng.normal(size=(5, 4)))
    x, p = rng.normal(size=r.size), rng.normal(size=30)
    if damped:
        x[: 30 * stages.s] = 0.0

    def residual(x):
        galerkin_step.start(plan, constant, state.data, nodes)
        out = np.zeros(r.size)
        galerkin_residual.residual(
            plan, constant, rule, h, control, wrench, p, x.copy(), True, nodes, mu, f, out
        )
        return out

    residual(x)
    galerkin_matrix.assemble(plan, constant, rule, h, control, x, nodes, V, mu, small, values)
    exact = dense(stages, values)
    d = 1e-6
    differences = np.array(
        [(residual(x + d * e) - residual(x - d * e)) / (2.0 * d) for e in np.eye(r.size)]
    ).T
    # central differences: d^2 of curvature, and round-off over d, of residuals of size 1e2
    assert np.abs(exact - differences).max() < 1e-7
    assert np.abs(exact).max() > 1.0
