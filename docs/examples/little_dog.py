"""Contact-implicit trajectory optimization: LittleDog walks over two gaps of 0.06 m each.

No contact is scheduled. It moves 0.35 m in 1.4 s, from rest to rest (Fan, Schultz and Murphey 2018,
section 6.2).
python docs/examples/little_dog.py [docs/figures/little_dog.npz]
"""

import argparse

import numpy as np
from legged_robots import LEGS, SHANK, THIGH, little_dog

from dynamics.integrators import TreeIntegrator
from dynamics.trajectory_optimization import Ground, optimize

STEPS, DURATION, WAY, HEIGHT = 20, 1.4, 0.35, 0.14
LEAST = [-1.0, -0.1, 0.06, -0.3, -0.4, -0.4] + 4 * [-0.6, -2.5, -2.8]
MOST = [2.0, 0.1, 0.25, 0.3, 0.4, 0.4] + 4 * [0.6, 2.5, 2.8]


def robot():
    """Integrator, contacts, and the ground."""
    tree, motors, contacts = little_dog()
    ground = Ground()
    for center in (0.17, 0.30):
        ground.add_block(center, width=0.06, height=-0.1, edge=0.01)
    return TreeIntegrator(tree, DURATION / STEPS, actuated=motors), contacts, ground


def posture(integrator, x):
    """Coordinates with the feet below the hips, front knees bent backwards, hind knees ahead."""
    q = np.zeros(18)
    q[0], q[2] = x, HEIGHT
    knee = np.arccos((HEIGHT**2 - THIGH**2 - SHANK**2) / (2.0 * THIGH * SHANK))
    hip = np.arctan2(SHANK * np.sin(knee), THIGH + SHANK * np.cos(knee))
    for leg, (ahead, _) in LEGS.items():
        q[integrator.index((leg, "thigh"))] = hip * ahead
        q[integrator.index((leg, "shank"))] = -knee * ahead
    return q


def main(**options):
    """The plan; ``options`` are those of Ipopt."""
    integrator, contacts, ground = robot()
    start, goal = posture(integrator, 0.0), posture(integrator, WAY)
    way = np.linspace(0.0, 1.0, 2 * STEPS + 1)
    guess = start + way[:, None] * (goal - start)
    for leg, (ahead, left) in LEGS.items():  # four strides of a trot in place of a walk
        phase = 4.0 * np.pi * way + (np.pi if ahead == left else 0.0)
        lift = 0.3 * np.maximum(0.0, np.sin(phase)) * ahead
        guess[:, integrator.index((leg, "thigh"))] += lift
        guess[:, integrator.index((leg, "shank"))] -= 2.0 * lift
    return optimize(
        integrator, start, goal, STEPS, contacts=contacts, ground=ground, most_force=3.0,
        least_q=LEAST, most_q=MOST, q_guess=guess, most_iterations=3000, options=options,
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", help="file for the plan, .npz")
    file = parser.parse_args().file
    plan = main()
    print(f"{plan.iterations} iterations, {plan.seconds:.0f} s, cost {plan.cost:.2f} N^2 m^2 s")
    assert plan.complementarity < 1e-5 and plan.defect < 1e-6
    if file:
        plan.save(file)
