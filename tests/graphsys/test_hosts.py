"""The kernels on processors that are not this one: their code runs here, on fewer features."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

HOSTS = {
    "baseline x86-64": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "AVX2": {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+sse4.2,+avx,+avx2,+fma"},
}
NAMES = ("test_kernels.py", "test_nodes.py", "test_lanes.py")
FILES = [str(Path(__file__).with_name(name)) for name in NAMES]


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="names x86-64 processors")
@pytest.mark.parametrize("host", HOSTS)
def test_every_kernel_is_right_on_lesser_processors(host):
    if host == "AVX2":
        import llvmlite.binding

        if not llvmlite.binding.get_host_cpu_features().get("avx2"):
            pytest.skip("this processor has no AVX2")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *FILES],
        env=os.environ | HOSTS[host],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stdout[-3000:]
