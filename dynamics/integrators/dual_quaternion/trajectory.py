"""States and trajectories of one rigid body: energy and momentum over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation
from dynamics.integrators.dual_quaternion.forces import AnchoredSpring, WorldForce
from dynamics.integrators.dual_quaternion.poses import DualQuaternion
from dynamics.rotation import as_numbers

if TYPE_CHECKING:
    from dynamics.integrators.dual_quaternion.rigid_body import RigidBody

__all__ = ["RigidBodyState", "RigidBodyTrajectory"]

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class RigidBodyState:
    """Pose and velocity of a body.

    Attributes
    ----------
    time : float
        s.
    position : ndarray of float, shape (3,)
        Reference point in the world, m.
    orientation : ndarray of float, shape (4,)
        Unit quaternion, scalar first, body to world.
    twist : ndarray of float, shape (6,)
        ``[omega; v]``: angular velocity, rad/s, and velocity of the reference point, m/s, both
        along the body's axes.

    Raises
    ------
    ValueError
        If the orientation is zero or a number is not finite.
    """

    time: float
    position: Float
    orientation: Float
    twist: Float

    def __post_init__(self) -> None:
        q = as_numbers(self.orientation, (4,), "the orientation")
        for name, value in (
            ("time", float(as_numbers(self.time, (), "the time"))),
            ("position", as_numbers(self.position, (3,), "the position")),
            ("orientation", rotation.normalized(q)),
            ("twist", as_numbers(self.twist, (6,), "the twist")),
        ):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    def pose(self) -> DualQuaternion:
        """Position and orientation as a unit dual quaternion.

        Returns
        -------
        DualQuaternion
        """
        return DualQuaternion.from_position(self.position, self.orientation)


@dataclass(frozen=True, slots=True, eq=False)
class RigidBodyTrajectory:
    """Motion of a body at n + 1 nodes.

    Attributes
    ----------
    body : RigidBody
        Whose motion it is.
    time : ndarray of float, shape (n + 1,)
        s.
    position : ndarray of float, shape (n + 1, 3)
        Reference point in the world, m.
    orientation : ndarray of float, shape (n + 1, 4)
        Unit quaternions, scalar first, body to world.
    twist : ndarray of float, shape (n + 1, 6)
        ``[omega; v]`` along the body's axes, rad/s and m/s.
    iterations : ndarray of int, shape (n,)
        Newton iterations of each step.
    """

    body: RigidBody
    time: Float
    position: Float
    orientation: Float
    twist: Float
    iterations: NDArray[np.int64]

    def state(self, k: int = -1) -> RigidBodyState:
        """State at a node.

        Parameters
        ----------
        k : int
            Number of the node; by default the last.

        Returns
        -------
        RigidBodyState
        """
        return RigidBodyState(self.time[k], self.position[k], self.orientation[k], self.twist[k])

    def energy(self) -> Float:
        """Kinetic energy, and potential energy of world forces and springs.

        Returns
        -------
        ndarray of float, shape (n + 1,)
            J; a world force's potential is zero where it acts at the world's origin.
        """
        total = 0.5 * np.einsum("ki,ij,kj->k", self.twist, self.body.inertia, self.twist)
        for force in self.body.forces:
            if isinstance(force, WorldForce):
                total -= self._point(force.point) @ force.force
            elif isinstance(force, AnchoredSpring):
                length = np.linalg.norm(self._point(force.point) - force.anchor, axis=1)
                total += 0.5 * force.stiffness * (length - force.length) ** 2
        return np.asarray(total)

    def momentum(self, about: ArrayLike = (0.0, 0.0, 0.0)) -> Float:
        """Angular and linear momentum in the world.

        Parameters
        ----------
        about : array_like, shape (3,)
            Point of the world that the angular momentum is about, m.

        Returns
        -------
        ndarray of float, shape (n + 1, 6)
            N m s and N s, along the world's axes.
        """
        arm = self.position - as_numbers(about, (3,), "the point")
        p = self.twist @ self.body.inertia
        angular = rotation.rotate(self.orientation, p[:, :3])
        linear = rotation.rotate(self.orientation, p[:, 3:])
        return np.concatenate([angular + np.cross(arm, linear), linear], axis=1)

    def _point(self, point: Float) -> Float:
        """A point of the body, in the world, at every node."""
        return self.position + rotation.rotate(self.orientation, point)
