"""Ipopt: a shared library with MA27's symbols, so that ``linear_solver=ma27`` is graphsys.

A C file (``ma27.c``) has the four symbols and passes each call to a function of this module. It is
compiled at the first use and kept in the cache folder of machine code.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import traceback
from collections import OrderedDict
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse import coo_array, csr_array

from graphsys.compiler.store import cache_folder
from graphsys.errors import SingularPivotError
from graphsys.factor import Factor
from graphsys.numeric import measures
from graphsys.system import System

__all__ = ["library"]

Float = NDArray[np.float64]
Ints = NDArray[np.int64]

SOURCE = Path(__file__).with_name("ma27.c")
#: Patterns, and factorizations, that are kept: MA27's interface has no call that frees one.
KEPT = 64
#: Most rows of a matrix that LAPACK factorizes if graphsys cannot certify the inertia: 8 MB, 0.1 s.
DENSE_ROWS = 1000
#: Largest bound on the relative error of the inverse with which no eigenvalue changes its sign.
#: The bound is an estimate, right within a factor of about 3.
CERTAIN = 0.1
#: INFO(1): index out of range (a warning); singular matrix; an exception, printed on stderr.
OUT_OF_RANGE, SINGULAR, FAILED = 1, -5, -101

_INT, _DOUBLE = ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_double)
_KINDS: tuple[Any, ...] = (
    ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int, _INT, _INT, _INT, _INT),
    ctypes.CFUNCTYPE(
        None, ctypes.c_int, ctypes.c_int, _INT, _INT, _DOUBLE, _INT, _INT, _DOUBLE, _INT
    ),
    ctypes.CFUNCTYPE(None, ctypes.c_int, _INT, _DOUBLE),
)


class Pattern:
    """Sparsity pattern of a symmetric matrix in triplets, and its symbolic factorization.

    Parameters
    ----------
    n : int
    row, column : ndarray of int, shape (nz,)
        From 0; one triangle in any mixture, repeated entries are summed.
    """

    def __init__(self, n: int, row: Ints, column: Ints) -> None:
        diagonal = np.arange(n)
        rows = np.concatenate([row, column, diagonal])
        columns = np.concatenate([column, row, diagonal])
        ones = np.ones(rows.size)
        full = csr_array(coo_array((ones, (rows, columns)), shape=(n, n)))
        full.sum_duplicates()
        self.system = System.from_scipy(full, symmetric=True)
        places = self.system.entry_at
        assert places is not None
        key = np.repeat(diagonal, np.diff(full.indptr)) * n + full.indices
        place = places[np.searchsorted(key, np.concatenate([row * n + column, column * n + row]))]
        entry = np.tile(np.arange(row.size), 2)
        once = np.concatenate([np.ones(row.size, bool), row != column])
        shape = (self.system.graph.nnz, row.size)
        self._sum = csr_array(coo_array((ones[: once.sum()], (place[once], entry[once])), shape))
        self._lock = threading.Lock()
        self._analyzed = False

    def values(self, a: Float) -> Float:
        """Blocks in the layout of the graph.

        Parameters
        ----------
        a : ndarray, shape (nz,)
            Entries.

        Returns
        -------
        ndarray, shape (nnz,)
        """
        return np.asarray(self._sum @ a)

    def factorize(self, values: Float) -> Factor:
        """Numeric factorization; the first one also analyzes, by the zeros of its diagonal.

        Parameters
        ----------
        values : ndarray, shape (nnz,)

        Returns
        -------
        Factor
        """
        with self._lock:
            if not self._analyzed:
                self.system.values[...] = values
                self._symbolic = self.system.analyze()
                self._analyzed = True
        return Factor(self._symbolic, values)


class Instance:
    """Factorization of one caller of the library.

    Parameters
    ----------
    pattern : Pattern
    """

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self._factor: Factor | None = None
        self._dense: tuple[Float, NDArray[np.int32]] | None = None

    def factorize(self, a: Float) -> int | None:
        """Number of negative eigenvalues; None if the matrix is singular or that is uncertain.

        Parameters
        ----------
        a : ndarray, shape (nz,)
        """
        self._dense = None
        values = self.pattern.values(a)
        if not np.isfinite(values).all():
            return None
        try:
            if self._factor is None:
                self._factor = self.pattern.factorize(values)
            else:
                self._factor.refactorize(values)
            return self._certain_inertia(self._factor, values)
        except (SingularPivotError, OverflowError):
            return self._factorize_dense(values)

    def _certain_inertia(self, factor: Factor, values: Float) -> int | None:
        """Negative eigenvalues of the pivots, if rounding errors can have moved none past zero."""
        found = factor._factorization
        if not found.doubtful or found.can_refine(values):
            positive, negative = measures.inertia(found)
            if positive + negative == factor.shape[0]:
                return negative
        if factor.shape[0] <= DENSE_ROWS:
            return self._factorize_dense(values)
        found, lost = found.checked(values)
        if found is not factor._factorization:
            factor._factorization = found
            factor._use(values)
        if lost > CERTAIN:
            return self._factorize_dense(values)
        positive, negative = measures.inertia(found)
        complete = positive + negative == factor.shape[0]
        return negative if complete else self._factorize_dense(values)

    def _factorize_dense(self, values: Float) -> int | None:
        """Negative eigenvalues by the method of Bunch and Kaufman, of small matrices."""
        system = self.pattern.system
        n = system.shape[0]
        if n > DENSE_ROWS:
            return None
        other = system.copy()
        other.values[...] = values
        matrix = other.to_dense()
        ldl, pivots, info = lapack.dsytrf(matrix, lower=1)
        if info != 0:
            return None
        norm = float(np.abs(matrix).sum(axis=0).max())
        rcond, _ = lapack.dsycon(ldl, pivots, norm, lower=1)
        if rcond < np.finfo(float).eps:
            return None
        self._dense = ldl, pivots
        single = pivots > 0
        # A pivot block of two rows has one eigenvalue of each sign by the choice of the method.
        return int((np.diag(ldl)[single] < 0.0).sum()) + int((~single).sum()) // 2

    def solve(self, b: Float) -> Float:
        """Solution of A x = b, shape (n,)."""
        if self._dense is not None:
            return np.asarray(lapack.dsytrs(*self._dense, b, lower=1)[0]).ravel()
        if self._factor is None:
            raise ValueError("ma27cd was called without a factorization by ma27bd")
        return np.asarray(self._factor.solve(b))


class Store:
    """Patterns and instances by handle, those that were used last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._patterns: OrderedDict[bytes, Pattern] = OrderedDict()
        self._instances: OrderedDict[int, Instance] = OrderedDict()
        self._last = 0

    def open(self, n: int, irn: Ints, icn: Ints) -> int:
        """Handle of a new instance for a pattern in triplets, from 1."""
        text = np.int64(n).tobytes() + irn.tobytes() + icn.tobytes()
        digest = hashlib.sha256(text).digest()
        with self._lock:
            pattern = self._patterns.get(digest)
        pattern = pattern or Pattern(n, irn - 1, icn - 1)
        with self._lock:
            self._last = self._last % (2**31 - 1) + 1
            _keep(self._patterns, digest, pattern)
            _keep(self._instances, self._last, Instance(pattern))
            return self._last

    def get(self, handle: int) -> Instance | None:
        """Instance of a handle; None if others have displaced it."""
        with self._lock:
            found = self._instances.get(handle)
            if found is not None:
                self._instances.move_to_end(handle)
            return found


def _keep(table: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    """Enter a value as the last one, and drop the first of too many."""
    table[key] = value
    table.move_to_end(key)
    if len(table) > KEPT:
        table.popitem(last=False)


STORE = Store()


def _array(pointer: Any, count: int) -> NDArray[Any]:
    """Memory of the caller as an array."""
    if count:
        return np.ctypeslib.as_array(pointer, (count,))
    return np.empty(0, np.int32 if isinstance(pointer, _INT) else np.float64)


def _analyze(n: int, nz: int, irn: Any, icn: Any, ikeep: Any, info: Any) -> None:
    """ma27ad: ikeep[0] becomes the handle of an instance."""
    try:
        rows, columns = (_array(at, nz).astype(np.int64) for at in (irn, icn))
        outside = (np.minimum(rows, columns) < 1) | (np.maximum(rows, columns) > n)
        if outside.any():
            info[0], info[1] = OUT_OF_RANGE, int(outside.sum())
            return
        ikeep[0] = STORE.open(n, rows, columns) if n else 0
    except BaseException:  # nothing may pass through C
        traceback.print_exc()
        info[0] = FAILED


def _factorize(
    n: int, nz: int, irn: Any, icn: Any, a: Any, iw: Any, ikeep: Any, cntl: Any, info: Any
) -> None:
    """ma27bd: info[14] becomes the number of negative eigenvalues, iw[0] the handle."""
    try:
        if n == 0:
            return
        instance = STORE.get(ikeep[0])
        if instance is None:
            _analyze(n, nz, irn, icn, ikeep, info)
            instance = STORE.get(ikeep[0])
        if instance is None or info[0] != 0:
            return
        iw[0] = ikeep[0]
        negative = instance.factorize(_array(a, nz))
        if negative is None:
            info[0] = SINGULAR
        else:
            info[14] = negative
    except BaseException:
        traceback.print_exc()
        info[0] = FAILED


def _solve(n: int, iw: Any, rhs: Any) -> None:
    """ma27cd: rhs becomes the solution, or not a number, for MA27 returns no status here."""
    if n == 0:
        return
    x = _array(rhs, n)
    try:
        instance = STORE.get(iw[0])
        if instance is None:
            raise ValueError(f"more than {KEPT} factorizations were in use at the same time")
        x[...] = instance.solve(x.copy())
    except (SingularPivotError, OverflowError):
        x[...] = np.nan
    except BaseException:
        traceback.print_exc()
        x[...] = np.nan


@cache
def library() -> str:
    """Path of a shared library with MA27's symbols, for Ipopt's option ``hsllib``.

    Ipopt must run in this process. The first call compiles a C file of 100 lines and stores the
    library in the cache folder of machine code.

    Returns
    -------
    str

    Raises
    ------
    RuntimeError
        Without a C compiler (``cc``, ``gcc``, ``clang``, the environment variable ``CC``, or
        the package ``ziglang``), or where it fails.

    Examples
    --------
    >>> options = {"linear_solver": "ma27", "hsllib": library()}  # doctest: +SKIP
    """
    path = _compiled()
    loaded = ctypes.CDLL(str(path))
    table = (ctypes.c_void_p * 3).in_dll(loaded, "graphsys_callback")
    functions = [kind(f) for kind, f in zip(_KINDS, (_analyze, _factorize, _solve), strict=True)]
    _ALIVE.extend([loaded, *functions])
    for k, function in enumerate(functions):
        table[k] = ctypes.cast(function, ctypes.c_void_p).value
    return str(path)


#: C callbacks and the library, which must live as long as the process.
_ALIVE: list[Any] = []


def _compiled() -> Path:
    """Path of the compiled library, which is made if no cache folder has it."""
    source = SOURCE.read_bytes()
    kind = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
    machine = ctypes.sizeof(ctypes.c_void_p), sys.platform, platform.machine()
    digest = hashlib.sha256(source + repr(machine).encode()).hexdigest()[:16]
    path = cache_folder().absolute() / f"graphsys-ma27-{digest}{kind}"
    if path.is_file():
        return path
    compiler = _compiler()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(suffix=kind, dir=path.parent)
    os.close(handle)
    command = [*compiler, "-O2", "-shared", "-fPIC", "-o", name, str(SOURCE)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"the C compiler failed ({' '.join(compiler)}):\n{done.stderr}")
        os.replace(name, path)
    finally:
        with suppress(OSError):
            os.unlink(name)
    return path


def _compiler() -> list[str]:
    """Command of a C compiler."""
    given = os.environ.get("CC")
    if given:
        return given.split()
    for name in ("cc", "gcc", "clang"):
        found = shutil.which(name)
        if found:
            return [found]
    from importlib.util import find_spec

    if find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise RuntimeError(
        "graphsys.ipopt.library() needs a C compiler once: install one (Debian: gcc), name it by "
        'the environment variable CC, or run pip install "graphsys[ipopt]" for ziglang'
    )
