"""PETSc: systems handed to it, for matrices too large for one process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.matrix.vectors import check_rows
from graphsys.system import System

__all__ = ["solve_petsc", "to_petsc"]

SOLVERS = ("petsc", "mumps", "superlu_dist")


def to_petsc(system: System, comm: Any = None) -> Any:
    """Convert a system to a matrix of PETSc.

    Parameters
    ----------
    system : System
        The same on every process of `comm`.
    comm : communicator of mpi4py or petsc4py, optional
        Processes that share the matrix, each with consecutive nodes; by default only this one.

    Returns
    -------
    petsc4py.PETSc.Mat, shape (N, N)
        BAIJ if all nodes have the same size; otherwise AIJ, on one process with the size of each
        node (``MatSetVariableBlockSizes``).

    Raises
    ------
    ImportError
        Without petsc4py.
    TypeError
        For complex values if PETSc was built for real ones.
    """
    PETSc = _petsc()
    if system.dtype.kind == "c" and np.dtype(PETSc.ScalarType).kind != "c":
        raise TypeError("the system is complex, and this PETSc was built for real numbers")
    comm = PETSc.COMM_SELF if comm is None else comm
    communicator = PETSc.Comm(comm) if not isinstance(comm, PETSc.Comm) else comm
    count, rank = communicator.getSize(), communicator.getRank()
    sizes = system.graph.size
    first, last = (len(sizes) * k // count for k in (rank, rank + 1))
    start, stop = (int(system.graph.row_start[node]) for node in (first, last))
    own = slice(start, stop)
    shape = ((stop - start, system.shape[0]), (stop - start, system.shape[0]))
    size = int(sizes[0]) if sizes.size else 0
    A = PETSc.Mat()
    if size > 0 and (sizes == size).all():
        blocks = system.to_scipy("bsr")
        at = blocks.indptr[first : last + 1].astype(PETSc.IntType)
        part = slice(int(at[0]), int(at[-1]))
        columns = blocks.indices[part].astype(PETSc.IntType)
        values = np.ascontiguousarray(blocks.data[part], dtype=PETSc.ScalarType)
        A.createBAIJ(shape, size, csr=(at - at[0], columns, values), comm=communicator)
    else:
        rows = system.to_scipy("csr")[own]
        csr = (
            rows.indptr.astype(PETSc.IntType),
            rows.indices.astype(PETSc.IntType),
            rows.data.astype(PETSc.ScalarType),
        )
        A.createAIJ(shape, csr=csr, comm=communicator)
        if count == 1 and hasattr(A, "setVariableBlockSizes"):
            A.setVariableBlockSizes(sizes[sizes > 0].astype(PETSc.IntType))
    A.assemble()
    return A


def solve_petsc(system: System, b: Any, solver: str = "petsc", comm: Any = None) -> Any:
    """Solve A x = b with a direct solver of PETSc.

    Parameters
    ----------
    system : System
    b : array_like, shape (N,) or (N, k), or {label: vector}
        The same on every process of `comm`.
    solver : {"petsc", "mumps", "superlu_dist"}
        PETSc's own LU, which runs in one process and exchanges no rows, so it fails at zeros on the
        diagonal; MUMPS; or SuperLU_DIST. PETSc must have been built with them.
    comm : communicator of mpi4py or petsc4py, optional
        As for `to_petsc`.

    Returns
    -------
    ndarray, or dict, as b
        The whole solution, on every process.

    Raises
    ------
    ImportError
        Without petsc4py.
    ValueError
        If solver or b is not as above, or this PETSc lacks the solver.
    numpy.linalg.LinAlgError
        If the factorization meets a zero pivot.
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver is {solver!r}, it must be one of {', '.join(SOLVERS)}")
    if isinstance(b, Mapping):
        return system.split(solve_petsc(system, system.join(b), solver, comm))
    right = np.asarray(b)
    check_rows(system.graph, right)
    PETSc = _petsc()
    A = to_petsc(system, comm)
    if solver != "petsc":
        A.convert("aij")  # neither takes blocks
    elif A.comm.getSize() > 1:
        raise ValueError("PETSc's own LU runs on one process only; take mumps or superlu_dist")
    ksp = PETSc.KSP().create(A.comm)
    ksp.setOperators(A)
    ksp.setType("preonly")
    ksp.getPC().setType("lu")
    ksp.getPC().setFactorSolverType(solver)
    try:
        ksp.setUp()
    except PETSc.Error as error:
        if error.ierr == 92:  # PETSC_ERR_MISSING_FACTOR
            raise ValueError(f"this PETSc was built without {solver}") from error
        raise np.linalg.LinAlgError(f"{solver} met a zero pivot: {error}") from error
    x = np.empty(right.shape, np.result_type(PETSc.ScalarType, right.dtype))
    for column in np.ndindex(right.shape[1:]):
        x[(slice(None), *column)] = _solve(PETSc, ksp, A, right[(slice(None), *column)])
    return x


def _solve(PETSc: Any, ksp: Any, A: Any, b: NDArray[Any]) -> NDArray[Any]:
    x, right = A.createVecs()
    start, stop = right.getOwnershipRange()
    right.setArray(np.asarray(b[start:stop], PETSc.ScalarType))
    ksp.solve(right, x)
    if ksp.getConvergedReason() < 0:
        raise np.linalg.LinAlgError(f"PETSc failed, reason {ksp.getConvergedReason()}")
    scatter, whole = PETSc.Scatter.toAll(x)
    scatter.scatter(x, whole, False, PETSc.ScatterMode.FORWARD)
    return np.array(whole.getArray())


def _petsc() -> Any:
    try:
        from petsc4py import PETSc
    except ImportError as error:
        if error.name not in (None, "petsc4py"):  # it is there, and something it needs is not
            raise
        raise ImportError(
            "graphsys.interop needs petsc4py, which no extra installs, since it needs PETSc and "
            "MPI: take those of your cluster or system (Debian: python3-petsc4py), or conda's",
            name="petsc4py",
        ) from None
    return PETSc
