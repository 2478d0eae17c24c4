"""Entries of a sparse matrix, put at their places in the blocks of a system."""

import numpy as np

from graphsys.kernels.base.jit import kernel

#: Status: entries are in place; another pattern, or not finite; arrays of other types; entries that
#: are not symmetric any more.
PLACED, REFUSED, MISFIT, UNSYMMETRIC = range(4)


@kernel
def place_entries(
    # Tables:
    own_start,
    own_index,
    place,
    vacant,
    mirrored,
    # In:
    start,
    index,
    entries,
    # Out:
    values,
):
    """values[place] <- entries, and 0 at the ``vacant`` places; nothing if refused: a status.

    ``mirrored`` (2, k) are entries of a symmetric matrix and those across its diagonal.
    """
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
    upper, lower = mirrored[0], mirrored[1]
    for k in range(upper.size):
        wrong |= entries[upper[k]] != entries[lower[k]]
    if wrong != 0:
        return UNSYMMETRIC
    for e in range(vacant.size):
        values[vacant[e]] = 0.0
    for e in range(place.size):
        values[place[e]] = entries[e]
    return PLACED
