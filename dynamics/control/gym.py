"""Gymnasium environments over any mechanism, one at a time or many side by side (extra ``gym``).

Observations are joint coordinates, their rates and readings of sensors, actions the controls over
their largest values; what is to be learned is a function of the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import graphsys as gs
from dynamics import rotation
from dynamics.control.episode_run import EpisodeRun, begun
from dynamics.control.lane_episodes import LaneEpisodes
from dynamics.display.animation import Sketch
from dynamics.errors import InconsistentStateError, check_model
from dynamics.kernels.base.jit import CHECKED
from dynamics.kernels.base.lanes import LANES
from dynamics.kinematics.joint_space import JointSpace
from dynamics.kinematics.lane_runs import check_lanes
from dynamics.kinematics.near_run import Part
from dynamics.parts.sensors import Sensor
from dynamics.sensors.suite import Sensors, read_side_by_side
from dynamics.simulation import check_start
from dynamics.state import State
from dynamics.tables.inputs import check_function, check_positive
from dynamics.trajectory import Trajectory

if TYPE_CHECKING:
    from dynamics.model import Model

try:
    import gymnasium
    from gymnasium import Env
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:  # `Task` says so
    gymnasium, Env, VectorEnv = None, object, object

__all__ = ["MechanismEnv", "MechanismVectorEnv", "Task"]


def __dir__() -> list[str]:
    return list(__all__)


Float = NDArray[np.float64]
DRAWN = 100  #: Starts of an episode, until one is without overlap.


class Task:
    """Task for reinforcement learning on a mechanism.

    Parameters
    ----------
    model : Model
        Model with actuated joints.
    reward : callable
        ``reward(q, rate, action)`` of coordinates, their rates after the step, and the action.
    start : State, optional
        Initial state of episodes; by default the model's initial state.
    terminated : callable, optional
        ``terminated(q, rate)`` returns True to end an episode.
    most : float or array_like, shape (c,), optional
        Largest control, for an action of 1: N, N m, or a target of a servo. By default from the
        ``control_limits`` of the joint, or else 1.
    noise : float, optional
        Half-width of the random change of all coordinates and rates at the start of an episode,
        within the limits of joints; must be 0 for mechanisms with loops. Starts in overlap are
        drawn again.
    seconds : float, optional
        Length of an episode, s, after which it is truncated.
    skip : int, optional
        Simulation steps per action.
    sensors : Sensors or iterable of Sensor or hashable, optional
        Sensors whose readings follow coordinates and rates in the observation. The seed of the
        environment determines their noise, which differs from episode to episode.

    Raises
    ------
    ValueError
        If the mechanism takes no controls, starts cannot be varied, or a number is invalid.
    InconsistentStateError
        If the start has open loops, overlaps, or joints beyond a limit.
    MissingExtraError
        If gymnasium is not installed.
    """

    def __init__(
        self,
        model: Model,
        reward: Callable[[Float, Float, Float], float],
        *,
        start: State | None = None,
        terminated: Callable[[Float, Float], bool] | None = None,
        most: ArrayLike | None = None,
        noise: float = 0.01,
        seconds: float = 10.0,
        skip: int = 1,
        sensors: Sensors | Iterable[Sensor | Hashable] | None = None,
    ) -> None:
        if gymnasium is None:
            raise gs.MissingExtraError("dynamics.gym", "gymnasium", "gym")
        check_model(model, "gym.Task")
        if model.n_controls == 0:
            raise ValueError("the mechanism takes no controls; make a joint actuated")
        check_function("reward", reward, "q, rate, action")
        if terminated is not None:
            check_function("terminated", terminated, "q, rate")
        if noise and (model.tables.cycles or model.mechanism.couplings):
            raise ValueError(
                "starts of a mechanism with loops or couplings cannot be varied; use noise=0"
            )
        self.model, self.reward, self.terminated = model, reward, terminated
        if start is not None and not isinstance(start, State):
            raise TypeError(f"start must be a state, as of model.initial_state(), not {start!r}")
        self.start = model.initial_state() if start is None else start.copy()
        self.space = JointSpace(model)
        check_positive(seconds=seconds)
        if not (isinstance(skip, (int, np.integer)) and skip >= 1):
            raise ValueError(f"skip is {skip}, and must be an integer of at least 1")
        if not (np.isfinite(noise) and noise >= 0.0):
            raise ValueError(f"noise is {noise}, and must be finite and not negative")
        self.noise, self.skip = float(noise), int(skip)
        self.steps = max(1, round(seconds / (model.timestep * self.skip)))
        self.most = _largest(model) if most is None else _checked(most, model.n_controls)
        check_start(model, self.start)
        self.least, self.greatest = _limits(model, self.space)
        given = () if sensors is None else sensors
        self.sensors = given if isinstance(given, Sensors) else Sensors(model, given)
        count = 2 * self.space.size + sum(self.sensors.sizes.values())
        wide = np.full(count, np.inf, np.float32)
        self.observation_space = gymnasium.spaces.Box(-wide, wide, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, self.most.shape, np.float32)

    def __repr__(self) -> str:
        shapes = self.observation_space.shape[0], self.most.size
        return f"Task({shapes[0]} observations, {shapes[1]} actions, {self.steps} steps)"

    def begin(self, rng: Any) -> Float:
        """Numbers of a state to begin with.

        Parameters
        ----------
        rng : numpy.random.Generator

        Returns
        -------
        ndarray of float, shape (state size,)

        Raises
        ------
        InconsistentStateError
            If each of many starts is in overlap.
        """
        if not self.noise:
            return self.start.data.copy()
        here = np.stack(self.space.read(self.start))
        for left in reversed(range(DRAWN)):
            state = self.start.copy()
            moved = here + rng.uniform(-self.noise, self.noise, here.shape)
            self.space.place(state, *np.clip(moved, self.least, self.greatest))
            try:
                check_start(self.model, state)
            except InconsistentStateError:
                if left == 0:
                    raise
            else:
                break
        return state.data

    def trace(self, rng: Any) -> Trace:
        """Trace of an episode that begins.

        Parameters
        ----------
        rng : numpy.random.Generator
            Gives the seed of the noise, where there are sensors.

        Returns
        -------
        Trace
        """
        if not self.sensors.sensors:
            return Trace(self.sensors)
        return Trace(self.sensors.copy(int(rng.integers(2**63))))

    def advance(self, states: Float, actions: Float, traces: Sequence[Trace]) -> NDArray[np.bool_]:
        """Hold actions for ``skip`` steps; which of the states came through.

        Parameters
        ----------
        states : ndarray of float, shape (k, state size)
            Changed; one that fails is left before the step that did.
        actions : ndarray of float, shape (k, c)
        traces : sequence of Trace
            Changed.

        Returns
        -------
        ndarray of bool, shape (k,)
        """
        done = np.ones(len(states), bool)
        for i, (action, trace) in enumerate(zip(actions, traces)):
            run = trace.run
            if run is None or not run.leads_to(states[i]):
                time = trace.steps * self.model.timestep
                run = begun(self.space, states[i], time, trace.interval, self.skip, self.most)
            took = run.act(action)
            states[i] = run.numbers
            trace.steps += took
            trace.interval = run.interval
            trace.controls = self.most * np.clip(action, -1.0, 1.0)
            done[i] = took == self.skip
            trace.run = run if took == self.skip else None
            trace.part = None if took == self.skip else run.part
        return done

    def advance_in_lanes(
        self, episodes: LaneEpisodes, states: Float, actions: Float, traces: Sequence[Trace]
    ) -> NDArray[np.bool_]:
        """`advance` of up to eight environments side by side.

        Parameters
        ----------
        episodes : LaneEpisodes
            Changed.
        states, actions, traces
            As of `advance`.

        Returns
        -------
        ndarray of bool, shape (k,)
        """
        times = [trace.steps * self.model.timestep for trace in traces]
        before = [trace.interval for trace in traces]
        took, intervals = episodes.act(states, actions, times, before)
        for trace, action, steps, interval in zip(traces, actions, took.tolist(), intervals):
            trace.steps, trace.interval = trace.steps + steps, interval
            trace.controls = self.most * np.clip(action, -1.0, 1.0)
        return np.asarray(took == self.skip)

    def look(
        self, states: Float, actions: Float, traces: Sequence[Trace]
    ) -> tuple[Any, Float, NDArray[np.bool_]]:
        """Observations, rewards, and which episodes end.

        Parameters
        ----------
        states : ndarray of float, shape (k, state size)
        actions : ndarray of float, shape (k, c)
        traces : sequence of Trace

        Returns
        -------
        observations : ndarray of float32, shape (k, 2 m + numbers of sensors)
        rewards : ndarray of float, shape (k,)
        ends : ndarray of bool, shape (k,)
        """
        found = self._coordinates(states, traces)
        q, rate = found[:, 0], found[:, 1]
        rewards = np.array([self._paid(*one) for one in zip(q, rate, actions)])
        if self.terminated is None:
            ends = np.zeros(len(states), bool)
        else:
            ends = np.array([bool(self.terminated(*one)) for one in zip(q, rate)])
        seen = found.reshape(len(states), -1).astype(np.float32)
        if self.sensors.sensors:
            seen = np.concatenate([seen, *self._sense(states, traces)], 1, dtype=np.float32)
        return seen, rewards, ends

    def _paid(self, q: Float, rate: Float, action: Float) -> float:
        """Reward, one number."""
        paid = self.reward(q, rate, action)
        try:
            return float(paid)
        except (TypeError, ValueError):
            raise TypeError(f"reward returned {paid!r}, and must return a number") from None

    def _coordinates(self, states: Float, traces: Sequence[Trace]) -> Float:
        """Coordinates and their rates, shape (k, 2, m): those that runs have seen, or measured."""
        seen: list[Float] = []
        for state, trace in zip(states, traces):
            run = trace.run
            if run is None or run.seen is None or not run.leads_to(state):
                if self.model.near is None:
                    return self.space.observed(states)
                return self.space.measured(states, self.motion(states, traces).twists)
            seen.append(run.seen)
        return np.concatenate(seen) if len(seen) > 1 else seen[0]

    def motion(self, states: Float, traces: Sequence[Trace]) -> Trajectory:
        """States with their near pairs, one of each trace.

        Parameters
        ----------
        states : ndarray of float, shape (k, state size)
        traces : sequence of Trace
            Changed.

        Returns
        -------
        Trajectory
        """
        steps = np.array([trace.steps for trace in traces], float)
        motion = Trajectory(self.model, self.model.timestep * steps, states)
        motion.intervals = np.array([trace.interval for trace in traces])
        unknown = np.full(self.model.n_controls, np.nan)
        acted = [unknown if trace.controls is None else trace.controls for trace in traces]
        motion.acted = np.array(acted)
        if self.model.near is not None:
            for state, trace in zip(states, traces):
                if trace.run is not None and trace.run.leads_to(state):
                    trace.part = trace.run.part
                elif trace.part is None:
                    entry = self.model.near.entry(self.model.state_of(state.copy()))
                    trace.part = Part(entry.near.pairs, entry.state.data[None])
            motion.parts = tuple(trace.part for trace in traces if trace.part is not None)
        return motion

    def _sense(self, states: Float, traces: Sequence[Trace]) -> Iterable[Float]:
        """Readings of all sensors, each of shape (k, numbers)."""
        motion = self.motion(states, traces)
        return read_side_by_side([trace.sensors for trace in traces], motion).values()


@dataclass(slots=True, eq=False)
class Trace:
    """Part of an episode's state that sensors need beyond its numbers.

    Attributes
    ----------
    sensors : Sensors
        With the noise of this episode.
    steps : int
        Simulation steps since its start.
    interval : (float, float)
        See `State.interval`.
    controls : ndarray of float, shape (c,), or None
        See `State.controls`.
    part : Part or None
        One record with the pairs of shapes that are near, where the model finds its contacts; None
        where nothing has asked for it.
    run : EpisodeRun, optional
        An action goes on where the one before ended.
    """

    sensors: Sensors
    steps: int = 0
    interval: tuple[float, float] = (0.0, 0.0)
    controls: Float | None = None
    part: Part | None = None
    run: EpisodeRun | None = None


def _acting(actions: Any, space: Any) -> Float:
    """Actions as numbers, checked."""
    return rotation.as_numbers(actions, space.shape, "action")


def _checked(most: ArrayLike, count: int) -> Float:
    """Largest control of each joint as given."""
    numbers = rotation.as_numbers(most, (...,), "most")
    if numbers.shape not in ((), (1,), (count,)) or not (numbers > 0.0).all():
        raise ValueError(f"most is {most!r}, and must be positive: one number, or {count}")
    return np.broadcast_to(numbers, (count,)).copy()


def _largest(model: Model) -> Float:
    """Largest control that limits allow, 1 without."""
    found = np.ones(model.n_controls)
    for name, (first, count) in model.tables.control_start.items():
        mechanism = model.mechanism
        owner: Any = (mechanism.joints | mechanism.springs | mechanism.thrusters).get(name)
        limits = getattr(owner, "control_limits", None)
        if limits is not None:
            most = np.abs(np.broadcast_to(np.asarray(limits, float), (count, 2))).max(axis=1)
            known = np.isfinite(most) & (most > 0.0)
            found[first : first + count] = np.where(known, most, 1.0)
    return found


def _limits(model: Model, space: JointSpace) -> tuple[Float, Float]:
    """Least and greatest coordinates and rates, shape (2, m) each."""
    least = np.full((2, space.size), -np.inf)
    greatest = -least
    for name, (first, count) in space.start.items():
        joint = model.mechanism.joints[name]
        for row, limits in enumerate((joint.limits, joint.velocity_limits)):
            if limits is not None:
                ends = np.broadcast_to(np.asarray(limits, float), (count, 2))
                least[row, first : first + count] = ends[:, 0]
                greatest[row, first : first + count] = ends[:, 1]
    return least, greatest


class MechanismEnv(Env):
    """Environment of gymnasium with one mechanism.

    If a step cannot be solved, the episode ends with ``info["failed"]``.

    Parameters
    ----------
    task : Task
    render_mode : {None, "rgb_array"}, optional
        Needs the extra ``plot``.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}

    def __init__(self, task: Task, render_mode: str | None = None) -> None:
        _check_task(task)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(
                f'render_mode is {render_mode!r}, and must be "rgb_array" or None; '
                "model.view(state) moves a robot in a browser"
            )
        self.task, self.render_mode = task, render_mode
        self._sketch: Sketch | None = None
        rate = 1.0 / (task.skip * task.model.timestep)
        self.metadata = {**self.metadata, "render_fps": rate}
        self.observation_space, self.action_space = task.observation_space, task.action_space
        self._states, self._count = task.start.data[None].copy(), 0
        self._traces = [Trace(task.sensors)]

    def __repr__(self) -> str:
        return f"MechanismEnv({self.task!r})"

    @property
    def state(self) -> State:
        """State of the mechanism, a copy."""
        return self.task.motion(self._states, self._traces)[0].copy()

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode; see `gymnasium.Env.reset`."""
        super().reset(seed=seed)
        self._states, self._count = self.task.begin(self.np_random)[None].copy(), 0
        self._traces = [self.task.trace(self.np_random)]
        still = np.zeros((1, self.task.model.n_controls))
        return self.task.look(self._states, still, self._traces)[0][0], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step; see `gymnasium.Env.step`."""
        actions = _acting(action, self.action_space)[None]
        came = self.task.advance(self._states, actions, self._traces)[0]
        self._count += 1
        seen, reward, ends = self.task.look(self._states, actions, self._traces)
        late = self._count >= self.task.steps
        return seen[0], float(reward[0]), bool(ends[0] or not came), late, {"failed": not came}

    def render(self) -> NDArray[np.uint8] | None:
        """Draw the state with lines between joints, shape (480, 480, 3); None without a mode.

        `dynamics.export_html` of a motion shows bodies as they are.
        """
        if self.render_mode is None:
            return None
        if self._sketch is None:
            self._sketch = Sketch(self.task.model)
        state = self.state
        state.time = self._count * self.task.skip * self.task.model.timestep
        picture: NDArray[np.uint8] = self._sketch.draw(state)
        return picture


def _check_task(task: Task) -> None:
    """Refuse what is no task, a model mostly."""
    if not isinstance(task, Task):
        raise TypeError(f"an environment is of a task, not {task!r}; use gym.Task(model, reward)")


class MechanismVectorEnv(VectorEnv):
    """Environment of gymnasium with many copies of a mechanism, stepped in threads.

    A finished episode restarts in the next step, whose action and reward have no meaning.

    Parameters
    ----------
    task : Task
    num_envs : int
        At least 1.
    threads : int, optional
        At least 1; after `close` there is one.
    lanes : bool, optional
        Simulate eight environments at once in each thread, one in each lane of the vector
        registers: see `dynamics.rollouts`. Faster if contacts and limits seldom act.

    Raises
    ------
    TypeError
        If the task is not a `Task`.
    ValueError
        For numbers that are not positive, and if the model cannot be simulated in lanes.
    """

    def __init__(self, task: Task, num_envs: int, threads: int = 1, *, lanes: bool = False) -> None:
        _check_task(task)
        if lanes:
            check_lanes(task.model)
            lanes = not CHECKED
        for what, count in (("num_envs", num_envs), ("threads", threads)):
            if isinstance(count, bool) or not (isinstance(count, (int, np.integer)) and count >= 1):
                raise ValueError(f"{what} is {count!r}, and must be an integer of at least 1")
        self.task, self.num_envs = task, num_envs
        self.metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}
        self.render_mode, self.spec = None, None
        self.single_observation_space = task.observation_space
        self.single_action_space = task.action_space
        self.observation_space = batch_space(task.observation_space, num_envs)
        self.action_space = batch_space(task.action_space, num_envs)
        self._threads = int(threads)
        self._pool = self._started()
        ends = np.linspace(0, num_envs, threads + 1).astype(int)
        if lanes:
            ends = np.append(np.arange(0, num_envs, LANES), num_envs)
        self._parts = [slice(a, b) for a, b in zip(ends, ends[1:])]
        self._lanes = self._groups() if lanes else None
        self._states = np.tile(task.start.data, (num_envs, 1))
        self._counts, self._over = np.zeros(num_envs, int), np.zeros(num_envs, bool)
        self._rngs: list[Any] = [np.random.default_rng() for _ in range(num_envs)]
        self._traces = [Trace(task.sensors) for _ in range(num_envs)]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Any = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start all episodes; environment i with seed s is like a single one with seed s + i."""
        seeds = [None if seed is None else seed + i for i in range(self.num_envs)] if (
            seed is None or isinstance(seed, (int, np.integer))
        ) else list(seed)  # fmt: skip
        if len(seeds) != self.num_envs:
            raise ValueError(f"there are {len(seeds)} seeds for {self.num_envs} environments")
        for i, one in enumerate(seeds):
            if one is not None:
                self._rngs[i] = gymnasium.utils.seeding.np_random(one)[0]
            self._states[i] = self.task.begin(self._rngs[i])
            self._traces[i] = self.task.trace(self._rngs[i])
        self._counts[:], self._over[:] = 0, False
        return self._look(np.zeros((self.num_envs, self.task.model.n_controls)))[0], {}

    def _look(self, actions: Float) -> tuple[Any, Float, NDArray[np.bool_]]:
        return self.task.look(self._states, actions, self._traces)

    def step(self, actions: Any) -> tuple[Any, Float, Any, Any, dict[str, Any]]:
        """Take a step in all environments; see `gymnasium.vector.VectorEnv.step`."""
        actions = _acting(actions, self.action_space)
        new = np.flatnonzero(self._over)
        before = self._states.copy()

        def run(part: slice) -> NDArray[np.bool_]:
            states, traces = before[part], self._traces[part]
            if self._lanes is not None:
                episodes = self._lanes[part.start // LANES]
                return self.task.advance_in_lanes(episodes, states, actions[part], traces)
            return self.task.advance(states, actions[part], traces)

        done = list(self._pool.map(run, self._parts) if self._pool else map(run, self._parts))
        came = np.concatenate(done)
        self._states, self._counts = before, self._counts + 1
        for i in new:
            self._states[i], self._counts[i], came[i] = self.task.begin(self._rngs[i]), 0, True
            self._traces[i] = self.task.trace(self._rngs[i])
        seen, rewards, ends = self._look(actions)
        ends |= ~came
        rewards[new], ends[new] = 0.0, False
        late = self._counts >= self.task.steps
        self._over = ends | late
        return seen, rewards, ends, late, {"failed": ~came}

    def close_extras(self, **kwargs: Any) -> None:
        """Stop the threads."""
        pool = getattr(self, "_pool", None)  # gymnasium closes what was refused, too
        if pool is not None:
            pool.shutdown()
            self._pool, self._threads = None, 1

    def __getstate__(self) -> dict[str, Any]:
        lanes: list[LaneEpisodes] | None = None if self._lanes is None else []
        return {**self.__dict__, "_pool": None, "_lanes": lanes}  # threads and runs stay here

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._pool = self._started()
        self._lanes = None if self._lanes is None else self._groups()

    def _groups(self) -> list[LaneEpisodes]:
        """Episodes of each part, in lanes."""
        task = self.task
        return [LaneEpisodes(task.model, task.skip, task.most) for _ in self._parts]

    def _started(self) -> ThreadPoolExecutor | None:
        """Threads; None where there is one."""
        return ThreadPoolExecutor(self._threads) if self._threads > 1 else None
