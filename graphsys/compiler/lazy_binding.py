"""Lazy binding: a kernel that few callers reach is loaded or compiled when one first calls it.

Machine code that calls such a kernel reads its address from a *slot*, a word of memory that it
names by a symbol. While the slot is zero, it calls `_bind`, which fills it. An error of compiling
ends the calling kernels by their status, and their stub raises it.
"""

from __future__ import annotations

import base64
import ctypes
import io
import pickle
import signal
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import llvmlite.binding as llvm

#: How symbols of slots begin.
PREFIX = "graphsys_slot."
#: Seconds in which the kernel that has called `_bind` goes on, so that Ctrl-C is no error in it.
SOON = 0.01
_failed = threading.local()


class Slot:
    """Place of the address of a lazy kernel, compiled for one kind of arguments.

    Attributes
    ----------
    needs : list of str
        Symbol of the slot, name of the kernel's file, and what it is compiled from where there is
        none: its module, qualified name and numba's types of arguments, as text.
    """

    #: By symbol, and by address.
    known: dict[str, Slot] = {}
    at: dict[int, Slot] = {}

    def __init__(self, needs: list[str]) -> None:
        self.needs, self.word = needs, ctypes.c_void_p(0)
        address = ctypes.addressof(self.word)
        self.at[address] = self.known[needs[0]] = self
        llvm.add_symbol(needs[0], address)

    @classmethod
    def declare(cls, needs: list[str]) -> None:
        """Let LLVM's linker know a slot."""
        if needs[0] not in cls.known:
            cls(needs)

    def bind(self) -> None:
        """Load or compile the kernel, and fill the slot."""
        from graphsys.compiler import kernel

        _, file, place = self.needs
        self.word.value = kernel.bound_address(file, lambda: from_text(place))


def as_text(value: Any) -> str:
    """Pickle of a value as text, the same for equal values: no references among its parts."""
    data = io.BytesIO()
    pickler = pickle.Pickler(data, protocol=-1)
    pickler.fast = True
    pickler.dump(value)
    return base64.b85encode(zlib.compress(data.getvalue())).decode()


def from_text(text: str) -> Any:
    """Value of `as_text`."""
    return pickle.loads(zlib.decompress(base64.b85decode(text)))


@contextmanager
def _without_signals() -> Iterator[None]:
    """Hold Ctrl-C back until the kernel has returned to Python: it may hold a lock."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    noted: list[int] = []  # no event: the lock of one that is being set would wait for itself
    signal.signal(signal.SIGINT, lambda number, _: noted.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if noted:
            threading.Timer(SOON, _interrupt_main_thread).start()


def _interrupt_main_thread() -> None:
    """Send Ctrl-C to the main thread, so that it ends a call that waits there."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


def _bind(address: int) -> int:
    """Fill the slot at an address; 0 if that failed."""
    try:
        with _without_signals():
            Slot.at[address].bind()
    except BaseException as error:  # no exception leaves a callback
        _failed.error = error
        return 0
    return 1


def bind_all() -> None:
    """Load or compile all lazy kernels that known machine code may call, directly or not."""
    while left := [slot for slot in list(Slot.at.values()) if not slot.word.value]:
        for slot in left:
            slot.bind()


def _raise() -> NoReturn:
    """Raise what ended a kernel of this thread; a stub calls this."""
    error = _failed.__dict__.pop("error", None)
    raise IndexError("an index in a kernel is out of bounds") if error is None else error


def _differ() -> NoReturn:
    """Raise that lanes differ; a stub calls this."""
    from graphsys.compiler.kernel import LanesDifferError

    raise LanesDifferError("lanes of a kernel would take different branches")


_callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(_bind)
llvm.add_symbol("graphsys_bind", ctypes.cast(_callback, ctypes.c_void_p).value)
llvm.add_symbol("graphsys_raise", id(_raise))
llvm.add_symbol("graphsys_differ", id(_differ))
