"""Settings that must stand before numba is imported, and hypothesis profiles."""

import os
import signal
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "asv_benchmarks"))
try:
    import benchmarks  # noqa: F401  one thread for every library
finally:
    sys.path.remove(str(ROOT / "asv_benchmarks"))

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from graphsys.compiler import machine, store  # noqa: E402

try:
    store.cache_folder().mkdir(parents=True, exist_ok=True)
    writable = os.access(store.cache_folder(), os.W_OK)
except OSError:
    writable = False
if not writable:  # no home: workers inherit the folder of the process that starts them
    os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="graphsys-")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job in the background of a shell
    signal.signal(signal.SIGINT, signal.default_int_handler)

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
        "faults/*",
        "house/test_docs.py",
        "compiler/test_store.py",
        # These also take steps of higher order, whose kernels the other has compiled by then.
        *(f"dynamics/test_{name}.py" for name in ("added_mass", "armature", "composition",
          "control_limits", "couplings", "joint_friction", "nonholonomic", "rollouts",
          "urdf_input", "velocity_limits")),
        "dynamics/laws/test_one_scale.py",
    ],
    "systems": [
        "graphsys/*", "dynamics/test_galerkin*", "graphsys/test_[g-z]*", "dynamics/test_tree_*",
        "dynamics/test_trajectory_optimization.py", "dynamics/test_legged_robots.py",
        "house/*", "dynamics/test_accuracy.py", "faults/test_interrupted_factors.py",
    ],
}  # fmt: skip


def share(nodeid):
    """The worker that runs a test, and the test's place there."""
    path = nodeid.split("::")[0].removeprefix("tests/")
    places = [(worker, k) for worker, patterns in SHARES.items() for k in range(len(patterns))]
    fitting = (p for p in places if fnmatch(path, SHARES[p[0]][p[1]]))
    return max(fitting, key=lambda p: len(SHARES[p[0]][p[1]]), default=("systems", 0))


def pytest_collection_modifyitems(items):
    """Put the tests in the order of the shares."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: share(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each of two workers its share (under pytest 9.2, xdist 3.8 ignores its own marker)."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Shares(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return share(nodeid)[0]

    return Shares(config, log)


def pytest_report_header():
    """Say where compiled kernels are kept."""
    return f"compiled kernels: {machine.folder()}"


@pytest.fixture(autouse=True)
def close_figures():
    """Close what a test has drawn: pyplot warns of more than 20 figures, in some later test."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
