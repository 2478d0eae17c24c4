"""Walkers of closed linkages compared with MuJoCo: a tree of hinges, soft ``connect`` for loops.

``python -m benchmarks.walking_linkage`` in ``asv_benchmarks`` prints tables of
docs/robots_compared.md: CPU time of Theo Jansen's walker and of a quadruped with five-bar legs in
six seconds, and the largest loop violation.
"""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dynamics as dy
from dynamics import rotation

sys.path.insert(0, str(Path(__file__).parents[2] / "docs/examples"))
import five_bar_quadruped
import jansen_walker

from .usage import answer_help

SECONDS = 6.0
TIGHT = 'solref="0.0002 1" solimp="0.9999 0.9999 0.001"'


@dataclass(frozen=True)
class Walker:
    """A robot for both programs.

    Attributes
    ----------
    make : callable
        Its model by the timestep.
    steps : tuple of float
        Of `dynamics`, s.
    root : str
        The body that is free in MuJoCo.
    actuator : str
        Of MJCF, for a joint's name.
    controls : callable
        Controls of `dynamics` by name, by the timestep; those of one step or of each.
    commands : callable
        Targets of MuJoCo's actuators, likewise.
    cases : tuple
        Attributes of ``connect`` and of geoms, and steps in s, for MuJoCo.
    """

    make: object
    steps: tuple
    root: str
    actuator: str
    controls: object
    commands: object
    cases: tuple


WALKERS = {
    "Theo Jansen's walker": Walker(
        jansen_walker.walker, (0.005,), "frame", '<velocity joint="{}" kv="300"/>',
        lambda step: None, lambda step: {"motor": [2.0 * np.pi * jansen_walker.TURNS]},
        (("", 5e-4), ('solref="0.004 1"', 2e-3), ('solref="0.001 1"', 2e-3),
         ('solref="0.001 1"', 5e-4), (TIGHT, 1e-4)),
    ),
    "quadruped of five-bar legs": Walker(
        lambda step: five_bar_quadruped.built().finalize(step), (0.002, 0.005), "trunk",
        '<position joint="{}" kp="120" kv="1.5" forcerange="-3.5 3.5"/>',
        *2 * (lambda step: five_bar_quadruped.targets(step, SECONDS, 0.6),),
        (("", 2e-3), ("", 5e-4), ('solref="0.004 1"', 2e-3), ('solref="0.001 1"', 5e-4),
         (TIGHT, 1e-4)),
    ),
}  # fmt: skip


def numbers(values):
    return " ".join(map(repr, np.ravel(values).tolist()))


def mjcf(walker, model, state, soft):
    """MJCF of the same bodies: joints in breadth-first order, those that are left as connects."""
    mech = model.mechanism
    poses = {body.name: state.pose[i] for i, body in enumerate(model.bodies)}
    touch = {contact.child.name: contact for contact in mech.contacts.values()}
    hung, seen, waiting = {}, {walker.root}, [walker.root]
    left = list(mech.joints.values())
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
            angle = model.joint(state, joint.name)[0].item()
            text += f'<joint name="{joint.name}" axis="0 1 0" pos="{numbers(at)}" ref="{angle!r}"/>'
        if name in touch:
            point = numbers(touch[name].touches[0].other)
            text += f'<geom size="0.001" mass="0" conaffinity="2" pos="{point}"/>'
        return text + "".join(body(o, name, j) for o, j in hung.get(name, ())) + "</body>"

    friction = next(iter(touch.values())).friction
    connects = "".join(
        f'<connect body1="{j.parent.name}" body2="{j.child.name}" '
        f'anchor="{numbers(j.parent_point)}" {soft}/>'
        for j in left
    )
    motors = "".join(walker.actuator.format(j.name) for j in mech.joints.values() if j.servo)
    return f"""<mujoco><compiler angle="radian"/><option integrator="implicitfast" cone="elliptic"/>
<default><geom {soft} friction="{friction} 0 0"/></default><worldbody>
<geom type="plane" size="50 50 1" contype="2"/>{body(walker.root, None, None)}</worldbody>
<equality>{connects}</equality><actuator>{motors}</actuator></mujoco>"""


def theirs(walker, text, step):
    """Processor seconds of MuJoCo's own loop, the largest opening and the way, m."""
    from mujoco import MjData, MjModel, mj_getState, mj_step, mjtState
    from mujoco.rollout import rollout

    model = MjModel.from_xml_string(text)
    model.opt.timestep, steps, worst = step, round(SECONDS / step), 0.0
    data, kind = MjData(model), mjtState.mjSTATE_FULLPHYSICS
    targets = np.zeros((steps, model.nu))
    for name, values in walker.commands(step).items():
        targets[:, model.joint(name).id == model.actuator_trnid[:, 0]] = np.reshape(values, (-1, 1))
    first = np.empty(model.nq + model.nv + model.na + 1)
    mj_getState(model, data, first, kind)
    start = time.process_time()
    rollout(model, data, first, targets)
    took, data = time.process_time() - start, MjData(model)
    for row in targets:
        data.ctrl[:] = row
        mj_step(model, data)
        worst = max(worst, np.abs(data.efc_pos[: data.ne]).max())
    return took, worst, data.body(walker.root).xpos[0]


def ours(walker, model, state):
    """Processor seconds of `simulate`, the largest opening and the way, m."""
    controls, steps = walker.controls(model.timestep), round(SECONDS / model.timestep)
    dy.simulate(model, state, SECONDS, controls=controls, every=steps)
    start = time.process_time()
    dy.simulate(model, state, SECONDS, controls=controls, every=steps)
    took = time.process_time() - start
    motion = dy.simulate(model, state, SECONDS, controls=controls)
    return took, motion.constraint_violation().max(), motion.body(walker.root)[0][-1, 0]


class WalkingLinkage:
    params = list(WALKERS)
    timeout = 300

    def setup(self, name):
        self.walker = WALKERS[name]
        self.model = self.walker.make(self.walker.steps[0])
        self.state = dy.separate(self.model, self.model.initial_state())
        self.controls = self.walker.controls(self.model.timestep)

    def time_six_seconds(self, name):
        dy.simulate(self.model, self.state, SECONDS, controls=self.controls, every=100)


def main():
    for name, walker in WALKERS.items():
        print(name)
        for step in walker.steps:
            model = walker.make(step)
            state = dy.separate(model, model.initial_state())
            took, open_by, way = ours(walker, model, state)
            print(f"dynamics, {step} s: {took:.2f} s, open by {open_by:.0e} m, walks {way:.1f} m")
        for soft, step in walker.cases:
            found, open_by, way = theirs(walker, mjcf(walker, model, state, soft), step)
            print(
                f"MuJoCo {soft or 'default'}, {step} s: {found:.2f} s, {found / took:.1f} times "
                f"the last one, open by {open_by:.1e} m, walks {way:.1f} m"
            )


if __name__ == "__main__":
    answer_help(__doc__)
    main()
