"""Ctrl-C while compiled code runs: deferred to where a run can stop, never lost in a C function.

Python raises `KeyboardInterrupt` between two of its own instructions. While compiled code runs the
next one is the first of a user's function that it calls, from which no exception comes out. So
SIGINT is only noted there, and handed on to the handler that was in place before: in the user's
function itself, or between the portions of about `PORTION` seconds in which compiled code runs.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import Any

__all__ = ["Deferred", "Stop", "around", "current", "hand_on", "in_portions"]

#: Seconds until a run without a user's function looks for Ctrl-C, about.
PORTION = 0.05
#: By how much a portion may have more steps than the last one, whose time was measured.
GROWTH = 4.0
SIGINT = int(signal.SIGINT)

Handler = Callable[[int, FrameType | None], Any]

try:  # what `signal` wraps: its search for names of handlers takes 40 microseconds a run
    import _signal as raw  # type: ignore[import-not-found]
except ImportError:
    raw = signal


class _Local(threading.local):
    """Deferral of signals in one thread."""

    deferred: Deferred | None = None
    stop: threading.Event | None = None


_local = _Local()


class Deferred:
    """Context in which SIGINT is handed on by `deliver`, and in users' functions.

    Signals come to the main thread alone; in others, `deliver` ends a run for `Stop`.
    """

    def __init__(self) -> None:
        self._before: Handler | None = None
        self._around: Deferred | None = None
        self._noted = False
        #: Whether a user's function runs, from which exceptions are caught.
        self.open = False

    def __enter__(self) -> Deferred:
        self._around, _local.deferred = _local.deferred, self
        if threading.current_thread() is threading.main_thread():
            before = raw.getsignal(SIGINT)
            if callable(before):
                self._before = before
                raw.signal(SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            raw.signal(SIGINT, self._before)
        _local.deferred = self._around

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Handler of SIGINT."""
        if self.open and self._before is not None:
            self._before(number, frame)
        else:
            self._noted = True

    def deliver(self) -> None:
        """Hand on a signal that was noted: by default, KeyboardInterrupt is raised."""
        if self._noted and self._before is not None:
            self._noted = False
            self._before(SIGINT, None)
        if _local.stop is not None and _local.stop.is_set():
            raise KeyboardInterrupt

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a user's function, in which signals are handed on at once."""
        try:
            self.deliver()
            self.open = True
            function(*arguments)
        finally:
            self.open = False


class _Short(Deferred):
    """The same around one call of compiled code, after which a signal is handed on."""

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        if raised[0] is None:
            self.deliver()


def around(callbacks: Sequence[object]) -> AbstractContextManager[object]:
    """Context for a call of compiled code that may call users' functions."""
    return _Short() if callbacks else nullcontext()


def current() -> Deferred | None:
    """Return the object that defers signals in this thread now."""
    return _local.deferred


class Stop:
    """Context in which runs of this thread end when an event is set.

    Parameters
    ----------
    event : threading.Event or None
    """

    def __init__(self, event: threading.Event | None) -> None:
        self._event = event

    def __enter__(self) -> None:
        self._around, _local.stop = _local.stop, self._event

    def __exit__(self, *_: object) -> None:
        _local.stop = self._around


def in_portions(
    deferred: Deferred,
    run: Callable[[int, int], int],
    steps: int,
    first: int,
    most: int = 0,
    shown: Callable[[int], None] | None = None,
) -> BaseException | None:
    """Run steps in portions of about `PORTION` seconds, with a look at signals after each.

    Parameters
    ----------
    deferred : Deferred
    run : callable
        ``run(done, count)`` does ``count`` steps after ``done`` of them; how many it did.
    steps, first : int
        Of the whole run, and of the first portion, before any was measured.
    most : int, optional
        Portions end at its multiples, too.
    shown : callable, optional
        A user's function of the steps done, called there and at the end.

    Returns
    -------
    BaseException or None
        What a signal or the user's function raised.
    """
    done, count = 0, max(1, first)
    try:
        while done < steps:
            count = min(count, steps - done)
            if most > 0:
                count = min(count, most - done % most)
            begin = time.perf_counter()
            did = run(done, count)
            taken = time.perf_counter() - begin
            done += did
            if did < count:
                break
            if shown is not None and (done == steps or done % most == 0):
                deferred.call(shown, done)
            deferred.deliver()
            count = max(1, int(count * min(GROWTH, PORTION / max(taken, 1e-9))))
    except BaseException as error:  # the caller has the motion so far to go with it
        return error
    return None


def hand_on(deferred: Deferred, stopped: BaseException | None, trajectory: object) -> None:
    """Raise what ended a run, or a signal since then, with the motion so far.

    Parameters
    ----------
    deferred : Deferred
    stopped : BaseException or None
    trajectory : object
        Becomes the error's ``trajectory``.
    """
    if stopped is None:
        try:
            deferred.deliver()
        except BaseException as error:
            stopped = error
    if stopped is not None:
        if hasattr(stopped, "__dict__"):
            stopped.__dict__["trajectory"] = trajectory
        raise stopped
