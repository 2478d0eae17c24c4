"""A second process that does LLVM's part of compiling while this one does numba's.

It is started once compiling has taken a while and a processor is free, and it ends soon after.
Whatever it does not do, because it cannot be started, dies, or is busy, is done here instead.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from threading import Condition, Thread
from typing import Any

from graphsys.compiler import keys
from graphsys.compiler.optimizer import Compiled, Request
from graphsys.compiler.progress import PATIENCE, progress

#: Environment variable: how many processes may compile. By default two where a processor is free.
PROCESSES = "GRAPHSYS_COMPILE_PROCESSES"
#: Seconds without work after which the second process ends.
IDLE = 2.0
#: Share of the processors in use, over the last minute, from which on none counts as free.
BUSY = 0.75
#: Program of the second process. It imports nothing but what is sent.
PROGRAM = """
import pickle, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.path[:] = pickle.load(sys.stdin.buffer)
exec(pickle.load(sys.stdin.buffer))
"""


class Job:
    """One request: queued, taken, or done; `compiled` stays None where the helper has failed."""

    def __init__(self, request: Request) -> None:
        self.request, self.compiled, self.done = request, None, False
        self.compiled: Compiled | None


class Helper:
    """Jobs of the second process, which a thread hands over one by one.

    Parameters
    ----------
    compile_here : callable
        What compiles a request in this process.
    settings : dict
        See `optimizer.Optimizer`.
    """

    def __init__(self, compile_here: Callable[[Request], Compiled], settings: dict) -> None:
        self.compile_here, self.settings = compile_here, settings
        self.process: subprocess.Popen[bytes] | None = None
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)
        atexit.register(self._end)

    def _forget(self) -> None:
        """In a forked process, the thread and its process are not there."""
        self.queue: deque[Job] = deque()
        self.change = Condition()
        self.thread: Thread | None = None
        self.failed = False

    def submit(self, request: Request) -> Job:
        """A job that is done now, or sometime by the second process."""
        job = Job(request)
        if self._ready():
            with self.change:
                self.queue.append(job)
                self.change.notify_all()
        else:
            self._do(job)
        return job

    def result(self, job: Job) -> Compiled:
        """What a job gives: done here if nobody has begun it, or whoever has is gone."""
        with self.change:
            if job in self.queue:
                self.queue.remove(job)
            else:
                while not job.done and self.thread is not None and self.thread.is_alive():
                    self.change.wait(1.0)
                    progress.tick()
        if job.compiled is None:
            self._do(job)
        assert job.compiled is not None
        return job.compiled

    def _do(self, job: Job) -> None:
        job.compiled, job.done = self.compile_here(job.request), True

    def _ready(self) -> bool:
        """True if the second process takes jobs; it is started where that is worth while."""
        with self.change:
            if self.thread is not None and self.thread.is_alive():
                return True
            if self.failed or progress.seconds() < PATIENCE or not may_start():
                return False
            self.thread = Thread(target=self._hand_over, args=(self.change,), daemon=True)
            self.thread.start()
            return True

    def _hand_over(self, change: Condition) -> None:
        """Start the second process, give it one job after the other, and end it."""
        job = None
        try:
            self.process = started(self.settings)
            to, back = self.process.stdin, self.process.stdout
            assert to is not None
            assert back is not None
            while True:
                with change:
                    if not self.queue and not change.wait_for(lambda: self.queue, IDLE):
                        self.thread = None
                        return
                    job = self.queue.popleft()
                pickle.dump(tuple(job.request), to, protocol=-1)
                to.flush()
                compiled = Compiled(*pickle.load(back))
                with change:
                    job.compiled, job.done = compiled, True
                    change.notify_all()
        except Exception:  # it cannot be started, or is gone: all is compiled here from now on
            with change:
                self.failed, self.thread = True, None
                if job is not None:
                    job.done = True
                change.notify_all()
        finally:
            self._end()

    def _end(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.communicate()


def may_start() -> bool:
    """True if a second process may be started, and a processor is free for it."""
    if getattr(sys, "frozen", False) or not sys.executable:
        return False  # the executable is no Python
    allowed = os.environ.get(PROCESSES)
    if allowed:
        return int(allowed) > 1
    there = os.cpu_count() or 1
    ours = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else there
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return ours > 1 and load < BUSY * there


def started(settings: dict[str, Any]) -> subprocess.Popen[bytes]:
    """The second process, which waits for its first job."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", PROGRAM],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )  # fmt: skip
    assert process.stdin is not None
    for part in (sys.path, keys.source_of("graphsys.compiler.optimizer"), settings):
        pickle.dump(part, process.stdin)
    process.stdin.flush()
    return process
