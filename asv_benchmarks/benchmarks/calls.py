"""Calls of Python around steps: tables of a model, placing bodies, readings of sensors.

``python -m benchmarks.calls [robot file ...]`` prints microseconds of processor time of a call, the
least of many, for mechanisms of the zoo and for robot files, with all joints actuated.
"""

import sys
import time

import dynamics as dy

from .usage import answer_help

SCENES = {
    "cart-pole": dy.zoo.cart_pole,
    "quadruped": dy.zoo.quadruped,
    "tree of 100": lambda: dy.zoo.random_tree(100),
}
CALLS = (
    "finalize", "variant", "initial state", "set joint", "assemble", "IMU", "frame",
    "force and torque", "range",
)  # fmt: skip


def scene(name):
    """Model and state: of the zoo, or of a robot file at rest."""
    if name in SCENES:
        model, state = SCENES[name]()
        return model, model.initial_state() if state is None else state
    model = dy.load(name, actuated=True).finalize(0.005)
    return model, model.initial_state()


def calls(model, state):
    """Functions without arguments by their names."""
    mechanism, (body, *_) = model.mechanism, reversed(model.bodies)
    joint = dy.JointSpace(model).names[-1]
    held = [one.name for one in mechanism.joints.values() if one.name in model.tables.joint_index]
    kinds = (
        dy.IMU(body.name), dy.FrameSensor(body.name), dy.ForceTorque(held[-1]),
        dy.RangeFinder(body.name),
    )  # fmt: skip
    suites = [dy.Sensors(model, [one]) for one in kinds]
    q, rate = model.joint(state, joint)
    placed = state.copy()
    found = [
        lambda: mechanism.finalize(model.timestep),
        lambda: dy.variant(model, {body.name: {"mass": 1.1 * body.mass}}),
        model.initial_state,
        lambda: model.set_joint(placed, joint, q, rate),
        lambda: model.assemble(state),
        *(lambda suite=suite: suite.read(state) for suite in suites),
    ]
    return dict(zip(CALLS, found))


class Calls:
    params = (list(SCENES), CALLS)
    param_names = ("mechanism", "call")

    def setup(self, name, call):
        self.call = calls(*scene(name))[call]
        self.call()  # compile before the clock starts

    def time_call(self, name, call):
        self.call()


def microseconds(call, rounds=10, seconds=0.5):
    """Least processor time of a call, in the mean of some rounds."""
    found, end = [], time.perf_counter() + seconds
    call()
    while time.perf_counter() < end or len(found) < 3:
        start = time.process_time()
        for _ in range(rounds):
            call()
        found.append(time.process_time() - start)
    return 1e6 * min(found) / rounds


def main(names):
    print(f"{'mechanism':20}", *(f"{call:>16}" for call in CALLS))
    for name in names or SCENES:
        found = calls(*scene(name))
        print(f"{name[-20:]:20}", *(f"{microseconds(found[call]):16.0f}" for call in CALLS))


if __name__ == "__main__":
    answer_help(__doc__)
    main(sys.argv[1:])
