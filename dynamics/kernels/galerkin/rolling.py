"""Rows that hold velocities in Galerkin-Lobatto steps: the way along them, theory/galerkin (15).

Their way w = G V at all nodes is a polynomial of degree s. Its integral vanishes at the nodes 1..s,

    h sum_b a^ab w^b = 0,     a^ab = int_0^{c_a} l_b,

with the coefficients a of Lobatto IIIA. At s = 1 that is (h/2) (G + G_next) u = 0, as at order 2.
"""

import math

from dynamics.kernels.base.jit import kernel, lazy, pointer
from dynamics.kernels.base.layout import (
    BODIES,
    FIRST_ROW,
    GROUP_AT,
    GROUP_FIELDS,
    JOINTS,
    N_ROWS,
    ROWS,
    TWIST,
    UNITS_AT,
    A,
    B,
)
from dynamics.kernels.galerkin.body import node
from dynamics.kernels.rows.forces import inner
from dynamics.kernels.rows.rows import held_velocity

ROOT = math.sqrt(5.0)
#: a^ab of Lobatto IIIA for s = 1, 2 and 3, rows a = 1..s, columns b = 0..s.
TRAPEZOID = (1 / 2, 1 / 2)
SIMPSON = (5 / 24, 1 / 3, -1 / 24, 1 / 6, 2 / 3, 1 / 6)
SIXTH = (
    (11 + ROOT) / 120, (25 - ROOT) / 120, (25 - 13 * ROOT) / 120, (-1 + ROOT) / 120,
    (11 - ROOT) / 120, (25 + 13 * ROOT) / 120, (25 + ROOT) / 120, (-1 - ROOT) / 120,
    1 / 12, 5 / 12, 5 / 12, 1 / 12,
)  # fmt: skip


@kernel
def part_of_way(s, place):
    """Entry of a^ab, row-major."""
    if s == 1:
        return TRAPEZOID[place]
    if s == 2:
        return SIMPSON[place]
    return SIXTH[place]


@lazy("(float float)")
def roll_stages(plan, constant, s, h, nodes, r):
    """Residuals of these rows at the nodes 1..s <- way / h; largest way, squares, over units."""
    n, rows, units = plan[BODIES], plan[ROWS], plan[UNITS_AT] + 1
    opened, merit, scale = 0.0, 0.0, constant[units - 1]
    for k in range(plan[JOINTS]):
        group = plan[GROUP_AT] + k * GROUP_FIELDS
        i, j, first = plan[group + A], plan[group + B], plan[group + FIRST_ROW]
        for row in range(first, first + plan[group + N_ROWS]):
            if not held_velocity(plan, row):
                continue
            for a in range(s):
                rate = 0.0
                for b in range(s + 1):
                    here, way = node(plan, nodes, b), 0.0
                    if i < n:
                        way += inner(here.G, 12 * row, here.speed, TWIST * i)
                    if j < n:
                        way += inner(here.G, 12 * row + 6, here.speed, TWIST * j)
                    rate += part_of_way(s, (s + 1) * a + b) * way
                out = pointer(r, a * (TWIST * n + rows) + TWIST * n)
                out[row] = rate
                value = constant[units + row] * rate
                opened = max(opened, abs(h * value))
                merit += scale * scale * value * value
    return opened, merit
