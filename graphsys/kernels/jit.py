"""Compiler options of every kernel, in one place."""

from numba import config, njit

#: True under ``NUMBA_DISABLE_JIT=1``: kernels then run as plain Python on the NumPy references.
DISABLE_JIT = bool(config.DISABLE_JIT)

#: No GIL, cached on disk, IEEE arithmetic (NaN must survive), no bounds checks, division by zero
#: gives inf instead of raising: a kernel reports by its status.
OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy", "boundscheck": False}

#: A kernel that allocates nothing, nor hands an array to Python: nobody has to count references.
kernel = njit(**OPTIONS, _nrt=False)

#: For a kernel with one caller: compiled as part of it, since LLVM optimizes a function anew with
#: every caller that links it.
inlined = njit(**OPTIONS, _nrt=False, inline="always")

#: A kernel that makes arrays.
allocating = njit(**OPTIONS)
