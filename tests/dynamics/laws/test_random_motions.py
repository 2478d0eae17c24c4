"""Random scenes and mechanisms: no energy appears, nothing passes, no joint opens, errors speak."""

import numpy as np
import pytest

pytest.importorskip("mujoco")

from . import random_motions


def check(law, seeds):
    faults, stops = random_motions.examine(law, seeds)
    print(f"{len(seeds)} motions, stopped: {dict(stops)}")
    assert faults == {}
    assert sum(stops.values()) <= max(1, len(seeds) // 20)


def test_random_scenes():
    check(random_motions.broken_in_scene, range(20))


def test_random_mechanisms():
    check(random_motions.broken_in_mechanism, range(60))


def test_a_wound_spring_in_a_loop_whose_steps_are_cut_gives_no_energy():
    # 180 kJ of a spring of 1e8 N m: each change of the interval once let its force jump
    check(random_motions.broken_in_mechanism, [742])


def test_bodies_of_random_scenes_touch():
    # nothing but a contact changes a velocity along the ground
    touched = 0
    for seed in range(20):
        model, state, _, _ = random_motions.scene(seed)
        motion, _ = random_motions.run(model, state, 1.0)
        change = model.velocities(motion.final) - model.velocities(state)
        touched += np.abs(change[:, :2]).max() > 1e-3
    assert touched >= 15


@pytest.mark.slow
def test_a_thousand_random_scenes():
    check(random_motions.broken_in_scene, range(20, 1020))


@pytest.mark.slow
def test_a_thousand_random_mechanisms():
    check(random_motions.broken_in_mechanism, range(60, 1060))
