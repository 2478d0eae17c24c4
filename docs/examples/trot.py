"""A quadruped trots: inverse kinematics of one cycle of steps, which position servos follow.

python docs/examples/trot.py [robot.urdf] [--within FOLDER] [--page trot.html]

Names of files are those of Unitree's robots: FL_hip_joint, FL_thigh_joint, FL_calf_joint, FL_foot.
"""

import argparse
import warnings

import numpy as np

import dynamics as dy

LEGS = {"FL": (0.18, 0.12), "FR": (0.18, -0.12), "RL": (-0.18, 0.12), "RR": (-0.18, -0.12)}  # m
PERIOD, STRIDE, LIFT, RAMP = 0.3, 0.15, 0.05, 0.6  # s, m, m, s; the first steps grow
POSTURES = 20  # of a cycle
SERVO = dy.PositionServo(300.0, 8.0)  # N m/rad, N m s/rad
STANCE = {"hip": 0.0, "thigh": 0.8, "calf": -1.6}  # rad


def built():
    """Trunk of 8 kg and eight capsules, two joints per leg."""
    mech = dy.Mechanism()
    trunk = mech.add_body(dy.Box(0.4, 0.2, 0.1, mass=8.0), name="trunk")
    for leg, (x, y) in LEGS.items():
        above, point = trunk, (x, y, 0.0)
        for part in ("thigh", "calf"):
            bone = mech.add_body(dy.Capsule(0.02, 0.2, mass=0.5), name=f"{leg}_{part}")
            ends = {"parent_point": point, "child_point": (0.0, 0.0, 0.1), "servo": SERVO}
            mech.add_joint(dy.Revolute(above, bone, (0, 1, 0), name=f"{leg}_{part}_joint", **ends))
            above, point = bone, (0.0, 0.0, -0.1)
        mech.add_frame(f"{leg}_foot", bone, position=point)
        mech.add_contact(bone, name=f"ground|{leg}_foot")
    return mech


def loaded(path, within=None):
    """Robot of a file on the floor; where calves have no foot, it is 0.2 m below the knee."""
    with warnings.catch_warnings(action="ignore", category=dy.io.LoadWarning):  # see mech.report
        mech = dy.load(path, ground=True, actuated=SERVO, within=within)
    for leg in LEGS:
        if f"{leg}_foot" not in mech.frames:
            mech.add_frame(f"{leg}_foot", f"{leg}_calf", position=(0.0, 0.0, -0.2))
    return mech


def step(phase):
    """Where a foot is in its cycle, relative to where it stands, m: half of it on the ground."""
    if phase < 0.5:
        return np.array([STRIDE * (0.5 - 2.0 * phase), 0.0, 0.0])
    back = 2.0 * phase - 1.5
    return np.array([STRIDE * back, 0.0, LIFT * np.cos(np.pi * back) ** 2])


def trot(model, state, seconds):
    """Targets of servos, shape (steps, joints): FL and RR step together, FR and RL after them."""
    kinematics = dy.Kinematics(model)
    trunk = model.bodies[0]
    feet = {leg: kinematics.pose(state, f"{leg}_foot")[0] for leg in LEGS}
    names = [name for name, joint in model.mechanism.joints.items() if joint.servo]
    standing = [model.joint(state, name)[0].item() for name in names]
    cycle, phases = [], np.arange(POSTURES) / POSTURES
    for phase in phases:
        goals = {trunk: kinematics.pose(state, trunk)}
        for leg, at in feet.items():
            goals[f"{leg}_foot"] = at + step((phase + 0.5 * (leg in ("FR", "RL"))) % 1.0)
        state = kinematics.inverse(state, goals)
        cycle.append([model.joint(state, name)[0].item() for name in names])
    time = np.arange(model.timestep, seconds + 1e-9, model.timestep)
    angles = [np.interp(time, PERIOD * phases, q, period=PERIOD) for q in np.transpose(cycle)]
    return standing + np.minimum(time / RAMP, 1.0)[:, None] * (np.transpose(angles) - standing)


def walk(path=None, within=None, seconds=10.0):
    """Motion of a robot that begins to trot where it stands."""
    model = (loaded(path, within) if path else built()).finalize(0.005)
    state = model.initial_state()
    for name, joint in model.mechanism.joints.items():
        if joint.servo:
            model.set_joint(state, name, STANCE[name.split("_")[1]])
    state = dy.separate(model, state)  # lifts it out of the floor
    return dy.simulate(model, state, seconds, controls=trot(model, state, seconds), every=4)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?")
    parser.add_argument("--within", help="folder of packages with meshes")
    parser.add_argument("--page")
    given = parser.parse_args()
    motion = walk(given.path, given.within)
    way = np.ptp(motion.body(motion.model.bodies[0].name)[0][[0, -1]], axis=0)
    print("{:.2f} m ahead, {:.2f} m aside".format(*way))
    if given.page:
        motion.export_html(given.page)


if __name__ == "__main__":
    main()
