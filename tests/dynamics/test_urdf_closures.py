"""Closed loops and coupled joints of URDF files, and of files beside them."""

import warnings

import numpy as np
import pytest

import dynamics as dy
from dynamics.errors import InconsistentStateError

from .robots import (
    four_bar,
    joint,
    link,
    load,
    robot,
    rpy_matrix,
)


def test_a_loop_joint_closes_a_loop_that_stays_closed(tmp_path):
    mech = load(tmp_path, four_bar(), base="fixed")
    model = mech.finalize(0.01)
    start = model.assemble(model.initial_state(), {"a": 0.3})
    trajectory = dy.simulate(model, start, 1.0)

    assert len(model.tables.cycles) == 1
    assert model.joint(start, "a")[0] == pytest.approx(0.3, abs=1e-10)
    assert trajectory.constraint_violation().max() < 1e-8
    np.testing.assert_allclose(trajectory.joint("a"), trajectory.joint("d"), atol=1e-7)


def test_a_closure_that_cannot_meet_is_named(tmp_path):
    model = load(tmp_path, four_bar(reach=9.0), base="fixed").finalize()
    with pytest.raises(InconsistentStateError, match="stays open"):
        model.initial_state()


def test_a_default_namespace_is_no_obstacle(tmp_path):
    text = four_bar().replace("<robot ", '<robot xmlns="http://drake.mit.edu" ')
    assert len(load(tmp_path, text, base="fixed").joints) == 4


@pytest.mark.parametrize(
    "yaml", ["", "- a\n- b: [1, 2]\n", "controller:\n  gains: {p: 3}\n", b"\xe9"]
)
def test_a_yaml_file_of_another_kind_next_to_the_robot_is_left_alone(tmp_path, yaml):
    (tmp_path / "robot.yaml").write_bytes(yaml if isinstance(yaml, bytes) else yaml.encode())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mech = load(tmp_path, robot(link("a")), quiet=False)
    assert mech.report.left_out == {"files next to it that hold no closures": ["robot.yaml"]}
    with pytest.raises(ValueError, match=r"^robot.yaml"):  # it is refused where it is named
        load(tmp_path, robot(link("a")), closures=tmp_path / "robot.yaml")


def closed_by(yaml, tmp_path):
    text = four_bar()
    text = text[: text.index("<loop_joint")] + "</robot>"
    tips = "".join(
        link(name, mass=0) + joint(f"{name} joint", "fixed", parent, name, (0, 0, 1), rpy)
        for name, parent, rpy in (("tip", "top", (np.pi / 2, 0, 0)), ("goal", "right", (0, 0, 0)))
    )
    (tmp_path / "robot.yaml").write_text(yaml)
    return load(tmp_path, text.replace("</robot>", tips + "</robot>"), base="fixed")


@pytest.mark.parametrize(
    ("yaml", "kind"),
    [
        ("closed_loop: [['tip', 'goal']]\ntype: ['3d']\nname_mot: ['a']", "spherical"),
        ('closed_loop: [["tip joint", goal]]  # by joint\ntype: [6d]\n', "fixed"),
    ],
)
def test_closures_of_gepetto_are_joints_between_frames(tmp_path, yaml, kind):
    mech = closed_by(yaml, tmp_path)
    closure = next(one for name, one in mech.joints.items() if "goal" in str(name))

    assert closure.kind == kind
    assert mech.joints["a"].actuated == ("name_mot" in yaml)
    assert (
        np.abs(mech.finalize().constraint_violation(mech.finalize().initial_state())).max() < 1e-9
    )


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("closed_loop: [['tip', 'none']]\ntype: ['3d']", "neither link nor joint: 'none'"),
        ("closed_loop: [['tip', 'goal']]\ntype: ['4d']", "type 3d or 6d"),
        ("closed_loop: [['tip', 'goal']]\ntype: []", "lists of one length"),
        ("closed_loop: [['tip'", "a bracket is not closed"),
        ("closed_loop: [[[['tip']]]]", "nest too deep"),
        ("- nothing\nclosed_loop: []", "must hold lines like"),
        ("closed_loop: [['tip', 'goal']]\ntype: ['3d']\nname_mot: [x]", "names no joint: 'x'"),
        ("closed_loop: [[tip, goal], [tip, goal]]\ntype: 3d", "closure 'tip-goal' appears twice"),
        ("closed_loop: [['tip', 'goal']]]\ntype: 3d", "brackets of closed_loop do not match"),
        ("closed_loop: [[tip,, goal]]\ntype: 3d", "there is a ',' where a name should be"),
        ("closed_loop:\ntype: 3d", "cannot read closed_loop: write it as"),
    ],
)
def test_broken_closures_are_refused(tmp_path, yaml, message):
    with pytest.raises(ValueError, match=message):
        closed_by(yaml, tmp_path)


def test_a_side_file_that_is_named_must_be_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file .*lost.yaml"):
        load(tmp_path, four_bar(), base="fixed", closures=tmp_path / "lost.yaml")


def test_what_else_is_in_a_side_file_is_named(tmp_path):
    text = four_bar()
    (tmp_path / "robot.yaml").write_text("closed_loop: []\nscale: [2]\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load(tmp_path, text, base="fixed", quiet=False)

    said = [one.message for one in caught]
    (left,) = [one for one in said if isinstance(one, dy.io.UnsupportedElementWarning)]
    assert left.elements == {"robot.yaml": ["scale"]}


@pytest.mark.parametrize(
    ("word", "kind", "axes"),
    [
        ("SPHERICAL", "spherical", ""), ("FIXED", "fixed", ""), ("CARDAN", "universal", "xy"),
        ("UJOINT_XY", "universal", "xy"), ("UJOINT_YZ", "universal", "yz"),
        ("UJOINT_ZX", "universal", "zx"),
    ],
)  # fmt: skip
def test_joint_types_of_gepetto_replace_those_of_the_file(tmp_path, word, kind, axes):
    limit = '<limit lower="-1" upper="1" effort="2" velocity="3"/>'
    text = robot(
        link("world", mass=0), link("rod", 1.0, (0.5, 0, 0)),
        joint("j", "revolute", "world", "rod", (0, 0, 1), (0.1, 0.2, 0.3), (0, 0, 1), limit),
    )  # fmt: skip
    (tmp_path / "robot.yaml").write_text(
        f"closed_loop: []\ntype: []\nname_mot: []\njoint_name: ['j']\njoint_type: ['{word}']"
    )
    j = load(tmp_path, text).joints["j"]
    at = rpy_matrix((0.1, 0.2, 0.3))

    assert (j.kind, j.limits) == (kind, None)
    for row in j.positions if axes else ():  # a cross: first axis on the parent, second on rod
        np.testing.assert_allclose(row.axis, at[:, "xyz".index(axes[0])], atol=1e-15)
        np.testing.assert_allclose(row.second, np.eye(3)["xyz".index(axes[1])], atol=1e-15)


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("joint_name: [x]\njoint_type: [SPHERICAL]", "joint_name names no joint: 'x'"),
        (
            "joint_name: [a]\njoint_type: [BALLISH]",
            "joint 'a' has the unknown joint_type 'BALLISH'",
        ),
        ("joint_name: [a]\njoint_type: []", "lists of one length"),
    ],
)
def test_broken_joint_types_are_refused(tmp_path, yaml, message):
    with pytest.raises(ValueError, match=message):
        closed_by("closed_loop: []\n" + yaml, tmp_path)


def test_a_joint_on_the_world_follows_another(tmp_path):
    more = '<mimic joint="a" multiplier="-2" offset="0.1"/>'
    text = robot(
        link("ground", mass=0), link("p", 1.0, (0.5, 0, 0)), link("q", 1.0, (0.3, 0.1, 0)),
        link("r", 1.0, (0.1, 0.2, 0.3)),
        joint("a", "continuous", "ground", "p", (0, 0, 0), (1, 0.2, 0), (0, 1, 0)),
        joint("b", "continuous", "ground", "q", (0, 2, 0), (0.3, 0, 0.5), (0, 0.6, 0.8), more),
        joint("c", "prismatic", "ground", "r", (0, 3, 0), (0.1, 0.2, 0.5), (0, 0.6, 0.8), more),
    )  # fmt: skip
    model = load(tmp_path, text, base="fixed").finalize(0.01)
    trajectory = dy.simulate(model, model.initial_state(), 1.0)
    a = trajectory.joint("a")

    assert np.ptp(a) > 0.5
    turns = trajectory.joint("b") - (0.1 - 2.0 * a)
    np.testing.assert_allclose(turns, 2 * np.pi * np.round(turns / (2 * np.pi)), atol=1e-7)
    np.testing.assert_allclose(trajectory.joint("c"), 0.1 - 2.0 * a, atol=1e-7)


@pytest.mark.parametrize("limit", ["", '<limit lower="-1.5" upper="-0.01"/>'])
def test_closing_a_loop_leaves_the_root_of_a_floating_robot_in_its_place(tmp_path, limit):
    rod = {"xyz": (0, 0, 0.5), "inertia": (1 / 12, 1 / 12, 1e-3)}
    kind = "revolute" if limit else "continuous"
    text = robot(
        link("trunk", 3.0), *(link(name, **rod) for name in ("left", "top", "right")),
        joint("a", kind, "trunk", "left", axis=(1, 0, 0), more=limit),
        joint("b", "continuous", "left", "top", (0, 0, 1), (-np.pi / 2, 0, 0), (1, 0, 0)),
        joint("d", "continuous", "trunk", "right", (0, 1, 0), axis=(1, 0, 0)),
        '<loop_joint name="c" type="continuous"><axis xyz="1 0 0"/><link1 link="top" '
        'xyz="0 0 1.1"/><link2 link="right" xyz="0 0 0.8"/></loop_joint>',
    )  # fmt: skip
    place = {"position": (1.0, 2.0, 3.0), "orientation": (0.6, 0.8, 0.0, 0.0)}
    model = load(tmp_path, text, **place).finalize()
    state = model.initial_state()

    assert np.abs(model.constraint_violation(state)).max() < 1e-10
    trunk = state.pose[model.body_number("trunk")]
    np.testing.assert_array_equal(trunk, [1, 2, 3, 0.6, 0.8, 0, 0])
    assert model.joint(state, "d")[0] < -0.05  # it was open
