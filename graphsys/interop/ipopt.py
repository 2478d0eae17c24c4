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
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from graphsys.compiler.store import cache_folder
from graphsys.kernels.single.fused_solve import SINGULAR as SINGULAR_PIVOT
from graphsys.matrix.equilibration import Scaling
from graphsys.numeric import measures
from graphsys.numeric.factorization import Factorization
from graphsys.numeric.fronts import Fronts
from graphsys.symbolic import Symbolic
from graphsys.system import System

__all__ = ["library"]

Float = NDArray[np.float64]
Ints = NDArray[np.int64]

SOURCE = Path(__file__).with_name("ma27.c")
#: Patterns, and factorizations, that are kept: MA27's interface has no call that frees one.
KEPT = 64
#: Least pivot, of the equilibrated matrix, that is more than the rounding of larger numbers.
LEAST_PIVOT = 8.0 * np.finfo(float).eps
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
        self._symbolic: Symbolic | None = None

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

    def symbolic(self, values: Float) -> Symbolic:
        """Symbolic factorization by the zeros of the first diagonal.

        Parameters
        ----------
        values : ndarray, shape (nnz,)

        Returns
        -------
        Symbolic
            The same for all values that follow.
        """
        with self._lock:
            if self._symbolic is None:
                self.system.values[...] = values
                self._symbolic = self.system.analyze()
            return self._symbolic


class Instance:
    """Factors of one caller of the library: of static pivots, of delayed ones once these are weak.

    Parameters
    ----------
    pattern : Pattern
    """

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self._static: Factorization | None = None
        self._fronts: Fronts | None = None
        self._scaling: Scaling | None = None
        self._work = np.empty(0)
        self._solve: Callable[[Float], Float | None] | None = None

    def factorize(self, a: Float) -> int | None:
        """Number of negative eigenvalues; None if the matrix is singular to rounding.

        Parameters
        ----------
        a : ndarray, shape (nz,)
        """
        self._solve = None
        values = self.pattern.values(a)
        if not np.isfinite(values).all():
            return None
        symbolic = self.pattern.symbolic(values)
        if self._fronts is None:
            negative = self._factorize_static(symbolic, values)
            if negative is not None:
                return negative
            self._fronts = Fronts(symbolic.for_delayed_pivots, values.dtype)
            self._work = np.empty(self._fronts.symbolic.arena_size)
        return self._factorize_fronts(self._fronts, values)

    def _factorize_static(self, symbolic: Symbolic, values: Float) -> int | None:
        """Negative eigenvalues of the pivot blocks; None if one of them is weak."""
        if self._static is None:
            self._static = Factorization(symbolic, values.dtype)
        static = self._static
        if static.fast_factorize(values) == SINGULAR_PIVOT or static.doubtful:
            return None
        positive, negative = measures.inertia(static)
        if positive + negative < symbolic.graph.rows:
            return None
        self._solve = static.fast_solve  # None for a solution that overflows
        return negative

    def _factorize_fronts(self, fronts: Fronts, values: Float) -> int | None:
        """Negative eigenvalues of D, by 1 x 1 and 2 x 2 pivots."""
        graph = self.pattern.system.graph
        if self._scaling is None or not self._scaling.fits(graph, values):
            self._scaling = Scaling.of(graph, values, True)
        scaling = self._scaling
        if fronts.factorize(scaling.matrix(values), self._work) or fronts.smallest() < LEAST_PIVOT:
            return None

        def solve(b: Float) -> Float:
            right = scaling.right_hand_side(b, False)
            return np.asarray(scaling.solution(fronts.solve(right, 1, False), False))

        self._solve = solve
        return fronts.inertia()[1]

    def solve(self, b: Float) -> Float:
        """Solution of A x = b, shape (n,)."""
        if self._solve is None:
            raise ValueError("ma27cd was called without a factorization by ma27bd")
        x = self._solve(b)
        return np.full_like(b, np.nan) if x is None else x


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
