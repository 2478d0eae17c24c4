"""Time of a step a link at orders 2, 4 and 6, and what Newton's method needs for it.

``python -m benchmarks.orders`` in ``asv_benchmarks`` prints the table of `docs/theory/galerkin.md`.
"""

from functools import partial

import numpy as np

import dynamics as dy
from dynamics import zoo

from .usage import answer_help
from .work_precision import seconds_of, twelve

KINKED = {"angles": np.r_[0.5 * np.pi, 0.3, np.zeros(48)]}
#: Mechanism, time step in s, moving bodies.
CASES = {
    "double pendulum": (zoo.double_pendulum, 0.002, 2),
    "four-bar": (zoo.four_bar, 0.005, 3),
    "Bricard": (zoo.bricard, 0.005, 5),
    "12 links": (twelve, 0.002, 12),
    "12 links, 5 ms": (twelve, 0.005, 12),
    "50 hinges": (partial(zoo.pendulum, 50), 0.002, 50),
    "50 ball joints": (partial(zoo.pendulum, 50, "spherical"), 0.002, 50),
    "50 hinges, a kink": (partial(zoo.pendulum, 50, **KINKED), 0.002, 50),
    "50 ball joints, a kink": (partial(zoo.pendulum, 50, "spherical", **KINKED), 0.002, 50),
}


class Orders:
    """One second of motion."""

    params = (list(CASES), [2, 4, 6])
    param_names = ("mechanism", "order")

    def setup(self, name, order):
        make, h, _ = CASES[name]
        self.model, self.state = make(timestep=h, order=order)
        dy.simulate(self.model, self.state, 10.0 * h)  # compile before the clock starts

    def time_second(self, name, order):
        return dy.simulate(self.model, self.state, 1.0, every=round(1.0 / self.model.timestep))


def main():
    """Print microseconds a link and step, and iterations and factorizations a step."""
    for name, (_, h, bodies) in CASES.items():
        print(f"{name:24s}", end="")
        for order in Orders.params[1]:
            case = Orders()
            case.setup(name, order)
            info = case.time_second(name, order).info
            seconds = seconds_of(lambda: case.time_second(name, order))  # noqa: B023
            print(
                f"{1e6 * seconds * h / bodies:7.2f} ({info['iterations'] * h:.2f},"
                f" {info['factorizations'] * h:.2f})",
                end="",
            )
        print(flush=True)


if __name__ == "__main__":
    answer_help(__doc__)
    main()
