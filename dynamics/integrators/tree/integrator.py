"""Higher-order variational integrator of a tree in its joints' coordinates, in O(n) a step."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.errors import InconsistentStateError, UnknownNameError
from dynamics.integrators.tree.description import Tree
from dynamics.integrators.tree.tables import tables
from dynamics.integrators.tree.trajectory import TreeTrajectory, not_solved, singular
from dynamics.integrators.tree.workspace import Loads, Work, loads
from dynamics.interrupts import Deferred, hand_on, in_portions
from dynamics.kernels.tree import layout
from dynamics.kernels.tree import momentum as tree_momentum
from dynamics.kernels.tree import motion as tree_motion
from dynamics.kernels.tree import step as tree_step
from dynamics.tables.lobatto import NAMED, lobatto

__all__ = ["TreeIntegrator"]

Float = NDArray[np.float64]
Int = NDArray[np.int64]

#: Largest constraint value at the start, m or rad relative to coordinates of size 1.
CLOSED = 1e-8
#: Iterations of Newton's and of the quasi-Newton method by default.
MOST = {"newton": 30, "quasi-newton": 200}
#: Joints times nodes of the first portion of a run, some milliseconds.
PORTION = 2000


class TreeIntegrator:
    """Galerkin variational integrator of order 2 s with Lobatto's rule, O(n) per step.

    Parameters
    ----------
    tree : Tree
        Copied: later changes have no effect.
    timestep : float
        h, s.
    quadrature : str or int
        "trapezoidal" (s = 1, order 2), "simpson" (s = 2, order 4), or s for Lobatto's rule with
        s + 1 nodes.
    actuated : sequence of hashable, optional
        Joints of the last axis of `forces`, in this order; by default all.
    method : {"newton", "quasi-newton"}
        "quasi-newton" approximates the Jacobian by the mass matrix at the start of the step.
    tolerance : float
        Error of the coordinates after the last iteration, relative to 1 and to the largest.
    most_iterations : int, optional
        30 by default, 200 for "quasi-newton".
    line_search : bool
        Whether corrections that do not reduce the residual are halved, up to 10 times; only
        without constraints.

    Attributes
    ----------
    joints : tuple of hashable
        Labels of the n coordinates, parents before children.
    order : int
        2 s.

    Raises
    ------
    ValueError
        If a number or name is invalid, or a body has no joint.

    References
    ----------
    .. [1] T. Fan, J. Schultz, T. Murphey, Efficient computation of higher-order variational
       integrators in robotic simulation and trajectory optimization, WAFR 2018.
    """

    def __init__(
        self,
        tree: Tree,
        timestep: float,
        quadrature: str | int = "simpson",
        *,
        actuated: Sequence[Hashable] | None = None,
        method: str = "newton",
        tolerance: float = 1e-12,
        most_iterations: int | None = None,
        line_search: bool = True,
    ) -> None:
        if not (np.isfinite(timestep) and timestep > 0.0):
            raise ValueError(f"timestep is {timestep}: it must be a positive number of seconds")
        if isinstance(quadrature, str) and quadrature not in NAMED:
            raise ValueError(
                f"quadrature {quadrature!r} is none of {', '.join(NAMED)} and no degree"
            )
        if method not in MOST:
            raise ValueError(f"method {method!r} is none of {', '.join(MOST)}")
        self.timestep = float(timestep)
        self.degree = NAMED[quadrature] if isinstance(quadrature, str) else int(quadrature)
        self.rule = lobatto(self.degree)
        self.order = 2 * self.degree
        self.tables = tables(tree)
        self.joints = self.tables.joints
        most = MOST[method] if most_iterations is None else int(most_iterations)
        self.method = (method != "newton", most, 10 if line_search else 0, float(tolerance))
        self.columns = self._columns(actuated)
        self.work = Work.of(len(self.joints), self.degree, len(self.tables.constraints))

    def __repr__(self) -> str:
        n, m = len(self.joints), len(self.tables.constraints)
        return f"TreeIntegrator({n} joints, {m} constraints, order {self.order}, h={self.timestep})"

    def step(
        self,
        q: ArrayLike,
        p: ArrayLike,
        forces: ArrayLike | None = None,
        wrenches: ArrayLike | None = None,
        *,
        frame: str = "world",
    ) -> tuple[Float, Float]:
        """Take one step.

        Parameters
        ----------
        q, p : array_like, shape (n,)
            Coordinates and momenta, the latter from `momentum`; not changed.
        forces : array_like, shape (n_u,) or (s + 1, n_u), optional
            Forces of the actuated joints, constant or at each node; N m or N.
        wrenches, frame
            As in `simulate`, for one step.

        Returns
        -------
        q_next, p_next : ndarray of float, shape (n,)

        Raises
        ------
        ConvergenceError
            If the equations were not solved.
        """
        f = None if forces is None else np.asarray(forces, float)[None]
        w = None if wrenches is None else np.asarray(wrenches, float)[None]
        start = self._vector(q, "q"), self._vector(p, "p")
        run = self._run(*start, self.velocity(*start), 1, loads(self, f, w, frame, 1))
        return run.q[1], run.p[1]

    def simulate(
        self,
        q: ArrayLike,
        velocity: ArrayLike,
        steps: int,
        forces: ArrayLike | None = None,
        wrenches: ArrayLike | None = None,
        *,
        frame: str = "world",
    ) -> TreeTrajectory:
        """Simulate a number of steps.

        Parameters
        ----------
        q, velocity : array_like, shape (n,)
            Initial coordinates and rates, which satisfy the constraints.
        steps : int
            N.
        forces : array_like, shape (n_u,), (N, n_u) or (N, s + 1, n_u), optional
            Forces of the actuated joints: constant, per step, or at each node of each step.
        wrenches : array_like, shape (n, 6), (N, n, 6) or (N, s + 1, n, 6), optional
            [torque, force] on each body about the origin of its frame.
        frame : {"world", "body"}
            Axes in which the wrenches are given.

        Returns
        -------
        TreeTrajectory

        Raises
        ------
        ConvergenceError
            If the equations of a step could not be solved.
        InconsistentStateError
            If the start does not satisfy the constraints.
        ValueError
            If a shape is wrong, such as that of forces for fewer than N steps.
        """
        if steps < 0:
            raise ValueError(f"steps is {steps}: it must be 0 or more")
        start, speed = self._vector(q, "q"), self._vector(velocity, "velocity")
        self.check(start, speed)
        load = loads(
            self,
            None if forces is None else np.asarray(forces, float),
            None if wrenches is None else np.asarray(wrenches, float),
            frame,
            steps,
        )
        return self._run(start, self.momentum(start, speed), speed, steps, load)

    def momentum(self, q: ArrayLike, velocity: ArrayLike) -> Float:
        """Momenta p = M(q) dq/dt, in O(n).

        Parameters
        ----------
        q, velocity : array_like, shape (n,)
            Coordinates and their rates.

        Returns
        -------
        ndarray of float, shape (n,)
        """
        motion = self.motion(q, velocity)
        p = np.empty(len(self.joints))
        tree_momentum.momentum(self.tables.tree, motion, p)
        return p

    def velocity(self, q: ArrayLike, p: ArrayLike) -> Float:
        """Rates dq/dt = M(q)^-1 p, projected onto the constraints, in O(n).

        Parameters
        ----------
        q, p : array_like, shape (n,)
            Coordinates and momenta.

        Returns
        -------
        ndarray of float, shape (n,)

        Raises
        ------
        ValueError
            If the mass matrix or the constraints are singular.
        """
        speed = np.zeros(len(self.joints))
        motion = self.motion(q, speed)
        status = tree_step.velocity(
            self.tables.tree, self.tables.pins, 1, 0, self._vector(p, "p"), 0,
            self.work.with_motion(motion), speed, 0,
        )  # fmt: skip
        if status != layout.SOLVED:
            raise ValueError(singular(self, status))
        return speed

    def energy(self, q: ArrayLike, velocity: ArrayLike) -> Float:
        """Kinetic energy plus potential energy of gravity and springs, J.

        Parameters
        ----------
        q, velocity : array_like, shape (n,) or (N, n)
            Coordinates and their rates.

        Returns
        -------
        ndarray of float, shape () or (N,)
        """
        places, speeds = np.asarray(q, float), np.asarray(velocity, float)
        shape = places.shape[:-1]
        n = len(self.joints)
        found = np.empty(int(np.prod(shape)))
        for row, (x, v) in enumerate(zip(places.reshape(-1, n), speeds.reshape(-1, n))):
            motion = self.motion(x, v)
            p = np.empty(n)
            potential = tree_motion.potential(self.tables.tree, np.ascontiguousarray(x), motion)
            tree_momentum.momentum(self.tables.tree, motion, p)
            found[row] = 0.5 * p @ v + potential
        return found.reshape(shape)

    def poses(self, q: ArrayLike) -> tuple[Float, Float]:
        """Poses of the bodies.

        Parameters
        ----------
        q : array_like, shape (n,)
            Coordinates.

        Returns
        -------
        rotations : ndarray of float, shape (n, 3, 3)
            Rotation matrices, body to world.
        positions : ndarray of float, shape (n, 3)
            Origins of the bodies' frames, world, m.
        """
        motion = self.motion(q, np.zeros(len(self.joints))).reshape(-1, layout.RECORD)
        turns = motion[:, layout.ROTATION : layout.ROTATION + 9].reshape(-1, 3, 3)
        return turns, motion[:, layout.ORIGIN : layout.ORIGIN + 3]

    def index(self, label: Hashable) -> int:
        """Column of a joint.

        Parameters
        ----------
        label : hashable
            The joint's, that of the body below it.

        Returns
        -------
        int
        """
        if label not in self.joints:
            raise UnknownNameError(f"there is no joint {label!r} in this tree")
        return self.joints.index(label)

    def check(self, q: ArrayLike, velocity: ArrayLike) -> None:
        """Refuse a state that violates the constraints.

        Parameters
        ----------
        q, velocity : array_like, shape (n,)
            Coordinates and their rates.

        Raises
        ------
        InconsistentStateError
            If a constraint is violated, with its label.
        """
        names = self.tables.constraints
        if not names:
            return
        place, speed = self._vector(q, "q"), self._vector(velocity, "velocity")
        gaps, slopes = self.work.constraints(self.tables, place, self.motion(place, speed))
        for name, gap in zip(names, gaps):
            if abs(gap) > CLOSED * max(1.0, np.abs(place).max()):
                raise InconsistentStateError(
                    f"constraint {name!r} is violated by {gap:.3g} at the start: choose q that "
                    f"fulfils it"
                )
        for name, rate in zip(names, slopes @ speed):
            if abs(rate) > CLOSED * max(1.0, np.abs(speed).max()):
                raise InconsistentStateError(
                    f"constraint {name!r} changes at a rate of {rate:.3g} at the start: take "
                    f"velocity(q, momentum(q, velocity)), which keeps it"
                )

    def _run(self, q: Float, p: Float, speed: Float, steps: int, load: Loads) -> TreeTrajectory:
        """Steps from a state, with a sentence where one fails."""
        n, m, h = len(self.joints), len(self.tables.constraints), self.timestep
        places, momenta, speeds = (np.zeros((steps + 1, n)) for _ in range(3))
        places[0], momenta[0], speeds[0] = q, p, speed
        multipliers = np.zeros((steps, self.degree, m))
        iterations = np.zeros(steps, np.int64)
        flat = [array.reshape(-1) for array in (places, momenta, speeds, multipliers)]
        status, done = layout.SOLVED, 0

        def run(first: int, count: int) -> int:
            nonlocal status, done
            done, status = tree_step.simulate(
                self.tables.tree, tuple(self.rule), self.tables.pins, load, self.method,
                h, first, first + count, self.work.arrays, self.work.vectors, (*flat, iterations),
            )  # fmt: skip
            return int(done) - first

        with Deferred() as deferred:
            stopped = in_portions(deferred, run, steps, PORTION // max(1, n * self.degree))
            if status != layout.SOLVED:
                raise not_solved(self, done, status)
            time: Float = h * np.arange(done + 1, dtype=float)
            made = TreeTrajectory(
                time, places[: done + 1], momenta[: done + 1], speeds[: done + 1],
                multipliers[:done], iterations[:done], self.joints,
            )  # fmt: skip
        hand_on(deferred, stopped, made)
        return made

    def motion(self, q: ArrayLike, velocity: ArrayLike) -> Float:
        """Poses, twists and joint axes of all bodies, as the kernels hold them.

        Parameters
        ----------
        q, velocity : array_like, shape (n,)
            Coordinates and their rates.

        Returns
        -------
        ndarray of float, shape (n * RECORD,)
            As in `dynamics.kernels.tree.layout`.
        """
        motion = np.empty(len(self.joints) * layout.RECORD)
        places, speeds = self._vector(q, "q"), self._vector(velocity, "velocity")
        tree_motion.move_at(self.tables.tree, places, speeds, motion)
        return motion

    def _vector(self, value: ArrayLike, name: str) -> Float:
        """A finite number for each joint."""
        found = np.array(value, float)
        n = len(self.joints)
        if found.shape != (n,):
            raise ValueError(f"{name} has shape {found.shape}, the tree's is ({n},)")
        if not np.isfinite(found).all():
            label = self.joints[int(np.flatnonzero(~np.isfinite(found))[0])]
            raise ValueError(f"{name} of joint {label!r} is not finite")
        return found

    def _columns(self, actuated: Sequence[Hashable] | None) -> Int:
        """Columns of the actuated joints."""
        labels = list(self.joints if actuated is None else actuated)
        for label in labels:
            if label not in self.joints:
                raise UnknownNameError(f"actuated: there is no joint {label!r} in this tree")
        if len(set(labels)) < len(labels):
            raise ValueError("actuated names a joint twice")
        return np.array([self.joints.index(label) for label in labels], np.int64)
