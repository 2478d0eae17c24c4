"""Runs with an accuracy against runs of equal steps: errors and times.

``python -m benchmarks.error_control`` in ``asv_benchmarks`` prints the table of
`docs/theory/error_control.md`.
"""

import time

import numpy as np

import dynamics as dy

from .usage import answer_help

RECORD = 0.05  #: s


def ball(timestep, order=2):
    """A ball that falls by 1 m and bounces."""
    mechanism = dy.Mechanism()
    body = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=(0, 0, 1.1))
    mechanism.add_contact(body, restitution=0.6, name="floor", friction=0.0)
    model = mechanism.finalize(timestep)
    return model, model.initial_state()


def rod(timestep, order=2, rate=0.0, limits=None, damping=0.0, **options):
    """A rod on a hinge."""
    mechanism = dy.Mechanism()
    body = mechanism.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0), name="rod")
    hinge = {"child_point": (0, 0, 0.5), "limits": limits, "damping": damping, "name": "hinge"}
    mechanism.add_joint(dy.Revolute(mechanism.world, body, axis=(0, 1, 0), **hinge))
    model = mechanism.finalize(timestep, order=order, **options)
    state = model.initial_state()
    model.set_joint(state, "hinge", 1.0, rate)
    return model, state


def limited(timestep, order=2, **options):
    """A rod that swings against a limit."""
    return rod(timestep, order, limits=(-0.5, 2.0), **options)


def spinning(timestep, order=2):
    """A damped rod that starts with 40 rad/s."""
    return rod(timestep, order, rate=40.0, damping=0.5)


def double_pendulum(timestep, order=2):
    """The double pendulum of the zoo."""
    return dy.zoo.double_pendulum(timestep=timestep, order=order)


#: Seconds, accuracies, and equal steps over those of the records, by motion and order.
CASES = {
    (ball, 2): (1.4, (1e-4, 1e-6), (100, 2500)),
    (limited, 2): (2.0, (1e-4, 1e-6), (100, 500)),
    (spinning, 2): (4.0, (1e-4, 1e-6), (200, 600)),
    (spinning, 4): (4.0, (1e-4, 1e-6), (16, 32)),
    (double_pendulum, 2): (1.0, (1e-5, 1e-6), (200, 600)),
    (double_pendulum, 4): (1.0, (1e-6, 1e-8), (8, 32)),
}


def exact(make, seconds):
    """Poses at the records: a closed form for the ball, else a run of tight accuracy."""
    if make is ball:
        model, state = ball(RECORD)
        motion = dy.simulate(model, state, seconds)
        poses = motion.states[:, :7].copy()
        for k, now in enumerate(motion.time):
            left, speed = now - np.sqrt(2.0 / 9.81), np.sqrt(2.0 * 9.81)
            height = 1.0 - 0.5 * 9.81 * now**2
            while left > 0.0:
                speed *= 0.6
                height = speed * left - 0.5 * 9.81 * left**2
                left -= 2.0 * speed / 9.81
            poses[k, 2] = 0.1 + height
        return poses
    options = {"contact_tolerance": 1e-11} if make is limited else {"order": 6}
    model, state = make(RECORD, **options)
    return poses_of(dy.simulate(model, state, seconds, accuracy=1e-7 if make is limited else 1e-9))


def poses_of(motion):
    """Poses of all records."""
    return motion.states[:, : 7 * motion.model.n_bodies]


def measured(*arguments, **options):
    """A motion and its least time of five, ms of the processor."""
    motion, least = dy.simulate(*arguments, **options), np.inf
    for _ in range(5):
        start = time.process_time()
        motion = dy.simulate(*arguments, **options)
        least = min(least, time.process_time() - start)
    return motion, 1e3 * least


class ErrorControl:
    """Time of a run with an accuracy."""

    params = (["ball", "limited", "double_pendulum"], [1e-4, 1e-6])
    param_names = ("motion", "accuracy")

    def setup(self, name, accuracy):
        self.model, self.state = globals()[name](RECORD)
        self.time_run(name, accuracy)  # compile before the clock starts

    def time_run(self, name, accuracy):
        dy.simulate(self.model, self.state, 1.0, accuracy=accuracy)


def main():
    """Print the table."""
    for (make, order), (seconds, accuracies, parts) in CASES.items():
        right = exact(make, seconds)
        print(f"{make.__name__}, order {order}")
        for accuracy in accuracies:
            model, state = make(RECORD, order)
            motion, ms = measured(model, state, seconds, accuracy=accuracy)
            error, count = np.abs(poses_of(motion) - right).max(), motion.info["intervals"]
            print(f"  accuracy {accuracy:.0e}: {error:.1e}, {ms:.2f} ms, {count} intervals")
        for part in parts:
            model, state = make(RECORD / part, order)
            motion, ms = measured(model, state, seconds, every=part)
            error, count = np.abs(poses_of(motion) - right).max(), motion.info["intervals"]
            print(f"  step {RECORD / part:.1e} s: {error:.1e}, {ms:.2f} ms, {count} intervals")


if __name__ == "__main__":
    answer_help(__doc__)
    main()
