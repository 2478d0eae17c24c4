"""Warm-up: compile the kernels of a simulation, so that no first run has to wait."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamics.joint_types import Revolute
from dynamics.mechanism import Mechanism
from dynamics.shapes import Box, Sphere
from dynamics.simulation import simulate
from dynamics.zoo import quadruped

__all__ = ["warm_up"]

TIMESTEP = 0.01  #: s


def warm_up() -> int:
    """Simulate a double pendulum, a ball that slides on the ground, and a quadruped; read them off.

    What is compiled for it is kept on disk for later processes.

    Returns
    -------
    int
        Number of steps that were simulated.
    """
    steps = 0
    models = [mechanism.finalize(TIMESTEP) for mechanism in (_double_pendulum(), _ball())]
    starts = [(model, model.initial_state()) for model in models]
    for model, state in [*starts, quadruped()]:
        controls = np.zeros((20, model.n_controls))
        motion = simulate(model, state, 20 * model.timestep, controls=controls)
        motion.energy()
        motion.momentum()
        motion.constraint_violation()
        for joint in list(model.mechanism.joints)[:1]:
            motion.joint(joint)
            motion.reaction(joint)
        for contact in motion.contacts[:1]:
            motion.contact(contact)
        model.step(state)
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
