"""The table of what `dynamics.load` read, changed, left out and kept."""

import warnings

import pytest

import dynamics as dy
from dynamics.__main__ import main
from dynamics.io import LoadWarning

from .robots import joint, link, load, robot

TEXT = robot(
    link("world", mass=0), link("arm", 1.0, inertia=(1, 1, 5)), link("tip", mass=0),
    '<gazebo reference="arm"/>',
    '<transmission name="t"><joint name="hip"/></transmission>',
    joint("hip", "continuous", "world", "arm", more='<limit effort="3" velocity="0"/>'),
    joint("mount", "fixed", "arm", "tip"),
)  # fmt: skip


def test_a_report_says_what_became_of_every_element(tmp_path):
    found = load(tmp_path, TEXT).report

    assert found.file == "robot.urdf"
    assert found.read == {
        "links": ["world", "arm", "tip"], "revolute joints": ["hip"],
        "motors (controls are forces)": ["hip"], "joints with control_limits": ["hip"],
    }  # fmt: skip
    assert found.changed == {"merged into 'arm'": ["tip"]}
    assert found.left_out == {"<gazebo>": ["arm"]}
    assert found.kept == {"inertia that no rigid body has (triangle inequality)": ["arm"]}
    lines = [" ".join(line.split()) for line in str(found).splitlines()]
    assert lines[:2] == ["read links 3 world, arm, tip", "revolute joints 1 hip"]
    assert lines[-2:] == [
        "left out <gazebo> 1 arm",
        "kept inertia that no rigid body has (triangle inequality) 1 arm",
    ]


def test_a_report_holds_what_the_warnings_name(tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = load(tmp_path, TEXT, quiet=False).report
    named = [one.message.elements for one in caught if isinstance(one.message, LoadWarning)]

    assert named == [found.left_out, found.kept]
    assert found.changed == {"merged into 'arm'": ["tip"]}  # which changes no motion


def test_long_rows_are_cut_and_the_report_is_not(tmp_path):
    names = [f"a_rather_long_name_{k}" for k in range(9)]
    rods = [link(name) for name in names]
    joints = [joint(f"j{k}", "continuous", names[0], name) for k, name in enumerate(names[1:])]
    found = load(tmp_path, robot(*rods, *joints)).report

    assert found.read["links"] == names
    assert (
        str(found)
        .splitlines()[0]
        .endswith("9      a_rather_long_name_0, a_rather_long_name_1, ...")
    )


def test_info_prints_the_report(tmp_path, capsys):
    (tmp_path / "robot.urdf").write_text(TEXT)
    assert main(["info", str(tmp_path / "robot.urdf")]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]

    assert "left out <gazebo> 1 arm" in lines and "changed merged into 'arm' 1 tip" in lines


def test_mechanisms_from_no_file_have_no_report(tmp_path):
    assert dy.Mechanism().report is None
    made = load(tmp_path, TEXT)
    assert made.copy().report is made.report


@pytest.mark.parametrize("count", [1, 2])
def test_one_name_beyond_the_width_is_cut(tmp_path, count):
    names = [f"{k}" + 80 * "n" for k in range(count)]
    rods = [link(name) for name in names]
    joints = [joint("j", "continuous", *names)] if count > 1 else []
    first = str(load(tmp_path, robot(*rods, *joints)).report).splitlines()[0]

    assert first.endswith("n...") if count == 1 else first.endswith(", ...")
