"""Examples of gaits: quadrupeds go as far as their steps reach, Cassie at the speed asked for."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation

from .others import SHARED, package_files

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
trot = runpy.run_path(str(EXAMPLES / "trot.py"))
five_bar = runpy.run_path(str(EXAMPLES / "five_bar_quadruped.py"))


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
        pytest.skip("the models of others are not next to this checkout")
    check(SHARED / "a1.urdf")


def test_angles_of_a_five_bar_leg_put_its_foot_there():
    turn = np.random.default_rng(0).uniform(-1.0, 1.0, 50)
    way = -np.linspace(0.12, 0.28, 50)[:, None] * np.stack([np.sin(turn), np.cos(turn)], -1)
    q = five_bar["angles"](way)
    knees = -five_bar["UPPER"] * np.stack([np.sin(q), np.cos(q)], -1)  # (50, motors, x and z)
    lower = np.linalg.norm(way[:, None] - knees, axis=-1)
    np.testing.assert_allclose(lower, five_bar["LOWER"], rtol=1e-14)
    assert (q[:, 0] > q[:, 1]).all() and np.allclose(q.mean(1), turn)


@pytest.mark.parametrize("speed", [-0.5, 0.6, 1.0])
def test_a_quadruped_of_five_bar_legs_trots(speed):
    seconds = 4.0
    motion = five_bar["walk"](seconds, speed)
    x, q = motion.body("trunk")
    up = rotation.rotate(q, np.broadcast_to((0.0, 0.0, 1.0), (len(q), 3)))[:, 2]
    way = speed * (seconds - 0.5 * five_bar["RAMP"])  # feet slip a little

    assert up.min() > np.cos(0.1) and x[:, 2].min() > 0.9 * five_bar["STANDS"]
    assert 0.8 < (x[-1, 0] - x[0, 0]) / way < 1.0 and abs(x[-1, 1]) < 0.1 * abs(way)
    assert motion.constraint_violation().max() < 1e-9
    for leg in five_bar["HIPS"]:  # each foot leaves the ground and comes back
        gap = motion.contact(f"{leg} ground").gap
        assert gap.max() > 0.5 * five_bar["LIFT"] and -1e-9 < gap.min() < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a1", "go1", "go2"])
def test_robots_of_unitree_trot(name):
    root, _ = package_files().get("example-robot-data", (None, []))
    if root is None:
        pytest.skip("example-robot-data is not installed")
    check(root / f"{name}_description/urdf/{name}.urdf", root)


@pytest.fixture(scope="module")
def cassie():
    """Names of the two examples."""
    sys.path.insert(0, str(EXAMPLES))
    names = {**runpy.run_path(str(EXAMPLES / "cassie.py"))}
    names.update(runpy.run_path(str(EXAMPLES / "cassie_walk.py")))
    yield names
    sys.path.remove(str(EXAMPLES))
    sys.modules.pop("cassie", None)


@pytest.fixture(scope="module")
def standing(cassie):
    """Model of Cassie, where it stands, and the table of its legs."""
    root, _ = package_files().get("example-robot-data", (None, []))
    if root is None:
        pytest.skip("example-robot-data is not installed")
    path = root / "cassie_description/robots/cassie_v2.sdf"
    start, table = cassie["tables"](*cassie["robot"](path, root, rigid=True))
    model = cassie["robot"](path, root)[0].finalize(0.004)
    state = model.initial_state()
    state.pose[:] = start.pose
    return model, dy.separate(model, state), table


@pytest.mark.slow
@pytest.mark.parametrize("speed, turn", [(0.5, 0.0), (0.0, 0.0), (0.4, 0.2)])
def test_cassie_walks_upright_within_its_motors_limits(cassie, standing, speed, turn):
    model, state, table = standing
    seconds, h, targets = 8.0, model.timestep, []
    walk = cassie["Walk"](model, table, speed, turn)

    def controller(now, time):
        targets.append(walk(now, time))
        return targets[-1]

    motion = dy.simulate(model, state, seconds, controller=controller)
    x, q = motion.frame("pelvis")
    assert (1.0 - 2.0 * (q[:, 1] ** 2 + q[:, 2] ** 2)).min() > np.cos(0.2)
    assert x[:, 2].min() > 0.9 * cassie["HEIGHT"]
    assert motion.constraint_violation().max() < 1e-9
    # the path that the controller follows; it asks for at most 0.15 m/s more, at 0.3 m/s per m
    assert np.linalg.norm(x[-1, :2] - walk.path) < 0.5
    way = speed * (seconds - 0.5 * cassie["RAMP"])
    assert np.linalg.norm(np.diff(x[:, :2], axis=0), axis=1).sum() > 0.9 * way
    for side in cassie["SIDES"]:  # steps, not slides: heel and toe leave the ground together
        ends = [motion.frame(f"{side} {end}")[0][:, 2] - cassie["SOLE"] for end in ("heel", "toe")]
        assert np.min(ends, axis=0).max() > 0.5 * cassie["LIFT"]
    for k, name in enumerate(walk.joints.names):  # the law of servos, with the end's angle
        angle = motion.joint(name)
        force = cassie["STIFFNESS"] * (np.array(targets)[:, k] - angle[1:])
        force -= cassie["DAMPING"] * np.diff(angle) / h
        most = cassie["MOTORS"][name.split("-", 1)[1]]
        assert np.mean(np.abs(force) > most) < 0.02  # the servo cuts these


def test_footholds_give_a_pendulum_speed_and_width_of_steps(cassie):
    walk, rate, period = object.__new__(cassie["Walk"]), cassie["RATE"], cassie["PERIOD"]
    walk.stands, wanted = 0, np.array([0.7, -0.1])
    center, velocity, feet = np.zeros(2), np.array([0.1, 0.2]), [np.array([0.0, 0.1])]
    for _ in range(30):  # an error falls to exp(-rate period) = 0.28 of it per step
        goal = center + walk.foothold(feet[-1] - center, velocity, wanted, period)
        way, c, s = center - feet[-1], np.cosh(rate * period), np.sinh(rate * period)
        center = feet[-1] + c * way + s / rate * velocity
        velocity = rate * s * way + c * velocity
        feet.append(goal)
        walk.stands = 1 - walk.stands
    steps = np.diff(feet, axis=0)[-2:]
    np.testing.assert_allclose(steps.sum(axis=0), 2.0 * period * wanted, atol=1e-9)
    # the 30th step reaches the left foot's place, and the one before it the right one's
    np.testing.assert_allclose(np.diff(steps[:, 1]), 2.0 * cassie["WIDTH"], atol=1e-9)


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
