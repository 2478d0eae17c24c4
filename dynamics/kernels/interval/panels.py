"""LU factors of the equations of a planar tree, by the multifrontal method.

A body in the plane and the joint to its parent are five pivots, which share blocks with the three
unknowns of the parent alone. So each such group is a dense panel of eight columns of eight numbers,
with pivots first; what it leaves of the others is added to a later panel (I. S. Duff, J. K. Reid,
The multifrontal solution of indefinite sparse symmetric linear equations, ACM TOMS 9, 1983).
Pivots keep their order. They are regular: joints of a tree have independent rows.
"""

from dynamics.kernels.base.eight import eliminate, go_back, go_forward
from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import (
    GROUP_PIVOTS,
    GROUP_SUMS,
    GROUP_UNKNOWNS,
    PANEL,
    PANEL_GROUP,
)


@kernel
def factorize_panels(groups, entries, table, places, targets, values, panels):
    """Panels <- factors U, then L, of the matrix with these entries; 0, or not for a pivot of 0.

    ``table`` are the records of so many groups, and then what each adds to later ones.
    """
    for k in range(groups * PANEL):
        panels[k] = 0.0
    for k in range(entries):
        panels[targets[k]] = values[places[k]]
    add, failed = groups * PANEL_GROUP, 0
    for g in range(groups):
        record = g * PANEL_GROUP
        pivots = table[record + GROUP_PIVOTS]
        failed |= eliminate(panels, g * PANEL, panels, (groups + g) * PANEL, pivots)
        for k in range(add, add + 2 * table[record + GROUP_SUMS], 2):
            panels[table[k + 1]] += panels[table[k]]
        add += 2 * table[record + GROUP_SUMS]
    return failed


@kernel
def solve_panels(groups, table, panels, y):
    """y <- U^-1 L^-1 y, unknowns in the order of pivots."""
    for g in range(groups):
        record = g * PANEL_GROUP
        lower, pivots = (groups + g) * PANEL, table[record + GROUP_PIVOTS]
        go_forward(panels, lower, pivots, table, record + GROUP_UNKNOWNS, y)
    for g in range(groups - 1, -1, -1):
        record = g * PANEL_GROUP
        pivots = table[record + GROUP_PIVOTS]
        go_back(panels, g * PANEL, pivots, table, record + GROUP_UNKNOWNS, y)
