"""Bodies for the tests of the dual-quaternion integrator, and a differential equation beside it.

The body of the figures is that of docs/theory/dual_quaternion.md: a heavy body with added mass,
seen from a reference point beside its centre of mass, on a spring.
"""

from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

from dynamics import rotation
from dynamics.integrators.dual_quaternion.forces import (
    AnchoredSpring,
    BodyWrench,
    Drag,
    Pivot,
    WorldForce,
    spatial_inertia,
)
from dynamics.integrators.dual_quaternion.rigid_body import RigidBody
from dynamics.parts.spatial_inertia import skew

EPS = np.finfo(float).eps
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"

MASS, CENTER, MOMENTS = 2.0, np.array([0.1, -0.2, 0.4]), np.diag([0.3, 0.4, 0.2])
A = np.random.default_rng(1).normal(size=(6, 6))
BARE = spatial_inertia(MASS, MOMENTS, CENTER)
FULL = BARE + 0.2 * A @ A.T
WEIGHT = WorldForce((0, 0, -9.81 * MASS), CENTER)
SPRING = AnchoredSpring(30.0, (0.2, 0.1, 0.3), (0, 0, 1))
DRAG = Drag(
    np.diag([0.5, 0.3, 0.4, 1.0, 2.0, 1.5]) + 0.1 * skew([1, 2, 3]).repeat(2, 0).repeat(2, 1)
)
START = {"angular_velocity": (1, 2, -1.5), "velocity": (0.3, -0.2, 0.5)}

# Of the design's prototype at T = 1 s, ten digits.
POSE = [
    *(0.2646629922, 0.8031752125, -0.484453319, -0.2239822768),
    *(0.0775861213, 0.1848573764, 0.4234880554),
]
TOP = [0.055153234, -0.0612856503, -0.8431066495, -0.5313881514]
TOP_RATE = [2.4233770651, 1.7341518512, 5.6482096256]


def bent(time, position, orientation, twist):
    """A wrench that depends on everything: quadratic drag, a thruster that swings, a field."""
    return np.concatenate(
        [
            -0.3 * abs(twist[:3]) * twist[:3] + [0, 0, np.sin(3 * time)],
            -0.5 * abs(twist[3:]) * twist[3:]
            + rotation.rotate(rotation.conjugate(orientation), [np.cos(position[2]), 0, 0]),
        ]
    )


def figure_body():
    return RigidBody(FULL, [WEIGHT, SPRING])


def heavy_top():
    return RigidBody(BARE + 0.1 * A @ A.T, [WEIGHT], pivot=Pivot((-0.2, 0.1, -0.3)))


def top_state(top):
    return top.state(orientation=(0.8, 0.5, 0.2, -0.1), angular_velocity=(1, -0.5, 6))


def exact(body, state, seconds):
    """Position, orientation and twist by Kirchhoff's equations and DOP853."""
    M, n = body.inertia, 6 if body.pivot is None else 9
    G = np.zeros((0, 6)) if n == 6 else np.hstack([-skew(body.pivot.point), np.eye(3)])
    KKT = np.block([[M, -G.T], [G, np.zeros((n - 6, n - 6))]])

    def rate(t, y):
        place, q, chi = y[:3], y[3:7], y[7:]
        p, turn = M @ chi, rotation.rotate
        push = np.concatenate(
            [
                np.cross(p[:3], chi[:3]) + np.cross(p[3:], chi[3:]),
                np.cross(p[3:], chi[:3]),
                np.zeros(n - 6),
            ]
        )
        for force in body.forces:
            if isinstance(force, Drag):
                push[:6] -= force.matrix @ chi
                continue
            if isinstance(force, BodyWrench):
                push[:6] += [*force.torque, *force.force]
                continue
            world = getattr(force, "force", None)
            if world is None:
                reach = force.anchor - place - turn(q, force.point)
                world = force.stiffness * (1 - force.length / np.linalg.norm(reach)) * reach
            f = turn(rotation.conjugate(q), world)
            push[:6] += [*np.cross(force.point, f), *f]
        if body.external is not None:
            push[:6] += body.external(t, place, q, chi)
        q_rate = 0.5 * rotation.multiply(q, [0.0, *chi[:3]])
        return np.concatenate([turn(q, chi[3:]), q_rate, np.linalg.solve(KKT, push)[:6]])

    y = np.concatenate([state.position, state.orientation, state.twist])
    found = solve_ivp(rate, (state.time, seconds), y, method="DOP853", rtol=1e-13, atol=1e-13)
    return found.y[:, -1]


def numbers(state):
    return np.concatenate([state.position, state.orientation, state.twist])


def orders(errors):
    """Slopes between errors at timesteps halved each time."""
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
