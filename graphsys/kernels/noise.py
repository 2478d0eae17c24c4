"""Pivots that may be rounding noise.

A zero diagonal block becomes -L D^-1 U. Where that ought to vanish, what is left is rounding noise
of D^-1, and nothing the block ever held is any larger: it passes for a pivot. For blocks that start
with zeros, the size of |L| |D^-1| |L^T| is therefore kept, which their noise scales with (U is
taken to be as large as L^T). It is a bound and a loose one: a pivot block below it is only suspect,
and a trial solve must tell.
"""

from .blocks import raise_magnitude
from .jit import kernel


@kernel
def largest_entry(magnitude, scratch, arena, at, ld, n):
    """max |A_ij| of an n x n block; ``magnitude[scratch:]`` is workspace."""
    magnitude[scratch : scratch + n] = 0.0
    raise_magnitude(magnitude, scratch, arena, at, ld, n, n)
    largest = magnitude[scratch]
    for i in range(scratch + 1, scratch + n):
        largest = max(largest, magnitude[i])
    return largest


@kernel
def raise_noise(magnitude, noise, scratch, arena, left, ld, rows, columns, largest):
    """noise_i <- max(noise_i, max_k |L_ik| max |L| max |D^-1|); workspace as in `largest_entry`."""
    magnitude[scratch : scratch + rows] = 0.0
    raise_magnitude(magnitude, scratch, arena, left, ld, rows, columns)
    most = magnitude[scratch]
    for i in range(scratch + 1, scratch + rows):
        most = max(most, magnitude[i])
    for i in range(rows):
        product = magnitude[scratch + i] * most * largest
        magnitude[noise + i] = max(magnitude[noise + i], product)


@kernel
def suspicion(magnitude, noise, arena, d, ld, w):
    """max_ij noise_j |D^-1_ij|: how far the noise of the rows could change the inverse."""
    largest = 0.0
    for j in range(w):
        for i in range(w):
            largest = max(largest, magnitude[noise + j] * abs(arena[d + j * ld + i]))
    return largest
