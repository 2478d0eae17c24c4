"""Warm-up: compile the kernels of a simulation, so that no first run has to wait."""

from __future__ import annotations

from typing import Any

from dynamics.joint_types import Revolute
from dynamics.mechanism import Mechanism
from dynamics.shapes import Box, Sphere
from dynamics.simulation import simulate

__all__ = ["warm_up"]

TIMESTEP = 0.01  #: s


def warm_up() -> int:
    """Simulate a double pendulum, and a ball that falls to the ground and slides.

    What is compiled for it is kept on disk for later processes.

    Returns
    -------
    int
        Number of steps that were simulated.
    """
    steps = 0
    for mechanism in (_double_pendulum(), _ball()):
        model = mechanism.finalize(TIMESTEP)
        motion = simulate(model, model.initial_state(), 20 * TIMESTEP)
        motion.energy()
        motion.constraint_violation()
        steps += int(motion.info["steps"])
    return steps


def _double_pendulum() -> Mechanism:
    mechanism = Mechanism()
    parent: Any = mechanism.world
    height = 0.0
    for name in ("upper", "lower"):
        body = mechanism.add_body(Box(0.1, 0.1, 1.0, mass=1.0), name=name)
        ends = {"parent_point": (0.0, 0.0, height), "child_point": (0.0, 0.0, 0.5)}
        mechanism.add_joint(
            Revolute(parent, body, axis=(0.0, 1.0, 0.0), name=f"{name} hinge", **ends)
        )
        parent, height = body, -0.5
    return mechanism


def _ball() -> Mechanism:
    mechanism = Mechanism()
    ball = mechanism.add_body(Sphere(0.1, mass=1.0), name="ball", position=(0.0, 0.0, 0.105))
    mechanism.add_contact(ball, friction=0.5)
    return mechanism
