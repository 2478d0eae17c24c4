"""Arrays copied number by number."""

from dynamics.kernels.base.jit import kernel


@kernel
def copy(source, target):
    """target <- source."""
    for i in range(source.size):
        target[i] = source[i]
