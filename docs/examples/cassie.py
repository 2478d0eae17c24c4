"""Cassie: closed legs with springs, from the SDF file of example-robot-data; cassie_walk.py walks.

Inverse kinematics with held springs gives the posture and the angles of motors that it starts with.
"""

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
HALF, SOLE, HEIGHT = 0.09, 0.0168, 0.9  # m: of a foot's length, its radius, the hips
HIP, BACK, DROP = 0.135, 0.07, 0.0897  # m: axes of roll from the middle, of pitch from those
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
            # hinges of the file, which are not parallel to the others of their loops; the damping
            # is that of its balls, as rods between two balls spin
            old = mech.joints[name]
            points = {"parent_point": old.parent_point, "child_point": old.child_point}
            ball = dy.Spherical(old.parent, old.child, damping=0.01, **points)
            mech.joints[name] = replace(ball, name=name)
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
    """Standing posture, and a table of legs with level feet.

    A row: length and angle from the axis of pitch to the ankle, and the angles of ten motors.
    """
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
