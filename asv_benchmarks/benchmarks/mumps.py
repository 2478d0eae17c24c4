"""MUMPS for symmetric matrices, through its C header (Debian: libmumps-seq-dev)."""

import ctypes

import numpy as np
from scipy.sparse import coo_array, tril

from graphsys.c_code.build import shared_library

from .interface import Pointers, Solver

#: Settings as Ipopt has them: no output, any order, scaling by values, memory for delayed pivots.
SOURCE = """
#include <stdlib.h>
#include <dmumps_c.h>
void *mumps_new(int n, long nz, int *row, int *column, double *values) {
    DMUMPS_STRUC_C *m = calloc(1, sizeof *m);
    m->par = 1, m->sym = 2, m->comm_fortran = -987654, m->job = -1;
    dmumps_c(m);
    m->icntl[0] = m->icntl[1] = m->icntl[2] = -1, m->icntl[3] = 0;
    m->icntl[5] = m->icntl[6] = 7, m->icntl[7] = 77, m->icntl[9] = 0, m->icntl[13] = 100;
    m->cntl[0] = 1e-6;
    m->n = n, m->nnz = nz, m->irn = row, m->jcn = column, m->a = values;
    m->job = 1;
    dmumps_c(m);
    return m;
}
int mumps_run(DMUMPS_STRUC_C *m, int job, double *b) {
    m->rhs = b, m->job = job;
    dmumps_c(m);
    return m->infog[0];
}
void mumps_free(DMUMPS_STRUC_C *m) { m->job = -2; dmumps_c(m); free(m); }
"""
FLAGS = "-O2", "-I/usr/include/mumps_seq", "-Wl,--no-as-needed", "-ldmumps_seq"


class MUMPS(Solver):
    """L D L^T with 1 x 1 and 2 x 2 pivots, at least 1e-6 of their column; no refinement."""

    group = name = "MUMPS"
    handle = None

    def available(self):
        try:
            path = shared_library(SOURCE.encode(), "mumps", "MUMPS", FLAGS)
        except RuntimeError:
            return "MUMPS is not installed (Debian: libmumps-seq-dev)"
        self.lib = ctypes.CDLL(str(path))
        self.lib.mumps_new.restype = ctypes.c_void_p
        return None

    def analyze(self, A, system, order):
        self.close()
        if reason := self.available():
            raise NotImplementedError(reason)
        lower = coo_array(tril(A))
        self.values, self.x, self.at = lower.data, np.empty(A.shape[0]), Pointers()
        self.own = self.values.copy()
        self.row, self.column = ((k + 1).astype(np.int32) for k in (lower.row, lower.col))
        arrays = [self.at(k, getattr(self, k)) for k in ("row", "column", "own")]
        count = ctypes.c_long(self.own.size)
        self.handle = ctypes.c_void_p(self.lib.mumps_new(A.shape[0], count, *arrays))

    def refactorize(self, values):
        self.own[...] = values
        self._run(2, None)

    def solve(self, b):
        self.x[:] = b
        self._run(3, self.at("x", self.x))
        return self.x

    def _run(self, job, b):
        status = self.lib.mumps_run(self.handle, job, b)
        if status < 0:
            raise ArithmeticError(f"mumps, job {job}: {status}")

    def close(self):
        if self.handle:
            self.lib.mumps_free(self.handle)
        self.handle = None
