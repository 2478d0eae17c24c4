"""Arrays of users, read-only, with gaps or in another order: no kernel is compiled for them."""

import sys

import networkx as nx
import numpy as np
import pytest

import dynamics as dy
import graphsys as gs
from dynamics.zoo import cart_pole
from graphsys import families
from graphsys.compiler import DISABLE_JIT, Kernel

pytestmark = pytest.mark.skipif(DISABLE_JIT, reason="nothing is compiled")


def read_only(array):
    array = np.array(array)
    array.flags.writeable = False
    return array


def with_gaps(array):
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]))
    wide[..., ::2] = array
    return wide[..., ::2]


def backwards(array):
    return np.ascontiguousarray(array[..., ::-1])[..., ::-1]


def unaligned(array):
    data = np.zeros(array.nbytes + 1, np.uint8)
    made = data[1:].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


LAYOUTS = [read_only, with_gaps, backwards, np.asfortranarray, unaligned]


def overloads():
    """Kernels and the kinds of arguments that they are compiled for, or loaded from disk."""
    ours = [module for name, module in sys.modules.items() if ".kernels." in name]
    kernels = {one for module in ours for one in vars(module).values() if isinstance(one, Kernel)}
    return {(kernel, kinds) for kernel in kernels for kinds in kernel.codes}


def check_no_more(call, *arrays):
    """Call with usual arrays, then with those of every layout: same results, no more code."""
    expected = call(*(array.copy() for array in arrays))
    before = overloads()
    for layout in LAYOUTS:
        given = [layout(array) for array in arrays]
        for one, two in zip(call(*given), expected):
            assert np.array_equal(one, two), layout.__name__
        more = {(kernel.__qualname__, kinds) for kernel, kinds in overloads() - before}
        assert not more, layout.__name__


@pytest.mark.parametrize("size", [1, 3, 12])
def test_factors_and_batches(size):
    system = families.random_system(nx.grid_graph((4, 4)), size)
    symbolic, values, n = system.analyze(), system.values, system.shape[0]
    b, columns, many = np.ones(n), np.ones((n, 3)), np.array([values] * 9)
    for options in ({}, {"refine": True}):
        factor = gs.Factor(symbolic, values, **options)

        def refactorized(values, b, factor=factor):
            factor.refactorize(values)
            x = factor.solve(b)
            return x, factor.solve(b, "T"), factor.residual(x, b), factor.backward_error(x, b)

        check_no_more(refactorized, values, b)
        check_no_more(lambda b, factor=factor: [factor.solve(b)], columns)
        check_no_more(lambda b, factor=factor: [factor.solve(b, report=True)[0]], b)
        check_no_more(lambda b: [system @ b, b @ system], b)
        check_no_more(lambda v, b, factor=factor: [factor.refactorize_and_solve(v, b)], values, b)
    label = system.labels[0]
    check_no_more(lambda v: [factor.refactorize(v, changed=[label]).rcond()], values)
    check_no_more(lambda v, b: [gs.Batch(symbolic, v).solve(b)], many, np.ones((9, n)))
    check_no_more(lambda v, b: [gs.Batch(symbolic).solve_once(v, b)], many, np.ones((9, n)))
    condensation = gs.condense(system, system.labels[:2])
    kept = np.ones(condensation.rows.size)

    def condensed(values, b, x):
        condensation.refactorize(values)
        return condensation.schur(), condensation.reduce(b), condensation.expand(x, b)

    check_no_more(condensed, values, b, kept)


def test_sparse_matrices_and_patterns():
    A = families.random_system(nx.grid_graph((4, 4)), 1).to_scipy()
    rows, columns, n = A.tocoo().row, A.tocoo().col, A.shape[0]
    pattern, factors = gs.Pattern(rows, columns), gs.splu(A)
    factors.refactorize(A)  # with factors for many right-hand sides of any layout
    check_no_more(lambda b: [factors.solve(b), factors.solve(b, "T")], np.ones(n))
    check_no_more(lambda data, b: [pattern.solve(data, b)], A.data, np.ones(n))
    many = np.array([A.data] * 9), np.ones((9, n))
    check_no_more(lambda data, b: [pattern.solve(data, b)], *many)
    for layout in LAYOUTS:
        assert gs.splu(A).solve(layout(np.ones(n))) == pytest.approx(gs.spsolve(A, np.ones(n)))


def test_states_motions_controls_and_wrenches():
    model, state = cart_pole()
    h, n = model.timestep, model.n_bodies

    def run(controls, wrenches):
        yield dy.simulate(model, state, 4 * h, controls=controls, wrenches=wrenches).states

    def measure(data):
        now = dy.State(data, state.n, state.rows)
        yield dy.simulate(model, now, 2 * h).states
        yield model.step(now)[0].data
        yield model.velocities(now)
        yield model.joint(now, "hinge")[0]

    def look(time, states):
        motion = dy.Trajectory(model, time, states)
        yield motion.energy()
        yield motion.momentum()
        yield motion.joint("hinge")
        yield motion.constraint_violation()

    check_no_more(lambda *given: list(run(*given)), np.ones((4, 1)), np.ones((4, 6 * n)))
    check_no_more(lambda data: list(measure(data)), state.data)
    motion = dy.simulate(model, state, 0.1)
    check_no_more(lambda *given: list(look(*given)), motion.time, motion.states)
