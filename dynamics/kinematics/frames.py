"""Kinematics of frames: Jacobians, mass matrix, centroidal quantities, inverse kinematics."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.elsewhere import KINEMATICS, refer
from dynamics.errors import InconsistentStateError, UnknownNameError, check_model
from dynamics.kernels.base import layout
from dynamics.kinematics import coordinates, loop_closure
from dynamics.kinematics.joint_space import JointSpace, row_slopes
from dynamics.kinematics.momenta import momenta
from dynamics.kinematics.spanning_tree import Motions, Slopes, soft_rows
from dynamics.parts.bodies import WORLD, Body
from dynamics.parts.geometry import Frame
from dynamics.parts.tendons import sliders_of
from dynamics.state import check_state

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.state import State

__all__ = ["Kinematics", "frame_of"]

Float = NDArray[np.float64]

#: Most steps of inverse kinematics; near a solution each one doubles the correct digits.
STEPS = 200
#: Most corrections that close joints after a step, each of which doubles the correct digits.
CORRECTIONS = 6
#: Damping of these steps, relative to the largest eigenvalue of A^T A: the least one, which leaves
#: motions alone that move no target, the first one, and the one at which they are given up.
DAMPED, FIRST, HOPELESS = 1e-12, 1e-3, 1e6
#: Parts of the predicted decrease: damping falls above GOOD and rises below POOR (Moré 1978).
GOOD, POOR = 0.75, 0.25
#: How far beyond limits counts as within.
WITHIN = 1e-9
#: Distance to a limit, m or rad, at which an error names its joint: of what users type.
STOPPED = 1e-4


@refer(KINEMATICS)
class Kinematics:
    """Frame Jacobians, mass matrix and inverse kinematics of a model, also with closed loops.

    A *frame* is a named frame of the mechanism, such as a link of a robot file
    (`Mechanism.frames`), or a body at its centre of mass. A name means the frame with this name, or
    else the body; the body itself (``mech.bodies["hand"]``) always means its centre of mass. The
    generalized velocity v has one entry per column of the Jacobians:

    - for every part of the mechanism that no joint connects to the world, the velocity (world, m/s)
      and the angular velocity (body frame, rad/s) of its first body, 6 columns;
    - then the rates of the joints' coordinates.

    If loops make coordinates depend on each other, a Jacobian belongs to the velocity nearest to v
    that the loops allow.

    Parameters
    ----------
    model : Model
    joints : iterable of hashable, optional
        Joints whose coordinates have columns; all by default. With a set of independent joints,
        such as the motors of a linkage, the Jacobians are the derivatives along the motions that
        loops allow.

    Attributes
    ----------
    model : Model
    columns : dict of slice
        Columns of the Jacobians by name: of the first body of a free part, or of a joint.
    size : int
        Number k of columns.

    Raises
    ------
    UnknownNameError
        If no joint with coordinates has a name.

    Examples
    --------
    >>> kinematics = dy.Kinematics(model)  # doctest: +SKIP
    >>> J = kinematics.jacobian(state, "hand")  # doctest: +SKIP
    >>> state = kinematics.inverse(state, {"hand": [0.4, 0.0, 0.2]})  # doctest: +SKIP
    """

    def __init__(self, model: Model, joints: Iterable[Hashable] | None = None) -> None:
        check_model(model, "Kinematics")
        self.model = model
        mechanism = model.mechanism
        planes = {c.plane.body.name for c in mechanism.contacts.values() if c.plane is not None}
        if joints is None:
            joints = [
                joint.name
                for joint in mechanism.joints.values()
                if joint.name in model.tables.measure_group
                and joint.name not in model.mechanism.tendons
                and planes.isdisjoint((joint.parent.name, joint.child.name))
            ]
        self._space = JointSpace(model, joints)
        names = [body.name for body in model.bodies if body.name not in planes]
        self._bodies = np.array([model.body_number(name) for name in names], np.int64)
        self._base = [names.index(name) for name in _free_parts(model, names)]
        self.columns: dict[Hashable, slice] = {}
        for k, body in enumerate(self._base):
            self.columns[names[body]] = slice(6 * k, 6 * k + 6)
        sliders = sliders_of(mechanism)
        masses = [0.0 if name in sliders else mechanism.bodies[name].mass for name in names]
        self._masses = np.array(masses)  # of all bodies, 0 of the slides of tendons
        limited, ends = [np.zeros(0, np.int64)], [np.zeros((0, 2))]
        for name, (first_of, count) in self._space.start.items():
            limits = mechanism.joints[name].limits
            if limits is not None:
                limited.append(np.arange(count) + first_of)
                ends.append(limits)
        self._limited, self._ends = np.concatenate(limited), np.vstack(ends)
        self._units = loop_closure.reciprocal_units(model, {})
        self._rigid = ~soft_rows(model)
        key = "allowed", self._space.names
        if key not in model.structures:
            allowed = Motions(model, self._space.rate_rows, self._bodies, self._base)
            model.structures[key] = allowed
        self._allowed: Motions = model.structures[key]
        first = 6 * len(self._base)
        for name, (start, count) in self._space.start.items():
            self.columns[name] = slice(first + start, first + start + count)
        self.size = first + self._space.size

    def __repr__(self) -> str:
        return f"Kinematics({self._bodies.size} bodies, {self.size} columns)"

    def pose(self, state: State, frame: Hashable) -> tuple[Float, Float]:
        """Position and orientation of a frame.

        Parameters
        ----------
        state : State
        frame : hashable
            Name of a frame or of a body, or a body.

        Returns
        -------
        position : ndarray of float, shape (3,)
            Position of the frame's origin or the body's centre of mass, world, m.
        orientation : ndarray of float, shape (4,)
            Frame to world, scalar first.

        Raises
        ------
        UnknownNameError
            If neither a body nor a frame has the name.
        """
        check_state(self.model, state)
        body, offset, turned = self._frame(frame)
        if body < 0:
            return offset, turned
        x, q = state.pose[body, :3], state.pose[body, 3:]
        return x + rotation.rotate(q, offset), rotation.multiply(q, turned)

    def jacobian(self, state: State, frame: Hashable) -> Float:
        """Jacobian of a frame's velocity.

        Parameters
        ----------
        state : State
        frame : hashable
            Name of a frame or of a body, or a body.

        Returns
        -------
        ndarray of float, shape (6, k)
            Velocity of the frame's origin, then angular velocity, both in the world's axes.

        Raises
        ------
        UnknownNameError
            As for `pose`.
        ValueError
            If bodies can move while all entries of v are 0.
        """
        return self._slopes(state).seen(self._velocity_of(state, frame))

    def mass_matrix(self, state: State) -> Float:
        """Mass matrix M: the kinetic energy is ``v @ M @ v / 2``.

        Parameters
        ----------
        state : State

        Returns
        -------
        ndarray of float, shape (k, k)
            Rotors included; singular if columns depend on each other.

        Raises
        ------
        ValueError
            As for `jacobian`.
        """
        motions = self._motions(state)
        M = motions.T @ self._momenta(state, motions)
        return np.asarray(0.5 * (M + M.T))

    def velocities(self, state: State) -> Float:
        """Generalized velocity v of a state.

        Parameters
        ----------
        state : State

        Returns
        -------
        ndarray of float, shape (k,)
            In the order of the columns.
        """
        check_state(self.model, state)
        base = self.model.velocities(state)[self._bodies[self._base]].ravel()
        return np.concatenate([base, self._space.read(state)[1]])

    def center_of_mass(self, state: State) -> Float:
        """Centre of mass of all bodies.

        Parameters
        ----------
        state : State

        Returns
        -------
        ndarray of float, shape (3,)
            World, m.
        """
        check_state(self.model, state)
        masses = self._masses
        return np.asarray(masses @ state.pose[self._bodies, :3] / masses.sum())

    def centroidal_matrix(self, state: State) -> Float:
        """Matrix A of the centroidal momentum ``A v``.

        Parameters
        ----------
        state : State

        Returns
        -------
        ndarray of float, shape (6, k)
            Linear momentum, kg m/s, then angular momentum about the centre of mass, kg m^2/s, both
            in world axes; of the bodies, without the unknown spins of rotors.

        References
        ----------
        .. [1] D. E. Orin, A. Goswami, S.-H. Lee, Centroidal dynamics of a humanoid robot,
           Autonomous Robots 35, 2013.
        """
        motions = self._motions(state)
        shape = self._bodies.size, layout.TWIST, self.size
        momentum = self._momenta(state, motions, rotors=False).reshape(shape)
        momentum[self._masses == 0.0] = 0.0
        pose = state.pose[self._bodies]
        arms = pose[:, :3] - self.center_of_mass(state)
        turned = rotation.to_matrix(pose[:, 3:])
        linear = momentum[:, :3]
        angular = turned @ momentum[:, 3:] + np.cross(arms[:, :, None], linear, axis=1)
        return np.concatenate([linear.sum(axis=0), angular.sum(axis=0)])

    def inverse(
        self,
        state: State,
        targets: Mapping[Hashable, Any],
        *,
        limits: bool = True,
        tolerance: float = 1e-8,
        nearest: bool = False,
    ) -> State:
        """Inverse kinematics: a posture near a state in which frames reach their targets.

        The method is that of Levenberg and Marquardt over all motions that the joints allow, with
        closed loops. The limits of joints are linear constraints of each step, a least-squares
        problem that is solved by non-negative least squares.

        Parameters
        ----------
        state : State
            Start of the search; not changed.
        targets : mapping of hashable to array_like
            By frame: a position in the world, m, shape (3,), or a pair of a position and an
            orientation, scalar first, either of which may be None.
        limits : bool, optional
            Whether joints stay within their limits.
        tolerance : float, optional
            Largest error of positions, relative to the unit of length of the frame's body, and of
            angles, rad. The search also ends if a step reduces all errors by less than this
            fraction.
        nearest : bool, optional
            Whether to return the nearest posture if none is within the tolerance.

        Returns
        -------
        State
            At rest.

        Raises
        ------
        UnknownNameError
            As for `pose`.
        ValueError
            If a target has the wrong shape or is not finite.
        InconsistentStateError
            If a frame does not reach its target, with its name and the distance, and if a loop
            cannot be closed.

        References
        ----------
        .. [1] C. L. Lawson, R. J. Hanson, Solving Least Squares Problems, SIAM, 1995, ch. 23.
        .. [2] J. J. Moré, The Levenberg-Marquardt algorithm: implementation and theory, Numerical
           Analysis, Lecture Notes in Mathematics 630, Springer, 1978.
        """
        check_state(self.model, state)
        tasks = [_Task(self, frame, target) for frame, target in targets.items()]
        now = loop_closure.assemble(self.model, self._still(state.copy()), {}, {})
        error, damping, room = self._errors(tasks, now), FIRST, self._room(now, limits)
        for _ in range(STEPS):
            beyond = _beyond(*room)
            if np.abs(error).max(initial=0.0) <= tolerance and beyond <= WITHIN:
                break
            slopes = self._slopes(now)
            null = np.linalg.qr(slopes.free())[0]
            A = np.vstack([task.slopes(now) for task in tasks]) @ null
            B = slopes.rates(null)[6 * len(self._base) + self._limited[: room[0].size]]
            z = _bounded_step(A, error, damping, B, *room)
            trial = self._moved(now, null @ z)
            after, left = self._errors(tasks, trial), self._room(trial, limits)
            merit = np.linalg.norm(error) + beyond
            predicted = np.linalg.norm(error) - np.linalg.norm(error - A @ z)
            past = _beyond(*left)
            gain = merit - np.linalg.norm(after) - past
            if gain > 0.0:
                now, error, room = trial, after, left
                if gain <= tolerance * merit and past <= WITHIN:  # the nearest posture
                    break
            if gain <= 0.0 or gain < POOR * predicted:
                damping *= 10.0
                if damping > HOPELESS:
                    break
            elif gain >= GOOD * predicted:
                damping = max(DAMPED, 0.1 * damping)
        worst = int(np.argmax(np.abs(error))) if error.size else 0
        if error.size and not nearest and not abs(error[worst]) <= tolerance:
            task = np.repeat(np.arange(len(tasks)), [t.size for t in tasks])[worst]
            raise InconsistentStateError(
                f"frame {tasks[task].name!r} cannot reach its target: {tasks[task].describe(now)}"
                f"{self._stopped(*room)}; start nearer to the intended posture, leave its "
                "orientation free, or take the nearest posture (nearest=True)"
            )
        return self._still(now)

    def _still(self, state: State) -> State:
        """The state itself, at rest."""
        zeros, n = np.zeros((self.model.n_bodies, layout.TWIST)), self.model.n_bodies
        coordinates.set_twists(self.model, state, zeros, list(range(n)))
        return state

    def _frame(self, name: Hashable) -> tuple[int, Float, Float]:
        """Body, -1 for the world, and position and orientation of a frame in it."""
        return frame_of(self.model, name)

    def _velocity_of(self, state: State, name: Hashable) -> Float:
        """Velocity of a frame by the velocities of all bodies but planes, shape (6, 6 n)."""
        check_state(self.model, state)
        body, offset, _ = self._frame(name)
        slopes = np.zeros((6, self._bodies.size, layout.TWIST))
        if body >= 0:
            turned = rotation.to_matrix(state.pose[body, 3:])
            x, y, z = offset
            across = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
            i = int(np.flatnonzero(self._bodies == body)[0])
            slopes[:3, i, :3] = np.eye(3)
            slopes[:3, i, 3:], slopes[3:, i, 3:] = -turned @ across, turned
        return slopes.reshape(6, -1)

    def _slopes(self, state: State) -> Slopes:
        """Jacobians of constraints and of v, for all bodies but planes."""
        check_state(self.model, state)
        return Slopes(self._allowed, *row_slopes(self.model, state))

    def _motions(self, state: State) -> Float:
        """Velocities of all bodies but planes by v, shape (6 n, k)."""
        return self._slopes(state).along()

    def _momenta(self, state: State, motions: Float, rotors: bool = True) -> Float:
        """Momenta of all bodies but planes, shape (6 n, k)."""
        n, count = self.model.n_bodies, self._bodies.size
        wide = np.zeros((self.size, n, layout.TWIST))
        wide[:, self._bodies] = motions.T.reshape(self.size, count, layout.TWIST)
        twists = wide.reshape(self.size, n * layout.TWIST)
        found = momenta(self.model.tables, state.pose, twists, rotors=rotors)
        chosen = found.reshape(wide.shape)[:, self._bodies]
        return np.asarray(chosen.reshape(self.size, count * layout.TWIST).T)

    def _errors(self, tasks: list[_Task], state: State) -> Float:
        """Errors of all tasks, over their units."""
        return np.concatenate([np.zeros(0), *(task.error(state) for task in tasks)])

    def _room(self, state: State, limits: bool) -> tuple[Float, Float]:
        """How far each limited coordinate may move down and up."""
        if not limits:
            return np.zeros(0), np.zeros(0)
        position = self._space.positions(state)[self._limited]
        return self._ends[:, 0] - position, self._ends[:, 1] - position

    def _stopped(self, low: Float, high: Float) -> str:
        """Joints at their limits, in words."""
        at = self._limited[: low.size][np.minimum(-low, high) <= STOPPED]
        start = self._space.start
        names = [one for one, (k, n) in start.items() if ((k <= at) & (at < k + n)).any()]
        return f", where joints stand at their limits: {names}" if names else ""

    def _moved(self, state: State, move: Float) -> State:
        """The state with bodies displaced and turned, its joints closed again."""
        state = loop_closure.moved(state, self._wide(move))
        for _ in range(CORRECTIONS):
            g, _ = loop_closure.equations(self.model, state, {})
            if np.abs(self._units * g).max(initial=0.0) <= loop_closure.CLOSED:
                return state
            correction = -self._slopes(state).held(g[self._rigid])
            state = loop_closure.moved(state, self._wide(correction))
        return loop_closure.assemble(self.model, state, {}, {})

    def _wide(self, move: Float) -> Float:
        """Motions of the bodies, and 0 of planes, shape (n, 6)."""
        wide = np.zeros((self.model.n_bodies, layout.TWIST))
        wide[self._bodies] = move.reshape(-1, layout.TWIST)
        return wide


class _Task:
    """A frame and where it should be."""

    def __init__(self, kinematics: Kinematics, name: Hashable, target: Any) -> None:
        self.kinematics, self.name = kinematics, name
        body, _, _ = kinematics._frame(name)
        if body < 0:
            raise ValueError(f"frame {name!r} is on the world and does not move")
        label = f"of the target of {name!r}"
        pair = isinstance(target, (tuple, list)) and len(target) == 2
        if pair and not all(isinstance(one, (int, float, np.number)) for one in target):
            position, orientation = target
        else:
            position, orientation = target, None
        self.position = self.orientation = None
        if position is not None:
            if np.shape(position) == (4, 4):
                raise ValueError(
                    f"the target of {self.name!r} has shape (4, 4): give its position, or "
                    "(position, quaternion), from dynamics.rotation.from_matrix(T[:3, :3])"
                )
            self.position = rotation.as_numbers(position, (3,), f"position {label}")
        if orientation is not None:
            q = rotation.as_numbers(orientation, (4,), f"orientation {label}")
            self.orientation = rotation.normalized(q)
        model = kinematics.model
        self.length = model.tables.units[model.bodies[body].name].length
        self.size = 3 * (self.position is not None) + 3 * (self.orientation is not None)

    def error(self, state: State) -> Float:
        """How far the frame is from its target, over the unit of length, and in rad, world axes."""
        x, q = self.kinematics.pose(state, self.name)
        parts = [np.zeros(0)]
        if self.position is not None:
            parts.append((self.position - x) / self.length)
        if self.orientation is not None:
            turn = rotation.multiply(self.orientation, rotation.conjugate(q))
            parts.append(rotation.to_rotation_vector(turn))
        return np.concatenate(parts)

    def slopes(self, state: State) -> Float:
        """Rate at which motions of all bodies but planes take the frame to its target."""
        velocity = self.kinematics._velocity_of(state, self.name)
        rows = [velocity[:3] / self.length] if self.position is not None else []
        if self.orientation is not None:
            rows.append(velocity[3:])
        return np.vstack([np.zeros((0, velocity.shape[1])), *rows])

    def describe(self, state: State) -> str:
        """How far the frame is from its target, in words."""
        x, q = self.kinematics.pose(state, self.name)
        parts = []
        if self.position is not None:
            parts.append(f"it is {np.linalg.norm(self.position - x):.2e} m off")
        if self.orientation is not None:
            turn = rotation.multiply(self.orientation, rotation.conjugate(q))
            parts.append(f"turned by {np.linalg.norm(rotation.to_rotation_vector(turn)):.2e} rad")
        return " and ".join(parts)


def frame_of(model: Model, name: Hashable, on_body: bool = False) -> tuple[int, Float, Float]:
    """Place of a named frame or of a body on a body.

    Parameters
    ----------
    model : Model
    name : hashable
        Or a body, the world or a frame itself. Each link of a robot file has a frame, and most a
        body, of its name: the name means the frame.
    on_body : bool, optional
        True where the name is that of a body.

    Returns
    -------
    body : int
        Its number, -1 for the world.
    position : ndarray of float, shape (3,)
    orientation : ndarray of float, shape (4,)
        The frame to the body's.

    Raises
    ------
    UnknownNameError
    """
    frames, index = model.mechanism.frames, model.tables.body_index
    if isinstance(name, (Body, Frame)):
        name, on_body = name.name, isinstance(name, Body)
    if name in index and (on_body or name not in frames):
        return int(index[name]), np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    if name not in frames:
        if name in (WORLD, WORLD.name):
            return -1, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
        raise UnknownNameError(
            f"there is neither a body nor a frame {name!r}; bodies are "
            f"{[body.name for body in model.bodies]}, frames {list(frames)}"
        )
    frame = frames[name]
    body = -1 if frame.body is WORLD else int(index[frame.body.name])
    return body, np.asarray(frame.position), np.asarray(frame.orientation)


def _free_parts(model: Model, names: list[Hashable]) -> list[Hashable]:
    """First body of each part that no joint connects to the world."""
    part: dict[Hashable, Hashable] = {name: name for name in [WORLD.name, *names]}

    def root(name: Hashable) -> Hashable:
        while part[name] != name:
            name = part[name]
        return name

    for joint in model.mechanism.joints.values():
        ends = [body.name for body in joint.bodies]
        if all(end in part for end in ends):
            for end in ends[1:]:
                part[root(end)] = root(ends[0])
    free: dict[Hashable, Hashable] = {}
    for name in names:
        if root(name) != root(WORLD.name):
            free.setdefault(root(name), name)
    return list(free.values())


def _beyond(low: Float, high: Float) -> float:
    """How far a limited coordinate is beyond its range, m or rad."""
    return float(np.maximum(low, -high).max(initial=0.0))


def _bounded_step(
    A: Float, error: Float, damping: float, B: Float, low: Float, high: Float
) -> Float:
    """Least ``|A z - error|^2 + mu |z|^2`` with ``low <= B z <= high``; mu is relative damping.

    With the Cholesky factor R of A^T A + mu I, u = R z - R^-T A^T error is the shortest one of
    linear inequalities, which nonnegative least squares find.
    """
    normal = A.T @ A
    scale = max(float(np.linalg.norm(normal, 2)) if normal.size else 0.0, 1e-300)
    R = np.linalg.cholesky(normal + damping * scale * np.eye(normal.shape[0])).T
    free = np.linalg.solve(R, np.linalg.solve(R.T, A.T @ error))
    finite_low, finite_high = np.isfinite(low), np.isfinite(high)
    G = np.vstack([B[finite_low], -B[finite_high]])
    h = np.concatenate([low[finite_low], -high[finite_high]])
    if not h.size or (G @ free >= h).all():
        return np.asarray(free)
    from scipy.optimize import nnls  # half a second of imports, that few need

    E = np.vstack([np.linalg.solve(R.T, G.T), (h - G @ free)[None]])
    last = np.zeros(E.shape[0])
    last[-1] = 1.0
    y, _ = nnls(E, last)
    r = E @ y - last
    if not abs(r[-1]) > 1e-12:  # no motion reaches the limits at once
        return np.asarray(free)
    return np.asarray(free + np.linalg.solve(R, -r[:-1] / r[-1]))
