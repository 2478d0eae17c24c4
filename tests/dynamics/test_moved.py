"""Modules under their old names."""

import importlib
import subprocess
import sys

import pytest

from dynamics.moved import MOVED


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_is_the_module_of_the_new_one_and_warns(old):
    code = (
        "import importlib, sys, warnings\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        f"    module = importlib.import_module({old!r})\n"
        f"assert module is importlib.import_module({MOVED[old]!r})\n"
        f"assert module.__spec__.name == {MOVED[old]!r}\n"
        f"assert any({MOVED[old]!r} in str(one.message) for one in seen)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_that_never_was_is_missing():
    with pytest.raises(ModuleNotFoundError, match="dynamics.never"):
        importlib.import_module("dynamics.never")
