"""Parts that kernels are made of: pointers, sums of six, quaternions that are nearly unit."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.kernels.base import layout
from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.quaternion import renormalized
from dynamics.kernels.base.six import add, inner_product, nothing, plus
from dynamics.kernels.rows import rows as kinds
from dynamics.parts.joints import POINTS


@kernel
def shifted(x, first, second):
    """Numbers of x behind two shifts, the first of which is written."""
    y = pointer(pointer(x, first), second)
    y[0] = 7.0
    return y[1]


@kernel
def weighted(weights, rows, count, r, to):
    """r[to:to + 6] <- r[to:to + 6] + weights times rows, six numbers each."""
    sums = nothing()
    for i in range(count):
        sums = plus(sums, weights[i], rows, 6 * i)
    add(r, to, sums)


def test_a_pointer_is_what_follows_in_the_array():
    x = np.arange(6.0)

    assert shifted(x, 1, 2) == 4.0
    assert x.tolist() == [0.0, 1.0, 2.0, 7.0, 4.0, 5.0]


def test_sums_of_six_are_those_of_arrays_and_touch_nothing_else():
    rng = np.random.default_rng(0)
    rows, weights, r = rng.normal(size=(5, 6)), rng.normal(size=5), rng.normal(size=9)
    expected = r.copy()
    expected[2:8] += weights @ rows

    weighted(weights, rows.ravel(), 5, r, 2)

    # five products and six sums a number, each right to eps / 2
    np.testing.assert_allclose(r, expected, rtol=0.0, atol=11 * 2.2e-16 * 10.0)
    assert (r[[0, 1, 8]] == expected[[0, 1, 8]]).all()


@pytest.mark.parametrize("n", [0, 1, 5, 6, 7, 12, 20])
def test_products_and_largest_numbers_are_those_of_arrays_whatever_their_length(n):
    x, y = np.random.default_rng(n).normal(size=(2, n + 4))

    # n products and sums, each right to eps / 2 of the sum of sizes
    room = n * 2.2e-16 * np.abs(x[1 : n + 1]) @ np.abs(y[3 : n + 3])
    assert abs(inner_product(n, x, 1, y, 3) - x[1 : n + 1] @ y[3 : n + 3]) <= room


@pytest.mark.parametrize("length", [1.0, 1.0 + 1e-9, 1.0 - 3e-9, 1.0 + 1e-6, 0.5, 2.0, 40.0])
def test_a_quaternion_becomes_unit_whatever_its_length(length):
    q = length * np.array([0.1, -0.7, 0.5, 0.5])  # of length 1

    unit = np.array(renormalized(tuple(q)))

    # below NEARLY what is left is 3/8 of the square of |q|^2 - 1: at most 4e-17
    assert abs(np.linalg.norm(unit) - 1.0) < 4e-16
    np.testing.assert_allclose(unit, q / length, rtol=0.0, atol=4e-16)


def test_rows_of_points_are_three_along_the_axes_and_the_first_of_their_joint():
    # what `rows.pin` relies on
    mech = dy.Mechanism()
    make = [
        dy.Revolute, dy.Spherical, dy.Fixed, dy.Universal, dy.Prismatic, dy.ConstantVelocity,
    ]  # fmt: skip
    parent = mech.world
    for i, joint in enumerate(make):
        child = mech.add_body(dy.Box(1.0, 0.2, 0.1, mass=1.0), name=f"body {i}")
        axes = {"Universal": [[1, 0, 0], [0, 1, 0]], "Spherical": [], "Fixed": []}
        mech.add_joint(joint(parent, child, *axes.get(joint.__name__, [[0, 1, 0]])))
        parent = child
    tables = mech.finalize(timestep=0.01).tables
    plan, constant = tables.plan, tables.constant

    seen = 0
    for k in range(plan[layout.MEASURES]):
        group = plan[plan[layout.GROUP_AT] + k * layout.GROUP_FIELDS :]
        first, count = group[layout.FIRST_ROW], group[layout.N_ROWS]
        places = (
            plan[layout.ROW_AT] + layout.ROW_FIELDS * np.arange(first, first + count) + layout.KIND
        )
        points = np.flatnonzero(plan[places] == kinds.POINT)
        assert points.tolist() in ([], [0, 1, 2])
        for i in points:
            c = constant[plan[layout.ROW_CONSTANT_AT] + (first + i) * layout.ROW_SIZE :]
            assert c[layout.AXIS : layout.AXIS + 3].tolist() == np.eye(3)[i].tolist()
            assert c[layout.REST] == 0.0
        seen += points.size == 3
    assert seen == 5
    assert [row.kind for row in POINTS] == [kinds.POINT] * 3
