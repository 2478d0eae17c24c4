"""Section 5 of Fan, Schultz, Murphey (2018) again: the tree integrator beside its alternatives.

``python -m benchmarks.tree_integrator`` in ``asv_benchmarks`` measures it all, prints tables and
draws ``docs/gallery/tree_integrator.png``. Automatic differentiation takes part where JAX is
installed.
"""

import time
from pathlib import Path

import numpy as np

from dynamics.errors import ConvergenceError
from dynamics.integrators.tree.description import Tree
from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.integrators.tree.linearization import (
    evaluate,
    gravity_hessian,
    jacobian,
    kinetic_hessians,
    newton_direction,
)
from dynamics.integrators.tree.twists import revolute

from . import clock

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


def hermite_simpson(integrator, q, speed, h, steps, every):
    """Hermite-Simpson collocation in (q, dq/dt), by fixed-point iteration; every so many states."""
    n = q.size

    def rate(x):
        place, v = x[:n], x[n:]
        M, mixed, _ = kinetic_hessians(integrator, place, v)
        momentum_rate = mixed.T @ v  # (dp/dq) dq/dt
        # K is quadratic in the speeds: dK/dq = mixed @ v / 2
        force = 0.5 * mixed @ v - weight_slope(integrator, place)
        return np.concatenate([v, np.linalg.solve(M, force - momentum_rate)])

    x = np.concatenate([q, speed])
    found, f = [x], rate(x)
    for k in range(steps):
        guess = x + h * f
        for _ in range(200):
            g = rate(guess)
            middle = 0.5 * (x + guess) + h / 8.0 * (f - g)
            moved = x + h / 6.0 * (f + 4.0 * rate(middle) + g)
            change = np.abs(moved - guess).max()
            guess = moved
            if change < 1e-12:
                break
        x, f = guess, rate(guess)
        if (k + 1) % every == 0:
            found.append(x)
    return np.array(found)[:, :n]


def weight_slope(integrator, q):
    """dV/dq: the forces that hold the tree at rest against its weight."""
    still = np.tile(q, (integrator.degree + 1, 1))
    residual, _ = evaluate(integrator, still, np.zeros(q.size))
    return -residual[0] / (integrator.rule.weights[0] * integrator.timestep)


def accuracy(links=12, T=2.0, counts=(50, 100, 200, 400), samples=3):
    """Mean error of q over time of Simpson's rule and of Hermite-Simpson (figure 3a)."""
    rng = np.random.default_rng(0)
    tree, most = pendulum(links), counts[0]
    errors = {"Simpson": np.zeros(len(counts)), "Hermite-Simpson": np.zeros(len(counts))}
    for q in rng.uniform(-np.pi / 12, np.pi / 12, (samples, links)):
        still = np.zeros(links)
        fine = TreeIntegrator(tree, T / 1600, 4).simulate(q, still, 1600).q[:: 1600 // most]
        for at, N in enumerate(counts):
            integrator = TreeIntegrator(tree, T / N, "simpson")
            ours = integrator.simulate(q, still, N).q[:: N // most]
            theirs = hermite_simpson(integrator, q, still, T / N, N, N // most)
            for name, found in (("Simpson", ours), ("Hermite-Simpson", theirs)):
                errors[name][at] += np.linalg.norm(found - fine, axis=1).mean() / samples
    return [T / N for N in counts], errors


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


def main(count=1000):
    """Measure, print and draw."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(17, 4), layout="constrained")
    for method, search in (("newton", True), ("newton", False), ("quasi-newton", False)):
        rows = [one_steps(method, h, count, line_search=search) for h in TIMESTEPS]
        name = f"{method}, line search" if search else method
        for h, (share, iterations, seconds) in zip(TIMESTEPS, rows):
            print(f"{name:20} h={h:<6} {share:6.1%} {iterations:6.2f} it {seconds * 1e6:8.1f} us")
        axes[0].plot(TIMESTEPS, [100 * row[0] for row in rows], marker="o", label=name)
        axes[1].plot(TIMESTEPS, [1e3 * row[2] for row in rows], marker="o", label=name)
    axes[0].set(title="32 links, trapezoidal", xlabel="time step (s)", ylabel="steps solved (%)")
    axes[1].set(title="and their time", xlabel="time step (s)", ylabel="ms")
    links = [4, 8, 16, 32, 64, 128]
    rows = [over_links(n) for n in links]
    for name in rows[0]:
        values = [row[name] for row in rows]
        print(f"{name:24}", *(f"{1e6 * x:10.1f}" for x in values), "us")
        axes[2].loglog(links, values, marker="o", label=name)
    axes[2].set(title="Simpson, one call", xlabel="links", ylabel="s")
    steps, errors = accuracy()
    for name, values in errors.items():
        slopes = np.log2(values[:-1] / values[1:])
        print(f"{name:16}", *(f"{x:9.2e}" for x in values), "orders", np.round(slopes, 2))
        axes[3].loglog(steps, values, marker="o", label=name)
    axes[3].set(title="12 links, 2 s", xlabel="time step (s)", ylabel="mean error of q (rad)")
    for ax in axes:
        ax.grid(color="#E6E6E6")
        ax.legend(frameon=False, fontsize=8)
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
