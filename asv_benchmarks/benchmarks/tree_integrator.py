"""Section 5 of Fan, Schultz, Murphey (2018) again: the tree integrator beside its alternatives.

``python -m benchmarks.tree_integrator`` in ``asv_benchmarks`` measures it all, prints tables and
draws ``docs/gallery/tree_integrator.png``. Automatic differentiation takes part where JAX is
installed.
"""

import time
from pathlib import Path

import numba
import numpy as np

from dynamics.errors import ConvergenceError
from dynamics.integrators.tree.description import Tree
from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.integrators.tree.linearization import (
    evaluate,
    gravity_hessian,
    jacobian,
    newton_direction,
)
from dynamics.integrators.tree.twists import revolute

from . import clock
from .usage import answer_help

PICTURE = Path(__file__).parents[2] / "docs" / "gallery" / "tree_integrator.png"
TIMESTEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06]


def pendulum(n):
    """n rods of 1 m and 1 kg that swing about x and hang down at 0."""
    tree = Tree()
    for i in range(n):
        tree.add_body(i, 1.0, [1 / 12, 1 / 12, 0.01])
        place = (0.0, 0.0, -0.5 if i == 0 else -1.0)
        hinge = revolute([1.0, 0.0, 0.0], [0.0, 0.0, 0.5])
        tree.add_joint(i - 1 if i else "world", i, hinge, position=place)
    return tree


def one_steps(method, h, count, links=32, line_search=False, seed=0):
    """Share of one-step problems solved, mean iterations and processor time of those (figure 1)."""
    rng = np.random.default_rng(seed)
    integrator = TreeIntegrator(
        pendulum(links), h, "trapezoidal", method=method, line_search=line_search,
        most_iterations=100,
    )  # fmt: skip
    integrator.simulate(np.zeros(links), np.zeros(links), 1)  # compile before the clock starts
    iterations, seconds = [], []
    for q, speed in rng.uniform(-np.pi / 2, np.pi / 2, (count, 2, links)):
        start = time.process_time()
        try:
            run = integrator.simulate(q, speed, 1)
        except ConvergenceError:
            continue
        seconds.append(time.process_time() - start)
        iterations.append(run.iterations[0])
    mean = (np.mean(x) if x else np.nan for x in (iterations, seconds))
    return len(iterations) / count, *mean


def by_differences(integrator, q, p):
    """Newton direction with a Jacobian of differences and dense elimination, without recursion."""
    s, n = q.shape[0] - 1, q.shape[1]
    r = evaluate(integrator, q, p)[0].ravel()
    J = np.empty((s * n, s * n))
    for j in range(s * n):
        moved = q.copy()
        moved.reshape(-1)[n + j] += 1e-7
        J[:, j] = (evaluate(integrator, moved, p)[0].ravel() - r) / 1e-7
    return -np.linalg.solve(J, r)


def by_blocks(integrator, q, p):
    """Newton direction with the Jacobian of Algorithms 2 and 3 and dense elimination."""
    s, n = q.shape[0] - 1, q.shape[1]
    J = jacobian(integrator, q, p)[:s, :, 1:].reshape(s * n, s * n)
    return -np.linalg.solve(J, evaluate(integrator, q, p)[0].ravel())


def by_automatic_differentiation(integrator):
    """Newton direction of `pendulum` by JAX: slopes of the discrete action, compiled, and dense.

    The action is that of angles in a plane, in closed form, which is the least that can be asked.
    """
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    h, rule = integrator.timestep, integrator.rule
    weights, slope = jnp.array(rule.weights), jnp.array(rule.slope).reshape(rule.weights.size, -1)

    def lagrangian(q, speed):
        angle, rate = jnp.cumsum(q), jnp.cumsum(speed)
        height = -jnp.cos(angle)
        moved = [jnp.cos(angle) * rate, jnp.sin(angle) * rate]
        ends = [jnp.cumsum(x) - 0.5 * x for x in (height, *moved)]  # middles of the rods
        kinetic = 0.5 * jnp.sum(ends[1] ** 2 + ends[2] ** 2) + jnp.sum(rate**2) / 24.0
        return kinetic - 9.81 * jnp.sum(ends[0])

    def residual(moving, start, p):
        def action(q):
            return h * jnp.sum(weights * jax.vmap(lagrangian)(q, slope @ q / h))

        q = jnp.concatenate([start[None], moving.reshape(-1, start.size)])
        return jax.grad(action)(q)[:-1].at[0].add(p).ravel()

    @jax.jit
    def direction(q, p):
        moving = q[1:].ravel()
        J = jax.jacfwd(residual)(moving, q[0], p)
        return -jnp.linalg.solve(J, residual(moving, q[0], p))

    return direction


def over_links(links):
    """Seconds of evaluation, of some Newton directions and of the linearization (figure 2)."""
    integrator = TreeIntegrator(pendulum(links), 0.01, "simpson")
    rng = np.random.default_rng(0)
    q = rng.uniform(-np.pi / 2, np.pi / 2, (3, links))
    p = np.zeros(links)
    calls = {
        "evaluation (1)": lambda: evaluate(integrator, q, p),
        "Newton direction (B.1)": lambda: newton_direction(integrator, q, p),
        "linearization (2, 3)": lambda: jacobian(integrator, q, p),
        "dense, with 2 and 3": lambda: by_blocks(integrator, q, p),
        "dense, by differences": lambda: by_differences(integrator, q, p),
    }
    try:
        automatic = by_automatic_differentiation(integrator)
        away = automatic(q, p) - by_blocks(integrator, q, p)
        assert np.abs(away).max() < 1e-9 * np.abs(automatic(q, p)).max()
        calls["dense, by JAX"] = lambda: automatic(q, p).block_until_ready()
    except ImportError:
        print("JAX is not installed and left out")
    found = {}
    for name, call in calls.items():
        call()
        found[name] = clock.fastest(call)
    return found


def shared_inertias(n):
    """Rows c and weights w of `pendulum`, in angles a to the vertical.

    M_ij = c_ij cos(a_i - a_j), V = -sum w_i cos a_i.
    """
    beyond = np.arange(n)[::-1].astype(float)  # rods that hang on each one
    later = np.minimum.outer(beyond, beyond)
    c = later + 0.5
    np.fill_diagonal(c, 1 / 12 + 1 / 4 + beyond)
    return c, 9.81 * (0.5 + beyond)


@numba.njit
def rate(c, weight, x):
    """dx/dt of x = (a, da/dt), and its derivative: O(n^3)."""
    n = weight.size
    a, v = x[:n], x[n:]
    M, F = np.empty((n, n)), np.empty(n)
    slope = np.zeros((n, 2 * n))
    for i in range(n):
        F[i] = -weight[i] * np.sin(a[i])
        slope[i, i] = -weight[i] * np.cos(a[i])
        for j in range(n):
            near, away = c[i, j] * np.cos(a[i] - a[j]), c[i, j] * np.sin(a[i] - a[j])
            M[i, j] = near
            F[i] -= away * v[j] ** 2
            slope[i, j] += near * v[j] ** 2
            slope[i, i] -= near * v[j] ** 2
            slope[i, n + j] = -2.0 * away * v[j]
    f = np.empty(2 * n)
    f[:n], f[n:] = v, np.linalg.solve(M, F)
    for i in range(n):
        for j in range(n):
            away = c[i, j] * np.sin(a[i] - a[j]) * f[n + j]
            slope[i, j] -= away
            slope[i, i] += away
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:], A[n:] = np.eye(n), np.linalg.solve(M, slope)
    return f, A


@numba.njit
def hermite_simpson(c, weight, x, h, steps):
    """Hermite-Simpson collocation in (a, da/dt) by Newton's method; NaN from a failure on."""
    one, found = np.eye(x.size), np.empty((steps + 1, x.size))
    found[0] = x
    f, _ = rate(c, weight, x)
    for k in range(steps):
        next_x = x + h * f
        for _ in range(50):
            g, B = rate(c, weight, next_x)
            m, A = rate(c, weight, 0.5 * (x + next_x) + h / 8.0 * (f - g))
            left = next_x - x - h / 6.0 * (f + 4.0 * m + g)
            slope = one - h / 6.0 * (4.0 * A @ (0.5 * one - h / 8.0 * B) + B)
            step = np.linalg.solve(slope, left)
            next_x = next_x - step
            size = np.abs(step).max()
            if size < 1e-10 or not size < 1e3:
                break
        if not size < 1e-10:
            found[k + 1 :] = np.nan
            break
        x = next_x
        f, _ = rate(c, weight, x)
        found[k + 1] = x
    return found


def accuracy(links=12, T=10.0, counts=(250, 500, 1000, 2000), samples=100):
    """Mean errors of q over time, processor times and solved starts of both methods (figure 3).

    Collocation is of angles in the plane in closed form, less work than a tree in space.
    """
    rng, least = np.random.default_rng(0), counts[0]
    tree, still = pendulum(links), np.zeros(links)
    inertias = shared_inertias(links)
    ours = {N: TreeIntegrator(tree, T / N, "simpson") for N in counts}
    reference = TreeIntegrator(tree, T / counts[-1], 4)

    def simpson(q, N):
        try:
            return ours[N].simulate(q, still, N).q
        except ConvergenceError:
            return np.full((N + 1, links), np.nan)

    def collocation(q, N):
        states = hermite_simpson(*inertias, np.append(np.cumsum(q), still), T / N, N)
        return np.diff(states[:, :links], axis=1, prepend=0.0)

    methods = {"Simpson": simpson, "Hermite-Simpson": collocation}
    errors, seconds = ({name: np.zeros((samples, len(counts))) for name in methods} for _ in "12")
    for method in methods.values():
        method(still, least)  # compile before the clock starts
    for k, q in enumerate(rng.uniform(-np.pi / 12, np.pi / 12, (samples, links))):
        fine = reference.simulate(q, still, counts[-1]).q[:: counts[-1] // least]
        for at, N in enumerate(counts):
            for name, method in methods.items():
                start = time.process_time()
                found = method(q, N)
                seconds[name][k, at] = time.process_time() - start
                errors[name][k, at] = np.linalg.norm(found[:: N // least] - fine, axis=1).mean()
    solved = {name: np.isfinite(values) for name, values in errors.items()}
    both = np.all([*solved.values()], axis=0)

    def means(found):
        return {name: values.mean(axis=0, where=both) for name, values in found.items()}

    shares = {name: values.mean(axis=0) for name, values in solved.items()}
    return [T / N for N in counts], means(errors), means(seconds), shares


class OneStep:
    params = (["newton", "quasi-newton"], [0.005, 0.02, 0.05])
    param_names = ("method", "timestep")

    def setup(self, method, h):
        one_steps(method, h, 1)

    def track_success(self, method, h):
        return one_steps(method, h, 100)[0]

    def track_iterations(self, method, h):
        return one_steps(method, h, 100)[1]

    track_success.unit = "share of 100 one-step problems, 32 links"
    track_iterations.unit = "iterations"


class Step:
    params = ([1, 2, 3], [2, 8, 32, 128])
    param_names = ("degree", "links")

    def setup(self, s, links):
        self.integrator = TreeIntegrator(pendulum(links), 0.005, s)
        self.q, self.still = np.full(links, 0.1), np.zeros(links)
        self.integrator.simulate(self.q, self.still, 2)

    def time_100_steps(self, s, links):
        self.integrator.simulate(self.q, self.still, 100)


class Recursion:
    params = [8, 32, 128]
    param_names = ("links",)

    def setup(self, links):
        self.integrator = TreeIntegrator(pendulum(links), 0.01, "simpson")
        self.q = np.random.default_rng(0).uniform(-1.5, 1.5, (3, links))
        self.p = np.zeros(links)
        for call in (self.time_evaluation, self.time_newton_direction, self.time_linearization):
            call(links)
        gravity_hessian(self.integrator, self.q[0])

    def time_evaluation(self, links):
        evaluate(self.integrator, self.q, self.p)

    def time_newton_direction(self, links):
        newton_direction(self.integrator, self.q, self.p)

    def time_linearization(self, links):
        jacobian(self.integrator, self.q, self.p)


def draw(solved, links, calls, steps, errors, seconds):
    """Save the picture.

    By method: solved parts and seconds of steps, seconds of calls by number of links, and mean
    errors and processor times by step.
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(11, 6.4), layout="constrained")
    axes = axes.flat
    for name, (shares, times) in solved.items():
        axes[0].plot(TIMESTEPS, 100.0 * np.array(shares), marker="o", label=name)
        axes[1].plot(TIMESTEPS, 1e3 * np.array(times), marker="o", label=name)
    for name, values in calls.items():
        axes[2].loglog(links, values, marker="o", label=name)
    for name, values in errors.items():
        axes[3].loglog(steps, values, marker="o", label=name)
        axes[4].loglog(seconds[name], values, marker="o", label=name)
    axes[0].set(title="32 links, trapezoidal", xlabel="time step (s)", ylabel="steps solved (%)")
    axes[1].set(title="32 links, trapezoidal", xlabel="time step (s)", ylabel="time of a step (ms)")
    axes[2].set(title="Simpson", xlabel="links", ylabel="time of one call (s)", ylim=(4e-6, 0.4))
    axes[3].set(title="12 links, 10 s", xlabel="time step (s)", ylabel="mean error of q (rad)")
    axes[4].set(title="12 links, 10 s", xlabel="processor time (s)", ylabel="mean error of q (rad)")
    for ax in axes[3:5]:  # of less than two decades: few labels, as plain numbers
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter("")
    axes[3].set_xticks([0.005, 0.01, 0.02, 0.04], minor=False)
    axes[4].set_xticks([0.03, 0.1, 0.3], minor=False)
    for ax in axes[:5]:
        ax.grid(color="#E6E6E6")
        ax.legend(frameon=False, fontsize=8)
    axes[5].set_axis_off()
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=110)


def main(count=1000):
    """Measure, print and draw."""
    solved = {}
    for method, search in (("newton", True), ("newton", False), ("quasi-newton", False)):
        rows = [one_steps(method, h, count, line_search=search) for h in TIMESTEPS]
        name = f"{method}, line search" if search else method
        for h, (share, iterations, seconds) in zip(TIMESTEPS, rows):
            print(f"{name:20} h={h:<6} {share:6.1%} {iterations:6.2f} it {seconds * 1e6:8.1f} us")
        solved[name] = [row[0] for row in rows], [row[2] for row in rows]
    links = [4, 8, 16, 32, 64, 128]
    rows = [over_links(n) for n in links]
    calls = {name: [row[name] for row in rows] for name in rows[0]}
    for name, values in calls.items():
        print(f"{name:24}", *(f"{1e6 * x:10.1f}" for x in values), "us")
    steps, errors, seconds, shares = accuracy()
    for name, values in errors.items():
        slopes = np.log2(values[:-1] / values[1:])
        print(f"{name:16}", *(f"{x:9.2e}" for x in values), "orders", np.round(slopes, 2))
        print(" " * 16, *(f"{x:9.4f}" for x in seconds[name]), "s")
        print(" " * 16, *(f"{x:9.0%}" for x in shares[name]), "solved")
    draw(solved, links, calls, steps, errors, seconds)


if __name__ == "__main__":
    answer_help(__doc__)
    main()
