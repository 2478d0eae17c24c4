"""Keyword options that several functions hand on: types for checkers, signatures for `help`.

A `TypedDict` names the options and their types. `takes` shows them in the signature and in the
documentation of a function, with the defaults and texts of the function that receives them.
"""

from __future__ import annotations

import inspect
import itertools
import re
import warnings
from collections.abc import Callable, Container, Hashable, Mapping
from dataclasses import FrozenInstanceError
from typing import Any, TypedDict, TypeVar

from numpy.typing import ArrayLike

__all__ = [
    "NEW_WORDS",
    "BodyOptions",
    "ContactOptions",
    "JointOptions",
    "ModelOptions",
    "never_changes",
    "takes",
    "unused",
    "with_new_words",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Thing = TypeVar("Thing")


def unused(label: str, taken: Container[Hashable]) -> str:
    """Return a label that is not taken: the given one, or it with the least number from 2 on.

    Parameters
    ----------
    label : str
    taken : container of hashable

    Returns
    -------
    str
    """
    labels = itertools.chain([label], (f"{label} {k}" for k in itertools.count(2)))
    return next(one for one in labels if one not in taken)


def never_changes(what: str) -> Callable[[type[Thing]], type[Thing]]:
    """Refuse assignments to attributes of a frozen class, in a sentence with the way out.

    Parameters
    ----------
    what : str
        Word for one of the class, which has a ``name``.

    Returns
    -------
    callable
        A decorator that returns the class itself.
    """

    def refuse(self: Any, attribute: str, value: object) -> None:
        raise FrozenInstanceError(
            f"cannot change {attribute} of {what} {self.name!r}, which never changes: give it when "
            f"the {what} is made, or use dynamics.variant for numbers of a model"
        )

    def finish(cls: type[Thing]) -> type[Thing]:
        cls.__setattr__ = refuse  # type: ignore[method-assign]
        return cls

    return finish


class BodyOptions(TypedDict, total=False):
    """Options of `Mechanism.add_body`, documented in `dynamics.parts.bodies.body`."""

    mass: float | None
    inertia: ArrayLike | None
    position: ArrayLike | None
    orientation: ArrayLike | None
    drag: float
    spin_drag: float
    gravity_scale: float
    visuals: tuple[Any, ...]
    collisions: tuple[Any, ...]
    center_of_mass: ArrayLike | None
    any_inertia: bool
    color: ArrayLike | None


class JointOptions(TypedDict, total=False):
    """Options of every joint, documented in `dynamics.parts.joints.joint`."""

    name: Hashable
    parent_point: ArrayLike
    child_point: ArrayLike
    stiffness: ArrayLike
    damping: ArrayLike
    rest: ArrayLike
    friction: ArrayLike
    armature: ArrayLike
    actuated: bool
    servo: Any
    limits: ArrayLike | None
    velocity_limits: ArrayLike | None
    control_limits: ArrayLike | None
    compliance: ArrayLike
    constraint_damping: ArrayLike
    theta: float


class ContactOptions(TypedDict, total=False):
    """Options of `Mechanism.add_contact`, documented in `dynamics.parts.contacts.contact`."""

    shape: Any
    against_shape: Any
    friction: float
    torsional: float
    rolling: float
    restitution: float
    compliance: float
    distance: Callable[..., Any] | None
    cone: str | int


class ModelOptions(TypedDict, total=False):
    """Options of `Mechanism.finalize`, documented in `dynamics.Model`."""

    integrator: str
    form: str
    order: int
    tolerance: float | None
    largest_turn: float | None
    barrier: float
    contact_tolerance: float
    energy_audit: str


def takes(options: type, receiver: Callable[..., Any]) -> Callable[[Function], Function]:
    """Show options in a function's signature and under "Other Parameters" of its docstring.

    Parameters
    ----------
    options : TypedDict
        Of ``**options`` of the function.
    receiver : callable
        Gets these options: defaults are those of its signature, texts those of its docstring.

    Returns
    -------
    callable
        A decorator that returns the function itself.
    """
    names = list(options.__annotations__)
    inner = inspect.signature(receiver).parameters
    more = [inner[name].replace(kind=inspect.Parameter.KEYWORD_ONLY) for name in names]

    def show(function: Function) -> Function:
        own = inspect.signature(function)
        before = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        known = {p.name for p in before}
        new = [*before, *(p for p in more if p.name not in known)]
        function.__signature__ = own.replace(parameters=new)  # type: ignore[attr-defined]
        if function.__doc__ and receiver.__doc__:
            texts = _entries(receiver.__doc__, set(names) - known)
            function.__doc__ = _with_section(function.__doc__, texts)
        return function

    return show


def _entries(docstring: str, names: set[str]) -> list[str]:
    """Entries of a "Parameters" section that document some of the names."""
    text = inspect.cleandoc(docstring)
    found = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}$|\Z)", text, re.M | re.S)
    entries = re.findall(
        r"^\S[^\n]*\n(?:(?: [^\n]*)?\n)*", (found[1] if found else "") + "\n", re.M
    )
    chosen = []
    for entry in entries:
        head, _, kind = entry.partition(" :")
        kept = [name for name in head.strip().split(", ") if name in names]
        if kept:
            chosen.append(", ".join(kept) + " :" + kind.rstrip())
    return chosen


def _with_section(docstring: str, entries: list[str]) -> str:
    """Docstring in which the entry of ``**options`` gives way to a section with all options."""
    text = inspect.cleandoc(docstring)
    text = re.sub(r"^\*\*options\b[^\n]*\n(?: [^\n]*\n)*", "", text, flags=re.M)
    section = "Other Parameters\n----------------\n" + "\n".join(entries) + "\n\n"
    place = re.search(r"^(Returns|Raises)\n-+$", text, re.M)
    at = place.start() if place else len(text)
    return text[:at].rstrip() + "\n\n" + section + text[at:]


#: Words of joints' options before version 0.2, and those that took their place.
NEW_WORDS = {"spring": "stiffness", "damper": "damping"}


def with_new_words(options: Mapping[str, Any], label: str) -> dict[str, Any]:
    """Return options of a joint under their present names; old ones warn until the next release.

    Parameters
    ----------
    options : mapping
    label : str
        Of the joint.

    Returns
    -------
    dict

    Raises
    ------
    TypeError
        If an option is given under both names.
    """
    new = dict(options)
    for old, word in NEW_WORDS.items():
        if old in new:
            if word in new:
                raise TypeError(f"{label} has both {word}= and its old name {old}=; leave one out")
            warnings.warn(f"{old}= of {label} is now {word}=", DeprecationWarning, stacklevel=4)
            new[word] = new.pop(old)
    return new
