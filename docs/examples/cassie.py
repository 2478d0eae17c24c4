"""Cassie walks: closed legs with springs, ten motors, and steps that are placed by feedback.

python docs/examples/cassie.py cassie_v2.sdf [--within FOLDER] [--speed 0.5] [--turn 0.0]

The file is that of example-robot-data. A step ends where its linear inverted pendulum needs it
(Khadiv et al., Walking control based on step timing adaptation, IEEE Trans. Robotics 36(3), 2020);
the hip of the leg that stands keeps the pelvis level. Tables of inverse kinematics give the rest.
"""

import argparse
import warnings
from dataclasses import replace

import numpy as np

import dynamics as dy
from dynamics import rotation

SIDES, SIGNS = ("left", "right"), (1.0, -1.0)
#: Torques in N m of the machine, as in its maker's model for MuJoCo: the file has none.
MOTORS = {
    "roll-op": 112.5, "yaw-op": 112.5, "pitch-op": 195.2, "knee-op": 195.2,
    "tarsus-crank-joint": 45.0,
}  # fmt: skip
STIFFNESS, DAMPING = 2000.0, 60.0  # of servos, N m/rad and N m s/rad
SPRINGS = ("knee-shin-joint", "tarsus-spring-joint")  # 1500 and 1250 N m/rad in the file
HALF, SOLE, RISE = 0.09, 0.0168, 0.0408  # m: of a foot's length, its radius, ankle above its middle
HIP, BACK, DROP = 0.135, 0.07, 0.0897  # m: axes of roll from the middle, of pitch from those
WIDTH, HEIGHT, SETTLED = 0.26, 0.9, 0.05  # m: between ankles, of the pelvis, of springs under load
PERIOD, FIRST, LIFT, RATE = 0.36, 0.2, 0.12, 3.5  # s, s, m, 1/s: of a step and of the pendulum
YG, YD, YM = 300.0, 30.0, 12.0
LEVEL = (1.0, 0.0, 0.0, 0.0)


def robot(path, within=None, rigid=False):
    """Mechanism and its posture in the file; ``rigid`` holds the springs."""
    servos = {
        f"{side}-{name}": dy.PositionServo(STIFFNESS, DAMPING, force_limit=most)
        for side in SIDES for name, most in MOTORS.items()
    }  # fmt: skip
    with warnings.catch_warnings(action="ignore", category=dy.io.LoadWarning):  # see mech.report
        mech = dy.load(path, ground=True, within=within, without=["limits"], actuated=servos)
    posture = mech.copy().finalize().initial_state()
    for side in SIDES:
        for name in (f"{side}-crank-rod-joint", f"{side}-achilles-spring-joint"):
            # hinges of the file, which are not parallel to the others of their loops
            old = mech.joints[name]
            points = {"parent_point": old.parent_point, "child_point": old.child_point}
            mech.joints[name] = replace(dy.Spherical(old.parent, old.child, damping=0.01, **points), name=name)
        for name in SPRINGS if rigid else ():
            held = np.array([[-1e-3, 1e-3]])
            mech.joints[f"{side}-{name}"] = replace(mech.joints[f"{side}-{name}"], limits=held)
        foot, ankle = mech.bodies[f"{side}-foot"], mech.joints[f"{side}-foot-op"]
        (shape,) = foot.collisions  # a cylinder
        tip = rotation.rotate(shape.orientation, HALF * np.array([0.0, 0.0, 1.0]))
        for name, point in (("heel", tip), ("sole", 0.0 * tip), ("toe", -tip)):
            mech.add_frame(f"{side} {name}", foot, position=shape.position + point)
        mech.add_frame(f"{side} ankle", foot, position=ankle.child_point)
        hip = mech.joints[f"{side}-roll-op"].parent_point
        mech.add_frame(f"{side} hip", mech.bodies["pelvis"], position=hip)
    return mech, posture


def tables(mech, posture):
    """Standing posture; lengths of the legs, their angles, and those of both sides' motors."""
    kinematics = dy.Kinematics(mech.finalize())
    state = kinematics.model.initial_state()
    state.pose[:] = posture.pose
    soles = {f"{side} sole": (0.02, sign * HIP, SOLE) for side, sign in zip(SIDES, SIGNS)}
    first = {name: kinematics.pose(state, name)[0] for name in ("pelvis", *soles)}
    for part in np.linspace(0.1, 1.0, 10):  # from the file's posture
        now = {name: (1.0 - part) * first[name] + part * np.array(soles[name]) for name in soles}
        height = (1.0 - part) * first["pelvis"] + part * np.array([0.0, 0.0, HEIGHT])
        state = kinematics.inverse(state, now | {"pelvis": (height, LEVEL)})
    names, start, found = [n for n, joint in mech.joints.items() if joint.servo], None, []
    for lift in (0.0, *np.linspace(-0.06, 0.26, 9)):
        goals = {"pelvis": ((0.0, 0.0, HEIGHT), LEVEL)}
        for side, sign in zip(SIDES, SIGNS):
            for end, along in (("heel", -HALF), ("toe", HALF)):
                goals[f"{side} {end}"] = (0.02 + along, sign * HIP, SOLE + lift)
        state = kinematics.inverse(state, goals)
        start = start or state
        x, _, z = np.subtract(*(kinematics.pose(state, f"left {at}")[0] for at in ("ankle", "hip")))
        motors = [kinematics.model.joint(state, name)[0].item() for name in names]
        found.append([np.hypot(x + BACK, z + DROP), np.arctan2(x + BACK, -z - DROP), *motors])
    return start, np.array(found[:0:-1])  # the longest leg last


class Walk:
    """Controller of `simulate`: targets of the servos of a model that `robot` made."""

    def __init__(self, model, table, speed, turn):
        self.timestep, self.table, self.speed, self.turn = model.timestep, table, speed, turn
        mech, masses = model.mechanism, np.array([body.mass for body in model.bodies])
        self.parts, self.pelvis = masses / masses.sum(), model.body_number("pelvis")
        self.joints = dy.JointSpace(model, [n for n, joint in mech.joints.items() if joint.servo])
        frames = [mech.frames[f"{side} {point}"] for point in ("hip", "ankle") for side in SIDES]
        self.points = [(model.body_number(one.body.name), one.position) for one in frames]
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

    def __call__(self, state, time):
        pose, twist, heading = state.pose, state.interval_velocity, self.turn * time
        points = np.array([pose[k, :3] + rotation.rotate(pose[k, 3:], at) for k, at in self.points])
        first = time >= self.end - 1e-9  # of a step
        if first:
            self.length = PERIOD if self.end else FIRST
            self.stands, self.begun, self.end = 1 - self.stands, time, time + self.length
            self.left = points[3 - self.stands]
        a, b = self.stands, 1 - self.stands
        # relative to the ankle that stands, in axes that turn with the pelvis but are level
        turned = rotation.to_matrix(pose[self.pelvis, 3:])
        yaw = np.arctan2(turned[1, 0], turned[0, 0])
        axes = rotation.to_matrix((np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2))).T
        turned = axes @ turned
        ankle, left = points[2 + a], axes @ (self.left - points[2 + a])
        hips, center = (points[:2] - ankle) @ axes.T, axes @ (self.parts @ pose[:, :3] - ankle)
        velocity, spin = axes @ (self.parts @ twist[:, :3]), turned @ twist[self.pelvis, 3:]
        # where the next step ends
        rest, grows = self.end - time, np.exp(RATE * PERIOD)
        wanted = min(1.0, time / 3.0) * self.speed * np.array([np.cos(heading), np.sin(heading)])
        self.path += self.timestep * wanted
        wanted = wanted + np.clip(0.3 * (self.path - self.parts @ pose[:, :2]), -0.15, 0.15)
        goal = (center + velocity / RATE)[:2] * np.exp(RATE * rest)
        goal -= axes[:2, :2] @ wanted * PERIOD / (grows - 1.0)
        goal[1] -= SIGNS[a] * WIDTH / (grows + 1.0)
        goal[1] = SIGNS[b] * np.clip(SIGNS[b] * goal[1], 0.12, 0.6)
        part = 1.0 - rest / self.length
        moved = min(part / 0.9, 1.0)
        way = left[:2] + moved**2 * (3.0 - 2.0 * moved) * (goal - left[:2])
        height = LIFT * np.sin(np.pi * part) - 0.01 * part
        down = np.array([*hips[a, :2], HEIGHT + SETTLED - SOLE - RISE])
        targets = np.empty((2, 5))
        targets[b] = self.leg(b, (*way, height) - hips[b], yaw - self.turn * self.end)
        targets[a] = self.leg(a, -down, 0.0)
        wished = np.zeros((2, 5)) if first else (targets - self.last) / self.timestep
        self.last = targets
        q, rates = (values.reshape(2, 5) for values in self.joints.read(state))
        torques = STIFFNESS * (targets - q) + DAMPING * (np.clip(wished, -8.0, 8.0) - rates)
        lag = heading - self.turn * self.begun - q[a, 1]
        torques[a, [0, 1, 2, 4]] = (
            SIGNS[a] * 50.0 * min(1.0, part / 0.15) - 800.0 * turned[1, 2] + 40.0 * spin[0],
            np.clip(YG * lag - YD * rates[a, 1], -YM, YM),
            -800.0 * turned[0, 2] - 40.0 * spin[1],
            0.0,
        )
        most = np.array(list(MOTORS.values()))
        return (q + (np.clip(torques, -most, most) + DAMPING * rates) / STIFFNESS).ravel()


def walk(path, within=None, seconds=10.0, speed=0.5, turn=0.0, timestep=0.002):
    """Motion from the posture of standing; the speed grows in three seconds."""
    start, table = tables(*robot(path, within, rigid=True))
    model = robot(path, within)[0].finalize(timestep)
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
