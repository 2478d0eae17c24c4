"""Ipopt: a shared library with MA27's symbols, so that ``linear_solver=ma27`` is graphsys.

A C file (``ma27.c``) has the four symbols. It finds patterns that this module has lent it, and
calls the compiled kernels with a *frame* of their tables and of the caller's arrays. Functions of
this module do what is left: the analysis, the first matrix of a pattern, matrices whose factors are
doubtful even if they are equilibrated. The C file is compiled at the first use and kept in the
cache folder of machine code.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import os
import site
import string
import sys
import sysconfig
import threading
import traceback
from collections import OrderedDict
from collections.abc import Hashable
from functools import cache, lru_cache
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

import graphsys
from graphsys.c_code.build import shared_library
from graphsys.kernels.base.address_table import new_frame
from graphsys.kernels.frontal import equilibration, framed
from graphsys.kernels.frontal.multifrontal import ALL_DELAYED, INFO
from graphsys.matrix.from_scipy import find_equal
from graphsys.numeric.fronts import MANY_DELAYED, WEAK_THRESHOLDS, Fronts
from graphsys.system import System

__all__ = ["library"]


def __dir__() -> list[str]:
    return list(__all__)


Float = NDArray[np.float64]
Ints = NDArray[np.int64]

SOURCE = Path(__file__).with_name("ma27.c")
#: Places of patterns in ma27.c (PATTERNS); a pattern's number modulo this is its place.
PLACES = 64
#: Patterns that are kept, and factorizations by Python: MA27's interface has no call that frees
#: one.
KEPT = PLACES
#: ``ma27_pivtol`` up to which weak pivots are taken: its default. Ipopt raises it where it could
#: not refine a solution. The default asks for 1e-8; `fronts.WEAK_THRESHOLDS` delay as few.
WEAK_UP_TO = 1e-8
#: Product l d l^T of the equilibrated matrix from which factors are doubtful: half of the digits.
LARGEST = 1e8
#: What the callbacks return instead of a number or a count, as in ma27.c.
INTERRUPTED, NOT_REGULAR, UNKNOWN, FAILED = 0, -1, -2, -101

_INT, _DOUBLE, _ADDRESS = ctypes.c_int, ctypes.c_double, ctypes.c_void_p
_KINDS: tuple[Any, ...] = (
    ctypes.CFUNCTYPE(_INT, _INT, _INT, _ADDRESS, _ADDRESS),
    ctypes.CFUNCTYPE(_INT, _INT, _INT, _INT, _ADDRESS, _DOUBLE, _INT),
    ctypes.CFUNCTYPE(_INT, _INT, _INT, _ADDRESS),
)


class _Callbacks(ctypes.Structure):
    """``struct callbacks`` of ma27.c."""

    _fields_ = (
        ("analyze", _ADDRESS), ("factorize", _ADDRESS), ("solve", _ADDRESS),
        ("factorize_framed", _ADDRESS), ("solve_framed", _ADDRESS),
        ("equilibrate_framed", _ADDRESS), ("weak_up_to", _DOUBLE),
    )  # fmt: skip


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
        self.system = System.from_scipy(full, find_equal(full), symmetric=True)
        places = self.system.entry_at
        assert places is not None
        self._place, (start, full_column) = places, (full.indptr.astype(np.int64), full.indices)
        full_row, full_column = np.repeat(diagonal, np.diff(start)), full_column.astype(np.int64)
        key = full_row * n + full_column
        first, second = (np.searchsorted(key, at) for at in (row * n + column, column * n + row))
        self._sorted = full_row, full_column, start, first, second
        # C has workspace of its own, of these lengths.
        self.equilibration: Any = new_frame(*self._sorted, *self._workspace())
        self.entries = row, column
        self.lent = (row + 1).astype(np.int32), (column + 1).astype(np.int32)
        self._lock = threading.Lock()
        self._fronts: dict[bool, Fronts] = {}
        self.tables: Any = None

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
        *_, first, second = self._sorted
        other, count = second != first, self._place.size
        values = np.zeros(self.system.graph.nnz)
        values[self._place] = np.bincount(first, a, count)
        values[self._place] += np.bincount(second[other], a[other], count)
        return values

    def scaling(self, a: Float) -> Float | None:
        """Factors of rows and columns that equilibrate a matrix, powers of two.

        Parameters
        ----------
        a : ndarray, shape (nz,)
            Entries.

        Returns
        -------
        ndarray, shape (n,), or None
            Bounded, so that no product of two overflows. None where a row is zero, or an entry is
            not finite.
        """
        workspace = self._workspace()
        frame = new_frame(*self._sorted, *workspace)
        return None if equilibration.equilibrate_framed(frame, a) else workspace[-1]

    def _workspace(self) -> tuple[Ints, Float, Float]:
        """Workspace of an equilibration, integers and others, and the array of its factors."""
        n = self.system.graph.rows
        real = equilibration.REAL_ROWS * n + self._place.size
        return np.empty(equilibration.WHOLE_ROWS * n, np.int64), np.empty(real), np.empty(n)

    @property
    def is_analyzed(self) -> bool:
        """Whether a first matrix has chosen the order."""
        return bool(self._fronts)

    def fronts(self, a: Float, weak: bool) -> Fronts:
        """New fronts, with arrays as long as those before had to be.

        The order is chosen by the zeros of the first diagonal, for all matrices that follow.

        Parameters
        ----------
        a : ndarray, shape (nz,)
            Entries; ignored if the pattern is analyzed.
        weak : bool
            Whether pivots may be weak. Otherwise many are delayed, and the order is another one.

        Returns
        -------
        Fronts
        """
        with self._lock:
            if not self._fronts:
                self.system.values[...] = self.values(a)
                self._symbolic = self.system.analyze()
                order = self._symbolic.by_supernodes
                self._fronts[True] = Fronts(order, a.dtype, self.entries, WEAK_THRESHOLDS)
            if weak not in self._fronts:
                order = self._symbolic.for_delayed_pivots
                self._fronts[weak] = Fronts(order, a.dtype, self.entries)
            return self._fronts[weak].fresh()

    def first_factors(self, a: Float) -> Factors:
        """Weak factors, not yet computed, in an order that delays few pivots of a first matrix.

        Parameters
        ----------
        a : ndarray, shape (nz,)
            Entries.

        Returns
        -------
        Factors
        """
        factors, graph = Factors(self, a, True), self.system.graph
        if factors.factorize(a) is None or factors.delayed <= MANY_DELAYED * graph.rows:
            return factors
        order = factors.order()
        found = self._symbolic.in_order(order).in_postorder
        with self._lock:
            self._fronts[True] = Fronts(found, a.dtype, self.entries, WEAK_THRESHOLDS)
        return Factors(self, a, True)

    def keep_tables(self, factors: Factors) -> None:
        """Keep the frame of first factors: with tables of the analysis and lengths of all arrays.

        Parameters
        ----------
        factors : Factors
            With weak pivots.
        """
        with self._lock:
            if self.tables is None:
                self.tables, self._kept = factors.frame, factors.tables

    def remember(self, fronts: Fronts, weak: bool) -> None:
        """Make those that follow as long as these.

        Parameters
        ----------
        fronts : Fronts
        weak : bool
        """
        with self._lock:
            self._fronts[weak] = fronts


class Factors:
    """Fronts of one order and the frame by which kernels find their arrays.

    Parameters
    ----------
    pattern : Pattern
    a : ndarray, shape (nz,)
        Entries of the first matrix.
    weak : bool
        Whether pivots may be weak.

    Attributes
    ----------
    bounds : ndarray, shape (6,)
        Bounds of pivots, as in `graphsys.kernels.frontal.framed`.
    """

    def __init__(self, pattern: Pattern, a: Float, weak: bool) -> None:
        self._pattern, self._weak = pattern, weak
        self._fronts = pattern.fronts(a, weak)
        self._info, self._signs = np.zeros(INFO), np.zeros(3)
        rows = self._fronts.symbolic.graph.rows
        pivots, least = self._fronts.thresholds, self._fronts.least_certain
        # In an order with few delays, one per row costs more than another attempt.
        delays = rows if weak else np.inf
        self.bounds = np.array([*pivots, LARGEST, least, delays, 0.0])
        self._vectors, self._scale = np.empty((2, rows)), np.zeros(rows)
        self.frame = self._framed()

    def _framed(self) -> Any:
        """Frame of all arrays, which live as long as this object or until they are too short."""
        fronts = self._fronts
        # No front is larger than the square that it was in.
        self._part = np.empty(isqrt(fronts.arrays["front"].size))
        return new_frame(
            fronts.symbolic.panels, *fronts.listed, *fronts.arrays.values(),
            fronts.table.reshape(-1), self._info, self._signs, self.bounds, *self._vectors,
            self._part, self._scale,
        )  # fmt: skip

    @property
    def tables(self) -> tuple[Any, ...]:
        """Arrays of the frame that no factorization changes."""
        return self._fronts.symbolic, self._fronts.listed, self.bounds

    @property
    def delayed(self) -> int:
        """How often a pivot was delayed."""
        return int(self._info[ALL_DELAYED])

    def order(self) -> tuple[Hashable, ...]:
        """Labels of the nodes in the order in which their last pivots were taken."""
        return self._fronts.order()

    def factorize(self, a: Float, scale: Float | None = None) -> int | None:
        """Number of negative eigenvalues; None if rounding errors are as large as a pivot.

        Parameters
        ----------
        a : ndarray, shape (nz,)
        scale : ndarray, shape (n,), optional
            Factors of rows and columns; by default all are 1.
        """
        if scale is None:
            self._scale[:1] = 0.0
        else:
            self._scale[...] = scale
            row, column = self._pattern.entries
            a = a * (scale[row] * scale[column])
        found = int(framed.factorize_framed(self.frame, a))
        while found < framed.DOUBTFUL:
            self._fronts.lengthen(found + 1, self._info)
            self._pattern.remember(self._fronts, self._weak)
            self.frame = self._framed()
            self.bounds[framed.RESUMES] = 1.0
            found = int(framed.factorize_framed(self.frame, a))
        return None if found < 0 else found

    def solve(self, b: Float) -> Float:
        """Solution of A x = b."""
        x = b.copy()
        framed.solve_framed(self.frame, x)
        return x


class Instance:
    """Factors of one caller of the library, by the multifrontal method.

    Ipopt scales its problem, so the matrix is factorized as it is, in an order that delays few
    pivots, and pivots may be weak. Where that leaves the factors doubtful, the matrix is
    equilibrated, and then factorized in an order with flat trees that delays all weak pivots.

    Parameters
    ----------
    pattern : Pattern

    Attributes
    ----------
    fast : Factors or None
        Those with weak pivots.
    """

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        known = pattern.is_analyzed
        self.fast: Factors | None = Factors(pattern, np.empty(0), True) if known else None
        self._stable: Factors | None = None
        self._last: Factors | None = None

    def factorize(self, a: Float, weak: bool = True, tried: bool = False) -> int | None:
        """Number of negative eigenvalues; None if the matrix is singular to rounding.

        Parameters
        ----------
        a : ndarray, shape (nz,)
        weak : bool, optional
            Whether pivots may be weak.
        tried : bool, optional
            Whether C has tried weak pivots.
        """
        self._last = None
        if a.size != self.pattern.entries[0].size:
            raise ValueError(f"ma27bd has {a.size} entries, ma27ad {self.pattern.entries[0].size}")
        if self.fast is None:
            if not np.isfinite(a).all():
                return None
            self.fast = self.pattern.first_factors(a)
        weak = weak and not tried
        negative = self.fast.factorize(a) if weak else None
        self._last = self.fast
        if negative is not None:
            return negative
        scale = self.pattern.scaling(a)
        if scale is not None and weak:
            negative = self.fast.factorize(a, scale)
        if scale is not None and negative is None:
            if self._stable is None:
                self._stable = Factors(self.pattern, a, False)
            self._last = self._stable
            negative = self._stable.factorize(a, scale)
        if negative is None:
            self._last = None
        return negative

    def solve(self, b: Float) -> Float:
        """Solution of A x = b, shape (n,)."""
        if b.size != self.pattern.system.graph.rows:
            raise ValueError(f"ma27cd has n = {b.size}, ma27ad {self.pattern.system.graph.rows}")
        if self._last is None:
            raise ValueError("ma27cd was called without a factorization by ma27bd")
        return self._last.solve(b)


class Store:
    """Patterns by number and instances by handle, those that were used last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers: dict[bytes, int] = {}
        self._patterns: OrderedDict[int, tuple[bytes, Pattern]] = OrderedDict()
        self._instances: OrderedDict[int, Instance] = OrderedDict()
        self._next = list(range(PLACES, 0, -1))  # one for each place that is free

    def open(self, n: int, irn: NDArray[np.int32], icn: NDArray[np.int32]) -> int:
        """Number of a pattern in triplets, from 1."""
        digest = hashlib.sha256(np.int64(n).tobytes() + irn.tobytes() + icn.tobytes()).digest()
        with self._lock:
            number = self._numbers.get(digest)
            if number is not None:
                self._patterns.move_to_end(number)
                _lend(number, self._patterns[number][1])
                return number
        pattern = Pattern(n, irn.astype(np.int64) - 1, icn.astype(np.int64) - 1)
        with self._lock:
            number = self._numbers.get(digest)
            if number is None:  # no other thread was faster
                number = self._free_number()
                self._numbers[digest], self._patterns[number] = number, (digest, pattern)
                _lend(number, pattern)
            return number

    def _free_number(self) -> int:
        """Number for a new pattern; those that C used since the last look count as new."""
        seen = 0
        while not self._next or len(self._patterns) >= KEPT:
            number = next(iter(self._patterns))
            if seen < KEPT and _LIBRARY is not None and _LIBRARY.graphsys_used(number):
                seen += 1
                self._patterns.move_to_end(number)
            else:
                _take(number)
                digest, _ = self._patterns.pop(number)
                del self._numbers[digest]
                following = number + PLACES
                self._next.append(following if following < 2**31 else number % PLACES + PLACES)
        return self._next.pop()

    def instance(self, handle: int, number: int) -> Instance | None:
        """Instance of a handle, new if there is none; None if others have displaced its pattern."""
        with self._lock:
            if number not in self._patterns:
                return None
            self._patterns.move_to_end(number)
            pattern = self._patterns[number][1]
            found = self._instances.get(handle)
            if found is None or found.pattern is not pattern:
                self._instances[handle] = found = Instance(pattern)
            self._instances.move_to_end(handle)
            if len(self._instances) > KEPT:
                self._instances.popitem(last=False)
            return found

    def lend(self, number: int, instance: Instance) -> None:
        """Lend C the tables of an analysis, unless others have displaced it in the meantime."""
        with self._lock:
            if number in self._patterns and self._patterns[number][1] is instance.pattern:
                if instance.fast is not None:
                    instance.pattern.keep_tables(instance.fast)
                _lend(number, instance.pattern)

    def get(self, handle: int) -> Instance | None:
        """Instance of a handle; None if others have displaced it."""
        with self._lock:
            return self._instances.get(handle)


STORE = Store()
#: The library, once it is loaded.
_LIBRARY: Any = None


def _lend(number: int, pattern: Pattern) -> None:
    """Lend C a pattern, and the tables of its analysis if there are any."""
    if _LIBRARY is None:
        return
    row, column = pattern.lent
    n, frame = pattern.system.graph.rows, pattern.equilibration.ctypes.data
    _LIBRARY.graphsys_lend(number, n, row.size, row.ctypes.data, column.ctypes.data, frame)
    if pattern.tables is not None:
        _LIBRARY.graphsys_lend_tables(number, pattern.tables.ctypes.data)


def _take(number: int) -> None:
    """Take a pattern back, when no thread works with it."""
    if _LIBRARY is not None:
        _LIBRARY.graphsys_take(number)


def _take_all() -> None:
    """Take everything back, and lend nothing from now on."""
    global _LIBRARY
    loaded, _LIBRARY = _LIBRARY, None
    if loaded is not None:
        loaded.graphsys_take_all()


@lru_cache(4 * KEPT)
def _type(number: Any, count: int) -> Any:
    """Type of so many numbers in a row: ctypes takes longer to make it than to use it."""
    return number * count


def _array(number: Any, address: int | None, count: int) -> NDArray[Any]:
    """Memory of the caller as an array."""
    if not address or not count:
        return np.empty(0, number)
    return np.frombuffer(_type(number, count).from_address(address), number)


def _analyze(n: int, nz: int, irn: int | None, icn: int | None) -> int:
    """ma27ad: the number of a pattern."""
    try:
        return STORE.open(n, _array(ctypes.c_int, irn, nz), _array(ctypes.c_int, icn, nz))
    except KeyboardInterrupt:  # C calls again, and raises the signal later
        return INTERRUPTED
    except BaseException:  # nothing may pass through C
        traceback.print_exc()
        return FAILED


def _factorize(
    handle: int,
    number: int,
    nz: int,
    a: int | None,
    pivot_tolerance: float,
    tried: int,
) -> int:
    """ma27bd, where C cannot: 1 + the number of negative eigenvalues."""
    try:
        instance = STORE.instance(handle, number)
        if instance is None:
            return UNKNOWN
        weak = pivot_tolerance <= WEAK_UP_TO
        negative = instance.factorize(_array(ctypes.c_double, a, nz), weak, bool(tried))
        STORE.lend(number, instance)
        return NOT_REGULAR if negative is None else 1 + negative
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseException:
        traceback.print_exc()
        return FAILED


def _solve(handle: int, n: int, rhs: int | None) -> int:
    """ma27cd, where C cannot: rhs becomes the solution, or not a number; then 1."""
    x = _array(ctypes.c_double, rhs, n)
    try:
        instance = STORE.get(handle)
        if instance is None:
            raise ValueError(
                f"more than {KEPT} factorizations or patterns were in use at the same time"
            )
        x[...] = instance.solve(x)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseException:
        traceback.print_exc()
        x[...] = np.nan
    return 1


@cache
def library() -> str:
    """Path of a shared library with MA27's symbols, for Ipopt's option ``hsllib``.

    Ipopt runs in this process, or in a program without Python; the library then starts this Python
    there, if it has a shared library. The first call compiles a C file of 600 lines and stores
    the library in the cache folder of machine code.

    Returns
    -------
    str

    Raises
    ------
    RuntimeError
        Without a C compiler (``cc``, ``gcc``, ``clang``, the environment variable ``CC``, or
        the package ``ziglang``), or if it fails.

    Examples
    --------
    >>> options = {"linear_solver": "ma27", "hsllib": library()}  # doctest: +SKIP
    """
    path = str(_compiled())
    connect(path)
    return path


def kernels() -> tuple[int, int, int]:
    """Addresses of compiled code that factorizes, solves and equilibrates; compiled if need be."""
    called = framed.factorize_framed, framed.solve_framed, equilibration.equilibrate_framed
    first, second, third = (kernel.address("i8,1Cw f8,1Cw", "c") for kernel in called)
    return first, second, third


def connect(path: str) -> None:
    """Load the library of a path, and set its callbacks."""
    global _LIBRARY
    loaded = ctypes.CDLL(path)
    functions = [kind(f) for kind, f in zip(_KINDS, (_analyze, _factorize, _solve), strict=True)]
    addresses = [ctypes.cast(function, _ADDRESS).value for function in functions]
    table = _Callbacks.in_dll(loaded, "graphsys_callbacks")
    table.factorize, table.solve = addresses[1:]
    if hasattr(framed.factorize_framed, "address"):  # not under NUMBA_DISABLE_JIT=1
        table.factorize_framed, table.solve_framed, table.equilibrate_framed = kernels()
        table.weak_up_to = WEAK_UP_TO
        loaded.graphsys_lend.argtypes = [_INT, _INT, _INT, _ADDRESS, _ADDRESS, _ADDRESS]
        loaded.graphsys_lend_tables.argtypes = [_INT, _ADDRESS]
        _LIBRARY = loaded
        atexit.register(_take_all)  # arrays go with the interpreter, threads may stay in C
    table.analyze = addresses[0]  # the last: C looks whether it is there
    _ALIVE.extend([loaded, *functions])


#: C callbacks and the library, which must live as long as the process.
_ALIVE: list[Any] = []


def _compiled() -> Path:
    """Path of the compiled library."""
    source = _definitions().encode() + SOURCE.read_bytes()
    return shared_library(source, "ma27", "graphsys.ipopt.library()")


def _definitions() -> str:
    """Lines before ma27.c, with which it starts this Python in a program that has none."""
    packages = [str(Path(package.__file__ or "").parents[1]) for package in (graphsys, np)]
    folders = dict.fromkeys([*packages, *site.getsitepackages()])  # not the script's
    before = f"import sys; sys.path[:0] = {list(folders)!r}; "
    texts = {
        "PYTHON_LIBRARY": _python_library(),
        "PYTHON_HOME": os.pathsep.join([sys.base_prefix, sys.base_exec_prefix]),
        "PYTHON_CODE": before.replace("%", "%%")
        + 'from graphsys.interop import ipopt; ipopt.connect(r"%s")',
    }
    return "".join(f"#define {name} {_c_string(text)}\n" for name, text in texts.items())


def _python_library() -> str:
    """Path of Python's shared library; empty without one."""
    folder, machine, name = sysconfig.get_config_vars("LIBDIR", "MULTIARCH", "INSTSONAME")
    if not name or name.endswith(".a"):
        return ""
    folders = folder or "", os.path.join(folder or "", machine or ""), f"{sys.base_prefix}/lib"
    return next((str(path) for at in folders if (path := Path(at, name)).is_file()), "")


def _c_string(text: str) -> str:
    """Literal of C, in the encoding of file names."""
    plain = (string.ascii_letters + string.digits + " _-+,.;:=/%()[]").encode()
    shown = (chr(byte) if byte in plain else f"\\{byte:03o}" for byte in os.fsencode(text))
    return '"' + "".join(shown) + '"'
