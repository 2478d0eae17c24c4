"""What is left out of URDF files is named; broken and hostile ones are refused."""

import warnings

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.io import UnsupportedElementWarning
from dynamics.parts.meshes import found, read_triangles

from .damage import damaged
from .robots import (
    joint,
    link,
    load,
    robot,
)

# What is left out


@pytest.mark.parametrize(
    ("part", "kind", "name"),
    [
        ('<gazebo reference="a"/>', "<gazebo>", "a"),
        ('<sensor name="s"/>', "<sensor>", "s"),
        (joint("k", "planar", "a", "c", more='<limit velocity="3"/>') + link("c"),
         "limit of velocity", "k"),
        (joint("k", "revolute", "a", "c", more="<safety_controller/>") + link("c"),
         "<safety_controller> of joints", "k"),
        (joint("k", "continuous", "a", "c", more='<mimic joint="j" multiplier="0"/>') + link("c"),
         "mimic (needs two joints that move, and a multiplier)", "k"),
        (joint("k", "continuous", "a", "c", more='<mimic joint="none"/>') + link("c"),
         "mimic (needs two joints that move, and a multiplier)", "k"),
        (joint("k", "revolute", "a", "c", more='<limit lower="0" upper="0"/>') + link("c"),
         "limits without a range between them", "k"),
        ("<transmission><joint name='none'/></transmission>", "<transmission> of no joint",
         "none"),
        (joint("k", "fixed", "a", "c")
         + link("c", more="<visual><geometry><cone/></geometry></visual>"),
         "<cone> as a geometry", "c"),
        (joint("k", "fixed", "a", "c")
         + link("c", more='<visual><geometry><sphere radius="0"/></geometry></visual>'),
         "<sphere> of size 0", "c"),
        (joint("k", "fixed", "a", "c")
         + link("c", more='<contact><stiffness value="1"/></contact>'),
         "<stiffness> of contacts", "c"),
        (joint("k", "continuous", "a", "c", more='<dynamics stiction="1"/>') + link("c"),
         "stiction of joints", "k"),
        (joint("k", "continuous", "a", "c", more='<limit acceleration="1"/>') + link("c"),
         "limit of acceleration", "k"),
        ("<transmission name='t'><joint name='j'/><actuator name='m'><mechanicalReduction>50"
         "</mechanicalReduction></actuator></transmission>", "<mechanicalReduction>", "t"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_named(tmp_path, part, kind, name):
    text = robot(link("a"), link("b"), joint("j", "continuous", "a", "b"), part)
    with pytest.warns(UnsupportedElementWarning) as caught:
        load(tmp_path, text, quiet=False)

    assert caught[0].message.elements == {kind: [name]}
    assert name in str(caught[0].message) and kind in str(caught[0].message)


def test_both_packages_load_by_the_same_function():
    assert dy.io.load is dy.load and dy.io.save_urdf is dy.save_urdf


def test_a_file_that_is_supported_whole_gives_no_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(tmp_path, robot(link("a"), link("b"), joint("j", "continuous", "a", "b")), False)


# Broken and hostile files


AB = link("a") + link("b")
BROKEN = {
    "not well-formed XML: .* in line 2": "<robot>\n<link></robot>",
    "the root of a URDF file is <robot>, not <sdf>": "<sdf/>",
    "has no link": "<robot/>",
    "a link: <link> has no name": "<robot><link/></robot>",
    "link 'a' appears twice": robot(link("a"), link("a")),
    "joint 'j' appears twice": robot(AB, joint("j", "fixed", "a", "b") * 2),
    "joint 'j' has the unknown type 'hinge'": robot(AB, joint("j", "hinge", "a", "b")),
    r"joint 'j' names no link: 'c'; links are \['a', 'b'\]": robot(
        AB, joint("j", "fixed", "a", "c")
    ),
    "joint 'j' has no <child>": robot(
        AB, '<joint name="j" type="fixed"><parent link="a"/></joint>'
    ),
    "has two parent joints": robot(
        AB, link("c"), joint("i", "fixed", "a", "c"), joint("j", "fixed", "b", "c")
    ),
    r"one link without a parent, this has \['a', 'b'\]": robot(AB),
    r"the joints of \['b', 'c'\] form a cycle": robot(
        AB, link("c"), joint("i", "fixed", "b", "c"), joint("j", "fixed", "c", "b")
    ),
    "joint 'j': the axis is zero": robot(AB, joint("j", "revolute", "a", "b", axis=(0, 0, 0))),
    "joint 'j': its lower limit 1.0 is above": robot(
        AB, joint("j", "revolute", "a", "b", more='<limit lower="1" upper="0"/>')
    ),
    "joint 'l' has no <link2>": robot(
        AB,
        joint("j", "fixed", "a", "b"),
        '<loop_joint name="l" type="fixed"><link1 link="a"/></loop_joint>',
    ),
    "link 'a', visual has no <geometry>": robot(link("a", more="<visual/>")),
    "damping is -1.0": robot(AB, joint("j", "revolute", "a", "b", more='<dynamics damping="-1"/>')),
    "link 'a': the mass must be a finite number, not 'nan'": robot(link("a", np.nan)),
    "link 'a' has the mass -1.0, which is negative": robot(link("a", -1.0)),
    "xyz must be 3 finite numbers, not '1.0 2.0'": robot(link("a", xyz=(1, 2))),
    "needs <mass> and <inertia>": robot('<link name="a"><inertial/></link>'),
    "link 'a', visual: radius must be a finite number": robot(
        link("a", more='<visual><geometry><sphere radius="x"/></geometry></visual>')
    ),
    "radius of Sphere must be positive": robot(
        link("a", more='<visual><geometry><sphere radius="-1"/></geometry></visual>')
    ),
    "run xacro on it first": '<robot xmlns:xacro="x"><xacro:macro name="m"/></robot>',
    "declares a document type or entities": (
        '<!DOCTYPE robot [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><robot>&b;</robot>'
    ),
    "nests elements more than": "<robot>" + "<a>" * 500 + "</a>" * 500 + "</robot>",
    "joint 'j' joins link 'b' with itself": robot(AB, joint("j", "continuous", "b", "b")),
    r"the joints of \['a', 'b'\] form a cycle": robot(
        AB, joint("i", "fixed", "b", "a"), joint("j", "fixed", "a", "b")
    ),
    r"the mass must be a finite number up to 1e\+100, not '1e\+101'": robot(link("a", 1e101)),
    "xyz must be 3 finite numbers up to": robot(link("a", xyz=(1e300, 0, 0))),
    "the mass must be a finite number, not '1_0'": robot(link("a", 7.5)).replace("7.5", "1_0"),
    "the mass must be a finite number, not '\u0661'": robot(link("a", 7.5)).replace(
        "7.5", "\u0661"
    ),
    "link 'a' moves and has no inertia": robot(link("a", inertia=(1e-300,) * 3)),
}


def test_numbers_that_are_next_to_zero_or_stand_for_no_limit_do_no_harm(tmp_path):
    most = '<limit lower="-1e16" upper="1.7e308" effort="1e300" velocity="1e200"/>'
    hip = joint("j", "revolute", "a", "b", (5e-324, 0, 1), (1e-310, 0, 0), (1, 1e-200, 0), most)
    mech = load(tmp_path, robot(AB, hip), base="fixed", actuated=True)
    model = mech.finalize(timestep=0.01)

    np.testing.assert_array_equal(mech.joints["j"].parent_point, [0, 0, 1])
    for what in ("limits", "velocity_limits", "control_limits"):
        assert getattr(mech.joints["j"], what) is None
    assert np.isfinite(dy.simulate(model, model.initial_state(), 0.1).final.data).all()


def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path):
    text = robot(link("a"), link("Gr\xfc\xdfe"), joint("j", "fixed", "a", "Gr\xfc\xdfe"))
    (tmp_path / "a.urdf").write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"in line 3; its line 3 is not UTF-8: save it as UTF-8"):
        dy.load(tmp_path / "a.urdf")
    declared = text.replace('"1.0"?', '"1.0" encoding="latin-1"?')
    (tmp_path / "a.urdf").write_bytes(b"\r\n" + declared.encode("latin-1"))
    assert list(dy.load(tmp_path / "a.urdf").bodies) == ["a", "Gr\xfc\xdfe"]
    (tmp_path / "a.urdf").write_text(text.replace("\n", "\r\n"), "utf-8-sig")
    assert list(dy.load(tmp_path / "a.urdf").bodies) == ["a", "Gr\xfc\xdfe"]


def test_of_elements_that_are_there_twice_the_first_counts_and_others_are_named(tmp_path):
    heavy = '<inertial><mass value="9"/><inertia ixx="9" iyy="9" izz="9"/></inertial>'
    shapes = '<box size="1 1 1"/><sphere radius="1"/>'
    more = heavy + f"<visual><geometry>{shapes}</geometry></visual>"
    twice = '<limit lower="-1" upper="1"/><limit lower="-2" upper="2"/>'
    text = robot(link("a", 1.0, more=more), link("b"), joint("j", "revolute", "a", "b", more=twice))
    mech = load(tmp_path, text)

    assert mech.bodies["a"].mass == 1.0 and type(mech.bodies["a"].visuals[0].shape) is dy.Box
    np.testing.assert_array_equal(mech.joints["j"].limits, [[-1, 1]])
    assert mech.report.left_out == {
        "second <inertial> of <link>": ["a"],
        "second shapes of <geometry>": ["a"],
        "second <limit> of <joint>": ["j"],
    }


def test_meshes_that_are_not_there_are_in_the_report_alone(tmp_path):
    (tmp_path / "here.stl").write_text("solid a\nendsolid a\n")
    meshes = "".join(
        f'<visual><geometry><mesh filename="package://p/{name}.stl"/></geometry></visual>'
        for name in ("here", "gone", "gone")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mech = load(tmp_path, robot(link("a", more=meshes)), quiet=False)
    assert mech.report.left_out == {"meshes that are not there": ["p/gone.stl"]}


def test_colors_are_cut_off_at_one(tmp_path):
    paint = (
        '<geometry><sphere radius="1"/></geometry><material name="m"><color rgba="{}"/></material>'
    )
    mech = load(tmp_path, robot(link("a", more=f"<visual>{paint.format('255 0.5 -1 1')}</visual>")))
    np.testing.assert_array_equal(mech.bodies["a"].visuals[0].color, [1, 0.5, 0, 1])


def test_robots_beyond_the_digits_of_positions_are_refused_with_the_reason(tmp_path):
    # 4e8 m, as the moon is away, have steps of 6e-8 m, and joints close to 1e-10 m.
    place = {"position": (5e5, 4e8, 100.0), "orientation": rotation.from_rpy((0.3, 0.2, 0.1))}
    text = robot(AB, joint("j", "fixed", "a", "b", (0.1, 0.7, 0.3), (0.5, 0.1, 0.9)))
    model = load(tmp_path, text, base="fixed", **place).finalize()
    with pytest.raises(dy.InconsistentStateError, match=r"bodies are 4e\+08 m from the origin"):
        model.initial_state()


WHOLE = robot(
    link("base", more='<collision><geometry><box size="0.3 0.2 0.1"/></geometry></collision>'),
    link("upper", 2.0, (0, 0, 0.2), (0.1, 0.2, 0.3)),
    link("cross", 0), link("lower", 1.0, (0, 0, 0.3)), link("tool", 0), link("slider"),
    joint("hip", "revolute", "base", "upper", (0, 0, 0.1), (0.3, 0, 0), (0, 1, 0),
          '<limit lower="-1" upper="1" effort="5" velocity="7"/><dynamics damping="0.1"/>'),
    joint("k1", "continuous", "upper", "cross", (0, 0, 0.4), axis=(1, 0, 0)),
    joint("k2", "continuous", "cross", "lower", axis=(0, 1, 0)),
    joint("mount", "fixed", "lower", "tool", (0, 0, 0.6)),
    joint("rail", "prismatic", "base", "slider", axis=(1, 0, 0),
          more='<mimic joint="hip" multiplier="0.2" offset="0.2"/><limit lower="0.1" upper="1"/>'),
    '<loop_joint name="l" type="ball"><link1 link="tool" xyz="0 0 0"/>'
    '<link2 link="slider" xyz="0 0.3 1"/></loop_joint>',
)  # fmt: skip


@pytest.mark.parametrize("seed", range(100))
def test_damaged_files_load_or_are_refused(tmp_path, seed):
    try:
        load(tmp_path, damaged(WHOLE, seed), collide=seed % 2 == 0, base="fixed")
    except (ValueError, FileNotFoundError) as error:
        assert str(error).startswith("robot.urdf")


@pytest.mark.parametrize("message", BROKEN)
def test_a_broken_file_is_refused_by_the_label_of_what_is_wrong(tmp_path, message):
    with pytest.raises(ValueError, match=message) as caught:
        load(tmp_path, BROKEN[message])
    assert "robot.urdf" in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../secret.stl", "package://a/../../b.stl", "file:///etc/x.stl", "C:\\x.stl",
     "a/../../x.stl", "http://host/x.stl"],
)  # fmt: skip
def test_a_mesh_outside_the_folder_is_refused(tmp_path, name):
    mesh = f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
    with pytest.raises(ValueError, match="lies outside the robot's folder"):
        load(tmp_path, robot(link("a", more=mesh)))
    assert load(tmp_path, robot(link("a", more=mesh)), meshes=False).bodies["a"].visuals == ()


def test_a_utf16_file_is_read_and_its_entities_are_refused(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text('<?xml version="1.0" encoding="utf-16"?>' + robot(link("a"))[21:], "utf-16")
    assert list(dy.load(path).bodies) == ["a"]
    path.write_text('<?xml version="1.0" encoding="utf-16"?><!DOCTYPE r><robot/>', "utf-16")
    with pytest.raises(ValueError, match="document type"):
        dy.load(path)


def test_what_is_no_file_or_no_kind_or_no_base_is_refused(tmp_path):
    with pytest.raises(ValueError, match="load takes the name of a file, and not its text"):
        dy.load("<robot name='text'/>")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        dy.load(tmp_path / "none.urdf")
    (tmp_path / "robot.txt").write_text("<robot/>")
    with pytest.raises(ValueError, match="robot.txt is not a .urdf, .xml"):
        dy.load(tmp_path / "robot.txt")
    (tmp_path / "motion.npz").write_bytes(b"")
    with pytest.raises(ValueError, match="read a motion by dynamics.Trajectory.load"):
        dy.load(tmp_path / "motion.npz")
    with pytest.raises(ValueError, match="base is 'loose'"):
        load(tmp_path, robot(link("a")), base="loose")


# Limits of motors


@pytest.mark.parametrize(("actuated", "limits"), [(None, None), (True, [[-3.0, 3.0]])])
def test_effort_is_the_limit_of_a_motor_where_there_is_one(tmp_path, actuated, limits):
    limit = '<limit effort="3"/>'
    text = robot(link("a"), link("b"), joint("j", "continuous", "a", "b", more=limit))

    mechanism = load(tmp_path, text, actuated=actuated)

    given = mechanism.joints["j"].control_limits
    assert given is None if limits is None else (given == limits).all()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('<limit effort="-3"/>', "its effort limit is -3.0"),
        ('<limit velocity="-3"/>', "its velocity limit is -3.0"),
        ('<dynamics friction="-3"/>', "friction is -3.0"),
    ],
)
def test_an_effort_velocity_or_friction_below_zero_is_refused(tmp_path, more, message):
    text = robot(link("a"), link("b"), joint("j", "continuous", "a", "b", more=more))
    with pytest.raises(ValueError, match=f"joint 'j': {message}"):
        load(tmp_path, text)


@pytest.mark.parametrize(
    ("velocity", "limits"), [("2.5", [[-2.5, 2.5]]), ("0", None)]  # 0 is what exporters write
)  # fmt: skip
def test_velocity_is_the_limit_of_a_joints_rate(tmp_path, velocity, limits):
    more = f'<limit velocity="{velocity}"/>'
    text = robot(link("a"), link("b"), joint("j", "continuous", "a", "b", more=more))

    given = load(tmp_path, text).joints["j"].velocity_limits

    assert given is None if limits is None else (given == limits).all()


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 1, 0)])
def test_limits_and_friction_are_written_and_read_again(tmp_path, axis):
    given = {"control_limits": [(-3, 3)], "velocity_limits": [(-2, 2)], "friction": 0.2}
    mechanism = dy.Mechanism()
    box = dy.Box(0.1, 0.2, 0.3, mass=1.0)
    a, b = (mechanism.add_body(box, name=name) for name in "ab")
    for kind, name, ends in (
        (dy.Prismatic, "k", (mechanism.world, a)), (dy.Revolute, "l", (a, b)),
    ):  # fmt: skip
        mechanism.add_joint(kind(*ends, axis, name=name, actuated=True, **given))
    dy.save_urdf(mechanism, tmp_path / "out.urdf")

    again = load(tmp_path, (tmp_path / "out.urdf").read_text(), actuated=True, base="fixed")

    for name in "kl":
        for what, value in given.items():
            np.testing.assert_array_equal(getattr(again.joints[name], what), np.array(value))
        assert again.joints[name].limits is None


@pytest.mark.parametrize("limits", [None, [(-np.inf, 1.0)], [(0.0, np.inf)], [(-1.0, 2.0)]])
def test_limits_with_one_end_or_none_are_written_and_read_again(tmp_path, limits):
    mechanism = dy.Mechanism()
    box = dy.Box(0.1, 0.2, 0.3, mass=1.0)
    a, b = (mechanism.add_body(box, name=name) for name in "ab")
    mechanism.add_joint(dy.Prismatic(mechanism.world, a, (1, 0, 0), name="k", limits=limits))
    mechanism.add_joint(dy.Revolute(a, b, (1, 0, 0), name="l", limits=limits))
    dy.save_urdf(mechanism, tmp_path / "out.urdf")

    again = load(tmp_path, (tmp_path / "out.urdf").read_text())
    for name in "kl":
        found = again.joints[name].limits
        assert found is None if limits is None else np.array_equal(found, limits)


def test_velocity_limits_that_differ_are_named_where_urdf_cannot_say_them(tmp_path):
    mechanism = dy.Mechanism()
    box = mechanism.add_body(dy.Box(0.1, 0.2, 0.3, mass=1.0), name="box")
    hinge = dy.Revolute(mechanism.world, box, (0, 0, 1), name="k", velocity_limits=[(-1, 2)])
    mechanism.add_joint(hinge)

    with pytest.warns(UnsupportedElementWarning) as caught:
        dy.save_urdf(mechanism, tmp_path / "out.urdf")

    assert caught[0].message.elements == {"velocity_limits that are not (-most, most)": ["k"]}


# What is left out on purpose


def test_properties_are_left_out_where_asked(tmp_path):
    more = (
        '<limit lower="-1" upper="2" velocity="3" effort="4"/>'
        '<dynamics damping="0.5" friction="0.6"/>'
    )
    text = robot(link("a"), link("b"), joint("j", "revolute", "a", "b", more=more))
    fields = {"limits", "velocity_limits", "control_limits", "friction", "damping"}
    for left_out in ["limits"], ["friction", "velocity_limits"], ["damping", "control_limits"], []:
        one = load(tmp_path, text, actuated=True, without=left_out).joints["j"]
        assert {name for name in fields if np.any(getattr(one, name))} == fields - set(left_out)

    with pytest.raises(ValueError, match=r"without names no property: \['mass'\]; there are"):
        load(tmp_path, text, without=["mass"])


def test_higher_orders_say_how_to_load_a_file_for_them(tmp_path):
    for more, what in (('<limit velocity="3"/>', "velocity_limits"),
                       ('<dynamics friction="1"/>', "friction")):  # fmt: skip
        text = robot(link("a"), link("b"), joint("j", "continuous", "a", "b", more=more))
        with pytest.raises(ValueError, match=f"joint 'j' needs? order=2.* without=.*{what}"):
            load(tmp_path, text).finalize(0.01, order=4)
        assert load(tmp_path, text, without=[what]).finalize(0.01, order=4).n_bodies == 2


def test_meshes_may_lie_in_a_folder_that_is_named(tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "urdf").mkdir()
    flat = "facet normal 0 0 1 outer loop " + "vertex 0 0 0 " * 3 + "endloop endfacet"
    text = "solid a\n" + flat.replace("vertex", "\nvertex") + "\nendsolid"
    (tmp_path / "meshes" / "a.stl").write_text(text)
    mesh = '<visual><geometry><mesh filename="../meshes/a.stl"/></geometry></visual>'
    folder = tmp_path / "urdf"
    with pytest.raises(ValueError, match="name the folder that holds both by within="):
        load(folder, robot(link("a", more=mesh)))
    (shown,) = load(folder, robot(link("a", more=mesh)), within=tmp_path).bodies["a"].visuals

    assert read_triangles(found(shown.shape)).shape == (1, 3, 3)
    with pytest.raises(ValueError, match="lies outside"):
        load(folder, robot(link("a", more=mesh.replace("../", "../../"))), within=tmp_path)
