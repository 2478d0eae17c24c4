"""Bodies whose poses a user's function takes: any number of them."""

from __future__ import annotations

from typing import Any

from dynamics.parts.bodies import WORLD, Body, no_body

__all__ = ["bodies_of", "ends_of", "groups_of"]


def bodies_of(bodies: Any, label: str) -> tuple[Any, ...]:
    """Check the bodies of a user's function.

    Parameters
    ----------
    bodies : iterable of Body or world
    label : str
        Whose they are.

    Returns
    -------
    tuple of Body or world

    Raises
    ------
    TypeError
        If one of them is not a body.
    ValueError
        If one is given twice, and if none of them moves.
    """
    if isinstance(bodies, (str, Body)) or bodies is WORLD or not hasattr(bodies, "__iter__"):
        raise TypeError(f"bodies of {label} must be a list of bodies, not {bodies!r}")
    found = tuple(bodies)
    for k, one in enumerate(found):
        if one is not WORLD and not isinstance(one, Body):
            raise TypeError(no_body(f"bodies of {label} has", one))
        if any(one is other for other in found[:k]):
            raise ValueError(f"{label} joins {one.name!r} with itself")
    if all(one is WORLD for one in found):
        raise ValueError(f"{label} is of no body that moves")
    return found


def ends_of(bodies: tuple[Any, ...]) -> tuple[Any, Any]:
    """Two of the bodies, the parent and the child of what has more."""
    moving = [one for one in bodies if one is not WORLD]
    return (moving[0], moving[1]) if len(moving) > 1 else (WORLD, moving[0])


def groups_of(bodies: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """Pairs of the bodies in turn, after the world where their number is odd."""
    even = (WORLD,) * (len(bodies) % 2) + bodies
    return [(even[k], even[k + 1]) for k in range(0, len(even), 2)]
