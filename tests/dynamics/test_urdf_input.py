"""What is left out of URDF files is named; broken and hostile ones are refused."""

import warnings

import numpy as np
import pytest

import dynamics as dy
from dynamics.io import UnsupportedElementWarning
from dynamics.parts.meshes import found, read_triangles

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
    "no well-formed XML: .* in line 2": "<robot>\n<link></robot>",
    "the root of a URDF file is <robot>, not <sdf>": "<sdf/>",
    "has no link": "<robot/>",
    "a link: <link> has no name": "<robot><link/></robot>",
    "link 'a' is there twice": robot(link("a"), link("a")),
    "joint 'j' is there twice": robot(AB, joint("j", "fixed", "a", "b") * 2),
    "joint 'j' has the unknown type 'hinge'": robot(AB, joint("j", "hinge", "a", "b")),
    "joint 'j' names no link: 'c'": robot(AB, joint("j", "fixed", "a", "c")),
    "joint 'j' has no <child>": robot(
        AB, '<joint name="j" type="fixed"><parent link="a"/></joint>'
    ),
    "hangs on two joints": robot(
        AB, link("c"), joint("i", "fixed", "a", "c"), joint("j", "fixed", "b", "c")
    ),
    r"one link without a parent, this has \['a', 'b'\]": robot(AB),
    r"the joints of \['b', 'c'\] run in a circle": robot(
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
}


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
    with pytest.raises(FileNotFoundError, match="there is no file"):
        dy.load(tmp_path / "none.urdf")
    (tmp_path / "robot.txt").write_text("<robot/>")
    with pytest.raises(ValueError, match="robot.txt is no .urdf, .xml"):
        dy.load(tmp_path / "robot.txt")
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
    assert again.joints["l"].limits is None


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
