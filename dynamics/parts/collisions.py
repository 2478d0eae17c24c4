"""Pairs of shapes that `Mechanism.collide` lets touch, less those that filters leave out."""

from __future__ import annotations

import itertools
from collections.abc import Container, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.errors import UnknownNameError
from dynamics.parts.bodies import WORLD, Body
from dynamics.parts.contact_primitives import (
    HalfSpace,
    core_of,
    placed_half_space,
    rank,
    touches_of,
)
from dynamics.parts.contacts import FARTHEST, Contact, contact
from dynamics.parts.convex_hulls import Core, hull_of, outermost
from dynamics.parts.geometry import Geometry, Mesh, Surface
from dynamics.parts.meshes import corners_of
from dynamics.parts.shapes import Compound

__all__ = [
    "Candidates", "Collision", "NothingTouchesError", "Solid", "candidates_of", "checked_ends",
    "one_end", "value_of",
]  # fmt: skip

Float = NDArray[np.float64]
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True, slots=True, eq=False)
class Collision:
    """What one call of `Mechanism.collide` lets touch.

    Attributes
    ----------
    bodies, against : tuple of hashable, or None
        Names of bodies, or of the world; None is all of them, or those of ``bodies``.
    without : frozenset of frozenset of hashable
        Pairs of names that are left out: of bodies, obstacles and the world.
    neighbors : bool
        Whether bodies that a joint connects touch, too.
    options : dict
        Options of the contacts; coefficients that are missing are those of the shapes.
    pairs : dict of dict
        Options by the names of two collision shapes that touch whatever filters say.
    apart : frozenset of frozenset of str
        Pairs of labels of collision shapes that are left out.
    """

    bodies: tuple[Hashable, ...] | None
    against: tuple[Hashable, ...] | None
    without: frozenset[frozenset[Hashable]]
    neighbors: bool
    options: dict[str, Any]
    pairs: Mapping[frozenset[str], Mapping[str, float]] = field(default_factory=dict)
    apart: frozenset[frozenset[str]] = frozenset()

    def leaves_out(self, one: Solid, two: Solid) -> bool:
        """True if two shapes never touch, by the names of their ends or by their labels."""
        if frozenset((one.name, two.name)) in self.without:
            return True
        return bool(self.apart) and any(
            frozenset(pair) in self.apart for pair in itertools.product(one.labels, two.labels)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Solid:
    """A convex shape, or a half-space, on a body or the world.

    Attributes
    ----------
    end : Body or world
    name : hashable
        Of the body, or of the obstacle.
    shape : HalfSpace, Shape, Hull or ndarray of float, shape (3,)
    core : Core or None
        None of a half-space.
    surface : Surface
    label : str or None
        Of the geometry, for pairs.
    labels : tuple of str
        Of the geometry, for pairs that are left out.
    """

    end: Any
    name: Hashable
    shape: Any
    core: Core | None
    surface: Surface
    label: str | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """All pairs that may touch.

    Attributes
    ----------
    solids : tuple of Solid
    pairs : ndarray of int, shape (k, 2)
        Numbers of solids.
    names : tuple of hashable
        Of the contact of each pair.
    options : tuple of dict
        Of the contact of each pair.
    numbers : dict of int
        Of the pairs by these names.
    """

    solids: tuple[Solid, ...]
    pairs: NDArray[np.int64]
    names: tuple[Hashable, ...]
    options: tuple[dict[str, Any], ...]
    numbers: dict[Hashable, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", {name: k for k, name in enumerate(self.names)})

    def on(self, mechanism: Any) -> Candidates:
        """Return the same pairs on a variant's bodies, with its numbers."""
        solids = (
            one if one.end is WORLD else replace(one, end=mechanism.bodies[one.end.name])
            for one in self.solids
        )
        changed = mechanism.pair_numbers
        options = self.options
        if changed:
            options = tuple(
                own | changed.get(name, {}) for name, own in zip(self.names, self.options)
            )
        return replace(self, solids=tuple(solids), options=options)

    def contact(self, k: int, **numbers: float) -> Contact:
        """Contact of a pair, with some numbers of its own."""
        first, other = (self.solids[i] for i in self.pairs[k].tolist())
        return contact(
            first.end, other.end, name=self.names[k], shape=other.shape,
            against_shape=first.shape, **(self.options[k] | numbers),
        )  # fmt: skip


def value_of(thing: Any) -> Any:
    """Hashable value of a shape or number: things with equal values are alike."""
    if isinstance(thing, np.ndarray):
        return thing.dtype, thing.shape, thing.tobytes()
    if isinstance(thing, (tuple, list)):
        return tuple(map(value_of, thing))
    if is_dataclass(thing):
        return type(thing), *(value_of(getattr(thing, one.name)) for one in fields(thing))
    return thing if isinstance(thing, (float, int, str, type(None))) else id(thing)


class NothingTouchesError(ValueError):
    """No two shapes of a mechanism may touch."""


def candidates_of(mechanism: Any) -> Candidates:
    """Pairs of solids that the calls of `Mechanism.collide` let touch.

    Left out are pairs of one body, of bodies that fixed joints hold together, of bodies next to
    each other along the joints (bodies without shapes between them do not count), with a contact of
    their own, and whose filters (``contype`` and ``conaffinity``) do not meet. As in MuJoCo, the
    world is nobody's neighbour.

    Parameters
    ----------
    mechanism : Mechanism

    Returns
    -------
    Candidates

    Raises
    ------
    ValueError
        For restitution of a pair that touches a plane between its shapes, for shapes that cannot
        touch, for options that apply to no pair, and if nothing can touch.
    """
    solids = _solids(mechanism)
    own: dict[int, list[int]] = {}
    for i, solid in enumerate(solids):
        own.setdefault(id(solid.end), []).append(i)
    welded = _welded(mechanism)
    near = _neighbors(mechanism, welded, own)
    declared = {frozenset((id(one.parent), id(one.child))) for one in mechanism.contacts.values()}
    pairs: dict[tuple[int, int], dict[str, Any]] = {}
    for collision in mechanism.collisions:
        before, ignored = len(pairs), ""
        for a, b in _pairs_of(mechanism, collision):
            link = frozenset((id(a), id(b)))
            if welded[id(a)] == welded[id(b)] or link in declared:
                continue
            if frozenset((a.name, b.name)) in collision.without:
                continue
            if not collision.neighbors and frozenset((welded[id(a)], welded[id(b)])) in near:
                continue
            for i in own.get(id(a), ()):
                for j in own.get(id(b), ()):
                    one, two = solids[i], solids[j]
                    if collision.leaves_out(one, two):
                        continue
                    if one.surface.meets(two.surface):
                        options = _options(solids[i], solids[j], collision.options)
                        if pairs.setdefault((i, j), options) != options:
                            ignored = f"{one.name!r} and {two.name!r}"
        if ignored and len(pairs) == before and not collision.pairs:
            raise ValueError(
                f"the options of a call of collide apply to no pair: an earlier call, as that of "
                f"dy.load(..., collide=True), lets {ignored} touch and all others. Call collide "
                "for pairs with options of their own first, or load with collide=False"
            )
    for collision in mechanism.collisions:
        pairs |= _own_pairs(solids, collision, welded)
    if not pairs:
        raise NothingTouchesError(
            "collide finds no two shapes that may touch: bodies need shapes or collisions, and "
            "bodies next to each other along the joints are left out unless neighbors=True"
        )
    names = _names([(solids[i].name, solids[j].name) for i, j in pairs], mechanism)
    for (i, j), name, options in zip(pairs, names, pairs.values()):
        _check(solids[i], solids[j], name, options)
    table = np.array(list(pairs), np.int64).reshape(-1, 2)
    found = Candidates(tuple(solids), table, tuple(names), tuple(pairs.values()))
    return found.on(mechanism) if mechanism.pair_numbers else found


def _names(ends: list[tuple[Hashable, Hashable]], taken: Container[Hashable]) -> list[str]:
    """Names of pairs that differ from others and from those taken: ``"a|b"``, ``"a|b 2"``..."""
    names: list[str] = []
    count: dict[str, int] = {}
    used: set[str] = set()
    for one, two in ends:
        label = name = f"{one}|{two}"
        while name in used or name in taken:
            count[label] = count.get(label, 1) + 1
            name = f"{label} {count[label]}"
        used.add(name)
        names.append(name)
    return names


def _own_pairs(
    solids: list[Solid], collision: Collision, welded: Mapping[int, int]
) -> dict[tuple[int, int], dict[str, Any]]:
    """Pairs of shapes that a file names, with their own options."""
    found: dict[tuple[int, int], dict[str, Any]] = {}
    by_label: dict[str, list[int]] = {}
    for i, solid in enumerate(solids):
        if solid.label is not None:
            by_label.setdefault(solid.label, []).append(i)
    for names, own in collision.pairs.items():
        first, second = (by_label.get(name, []) for name in (min(names), max(names)))
        for i, j in itertools.product(first, second):
            if welded[id(solids[i].end)] != welded[id(solids[j].end)]:
                options = {**own, **collision.options}
                if options["friction"] == 0.0:
                    options["torsional"] = options["rolling"] = 0.0
                found[min(i, j), max(i, j)] = options
    return found


def _pairs_of(mechanism: Any, collision: Collision) -> Iterable[tuple[Any, Any]]:
    """Each pair once, the world first, else in the order of the bodies."""
    everybody = [WORLD, *mechanism.bodies.values()]
    place = {one.name: k for k, one in enumerate(everybody)}
    first = [place[k] for k in (place if collision.bodies is None else collision.bodies)]
    other = [0, *first] if collision.against is None else [place[k] for k in collision.against]
    for i, j in sorted({(min(i, j), max(i, j)) for i in first for j in other if i != j}):
        yield everybody[i], everybody[j]


def _options(one: Solid, two: Solid, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a contact of two solids: given, or else those of their surfaces."""
    options: dict[str, Any] = {**one.surface.against(two.surface), **given}
    if options["friction"] == 0.0:
        options["torsional"] = options["rolling"] = 0.0
    return options


def _check(one: Solid, two: Solid, name: Hashable, options: Mapping[str, Any]) -> None:
    """Refuse restitution where a plane would bounce."""
    if options.get("restitution", 0.0) > 0.0:
        low, high = sorted((one.shape, two.shape), key=rank)
        if touches_of(low, high) is None and touches_of(high, low) is None:
            raise ValueError(
                f"restitution of {name!r} is {options['restitution']}; it is not offered between "
                "shapes that touch a plane between them, as the plane would bounce: call collide "
                "once for the bodies that bounce, and once for the others"
            )


def _solids(mechanism: Any) -> list[Solid]:
    """Convex shapes of all bodies, and obstacles of the world."""
    solids = []
    for name, geometry in mechanism.obstacles.items():
        label = f"obstacle {name!r}"
        solids += _parts(WORLD, name, geometry, label)
    chosen: set[Hashable] = set()
    for collision in mechanism.collisions:
        chosen |= set(mechanism.bodies if collision.bodies is None else collision.bodies)
        chosen |= set(collision.against or ())
    for body in mechanism.bodies.values():
        if body.name not in chosen:
            continue
        shapes = body.collisions or ((body.shape,) if body.shape is not None else ())
        for shape in shapes:
            solids += _parts(body, body.name, shape, f"collision shape of body {body.name!r}")
    return solids


def _parts(end: Any, name: Hashable, shape: Any, label: str) -> list[Solid]:
    """Convex parts of a shape, each with its place."""
    surface = Surface()
    marks: dict[str, Any] = {}
    if isinstance(shape, Geometry):
        surface = shape.surface or surface
        marks = {"label": shape.name, "labels": shape.labels}
        if isinstance(shape.shape, Mesh):
            hull = hull_of(_corners(shape, label), label)
            return [replace(_solid(end, name, hull, surface, label), **marks)]
        if isinstance(shape.shape, HalfSpace):
            return [Solid(end, name, placed_half_space(shape).shape, None, surface, **marks)]
        moved = shape.position.any() or shape.orientation[0] != 1.0
        placed = [(shape.shape, shape.position, shape.orientation)]
        shape = Compound(placed) if moved else shape.shape
    solids = (_solid(end, name, part, surface, label) for part in _simple(shape))
    return [replace(one, **marks) for one in solids]


def _solid(end: Any, name: Hashable, shape: Any, surface: Surface, label: str) -> Solid:
    core = core_of(shape)
    if core is None:
        raise ValueError(
            f"{label} is a {type(shape).__name__}, which cannot touch others; give it another "
            "shape by collisions=, or leave it out by bodies= of collide"
        )
    far = float(np.abs(core.points).max()) + core.radius + core.rim
    if far > FARTHEST:
        raise ValueError(
            f"{label} reaches {far:.0e} m from the body's frame, where positions have no digits "
            f"for gaps; keep shapes within {FARTHEST:.0e} m"
        )
    return Solid(end, name, shape, core, surface)


def _simple(shape: Any) -> list[Any]:
    """Simple shapes of a compound, nested ones included, each a compound of its own."""
    if not isinstance(shape, Compound):
        return [shape]
    found = []
    for part in shape.parts:
        for one in _simple(part.shape):
            x, q = np.zeros(3), IDENTITY
            if isinstance(one, Compound):
                inner = one.parts[0]
                one, x, q = inner.shape, inner.position, inner.orientation
            at = part.position + rotation.rotate(part.orientation, x)
            found.append(Compound([(one, at, rotation.multiply(part.orientation, q))]))
    return found


def _corners(geometry: Geometry, label: str) -> Float:
    """Corners of a mesh, in the body's frame, that stand for it."""
    try:
        corners = corners_of(geometry.shape)
    except (ValueError, OSError, IndexError) as error:
        raise ValueError(f"{label}: mesh {geometry.shape.path!r}: {error}") from None
    corners = outermost(hull_of(corners, label).corners)
    turned = np.broadcast_to(geometry.orientation, (len(corners), 4))
    return np.asarray(geometry.position + rotation.rotate(turned, corners))


def _welded(mechanism: Any) -> dict[int, int]:
    """Which bodies fixed joints hold together: id of the first of them by id of the body."""
    group = {id(one): id(one) for one in (WORLD, *mechanism.bodies.values())}

    def root(k: int) -> int:
        while group[k] != k:
            k = group[k]
        return k

    for joint in mechanism.joints.values():
        if joint.kind == "fixed":
            ends = sorted((root(id(joint.parent)), root(id(joint.child))), key=list(group).index)
            group[ends[1]] = ends[0]
    return {k: root(k) for k in group}


def _neighbors(
    mechanism: Any, welded: Mapping[int, int], own: Mapping[int, Any]
) -> set[frozenset[int]]:
    """Pairs of welded groups that joints connect, directly or through bodies without shapes."""
    shaped = {welded[k] for k in own}
    links: dict[int, set[int]] = {}
    world = welded[id(WORLD)]
    for joint in mechanism.joints.values():
        for one, other in itertools.combinations(joint.bodies if joint.n_rows > 0 else (), 2):
            a, b = welded[id(one)], welded[id(other)]
            if a != b and world not in (a, b):
                links.setdefault(a, set()).add(b)
                links.setdefault(b, set()).add(a)
    found: set[frozenset[int]] = set()
    for start in links:
        if start not in shaped:
            continue
        reached, todo = {start}, [start]
        for at in todo:
            for other in links[at] - reached:
                reached.add(other)
                if other in shaped:
                    found.add(frozenset((start, other)))
                else:
                    todo.append(other)
    return found


def checked_ends(mechanism: Any, given: Any, label: str) -> tuple[Hashable, ...] | None:
    """Names of bodies, or of the world, that are given by themselves or by name.

    Parameters
    ----------
    mechanism : Mechanism
    given : iterable or None
    label : str

    Returns
    -------
    tuple of hashable, or None

    Raises
    ------
    UnknownNameError
    """
    if given is None:
        return None
    if given is WORLD or isinstance(given, (str, Body)):
        raise ValueError(f"{label} of collide takes several bodies; use [{given!r}]")
    return tuple(one_end(mechanism, one, f"{label} of collide") for one in given)


def one_end(mechanism: Any, given: Any, label: str) -> Hashable:
    """Name of one body, or of the world: see `checked_ends`."""
    if given is WORLD or (isinstance(given, str) and given == WORLD.name):
        return WORLD.name
    name: Hashable = given.name if isinstance(given, Body) else given
    found = mechanism.bodies.get(name)
    if found is None or (isinstance(given, Body) and found is not given):
        raise UnknownNameError(
            f"{label} has {name!r}, which is not a body of this mechanism; use what "
            "add_body returned, or its name"
        )
    return name
