"""Contacts: chains of spheres that fall on flat ground or from a slope, a box that drops.

``python -m benchmarks.contacts`` in ``asv_benchmarks`` prints the table, beside MuJoCo at the same
step with its default contacts, and at its stiffest with the step at which nothing goes deeper than
10 um (`contact_peers`).
"""

import math
import time

import numpy as np

import dynamics as dy
from dynamics import rotation

from .contact_peers import SECONDS, H, Scene, show
from .usage import answer_help

WORLD = """<mujoco><option timestep="{h!r}" integrator="Euler" cone="elliptic"/>
<worldbody><geom type="plane" size="500 500 1" friction="{friction} 0 0" {contact}/>{bodies}
</worldbody><equality>{ties}</equality><sensor>{sensors}</sensor></mujoco>"""
BALL = """<body name="s{i}" pos="{x!r} 0 {z!r}" euler="0 {slope} 0"><freejoint/><site name="p{i}"/>
<geom type="sphere" size=".25" mass="1" friction=".5 0 0" contype="2" {contact}/></body>"""
TIE = '<connect body1="s{j}" body2="s{i}" anchor=".25 0 0" {contact}/>'
BOX = """<body pos="0 0 .65"><freejoint/>{corners}
<geom type="box" size=".25 .25 .25" mass="1" friction=".3 0 0" {contact}/></body>"""
SENSOR = '<framepos objtype="site" objname="p{i}"/>'


def chain(n, degrees, across=1.0):
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
        model.set_body(state, name, velocity=(0, across, 0))
    return model, state


def box():
    """The cube of 0.5 m that drops 0.4 m: model and state."""
    mechanism = dy.Mechanism()
    cube = mechanism.add_body(dy.Box(0.5, 0.5, 0.5, mass=1.0), name="box", position=(0, 0, 0.65))
    mechanism.add_contact(cube, friction=0.3)
    model = mechanism.finalize(H)
    return model, model.initial_state()


def chain_scene(n, degrees):
    """Spheres in both, tied by `connect` in MuJoCo: faster there than ball joints, and as deep."""
    model, state = chain(n, degrees)
    slope = math.radians(degrees)

    def text(h, contact):
        bodies = "".join(
            BALL.format(
                i=i, x=0.5 * i * math.cos(slope), z=1.25 + 0.5 * i * math.sin(slope),
                slope=-degrees, contact=contact,
            )
            for i in range(n)
        )  # fmt: skip
        return WORLD.format(
            h=h, friction=0.5, contact=contact, bodies=bodies,
            ties="".join(TIE.format(j=i - 1, i=i, contact=contact) for i in range(1, n)),
            sensors="".join(SENSOR.format(i=i) for i in range(n)),
        )  # fmt: skip

    def begin(data):
        data.qvel[1::6] = 1.0

    return Scene(f"{n} spheres, {degrees} deg", model, state, text, begin, 0.25)


def box_scene():
    """The cube in both."""

    def text(h, contact):
        ends = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T * 0.25
        corners = "".join(
            f'<site name="p{i}" pos="{x} {y} {z}"/>' for i, (x, y, z) in enumerate(ends)
        )
        return WORLD.format(
            h=h, friction=0.3, contact=contact, ties="",
            bodies=BOX.format(corners=corners, contact=contact),
            sensors="".join(SENSOR.format(i=i) for i in range(8)),
        )  # fmt: skip

    return Scene("box", *box(), text, lambda data: None, 0.0)


def deepest(motion):
    """How far anything went below the ground, m; negative where it stayed above."""
    gaps = [motion.contact(name).gap.min() for name in motion.contacts]
    return -min(gaps)


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


def stack(n):
    """Cubes of 0.5 m, each turned by 30 degrees on the one below: model and state."""
    mechanism, below = dy.Mechanism(), ()
    for k in range(n):
        cube = mechanism.add_body(
            dy.Box(0.5, 0.5, 0.5, mass=1.0), name=k, position=(0, 0, 0.25 + 0.5 * k),
            orientation=rotation.from_axis_angle((0, 0, 1), math.radians(30 * k)),
        )  # fmt: skip
        mechanism.add_contact(cube, *below)
        below = (cube,)
    model = mechanism.finalize(H)
    return model, model.initial_state()


class Stack:
    """Ten seconds of cubes that stand on each other, by planes between them."""

    params = ([2, 10],)
    param_names = ("cubes",)

    def setup(self, n):
        self.model, self.state = stack(n)
        dy.simulate(self.model, self.state, H)

    def time_simulate(self, n):
        dy.simulate(self.model, self.state, SECONDS, every=1000)

    def track_penetration(self, n):
        return deepest(dy.simulate(self.model, self.state, SECONDS))


def show_long_chains():
    """Chains too long for MuJoCo: mean of three starts, as they are chaotic, least of four runs."""
    print("spheres  degrees  iterations a step  lowest gap  ms a sphere, mean of three")
    for n, degrees in ((200, 0), (44, 30), (100, 30), (200, 30)):
        iterations, milliseconds, gap = [], [], math.inf
        for k in range(3):
            model, state = chain(n, degrees, 1.0 + 1e-6 * k)
            dy.simulate(model, state, H)
            least = math.inf
            for _ in range(4):
                start = time.process_time()
                motion = dy.simulate(model, state, SECONDS, every=1000)
                least = min(least, time.process_time() - start)
            milliseconds.append(1e3 * least / n)
            iterations.append(motion.info["iterations"] / motion.info["steps"])
            gap = min(gap, -deepest(dy.simulate(model, state, SECONDS)))
        each = ", ".join(f"{one:.1f}" for one in milliseconds)
        print(
            f"{n:7d} {degrees:8d} {np.mean(iterations):18.2f} {gap:11.1e} "
            f"{np.mean(milliseconds):12.2f} ({each})"
        )


if __name__ == "__main__":
    answer_help(__doc__)
    show_long_chains()
    chains = [chain_scene(n, degrees) for degrees in (0, 30) for n in (1, 5, 20, 44)]
    show([box_scene(), *chains])
