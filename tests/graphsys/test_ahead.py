"""Memory asked for ahead: of the right places, and the same solution."""

import numpy as np
import pytest

import graphsys as gs
from graphsys.families import body_joint_tree, random_saddle_system, random_system
from graphsys.kernels.base.layout import ARENA_SIZE, NODAL_AT, REPEATED, STARTS_AT, SUPERNODES
from graphsys.kernels.blocks import prefetch
from graphsys.kernels.single import nodal_ldu

SYSTEMS = {
    "chain": random_system(gs.chain(12), 6),
    "ladder": random_system(gs.ladder(30), 6),
    "bodies": random_saddle_system(body_joint_tree(12)),
}


def python(kernel):
    return getattr(kernel, "py_func", kernel)


def recorder(size):
    asked = np.zeros(size, int)

    def fetch_block(values, source, length):
        if source >= 0:
            asked[source : source + length] += 1

    return asked, fetch_block


def program_of(system):
    program = system.factorize().symbolic.program
    assert program[NODAL_AT] > 0
    return program


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_block_of_the_matrix_is_asked_for_once(name, monkeypatch):
    system = SYSTEMS[name]
    program = program_of(system)
    asked, fetch_block = recorder(system.values.size)
    monkeypatch.setattr(nodal_ldu, "fetch_block", fetch_block)
    at = program[NODAL_AT]
    for s in range(program[SUPERNODES]):
        rows = program[program[program[STARTS_AT] + s]]
        at = python(nodal_ldu._fetch_node)(program, at + REPEATED, rows, system.values, False)
    assert at == program.size
    assert (asked == 1).all()


def test_half_of_a_symmetric_matrix_is_asked_for(monkeypatch):
    system = random_system(gs.random_tree(30, seed=1), 6, symmetric=True)
    program = program_of(system)
    asked, fetch_block = recorder(system.values.size)
    monkeypatch.setattr(nodal_ldu, "fetch_block", fetch_block)
    at = program[NODAL_AT]
    for _ in range(program[SUPERNODES]):
        at = python(nodal_ldu._fetch_node)(program, at + REPEATED, 6, system.values, True)
    assert at == program.size
    assert asked.max() == 1
    assert asked.sum() == 36 * (30 + 29)  # nodes and edges


@pytest.mark.parametrize("name", SYSTEMS)
def test_panels_are_asked_for_once(name, monkeypatch):
    factor = SYSTEMS[name].factorize()
    program, arena = factor.symbolic.program, np.empty(factor.symbolic.arena_size)
    asked, fetch_block = recorder(arena.size)
    monkeypatch.setattr(prefetch, "fetch_block", fetch_block)
    count = int(program[SUPERNODES])
    for s in range(-3, count + 3):
        if s >= 0:
            python(prefetch.fetch_lower)(program, s, arena)
        if s < count:
            python(prefetch.fetch_upper)(program, s, arena)
    panels = program[ARENA_SIZE]
    assert (asked[:panels] == 1).all()
    assert (asked[panels:] == 0).all()


@pytest.mark.parametrize("symmetric", [False, True])
def test_what_does_not_stay_in_the_caches_is_solved_alike(symmetric):
    n = 7000  # two nodes a rung; five blocks of factors a node
    system = random_system(gs.ladder(n), 6, symmetric=symmetric)
    factor = system.factorize()
    assert prefetch.FAR < factor.nbytes
    b = np.random.default_rng(1).normal(size=system.shape[0])
    x = factor.solve(b)
    # the backward error of products of 6 x 6 blocks in 2 n steps, each with good pivots
    assert factor.backward_error(x, b) <= 36 * np.finfo(float).eps
