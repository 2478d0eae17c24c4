"""Users' Python functions as C functions that compiled code can call.

A function that numba compiles runs at full speed; any other is called through ctypes, which takes
the GIL and some microseconds a call. An exception ends the step: it is kept, the function is not
called again, and `Callback.reraise` raises it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from threading import get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics import interrupts, rotation

__all__ = ["Callback", "constraint", "potential", "wrench"]

POINTER = ctypes.POINTER(ctypes.c_double)
Float = NDArray[np.float64]


class Callback:
    """A C function made of a Python one.

    Parameters
    ----------
    function : callable
        Takes the arrays, changes the last ones.
    shapes : tuple of tuple of int
        Shapes of the arrays.

    Attributes
    ----------
    address : int
        Of the C function: of pointers to doubles, giving 0 or, after an exception, 1.
    """

    def __init__(self, function: Callable[..., None], shapes: tuple[tuple[int, ...], ...]) -> None:
        self.function, self.shapes = function, shapes
        self._errors: dict[int, BaseException] = {}  # by thread; from then on it is not called
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, *[POINTER] * len(shapes))
        self._c = prototype(self._call)
        self.address = int(ctypes.cast(self._c, ctypes.c_void_p).value or 0)

    def _call(self, *pointers: Any) -> int:
        deferred = interrupts.current()
        try:
            if self._errors and get_ident() in self._errors:
                return 1
            if deferred is not None:
                deferred.deliver()
                deferred.open = True
            arrays = (
                np.ctypeslib.as_array(p, (max(1, int(np.prod(s))),))[: int(np.prod(s))].reshape(s)
                for p, s in zip(pointers, self.shapes)
            )
            self.function(*arrays)
            if deferred is not None:
                deferred.open = False
        except BaseException as error:  # nothing may leave a C function
            if deferred is not None:
                deferred.open = False
            self._errors[get_ident()] = error
            return 1
        return 0

    def reraise(self) -> None:
        """Raise what the function raised in this thread."""
        if self._errors and (error := self._errors.pop(get_ident(), None)) is not None:
            raise error


def constraint(function: Callable[..., Any], count: int, label: str) -> Callback:
    """C function of a user's constraint.

    Parameters
    ----------
    function : callable
        ``g, jacobian = function(pose_a, pose_b)``.
    count : int
        Number of values.
    label : str
        Whose it is.

    Returns
    -------
    Callback
    """

    def call(pose_a: Float, pose_b: Float, g: Float, jacobian: Float) -> None:
        values, slopes = function(pose_a.copy(), pose_b.copy())
        values, slopes = np.asarray(values, float), np.asarray(slopes, float)
        if values.shape != (count,) or slopes.shape != (count, 12):
            raise ValueError(
                f"the constraint of {label} gave shapes {values.shape} and {slopes.shape}, "
                f"not ({count},) and ({count}, 12)"
            )
        if not (np.isfinite(values).all() and np.isfinite(slopes).all()):
            raise ValueError(f"the constraint of {label} gave values that are not finite")
        g[:], jacobian[:] = values, slopes

    return Callback(call, ((7,), (7,), (count,), (count, 12)))


def distance(function: Callable[..., Any], label: str) -> Callback:
    """C function of a user's signed distance between two bodies.

    Parameters
    ----------
    function : callable
        ``distance, normal, point = function(pose_a, pose_b)``: m, unit vector from a to b and the
        nearest point on b, both in the world's frame; the point on a lies a distance before it.
    label : str
        Whose it is.

    Returns
    -------
    Callback
    """

    def call(pose_a: Float, pose_b: Float, out: Float) -> None:
        gap, normal, point = function(pose_a.copy(), pose_b.copy())
        normal, point = np.asarray(normal, float), np.asarray(point, float)
        if normal.shape != (3,) or point.shape != (3,):
            raise ValueError(f"the distance of {label} gave no normal and point of shape (3,)")
        if not (np.isfinite(gap) and np.isfinite(normal).all() and np.isfinite(point).all()):
            raise ValueError(f"the distance of {label} gave values that are not finite")
        if abs(normal @ normal - 1.0) > 1e-6:
            raise ValueError(f"the distance of {label} gave a normal that is no unit vector")
        out[0], out[1:4] = gap, normal
        out[4:7], out[7:10] = point - gap * normal - pose_a[:3], point - pose_b[:3]

    return Callback(call, ((7,), (7,), (10,)))


def wrench(force: Any, child: int, parent: int, bodies: int) -> Callback:
    """C function of a `dynamics.Wrench`: of time, all poses, all twists, to what it gives.

    Parameters
    ----------
    force : Wrench
    child, parent : int
        Numbers of its bodies; ``bodies`` is the world.
    bodies : int
        How many there are.

    Returns
    -------
    Callback
        It gives the wrench on the child and on the parent, and the slopes of the first.
    """

    def call(time: Float, poses: Float, twists: Float, out: Float) -> None:
        pose, twist = poses[child].copy(), twists[child].copy()
        arguments: tuple[Any, ...] = (float(time[0]), pose, twist)
        if parent < bodies:
            other = poses[parent].copy()
            arguments = (float(time[0]), other, pose, twists[parent].copy(), twist)
        out[:6] = _numbers(force.function(*arguments), (6,), f"wrench {force.name!r}")
        if parent < bodies:
            turn = rotation.rotate(pose[3:], out[3:6]) + np.cross(pose[:3] - other[:3], out[:3])
            out[6:9] = -out[:3]
            out[9:12] = -rotation.rotate(rotation.conjugate(other[3:]), turn)
        if force.jacobian is not None:
            slopes = force.jacobian(*arguments)
            out[12:] = _numbers(slopes, (6, 6), f"jacobian of wrench {force.name!r}").ravel()

    return Callback(call, ((1,), (bodies + 1, 7), (bodies, 6), (48,)))


def potential(force: Any) -> Callback:
    """C function of a `dynamics.Potential`, as of a constraint with one value."""

    def call(pose_a: Float, pose_b: Float, g: Float, jacobian: Float) -> None:
        label = f"potential {force.name!r}"
        energy, slopes = force.function(pose_a.copy(), pose_b.copy())
        g[:] = _numbers([energy], (1,), label)
        jacobian[0] = _numbers(slopes, (12,), f"gradient of {label}")

    return Callback(call, ((7,), (7,), (1,), (1, 12)))


def _numbers(value: Any, shape: tuple[int, ...], label: str) -> Float:
    """Result of a user's function, checked."""
    numbers = np.asarray(value, float)
    if numbers.shape != shape:
        raise ValueError(f"the {label} has shape {numbers.shape}, and must have {shape}")
    if not np.isfinite(numbers).all():
        raise ValueError(f"the {label} gave values that are not finite")
    return numbers
