"""Models of the pairs of shapes that are near: contacts that a motion finds by itself.

A model with all contacts of a pile would carry a plane for every two bodies. Instead, a motion goes
from one *near model* to the next: the model with the contacts of the pairs that are near now. It
stays in one until a body has used up its allowance (`dynamics.kernels.collisions.broad_phase`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics.kernels.base import layout, step_info
from dynamics.kernels.collisions import carry as carrying
from dynamics.kernels.collisions import watch as watching
from dynamics.kernels.collisions.near_plan import THE_WORLD
from dynamics.kernels.collisions.planes import lay_planes
from dynamics.kernels.stepping.load_node import load_node
from dynamics.kinematics import coordinates
from dynamics.kinematics.near_space import NearSpace, NearWork
from dynamics.kinematics.plane_placement import apart
from dynamics.parts.bodies import WORLD
from dynamics.parts.collisions import Solid, candidates_of, value_of
from dynamics.state import State
from dynamics.tables.collisions import NO_PLANES, Search, Watch, shape_tables
from dynamics.tables.near_tables import NearArrays, NearTables, Places

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.parts.contacts import Contact

__all__ = ["Entry", "NearModel", "NearModels"]

Float = NDArray[np.float64]
Ints = NDArray[np.int64]
NO_PAIRS = np.zeros(0, np.int64)
#: Numbers of a plane in a state.
PLANE = layout.POSE + 3 * layout.TWIST

#: Allowance of a body: part of the least half size of its shapes, and steps at its present speed.
#: With 2 steps a driven humanoid takes 1.13 times as long, as more pairs are near: their blocks
#: fill the factors. With 1 it takes 1.23 times as long: more near models.
PART, STEPS = 0.15, 1.5
#: Near models are kept up to this size of their arrays, bytes: 1,300 of a humanoid that rolls,
#: where one change in ten to fifty meets an old one. The newest always is.
KEPT = 128e6


@dataclass(frozen=True, eq=False)
class NearModel:
    """Model with the contacts of some pairs.

    Attributes
    ----------
    owner : NearModels
    pairs : tuple of int
        Numbers of the pairs, ascending.
    numbers, parts : ndarray of int, shape (k,)
        The same, and numbers of their parts in `NearTables`.
    arrays : NearArrays
        What its steps need. Its first bodies, all its joints and its controls are those of the
        whole model.
    n_bodies, state_size : int
    columns : ndarray of int, shape (state size of the whole model,)
        Where the numbers of the whole model's states are in its own.
    placing : tuple of ndarray
        Bodies of the planes, bodies that they are tied to, heights, pairs of shapes and their
        `ShapeTables.margins`.
    """

    owner: NearModels
    pairs: tuple[int, ...]
    numbers: Ints
    parts: Ints
    arrays: NearArrays
    n_bodies: int
    state_size: int
    columns: Ints
    placing: tuple[Ints, Ints, Float, Ints, Float]

    @property
    def places(self) -> Places:
        """Where the pairs lie in its states."""
        return self.arrays.places

    @cached_property
    def model(self) -> Model:
        """Model with all names, for queries: runs do without."""
        return self.owner.named(self)

    @property
    def space(self) -> NearSpace:
        """Workspace of the calling thread."""
        return self.owner.memory.space(self)

    @property
    def nbytes(self) -> int:
        """Size of its arrays."""
        arrays = self.arrays
        kept = arrays.plan, arrays.constant, self.columns, *arrays.programs, *arrays.graph
        return sum(one.nbytes for one in kept)

    def state_of(self, data: Float, time: float) -> State:
        """State that looks at numbers, as `Model.state_of`."""
        whole = self.owner.model
        interval = (whole.timestep, whole.timestep)
        return State(data, self.n_bodies, whole.n_rows, time, interval)

    def tables(self) -> tuple[Any, ...]:
        """Tables for `dynamics.kernels.collisions.carry`."""
        places = self.arrays.places
        return (
            self.numbers, places.plane, places.slot, places.slots, self.columns, self.n_bodies,
        )  # fmt: skip


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
    ahead : tuple of int, or None
        Near pairs of the step that followed in a motion: steps from there take them, too.
    """

    near: NearModel
    state: State
    watch: Watch | None
    ahead: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class NearNumbers:
    """Near pairs by their names, and the numbers of a state in their model: for pickles.

    ``ahead`` are those of `Entry.ahead`.
    """

    names: tuple[Hashable, ...]
    data: Float
    ahead: tuple[Hashable, ...] | None = None


@dataclass(slots=True, eq=False)
class NearMemory:
    """Entry that belongs to a state of the whole model, while its numbers are the same.

    ``felt`` are the pairs and the numbers of the step that led to it, if others are near by now.
    """

    owner: NearModels
    numbers: bytes
    entry: Entry
    felt: tuple[tuple[int, ...], Float] | None = None

    def portable(self) -> NearNumbers:
        """What other models of the same mechanism understand."""
        names, ahead = self.owner.candidates.names, self.entry.ahead
        return NearNumbers(
            tuple(names[k] for k in self.entry.near.pairs),
            self.entry.state.data,
            None if ahead is None else tuple(names[k] for k in ahead),
        )

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        kept = self.portable()
        return NearNumbers, (kept.names, kept.data, kept.ahead)


class NearModels:
    """Near models of a model.

    Parameters
    ----------
    model : Model
    like : NearModels, optional
        Of a model with the same shapes, which may have other bodies of these names.

    Attributes
    ----------
    candidates : Candidates
        All pairs that may touch.
    shapes : ShapeTables
    """

    def __init__(self, model: Model, like: NearModels | None = None) -> None:
        self.model = model
        if like is None:
            self.candidates = candidates_of(model.mechanism)
            self.shapes = shape_tables(self.candidates, model.tables.body_index)
        else:
            self.candidates = like.candidates.on(model.mechanism)
            self.shapes = like.shapes
        self.tables = NearTables(model.mechanism, model.tables, model.timestep)
        self._parts = np.full(len(self.candidates.pairs), -1)  # number of a pair's part
        body = self.shapes.bounds.shapes[:, 0]
        self._bodies = np.where(body < model.n_bodies, body, THE_WORLD)  # of solids
        self._contacts: dict[int, Contact] = {}  # by number of the pair
        self._kinds: list[int | None] = [None] * len(self.candidates.solids)
        self._kind_of: dict[Any, int] = {}  # by value of a solid
        self._alike: dict[Any, int] = {}  # the first of pairs that differ in their bodies alone
        self._models: OrderedDict[tuple[int, ...], NearModel] = OrderedDict()
        self._nbytes = 0
        self.memory = NearWork()
        n, tables = model.n_bodies, model.tables
        head = model.n_rows + int(tables.contact_slot[len(tables.contact_touches)])
        portions = [layout.POSE * n, *[layout.TWIST * n] * 3, head]
        self._portions = [*portions, model.state_size - sum(portions)]  # of a state
        self._searches: list[Search] = []
        self._lock = threading.RLock()

    # Near models

    def of(self, pairs: tuple[int, ...]) -> NearModel:
        """Near model of some pairs; the last ones are kept.

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
                self._nbytes += found.nbytes
                while self._nbytes > KEPT and len(self._models) > 1:
                    self._nbytes -= self._models.popitem(last=False)[1].nbytes
            self._models.move_to_end(pairs)
            return found

    def contact(self, k: int) -> Contact:
        """Contact of a pair."""
        with self._lock:
            found = self._contacts.get(k)
            if found is None:
                found = self._contacts[k] = self.candidates.contact(k)
            return found

    def energy(self, k: int) -> float:
        """Unit of energy of a pair's contact, J."""
        parts, (part,) = self.tables.parts, self.parts_of(np.array([k]))
        return float(parts.constant[parts.touches[part, 0], layout.ENERGY])

    def parts_of(self, numbers: Ints) -> Ints:
        """Numbers of the parts of some pairs in `tables`, written where they are new."""
        with self._lock:
            new = numbers[self._parts[numbers] < 0].tolist()
            if new:
                kinds = {k: self._pair_kind(k) for k in new}
                fresh: dict[Any, int] = {}
                for k, kind in kinds.items():
                    if kind not in self._alike:
                        fresh.setdefault(kind, k)
                if fresh:
                    contacts = [self.contact(k) for k in fresh.values()]
                    self._number(list(fresh.values()))
                    self.tables.add(contacts)
                    self._alike |= fresh
                others = [k for k in new if self._parts[k] < 0]
                if others:
                    self._repeat(others, [self._alike[kinds[k]] for k in others])
            return self._parts[numbers]

    def _number(self, pairs: list[int]) -> None:
        """Number the parts of some pairs, which are written next."""
        self._parts[pairs] = len(self.tables.parts.names) + np.arange(len(pairs))

    def _repeat(self, pairs: list[int], firsts: list[int]) -> None:
        """Write the parts of pairs that differ from others in their bodies alone."""
        parts, of = self._parts[firsts], self.candidates.pairs
        ends, like = self._bodies[of[pairs]], self._bodies[of[firsts]]
        turned = self.tables.parts.ends[parts][:, 0] != like[:, 0]
        ends[turned] = ends[turned, ::-1]
        self._number(pairs)
        self.tables.repeat(parts, ends, [self.candidates.names[k] for k in pairs])

    def _pair_kind(self, k: int) -> Any:
        """What the part of a pair depends on, but for the numbers and names of its bodies."""
        one, two = self.candidates.pairs[k].tolist()
        options = tuple(self.candidates.options[k].items())
        return self._kind(one), self._kind(two), options

    def _kind(self, i: int) -> int:
        """Number of the solids that differ from one in their body alone."""
        found = self._kinds[i]
        if found is None:
            value = self._value(self.candidates.solids[i])
            found = self._kinds[i] = self._kind_of.setdefault(value, len(self._kind_of))
        return found

    def _value(self, solid: Solid) -> Any:
        """Shape of a solid, and what contacts take from its body."""
        end, shape = solid.end, value_of(solid.shape)
        if end is WORLD:
            return shape
        unit = self.model.tables.units[end.name]
        return shape, float(end.mass), end.inertia.tobytes(), float(end.gravity_scale), unit

    def _made(self, pairs: tuple[int, ...]) -> NearModel:
        numbers = np.array(pairs, np.int64)
        parts = self.parts_of(numbers)
        arrays = self.tables.joined(parts)
        plane, slots = arrays.places.plane, arrays.places.slots
        bodies, size = int(arrays.plan[layout.BODIES]), int(slots.sum())
        placing = NO_PLANES
        if bodies > self.model.n_bodies:
            tied = plane >= 0
            part, shapes = parts[tied], self.shapes.bounds.pairs[numbers[tied]]
            placing = (
                plane[tied], self.tables.parts.owner[part], self.tables.parts.height[part],
                shapes, self.shapes.margins(shapes),
            )  # fmt: skip
        planes = bodies - self.model.n_bodies
        state_size = self.model.state_size + planes * PLANE + size
        columns = self._columns(planes, size)
        return NearModel(self, pairs, numbers, parts, arrays, bodies, state_size, columns, placing)

    def named(self, near: NearModel) -> Model:
        """Model of some pairs with all names.

        Parameters
        ----------
        near : NearModel

        Returns
        -------
        Model
            Its workspaces lie in the same memory as those of runs, and hold what the last one left.
        """
        tables = self.tables.named(near.parts, near.arrays)
        contacts = [self.contact(k) for k in near.pairs]
        whole = self.model.mechanism
        mechanism = copy(whole)
        planes = [one.plane.body for one in contacts if one.plane is not None]
        mechanism.bodies = whole.bodies | {body.name: body for body in planes}
        mechanism.contacts = whole.contacts | {one.name: one for one in contacts}
        mechanism.collisions = []
        return self.model._replace(
            mechanism=mechanism,
            bodies=(*self.model.bodies, *planes),
            tables=tables,
            symbolic=tables.symbolic,
            n_bodies=near.n_bodies,
            late_at=int(tables.plan[layout.SLOTS]),
            state_size=near.state_size,
            memory=self.memory,
        )

    def _columns(self, planes: int, more: int) -> Ints:
        """Where the numbers of the whole model's states are in a state with planes."""
        later = np.cumsum([0, layout.POSE, layout.TWIST, layout.TWIST, layout.TWIST, 0])
        shift = later * planes + [0, 0, 0, 0, 0, more]
        found: Ints = np.arange(self.model.state_size) + np.repeat(shift, self._portions)
        return found

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
                entry = replace(entry, state=moved)
            if entry.watch is not None:
                return entry
            data, n = entry.state.data, entry.near.n_bodies
            if entry.ahead is None:
                watch, pairs = self.look(data, n)
            else:  # what else may touch in one step: mostly nothing
                watch, pairs = self.look(data, n, (1.0, 0.0))
                pairs = tuple(sorted({*pairs, *entry.ahead}))
            near = self.of(pairs)
            return Entry(near, self.carried(entry.near, entry.state, near), watch)
        watch, pairs = self.look(state.data, self.model.n_bodies)
        near = self.of(pairs)
        after = near.state_of(np.zeros(near.state_size), state.time)
        after.data[near.columns] = state.data
        planes = np.flatnonzero(near.places.plane >= 0)
        if planes.size:
            twists = np.zeros((near.n_bodies, layout.TWIST))
            twists[: self.model.n_bodies] = coordinates.twists_of(self.model, state)
            self.place(near, after, planes, twists)
        return Entry(near, after, watch)

    def remembered(self, state: State) -> Entry | None:
        """Entry that led to a state of the whole model; None where its numbers are others."""
        memory = state.memory
        if isinstance(memory, NearMemory):
            if memory.numbers != state.data.tobytes():
                return None
            if memory.owner is self:
                return memory.entry
            memory = memory.portable()
        return self._recalled(memory, state) if isinstance(memory, NearNumbers) else None

    def felt(self, state: State) -> tuple[tuple[int, ...], Float]:
        """Pairs and numbers of a state with the forces of the step that led to it, for sensors."""
        entry, memory = self.remembered(state), state.memory
        if entry is not None and isinstance(memory, NearMemory) and memory.felt is not None:
            return memory.felt
        entry = entry or self.entry(state)
        return entry.near.pairs, entry.state.data

    def _recalled(self, kept: NearNumbers, state: State) -> Entry | None:
        """Entry of a state that was pickled or is of another model of the same mechanism."""
        pairs = [self.candidates.numbers.get(name, -1) for name in kept.names]
        if pairs != sorted(set(pairs) - {-1}):
            return None
        near = self.of(tuple(pairs))
        if kept.data.size != near.state_size:
            return None
        if not np.array_equal(kept.data[near.columns], state.data):
            return None
        numbers = self.candidates.numbers
        ahead = None
        if kept.ahead is not None:
            ahead = tuple(sorted(numbers[name] for name in kept.ahead if name in numbers))
        return Entry(near, near.state_of(kept.data.copy(), state.time), None, ahead)

    def whole(self, near: NearModel, state: State) -> State:
        """State of the whole model that remembers one of a near model."""
        made = self.model.state_of(state.data[near.columns], state.time)
        made.interval = state.interval
        made.memory = NearMemory(self, made.data.tobytes(), Entry(near, state, None))
        return made

    def search(
        self,
        watch: Watch | None = None,
        numbers: Ints = NO_PAIRS,
        allowed: tuple[float, float] | None = None,
    ) -> Search:
        """Search for near pairs that goes on from a watch, for `free` after its last use."""
        try:
            search = self._searches.pop()
        except IndexError:
            search = Search(self.shapes)
        search.begin(*(allowed or (STEPS, PART)), watch, numbers)
        return search

    def free(self, search: Search) -> None:
        """Take a search back, for other runs."""
        self._searches.append(search)

    def look(
        self, data: Float, bodies: int, allowed: tuple[float, float] | None = None
    ) -> tuple[Watch, tuple[int, ...]]:
        """Find the near pairs, and the allowances for which they are all that may touch.

        Parameters
        ----------
        data : ndarray of float
            Numbers of a state whose first bodies are those of the whole model.
        bodies : int
            Bodies of the state.
        allowed : (float, float), optional
            Steps and part of allowances, by default `STEPS` and `PART`.

        Returns
        -------
        Watch
        tuple of int
        """
        search = self.search(allowed=allowed)
        watching.renew(search.arrays(), bodies, self.model.timestep, data)
        found = search.watch, search.pairs
        self.free(search)
        return found

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
        after = near.state_of(np.empty(near.state_size), state.time)
        fresh = np.empty(near.numbers.size, np.int64)
        count = carrying.carry(
            old.tables(), near.tables(), self.model.n_rows, state.data, after.data, fresh
        )
        self.place(near, after, fresh[:count])
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
            Users' impulses of the last interval on the bodies of the whole model.
        space : Workspace
            Of the new one.
        """
        arrays = near.arrays
        load_node(arrays.plan, arrays.constant, after.data, given, space.work)
        info[step_info.NODE_SIDE] = 0.0
        info[step_info.EQUAL_LENGTHS] = min(info[step_info.EQUAL_LENGTHS], 2.0)
        if state.n + after.n > 2 * self.model.n_bodies:  # planes
            come, gone = self._held(near, after, old), self._held(old, state, near)
            info[step_info.HELD] += come - gone

    def _held(self, near: NearModel, state: State, other: NearModel) -> float:
        """What planes that another near model has not add to the energy balance of an interval."""
        energy: float = carrying.energy_of_others(
            near.arrays.constant, state.data, state.n, self.model.timestep, near.numbers,
            near.places.plane, other.numbers,
        )  # fmt: skip
        return energy

    def place(
        self, near: NearModel, state: State, fresh: Ints, twists: Float | None = None
    ) -> None:
        """Put planes between the shapes of some pairs, moving with the body they are tied to.

        ``fresh`` are their places among the near pairs. With ``twists`` the bodies have these
        velocities, else those of the last interval.
        """
        if not fresh.size:
            return
        n = self.model.n_bodies
        chosen = near.places.plane[fresh] - n
        placing = tuple(one[chosen] for one in near.placing)
        velocities = state.interval_velocity, state.interval_velocity_before
        before = [of[:n].copy() for of in velocities]
        if twists is not None:
            for of in velocities:
                of[:n] = twists[:n]
        h, apart_at = 0.0 if twists is not None else self.model.timestep, np.zeros(5)
        done, given = 0, False
        while done < fresh.size:
            done = lay_planes(
                near.arrays.constant, self.shapes.solids, placing, h, n,
                near.n_bodies, done, given, apart_at, state.data,
            )  # fmt: skip
            if done < fresh.size:  # these two overlap, or nearly
                contact = self.contact(int(near.numbers[fresh[done]]))
                apart_at[:] = apart(near.model, state, contact).as_numbers()
            given = True
        for of, old in zip(velocities, before):
            of[:n] = old
