"""Build hook of hatchling that puts machine code into a wheel.

``GRAPHSYS_LEVELS`` names the processor levels, separated by spaces: ``host`` by default, ``none``
for a wheel that compiles at the first use, and for publishing ``x86-64 x86-64-v3 x86-64-v4``.
``GRAPHSYS_WORKERS`` is the number of processes, by default that of cores. Names in machine code
count what a process has compiled before: one process makes the same bytes each time.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ObjectFiles(BuildHookInterface):
    """Compiles the kernels that users meet first."""

    def initialize(self, version, build_data):
        """Compile, and name the wheel after the platform; editable installs compile later."""
        levels = os.environ.get("GRAPHSYS_LEVELS", "host").split()
        if version == "editable" or levels == ["none"]:
            return
        self._scratch = tempfile.TemporaryDirectory()
        folder = Path(self._scratch.name) / "objects"
        script = Path(self.root) / "graphsys/compiler/packaging/build.py"
        build = [sys.executable, str(script), str(folder), "--levels", *levels]
        if "GRAPHSYS_WORKERS" in os.environ:
            build += ["--workers", os.environ["GRAPHSYS_WORKERS"]]
        done = subprocess.run(build, cwd=self.root, check=False)
        if done.returncode != 0:
            raise RuntimeError(
                "the kernels could not be compiled, see above; GRAPHSYS_LEVELS=none builds a wheel "
                "that compiles them at the first use"
            )
        build_data["pure_python"], build_data["infer_tag"] = False, True
        build_data["force_include"][str(folder)] = "graphsys/compiler/objects"
