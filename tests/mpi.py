"""Run a script by several processes of MPI, or skip where there is none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def mpiexec(count, *arguments):
    """Run `mpiexec -n count python arguments...`; return what it prints."""
    command = shutil.which("mpiexec")
    if command is None:
        pytest.skip("mpiexec is not installed")
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    more = {  # Open MPI: more processes than cores, and containers whose only user is root
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    done = subprocess.run(
        [command, "-n", str(count), sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path, **more},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
