"""Users' Python functions as C functions that compiled code can call.

A function that numba compiles runs at full speed; any other is called through ctypes, which takes
the GIL and some microseconds a call. An exception ends the step: it is kept, the function is not
called again, and `Callback.reraise` raises it.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics import interrupts, rotation

__all__ = ["Callback", "constraint", "of_bodies", "potential", "wrench"]

Float = NDArray[np.float64]
#: Pose of the world.
AT_REST = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


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
        self.function = function
        self._views = [(ctypes.c_double * math.prod(shape), shape) for shape in shapes]
        self._errors: dict[int, BaseException] = {}  # by thread; from then on it is not called
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * len(shapes))
        self._c = prototype(self._call)
        self.address = int(ctypes.cast(self._c, ctypes.c_void_p).value or 0)

    def _call(self, *addresses: int) -> int:
        deferred = interrupts.current()
        try:
            if self._errors and get_ident() in self._errors:
                return 1
            if deferred is not None:
                deferred.deliver()
                deferred.open = True
            self.function(*[
                np.ndarray(shape, np.float64, kind.from_address(at))  # type: ignore[arg-type]
                for at, (kind, shape) in zip(addresses, self._views)
            ])  # fmt: skip
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


def of_bodies(
    function: Callable[..., tuple[Float, Float]], numbers: Sequence[int], bodies: int, count: int
) -> list[Callback]:
    """C functions of a user's function of several poses, one for each pair of its bodies.

    A group of rows is of two bodies. A function of more bodies has several groups, which share one
    call at the same poses: the first gives values and its slopes, the others zeros and theirs.

    Parameters
    ----------
    function : callable
        ``values, slopes = function(*poses)``, checked: shapes (count,) and (count, 6 k).
    numbers : sequence of int
        Its k bodies; ``bodies`` and above is the world.
    bodies : int
        How many there are.
    count : int
        Number of values.

    Returns
    -------
    list of Callback
        Of the groups of bodies 0 and 1, 2 and 3, and so on; the world comes first where k is odd.
    """
    odd = len(numbers) % 2
    groups = (len(numbers) + odd) // 2
    moving = [i < bodies for i in numbers]
    known: dict[int, tuple[Float, Float, Float]] = {}  # by thread: what the last poses gave

    def at(poses: Float) -> tuple[Float, Float]:
        if groups == 1:
            return function(*here(poses))
        now = np.array(here(poses))
        last = known.get(get_ident())
        if last is None or not np.array_equal(last[0], now):
            last = known[get_ident()] = (now, *function(*now.copy()))
        return last[1:]

    def here(poses: Float) -> list[Float]:
        return [poses[i].copy() if ok else AT_REST.copy() for i, ok in zip(numbers, moving)]

    def of_group(k: int) -> Callable[..., None]:
        first, last = max(0, 12 * k - 6 * odd), 12 * k + 12 - 6 * odd

        def call(poses: Float, g: Float, jacobian: Float) -> None:
            values, slopes = at(poses)
            g[:] = values if k == 0 else 0.0
            jacobian[:, : 12 - last + first] = 0.0
            jacobian[:, 12 - last + first :] = slopes[:, first:last]

        return call

    shapes = ((bodies, 7), (count,), (count, 12))
    made = [Callback(of_group(k), shapes) for k in range(groups)]
    for one in made:
        one._errors = made[0]._errors  # a function that raised is not called by another group
    return made


def constraint(joint: Any, numbers: Sequence[int], bodies: int) -> list[Callback]:
    """C functions of the constraint of a `dynamics.Custom` joint, one for each group: `of_bodies`.

    Parameters
    ----------
    joint : Joint
    numbers : sequence of int
        Of the function's bodies; ``bodies`` is the world.
    bodies : int
        How many there are.

    Returns
    -------
    list of Callback
    """
    label, count, columns = f"joint {joint.name!r}", joint.n_user, 6 * len(numbers)

    def checked(*poses: Float) -> tuple[Float, Float]:
        values, slopes = _parts(joint.user(*poses), "values, jacobian", f"constraint of {label}")
        values, slopes = np.asarray(values, float), np.asarray(slopes, float)
        if values.shape != (count,) or slopes.shape != (count, columns):
            raise ValueError(
                f"the constraint of {label} gave shapes {values.shape} and {slopes.shape}, "
                f"not ({count},) and ({count}, {columns})"
            )
        if not (np.isfinite(values).all() and np.isfinite(slopes).all()):
            raise ValueError(f"the constraint of {label} gave values that are not finite")
        return values, slopes

    return of_bodies(checked, numbers, bodies, count)


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
        given = function(pose_a.copy(), pose_b.copy())
        gap, normal, point = _parts(given, "distance, normal, point", f"distance of {label}")
        normal, point = np.asarray(normal, float), np.asarray(point, float)
        if normal.shape != (3,) or point.shape != (3,):
            raise ValueError(f"the distance of {label} gave no normal and point of shape (3,)")
        if not (np.isfinite(gap) and np.isfinite(normal).all() and np.isfinite(point).all()):
            raise ValueError(f"the distance of {label} gave values that are not finite")
        if abs(normal @ normal - 1.0) > 1e-6:
            raise ValueError(f"the distance of {label} gave a normal that is not a unit vector")
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


def potential(force: Any, numbers: Sequence[int], bodies: int) -> list[Callback]:
    """C functions of a `dynamics.Potential`, as of a constraint with one value: `of_bodies`."""
    label = f"potential {force.name!r}"

    def checked(*poses: Float) -> tuple[Float, Float]:
        energy, slopes = _parts(force.function(*poses), "energy, gradient", label)
        shape = (6 * len(numbers),)
        return _numbers([energy], (1,), label), _numbers(slopes, shape, f"gradient of {label}")[
            None
        ]

    return of_bodies(checked, numbers, bodies, 1)


def _parts(given: Any, names: str, label: str) -> tuple[Any, ...]:
    """Parts of a user function's result, as many as there are names."""
    try:
        parts = tuple(given)
    except TypeError:
        parts = ()
    if len(parts) != names.count(",") + 1:
        raise TypeError(f"the function of the {label} gave {given!r}; it must return {names}")
    return parts


def _numbers(value: Any, shape: tuple[int, ...], label: str) -> Float:
    """Result of a user's function, checked."""
    numbers = np.asarray(value, float)
    if numbers.shape != shape:
        raise ValueError(f"the {label} has shape {numbers.shape}, and must have {shape}")
    if not np.isfinite(numbers).all():
        raise ValueError(f"the {label} gave values that are not finite")
    return numbers
