"""Entries of a sparse matrix, put at their places in the blocks of a system."""

import numpy as np

from graphsys.kernels.base.jit import kernel

#: Status: entries are in place; another pattern, or not finite; arrays of other types.
PLACED, REFUSED, MISFIT = range(3)


@kernel
def place_entries(
    # Tables:
    own_start,
    own_index,
    place,
    vacant,
    # In:
    start,
    index,
    entries,
    # Out:
    values,
):
    """values[place] <- entries, and 0 at the ``vacant`` places; nothing if refused: a status."""
    if start.size != own_start.size or index.size != own_index.size or entries.size != place.size:
        return REFUSED
    different = wrong = 0
    for k in range(start.size):
        different |= start[k] != own_start[k]
    for e in range(index.size):
        different |= index[e] != own_index[e]
    for e in range(entries.size):
        wrong |= not abs(entries[e]) < np.inf
    if different != 0 or wrong != 0:
        return REFUSED
    for e in range(vacant.size):
        values[vacant[e]] = 0.0
    for e in range(place.size):
        values[place[e]] = entries[e]
    return PLACED
