"""Warm-up: compile the kernels of a simulation, so that no first run has to wait."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamics.control.episode_run import begun
from dynamics.control.inverse_dynamics import inverse_dynamics
from dynamics.derivatives.linearization import linearize
from dynamics.derivatives.sensitivities import sensitivity
from dynamics.integrators.tree.description import Tree
from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.integrators.tree.linearization import evaluate
from dynamics.integrators.tree.linearization import linearize as tree_slopes
from dynamics.integrators.tree.twists import prismatic, revolute
from dynamics.kernels.base.jit import bind_all, compile_all
from dynamics.kinematics.frames import Kinematics
from dynamics.kinematics.joint_space import JointSpace
from dynamics.mechanism import Mechanism
from dynamics.model import Model
from dynamics.parts.contact_primitives import HalfSpace
from dynamics.parts.joint_types import Prismatic, Revolute
from dynamics.parts.sensors import IMU, ForceTorque, FrameSensor, RangeFinder
from dynamics.parts.servos import PositionServo
from dynamics.parts.shapes import Box, Capsule, Sphere
from dynamics.sensors.suite import Sensors
from dynamics.simulation import simulate
from dynamics.state import State
from dynamics.tables.composition import compose
from dynamics.trajectory_optimization.action import Action
from dynamics.trajectory_optimization.points import moved
from dynamics.zoo import quadruped

__all__ = [
    "warm_up",
    "with_contacts",
    "with_near_pairs",
    "with_queries",
    "with_trees",
    "without_contacts",
]

TIMESTEP = 0.01  #: s


def warm_up() -> int:
    """Simulate what users begin with, and read it off.

    A double pendulum, with what is asked of a robot arm; a ball that slides on the ground, a
    quadruped, and a hopper and a box on a floor whose contacts the model finds. A tree in the
    coordinates of its joints, with what trajectory optimization asks of it.

    What is compiled for it is kept on disk for later processes.

    Returns
    -------
    int
        Number of steps that were simulated.
    """
    steps = without_contacts() + with_queries() + with_contacts() + with_near_pairs()
    return steps + with_trees()


def without_contacts() -> int:
    """The pendulum; its number of steps."""
    compile_all()
    model = _double_pendulum().finalize(TIMESTEP)
    return _run(model, model.initial_state())


def with_queries() -> int:
    """The pendulum: Jacobians, inverse dynamics, derivatives, sensors, accuracy, other orders."""
    compile_all()
    mechanism = _double_pendulum()
    model = mechanism.finalize(TIMESTEP)
    state = model.initial_state()
    kinematics, last = Kinematics(model), model.bodies[-1]
    kinematics.jacobian(state, last)
    kinematics.mass_matrix(state)
    inverse_dynamics(model, state, 0.0)
    linearize(model, state, coordinates="joint")
    served = _double_pendulum(PositionServo(100.0, 1.0)).finalize(TIMESTEP)
    linearize(served, served.step(served.initial_state())[0])
    sensitivity(model, state, 2.0 * TIMESTEP, [(last.name, "mass")])
    ends = last.name, list(mechanism.joints)[-1]
    sensors = [IMU(ends[0]), ForceTorque(ends[1]), FrameSensor(ends[0]), RangeFinder(ends[0])]
    Sensors(model, sensors).read(state)
    simulate(model, state, 2.0 * TIMESTEP, accuracy=1e-6)
    composed = compose(model, "suzuki4")
    simulate(composed, state, 2.0 * TIMESTEP)
    composed.step(state)
    fourth = mechanism.copy().finalize(TIMESTEP, order=4)
    return _run(fourth, fourth.initial_state())


def with_contacts() -> int:
    """The ball, also with an accuracy, and the quadruped; their number of steps."""
    compile_all()
    model = _ball().finalize(TIMESTEP)
    simulate(model, model.initial_state(), 2.0 * TIMESTEP, accuracy=1e-3)
    return _run(model, model.initial_state()) + _run(*quadruped())


def with_near_pairs() -> int:
    """The hopper, also with an accuracy, its leg with and without limits; its number of steps."""
    compile_all()
    for limits in ((-0.2, 0.2), None):
        model = _hopper(limits).finalize(TIMESTEP)
        state = model.initial_state()
        simulate(model, state, 2.0 * TIMESTEP, accuracy=1e-3)
    steps = _run(model, state)  # no pair is near
    motion = simulate(model, state, 1.0)  # it falls down: pairs come and go
    linearize(model, motion.final)
    return steps + int(motion.info["steps"])


def with_trees() -> int:
    """Trees of `TreeIntegrator`, and the action of trajectory optimization; their steps."""
    compile_all()
    tree = Tree()
    tree.add_body("rail", mass=1.0)
    tree.add_joint("world", "rail", prismatic([1.0, 0.0, 0.0]), stiffness=1.0)
    tree.add_body("rod", mass=1.0, inertia=[0.1, 0.1, 0.1])
    tree.add_joint("rail", "rod", revolute([0.0, 1.0, 0.0], point=[0.0, 0.0, 0.5]), damping=0.1)
    integrator, zero, steps = TreeIntegrator(tree, TIMESTEP), np.zeros(2), 2
    motion = integrator.simulate(zero, zero, steps=steps)
    integrator.step(zero, zero)
    integrator.energy(zero, zero)
    tree_slopes(integrator, motion.q[:-1], motion.p[:-1])
    q = np.zeros((steps, integrator.degree + 1, 2))
    evaluate(integrator, q[0], zero)
    action = Action(integrator, steps)
    action.rows(q)
    action.jacobians(q)
    action.hessians(q, q)
    moved(integrator, q[0])
    bind_all()
    return steps


def _run(model: Model, state: State) -> int:
    """Simulate, look at the motion as users do, and take a step."""
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
    space = JointSpace(model)
    space.read(state)
    run = begun(space, state.data, 0.0, state.interval, 1, np.ones(model.n_controls))
    run.act(np.zeros(model.n_controls))
    bind_all()
    return int(motion.info["steps"])


def _double_pendulum(servo: PositionServo | None = None) -> Mechanism:
    mechanism = Mechanism()
    parent: Any = mechanism.world
    height = 0.0
    for name in ("upper", "lower"):
        body = mechanism.add_body(Box(0.1, 0.1, 1.0, mass=1.0), name=name)
        mechanism.add_joint(
            Revolute(
                parent,
                body,
                axis=(0.0, 1.0, 0.0),
                name=f"{name} hinge",
                parent_point=(0.0, 0.0, height),
                child_point=(0.0, 0.0, 0.5),
                servo=servo,
            )
        )
        parent, height = body, -0.5
    return mechanism


def _hopper(limits: tuple[float, float] | None) -> Mechanism:
    mechanism = Mechanism()
    mechanism.add_obstacle(HalfSpace(), name="floor")
    trunk = mechanism.add_body(Box(0.2, 0.2, 0.3, mass=2.0), name="trunk", position=(0, 0, 1.5))
    shin = mechanism.add_body(Capsule(0.04, 0.3, mass=0.5), name="shin")
    foot = mechanism.add_body(Sphere(0.05, mass=0.2), name="foot")
    mechanism.add_joint(
        Revolute(
            trunk,
            shin,
            axis=(0.0, 1.0, 0.0),
            name="hip",
            actuated=True,
            parent_point=(0.0, 0.0, -0.2),
            child_point=(0.0, 0.0, 0.2),
        )
    )
    leg = Prismatic(
        shin, foot, axis=(0.0, 0.0, 1.0), parent_point=(0.0, 0.0, -0.25), damping=10.0,
        limits=limits,
    )  # fmt: skip
    mechanism.add_joint(leg)
    box = Box(0.2, 0.2, 0.2, mass=1.0)
    mechanism.add_body(box, name="box", position=(0.0, 0.0, 2.0))  # onto the trunk
    mechanism.collide(friction=0.8)
    return mechanism


def _ball() -> Mechanism:
    mechanism = Mechanism()
    ball = mechanism.add_body(Sphere(0.1, mass=1.0), name="ball", position=(0.0, 0.0, 0.105))
    mechanism.add_contact(ball, friction=0.5)
    return mechanism
