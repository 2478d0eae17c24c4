"""Contacts: chains of spheres that fall on flat ground or from a slope, a box that drops.

``python -m benchmarks.contacts`` in ``asv_benchmarks`` prints the table; MuJoCo takes part where it
is installed, with its default contacts, its native loop, in the same process and in turns.
"""

import math
import time

import numpy as np

import dynamics as dy
from dynamics import rotation

H, SECONDS = 0.01, 10.0
WORLD = """<mujoco><option timestep="{h}" integrator="Euler" cone="elliptic"/>
<worldbody><geom type="plane" size="500 500 1" friction="{friction} 0 0"/>{bodies}</worldbody>
{extra}</mujoco>"""
BALL = """<body name="s{i}" pos="{x} 0 {z}" euler="0 {slope} 0"><freejoint/>
<geom type="sphere" size=".25" mass="1" friction=".5 0 0" contype="2"/></body>"""
TIE = '<connect body1="s{j}" body2="s{i}" anchor=".25 0 0"/>'
BOX = """<body name="box" pos="0 0 .65"><freejoint/>
<geom type="box" size=".25 .25 .25" mass="1" friction=".3 0 0"/></body>"""


def chain(n, degrees):
    """Spheres on ball joints, 1 m above the ground, sliding across: model and state."""
    mechanism, previous, slope = dy.Mechanism(), None, math.radians(degrees)
    for i in range(n):
        ball = mechanism.add_body(
            dy.Sphere(0.25, mass=1.0), name=f"s{i}",
            position=(0.5 * i * math.cos(slope), 0.0, 1.25 + 0.5 * i * math.sin(slope)),
            orientation=rotation.from_axis_angle((0, 1, 0), -slope),
        )  # fmt: skip
        mechanism.add_contact(ball, friction=0.5)
        if previous is not None:
            mechanism.add_joint(
                dy.Spherical(previous, ball, parent_point=(0.25, 0, 0), child_point=(-0.25, 0, 0))
            )
        previous = ball
    model = mechanism.finalize(H)
    state = model.initial_state()
    for name in mechanism.bodies:
        model.set_body(state, name, velocity=(0, 1, 0))
    return model, state


def box():
    """The cube of 0.5 m that drops 0.4 m: model and state."""
    mechanism = dy.Mechanism()
    cube = mechanism.add_body(dy.Box(0.5, 0.5, 0.5, mass=1.0), name="box", position=(0, 0, 0.65))
    mechanism.add_contact(cube, friction=0.3)
    model = mechanism.finalize(H)
    return model, model.initial_state()


def deepest(motion):
    """How far anything went below the ground, m; negative where it stayed above."""
    gaps = [motion.contact(name).gap.min() for name in motion.contacts]
    return -min(gaps)


def mujoco_scene(what, n=1, degrees=0):
    """The same scene in MuJoCo: model, and data at its start."""
    import mujoco

    slope, extra, friction = math.radians(degrees), "", 0.5
    if what == "box":
        bodies, friction = BOX, 0.3
    else:
        bodies = "".join(
            BALL.format(
                i=i, x=0.5 * i * math.cos(slope), z=1.25 + 0.5 * i * math.sin(slope),
                slope=-degrees,
            )
            for i in range(n)
        )  # fmt: skip
        ties = "".join(TIE.format(j=i - 1, i=i) for i in range(1, n))
        extra = f"<equality>{ties}</equality>"
    model = mujoco.MjModel.from_xml_string(
        WORLD.format(h=H, friction=friction, bodies=bodies, extra=extra)
    )
    data = mujoco.MjData(model)
    if what == "chain":
        data.qvel[1::6] = 1.0
    return model, data


def run_mujoco(what, n=1, degrees=0):
    """Processor seconds, and the deepest penetration in m, of ten seconds of MuJoCo."""
    import mujoco

    model, data = mujoco_scene(what, n, degrees)
    start = time.process_time()
    mujoco.mj_step(model, data, nstep=round(SECONDS / H))
    took = time.process_time() - start
    model, data = mujoco_scene(what, n, degrees)
    most = -np.inf
    for _ in range(round(SECONDS / H)):
        mujoco.mj_step(model, data)
        most = max(most, -data.contact.dist.min(initial=np.inf))
    return took, most


class SphereChain:
    """Ten seconds, flat (degrees 0) and from a slope."""

    params = ([1, 5, 20, 44], [0, 30])
    param_names = ("spheres", "degrees")

    def setup(self, n, degrees):
        self.model, self.state = chain(n, degrees)
        dy.simulate(self.model, self.state, H)  # compile before the clock starts

    def time_simulate(self, n, degrees):
        dy.simulate(self.model, self.state, SECONDS, every=1000)

    def track_iterations_per_step(self, n, degrees):
        motion = dy.simulate(self.model, self.state, SECONDS, every=1000)
        return motion.info["iterations"] / motion.info["steps"]

    def track_penetration(self, n, degrees):
        return deepest(dy.simulate(self.model, self.state, SECONDS))


class BoxDrop:
    """The cube that drops."""

    def setup(self):
        self.model, self.state = box()
        dy.simulate(self.model, self.state, H)

    def time_simulate(self):
        dy.simulate(self.model, self.state, SECONDS, every=1000)

    def track_penetration(self):
        return deepest(dy.simulate(self.model, self.state, SECONDS))


def table():
    """Rows of the table: name, ms, iterations a step, deepest in m; MuJoCo's ms and depth."""
    try:
        import mujoco as peer
    except ImportError:
        peer = None
    scenes = [("box", 1, 0)] + [("chain", n, d) for d in (0, 30) for n in (1, 5, 20, 44)]
    for what, n, degrees in scenes:
        model, state = box() if what == "box" else chain(n, degrees)
        dy.simulate(model, state, H)
        ours, theirs = [], [(np.nan, np.nan)]
        for _ in range(3):
            start = time.process_time()
            motion = dy.simulate(model, state, SECONDS, every=1000)
            ours.append(time.process_time() - start)
            if peer is not None:
                theirs.append(run_mujoco(what, n, degrees))
        steps = motion.info["iterations"] / motion.info["steps"]
        deep = deepest(dy.simulate(model, state, SECONDS))
        yield (
            f"{what} {n} {degrees}", 1e3 * min(ours), steps, deep,
            1e3 * np.nanmin([t for t, _ in theirs]), theirs[-1][1],
        )  # fmt: skip


if __name__ == "__main__":
    print("scene, ms, iterations a step, deepest m; MuJoCo's ms, deepest m")
    for row in table():
        print("{:12s} {:8.1f} {:6.2f} {:10.2e} {:8.1f} {:10.2e}".format(*row), flush=True)
