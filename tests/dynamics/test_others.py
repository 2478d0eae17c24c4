"""Robot files of others: agreement with Pinocchio and MuJoCo where they are trees.

`python -m tests.robots` makes the table of all of them, with ten seconds of motion.
"""

import pytest

from .others import SHARED, beside_mujoco, beside_pinocchio, loaded, package_files

#: What the project promises.
CLOSE = 1e-9


@pytest.fixture(scope="module")
def pinocchio():
    return pytest.importorskip("pinocchio", reason="Pinocchio (pip install pin) is not installed")


@pytest.mark.parametrize("base", ["floating", "fixed"])
@pytest.mark.parametrize("name", ["a1.urdf", "atlas_simple.urdf", "exoskeleton.urdf"])
def test_robots_beside_this_checkout_agree_with_pinocchio(pinocchio, name, base):
    if not (SHARED / name).is_file():
        pytest.skip("the models of others are not next to this checkout")
    mechanism, way, _, balls = loaded(SHARED / name, base=base)

    errors = beside_pinocchio(SHARED / name, mechanism, way, balls)
    assert max(errors.values()) < CLOSE, errors


def with_mujoco(path, mechanism, way, balls):
    return beside_mujoco(path, mechanism)


def far(package, kind, compare, only=""):
    """Trees of a package's files whose figures differ by more, and how many were compared.

    ``only`` is what the names of the files begin with.
    """
    root, paths = package_files().get(package, (None, []))
    if not paths:
        pytest.skip(f"{package} is not installed")
    found, count = {}, 0
    for path in paths:
        if path.suffix != kind or not path.name.startswith(only):
            continue
        try:
            mechanism, way, _, balls = loaded(path, within=root)
        except ValueError:  # fragments, and files that MuJoCo refuses; tests.robots lists them
            continue
        if mechanism.bodies and len(mechanism.joints) <= len(mechanism.bodies):
            if kind == ".xml" and mechanism.couplings:
                continue  # the comparison leaves constraints out
            errors = compare(path, mechanism, way, balls)
            count += 1
            if not max(errors.values()) < CLOSE:
                found[path.name] = errors
    return found, count


@pytest.mark.parametrize(
    ("only", "least"),
    [*((name, 1) for name in ("ant", "half_cheetah", "hopper", "walker2d")),
     pytest.param("", 12, marks=pytest.mark.slow)],
)  # fmt: skip
def test_gymnasium_robots_agree_with_mujoco(mujoco, only, least):
    found, count = far("gymnasium", ".xml", with_mujoco, only)

    assert count >= least and found == {}


@pytest.mark.slow
@pytest.mark.parametrize(("package", "least"), [("dm_control", 30), ("gymnasium-robotics", 8)])
def test_mjcf_files_of_packages_agree_with_mujoco(mujoco, package, least):
    found, count = far(package, ".xml", with_mujoco)

    assert count >= least and found == {}


@pytest.mark.slow
@pytest.mark.parametrize("base", ["as it loads", "fixed"])
def test_urdf_files_of_packages_agree_with_pinocchio(pinocchio, base):
    def compare(path, mechanism, way, balls):
        if base == "fixed":
            mechanism, way, _, balls = loaded(path, base="fixed")
        return beside_pinocchio(path, mechanism, way, balls) if mechanism.bodies else {"none": 0.0}

    found, count = far("example-robot-data", ".urdf", compare)

    assert count >= 60 and found == {}
