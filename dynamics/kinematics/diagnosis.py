"""Diagnosis of steps that fail, in the user's labels."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics.errors import ConvergenceError
from dynamics.kernels.base import layout, status
from dynamics.kernels.base.step_info import (
    LEAST_ERROR,
    VELOCITY_ERROR,
    VIOLATION,
    WANTED_LENGTH,
    WORST_BODY,
)
from dynamics.kernels.stepping.substeps import DEPTH
from dynamics.parts.tendons import sliders_of
from dynamics.tables.error_control import explicit_tables
from dynamics.tables.trace_links import light_links

if TYPE_CHECKING:
    from dynamics.model import Model

WENT_WRONG = {
    status.NOT_CONVERGED: "Newton's method did not converge",
    status.SINGULAR: "the matrix is singular",
    status.NOT_FINITE: "numbers are not finite",
    status.USER_FAILED: "a user's distance function failed",
    status.TURNED_TOO_FAR: "a body turns too far in one interval",
    status.PASSED_THROUGH: "bodies that touch go through each other between two nodes",
    status.INACCURATE: "the accuracy is not reached",
    status.ENERGY_GAINED: "energy appears that no force accounts for",
}

#: Bodies that are named where energy appears, and the least part that they have in it.
NAMED, PART = 3, 0.1


def failure(
    model: Model, bad: int, step: int, time: float, info: NDArray[np.float64]
) -> ConvergenceError:
    """Make the exception for a step that failed.

    Parameters
    ----------
    model : Model
    bad : int
        Status of the step.
    step : int
        Its number.
    time : float
        Where it began, s.
    info : ndarray of float

    Returns
    -------
    ConvergenceError
        Or what a user's function raised is raised again.
    """
    for call in model.tables.callbacks:
        call.reraise()
    name, what = model.workspace.worst()
    residual, violation = float(info[VELOCITY_ERROR]), float(info[VIOLATION])
    wanted = float(info[WANTED_LENGTH])
    shortest = f"intervals of {wanted:.1e} s" if wanted > 0.0 else f"{2**DEPTH} intervals"
    if not wanted > 0.0 and model.stages is None:
        shortest += " and in shorter ones of several lengths"
    if bad == status.INACCURATE:
        body = list(model.tables.body_index)[int(info[WORST_BODY])]
        return ConvergenceError(
            f"step {step} at {time:.6g} s: {WENT_WRONG[bad]}: the error of body {body!r} is "
            f"{info[LEAST_ERROR]:.1e} times what it may be, even in {shortest} and 2^18 of "
            "them in a step. Use a larger accuracy, or look at the forces and contacts of that "
            f"body{_light_link(model, body) or _first_order(model)}",
            step,
            residual,
            body,
        )
    if bad == status.ENERGY_GAINED:
        names = _risen(model, *_last_velocities(model))
        return ConvergenceError(
            f"step {step} at {time:.6g} s: {WENT_WRONG[bad]}, even in {shortest}: more "
            "than a tenth of the kinetic energy in one of them, or a twentieth of the largest one "
            f"in all; that of {names} rises most. Use a smaller timestep, look at the masses and "
            'forces of these bodies, or take the step all the same with energy_audit="warn"',
            step,
            residual,
            name,
        )
    return ConvergenceError(
        f"step {step} at {time:.6g} s: {WENT_WRONG[bad]}, even in {shortest}; "
        f"the largest residual is {residual:.2e} in {what} {name!r} (constraints open by "
        f"{violation:.2e}). Use a smaller timestep, or look at that part's masses, forces and "
        f"state{_light_link(model, name)}",
        step,
        residual,
        name,
    )


def _light_link(model: Model, name: Hashable) -> str:
    """What a part with a body of little mass between joints needs; empty for others."""
    bodies, joints = model.mechanism.bodies, model.mechanism.joints
    ends = joints[name].bodies if name in joints else [bodies[name]] if name in bodies else []
    light = light_links(bodies.values(), joints.values())
    helpers = sliders_of(model.mechanism)
    link = next((one.name for one in ends if one.name in light and one.name not in helpers), None)
    if link is None:
        return ""
    held = [joint.name for joint in light[link]]
    return (
        f". Body {link!r} has next to no mass: where the axes of its joints and of those next to "
        f"it lie in a plane, forces turn it alone, and fast. Rotors on its joints, armature=1e-3 "
        f"of {held}, or more mass slow it down"
    )


def _first_order(model: Model) -> str:
    """Reason of short intervals in a run with an accuracy."""
    if not int(model.tables.plan[layout.STIFF_NUMBERS]):
        return ""
    if explicit_tables(model) is None:
        return (
            ". In a model with compliant contacts these, servos and stiff forces are of first order"
            ", which asks for short intervals"
        )
    joints = model.mechanism.joints.values()
    servos = [f"servo of joint {joint.name!r}" for joint in joints if joint.servo is not None]
    stiff = " and ".join([*model.stiff, *servos, "drags"][:2])
    return (
        f". Stiff forces, as of the {stiff}, change velocities by what rounding leaves of "
        "positions: start where they are in balance, make them softer or their bodies heavier"
    )


def warn_of_gain(
    model: Model, work: float, time: float, now: NDArray[np.float64], before: NDArray[np.float64]
) -> None:
    """Warn that energy appears.

    Parameters
    ----------
    model : Model
    work : float
        Since the motion began, J.
    time : float
        Where the step begins, s.
    now, before : ndarray of float, shape (6 n,)
        Velocities after and before it.
    """
    warnings.warn(
        f"{work:.3g} J appear by the step at {time:.6g} s that no force accounts for: more than a "
        "tenth of the kinetic energy in one interval, or a twentieth of the largest one in all; "
        f"that of {_risen(model, now, before)} rises most; use a smaller timestep, or look at the "
        "masses and forces of these bodies",
        RuntimeWarning,
        stacklevel=3,
    )


def _risen(model: Model, now: NDArray[np.float64], before: NDArray[np.float64]) -> str:
    """Names of the bodies whose kinetic energy rises most, the first ones first."""
    constant = model.tables.constant[: layout.BODY_SIZE * model.n_bodies]
    bodies = constant.reshape(model.n_bodies, layout.BODY_SIZE)
    mass = bodies[:, layout.MASS]
    J = bodies[:, layout.INERTIA : layout.INERTIA + 9].reshape(-1, 3, 3)

    def kinetic(twist: NDArray[np.float64]) -> NDArray[np.float64]:
        V = twist.reshape(-1, layout.TWIST)
        spin = np.einsum("ni,nij,nj->n", V[:, 3:], J, V[:, 3:])
        return np.asarray(0.5 * (mass * (V[:, :3] ** 2).sum(axis=1) + spin))

    rise = kinetic(now) - kinetic(before)
    first, *others = np.argsort(-rise)[:NAMED].tolist()
    names = list(model.tables.body_index)
    order = [first, *(i for i in others if rise[i] >= PART * rise[first] > 0.0)]
    return ", ".join(repr(names[i]) for i in order)


def _last_velocities(model: Model) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Velocities of the last interval that was tried, and those before the step."""
    plan, work = model.tables.plan, model.workspace.work
    n, rows, every = (int(plan[i]) for i in (layout.BODIES, layout.ROWS, layout.ALL_ROWS))
    m = layout.TWIST * n
    if model.stages is not None:  # arrays of `galerkin.step.arrays_of`
        speed, before = work[3][4], work[5][layout.POSE * n + m :]
        return speed[speed.size - m :], before[:m]
    start = 2 * layout.node_size(n, every, int(plan[layout.WRENCHES]))
    saved = start + (3 + layout.STORED) * (m + rows) + 6 * m + layout.POSE * n + m
    return work[start : start + m], work[saved : saved + m]
