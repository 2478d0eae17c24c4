"""Kernels call kernels by name: compiled once, loaded after what they call, whole for others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphsys.kernels.jit import DISABLE_JIT

pytestmark = pytest.mark.skipif(DISABLE_JIT, reason="kernels are plain Python")

CHECKOUT = Path(__file__).parents[2]

INNER = """
from graphsys.kernels.jit import kernel

@kernel
def cube(x):
    return x * x * x {more}
"""
OUTER = """
from graphsys.kernels.jit import kernel
from small_inner import cube

@kernel
def middle(x):
    return cube(x) + 1.0

@kernel
def outer(x):
    return middle(x) * 2.0
"""
#: A function of a user, cached by numba, that calls a kernel.
USER = """
from numba import njit
import small_outer

@njit(cache=True)
def user(x):
    return small_outer.outer(x) + 0.5
"""
RUN = """
from graphsys.kernels import linking
linking.PACKAGES += "small_inner", "small_outer"
linking.SMALL = {small}
import small_inner, small_outer, user
print(getattr({called})(2.0))
for kernel in small_inner.cube, small_outer.middle, small_outer.outer:
    made = kernel.inside.stats
    print(kernel.__name__, sum(made.cache_hits.values()), sum(made.cache_misses.values()))
(compiled,) = getattr({called}).overloads.values()
print([name for name in ("cube", "middle") for function in compiled.library.get_defined_functions()
       if name in function.name])
print(len(linking.called_by_name(compiled.library)))
"""


@pytest.fixture
def run(tmp_path):
    """Write the small packages and run a process that calls one function of theirs."""

    def write(more=""):
        (tmp_path / "small_inner.py").write_text(INNER.format(more=more))
        (tmp_path / "small_outer.py").write_text(OUTER)
        (tmp_path / "user.py").write_text(USER)

    def call(called="small_outer, 'outer'", small=0):
        place = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{CHECKOUT}"}
        place["NUMBA_CACHE_DIR"] = str(tmp_path / "cache")
        done = subprocess.run(
            [sys.executable, "-c", RUN.format(called=called, small=small)],
            env=os.environ | place, capture_output=True, text=True, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        value, *counts, defined, named = done.stdout.splitlines()
        told = {line.split()[0]: tuple(map(int, line.split()[1:])) for line in counts}
        return float(value), told, defined, int(named)

    write()
    call.write, call.cache = write, tmp_path / "cache"
    return call


def test_large_kernels_are_compiled_once_and_called_by_name(run):
    value, counts, defined, named = run()
    assert value == 18.0 and defined == "[]" and named == 1  # `outer` declares `middle` alone
    assert counts["cube"] == counts["middle"] == (0, 1)  # hits, misses


def test_small_kernels_are_linked_and_may_be_inlined(run):
    value, _, _, named = run(small=1000)
    assert value == 18.0 and named == 0


def test_kernels_from_the_cache_load_what_they_call_first(run):
    run()
    value, counts, _, _ = run()
    assert value == 18.0
    assert counts["cube"] == counts["middle"] == (1, 0)


def test_a_kernel_missing_in_the_cache_is_compiled_for_its_callers(run):
    run()
    for file in run.cache.rglob("small_inner*"):
        file.unlink()
    value, counts, _, _ = run()
    assert value == 18.0
    assert counts["cube"] == (0, 1) and counts["middle"] == (1, 0)


def test_callers_see_an_edited_kernel(run):
    run()
    run.write("+ 1.0")
    assert run()[0] == 20.0


def test_functions_of_users_hold_all_they_call(run):
    """numba loads them from its cache without asking us."""
    for _ in range(2):
        value, counts, _, named = run("user, 'user'")
        assert value == 18.5 and named == 0
    assert counts["cube"] == (0, 0)
