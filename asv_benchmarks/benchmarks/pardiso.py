"""MKL PARDISO through `mkl_rt`, with its phases 11, 22 and 33 called one by one."""

import ctypes
import os
import sys
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array, triu

from .clock import fastest
from .interface import Pointers, Solver, library, rows_in_order

ANALYSIS, NUMERIC, SOLVE, RELEASE = 11, 22, 33, -1


def _mkl():
    """Return mkl_rt, of PyPI's `mkl` or of the system, or None."""
    os.environ.setdefault("MKL_THREADING_LAYER", "SEQUENTIAL")
    given = os.environ.get("GRAPHSYS_MKL_RT")  # another version of it
    installed = sorted(map(str, Path(sys.prefix, "lib").glob("libmkl_rt.so*")))
    return library(*([given] if given else installed), "mkl_rt")


def _upper(A):
    """Return the upper triangle of a matrix, all of its diagonal stored."""
    upper, diagonal = coo_array(triu(A)), np.arange(A.shape[0])
    data = np.append(upper.data, np.zeros(diagonal.size))
    rows, columns = (np.append(k, diagonal) for k in (upper.row, upper.col))
    return coo_array((data, (rows, columns)), A.shape).tocsr()


class Pardiso(Solver):
    """PARDISO for unsymmetric matrices, for such whose pattern is symmetric, or symmetric ones.

    Parameters
    ----------
    matrix_type : {11, 1, 2, -2}
        Real unsymmetric (scaled and matched by default), of symmetric pattern, symmetric positive
        definite, or symmetric indefinite (scaled and matched).
    blocks : bool
        Hand the matrix in by dense blocks, BSR.
    our_order : bool
        Hand our elimination order in, and match nothing.
    """

    group = "PARDISO"
    lib = _mkl()
    arguments = None

    def __init__(self, matrix_type, blocks=False, our_order=False):
        self.matrix_type, self.blocks, self.our_order = matrix_type, blocks, our_order
        parts = [f"PARDISO {matrix_type}", "BSR" * blocks, "our order" * our_order]
        self.name = ", ".join(part for part in parts if part)
        if not our_order and (blocks or matrix_type == 1):
            self.most_operations = 2e10  # never the fastest there, and each takes gigabytes

    def available(self):
        return None if self.lib else "MKL is not installed (PyPI: mkl)"

    def analyze(self, A, system, order):
        self.close()
        size = system.graph.size
        if self.blocks:
            if size.min() != size.max() or size[0] == 1:
                raise NotImplementedError("BSR wants blocks of one size above 1")
            A = A.tobsr(blocksize=(int(size[0]), int(size[0])))
            permutation = np.array(order, np.int32)
        else:
            permutation = rows_in_order(system, order)
        if abs(self.matrix_type) == 2:
            A = _upper(A)
        A.sort_indices()
        self.x = np.empty(A.shape[0])
        self.start, self.column = A.indptr.astype(np.int32), A.indices.astype(np.int32)
        self.values = np.ascontiguousarray(A.data).ravel()
        self.permutation = permutation
        self.handle = np.zeros(64, np.int64)
        self.settings = self._settings(int(size[0]))
        self.error = ctypes.c_int(0)
        self.at = Pointers()
        one, rows, kind, quiet = (
            ctypes.byref(ctypes.c_int(k)) for k in (1, self.start.size - 1, self.matrix_type, 0)
        )
        phases = (ANALYSIS, NUMERIC, SOLVE, RELEASE)
        self.phase = {phase: ctypes.byref(ctypes.c_int(phase)) for phase in phases}
        handle, settings = self.at("handle", self.handle), self.at("settings", self.settings)
        self.before = handle, one, one, kind
        pattern = [self.at(name, getattr(self, name)) for name in ("start", "column")]
        self.pattern = rows, pattern
        self.after = self.at("permutation", self.permutation), one, settings, quiet
        self._call(ANALYSIS, self.values)

    def _settings(self, block):
        """Return iparm; its numbers in MKL's manual are one higher than these places."""
        settings = np.zeros(64, np.int32)
        settings[0] = 1  # what follows is not the default
        settings[1] = 2  # METIS
        settings[9] = 13 if self.matrix_type == 11 else 8  # perturb pivots below 10^-x
        if self.matrix_type in (11, -2) and not self.our_order and not self.blocks:
            settings[10] = settings[12] = 1  # scale and match
        if self.matrix_type == -2:
            settings[20] = 1  # 2 x 2 pivots
        settings[4] = int(self.our_order)
        settings[34] = 1  # indices begin at 0
        settings[36] = block if self.blocks else 0
        return settings

    def _call(self, phase, values, b=None):
        rows, (start, column) = self.pattern
        self.lib.pardiso(
            *self.before,
            self.phase[phase],
            rows,
            self.at("values", values),
            start,
            column,
            *self.after,
            None if b is None else self.at("b", b),
            self.at("x", self.x),
            ctypes.byref(self.error),
        )
        if self.error.value:
            raise ArithmeticError(f"pardiso, phase {phase}: error {self.error.value}")

    def analysis_seconds(self):
        return fastest(lambda: self._call(ANALYSIS, self.values))

    def refactorize(self, values):
        self._call(NUMERIC, values)

    def solve(self, b):
        self._call(SOLVE, self.values, b)
        return self.x

    def close(self):
        if getattr(self, "handle", None) is not None:
            self._call(RELEASE, self.values)
            self.handle = None
