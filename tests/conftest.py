"""Settings that must stand before numba is imported, and hypothesis profiles."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "asv_benchmarks"))
try:
    # Sets NUMBA_CACHE_DIR and one thread for every library: see benchmarks/__init__.py.
    import benchmarks
finally:
    sys.path.remove(str(ROOT / "asv_benchmarks"))

if "numba" in sys.modules:
    raise RuntimeError("numba was imported before NUMBA_CACHE_DIR was set; see tests/conftest.py")

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

# A first call compiles, so no deadline. Bounded examples keep the whole run short.
settings.register_profile(
    "default", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, database=None)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=2000)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default")
)


def pytest_collection_modifyitems(config, items):
    """Tests of a folder stay together where two workers share them: see `tests.__main__`."""
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            item.add_marker(pytest.mark.xdist_group(item.path.relative_to(ROOT / "tests").parts[0]))


def pytest_report_header():
    """Say where compiled kernels are kept."""
    return f"numba cache: {benchmarks.NUMBA_CACHE}"
