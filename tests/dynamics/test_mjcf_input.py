"""MJCF files that are broken, hostile or spread over folders."""

import sys

import pytest

import graphsys as gs

from .test_mjcf import load, world


def test_assets_may_lie_in_a_folder_that_is_named(tmp_path, mujoco):
    for name in ("robot", "parts", "meshes"):
        (tmp_path / name).mkdir()
    corners = ("0 0 0", "1 0 0", "0 1 0", "0 0 1")
    faces = "1 3 2", "1 2 4", "2 3 4", "1 4 3"
    lines = [*(f"v {x}" for x in corners), *(f"f {x}" for x in faces)]
    (tmp_path / "meshes" / "a.obj").write_text("\n".join(lines))
    (tmp_path / "parts" / "one.xml").write_text(
        '<mujoco><asset><mesh name="a" file="a.obj"/></asset></mujoco>'
    )
    folder = tmp_path / "robot"
    body = '<body name="b"><freejoint/><geom type="mesh" mesh="a"/></body>'
    text = world(body, '<compiler meshdir="../meshes"/><include file="../parts/one.xml"/>')
    with pytest.raises(ValueError, match="name the folder that holds both by within="):
        load(folder, text)
    mech = load(folder, text, within=tmp_path)

    assert mech.mass == pytest.approx(1000.0 / 6.0, rel=1e-6)  # the mesh has floats of 4 bytes
    with pytest.raises(ValueError, match="lies outside"):
        load(folder, text, within=folder)
    (tmp_path / "parts" / "one.xml").write_text(
        '<mujoco><asset><mesh name="a" file="../../a.obj"/></asset></mujoco>'
    )
    with pytest.raises(ValueError, match="one.xml: <mesh>: '../../a.obj' lies outside"):
        load(folder, text, within=tmp_path)


def test_what_mujoco_refuses_is_refused(tmp_path, mujoco):
    body = '<body name="b"><joint name="j"/></body>'
    with pytest.raises(ValueError, match="robot.xml: MuJoCo refuses it"):
        load(tmp_path, world(body))
    with pytest.raises(ValueError, match="MuJoCo refuses it: .*lost.stl"):
        load(tmp_path, '<mujoco><asset><mesh file="lost.stl"/></asset></mujoco>')


@pytest.mark.parametrize(
    ("geom", "joint", "message"),
    [
        ('size="0.1 0.1 inf" type="box"', "", "size of geom 'g'"),
        ('size="1e-300 1 1" type="box"', "", "geom 'g': x of Box must be positive"),
        ('size="0.1" pos="0 nan 0"', "", "pos of geom 'g'"),
        ('size="0.1" quat="nan 0 0 0"', "", "quat of geom 'g'"),
        ('size="0.1"', 'damping="nan"', "damping of joint 'j'"),
        ('size="0.1"', 'range="nan 1" limited="true"', "range of joint 'j'"),
        ('size="0.1"', 'pos="0 0 inf"', "pos of joint 'j'"),
    ],
)
def test_numbers_that_are_none_are_refused_by_the_name_of_their_element(
    tmp_path, mujoco, geom, joint, message
):
    text = f"""<body name="b"><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>
      <joint name="j" {joint}/><geom name="g" {geom}/></body>"""
    with pytest.raises(ValueError, match=f"robot.xml: {message}"):
        load(tmp_path, world(text))


def test_a_base_is_no_question_of_mjcf(tmp_path):
    with pytest.raises(ValueError, match="robot.xml: .* places its bodies itself"):
        load(tmp_path, world(""), position=(0, 0, 1))
    with pytest.raises(ValueError, match="defines its base itself"):
        load(tmp_path, world(""), base="fixed")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<mujoco>", "not well-formed XML"),
        ('<!DOCTYPE m [<!ENTITY a "b">]><mujoco/>', "document type or entities"),
        (
            '<mujoco><asset><mesh file="/etc/passwd"/></asset></mujoco>',
            "outside the robot's folder",
        ),
        ('<mujoco><compiler meshdir="../.."/></mujoco>', "outside the robot's folder"),
        ('<mujoco><include file="../x.xml"/></mujoco>', "outside the robot's folder"),
    ],
)
def test_a_broken_or_hostile_file_is_refused_before_mujoco_sees_it(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        load(tmp_path, text)


def test_an_included_file_is_looked_at_too(tmp_path):
    (tmp_path / "part.xml").write_text('<!DOCTYPE m [<!ENTITY a "b">]><mujoco/>')
    with pytest.raises(ValueError, match="part.xml declares a document type"):
        load(tmp_path, '<mujoco><include file="part.xml"/></mujoco>')


ATTACHES = (
    '<mujoco><asset><model name="arm" file="arm.xml"/></asset><worldbody>{}</worldbody></mujoco>'
)
ATTACHED = '<attach model="arm" body="s" prefix="p"/>'
ARM = (
    '<mujoco model="arm">{}<worldbody><body name="s">{}<geom size="1"/></body></worldbody></mujoco>'
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<!DOCTYPE m [<!ENTITY a "b">]>' + ARM.format("", ""), "arm.xml declares a document type"),
        (
            ARM.format('<asset><mesh file="/etc/passwd"/></asset>', ""),
            "arm.xml: <mesh>: .* outside",
        ),
        (ARM.format('<include file="../x.xml"/>', ""), "arm.xml: <include>: .* outside"),
        (ARM.format('<compiler meshdir="../.."/>', ""), "arm.xml: <compiler>: .* outside"),
        (ARM.format('<asset><hfield nrow="100000" ncol="20000"/></asset>', ""), "2e.09 numbers"),
        (
            ARM.format("", '<replicate count="300000"><geom/></replicate>'),
            "arm.xml asks for .*attach",
        ),
        (ARM.format('<asset><model file="arm.xml"/></asset>', ATTACHED), "arm.xml asks for inf"),
        (ARM.format("", '<replicate count="900"><geom/></replicate>'), "robot.xml asks for 2e.06"),
    ],
)
def test_an_attached_model_is_looked_at_too(tmp_path, text, message):
    (tmp_path / "arm.xml").write_text(text)
    many = f'<replicate count="1000">{ATTACHED}</replicate>'
    with pytest.raises(ValueError, match=message):
        load(tmp_path, ATTACHES.format(many))


def test_an_attached_model_finds_its_files_in_its_own_folder(tmp_path, mujoco):
    (tmp_path / "arm" / "shapes").mkdir(parents=True)
    (tmp_path / "arm" / "shapes" / "tetrahedron.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
    )
    mesh = '<compiler meshdir="shapes"/><asset><mesh name="m" file="tetrahedron.obj"/></asset>'
    look = '<joint/><geom type="mesh" mesh="m"/>'
    (tmp_path / "arm" / "arm.xml").write_text(ARM.format(mesh, look))

    mech = load(tmp_path, ATTACHES.format(ATTACHED).replace("arm.xml", "arm/arm.xml"))
    assert list(mech.bodies) == ["ps"]


def test_without_mujoco_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(gs.MissingExtraError, match="mjcf"):
        load(tmp_path, world(""))
