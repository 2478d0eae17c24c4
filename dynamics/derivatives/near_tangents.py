"""Directions of a model that finds its contacts: planes between near shapes move with bodies.

A step is differentiated in its near model. The directions of planes that both bodies press on go
from step to step; one that is new, or laid anew before a step (`kernels.collisions.planes`),
changes with the bodies that it is laid between.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics import interrupts, rotation
from dynamics.derivatives.tangents import Directions
from dynamics.kernels.base import layout, step_info
from dynamics.kernels.collisions import broad_phase
from dynamics.kernels.collisions.planes import BOTH, find_pressed, lay_idle, separate_contacts
from dynamics.kernels.rows.curvature import STEP, nudge
from dynamics.kinematics.contact_queries import failed_from
from dynamics.kinematics.diagnosis import failure
from dynamics.kinematics.near_models import NearModel
from dynamics.kinematics.near_run import NearRun, Part
from dynamics.state import State

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["NearStep", "final_step", "near_step", "step_between"]

Float = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class NearStep:
    """Start of a step in its near model.

    Attributes
    ----------
    near : NearModel
    state : State
        Of the near model, its idle planes laid.
    slopes : dict
        Of the poses of planes that are laid, by the poses of the two bodies: shape (6, 12), by
        number of the plane.
    pressed : tuple of int, or None
        Numbers of the pairs whose planes the state kept: see `pressed_pairs`. None of a state that
        remembers no planes.
    """

    near: NearModel
    state: State
    slopes: dict[int, Float]
    pressed: tuple[int, ...] | None = None

    @classmethod
    def of(cls, near: NearModel, state: State, lays: bool, fresh: Container[int] = ()) -> NearStep:
        """Step from a state of a near model.

        ``lays`` says that it lays its idle planes. Else they are where they were placed, as are
        the ``fresh`` ones, by number, of shapes too close to be found apart again.
        """
        n, arrays = near.owner.model.n_bodies, near.arrays
        idle = idle_planes(near, state, lays, fresh)
        if lays:
            lay_idle(
                arrays.plan, arrays.constant, near.owner.shapes.solids, near.placing,
                near.owner.model.timestep, n, np.zeros(len(near.placing[0]), np.int64),
                np.empty(5), state.data, np.zeros(step_info.INFO_SIZE),
            )  # fmt: skip
        return cls(near, state, {k: laid_slopes(near, state, k) for k in idle})

    def widened(self, dz: Float, dV: Float, twist: Float) -> tuple[Float, Float]:
        """Directions of the bodies, and of planes with them.

        Parameters
        ----------
        dz, dV : ndarray of float, shape (k, 6 n)
            Of poses and velocities.
        twist : ndarray of float, shape (any, 6)
            The velocities.

        Returns
        -------
        dz, dV : ndarray of float, shape (k, 6 (n + planes))
            A plane that is not laid rides on its owner.
        """
        k, more = len(dz), layout.TWIST * self.near.n_bodies - dz.shape[1]
        wide_z, wide_V = (np.hstack([one, np.zeros((k, more))]) for one in (dz, dV))
        at, owners = self.near.placing[:2]
        pose = self.state.pose
        for i, (plane, owner) in enumerate(zip(at.tolist(), owners.tolist())):
            own = slice(layout.TWIST * owner, layout.TWIST * (owner + 1))
            to = slice(layout.TWIST * plane, layout.TWIST * (plane + 1))
            R, S = (rotation.to_matrix(pose[body, 3:]) for body in (owner, plane))
            arm, spin = pose[plane, :3] - pose[owner, :3], R @ twist[owner, 3:]
            moved, faster = dz[:, own], dV[:, own]
            turned = moved[:, 3:] @ R.T
            if i in self.slopes:
                change = np.hstack([self._changes(dz, body) for body in bodies_of(self.near, i)])
                change = change @ self.slopes[i].T
            else:
                change = np.hstack([moved[:, :3] + np.cross(turned, arm), turned @ S])
            spun = np.cross(turned, spin) + faster[:, 3:] @ R.T
            wide_z[:, to] = change
            wide_V[:, to][:, :3] = faster[:, :3] + np.cross(spun, arm)
            wide_V[:, to][:, :3] += np.cross(spin, change[:, :3] - moved[:, :3])
            wide_V[:, to][:, 3:] = spun @ S - np.cross(change[:, 3:], spin @ S)
        return wide_z, wide_V

    def directions(
        self, dz: Float, dV: Float, db: Float, twist: Float, memory: bool
    ) -> tuple[Float, Float, Float]:
        """Directions of the bodies, and of planes with them, at the start of a motion.

        Parameters
        ----------
        dz, dV, db : ndarray of float, shape (k, 6 n)
            Of poses, velocities at the node and those of the interval before.
        twist : ndarray of float, shape (6 (n + planes),)
            Velocities at the node.
        memory : bool
            Whether the p planes that the state kept are coordinates of their own, which stay in the
            given directions, and planes that are laid move with the interval before. A plane whose
            pair is near no more changes nothing.

        Returns
        -------
        dz, dV, db : ndarray of float, shape (k + 12 p, 6 (n + planes))
        """
        wide_z, wide_V = self.widened(dz, dV, twist.reshape(-1, layout.TWIST))
        _, wide_b = self.widened(dz, db, self.state.interval_velocity)
        if not memory or self.pressed is None:
            return wide_z, wide_V, wide_b
        size = layout.TWIST
        for k in self.slopes:
            at = plane_columns(self.near, k)
            wide_V[:, at] = wide_b[:, at]
        places = {
            number: k for k, number in enumerate(planes_of(self.near)) if k not in self.slopes
        }
        more = np.zeros((2, 2 * size * len(self.pressed), wide_z.shape[1]))
        for i, number in enumerate(self.pressed):
            if number in places:
                at = plane_columns(self.near, places[number])
                wide_z[:, at] = wide_V[:, at] = wide_b[:, at] = 0.0
                for side in range(2):
                    more[side, size * (2 * i + side) :][:size, at] = np.eye(size)
        return (
            np.concatenate([wide_z, more[0]]),
            np.concatenate([wide_V, more[1]]),
            np.concatenate([wide_b, more[1]]),
        )

    def planes_after(self, end: State, dz: Float, dV: Float) -> Float:
        """Changes of pose and velocity of each plane that the end of the step keeps.

        Parameters
        ----------
        end : State
        dz, dV : ndarray of float, shape (k, 6 (n + planes))

        Returns
        -------
        ndarray of float, shape (k, 12 p)
        """
        kept = set(pressed_pairs(self.near, end))
        columns = [
            one[:, plane_columns(self.near, k)]
            for k, number in enumerate(planes_of(self.near))
            if number in kept
            for one in (dz, dV)
        ]
        return np.concatenate([np.zeros((len(dz), 0)), *columns], axis=1)

    def _changes(self, dz: Float, body: int) -> Float:
        """Columns of a body; zeros of the world."""
        if body >= self.near.owner.model.n_bodies:
            return np.zeros((len(dz), layout.TWIST))
        return dz[:, layout.TWIST * body : layout.TWIST * (body + 1)]

    def laid_twist(self) -> Float:
        """Velocities of all bodies that `kernels.collisions.planes.lay_plane` gives to planes.

        Those of the last interval after half a step's fall, shape (6 (n + planes),).
        """
        twist, at = self.state.interval_velocity.copy(), layout.BODY_SIZE * np.arange(self.state.n)
        gravity = self.near.arrays.constant[at[:, None] + layout.GRAVITY + np.arange(3)]
        twist[:, :3] += 0.5 * self.near.owner.model.timestep * gravity
        return twist.ravel()

    def entered(self, way: Directions, before: NearModel, heavier: Float) -> Directions:
        """Directions at the start of the step, from those at the end of the one before.

        Parameters
        ----------
        way : Directions
        before : NearModel
            Of the step before.
        heavier : ndarray of float, shape (k, 6 (n + planes))
            Changes of momenta at `laid_twist`.

        Returns
        -------
        Directions
        """
        near, n = self.near, layout.TWIST * self.near.owner.model.n_bodies
        dz, dV = self.widened(way.dz[:, :n], way.dbefore[:, :n], self.state.interval_velocity)
        at = layout.BODY_SIZE * np.arange(near.n_bodies)[:, None]
        weights = near.arrays.constant[at + ([layout.MASS] * 3 + [layout.INERTIA] * 3)].ravel()
        made = Directions(dz, weights * dV + heavier, dV)
        made.dp[:, :n] = way.dp[:, :n]
        was = {number: k for k, number in enumerate(planes_of(before))}
        for k, number in enumerate(planes_of(near)):
            if k in self.slopes or number not in was:
                continue
            to, old = plane_columns(near, k), plane_columns(before, was[number])
            for name in ("dz", "dp", "dbefore"):
                getattr(made, name)[:, to] = getattr(way, name)[:, old]
        return made


def planes_of(near: NearModel) -> list[int]:
    """Numbers of the pairs that have a plane, in the order of `NearModel.placing`."""
    found: list[int] = near.numbers[near.places.plane >= 0].tolist()
    return found


def plane_columns(near: NearModel, k: int) -> slice:
    """Columns of the k-th plane among the twists of all bodies."""
    plane = int(near.placing[0][k])
    return slice(layout.TWIST * plane, layout.TWIST * (plane + 1))


def idle_planes(near: NearModel, state: State, lays: bool, fresh: Container[int]) -> list[int]:
    """Numbers of the planes that a step lays, or finds where they were placed."""
    n, arrays, solids = near.owner.model.n_bodies, near.arrays, near.owner.shapes.solids
    pressed, apart = np.zeros(len(near.placing[0]), np.int64), np.empty(5)
    if pressed.size:
        h = near.owner.model.timestep
        find_pressed(arrays.plan, arrays.constant, h, near.placing[1], n, state.data, pressed)
    return [
        k
        for k in np.flatnonzero(pressed != BOTH).tolist()
        if not lays
        or k in fresh
        or separate_contacts(solids, near.placing, k, n, state.data, apart)
    ]


def pressed_pairs(near: NearModel, state: State) -> tuple[int, ...]:
    """Numbers of the pairs whose planes the next step does not lay."""
    idle = idle_planes(near, state, True, ())
    return tuple(number for k, number in enumerate(planes_of(near)) if k not in idle)


def bodies_of(near: NearModel, k: int) -> list[int]:
    """Numbers of the bodies that a plane lies between."""
    shapes = near.owner.shapes.bounds.shapes
    found: list[int] = shapes[near.placing[3][k], broad_phase.BODY].tolist()
    return found


def laid_slopes(near: NearModel, state: State, k: int) -> Float:
    """Slopes of a plane's pose by the poses of its bodies, by central differences."""
    plane, slopes = int(near.placing[0][k]), np.zeros((layout.TWIST, 12))
    for j in range(12):
        body = bodies_of(near, k)[j // layout.TWIST]
        if body >= near.owner.model.n_bodies:
            continue
        ends = []
        for step in (STEP, -STEP):
            moved = state.copy()
            nudge(moved.data, layout.POSE * body, j % layout.TWIST, step)
            near.owner.place(near, moved, np.flatnonzero(near.places.plane == plane))
            ends.append(moved.pose[plane])
        turn = rotation.multiply(rotation.conjugate(ends[1][3:]), ends[0][3:])
        slopes[:3, j] = ends[0][:3] - ends[1][:3]
        slopes[3:, j] = rotation.to_rotation_vector(turn)
    return slopes / (2.0 * STEP)


def step_between(model: Model, before: Part, now: Part, time: float, lays: bool) -> NearStep:
    """Step between two records of a motion, each alone in its part.

    Parameters
    ----------
    model : Model
    before, now : Part
    time : float
        Of the first record, s.
    lays : bool
        Whether the step lays its idle planes.

    Returns
    -------
    NearStep
    """
    models = model.near
    assert models is not None
    old, near = models.of(before.pairs), models.of(now.pairs)
    state = old.state_of(before.states[-1].copy(), time)
    fresh: set[int] = set()
    if before.pairs != now.pairs:
        state = models.carried(old, state, near)
        were = set(planes_of(old))
        fresh = {k for k, number in enumerate(planes_of(near)) if number not in were}
    return NearStep.of(near, state, lays, fresh)


def near_step(model: Model, state: State, control: Float, wrench: Float) -> NearStep:
    """Step from a state, in the near model in which it is solved.

    Parameters
    ----------
    model : Model
    state : State
        Left as it is.
    control, wrench : ndarray of float
        Of the step.

    Returns
    -------
    NearStep

    Raises
    ------
    ConvergenceError
        If the equations of the step could not be solved.
    """
    models = model.near
    assert models is not None
    entry = models.remembered(state)
    run = NearRun(models, state, 1, (0, control[None], wrench[None]))
    with interrupts.around(model.tables.callbacks), run:
        if run.advance(0, 1) == 0:
            bad = int(run.info[step_info.STATUS])
            failed = failure(models.named(run.near), bad, 0, state.time, run.info)
            start = models.entry(state)
            raise failed_from(start.near.model, start.state, failed)
    step = step_between(model, run.parts[0], run.parts[1], state.time, entry is not None)
    return step if entry is None else replace(step, pressed=pressed_pairs(entry.near, entry.state))


def final_step(model: Model, last: Part, time: float) -> NearStep:
    """The last record of a motion, from which no step begins: its planes stay."""
    models = model.near
    assert models is not None
    near = models.of(last.pairs)
    return NearStep(near, near.state_of(last.states[-1].copy(), time), {})
