"""Cassie walks: steps are placed by feedback, and reach motors through springs and closed loops.

python docs/examples/cassie_walk.py cassie_v2.sdf [--within FOLDER] [--speed 0.5] [--turn 0.0]

A foot is set down where the linear inverted pendulum needs it for the speed (Khadiv et al., Walking
control based on step timing adaptation, IEEE Trans. Robotics 36(3), 2020). The hip of the leg that
stands keeps the pelvis level, its knee the height; its ankle is free.
"""

import argparse

import cassie
import numpy as np
from cassie import BACK, DAMPING, DROP, SIDES, SIGNS, STIFFNESS

import dynamics as dy
from dynamics import rotation

PERIOD, FIRST, LIFT = 0.36, 0.2, 0.1  # s, s, m: of a step, the first one, and the foot that swings
WIDTH, ABOVE = 0.22, 0.8924  # m: between ankles, and of the hips above them without load
RATE = 3.5  # 1/s, of the pendulum: its height is 0.8 m
UPRIGHT, HEADING = (800.0, 40.0), (300.0, 30.0)  # N m/rad and N m s/rad, of the hip that stands
CARRY, TWIST = 50.0, 20.0  # N m: weight of the other leg, and most that turns the pelvis
RAMP, LAG = 3.0, 0.3  # s in which the speed grows, and 1/s by which a lag is made up


class Walk:
    """Controller of `simulate`: targets of the servos from the state."""

    def __init__(self, model, table, speed, turn):
        self.timestep, self.table, self.speed, self.turn = model.timestep, table, speed, turn
        mech, masses = model.mechanism, np.array([body.mass for body in model.bodies])
        self.parts, self.pelvis = masses / masses.sum(), model.body_number("pelvis")
        self.joints = dy.JointSpace(model, [n for n, joint in mech.joints.items() if joint.servo])
        frames = [mech.frames[f"{side} {point}"] for point in ("hip", "ankle") for side in SIDES]
        self.points = [(model.body_number(one.body.name), one.position) for one in frames]
        self.most = np.array(list(cassie.MOTORS.values()))
        self.stands, self.end, self.path = 1, 0.0, np.zeros(2)

    def leg(self, side, way, yaw):
        """Angles of a leg's motors by the way from hip to ankle; pelvis and foot are level."""
        ahead, down = way[0] + BACK, np.hypot(way[1], way[2]) - DROP
        columns = self.table[:, [1, *range(2 + 5 * side, 7 + 5 * side)]].T
        length = np.hypot(ahead, down)
        angle, *q = (np.interp(length, self.table[:, 0], column) for column in columns)
        turned = np.arctan2(ahead, down) - angle
        roll = np.arctan2(way[1] + ahead * np.sin(yaw), -way[2])
        return np.array(q) + (roll, yaw, turned, 0.0, -SIGNS[side] * turned)

    def foothold(self, ankle, velocity, wanted, rest):
        """Place of the next ankle, from the center of mass as is `ankle` of the leg that stands.

        The divergent component of motion, x + x' / RATE, grows from that ankle. At the end of the
        step the next one is as far from it as steps of this length and width need to repeat.
        """
        end = (velocity[:2] / RATE - ankle[:2]) * np.exp(RATE * rest)
        grows = np.exp(RATE * PERIOD)
        goal = end - wanted * PERIOD / (grows - 1.0)
        goal[1] -= SIGNS[self.stands] * WIDTH / (grows + 1.0)
        goal[1] = -SIGNS[self.stands] * np.clip(-SIGNS[self.stands] * goal[1], 0.12, 0.6)
        return ankle[:2] + goal

    def __call__(self, state, time):
        pose, twist = state.pose, state.interval_velocity
        points = np.array([pose[k, :3] + rotation.rotate(pose[k, 3:], at) for k, at in self.points])
        first, heading = time >= self.end - 1e-9, self.turn * time  # the first of a step
        if first:
            self.length = PERIOD if self.end else FIRST
            self.stands, self.begun, self.end = 1 - self.stands, time, time + self.length
            self.left = points[3 - self.stands]
        a, b = self.stands, 1 - self.stands  # the leg that stands and the one that swings
        # axes that turn with the pelvis but are level, and vectors from the center of mass
        turned = rotation.to_matrix(pose[self.pelvis, 3:])
        yaw = np.arctan2(turned[1, 0], turned[0, 0])
        axes = rotation.to_matrix((np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2))).T
        turned, velocity = axes @ turned, axes @ (self.parts @ twist[:, :3])
        center, spin = self.parts @ pose[:, :3], turned @ twist[self.pelvis, 3:]
        *hips, left_ankle, right_ankle, left = (np.vstack([points, self.left]) - center) @ axes.T
        ankle = (left_ankle, right_ankle)[a]
        # the speed that also makes up for a lag, and the step
        wanted = min(1.0, time / RAMP) * self.speed * np.array([np.cos(heading), np.sin(heading)])
        self.path += self.timestep * wanted
        wanted = wanted + np.clip(LAG * (self.path - center[:2]), -0.15, 0.15)
        goal = self.foothold(ankle, velocity, axes[:2, :2] @ wanted, self.end - time)
        part = 1.0 - (self.end - time) / self.length
        moved = min(part / 0.9, 1.0)
        swing = left[:2] + moved**2 * (3.0 - 2.0 * moved) * (goal - left[:2])
        height = ankle[2] + LIFT * np.sin(np.pi * part) - 0.01 * part
        targets = np.empty((2, 5))
        targets[a] = self.leg(a, np.array([*(ankle - hips[a])[:2], -ABOVE]), 0.0)
        landing = np.remainder(yaw - self.turn * self.end + np.pi, 2.0 * np.pi) - np.pi
        targets[b] = self.leg(b, (*swing, height) - hips[b], landing)
        wished = np.zeros((2, 5)) if first else (targets - self.last) / self.timestep
        self.last = targets
        # torques of all motors; in the leg that stands only the knee follows its target
        q, rates = (values.reshape(2, 5) for values in self.joints.read(state))
        torques = STIFFNESS * (targets - q) + DAMPING * (np.clip(wished, -8.0, 8.0) - rates)
        carry = SIGNS[a] * CARRY * min(1.0, part / 0.15)
        back = heading - self.turn * self.begun - q[a, 1]
        torques[a, [0, 1, 2, 4]] = (
            carry - UPRIGHT[0] * turned[1, 2] + UPRIGHT[1] * spin[0],
            np.clip(HEADING[0] * back - HEADING[1] * rates[a, 1], -TWIST, TWIST),
            -UPRIGHT[0] * turned[0, 2] - UPRIGHT[1] * spin[1],
            0.0,
        )
        return (q + (np.clip(torques, -self.most, self.most) + DAMPING * rates) / STIFFNESS).ravel()


def walk(path, within=None, seconds=10.0, speed=0.5, turn=0.0, timestep=0.004):
    """Motion from the posture of standing; the speed grows in three seconds."""
    start, table = cassie.tables(*cassie.robot(path, within, rigid=True))
    model = cassie.robot(path, within)[0].finalize(timestep)
    state = model.initial_state()
    state.pose[:] = start.pose
    controller = Walk(model, table, speed, turn)
    return dy.simulate(model, dy.separate(model, state), seconds, controller=controller, every=5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path")
    parser.add_argument("--within")
    parser.add_argument("--speed", type=float, default=0.5, help="m/s")
    parser.add_argument("--turn", type=float, default=0.0, help="rad/s")
    parser.add_argument("--page")
    given = parser.parse_args()
    motion = walk(given.path, given.within, speed=given.speed, turn=given.turn)
    print("pelvis at {:.3f}, {:.3f}, {:.3f} m".format(*motion.frame("pelvis")[0][-1]))
    if given.page:
        motion.export_html(given.page)


if __name__ == "__main__":
    main()
