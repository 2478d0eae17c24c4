"""Actions of Gymnasium environments and rollouts of robots, over MuJoCo's own steps.

``python -m benchmarks.actions [robot ...]`` in ``asv_benchmarks`` prints, for the robots of
gymnasium on their floor with contacts that the model finds: microseconds per action of five steps,
and per step of `rollouts` of one second, both with random commands, over as many `mj_step`.
"""

import argparse
import time

import numpy as np

import dynamics as dy

from .collisions import ROBOTS, H, scene

SKIP, ACTIONS, JOBS, SECONDS = 5, 400, 16, 1.0


def environment(made):
    """Environment of a scene, and a session of MuJoCo."""
    task = dy.gym.Task(made.model, lambda q, rate, action: 0.0, start=made.state, noise=0.0,
                       skip=SKIP)  # fmt: skip
    return dy.gym.MechanismEnv(task)


def of_actions(made, rounds=5, count=ACTIONS):
    """Least microseconds per action of `dynamics` and of MuJoCo, in turns."""
    import mujoco

    env, peer = environment(made), made.peer()
    low, high = peer.actuator_ctrlrange.T
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (count, *env.action_space.shape))
    actions = actions.astype(np.float32)
    commands = 0.5 * (low + high) + 0.5 * (high - low) * actions
    ours, theirs = [], []
    for _ in range(rounds):
        env.reset(seed=0)
        start = time.process_time()
        for action in actions:
            env.step(action)
        ours.append(time.process_time() - start)
        data = mujoco.MjData(peer)
        start = time.process_time()
        for command in commands:
            data.ctrl[:] = command
            mujoco.mj_step(peer, data, SKIP)
        theirs.append(time.process_time() - start)
    return 1e6 * min(ours) / count, 1e6 * min(theirs) / count


def of_rollouts(made, rounds=5):
    """Least microseconds per step of `rollouts` and of MuJoCo's own loop, in turns."""
    import mujoco

    peer, steps = made.peer(), round(SECONDS / H)
    low, high = peer.actuator_ctrlrange.T
    commands = np.random.default_rng(0).uniform(low, high, (JOBS, steps // SKIP, low.size))
    jobs = [
        dy.Job(made.state, SECONDS, every=10,
               controls=np.repeat(made.model.controls(one), SKIP, axis=0))
        for one in commands
    ]  # fmt: skip
    ours, theirs = [], []
    for _ in range(rounds):
        start = time.process_time()
        dy.rollouts(made.model, jobs, threads=1)
        ours.append(time.process_time() - start)
        sessions = [mujoco.MjData(peer) for _ in range(JOBS)]
        start = time.process_time()
        for data, several in zip(sessions, commands):
            for command in several:
                data.ctrl[:] = command
                mujoco.mj_step(peer, data, SKIP)
        theirs.append(time.process_time() - start)
    scale = 1e6 / (JOBS * steps)
    return scale * min(ours), scale * min(theirs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("robots", nargs="*", default=list(ROBOTS))
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    print("robot: actions: ours, MuJoCo, us | ratio | rollouts: ours, MuJoCo, us per step | ratio")
    for name in chosen.robots:
        made = scene(name)
        a, b = of_actions(made, chosen.rounds)
        c, d = of_rollouts(made, chosen.rounds)
        print(f"{name:14s} {a:7.1f} {b:7.1f} | {a / b:5.2f} | {c:7.2f} {d:7.2f} | {c / d:5.2f}",
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
