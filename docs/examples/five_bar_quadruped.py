"""A quadruped of five-bar legs trots: two coaxial motors turn the upper links of each leg.

python docs/examples/five_bar_quadruped.py [--speed 0.6] [--page trot.html]

Its legs are those of Minitaur (G. Kenneally, A. De and D. E. Koditschek, Design principles for a
family of direct-drive legged robots, IEEE Robotics and Automation Letters 1(2), 2016).
"""

import argparse

import numpy as np

import dynamics as dy
from dynamics import rotation

UPPER, LOWER, STANDS = 0.1, 0.2, 0.19  # m: links, and from hip to foot where it stands
HIPS = {"FL": (0.2, 0.15), "FR": (0.2, -0.15), "RL": (-0.2, 0.15), "RR": (-0.2, -0.15)}  # m
PERIOD, LIFT, RAMP = 0.25, 0.05, 1.0  # s, m, s in which the speed grows
MOST = 3.5  # N m, of a motor
SERVO = dy.PositionServo(120.0, 1.5, force_limit=MOST)  # N m/rad, N m s/rad


def angles(way):
    """Angles of a leg's motors, shape (..., 2), by the way (x, z) from hip to foot.

    Both upper links are at the same angle from the line to the foot, on either side of it.
    """
    length = np.hypot(way[..., 0], way[..., 1])
    side = np.arccos((UPPER**2 + length**2 - LOWER**2) / (2.0 * UPPER * length))
    middle = np.arctan2(-way[..., 0], -way[..., 1])
    return np.stack([middle + side, middle - side], axis=-1)


def built():
    """Trunk of 3.5 kg, sixteen links and a foot at each leg, where it stands."""
    mech = dy.Mechanism()
    place = {"position": (0.0, 0.0, STANDS), "orientation": (1.0, 0.0, 0.0, 0.0)}
    trunk = mech.add_body(dy.Box(0.44, 0.18, 0.08, mass=3.5), name="trunk", **place)
    for leg, (x, y) in HIPS.items():
        hip, foot = np.array([x, y, STANDS]), np.array([x, y, 0.0])
        for side, q in zip(("a", "b"), angles(np.array([0.0, -STANDS])), strict=True):
            knee = hip - UPPER * np.array([np.sin(q), 0.0, np.cos(q)])
            upper = bar(mech, f"{leg} upper {side}", hip, knee, 0.15)
            lower = bar(mech, f"{leg} lower {side}", knee, foot, 0.1)
            pin(mech, trunk, upper, hip, name=f"{leg} {side}", servo=SERVO)
            pin(mech, upper, lower, knee, name=f"{leg} knee {side}")
        pin(mech, mech.bodies[f"{leg} lower a"], lower, foot, name=f"{leg} foot")
        mech.add_contact(lower, shape=(0.0, 0.0, -LOWER / 2), friction=0.8, name=f"{leg} ground")
    return mech


def bar(mech, name, top, end, mass):
    """Capsule from one point to another, its z axis from the second to the first."""
    way = np.subtract(top, end)
    turn = rotation.from_axis_angle((0.0, 1.0, 0.0), np.arctan2(way[0], way[2]))
    shape = dy.Capsule(0.01, np.linalg.norm(way), mass=mass)
    return mech.add_body(shape, name=name, position=np.add(top, end) / 2, orientation=turn)


def pin(mech, parent, child, at, **options):
    """Hinge about y at a point of the posture in which the bodies are built."""

    def inside(body):
        return rotation.rotate(rotation.conjugate(body.orientation), at - body.position)

    ends = {"parent_point": inside(parent), "child_point": inside(child)}
    mech.add_joint(dy.Revolute(parent, child, (0.0, 1.0, 0.0), **ends, **options))


def step(phase, stride):
    """Way of a foot from where it stands, shape (..., 2), m: half of its cycle on the ground."""
    on = phase < 0.5
    back = 2.0 * phase - 1.5  # from -1/2 to 1/2 in the air
    ahead = np.where(on, 0.5 - 2.0 * phase, back + np.sin(2.0 * np.pi * back) / (2.0 * np.pi))
    return np.stack([stride * ahead, np.where(on, 0.0, LIFT * np.cos(np.pi * back) ** 2)], -1)


def targets(timestep, seconds, speed):
    """Angles of the motors by the joints' names, each of shape (steps,)."""
    time = np.arange(timestep, seconds + 1e-9, timestep)
    stride, found = np.minimum(time / RAMP, 1.0) * speed * PERIOD / 2, {}
    for leg in HIPS:
        phase = (time / PERIOD + 0.5 * (leg in ("FR", "RL"))) % 1.0
        q = angles(step(phase, stride) - (0.0, STANDS))
        found |= {f"{leg} a": q[:, 0], f"{leg} b": q[:, 1]}
    return found


def walk(seconds=10.0, speed=0.6, timestep=0.002):
    """Motion that begins where the robot stands."""
    model = built().finalize(timestep)
    state = dy.separate(model, model.initial_state())
    controls = targets(timestep, seconds, speed)
    return dy.simulate(model, state, seconds, controls=controls, every=round(0.02 / timestep))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--speed", type=float, default=0.6, help="m/s")
    parser.add_argument("--page")
    given = parser.parse_args()
    motion = walk(speed=given.speed)
    print("trunk at {:.2f}, {:.2f}, {:.2f} m after 10 s".format(*motion.body("trunk")[0][-1]))
    print(f"loops open by {motion.constraint_violation().max():.0e} m at most")
    if given.page:
        motion.export_html(given.page)


if __name__ == "__main__":
    main()
