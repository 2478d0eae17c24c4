"""Trajectory optimization: a humanoid on its right foot brings its left hand to a ball.

The foot is the root of the tree and does not move; forces at its corners keep to friction cones,
so that it could not tip or slip (Fan, Schultz and Murphey 2018, section 6.3).
python docs/examples/humanoid_reach.py [docs/figures/humanoid_reach.npz]
"""

import argparse

import numpy as np
from legged_robots import humanoid
from scipy.optimize import minimize

from dynamics.integrators import TreeIntegrator
from dynamics.trajectory_optimization import optimize

STEPS, DURATION = 13, 1.3
BALL, PALM = [0.55, 0.45, 0.65], [0.0, 0.15, 0.0]  # m
BALANCE = ("right ankle", "right hip roll", "left hip roll", "right shin", "right hip pitch")


def robot():
    """Integrator and contacts."""
    tree, motors, contacts = humanoid()
    return TreeIntegrator(tree, DURATION / STEPS, actuated=motors), contacts, tree


def center_of_mass(integrator, tree, q):
    """In the world's frame, m."""
    turns, origins = integrator.poses(q)
    bodies = [tree.bodies[label] for label in integrator.joints]
    points = origins + np.array([R @ one.center for R, one in zip(turns, bodies, strict=True)])
    return np.average(points, axis=0, weights=[one.mass for one in bodies])


def posture(integrator, tree):
    """Coordinates with the centre of mass over the right foot and the left foot in the air."""
    q, index = np.zeros(len(integrator.joints)), integrator.index
    for side, bend in (("right", -0.35), ("left", 0.55)):
        hip = "right hip pitch" if side == "right" else "left thigh"
        foot, knee = ("shin", "thigh") if side == "right" else ("ankle", "shin")
        q[index(hip)], q[index(f"{side} {knee}")] = -bend, 2.0 * bend
        q[index(f"{side} {foot}")] = -bend
    for side, turn in (("left", -1.2), ("right", 1.2)):
        q[index(f"{side} shoulder roll")] = turn
        q[index(f"{side} elbow")] = 0.25 * turn
    moved = [index(name) for name in BALANCE]

    def tilt(change):
        p = q.copy()
        p[moved] += change
        x, y, _ = center_of_mass(integrator, tree, p)
        upright = (change[0] + change[1]) ** 2
        return 1e4 * (y**2 + (x - 0.04) ** 2) + change @ change + 10.0 * upright

    q[moved] += minimize(tilt, np.zeros(len(moved))).x
    return q


def main(**options):
    """The plan; ``options`` are those of Ipopt."""
    integrator, contacts, tree = robot()
    start = posture(integrator, tree)
    least, most = np.full(36, -2.0), np.full(36, 2.0)
    least[:6] = most[:6] = 0.0  # the foot
    soles = [("left foot", [x, y, -0.08]) for x in (-0.09, 0.17) for y in (-0.065, 0.065)]
    return optimize(
        integrator, start, [*np.zeros(6), *np.full(30, np.nan)], STEPS, contacts=contacts,
        reach=[("left hand", PALM, BALL)], clear=soles, most_force=400.0, least_q=least,
        most_q=most, options=options,
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", help="file for the plan, .npz")
    file = parser.parse_args().file
    plan = main()
    print(f"{plan.iterations} iterations, {plan.seconds:.1f} s, cost {plan.cost:.0f} N^2 m^2 s")
    assert plan.defect < 1e-6
    if file:
        plan.save(file)
