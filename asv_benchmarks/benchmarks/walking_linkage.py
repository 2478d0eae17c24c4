"""Theo Jansen's walker compared with MuJoCo: hinges of a tree, and soft ``connect`` for its loops.

``python -m benchmarks.walking_linkage`` in ``asv_benchmarks`` prints the table of docs/robots.md:
processor time of six seconds, and how far loops are open at most.
"""

import math
import sys
import time
from pathlib import Path

import numpy as np

import dynamics as dy
from dynamics import rotation

sys.path.insert(0, str(Path(__file__).parents[2] / "docs/examples"))
import jansen_walker as example

SECONDS, STEP = 6.0, 0.005
#: Attributes of ``connect`` and of geoms, and steps in s.
CASES = (
    ("", 5e-4), ('solref="0.004 1"', 2e-3), ('solref="0.001 1"', 2e-3), ('solref="0.001 1"', 5e-4),
    ('solref="0.0002 1" solimp="0.9999 0.9999 0.001"', 1e-4),
)  # fmt: skip


def numbers(values):
    return " ".join(map(repr, np.ravel(values).tolist()))


def mjcf(model, state, soft):
    """MJCF of the same bodies: joints in breadth-first order, those that are left as connects."""
    mech = model.mechanism
    poses = {body.name: state.pose[i] for i, body in enumerate(model.bodies)}
    hung, seen, waiting, left = {}, {"frame"}, ["frame"], list(mech.joints.values())
    while waiting:
        name = waiting.pop(0)
        for joint in [one for one in left if name in (one.parent.name, one.child.name)]:
            other = (joint.child if joint.parent.name == name else joint.parent).name
            if other not in seen:
                seen.add(other)
                waiting.append(other)
                left.remove(joint)
                hung.setdefault(name, []).append((other, joint))

    def body(name, parent, joint):
        pose, one = poses[name], mech.bodies[name]
        if parent is not None:
            back = rotation.conjugate(poses[parent][3:])
            place = rotation.rotate(back, pose[:3] - poses[parent][:3])
            pose = np.concatenate([place, rotation.multiply(back, pose[3:])])
        text = (
            f'<body name="{name}" pos="{numbers(pose[:3])}" quat="{numbers(pose[3:])}">'
            f'<inertial pos="0 0 0" mass="{one.mass!r}" '
            f'diaginertia="{numbers(np.diag(one.inertia))}"/>'
        )
        if joint is None:
            text += "<freejoint/>"
        else:
            at = joint.child_point if joint.child.name == name else joint.parent_point
            text += f'<joint name="{joint.name}" axis="0 1 0" pos="{numbers(at)}"/>'
        if name.endswith("shin"):
            text += f'<geom size="0.001" mass="0" conaffinity="2" pos="{numbers(soles[name])}"/>'
        return text + "".join(body(o, name, j) for o, j in hung.get(name, ())) + "</body>"

    soles = {name: sole(mech.bodies[name]) for name in poses if str(name).endswith("shin")}
    connects = "".join(
        f'<connect body1="{j.parent.name}" body2="{j.child.name}" '
        f'anchor="{numbers(j.parent_point)}" {soft}/>'
        for j in left
    )
    return f"""<mujoco><option integrator="implicitfast" cone="elliptic"/>
<default><geom {soft} friction="0.9 0 0"/></default><worldbody>
<geom type="plane" size="50 50 1" contype="2"/>{body("frame", None, None)}</worldbody>
<equality>{connects}</equality><actuator><velocity joint="motor" kv="300"/></actuator></mujoco>"""


def sole(shin):
    """Where the foot of a shin touches, in its frame."""
    number, side = shin.name.split()[:2]
    angle = 2 * math.pi * int(number) / example.PHASES
    tip = example.M * np.array([math.cos(angle), math.sin(angle)])
    x, z = 0.01 * example.leg(tip, 1.0 if side == "left" else -1.0)[-1]
    place = np.array([x, shin.position[1], z + example.HEIGHT])
    return rotation.rotate(rotation.conjugate(shin.orientation), place - shin.position)


def theirs(text, step):
    """Processor seconds of MuJoCo's own loop, the largest opening and the way, m."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(text)
    model.opt.timestep, steps, worst = step, round(SECONDS / step), 0.0
    data = mujoco.MjData(model)
    data.ctrl[:] = 2 * math.pi * example.TURNS
    start = time.process_time()
    mujoco.mj_step(model, data, steps)
    took, way = time.process_time() - start, data.body("frame").xpos[0]
    data = mujoco.MjData(model)
    data.ctrl[:] = 2 * math.pi * example.TURNS
    for _ in range(steps):
        mujoco.mj_step(model, data)
        worst = max(worst, np.abs(data.efc_pos[: data.ne]).max())
    return took, worst, way


def ours(model, state):
    """Processor seconds of `simulate`, the largest opening and the way, m."""
    start = time.process_time()
    dy.simulate(model, state, SECONDS, every=round(SECONDS / STEP))
    took = time.process_time() - start
    motion = dy.simulate(model, state, SECONDS)
    return took, motion.constraint_violation().max(), motion.body("frame")[0][-1, 0]


class WalkingLinkage:
    timeout = 300

    def setup(self):
        self.model = example.walker(timestep=STEP)
        self.state = dy.separate(self.model, self.model.initial_state())

    def time_six_seconds(self):
        dy.simulate(self.model, self.state, SECONDS, every=100)


def main():
    case = WalkingLinkage()
    case.setup()
    dy.simulate(case.model, case.state, 0.1)
    took, open_by, way = ours(case.model, case.state)
    print(f"dynamics, {STEP} s: {took:.2f} s, open by {open_by:.0e} m, walks {way:.1f} m")
    for soft, step in CASES:
        found, open_by, way = theirs(mjcf(case.model, case.state, soft), step)
        print(
            f"MuJoCo {soft or 'default'}, {step} s: {found:.2f} s, {found / took:.1f} times ours, "
            f"open by {open_by:.1e} m, walks {way:.1f} m"
        )


if __name__ == "__main__":
    main()
