"""Cassie stands, and then steps in place: closed legs with springs, ten position servos.

python docs/examples/cassie.py cassie_v2.sdf [--within FOLDER] [--page cassie.html]

The file is that of example-robot-data. Inverse kinematics of the legs without their springs gives
the postures of a cycle; no feedback but that of the servos keeps the balance.
"""

import argparse
import warnings
from dataclasses import replace

import numpy as np

import dynamics as dy
from dynamics import rotation

SIDES = {"left": 1.0, "right": -1.0}
MOTORS = ("roll-op", "yaw-op", "pitch-op", "knee-op", "tarsus-crank-joint")
SPRINGS = ("knee-shin-joint", "tarsus-spring-joint")  # 1500 and 1250 N m/rad in the file
SERVO = dy.PositionServo(2000.0, 60.0)  # N m/rad, N m s/rad
HEIGHT, WIDTH, AHEAD, SOLE = 0.9, 0.2, 0.023, 0.0168  # m, of the pelvis and the feet
HALF = 0.09  # m, of a foot's length
PERIOD, LIFT, POSTURES = 0.28, 0.14, 16  # s, m, and postures of a cycle
LEVEL = (1.0, 0.0, 0.0, 0.0)


def robot(path, within=None, rigid=False):
    """Mechanism and its posture in the file; ``rigid`` holds the springs."""
    servos = {f"{side}-{name}": SERVO for side in SIDES for name in MOTORS}
    with warnings.catch_warnings(action="ignore", category=dy.io.LoadWarning):  # see mech.report
        mech = dy.load(path, ground=True, within=within, without=["limits"], actuated=servos)
    posture = mech.copy().finalize().initial_state()
    for side in SIDES:
        for name in (f"{side}-crank-rod-joint", f"{side}-achilles-spring-joint"):
            # hinges of the file, which are not parallel to the others of their loops
            old = mech.joints[name]
            points = {"parent_point": old.parent_point, "child_point": old.child_point}
            mech.joints[name] = replace(dy.Spherical(old.parent, old.child, **points), name=name)
        for name in SPRINGS if rigid else ():
            held = np.array([[-1e-3, 1e-3]])
            mech.joints[f"{side}-{name}"] = replace(mech.joints[f"{side}-{name}"], limits=held)
        foot = mech.bodies[f"{side}-foot"]
        (shape,) = foot.collisions  # a cylinder
        tip = rotation.rotate(shape.orientation, HALF * np.array([0.0, 0.0, 1.0]))
        for name, point in (("heel", tip), ("sole", 0.0 * tip), ("toe", -tip)):
            mech.add_frame(f"{side} {name}", foot, position=shape.position + point)
    return mech, posture


def goals(lifts):
    """Places of pelvis, heels and toes with feet so far above the ground."""
    found = {"pelvis": ((0.0, 0.0, HEIGHT), LEVEL)}
    for (side, sign), lift in zip(SIDES.items(), lifts):
        for end, along in (("heel", -HALF), ("toe", HALF)):
            found[f"{side} {end}"] = (AHEAD + along, sign * WIDTH, SOLE + lift)
    return found


def postures(mech, posture):
    """Standing posture, and angles of the servos in a cycle: one foot rises after the other."""
    kinematics = dy.Kinematics(mech.finalize())
    state = kinematics.model.initial_state()
    state.pose[:] = posture.pose
    soles = {f"{side} sole": (AHEAD, sign * WIDTH, SOLE) for side, sign in SIDES.items()}
    first = {name: kinematics.pose(state, name)[0] for name in ("pelvis", *soles)}
    for part in np.linspace(0.1, 1.0, 10):  # from the file's posture
        now = {name: (1.0 - part) * first[name] + part * np.array(soles[name]) for name in soles}
        height = (1.0 - part) * first["pelvis"] + part * np.array([0.0, 0.0, HEIGHT])
        state = kinematics.inverse(state, now | {"pelvis": (height, LEVEL)})
    state = kinematics.inverse(state, goals((0.0, 0.0)))
    names = [name for name, joint in mech.joints.items() if joint.servo]
    found, start = [], state
    for phase in np.arange(POSTURES) / POSTURES:
        lift = LIFT * np.sin(2.0 * np.pi * phase) ** 2
        state = kinematics.inverse(state, goals((lift, 0.0) if phase >= 0.5 else (0.0, lift)))
        found.append([kinematics.model.joint(state, name)[0].item() for name in names])
    return start, np.array(found)


def walk(path, within=None, timestep=0.004, seconds=10.0):
    """Motion of two seconds of standing and some of steps that grow in the first 1.5."""
    start, cycle = postures(*robot(path, within, rigid=True))
    model = robot(path, within)[0].finalize(timestep)
    state = model.initial_state()
    state.pose[:] = start.pose
    time = timestep * np.arange(1, round((2.0 + seconds) / timestep) + 1) - 2.0
    phases = PERIOD / POSTURES * np.arange(POSTURES)
    angles = np.transpose([np.interp(time, phases, q, period=PERIOD) for q in cycle.T])
    grown = np.clip(time / 1.5, 0.0, 1.0)[:, None]
    targets = cycle[0] + grown * (angles - cycle[0])
    return dy.simulate(model, dy.separate(model, state), 2.0 + seconds, controls=targets, every=5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path")
    parser.add_argument("--within")
    parser.add_argument("--page")
    given = parser.parse_args()
    motion = walk(given.path, given.within)
    lifts = [motion.frame(f"{side} toe")[0][:, 2].max() - SOLE for side in SIDES]
    print("pelvis at {:.3f}, {:.3f}, {:.3f} m;".format(*motion.frame("pelvis")[0][-1]), end=" ")
    print("toes rise by {:.3f} and {:.3f} m".format(*lifts))
    if given.page:
        motion.export_html(given.page)


if __name__ == "__main__":
    main()
