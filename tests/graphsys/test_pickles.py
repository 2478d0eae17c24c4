"""Pickles: what comes back works as before, and damaged tables never reach compiled code."""

import copy
import pickle
from dataclasses import fields
from zlib import crc32

import numpy as np
import pytest

import graphsys as gs
from graphsys.families import body_joint_chain, random_saddle_system, random_system
from graphsys.matrix.checksums import checksum

B = np.random.default_rng(0).normal(size=60)


def refining():
    """Factor of a system with a pivot so small that solves refine."""
    system = random_system(gs.ladder(5), 6)
    system[0, 0][0, 0] *= 1e-4
    return system.factorize(refine=True)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_factors_that_refine_solve_after_a_copy(again):
    factor = refining()
    x = factor.solve(B)
    other = again(factor)

    assert np.array_equal(other.solve(B), x)
    assert other.report == factor.report and other.report.backward_error is not None
    assert np.array_equal(other.refactorize(factor._values.values).solve(B), x)


def test_a_shallow_copy_shares_no_numbers():
    system = random_system(gs.ladder(5), 6)
    factor, batch = system.factorize(), gs.Batch(system.analyze(), [system.values] * 3)
    condensed = gs.condense(system, [system.labels[0]])
    x, schur = factor.solve(B), condensed.schur()
    many = batch.solve([B] * 3)
    doubled = 2.0 * system.values
    copy.copy(system).values[:] *= 2.0
    assert np.array_equal(2.0 * system.values, doubled)
    assert np.abs(2.0 * copy.copy(factor).refactorize(doubled).solve(B) - x).max() <= 1e-12
    copy.copy(batch).refactorize([doubled] * 3)
    copy.copy(condensed).refactorize(doubled)
    assert np.array_equal(factor.solve(B), x) and np.array_equal(condensed.schur(), schur)
    assert np.array_equal(batch.solve([B] * 3), many)


@pytest.mark.parametrize(
    "make",
    [
        lambda system: system,
        lambda system: system.graph,
        lambda system: system.analyze(),
        lambda system: system.factorize(),
        lambda system: system.factorize(redundant=True),
        lambda system: gs.condense(system, [system.labels[0]]),
        lambda system: gs.Batch(system.analyze(), [system.values] * 3),
    ],
    ids=["System", "BlockGraph", "Symbolic", "Factor", "redundant", "Condensation", "Batch"],
)
def test_a_flipped_bit_is_found(make):
    # one bit of every array that is stored: without a checksum kernels read where it says
    arrays = []
    whole = pickle.dumps(
        make(random_system(gs.ladder(5), 6)), protocol=5, buffer_callback=arrays.append
    )
    arrays = [bytearray(array.raw()) for array in arrays]
    pickle.loads(whole, buffers=arrays)
    rng = np.random.default_rng(0)
    for array in filter(len, arrays):
        at, bit = rng.integers(len(array)), 1 << rng.integers(8)
        array[at] ^= bit
        with pytest.raises(ValueError, match="is damaged: it differs from the one"):
            pickle.loads(whole, buffers=arrays)
        array[at] ^= bit


def test_a_damaged_table_is_named():
    symbolic = random_saddle_system(body_joint_chain(3)).analyze()
    restore, (tables, stored) = symbolic.__reduce__()
    tables = [table.copy() if isinstance(table, np.ndarray) else table for table in tables]
    tables[[field.name for field in fields(symbolic)].index("program")][3] ^= 1 << 20

    with pytest.raises(ValueError, match="this Symbolic is damaged"):
        restore(tuple(tables), stored)


def test_copies_share_what_never_changes():
    factor = random_system(gs.ladder(5), 6).factorize()
    symbolic = factor.symbolic

    assert copy.copy(symbolic) is symbolic and copy.deepcopy(symbolic) is symbolic
    factor = pickle.loads(pickle.dumps(factor))
    assert factor.symbolic.program is factor._factorization.program  # one array, as before


class Joint:
    """Label that is equal to itself alone."""


def test_copies_know_labels_that_equal_themselves_alone():
    joints = [Joint(), Joint()]
    system = gs.System.from_edges([0], [1], [1, 1], labels=joints)
    system.add(joints, joints, [4.0, 3.0])
    for other in (copy.copy(system), copy.deepcopy(system)):
        assert other.labels is system.labels
        assert other[other.labels[1], other.labels[1]] == 3.0


def test_a_copy_within_a_structure_is_one_object():
    system = random_system(gs.ladder(5), 6)
    one, other = copy.deepcopy([system, system])

    assert one is other and one is not system


@pytest.mark.parametrize(
    "labels", [(3, 1, 2), ("a", "b'", "\n"), (0.5, 1.0, np.inf), (1, True, "x")]
)
def test_labels_count_as_if_one_by_one(labels):
    one_by_one = 0
    for label in labels:
        one_by_one = crc32(f"{type(label).__name__}{label!r}".encode(), one_by_one)
    assert checksum(labels) == one_by_one
    assert checksum(labels) != checksum(labels[::-1])


def test_numbered_labels_are_not_stored():
    edges = np.arange(999), np.arange(1, 1000), np.ones(1000, np.int64)
    numbered = gs.System.from_edges(*edges)
    named = gs.System.from_edges(*edges, labels=[f"node {k}" for k in range(1000)])
    stored = [pickle.dumps(system) for system in (numbered, named)]
    assert len(stored[1]) > len(stored[0]) + 8 * 1000
    for system, dump in zip((numbered, named), stored, strict=True):
        other = pickle.loads(dump)
        assert other.labels == system.labels and other.labels is other.graph.labels
        assert other.graph.lies_like(system.graph) and other.graph.node(other.labels[7]) == 7
