"""`Sensors`: readings of all sensors of a model, online and of recorded motion."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.errors import UnknownNameError, check_model
from dynamics.kinematics.near_run import Part
from dynamics.model import Model
from dynamics.parts.sensors import FrameSensor, RangeFinder, Sensor, check_sensor
from dynamics.sensors.measures import SIZES, measure_of, size_of
from dynamics.sensors.noise import Errors
from dynamics.state import State, check_state
from dynamics.trajectory import Trajectory

__all__ = ["Sensors", "read_side_by_side"]

Float = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Rounding of times over the time between samples.
ROUNDING = 1e-6


class Sensors:
    """Sensors of a model: readings of a state or of a recorded motion.

    Reading does not affect the motion, not even by rounding. Noise depends only on the seed, the
    name of the sensor and the number of the sample: it is the same in `read`, in `history`, and in
    another run with the same seed.

    Parameters
    ----------
    model : Model
    sensors : iterable of Sensor or hashable, optional
        Sensors, or names of those of the mechanism; by default all of the mechanism's.
    seed : int, optional
        Seed of the noise; use a different one for each of several parallel runs.

    Attributes
    ----------
    model : Model
    sensors : dict of Sensor
        Sensors by name.
    sizes : dict of int
        Number of values of a reading, by name of the sensor.
    seed : int

    Raises
    ------
    UnknownNameError
        If the body, frame or joint of a sensor is not in the mechanism, or no sensor has a name.
    ValueError
        For two sensors with one name, noise with another shape than the readings, a rate above one
        sample per step, and a negative seed.
    TypeError
        If an entry is not a sensor.

    Examples
    --------
    >>> sensors = dy.Sensors(model, [dy.IMU("torso", noise=0.02)], seed=1)  # doctest: +SKIP
    >>> sensors.read(state)["torso imu"]  # doctest: +SKIP
    """

    def __init__(
        self,
        model: Model,
        sensors: Iterable[Sensor | Hashable] | None = None,
        *,
        seed: int = 0,
    ) -> None:
        check_model(model, "Sensors")
        own, chosen = model.mechanism.sensors, dict[Hashable, Sensor]()
        for one in own if sensors is None else sensors:
            if not isinstance(one, Sensor):
                if one not in own:
                    raise UnknownNameError(f"there is no sensor {one!r}; there are {list(own)}")
                one = own[one]
            check_sensor(one, model.mechanism)
            if one.name in chosen:
                raise ValueError(f"two sensors are called {one.name!r}; give one another name=")
            chosen[one.name] = one
        self.model, self.sensors, self.seed = model, chosen, _checked(seed)
        self._measures = {name: measure_of(model, one) for name, one in chosen.items()}
        self.sizes = {name: size_of(model, one) for name, one in chosen.items()}
        self._errors = {name: self._errors_of(one) for name, one in chosen.items()}
        self._held: dict[Hashable, tuple[int, Float]] = {}

    def read(self, state: State) -> dict[Hashable, Float]:
        """Readings at a state.

        Parameters
        ----------
        state : State
            State from a controller, `Model.step` or a trajectory.

        Returns
        -------
        dict of ndarray of float, shape (m,)
            By name of the sensor. Sensors with a rate hold their last sample: read them at every
            step, and call `reset` before another run.

        Raises
        ------
        ValueError
            For a state of another model.
        """
        if hasattr(state, "states"):
            raise TypeError("read takes one state; sensors.history(motion) reads all of a motion")
        check_state(self.model, state)
        found = read_side_by_side([self], _at_state(self.model, state))
        return {name: readings[0] for name, readings in found.items()}

    def history(self, trajectory: Trajectory) -> dict[Hashable, Float]:
        """Readings of a recorded motion, the same as those of `read` at its states.

        Parameters
        ----------
        trajectory : Trajectory
            Motion of the same model. Sensors with a rate sample it at its records.

        Returns
        -------
        dict of ndarray of float, shape (k, m)
            By name of the sensor.

        Raises
        ------
        ValueError
            For a trajectory of another model.
        """
        if trajectory.states.shape[1] != self.model.state_size:
            raise ValueError(
                f"the trajectory is of another model: its states have {trajectory.states.shape[1]} "
                f"numbers, those of these sensors {self.model.state_size}"
            )
        found = dict[Hashable, Float]()
        for name, one in self.sensors.items():
            samples = self._samples(one, trajectory.time)
            if one.rate is None:
                found[name] = self._read(name, trajectory, samples)
                continue
            _, first, records = np.unique(samples, return_index=True, return_inverse=True)
            found[name] = self._read(name, trajectory[first], samples[first])[records]
        return found

    def reset(self, seed: int | None = None) -> None:
        """Discard the samples that sensors with a rate hold, before another run.

        Parameters
        ----------
        seed : int, optional
            Seed of other noise; by default the same.
        """
        if seed is not None:
            self.seed = _checked(seed)
        self._errors = {name: self._errors_of(one) for name, one in self.sensors.items()}
        self._held = {}

    def copy(self, seed: int | None = None) -> Sensors:
        """Return the same sensors for a parallel run.

        Parameters
        ----------
        seed : int, optional
            Seed of other noise; by default the same.

        Returns
        -------
        Sensors
        """
        made = copy(self)
        made.reset(seed)
        return made

    def _errors_of(self, sensor: Sensor) -> Errors:
        period, size = _period(self.model, sensor), self.sizes[sensor.name]
        return Errors(sensor.noise, sensor.name, size, period, self.seed)

    def _samples(self, sensor: Sensor, time: Float) -> Ints:
        """Numbers of the samples that hold at these times."""
        samples = time / _period(self.model, sensor)
        return np.floor(samples + (0.5 if sensor.rate is None else ROUNDING)).astype(np.int64)

    def _read(self, name: Hashable, motion: Trajectory, samples: Ints) -> Float:
        """Readings with their errors."""
        return self._spoilt(name, self._measures[name](motion), samples)

    def _spoilt(self, name: Hashable, exact: Float, samples: Ints) -> Float:
        """Exact readings with errors."""
        found, sensor = self._errors[name].added(exact, samples), self.sensors[name]
        if isinstance(sensor, RangeFinder):
            found[np.isinf(found)] = sensor.nothing
        if found is exact:
            return found
        if isinstance(sensor, FrameSensor) and "orientation" in sensor.quantities:
            before = sensor.quantities[: sensor.quantities.index("orientation")]
            at = sum(SIZES[one] for one in before)
            found[:, at : at + 4] = rotation.normalized(found[:, at : at + 4])
        return found

    def __repr__(self) -> str:
        return f"Sensors({list(self.sensors)}, seed={self.seed})"


def read_side_by_side(suites: Sequence[Sensors], motion: Trajectory) -> dict[Hashable, Float]:
    """Readings of states that have sensors of their own each.

    Parameters
    ----------
    suites : sequence of Sensors
        The same sensors, one suite for each record.
    motion : Trajectory
        The states as records.

    Returns
    -------
    dict of ndarray of float, shape (k, m)
        By name of the sensor.
    """
    found, first = {}, suites[0]
    for name, sensor in first.sensors.items():
        samples = first._samples(sensor, motion.time)
        held = [None if sensor.rate is None else suite._held.get(name) for suite in suites]
        old = [one is not None and one[0] == n for one, n in zip(held, samples.tolist())]
        exact = None if all(old) else first._measures[name](motion)
        readings = np.empty((len(suites), first.sizes[name]))
        for i, suite in enumerate(suites):
            if exact is None or old[i]:
                readings[i] = held[i][1]  # type: ignore[index]
                continue
            readings[i] = suite._spoilt(name, exact[i : i + 1], samples[i : i + 1])[0]
            if sensor.rate is not None:
                suite._held[name] = int(samples[i]), readings[i].copy()
        found[name] = readings
    return found


def _checked(seed: int) -> int:
    if not (isinstance(seed, (int, np.integer)) and seed >= 0):
        raise ValueError(f"seed is {seed!r}, and must be an integer that is not negative")
    return int(seed)


def _period(model: Model, sensor: Sensor) -> float:
    """Time between the samples of a sensor, s."""
    if sensor.rate is None:
        return model.timestep
    if sensor.rate * model.timestep > 1.0 + ROUNDING:
        raise ValueError(
            f"rate of sensor {sensor.name!r} is {sensor.rate:g} 1/s, above one sample a step of "
            f"{model.timestep:g} s; leave it out, or finalize with a smaller timestep"
        )
    return 1.0 / sensor.rate


def _at_state(model: Model, state: State) -> Trajectory:
    """A state as a motion of one record."""
    motion = Trajectory(model, np.array([state.time]), state.data[None])
    motion.intervals = np.array([state.interval])
    unknown = np.full(model.n_controls, np.nan)
    motion.acted = (unknown if state.controls is None else state.controls)[None]
    if model.near is not None:
        pairs, numbers = model.near.felt(state)
        motion.parts = (Part(pairs, numbers[None]),)
    return motion
