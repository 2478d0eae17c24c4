"""Plans with contacts: derivatives of the program, and the robots of paper 003, section 6.

``python -m benchmarks.trajectory_optimization`` in ``asv_benchmarks`` solves the three examples by
Ipopt with MUMPS, with graphsys, and without second derivatives (extra ``trajectories``).
"""

import runpy
import sys
from pathlib import Path

import numpy as np

import graphsys as gs
from dynamics.errors import ConvergenceError
from dynamics.trajectory_optimization import Ground
from dynamics.trajectory_optimization.transcription import Task, Transcription

from .usage import answer_help

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
NAMES = ["spring_flamingo", "little_dog", "humanoid_reach"]


def example(name):
    """Names of an example."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        return runpy.run_path(str(EXAMPLES / f"{name}.py"))
    finally:
        sys.path.remove(str(EXAMPLES))


class Derivatives:
    """One evaluation for a robot's whole plan, at a random point."""

    params = (NAMES, ["constraints", "jacobian", "hessian"])
    param_names = ("robot", "function")

    def setup(self, name, function):
        made = example(name)
        integrator, contacts = made["robot"]()[:2]
        n, n_u = len(integrator.joints), integrator.columns.size
        rng = np.random.default_rng(0)
        task = Task(
            integrator, made["STEPS"], contacts, Ground(), Ground(), [], [],
            name == "spring_flamingo", (np.zeros(n), np.zeros(n)), np.ones(n_u),
        )  # fmt: skip
        self.made = Transcription(task)
        self.points = rng.uniform(0.0, 0.3, (2, self.made.size))
        self.multipliers = rng.normal(size=self.made.height)
        self.turn = 0

    def time_evaluate(self, name, function):
        self.turn = 1 - self.turn  # kinematics are those of another point each time
        z = self.points[self.turn]
        if function == "hessian":
            self.made.hessian(z, 1.0, self.multipliers)
        else:
            getattr(self.made, function)(z)


def main():
    ma27 = {"linear_solver": "ma27", "hsllib": gs.ipopt.library()}
    ways = {"MUMPS": {}, "graphsys": ma27, "L-BFGS": {"hessian_approximation": "limited-memory"}}
    print("| robot | solver | variables, rows | iterations | time, s | derivatives, s | cost |")
    print("|---|---|---|---|---|---|---|")
    for name in NAMES:
        for way, options in ways.items():
            try:
                plan = example(name)["main"](**options)
            except ConvergenceError as error:
                print(f"| {name} | {way} | | not solved after {error.step} | | | |", flush=True)
                continue
            print(
                f"| {name} | {way} | {plan.size}, {plan.rows} | {plan.iterations} | "
                f"{plan.seconds:.1f} | {plan.evaluation_seconds:.1f} | {plan.cost:.4g} |",
                flush=True,
            )


if __name__ == "__main__":
    answer_help(__doc__)
    main()
