"""Vectors from the user's order into that of the elimination, and back."""

import numpy as np

from graphsys.kernels.base.complex_numbers import is_real
from graphsys.kernels.base.jit import inlined
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.blocks.blocks import largest_of


@inlined
def gather(b, order, count, x):
    """X <- b in elimination order."""
    rows, place = order.size, pointer(order, 0)
    for j in range(count):
        to, given = pointer(x, j * rows), pointer(b, j * rows)
        for i in range(rows):
            to[i] = given[place[i]]


@inlined
def scatter(x, order, count, out):
    """Out <- x in the user's order, as `gather`; 1 where an entry is not finite, else 0."""
    rows, place = order.size, pointer(order, 0)
    lost = False
    for j in range(count):
        given, to = pointer(x, j * rows), pointer(out, j * rows)
        for i in range(rows):
            to[place[i]] = given[i]
        if is_real(x):
            lost |= not largest_of(x, j * rows, rows, rows, 1) < np.inf
        else:  # a finite complex number may be larger than any real one
            for i in range(rows):
                lost |= given[i] - given[i] != 0
    return 1 if lost else 0
