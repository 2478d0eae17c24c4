"""Compiling ahead: a second process helps the first, ends with it, and never disturbs it."""

import os
import subprocess
import sys
from importlib import import_module

import pytest

from graphsys.compiler import DISABLE_JIT, Kernel, ahead
from graphsys.compiler.kernel import words_of

from .toys import CHECKOUT, Toy

pytestmark = [
    pytest.mark.skipif(DISABLE_JIT, reason="nothing is compiled"),
    pytest.mark.skipif(os.name != "posix", reason="there is no second process"),
]

ALL = ["inner.kernel", "middle.kernel", "outer.kernel", "outer.stub"]
#: A record of toys, whose block `outer` begins, and functions to wait for the second process.
START = """
import fcntl, sys, time
from pathlib import Path
from graphsys.compiler import ahead, machine
ahead.is_possible, ahead.NICE = lambda: True, 0
ahead.left["toy.kernels.outer outer float"] = [
    f"toy.kernels.{name} {name} float" for name in ("outer", "other")
]

def wait_until(done):
    end = time.monotonic() + 300.0
    while not done() and time.monotonic() < end:
        time.sleep(0.01)

def is_written(name):
    return any(machine.folder().glob(f"toy.kernels.{name}.*"))

def is_locked():
    try:
        with open(machine.folder() / "ahead.lock") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
"""


@pytest.fixture
def toy(tmp_path):
    return Toy(tmp_path)


def test_the_first_process_finds_what_the_second_has_compiled(toy):
    call = (
        "outer(1.0), wait_until(lambda: list(machine.folder().glob('*.other-*.stub'))), other(0.0)"
    )
    assert toy.call(call, START) == ([11.0, None, -1.0], ALL, [], True)


def test_kernels_that_begin_no_block_start_nothing(toy):
    start = START + "ahead._start = None\n"
    assert toy.call("other(0.0)", start) == (-1.0, ["other.kernel", "other.stub"], [], True)


def test_the_second_ends_with_the_first(toy):
    toy.write("slow", "return x", "__import__('time').sleep(600.0)")  # as it is imported
    slow = START.replace('"other")', '"slow")')
    assert toy.call("outer(1.0), wait_until(is_locked), is_locked()", slow).result[-1] is True
    assert toy.run(START + "wait_until(lambda: not is_locked())\nprint(is_locked())") == "False\n"


def test_one_second_process_works_on_a_folder(toy):
    said = toy.run(
        "from graphsys.compiler import ahead\n"
        "ahead._take_turn()\n"
        "try:\n    ahead._take_turn()\nexcept BlockingIOError:\n    print('busy')\n"
    )
    assert said == "busy\n"


def test_nothing_is_compiled_ahead_where_nothing_can_be_written(toy):
    toy.code.write_text("a file, where a folder should be")
    said = toy.run(
        "from graphsys.compiler import ahead\n"
        "try:\n    ahead._take_turn()\nexcept OSError:\n    print('no folder')\n"
    )
    assert said == "no folder\n"
    assert toy.call(start=START).result == 11.0


@pytest.mark.parametrize("executable", ["/nowhere/python", "/bin/false"])
def test_where_python_cannot_be_started_the_first_compiles_all(toy, executable):
    start = START + f"sys.executable = {executable!r}\n"
    assert toy.call("outer(1.0)", start) == (11.0, ALL, [], True)


DAEMON = """
import multiprocessing, os
from toy.kernels.outer import outer

def child(queue):
    result = outer(1.0)
    try:
        os.wait()
    except ChildProcessError:
        queue.put((result, "no child"))

context = multiprocessing.get_context("fork")
queue = context.Queue()
process = context.Process(target=child, args=(queue,), daemon=True)
process.start()
print(*queue.get(timeout=60.0))
process.join()
"""


def test_daemons_may_start_it_and_it_is_nobody_s_child(toy):
    assert toy.run(START + DAEMON) == "11.0 no child\n"


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (os, "sched_getaffinity", lambda _: {0}),
        (os, "getloadavg", lambda: (64.0, 64.0, 64.0)),
        (sys, "executable", "/opt/application"),
        (sys, "executable", None),
        (sys, "frozen", True),
    ],
)
def test_it_needs_a_free_core_and_a_python_to_start(monkeypatch, owner, name, value):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)), raising=False)
    monkeypatch.setattr(os, "getloadavg", lambda: (1.0, 1.0, 1.0))
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    assert ahead.is_possible()
    monkeypatch.setattr(owner, name, value, raising=False)
    assert not ahead.is_possible()


def test_the_record_names_kernels_with_a_kind_for_each_argument():
    for lines in ahead.blocks().values():
        for module, name, kinds in (line.split(maxsplit=2) for line in lines):
            kernel = getattr(import_module(module), name)
            assert isinstance(kernel, Kernel)
            assert len(words_of(kinds)) == kernel.py_func.__code__.co_argcount, (module, name)


#: Prints the files that a first motion or solution writes.
FIRST = """
from graphsys.compiler import ahead, store
ahead.left.clear()
written, plain = [], store.write
def write(path, *parts):
    written.append(path.name.rpartition("-")[0])
    plain(path, *parts)
store.write = write
"""
MOTION = """
import dynamics as dy
model, state = dy.zoo.double_pendulum()
dy.simulate(model, state, seconds=1.0).energy()
"""
SOLUTION = """
import numpy as np
import graphsys as gs
from graphsys.families import random_system
random_system(gs.ladder(500), 6).solve(np.ones(6000))
"""
END = "print(*written)"


@pytest.mark.slow
@pytest.mark.parametrize(("which", "program"), [(0, MOTION), (1, SOLUTION)])
def test_a_first_use_needs_what_is_compiled_ahead(tmp_path, which, program):
    lines = list(ahead.blocks().values())[which]
    cold = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    code = f"from graphsys.compiler import ahead\nahead.compile_ahead({lines!r})"
    first = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, cwd=CHECKOUT, env=cold
    )
    with first:
        assert first.wait() == 0
    said = subprocess.run([sys.executable, "-c", FIRST + program + END], cwd=CHECKOUT, env=cold,
                          check=True, capture_output=True, text=True).stdout.split()  # fmt: skip
    begins, *rest = [".".join(line.split()[:2]) for line in lines]
    assert begins in said
    assert not set(rest) & set(said)
