"""Actions of Gymnasium environments and rollouts of robots, over MuJoCo's own steps.

``python -m benchmarks.actions [robot ...]`` in ``asv_benchmarks`` prints, for the robots of
gymnasium on their floor with contacts that the model finds: microseconds per action of five steps,
and per step of `rollouts` of one second, both with random commands, over as many `mj_step`; and per
beginning of an episode with noise.
"""

import argparse
import time

import numpy as np

import dynamics as dy

from .collisions import HELD, ROBOTS, H, scene

ACTIONS, JOBS, SECONDS = 400, 16, 1.0


def environment(made, noise=0.0):
    """Environment of a scene that begins where the scene does, with a reward of 0."""
    task = dy.gym.Task(
        made.model, lambda q, rate, action: 0.0, start=made.state, noise=noise, skip=HELD
    )
    return dy.gym.MechanismEnv(task)


def held(peer, data, commands):
    """Processor seconds of MuJoCo with each command held."""
    import mujoco

    start = time.process_time()
    for command in commands:
        data.ctrl[:] = command
        mujoco.mj_step(peer, data, HELD)
    return time.process_time() - start


def of_actions(made, rounds=5):
    """Least microseconds per action of `dynamics` and of MuJoCo, in turns."""
    import mujoco

    env, peer = environment(made), made.peer()
    low, high = peer.actuator_ctrlrange.T
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (ACTIONS, *env.action_space.shape))
    actions = actions.astype(np.float32)
    commands = 0.5 * (low + high) + 0.5 * (high - low) * actions
    ours, theirs = [], []
    for _ in range(rounds):
        env.reset(seed=0)
        start = time.process_time()
        for action in actions:
            env.step(action)
        ours.append(time.process_time() - start)
        theirs.append(held(peer, mujoco.MjData(peer), commands))
    return 1e6 * min(ours) / ACTIONS, 1e6 * min(theirs) / ACTIONS


def of_rollouts(made, rounds=5):
    """Least microseconds per step of `rollouts` and of MuJoCo's own loop, in turns."""
    import mujoco

    peer, steps = made.peer(), round(SECONDS / H)
    low, high = peer.actuator_ctrlrange.T
    commands = np.random.default_rng(0).uniform(low, high, (JOBS, steps // HELD, low.size))
    tables = [np.repeat(made.model.controls(one), HELD, axis=0) for one in commands]
    jobs = [dy.Job(made.state, SECONDS, every=10, controls=table) for table in tables]
    ours, theirs = [], []
    for _ in range(rounds):
        start = time.process_time()
        dy.rollouts(made.model, jobs, threads=1)
        ours.append(time.process_time() - start)
        sessions = [mujoco.MjData(peer) for _ in range(JOBS)]
        theirs.append(sum(held(peer, *one) for one in zip(sessions, commands)))
    scale = 1e6 / (JOBS * steps)
    return scale * min(ours), scale * min(theirs)


def of_resets(made, rounds=20):
    """Least microseconds per beginning of an episode with noise on all coordinates."""
    env, found = environment(made, noise=0.01), []
    for seed in range(rounds):
        start = time.process_time()
        env.reset(seed=seed)
        found.append(time.process_time() - start)
    return 1e6 * min(found)


class Actions:
    """An action and a step of rollouts, over MuJoCo's time for the same steps."""

    params = (list(ROBOTS),)
    param_names = ("robot",)
    timeout = 600

    def setup(self, name):
        try:
            import gymnasium  # noqa: F401
            import mujoco  # noqa: F401
        except ImportError as error:
            raise NotImplementedError("mujoco or gymnasium is not installed") from error
        self.scene = scene(name)
        self.env = environment(self.scene)
        self.env.reset(seed=0)
        self.action = np.zeros(self.env.action_space.shape, np.float32)
        self.env.step(self.action)
        self.noisy = environment(self.scene, noise=0.01)
        self.noisy.reset(seed=0)

    def time_action(self, name):
        self.env.step(self.action)

    def time_reset(self, name):
        self.noisy.reset()

    def track_action_over_mujoco(self, name):
        ours, theirs = of_actions(self.scene)
        return ours / theirs

    def track_rollouts_over_mujoco(self, name):
        ours, theirs = of_rollouts(self.scene)
        return ours / theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("robots", nargs="*", default=list(ROBOTS))
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    print("robot: actions: ours, MuJoCo, us | ratio", end=" | ")
    print("rollouts: ours, MuJoCo, us per step | ratio | reset, us")
    for name in chosen.robots:
        made = scene(name)
        ours, theirs = of_actions(made, chosen.rounds)
        print(f"{name:14s} {ours:7.1f} {theirs:7.1f} | {ours / theirs:5.2f}", end=" | ")
        ours, theirs = of_rollouts(made, chosen.rounds)
        print(f"{ours:7.2f} {theirs:7.2f} | {ours / theirs:5.2f}", end=" | ")
        print(f"{of_resets(made):6.0f}", flush=True)


if __name__ == "__main__":
    main()
