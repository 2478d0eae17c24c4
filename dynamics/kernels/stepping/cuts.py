"""Into how many intervals a step is cut, by and by."""

from dynamics.kernels.base.jit import kernel

#: A step is cut into up to 2^DEPTH intervals.
DEPTH = 10


@kernel
def pieces(half, threefold):
    """Intervals at the ``half``-th cut: 1, 2, 4, ..., and 3, 6, ... if wanted; 0 for none."""
    count = 1 << (half >> 1)
    if half & 1 == 0:
        return count
    return count + (count >> 1) if threefold and count > 1 else 0
