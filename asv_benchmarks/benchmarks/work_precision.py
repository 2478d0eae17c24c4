"""Error against processor time: orders 1, 2, 4, 6 and compositions, beside other programs.

``python -m benchmarks.work_precision`` in ``asv_benchmarks`` measures, prints tables and draws
``docs/gallery/work_precision.png``; all in one process, one case after the other. Errors are the
largest of all angles of bodies after one second, from order 6 at steps that leave 1e-12. Programs
that are not installed are left out, and named.
"""

import math
import time
from pathlib import Path

import numpy as np

import dynamics as dy
from benchmarks import motion_peers as peers
from dynamics import zoo

from .usage import answer_help

PICTURE = Path(__file__).parents[2] / "docs" / "gallery" / "work_precision.png"
FREE = {"largest_turn": 2.4, "tolerance": 1e-11}  # rad: every step is one step
LEVELS = (1e-3, 1e-6, 1e-9)  # rad
#: Angles of twelve links from the one before, swinging down.
BENT = np.r_[0.5 * np.pi - 0.8, np.full(11, 0.1)]


def twelve(**options):
    """A pendulum of twelve links."""
    return zoo.pendulum(12, angles=BENT, **options)


def joints(n):
    """Names of the joints of a pendulum."""
    return [("joint", i) for i in range(n)]


#: Mechanism, hinges of a chain, the hinge that closes it, steps in the second of orders 2 to 8,
#: steps of the reference.
CASES = {
    "double pendulum": (
        zoo.double_pendulum, joints(2), None, [20, 40, 80, 160, 320, 640, 1280], 5120,
    ),
    "12-link pendulum": (twelve, joints(12), None, [25, 50, 100, 200, 400, 800, 1600], 1600),
    "four-bar": (
        zoo.four_bar, ["crank ground", "crank coupler", "rocker coupler"], "rocker ground",
        [40, 80, 160, 320, 640, 1280], 1920,
    ),
    "Bricard": (
        zoo.bricard, [("hinge", i) for i in range(5)], ("hinge", 5),
        [10, 20, 40, 80, 160, 320, 640], 320,
    ),
}  # fmt: skip
METHODS = ["order 1", "order 2", "order 4", "order 6", "suzuki4", "kahan-li8"]


def model_of(make, method, steps):
    """Model and first state of one method."""
    if method == "order 1":
        return make(timestep=1.0 / steps, form="first order", **FREE)
    if method.startswith("order"):
        return make(timestep=1.0 / steps, order=int(method[-1]), **FREE)
    model, state = make(timestep=1.0 / steps, **FREE)
    return dy.compose(model, method), state


def seconds_of(run, repeats=15):
    """Least processor time of some runs."""
    best = math.inf
    for _ in range(repeats):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def final(make, method, steps):
    """Orientations after one second, and a function that runs it again."""
    model, state = model_of(make, method, steps)
    motion = dy.simulate(model, state, 1.0, every=steps)
    return motion.final.pose[:, 3:].copy(), lambda: dy.simulate(model, state, 1.0, every=steps)


def angle_between(p, q):
    """Largest angle between orientations, rad."""
    near = np.minimum(np.linalg.norm(p - q, axis=1), np.linalg.norm(p + q, axis=1))
    return float(4.0 * np.arcsin(np.minimum(1.0, 0.5 * near)).max())


def ours(name):
    """(method, function that runs it once and gives orientations and a function to repeat it)."""
    make, _, _, every, _ = CASES[name]
    for method in METHODS:
        counts = [8 * n for n in every] if method == "order 1" else every
        for steps in counts:
            if method in ("order 1", "order 2") or steps <= every[-1] // 2:
                yield method, lambda m=method, n=steps: final(make, m, n)


def others(name):
    """The same of other programs."""
    make, hinges, closing, _, _ = CASES[name]
    chain = peers.chain(*make(), hinges, closing)
    for integrator in ("Euler", "RK4"):
        for steps in (50, 100, 200, 400, 800, 1600, 6400):
            if integrator == "RK4" or steps > 100:
                yield (
                    f"MuJoCo {integrator}",
                    lambda i=integrator, n=steps: peers.mujoco_run(chain, i, n),
                )
    for steps in (25, 50, 100, 200, 400, 800):
        yield "Pinocchio RK4", lambda n=steps: peers.pinocchio_run(chain, n)
    for tolerance in 10.0 ** -np.arange(3.0, 13.0):
        yield "Pinocchio DOP853", lambda x=tolerance: peers.dop853_on_pinocchio(chain, x)
    if closing is None:
        told = angles_of(name)
        for tolerance in 10.0 ** -np.arange(3.0, 14.0):
            yield (
                "compiled DOP853",
                lambda x=tolerance: peers.dop853_on_angles(*told, x),
            )


def angles_of(name):
    """Angles of the rods from hanging, their rates, inertia and axis, and how they turn to hang."""
    if name == "double pendulum":
        return np.array([1.2, 0.4]), np.array([0.5, -0.7]), 1.0 / 12.0, [1.0, 0.0, 0.0], 0.0
    down = 0.5 * np.pi
    return np.cumsum(BENT) - down, np.zeros(12), 1.01 / 12.0, [0.0, 1.0, 0.0], down


def measure(name):
    """(method, seconds, error) of all methods on one case."""
    reference, _ = final(CASES[name][0], "order 6", CASES[name][4])
    found, missing = [], set()
    for method, start in (*ours(name), *others(name)):
        if method.split()[0] in missing:
            continue
        try:
            q, again = start()
        except ImportError:
            print(f"{method.split()[0]} is not installed and left out")
            missing.add(method.split()[0])
            continue
        except dy.ConvergenceError:
            continue
        error = angle_between(q, reference)
        if 0.0 < error < 1.0:  # 0 where it is the reference itself, and not a number where lost
            found.append((method, seconds_of(again), error))
    return found


def seconds_to(found, method, level):
    """Seconds for an error, between two runs as a power of it; infinity where none gets there."""
    points = sorted((error, seconds) for name, seconds, error in found if name == method)
    below = [point for point in points if point[0] <= level]
    above = [point for point in points if point[0] > level]
    if not below:
        return math.inf
    best = min(seconds for _, seconds in below)
    fine = min(below, key=lambda point: point[1])
    coarse = [point for point in above if point[1] < fine[1]]
    if not coarse:
        return best
    a, b = max(coarse, key=lambda point: point[1]), fine
    part = math.log(level / b[0]) / math.log(a[0] / b[0])
    return b[1] * (a[1] / b[1]) ** part


def table(found):
    """Print milliseconds for each level of error, and the fastest of ours over that of others."""
    methods = list(dict.fromkeys(row[0] for row in found))
    best = {}
    for method in methods:
        times = [seconds_to(found, method, level) for level in LEVELS]
        print(f"{method:18s}" + "".join(f"{1e3 * x:9.2f}" for x in times))
        for k, x in enumerate(times):
            side = (method in METHODS, k)
            best[side] = min(best.get(side, math.inf), x)
    ratios = [best[True, k] / best.get((False, k), math.nan) for k in range(len(LEVELS))]
    print(f"{'ours over others':18s}" + "".join(f"{x:9.2f}" for x in ratios), flush=True)


def draw(results):
    """Save the picture."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9.0, 8.6), layout="constrained", sharey=True)
    names = list(dict.fromkeys(row[0] for found in results.values() for row in found))
    colors = plt.get_cmap("tab20")(np.arange(len(names)) * 2 % 19)  # the same in each panel
    for axis, (name, found) in zip(axes.flat, results.items(), strict=True):
        for method in dict.fromkeys(row[0] for row in found):
            points = np.array([row[1:] for row in found if row[0] == method])
            style = "o-" if method in METHODS else "x--"
            axis.loglog(
                1e3 * points[:, 0], points[:, 1], style, ms=4, color=colors[names.index(method)],
                label=method,
            )  # fmt: skip
        axis.set(title=name, ylim=(1e-13, 1.0))
        axis.grid(alpha=0.3)
    for axis in axes[1]:
        axis.set_xlabel("processor time for 1 s of motion, ms")
    for axis in axes[:, 0]:
        axis.set_ylabel("largest error of an orientation, rad")
    lines = {line.get_label(): line for axis in axes.flat for line in axis.lines}
    figure.legend(lines.values(), lines, loc="outside lower center", ncols=4, frameon=False)
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
        print(f"\n{name}: ms for an error of {', '.join(map(str, LEVELS))} rad")
        results[name] = measure(name)
        table(results[name])
    draw(results)


if __name__ == "__main__":
    answer_help(__doc__)
    main()
