"""State of a mechanism at a node of time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.elsewhere import STATE, refer
from dynamics.kernels.base.layout import POSE, STIFF_NUMBERS, TWIST
from dynamics.kernels.base.step_info import LENGTH, SPACING

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["State", "StepInfo", "check_state"]

Float = NDArray[np.float64]


def as_plain(numbers: ArrayLike) -> Float:
    """Return the same array, or a copy of the one kind that kernels are compiled for."""
    if isinstance(numbers, np.ndarray) and numbers.flags.carray and numbers.dtype == np.float64:
        return numbers
    return np.require(numbers, np.float64, ["C", "A", "W"])


def interval_of(info: Float) -> tuple[float, float]:
    """`State.interval` after the last step of a run."""
    return float(info[LENGTH]), float(info[SPACING])


@refer(STATE)
@dataclass(slots=True, eq=False, repr=False)
class State:
    """State of a model in one array; the other attributes are views of it.

    Attributes
    ----------
    data : ndarray of float, shape (25 n + m + c,)
        Numbers of n bodies, m constraint rows and c numbers of contacts; a copy if the given array
        is read-only or not contiguous.
    n : int
        Number of bodies.
    rows : int
        Number m of constraint rows.
    time : float
        s.
    pose : ndarray of float, shape (n, 7)
        Position of the centre of mass (world, m) and orientation (body to world, scalar first).
    momentum : ndarray of float, shape (n, 6)
        Linear (world, kg m/s) and angular momentum (body frame, about the centre of mass, kg
        m^2/s), up to constraint impulses: see `Model.velocities`.
    interval_velocity : ndarray of float, shape (n, 6)
        v (world, m/s) and omega (body frame, rad/s) of the last interval: the initial guess of
        Newton's method.
    interval_velocity_before : ndarray of float, shape (n, 6)
        The same of the interval before.
    multipliers : ndarray of float, shape (m,)
        Forces of the constraints over the last interval, N or N m. For a joint whose compliance is
        a matrix they belong to rows that make it diagonal (`Trajectory.reaction` converts them).
    contacts : ndarray of float, shape (c,)
        Per contact: force and gap velocity, then the blocks of friction (see
        `dynamics.kernels.contacts.condensation`). After them, for implicit forces: length of the
        last interval, s, and two numbers per row (see `dynamics.kernels.rows.stiff_forces`).
    interval : (float, float)
        Length of the last interval, s, and the time over which its impulses acted: half of it plus
        half of the interval before, if there was one. The change of velocities divided by that time
        is the acceleration at its start. Zeros if there was no interval.
    controls : ndarray of float, shape (c,), or None
        Controls of the step that led to this state, for sensors; None if they are not known.
    memory : object
        Initial guess and node of the step that led to this state, which make a continued motion
        equal to an uninterrupted one to the last bit; contacts that the model has found. Steps
        ignore it if the numbers have changed since. Pickles keep only the contacts.
    """

    data: Float
    n: int
    rows: int
    time: float = 0.0
    interval: tuple[float, float] = (0.0, 0.0)
    pose: Float = field(init=False)
    momentum: Float = field(init=False)
    interval_velocity: Float = field(init=False)
    interval_velocity_before: Float = field(init=False)
    multipliers: Float = field(init=False)
    contacts: Float = field(init=False)
    controls: Float | None = field(default=None, init=False)
    memory: object = field(default=None, init=False)

    def __post_init__(self) -> None:
        data, n, at, m = as_plain(self.data), self.n, POSE * self.n, TWIST * self.n
        self.data, self.pose = data, data[:at].reshape(n, POSE)
        self.momentum = data[at : at + m].reshape(n, TWIST)
        self.interval_velocity = data[at + m : at + 2 * m].reshape(n, TWIST)
        at += 3 * m
        self.interval_velocity_before = data[at - m : at].reshape(n, TWIST)
        self.multipliers, self.contacts = data[at : at + self.rows], data[at + self.rows :]

    def __repr__(self) -> str:
        return f"State({self.n} bodies, at {self.time:g} s)"

    def copy(self) -> State:
        """Return a copy."""
        made = State(self.data.copy(), self.n, self.rows, self.time, self.interval)
        made.memory, made.controls = self.memory, self.controls
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        numbers = self.data, self.n, self.rows, self.time, self.interval
        return type(self), numbers, (None, {"memory": self.memory, "controls": self.controls})


def check_state(model: Model, state: Any, begins: bool = False) -> None:
    """Refuse what is no state, and states of other mechanisms.

    A state with more contacts or limits than the model is read as its own, as by a controller that
    plans without them; a motion does not begin with it.
    """
    if not isinstance(state, State):
        if isinstance(state, tuple) and state and isinstance(state[0], State):
            raise TypeError(
                "the state is the pair that a step returns: use state, info = model.step(state)"
            )
        order = ", and a controller gets (state, time)" if isinstance(state, float) else ""
        raise TypeError(f"the state is {state!r}; start with model.initial_state(){order}")
    if state.data.size == model.state_size:
        return
    same = state.n == model.n_bodies and state.rows == model.n_rows
    more = state.data.size > model.state_size and not model.tables.plan[STIFF_NUMBERS]
    if begins or not (same and more):
        raise ValueError(
            f"the state is of another model: it has {state.data.size} numbers, this model's have "
            f"{model.state_size}; begin with this one's model.initial_state()"
        )


@dataclass(frozen=True, slots=True)
class StepInfo:
    """Cost and accuracy of one step.

    Attributes
    ----------
    status : int
        0 if it converged.
    iterations, factorizations : int
        Counts of Newton's method, of all intervals together.
    intervals : int
        Number of intervals into which the step was divided, usually 1. Each is solved by itself,
        with h = timestep / intervals.
    residual : float
        Largest error of a velocity, relative to the units of `dynamics.tables.units`.
    violation : float
        Largest constraint value, relative to the unit of length, or in rad.
    softening : float
        Ratio of the barrier of contacts to the requested one, usually 1: 100 in heaps, and 100 or
        more in steps that cannot be solved otherwise.
    friction : float
        Factor of all friction with which the step was solved, usually 1.
    unexplained_energy : float
        Largest energy that joints, contacts, limits and dry friction produced in an interval, J:
        see `dynamics.kernels.interval.energy_audit`.
    accumulated_energy : float
        The same of any number of successive intervals since the start of the motion, J.
    """

    status: int
    iterations: int
    factorizations: int
    intervals: int
    residual: float
    violation: float
    softening: float = 1.0
    friction: float = 1.0
    unexplained_energy: float = 0.0
    accumulated_energy: float = 0.0
