"""Trajectory optimization: a planar biped hops 0.3 m ahead with the least squared torques.

It stands, flies and lands by a schedule: both feet are pinned to the ground, then free, then pinned
where they are to land, an impact without a bounce.
python docs/examples/biped_hop.py [docs/gallery/biped_hop.png]
"""

import argparse

import numpy as np

from dynamics.display.plot import plot_plan
from dynamics.integrators import Tree, TreeIntegrator, plan, prismatic, revolute

LINK, HEIGHT, HOP, FEET = 0.3, 0.5, 0.3, {"front": 0.1, "rear": -0.1}  # m
STEPS, TIMESTEP = (6, 5, 6), 0.045  # standing, flying, landed; s
DOWN, ACROSS = np.array([0.0, 0.0, -LINK]), [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
MOTORS = [(leg, part) for leg in FEET for part in ("thigh", "shank")]


def biped(ground=None):
    """Torso that slides along x and z and pitches; two legs, their feet pinned about ``ground``."""
    tree, slides = Tree(), zip(("world", "x"), "xz", ([1, 0, 0], [0, 0, 1]), strict=True)
    for above, name, axis in slides:
        tree.add_body(name), tree.add_joint(above, name, prismatic(axis))
    tree.add_body("torso", 10.0, [0.3, 0.3, 0.1], center=[0.0, 0.0, 0.2])
    tree.add_joint("z", "torso", revolute([0, 1, 0]))
    for leg, part in MOTORS:
        above, place = ((leg, "thigh"), DOWN) if part == "shank" else ("torso", 0.0 * DOWN)
        tree.add_body((leg, part), 1.2, [0.01, 0.01, 0.001], center=0.5 * DOWN)
        tree.add_joint(above, (leg, part), revolute([0, 1, 0]), position=place)
    for leg, x in FEET.items() if ground is not None else ():
        tree.add_pin(leg, (leg, "shank"), point_a=DOWN, point_b=[ground + x, 0, 0], axes=ACROSS)
    return tree


def posture(x):
    """Coordinates with the hips above the middle of the feet, knees ahead."""
    feet = np.array([*FEET.values()])
    bent = np.arccos(np.hypot(feet, HEIGHT) / (2.0 * LINK))
    return np.array([x, HEIGHT, 0, *np.c_[-np.arctan2(feet, HEIGHT) - bent, 2.0 * bent].ravel()])


def main():
    """The integrators of the three phases, and the plan."""
    phases = [TreeIntegrator(biped(x), TIMESTEP, actuated=MOTORS) for x in (0.0, None, HOP)]
    way = np.clip((np.arange(sum(STEPS) + 1) - STEPS[0]) / STEPS[1], 0.0, 1.0)
    guess = posture(0.0) + np.outer(way, posture(HOP) - posture(0.0))
    guess[:, 1] += 0.4 * way * (1.0 - way)  # up and down on the way
    return phases, plan(phases, guess[0], guess[-1], STEPS, shot=3, q_guess=guess, most_force=100.0,
                        tolerance=1e-5)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plot", nargs="?", help="file for a picture")
    plot = parser.parse_args().plot
    phases, hop = main()
    print(f"{hop.iterations} iterations, cost {hop.cost:.1f} N^2 m^2 s, gap {hop.defect:.0e}")
    assert hop.defect < 1e-5
    if plot:
        plot_plan(hop, phases[0]).savefig(plot, dpi=110)
