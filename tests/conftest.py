"""Settings that must stand before numba is imported, and hypothesis profiles."""

import os
import sys
from fnmatch import fnmatch
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


#: What each of two workers runs, in this order. A file goes with the longest pattern that fits.
SHARES = {
    "steps": [
        "dynamics/*",
        # These also take steps of higher order, whose kernels the other has compiled by then.
        *(f"dynamics/test_{name}.py" for name in ("added_mass", "armature", "composition",
          "control_limits", "couplings", "joint_friction", "nonholonomic", "rollouts",
          "urdf_input", "velocity_limits")),
        "house/test_docs.py",
    ],
    "systems": [
        "graphsys/*", "dynamics/test_galerkin*", "dynamics/test_tree_*", "house/*",
        "dynamics/test_accuracy.py",
    ],
}  # fmt: skip


def share(item):
    """The worker that runs a test, and its place there."""
    path = item.path.relative_to(ROOT / "tests").as_posix()
    places = [(group, k) for group, patterns in SHARES.items() for k in range(len(patterns))]
    fitting = (p for p in places if fnmatch(path, SHARES[p[0]][p[1]]))
    return max(fitting, key=lambda p: len(SHARES[p[0]][p[1]]), default=("systems", 0))


def pytest_collection_modifyitems(items):
    """Divide the tests between two workers so that few kernels are compiled by both."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        shares = {item: share(item) for item in items}
        items.sort(key=shares.__getitem__)
        for item, (group, _) in shares.items():
            item.add_marker(pytest.mark.xdist_group(group))


def pytest_report_header():
    """Say where compiled kernels are kept."""
    return f"numba cache: {benchmarks.NUMBA_CACHE}"
