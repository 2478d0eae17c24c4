"""Interfaces of other libraries: scipy.sparse.linalg, scikit-sparse, PETSc, Ipopt."""

from graphsys.interop import ipopt
from graphsys.interop.petsc import solve_petsc, to_petsc
from graphsys.interop.sparse_linalg import FactorizedMatrix, factorized, splu, spsolve

__all__ = ["FactorizedMatrix", "factorized", "ipopt", "solve_petsc", "splu", "spsolve", "to_petsc"]
