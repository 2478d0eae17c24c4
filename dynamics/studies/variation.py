"""Models that differ from another in numbers alone: masses, springs, dampers, friction, gravity."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics.errors import UnknownNameError, check_model
from dynamics.kinematics import coordinates
from dynamics.kinematics.momenta import momenta
from dynamics.kinematics.stiff_momenta import StiffImpulses
from dynamics.model import Model
from dynamics.parts.bodies import Body, body
from dynamics.parts.contacts import Contact, check_coefficients
from dynamics.parts.joints import check_armature, per_axis
from dynamics.parts.options import with_new_words
from dynamics.tables.composition import Composition, check_conservative
from dynamics.tables.finalize import tables_of
from dynamics.tables.galerkin import check_order

if TYPE_CHECKING:
    from dynamics.kinematics.near_models import NearModels
    from dynamics.mechanism import Mechanism
    from dynamics.state import State

__all__ = ["carried", "unknown_part", "variant"]

Float = NDArray[np.float64]

BODY = ("mass", "inertia", "drag", "spin_drag", "gravity_scale")
JOINT = ("stiffness", "damping", "rest", "friction", "armature")
SPRING = ("stiffness", "damping", "length")
#: Pairs that an error names.
SHOWN = 8
CONTACT = ("friction", "torsional", "rolling", "restitution", "compliance")


def variant(model: Model, parameters: Mapping[Hashable, Any]) -> Model:
    """Copy a model with other parameters; the graph and its analysis are shared.

    Parameters
    ----------
    model : Model
        Left as it is.
    parameters : mapping
        ``"gravity"``: vector of shape (3,); or by name of a

        - body: ``{"mass": ..., "inertia": ..., "drag": ..., "spin_drag": ..., "gravity_scale":
          ...}``; a mass without an inertia scales the inertia by the same factor;
        - joint: ``{"stiffness": ..., "damping": ..., "rest": ..., "friction": ..., "armature":
          ...}`` along its free axes; friction as of a contact;
        - spring: ``{"stiffness": ..., "damping": ..., "length": ...}``;
        - contact: ``{"friction": ..., "torsional": ..., "rolling": ..., "restitution": ...,
          "compliance": ...}``; friction cannot change from or to 0;
        - pair of `Mechanism.collide`, such as ``"floor|box"``: as a contact; compliance cannot
          change from or to 0 either.

    Returns
    -------
    Model
        A state of one model is a state of the other, with other velocities if masses differ: see
        `carried`.

    Raises
    ------
    UnknownNameError
        If a name is that of no body, joint, spring or contact, or a number is none of its.
    ValueError
        For numbers that no body, joint, spring or contact has, or that the model's order refuses.
    """
    check_model(model, "variant")
    mechanism = model.mechanism.copy()
    given = dict(parameters)
    if "gravity" in given and "gravity" not in mechanism:
        mechanism.gravity = given.pop("gravity")
    bodies = {
        name: _body(old, _numbers(name, given.pop(name, {}), BODY))
        for name, old in mechanism.bodies.items()
    }

    def ends(thing: Any) -> dict[str, Any]:
        return {what: bodies.get(getattr(thing, what).name, getattr(thing, what))
                for what in ("parent", "child")}  # fmt: skip

    joints, springs = dict[Hashable, Any](), dict[Hashable, Any]()
    for name, joint in mechanism.joints.items():
        count, label = joint.n_coordinates, f"joint {name!r}"
        new = _numbers(name, given.pop(name, {}), JOINT)
        numbers: dict[str, Any] = {k: per_axis(v, count, k, label) for k, v in new.items()}
        if (numbers.get("damping", np.zeros(1)) < 0.0).any():
            raise ValueError(f"damping of {label} is negative: it would add energy")
        if "armature" in numbers:
            check_armature(numbers["armature"], joint.positions, joint.rates, label)
        if "friction" in numbers:
            _same_friction(joint, numbers["friction"])
        joints[name] = replace(joint, **ends(joint), **numbers)
    for name, spring in mechanism.springs.items():
        springs[name] = replace(
            spring, **ends(spring), **_numbers(name, given.pop(name, {}), SPRING)
        )
    contacts = {
        name: replace(
            one, **ends(one), **_rubbing(one, _numbers(name, given.pop(name, {}), CONTACT))
        )
        for name, one in mechanism.contacts.items()
    }
    if model.near is not None:
        pairs = {
            name: _pair(model.near, name, _numbers(name, given.pop(name), CONTACT))
            for name in list(given)
            if name in model.near.candidates.numbers
        }
        mechanism.pair_numbers = mechanism.pair_numbers | pairs
    if given:
        raise unknown_part(model, next(iter(given)), " with numbers to change")
    mechanism.bodies.update(bodies)
    mechanism.joints.update(joints)
    mechanism.springs.update(springs)
    for name, one in list(mechanism.thrusters.items()):
        mechanism.thrusters[name] = replace(one, child=bodies[one.child.name])
    mechanism.contacts.update(contacts)
    mechanism._finalize()
    return _finalized(model, mechanism)


def carried(model: Model, state: State, other: Model) -> State:
    """State of another variant with the same poses and velocities.

    Parameters
    ----------
    model : Model
        Whose state it is.
    state : State
        Left as it is.
    other : Model

    Returns
    -------
    State
    """
    if model.near is not None and other.near is not None:
        entry = model.near.remembered(state)
        if entry is not None:
            near = other.near.of(entry.near.pairs)
            return other.near.whole(near, carried(entry.near.model, entry.state, near.model))
    after, slots = other.state_of(np.zeros(other.state_size), state.time), model.late_at
    for name in ("pose", "interval_velocity", "interval_velocity_before", "multipliers"):
        getattr(after, name)[:] = getattr(state, name)
    after.contacts[:slots] = state.contacts[:slots]
    if other.stiff != model.stiff or after.contacts.size != state.contacts.size:
        twist = model.workspace.velocities(state.data[None])
        after.momentum.ravel()[:] = momenta(other.tables, state.pose, twist)[0]
        return after
    if model.form == "first order":
        twist = coordinates.twists_of(model, state).ravel()
    else:
        twist = coordinates.free_velocities(model, state)
    # impulses of joints and contacts that momenta lack stay, as does what stiff forces have left
    before = StiffImpulses(model, state)
    now = StiffImpulses(model, state, other.tables.constant)
    after.contacts[slots:] = now.stored(state.contacts[slots:])
    change = momenta(other.tables, state.pose, twist[None])[0]
    change -= momenta(model.tables, state.pose, twist[None])[0]
    change -= now.impulses(twist) - before.impulses(twist)
    after.momentum.ravel()[:] = state.momentum.ravel() + change
    after.interval = state.interval
    return after


def _numbers(name: Hashable, given: Any, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise ValueError(f"parameters of {name!r} must be a mapping with keys from {list(known)}")
    if known is JOINT:
        given = with_new_words(given, f"joint {name!r}")
    for key in given:
        if key not in known:
            raise UnknownNameError(f"{name!r} has no number {key!r}; it has {list(known)}")
    return dict(given)


def _body(old: Body, given: dict[str, Any]) -> Body:
    if not given:
        return old
    if old.spatial_inertia is not None and given.keys() & {"mass", "inertia"}:
        raise ValueError(
            f"mass and inertia of body {old.name!r} are one matrix of 6 x 6: finalize another "
            "mechanism to change it"
        )
    numbers = {key: getattr(old, key) for key in BODY} | given
    if "mass" in given and "inertia" not in given:
        numbers["inertia"] = old.inertia * (float(given["mass"]) / old.mass)
    made = body(None, name=old.name, **numbers)
    return replace(old, **{key: getattr(made, key) for key in BODY})


def _same_friction(old: Any, friction: Float) -> None:
    """Refuse friction below 0, and where there was none, of a joint."""
    label = f"joint {old.name!r}"
    if (friction < 0.0).any():
        raise ValueError(f"friction of {label} is negative: it would add energy")
    if ((friction > 0.0) != (old.friction > 0.0)).any():
        raise ValueError(
            f"friction of {label} is {old.friction} and cannot become {friction}: the model has "
            "other equations; finalize another mechanism"
        )


def _rubbing(old: Contact, given: dict[str, Any]) -> dict[str, Any]:
    """Numbers of a contact, checked; its blocks of friction stay."""
    label = f"contact {old.name!r}"
    check_coefficients(label, given)
    for what in ("friction", "torsional", "rolling"):
        if what in given and (given[what] > 0.0) != (getattr(old, what) > 0.0):
            raise ValueError(
                f"{what} of {label} is {getattr(old, what)} and cannot become {given[what]}: the "
                "model has other equations; finalize another mechanism"
            )
    return given


def _pair(models: NearModels, name: Hashable, given: dict[str, float]) -> dict[str, float]:
    """All numbers of a pair of `collide` that variants changed, checked."""
    k = models.candidates.numbers[name]
    old = models.contact(k)
    if "compliance" in given and (given["compliance"] > 0.0) != (old.compliance > 0.0):
        raise ValueError(
            f"compliance of contact {name!r} is {old.compliance} and cannot become "
            f"{given['compliance']}: the model has other equations; finalize another mechanism"
        )
    now = models.model.mechanism.pair_numbers.get(name, {}) | _rubbing(old, given)
    models.candidates.contact(k, **now)  # it refuses restitution of planes
    return now


def unknown_part(model: Model, name: Hashable, what: str = "") -> UnknownNameError:
    """Error for a name that is no part of a model with numbers."""
    text = f"there is no body, joint, spring or contact {name!r}{what}"
    if model.near is not None:
        pairs = model.near.candidates.names
        shown = ", ".join(map(repr, pairs[:SHOWN])) + (", ..." if len(pairs) > SHOWN else "")
        text += f"; pairs of collide are {shown}"
    return UnknownNameError(text)


def _pattern(mechanism: Mechanism) -> list[bool]:
    """Features that the graph and the groups of rows depend on."""
    things = (*mechanism.joints.values(), *mechanism.springs.values())
    named = ("stiffness", "damping", "armature")
    return [bool(np.any(getattr(one, what, 0.0))) for one in things for what in named]


def _finalized(model: Model, mechanism: Mechanism) -> Model:
    """The same model of another mechanism."""
    same = _pattern(mechanism) == _pattern(model.mechanism)
    order = 2 * getattr(model.stages, "s", 1)  # compositions are of second-order steps
    check_order(order, model.form, mechanism)
    like = model.tables if same else None
    tables = tables_of(mechanism, model.timestep, order, like, model.tables.units)
    made = model._replace(
        mechanism=mechanism,
        bodies=tuple(mechanism.bodies.values()),
        tables=tables,
        symbolic=tables.symbolic,
        stiff=tables.stiff,
        state_size=tables.state_size,
        stages=None if model.stages is None else model.stages.like(tables),
    )
    if isinstance(made.stages, Composition):
        check_conservative(made)
    return made
