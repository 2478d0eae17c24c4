"""KLU, UMFPACK and CHOLMOD through the C interfaces that their headers document."""

import ctypes

import numpy as np
from scipy.sparse import tril

from .clock import fastest
from .interface import Pointers, Solver, library, rows_in_order, without_zeros

HANDLE = ctypes.c_void_p


class _Columns(Solver):
    """A in compressed columns with 32-bit indices."""

    def __init__(self, our_order=False):
        self.our_order = our_order
        self.name = f"{self.group}, our order" if our_order else self.group

    def available(self):
        return None if self.lib else f"{self.group} is not installed (Debian: libsuitesparse-dev)"

    def take(self, A, system, order):
        columns = without_zeros(A).tocsc()
        columns.sort_indices()
        self.rows = A.shape[0]
        self.start = columns.indptr.astype(np.int32)
        self.row = columns.indices.astype(np.int32)
        self.values = columns.data
        self.order = rows_in_order(system, order)
        self.x = np.empty(self.rows)
        self.at = Pointers()
        self.pattern = self.at("start", self.start), self.at("row", self.row)

    def analysis_seconds(self):
        return fastest(self._again)

    def _again(self):
        self._free(self._analyzed())

    def _analyzed(self):
        """Return a new symbolic factorization."""
        raise NotImplementedError

    def _free(self, symbolic):
        raise NotImplementedError


class Settings(ctypes.Structure):
    """klu_common: the parameters that are set here, then room for the rest."""

    _fields_ = [
        ("real_parameters", ctypes.c_double * 5),
        ("btf", ctypes.c_int),
        ("ordering", ctypes.c_int),
        ("scale", ctypes.c_int),
        ("rest", ctypes.c_char * 1024),
    ]


class KLU(_Columns):
    """klu_factor once, then klu_refactor, which keeps the pivots of the first matrix."""

    group = "KLU"
    most_operations = 5e9
    lib = library("klu", "libklu.so.2", "libklu.so.1")
    symbolic = numeric = None

    def analyze(self, A, system, order):
        self.close()
        self.take(A, system, order)
        lib = self.lib
        lib.klu_analyze.restype = lib.klu_analyze_given.restype = lib.klu_factor.restype = HANDLE
        self.settings = Settings()
        self.common = ctypes.byref(self.settings)
        lib.klu_defaults(self.common)
        if self.our_order:
            self.settings.btf = 0
        self.symbolic = self._analyzed()
        values = self.at("values", self.values)
        self.numeric = HANDLE(lib.klu_factor(*self.pattern, values, self.symbolic, self.common))
        if not self.numeric:
            raise ArithmeticError("klu_factor failed")

    def _analyzed(self):
        matrix = self.rows, *self.pattern
        if self.our_order:
            order = self.at("order", self.order)
            return HANDLE(self.lib.klu_analyze_given(*matrix, order, order, self.common))
        return HANDLE(self.lib.klu_analyze(*matrix, self.common))

    def _free(self, symbolic):
        self.lib.klu_free_symbolic(ctypes.byref(symbolic), self.common)

    def refactorize(self, values):
        if not self.lib.klu_refactor(
            *self.pattern, self.at("values", values), self.symbolic, self.numeric, self.common
        ):
            raise ArithmeticError("klu_refactor failed")

    def solve(self, b):
        self.x[:] = b
        x = self.at("x", self.x)
        self.lib.klu_solve(self.symbolic, self.numeric, self.rows, 1, x, self.common)
        return self.x

    def close(self):
        if self.numeric:
            self.lib.klu_free_numeric(ctypes.byref(self.numeric), self.common)
        if self.symbolic:
            self._free(self.symbolic)
        self.numeric = self.symbolic = None


class UMFPACK(_Columns):
    """umfpack_di_symbolic once, then a numeric factorization that pivots anew every time."""

    group = "UMFPACK"
    most_operations = 2e10
    lib = library("umfpack", "libumfpack.so.6", "libumfpack.so.5")
    symbolic = numeric = None
    # Of umfpack.h:
    STRATEGY, SYMMETRIC, IRSTEP, N_CONTROL, SYSTEM_A = 5, 3, 7, 20, 0

    def analyze(self, A, system, order):
        self.close()
        self.take(A, system, order)
        control = (ctypes.c_double * self.N_CONTROL)()
        self.lib.umfpack_di_defaults(control)
        control[self.IRSTEP] = 0.0  # no refinement
        if self.our_order:
            control[self.STRATEGY] = self.SYMMETRIC
        self.control = control
        self.symbolic, self.numeric = self._analyzed(), HANDLE()

    def _analyzed(self):
        symbolic = HANDLE()
        arguments = self.rows, self.rows, *self.pattern, self.at("values", self.values)
        if self.our_order:
            call, arguments = (
                self.lib.umfpack_di_qsymbolic,
                (*arguments, self.at("order", self.order)),
            )
        else:
            call = self.lib.umfpack_di_symbolic
        status = call(*arguments, ctypes.byref(symbolic), self.control, None)
        if status:
            raise ArithmeticError(f"umfpack_di_symbolic: {status}")
        return symbolic

    def _free(self, symbolic):
        self.lib.umfpack_di_free_symbolic(ctypes.byref(symbolic))

    def refactorize(self, values):
        if self.numeric:
            self.lib.umfpack_di_free_numeric(ctypes.byref(self.numeric))
        status = self.lib.umfpack_di_numeric(
            *self.pattern,
            self.at("values", values),
            self.symbolic,
            ctypes.byref(self.numeric),
            self.control,
            None,
        )
        if status:
            raise ArithmeticError(f"umfpack_di_numeric: {status}")

    def solve(self, b):
        self.lib.umfpack_di_solve(
            self.SYSTEM_A,
            *self.pattern,
            self.at("values", self.values),
            self.at("x", self.x),
            self.at("b", b),
            self.numeric,
            self.control,
            None,
        )
        return self.x

    def close(self):
        if self.numeric:
            self.lib.umfpack_di_free_numeric(ctypes.byref(self.numeric))
        if self.symbolic:
            self._free(self.symbolic)
        self.numeric = self.symbolic = None


class Sparse(ctypes.Structure):
    """cholmod_sparse: compressed columns."""

    _fields_ = [
        *((name, ctypes.c_size_t) for name in ("rows", "columns", "most")),
        *((name, ctypes.c_void_p) for name in ("p", "i", "nz", "x", "z")),
        *((name, ctypes.c_int) for name in ("stype", "itype", "xtype", "dtype")),
        *((name, ctypes.c_int) for name in ("sorted", "packed")),
    ]


class Columns(ctypes.Structure):
    """cholmod_dense: a dense matrix."""

    _fields_ = [
        *((name, ctypes.c_size_t) for name in ("rows", "columns", "most", "ld")),
        *((name, ctypes.c_void_p) for name in ("x", "z")),
        *((name, ctypes.c_int) for name in ("xtype", "dtype")),
    ]


class CHOLMOD(_Columns):
    """cholmod_analyze once, then cholmod_factorize: L L^T or L D L^T as it chooses."""

    group = "CHOLMOD"
    lib = library("cholmod", "libcholmod.so.5", "libcholmod.so.3")
    common = factor = None
    # Of cholmod.h: A x = b, room for cholmod_common and the place in it of its status.
    SYSTEM_A, LOWER, REAL, COMMON, STATUS = 0, -1, 1, 8192, 1972

    def analyze(self, A, system, order):
        self.close()
        self.take(tril(A), system, order)
        lib, self.common = self.lib, ctypes.create_string_buffer(self.COMMON)
        lib.cholmod_analyze.restype = lib.cholmod_solve.restype = HANDLE
        lib.cholmod_start(self.common)
        self.matrix = Sparse(self.rows, self.rows, self.row.size, *(p.value for p in self.pattern))
        self.matrix.x = self.values.ctypes.data
        self.matrix.stype, self.matrix.xtype = self.LOWER, self.REAL
        self.matrix.sorted = self.matrix.packed = 1
        self.right = Columns(self.rows, 1, self.rows, self.rows, xtype=self.REAL)
        self.factor = self._analyzed()
        self.refactorize(self.values)

    def _analyzed(self):
        return HANDLE(self.lib.cholmod_analyze(ctypes.byref(self.matrix), self.common))

    def _free(self, factor):
        self.lib.cholmod_free_factor(ctypes.byref(factor), self.common)

    def refactorize(self, values):
        self.matrix.x = values.ctypes.data
        self.lib.cholmod_factorize(ctypes.byref(self.matrix), self.factor, self.common)
        if ctypes.c_int.from_buffer(self.common, self.STATUS).value:
            raise ArithmeticError("cholmod_factorize failed")

    def solve(self, b):
        self.right.x = b.ctypes.data
        x = HANDLE(
            self.lib.cholmod_solve(
                self.SYSTEM_A, self.factor, ctypes.byref(self.right), self.common
            )
        )
        ctypes.memmove(self.x.ctypes.data, Columns.from_address(x.value).x, self.x.nbytes)
        self.lib.cholmod_free_dense(ctypes.byref(x), self.common)
        return self.x

    def close(self):
        if self.factor:
            self._free(self.factor)
            self.lib.cholmod_finish(self.common)
        self.factor = None
