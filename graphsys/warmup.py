"""Warm-up: compile the kernels that users meet first, so that no first call has to wait."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array, kron, random_array

from graphsys.analysis.block_triangular import block_triangular_form
from graphsys.batch import Batch
from graphsys.compiled_solver import call_of
from graphsys.compiler import DISABLE_JIT, bind_all, compile_all
from graphsys.families import (
    body_joint_tree,
    chain,
    crystal,
    ladder,
    net,
    random_saddle_system,
    random_system,
)
from graphsys.interop import ipopt
from graphsys.interop.cholesky import cholesky
from graphsys.interop.direct_calls import address_of
from graphsys.interop.pattern import Pattern
from graphsys.interop.sparse_linalg import splu
from graphsys.kernels.batch import entries_solve
from graphsys.kernels.single import keyed_solve
from graphsys.kernels.single.one_graph import FRAME
from graphsys.matrix.from_scipy import canonical
from graphsys.numeric.one_pass_lu import OnePassLU
from graphsys.numeric.sparse_lu import SparseLUFactor
from graphsys.system import System

__all__ = ["warm_up"]

#: Block sizes of the small systems: scalars, the plane, space, rigid bodies, and blocks in memory.
SIZES = (1, 2, 3, 6, 12)


def warm_up() -> int:
    """Analyze, factorize and solve small systems of the common kinds.

    What is compiled for it is kept on disk for later processes.

    Returns
    -------
    int
        Number of systems that were solved.
    """
    compile_all()
    systems = [random_system(graph, k) for k in SIZES for graph in (chain(5), ladder(4), net(4))]
    systems.append(random_saddle_system(body_joint_tree(5)))
    systems += [random_system(net(8), 6), random_system(crystal(4), 6)]  # wide supernodes
    for system in systems:
        factor = system.factorize()
        factor.refactorize(system.values)
        b = np.ones((system.shape[0], 2))
        factor.solve(b[:, 0])
        factor.solve(b, trans="T")
        factor.solve(b[:, 0], report=True)
        factor.selected_inverse()
        factor.slogdet()
        system.T.matvec(b[:, 0])
        system.to_scipy()
    systems[0].add([0], [0], [[1.0]])
    count = len(systems) + _with_delayed_pivots() + _block_triangular() + _similar_rows()
    count += _other_types() + _scalar_matrices() + _again_and_side_by_side() + _patterns()
    bind_all()
    return count


def _other_types() -> int:
    """Solve small systems of complex numbers and of single precision."""
    for k in (1, 2, 3):
        A = csr_array(random_system(net(4), k).to_scipy())
        for dtype in (np.complex128, np.float32):
            system = System.from_scipy(A.astype(dtype), k)
            factor = system.factorize()
            factor.refactorize(system.values)
            b = np.ones(system.shape[0], dtype)
            factor.solve(b)
            factor.solve(b, trans="T")
        system = random_system(net(4), k, dtype=complex, symmetric="hermitian")
        factor = system.factorize()
        factor.refactorize(system.values)
        factor.solve(np.ones(system.shape[0], complex))
        factor.inertia()
        factor.slogdet()
    return 9 + _complex_fronts()


def _complex_fronts() -> int:
    """Solve a Hermitian system whose fronts are wide, and ask for what its factors give."""
    system = random_system(net(8), 6, dtype=complex, symmetric="hermitian")
    factor, b = system.factorize(), np.ones(system.shape[0], complex)
    factor.solve(b, report=True)
    factor.refactorize(system.values)
    factor.inertia()
    factor.slogdet()
    factor.selected_inverse()
    return 1


def _again_and_side_by_side() -> int:
    """Solve systems in one call, after a change of a node, and eight at a time."""
    systems = [random_system(chain(5), 1), random_system(ladder(8), 2), random_system(net(4), 6)]
    for system in systems:
        factor, b = system.factorize(), np.ones(system.shape[0])
        factor.refactorize_and_solve(system.values, b)
        factor.refactorize(system.values, changed=[system.labels[0]])
        factor.solve_gradient(b, b)
        batch = Batch(factor.symbolic, np.stack([system.values] * 9))
        batch.solve(np.ones((9, b.size)))
        batch.refactorize(np.stack([system.values] * 9))
        batch.solve_once(np.stack([system.values] * 9), np.ones((9, b.size)))
    return len(systems)


def _patterns() -> int:
    """Solve matrices of one pattern as from JAX; compile what Ipopt and `System.compile` call."""
    A = csr_array(random_system(chain(20), 1).to_scipy())
    pattern = Pattern.from_scipy(A)
    for dtype in (np.float64, np.float32):
        many, b = np.stack([A.data.astype(dtype)] * 9), np.ones((9, 20), dtype)
        pattern.solve(many[0], b[0])
        for writeable in (True, False):  # arrays of JAX are not
            many.flags.writeable = b.flags.writeable = writeable
            pattern._solve_many(many, b, "N", "raise")
        if not DISABLE_JIT:
            for kernel in (keyed_solve.solve_entries, entries_solve.solve_entries_of_many):
                address_of(kernel, np.dtype(dtype))
    if not DISABLE_JIT:
        ipopt.kernels()
        call_of(np.zeros(FRAME, np.int64))
    return 2


def _scalar_matrices() -> int:
    """Factorize matrices without structure as users of scipy and of scikit-sparse do."""
    rng = np.random.default_rng(0)
    A = csc_array(random_array((200, 200), density=0.02, rng=rng) + 10.0 * eye_array(200))
    for dtype in (np.float64, np.complex128):
        factors = splu(A.astype(dtype))
        for b in (np.ones(200, dtype), np.ones((200, 9), dtype)):
            factors.solve(b)
        factors.refactorize(A.astype(dtype))
        factors.solve(np.ones((200, 9), dtype))
    full = csc_array(random_array((300, 300), density=0.4, rng=rng) + 10.0 * eye_array(300))
    splu(full).solve(np.ones(300))  # is refined
    factor = cholesky(csc_array(A @ A.T))
    factor.logdet()
    factor.factor.inertia()
    factor.solve_L(factor(np.ones(200)))
    return 4


def _block_triangular() -> int:
    """Solve a system of one block of two rows, and one after it, once and repeatedly."""
    rows = canonical(csr_array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [1.0, 1.0, 1.0]]))
    form = block_triangular_form(rows)
    assert form is not None
    lu = SparseLUFactor.of(rows, form, 9)
    assert lu is not None
    lu.solve(np.ones(3))
    lu.solve(np.ones(3), "T")
    once = OnePassLU.of(rows)
    assert isinstance(once, OnePassLU)
    once.solve(np.ones((3, 2)))
    splu(rows, "NATURAL").refactorize(rows)
    splu(rows).solve(np.ones(3))
    factor = cholesky(csr_array([[2.0, 1.0], [1.0, 2.0]]))
    factor.solve_L(np.ones(2))
    return 4


def _similar_rows() -> int:
    """Solve systems of pairs of rows that stand apart, symmetric and not."""
    line = random_system(chain(100), 1).to_scipy()
    for across in (line + line.T, line):
        A = csr_array(kron(np.eye(2) + 1.0, across))
        factors = splu(A)
        factors.refactorize(A)
        factors.solve(np.ones(200))
    return 2


def _with_delayed_pivots() -> int:
    """Solve a system whose first block is zero, in an order in which it comes first."""
    system = random_system(chain(2), 6)
    system[0, 0] = np.zeros((6, 6))
    factor = system.factorize(system.analyze([0, 1]))
    factor.solve(np.ones(12))
    factor.slogdet()
    factor.selected_inverse()
    return 1
