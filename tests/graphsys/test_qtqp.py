"""`gs.qtqp.linear_solver` compared with QTQP's own backend."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import graphsys as gs

from ..house.source import text

qtqp = pytest.importorskip("qtqp")


def control(steps, seed=0):
    """Least-squares control of a random system of 4 states and 2 bounded inputs."""
    rng = np.random.default_rng(seed)
    A, B = np.eye(4) + 0.1 * rng.normal(size=(4, 4)), rng.normal(size=(4, 2))
    one = sp.eye_array(steps)
    next_state = sp.kron(one, np.hstack([-B, np.eye(4)]))
    last_state = sp.kron(sp.eye_array(steps, k=-1), np.hstack([np.zeros((4, 2)), -A]))
    inputs = sp.kron(one, np.hstack([np.eye(2), np.zeros((2, 4))]))
    a = sp.csc_matrix(sp.vstack([next_state + last_state, inputs, -inputs]))
    b = np.concatenate([A @ np.full(4, 3.0), np.zeros(4 * steps - 4), np.full(4 * steps, 0.5)])
    p = sp.csc_matrix(sp.diags_array(np.tile([0.1, 0.1, 1.0, 1.0, 1.0, 1.0], steps)))
    return {"a": a, "b": b, "c": np.zeros(6 * steps), "z": 4 * steps, "p": p}


def random_problem(seed, n=30, m=40, z=6):
    rng = np.random.default_rng(seed)
    half = sp.random_array((n, n), density=0.1, rng=rng)
    p = sp.csc_matrix(half @ half.T + 1e-2 * sp.eye_array(n))
    a = sp.csc_matrix(sp.random_array((m, n), density=0.1, rng=rng) + sp.eye_array(m, n))
    slack = np.concatenate([np.zeros(z), rng.uniform(0.0, 1.0, m - z)])
    return {"a": a, "b": a @ rng.normal(size=n) + slack, "c": rng.normal(size=n), "z": z, "p": p}


def solved(problem, solver):
    return qtqp.QTQP(**problem).solve(linear_solver=solver, verbose=False)


def cost(problem, x):
    return 0.5 * x @ problem["p"] @ x + problem["c"] @ x


def test_nearest_point_by_hand():
    # least (x - 2)^2 / 2 + (y - 2)^2 / 2 with x + y = 2 and x <= 0.5: (0.5, 1.5)
    problem = {
        "a": sp.csc_matrix(np.array([[1.0, 1.0], [1.0, 0.0]])),
        "b": np.array([2.0, 0.5]),
        "c": np.array([-2.0, -2.0]),
        "z": 1,
        "p": sp.csc_matrix(np.eye(2)),
    }
    found = solved(problem, gs.qtqp.linear_solver())
    assert found.status == qtqp.SolutionStatus.SOLVED
    assert np.abs(found.x - [0.5, 1.5]).max() <= 1e-6


@pytest.mark.parametrize("problem", [control(5), control(40), *map(random_problem, range(6))])
def test_the_same_optimum_as_by_the_default_backend(problem):
    ours, theirs = (
        solved(problem, solver) for solver in (gs.qtqp.linear_solver(), qtqp.LinearSolver.SCIPY)
    )
    assert ours.status == theirs.status == qtqp.SolutionStatus.SOLVED
    x, wanted = cost(problem, ours.x), cost(problem, theirs.x)
    assert abs(x - wanted) <= 4e-8 * (1.0 + abs(wanted))  # each stops at a gap of 1e-8
    residual = problem["b"] - problem["a"] @ ours.x
    size = 1.0 + np.abs(problem["b"]).max()
    assert np.abs(residual[: problem["z"]]).max() <= 2e-8 * size
    assert residual.min() >= -2e-8 * size


def test_infeasible_problems_are_found_to_be():
    problem = {
        "a": sp.csc_matrix(np.array([[1.0], [-1.0]])),
        "b": np.array([-1.0, -1.0]),
        "c": np.array([1.0]),
        "z": 0,
        "p": sp.csc_matrix(np.eye(1)),
    }
    found = [solved(problem, s) for s in (gs.qtqp.linear_solver(), qtqp.LinearSolver.SCIPY)]
    assert found[0].status == found[1].status == qtqp.SolutionStatus.INFEASIBLE


def test_problems_of_one_pattern_are_analyzed_once():
    solver = gs.qtqp.linear_solver()
    solved(control(8), solver)
    kept = solver._kept
    solved(control(8, seed=1), solver)
    assert solver._kept is kept
    solved(control(9), solver)
    assert solver._kept is not kept
    assert repr(solver) == "graphsys.qtqp.linear_solver()"


def test_products_are_those_of_the_whole_matrix():
    backend = gs.qtqp.linear_solver().value()
    upper = sp.csc_matrix(np.array([[4.0, 0.0, 1.0], [0.0, 5.0, 2.0], [0.0, 0.0, -3.0]]))
    upper = sp.csc_matrix(upper + sp.csc_matrix(np.eye(3)) * 0.0)
    backend.set_dims(n=2, m=1, z=0)
    backend.set_kkt(upper)
    for diagonal in ([4.0, 5.0, -3.0], [1.0, 2.0, -1.0]):
        backend.update_diag(np.array(diagonal))
        backend.factorize()
        full = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [1.0, 2.0, 0.0]]) + np.diag(diagonal)
        x = np.array([1.0, -2.0, 3.0])
        assert np.abs(backend.solve(full @ x) - x).max() <= 1e-14
        assert np.abs(backend @ x - full @ x).max() == 0.0
    backend.update_diag(np.array([0.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match="singular"):
        backend.factorize()
    backend.free()


def test_the_code_of_the_page_runs():
    code = [block for block in text("docs/from_qtqp.md").split("```\n") if "import qtqp" in block]
    assert code
    for block in code:
        exec(compile(block, "docs/from_qtqp.md", "exec"), {})


def test_without_qtqp_the_extra_is_named():
    code = (
        "import sys; sys.modules['qtqp'] = None\nimport graphsys as gs\n"
        "try:\n    gs.qtqp.linear_solver()\n"
        "except gs.MissingExtraError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "graphsys[qtqp]"' in done.stdout
