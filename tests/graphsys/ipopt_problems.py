"""Nonlinear programs for CasADi: textbook cases, control problems, and some of COPS' kind.

``python -m tests.graphsys.ipopt_problems`` solves them by Ipopt with MUMPS and with graphsys;
with ``--compiled`` the functions of control problems are compiled (a quarter of an hour).
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import casadi as ca
import numpy as np

import graphsys as gs


def textbook(n, f, g=None, lbg=0.0, ubg=0.0, x0=0.0, lbx=-np.inf, ubx=np.inf):
    """Problem of n unknowns with an objective f(x) and constraints g(x) in bounds."""
    x = ca.SX.sym("x", n)
    nlp = {"x": x, "f": f(x)}
    if g is not None:
        nlp["g"] = ca.vertcat(*g(x))
    return nlp, {"x0": x0, "lbg": lbg, "ubg": ubg, "lbx": lbx, "ubx": ubx}


def rosenbrock(n):
    def f(x):
        return sum(100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(n - 1))

    return textbook(n, f, x0=[-1.2, 1.0] * (n // 2))


def control(rates, n_state, n_control, stages, T, cost, start, end=None, bound=1.0, guess=0.0):
    """Multiple shooting with one step of the classical Runge-Kutta method per stage."""
    w, g, f, lower, upper, x0 = [], [], 0.0, [], [], []
    h = T / stages

    def variable(size, low, high, at):
        v = ca.SX.sym("v", size)
        w.append(v)
        lower.extend(np.broadcast_to(low, size))
        upper.extend(np.broadcast_to(high, size))
        x0.extend(np.broadcast_to(at, size))
        return v

    x = variable(n_state, start, start, start)
    for k in range(stages):
        u = variable(n_control, -bound, bound, guess)
        a = rates(x, u)
        b = rates(x + h / 2 * a, u)
        c = rates(x + h / 2 * b, u)
        d = rates(x + h * c, u)
        f = f + h * cost(x, u)
        last = k == stages - 1 and end is not None
        low, high = (end, end) if last else (-np.inf, np.inf)
        y = variable(n_state, low, high, start)
        g.append(x + h / 6 * (a + 2 * b + 2 * c + d) - y)
        x = y
    nlp = {"x": ca.vertcat(*w), "f": f, "g": ca.vertcat(*g)}
    return nlp, {"x0": x0, "lbx": lower, "ubx": upper, "lbg": 0.0, "ubg": 0.0}


def van_der_pol(stages, bound=1.0):
    def rates(x, u):
        return ca.vertcat((1 - x[1] ** 2) * x[0] - x[1] + u, x[0])

    def cost(x, u):
        return ca.sumsqr(x) + ca.sumsqr(u)

    return control(rates, 2, 1, stages, 10.0, cost, [0.0, 1.0], bound=bound)


def pendulum(stages, bound=5.0):
    def rates(x, u):
        return ca.vertcat(x[1], ca.sin(x[0]) + u)

    def cost(x, u):
        return ca.sumsqr(u)

    return control(rates, 2, 1, stages, 4.0, cost, [np.pi, 0.0], [0.0, 0.0], bound)


def masses(n, stages):
    """Chain of n masses with cubic springs and a force at each end."""

    def rates(x, u):
        q, v = x[:n], x[n:]
        left = q - ca.vertcat(0, q[:-1])
        right = ca.vertcat(q[1:], 0) - q
        force = right - left + 0.3 * (right**3 - left**3)
        force[0] += u[0]
        force[n - 1] += u[1]
        return ca.vertcat(v, force)

    def cost(x, u):
        return ca.sumsqr(x) + 0.1 * ca.sumsqr(u)

    start = [1.0 if k % 2 else 0.5 for k in range(n)] + [0.0] * n
    return control(rates, 2 * n, 2, stages, 6.0, cost, start, bound=0.8)


def race_car(stages):
    """Least time on a track with a speed limit, from rest; the time is an unknown."""
    X, U, T = ca.SX.sym("X", 2, stages + 1), ca.SX.sym("U", stages), ca.SX.sym("T")
    g = []
    h = T / stages

    def rates(x, u):
        return ca.vertcat(x[1], u - x[1])

    for k in range(stages):
        x, u = X[:, k], U[k]
        a = rates(x, u)
        b = rates(x + h / 2 * a, u)
        c = rates(x + h / 2 * b, u)
        d = rates(x + h * c, u)
        g.append(x + h / 6 * (a + 2 * b + 2 * c + d) - X[:, k + 1])
    limit = 1 - ca.sin(2 * np.pi * X[0, :]).T / 2 - X[1, :].T
    n_x = 2 * (stages + 1)
    low = np.full(n_x + stages + 1, -np.inf)
    high = -low
    low[:2] = high[:2] = 0.0
    low[n_x - 2] = high[n_x - 2] = 1.0
    low[n_x:-1], high[n_x:-1], low[-1] = 0.0, 1.0, 0.0
    x0 = np.zeros(low.size)
    x0[1:n_x:2] = 1.0
    x0[-1] = 1.0
    nlp = {"x": ca.vertcat(ca.vec(X), U, T), "f": T, "g": ca.vertcat(*g, limit)}
    bounds = {"lbg": [0.0] * 2 * stages + [0.0] * (stages + 1)}
    bounds |= {"ubg": [0.0] * 2 * stages + [np.inf] * (stages + 1)}
    return nlp, {"x0": x0, "lbx": low, "ubx": high, **bounds}


def hanging_chain(n, length=4.0):
    """Shape of least potential energy of a chain of given length (COPS)."""
    x, u, h = ca.SX.sym("x", n + 1), ca.SX.sym("u", n), 1.0 / n
    root = ca.sqrt(1 + u**2)
    g = ca.vertcat(x[1:] - x[:-1] - h * u, h * ca.sum1(root) - length)
    f = h * ca.dot((x[1:] + x[:-1]) / 2, root)
    t = np.linspace(0, 1, n + 1)
    low = np.full(2 * n + 1, -np.inf)
    high = -low
    low[0] = high[0] = 1.0
    low[n] = high[n] = 3.0
    guess = [4 * abs(3 - 1) * t * (t / 2 - 0.25) + 1, 4 * 2 * (t[:-1] - 0.25)]
    nlp = {"x": ca.vertcat(x, u), "f": f, "g": g}
    return nlp, {"x0": np.concatenate(guess), "lbx": low, "ubx": high, "lbg": 0.0, "ubg": 0.0}


def polygon(n):
    """Largest polygon of n sides with diameter 1 (COPS)."""
    r, t = ca.SX.sym("r", n), ca.SX.sym("t", n)
    area = -0.5 * sum(r[i + 1] * r[i] * ca.sin(t[i + 1] - t[i]) for i in range(n - 1))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    far = [r[i] ** 2 + r[j] ** 2 - 2 * r[i] * r[j] * ca.cos(t[j] - t[i]) for i, j in pairs]
    turn = [t[i + 1] - t[i] for i in range(n - 1)]
    i = np.arange(1, n + 1)
    low = np.zeros(2 * n)
    high = np.r_[np.ones(n), np.full(n, np.pi)]
    high[n - 1], low[2 * n - 1] = 0.0, np.pi
    nlp = {"x": ca.vertcat(r, t), "f": area, "g": ca.vertcat(*far, *turn)}
    lbg = np.r_[np.full(len(far), -np.inf), np.zeros(n - 1)]
    ubg = np.r_[np.ones(len(far)), np.full(n - 1, np.inf)]
    x0 = np.r_[4 * i * (n + 1 - i) / (n + 1) ** 2, np.pi * i / n]
    return nlp, {"x0": x0, "lbx": low, "ubx": high, "lbg": lbg, "ubg": ubg}


def elastic(n):
    """Obstacle problem on a grid: least energy of a membrane above a bump."""
    v = ca.SX.sym("v", n, n)
    f = (
        ca.sumsqr(v[1:, :] - v[:-1, :]) / 2
        + ca.sumsqr(v[:, 1:] - v[:, :-1]) / 2
        - ca.sum1(ca.sum2(v)) / n**2
    )
    s = np.linspace(0, 1, n)
    bump = np.clip(np.outer(np.sin(3.2 * np.pi * s), np.sin(3.2 * np.pi * s)) - 0.2, 0, None)
    low, high = bump.copy(), np.full((n, n), 2000.0)
    for edge in (np.s_[0, :], np.s_[-1, :], np.s_[:, 0], np.s_[:, -1]):
        low[edge] = high[edge] = 0.0
    nlp = {"x": ca.vec(v), "f": f}
    return nlp, {"x0": 0.0, "lbx": low.ravel(), "ubx": high.ravel()}


def portfolio(n):
    """Quadratic program with a dense block."""
    A = np.random.default_rng(n).normal(size=(n, n))
    Q = ca.DM(A @ A.T / n + 0.01 * np.eye(n))

    def f(x):
        return ca.bilin(Q, x, x) / 2 - ca.dot(ca.DM(A[0]), x)

    return textbook(n, f, lambda x: [ca.sum1(x)], 1.0, 1.0, 1.0 / n, 0.0)


PROBLEMS = {
    **{f"rosenbrock {n}": (rosenbrock, n) for n in (2, 10, 50, 200)},
    **{f"van der Pol {n}": (van_der_pol, n) for n in (20, 50, 100, 400)},
    "van der Pol, tight": (van_der_pol, 50, 0.3),
    **{f"pendulum {n}": (pendulum, n) for n in (20, 50, 100, 400)},
    "pendulum, tight": (pendulum, 60, 1.5),
    **{f"masses {n} x {m}": (masses, n, m) for n, m in ((2, 20), (4, 40), (8, 50), (12, 100))},
    **{f"race car {n}": (race_car, n) for n in (20, 50, 100, 200)},
    **{f"hanging chain {n}": (hanging_chain, n) for n in (20, 50, 100, 200, 400)},
    **{f"polygon {n}": (polygon, n) for n in (6, 10, 15)},
    **{f"membrane {n}": (elastic, n) for n in (8, 16, 32)},
    **{f"portfolio {n}": (portfolio, n) for n in (5, 20, 60)},
    "HS 6": (textbook, 2, lambda x: (1 - x[0]) ** 2,
             lambda x: [10 * (x[1] - x[0] ** 2)], 0.0, 0.0, [-1.2, 1.0]),
    "HS 7": (textbook, 2, lambda x: ca.log(1 + x[0] ** 2) - x[1],
             lambda x: [(1 + x[0] ** 2) ** 2 + x[1] ** 2 - 4], 0.0, 0.0, [2.0, 2.0]),
    "HS 9": (textbook, 2, lambda x: ca.sin(np.pi * x[0] / 12) * ca.cos(np.pi * x[1] / 16),
             lambda x: [4 * x[0] - 3 * x[1]], 0.0, 0.0, 0.0),
    "HS 12": (textbook, 2, lambda x: x[0] ** 2 / 2 + x[1] ** 2 - x[0] * x[1] - 7 * x[0] - 7 * x[1],
              lambda x: [25 - 4 * x[0] ** 2 - x[1] ** 2], 0.0, np.inf, 0.0),
    "HS 26": (textbook, 3, lambda x: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 4,
              lambda x: [(1 + x[1] ** 2) * x[0] + x[2] ** 4 - 3], 0.0, 0.0, [-2.6, 2.0, 2.0]),
    "HS 28": (textbook, 3, lambda x: (x[0] + x[1]) ** 2 + (x[1] + x[2]) ** 2,
              lambda x: [x[0] + 2 * x[1] + 3 * x[2] - 1], 0.0, 0.0, [-4.0, 1.0, 1.0]),
    "HS 35": (textbook, 3, lambda x: 9 - 8 * x[0] - 6 * x[1] - 4 * x[2] + 2 * x[0] ** 2
              + 2 * x[1] ** 2 + x[2] ** 2 + 2 * x[0] * x[1] + 2 * x[0] * x[2],
              lambda x: [3 - x[0] - x[1] - 2 * x[2]], 0.0, np.inf, 0.5, 0.0),
    "HS 39": (textbook, 4, lambda x: -x[0],
              lambda x: [x[1] - x[0] ** 3 - x[2] ** 2, x[0] ** 2 - x[1] - x[3] ** 2],
              0.0, 0.0, 2.0),
    "HS 40": (textbook, 4, lambda x: -x[0] * x[1] * x[2] * x[3],
              lambda x: [x[0] ** 3 + x[1] ** 2 - 1, x[0] ** 2 * x[3] - x[2], x[3] ** 2 - x[1]],
              0.0, 0.0, 0.8),
    "HS 42": (textbook, 4, lambda x: ca.sumsqr(x - ca.DM([1, 2, 3, 4])),
              lambda x: [x[0] - 2, x[2] ** 2 + x[3] ** 2 - 2], 0.0, 0.0, 1.0),
    "HS 48": (textbook, 5, lambda x: (x[0] - 1) ** 2 + (x[1] - x[2]) ** 2 + (x[3] - x[4]) ** 2,
              lambda x: [ca.sum1(x) - 5, x[2] - 2 * (x[3] + x[4]) + 3], 0.0, 0.0,
              [3.0, 5.0, -3.0, 2.0, -2.0]),
    "HS 71": (textbook, 4, lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2],
              lambda x: [x[0] * x[1] * x[2] * x[3], ca.sumsqr(x)], [25.0, 40.0], [np.inf, 40.0],
              [1.0, 5.0, 5.0, 1.0], 1.0, 5.0),
    "HS 78": (textbook, 5, lambda x: x[0] * x[1] * x[2] * x[3] * x[4],
              lambda x: [ca.sumsqr(x) - 10, x[1] * x[2] - 5 * x[3] * x[4],
                         x[0] ** 3 + x[1] ** 3 + 1],
              0.0, 0.0, [-2.0, 1.5, 2.0, -1.0, -1.0]),
    "redundant rows": (textbook, 3, lambda x: ca.sumsqr(x - 1),
                       lambda x: [x[0] + x[1], 2 * (x[0] + x[1])], 0.0, 0.0, 0.5),
}  # fmt: skip


#: First words of the names of control problems, whose functions ``--compiled`` compiles.
CONTROL = ("van der Pol", "pendulum", "masses", "race car", "hanging chain")
#: A control problem whose functions take a C compiler minutes.
LARGE = "masses 12 x 100"


def solver_of(name, linear_solver, functions=None):
    """Ipopt for one problem, and its start; ``functions`` is a library with compiled ones."""
    make, *arguments = PROBLEMS[name]
    nlp, start = make(*arguments)
    options = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes"}
    options["ipopt.linear_solver"] = linear_solver
    if linear_solver == "ma27":
        options["ipopt.hsllib"] = gs.ipopt.library()
    start = {key: ca.DM(value) for key, value in start.items()}  # not in the time of a run
    return ca.nlpsol("solver", "ipopt", functions or nlp, options), start


def solve(name, linear_solver):
    """Iterations, status, objective and seconds of one problem."""
    solver, start = solver_of(name, linear_solver)
    return timed(solver, start)


def timed(solver, start):
    """Iterations, status, objective and seconds of CPU time of one run."""
    began = time.process_time()
    found = solver(**start)
    seconds = time.process_time() - began
    stats = solver.stats()
    return stats["iter_count"], stats["return_status"], float(found["f"]), seconds


def compiled(name, folder):
    """Library of a problem's functions and their derivatives, by a C compiler."""
    library = folder / (name.replace(" ", "_").replace(",", "") + ".so")
    if not library.exists():
        solver, _ = solver_of(name, "mumps")
        with contextlib.chdir(folder):  # CasADi writes no paths
            solver.generate_dependencies("functions.c")
            command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "functions.c", "-o"]
            subprocess.run([*command, str(library)], check=True)
    return str(library)


def compare(names, folder, rounds=5):
    """Print both solvers' least times of so many runs in turns, and those of graphsys' first."""
    total = {"control": np.zeros(3), "other": np.zeros(3)}
    for name in names:
        control = name.startswith(CONTROL)
        functions = compiled(name, folder) if folder and control and name != LARGE else None
        runs = [solver_of(name, kind, functions) for kind in ("mumps", "ma27")]
        first = timed(*runs[1])[3]
        found = [[timed(*run) for run in runs] for _ in range(rounds)]
        peer, ours = found[-1]
        seconds = np.array([min(run[k][3] for run in found) for k in (0, 1)])
        total["control" if control else "other"] += *seconds, first
        same = abs(peer[0] - ours[0]) <= 1
        same &= abs(peer[2] - ours[2]) <= 1e-8 * max(1.0, abs(peer[2]))
        print(
            f"{name:20} {'same' if same else 'DIFFERENT':9} {peer[0]:4} {ours[0]:4} iterations, "
            f"{peer[2]:.9g} {ours[2]:.9g}, {1e3 * seconds[0]:.1f} {1e3 * seconds[1]:.1f} ms "
            f"(first {1e3 * first:.0f}) {ours[1] if not same else ''}",
            flush=True,
        )
    for kind, (peer, ours, first) in total.items():
        print(f"{kind}: MUMPS {peer:.3f} s, graphsys {ours:.3f} s, first runs {first:.3f} s")


if __name__ == "__main__":
    given = [name for name in sys.argv[1:] if name != "--compiled"]
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path) if "--compiled" in sys.argv else None
        compare(given or list(PROBLEMS), folder)
