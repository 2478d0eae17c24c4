"""What is put into a step: controls and wrenches, by name or as vectors."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.errors import UnknownNameError

if TYPE_CHECKING:
    from dynamics.model import Model

Float = NDArray[np.float64]


def check_positive(**values: float) -> None:
    """Refuse numbers that are not positive and finite.

    Parameters
    ----------
    **values : float
        By name.

    Raises
    ------
    ValueError
    """
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} is {value}, and must be positive and finite")


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
        Where its shape is another, or it is not finite.
    UnknownNameError
        Where it names what is not actuated.
    """
    start = model.tables.control_start
    if control is None:
        return np.zeros(model.n_controls)
    if not isinstance(control, Mapping):
        return rotation.as_numbers(control, (model.n_controls,), "control")
    out = np.zeros(model.n_controls)
    for name, value in control.items():
        if name not in start:
            raise UnknownNameError(f"{name!r} is not actuated; actuated are {list(start)}")
        first, count = start[name]
        out[first : first + count] = rotation.as_numbers(
            np.atleast_1d(np.asarray(value, float)), (count,), f"control of {name!r}"
        )
    return out


def wrenches_of(model: Model, wrenches: Mapping[Hashable, ArrayLike] | None) -> Float:
    """Vector of wrenches, empty where there is none.

    Parameters
    ----------
    model : Model
    wrenches : mapping or None
        By name of body: force (world, N) and torque (body frame, N m).

    Returns
    -------
    ndarray of float, shape (6 n,) or (0,)
    """
    if not wrenches:
        return np.zeros(0)
    out = np.zeros((model.n_bodies, 6))
    for name, wrench in wrenches.items():
        out[model.body_number(name)] = rotation.as_numbers(wrench, (6,), f"wrench on {name!r}")
    return out.ravel()
