"""Scenes with contacts in MuJoCo: at the step of `dynamics`, and as deep as it is told to be.

Contacts of MuJoCo are springs that act once something has gone in, by up to the way of a step. So a
bound on the depth asks for stiff contacts and for small steps, and that is what it is timed at.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dynamics as dy

H, SECONDS = 0.01, 10.0
#: Parts into which a step is cut, one after another.
PARTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
#: Depth that is asked for, m.
BOUND = 1e-5


def stiffest(h):
    """Attributes of the stiffest contact that stays stable: two steps, and next to no give."""
    return f'solref="{2.0 * h!r} 1" solimp=".9999 .9999 .0001"'


@dataclass(frozen=True)
class Scene:
    """One motion, in both.

    ``text(h, contact)`` is the MJCF with these attributes at its contacts, and with a sensor of the
    place of every point that may touch, the centre of a sphere of ``radius``; ``begin(data)``
    brings it to the start. ``controls`` has a row for each step of H.
    """

    name: str
    model: dy.Model
    state: dy.State
    text: Callable[[float, str], str]
    begin: Callable[[Any], None]
    radius: float
    controls: np.ndarray | None = None

    def ours(self, every=1000):
        """Ten seconds by `dynamics`."""
        return dy.simulate(self.model, self.state, SECONDS, controls=self.controls, every=every)

    def _peer(self, parts, contact):
        """Model and data of MuJoCo at the start."""
        import mujoco

        h = H / parts
        model = mujoco.MjModel.from_xml_string(self.text(h, contact(h)))
        data = mujoco.MjData(model)
        self.begin(data)
        return model, data

    def _rows(self):
        return np.zeros((round(SECONDS / H), 0)) if self.controls is None else self.controls

    def clock(self, parts=1, contact=lambda h: ""):
        """Processor seconds of ten seconds of MuJoCo, without sensors."""
        import mujoco

        model, data = self._peer(parts, contact)
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_SENSOR
        start = time.process_time()
        if self.controls is None:
            mujoco.mj_step(model, data, round(SECONDS / H) * parts)
        else:
            for row in self.controls:
                data.ctrl[:] = row
                mujoco.mj_step(model, data, parts)
        return time.process_time() - start

    def depth(self, parts=1, contact=lambda h: ""):
        """Metres below the ground in MuJoCo at worst; inf where it breaks down."""
        import mujoco
        from mujoco import rollout

        model, data = self._peer(parts, contact)
        kind, lowest = mujoco.mjtState.mjSTATE_FULLPHYSICS, np.inf
        state = np.empty(mujoco.mj_stateSize(model, kind))
        for row in self._rows():
            mujoco.mj_getState(model, data, state, kind)
            _, places = rollout.rollout(
                model, data, state[None], np.tile(row, (1, parts, 1)) if row.size else None,
                nstep=parts, initial_warmstart=data.qacc_warmstart[None].copy(),
            )  # fmt: skip
            lowest = min(lowest, places[..., 2::3].min())
        return np.inf if any(data.warning.number) else self.radius - lowest


def as_deep(scene, bound=BOUND, limit=10.0):
    """Parts of a step, depth and seconds of MuJoCo at the bound, or at the last within a limit."""
    found = None
    for parts in PARTS:
        depth = scene.depth(parts, stiffest)
        if found is None or depth < found[1]:
            found = parts, depth, scene.clock(parts, stiffest)
        if depth <= bound or found[2] > 0.4 * limit:
            break
    return found


def in_turns(scene, rounds=3):
    """Least processor seconds, of `dynamics` and of MuJoCo's default at the same step."""
    scene.ours()
    ours, theirs = [], []
    for _ in range(rounds):
        start = time.process_time()
        scene.ours()
        ours.append(time.process_time() - start)
        theirs.append(scene.clock())
    return min(ours), min(theirs)


def table(scenes):
    """Rows: name, ours, iterations a step, lowest gap; MuJoCo's at the step; MuJoCo's as deep."""
    for scene in scenes:
        ours, theirs = in_turns(scene)
        motion = scene.ours(every=1)
        lowest = min(motion.contact(name).gap.min() for name in motion.contacts)
        iterations = motion.info["iterations"] / motion.info["steps"]
        yield scene.name, ours, iterations, lowest, theirs, scene.depth(), *as_deep(scene)


def show(scenes):
    """Print the table."""
    print("scene: ms, iterations a step, lowest gap m | MuJoCo: ms, deepest m, our time over it |")
    print("  stiffest: step s, deepest m, ms, our time over it")
    for name, ours, iterations, lowest, theirs, deep, parts, least, took in table(scenes):
        print(
            f"{name:20s} {1e3 * ours:8.1f} {iterations:6.2f} {lowest:9.1e} | {1e3 * theirs:8.1f} "
            f"{deep:9.1e} {ours / theirs:6.2f} | {H / parts:8.1e} {least:9.1e} {1e3 * took:9.1f} "
            f"{ours / took:8.5f}",
            flush=True,
        )
