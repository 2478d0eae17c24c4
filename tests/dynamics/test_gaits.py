"""Examples of gaits: quadrupeds walk as far as their steps reach, Cassie steps in place."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from dynamics import rotation

from .others import SHARED, package_files

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
trot = runpy.run_path(str(EXAMPLES / "trot.py"))


def check(path=None, within=None, seconds=4.0):
    motion = trot["walk"](path, within, seconds)
    trunk = motion.model.bodies[0].name
    x, q = motion.body(trunk)
    up = rotation.rotate(q, np.broadcast_to((0.0, 0.0, 1.0), (len(q), 3)))[:, 2]

    assert up.min() > np.cos(0.3)
    # a foot goes STRIDE back in half a period; a part of it slips, and the first steps are short
    ideal = trot["STRIDE"] / (0.5 * trot["PERIOD"]) * (seconds - 0.5 * trot["RAMP"])
    assert 0.5 * ideal < np.linalg.norm(x[-1, :2] - x[0, :2]) < ideal
    assert motion.constraint_violation().max() < 1e-9


def test_two_joints_per_leg_are_enough_for_a_trot():
    check()


def test_a_robot_of_the_authors_trots():
    if not (SHARED / "a1.urdf").is_file():
        pytest.skip("the models of others are not beside this checkout")
    check(SHARED / "a1.urdf")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a1", "go1", "go2"])
def test_robots_of_unitree_trot(name):
    root, _ = package_files().get("example-robot-data", (None, []))
    if root is None:
        pytest.skip("example-robot-data is not installed")
    check(root / f"{name}_description/urdf/{name}.urdf", root)


@pytest.mark.slow
def test_cassie_stands_and_steps_in_place():
    root, _ = package_files().get("example-robot-data", (None, []))
    if root is None:
        pytest.skip("example-robot-data is not installed")
    cassie = runpy.run_path(str(EXAMPLES / "cassie.py"))
    path = root / "cassie_description/robots/cassie_v2.sdf"
    motion = cassie["walk"](path, root, seconds=4.0)
    q = motion.frame("pelvis")[1]

    assert (1.0 - 2.0 * (q[:, 1] ** 2 + q[:, 2] ** 2)).min() > np.cos(0.2)
    assert motion.constraint_violation().max() < 1e-9
    stood, steps = motion.time < 2.0, motion.time > 3.5
    for side in cassie["SIDES"]:
        ends = [motion.frame(f"{side} {end}")[0][:, 2] - cassie["SOLE"] for end in ("heel", "toe")]
        lowest = np.min(ends, axis=0)  # of a foot that is in the air as a whole
        assert lowest[stood].max() < 0.01 < 0.02 < lowest[steps].max()


def test_a_cycle_of_a_foot_is_closed_and_half_of_it_on_the_ground():
    step, stride, lift = (trot[name] for name in ("step", "STRIDE", "LIFT"))
    back = [step(phase) for phase in (0.0, 0.25, 0.5 - 1e-12)]
    np.testing.assert_allclose(
        back, [[stride / 2, 0, 0], [0, 0, 0], [-stride / 2, 0, 0]], atol=1e-9
    )
    ahead = [step(phase) for phase in (0.5, 0.75, 1.0 - 1e-12)]
    np.testing.assert_allclose(
        ahead, [[-stride / 2, 0, 0], [0, 0, lift], [stride / 2, 0, 0]], atol=1e-9
    )
