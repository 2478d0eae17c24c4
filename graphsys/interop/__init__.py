"""Interfaces of other libraries: functions as in scipy.sparse.linalg, systems handed to PETSc."""

from graphsys.interop.petsc import solve_petsc, to_petsc
from graphsys.interop.sparse_linalg import FactorizedMatrix, factorized, splu, spsolve

__all__ = ["FactorizedMatrix", "factorized", "solve_petsc", "splu", "spsolve", "to_petsc"]
