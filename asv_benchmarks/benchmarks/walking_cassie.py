"""Cassie walks compared with MuJoCo: the same controller, and soft ``connect`` for the loops.

``python -m benchmarks.walking_cassie cassie_v2.sdf --within FOLDER`` in ``asv_benchmarks`` prints
the table of docs/robots_compared.md: CPU time of ten seconds, and the largest loop violation.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import dynamics as dy
from dynamics import rotation

sys.path.insert(0, str(Path(__file__).parents[2] / "docs/examples"))
import cassie
from cassie_walk import Walk

SECONDS, SPEED = 10.0, 0.5
#: Attributes of ``connect`` and of geoms, and steps in s.
CASES = (
    ("", 4e-3), ("", 2e-3), ("", 1e-3), ('solref="0.004 1"', 2e-3), ('solref="0.002 1"', 1e-3),
    ('solref="0.001 1"', 5e-4), ('solref="0.0002 1" solimp="0.9999 0.9999 0.001"', 1e-4),
)  # fmt: skip


def numbers(values):
    return " ".join(map(repr, np.ravel(values).tolist()))


def mjcf(model, state, soft):
    """MJCF of the same bodies: joints in breadth-first order, those that are left as connects."""
    mech = model.mechanism
    poses = {body.name: state.pose[i] for i, body in enumerate(model.bodies)}
    hung, seen, waiting, left = {}, {"pelvis"}, ["pelvis"], list(mech.joints.values())
    while waiting:
        name = waiting.pop(0)
        for joint in [one for one in left if one.parent.name == name]:
            if joint.child.name not in seen:
                seen.add(joint.child.name)
                waiting.append(joint.child.name)
                left.remove(joint)
                hung.setdefault(name, []).append(joint)

    def body(name, parent, joint):
        pose, one = poses[name], mech.bodies[name]
        if parent is not None:
            back = rotation.conjugate(poses[parent][3:])
            place = rotation.rotate(back, pose[:3] - poses[parent][:3])
            pose = np.concatenate([place, rotation.multiply(back, pose[3:])])
        inertia = one.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        text = (
            f'<body name="{name}" pos="{numbers(pose[:3])}" quat="{numbers(pose[3:])}">'
            f'<inertial pos="0 0 0" mass="{one.mass!r}" fullinertia="{numbers(inertia)}"/>'
        )
        if joint is None:
            text += "<freejoint/>"
        else:
            kind = 'type="ball"'
            if joint.kind == "revolute":
                angle = model.joint(state, joint.name)[0].item()
                kind = (
                    f'axis="{numbers(joint.positions[0].axis)}" ref="{angle!r}" '
                    f'stiffness="{joint.stiffness[0]}" springref="{joint.rest[0]}"'
                )
            text += (
                f'<joint name="{joint.name}" {kind} pos="{numbers(joint.child_point)}" '
                f'damping="{joint.damping[0]}"/>'
            )
        if name.endswith("-foot"):
            (shape,) = one.collisions
            text += (
                f'<geom type="cylinder" size="{shape.shape.radius} {shape.shape.length / 2}" '
                f'mass="0" pos="{numbers(shape.position)}" quat="{numbers(shape.orientation)}"/>'
            )
        inside = (body(one.child.name, name, one) for one in hung.get(name, ()))
        return text + "".join(inside) + "</body>"

    connects = "".join(
        f'<connect body1="{j.parent.name}" body2="{j.child.name}" '
        f'anchor="{numbers(j.parent_point)}" {soft}/>'
        for j in left
    )
    servos = "".join(
        f'<position joint="{name}" kp="{cassie.STIFFNESS}" kv="{cassie.DAMPING}" '
        f'forcerange="{-joint.servo.force_limit} {joint.servo.force_limit}"/>'
        for name, joint in mech.joints.items() if joint.servo
    )  # fmt: skip
    return f"""<mujoco><compiler angle="radian"/>
<option integrator="implicitfast" cone="elliptic"/><default><geom {soft} friction="0.5 0 0"
contype="1" conaffinity="2"/></default><worldbody>
<geom type="plane" size="50 50 1" contype="2" conaffinity="1"/>{body("pelvis", None, None)}
</worldbody><equality>{connects}</equality><actuator>{servos}</actuator></mujoco>"""


class Joints:
    """Angles and rates of MuJoCo's motors, as `dynamics.JointSpace` gives ours."""

    def __init__(self, model, names):
        joints = [model.joint(name) for name in names]
        self.places = [one.qposadr[0] for one in joints], [one.dofadr[0] for one in joints]

    def read(self, data):
        return data.qpos[self.places[0]], data.qvel[self.places[1]]


class Seen:
    """MuJoCo's state as the controller reads ours."""

    def __init__(self, model, ours):
        self.bodies = [model.body(body.name).id for body in ours.bodies]
        self.pose = np.zeros((len(self.bodies), 7))
        self.interval_velocity = np.zeros((len(self.bodies), 6))
        self.found = np.zeros(6)

    def update(self, mujoco, model, data):
        self.data, self.qpos, self.qvel = data, data.qpos, data.qvel
        self.pose[:, :3], self.pose[:, 3:] = data.xpos[self.bodies], data.xquat[self.bodies]
        for row, body in zip(self.interval_velocity, self.bodies):
            kind = mujoco.mjtObj.mjOBJ_BODY
            mujoco.mj_objectVelocity(model, data, kind, body, self.found, 0)
            row[:3] = self.found[3:]
            row[3:] = data.xmat[body].reshape(3, 3).T @ self.found[:3]


def theirs(text, step, ours, table):
    """Processor seconds of MuJoCo's steps, the largest opening, and pelvis at the end."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(text)
    model.opt.timestep, data = step, mujoco.MjData(model)
    walk, seen = Walk(ours, table, SPEED, 0.0), Seen(model, ours)
    walk.timestep, walk.joints, worst, took = step, Joints(model, walk.joints.names), 0.0, 0.0
    mujoco.mj_forward(model, data)
    for k in range(round(SECONDS / step)):
        seen.update(mujoco, model, data)
        data.ctrl[:] = walk(seen, k * step)
        start = time.process_time()
        mujoco.mj_step(model, data)
        took += time.process_time() - start
        worst = max(worst, np.abs(data.efc_pos[: data.ne]).max())
        if data.body("pelvis").xpos[2] < 0.6:
            break
    return took / ((k + 1) * step), worst, data.body("pelvis").xpos, (k + 1) * step


def run_ours(model, state, table):
    """Processor seconds of the run without the controller's, the opening, and the pelvis."""
    walk, targets = Walk(model, table, SPEED, 0.0), []

    def controller(now, time_now):
        targets.append(walk(now, time_now))
        return targets[-1]

    motion = dy.simulate(model, state, SECONDS, controller=controller)
    start = time.process_time()
    dy.simulate(model, state, SECONDS, controls=np.array(targets), every=100)
    took = time.process_time() - start
    return took / SECONDS, motion.constraint_violation().max(), motion.body("pelvis")[0][-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("path")
    parser.add_argument("--within")
    given = parser.parse_args()
    start, table = cassie.tables(*cassie.robot(given.path, given.within, rigid=True))
    for step in (4e-3, 2e-3, 1e-3):
        model = cassie.robot(given.path, given.within)[0].finalize(step)
        state = model.initial_state()
        state.pose[:] = start.pose
        state = dy.separate(model, state)
        dy.simulate(model, state, 10 * step)
        took, open_by, at = run_ours(model, state, table)
        print(f"dynamics, {step} s: {took:.3f} s/s, open by {open_by:.0e} m, at {at.round(2)}")
    for soft, step in CASES:
        took, open_by, at, seconds = theirs(mjcf(model, state, soft), step, model, table)
        print(
            f"MuJoCo {soft or 'default'}, {step} s: {took:.3f} s/s, open by {open_by:.1e} m, "
            f"after {seconds:.1f} s at {at.round(2)}", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
