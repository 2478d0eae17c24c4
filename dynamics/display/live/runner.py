"""Steps of a model in real time, with controls and one spring that pulls a body."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.errors import ConvergenceError

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.state import State

__all__ = ["Pull", "Runner"]

Float = NDArray[np.float64]
RATE = 12.0  #: rad/s, of the pulled body on its spring, where the time step allows it
COARSEST = 0.5  #: rad, of that vibration in one time step; the spring is explicit
LATEST = 0.1  #: s that may be made up after a slow step; what is missed beyond is dropped


@dataclass(frozen=True, slots=True, eq=False)
class Pull:
    """A damped spring between a point of a body and a point of the world.

    Attributes
    ----------
    body : int
        Number of the body.
    point : ndarray of float, shape (3,)
        In the body's frame, m.
    target : ndarray of float, shape (3,)
        World, m.
    """

    body: int
    point: Float
    target: Float


class Runner:
    """Steps a model by as much as the clock goes on; threads may set its controls and its pull.

    Parameters
    ----------
    model : Model
    state : State
        The start, to which `reset` returns.
    """

    def __init__(self, model: Model, state: State) -> None:
        self.model, self.start = model, state.copy()
        self.state = state.copy()
        self.controls = np.zeros(model.n_controls)
        self.speed, self.paused, self.fault = 1.0, False, ""
        self._pull: Pull | None = None
        self._owed = 0.0
        self._lock = threading.RLock()

    def poses(self) -> Float:
        """Positions and orientations of all bodies, shape (n, 7)."""
        with self._lock:
            return self.state.data[: 7 * self.model.n_bodies].reshape(-1, 7).copy()

    def reset(self) -> None:
        """Return to the start."""
        with self._lock:
            self.state = self.start.copy()
            self.fault, self._owed, self._pull = "", 0.0, None

    def grab(self, body: int, point_world: Float) -> None:
        """Fasten the spring to the point of a body that is here in the world."""
        with self._lock:
            pose = self.poses()[body]
            turned = rotation.rotate(rotation.conjugate(pose[3:]), point_world - pose[:3])
            self._pull = Pull(body, turned, np.array(point_world, float))

    def drag(self, target: Float) -> None:
        """Move the other end of the spring."""
        with self._lock:
            if self._pull is not None:
                self._pull = Pull(self._pull.body, self._pull.point, np.array(target, float))

    def release(self) -> None:
        """Take the spring away."""
        with self._lock:
            self._pull = None

    def advance(self, seconds: float) -> int:
        """Take the steps that fit into so much more time on the clock; returns their number.

        A step that fails pauses the motion, and `fault` holds the message.
        """
        steps = 0
        with self._lock:
            if self.paused or self.fault:
                self._owed = 0.0
                return 0
            self._owed = min(self._owed + self.speed * seconds, max(LATEST, self.model.timestep))
            while self._owed >= self.model.timestep - 1e-12:
                try:
                    self.state = self.model.step(self.state, self.controls, self.wrenches())[0]
                except (ConvergenceError, ValueError) as error:
                    self.fault = str(error)
                    break
                except Exception as error:  # of a function of the user's
                    self.fault = f"{type(error).__name__}: {error}"
                    break
                self._owed -= self.model.timestep
                steps += 1
        return steps

    def wrenches(self) -> dict[object, Float] | None:
        """Force and torque of the spring, by name of the body; None without one."""
        pull = self._pull
        if pull is None:
            return None
        body = self.model.bodies[pull.body]
        pose = self.poses()[pull.body]
        v, omega = np.split(self.model.velocities(self.state)[pull.body], 2)
        point = pose[:3] + rotation.rotate(pose[3:], pull.point)
        speed = v + rotation.rotate(pose[3:], np.cross(omega, pull.point))
        # A light body pulls heavy ones along: its spring is that of the mean of both masses.
        total = sum(one.mass for one in self.model.bodies)
        rate = RATE * (total / body.mass) ** 0.25
        rate = min(rate, COARSEST / self.model.timestep)
        force = body.mass * rate * (rate * (pull.target - point) - speed)
        inside = rotation.rotate(rotation.conjugate(pose[3:]), force)
        return {body.name: np.concatenate([force, np.cross(pull.point, inside)])}
