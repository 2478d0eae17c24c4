"""Contacts that models find by themselves, compared with MuJoCo's native loop at the same step.

``python -m benchmarks.collisions [scene ...]`` in ``asv_benchmarks`` prints the table: heaps of
balls and of mixed shapes, dominoes, a humanoid that falls on itself, an ant and a half cheetah on
their floor. Both read the same MJCF, contacts with a round cone, without commands; links that fixed
joints hold together are one body, as in MuJoCo. With ``--depth`` it prints how deep MuJoCo's bodies
go into each other, at the same step and in the time that `dynamics` takes.
"""

import argparse
import tempfile
import time
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import dynamics as dy
from dynamics import rotation

H, SECONDS = 0.01, 10.0
WORLD = """<mujoco><option timestep="{h}" integrator="Euler" cone="elliptic"/><worldbody>
<geom type="plane" size="50 50 1" friction="0.5 0 0"/>{bodies}</worldbody></mujoco>"""
BODY = """<body name="b{i}" pos="{at}" quat="{turn}"><freejoint/>
<geom {shape} mass="1" friction="0.5 0 0"/></body>"""
#: Shapes of a pile by turns, of 0.2 m at most.
SHAPES = (
    'type="box" size="0.1 0.08 0.06"',
    'type="cylinder" size="0.08 0.1"',
    'type="capsule" size="0.05 0.1"',
    'type="sphere" size="0.1"',
)
ROBOTS = {
    "humanoid": "humanoid", "ant": "ant", "half cheetah": "half_cheetah", "hopper": "hopper",
    "walker": "walker2d",
}  # fmt: skip
#: Impedance of the stiffest contact of MuJoCo: see `contact_peers.stiffest`.
STIFF = (0.9999, 0.9999, 0.0001)
#: Parts of a step of MuJoCo with stiff contacts, one after another.
PARTS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
#: Name of a scene with random commands within their ranges, each held for so many steps.
DRIVEN, HELD = ", driven", 5


def numbers(x):
    return " ".join(map(repr, np.asarray(x, float).tolist()))


def pile(n, shapes=SHAPES, seed=0):
    """Columns of shapes by turns, turned at random, that fall on a floor."""
    rng, bodies = np.random.default_rng(seed), ""
    side = max(1, round((n / 3) ** 0.5))
    for i in range(n):
        place = np.array([i % side, (i // side) % side, i // side**2], float)
        place[:2] -= (side - 1) / 2
        at = 0.3 * place + [0, 0, 0.3] + rng.uniform(-0.02, 0.02, 3)
        turn = numbers(rotation.random(rng))
        bodies += BODY.format(i=i, at=numbers(at), turn=turn, shape=shapes[i % len(shapes)])
    return WORLD.format(h=H, bodies=bodies)


def dominoes(n):
    """Dominoes in a row, the first of them tilted."""
    bodies = ""
    for i in range(n):
        angle = 0.25 if i == 0 else 0.0
        low = 0.02 * np.sin(angle) + 0.1 * np.cos(angle) + 1e-4
        at = [0.1 * i + 0.1 * np.sin(angle), 0.0, low]
        turn = numbers(rotation.from_axis_angle((0, 1, 0), angle))
        shape = 'type="box" size="0.01 0.05 0.1"'
        bodies += BODY.format(i=i, at=numbers(at), turn=turn, shape=shape)
    return WORLD.format(h=H, bodies=bodies)


#: Tolerances of ``--loose``; MuJoCo's solver stops at 1e-8.
LOOSE = {"tolerance": 1e-8, "contact_tolerance": 1e-7}

SCENES = {
    **{f"balls {n}": lambda n=n: pile(n, SHAPES[3:]) for n in (5, 10, 20, 200)},
    **{f"pile {n}": lambda n=n: pile(n) for n in (5, 10, 20, 200)},
    "dominoes 12": lambda: dominoes(12), **dict.fromkeys(ROBOTS),
    **dict.fromkeys(name + DRIVEN for name in ROBOTS),
}  # fmt: skip


@dataclass
class Scene:
    """One motion in both: our model and start, and the MJCF for MuJoCo."""

    name: str
    model: dy.Model
    state: dy.State
    path: Path
    commands: np.ndarray | None = None

    def ours(self, seconds=SECONDS, every=10):
        controls = None
        if self.commands is not None:
            controls = np.repeat(self.model.controls(self.commands), HELD, axis=0)
        return dy.simulate(self.model, self.state, seconds, controls=controls, every=every)

    def peer(self, parts=1, stiff=False):
        """Model of MuJoCo with a part of the step; contacts as the file has them, or stiff ones."""
        import mujoco

        h = self.model.timestep / parts
        spec = mujoco.MjSpec.from_file(str(self.path))
        for geom in spec.geoms if stiff else ():
            geom.solref[:2], geom.solimp[:3] = (2.0 * h, 1.0), STIFF
        model = spec.compile()
        model.opt.timestep = h
        return model

    def overlap(self, seconds, parts=1, stiff=False):
        """Processor seconds of MuJoCo, and the largest overlap of two bodies in metres."""
        import mujoco

        model, deepest, took = self.peer(parts, stiff), 0.0, 0.0
        data = mujoco.MjData(model)
        for _ in range(round(seconds / self.model.timestep)):
            start = time.process_time()
            mujoco.mj_step(model, data, parts)
            took += time.process_time() - start
            deepest = max(deepest, -data.contact.dist.min(initial=0.0))
        return took, deepest

    def theirs(self, seconds=SECONDS):
        """Processor seconds of MuJoCo's own loop."""
        import mujoco

        model = self.peer()
        data = mujoco.MjData(model)
        steps = round(seconds / self.model.timestep)
        start = time.process_time()
        if self.commands is None:
            mujoco.mj_step(model, data, steps)
        else:
            for command in self.commands[: steps // HELD]:
                data.ctrl[:] = command
                mujoco.mj_step(model, data, HELD)
        return time.process_time() - start


def scene(name, loose=False):
    """A scene by name, with the tolerances of `LOOSE` if asked for."""
    robot = name.removesuffix(DRIVEN)
    if robot in ROBOTS:
        spec = find_spec("gymnasium")
        if spec is None or spec.origin is None:
            raise NotImplementedError("gymnasium is not installed")
        path = Path(spec.origin).parent / "envs" / "mujoco" / "assets" / f"{ROBOTS[robot]}.xml"
    else:
        path = Path(tempfile.mkdtemp()) / "scene.xml"
        path.write_text(SCENES[name]())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        mechanism = dy.load(path, collide=True, merge_fixed=True)
        model = mechanism.finalize(H, **(LOOSE if loose else {}))
    made = Scene(name, model, dy.separate(model, model.initial_state()), path)
    if name != robot:
        import mujoco

        low, high = mujoco.MjModel.from_xml_path(str(path)).actuator_ctrlrange.T
        rng, count = np.random.default_rng(0), round(SECONDS / H / HELD)
        made.commands = rng.uniform(low, high, (count, low.size))
    return made


def in_turns(made, rounds=3, seconds=SECONDS):
    """Least processor seconds of `dynamics` and of MuJoCo."""
    made.ours(5 * H, every=1)
    ours, theirs = [], []
    for _ in range(rounds):
        start = time.process_time()
        made.ours(seconds)
        ours.append(time.process_time() - start)
        theirs.append(made.theirs(seconds))
    return min(ours), min(theirs)


class Collisions:
    """Ten seconds of a scene, and their time over MuJoCo's at the same step."""

    params = (list(SCENES),)
    param_names = ("scene",)
    timeout = 3000

    def setup(self, name):
        try:
            import mujoco  # noqa: F401
        except ImportError as error:
            raise NotImplementedError("mujoco is not installed") from error
        self.scene = scene(name)

    def time_simulate(self, name):
        self.scene.ours(SECONDS)

    def track_ratio_at_equal_step(self, name):
        ours, theirs = in_turns(self.scene, 1, SECONDS)
        return ours / theirs


def show_depths(names, seconds):
    """Print overlaps of MuJoCo at our step, and at the first of `PARTS` that takes our time."""
    print("scene: ours s | MuJoCo: s, deepest mm | stiff, in our time: step us, s, deepest mm")
    for name in names:
        made = scene(name)
        made.ours(5 * H, every=1)
        start = time.process_time()
        made.ours(seconds)
        ours, (theirs, deepest) = time.process_time() - start, made.overlap(seconds)
        for parts in PARTS:
            took, least = made.overlap(seconds, parts, stiff=True)
            if took >= ours:
                break
        print(
            f"{name:14s} {ours:8.2f} | {theirs:8.2f} {1e3 * deepest:7.2f} | "
            f"{1e6 * made.model.timestep / parts:7.0f} {took:8.2f} {1e3 * least:7.3f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("scenes", nargs="*", default=list(SCENES))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of motion")
    parser.add_argument("--depth", type=float, metavar="SECONDS", help="overlaps, in so many s")
    parser.add_argument("--loose", action="store_true", help="tolerances near MuJoCo's")
    chosen = parser.parse_args()
    if chosen.depth is not None:
        return show_depths(chosen.scenes, chosen.depth)
    print("scene: ours, MuJoCo, us a step | ratio | iterations, intervals a step, sets, pairs")
    for name in chosen.scenes:
        made, seconds = scene(name, chosen.loose), chosen.seconds
        ours, theirs = in_turns(made, chosen.rounds, seconds)
        motion = made.ours(seconds)
        info, pairs = motion.info, max(len(part.pairs) for part in motion.parts)
        scale = 1e6 / info["steps"]
        print(
            f"{name:14s} {scale * ours:9.1f} {scale * theirs:8.1f} | {ours / theirs:7.1f} | "
            f"{info['iterations'] / info['steps']:6.2f} {info['intervals_per_step']:6.2f} "
            f"{len({part.pairs for part in motion.parts}):5d} {pairs:4d}",
            flush=True,
        )


if __name__ == "__main__":
    main()
