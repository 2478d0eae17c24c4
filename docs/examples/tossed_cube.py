"""Model of the cube of `tosses.py`, and where a toss starts: see `cube_toss.py`."""

import numpy as np
from tosses import WIDTH, H

import dynamics as dy
from dynamics import rotation


def cube():
    """The cube on its table, its numbers to be found."""
    mechanism = dy.Mechanism()
    body = mechanism.add_body(dy.Box(WIDTH, WIDTH, WIDTH, mass=0.37), name="cube")
    mechanism.add_contact(body, friction=0.2, name="table")
    return mechanism.finalize(H)


def start(model, toss):
    """State that fits the first frames best: a fall, and a turn at a constant rate."""
    n, q = toss.free, toss.orientation[: toss.free]
    time = H * np.arange(n)
    line = np.stack([np.ones(n), time], axis=1)
    fall = toss.position[:n] + 0.5 * 9.81 * np.outer(time**2, [0, 0, 1])
    (x, v), *_ = np.linalg.lstsq(line, fall)
    first, spin = q[0], np.zeros(3)
    for _ in range(5):
        ahead = rotation.multiply(first, rotation.from_rotation_vector(np.outer(time, spin)))
        left = rotation.to_rotation_vector(rotation.multiply(rotation.conjugate(ahead), q))
        (turn, faster), *_ = np.linalg.lstsq(line, left)
        first = rotation.multiply(first, rotation.from_rotation_vector(turn))
        spin = spin + faster
    state = model.initial_state()
    model.set_body(state, "cube", position=x, orientation=first, velocity=v, angular_velocity=spin)
    return state
