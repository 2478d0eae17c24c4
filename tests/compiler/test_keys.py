"""The key of a kernel: all code that it may call counts, and nothing else does."""

import shutil
import subprocess
import sys
import zipfile
from types import FunctionType

import numpy as np

from graphsys.compiler import Kernel
from graphsys.compiler.keys import key_of

from .toys import CHECKOUT

LIMIT = 3
TABLE = np.arange(3.0)


def helper(x):
    return x + LIMIT


def other(x):
    return x * 2


def user(x):
    return helper(x) + 1


def key_with(monkeypatch, function, **values):
    """Key where globals have other values."""
    from graphsys.compiler import keys

    for name, value in values.items():
        monkeypatch.setitem(globals(), name, value)
    monkeypatch.setattr(keys, "_known", {})
    return key_of(function)


def test_a_key_is_that_of_the_code(monkeypatch):
    assert key_with(monkeypatch, user) == key_with(monkeypatch, user)
    assert key_with(monkeypatch, user) != key_with(monkeypatch, helper)


def test_constants_of_callees_count(monkeypatch):
    before = key_with(monkeypatch, user), key_with(monkeypatch, other)
    after = key_with(monkeypatch, user, LIMIT=4), key_with(monkeypatch, other)
    assert before[0] != after[0]
    assert before[1] == after[1]


def test_a_callee_of_another_body_counts(monkeypatch):
    def changed(x):
        return x - LIMIT

    changed.__qualname__ = helper.__qualname__
    before = key_with(monkeypatch, user)
    assert key_with(monkeypatch, user, helper=changed) != before


def test_arrays_and_functions_in_containers_count(monkeypatch):
    def looks():
        return TABLE, choices

    choices = (helper, LIMIT)
    before = key_with(monkeypatch, looks)
    assert key_with(monkeypatch, looks, TABLE=np.arange(4.0)) != before

    def looks():
        return TABLE, choices

    monkeypatch.undo()
    choices = (other, LIMIT)
    assert key_with(monkeypatch, looks) != before


def test_functions_that_call_each_other_have_keys():
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n > 0 and even(n - 1)

    assert len(key_of(even)) == len(key_of(odd)) == 24


def test_options_of_a_kernel_and_of_its_callees_count():
    keys = set()
    for options in ({}, {"_nrt": False}, {"fastmath": True}):
        made = Kernel(helper, **options)
        caller = FunctionType(user.__code__, {"helper": made})
        keys |= {made.file_of("float", "kernel"), key_of(caller)}
    assert len(keys) == 6


KEYS = """
from graphsys.compiler import machine
from graphsys.compiler.keys import _emitting, key_of
from graphsys.kernels.single import nodal_ldu
print(nodal_ldu.__file__, machine.target(), _emitting("graphsys.kernels.llvm.small_elimination"),
      key_of(nodal_ldu.factorize_nodal.py_func), sep="\\n")
"""


def keys_of(folder):
    code = f"import sys\nsys.path.insert(0, {str(folder)!r})\n{KEYS}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                         cwd=folder.parent)  # fmt: skip
    return run.stdout.splitlines()


def test_a_package_in_an_archive_has_the_keys_of_the_folder(tmp_path):
    archive = tmp_path / "app.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in (CHECKOUT / "graphsys").rglob("*.py"):
            packed.write(path, path.relative_to(CHECKOUT))
    first, *there = keys_of(archive)
    _, *here = keys_of(CHECKOUT)
    assert first.startswith(str(archive))
    assert there == here and len(here) == 3


def test_what_an_emitting_module_imports_counts(tmp_path):
    folder = tmp_path / "app"
    shutil.copytree(CHECKOUT / "graphsys", folder / "graphsys")
    before = keys_of(folder)
    for name, same in (("analysis/cycles.py", [1, 1, 1]), ("kernels/base/widths.py", [1, 0, 0]),
                       ("compiler/stubs.py", [0, 1, 1])):  # fmt: skip
        path = folder / "graphsys" / name
        text = path.read_text()
        path.write_text(text + "\n# another comment\n")
        assert [a == b for a, b in zip(keys_of(folder)[1:], before[1:])] == same, name
        path.write_text(text)
