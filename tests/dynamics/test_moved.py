"""Modules under their old names."""

import importlib
import subprocess
import sys

import pytest

from dynamics.moved import MOVED

#: Imports each under its old name, in a process that has imported none of them.
IMPORTS = """
import importlib, warnings
from dynamics.moved import MOVED

for old, new in MOVED.items():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        module = importlib.import_module(old)
    assert module is importlib.import_module(new), old
    assert module.__spec__.name == new, old
    assert any(new in str(one.message) for one in seen), old
"""


def test_an_old_name_is_the_module_of_the_new_one_and_warns():
    assert MOVED
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)


def test_a_name_that_never_was_is_missing():
    with pytest.raises(ModuleNotFoundError, match="dynamics.never"):
        importlib.import_module("dynamics.never")
