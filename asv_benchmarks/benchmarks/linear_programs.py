"""Optimal bases of linear programs that scipy's HiGHS solves: min c x with A x = b, x >= 0."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_diag, coo_array, csc_array, eye_array, hstack, random_array, vstack


def optimal_basis(c, A, b):
    """Columns of the basis of a nondegenerate optimum, as a CSR array."""
    found = linprog(c, A_eq=A, b_eq=b, method="highs-ds", options={"presolve": False})
    basis = np.flatnonzero(found.x > 1e-9)
    if basis.size != A.shape[0]:
        raise ArithmeticError(f"{basis.size} of {A.shape[0]} basic variables are positive")
    B = csc_array(A)[:, basis].tocsr()
    B.sort_indices()
    return B


def production(periods, products, machines, seed=0):
    """Production with stocks, parts lists, machine hours and overtime."""
    rng, n = np.random.default_rng(seed), periods * products
    make, stock, buy, idle, over = (np.arange(n) + k * n for k in range(5))
    idle, over = (3 * n + k * periods * machines + np.arange(periods * machines) for k in (0, 1))
    balance, hours = np.arange(n), n + np.arange(periods * machines)
    period, product = np.divmod(np.arange(n), products)
    entries = [(balance, make, 1.0), (balance, stock, -1.0), (balance, buy, 1.0),
               (balance[products:], stock[:-products], 1.0), (hours, idle, 1.0),
               (hours, over, -1.0)]  # fmt: skip
    for _ in range(2):  # parts, and machines
        made = np.flatnonzero(product > products // 3)
        part = (rng.random(made.size) * product[made]).astype(int)
        entries.append(
            (period[made] * products + part, make[made], rng.uniform(-1.0, -0.2, made.size))
        )
        machine = rng.integers(0, machines, products)[product]
        entries.append((hours[period * machines + machine], make, rng.uniform(0.5, 2.0, n)))
    row, column, value = (
        np.concatenate([np.broadcast_to(e[k], e[0].shape) for e in entries]) for k in range(3)
    )
    A = coo_array((value, (row, column)))
    c = np.concatenate([rng.uniform(0.1, 1.0, n), np.full(n, 0.05), rng.uniform(3.0, 9.0, n),
                        np.zeros(idle.size), np.full(over.size, 1.0)])  # fmt: skip
    return c, A, np.concatenate([rng.uniform(1.0, 10.0, n), rng.uniform(20.0, 60.0, hours.size)])


def regression(rows, columns, seed=0):
    """Least absolute deviations of a sparse linear model."""
    rng = np.random.default_rng(seed)
    X = random_array((rows, columns), density=3.0 / columns, rng=rng, data_sampler=rng.normal)
    eye = eye_array(rows)
    c = np.concatenate([np.zeros(2 * columns), np.ones(2 * rows)])
    return c, hstack([X, -X, eye, -eye]), rng.normal(size=rows)


def stochastic(scenarios, size, seed=0):
    """Two stages: decisions now, and recourse in each scenario."""
    rng = np.random.default_rng(seed)

    def sampler(size):
        return rng.uniform(-1.0, 2.0, size)

    T = random_array((size, size), density=0.1, rng=rng, data_sampler=sampler)
    W = random_array((size, size), density=0.08, rng=rng, data_sampler=sampler) + eye_array(size)
    W = hstack([W, eye_array(size), -eye_array(size)])
    A = hstack([vstack([T] * scenarios), block_diag([W] * scenarios)])
    cost = np.concatenate([rng.uniform(1.0, 3.0, size), np.full(size, 10.0), np.full(size, 0.01)])
    c = np.concatenate([rng.uniform(1.0, 2.0, size), np.tile(cost / scenarios, scenarios)])
    return c, A, rng.uniform(1.0, 10.0, scenarios * size)


def staircase(periods, columns, rows, seed=0):
    """Random equations, each period with variables of its own and of the one before."""
    rng = np.random.default_rng(seed)

    def part(density):
        return random_array((rows, columns), density=density, rng=rng, data_sampler=rng.normal)

    A = block_diag([part(0.15) for _ in range(periods)], format="lil")
    for t in range(1, periods):
        A[t * rows : (t + 1) * rows, (t - 1) * columns : t * columns] = part(0.06)
    A = A.tocsr()
    x = rng.uniform(0.0, 1.0, A.shape[1]) * (rng.random(A.shape[1]) < 0.6)
    return rng.uniform(0.1, 1.0, A.shape[1]), A, A @ x


#: Linear programs by name.
PROGRAMS = {
    "production 12 x 20": (production, 12, 20, 4),
    "production 30 x 60": (production, 30, 60, 8),
    "regression 600": (regression, 600, 200),
    "regression 2000": (regression, 2000, 600),
    "stochastic 10 x 40": (stochastic, 10, 40),
    "stochastic 40 x 60": (stochastic, 40, 60),
    "staircase 10 x 30": (staircase, 10, 60, 30),
    "staircase 25 x 60": (staircase, 25, 120, 60),
}
