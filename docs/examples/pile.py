"""A pile of stones between four walls: contacts that the model finds by itself.

python docs/examples/pile.py [--page pile.html]
"""

import argparse

import numpy as np

import dynamics as dy
from dynamics import rotation

STONES, SIDE = 8, 0.4  # side of the square between the walls, m
SHAPES = [
    dy.Box(0.16, 0.12, 0.1, density=2400.0),
    dy.Cylinder(0.06, 0.12, density=2400.0),
    dy.Capsule(0.05, 0.1, density=2400.0),
    dy.Sphere(0.07, density=2400.0),
]


def pile(stones=STONES, seed=0):
    """Model of stones above each other, between the walls."""
    mech, rng = dy.Mechanism(), np.random.default_rng(seed)
    mech.add_obstacle(dy.HalfSpace(), name="floor", friction=0.6)
    for k, way in enumerate([(1, 0), (-1, 0), (0, 1), (0, -1)]):
        normal = (-way[0], -way[1], 0)
        point = (SIDE / 2 * way[0], SIDE / 2 * way[1], 0)
        mech.add_obstacle(dy.HalfSpace(normal, point), name=f"wall {k}", friction=0.3)
    for k in range(stones):
        at = [*rng.uniform(-0.1, 0.1, 2), 0.15 + 0.2 * k]
        mech.add_body(SHAPES[k % 4], name=k, position=at, orientation=rotation.random(rng))
    mech.collide()
    return mech.finalize(timestep=0.005)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", help="file for the page of the motion")
    page = parser.parse_args().page
    model = pile()
    start = model.initial_state()
    motion = dy.simulate(model, start, 2.0, every=5)
    pairs = model.near.candidates.names
    print(f"{len(pairs)} pairs may touch, {len(motion.near_pairs)} were near at some time,")
    print(f"at most {max(len(part.pairs) for part in motion.parts)} at once")

    gaps = [motion.contact(name).gap.min() for name in motion.near_pairs]
    floor = [name for name in motion.near_pairs if str(name).startswith("floor")]
    carried = sum(motion.contact(name).normal_force[-20:].sum() for name in floor) / 20
    weight = 9.81 * sum(body.mass for body in model.bodies)
    energy = motion.energy()
    print(f"least gap {min(gaps):.0e} m; the floor carries {carried / weight:.2f} of the weight")
    assert min(gaps) > 0.0 and energy[-1] < 0.5 * energy[0]
    assert 0.5 < carried / weight < 1.2  # walls carry the rest by friction
    motion.export_html(page) if page else None
