"""A run from one near model to the next, in the same totals and energy balance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics.kernels.base import layout, run_totals, step_info
from dynamics.kernels.collisions import watch as watching
from dynamics.kinematics.event_location import part_of_step
from dynamics.kinematics.near_models import Entry, NearMemory, NearModel, NearModels
from dynamics.kinematics.stiff_momenta import with_impulses
from dynamics.state import State, interval_of
from dynamics.tables.error_control import ErrorControl, Event
from dynamics.tables.workspace import Workspace

__all__ = [
    "NearRun", "Part", "at_record", "chosen_parts", "joined", "part_arrays", "parts_of",
]  # fmt: skip

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Records of a motion in one near model.

    Attributes
    ----------
    pairs : tuple of int
        See `NearModels.of`.
    states : ndarray of float, shape (k, state size of the near model)
    """

    pairs: tuple[int, ...]
    states: Float


class NearRun:
    """Run of a model that finds its contacts.

    Parameters
    ----------
    models : NearModels
    state : State
        Of the whole model.
    every : int
        Steps between records.
    inputs : tuple
        A controller's address, controls and wrenches.
    accuracy : float, optional
        Of `simulate`.

    Attributes
    ----------
    parts : list of Part
        All records so far, the start included.
    intervals : list of ndarray of float, shape (k, 2)
        `State.interval` of the records of each portion.
    info, totals : ndarray of float
        Of the whole run.
    events : list of Event
    """

    def __init__(
        self,
        models: NearModels,
        state: State,
        every: int,
        inputs: Any,
        accuracy: float | None = None,
    ) -> None:
        self.accuracy, self.events = accuracy, list[Event]()
        self.models, self.every, self.inputs = models, every, inputs
        entry = models.entry(state)
        assert entry.watch is not None
        self.near, self.state = entry.near, entry.state.copy()
        if accuracy is not None and ErrorControl(models.model, accuracy).explicit is not None:
            self.state = with_impulses(self.near.model, self.state)
        self.search = models.search(entry.watch, entry.near.numbers)
        self.state.interval = state.interval
        self.info = np.zeros(step_info.INFO_SIZE)
        self.totals = np.zeros(run_totals.TOTALS_SIZE)
        self._kept: list[Float] = []
        self._left: tuple[NearModel, Float] | None = None  # by the last change, with its numbers

    _control: ErrorControl | None

    def __enter__(self) -> NearRun:
        self.space = self._free(self.near)
        self.space.__enter__()
        begin = self.space.begin(self.state, self.info)
        self.totals[run_totals.END_TIME], self.totals[run_totals.RESUMED] = begin
        self._look_out()
        if watching.expires(
            self._watched, self.state.n, self.models.model.timestep, self.state.data
        ):
            self._change()
            self._left = None
        self.parts = [Part(self.near.pairs, self.state.data[None].copy())]
        self.intervals = [np.array([interval_of(self.info)])]
        return self

    def __exit__(self, *_: object) -> None:
        self.space.__exit__()
        self.models.free(self.search)

    def _free(self, near: NearModel) -> Workspace:
        """Workspace of a near model for this run."""
        return (near.space if self.accuracy is None else near.model.workspace).free()

    def _look_out(self) -> None:
        """Arrays of the watch and of error control in this near model."""
        self._kernel, self._work = self.models.model.kernel, self.space.work
        self._tables, self._control = self.space.step_tables, None
        if self.accuracy is not None:
            limited = ErrorControl(self.near.model, self.accuracy, self.models.model)
            self._kernel, self._work = limited.kernel, limited.work(self.space)
            self._tables, self._control = limited.tables(self.space), limited
        sizes = self.state.data.size, self.space.given, self.info.size
        self._watched: Any = self.search.arrays(*sizes, self.near.placing)
        self._acting: tuple[Any, ...] | None = None

    def advance(self, done: int, count: int) -> int:
        """Take some steps after those that are done; how many it took."""
        took = 0
        while took < count:
            record = self._record(done + took, count - took)
            model, space = self.models.model, self.space
            flags = self.search.flags
            steps = int(self._kernel.simulate(
                *self._tables, model.timestep, model.settings, count - took, self.every,
                self.inputs, self._watched, self.state.data, self._work, space.step_solver,
                (record, self.info, self.totals),
            ))  # fmt: skip
            rows = (done + took + steps) // self.every - (done + took) // self.every
            if rows:
                self.parts.append(Part(self.near.pairs, record[:rows, :-2].copy()))
                self.intervals.append(record[:rows, -2:].copy())
            took += steps
            control = self._control
            room = control is None or control.take_events(self.near.model, self.events)
            if flags[watching.RENEW] == 0:
                if room:
                    break
                continue
            self._change()
        return took

    def _record(self, done: int, count: int) -> Float:
        """Array for the records of some steps."""
        rows = (done + count) // self.every - done // self.every
        self.totals[run_totals.FIRST_RECORD] = done // self.every
        return np.empty((rows, self.state.data.size + 2))

    def pause(self) -> None:
        """Leave the workspace to other runs, until `go_on`."""
        self._kept = self.space.pause(self._kept)

    def go_on(self) -> None:
        """Go on after a pause, in any thread, with steps that are counted from 0 again."""
        space = self._free(self.near)
        space.go_on(self._kept)
        self.totals[run_totals.STEPS] = 0.0
        if space is not self.space:
            self.space = space
            self._look_out()

    @property
    def acting(self) -> tuple[Any, ...]:
        """Arrays of `dynamics.kernels.observables.act`, in the workspace of this thread.

        Tables, columns, work of projections, watch, state, what is kept, work and solver.
        """
        space = self._free(self.near)
        if space is not self.space:
            self.space = space
            self._look_out()
        if self._acting is None:
            self._acting = (
                space.step_tables, self.near.columns, space.projection, self._watched,
                self.state.data, self._kept[0], space.work, space.step_solver,
            )  # fmt: skip
        return self._acting

    def finish_action(self, took: int, count: int) -> int:
        """Go on after a pause if the near pairs have changed, after some steps of so many."""
        if self.search.flags[watching.RENEW] != 0:
            self.go_on()
            try:
                self._change()
                took += self.advance(took, count - took)
            finally:
                self.pause()
        return took

    def _change(self) -> None:
        """Go on in the model of the pairs that are near now."""
        near = self.models.of(self.search.pairs)
        after = self.models.carried(self.near, self.state, near)
        self._left = self.near, self.state.data.copy()
        first, _ = self.space.given
        m = layout.TWIST * self.models.model.n_bodies
        given = self.space.work[first : first + m].copy()
        self.space.__exit__()  # the new workspace may lie in the same memory
        space = self._free(near)
        if self.totals[run_totals.RESUMED] != 0.0:
            self.models.resume(self.near, self.state, near, after, self.info, given, space)
        space.__enter__()
        self.near, self.state, self.space = near, after, space
        self._look_out()

    def whole(self, time: float) -> State:
        """State of the whole model at this time, which remembers where the run ends."""
        memory = self._memory(self.state, time)
        made = self.models.model.state_of(memory.entry.state.data[self.near.columns], time)
        made.interval, made.memory = interval_of(self.info), memory
        return made

    @property
    def numbers(self) -> Float:
        """Numbers of the state of the whole model."""
        return self.state.data[self.near.columns]

    def _memory(self, state: State, time: float) -> NearMemory:
        """Where the run is, with its state."""
        state.time = time
        end = float(self.totals[run_totals.END_TIME])
        if self._control is None or self._control.explicit is None:
            state.memory = self.space.memory(state, None, end, self.info)
        entry = Entry(self.near, state, self.search.watch)
        return NearMemory(self.models, state.data[self.near.columns].tobytes(), entry)

    def seen(self, time: float) -> State:
        """State of the whole model as a controller sees it, a copy."""
        near = self.near.state_of(self.state.data.copy(), time)
        made = self.models.model.state_of(near.data[self.near.columns], time)
        made.interval = interval_of(self.info)
        entry = Entry(self.near, near, self.search.watch)
        made.memory = NearMemory(self.models, made.data.tobytes(), entry, self._felt())
        return made

    def _felt(self) -> tuple[tuple[int, ...], Float] | None:
        """`NearMemory.felt` of the state, None where the last step ended in its near model."""
        if self._left is not None:
            near, numbers = self._left
            if np.array_equal(numbers[near.columns], self.numbers):
                return near.pairs, numbers
            self._left = None
        return None

    @property
    def record(self) -> Part:
        """The state as the record of the step that led to it, for sensors."""
        pairs, numbers = self._felt() or (self.near.pairs, self.state.data.copy())
        return Part(pairs, numbers[None])

    def part(self, k: int, time: float, length: float, control: Float, wrench: Float) -> State:
        """State of the whole model after a part of the last step, k, which began at ``time``.

        Its near model is that of the step. Records of all steps are needed: ``every`` is 1.
        """
        before, now = self.parts[-2:]
        old, near = self.models.of(before.pairs), self.models.of(now.pairs)
        state = old.state_of(before.states[-1].copy(), time)
        if before.pairs != now.pairs:
            state = self.models.carried(old, state, near)
        state.interval = tuple(self.intervals[-2][-1].tolist())
        after = part_of_step(near.model, state, k, length, control, wrench, self.accuracy)
        return self.models.whole(near, after)

    def end(self, state: State) -> None:
        """Put a state that `part` made, or the last node, in the place of the last record."""
        entry = self.models.remembered(state)
        assert entry is not None
        self.parts[-1] = Part(entry.near.pairs, entry.state.data[None].copy())
        self.intervals[-1] = np.array([state.interval])


def joined(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Parts, those in a row with the same pairs as one."""
    return tuple(
        Part(pairs, np.concatenate([part.states for part in group]))
        for pairs, group in groupby(parts, lambda part: part.pairs)
    )


def part_arrays(models: NearModels, parts: Sequence[Part]) -> dict[str, NDArray[Any]]:
    """Arrays of parts for a file: records, pairs and state size of each, names, all numbers."""
    names = models.candidates.names
    counts = [(len(part.states), len(part.pairs), part.states.shape[1]) for part in parts]
    return {
        "near_counts": np.array(counts, np.int64).reshape(-1, 3),
        "near_names": np.array([str(names[k]) for part in parts for k in part.pairs], str),
        "near_states": np.concatenate([part.states.ravel() for part in parts]),
    }


def parts_of(models: NearModels, kept: Mapping[str, NDArray[Any]]) -> tuple[Part, ...]:
    """Parts of the arrays of a file.

    Raises
    ------
    ValueError
        If they are of pairs that the model does not have, or of other sizes.
    """
    number_of = {str(name): k for k, name in enumerate(models.candidates.names)}
    found, name, number = [], 0, 0
    for records, count, size in kept["near_counts"].tolist():
        names = kept["near_names"][name : name + count].tolist()
        unknown = [one for one in names if one not in number_of]
        pairs = np.array([number_of.get(one, 0) for one in names], np.int64)
        if unknown or (np.diff(pairs) <= 0).any() or size != _size(models, pairs):
            raise ValueError(f"near pairs {unknown or names} are not those of this mechanism")
        states = kept["near_states"][number : number + records * size].reshape(records, size)
        found.append(Part(tuple(pairs.tolist()), states))
        name, number = name + count, number + records * size
    return tuple(found)


def _size(models: NearModels, pairs: NDArray[np.int64]) -> int:
    """Numbers of a state with some pairs near."""
    numbers, table = models.parts_of(pairs), models.tables.parts
    planes = int((table.plane[numbers] >= 0).sum())
    more = planes * (layout.POSE + 3 * layout.TWIST) + int(table.slots[numbers].sum())
    return models.model.state_size + more


def chosen_parts(parts: Sequence[Part], chosen: NDArray[np.int64]) -> tuple[Part, ...]:
    """Parts with some of their records, by the numbers of these in the motion, ascending."""
    found, first = [], 0
    for part in parts:
        here = chosen[(chosen >= first) & (chosen < first + len(part.states))] - first
        if here.size:
            found.append(Part(part.pairs, part.states[here]))
        first += len(part.states)
    return tuple(found)


def at_record(
    models: NearModels, parts: Sequence[Part], k: int, numbers: Float, time: float
) -> NearMemory:
    """Memory of the k-th record of some parts, without the node of its step."""
    places = iter((part, row) for part in parts for row in range(len(part.states)))
    part, row = next(islice(places, k, None))
    following = next(places, None)
    ahead = None if following is None else following[0].pairs
    near = models.of(part.pairs)
    state = near.state_of(part.states[row].copy(), time)
    return NearMemory(models, numbers.tobytes(), Entry(near, state, None, ahead))
