"""Arrays that steps work in: one workspace a thread."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from threading import local
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics.errors import UnknownNameError
from dynamics.interrupts import around
from dynamics.kernels.base import layout, step_info
from dynamics.kernels.observables import measure as kernel
from dynamics.kernels.rows.added_mass import add_momenta
from dynamics.kernels.rows.rotor import add_spin
from dynamics.kernels.rows.rows import evaluate
from dynamics.tables.model_tables import (
    lasting,
    programs_of,
    residual_of,
    settling_columns,
    solver_sizes,
    worst_part,
)

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.state import State

__all__ = ["ThreadWorkspaces", "WorkMemory", "Workspace", "refuse_callbacks"]

Float = NDArray[np.float64]


@dataclass(slots=True, eq=False)  # not frozen: half a microsecond instead of two, in every step
class Memory:
    """Node and guess after a step, which a state does not hold: see `Workspace.begin`."""

    model: Model
    numbers: bytes
    shown: float
    time: float
    kicked: Float | None
    info: Float
    arrays: list[Float]

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(None), ()  # pickles leave it out


class WorkMemory(local):
    """Memory of workspaces, other numbers in every thread: of one model, or of all near models.

    One run at a time is in it. Only a model that is larger than all before gets new memory.

    Attributes
    ----------
    running : bool
        Whether a run of this thread is in it.
    """

    def __init__(self) -> None:
        self.running = False
        self._numbers = np.zeros(0)

    def arrays(self, *sizes: int) -> list[Float]:
        """Arrays of these lengths, apart from each other, with the numbers that are there."""
        starts = list(accumulate(sizes, initial=0))
        if starts[-1] > self._numbers.size:
            self._numbers = np.zeros(max(starts[-1], 2 * self._numbers.size))
        return [self._numbers[at : at + size] for at, size in zip(starts, sizes)]


class Workspace:
    """Arrays for steps and measurements of one model.

    Parameters
    ----------
    model : Model
    memory : WorkMemory, optional
        That of other models, by default its own.

    Attributes
    ----------
    work : ndarray of float, or tuple of ndarray
        See `dynamics.kernels.stepping.step`, and `dynamics.tables.galerkin` beyond order 2.
    step_tables, step_solver : tuple
        Plan, constants and program of steps, and their solver arrays.
    solver : tuple of ndarray
        Matrix values, magnitudes, arena, solution workspace and status of `graphsys.kernels`.
    given : (int, int)
        Ends of users' impulses of the last interval in ``work``, of order 2.
    """

    work: Any
    step_tables: tuple[Any, ...]
    step_solver: tuple[Any, ...]
    given: tuple[int, int]
    _model: Any

    def __init__(self, model: Model, memory: WorkMemory | None = None) -> None:
        tables = model.tables
        self.plan, self.constant = tables.plan, tables.constant
        self.program = tables.symbolic.program
        self.timestep = model.timestep
        self.first_order = model.form == "first order"
        self.callbacks = tables.callbacks
        self.row_start, self.joint_index = tables.row_start, tables.joint_index
        self.body_index, self.measure_group = tables.body_index, tables.measure_group
        self.tables = tables
        self.stages = model.stages
        self._memory = WorkMemory() if memory is None else memory
        self._model = model
        self._rows_of: dict[tuple[int, int], int] = {}  # rows of groups, for `measured`
        programs = programs_of(tables)
        graph = tables.symbolic.graph
        step = 0 if self.stages is not None else int(self.plan[layout.WORK_SIZE])
        self._lay(programs, graph.nnz, step)
        if self.stages is None:
            self._step_in(graph.tables())
        else:
            self.work, self.step_solver = self.stages.work(), self.stages.solver()
            self.step_tables = self.stages.tables
            self._kept = list(_arrays(self.work))

    def _lay(self, programs: list[NDArray[np.int64]], nnz: int, step: int) -> None:
        """Lay all arrays one after another, with so many numbers of a step."""
        n, rows, contacts = (
            int(self.plan[k]) for k in (layout.BODIES, layout.MEASURED_ROWS, layout.CONTACTS)
        )
        unknowns = max(layout.TWIST * n + int(self.plan[layout.ROWS]), 10)
        solver = solver_sizes(programs, nnz, layout.COLUMNS if contacts > 0 else 1)
        arrays = self._memory.arrays(
            *solver, layout.POSE * (n + 1), 9 * (n + 1), rows, 12 * rows, *[unknowns] * 3,
            layout.contact_work_size(contacts, n), step,
        )  # fmt: skip
        self.solver = tuple(arrays[: len(solver)])
        (
            self.pose, self.matrix, self.g, self.G, self.x, self.r, self.dx, self.contacts,
            self.work,
        ) = arrays[len(solver) :]  # fmt: skip
        self._measured: Float | None = None
        self.projection = (
            (self.pose, self.matrix, self.g, self.G), (self.x, self.r, self.dx), self.contacts,
            self.solver,
        )  # fmt: skip

    def _step_in(self, graph: tuple[Any, ...]) -> None:
        """Arguments of steps of order 2."""
        self.step_solver = (
            *self.solver, settling_columns(self.plan, self.work), None,
            *(graph if self.plan[layout.CONTACTS] > 0 else ()),
        )  # fmt: skip
        self.step_tables = (self.plan, self.constant, self.program)
        end, m = lasting(self.plan), layout.TWIST * int(self.plan[layout.BODIES])
        self.given, self._kept = (end - 2 * m, end - m), [self.work[:end]]

    def free(self) -> Workspace:
        """Workspace for a run: another one while a run is in this, whose controller asks."""
        return Workspace(self._model) if self._memory.running else self

    def __enter__(self) -> Workspace:
        self._memory.running = True
        return self

    def __exit__(self, *_: object) -> None:
        self._memory.running = False

    def begin(self, state: State, info: Float) -> tuple[float, bool]:
        """Time of a state, and whether the workspace now holds node and guess of its step.

        Parameters
        ----------
        state : State
            Its momenta become those of half kicks.
        info : ndarray of float
            Of steps to come; changed where it goes on.
        """
        memory = state.memory
        if isinstance(memory, Memory) and memory.model is self._model:
            if memory.numbers == state.data.tobytes():
                for array, kept in zip(self._kept, memory.arrays):
                    array[...] = kept
                info[:] = memory.info
                if memory.kicked is not None:
                    state.data[:] = memory.kicked
                return memory.time if state.time == memory.shown else state.time, True
        given = self.is_given(state) and not self.first_order
        info[step_info.LENGTH] = 0.0 if given else state.interval[0]
        info[step_info.SPACING] = state.interval[1]
        self.kick(state.data[None], 0.5)
        return state.time, False

    def is_given(self, state: State) -> bool:
        """Whether no interval led to the velocities: momenta hold no half kick at its end.

        Parameters
        ----------
        state : State

        Returns
        -------
        bool
        """
        if not np.array_equal(state.interval_velocity, state.interval_velocity_before):
            return False
        masses = self.constant[layout.MASS :: layout.BODY_SIZE][: state.n, None]
        twist = state.interval_velocity
        carried = masses * twist[:, :3]
        if np.array_equal(state.momentum[:, :3], carried):
            return True
        wanted = np.zeros((state.n, layout.TWIST))
        wanted[:, :3] = carried
        if self.plan[layout.ROTORS] or self.plan[layout.ADDED]:
            plan, constant, G = self.plan, self.constant, self.G
            kernel.placed(state.n, state.data, self.pose, self.matrix)
            first, last = plan[layout.JOINTS], plan[layout.GROUPS]
            evaluate(plan, constant, first, last, self.pose, self.matrix, self.g, G)
            add_spin(plan, constant, 1.0, G, twist.ravel(), wanted.ravel())
            add_momenta(plan, constant, 0.0, 1.0, 1.0, G, twist.ravel(), wanted.ravel())
        far = np.abs(state.momentum - wanted)[:, :3]
        return bool((far <= 1e-12 * np.abs(wanted).max(axis=1, keepdims=True)).all())

    def memory(self, state: State, kicked: Float | None, time: float, info: Float) -> Memory:
        """Make what `begin` goes on with; it keeps the arrays that it is given.

        Parameters
        ----------
        state : State
            After a step.
        kicked : ndarray of float, shape (state size,), or None
            Its numbers with the momenta of half kicks, where they differ.
        time : float
            The sum of all timesteps, which differs from the state's by rounding.
        info : ndarray of float
        """
        arrays = [array.copy() for array in self._kept]
        return Memory(self._model, state.data.tobytes(), state.time, time, kicked, info, arrays)

    def pause(self, kept: list[Float]) -> list[Float]:
        """Leave the workspace to other runs: what `go_on` needs, in the given arrays if they fit.

        Parameters
        ----------
        kept : list of ndarray of float
            Of an earlier pause, or none.

        Returns
        -------
        list of ndarray of float
        """
        self.__exit__()
        if not kept or kept[0].size != self._kept[0].size:  # of another near model
            return [array.copy() for array in self._kept]
        for array, own in zip(kept, self._kept):
            array[...] = own
        return kept

    def go_on(self, kept: list[Float]) -> None:
        """Go on with a run after a pause.

        Parameters
        ----------
        kept : list of ndarray of float
        """
        self.__enter__()
        for array, own in zip(kept, self._kept):
            own[...] = array

    def velocities(self, states: Float) -> Float:
        """Projected velocities of many states.

        Parameters
        ----------
        states : ndarray of float, shape (k, state size)

        Returns
        -------
        ndarray of float, shape (k, 6 n)
        """
        twists = np.empty((states.shape[0], layout.TWIST * int(self.plan[layout.BODIES])))
        self._projected(kernel.project, (self.timestep, False, states), (twists,))
        return twists

    def observed(self, places: NDArray[np.int64], states: Float) -> Float:
        """Coordinates and their rates, of projected velocities, in one call.

        Parameters
        ----------
        places : ndarray of int, shape (2, m)
            Rows of `measured`, of all groups that measure, with the value and the rate of each.
        states : ndarray of float, shape (k, state size)

        Returns
        -------
        ndarray of float, shape (k, 2, m)
        """
        out = np.empty((states.shape[0], *places.shape))
        head = places, self.timestep, states
        self._projected(kernel.observe, head, (self._measurement(), out))
        return out

    def observing(self, places: NDArray[np.int64]) -> tuple[Any, ...]:
        """Tables and work of `dynamics.kernels.observables.measure.coordinates`.

        Parameters
        ----------
        places : ndarray of int, shape (2, m)
            See `observed`.

        Returns
        -------
        tuple
        """
        node = self.pose, self.matrix, self.g, self.G
        return self.plan, self.constant, places, node, self._measurement()

    def _measurement(self) -> Float:
        """Room for all rows that measure, and their rates."""
        if self._measured is None:
            groups = int(self.plan[layout.GROUPS]), int(self.plan[layout.MEASURES])
            self._measured = np.empty((self._rows(*groups), 2))
        return self._measured

    def _projected(
        self, function: Callable[..., Any], head: tuple[Any, ...], tail: tuple[Any, ...]
    ) -> None:
        """Call a kernel that projects velocities, in the one elimination order or the other."""
        failed = 0
        for symbolic in (self.tables.symbolic, self.tables.fallback):
            self.projector = symbolic.program
            arguments = self.plan, self.constant, self.projector, *head, *self.projection, *tail
            with around(self.callbacks):
                failed = function(*arguments)
            if not failed or self.tables.fallback is None:
                break
        self.reraise()
        if failed:
            raise ArithmeticError(
                f"the velocities of state {failed - 1} cannot be computed: what closed contacts "
                "and loops hold leaves the lightest bodies no digits; finalize with a smaller "
                "timestep, or leave no links almost without mass (merge_fixed=True, least_radius=)"
            )

    def kick(self, states: Float, part: float) -> None:
        """Turn momenta of the papers' form into those of half kicks (1/2), or back (-1/2).

        Parameters
        ----------
        states : ndarray of float, shape (k, state size)
            Changed, where the model's form is the papers'.
        part : float
        """
        if not self.first_order:
            return
        lates = int(self.plan[layout.STIFF_NUMBERS])
        if lates:  # nothing adds to the velocities of the last interval, and there was one
            states[:, -lates:] = 0.0
            states[:, -lates] = self.timestep if part > 0.0 else 0.0
        kernel.kick(
            self.plan, self.constant, part * self.timestep, states, self.pose, self.matrix,
            self.g, self.G, self.x,
        )  # fmt: skip

    def measured(
        self, first: int, last: int, states: Float, twists: Float, constant: Float | None = None
    ) -> Float:
        """Values and rates of rows of some groups.

        Parameters
        ----------
        first, last : int
        states : ndarray of float, shape (k, state size)
        twists : ndarray of float, shape (k, 6 n)
        constant : ndarray of float, optional
            Other numbers than those of the model.

        Returns
        -------
        ndarray of float, shape (k, rows, 2)
        """
        out = np.empty((states.shape[0], self._rows(first, last), 2))
        constant = self.constant if constant is None else constant
        with around(self.callbacks):
            kernel.measure(
                self.plan, constant, first, last, states, twists, self.pose, self.matrix, self.g,
                self.G, out,
            )  # fmt: skip
        self.reraise()
        return out

    def _rows(self, first: int, last: int) -> int:
        """Count the rows of some groups, those that add to others left out."""
        rows = self._rows_of.get((first, last))
        if rows is None:
            at, count = int(self.plan[layout.GROUP_AT]), int(self.plan[layout.MEASURES])
            groups = self.plan[at : at + layout.GROUP_FIELDS * count]
            groups = groups.reshape(-1, layout.GROUP_FIELDS)[first:last]
            own = groups[:, layout.EQUATION] == groups[:, layout.FIRST_ROW]
            rows = self._rows_of[first, last] = int(groups[own, layout.N_ROWS].sum())
        return rows

    def reraise(self) -> None:
        """Raise what a user's function raised since it was last asked."""
        for call in self.callbacks:
            call.reraise()

    def joint(self, name: Hashable, states: Float, twists: Float) -> Float:
        """Coordinates and rates of a joint in many states.

        Parameters
        ----------
        name : hashable
        states : ndarray of float, shape (k, state size)
        twists : ndarray of float, shape (k, 6 n)

        Returns
        -------
        ndarray of float, shape (k, coordinates, 2)
        """
        if name not in self.measure_group:
            raise UnknownNameError(
                f"there is no joint {name!r} with coordinates; there are {list(self.measure_group)}"
            )
        first, second = self.measure_group[name]
        out = self.measured(first, first + 1, states, twists)
        out[:, :, 1] = self.measured(second, second + 1, states, twists)[:, :, 1]
        return out

    def energies(self, states: Float, twists: Float) -> Float:
        """Kinetic, gravitational and elastic energy of many states, J.

        Parameters
        ----------
        states : ndarray of float, shape (k, state size)
        twists : ndarray of float, shape (k, 6 n)

        Returns
        -------
        ndarray of float, shape (k, 3)
        """
        out = np.empty((states.shape[0], 3))
        with around(self.callbacks):
            kernel.energies(
                self.plan, self.constant, 0, int(self.plan[layout.GROUPS]), states, twists,
                self.pose, self.matrix, self.g, self.G, out,
            )  # fmt: skip
        self.reraise()
        return out

    def momenta(self, states: Float, twists: Float) -> Float:
        """Linear momentum, and angular momentum about the origin, of many states.

        Parameters
        ----------
        states : ndarray of float, shape (k, state size)
        twists : ndarray of float, shape (k, 6 n)

        Returns
        -------
        ndarray of float, shape (k, 6)
        """
        out = np.empty((states.shape[0], 6))
        kernel.momenta(self.plan, self.constant, states, twists, out)
        return out

    def worst(self) -> tuple[Any, str]:
        """Name of the body or joint with the largest residual of the last step."""
        if self.stages is not None:
            found: tuple[Any, str] = self.stages.worst(self.work)
            return found
        return worst_part(self.tables, residual_of(self.plan, self.work))


def _arrays(work: Any) -> Iterator[Float]:
    """All arrays that steps may change."""
    if isinstance(work, tuple):
        for part in work:
            yield from _arrays(part)
    elif work.flags.writeable:
        yield work


class ThreadWorkspaces(local):
    """Workspace of a model, another one in every thread that asks."""

    def __init__(self, model: Model, memory: WorkMemory | None = None) -> None:
        self.mine = Workspace(model, memory)


def refuse_callbacks(mechanism: Any) -> None:
    """Refuse functions of the user, which no other process can call."""
    names = [name for name, joint in mechanism.joints.items() if joint.user is not None]
    names += [name for name, one in mechanism.contacts.items() if one.distance is not None]
    names += [*mechanism.wrenches, *mechanism.potentials]
    if names:
        raise TypeError(
            f"{names[0]!r} has a Python function that this process has compiled, so the model "
            "cannot be pickled: build it in each process, or use threads"
        )
