"""Interfaces of other libraries: one module each, by its name."""

from graphsys.interop import ipopt
from graphsys.interop.petsc import solve_petsc, to_petsc
from graphsys.interop.sparse_linalg import FactorizedMatrix, factorized, splu, spsolve

__all__ = ["FactorizedMatrix", "factorized", "ipopt", "solve_petsc", "splu", "spsolve", "to_petsc"]
