"""Command line: `python -m dynamics simulate | info | view | warmup`."""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
import webbrowser
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import graphsys
from dynamics.errors import ConvergenceError, InconsistentStateError, UnknownNameError

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.state import State
    from dynamics.trajectory import Trajectory

#: What a command may refuse in words; the rest is a mistake of ours and shows its traceback.
REFUSED = (
    OSError, ValueError, ImportError, OverflowError, MemoryError, BadZipFile, UnknownNameError,
    ConvergenceError,
)  # fmt: skip
#: What messages say for callers from Python, and the option that does it.
OPTIONS = {
    "dynamics.separate(model, state)": "--separate",
    "dynamics.load(file, actuated=True)": "--actuated",
    "base='fixed'": "--base fixed",
    "least_radius=": "--least-radius",
    "export_html(file)": "--html",
    "position= and orientation=": "--position",
    "collide=": "--collide",
    "ground=": "--ground",
    "within=": "--within",
}
WIDTH = 40  #: of the progress bar
EVENTS = 10  #: that are printed


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.

    Returns
    -------
    int
        0 where all went well, 1 where the input was refused. Wrong usage exits with 2.
    """
    arguments = _parser().parse_args(argv)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("ignore", DeprecationWarning)  # for those who write code
        code, complaint = 0, ""
        try:
            for option in ("out", "plot", "html"):
                if getattr(arguments, option, None) is not None:
                    graphsys.check_writable(getattr(arguments, option), f"--{option}")
            arguments.run(arguments)
            sys.stdout.flush()
        except BrokenPipeError:  # as by `| head`; no reader is left
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 1
        except KeyboardInterrupt:
            code, complaint = 130, "interrupted"
        except REFUSED as error:
            code, complaint = 1, str(error) or type(error).__name__
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        _complain("warning", message)
    if complaint:
        _complain("error", complaint)
    return code


def _complain(kind: str, message: str) -> None:
    for python, option in OPTIONS.items():
        message = message.replace(python, option)
    print(f"dynamics: {kind}:", " ".join(message.split()), file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dynamics", description="Rigid-body dynamics in maximal coordinates."
    )
    parser.add_argument("--version", action="version", version=f"dynamics {graphsys.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    parts = commands.add_parser(
        "simulate", help="simulate a robot file, and save or show the motion"
    )
    _add_robot(parts)
    _add_start(parts)
    parts.add_argument("--seconds", type=_positive, default=10.0, help="simulated time, s (10)")
    parts.add_argument("--timestep", type=_positive, default=0.01, help="time step, s (0.01)")
    parts.add_argument("--order", type=int, choices=(2, 4, 6), default=2, help="order of accuracy "
                       "in time (2); 4 and 6 support no contacts, limits or friction")  # fmt: skip
    parts.add_argument("--accuracy", type=_positive, metavar="E", help="largest error that a "
                       "second of motion adds, m and rad: divides steps into intervals as needed, "
                       "and locates impacts")  # fmt: skip
    parts.add_argument("--controls", type=_setting, action="append", default=[],
                       metavar="JOINT=VALUE", help="constant control of a joint: force, torque, or "
                       "target of a servo; several coordinates with commas")  # fmt: skip
    parts.add_argument("--every", type=int, default=1, metavar="K", help="record every K-th step")
    parts.add_argument(
        "--out", type=Path, metavar="motion.npz", help="save the motion in this file"
    )
    parts.add_argument("--plot", type=Path, metavar="curves.png", help="save curves of energy, "
                       "momentum, constraint violation, joints and reactions")  # fmt: skip
    parts.add_argument("--html", type=Path, metavar="page.html", help="save a page that shows "
                       "the motion in any browser")  # fmt: skip
    parts.add_argument("--quiet", action="store_true", help="no progress bar")
    parts.set_defaults(run=_simulate)

    parts = commands.add_parser("info", help="list the contents of a robot file")
    _add_robot(parts)
    parts.add_argument("--plot", type=Path, metavar="graph.png", help="save a picture of the graph "
                       "of bodies and joints")  # fmt: skip
    parts.set_defaults(run=_info)

    parts = commands.add_parser("view", help="show a robot, or its motion, in a browser")
    _add_robot(parts)
    parts.add_argument("motion", nargs="?", type=Path, metavar="motion.npz", help="motion saved "
                       "by simulate; without it the robot in its initial state")  # fmt: skip
    _add_start(parts)
    parts.add_argument("--html", type=Path, metavar="page.html", help="save the page and open "
                       "no browser")  # fmt: skip
    parts.add_argument("--live", action="store_true", help="simulate in real time, with sliders "
                       "for the controls, until Ctrl-C")  # fmt: skip
    parts.add_argument(
        "--timestep", type=_positive, default=0.01, help="time step of --live, s (0.01)"
    )
    parts.set_defaults(run=_view)

    parts = commands.add_parser("warmup", help="compile the most used kernels ahead of time")
    parts.set_defaults(run=_warm_up)
    return parser


def _add_robot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "robot", type=Path, metavar="robot.urdf", help="URDF, MJCF (.xml), SDF or USD file"
    )
    parser.add_argument("--base", choices=("floating", "fixed"), help="base of a URDF, SDF or "
                        "USD file (floating)")  # fmt: skip
    three: Any = {"type": float, "nargs": 3, "metavar": ("X", "Y", "Z")}
    parser.add_argument(
        "--position", default=(0.0, 0.0, 0.0), help="initial position of the root link, m", **three
    )
    parser.add_argument(
        "--gravity", help="gravity, m/s^2; by default the file's, or 0 0 -9.81", **three
    )
    parser.add_argument("--merge-fixed", action="store_true", help="merge links that fixed "
                        "joints connect into one body")  # fmt: skip
    parser.add_argument("--no-meshes", action="store_true", help="leave meshes out")
    parser.add_argument("--within", type=Path, metavar="FOLDER", help="folder with the "
                        "meshes and packages that the file names with .. or package://"
                        )  # fmt: skip
    parser.add_argument("--least-radius", type=_positive, metavar="R", help="give moving links "
                        "without mass the mass of a ball of water of this radius, m")  # fmt: skip
    parser.add_argument("--ground", action="store_true", help="let collision shapes touch the "
                        "file's floor, or else z < 0")  # fmt: skip
    parser.add_argument("--collide", action="store_true", help="let collision shapes touch each "
                        "other, the file's floor and its static geoms")  # fmt: skip
    parser.add_argument("--srdf", type=Path, metavar="robot.srdf", help="leave out the pairs of "
                        "links that this file disables; implies --collide")  # fmt: skip
    parser.add_argument("--decompose", type=_positive, nargs="?", const=True, default=False,
                        metavar="CONCAVITY", help="cut concave collision meshes into convex parts, "
                        "with this concavity (0.05); by default they touch as their hulls"
                        )  # fmt: skip
    parser.add_argument("--friction", type=_coefficient, metavar="MU", help="coefficient of "
                        "sliding friction of these contacts; by default that of the file, or 0.5"
                        )  # fmt: skip
    parser.add_argument("--without", action="append", default=[], metavar="PROPERTY", help="leave "
                        "this property of joints out: limits, velocity_limits, control_limits, "
                        "friction, armature, damping or stiffness")  # fmt: skip
    motors = parser.add_mutually_exclusive_group()
    motors.add_argument("--actuated", action="store_true", help="give all joints motors; by "
                        "default those with a motor in the file have one")  # fmt: skip
    motors.add_argument("--servo", type=_gains, metavar="KP,KD", help="give all joints a position "
                        "servo with these gains; controls are targets")  # fmt: skip


def _add_start(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--keyframe", metavar="NAME", help="start in this keyframe of an MJCF "
                        "file, and hold its commands")  # fmt: skip
    parser.add_argument("--set", type=_setting, action="append", default=[], dest="settings",
                        metavar="JOINT=VALUE", help="initial coordinate of a joint, m or rad; "
                        "several coordinates with commas")  # fmt: skip
    parser.add_argument("--separate", action="store_true", help="at the start, move bodies apart "
                        "that overlap, and joints to within their limits")  # fmt: skip


def _coefficient(text: str) -> float:
    return 0.0 if text.strip() in ("0", "0.0") else _positive(text)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value


def _gains(text: str) -> list[float]:
    try:
        numbers = [float(value) for value in text.split(",")]
    except ValueError:
        numbers = []
    if not (1 <= len(numbers) <= 2 and all(0.0 <= value < float("inf") for value in numbers)):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form 60,2")
    return numbers


def _setting(text: str) -> tuple[str, list[float]]:
    name, _, values = text.rpartition("=")
    try:
        numbers = [float(value) for value in values.split(",")]
    except ValueError:
        numbers = []
    if not name or not numbers:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form joint=0.3 or joint=0.1,0.2")
    return name, numbers


def _model(arguments: argparse.Namespace, timestep: float = 0.01, order: int = 2) -> Model:
    from dynamics.io.loading import load
    from dynamics.parts.servos import PositionServo

    actuated: Any = True if arguments.actuated else None
    if arguments.servo is not None:
        actuated = PositionServo(*arguments.servo)
    return load(
        arguments.robot,
        base=arguments.base,
        position=arguments.position,
        gravity=arguments.gravity,
        merge_fixed=arguments.merge_fixed,
        least_radius=arguments.least_radius,
        meshes=not arguments.no_meshes,
        within=arguments.within,
        without=arguments.without,
        ground=arguments.ground,
        collide=arguments.collide if arguments.srdf is None else arguments.srdf,
        actuated=actuated,
        friction=arguments.friction,
        decompose=arguments.decompose,
    ).finalize(timestep, order=order)


def _start(model: Model, arguments: argparse.Namespace) -> State:
    """Initial state with joints at the given coordinates; those on loops with all others."""
    settings: list[tuple[str, list[float]]] = arguments.settings
    state = model.initial_state()
    if arguments.keyframe is not None:
        state = model.keyframe(arguments.keyframe)
    on_loops: dict[Any, Any] = {}
    for name, values in settings:
        try:
            model.set_joint(state, name, values)
        except InconsistentStateError:
            on_loops[name] = values
    if on_loops:
        state = model.assemble(state, on_loops)
    if not arguments.separate:
        return state
    from dynamics.kinematics.contact_queries import separate

    return separate(model, state)


def _simulate(arguments: argparse.Namespace) -> None:
    from dynamics.simulation import simulate
    from dynamics.tables.inputs import controls_of

    if arguments.plot is not None:  # refused before the work, not after
        from dynamics.display.plot import matplotlib_module

        matplotlib_module("pyplot", "--plot").switch_backend("Agg")
    model = _model(arguments, arguments.timestep, arguments.order)
    given: dict[Any, Any] = dict(arguments.controls)
    start = _start(model, arguments)
    if arguments.keyframe is not None:  # its commands hold, where no others are given
        commands = model.mechanism.keyframes[arguments.keyframe].commands
        held = model.controls(commands)
        places = model.tables.control_start.items()
        given = {name: held[first : first + count] for name, (first, count) in places} | given
    controls = controls_of(model, given) if given else None
    bar = _Bar(not arguments.quiet and sys.stderr.isatty())
    try:
        trajectory = simulate(
            model,
            start,
            arguments.seconds,
            every=arguments.every,
            controls=controls,
            accuracy=arguments.accuracy,
            progress=bar.show if bar.shown else False,
        )
    except (ConvergenceError, KeyboardInterrupt) as error:  # the motion so far
        if getattr(error, "trajectory", None) is not None:
            _keep(error.trajectory, arguments)  # type: ignore[union-attr]
        raise
    finally:
        bar.close()
    energy = trajectory.energy()
    _print_table(
        bodies=model.n_bodies,
        constraints=model.n_rows,
        loops=len(model.tables.cycles),
        seconds=f"{trajectory.time[-1] - trajectory.time[0]:g}",
        steps=f"{trajectory.info['steps']:,}",
        intervals=f"{trajectory.info['intervals_per_step']:.4g} per step, "
        f"{trajectory.info['most_intervals']} at most",
        iterations=f"{trajectory.info['iterations']:,}",
        energy=f"{energy[0]:.6g} J at the start, {energy[-1]:.6g} J at the end",
        violation=f"{trajectory.constraint_violation().max():.1e} m or rad at most",
    )
    for event in trajectory.events[:EVENTS]:
        print(f"  event  {event.time:<12.7g} s  {event.name!s} {event.kind}")
    if len(trajectory.events) > EVENTS:
        print(f"  ... and {len(trajectory.events) - EVENTS:,} more")
    _keep(trajectory, arguments)


def _keep(trajectory: Trajectory, arguments: argparse.Namespace) -> None:
    """Write the files that were asked for."""
    if arguments.out is not None:
        with graphsys.whole_file(arguments.out) as temporary, temporary.open("wb") as file:
            trajectory.save(file)  # numpy would add .npz to a name without
    if arguments.plot is not None:
        with graphsys.whole_file(arguments.plot) as temporary:
            trajectory.plot().savefig(temporary, dpi=150)
    if arguments.html is not None:
        trajectory.export_html(arguments.html, arguments.robot.stem)


def _info(arguments: argparse.Namespace) -> None:
    model = _model(arguments)
    mechanism = model.mechanism
    kinds = Counter(joint.kind for joint in mechanism.joints.values())
    _print_table(
        bodies=model.n_bodies,
        mass=f"{mechanism.mass:.6g} kg",
        joints=", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "none",
        constraints=model.n_rows,
        loops=len(model.tables.cycles),
        controls=model.n_controls,
        frames=len(mechanism.frames),
    )
    bodies = mechanism.bodies.items()
    _print_columns("body", [(str(name), f"{body.mass:.6g} kg") for name, body in bodies])
    joints = []
    for name, joint in mechanism.joints.items():
        limits = ""
        if joint.limits is not None:
            limits = ", ".join(f"{low:.4g} to {high:.4g}" for low, high in joint.limits)
        ends = " - ".join(str(body.name) for body in joint.bodies)
        joints.append((str(name), joint.kind, ends, limits))
    _print_columns("joint", joints)
    couplings = [
        (str(name), f"{one.follower} = {one.ratio:.6g} {one.leader} + {one.offset:.6g}")
        for name, one in mechanism.couplings.items()
    ]
    _print_columns("coupling", couplings)
    for cycle in model.tables.cycles:
        print("  loop  ", ", ".join(str(name) for name in cycle))
    for line in str(mechanism.report).splitlines():
        print(f"  {line}")
    if arguments.plot is not None:
        from dynamics.display.plot import matplotlib_module

        matplotlib_module("pyplot", "--plot").switch_backend("Agg")
        with graphsys.whole_file(arguments.plot) as temporary:
            mechanism.plot().figure.savefig(temporary, dpi=150)


def _view(arguments: argparse.Namespace) -> None:
    from dynamics.simulation import simulate
    from dynamics.trajectory import Trajectory

    model = _model(arguments, arguments.timestep)
    if arguments.live:
        if arguments.motion is not None or arguments.html is not None:
            raise ValueError("--live shows no motion that was kept, and writes no page")
        live = model.view(_start(model, arguments))
        print(live.url, flush=True)
        webbrowser.open(live.url)
        live.wait()
    elif arguments.motion is not None:
        _show(Trajectory.load(arguments.motion, model), arguments)
    else:
        _show(simulate(model, _start(model, arguments), 0.0), arguments)


def _show(trajectory: Trajectory, arguments: argparse.Namespace) -> None:
    if arguments.html is not None:
        trajectory.export_html(arguments.html, arguments.robot.stem)
    else:
        trajectory.show(arguments.robot.stem)


def _warm_up(arguments: argparse.Namespace) -> None:
    from dynamics.warmup import warm_up

    start = time.perf_counter()
    steps = warm_up()
    print(f"kernels ready: {steps} steps simulated in {time.perf_counter() - start:.1f} s")


def _print_table(**facts: object) -> None:
    for name, value in facts.items():
        print(f"{name:<12}{value}")


def _print_columns(word: str, rows: Sequence[tuple[str, ...]]) -> None:
    """Rows after a word, each column as wide as its longest entry."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths))
        print(f"  {word:<8} {cells}".rstrip())


class _Bar:
    """Progress on stderr, for people only."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown
        self.open = False

    def show(self, part: float) -> None:
        done = round(WIDTH * part)
        bar = "#" * done + "." * (WIDTH - done)
        print(f"\r[{bar}] {round(100 * part)} %", end="", file=sys.stderr, flush=True)
        self.open = True

    def close(self) -> None:
        if self.open:
            print(file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
