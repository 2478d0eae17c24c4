"""Interior-point systems of optimal control: KKT matrices at the iterates of Ipopt.

``python -m benchmarks.interior_point`` in ``asv_benchmarks`` compares graphsys with MUMPS, KLU and
PARDISO on a matrix of an early and one of a late iteration (CasADi; needs the peers' libraries).
``--check`` solves thousands of late systems instead, and counts errors and refinements.
"""

import argparse
import warnings

import numpy as np
from scipy.sparse import block_array, csc_array, csr_array, diags_array

import graphsys as gs

from .clock import fastest
from .interface import Solver
from .mumps import MUMPS
from .networks import Splu
from .pardiso import Pardiso
from .suitesparse import KLU

#: States, controls and stages.
SIZES = [(3, 1, 1000), (6, 2, 300), (12, 4, 200), (27, 13, 100)]
#: The same for many systems, and how many problems of each.
CHECKED = [(3, 1, 100), (6, 2, 60), (12, 4, 40), (5, 3, 50), (27, 13, 12)]
PROBLEMS, LOADS, DIAGONALS = 3, 20, 40


def control_problem(ca, states, controls, stages, seed):
    """Multiple shooting with one step of the classical Runge-Kutta method per stage."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((states, states)) / np.sqrt(states) - np.eye(states)
    B = rng.standard_normal((states, controls))

    def rates(x, u):
        return ca.mtimes(A, x) + ca.mtimes(B, u) + 0.3 * ca.sin(x)

    X = [ca.SX.sym("x", states) for _ in range(stages + 1)]
    U = [ca.SX.sym("u", controls) for _ in range(stages)]
    h, gaps = 0.02, []
    for x, u, y in zip(X, U, X[1:], strict=False):
        a = rates(x, u)
        b = rates(x + h / 2 * a, u)
        c = rates(x + h / 2 * b, u)
        d = rates(x + h * c, u)
        gaps.append(x + h / 6 * (a + 2 * b + 2 * c + d) - y)
    cost = sum(ca.sumsqr(x) + 0.1 * ca.sumsqr(u) for x, u in zip(X, U, strict=False))
    unknowns = [v for pair in zip(X, U, strict=False) for v in pair] + [X[-1]]
    free, bound = np.full(states, np.inf), np.ones(controls)
    start = rng.standard_normal(states)
    low = np.concatenate([start, -bound, *[np.append(-free, -bound)] * (stages - 1), -free])
    high = np.concatenate([start, bound, *[np.append(free, bound)] * (stages - 1), free])
    guess = np.concatenate([np.append(start, 0.0 * bound)] * stages + [start])
    nlp = {"x": ca.vertcat(*unknowns), "f": cost, "g": ca.vertcat(*gaps)}
    return nlp, {"x0": guess, "lbx": low, "ubx": high, "lbg": 0.0, "ubg": 0.0}


def kkt_matrices(states, controls, stages, seed=0):
    """KKT matrices of all iterations: fixed unknowns left out, bounds condensed to a diagonal."""
    import casadi as ca

    nlp, given = control_problem(ca, states, controls, stages, seed)
    sizes = {"f": 1, **{k: nlp[k[-1]].numel() for k in ("x", "g", "lam_x", "lam_g")}}

    class Iterates(ca.Callback):
        """Keeps the unknowns and multipliers of every iteration."""

        def __init__(self):
            ca.Callback.__init__(self)
            self.found = []
            self.construct("iterates", {})

        def get_n_in(self):
            return ca.nlpsol_n_out()

        def get_n_out(self):
            return 1

        def get_sparsity_in(self, i):
            return ca.Sparsity.dense(sizes.get(ca.nlpsol_out(i), 0), 1)

        def eval(self, arguments):
            now = {ca.nlpsol_out(i): np.array(v).ravel() for i, v in enumerate(arguments)}
            self.found.append((now["x"], now["lam_x"], now["lam_g"]))
            return [0]

    iterates = Iterates()
    options = {"iteration_callback": iterates, "ipopt.print_level": 0, "print_time": 0}
    ca.nlpsol("solver", "ipopt", nlp, options)(**given)
    lam = ca.SX.sym("lam", nlp["g"].numel())
    lagrangian = nlp["f"] + ca.dot(lam, nlp["g"])
    hessian = ca.Function("hessian", [nlp["x"], lam], [ca.hessian(lagrangian, nlp["x"])[0]])
    jacobian = ca.Function("jacobian", [nlp["x"]], [ca.jacobian(nlp["g"], nlp["x"])])
    low, high = given["lbx"], given["ubx"]
    free = low < high
    found = []
    for x, lam_x, lam_g in iterates.found:
        gap = np.maximum(np.minimum(x - low, high - x), 1e-9)
        bounds = diags_array(np.where(free, np.abs(lam_x) / gap, 0.0))
        H = csc_array(csc_array(hessian(x, lam_g).sparse()) + bounds)[free][:, free]
        G = csc_array(jacobian(x).sparse())[:, free]
        found.append(csr_array(block_array([[H, G.T], [G, None]])))
    return found


class Graphsys(Solver):
    """A symmetric system of scalars, with a node for each stage, or with nodes that are found."""

    group = "graphsys"

    def __init__(self, dims):
        self.dims = dims
        kind = "found" if dims is None else "scalars" if dims == 1 else "stages"
        self.name = f"graphsys, {kind}"

    def analyze(self, A, system, order):
        system = gs.System.from_scipy(A, self.dims, symmetric=True)
        self.factor, self.values = system.factorize(), system.values
        self.refactorize, self.solve = self.factor.refactorize, self.factor.solve
        self.at_once = self.factor.refactorize_and_solve


def stage_sizes(states, controls, stages):
    """Rows of the nodes: controls and states of every stage, then its multipliers."""
    between = [states + controls] * (stages - 1)
    return [controls, *between, states] + [states] * stages


def backward_error(A, x, b):
    """Return the largest ``|A x - b| / (|A| |x| + |b|)`` of any row."""
    rest, size = np.abs(A @ x - b), abs(A) @ np.abs(x) + np.abs(b)
    return np.max(rest / np.where(rest > 0.0, size, 1.0))


def check():
    """Solve late systems, and those with random diagonals; count errors and refinements."""
    rng = np.random.default_rng(1)
    for size in CHECKED:
        sizes, counts = stage_sizes(*size), {}
        unknowns = sum(sizes[: size[2] + 1])
        for problem in range(PROBLEMS):
            matrices = kkt_matrices(*size, seed=problem)
            late, last = matrices[len(matrices) // 2 :], matrices[-2]
            ipm, random = gs.System.from_scipy(matrices[0], sizes, symmetric=True).factorize(), None
            for A in matrices:  # one factor for all iterations
                values = gs.System.from_scipy(A, sizes, symmetric=True).values
                _count(counts, "iterations", A, ipm, values, rng)
            for A in late:
                system = gs.System.from_scipy(A, sizes, symmetric=True)
                factor = system.factorize()
                for _ in range(LOADS):
                    _count(counts, "late", A, factor, system.values, rng)
            for _ in range(DIAGONALS):
                diagonal = np.zeros(last.shape[0])
                diagonal[:unknowns] = 10.0 ** rng.uniform(-10, 10, unknowns)
                A = csr_array(last + diags_array(diagonal))
                system = gs.System.from_scipy(A, sizes, symmetric=True)
                random = random or system.factorize()
                _count(counts, "random diagonals", A, random, system.values, rng)
                _count(counts, "random diagonals", A, system.factorize(), system.values, rng)
        for kind, (solves, wrong, slow, worst) in counts.items():
            print(
                f"{size} {kind}: {solves} solves, {wrong} above 1e-14, {slow} with more than two "
                f"refinements, largest error {worst:.1e}",
                flush=True,
            )


def _count(counts, kind, A, factor, values, rng):
    """Add one solve to the counts of a kind."""
    b = rng.standard_normal(A.shape[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of inaccurate solutions: they are counted
        x = factor.refactorize_and_solve(values, b)
    error, before = backward_error(A, x, b), counts.get(kind, (0, 0, 0, 0.0))
    added = 1, int(not error <= 1e-14), int(factor.report.refinements > 2)
    counts[kind] = *(n + m for n, m in zip(before, added)), max(before[3], error)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="count errors of late systems")
    if parser.parse_args().check:
        return check()
    for size in SIZES:
        matrices = kkt_matrices(*size)
        for name, A in (("early", matrices[len(matrices) // 3]), ("late", matrices[-2])):
            b = np.random.default_rng(0).standard_normal(A.shape[0])
            system, order = gs.System.from_scipy(A, 1), list(range(A.shape[0]))
            solvers = [Graphsys(1), Graphsys(stage_sizes(*size)), Graphsys(None), Splu()]
            solvers += [MUMPS(), KLU(), Pardiso(-2)]
            for solver in solvers:
                solver.analyze(A.copy(), system, order)

                def run(solver=solver, b=b):
                    if solver.at_once is not None:
                        return solver.at_once(solver.values, b)
                    solver.refactorize(solver.values)
                    return solver.solve(b)

                x = np.array(run())
                print(
                    f"{size} {name} {solver.name}: {1e6 * fastest(run):.0f} us, "
                    f"error {backward_error(A, x, b):.0e}",
                    flush=True,
                )
                solver.close()
    return None


if __name__ == "__main__":
    main()
