"""Pivots that may be rounding noise.

A zero diagonal block becomes -L D^-1 U. Where that ought to vanish, what is left is rounding noise
of D^-1, and nothing the block ever held is any larger: it passes for a pivot. For blocks that start
with zeros, the size of |L| |D^-1| |L^T| is therefore kept, which their noise scales with (U is
taken to be as large as L^T). It is a bound and a loose one: a pivot block below it is only suspect,
and a trial solve must tell.
"""

from .blocks import largest_of, largest_weighted, raise_scaled
from .jit import inlined


@inlined
def raise_noise(magnitude, noise, arena, left, ld, rows, columns, of_inverse):
    """noise_i <- max(noise_i, max_k |L_ik| max |L| max |D^-1|), the last being ``of_inverse``."""
    most = largest_of(arena, left, ld, rows, columns) * of_inverse
    raise_scaled(magnitude, noise, most, arena, left, ld, rows, columns)


@inlined
def suspicion(magnitude, noise, arena, d, ld, w):
    """max_ij noise_j |D^-1_ij|: how far the noise of the rows could change the inverse."""
    return largest_weighted(arena, d, ld, magnitude, noise, w, w)
