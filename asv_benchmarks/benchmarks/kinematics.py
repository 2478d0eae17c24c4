"""What a controller asks of a model: Jacobians, mass matrix, inverse dynamics, linearization.

``python -m benchmarks.kinematics`` prints microseconds of a call, the least of many, for trees of
the given numbers of joints and for mechanisms with loops.
"""

import sys
import time

import dynamics as dy

from .usage import answer_help

TREES = (10, 30, 100)
LOOPS = {
    "four-bar": dy.zoo.four_bar,
    "10 windows": lambda: dy.zoo.four_bar_windows(10),
    "exoskeleton": dy.zoo.exoskeleton,
}
QUERIES = ("jacobian", "mass matrix", "centroidal matrix", "inverse dynamics", "linearize")


def scene(name):
    """Model and state: a random tree of so many bodies, or one of the loops."""
    return LOOPS[name]() if name in LOOPS else dy.zoo.random_tree(int(name))


def queries(model, state):
    """Functions without arguments by their names."""
    kinematics, tip = dy.Kinematics(model), model.bodies[-1]
    names = dy.JointSpace(model).names[:1] if model.tables.cycles else None
    asked = {names[0]: 0.0} if names else 0.0
    calls = (
        lambda: kinematics.jacobian(state, tip),
        lambda: kinematics.mass_matrix(state),
        lambda: kinematics.centroidal_matrix(state),
        lambda: dy.inverse_dynamics(model, state, asked, dy.JointSpace(model).names),
        lambda: dy.linearize(model, state, coordinates="joint"),
    )
    return dict(zip(QUERIES, calls))


class Queries:
    params = ([*map(str, TREES), *LOOPS], QUERIES)
    param_names = ("mechanism", "query")

    def setup(self, name, query):
        self.call = queries(*scene(name))[query]
        self.call()  # compile before the clock starts

    def time_query(self, name, query):
        self.call()


def microseconds(call, rounds=30):
    """Least time of a call."""
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return 1e6 * min(found)


def main(names):
    print(f"{'mechanism':12}", *(f"{query:>18}" for query in QUERIES))
    for name in names or [*map(str, TREES), *LOOPS]:
        calls = queries(*scene(name))
        print(f"{name:12}", *(f"{microseconds(calls[query]):18.0f}" for query in QUERIES))


if __name__ == "__main__":
    answer_help(__doc__)
    main(sys.argv[1:])
