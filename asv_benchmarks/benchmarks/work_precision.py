"""Error against processor time: orders 2, 4, 6 and compositions, beside other integrators.

``python -m benchmarks.work_precision`` in ``asv_benchmarks`` measures, prints tables and draws
``docs/gallery/work_precision.png``. Errors are the largest of all angles of bodies after one
second, from order 6 at steps that leave 1e-12.
"""

import math
import time
from pathlib import Path

import numba
import numpy as np

import dynamics as dy
from dynamics import rotation, zoo

PICTURE = Path(__file__).parents[2] / "docs" / "gallery" / "work_precision.png"
FREE = {"largest_turn": 2.4}  # rad: every step is one step
CASES = {
    "double pendulum": (zoo.double_pendulum, [20, 40, 80, 160, 320, 640, 1280]),
    "four-bar": (zoo.four_bar, [40, 80, 160, 320, 640, 1280]),
    "Bricard": (zoo.bricard, [10, 20, 40, 80, 160, 320, 640]),
}
METHODS = ["order 2", "order 4", "order 6", "suzuki4", "kahan-li8"]


def model_of(make, method, steps):
    """Model and first state of one method."""
    if method.startswith("order"):
        order = int(method[-1])
        return make(timestep=1.0 / steps, order=order, tolerance=1e-12, **FREE)
    model, state = make(timestep=1.0 / steps, tolerance=1e-12, **FREE)
    return dy.compose(model, method), state


def seconds_of(run, repeats=5):
    """Least processor time of some runs."""
    best = math.inf
    for _ in range(repeats):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def final(make, method, steps):
    """Orientations after one second, and the time of the run."""
    model, state = model_of(make, method, steps)
    motion = dy.simulate(model, state, 1.0, every=steps)
    seconds = seconds_of(lambda: dy.simulate(model, state, 1.0, every=steps))
    return motion.final.pose[:, 3:].copy(), seconds


def angle_between(p, q):
    """Largest angle between orientations, rad."""
    near = np.minimum(np.linalg.norm(p - q, axis=1), np.linalg.norm(p + q, axis=1))
    return float(4.0 * np.arcsin(np.minimum(1.0, 0.5 * near)).max())


@numba.njit
def rates(t, y):
    """Rates of the double pendulum of `zoo`, angles in the world (mass matrix of two rods)."""
    a, b, u, v = y
    c, s = math.cos(a - b), math.sin(a - b)
    J, half = 1.0 / 12.0, 0.5
    m11, m12, m22 = J + 0.25 + 1.0, half * c, J + 0.25
    f1 = -half * s * v * v - 9.81 * 1.5 * math.sin(a)
    f2 = half * s * u * u - 9.81 * half * math.sin(b)
    d = m11 * m22 - m12 * m12
    return np.array([u, v, (m22 * f1 - m12 * f2) / d, (m11 * f2 - m12 * f1) / d])


def dop853(tolerance):
    """scipy's DOP853 on the two angles: orientations after one second, and the time."""
    from scipy.integrate import solve_ivp

    start = np.array([1.2, 0.4, 0.5, -0.7])

    def run():
        return solve_ivp(rates, (0.0, 1.0), start, "DOP853", rtol=tolerance, atol=tolerance)

    angles = run().y[:2, -1]
    return rotation.from_axis_angle(np.array([[1.0, 0.0, 0.0]] * 2), angles), seconds_of(run)


def mujoco_pendulum(integrator, steps):
    """MuJoCo on the double pendulum: orientations after one second, and the time."""
    import mujoco

    rod = (
        '<inertial pos="0 0 -.5" mass="1" diaginertia=".08333333333333333 .08333333333333333 .01"/>'
    )
    hinge = '<joint type="hinge" axis="1 0 0"/>'
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{1.0 / steps!r}" integrator="{integrator}" gravity="0 0 -9.81">'
        '<flag contact="disable"/></option><worldbody>'
        f'<body>{hinge}{rod}<body pos="0 0 -1">{hinge}{rod}</body></body></worldbody></mujoco>'
    )
    data = mujoco.MjData(model)

    def run():
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = (1.2, -0.8), (0.5, -1.2)
        mujoco.mj_step(model, data, steps)

    seconds = seconds_of(run)
    mujoco.mj_kinematics(model, data)
    return data.xquat[1:].copy(), seconds


def measure(name):
    """(method, seconds, error) of all methods on one case."""
    make, every = CASES[name]
    reference, _ = final(make, "order 6", 4 * every[-1] if name != "Bricard" else 320)
    found = []
    for method in METHODS:
        for steps in every:
            if method != "order 2" and steps > every[-1] // 2:
                continue
            try:
                q, seconds = final(make, method, steps)
            except dy.ConvergenceError:
                continue
            if error := angle_between(q, reference):  # 0 where it is the reference itself
                found.append((method, seconds, error))
    if name == "double pendulum":
        for tolerance in 10.0 ** -np.arange(3.0, 14.0):
            q, seconds = dop853(tolerance)
            found.append(("scipy DOP853, 2 angles", seconds, angle_between(q, reference)))
        try:
            for integrator in ("Euler", "RK4"):
                for steps in (100, 400, 1600, 6400):
                    q, seconds = mujoco_pendulum(integrator, steps)
                    error = angle_between(q, reference)
                    found.append((f"MuJoCo {integrator}", seconds, error))
        except ImportError:
            print("MuJoCo is not installed and left out")
    return found


def draw(results):
    """Save the picture."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(results), figsize=(12.0, 4.2), layout="constrained")
    for axis, (name, found) in zip(axes, results.items(), strict=True):
        for method in dict.fromkeys(row[0] for row in found):
            points = np.array([row[1:] for row in found if row[0] == method])
            ours = method in METHODS
            axis.loglog(
                1e3 * points[:, 0], points[:, 1], "o-" if ours else "x--", ms=4, label=method
            )
        axis.set(title=name, xlabel="processor time for 1 s of motion, ms", ylim=(1e-13, 1.0))
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    axes[0].set_ylabel("largest error of an orientation, rad")
    figure.savefig(PICTURE, dpi=110)


class Steps:
    """Time of 100 steps."""

    params = (list(CASES), METHODS)
    param_names = ("mechanism", "method")

    def setup(self, name, method):
        self.model, self.state = model_of(CASES[name][0], method, 100)
        dy.simulate(self.model, self.state, 1.0, every=100)  # compile before the clock starts

    def time_steps(self, name, method):
        dy.simulate(self.model, self.state, 1.0, every=100)


def main():
    """Measure, print and draw."""
    results = {}
    for name in CASES:
        results[name] = measure(name)
        print(f"\n{name}: method, ms, error")
        for method, seconds, error in results[name]:
            print(f"{method:24s} {1e3 * seconds:9.3f} {error:9.1e}", flush=True)
    draw(results)


if __name__ == "__main__":
    main()
