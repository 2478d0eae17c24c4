"""Into how many intervals a step is cut, by and by."""

from dynamics.kernels.base.jit import kernel

#: A step is cut into up to 2^DEPTH intervals.
DEPTH = 10


@kernel
def finer(count, threefold):
    """More intervals: 2, 4, 8, ... after 1, with 3, 6, ... in between if ``threefold``."""
    if count & (count - 1) != 0:
        return count // 3 * 4
    return count + (count >> 1) if threefold and count > 1 else 2 * count
