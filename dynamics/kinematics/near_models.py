"""Models of the pairs of shapes that are near: contacts that a motion finds by itself.

A model with all contacts of a pile would carry a plane for every two bodies. Instead, a motion goes
from one *near model* to the next: the model with the contacts of the pairs that are near now. It
stays in one until a body has used up its allowance (`dynamics.kernels.collisions.broad_phase`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics.kernels.base import layout, step_info
from dynamics.kernels.collisions import gjk
from dynamics.kernels.collisions import watch as watching
from dynamics.kernels.collisions.planes import lay_plane
from dynamics.kernels.stepping.load_node import load_node
from dynamics.kinematics import coordinates
from dynamics.kinematics.plane_placement import apart
from dynamics.parts.collisions import candidates_of
from dynamics.tables.collisions import Search, Watch, given_of, shape_tables
from dynamics.tables.near_tables import NearTables, PairPart, Places

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.state import State

__all__ = ["Entry", "NearModel", "NearModels"]

Float = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Allowance of a body: part of the least half size of its shapes, and steps at its present speed.
PART, STEPS = 0.1, 2.0
#: Near models that are kept.
KEPT = 64


@dataclass(frozen=True, slots=True, eq=False)
class NearModel:
    """Model with the contacts of some pairs.

    Attributes
    ----------
    model : Model
        Its first bodies, all its joints and its controls are those of the whole model.
    pairs : tuple of int
        Numbers of the pairs, ascending.
    places : dict of Places
        By number of the pair.
    columns : ndarray of int, shape (state size of the whole model,)
        Where the numbers of the whole model's states are in its own.
    """

    model: Model
    pairs: tuple[int, ...]
    places: dict[int, Places]
    columns: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A state in its near model.

    Attributes
    ----------
    near : NearModel
    state : State
        Of the near model.
    watch : Watch or None
        None where the near pairs are to be found again.
    """

    near: NearModel
    state: State
    watch: Watch | None


@dataclass(slots=True, eq=False)
class NearMemory:
    """Entry that belongs to a state of the whole model, while its numbers are the same."""

    owner: NearModels
    numbers: bytes
    entry: Entry

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(None), ()  # pickles leave it out


class NearModels:
    """Near models of a model.

    Parameters
    ----------
    model : Model

    Attributes
    ----------
    candidates : Candidates
        All pairs that may touch.
    shapes : ShapeTables
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.candidates = candidates_of(model.mechanism)
        self.shapes = shape_tables(self.candidates, model.tables.body_index)
        self.tables = NearTables(model.mechanism, model.tables, model.timestep)
        self._parts: dict[int, PairPart] = {}
        self._models: OrderedDict[tuple[int, ...], NearModel] = OrderedDict()
        self._lock = threading.RLock()

    # Near models

    def of(self, pairs: tuple[int, ...]) -> NearModel:
        """Near model of some pairs; the last `KEPT` are kept.

        Parameters
        ----------
        pairs : tuple of int
            Ascending.

        Returns
        -------
        NearModel
        """
        with self._lock:
            found = self._models.get(pairs)
            if found is None:
                found = self._models[pairs] = self._made(pairs)
                if len(self._models) > KEPT:
                    self._models.popitem(last=False)
            self._models.move_to_end(pairs)
            return found

    def part(self, k: int) -> PairPart:
        """Tables of one pair."""
        with self._lock:
            if k not in self._parts:
                self._parts[k] = self.tables.part(self.candidates.contact(k))
            return self._parts[k]

    def _made(self, pairs: tuple[int, ...]) -> NearModel:
        parts = [self.part(k) for k in pairs]
        tables, places = self.tables.joined(parts)
        whole = self.model.mechanism
        mechanism = copy(whole)
        planes = [part.contact.plane.body for part in parts if part.contact.plane is not None]
        mechanism.bodies = whole.bodies | {body.name: body for body in planes}
        mechanism.contacts = whole.contacts | {part.contact.name: part.contact for part in parts}
        mechanism.collisions = []
        plan = tables.plan
        model = self.model._replace(
            mechanism=mechanism,
            bodies=(*self.model.bodies, *planes),
            tables=tables,
            symbolic=tables.symbolic,
            n_bodies=len(tables.body_index),
            late_at=int(plan[layout.SLOTS]),
            state_size=tables.state_size,
        )
        more = sum(place.slots for place in places)
        columns = self._columns(model.n_bodies, more)
        return NearModel(model, pairs, dict(zip(pairs, places)), columns)

    def _columns(self, bodies: int, more: int) -> Ints:
        """Where the numbers of the whole model's states are in a state with planes."""
        n, rows = self.model.n_bodies, self.model.n_rows
        sizes = (layout.POSE, layout.TWIST, layout.TWIST, layout.TWIST)
        starts = np.cumsum([0, *(size * bodies for size in sizes)])
        found = [np.arange(at, at + size * n) for at, size in zip(starts, sizes)]
        first = int(starts[-1])
        head = int(self.model.tables.contact_slot[len(self.model.tables.contact_touches)])
        found.append(np.arange(first, first + rows + head))
        tail = self.model.state_size - sum(map(len, found))
        found.append(first + rows + head + more + np.arange(tail))
        return np.concatenate(found)

    # States in near models

    def entry(self, state: State) -> Entry:
        """Entry of a state of the whole model.

        Parameters
        ----------
        state : State

        Returns
        -------
        Entry
            The one that led here, if the numbers are the same.
        """
        entry = self.remembered(state)
        if entry is not None:
            if entry.state.time != state.time:
                moved = entry.state.copy()
                moved.time = state.time
                entry = Entry(entry.near, moved, entry.watch)
            if entry.watch is not None:
                return entry
            watch, pairs = self.look(entry.state.data, entry.near.model.n_bodies)
            near = self.of(pairs)
            return Entry(near, self.carried(entry.near, entry.state, near), watch)
        watch, pairs = self.look(state.data, self.model.n_bodies)
        near = self.of(pairs)
        after = near.model.state_of(np.zeros(near.model.state_size), state.time)
        after.data[near.columns] = state.data
        twists = np.zeros((near.model.n_bodies, layout.TWIST))
        twists[: self.model.n_bodies] = coordinates.twists_of(self.model, state)
        self._place(near, after, [k for k in pairs if near.places[k].plane >= 0], twists)
        return Entry(near, after, watch)

    def remembered(self, state: State) -> Entry | None:
        """Entry that led to a state of the whole model; None where its numbers are others."""
        memory = state.memory
        if isinstance(memory, NearMemory) and memory.owner is self:
            if memory.numbers == state.data.tobytes():
                return memory.entry
        return None

    def search(self, watch: Watch | None = None, pairs: Sequence[int] = ()) -> Search:
        """Search for near pairs; see there."""
        return Search(self.shapes, STEPS, PART, watch, pairs)

    def look(self, data: Float, bodies: int) -> tuple[Watch, tuple[int, ...]]:
        """Find the near pairs, and the allowances for which they are all that may touch.

        Parameters
        ----------
        data : ndarray of float
            Numbers of a state whose first bodies are those of the whole model.
        bodies : int
            Bodies of the state.

        Returns
        -------
        Watch
        tuple of int
        """
        search = self.search()
        watching.renew(search.arrays(), bodies, self.model.timestep, data)
        return search.watch, search.pairs

    def carried(self, old: NearModel, state: State, near: NearModel) -> State:
        """State of another near model: bodies and joints, and planes and contacts that stay.

        Parameters
        ----------
        old, near : NearModel
        state : State
            Of the old one.

        Returns
        -------
        State
            Planes that appear are placed between their shapes, and move with their body.
        """
        after = near.model.state_of(np.zeros(near.model.state_size), state.time)
        after.data[near.columns] = state.data[old.columns]
        fresh = []
        for k in near.pairs:
            here, there = near.places[k], old.places.get(k)
            if there is None:
                if here.plane >= 0:
                    fresh.append(k)
                continue
            numbers = state.contacts[there.slot : there.slot + there.slots]
            after.contacts[here.slot : here.slot + here.slots] = numbers
            if here.plane >= 0:
                for name in ("pose", "momentum", "interval_velocity", "interval_velocity_before"):
                    getattr(after, name)[here.plane] = getattr(state, name)[there.plane]
        self._place(near, after, fresh)
        return after

    def resume(
        self,
        old: NearModel,
        state: State,
        near: NearModel,
        after: State,
        info: Float,
        given: Float,
        space: Any,
    ) -> None:
        """Node of a carried state in a workspace, and the info of a motion that goes on.

        Parameters
        ----------
        old, near : NearModel
        state, after : State
            Of the old and of the new one.
        info : ndarray of float
            Changed: what the energy balance holds changes by the energy of planes that come and go.
        given : ndarray of float, shape (6 n,)
            Users' impulses of the last interval.
        space : Workspace
            Of the new one.
        """
        plan = near.model.tables.plan
        space.work[:] = 0.0
        load_node(plan, near.model.tables.constant, after.data, space.work)
        m = layout.TWIST * self.model.n_bodies
        given_of(plan, space.work)[:m] = given[:m]
        info[step_info.NODE_SIDE] = 0.0
        info[step_info.EQUAL_LENGTHS] = min(info[step_info.EQUAL_LENGTHS], 2.0)
        come = [near.places[k].plane for k in near.pairs if k not in old.places]
        gone = [old.places[k].plane for k in old.pairs if k not in near.places]
        info[step_info.HELD] += self._held(near, after, come) - self._held(old, state, gone)

    def _held(self, near: NearModel, state: State, planes: list[int]) -> float:
        """What some planes add to the energy balance of an interval."""
        planes = [plane for plane in planes if plane >= 0]
        if not planes:
            return 0.0
        bodies = near.model.tables.constant[: layout.BODY_SIZE * near.model.n_bodies]
        numbers = bodies.reshape(-1, layout.BODY_SIZE)[planes]
        v, omega = np.split(state.interval_velocity[planes], 2, axis=1)
        mass, inertia = numbers[:, layout.MASS], numbers[:, layout.INERTIA]
        gravity = numbers[:, layout.GRAVITY : layout.GRAVITY + 3]
        kinetic = 0.5 * (mass @ (v * v).sum(axis=1) + inertia @ (omega * omega).sum(axis=1))
        return float(kinetic + 0.5 * self.model.timestep * mass @ (gravity * v).sum(axis=1))

    def _place(
        self, near: NearModel, state: State, pairs: list[int], twists: Float | None = None
    ) -> None:
        """Put planes between the shapes of some pairs, moving with the body they are tied to.

        With ``twists`` the bodies have these velocities, else those of the last interval.
        """
        if not pairs:
            return
        n, shapes, out = self.model.n_bodies, self.shapes, np.empty(5)
        constant, bodies = near.model.tables.constant, near.model.n_bodies
        velocities = state.interval_velocity, state.interval_velocity_before
        kept = [of[:n].copy() for of in velocities]
        if twists is not None:
            for of in velocities:
                of[:n] = twists[:n]
        for k in pairs:
            part, at = self.part(k), near.places[k].plane
            assert part.contact.plane is not None
            i, j = shapes.bounds.pairs[k]
            if not gjk.separate(
                shapes.points, shapes.starts, shapes.cores, shapes.bounds.shapes, i, j, n,
                state.data, out,
            ):  # fmt: skip
                out = apart(near.model, state, part.contact).as_numbers()
            lay_plane(
                constant, 0.0 if twists is not None else self.model.timestep,
                part.contact.plane.height, part.owner, at, bodies, out, state.data,
            )  # fmt: skip
        for of, before in zip(velocities, kept):
            of[:n] = before
