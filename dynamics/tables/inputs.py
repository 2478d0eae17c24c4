"""Inputs of a step: controls and wrenches, by name or as vectors."""

from __future__ import annotations

import inspect
import math
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.errors import UnknownNameError

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.parts.actuators import Actuator

Float = NDArray[np.float64]


def check_positive(**values: float) -> None:
    """Refuse numbers that are not positive and finite."""
    for name, value in values.items():
        try:
            good = math.isfinite(value) and value > 0.0
        except TypeError:
            raise TypeError(f"{name} must be a number, not {value!r}") from None
        if not good:
            raise ValueError(f"{name} is {value}, and must be positive and finite")


def check_function(what: str, function: Any, takes: str) -> None:
    """Refuse what cannot be called with these arguments."""
    if not callable(function):
        raise TypeError(f"{what} must be a function, not {function!r}")
    try:
        inspect.signature(function).bind(*takes.split())
    except TypeError as error:
        raise TypeError(f"{what} must take ({takes}): {error}") from None
    except ValueError:  # of one that Python does not know the signature of
        pass


def check_driven(model: Model, names: Iterable[Hashable]) -> None:
    """Refuse names of what takes no controls."""
    for name in names:
        if name not in model.tables.control_start:
            text = f"{name!r} is not actuated; actuated are {list(model.tables.control_start)}"
            if name in model.mechanism.actuators:
                text = f"{name!r} is an actuator of the file: use model.controls({{{name!r}: ...}})"
            elif name in model.mechanism.joints:
                text += (
                    "; a motor comes from actuated=True or servo= of the joint, or from "
                    "dynamics.load(file, actuated=True)"
                )
            raise UnknownNameError(text)


def controls_of(model: Model, control: Any) -> Float:
    """Vector of controls from a vector, a mapping by name or None.

    Parameters
    ----------
    model : Model
    control : array_like, shape (c,), mapping or None

    Returns
    -------
    ndarray of float, shape (c,)

    Raises
    ------
    ValueError
        If its shape is wrong, or it is not finite.
    UnknownNameError
        If it names what is not actuated.
    """
    start = model.tables.control_start
    if control is None:
        return np.zeros(model.n_controls)
    if not isinstance(control, Mapping):
        given = np.atleast_1d(control) if model.n_controls == 1 else control
        return rotation.as_numbers(given, (model.n_controls,), "control")
    check_driven(model, control)
    out = np.zeros(model.n_controls)
    for name, value in control.items():
        first, count = start[name]
        out[first : first + count] = rotation.as_numbers(
            np.atleast_1d(value), (count,), f"control of {name!r}"
        )
    return out


def controls_in_step(model: Model, control: Any) -> Float:
    """Controls of one step: those of `controls_of`, or of each of its nodes.

    Parameters
    ----------
    model : Model
    control : array_like, shape (c,) or (len(model.nodes), c), mapping or None

    Returns
    -------
    ndarray of float, shape (c,) or (len(model.nodes) c,)

    Raises
    ------
    ValueError, UnknownNameError
        As in `controls_of`.
    """
    if isinstance(control, Mapping) or np.ndim(control) != 2:
        return controls_of(model, control)
    return rotation.as_numbers(control, (model.nodes.size, model.n_controls), "control").ravel()


def last_of(model: Model, row: Float) -> Float:
    """Return the controls at the last node of a step.

    Parameters
    ----------
    model : Model
    row : ndarray of float, shape (c,) or (len(model.nodes) c,)
        Of `controls_in_step` or `controls_table`.

    Returns
    -------
    ndarray of float, shape (c,)
    """
    return np.array(row[len(row) - model.n_controls :])


def controls_table(model: Model, controls: Any) -> Float:
    """One row of controls for all steps or for each, those of its nodes one after the other.

    Parameters
    ----------
    model : Model
    controls : array_like, shape (c,), (steps, c) or (steps, len(model.nodes), c), or mapping
        By name, what does not change or one row for each step.

    Returns
    -------
    ndarray of float, shape (1 or steps, c or len(model.nodes) c)

    Raises
    ------
    ValueError
        If its shape is wrong, or it is not finite.
    UnknownNameError
        If it names what is not actuated.
    """
    if isinstance(controls, Mapping):
        check_driven(model, controls)
        start = model.tables.control_start
        return _side_by_side(controls, start, model.n_controls, "control of")
    if callable(controls):
        raise TypeError(
            "controls are numbers; a function is a controller: "
            "simulate(..., controller=lambda state, time: controls)"
        )
    table = np.array(controls, np.float64, order="C")
    c, nodes = model.n_controls, model.nodes.size
    table = np.atleast_2d(table)
    if table.shape[1:] not in ((c,), (nodes, c)) or not np.isfinite(table).all():
        raise ValueError(
            f"controls must be finite, of shape ({c},), (steps, {c}) or (steps, {nodes}, {c}): "
            f"actuated are {model.tables.control_names}"
        )
    return table.reshape(len(table), -1)


def _side_by_side(
    given: Mapping[Hashable, ArrayLike], start: Mapping[Any, tuple[int, int]], size: int, what: str
) -> Float:
    """Columns by name in one table of `size` columns, zero where nothing is given.

    A name has ``count`` columns from ``first`` on, ``start[name] = first, count``. It gets numbers
    of shape (count,) for all rows, or of shape (rows, count), also (rows,) for one column.
    """
    parts, rows = {}, {}
    for name, value in given.items():
        if callable(value):
            raise TypeError(
                f"{what} {name!r} is a function, and must be numbers; a function is a controller: "
                "simulate(..., controller=lambda state, time: {name: number})"
            )
        count, part = start[name][1], np.asarray(value)
        if part.ndim == 1 and count == 1 and part.size != 1:
            part = part[:, None]
        shape = (len(part), count) if part.ndim == 2 and len(part) else (count,)
        parts[name] = rotation.as_numbers(np.atleast_1d(part), shape, f"{what} {name!r}")
        rows[name] = len(part) if part.ndim == 2 else 1
    most = max(rows.values(), default=1)
    for name, count in rows.items():
        if count not in (1, most):
            longest = max(rows, key=lambda one: rows[one])
            raise ValueError(
                f"{what} {name!r} has {count} rows and {what} {longest!r} has {most}: give as many "
                "rows for each, or one for all steps"
            )
    out = np.zeros((most, size))
    for name, part in parts.items():
        first, count = start[name]
        out[:, first : first + count] = part
    return out


def controls_from_commands(
    model: Model, commands: Any, filtered: bool, activations: Mapping[str, float] | None
) -> Float:
    """Controls of joints from commands of a file's actuators; see `Model.controls`."""
    actuators = model.mechanism.actuators
    given = commands_of(actuators, commands)
    for one in actuators.values():
        if one.muscle is not None and one.joint in model.tables.control_start:
            raise ValueError(
                f"actuator {one.name!r} is a muscle, whose force depends on its length and speed: "
                "simulate with controller=dynamics.Muscles(model, commands)"
            )
    started = activations or {}
    for name in started:
        if name not in actuators:
            raise UnknownNameError(f"{name!r} is not an actuator; actuators are {list(actuators)}")
    if filtered and given.ndim != 2:
        raise ValueError(
            "filtered=True needs commands of each step, of shape (steps, actuators), not of shape "
            f"{given.shape}"
        )
    return controls_of_actuators(model, given, filtered, started)


def commands_of(actuators: Mapping[str, Actuator], commands: Any) -> Float:
    """Commands of all actuators, checked.

    Parameters
    ----------
    actuators : mapping
    commands : mapping or array_like, shape (..., actuators)

    Returns
    -------
    ndarray of float, shape (..., actuators)

    Raises
    ------
    UnknownNameError
        If it names something that is not an actuator.
    ValueError
        If its shape is wrong, or it is not finite.
    """
    if isinstance(commands, Mapping):
        for name in commands:
            if name not in actuators:
                raise UnknownNameError(
                    f"{name!r} is not an actuator; actuators are {list(actuators)}, and controls "
                    "of joints need no model.controls; mechanism.report lists what was left out of "
                    "a file"
                )
        parts = {name: np.asarray(value, np.float64) for name, value in commands.items()}
        shape = max((part.shape for part in parts.values()), key=np.prod, default=())
        for name, part in parts.items():
            if part.shape not in ((), shape):
                raise ValueError(
                    f"command of {name!r} has shape {part.shape}, another one {shape}: give each a "
                    "number, or as many as the others"
                )
        given = np.zeros((*shape, len(actuators)))
        for k, name in enumerate(actuators):
            given[..., k] = parts.get(name, 0.0)
    else:
        given = np.asarray(commands, np.float64)
    if given.shape[-1:] != (len(actuators),) or not np.isfinite(given).all():
        raise ValueError(
            f"commands must be finite, of shape (..., {len(actuators)}): actuators are "
            f"{list(actuators)}"
        )
    return given


def controls_of_actuators(
    model: Model,
    given: Float,
    filtered: bool = False,
    started: Mapping[str, float] | None = None,
) -> Float:
    """Controls of joints by all actuators that are no muscles.

    Parameters
    ----------
    model : Model
    given : ndarray of float, shape (..., actuators)
    filtered : bool, optional
    started : mapping, optional
        See `Model.controls`.

    Returns
    -------
    ndarray of float, shape (..., c)
    """
    out = np.zeros((*given.shape[:-1], model.n_controls))
    for k, one in enumerate(model.mechanism.actuators.values()):
        if one.muscle is not None:
            continue
        command = np.clip(given[..., k, None], one.least, one.most)
        if filtered and one.activation:
            start = float((started or {}).get(one.name, 0.0))
            command = _activated(one, command[:, 0], start, model.timestep)[:, None]
        for joint, scale in {one.joint: one.scale, **one.others}.items():
            if joint in model.tables.control_start:  # unless loaded with actuated=
                first, count = model.tables.control_start[joint]
                out[..., first : first + count] += command * scale
                if joint == one.joint:
                    out[..., first : first + count] += one.constant
    return out


def _activated(one: Actuator, commands: Float, start: float, timestep: float) -> Float:
    """Means over the steps of what a filter or integrator makes of commands, from a start on."""
    out, now = np.empty(len(commands)), start
    if one.activation == "filter" and one.time_constant > 0.0:
        fade = np.exp(-timestep / one.time_constant)
        mean = one.time_constant / timestep * (1.0 - fade)
    else:
        fade = mean = 0.0
    for k, command in enumerate(commands):
        if one.activation == "integrator":
            out[k], now = now + 0.5 * timestep * command, now + timestep * command
        else:
            out[k], now = command + mean * (now - command), command + fade * (now - command)
        now = min(max(now, one.active[0]), one.active[1])
    return np.clip(out, *one.active)


def wrenches_of(model: Model, wrenches: ArrayLike | Mapping[Hashable, ArrayLike] | None) -> Float:
    """Vector of wrenches, empty where there is none.

    Parameters
    ----------
    model : Model
    wrenches : array_like, shape (6 n,), or mapping, or None
        Force (world, N) and torque (body frame, N m) of all bodies, or by name of body.

    Returns
    -------
    ndarray of float, shape (6 n,) or (0,)
    """
    if wrenches is None:
        return np.zeros(0)
    if not isinstance(wrenches, Mapping):
        return rotation.as_numbers(wrenches, (6 * model.n_bodies,), "wrenches of all bodies")
    if not wrenches:
        return np.zeros(0)
    out = np.zeros((model.n_bodies, 6))
    for name, wrench in wrenches.items():
        out[model.body_number(name)] = rotation.as_numbers(
            wrench, (6,), f"wrench on {name!r}, three of force and three of torque,"
        )
    return out.ravel()


def wrenches_table(model: Model, wrenches: Mapping[Hashable, ArrayLike]) -> Float:
    """One row of wrenches for all steps or for each.

    Parameters
    ----------
    model : Model
    wrenches : mapping
        As for `wrenches_of`, each of shape (6,) or (steps, 6).

    Returns
    -------
    ndarray of float, shape (1 or steps, 6 n) or (1, 0)
    """
    start = {name: (6 * model.body_number(name), 6) for name in wrenches}
    return _side_by_side(wrenches, start, 6 * model.n_bodies if start else 0, "wrench on")
