"""A quadruped that stands and one that trots, with its controller in the joints, beside MuJoCo.

``python -m benchmarks.quadruped [a1.urdf]`` in ``asv_benchmarks`` prints the table, of the robot in
the file or of the generated one. MuJoCo has the same bodies, springs, dampers and controls; its
feet are spheres of a millimetre for points.
"""

import argparse
import time
import warnings

import numpy as np

import dynamics as dy
from dynamics import rotation
from dynamics.io import LoadWarning
from dynamics.zoo.robots import LEGS, LINK

from .contact_peers import SECONDS, H, Scene, as_deep, in_turns, show

RADIUS, STANCE = 1e-3, (0.0, 1.0, -1.5)
WORLD = """<mujoco><option timestep="{h!r}" integrator="Euler" cone="elliptic"/><worldbody>
<geom type="plane" size="50 50 1" friction=".2 0 0" {contact}/>{trunk}</worldbody>
<actuator>{motors}</actuator><sensor>{sensors}</sensor></mujoco>"""
FOOT = """<geom type="sphere" size="{radius}" pos="{at}" mass="0" friction=".2 0 0" {contact}/>
<site name="{leg}" pos="{at}"/>"""
HINGE = """<joint name="{name}" pos="{at}" axis="{axis}" stiffness="{stiffness}"
damping="{damping}"/>"""


def gait(walking):
    """Controls of all steps: diagonal legs move alike, the others half a turn behind, or stand."""
    time_ = H * (np.arange(round(SECONDS / H)) + 0.5)[:, None]
    angle = 6.0 * np.pi * time_ + np.pi * np.array([0, 1, 1, 0])
    target = np.tile(STANCE, (len(time_), 4, 1))
    if walking:
        target[:, :, 1] += 0.1 * np.cos(angle)
        target[:, :, 2] -= 0.4 * np.sin(angle)
    return np.tile([100.0, 80.0, 60.0], 4) * target.reshape(len(time_), 12)


def numbers(x):
    return " ".join(map(repr, np.asarray(x, float).tolist()))


def body_text(body, held, inside):
    """A body, its frame at its centre of mass as in `dynamics`, with what hangs on it inside."""
    J = body.inertia
    return (
        f'<body {held}<inertial pos="0 0 0" mass="{float(body.mass)!r}" fullinertia="'
        f'{numbers([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])}"/>{inside}</body>'
    )


def leg_text(mechanism, leg, contact):
    """Hip, thigh and calf, one inside the other."""
    inside = ""
    for part in ("calf", "thigh", "hip"):
        joint = mechanism.joints[f"{leg}_{part}_joint"]
        if part == "calf":
            at = numbers(joint.child_point - LINK * np.array([0.0, 0.0, 1.0]))
            inside = FOOT.format(radius=RADIUS, at=at, leg=leg, contact=contact)
        place = joint.parent_point - rotation.rotate(joint.offset, joint.child_point)
        axis = rotation.rotate(rotation.conjugate(joint.offset), joint.positions[0].axis)
        hinge = HINGE.format(
            name=joint.name, at=numbers(joint.child_point), axis=numbers(axis),
            stiffness=float(joint.stiffness[0]), damping=float(joint.damping[0]),
        )  # fmt: skip
        held = f'pos="{numbers(place)}" quat="{numbers(joint.offset)}">{hinge}'
        inside = body_text(joint.child, held, inside)
    return inside


def scene(walking, path=None):
    """The quadruped for ten seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoadWarning)
        model, state = dy.zoo.quadruped(dy.load(path) if path else None, timestep=H, stance=STANCE)
    mechanism = model.mechanism

    def text(h, contact):
        names = [f"{leg}_{part}_joint" for leg in LEGS for part in ("hip", "thigh", "calf")]
        legs = "".join(leg_text(mechanism, leg, contact) for leg in LEGS)
        return WORLD.format(
            h=h, contact=contact,
            trunk=body_text(mechanism.bodies["trunk"], "><freejoint/>", legs),
            motors="".join(f'<motor joint="{name}"/>' for name in names),
            sensors="".join(f'<framepos objtype="site" objname="{leg}"/>' for leg in LEGS),
        )  # fmt: skip

    def begin(data):
        data.qpos[:7] = state.pose[model.body_number("trunk")]
        data.qpos[2] += RADIUS
        data.qpos[7:] = np.tile(STANCE, 4)

    name = "quadruped trots" if walking else "quadruped stands"
    return Scene(name, model, state, text, begin, RADIUS, gait(walking))


class Quadruped:
    """A thousand steps, and their time over MuJoCo's at the same step and at a depth of 10 um."""

    params = (["stands", "trots"],)
    param_names = ("motion",)

    def setup(self, motion):
        self.scene = scene(motion == "trots")
        self.scene.ours()  # compile before the clock starts

    def time_simulate(self, motion):
        self.scene.ours()

    def track_iterations_per_step(self, motion):
        found = self.scene.ours()
        return found.info["iterations"] / found.info["steps"]


class AgainstMujoco:
    """The same over MuJoCo's time."""

    params = (["stands", "trots"],)
    param_names = ("motion",)
    timeout = 300

    def setup(self, motion):
        try:
            import mujoco  # noqa: F401
        except ImportError as error:
            raise NotImplementedError("mujoco is not installed") from error
        self.scene = scene(motion == "trots")

    def track_ratio_at_equal_step(self, motion):
        ours, theirs = in_turns(self.scene)
        return ours / theirs

    def track_ratio_at_equal_depth(self, motion):
        self.scene.ours()
        start = time.process_time()
        self.scene.ours()
        return (time.process_time() - start) / as_deep(self.scene)[2]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("path", nargs="?")
    show([scene(walking, parser.parse_args().path) for walking in (False, True)])
