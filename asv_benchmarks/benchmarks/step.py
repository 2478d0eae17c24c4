"""Ten seconds of h = 0.01 s of mechanisms with and without loops, and MuJoCo's Euler beside them.

``python -m benchmarks.step`` in ``asv_benchmarks`` prints the table; MuJoCo takes part where it is
installed, one thread, its native loop, in the same process and in turns.
"""

import time

import numpy as np

import dynamics as dy
from dynamics.zoo import double_four_bar, four_bar_windows, pendulum, rhombic_chain

from .usage import answer_help

SECONDS = 10.0
BODY = """<body pos="{x} 0 0"><joint type="{kind}" axis="0 1 0"/>
<geom type="box" size=".5 .05 .05" pos=".5 0 0" mass="1"/>{inside}</body>"""
WORLD = """<mujoco><option timestep="0.01" integrator="Euler"><flag contact="disable"/></option>
<worldbody>{bodies}</worldbody></mujoco>"""


def calm(n, joint):
    """A chain that hangs and swings a little: no whips, so that every step costs alike."""
    angles = np.zeros(n)
    angles[0] = np.pi / 2
    angles[min(1, n - 1)] += 0.3
    return pendulum(n, joint, angles=angles)


def mujoco_chain(n, joint):
    """The same chain and start in MuJoCo: model and data."""
    import mujoco

    bodies = ""
    for i in reversed(range(n)):
        kind = "hinge" if joint == "revolute" else "ball"
        bodies = BODY.format(x=1 if i else 0, kind=kind, inside=bodies)
    model = mujoco.MjModel.from_xml_string(WORLD.format(bodies=bodies))
    data = mujoco.MjData(model)
    start_mujoco(model, data, n, joint)
    return model, data


def start_mujoco(model, data, n, joint):
    """Put MuJoCo's chain where `calm` has it."""
    import mujoco

    mujoco.mj_resetData(model, data)
    for i, angle in ((0, np.pi / 2), (min(1, n - 1), 0.3)):
        if joint == "revolute":
            data.qpos[i] += angle
        else:
            half = 0.5 * (angle + (np.pi / 2 if n == 1 else 0.0))
            data.qpos[4 * i : 4 * i + 4] = np.cos(half), 0.0, np.sin(half), 0.0


def run(model, state):
    """Ten seconds; the last state alone is kept."""
    return dy.simulate(model, state, SECONDS, every=round(SECONDS / model.timestep))


class Chain:
    """Links that hang in a row."""

    params = (["revolute", "spherical"], [1, 10, 50, 100])
    param_names = ("joint", "links")

    def setup(self, joint, n):
        self.model, self.state = calm(n, joint)
        run(self.model, self.state)  # compile before the clock starts

    def time_ten_seconds(self, joint, n):
        run(self.model, self.state)

    def track_iterations_a_step(self, joint, n):
        return run(self.model, self.state).info["iterations"] / 1000.0


class Loops:
    """Segments of closed loops, of revolute joints in space."""

    params = (["rhombi", "windows"], [1, 2, 5, 10])
    param_names = ("mechanism", "segments")

    def setup(self, name, n):
        make = rhombic_chain if name == "rhombi" else four_bar_windows
        self.model, self.state = make(n)
        run(self.model, self.state)

    def time_ten_seconds(self, name, n):
        run(self.model, self.state)


class DoubleFourBar:
    """The linkage of Fig. 12 of the second paper."""

    def setup(self):
        self.model, self.state = double_four_bar()
        run(self.model, self.state)

    def time_ten_seconds(self):
        run(self.model, self.state)


class AgainstMujoco:
    """Time over that of MuJoCo's Euler, in turns; `main` has the lengths that take minutes."""

    params = (["revolute", "spherical"], [1, 10, 30])
    param_names = ("joint", "links")

    def setup(self, joint, n):
        try:
            import mujoco  # noqa: F401
        except ImportError as error:
            raise NotImplementedError("mujoco is not installed") from error

    def track_ratio(self, joint, n):
        ours, theirs = in_turns(joint, n)
        return ours / theirs


def in_turns(joint, n, rounds=5):
    """Least seconds of ten simulated ones, of `dynamics` and of MuJoCo (nan where it is not)."""
    model, state = calm(n, joint)
    run(model, state)
    try:
        import mujoco

        m, d = mujoco_chain(n, joint)
    except ImportError:
        mujoco = None
    ours = theirs = np.inf
    for _ in range(rounds):
        start = time.process_time()
        run(model, state)
        ours = min(ours, time.process_time() - start)
        if mujoco is not None:
            start_mujoco(m, d, n, joint)
            start = time.process_time()
            mujoco.mj_step(m, d, round(SECONDS / 0.01))
            theirs = min(theirs, time.process_time() - start)
    return ours, theirs if mujoco is not None else np.nan


def main():
    """Print the table."""
    print("1000 steps [ms]      ours    us/link/step   MuJoCo   ratio")
    for joint in ("revolute", "spherical"):
        for n in (1, 2, 10, 30, 50, 100, 200):
            ours, theirs = in_turns(joint, n)
            print(
                f"{joint:10s} {n:4d} {1e3 * ours:11.2f} {1e3 * ours / n:11.2f} "
                f"{1e3 * theirs:11.2f} {ours / theirs:8.2f}"
            )
    for name, make, sizes in (
        ("rhombi", rhombic_chain, (1, 2, 5, 10, 20)),
        ("windows", four_bar_windows, (1, 2, 5, 10, 40)),
    ):
        for n in sizes:
            model, state = make(n)
            run(model, state)
            least = np.inf
            for _ in range(3):
                start = time.process_time()
                found = run(model, state)
                least = min(least, time.process_time() - start)
            gap = found.constraint_violation().max()
            print(f"{name:10s} {n:4d} {1e3 * least:11.2f}  closed to {gap:.0e} m")


if __name__ == "__main__":
    answer_help(__doc__)
    main()
