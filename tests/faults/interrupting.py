"""Ctrl-C after a while, in this process and in others, and scripts that run apart."""

import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


#: Modules whose functions are called when objects are deleted, or by the garbage collector (as
#: hypothesis' are): Python drops what they raise.
DELETING = ("weakref", "_weakrefset", "hypothesis.internal.conjecture.junkdrawer")


def is_ours(frame):
    """Whether code of the packages runs, in a frame or in one that called it."""
    while frame is not None:
        if frame.f_globals.get("__name__") in DELETING:
            return False
        if frame.f_globals.get("__name__", "").split(".")[0] in ("graphsys", "dynamics"):
            return True
        frame = frame.f_back
    return False


class Flag:
    """What a run sets while interrupts may come, which could leave an event locked for ever."""

    up = False


@contextmanager
def interrupted(seconds, begun=None):
    """Expect the KeyboardInterrupt of a SIGINT that comes after some seconds; yields its info.

    It comes while code of the packages runs: one between two lines of a test would end the tests.
    Seconds count from when the flag ``begun`` is up, if there is one: a busy machine may take
    longer than that to begin.
    """
    main, over, raised = threading.main_thread().ident, threading.Event(), Flag()

    def interrupt():
        while begun is not None and not (begun.up or over.is_set()):
            time.sleep(0.001)
        wait = seconds
        while not (over.wait(wait) or raised.up):
            signal.pthread_kill(main, signal.SIGINT)
            wait = 0.002

    def handle(number, frame):
        # The next signal may come in here: an event's lock would wait for itself.
        if not (raised.up or over.is_set()) and (frame is None or is_ours(frame)):
            raised.up = True
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handle)
    thread = threading.Thread(target=interrupt)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            thread.start()
            yield caught
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGINT, before)


def script(code, *arguments, timeout=120, check=True, **options):
    """Run Python code in a process of its own, which finds the packages; its output."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True, text=True, timeout=timeout, cwd=ROOT, **options,
    )  # fmt: skip
    if check:
        assert done.returncode == 0, done.stderr
    return done
