"""A line on the terminal while kernels are compiled: a newcomer's first minute is not silence."""

import sys
import time

#: Seconds of compiling in this process from which on it is said.
PATIENCE = 1.0


class Progress:
    """One line on standard error that says how long kernels have been compiled.

    It is written over itself while they are, erased when they are done, and never written where
    standard error is no terminal.
    """

    def __init__(self) -> None:
        self.spent, self.begun, self.depth = 0.0, 0.0, 0

    def __enter__(self) -> None:
        if self.depth == 0:
            self.begun = time.perf_counter()
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.spent += time.perf_counter() - self.begun
            self._write("")

    def tick(self) -> None:
        """Say how long it has been; to be called now and then, as after each kernel."""
        seconds = self.spent + time.perf_counter() - self.begun
        if self.depth and seconds > PATIENCE:
            self._write(f"graphsys: compiling kernels, once per machine ... {seconds:.0f} s")

    def _write(self, text: str) -> None:
        stream = sys.stderr
        if stream is not None and stream.isatty():
            stream.write(f"\r\x1b[K{text}")
            stream.flush()


progress = Progress()
