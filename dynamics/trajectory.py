"""Motion that was recorded: states over time, and what is read off them by label."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.archive import WITH_STATE, event_arrays, read_motion, write_motion
from dynamics.elsewhere import TRAJECTORY, refer
from dynamics.errors import UnknownNameError, check_model
from dynamics.kernels.base import layout
from dynamics.kinematics.coordinates import PERIOD
from dynamics.kinematics.motor_forces import acting, motor_force, steps_before
from dynamics.kinematics.near_run import Part, at_record, chosen_parts, part_arrays, parts_of
from dynamics.parts.bodies import WORLD
from dynamics.state import State, as_plain
from dynamics.tables.error_control import Event
from dynamics.tables.model_tables import recombination, with_own_rows

if TYPE_CHECKING:
    from dynamics.kinematics.contact_queries import ContactHistory
    from dynamics.model import Model

__all__ = ["Trajectory"]

Float = NDArray[np.float64]


@refer(TRAJECTORY)
@dataclass(eq=False, repr=False)
class Trajectory:
    """Recorded states of a motion.

    ``motion[k]`` is the state of record k, ``motion.at(time)`` that of the nearest record, and
    ``motion[a:b]`` or ``motion[mask]`` the trajectory of some records.

    Attributes
    ----------
    model : Model
    time : ndarray of float, shape (k,)
        s.
    states : ndarray of float, shape (k, state size)
        See `State`.
    controls : ndarray of float, shape (any, c or len(model.nodes) c)
        Controls of the run, also those of a controller: one row per step; the last row applies to
        all later steps.
    info : dict
        Cost of the run: ``steps``; ``intervals_per_step``, above 1 if steps were divided;
        ``iterations`` and ``intervals`` of all steps and the most of one step; the number of steps
        that were ``softened``, see `StepInfo.softening`, and of those with ``less_friction``;
        ``unexplained_energy`` and ``accumulated_energy``, the largest of `StepInfo`, J. Of a run
        with an accuracy also ``rejected_intervals``, ``shortest_interval``, s, and
        ``unresolved_impacts``, after which velocities are not known to the accuracy.
    memory : object
        That of the last state, see `State`.
    acted : ndarray of float, shape (k, c), or None
        Controls of the step that led to each record, NaN where they are not known; by default they
        follow from ``controls``.
    controls_before : ndarray of float, shape (c,), or None
        Those of the step that led to the first state.
    parts : tuple of Part
        Records with the planes and contacts of the pairs that were near, if the mechanism has
        `collide`.
    intervals : ndarray of float, shape (k, 2)
        See `State.interval`; by default as if no step had been divided.
    events : sequence of Event
        Impacts and releases of contacts and limits in a run with an accuracy: ``time`` in s,
        ``name`` of the contact or joint, and ``kind``, "closes" or "opens". A contact closes with
        the first of its touches, such as corners, and opens with the last. Zeros of event
        functions: ``kind`` is "rises" or "falls", ``state`` the one just after.
    """

    model: Model
    time: Float
    states: Float
    controls: Float = field(default_factory=lambda: np.zeros((0, 0)))
    info: dict[str, Any] = field(default_factory=dict)
    memory: object = field(default=None, init=False)
    acted: Float | None = field(default=None, init=False)
    controls_before: Float | None = field(default=None, init=False)
    parts: tuple[Part, ...] = field(default=(), init=False)
    intervals: Float = field(init=False)
    events: Sequence[Event] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self.time, self.states = as_plain(self.time), as_plain(self.states)
        self.intervals = np.full((len(self.time), 2), self.model.timestep)

    def __repr__(self) -> str:
        if self.time.size == 0:
            return "Trajectory(no states)"
        text = f"{self.time.size} states, {self.time[0]:g} s to {self.time[-1]:g} s"
        if self.info.get("steps"):
            per_step, most = self.info["intervals_per_step"], self.info["most_intervals"]
            text += f", {self.info['steps']} steps of {self.model.timestep:g} s, "
            text += f"{per_step:.4g} interval{'s' * (per_step != 1.0)} per step"
            if most > 1:
                text += f" (at most {most})"
        return f"Trajectory({text})"

    def __len__(self) -> int:
        return self.time.size

    @overload
    def __getitem__(self, k: int | np.integer[Any]) -> State: ...

    @overload
    def __getitem__(self, k: slice | Sequence[int] | NDArray[Any]) -> Trajectory: ...

    def __getitem__(
        self, k: int | np.integer[Any] | slice | Sequence[int] | NDArray[Any]
    ) -> State | Trajectory:
        if isinstance(k, float):
            raise TypeError(f"records have whole numbers, not {k}; motion.at(time) takes a time")
        if not isinstance(k, (int, np.integer)):
            return self._some(np.arange(len(self))[k])
        state = self.model.state_of(self.states[k].copy(), float(self.time[k]))
        state.interval = (float(self.intervals[k, 0]), float(self.intervals[k, 1]))
        state.memory = self.memory  # only the last state's numbers agree with it
        number = range(len(self))[k]
        if self.model.n_controls:
            acted = acting(self, slice(number, number + 1))[0]
            state.controls = None if np.isnan(acted).any() else acted
        if (
            self.model.near is not None
            and self.parts
            and (self.memory is None or number < len(self) - 1)
        ):
            state.memory = at_record(
                self.model.near, self.parts, number, self.states[k], state.time
            )
        return state

    @property
    def final(self) -> State:
        """The last state."""
        return self[-1]

    def at(self, time: float) -> State:
        """State of the record that is nearest to a time.

        Parameters
        ----------
        time : float
            s.

        Returns
        -------
        State
            State of the record, with its time. `simulate` can continue from it to other times.

        Raises
        ------
        ValueError
            If the time is before the start or after the end of the motion.
        """
        slack = 0.5 * self.model.timestep
        if not self.time[0] - slack <= time <= self.time[-1] + slack:
            raise ValueError(
                f"the motion goes from {self.time[0]:g} s to {self.time[-1]:g} s, so that it has "
                f"no state at {time:g} s"
            )
        return self[int(np.argmin(np.abs(self.time - time)))]

    def _some(self, chosen: NDArray[np.int64]) -> Trajectory:
        """Trajectory of records by their numbers, ascending."""
        if (np.diff(chosen) <= 0).any():
            raise ValueError("records are chosen in the order of time, each once")
        controls = self.controls
        if chosen.size and len(controls) > 1:
            controls = controls[min(int(steps_before(self)[chosen[0]]), len(controls) - 1) :]
        made = Trajectory(self.model, self.time[chosen], self.states[chosen], controls)
        made.intervals = self.intervals[chosen]
        if self.model.n_controls:
            made.acted = acting(self)[chosen]
        if chosen.size:
            first, last = made.time[0], made.time[-1]
            made.events = [one for one in self.events if first <= one.time <= last]
        if self.parts:
            made.parts = chosen_parts(self.parts, chosen)
        return made

    def body(self, name: Hashable) -> tuple[Float, Float]:
        """Positions and orientations of a body.

        Parameters
        ----------
        name : hashable

        Returns
        -------
        positions : ndarray of float, shape (k, 3)
            Positions of the centre of mass, world, m.
        orientations : ndarray of float, shape (k, 4)
            Body to world, scalar first.
        """
        i = layout.POSE * self.model.body_number(name)
        return self.states[:, i : i + 3], self.states[:, i + 3 : i + layout.POSE]

    @cached_property
    def twists(self) -> Float:
        """Velocities of all bodies, shape (k, 6 n), as those of `Model.velocities`."""
        n = self.model.n_bodies
        if self.model.form == "first order":
            start = (layout.POSE + layout.TWIST) * n
            return self.states[:, start : start + layout.TWIST * n].copy()
        if self.model.near is not None and self.parts:
            models = [self.model.near.of(part.pairs).model for part in self.parts]
            found = [one.workspace.velocities(x.states) for one, x in zip(models, self.parts)]
            return np.concatenate([twists[:, : layout.TWIST * n] for twists in found])
        return self.model.workspace.velocities(self.states)

    def body_velocity(self, name: Hashable) -> tuple[Float, Float]:
        """Velocities (world, m/s) and angular velocities (body frame, rad/s) of a body.

        Parameters
        ----------
        name : hashable

        Returns
        -------
        velocities, angular_velocities : ndarray of float, shape (k, 3)
        """
        i = layout.TWIST * self.model.body_number(name)
        return self.twists[:, i : i + 3], self.twists[:, i + 3 : i + 6]

    def joint(self, name: Hashable) -> Float:
        """Coordinates of a joint.

        Parameters
        ----------
        name : hashable

        Returns
        -------
        ndarray of float, shape (k,) or (k, number of coordinates)
        """
        found = self.model.workspace.joint(name, self.states, self.twists)[:, :, 0].copy()
        for i, row in enumerate(self.model.mechanism.joints[name].positions):
            if row.kind in PERIOD:  # turns are counted from record to record
                found[:, i] = np.unwrap(found[:, i], period=PERIOD[row.kind])
        return found[:, 0] if found.shape[1] == 1 else found

    def joint_velocity(self, name: Hashable) -> Float:
        """Rates of a joint's coordinates.

        Parameters
        ----------
        name : hashable

        Returns
        -------
        ndarray of float, shape (k,) or (k, number of coordinates)
        """
        found = self.model.workspace.joint(name, self.states, self.twists)[:, :, 1]
        return found[:, 0] if found.shape[1] == 1 else found

    def reaction(self, name: Hashable) -> Float:
        """Forces of the constraints of a joint or coupling in the interval before each record.

        Parameters
        ----------
        name : hashable

        Returns
        -------
        ndarray of float, shape (k, rows of the joint)
            N or N m, one per row of the joint (see `Joint.rows`). A `Revolute` has the force on the
            child in world axes (the parent's, if its compliance is an array), then the torques
            across its axis. A coupling has the force along the follower's coordinate.
        """
        joint = self.model.mechanism.joints.get(name)
        if joint is not None and joint.soft and self.model.order > 2:
            raise ValueError(
                f"joint {name!r} is compliant, which is a spring at order 4 and 6: its reaction "
                "needs order=2"
            )
        if name not in self.model.tables.joint_index:
            raise UnknownNameError(
                f"there is no joint {name!r} with constraints; there are "
                f"{list(self.model.tables.joint_index)}"
            )
        forces = self._multipliers(name)
        T = recombination(self.model.tables, self.model.tables.joint_index[name])
        return forces if T is None else forces @ T

    def motor_force(self, name: Hashable) -> Float:
        """Force of a motor or servo in the interval before each record.

        Parameters
        ----------
        name : hashable
            Name of a joint or spring with ``actuated=True``, a joint with a servo, or a thruster.

        Returns
        -------
        ndarray of float, shape (k,) or (k, number of coordinates)
            Force on the child along the free axes of a joint, N or N m, or along a spring; the
            control of a thruster. Within the limits of the motor; 0 at the first record. If a
            control changes within a step, its last value.

        Raises
        ------
        UnknownNameError
            If no part with this name has a motor.
        """
        return motor_force(self, name)

    def _multipliers(self, name: Hashable) -> Float:
        """Forces of a joint's rows as steps have them: see `dynamics.tables.recombination`."""
        k = self.model.tables.joint_index[name]
        n, start = self.model.n_bodies, self.model.tables.row_start
        first = (layout.POSE + 3 * layout.TWIST) * n
        return self.states[:, first + start[k] : first + start[k + 1]]

    @property
    def contacts(self) -> list[Hashable]:
        """Names of contacts, and of joints and ropes with limits.

        For `Mechanism.collide`, the pairs that were near at some time.
        """
        names = [name for name, _ in self.model.tables.contact_touches]
        return list(dict.fromkeys([*names, *self.near_pairs]))

    @property
    def near_pairs(self) -> list[Hashable]:
        """Names of the pairs of `Mechanism.collide` that were near at some time."""
        if self.model.near is None:
            return []
        numbers = sorted({k for part in self.parts for k in part.pairs})
        return [self.model.near.candidates.names[k] for k in numbers]

    def contact(self, name: Hashable) -> ContactHistory:
        """Gaps and forces of a contact, or of the limits of a joint or rope.

        Parameters
        ----------
        name : hashable
            One of `contacts`.

        Returns
        -------
        ContactHistory
        """
        from dynamics.kinematics.contact_queries import history

        return history(self, name)

    def friction(self, name: Hashable) -> Float:
        """Dry friction of a joint with ``friction=``, in the interval before each record.

        Parameters
        ----------
        name : hashable
            Name of the joint.

        Returns
        -------
        ndarray of float, shape (k, number of coordinates)
            Force on the child along the free axes, N or N m.

        Raises
        ------
        UnknownNameError
            If no joint with friction has the name.
        """
        from dynamics.kinematics.contact_queries import rubbing

        return rubbing(self, name)

    def energies(self) -> dict[str, Float]:
        """Kinetic, gravitational and elastic energy, J, each of shape (k,).

        Elastic is that of springs, and of joints, contacts and limits with a compliance.
        """
        from dynamics.kinematics.contact_queries import stored_history

        parts = self.model.workspace.energies(self.states, self.twists)
        parts[:, 2] += stored_history(self)
        return dict(zip(("kinetic", "gravitational", "elastic"), parts.T.copy()))

    def energy(self) -> Float:
        """Total energy, J, shape (k,)."""
        return np.asarray(np.sum(list(self.energies().values()), axis=0))

    def momentum(self) -> Float:
        """Linear momentum, and angular momentum about the world's origin, shape (k, 6).

        Of all bodies of the model, including separating planes of `Mechanism.add_contact`, but not
        those of `Mechanism.collide`, each of which has up to a thousandth of a body's momentum.
        """
        return self.model.workspace.momenta(self.states, self.twists)

    def constraint_violation(self) -> Float:
        """Largest constraint value of each state, m or rad, shape (k,)."""
        joints = int(self.model.tables.plan[layout.JOINTS])
        zeros = np.zeros((len(self), layout.TWIST * self.model.n_bodies))
        found = self.model.workspace.measured(0, joints, self.states, zeros)[:, :, 0]
        found = with_own_rows(self.model.tables, found)
        return np.asarray(np.abs(found).max(axis=1, initial=0.0))

    def plot(self, *what: str, joints: Sequence[Hashable] | None = None) -> Any:
        """Draw curves over time; see `dynamics.display.plot.plot_trajectory`.

        Parameters
        ----------
        *what : {"energy", "momentum", "violation", "joints", "reactions"}
            Curves to draw; by default all that apply to the mechanism.
        joints : sequence of hashable, optional
            Names of the joints to draw; by default the first few.

        Returns
        -------
        matplotlib Figure
        """
        from dynamics.display.plot import plot_trajectory

        return plot_trajectory(self, *what, joints=joints)

    def animate(self, *, rate: float = 25.0, view: tuple[float, float] | None = None) -> Any:
        """Animate the motion with matplotlib, for a notebook.

        Parameters
        ----------
        rate : float, optional
            Pictures per second of simulated time.
        view : (float, float), optional
            Elevation and azimuth of the camera, degrees.

        Returns
        -------
        Animation
        """
        from dynamics.display.animation import animate

        return animate(self, rate=rate, view=view)

    def show(self, title: str = "", *, rate: float = 60.0) -> Any:
        """Show the motion in a browser, or below a notebook's cell.

        Parameters
        ----------
        title : str, optional
        rate : float, optional
            Records per second of simulated time; poses between records are interpolated.

        Returns
        -------
        Page
        """
        from dynamics.display.viewer import show

        return show(self, title, rate=rate)

    def export_html(self, path: str | Path, title: str = "", *, rate: float = 60.0) -> None:
        """Write the motion as one HTML file, which a browser opens without a network.

        Parameters
        ----------
        path : str or Path
        title : str, optional
        rate : float, optional
            Records per second of simulated time; poses between records are interpolated.
        """
        from dynamics.display.viewer import export_html

        export_html(self, path, title, rate=rate)

    def frame(self, name: Hashable) -> tuple[Float, Float]:
        """Positions and orientations of a named frame, such as a link of a robot file.

        Parameters
        ----------
        name : hashable
            Name of a frame, or of a body if no frame has the name.

        Returns
        -------
        positions : ndarray of float, shape (k, 3)
            Positions of the frame's origin, world, m.
        orientations : ndarray of float, shape (k, 4)
            Frame to world, scalar first.
        """
        frames = self.model.mechanism.frames
        if name not in frames:
            if name in self.model.tables.body_index:
                return self.body(name)
            raise UnknownNameError(f"there is no frame {name!r}; frames are {list(frames)}")
        frame = frames[name]
        if frame.body is WORLD:
            ones = np.ones((len(self), 1))
            return ones * frame.position, ones * frame.orientation
        x, q = self.body(frame.body.name)
        turned = rotation.multiply(q, np.broadcast_to(frame.orientation, q.shape))
        return x + rotation.rotate(q, np.broadcast_to(frame.position, x.shape)), turned

    def save(self, path: str | Path) -> None:
        """Write times, states, contacts, events and names to a ``.npz`` file without pickles.

        An existing file is replaced only after everything is written.

        Parameters
        ----------
        path : str or Path
        """
        names = ("bodies", self.model.tables.body_index), ("joints", self.model.tables.joint_index)
        kept = {what: np.array([str(name) for name in index], str) for what, index in names}
        arrays = {
            "time": self.time, "states": self.states, "controls": self.controls,
            "intervals": self.intervals,
        }  # fmt: skip
        if self.events:
            arrays |= event_arrays(self.events, self.states.shape[1])
        if self.parts:
            assert self.model.near is not None
            arrays |= part_arrays(self.model.near, self.parts)
        write_motion(path, arrays | kept)

    @classmethod
    def load(cls, path: str | Path, model: Model) -> Trajectory:
        """Read a motion file written by `save`.

        Parameters
        ----------
        path : str or Path
        model : Model
            Model of the same mechanism.

        Returns
        -------
        Trajectory
            Names of its events are those of the model's contacts and joints. Names of event
            functions are strings or numbers.

        Raises
        ------
        ValueError
            If the file is not a trajectory, or one of another mechanism.
        """
        if hasattr(path, "tables"):
            raise TypeError("load takes the file first: Trajectory.load(path, model)")
        check_model(model, "Trajectory.load")
        kept = read_motion(path)
        time, states, controls = kept["time"], kept["states"], kept["controls"]
        names = tuple([str(name) for name in kept[index]] for index in ("bodies", "joints"))
        here = tuple(
            [str(name) for name in index]
            for index in (model.tables.body_index, model.tables.joint_index)
        )
        if names != here:
            raise ValueError(
                f"{path} is of another mechanism: its bodies are {names[0]}, its joints {names[1]}"
            )
        if states.shape != (time.size, model.state_size):
            raise ValueError(
                f"{path} is of a mechanism with other contacts, limits or friction: its states "
                f"have {states.shape[1]} numbers, this model's {model.state_size}. Load a robot "
                "with the options of that run, such as ground= and collide="
            )
        made = cls(model, time, states, controls)
        made.intervals = kept.get("intervals", made.intervals)
        made.events = _events_of(kept, model)
        if model.near is not None and "near_counts" in kept:
            try:
                made.parts = parts_of(model.near, kept)
            except ValueError as error:
                raise ValueError(f"{path} is of another mechanism: {error}") from None
        return made


def _events_of(kept: dict[str, NDArray[Any]], model: Model) -> list[Event]:
    """Events of the arrays of a file, none where it has none."""
    if "event_times" not in kept:
        return []
    labels: list[Hashable] = [name for name, _ in model.tables.contact_touches]
    if model.near is not None:
        labels += model.near.candidates.names
    label_of = {str(name): name for name in labels}
    found, rows = [], iter(kept["event_states"])
    columns = (kept[f"event_{what}"].tolist() for what in ("times", "names", "kinds"))
    for time, text, kind in zip(*columns):
        name: Hashable = label_of.get(text, text)
        state = None
        if kind in WITH_STATE:
            row = next(rows)
            state = model.state_of(row[:-2].copy(), time)
            state.interval = (float(row[-2]), float(row[-1]))
            name = int(text) if text.isdecimal() else text
        found.append(Event(time, name, kind, state))
    return found
