"""Recorded tosses of a cube beside simulated ones: landing, rest, and the face it rests on.

``python -m benchmarks.cube_tosses [folder of tables]`` in ``asv_benchmarks`` prints the table;
MuJoCo takes part where it is installed. Without a folder: the four tosses of the example. Friction
is fitted to every other toss, by the gradient or, for MuJoCo, by trying; the rest are the test.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import dynamics as dy
from dynamics import rotation

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "examples"))

from cube_toss import identify
from tossed_cube import cube, start
from tosses import AFTER, WIDTH, H, corners, read

WORLD = """<mujoco><option timestep="{h}" cone="elliptic" iterations="100" tolerance="1e-12"/>
<default><geom friction="{mu} 0 0" condim="3" {stiff}/></default><worldbody>
<geom type="plane" size="5 5 .1"/><body><freejoint/>
<geom type="box" size="{half} {half} {half}" mass="0.37"/></body></worldbody></mujoco>"""
LANDED = 15  # frames behind the first touch
#: The stiffest contact that MuJoCo takes at its step: a time constant of two steps.
STIFF = 'solref="{two} 1" solimp=".99 .999 .0001"'


def ours(mu):
    """Motion of a toss by `dynamics`: positions, orientations, depth."""
    model = dy.variant(cube(), {"table": {"friction": mu}})

    def run(toss):
        motion = dy.simulate(model, start(model, toss), (len(toss.position) - 1) * H)
        return *motion.body("cube"), -motion.contact("table").gap.min()

    return run


def theirs(mu, parts, stiff):
    """The same by MuJoCo, each frame cut into parts."""
    import mujoco

    h = H / parts
    stiff = STIFF.format(two=2.0 * h) if stiff else ""
    world = mujoco.MjModel.from_xml_string(WORLD.format(h=h, mu=mu, half=0.5 * WIDTH, stiff=stiff))
    model = cube()

    def run(toss):
        first, data = start(model, toss), mujoco.MjData(world)
        data.qpos[:] = first.pose[0]
        data.qvel[:] = model.velocities(first)[0]
        poses, deep = [data.qpos.copy()], 0.0
        for _ in range(len(toss.position) - 1):
            for _ in range(parts):
                mujoco.mj_step(world, data)
                if data.ncon:
                    deep = max(deep, -data.contact.dist.min())
            poses.append(data.qpos.copy())
        both = np.array(poses)
        return both[:, :3], both[:, 3:], deep

    return run


def up(q):
    """Axis of the cube that points up, with its sign."""
    z = rotation.rotate(rotation.conjugate(q), np.array([0.0, 0.0, 1.0]))
    k = int(np.argmax(np.abs(z)))
    return k, np.sign(z[k])


def scores(run, tosses):
    """Rows of errors: widths and degrees 0.1 s behind the touch, and at rest; same face; depth."""
    rows, deepest = [], 0.0
    for toss in tosses:
        x, q, deep = run(toss)
        deepest = max(deepest, deep)
        turn = rotation.multiply(rotation.conjugate(toss.orientation), q)
        way = np.linalg.norm(x - toss.position, axis=1) / WIDTH
        angle = np.degrees(np.linalg.norm(rotation.to_rotation_vector(turn), axis=1))
        k = min(toss.touch + LANDED, len(x) - 1)
        same = up(q[-1]) == up(toss.orientation[-1])
        rows.append([way[k], angle[k], way[-1], angle[-1], same])
    return np.array(rows, float), deepest


def cost(run, tosses):
    """What `cube_toss.identify` makes small."""
    total = 0.0
    for toss in tosses:
        x, q, _ = run(toss)
        part = slice(toss.touch, min(toss.touch + AFTER, len(x) - 1) + 1)
        far = corners(x, q)[0] - corners(toss.position, toss.orientation)[0]
        total += (np.sqrt(1.0 + (far[part] / WIDTH / 0.1) ** 2) - 1.0).sum()
    return total


def table(tosses):
    """Rows of the table: what, friction, means of `scores`, median angle at rest, depth in m."""
    train, test = tosses[::2], tosses[1::2]
    runs = [("dynamics", ours, identify(train))]
    try:
        import mujoco  # noqa: F401
    except ImportError:
        pass
    else:
        for parts, stiff in ((1, False), (5, False), (5, True)):

            def run(mu, parts=parts, stiff=stiff):
                return theirs(mu, parts, stiff)

            best = min(np.arange(0.12, 0.265, 0.01), key=lambda mu: cost(run(mu), train))
            what = f"MuJoCo, {parts} steps a frame, {'stiffest' if stiff else 'default'}"
            runs.append((what, run, best))
    for name, make, mu in runs:
        rows, deep = scores(make(mu), test)
        yield name, mu, *rows.mean(axis=0), np.median(rows[:, 3]), deep


class CubeTosses:
    """Error at rest over the example's tosses, in widths, with friction found on other ones."""

    def setup(self):
        self.tosses = read()

    def track_position(self):
        return float(scores(ours(0.18), self.tosses)[0][:, 2].mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?")
    print("friction; means of widths, degrees: landed, at rest; same face; median; depth, m")
    for name, *numbers in table(read(parser.parse_args().folder)):
        print(f"{name:36s}", *(f"{x:8.3f}" for x in numbers), flush=True)
