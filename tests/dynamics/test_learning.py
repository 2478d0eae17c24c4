"""The random search climbs; the quadruped stands and learns; the exoskeleton keeps its limit."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import dynamics as dy
from dynamics.control.learning import Search, random_search

LEGS = ("FR", "FL", "RR", "RL")


@pytest.fixture
def example(monkeypatch):
    """Import an example by name."""
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "docs" / "examples")
    return import_module


def hill(x):
    return -float(np.sum((x - [0.3, -0.2, 0.1]) ** 2))


def test_search_climbs_a_hill_and_repeats_itself():
    found = random_search(hill, np.zeros(3), 200, seed=4)
    again = random_search(hill, np.zeros(3), 200, seed=4)

    assert found.score == hill(found.parameters) == found.best[-1]
    assert found.score > 0.05 * hill(np.zeros(3))
    assert (np.diff(found.best) >= 0.0).all()
    assert np.array_equal(found.tried, again.tried)
    assert not np.array_equal(found.tried, random_search(hill, np.zeros(3), 200, seed=5).tried)


def test_after_an_improvement_the_next_step_goes_on_along_it():
    found = random_search(lambda x: float(x[0]), [0.0, 0.0], 30, stride=0.01, noise=0.0, seed=0)

    first = int(np.argmax(found.scores > 0.0))
    steps = np.diff(found.tried[first - 1 :], axis=0)
    assert np.allclose(steps[1:], found.tried[first] / np.linalg.norm(found.tried[first]) * 0.01)


def test_failed_episodes_are_no_improvement_and_narrow_the_search():
    found = random_search(lambda x: np.nan if x.any() else 1.0, np.zeros(4), 50, seed=1)

    assert found.score == 1.0 and not found.parameters.any()
    assert np.isnan(found.scores[1:]).all() and (found.best == 1.0).all()
    width = np.linalg.norm(found.tried[1:], axis=1)
    assert width[40:].max() < 0.05 * width[:5].max()


def test_each_episode_is_told():
    told = []
    found = random_search(hill, np.zeros(3), 20, seed=4, progress=lambda *said: told.append(said))

    assert told == list(enumerate(found.scores.tolist()))[1:]


def test_bad_numbers_are_refused():
    with pytest.raises(ValueError, match="the start .* fails"):
        random_search(lambda x: np.nan, [0.0])
    with pytest.raises(ValueError, match="shrink is -1"):
        random_search(hill, np.zeros(3), shrink=-1.0)
    with pytest.raises(ValueError, match="start must be a vector"):
        random_search(hill, 1.0)


def test_quadruped_stands_and_its_feet_bear_its_weight(example):
    model, state = dy.zoo.quadruped()

    motion = dy.simulate(
        model, state, 1.0, controls=example("quadruped").gait((0.1, 0, 1, 0, -1.5), 0.005, 1.0)
    )

    assert abs(motion.body("trunk")[0][-1, 2] - motion.body("trunk")[0][0, 2]) < 0.02
    gaps = np.array([motion.contact(f"{leg}_foot").gap for leg in LEGS])
    assert gaps.min() > 0.0
    assert gaps[..., -1, :].max() < 1e-6
    weight = 9.81 * model.mechanism.mass
    force = sum(motion.contact(f"{leg}_foot").normal_force[-1].sum() for leg in LEGS)
    assert force == pytest.approx(weight, rel=0.01)


def test_quadruped_walks_further_after_some_episodes(example):
    quadruped = example("quadruped")
    robot = quadruped.robots()[0]
    found = quadruped.learn(robot, episodes=12, seconds=2.0)
    _, motion = quadruped.walk(found.parameters, *robot, 2.0)

    assert found.score > found.scores[0] + 0.2
    assert min(motion.contact(f"{leg}_foot").gap.min() for leg in LEGS) > 0.0


#: Learnt at 5 ms with seed 1.
TROT = [
    0.8069393998696852, -0.02446809015171656, 1.025739396381462, -0.9292404295401681,
    -1.3081260197158435,
]  # fmt: skip


def test_a_learnt_gait_walks_as_far_at_half_and_a_tenth_of_the_time_step(example):
    quadruped = example("quadruped")
    robot, *finer = quadruped.robots()
    distance, _ = quadruped.walk(TROT, *robot)

    assert distance > 12.0
    assert quadruped.holds(TROT, distance, finer)
    assert not quadruped.holds(TROT, 1.2 * distance, finer)


@pytest.mark.slow
@pytest.mark.parametrize(("timestep", "seed"), [(0.005, 1), (0.001, 4)])
def test_quadruped_learns_to_walk_twelve_metres_by_a_gait_that_holds(example, timestep, seed):
    # paper, Section 6 and Fig. 13: more than 12 m in 10 s after 100 episodes
    quadruped = example("quadruped")
    robot, *finer = quadruped.robots(timestep=timestep)
    found = quadruped.learn(robot, seed=seed)
    parameters, distance = quadruped.choose(found, finer)

    assert distance > 12.0 and found.scores.size == 101
    assert quadruped.walk(parameters, *robot)[0] == pytest.approx(distance, rel=1e-12)


def test_a_gait_that_falls_at_smaller_steps_is_not_chosen(example, monkeypatch):
    quadruped = example("quadruped")
    far = {0.5: {1.0: 1.1, 2.0: 2.9}, 0.25: {}}  # by time step, then by gait
    monkeypatch.setattr(quadruped, "walk", lambda p, step, *_: (far[step].get(p[0], np.nan), None))
    tried, scores = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([np.nan, 1.0, 3.0, 4.0])
    found = Search(tried[2], 4.0, tried, scores)

    assert quadruped.choose(found, [(0.5,)]) == (tried[2], 3.0)  # 3 falls, 1 walks less far
    with pytest.raises(ValueError, match="no gait holds"):
        quadruped.choose(found, [(0.25,)])


def test_cuffs_stay_closed_and_gains_over_4_75_spare_a_spastic_elbow(example):
    elbow_torque = example("exoskeleton").elbow_torque

    largest = {
        (scale, spastic): np.abs(elbow_torque(scale, spastic)[1]).max()
        for scale in (1.0, 1.0 / 4.75)
        for spastic in (False, True)
    }

    assert largest[1.0, False] < 5.0 < largest[1.0, True]
    assert max(largest[1.0 / 4.75, False], largest[1.0 / 4.75, True]) < 5.0
    model, state = dy.zoo.exoskeleton(spastic=True)
    assert len(model.tables.cycles) == 2
    assert np.abs(dy.simulate(model, state, 1.0).constraint_violation()).max() < 1e-8
