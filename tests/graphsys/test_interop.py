"""Systems in PETSc: the same matrix, the same solution; a clear word where it is missing."""

import sys
from pathlib import Path

import numpy as np
import pytest

import graphsys as gs
from graphsys.families import body_joint_tree, random_saddle_system, random_system
from graphsys.interop import solve_petsc, to_petsc

from ..mpi import mpiexec


def uniform():
    return random_system(gs.ladder(6), 3)


def mixed():
    graph = gs.ladder(4)
    return random_system(graph, {u: 1 + k % 3 for k, u in enumerate(graph)})


def dense(A):
    return A.convert("dense").getDenseArray()


def test_without_petsc4py_the_error_says_where_it_comes_from(monkeypatch):
    monkeypatch.setitem(sys.modules, "petsc4py", None)

    for call in (lambda: to_petsc(uniform()), lambda: solve_petsc(uniform(), np.ones(36))):
        with pytest.raises(ImportError, match="needs petsc4py, which no extra installs"):
            call()


def test_an_unknown_solver_and_another_length_are_refused_first(monkeypatch):
    monkeypatch.setitem(sys.modules, "petsc4py", None)

    with pytest.raises(ValueError, match="solver is 'pardiso', it must be one of petsc, mumps"):
        solve_petsc(uniform(), np.ones(36), solver="pardiso")
    with pytest.raises(ValueError, match=r"vector has shape \(35,\)"):
        solve_petsc(uniform(), np.ones(35))


@pytest.mark.parametrize(("system", "kind"), [(uniform(), "baij"), (mixed(), "aij")])
def test_the_matrix_is_the_same(system, kind):
    pytest.importorskip("petsc4py")
    A = to_petsc(system)

    assert A.getType() == f"seq{kind}"
    assert np.array_equal(dense(A), system.to_dense())


@pytest.mark.parametrize("solver", ["petsc", "mumps", "superlu_dist"])
@pytest.mark.parametrize("system", [uniform(), mixed()])
def test_the_solution_fits(system, solver):
    pytest.importorskip("petsc4py")
    b = np.random.default_rng(1).standard_normal((system.shape[0], 2))
    try:
        x = solve_petsc(system, b, solver)
    except ValueError as error:
        pytest.skip(str(error))

    assert np.allclose(system @ x, b, rtol=0, atol=1e-12)
    by_label = solve_petsc(system, system.split(b[:, 0]), solver)
    assert np.allclose(system.join(by_label), x[:, 0], rtol=0, atol=1e-13)


def test_zero_diagonals_are_for_mumps():
    pytest.importorskip("petsc4py")
    system = random_saddle_system(body_joint_tree(5))
    b = np.ones(system.shape[0])
    try:
        x = solve_petsc(system, b, "mumps")
    except ValueError as error:
        pytest.skip(str(error))

    assert np.allclose(system @ x, b, rtol=0, atol=1e-10)


def test_two_processes_share_a_matrix_and_both_get_the_solution():
    pytest.importorskip("petsc4py")
    lines = mpiexec(2, Path(__file__).with_name("petsc_processes.py")).splitlines()

    found = [line.split() for line in lines]
    assert [kind for _, kind, *_ in found] == ["mpibaij", "mpiaij", "mpiaij"]
    for size, _, worst, refused in found:
        assert size == "2"
        assert float(worst) < 1e-10  # on both processes
        assert refused == "True"  # PETSc's own LU keeps to one
