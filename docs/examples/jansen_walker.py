"""Theo Jansen's walker: legs of closed linkages on one crank walk over a floor.

python docs/examples/jansen_walker.py [--page jansen.html]
"""

import argparse
import math

import numpy as np

import dynamics as dy
from dynamics import rotation

# Theo Jansen's lengths in units of 1/100 m; the back of a foot is 49.
A, B, C, D, E, F, G, H, J, K, L, M = 38, 41.5, 39.3, 40.1, 55.8, 39.4, 49, 65.7, 50, 61.9, 7.8, 15
PHASES, ACROSS, Y = 3, 0.12, (0.0, 1.0, 0.0)  # cranks by 1/3 turn, m between their planes, axis
TURNS, HEIGHT = 0.5, 1.05  # of the crank, 1/s, and where it starts, m


def meeting(p, r, q, s, side):
    """Where circles of radii r and s about p and q meet, to the left of p q for side = 1."""
    d = math.dist(p, q)
    along = (d * d + r * r - s * s) / (2 * d)
    e, across = (np.array(q) - p) / d, side * math.sqrt(r * r - along * along)
    return p + along * e + across * np.array([-e[1], e[0]])


def leg(tip, flip):
    """Points (x, z) of a leg in units of 1/100 m; the right ones are mirrored."""
    mirror = np.array([flip, 1.0])
    tip, pivot = mirror * tip, np.array([-A, -L])
    upper, lower = meeting(tip, J, pivot, B, -1), meeting(tip, K, pivot, C, 1)
    back = meeting(pivot, D, upper, E, 1)
    knee = meeting(back, F, lower, 36.7, -1)
    found = tip, pivot, upper, lower, back, knee, meeting(lower, G, knee, H, 1)
    return [mirror * p for p in found]


def walker(timestep=0.005):
    """Model of a frame with a motor, a crankshaft and two legs on each crank."""
    mech = dy.Mechanism()

    def at(p, y):
        return np.array([0.01 * p[0], y, 0.01 * p[1] + HEIGHT])

    def add(name, y, *points, mass=0.3):
        p, q = max(((p, q) for p in points for q in points), key=lambda ends: math.dist(*ends))
        turn = rotation.from_axis_angle(Y, -math.atan2(q[1] - p[1], q[0] - p[0]))
        middle, box = np.mean([at(p, y), at(q, y)], axis=0), 0.01 * math.dist(p, q) + 0.02
        shape = dy.Box(box, 0.02, 0.02, mass=mass)
        return mech.add_body(shape, name=name, position=middle, orientation=turn)

    def inside(body, place):
        return rotation.rotate(rotation.conjugate(body.orientation), place - body.position)

    def pin(one, two, p, y, **options):
        ends = {"parent_point": inside(one, at(p, y)), "child_point": inside(two, at(p, y))}
        mech.add_joint(dy.Revolute(one, two, axis=Y, **ends, **options))

    frame = add("frame", 0.0, (-A, -L), (A, -L), mass=6.0)
    shaft = add("shaft", 0.0, (-1, 0), (1, 0), mass=1.0)
    motor = dy.VelocityServo(damping=300.0, target=2 * math.pi * TURNS)
    pin(frame, shaft, (0, 0), 0.0, name="motor", servo=motor)
    for k in range(PHASES):
        angle, y = 2 * math.pi * k / PHASES, ACROSS * (k - (PHASES - 1) / 2) * 4
        crank = M * np.array([math.cos(angle), math.sin(angle)])
        for flip in (1.0, -1.0):
            tip, pivot, upper, lower, back, knee, foot = leg(crank, flip)
            side, y = f"{k} {'left' if flip > 0 else 'right'}", y + ACROSS * flip
            j, rod = add(f"{side} j", y, tip, upper), add(f"{side} k", y, tip, lower)
            hip, c = add(f"{side} hip", y, pivot, upper, back), add(f"{side} c", y, pivot, lower)
            f, shin = add(f"{side} f", y, back, knee), add(f"{side} shin", y, lower, knee, foot)
            for one, two, p in (
                (shaft, j, tip), (shaft, rod, tip), (frame, hip, pivot), (frame, c, pivot),
                (hip, j, upper), (c, rod, lower), (hip, f, back), (f, shin, knee), (c, shin, lower),
            ):  # fmt: skip
                pin(one, two, p, y)
            sole = inside(shin, at(foot, y))
            mech.add_contact(shin, shape=sole, friction=0.9, name=f"{side} foot")
    return mech.finalize(timestep)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", help="file for the page of the motion")
    page = parser.parse_args().page
    model = walker()
    start = dy.separate(model, model.initial_state())
    motion = dy.simulate(model, start, 6.0, every=4)
    place = motion.body("frame")[0]
    feet = [name for name in motion.contacts if str(name).endswith("foot")]
    down = np.mean([(motion.contact(name).normal_force > 1.0).mean() for name in feet])
    open_by = motion.constraint_violation().max()
    count = f"{len(model.bodies)} bodies, {len(model.mechanism.joints)} hinges"
    print(f"{count}, open by {open_by:.0e} m at most")
    print(f"walks {place[-1, 0] - place[0, 0]:.2f} m in 6 s; a foot is down {100 * down:.0f} %")
    assert place[-1, 0] - place[0, 0] > 2.0 and place[:, 2].min() > 0.7 and open_by < 1e-9
    motion.export_html(page) if page else None
