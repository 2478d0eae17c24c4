"""Table of robot files of others: `python -m tests.robots --out docs/robots_of_others.md`.

Takes the files of the installed packages among example-robot-data, dm_control, gymnasium,
gymnasium-robotics, metaworld, musclemimic_models, robosuite, robosuite-models and pybullet, and
those in the folder next to this checkout. Each is loaded, compared with pin or mujoco in a random
posture if it is a tree, and simulated from there for ten seconds.
"""

import argparse
import sys
import textwrap
import time
import warnings
from contextlib import suppress
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
    motion_beside_mujoco,
    package_files,
    sampled,
)

TIMESTEP = 0.005
#: Seconds of clock that a simulation may take.
PATIENCE = 120
#: What is said of parts of robots, which are no robots.
PARTS = ("Unrecognized XML model type", "holds no body that moves")
HEAD = """# Robot files of others

This page compares the robot files of several packages with {oracles}, and simulates
them. `python -m tests.robots --out docs/robots_of_others.md` writes the page from the installed
packages; the files themselves are not part of this project.

A file that does not load unaided is loaded with the options that the error message names. Trees are
compared in a random posture. Each mechanism is then simulated for ten seconds from this posture,
with random rates, in steps of 5 ms, or of the file's time step if that is shorter.

- *difference*: the largest difference in total mass, frames of all links, joint-space inertia and
  accelerations of all bodies in free fall, each relative to its largest value. MuJoCo's `armature`
  of free bodies, which is not supported, and tendons are removed before. Point masses get 1e-8 of
  their moment about the joint, which shows in three files of Laikago.
- *violation*: largest violation of the constraints in ten seconds, m or rad, or the error that
  ended the run. Mechanisms with loops, couplings or tendons start at rest in the posture of the
  file, with loops closed and joints within their limits.
"""
COLUMNS = ("file", "loaded with", "bodies", "joints", "loops", "difference", "violation")
MOTION = """## Motion compared with MuJoCo

`python -m tests.robots --motion --out docs/robots_of_others.md` writes this part. Each robot moves
for 0.25 s in the air under constant random commands of all its actuators, in steps of 0.5 ms in
`dynamics`, and of 0.02 ms in MuJoCo (RK4). An entry such as *1e-02 of 0.17* is the largest distance
between frames of bodies at the end, and the largest distance that a frame moved, m.

*Without limits*, commands are from their full ranges, *with limits* from a tenth of them. Commands
that would accelerate a joint by more than 100 rad/s² or m/s² are reduced, because files of
`robosuite` have ranges of up to 20 000 N m. MuJoCo's limits, dry friction and equalities are soft.
Files that MuJoCo does not integrate stably in such steps have no row.
"""
MOTION_COLUMNS = ("file", "actuators", "without limits", "with limits")


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
        try:
            errors = beside_pinocchio(path, mechanism, way, balls)
        except ValueError:  # it says why on the terminal
            return "Pinocchio refuses it"
    else:
        errors = beside_mujoco(path, mechanism)
    return f"{max(errors.values()):.0e}"


def timestep(path):
    """Of the file where it says a shorter one."""
    if path.suffix == ".urdf":
        return TIMESTEP
    import mujoco

    return min(TIMESTEP, float(mujoco.MjModel.from_xml_path(str(path)).opt.timestep))


def moved(model, mechanism, loops):
    """State in a random posture with random rates; where there are loops, a closed one at rest."""
    state = model.initial_state()
    if loops or mechanism.couplings or mechanism.tendons:
        return dy.separate(model, model.assemble(state))
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
        return [" ".join(str(error).replace(f"{root}/", "").split())]
    model = mechanism.finalize(timestep(path))
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
        dy.simulate(model, start, model.timestep)  # compiles outside the clock
        motion = dy.simulate(model, start, 10.0, every=10, progress=patience())
        cells.append(f"{motion.constraint_violation().max():.0e}")
    except (dy.ConvergenceError, dy.InconsistentStateError, TooLongError) as error:
        cells.append(" ".join(str(error).split()))
    return [*cells, ", ".join(f"{kind} ({len(names)})" for kind, names in left_out.items())]


def motion_row(path, root):
    """Cells of a file's motion compared with MuJoCo's; none where nothing acts or it is refused."""
    cells = []
    for limits in (False, True):
        try:
            found = motion_beside_mujoco(path, root, limits)
        except (dy.ConvergenceError, dy.InconsistentStateError) as error:
            cells.append(" ".join(str(error).split(";")[0].split()))
            continue
        except ValueError:
            return []
        if found is None:
            cells.append("MuJoCo's grows without bounds")
            continue
        apart, way, acting, given = found
        if not given:
            return []
        cells.append(f"{apart:.0e} of {way:.2f}")
        count = f"{acting} of {given}"
    return [count, *cells] if any(" of " in cell for cell in cells) else []


def wrapped(text):
    """An item of a list in lines of the width of the pages."""
    return textwrap.fill(text, 100, subsequent_indent="  ", break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip


def motion_page(results):
    """Text of the section on motion: cells by package and file."""
    lines = [MOTION]
    for package, files in results.items():
        if not any(files.values()):
            continue
        lines += [f"### {package} {version(package)}", "", f"| {' | '.join(MOTION_COLUMNS)} |",
                  "|" + "---|" * len(MOTION_COLUMNS)]  # fmt: skip
        lines += [f"| `{name}` | {' | '.join(cells)} |" for name, cells in files.items() if cells]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def page(results):
    """Text of the page: cells by package and file."""
    oracles = []
    for package, name in (("pin", "Pinocchio"), ("mujoco", "MuJoCo")):
        with suppress(PackageNotFoundError):
            oracles.append(f"{name} {version(package)}")
    lines = [HEAD.format(oracles=" or ".join(oracles))]
    for package, files in results.items():
        try:
            title = f"{package} {version(package)}"
        except PackageNotFoundError:
            title = f"{package[:1].upper()}{package[1:]}"
        lines += [f"## {title}", "", f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS)]
        for name, cells in files.items():
            if len(cells) > 1:
                lines.append(f"| `{name}` | {' | '.join(cells[: len(COLUMNS) - 1])} |")
        refused = [
            wrapped(f"- `{name}`: {cells[0].replace('<', '&lt;')}")
            for name, cells in files.items()
            if len(cells) == 1 and not any(part in cells[0] for part in PARTS)
        ]  # fmt: skip
        lines += ["", *(["Refused:", "", *refused, ""] if refused else [])]
    return "\n".join(lines).rstrip() + "\n"


def write(path, results, motion):
    """Write one of the page's two parts, and keep the other one of a page that is there."""
    title = MOTION.splitlines()[0]
    before = path.read_text() if path.exists() else ""
    tables, _, moves = before.partition(title)
    if motion:
        moves = motion_page(results)
    else:
        tables, moves = page(results), title + moves if moves else ""
    path.write_text("\n".join(part.strip() + "\n" for part in (tables, moves) if part.strip()))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="write the page there as Markdown")
    parser.add_argument("--only", default="", help="files whose path holds this")
    parser.add_argument("--motion", action="store_true", help="motion of MJCF only")
    given = parser.parse_args(arguments)
    results = {}
    for package, (root, paths) in package_files().items():
        for path in paths:
            if given.only not in str(path) or given.motion and path.suffix != ".xml":
                continue
            start, name = time.perf_counter(), path.relative_to(root).as_posix()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cells = (motion_row if given.motion else row)(path, root)
            results.setdefault(package, {})[name] = cells
            print(f"{time.perf_counter() - start:.1f} s", name, *cells, sep=" | ", flush=True)
    if given.out:
        write(given.out, results, given.motion)
    return 0


if __name__ == "__main__":
    sys.exit(main())
