"""Arrays and checks of error control inside a run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dynamics.kernels.base import layout, step_info
from dynamics.kernels.base.settings import CONTACT_TOLERANCE, SETTINGS_SIZE, TOLERANCE
from dynamics.kernels.error_control import touch
from dynamics.parts.tendons import sliders_of
from dynamics.tables.finalize import longest_explicit
from dynamics.tables.records import BODY, GROUP, HEADER, ROW_CONSTANTS, view
from dynamics.tables.units import planes_of

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.state import State
    from dynamics.tables.workspace import Workspace

__all__ = ["ErrorControl", "Event", "check_accuracy"]

#: Difference that Newton's method leaves, over its tolerance and the unit of length: rounding
#: without contacts, as momenta are made up for; else that of each interval compared.
ROUNDED, LEFT = 0.01, 3.0
#: Least accuracy over the tolerance and the unit of speed: that of positions.
COMPARED = 3.0
#: Events that a portion of a run may have before it is interrupted to read them.
EVENTS = 1000


class Event(NamedTuple):
    """Impact or release in a run with error control, or zero of a user's event function.

    Attributes
    ----------
    time : float
        s.
    name : hashable
        Name of the contact, or of the joint or spring with the limit; for a function its key in the
        mapping, or its number in the sequence.
    kind : {"closes", "opens", "rises", "falls"}
        The first two for contacts and limits, the last two for functions.
    state : State or None
        State just after the zero of a function.
    """

    time: float
    name: Hashable
    kind: str
    state: State | None = None


class ErrorControl:
    """Error control of one model.

    Parameters
    ----------
    model : Model
    accuracy : float
        Error that a second of motion may add, m and rad.
    whole : Model, optional
        Of a near model: the model whose parts may be stiff.

    Attributes
    ----------
    kernel : module
        With ``simulate``.
    explicit : tuple of ndarray, or None
        Plan and constants with half kicks, which are of second order, of servos and of what is
        stiff for the timestep; None where nothing is, or it cannot be. Error control finds the
        intervals that springs are stable in. Dampers are stable in any.
    """

    def __init__(self, model: Model, accuracy: float, whole: Model | None = None) -> None:
        from dynamics.kernels.error_control import galerkin, second_order

        self.kernel = second_order if model.stages is None else galerkin
        self.order = model.order
        sharpness = (touch.EVENT * accuracy / longest(model)) ** 2
        free = _longest_explicit(whole or model)
        self.explicit: tuple[Any, Any] | None = None
        if int(model.tables.plan[layout.STIFF_NUMBERS]):
            self.explicit = explicit_tables(model)
        self.goal = np.array([accuracy, unseen(model, free), model.order, sharpness])
        contacts = int(model.tables.plan[layout.CONTACTS])
        self.held = np.zeros((contacts, touch.HELD_SIZE))
        self.held[:, [touch.CODE, touch.SHUT]] = -1.0
        self.events = np.zeros((EVENTS + 8 * contacts, 3))
        self.count = np.zeros(2, np.int64)
        self.closed: Counter[Hashable] = Counter()
        helpers = {*planes_of(model.mechanism), *sliders_of(model.mechanism)}
        self.counted = np.array([float(name not in helpers) for name in model.tables.body_index])

    def take_events(self, model: Model, events: list[Event]) -> bool:
        """Append the events since the last call; whether there was room for more of them.

        Parameters
        ----------
        model : Model
            The one whose contacts they are.
        events : list of Event
            A contact closes with the first of its touches, as of corners, and opens with the last.

        Returns
        -------
        bool
        """
        found = self.events[: self.count[0]]
        for time, k, kind in found.tolist():
            name = model.tables.contact_touches[int(k)][0]
            before = self.closed[name]
            self.closed[name] = max(0, before + (-1 if kind == touch.OPENS else 1))
            if kind == touch.CLOSES and before == 0:
                events.append(Event(time, name, "closes"))
            elif kind == touch.OPENS and self.closed[name] == 0:
                events.append(Event(time, name, "opens"))
        room = 4 * len(found) <= 3 * len(self.events)
        self.count[:] = 0
        return room

    def tables(self, space: Workspace) -> tuple[Any, ...]:
        """Plan, constants and program of its steps."""
        return space.step_tables if self.explicit is None else (*self.explicit, space.program)

    def work(self, space: Workspace) -> tuple[Any, ...]:
        """Workspace of its steps around that of a run."""
        size, m = space.tables.state_size, layout.TWIST * len(self.counted)
        unknowns = (self.order // 2) * (m + int(space.plan[layout.ROWS]))
        fallback = space.tables.fallback
        programs = (
            space.program,
            space.program[:0] if fallback is None else fallback.program,
        )
        own = (
            self.goal, self.counted, np.zeros(size), np.zeros(step_info.INFO_SIZE),
            np.zeros(2 * m), np.zeros(unknowns), np.zeros((2, size)), np.zeros((2, m)),
            np.zeros(SETTINGS_SIZE), self.held, np.zeros(layout.SLOPES), self.events,
            self.count, np.zeros(2),
        )  # fmt: skip
        observer = (
            programs, (space.pose, space.matrix, space.g, space.G), (space.x, space.r, space.dx),
            space.contacts, space.solver,
        )  # fmt: skip
        return own, observer, space.work


def touching(model: Model) -> bool:
    """Whether intervals have contacts."""
    return int(model.tables.plan[layout.CONTACTS]) > 0 or model.near is not None


def unseen(model: Model, free: float = math.inf) -> float:
    """Difference of two states that Newton's tolerance or rounding explains, m and rad.

    Poses are rounded by eps l, which makes eps l / h of the velocity of an interval and eps l c of
    the impulse of a damper, however short the interval is. With two bodies in two states,
    velocities times the unit of time t differ by 4 eps l t c / m. ``free`` is 2 m / c of the
    stiffest damper.
    """
    rounding = 4.0 * np.finfo(float).eps * longest(model) * 2.0 * time_of(model) / free
    if touching(model):
        return max(rounding, LEFT * longest(model) * float(model.settings[CONTACT_TOLERANCE]))
    return max(rounding, ROUNDED * longest(model) * float(model.settings[TOLERANCE]))


def _longest_explicit(model: Model) -> float:
    """`finalize.longest_explicit` of a model, found once."""
    if not int(model.tables.plan[layout.STIFF_NUMBERS]):
        return model.timestep
    if "longest explicit" not in model.structures:
        found = longest_explicit(model.mechanism, model.timestep)
        model.structures["longest explicit"] = found
    return float(model.structures["longest explicit"])


def explicit_tables(model: Model) -> tuple[Any, Any] | None:
    """Plan and constants with all springs, dampers, drags and servos at half kicks.

    None where compliant contacts are implicit whatever the interval. Servos with force limits keep
    their numbers, which are those of `rows.servo_kicks` then.
    """
    plan, constant = model.tables.plan.copy(), model.tables.constant.copy()
    if plan[layout.SOFT_CONTACTS]:
        return None
    header = view(plan, HEADER, 0, 1)[0]
    groups = view(plan, GROUP, header["group_at"], header["groups"])[header["joints"] :]
    rows = view(constant, ROW_CONSTANTS, header["row_constant_at"], header["all_rows"])
    forces = rows[groups["first_row"].min(initial=len(rows)) :]
    limited = (forces["least"] > -np.inf) | (forces["most"] < np.inf)
    free = ~(limited & (forces["gain"] != 0.0))
    forces["stiffness"][free] += forces["implicit_stiffness"][free]
    forces["damping"][free] += forces["implicit_damping"][free]
    forces["pull"][free] -= (forces["gain"] * forces["target"])[free]
    forces["implicit_stiffness"][free] = forces["implicit_damping"][free] = 0.0
    forces["theta"] = 0.5
    view(constant, BODY, 0, model.n_bodies)["drag_theta"] = 0.5
    plan[layout.STIFF_NUMBERS] = 0
    plan.setflags(write=False)
    return plan, constant


def longest(model: Model) -> float:
    """Largest unit of length of the parts, m."""
    bodies = model.tables.constant[: layout.BODY_SIZE * model.n_bodies]
    extents = bodies.reshape(-1, layout.BODY_SIZE)[:, layout.EXTENT]
    return float((1.0 / extents).max())


def time_of(model: Model) -> float:
    """Largest unit of time l / v of the parts, s."""
    bodies = model.tables.constant[: layout.BODY_SIZE * model.n_bodies]
    return float(bodies.reshape(-1, layout.BODY_SIZE)[:, layout.PACE + 3].max())


def slowness(model: Model) -> float:
    """Least reciprocal unit of speed of the parts, s/m."""
    bodies = model.tables.constant[: layout.BODY_SIZE * model.n_bodies]
    return float(bodies.reshape(-1, layout.BODY_SIZE)[:, layout.PACE].min())


def check_accuracy(model: Model, accuracy: float, start: str) -> None:
    """Refuse an accuracy that no run of the model can have.

    Parameters
    ----------
    model : Model
    accuracy : float
    start : str

    Raises
    ------
    ValueError
    """
    if not isinstance(accuracy, (int, float, np.number)):
        raise TypeError(f"accuracy is {accuracy!r}, and must be a number")
    if not (math.isfinite(accuracy) and accuracy > 0.0):
        raise ValueError(f"accuracy is {accuracy}, and must be positive and finite")
    if model.form != "second order":
        raise ValueError(
            'accuracy needs form="second order": the other is of first order from its start'
        )
    if start != "legendre":
        raise ValueError(f'accuracy needs start="legendre": start={start!r} is of the first order')
    if hasattr(model.stages, "scheme"):
        raise ValueError(
            "accuracy is not offered with compose, whose steps go back in time; use order=4 or "
            "order=6 of finalize"
        )
    name, place, least = "tolerance", TOLERANCE, 0.0
    if touching(model):
        name, place, least = "contact_tolerance", CONTACT_TOLERANCE, unseen(model) / model.timestep
    else:
        least = COMPARED * float(model.settings[TOLERANCE]) / slowness(model)
    if accuracy < least:
        raise ValueError(
            f"accuracy is {accuracy:.2e}, below the {least:.2e} that {name}="
            f"{model.settings[place]:.1e} allows in steps of {model.timestep} s: give the model a "
            f"smaller {name}, or a larger accuracy"
        )
