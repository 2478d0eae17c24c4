"""Kernel objects, which the decorators make: they find or compile their machine code.

None of this imports numba: a kernel does so when it is called with arguments of types for which
there is no machine code, or from a function that numba compiles.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from inspect import Signature, signature
from threading import RLock, local
from time import perf_counter
from types import FunctionType
from typing import Any

import numpy as np

from graphsys.compiler.progress import progress

#: True under ``NUMBA_DISABLE_JIT=1``: kernels then run as plain Python on the NumPy references.
DISABLE_JIT = bool(int(os.environ.get("NUMBA_DISABLE_JIT") or 0))

#: Status of a kernel whose lanes would take different branches.
DIFFER = 2

_lock = RLock()
_tried = local()


def _unlock() -> None:
    """A lock that another thread held when this process was forked is free again."""
    global _lock
    _lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


class LanesDifferError(ArithmeticError):
    """Lanes of a kernel would take different branches; its results are of no use."""


class Compiled:
    """A Python function that is compiled; it looks like one.

    Parameters
    ----------
    function : function
    """

    def __init__(self, function: FunctionType) -> None:
        self.py_func = function
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self.__module__, self.__doc__ = function.__module__, function.__doc__
        self.__wrapped__ = function

    def __reduce__(self) -> str:
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} {self.__module__}.{self.__qualname__}>"

    @cached_property
    def key(self) -> str:
        """Hash of all that its machine code is made of."""
        from graphsys.compiler.keys import key_of

        return key_of(self.py_func)


class Kernel(Compiled):
    """A function that is compiled once for each kind of arguments, and linked by name.

    Parameters
    ----------
    function : function
    **options : object
        Of numba.

    Attributes
    ----------
    codes : dict
        What it is compiled for or loaded: callables by the kinds of their arguments.
    addresses : dict
        Of its machine code, by kinds of arguments and role.
    """

    def __init__(self, function: FunctionType, **options: Any) -> None:
        super().__init__(function)
        self.targetoptions = options
        self.codes: dict[str, Callable[..., Any]] = {}
        self.addresses: dict[tuple[str, str], int] = {}
        self._entries: dict[tuple[str, Any], Callable[..., Any]] = {}
        self._call: Callable[..., Any] = self._unknown
        self._count = function.__code__.co_argcount

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the machine code for the kinds of these arguments, compiled where there is none."""
        if named or len(arguments) != self._count:
            arguments = self._bound(arguments, named)
        return self._call(*arguments)

    def entry(self, misfit: Any, *arguments: Any) -> Callable[..., Any]:
        """Machine code for arguments of the kinds of these, and for no others.

        Parameters
        ----------
        misfit : hashable
            What it gives for any other arguments, without looking at them any further.
        *arguments : object
            Examples.

        Returns
        -------
        callable
            With the least between Python and the machine code.
        """
        from graphsys.compiler import machine

        key = kinds_of(arguments), misfit
        if key not in self._entries:
            address = self.address(key[0])
            self._entries[key] = machine.callable_at(address, self.__name__, lambda *_: misfit)
        return self._entries[key]

    def solution_entry(self, *arguments: Any) -> Callable[..., Any]:
        """`entry` that makes the last argument itself: the vector, or None."""
        from graphsys.compiler import machine

        key = kinds_of(arguments), "solution"
        if key not in self._entries:
            address = self.address(*key)
            self._entries[key] = machine.callable_at(address, self.__name__, lambda *_: None)
        return self._entries[key]

    @cached_property
    def _signature(self) -> Signature:
        return signature(self.py_func)

    def _bound(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        bound = self._signature.bind(*arguments, **named)
        bound.apply_defaults()
        return bound.args

    def _unknown(self, *arguments: Any) -> Any:
        """Call with kinds of arguments that no stub so far takes."""
        plain = tuple(map(_plain, arguments))
        kinds = kinds_of(plain)
        code = self.codes.get(kinds) or self._found(kinds)
        trying, these = _tried.__dict__.setdefault("calls", []), tuple(map(id, plain))
        if these in trying:  # their own stub has refused them
            raise TypeError(f"{self!r} cannot be called with arguments of kinds {kinds}")
        trying.append(these)
        try:
            return code(*plain)
        finally:
            trying.pop()

    def _found(self, kinds: str) -> Callable[..., Any]:
        """Load or compile the machine code for some kinds of arguments."""
        from graphsys.compiler import machine

        with _lock:
            if kinds not in self.codes:
                address = self.address(kinds)
                self._call = machine.callable_at(address, self.__name__, self._call)
                self.codes[kinds] = self._call
            return self.codes[kinds]

    def address(self, kinds: str, role: str = "stub") -> int:
        """Address of a function around the machine code for some kinds of arguments.

        Parameters
        ----------
        kinds : str
            See `kinds_of`.
        role : str, optional
            Who calls it: "stub" for Python, "solution" for Python without the last argument
            (`solution_entry`), "c" for C (`stubs.add_c_function`).
        """
        from graphsys.compiler import lazy_binding

        with _lock:
            if (kinds, role) not in self.addresses:
                address = self.machine_code(kinds, role)
                if role == "c":  # which takes no errors
                    lazy_binding.bind_all()
                self.addresses[kinds, role] = address
            return self.addresses[kinds, role]

    def machine_code(self, kinds: str, role: str) -> int:
        """`address` of what is loaded or compiled now, without the lazy kernels that it calls."""
        from graphsys.compiler import machine

        name = self.file_of(kinds, role)
        address = machine.engine().load(name)
        if address is None:
            machine.explain_compiling()
            with progress:
                from graphsys.compiler import ahead

                ahead.start(self, kinds)
                from graphsys.compiler import backend

                address = backend.compiled(self, kinds, role, name)
        return address

    def file_of(self, kinds: str, role: str) -> str:
        """Name of the file of its machine code for some kinds of arguments."""
        from graphsys.compiler.keys import file_name

        return file_name(self, f"{self.key} {self.targetoptions} {kinds}", role)

    def is_stored(self, kinds: str) -> bool:
        """Whether there is machine code for some kinds of arguments on disk."""
        from graphsys.compiler import machine

        return machine.read(self.file_of(kinds, "stub")) is not None

    @property
    def dispatcher(self) -> Any:
        """numba's object for this kernel."""
        from graphsys.compiler import backend

        return backend.dispatcher_of(self)

    @property
    def _numba_type_(self) -> Any:
        """Type that numba gives it in functions that it compiles."""
        return self.dispatcher._numba_type_


class Inlined(Kernel):
    """A function that becomes part of each of its callers; Python can call it, too."""

    def __init__(self, function: FunctionType, **options: Any) -> None:
        super().__init__(function, inline="always", **options)


class Lazy(Kernel):
    """A function that is compiled when it is first called, from Python or from another kernel.

    Parameters
    ----------
    function : function
    result : str
        Kind of its result by `kinds_of`, by which its callers are compiled.
    **options : object
        Of numba.
    """

    def __init__(self, function: FunctionType, result: str, **options: Any) -> None:
        super().__init__(function, **options)
        self.result = result


class Interpreted(Kernel):
    """A function that Python runs where its arrays are small and there is no machine code of it.

    Compiling what runs once for each graph takes seconds, and a small graph takes milliseconds.
    """

    #: Numbers in all arguments up to which Python runs it.
    most = 1000
    #: Seconds that are left for Python in this process; then all is compiled.
    seconds = 0.0 if int(os.environ.get("NUMBA_BOUNDSCHECK") or 0) else 0.1

    def _unknown(self, *arguments: Any) -> Any:
        if Interpreted.seconds <= 0.0 or _count(arguments) > self.most:
            return super()._unknown(*arguments)
        plain = tuple(map(_plain, arguments))
        kinds = kinds_of(plain)
        if kinds in self.codes or self.is_stored(kinds):
            return super()._unknown(*plain)
        begun = perf_counter()
        result = _plain(self.py_func(*plain))
        Interpreted.seconds -= perf_counter() - begun
        return result


class Intrinsic(Compiled):
    """A function that emits LLVM code for a call: numba's ``intrinsic``, made when needed."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Refuse: only kernels can call it."""
        raise NotImplementedError(f"{self!r} is called from kernels only")

    @cached_property
    def _numba_type_(self) -> Any:
        from graphsys.compiler import backend

        return backend.intrinsic_type(self)


class Hint(Intrinsic):
    """An intrinsic that changes nothing but time; Python leaves it out."""

    def __call__(self, *arguments: Any, **named: Any) -> None:
        """Do nothing."""


def compile_all() -> None:
    """Compile from now on whatever Python calls, instead of having Python run it."""
    Interpreted.seconds = 0.0


def bind_all() -> None:
    """Compile all lazy kernels that loaded machine code may call."""
    if not DISABLE_JIT:
        from graphsys.compiler import lazy_binding

        lazy_binding.bind_all()


def bound_address(file: str, place: Callable[[], tuple[Any, ...]]) -> int:
    """Address of a kernel from its file, or compiled now.

    Parameters
    ----------
    file : str
        Name of the file of its machine code.
    place : callable
        Gives its module, qualified name and numba's types of arguments.
    """
    from graphsys.compiler import machine

    with _lock:
        address = machine.engine().load(file)
        if address is None:
            machine.explain_compiling()
            with progress:
                from graphsys.compiler import backend

                made = backend.compiled_lazy(*place())
                address = made.library.get_pointer_to_function(made.symbol)
    return address


def kinds_of(arguments: tuple[Any, ...]) -> str:
    """Kinds of arguments, one for each of numba's types: ``f8,1Cw int None`` and so on."""
    return " ".join(map(_kind, arguments))


def words_of(kinds: str) -> list[Any]:
    """Kinds of arguments by `kinds_of`, one by one; that of a tuple is a list."""
    stack: list[list[Any]] = [[]]
    for word in kinds.replace("(", "( ").replace(")", " )").split():
        if word == "(":
            stack.append([])
        elif word == ")":
            inner = stack.pop()
            stack[-1].append(inner)
        else:
            stack[-1].append(word)
    return stack[0]


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        flags, dtype = value.flags, value.dtype
        if not dtype.isnative or not flags.aligned or dtype.kind not in "biufc":
            raise TypeError(f"kernels take no arrays of {dtype} that are unaligned or foreign")
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return f"{dtype.str[1:]},{value.ndim}{layout}{'w' if flags.writeable else 'r'}"
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, (int, np.integer)):
        return "int"
    if isinstance(value, (float, np.floating)):
        return "float"
    if value is None:
        return "None"
    if isinstance(value, (complex, np.complexfloating)):
        return "complex"
    if isinstance(value, tuple):
        return "(" + " ".join(map(_kind, value)) + ")"
    raise TypeError(f"kernels take no {type(value).__name__}: {value!r}")


def _count(value: Any) -> int:
    """Numbers in an argument, or in a tuple of them."""
    return sum(map(_count, value)) if isinstance(value, tuple) else int(np.size(value))


def _plain(value: Any) -> Any:
    """The same as stubs take it: arrays that are no subclass, numbers of Python."""
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
        return value.view(np.ndarray)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, int) and type(value) not in (int, bool):
        return int(value)
    if isinstance(value, float) and type(value) is not float:
        return float(value)
    return value
