"""Compiler options of every kernel, in one place."""

from numba import config, njit

#: True under ``NUMBA_DISABLE_JIT=1``: kernels then run as plain Python on the NumPy references.
DISABLE_JIT = bool(config.DISABLE_JIT)

#: No GIL, cached on disk, IEEE arithmetic (NaN must survive), no bounds checks, division by zero
#: gives inf instead of raising: a kernel reports by its status.
kernel = njit(nogil=True, cache=True, error_model="numpy", boundscheck=False)
