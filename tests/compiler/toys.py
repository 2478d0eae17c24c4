"""A small package with kernels, and processes that call them."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

from . import fork_server

CHECKOUT = Path(__file__).parents[2]

#: What a process does before and after: it records what is written, and what is warned of.
HARNESS = """
import json, sys, warnings
sys.dont_write_bytecode = True
from graphsys.compiler import store
written, plain = [], store.write
def write(path, *parts):
    written.append(path.name.rpartition("-")[0].split(".")[-1] + path.suffix)
    plain(path, *parts)
store.write = write
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from toy.kernels.outer import outer
    from toy.kernels.other import other
    result = {call}
print(json.dumps([result, sorted(written), [str(one.message) for one in caught],
                  "numba" in sys.modules]))
"""


class Outcome(NamedTuple):
    """What a process had: its result, files that it wrote, warnings, and whether numba."""

    result: object
    written: list[str]
    warned: list[str]
    numba: bool


class Toy:
    """Package ``toy``: `outer` calls `middle`, which calls `inner`; `other` calls none of them.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder):
        self.folder, self.code = folder, folder / "code"
        for place in (self.kernels.parent, self.kernels):
            place.mkdir(parents=True, exist_ok=True)
            (place / "__init__.py").write_text("")
        self.write("inner", "return 10.0 * x")
        self.write("middle", "return inner(x) + 0.5", "from .inner import inner")
        self.write("outer", "return middle(x) + 0.5", "from .middle import middle")
        self.write("other", "return x - 1.0")

    @property
    def kernels(self):
        return self.folder / "toy" / "kernels"

    def write(self, name, body, imports="", decorator="kernel"):
        """Write a module with one kernel."""
        start = f"from graphsys.kernels.base.jit import interpreted, kernel, lazy\n{imports}\n\n"
        text = f"{start}@{decorator}\ndef {name}(x):\n"
        (self.kernels / f"{name}.py").write_text(text + textwrap.indent(body, "    ") + "\n")

    def call(self, call="outer(1.0)", start="", **environment):
        """Outcome of a call in a process of its own."""
        code = start + HARNESS.replace("{call}", call)
        return Outcome(*json.loads(self.run(code, **environment).splitlines()[-1]))

    def run(self, code, **environment):
        """What code prints in a process of its own, which must not fail."""
        done = fork_server.run(code, self.folder, self.environment(**environment))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def environment(self, **given):
        """Where such a process finds the packages and keeps machine code."""
        place = {"PYTHONPATH": f"{self.folder}{os.pathsep}{CHECKOUT}"}
        settings = {"NUMBA_CACHE_DIR": str(self.code), "NUMBA_BOUNDSCHECK": "0"}
        return os.environ | place | settings | given

    def start(self, call="outer(1.0)", start="", **environment):
        """Such a process, started as users start one."""
        return subprocess.Popen(
            [sys.executable, "-c", start + HARNESS.replace("{call}", call)],
            env=self.environment(**environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, cwd=self.folder,
        )  # fmt: skip

    def files(self, ending=""):
        """Files of machine code whose names end so."""
        return sorted(path for path in self.code.rglob(f"*{ending}") if path.is_file())
