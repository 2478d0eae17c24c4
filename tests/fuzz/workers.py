"""Workers: processes that examine cases until a time is over; crashes and hangs are outcomes."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.functions import FUNCTIONS
from tests.fuzz.judge import CRASH, HANG, Verdict
from tests.fuzz.series import Findings, examine_case

ROOT = Path(__file__).parents[2]
#: Seconds after which a call hangs; the first of a kind compiles its kernels.
HANGS, COMPILES = 120.0, 900.0
#: Seconds that a case counts at most where families share the time: the first ones compile.
LONGEST = 1.0


def work(seeds: dict[str, int], step: int, functions: Sequence[str], until: float) -> None:
    """Examine cases until a time, each family for as long; report to the standard output."""

    def tell(*what: object) -> None:
        print(json.dumps(what), flush=True)

    spent = dict.fromkeys(seeds, 0.0)
    while time.time() < until:
        family = min(spent, key=spent.__getitem__)
        seed, start = seeds[family], time.perf_counter()
        seeds[family] += step
        tell("case", family, seed)
        for name, found in examine_case(family, seed, functions, lambda name: tell("call", name)):
            tell("found", name, found.outcome, found.detail[:300])
        spent[family] += min(time.perf_counter() - start, LONGEST)


class Worker:
    """A process and what it is at."""

    command = sys.executable, "-m", "tests.fuzz", "--worker"

    def __init__(self, first: int, step: int, families, functions, until: float) -> None:
        self.seeds = dict.fromkeys(families, first)
        self.step, self.functions, self.until = step, functions, until
        self.known: set[tuple[str, str]] = set()
        self._start()

    def _start(self) -> None:
        task = json.dumps([self.seeds, self.step, self.functions, self.until])
        self.process = subprocess.Popen(
            [*self.command, task],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(self.process, self.lines), daemon=True).start()
        self.family, self.seed, self.name, self.since = "", 0, "draw", time.time()

    @staticmethod
    def _read(process, lines) -> None:
        with process.stdout:
            for line in process.stdout:
                lines.put(line)
        lines.put(None)

    def follow(self, findings: Findings) -> bool:
        """Take in what the process has reported; False where it is done."""
        while not self.lines.empty():
            line = self.lines.get()
            if line is None:
                return self._ended(findings)
            self._take(json.loads(line), findings)
        limit = HANGS if (self.family, self.name) in self.known else COMPILES
        if time.time() - self.since > limit:
            self.process.kill()
            self.process.wait()
            return self._again(findings, Verdict(HANG, f"more than {limit:.0f} s"))
        return True

    def _take(self, told: list, findings: Findings) -> None:
        kind, *rest = told
        self.since = time.time()
        if kind == "case":
            self.family, self.seed, self.name = *rest, "draw"
            self.seeds[self.family] = self.seed + self.step
            findings.cases[self.family] += 1
        elif kind == "call":
            self.name = rest[0]
        else:
            name, outcome, detail = rest
            self.known.add((self.family, name))
            findings.add(self.family, self.seed, name, Verdict(outcome, detail))

    def _ended(self, findings: Findings) -> bool:
        code = self.process.wait()
        if code == 0:
            return False
        return self._again(findings, Verdict(CRASH, f"exit status {code}"))

    def _again(self, findings: Findings, found: Verdict) -> bool:
        findings.add(self.family, self.seed, self.name, found)
        if time.time() > self.until or not self.family:
            return False
        self._start()
        return True


def examine_for(
    seconds: float, families: Sequence[str], functions: Sequence[str], first: int, workers: int
) -> Findings:
    """Examine cases in several processes for a time.

    Parameters
    ----------
    seconds : float
    families, functions : sequence of str
    first : int
        Seed of the first case of each family.
    workers : int
    """
    findings, until = Findings(), time.time() + seconds
    functions = [name for name in FUNCTIONS if name in functions]
    running = [Worker(first + k, workers, families, functions, until) for k in range(workers)]
    try:
        while running:
            running = [worker for worker in running if worker.follow(findings)]
            time.sleep(0.05)
    finally:
        for worker in running:
            worker.process.kill()
    return findings
