"""Contact-implicit trajectory optimization: Spring Flamingo jumps over an obstacle of 0.16 m.

No contact is scheduled: heels and toes may touch the ground when and where Ipopt chooses. It walks
at 0.26 m/s at the start, and moves 0.9 m in 1 s (Fan, Schultz and Murphey 2018, section 6.1).
python docs/examples/spring_flamingo.py [docs/figures/spring_flamingo.npz]
"""

import argparse

import numpy as np
from legged_robots import HEEL, LEG, SOLE, TOE, spring_flamingo

from dynamics.integrators import TreeIntegrator
from dynamics.trajectory_optimization import Ground, optimize

STEPS, DURATION, WAY, HEIGHT, SPEED, BEND = 20, 1.0, 0.9, 0.16, 0.26, 0.4
LEAST = [-1.0, 0.3, -1.0] + 2 * [-2.0, 0.0, -1.2]
MOST = [3.0, 2.0, 1.0] + 2 * [1.2, 2.4, 0.8]


def robot(duration=DURATION, height=HEIGHT, margin=0.0):
    """Integrator, contacts, and the obstacle, higher and wider by a margin."""
    tree, motors, contacts = spring_flamingo()
    obstacle = Ground()
    obstacle.add_block(0.45, width=0.1 + 4.0 * margin, height=height + margin, edge=0.02)
    return TreeIntegrator(tree, duration / STEPS, actuated=motors), contacts, obstacle


def posture(x, bend=BEND):
    """Coordinates with flat feet below the hips."""
    return np.array([x, 2.0 * LEG * np.cos(bend) - SOLE, 0.0] + 2 * [-bend, 2.0 * bend, -bend])


def start_velocity():
    """Rates with which the hips move ahead over feet at rest."""
    rates = np.zeros(9)
    turn = 0.5 * SPEED / (LEG * np.cos(BEND))
    rates[[0, 3, 5, 6, 8]] = SPEED, turn, -turn, turn, -turn
    return rates


def jump(way):
    """Guess: a jump with both legs drawn up."""
    part = np.linspace(0.0, 1.0, 2 * STEPS + 1)[:, None]
    guess = posture(0.0) + part * (posture(way) - posture(0.0))
    lift = 0.1 * 4.0 * (part * (1.0 - part))[:, 0]
    guess[:, 1] += lift
    guess[:, 3:] += 4.0 * lift[:, None] * np.array(2 * [-1.0, 2.0, -1.0])
    return guess


def walk(way):
    """Guess: first the left foot steps ahead, then the right one."""
    part = np.linspace(0.0, 1.0, 2 * STEPS + 1)
    guess = posture(0.0) + part[:, None] * (posture(way) - posture(0.0))
    for k, first in ((3, 0.1), (6, 0.5)):
        swing = np.clip((part - first) / 0.4, 0.0, 1.0)
        guess[:, k : k + 3] += np.outer(0.3 * np.sin(np.pi * swing) ** 2, [-1.0, 2.0, -1.0])
        guess[:, k : k + 3] += np.outer(way * (swing - part) / posture(0.0)[1], [-1.0, 0.0, 1.0])
    return guess


def main(way=WAY, duration=DURATION, height=HEIGHT, **options):
    """The plan; ``options`` are those of Ipopt."""
    # nothing holds the motion between control points: hence a margin of 2 cm
    integrator, contacts, obstacle = robot(duration, height, 0.02 if height else 0.0)
    guess = jump(way) if height else walk(way)
    soles = [((s, "foot"), [x, 0.0, SOLE]) for s in ("left", "right")
             for x in (HEEL, 0.02, 0.09, TOE)]  # fmt: skip
    return optimize(
        integrator, posture(0.0), posture(way), STEPS, contacts=contacts, obstacles=obstacle,
        clear=soles, planar=True, start_velocity=start_velocity(), most_force=80.0,
        least_q=LEAST, most_q=MOST, q_guess=guess, most_iterations=3000, options=options,
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", help="file for the plan, .npz")
    file = parser.parse_args().file
    plan = main()
    print(f"{plan.iterations} iterations, {plan.seconds:.0f} s, cost {plan.cost:.0f} N^2 m^2 s")
    assert plan.complementarity < 1e-5 and plan.defect < 1e-6
    if file:
        plan.save(file)
