"""Iterations, factorizations and intervals of motions that the heuristics of steps were made for.

A better heuristic may change these numbers. `python -m tests tests/tuning` runs them.
"""

import numpy as np
import pytest

import dynamics as dy
from dynamics import zoo
from dynamics.zoo import pendulum
from tests.dynamics.test_contacts import spheres
from tests.dynamics.test_delassus import chain

H = 0.01


def test_contacts_of_a_whipping_chain_that_reverse_their_sliding_take_few_iterations():
    # on slopes spheres slide, roll, stick and lift off all the time; it was once restarts that cost
    model, state = spheres(20, 30)

    motion = dy.simulate(model, state, 10.0)

    assert motion.info["iterations"] / motion.info["steps"] < 5.0
    # The motion is chaotic: slopes 1e-9 degrees apart take 1.06 to 1.13 of them an iteration,
    # and one in eight of them cuts a step into 4 where the others never need more than 2.
    assert motion.info["factorizations"] < 1.2 * motion.info["iterations"]
    assert motion.info["most_intervals"] <= 4


def test_last_iterations_take_no_factors():
    mechanism = dy.Mechanism()
    box = mechanism.add_body(dy.Box(0.5, 0.4, 0.3, mass=1.0), position=(0, 0, 0.6))
    mechanism.add_contact(box, friction=0.5)
    model = mechanism.finalize(H)
    state = model.initial_state()
    model.set_body(state, box.name, velocity=(1, 0, 0), angular_velocity=(1, 2, 3))

    motion = dy.simulate(model, state, 2.0)

    assert motion.info["factorizations"] < motion.info["iterations"]


@pytest.mark.parametrize("start", [0.3, 0.3003, 0.3007])
def test_a_hundred_hinges_are_cut_while_they_fall_into_their_joints_alone(start):
    """Near a fold of the equations a guess can lead to the other solution, which has no next one.

    A guess that follows all shaking is cut in some of the steps from 4.3 s on, and each cut feeds
    the shaking. The first tenths of a second are a jerk that runs along the chain.
    """
    angles = np.zeros(100)
    angles[:2] = np.pi / 2, start
    model, state = pendulum(100, angles=angles)
    jerk = dy.simulate(model, state, 0.2)
    assert jerk.info["intervals"] <= 2 * jerk.info["steps"]
    info = dy.simulate(model, jerk.final, 5.8, every=580).info
    assert info["intervals"] == info["steps"]
    assert info["iterations"] <= 5 * info["steps"]


def test_rhombi_are_cut_where_they_swerve():
    model, state = zoo.rhombic_chain(2, np.pi / 8 * 1.012, timestep=H)
    assert dy.simulate(model, state, 7.0).info["intervals"] == 700
    assert dy.simulate(model, state, 9.0).info["intervals"] > 900


def test_step_of_a_fast_chain_is_solved_whole():
    n = 12
    model, state = chain(n, 0.0, largest_turn=1.0)
    rng = np.random.default_rng(33)
    for i in range(n):  # what joints do not allow of it, they take
        model.set_body(state, i, velocity=rng.uniform(-10.0, 10.0, 3) * [1.0, 1.0, 0.3])

    after, info = model.step(state)

    assert info.intervals == 1 and info.softening == 1.0
    # no body has turned far; without refined solutions iterates turned one round
    omega = after.data[13 * n : 19 * n].reshape(n, 6)[:, 3:]
    assert H * np.linalg.norm(omega, axis=1).max() < 0.5
    assert info.factorizations <= info.iterations + 5


def test_chain_that_whips_down_a_slope_seldom_begins_anew():
    model, state = chain(44)
    info = dy.simulate(model, state, 5.0).info
    # what starts that fail have cost; 1.18 in ten seconds without the Delassus operator
    assert info["factorizations"] < 1.15 * info["iterations"]


@pytest.mark.parametrize("order", [4, 6])
def test_one_small_matrix_serves_a_step_in_smooth_motion(order):
    # an iteration leaves about half the angle that links turn in a step, 0.5 %, of 1e-9 of a guess
    model, state = zoo.double_pendulum(timestep=0.002, order=order)
    info = dy.simulate(model, state, 1.0).info
    assert info["factorizations"] == info["steps"]
    assert info["iterations"] < 1.5 * info["steps"]


def test_taut_chains_take_two_intervals_a_step():
    angles = np.zeros(200)
    angles[:2] = np.pi / 2, 0.3
    model, state = pendulum(200, angles=angles, timestep=H)
    info = dy.simulate(model, state, 4.0).info
    assert info["intervals"] <= 2 * info["steps"] + 20
    assert info["factorizations"] <= 1.1 * info["intervals"] + 50


def test_an_ant_that_pushes_against_its_limits_seldom_begins_anew():
    gymnasium = pytest.importorskip("gymnasium")
    path = f"{gymnasium.__path__[0]}/envs/mujoco/assets/ant.xml"
    mechanism = dy.load(path, collide=True)
    model, rng = mechanism.finalize(0.01), np.random.default_rng(0)
    commands = np.repeat(rng.uniform(-1.0, 1.0, (100, len(mechanism.actuators))), 5, axis=0)
    state = dy.separate(model, model.initial_state())
    info = dy.simulate(model, state, 5.0, controls=model.controls(commands)).info
    # 10 without refined solutions, 4.4 with them
    assert info["factorizations"] < 7.0 * info["steps"]
