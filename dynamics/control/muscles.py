"""Muscles as a controller: forces by commands, lengths and speeds, with activation of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.errors import UnknownNameError, check_model
from dynamics.parts.muscles import Muscle, activated, muscle_force
from dynamics.tables import inputs

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.state import State

__all__ = ["Muscles"]

Float = NDArray[np.float64]
Commands = ArrayLike | Mapping[str, float]


class Muscles:
    """Controller of muscles: ``simulate(model, state, seconds, controller=Muscles(model, ...))``.

    Forces are those of the middle of each step: activations are integrated by a Runge-Kutta method,
    lengths and rates are extrapolated from the start of the step and the step before. If a call's
    time is not later than that of the last call, a new run starts with the initial activations.

    Parameters
    ----------
    model : Model
    commands : mapping, array_like, shape (actuators,), or callable, optional
        Excitations of muscles, 0 to 1, and commands of the file's other actuators, as for
        `Model.controls`; or ``commands(time)``. By default all are 0.
    muscles : mapping of Muscle, optional
        Muscles by name of an actuated joint or tendon, which is also the name of the muscle; by
        default those of the file, `Mechanism.actuators`.
    activations : mapping, optional
        Initial activations by name of muscle; 0 for the others.

    Attributes
    ----------
    names : tuple of str
        Names of the muscles.
    activation : ndarray of float, shape (k,)
        Present activations.
    force : ndarray of float, shape (k,)
        Forces in the last step, N, negative if a muscle pulls.

    Raises
    ------
    UnknownNameError
        For names of no actuator, muscle or actuated joint.
    ValueError
        If there is no muscle, and for commands and activations that are not finite.
    """

    def __init__(
        self,
        model: Model,
        commands: Commands | Callable[[float], Commands] | None = None,
        *,
        muscles: Mapping[Any, Muscle] | None = None,
        activations: Mapping[Any, float] | None = None,
    ) -> None:
        check_model(model, "Muscles")
        found: dict[Any, tuple[Any, Muscle, float, float]] = {}
        for name, muscle in (muscles or {}).items():
            found[name] = (name, muscle, 0.0, 1.0)
        for one in model.mechanism.actuators.values() if muscles is None else ():
            if one.muscle is not None and one.joint in model.tables.control_start:
                found[one.name] = (one.joint, one.muscle, one.least, one.most)
        if not found:
            raise ValueError("there is no muscle: give muscles=, or load a file that has some")
        self.model, self.names = model, tuple(found)
        self.places = np.array([self._place(joint) for joint, *_ in found.values()], np.int64)
        self.joints = [joint for joint, *_ in found.values()]
        self.table = {
            field.name: np.array([getattr(one, field.name) for _, one, *_ in found.values()], float)
            for field in fields(Muscle)
        }
        self.least, self.most = (
            np.array([one[k] for one in found.values()], float) for k in (2, 3)
        )
        self.first = np.zeros(len(found))
        for name, value in (activations or {}).items():
            if name not in found:
                raise UnknownNameError(f"{name!r} is not a muscle; muscles are {list(self.names)}")
            if not np.isfinite(value):
                raise ValueError(f"activation of {name!r} is {value}, and must be finite")
            self.first[self.names.index(name)] = value
        tendons = model.mechanism.tendons
        slides = [name in tendons for name in self.joints]
        self.slides = np.flatnonzero(slides)
        self.bodies = np.array(
            [model.body_number(tendons[self.joints[k]].slider) for k in self.slides], np.int64
        )
        self.given = (lambda time: commands) if not callable(commands) else commands
        self._own = muscles is not None
        self.constant = None if callable(commands) else self._commands(commands)
        self.reset()

    def _place(self, joint: Any) -> int:
        """Place of a joint's or tendon's force in the controls."""
        start = self.model.tables.control_start
        if joint not in start or start[joint][1] != 1:
            raise UnknownNameError(
                f"{joint!r} is not an actuated joint or tendon of one coordinate; actuated are "
                f"{list(start)}"
            )
        if self.model.mechanism.joints[joint].servo is not None:
            raise ValueError(f"{joint!r} has a servo, whose control is not a force")
        return int(start[joint][0])

    def _commands(self, commands: Any) -> tuple[Float, Float]:
        """Excitations, and controls of all other actuators."""
        if self._own:
            for name in commands if isinstance(commands, Mapping) else ():
                if name not in self.names:
                    raise UnknownNameError(
                        f"{name!r} is not a muscle; muscles are {list(self.names)}"
                    )
            if isinstance(commands, Mapping):
                commands = [commands.get(name, 0.0) for name in self.names]
            values = np.zeros(len(self.names)) if commands is None else np.asarray(commands, float)
            if values.shape != (len(self.names),) or not np.isfinite(values).all():
                raise ValueError(
                    f"commands must be finite, of shape ({len(self.names)},): muscles are "
                    f"{list(self.names)}"
                )
            return values, np.zeros(self.model.n_controls)
        actuators = self.model.mechanism.actuators
        given = inputs.commands_of(actuators, {} if commands is None else commands)
        if given.ndim != 1:
            raise ValueError(f"commands of muscles must be of shape ({len(actuators)},)")
        order = list(actuators)
        excitation = given[[order.index(name) for name in self.names]]
        rest = inputs.controls_of_actuators(self.model, given)
        return np.clip(excitation, self.least, self.most), rest

    def reset(self) -> None:
        """Start again with the initial activations."""
        self.activation, self.force = self.first.copy(), np.zeros(len(self.names))
        self._time: float | None = None
        self._rate: Float | None = None

    def __call__(self, state: State, time: float) -> Float:
        """Return the controls of the step that starts at a state."""
        if self._time is not None and time <= self._time:
            self.reset()
        self._time, h = time, self.model.timestep
        excitation, controls = self.constant or self._commands(self.given(time + 0.5 * h))
        length, rate = self._read(state)
        change = 0.0 if self._rate is None else rate - self._rate
        middle = activated(self.table, self.activation, excitation, 0.5 * h)
        self.force = muscle_force(self.table, length + 0.5 * h * rate, rate + 0.5 * change, middle)
        self.activation = activated(self.table, middle, excitation, 0.5 * h)
        self._rate = rate
        out = controls.copy()
        np.add.at(out, self.places, self.table["gear"] * self.force)
        return out

    def _read(self, state: State) -> tuple[Float, Float]:
        """Lengths of all muscles' joints or tendons, and their rates."""
        length, rate = np.empty((2, len(self.names)))
        if len(self.slides):
            twists = self.model.velocities(state)
            length[self.slides] = state.pose[self.bodies, 2]
            rate[self.slides] = twists[self.bodies, 2]
        for k in set(range(len(self.names))) - set(self.slides.tolist()):
            (length[k],), (rate[k],) = self.model.joint(state, self.joints[k])
        return length, rate
