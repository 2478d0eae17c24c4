"""SDF: kinds of joints, what acts in them, gearboxes, followers and loops."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.io import LoadWarning

from .robots import ROUNDING, pose_of_frame
from .sdf import at, joint, link, load, model

X, Y, Z = np.eye(3)


def pose_at(mechanism, name, coordinates):
    """Position and rotation matrix of a link with joints at coordinates."""
    fine = mechanism.finalize(timestep=0.01)
    state = fine.initial_state()
    for one, value in coordinates.items():
        fine.set_joint(state, one, value)
    return pose_of_frame(mechanism, state, fine, name)


def turned(vector):
    """Matrix of a rotation vector."""
    return rotation.to_matrix(rotation.from_rotation_vector(np.asarray(vector, np.float64)))


# Kinds


def test_a_universal_joint_has_two_axes_with_limits_of_their_own(tmp_path):
    second = (
        "<axis2><xyz>0 1 0</xyz><limit><lower>-2</lower></limit>"
        "<dynamics><damping>0.5</damping></dynamics></axis2>"
    )
    first = "<limit><lower>-1</lower><upper>1</upper></limit>"
    text = model(
        link("a"), link("b", pose="0 0 1 0 0 0"),
        joint("j", "universal", "a", "b", "1 0 0", first, second),
    )  # fmt: skip
    mechanism = load(tmp_path, text)
    made = mechanism.joints["j"]

    assert made.kind == "universal"
    np.testing.assert_array_equal(made.limits, [(-1, 1), (-2, np.inf)])
    np.testing.assert_array_equal(made.damping, (0, 0.5))
    R = pose_at(mechanism, "b", {"j": (0.3, 0.4)})[1]
    np.testing.assert_allclose(R, turned(0.3 * X) @ turned(0.4 * Y), atol=10 * ROUNDING)


def test_axes_that_are_not_square_are_two_hinges(tmp_path):
    text = model(
        link("a"), link("b", pose="0 0 1 0 0 0"),
        joint("j", "revolute2", "a", "b", "1 0 0", more="<axis2><xyz>1 1 0</xyz></axis2>"),
    )  # fmt: skip
    with pytest.warns(LoadWarning, match="not at right angles are two hinges: 'j'"):
        mechanism = load(tmp_path, text, quiet=False)
    R = pose_at(mechanism, "b", {"j 1": 0.3, "j 2": 0.4})[1]

    assert list(mechanism.joints) == ["j 1", "j 2"]
    skew = (X + Y) / np.sqrt(2)
    np.testing.assert_allclose(R, turned(0.3 * X) @ turned(0.4 * skew), atol=10 * ROUNDING)


def test_two_hinges_of_a_joint_take_no_name_of_the_file(tmp_path):
    robot = load(
        tmp_path,
        model(
            link("a"), link("j between"), link("c"), joint("f", "fixed", "world", "a"),
            joint("j", "universal", "a", "j between", "1 0 0",
                  more="<axis2><xyz>1 1 0</xyz></axis2>"),
            joint("j 2", "revolute", "j between", "c"),
        ),
    )  # fmt: skip
    hinges = [(one.parent.name, one.child.name) for one in list(robot.joints.values())[1:]]
    assert list(robot.joints) == ["f", "j 1", "j 2 2", "j 2"]
    assert hinges[0][0] == "a" and hinges[0][1] == hinges[1][0]
    assert hinges[1][1] == hinges[2][0] == "j between" and hinges[2][1] == "c"


@pytest.mark.parametrize(
    "pitch, metres",
    [
        ("<screw_thread_pitch>0.1</screw_thread_pitch>", 0.1),
        ("<thread_pitch>10</thread_pitch>", -0.2 * np.pi),  # rad/m, left-handed where positive
    ],
)
def test_a_screw_advances_its_pitch_per_turn(tmp_path, pitch, metres):
    axis = (
        "<limit><lower>-2</lower><upper>4</upper><effort>3</effort></limit><dynamics>"
        "<damping>0.2</damping></dynamics>"
    )
    text = model(link("a"), link("b"), joint("j", "screw", "a", "b", "0 0 1", axis, pitch))
    mechanism = load(tmp_path, text, actuated=True)
    made, rate = mechanism.joints["j"], metres / (2 * np.pi)
    x, R = pose_at(mechanism, "b", {"j": 0.5 * rate})

    np.testing.assert_allclose(x, (0, 0, 0.5 * rate), atol=ROUNDING)
    np.testing.assert_allclose(R, turned(0.5 * Z), atol=10 * ROUNDING)  # half a radian
    np.testing.assert_allclose(made.limits, [sorted((-2 * rate, 4 * rate))], rtol=1e-12)
    np.testing.assert_allclose(made.control_limits, [(-3 / abs(rate), 3 / abs(rate))], rtol=1e-12)
    assert made.damping == pytest.approx(0.2 / rate**2)  # the same power: 0.2 w^2 = d (rate w)^2


@pytest.mark.parametrize("kind, step", [("revolute", turned(0.4 * Y)), ("prismatic", None)])
def test_a_joint_without_a_range_is_fixed_there(tmp_path, kind, step):
    limit = "<limit><lower>0.4</lower><upper>0.4</upper></limit>"
    text = model(link("a"), link("b"), joint("j", kind, "a", "b", "0 1 0", limit))
    with pytest.warns(LoadWarning, match="without a range between their limits are fixed: 'j'"):
        mechanism = load(tmp_path, text, quiet=False)
    x, R = pose_at(mechanism, "b", {})

    assert mechanism.joints["j"].kind == "fixed"
    np.testing.assert_allclose(x, 0.4 * Y if step is None else 0.0, atol=10 * ROUNDING)
    np.testing.assert_allclose(R, np.eye(3) if step is None else step, atol=10 * ROUNDING)


def test_continuous_joints_have_no_limits_and_balls_no_axis(tmp_path):
    limit = "<limit><lower>-1</lower><upper>1e16</upper><effort>-1</effort></limit>"
    text = model(
        link("a"), link("b"), link("c"), link("d"),
        joint("i", "continuous", "a", "b", "0 1 0", limit), joint("j", "ball", "b", "c"),
        joint("k", "prismatic", "c", "d", "0 1 0", limit),
    )  # fmt: skip
    joints = load(tmp_path, text, actuated=True).joints

    assert [one.kind for one in joints.values()] == ["revolute", "spherical", "prismatic"]
    assert joints["i"].limits is None
    np.testing.assert_array_equal(joints["k"].limits, [(-1, np.inf)])
    assert joints["k"].control_limits is None  # not enforced where negative


def test_springs_dampers_and_dry_friction_act(tmp_path):
    forces = (
        "<dynamics><damping>0.3</damping><friction>0.2</friction><spring_stiffness>7"
        "</spring_stiffness><spring_reference>0.4</spring_reference></dynamics>"
    )
    text = model(link("a"), link("b"), joint("j", "revolute", "a", "b", "0 1 0", forces))
    made = load(tmp_path, text).joints["j"]

    assert [*made.damping, *made.friction, *made.stiffness, *made.rest] == [0.3, 0.2, 7, 0.4]


def test_drakes_rotors_gains_followers_and_planar_joints(tmp_path):
    extras = (
        "<drake:rotor_inertia>0.01</drake:rotor_inertia><drake:gear_ratio>10</drake:gear_ratio>"
        '<drake:controller_gains p="50" d="2"/>'
    )
    effort = "<limit><effort>9</effort></limit>"
    follow = '<drake:mimic joint="i" multiplier="-2" offset="0.1"/>'
    plane = (
        '<drake:joint name="k" type="planar"><drake:parent>c</drake:parent><drake:child>d'
        "</drake:child><drake:damping>1 1 3</drake:damping></drake:joint>"
    )
    text = model(
        link("a"), link("b"), link("c"), link("d", pose="1 2 3 0 0 0"),
        joint("i", "revolute", "a", "b", "0 1 0", effort, extras),
        joint("j", "revolute", "b", "c", "0 1 0", more=follow), plane,
    )  # fmt: skip
    mechanism = load(tmp_path, text)
    joints = mechanism.joints

    assert joints["i"].armature == pytest.approx(1.0)
    assert (joints["i"].servo.stiffness, joints["i"].servo.damping) == (50, 2)
    assert joints["i"].servo.force_limit == 9
    coupling = mechanism.couplings["j mimics i"]
    assert (coupling.ratio, coupling.offset) == (-2, 0.1)
    assert joints["k"].kind == "planar axis"
    np.testing.assert_array_equal(joints["k"].damping, (1, 1, 3))


def test_drakes_planar_joint_is_between_its_frames_wherever_the_links_are(tmp_path):
    plane = (
        '<drake:joint name="k" type="planar"><drake:parent>f</drake:parent><drake:child>d'
        "</drake:child></drake:joint>"
    )
    frame = f'<frame name="f" attached_to="c">{at(f"0 0 1 {np.pi / 2} 0 0")}</frame>'
    mechanism = load(tmp_path, model(link("c"), link("d", pose="1 2 3 0 0 0"), frame, plane))
    x, R = pose_at(mechanism, "d", {"k": (0.1, 0.2, 0.3)})

    np.testing.assert_allclose(x, (0.1, 0, 1.2), atol=10 * ROUNDING)  # y of f is z of c
    np.testing.assert_allclose(R, turned(np.pi / 2 * X) @ turned(0.3 * Z), atol=10 * ROUNDING)


# Followers


def test_followers_follow_with_their_reference(tmp_path):
    mimic = (
        '<mimic joint="i" axis="axis"><multiplier>3</multiplier><offset>0.5</offset>'
        "<reference>0.1</reference></mimic>"
    )
    text = model(
        link("a"), link("b"), link("c"), joint("i", "revolute", "a", "b", "0 1 0"),
        joint("j", "revolute", "b", "c", "0 1 0", mimic),
    )  # fmt: skip
    found = load(tmp_path, text).couplings["j mimics i"]

    assert (found.ratio, found.offset) == (3, pytest.approx(0.5 - 0.3))


@pytest.mark.parametrize("turn", [False, True])
def test_gearboxes_couple_two_hinges_on_their_reference(tmp_path, turn):
    # theta_2 = -3 theta_1, both from the frame; the second hinge may count the other way.
    second = ("r", "c") if not turn else ("c", "r")
    box = (
        '<joint name="g" type="gearbox"><parent>b</parent><child>c</child><gearbox_ratio>3'
        "</gearbox_ratio><gearbox_reference_body>r</gearbox_reference_body>"
        "<axis><xyz>0 1 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint>"
    )
    text = model(
        link("r"), link("b"), link("c", pose="1 0 0 0 0 0"), box, joint("w", "fixed", "world", "r"),
        joint("i", "revolute", "r", "b", "0 1 0"), joint("j", "revolute", *second, "0 1 0"),
    )  # fmt: skip
    mechanism = load(tmp_path, text)
    fine = mechanism.finalize(timestep=0.01)
    state = fine.assemble(fine.initial_state(), {"i": 0.2})

    assert mechanism.couplings["j mimics i"].ratio == (3 if turn else -3)
    R = pose_of_frame(mechanism, state, fine, "c")[1]
    np.testing.assert_allclose(R, turned(-0.6 * Y), atol=1e-9)


def test_a_gearbox_without_hinges_is_left_out(tmp_path):
    box = (
        '<joint name="g" type="gearbox"><parent>a</parent><child>b</child>'
        "<gearbox_reference_body>r</gearbox_reference_body></joint>"
    )
    text = model(link("r"), link("a"), link("b"), box, joint("j", "ball", "r", "a"))
    left = load(tmp_path, text).report.left_out

    assert left == {"gearboxes without a hinge to each of their links": ["g"]}


# Loops and turned joints


BAR = model(
    link("ground"), link("crank", pose="0 0 0 0 0 0"), link("rod", pose="0 0 1 0 0 0"),
    link("rocker", pose="2 0 1 0 0 0"), joint("hold", "fixed", "world", "ground"),
    joint("a", "revolute", "ground", "crank", "0 1 0"),
    joint("b", "revolute", "crank", "rod", "0 1 0"),
    joint("c", "revolute", "rod", "rocker", "0 1 0"),
    joint("d", "revolute", "ground", "rocker", "0 1 0", more=at("0 0 -1 0 0 0")),
)  # fmt: skip


@pytest.mark.parametrize("first", [False, True])
def test_links_with_two_parents_close_loops(tmp_path, first):
    text = BAR
    if first:  # the joint that closes the loop may come first, if it says so
        part = text[text.index('<joint name="d"') : text.index("</model>")]
        cut = "<physics><simbody><must_be_loop_joint>1</must_be_loop_joint></simbody></physics>"
        text = text.replace(part, "").replace(
            "<link", part.replace("</joint>", cut + "</joint>") + "<link", 1
        )
    mechanism = load(tmp_path, text)
    fine = mechanism.finalize(timestep=0.01)
    state = fine.assemble(fine.initial_state(), {"a": 0.3})
    motion = dy.simulate(fine, state, seconds=1.0)

    assert len(mechanism.joints) == 5
    # A parallelogram: the rocker turns as the crank does, and the rod keeps upright.
    rocker, rod = (pose_of_frame(mechanism, state, fine, name) for name in ("rocker", "rod"))
    np.testing.assert_allclose(rocker[1], turned(0.3 * Y), atol=1e-9)
    np.testing.assert_allclose(rod[1], np.eye(3), atol=1e-9)
    np.testing.assert_allclose(rocker[0], (2 + np.sin(0.3), 0, np.cos(0.3)), atol=1e-9)
    assert motion.constraint_violation().max() < 1e-9


def test_a_joint_from_child_to_parent_keeps_its_coordinate(tmp_path):
    # c is the parent of b and hangs on nothing: the tree turns the joint round.
    limit = "<limit><lower>-1</lower><upper>2</upper></limit>"
    parts = [link("a"), link("b", pose="0 0 -1 0 0 0"), link("c", pose="0 0 -2 0 0 0")]
    text = model(
        *parts, joint("hold", "fixed", "world", "a"), joint("i", "revolute", "a", "b", "0 1 0"),
        joint("j", "revolute", "c", "b", "0 1 0", limit),
    )  # fmt: skip
    mechanism = load(tmp_path, text)
    made = mechanism.joints["j"]
    R = pose_at(mechanism, "c", {"j": 0.3})[1]

    assert (made.parent.name, made.child.name) == ("b", "c")
    np.testing.assert_array_equal(made.limits, [(-1, 2)])
    np.testing.assert_allclose(R, turned(-0.3 * Y), atol=10 * ROUNDING)  # b is 0.3 from c


def test_a_universal_joint_turned_round_keeps_its_first_angle_on_its_parent(tmp_path):
    more = "<axis2><xyz>0 1 0</xyz></axis2>"
    text = model(
        link("a"), link("b"), joint("hold", "fixed", "world", "b"),
        joint("j", "universal", "a", "b", "1 0 0", more=more),
    )  # fmt: skip
    mechanism = load(tmp_path, text)
    R = pose_at(mechanism, "a", {"j": (0.4, 0.3)})[1]  # angles in the order of the new parent

    np.testing.assert_allclose(R.T, turned(0.3 * X) @ turned(0.4 * Y), atol=10 * ROUNDING)


def test_a_joint_whose_child_is_the_world_holds(tmp_path):
    text = model(link("a", pose="0 0 3 0 0 0"), joint("j", "revolute", "a", "world", "0 1 0"))
    mechanism = load(tmp_path, text)
    x, R = pose_at(mechanism, "a", {"j": 0.3})

    assert mechanism.joints["j"].parent.name == "world"
    # The joint is at the world's origin; the world is 0.3 from the link.
    np.testing.assert_allclose(R, turned(-0.3 * Y), atol=10 * ROUNDING)
    np.testing.assert_allclose(x, turned(-0.3 * Y) @ (0, 0, 3), atol=10 * ROUNDING)


def test_joints_that_hold_nothing_are_left_out(tmp_path):
    text = model(
        link("a"), link("b"), joint("i", "fixed", "a", "b"), joint("j", "revolute", "a", "b"),
    )  # fmt: skip
    mechanism = load(tmp_path, text)

    assert list(mechanism.joints) == ["i"]
    assert mechanism.report.left_out == {"joints between links that are fixed to each other": ["j"]}


def test_a_servo_of_the_user_takes_the_effort_of_the_file(tmp_path):
    effort = "<limit><effort>9</effort></limit>"
    text = model(link("a"), link("b"), joint("j", "revolute", "a", "b", "0 1 0", effort))
    mechanism = load(tmp_path, text, actuated=dy.PositionServo(5.0))

    assert mechanism.joints["j"].servo.force_limit == 9
    assert not load(tmp_path, text).joints["j"].actuated


def test_what_is_left_out_of_joints_is_named(tmp_path):
    second = '<axis2><xyz>0 1 0</xyz><mimic joint="i"/></axis2>'
    rotor = "<drake:rotor_inertia>1</drake:rotor_inertia>"
    uneven = (
        '<drake:joint name="{}" type="{}"><drake:parent>a</drake:parent><drake:child>{}'
        "</drake:child><drake:damping>1 2 3</drake:damping></drake:joint>"
    )
    text = model(
        link("a"), link("b"), link("c"), link("d"), link("e"),
        joint("i", "revolute", "a", "b", more='<sensor name="s"/>'),
        joint("j", "universal", "b", "c", "1 0 0", more=second + rotor),
        uneven.format("k", "planar", "d"), uneven.format("l", "rpy_floating", "e"),
    )  # fmt: skip

    assert load(tmp_path, text).report.left_out == {
        "<sensor> of joints": ["i"], "mimic of a second axis": ["j"],
        "rotors of joints that do not turn or slide": ["j"],
        "damping of planar joints that differs along x and y": ["k"],
        "<drake:joint> of type rpy_floating": ["l"],
    }  # fmt: skip


def test_a_universal_joint_turned_round_keeps_limits_on_their_axes(tmp_path):
    limit = "<limit><lower>-1</lower><upper>2</upper></limit>"
    more = "<axis2><xyz>0 1 0</xyz></axis2>"
    text = model(
        link("a"), link("b"), joint("hold", "fixed", "world", "b"),
        joint("j", "universal", "a", "b", "1 0 0", limit, more),
    )  # fmt: skip
    made = load(tmp_path, text).joints["j"]

    np.testing.assert_array_equal(made.limits, [(-np.inf, np.inf), (-1, 2)])


def test_a_joint_that_cannot_be_turned_round_makes_its_parent_a_root(tmp_path):
    plane = (
        '<drake:joint name="k" type="planar"><drake:parent>d</drake:parent><drake:child>c'
        "</drake:child></drake:joint>"
    )
    text = model(link("c"), link("d"), joint("w", "fixed", "world", "c"), plane)
    mechanism = load(tmp_path, text)
    fine = mechanism.finalize(timestep=0.01)
    motion = dy.simulate(fine, fine.initial_state(), seconds=0.1)

    assert mechanism.joints["k"].child.name == "c" and list(mechanism.bodies) == ["c", "d"]
    assert abs(motion.final.pose[:, 2]).max() < 1e-9  # d hangs in the plane of c


def test_dampers_of_ball_joints_act_about_all_axes(tmp_path):
    forces = "<dynamics><damping>0.3</damping></dynamics>"
    made = load(
        tmp_path, model(link("a"), link("b"), joint("j", "ball", "a", "b", "1 0 0", forces))
    )

    np.testing.assert_array_equal(made.joints["j"].damping, 0.3)
