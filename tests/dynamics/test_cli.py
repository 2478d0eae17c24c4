"""`python -m dynamics`: what it prints, writes, refuses, and with which exit code."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import dynamics as dy
from dynamics import __main__ as dynamics_command
from dynamics.__main__ import main

from .pages import scene_of, time_of
from .robots import joint, link, robot

PENDULUM = robot(
    link("base", mass=0),
    link("rod", 1.0, (0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-3)),
    joint("hip", "continuous", "base", "rod", axis=(1, 0, 0)),
)


@pytest.fixture
def urdf(tmp_path):
    path = tmp_path / "pendulum.urdf"
    path.write_text(PENDULUM)
    return str(path)


def run(*arguments):
    """Exit code, also of wrong usage."""
    try:
        return main([str(argument) for argument in arguments])
    except SystemExit as stop:
        return stop.code


def table(text):
    return dict(line.split(None, 1) for line in text.splitlines() if line[0] != " ")


def test_simulate_writes_motion_curves_and_page(urdf, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    files = [tmp_path / name for name in ("motion.npz", "curves.png", "page.html")]
    code = run(
        "simulate", urdf, "--base", "fixed", "--seconds", 0.5, "--timestep", 0.005, "--set",
        "hip=0.3", "--every", 2, "--out", files[0], "--plot", files[1], "--html", files[2],
    )  # fmt: skip
    said = capsys.readouterr()

    assert code == 0
    assert table(said.out)["steps"] == "100" and table(said.out)["seconds"] == "0.5"
    assert said.err == ""
    model = dy.load(urdf, base="fixed").finalize(0.005)
    motion = dy.Trajectory.load(files[0], model)
    assert len(motion) == 51
    assert motion.joint("hip")[0] == pytest.approx(0.3, abs=1e-15)
    assert np.ptp(motion.energy()) < 1e-4
    assert files[1].read_bytes()[:4] == b"\x89PNG"
    assert "<title>pendulum</title>" in files[2].read_text()


def test_simulate_lists_the_first_impacts_of_a_run_with_an_accuracy(tmp_path, capsys, monkeypatch):
    # a thin rod of 1 m swings from 1 rad against its limit at -0.5 rad, and falls back
    limits = '<limit lower="-0.5" upper="2"/>'
    text = robot(
        link("base"),
        link("rod", 1.0, (0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-3)),
        joint("hip", "revolute", "base", "rod", axis=(1, 0, 0), more=limits),
    )
    path = tmp_path / "rod.urdf"
    path.write_text(text)
    options = ["--base", "fixed", "--set", "hip=1", "--seconds", 1.5, "--timestep", 0.05]

    def lines():
        return [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]

    assert run("simulate", path, *options) == 0
    assert lines() == []
    assert run("simulate", path, *options, "--accuracy", 1e-4) == 0
    closes, opens = (line.split() for line in lines())
    assert closes[0] == opens[0] == "event" and closes[2:] == ["s", "hip", "closes"]
    assert opens[2:] == ["s", "hip", "opens"]
    assert float(closes[1]) == pytest.approx(0.58, abs=0.005)
    monkeypatch.setattr(dynamics_command, "EVENTS", 1)
    assert run("simulate", path, *options, "--accuracy", 1e-4) == 0
    assert [line.split()[0] for line in lines()] == ["event", "..."]


def test_options_of_loading_are_those_of_the_library(tmp_path, capsys):
    more = '<limit velocity="3"/><dynamics friction="0.1"/>'
    text = robot(link("a"), link("b", mass=0), joint("j", "continuous", "a", "b", more=more))
    (tmp_path / "ghost.urdf").write_text(text)
    path = tmp_path / "ghost.urdf"

    assert run("info", path) == 1
    assert "link 'b' moves and has no mass" in capsys.readouterr().err
    assert run("info", path, "--least-radius", 0.1, "--without", "friction") == 0
    said = capsys.readouterr()
    assert table(said.out)["bodies"] == "2" and "a ball of radius 0.1 m: 'b'" in said.err
    assert run("info", path, "--least-radius", 0.1, "--without", "colour") == 1
    assert "without names no property: ['colour']" in capsys.readouterr().err


def test_info_names_bodies_joints_and_loops(urdf, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert run("info", urdf, "--base", "fixed", "--plot", tmp_path / "graph.png") == 0
    said = capsys.readouterr().out

    assert table(said) == {
        "bodies": "1", "mass": "1 kg", "joints": "1 revolute", "constraints": "5", "loops": "0",
        "controls": "0", "frames": "2",
    }  # fmt: skip
    assert "  joint    hip" in said and "world - rod" in said
    assert (tmp_path / "graph.png").read_bytes()[:4] == b"\x89PNG"


def test_info_says_limits_couplings_and_loops(tmp_path, capsys):
    from .robots import four_bar

    limits = '<limit lower="-1" upper="0.5"/>'
    mimic = '<mimic joint="i" multiplier="-2" offset="0.1"/>'
    text = robot(
        link("base", mass=0), link("a", 1.0), link("b", 1.0),
        joint("i", "revolute", "base", "a", more=limits),
        joint("j", "continuous", "base", "b", more=mimic),
    )  # fmt: skip
    (tmp_path / "two.urdf").write_text(text)
    assert run("info", tmp_path / "two.urdf", "--base", "fixed") == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]

    assert "joint i revolute world - a -1 to 0.5" in lines
    (tmp_path / "long.urdf").write_text(text.replace('"a"', f'"{"a" * 40}"'))
    assert run("info", tmp_path / "long.urdf", "--base", "fixed") == 0
    lines += [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert f"body {'a' * 40} 1 kg" in lines
    assert f"joint i revolute world - {'a' * 40} -1 to 0.5" in lines
    assert any(line.startswith("coupling ") and line.endswith("j = -2 i + 0.1") for line in lines)
    (tmp_path / "loop.urdf").write_text(four_bar())
    assert run("info", tmp_path / "loop.urdf", "--base", "fixed") == 0
    assert "  loop   a, " in capsys.readouterr().out


def test_view_shows_a_robot_that_stands_and_one_that_moves(urdf, tmp_path, monkeypatch):
    page, motion = tmp_path / "page.html", tmp_path / "motion.npz"
    assert run("view", urdf, "--base", "fixed", "--set", "hip=1.5", "--html", page) == 0
    assert time_of(scene_of(page.read_text())).tolist() == [0.0]

    assert run("simulate", urdf, "--base=fixed", "--seconds=0.1", "--out", motion) == 0
    opened = []
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    assert run("view", urdf, motion, "--base", "fixed") == 0
    assert opened == [next(tmp_path.glob("motion-*.html")).as_uri()]


def test_view_lets_a_robot_move_in_real_time(urdf, capsys, monkeypatch):
    opened, starts = [], []
    live = SimpleNamespace(url="http://here", wait=lambda: opened.append("waited"))
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    monkeypatch.setattr(
        dy.Model, "view", lambda model, state: starts.append((model, state)) or live
    )
    options = ["--base=fixed", "--servo=50,5", "--set", "hip=0.3", "--timestep=0.004"]
    assert run("view", urdf, "--live", *options) == 0
    assert opened == ["http://here", "waited"] and capsys.readouterr().out == "http://here\n"
    ((model, state),) = starts
    assert model.timestep == 0.004 and model.joint(state, "hip")[0] == pytest.approx(0.3)
    assert model.mechanism.joints["hip"].servo.stiffness == 50.0
    assert run("view", urdf, "--live", "--base=fixed", "--html", "page.html") == 1
    assert "--live shows no motion that was kept" in capsys.readouterr().err


def test_a_robot_collides_and_its_joints_are_driven(tmp_path, capsys):
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    (tmp_path / "two.urdf").write_text(
        robot(
            link("a", more=ball),
            link("b", more=ball),
            joint("j", "prismatic", "a", "b", axis=(1, 0, 0), xyz=(0.5, 0, 0)),
        )
    )
    (tmp_path / "two.srdf").write_text("<robot name='r'/>")
    path, motion = tmp_path / "two.urdf", tmp_path / "m.npz"
    common = ["--seconds=1", "--ground", "--position", 0, 0, 0.2, "--out", motion, "--quiet"]
    assert run("simulate", path, *common, "--collide", "--actuated", "--controls", "j=0.5") == 0
    model = dy.load(path, ground=True, collide=True, actuated=True).finalize(0.01)
    found = dy.Trajectory.load(motion, model)
    assert found.body("a")[0][-1, 2] == pytest.approx(0.1, abs=1e-6)
    assert found.joint("j")[-1] > 0.0  # until they stick to the floor
    assert run("simulate", path, *common, "--srdf", tmp_path / "two.srdf", "--servo=9,3") == 0
    assert run("simulate", path, *common, "--collide", "--keyframe=home") == 1
    assert "there is no keyframe 'home'" in capsys.readouterr().err


def test_an_overlap_names_the_option_that_moves_apart(tmp_path, capsys):
    path = tmp_path / "low.urdf"
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    path.write_text(robot(link("ball", more=ball)))
    arguments = ["simulate", path, "--ground", "--seconds", "0.02", "--quiet"]

    assert run(*arguments) == 1
    assert "overlaps by 1.00e-01 m at the start; place the bodies apart, or use --separate" in (
        capsys.readouterr().err
    )
    assert run(*arguments, "--separate") == 0


def test_a_motion_on_the_ground_is_not_viewed_without_it(tmp_path, capsys):
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    path, motion = tmp_path / "ball.urdf", tmp_path / "m.npz"
    path.write_text(robot(link("a", more=ball)))
    options = ["--position", 0, 0, 1, "--seconds=0.1", "--out", motion, "--quiet"]
    assert run("simulate", path, "--ground", *options) == 0
    assert run("view", path, motion, "--html", tmp_path / "page.html") == 1
    assert "with the options of that run, such as --ground" in capsys.readouterr().err
    assert run("view", path, motion, "--ground", "--html", tmp_path / "page.html") == 0


def test_a_keyframe_is_a_start_with_its_commands(tmp_path, mujoco):
    rod = '<geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03"/>'
    servo = '<actuator><position name="s" joint="j" kp="500" kv="20"/></actuator>'
    key = '<keyframe><key name="home" qpos="0.4" ctrl="0.4"/></keyframe>'
    body = f'<body name="b"><joint name="j" axis="0 1 0"/>{rod}</body>'
    path, motion = tmp_path / "arm.xml", tmp_path / "m.npz"
    path.write_text(f"<mujoco><worldbody>{body}</worldbody>{servo}{key}</mujoco>")
    model = dy.load(path).finalize(0.01)
    for more, end in ((), 0.4), (("--controls", "j=-0.4"), -0.4):
        common = ["--keyframe=home", "--seconds=2", "--out", motion, "--quiet", *more]
        assert run("simulate", path, *common) == 0
        found = dy.Trajectory.load(motion, model).joint("j")
        assert found[0] == pytest.approx(0.4) and found[-1] == pytest.approx(end, abs=0.02)


def test_joints_on_loops_are_set_with_all_others(tmp_path, capsys):
    from .robots import four_bar

    path, motion = tmp_path / "loop.urdf", tmp_path / "motion.npz"
    path.write_text(four_bar())
    assert run("simulate", path, "--base=fixed", "--seconds=0.05", "--set", "a=0.3",
               "--out", motion) == 0  # fmt: skip
    assert table(capsys.readouterr().out)["loops"] == "1"
    with np.load(motion) as kept:
        assert kept["bodies"].tolist() == ["left", "right", "top"]  # breadth first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "none.urdf"], "there is no file"),
        (["info", "{urdf}"], "'base' moves and has no mass: load it with --base fixed"),
        (["simulate", "{urdf}", "--base=fixed", "--set", "knee=1"], "there is no joint 'knee'"),
        (["simulate", "{urdf}", "--base=fixed", "--set", "hip=1,2"], "joint 'hip'"),
        (["simulate", "{urdf}", "--base=fixed", "--controls", "hip=1"], "or from --actuated"),
        (["simulate", "{urdf}", "--base=fixed", "--every=0"], "every is 0"),
        (["view", "{urdf}", "{urdf}", "--base=fixed"], "holds no trajectory"),
        (["simulate", "{urdf}", "--base=fixed", "--seconds=0.1", "--out", "none/x.npz"],
         "--out none/x.npz: there is no folder"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_in_one_line_with_exit_code_1(urdf, arguments, message, capsys):
    assert run(*(argument.format(urdf=urdf) for argument in arguments)) == 1
    (line,) = [one for one in capsys.readouterr().err.splitlines() if "error" in one]
    assert line.startswith("dynamics: error:") and message in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: COMMAND"),
        (["fly"], "invalid choice: 'fly'"),
        (["simulate", "r.urdf", "--seconds", "-1"], "'-1' is not a positive number"),
        (["simulate", "r.urdf", "--seconds", "soon"], "'soon' is not a positive number"),
        (["simulate", "r.urdf", "--set", "hip"], "'hip' is not of the form joint=0.3"),
        (["simulate", "r.urdf", "--set", "hip=x"], "'hip=x' is not of the form joint=0.3"),
        (["info", "r.urdf", "--base", "loose"], "invalid choice: 'loose'"),
        (["info", "r.urdf", "--servo", "a"], "'a' is not of the form 60,2"),
        (["info", "r.urdf", "--servo", "1", "--actuated"], "not allowed with"),
    ],
)
def test_wrong_usage_exits_with_2(arguments, message, capsys):
    assert run(*arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", "--help"], ["info", "--help"],
                                       ["view", "--help"], ["--version"]])  # fmt: skip
def test_help_and_version_exit_with_0(arguments, capsys):
    assert run(*arguments) == 0
    assert "dynamics" in capsys.readouterr().out


def test_a_motion_that_stops_is_kept_up_to_there(urdf, tmp_path, monkeypatch, capsys):
    real = dy.simulate

    def fails(model, state, seconds, **options):
        error = dy.ConvergenceError("step 3 was not solved")
        error.trajectory = real(model, state, 0.03)
        raise error

    monkeypatch.setattr("dynamics.simulation.simulate", fails)
    motion = tmp_path / "motion.npz"
    assert run("simulate", urdf, "--base=fixed", "--out", motion) == 1
    assert "error: step 3 was not solved" in capsys.readouterr().err
    with np.load(motion) as kept:
        assert kept["time"].size == 4


def test_a_motion_that_never_began_leaves_no_file(urdf, tmp_path, monkeypatch, capsys):
    def fails(*_, **__):
        raise dy.ConvergenceError("step 0 was not solved")

    monkeypatch.setattr("dynamics.simulation.simulate", fails)
    motion = tmp_path / "motion.npz"
    assert run("simulate", urdf, "--base=fixed", "--out", motion) == 1
    assert "error: step 0 was not solved" in capsys.readouterr().err
    assert not motion.exists()


def test_ctrl_c_exits_with_130_in_one_line(urdf, monkeypatch, capsys):
    def stops(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dynamics.simulation.simulate", stops)
    assert run("simulate", urdf, "--base=fixed") == 130
    assert capsys.readouterr().err.splitlines()[-1] == "dynamics: error: interrupted"


def test_a_reader_that_stops_early_sees_no_traceback(urdf):
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run(
        [sys.executable, "-m", "dynamics", "info", urdf, "--base=fixed"],
        stdout=writer, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    os.close(writer)

    assert ran.returncode == 1 and "Traceback" not in ran.stderr


def test_a_bar_is_shown_to_people_alone(urdf, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert run("simulate", urdf, "--base=fixed", "--seconds=0.5") == 0
    assert "[" + "#" * 40 + "] 100 %\n" in capsys.readouterr().err
    assert run("simulate", urdf, "--base=fixed", "--seconds=0.5", "--quiet") == 0
    assert "%" not in capsys.readouterr().err


def test_the_module_and_the_script_are_the_same_program(tmp_path):
    script = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert script["project"]["scripts"]["dynamics"] == "dynamics.__main__:main"
    ran = subprocess.run(
        [sys.executable, "-m", "dynamics", "info", str(tmp_path / "none.urdf")],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert ran.returncode == 1 and ran.stderr.startswith("dynamics: error: there is no file")


def test_warmup_says_in_one_line_what_it_simulated(capsys):
    assert run("warmup") == 0

    captured = capsys.readouterr()
    assert captured.out.startswith("kernels ready: 202 steps simulated in ")
    assert (captured.out.count("\n"), captured.err) == (1, "")


class Planted:
    """What unpickling would make a folder of."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_a_file_that_is_no_motion_is_named(urdf, tmp_path, capsys):
    (tmp_path / "junk.npz").write_bytes(b"PK\x03\x04 and no more")
    np.save(tmp_path / "array.npy", np.zeros(3))
    for name in ("junk.npz", "array.npy"):
        assert run("view", urdf, tmp_path / name, "--base", "fixed", "--html", "page.html") == 1
        assert f"{name} holds no trajectory of dynamics" in capsys.readouterr().err


@pytest.mark.parametrize("where", ["states", "bodies", "more"])
def test_a_motion_from_a_stranger_runs_nothing(urdf, tmp_path, capsys, where):
    motion, planted = tmp_path / "motion.npz", tmp_path / "planted"
    assert run("simulate", urdf, "--base", "fixed", "--seconds", 0.1, "--out", motion) == 0
    with np.load(motion) as file:
        parts = dict(file)
    parts[where] = np.array([Planted(planted)], object)
    np.savez(motion, **parts)
    capsys.readouterr()
    code = run("view", urdf, motion, "--base", "fixed", "--html", tmp_path / "page.html")

    assert code == 1
    assert "holds no trajectory of dynamics" in capsys.readouterr().err
    assert not planted.exists() and not (tmp_path / "page.html").exists()


def test_a_warning_is_printed_once(tmp_path, capsys):
    pytest.importorskip("trimesh")
    mass = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    mesh = '<visual><geometry><mesh filename="away.stl"/></geometry></visual>'
    link = f'<link name="{{}}"><inertial>{mass}</inertial>{mesh}</link>'
    file = tmp_path / "twice.urdf"
    file.write_text(
        f'<robot name="twice">{link.format("a")}{link.format("b")}<joint name="hinge" '
        'type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
    )
    assert run("simulate", file, "--seconds", 0.1, "--html", tmp_path / "page.html") == 0
    assert capsys.readouterr().err.count("mesh 'away.stl' is not there") == 1
