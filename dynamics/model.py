"""A mechanism ready to move: `Model.step`."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import interrupts
from dynamics.elsewhere import MODEL, refer
from dynamics.errors import UnknownNameError
from dynamics.kernels.base import layout, step_info
from dynamics.kernels.base.settings import BARRIER
from dynamics.kernels.stepping import step as kernel
from dynamics.kinematics import (
    contact_queries,
    coordinates,
    loop_closure,
    plane_placement,
    posture_search,
)
from dynamics.kinematics.diagnosis import failure, warn_of_gain
from dynamics.kinematics.near_models import NearModels
from dynamics.kinematics.near_run import NearRun
from dynamics.kinematics.redundancy import Redundancy, redundancy_of
from dynamics.state import State, StepInfo, check_state, interval_of
from dynamics.tables import galerkin, inputs
from dynamics.tables.finalize import tables_of
from dynamics.tables.model_tables import with_own_rows
from dynamics.tables.workspace import ThreadWorkspaces, Workspace, refuse_callbacks

if TYPE_CHECKING:
    from dynamics.mechanism import Mechanism

__all__ = ["Model", "StepInfo"]

Float = NDArray[np.float64]

#: Barriers of contacts, over the one that is asked for, and parts of all friction, that a step is
#: tried with. Of 1,281 random robots on a floor (tests/dynamics/test_never_fail.py), 61 need more
#: than the first in a second of motion, and 6 the last.
SOFTER = ((1.0, 1.0), (1e2, 1.0), (1e4, 1.0), (1e3, 0.3))
#: Barrier of contacts in heaps, over that of all others. With 10 and 1000, heaps of 200 shapes take
#: 1.4 and 1.1 times the factorizations.
IN_HEAPS = 100.0

#: Largest work of joints and contacts in an interval, over the kinetic energies of its velocities
#: and of those before: a tenth of their mean. The method's own error is (h omega)^2, below 0.03 at
#: the largest turn of 0.17 rad; spurious solutions have a half and more (tests/dynamics/laws).
GIVEN = 0.05


@refer(MODEL)
class Model:
    """Tables, symbolic factorization and settings of a mechanism; a model never changes.

    Parameters
    ----------
    mechanism : Mechanism
    timestep : float
        s.
    integrator : {"variational"}, optional
    form : {"second order", "first order"}, optional
        Definition of the momenta at nodes. "second order" has half of a node's impulse before and
        half after the node. "first order" is the form of the papers (Bruedigam et al. 2023): ``p_k
        = M v_k-1``, with the whole impulse after the node. From the same discrete start both give
        the same positions; from given velocities the papers' form differs by half an impulse, which
        makes it first order. `simulate` has an option for the start that the papers print. Reported
        velocities are then those of the last interval.
    tolerance : float, optional
        Tolerance of Newton's method: error of velocities relative to the largest one, or to the
        unit of speed if that is larger, and of constraints relative to the unit of length, or in
        rad. By default 5e-12, and 1e-11 at order 4. The units are characteristic lengths, masses
        and falling speeds of the mechanism's bodies (theory/step).
    largest_turn : float, optional
        Largest rotation of a body in one interval of a step, rad: by default 0.17 at order 2, 0.6
        at order 4, 1.2 at order 6. With contacts it bounds the mean, weighted by kinetic energy,
        and 0.6 bounds each body.
    order : {2, 4, 6}, optional
        Order of accuracy in the time step: see `dynamics.tables.galerkin`.
    barrier : float, optional
        Accuracy of contacts, relative to the unit of energy of each: a body that rests on one
        contact hovers ``barrier`` times its unit of length above it. `Model.barrier` returns the
        product in J. In heaps, with 200 contacts or more between bodies, it is 100 times as large.
        If a step cannot be solved, it is solved with a barrier 100 or 10 000 times as large, or
        with one 1000 times as large and 0.3 of all friction. `StepInfo.softening` and
        `StepInfo.friction` report both.
    contact_tolerance : float, optional
        Largest residual of a step with contacts, relative to the units of momentum, speed and
        energy.
    energy_audit : {"error", "warn", "off"}, optional
        Joints, contacts, limits and dry friction cannot produce energy. A step is divided if they
        raise the kinetic energy by more than a tenth in one interval, or the energy by a twentieth
        of the largest kinetic energy in any number of intervals. If this does not help, the step
        fails (``"error"``), or is accepted and a `RuntimeWarning` names the bodies (``"warn"``).
        `StepInfo` reports both as ``unexplained_energy`` and ``accumulated_energy``.

    Attributes
    ----------
    mechanism : Mechanism
    timestep : float
    tables : Tables
    symbolic : graphsys.Symbolic
    stiff : tuple of str
        Springs and dampers too stiff for the time step, which are integrated implicitly and
        dissipate the energy that they store: see `dynamics.tables.stiffness`.
    late_at : int
        Place in `State.contacts` of the numbers of implicit forces.
    near : NearModels or None
        Models for the pairs of shapes that are near each other, if the mechanism has `collide`.
    nodes : ndarray of float, shape (nodes,)
        Times within a step, as fractions, at which varying controls are evaluated: its middle at
        order 2, Lobatto's nodes at orders 4 and 6.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        timestep: float = 0.01,
        *,
        integrator: str = "variational",
        form: str = "second order",
        order: int = 2,
        tolerance: float | None = None,
        largest_turn: float | None = None,
        barrier: float = 5e-9,
        contact_tolerance: float = 1e-9,
        energy_audit: str = "error",
    ) -> None:
        if integrator != "variational":
            raise ValueError(f'integrator {integrator!r} is unknown; there is "variational"')
        if form not in ("second order", "first order"):
            raise ValueError(f'form {form!r} is unknown; use "second order" or "first order"')
        galerkin.check_order(order, form, mechanism)
        if mechanism.collisions and form != "second order":
            raise ValueError(
                f"form {form!r} is not offered with collide; leave it out, or add contacts"
            )
        tolerance, largest_turn = galerkin.limits_of(order, tolerance, largest_turn)
        inputs.check_positive(
            timestep=timestep,
            tolerance=tolerance,
            largest_turn=largest_turn,
            barrier=barrier,
            contact_tolerance=contact_tolerance,
        )
        self.mechanism = mechanism
        self.bodies = tuple(mechanism.bodies.values())
        self.timestep = float(timestep)
        self.form = form
        self.tolerance = float(tolerance)
        self.tables = tables_of(mechanism, self.timestep, order)
        self.symbolic, self.stiff = self.tables.symbolic, self.tables.stiff
        self.stages: Any = galerkin.Stages(self.tables, order) if order > 2 else None
        self.order, self.kernel = order, kernel if self.stages is None else self.stages.kernel
        self.nodes = np.array([0.5]) if self.stages is None else self.stages.rule[2]
        self.n_bodies = len(self.tables.body_index)
        self.late_at = int(self.tables.plan[layout.SLOTS])
        self.n_rows = int(self.tables.row_start[-1])
        self.soft = any(joint.soft for joint in mechanism.joints.values())
        self._planes = any(one.plane is not None for one in mechanism.contacts.values())
        self.n_controls = len(self.tables.control_names)
        # |phi| of an interval is the sine of half the angle
        turn = math.sin(min(0.5 * largest_turn, 1.2))
        touching = self.tables.plan[layout.SLOTS] > 0 or bool(mechanism.collisions)
        softer = SOFTER if touching else SOFTER[:1]
        share = _share(energy_audit)
        given = contact_tolerance, share
        sets = [
            [tolerance, turn, factor * barrier, *given, friction, IN_HEAPS * factor * barrier]
            for factor, friction in softer
        ]
        self.settings = np.array(sets).ravel()
        self.state_size = self.tables.state_size
        self.near = NearModels(self) if mechanism.collisions else None
        self.structures: dict[Any, Any] = {}  # of queries, found once: `space_of`, `Sensors`
        self._workspaces = ThreadWorkspaces(self)

    def __setattr__(self, name: str, value: object) -> None:
        if "_workspaces" in self.__dict__:
            raise AttributeError(
                f"cannot change {name} of a model, whose tables are made for it: finalize the "
                "mechanism again, or use dynamics.variant for numbers of its parts"
            )
        super().__setattr__(name, value)

    def _replace(self, **changes: Any) -> Model:
        """Copy of the model with other attributes, and with workspaces of its own.

        With ``memory``, a `WorkMemory`, their numbers lie there.
        """
        made = object.__new__(type(self))
        made.__setstate__({**self.__dict__, **changes})
        return made

    @property
    def workspace(self) -> Workspace:
        """Workspace of the calling thread."""
        return self._workspaces.mine

    def __getstate__(self) -> dict[str, Any]:
        refuse_callbacks(self.mechanism)
        left_out = ("_workspaces", "kernel", "near", "structures")
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = ("_workspaces", "memory", "structures")
        self.__dict__.update({k: v for k, v in state.items() if k not in own})
        self.kernel = kernel if self.stages is None else self.stages.kernel
        like = state.get("near")  # not in pickles
        self.near = NearModels(self, like) if self.mechanism.collisions else None
        self.structures = {}
        self._workspaces = ThreadWorkspaces(self, state.get("memory"))

    # States

    def state_of(self, data: Float, time: float = 0.0) -> State:
        """State that is a view of an array of `state_size` numbers, as after steps of one interval.

        Parameters
        ----------
        data : ndarray of float, shape (state_size,)
        time : float, optional

        Returns
        -------
        State
        """
        interval = (self.timestep, self.timestep)
        return State(data, self.n_bodies, self.n_rows, time, interval)

    def initial_state(self) -> State:
        """State at rest with all joint coordinates 0, or at the nearest limit.

        Loops close within the limits of their joints if such a posture is found. Otherwise
        `simulate` refuses to start from this state.

        Returns
        -------
        State

        Raises
        ------
        InconsistentStateError
            If loops cannot be closed.
        """
        state = loop_closure.initial_state(self)
        within = posture_search.within_limits(self, state, {}, {})
        if within is state:
            return state
        loop_closure.carry_back(self, within)
        return plane_placement.placed(self, within)

    def assemble(
        self,
        state: State,
        joints: Mapping[Hashable, ArrayLike] | None = None,
        velocities: Mapping[Hashable, ArrayLike] | None = None,
    ) -> State:
        """Nearest state with closed loops, and with named joints at given coordinates.

        If other joints of loops are then beyond their limits, as in a mirrored branch, a state
        within the limits is returned if one is found.

        Parameters
        ----------
        state : State
            Not changed.
        joints, velocities : mapping, optional
            Coordinates by name of joint, and their rates.

        Returns
        -------
        State

        Raises
        ------
        InconsistentStateError
            If there is no such state, with the name of the joint that stays open.
        """
        check_state(self, state)
        joints, velocities = joints or {}, velocities or {}
        found = loop_closure.assemble(self, state, joints, velocities)
        return posture_search.within_limits(self, found, joints, velocities)

    def set_joint(
        self, state: State, name: Hashable, position: ArrayLike, velocity: ArrayLike = 0.0
    ) -> None:
        """Set the coordinates of a joint, and move all descendants of its child.

        Parameters
        ----------
        state : State
            Changed.
        name : hashable
        position, velocity : float or array_like, shape (number of coordinates,)
            Coordinates, m or rad, and their rates.

        Raises
        ------
        InconsistentStateError
            If the joint is on a loop: use `assemble`.
        """
        coordinates.set_joint(self, state, name, position, velocity)

    def set_body(
        self,
        state: State,
        name: Hashable,
        *,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
        carry: bool = False,
    ) -> None:
        """Place one body regardless of its joints (see `assemble`), or a whole robot by one body.

        Parameters
        ----------
        state : State
            Changed.
        name : hashable
        position : array_like, shape (3,), optional
            Position of the centre of mass, world, m.
        orientation : array_like, shape (4,), optional
            Body to world, scalar first.
        velocity : array_like, shape (3,), optional
            World, m/s.
        angular_velocity : array_like, shape (3,), optional
            Body frame, rad/s.
        carry : bool, optional
            Whether all bodies that joints connect to this one move with it, with the same joint
            coordinates and rates.

        Raises
        ------
        InconsistentStateError
            If joints connect the body to the world and ``carry`` is true.
        """
        coordinates.set_body(
            self, state, name, position, orientation, velocity, angular_velocity, carry
        )

    def keyframe(self, name: str) -> State:
        """State of a keyframe of the robot file, with its velocities and closed loops.

        Parameters
        ----------
        name : str
            Key of `Mechanism.keyframes`.

        Returns
        -------
        State

        Raises
        ------
        UnknownNameError
        InconsistentStateError
            If the loops of the file's posture cannot be closed.
        """
        return loop_closure.keyframe(self, name)

    def controls(
        self,
        commands: ArrayLike | Mapping[str, ArrayLike],
        *,
        filtered: bool = False,
        activations: Mapping[str, float] | None = None,
    ) -> Float:
        """Convert commands of the file's actuators into controls of joints.

        Commands are in the units of the file and are clipped to the range of their actuator. Those
        of motors become forces by gear and gain, those of servos become targets.

        Parameters
        ----------
        commands : mapping or array_like, shape (..., actuators)
            By name, 0 for the others: numbers, or arrays of one shape, such as (steps,). Or all, in
            the order of `Mechanism.actuators`.
        filtered : bool, optional
            Whether the filters and integrators of the file act on the commands, which are then
            those of successive steps, shape (steps, actuators).
        activations : mapping, optional
            Initial outputs of filters and integrators, by name of actuator; 0 by default.

        Returns
        -------
        ndarray of float, shape (..., c)
            For `simulate` and `step`.

        Raises
        ------
        UnknownNameError
            If a name is not that of an actuator.
        ValueError
            If its shape is wrong, or a command is not finite.
        """
        return inputs.controls_from_commands(self, commands, filtered, activations)

    def body_number(self, name: Hashable) -> int:
        """Row of a body in the arrays of a state.

        Parameters
        ----------
        name : hashable

        Returns
        -------
        int

        Raises
        ------
        UnknownNameError
        """
        try:
            return self.tables.body_index[name]
        except KeyError:
            raise UnknownNameError(
                f"there is no body {name!r}; bodies are {list(self.tables.body_index)}"
            ) from None

    def barrier(self, name: Hashable) -> float:
        """Barrier kappa of a contact, J: under a force F the gap at rest is ``kappa / F``.

        Parameters
        ----------
        name : hashable
            Name of a contact, of a joint or spring with limits, or of a joint with friction.

        Returns
        -------
        float

        Raises
        ------
        UnknownNameError
        """
        tables = self.tables
        if self.near is not None and name in self.near.candidates.numbers:
            energy = self.near.energy(self.near.candidates.numbers[name])
            return float(self.settings[BARRIER] * energy)
        names = [label[0] for label in (*tables.contact_touches, *tables.friction_slot)]
        if name not in names:
            raise UnknownNameError(f"there is no contact or limit {name!r}; there are {names}")
        first = (
            int(tables.plan[layout.CONTACT_CONSTANT_AT]) + names.index(name) * layout.CONTACT_SIZE
        )
        return float(self.settings[BARRIER] * tables.constant[first + layout.ENERGY])

    # What a state holds

    def velocities(self, state: State) -> Float:
        """Velocities that satisfy the constraints: the projection of the momenta.

        Parameters
        ----------
        state : State

        Returns
        -------
        ndarray of float, shape (n, 6)
            v (world, m/s) and omega (body frame, rad/s).
        """
        check_state(self, state)
        if self.form == "first order":
            return state.interval_velocity.copy()
        if self.near is not None:
            entry = self.near.entry(state)
            return entry.near.model.velocities(entry.state)[: self.n_bodies]
        return np.asarray(self.workspace.velocities(state.data[None])[0].reshape(-1, 6))

    def joint(self, state: State, name: Hashable) -> tuple[Float, Float]:
        """Coordinates of a joint and their rates.

        Parameters
        ----------
        state : State
        name : hashable

        Returns
        -------
        position, velocity : ndarray of float, shape (number of coordinates,)
        """
        twists = self.velocities(state).reshape(1, -1)
        found = self.workspace.joint(name, state.data[None], twists)
        return found[0, :, 0], found[0, :, 1]

    def constraint_violation(self, state: State) -> Float:
        """Values of all constraint rows, m or rad.

        Parameters
        ----------
        state : State

        Returns
        -------
        ndarray of float, shape (m,)
        """
        check_state(self, state)
        joints = int(self.tables.plan[layout.JOINTS])
        zeros = np.zeros((1, 6 * self.n_bodies))
        found = self.workspace.measured(0, joints, state.data[None], zeros)[:, :, 0]
        return np.asarray(with_own_rows(self.tables, found)[0])

    def redundancy(self, state: State) -> Redundancy:
        """Count redundant constraints and degrees of freedom.

        Parameters
        ----------
        state : State
            State at which they are counted; both may change where parts align.

        Returns
        -------
        Redundancy
            Prints as a sentence that names the joints.
        """
        check_state(self, state)
        return redundancy_of(self, state)

    def energy(self, state: State) -> float:
        """Kinetic, gravitational and elastic energy together, J; see `Trajectory.energies`.

        Parameters
        ----------
        state : State

        Returns
        -------
        float
        """
        twists = self.velocities(state).reshape(1, -1)
        parts = self.workspace.energies(state.data[None], twists)
        return float(parts.sum()) + contact_queries.stored_at(self, state)

    # Motion

    def step(
        self,
        state: State,
        control: ArrayLike | Mapping[Hashable, ArrayLike] | None = None,
        wrenches: ArrayLike | Mapping[Hashable, ArrayLike] | None = None,
    ) -> tuple[State, StepInfo]:
        """Take one step.

        Parameters
        ----------
        state : State
            Left as it is.
        control : array_like, shape (c,) or (len(model.nodes), c), or mapping, optional
            Generalized forces of the actuated axes during the step or at its nodes, N or N m, or
            by name of joint; targets for servos.
        wrenches : array_like, shape (6 n,), or mapping, optional
            Force (world, N) and torque (body frame, N m) on every body at its centre of mass, or by
            name of body.

        Returns
        -------
        state : State
        info : StepInfo

        Raises
        ------
        ConvergenceError
            If the equations of the step could not be solved, even in shorter intervals. If the
            start is in overlap, or a joint is beyond its limit there, the error says so instead.
        """
        check_state(self, state, begins=True)
        if self.near is not None:
            return self._near_step(state, control, wrenches)
        given = inputs.controls_in_step(self, control)
        after = plane_placement.placed(self, state)
        info = np.zeros(step_info.INFO_SIZE)
        space = self.workspace.free()
        time, resumed = space.begin(after, info)
        info[step_info.TIME] = time
        with interrupts.around(self.tables.callbacks):
            bad = self.kernel.step(
                *space.step_tables,
                self.timestep,
                self.settings,
                given,
                inputs.wrenches_of(self, wrenches),
                after.data,
                space.work,
                space.step_solver,
                info,
                resumed,
                None,
            )
        if bad != 0:
            failed = failure(self, bad, 0, state.time, info)
            raise contact_queries.failed_from(self, state, failed)
        kicked = after.data.copy() if space.first_order else None
        space.kick(after.data[None], -0.5)
        after.time = state.time + self.timestep
        after.interval, after.controls = interval_of(info), inputs.last_of(self, given)
        after.memory = space.memory(after, kicked, time + self.timestep, info)
        return after, self._reported(info, state, after)

    def _near_step(self, state: State, control: Any, wrenches: Any) -> tuple[State, StepInfo]:
        """`step` of a model that finds its contacts."""
        assert self.near is not None
        table = inputs.controls_in_step(self, control)[None]
        given = (0, table, inputs.wrenches_of(self, wrenches)[None])
        start = plane_placement.placed(self, state) if self._planes else state
        run = NearRun(self.near, start, 2, given)  # which records nothing
        with interrupts.around(self.tables.callbacks), run:
            if run.advance(0, 1) == 0:
                bad = int(run.info[step_info.STATUS])
                found = failure(self.near.named(run.near), bad, 0, state.time, run.info)
                entry = self.near.entry(state)
                raise contact_queries.failed_from(entry.near.model, entry.state, found)
            after = run.whole(state.time + self.timestep)
        after.controls = inputs.last_of(self, table[0])
        return after, self._reported(run.info, state, after)

    def _reported(self, info: Float, state: State, after: State) -> StepInfo:
        """Cost and accuracy of a step; warns where it gained energy."""
        if info[step_info.UNEXPLAINED_INTERVALS] > 0.0:
            before, now = (self.velocities(one).ravel() for one in (state, after))
            gain = max(info[step_info.LARGEST_WORK], info[step_info.LARGEST_RISE])
            warn_of_gain(self, float(gain), state.time, now, before)
        numbers = info.tolist()
        return StepInfo(
            status=0,
            iterations=int(numbers[step_info.ITERATIONS]),
            factorizations=int(numbers[step_info.FACTORIZATIONS]),
            intervals=int(numbers[step_info.INTERVALS]),
            residual=numbers[step_info.VELOCITY_ERROR],
            violation=numbers[step_info.VIOLATION],
            softening=max(1.0, numbers[step_info.RELAXATION]),
            friction=numbers[step_info.FRICTION] or 1.0,
            unexplained_energy=numbers[step_info.LARGEST_WORK],
            accumulated_energy=numbers[step_info.LARGEST_RISE],
        )

    def view(self, state: State | None = None, *, host: str = "127.0.0.1", port: int = 8080) -> Any:
        """Simulate the model in real time, and show it in a browser.

        The page has sliders for the controls, pause, speed and reset. Drag a body with the mouse to
        pull it by a spring. The simulation pauses while no browser is connected.

        Parameters
        ----------
        state : State, optional
            Initial state; by default `initial_state`.
        host : str, optional
            Address at which the page is served; by default only on this machine.
        port : int, optional
            If it is in use, the next free one is taken.

        Returns
        -------
        Live
            Has `url`, `wait` and `close`, and is a context manager.

        Raises
        ------
        graphsys.MissingExtraError
            If viser is not installed.
        ValueError
            For a port or a host that does not exist.
        InconsistentStateError
            If the start has open loops, overlaps, or joints beyond a limit.
        """
        from dynamics.display.live import view

        return view(self, state, host=host, port=port)

    def __repr__(self) -> str:
        return (
            f"Model({self.n_bodies} bodies, {self.n_rows} constraints, "
            f"{len(self.tables.cycles)} loops, timestep {self.timestep} s)"
        )


def _share(energy_audit: str) -> float:
    """Bound of the energy audit as kernels read it: 0 for none, below 0 where it warns."""
    signs = {"error": 1.0, "warn": -1.0, "off": 0.0}
    if energy_audit not in signs:
        raise ValueError(f"energy_audit {energy_audit!r} is unknown; use one of {list(signs)}")
    return signs[energy_audit] * GIVEN
