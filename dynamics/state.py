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
    """All that a step needs to know, in one array; the rest are views into it.

    Attributes
    ----------
    data : ndarray of float, shape (25 n + m + c,)
        Of n bodies, m constraint rows and c numbers of contacts; a copy where what is given is
        read-only or has gaps.
    n : int
        Number of bodies.
    rows : int
        Number m of constraint rows.
    time : float
        s.
    pose : ndarray of float, shape (n, 7)
        Position of the centre of mass (world, m) and orientation (body to world, scalar first).
    momentum : ndarray of float, shape (n, 6)
        Linear (world, kg m/s) and angular (body frame, about the centre of mass), up to what
        constraints take up: see `Model.velocities`.
    interval_velocity : ndarray of float, shape (n, 6)
        v (world) and omega (body frame) of the last interval: Newton's first guess.
    interval_velocity_before : ndarray of float, shape (n, 6)
        And of the one before it.
    multipliers : ndarray of float, shape (m,)
        Forces of the constraints over the last interval, N or N m; of a joint whose compliance is a
        matrix those of rows that make it diagonal (`Trajectory.reaction` has its own).
    contacts : ndarray of float, shape (c,)
        Of each contact: force and gap velocity, then the blocks of friction (see
        `dynamics.kernels.contacts.condensation`). After them, of implicit forces: length of the
        last interval, s, and two numbers of each row (see `dynamics.kernels.rows.stiff_forces`).
    interval : (float, float)
        Length of the last interval, s, and the time over which its impulses acted: half of it and
        half of the interval before, or less where none was. The change of velocities over that time
        is the acceleration at its start. Zeros where no interval has been.
    memory : object
        First guess and node of the step that led here, with which motions go on as if uncut, to the
        last bit; contacts that the model has found. Steps ignore it where the numbers have changed
        since. Pickles keep the contacts alone.
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
        """Return another state of the same numbers."""
        made = State(self.data.copy(), self.n, self.rows, self.time, self.interval)
        made.memory = self.memory
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        numbers = self.data, self.n, self.rows, self.time, self.interval
        return type(self), numbers, (None, {"memory": self.memory})


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
        raise TypeError(f"the state is {state!r}; begin with model.initial_state(){order}")
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
        0 where it converged.
    iterations, factorizations : int
        Of Newton's method, all intervals together.
    intervals : int
        How many the step was cut into; 1 is the rule. Each is solved by itself: the h of the
        method is the timestep over their number.
    residual : float
        Largest error of a velocity, over the units of `dynamics.tables.units`.
    violation : float
        Largest constraint value, over the unit of length, or in rad.
    softening : float
        By how much the barrier of contacts was larger than asked for: 100 in heaps, and where the
        step could not be solved otherwise; 1 is the rule.
    friction : float
        Part of all friction that it was solved with then; 1 is the rule.
    unexplained_energy : float
        Largest energy that joints, contacts, limits and dry friction give in an interval, J: see
        `dynamics.kernels.interval.energy_audit`.
    accumulated_energy : float
        The same of any number of intervals in a row since the motion began, J.
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
