"""What the figures depend on: processor, versions, and how fast it multiplies matrices."""

import ctypes
import datetime
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .clock import dgemm_rate
from .interface import library
from .pardiso import Pardiso


def describe():
    """Return processor, versions, date and the rate of dgemm in operations a second."""
    packages = {name: _version(name) for name in ("graphsys", "numpy", "scipy", "numba", "pymetis")}
    packages |= {"Python": platform.python_version(), "MKL": _mkl(), "SuiteSparse": _suitesparse()}
    return {
        "date": datetime.date.today().isoformat(),
        "processor": _processor(),
        "versions": {name: number for name, number in packages.items() if number},
        "dgemm": dgemm_rate(),
    }


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    known = {
        name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    name = known.get("model name", platform.machine())
    if "cpu family" in known:
        name += f" (family {known['cpu family']}, model {known['model']})"
    vectors = next((v for v in ("avx512f", "avx2") if v in known.get("flags", "").split()), "")
    return f"{name}, {vectors}" if vectors else name


def _mkl():
    if Pardiso.lib is None:
        return None
    text = ctypes.create_string_buffer(200)
    Pardiso.lib.mkl_get_version_string(text, 200)
    words = text.value.decode().split()
    return words[words.index("Version") + 1].partition("-")[0] if "Version" in words else None


def _suitesparse():
    found = library("suitesparseconfig", "libsuitesparseconfig.so.7", "libsuitesparseconfig.so.5")
    if found is None:
        return None
    numbers = (ctypes.c_int * 3)()
    found.SuiteSparse_version(numbers)
    return ".".join(map(str, numbers))
