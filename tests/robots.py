"""Table of robot files of others: `python -m tests.robots [--out page.md]`.

Takes the files of those packages that are installed (example-robot-data, dm_control, gymnasium,
gymnasium-robotics, pybullet; and pin, mujoco to compare with) and those beside this checkout. Each
is loaded, compared in a random posture if it is a tree, and simulated from there for ten seconds.
"""

import argparse
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import dynamics as dy
from tests.dynamics.others import (
    beside_mujoco,
    beside_pinocchio,
    loaded,
    package_files,
    sampled,
)

TIMESTEP = 0.005
#: Seconds of clock that a simulation may take.
PATIENCE = 120
#: Roots of XML files that are parts of others; robots of MuJoCo's are <mujoco> with bodies.
PARTS = "Unrecognized XML model type"
COLUMNS = ("file", "loaded with", "bodies", "joints", "loops", "largest difference", "violation",
           "left out")  # fmt: skip


class TooLongError(Exception):
    """The clock ran out."""


def patience():
    """What stops a simulation after some time."""
    end = time.perf_counter() + PATIENCE

    def check(part):
        if time.perf_counter() > end:
            raise TooLongError(f"{part:.0%} in {PATIENCE} s of clock")

    return check


def compared(path, mechanism, way, balls, loops):
    """Largest relative difference of mass, places, inertia and fall; or why there is none."""
    if loops or mechanism.couplings and path.suffix == ".xml":
        return "no tree"
    if path.suffix == ".urdf":
        if find_spec("pinocchio") is None:
            return ""
        errors = beside_pinocchio(path, mechanism, way, balls)
    else:
        errors = beside_mujoco(path, mechanism)
    return f"{max(errors.values()):.0e}"


def moved(model, mechanism, loops):
    """State in a random posture with random rates; where there are loops, the initial one."""
    state = model.initial_state()
    if loops or mechanism.couplings:
        return state
    rng = np.random.default_rng(1)
    for name, value in sampled(mechanism, rng).items():
        joint, rate = mechanism.joints[name], rng.uniform(-1.0, 1.0, len(value))
        if joint.velocity_limits is not None:
            rate = np.clip(rate, *0.9 * joint.velocity_limits.T)
        if joint.limits is not None:  # inside
            low, high = joint.limits.T
            value = np.clip(value, low + 0.05 * np.minimum(high - low, 1.0),
                            high - 0.05 * np.minimum(high - low, 1.0))  # fmt: skip
        model.set_joint(state, name, value, rate)
    return state


def row(path, root):
    """Cells of a file; one cell where it is refused."""
    try:
        mechanism, way, left_out, balls = loaded(path, within=root)
        if not mechanism.bodies:
            return ["holds no body that moves"]
    except ValueError as error:
        return [" ".join(str(error).split())]
    model = mechanism.finalize(TIMESTEP)
    loops = len(model.tables.cycles)
    cells = [
        ", ".join(f"{key}={value!r}" for key, value in way.items()),
        str(len(mechanism.bodies)),
        str(sum(joint.n_coordinates > 0 for joint in mechanism.joints.values())),
        str(loops or ""),
        compared(path, mechanism, way, balls, loops),
    ]
    try:
        start = moved(model, mechanism, loops)
        dy.simulate(model, start, TIMESTEP)  # compiles outside the clock
        motion = dy.simulate(model, start, 10.0, every=10, progress=patience())
        cells.append(f"{motion.constraint_violation().max():.0e}")
    except (dy.ConvergenceError, dy.InconsistentStateError, TooLongError) as error:
        cells.append(" ".join(str(error).split()))
    return [*cells, ", ".join(f"{kind} ({len(names)})" for kind, names in left_out.items())]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the table there as Markdown")
    parser.add_argument("--only", default="", help="files whose path holds this")
    given = parser.parse_args(arguments)
    lines = []
    for package, (root, paths) in package_files().items():
        try:
            lines += ["", f"## {package} {version(package)}".rstrip(), ""]
        except PackageNotFoundError:
            lines += ["", f"## {package[:1].upper()}{package[1:]}", ""]
        lines += [f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS)]
        refused = []
        for path in paths:
            if given.only not in str(path):
                continue
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cells = row(path, root)
            print(
                f"{time.perf_counter() - start:6.1f} s",
                path.name,
                *cells,
                file=sys.stderr,
                sep=" | ",
            )
            name = f"`{path.relative_to(root)}`"
            if len(cells) > 1:
                lines.append(f"| {name} | {' | '.join(cells)} |")
            elif PARTS not in cells[0]:
                refused.append(f"- {name}: {cells[0]}")
        if refused:
            lines += ["", "Refused:", "", *refused]
    if given.out:
        given.out.write_text("\n".join(lines).lstrip() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
