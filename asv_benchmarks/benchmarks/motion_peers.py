"""Chains of hinges, open or closed, in MuJoCo, Pinocchio, scipy and compiled NumPy.

A chain is read from a mechanism of `dynamics` at a state; all frames are turned like the world's
there, so that every coordinate is 0 at the start. Each function gives the orientations after one
second, and a function that runs it again. What is not installed raises ImportError.
"""

import math
from dataclasses import dataclass
from functools import partial

import numba
import numpy as np

from dynamics import rotation


@dataclass(frozen=True)
class Chain:
    """Hinges of shape (k, 3) with their axes and rates, bodies behind them, points to close it."""

    points: np.ndarray
    axes: np.ndarray
    rates: np.ndarray
    masses: np.ndarray
    centres: np.ndarray
    inertias: np.ndarray
    turns: np.ndarray
    gravity: np.ndarray
    closing: np.ndarray


def chain(model, state, hinges, closing=None):
    """Chain of the hinges named, body i behind the i-th; hinge ``closing`` ends it on the world."""
    turns = rotation.to_matrix(state.pose[:, 3:])
    spins = np.einsum("kij,kj->ki", turns, model.velocities(state)[:, 3:])
    spins = np.diff(np.vstack([np.zeros(3), spins]), axis=0)

    def place(name):
        joint = model.mechanism.joints[name]
        i = model.body_number(joint.child.name)
        return state.pose[i, :3] + turns[i] @ joint.child_point, turns[i] @ joint.rates[0].axis

    points, axes = (np.array(x) for x in zip(*map(place, hinges), strict=True))
    ends = np.zeros((0, 3))
    if closing is not None:
        point, axis = place(closing)
        ends = np.array([point, point + 0.5 * axis])
    own = zip(turns, model.bodies, strict=True)
    return Chain(
        points, axes, np.einsum("ki,ki->k", axes, spins),
        np.array([body.mass for body in model.bodies]), state.pose[:, :3].copy(),
        np.array([R @ body.inertia @ R.T for R, body in own]), turns,
        np.asarray(model.mechanism.gravity), ends,
    )  # fmt: skip


def mujoco_run(chain, integrator, steps):
    """MuJoCo; loops by its soft equality constraints at their hardest."""
    import mujoco

    def numbers(x):
        return " ".join(map(repr, np.asarray(x, float).tolist()))

    inner, before = "", np.vstack([np.zeros(3), chain.points])
    for i in reversed(range(len(chain.points))):
        J = chain.inertias[i]
        full = numbers([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])
        inner = (
            f'<body name="b{i}" pos="{numbers(chain.points[i] - before[i])}">'
            f'<joint type="hinge" axis="{numbers(chain.axes[i])}"/>'
            f'<inertial pos="{numbers(chain.centres[i] - chain.points[i])}" '
            f'mass="{float(chain.masses[i])!r}" fullinertia="{full}"/>{inner}</body>'
        )
    hold = "".join(
        f'<connect body1="b{len(chain.points) - 1}" anchor="{numbers(p - chain.points[-1])}" '
        f'solref="{2.0 / steps!r} 1" solimp="0.9999 0.9999 0.001"/>'
        for p in chain.closing
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{1.0 / steps!r}" integrator="{integrator}" '
        f'gravity="{numbers(chain.gravity)}"><flag contact="disable"/></option>'
        f"<worldbody>{inner}</worldbody><equality>{hold}</equality></mujoco>"
    )
    data = mujoco.MjData(model)

    def run():
        mujoco.mj_resetData(model, data)
        data.qvel[:] = chain.rates
        mujoco.mj_step(model, data, steps)

    run()
    mujoco.mj_kinematics(model, data)
    found = data.xmat[1:].reshape(-1, 3, 3) @ chain.turns
    return rotation.from_matrix(found), run


def pinocchio_model(chain):
    """(model, acceleration(q, v)) of Pinocchio; loops by points held, with dependent rows."""
    import pinocchio as pin

    model, before = pin.Model(), np.vstack([np.zeros(3), chain.points])
    model.gravity.linear = chain.gravity
    last = 0
    for i, axis in enumerate(chain.axes):
        home = pin.SE3(np.eye(3), chain.points[i] - before[i])
        last = model.addJoint(last, pin.JointModelRevoluteUnaligned(axis), home, f"j{i}")
        inertia = pin.Inertia(
            float(chain.masses[i]), chain.centres[i] - chain.points[i], chain.inertias[i]
        )
        model.appendBodyToJoint(last, inertia, pin.SE3.Identity())
    data, still = model.createData(), np.zeros(model.nv)
    if not len(chain.closing):
        return model, lambda q, v: pin.aba(model, data, q, v, still)
    held, parts = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for point in chain.closing:
        ends = (pin.SE3(np.eye(3), point - chain.points[-1]), pin.SE3(np.eye(3), point))
        one = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, model, last, ends[0], 0, ends[1], pin.ReferenceFrame.LOCAL
        )
        held.append(one), parts.append(one.createData())
    pin.initConstraintDynamics(model, data, held, parts)
    settings = pin.ProximalSettings(1e-14, 1e-14, 1e-8, 50)
    return model, lambda q, v: pin.constraintDynamics(
        model, data, q, v, still, held, parts, settings
    )


def turned(chain, model, q):
    """Orientations of Pinocchio's bodies."""
    import pinocchio as pin

    data = model.createData()
    pin.forwardKinematics(model, data, q)
    found = np.array([data.oMi[i + 1].rotation for i in range(len(chain.points))]) @ chain.turns
    return rotation.from_matrix(found)


def pinocchio_run(chain, steps):
    """Pinocchio's accelerations, and classical Runge-Kutta steps in Python."""
    model, acceleration = pinocchio_model(chain)
    h = 1.0 / steps

    def run():
        q, v = np.zeros(model.nq), chain.rates.copy()
        for _ in range(steps):
            a = acceleration(q, v).copy()
            v2 = v + 0.5 * h * a
            b = acceleration(q + 0.5 * h * v, v2).copy()
            v3 = v + 0.5 * h * b
            c = acceleration(q + 0.5 * h * v2, v3).copy()
            v4 = v + h * c
            d = acceleration(q + h * v3, v4)
            q = q + h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4)
            v = v + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)
        return q

    return turned(chain, model, run()), run


def dop853_on_pinocchio(chain, tolerance):
    """scipy's DOP853 on Pinocchio's accelerations."""
    from scipy.integrate import solve_ivp

    model, acceleration = pinocchio_model(chain)
    n = model.nv

    def rates(_, y):
        return np.concatenate([y[n:], acceleration(y[:n], y[n:])])

    start = np.concatenate([np.zeros(n), chain.rates])
    run = partial(solve_ivp, rates, (0.0, 1.0), start, "DOP853", rtol=tolerance, atol=tolerance)
    return turned(chain, model, run().y[:n, -1]), run


@numba.njit
def pendulum_rates(t, y, half, mass, inertia, weight):
    """Rates of n equal rods in a row, of length 2 half, by their angles in the world."""
    n = y.size // 2
    M, f = np.empty((n, n)), np.empty(n)
    for i in range(n):
        f[i] = -weight * mass * half * (2.0 * (n - i) - 1.0) * math.sin(y[i])
        for j in range(n):
            most = max(i, j)
            part = 4.0 * (n - 1 - most) + (2.0 if i != j else 1.0)
            part *= mass * half * half
            M[i, j] = part * math.cos(y[i] - y[j]) + (inertia if i == j else 0.0)
            f[i] -= part * math.sin(y[i] - y[j]) * y[n + j] ** 2
    out = np.empty(2 * n)
    out[:n] = y[n:]
    out[n:] = np.linalg.solve(M, f)
    return out


def dop853_on_angles(angles, rates, inertia, axis, down, tolerance):
    """scipy's DOP853 on compiled equations of rods of 1 m and 1 kg, turned by ``down`` to hang."""
    from scipy.integrate import solve_ivp

    def run():
        return solve_ivp(
            pendulum_rates, (0.0, 1.0), np.concatenate([angles, rates]), "DOP853",
            rtol=tolerance, atol=tolerance, args=(0.5, 1.0, inertia, 9.81),
        )  # fmt: skip

    n = len(angles)
    found = run().y[:n, -1] + down
    return rotation.from_axis_angle(np.tile(axis, (n, 1)), found), run
