"""SDF: frames and poses composed by hand, masses, shapes, static models, worlds and includes."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.io import LoadWarning

from .robots import ROUNDING, pose_of_frame
from .robots import load as load_urdf
from .sdf import at, joint, link, load, model, named, world

QUARTER = np.pi / 2
BALL = "<geometry><sphere><radius>0.1</radius></sphere></geometry>"
HIT = f'<collision name="c">{BALL}</collision>'
MADE = rotation.from_rpy


def placed(mechanism):
    """Position and quaternion of a frame by name, in the initial state."""
    fine = mechanism.finalize(timestep=0.01)
    state = fine.initial_state()

    def where(name):
        x, R = pose_of_frame(mechanism, state, fine, name)
        return x, R

    return where


def same(found, x, rpy=(0.0, 0.0, 0.0)):
    """A frame is where the hand computed it."""
    np.testing.assert_allclose(found[0], x, atol=10 * ROUNDING)
    np.testing.assert_allclose(found[1], rotation.to_matrix(MADE(rpy)), atol=10 * ROUNDING)


# Poses


def test_poses_are_relative_to_the_model_by_default(tmp_path):
    text = model(
        at("1 2 3 0 0 0"), link("a"), link("b", pose=f"0 1 0 0 0 {QUARTER}"),
        joint("j", "revolute", "a", "b"),
    )  # fmt: skip
    where = placed(load(tmp_path, text))

    same(where("a"), (1, 2, 3))
    same(where("b"), (1, 3, 3), (0, 0, QUARTER))


def test_poses_in_other_frames_in_any_order(tmp_path):
    # c sits 1 along the x axis of b, which is turned to y; the frame f is on the joint, 2 along it.
    text = model(
        link("c", pose=at("1 0 0 0 0 0", "b")), link("a"),
        link("b", pose=at(f"2 0 0 0 0 {QUARTER}", "a")),
        joint("j", "revolute", "b", "c", more=at("0 0 0.5 0 0 0")),
        joint("i", "revolute", "a", "b"),
        f'<frame name="f" attached_to="j">{at("2 0 0 0 0 0")}</frame>',
        f'<frame name="g" attached_to="a">{at("0 0 1 0 0 0", "c")}</frame>',
    )  # fmt: skip
    mechanism = load(tmp_path, text)
    where = placed(mechanism)

    same(where("c"), (2, 1, 0), (0, 0, QUARTER))
    same(where("f"), (2, 3, 0.5), (0, 0, QUARTER))
    same(where("g"), (2, 1, 1), (0, 0, QUARTER))
    assert mechanism.frames["f"].body.name == "c"  # a joint is attached to its child
    assert mechanism.frames["g"].body.name == "a"


def test_poses_in_degrees_and_quaternions(tmp_path):
    half = np.sqrt(0.5)
    quat = f'<pose rotation_format="quat_xyzw">0 0 1  0 0 {half} {half}</pose>'
    text = model(
        link("a", pose='<pose degrees="true">1 0 0 0 0 90</pose>'), link("b", pose=quat),
        joint("j", "ball", "a", "b"),
    )  # fmt: skip
    where = placed(load(tmp_path, text))

    same(where("a"), (1, 0, 0), (0, 0, QUARTER))
    same(where("b"), (0, 0, 1), (0, 0, QUARTER))


def test_a_placement_frame_is_where_the_pose_says(tmp_path):
    # The tip is 1 along x of the model, turned by a quarter; it is to stand at (5, 0, 0), unturned.
    # So the model is turned back by a quarter, and its origin is 1 against its own x: (5, 1, 0).
    text = model(
        at("5 0 0 0 0 0"), link("a"), link("tip", pose=f"1 0 0 0 0 {QUARTER}"),
        joint("j", "fixed", "a", "tip"), more=' placement_frame="tip"',
    )  # fmt: skip
    where = placed(load(tmp_path, text))

    same(where("tip"), (5, 0, 0))
    same(where("a"), (5, 1, 0), (0, 0, -QUARTER))


def test_nested_models_have_names_and_frames_of_their_own(tmp_path):
    hand = (
        f'<model name="hand">{at("0 0 1 0 0 0", "arm")}{link("palm", pose="1 0 0 0 0 0")}</model>'
    )
    text = model(
        link("arm", pose=f"0 0 0 {QUARTER} 0 0"), hand,
        joint("wrist", "revolute", "arm", "hand::palm"),
        f'<frame name="tip" attached_to="hand">{at("0 0 0 0 0 0")}</frame>',
        f'<frame name="top" attached_to="hand::palm">{at("0 0 2 0 0 0")}</frame>',
    )  # fmt: skip
    mechanism = load(tmp_path, text)
    where = placed(mechanism)

    # z of the arm is -y of the model.
    same(where("hand::palm"), (1, -1, 0), (QUARTER, 0, 0))
    same(where("tip"), (0, -1, 0), (QUARTER, 0, 0))
    same(where("top"), (1, -3, 0), (QUARTER, 0, 0))
    assert mechanism.frames["tip"].body.name == "hand::palm"  # a model's is its canonical link


def test_a_canonical_link_by_name(tmp_path):
    parts = link("a"), link("b"), joint("i", "ball", "a", "b")
    inner = named("m", *parts, more=' canonical_link="b"')
    text = model(link("base"), inner, joint("j", "fixed", "base", "m"))
    mechanism = load(tmp_path, text)

    assert mechanism.joints["j"].child.name == "m::b"


@pytest.mark.parametrize(
    "version, axis, meant",
    [
        ("1.4", "<xyz>1 0 0</xyz>", (1, 0, 0)),  # along the model's axes
        ("1.6", "<xyz>1 0 0</xyz>", (0, 1, 0)),  # along the joint's own
        ("1.6", "<xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame>", (1, 0, 0)),
        ("1.7", "<xyz>1 0 0</xyz>", (0, 1, 0)),
        ("1.7", '<xyz expressed_in="__model__">1 0 0</xyz>', (1, 0, 0)),
        ("1.7", '<xyz expressed_in="f">1 0 0</xyz>', (0, 0, -1)),
    ],
)
def test_axes_in_the_frame_that_each_version_means(tmp_path, version, axis, meant):
    text = model(
        link("a"), link("b", pose=f"0 0 0 0 0 {QUARTER}"),
        f'<frame name="f">{at(f"0 0 0 0 {QUARTER} 0")}</frame>',
        joint("j", "revolute", "a", "b", more=f"<axis>{axis}</axis>"),
        version=version,
    )  # fmt: skip
    mechanism = load(tmp_path, text)
    fine = mechanism.finalize(timestep=0.01)
    state = fine.initial_state()
    fine.set_joint(state, "j", 0.3)
    R = pose_of_frame(mechanism, state, fine, "b")[1]

    turned = rotation.to_matrix(rotation.from_rotation_vector(0.3 * np.array(meant)))
    start = rotation.to_matrix(MADE((0, 0, QUARTER)))
    np.testing.assert_allclose(R, turned @ start, atol=10 * ROUNDING)


# Links


def test_inertia_is_turned_with_its_pose_and_has_the_defaults_of_the_format(tmp_path):
    # A quarter turn about z changes xx and yy, and the sign of xy.
    inertial = (
        f"<inertial><pose>1 0 0 0 0 {QUARTER}</pose><mass>2</mass><inertia><ixx>0.3</ixx>"
        "<iyy>0.4</iyy><izz>0.5</izz><ixy>0.01</ixy></inertia></inertial>"
    )
    text = model(
        f'<link name="a">{inertial}</link>', '<link name="b"/>',
        '<link name="c"><inertial><mass>3</mass></inertial></link>',
        joint("i", "ball", "a", "b"), joint("j", "ball", "b", "c"),
    )  # fmt: skip
    with pytest.warns(LoadWarning, match="without <inertial>, which SDF gives 1 kg .*'b'"):
        mechanism = load(tmp_path, text, quiet=False)
    a, b, c = (mechanism.bodies[name] for name in "abc")

    np.testing.assert_allclose(a.inertia, [[0.4, -0.01, 0], [-0.01, 0.3, 0], [0, 0, 0.5]],
                               atol=ROUNDING)  # fmt: skip
    np.testing.assert_allclose(mechanism.frames["a"].position, (-1, 0, 0), atol=ROUNDING)
    assert (a.mass, b.mass, c.mass) == (2.0, 1.0, 3.0)
    np.testing.assert_array_equal(b.inertia, np.eye(3))
    np.testing.assert_array_equal(c.inertia, np.eye(3))


def test_the_same_robot_as_urdf_moves_the_same(tmp_path):
    urdf = """<robot name="r">
      <link name="base"><inertial><mass value="3"/>
        <inertia ixx="0.1" iyy="0.2" izz="0.15"/></inertial></link>
      <link name="arm"><inertial><origin xyz="0 0 -0.2" rpy="0.1 0.2 0.3"/><mass value="1"/>
        <inertia ixx="0.02" iyy="0.03" izz="0.015" ixy="0.001"/></inertial></link>
      <link name="slider"><inertial><mass value="0.5"/>
        <inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial></link>
      <joint name="hip" type="revolute"><parent link="base"/><child link="arm"/>
        <origin xyz="0 0.1 0.2" rpy="0.3 0 0.5"/><axis xyz="0 1 0"/>
        <limit lower="-1" upper="2" effort="5" velocity="9"/><dynamics damping="0.1"/></joint>
      <joint name="rail" type="prismatic"><parent link="arm"/><child link="slider"/>
        <origin xyz="0 0 -0.4" rpy="0 0.4 0"/><axis xyz="1 0 0"/>
        <limit lower="-1" upper="1"/></joint>
    </robot>"""
    dynamics = "<dynamics><damping>0.1</damping></dynamics>"
    limit = (
        "<limit><lower>-1</lower><upper>2</upper><effort>5</effort><velocity>9</velocity></limit>"
    )
    arm = ("<inertial><pose>0 0 -0.2 0.1 0.2 0.3</pose><mass>1</mass><inertia><ixx>0.02</ixx>"
           "<iyy>0.03</iyy><izz>0.015</izz><ixy>0.001</ixy></inertia></inertial>")  # fmt: skip
    sdf = model(
        link("base", 3, (0.1, 0.2, 0.15)),
        f'<link name="arm">{at("0 0 0 0 0 0", "hip")}{arm}</link>',
        link("slider", 0.5, (0.01,) * 3, pose=at("0 0 0 0 0 0", "rail")),
        joint("hip", "revolute", "base", "arm", "0 1 0", dynamics + limit,
              at("0 0.1 0.2 0.3 0 0.5", "base")),
        joint("rail", "prismatic", "arm", "slider", "1 0 0",
              "<limit><lower>-1</lower><upper>1</upper></limit>", at("0 0 -0.4 0 0.4 0", "arm")),
    )  # fmt: skip
    ends = []
    for made in (load_urdf(tmp_path, urdf, base="fixed"), load(tmp_path, sdf, base="fixed")):
        fine = made.finalize(timestep=0.01)
        ends.append(dy.simulate(fine, fine.initial_state(), seconds=0.5).final.pose)
        np.testing.assert_array_equal(made.joints["hip"].limits, [(-1, 2)])
        np.testing.assert_array_equal(made.joints["hip"].velocity_limits, [(-9, 9)])
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-9)  # same numbers to rounding, 50 steps


def test_positions_and_bases_of_free_models(tmp_path):
    text = model(at("0 0 1 0 0 0"), link("a", pose="0 1 0 0 0 0"))
    free = load(tmp_path, text, position=(5, 0, 0))
    fixed = load(tmp_path, text, base="fixed")

    same(placed(free)("a"), (5, 1, 1))
    assert free.joints == {} and fixed.joints["world-a"].kind == "fixed"
    same(placed(fixed)("a"), (0, 1, 1))
    two = model(link("a"), link("b"))
    with pytest.raises(ValueError, match="places its bodies itself"):
        load(tmp_path, two, position=(1, 0, 0))


def test_links_without_gravity_stay(tmp_path):
    text = model(link("a", more="<gravity>false</gravity>"))
    fine = load(tmp_path, text).finalize(timestep=0.01)
    motion = dy.simulate(fine, fine.initial_state(), seconds=0.1)

    np.testing.assert_array_equal(motion.final.pose[0, :3], 0.0)


# Geometry


def test_shapes_colors_and_surfaces(tmp_path):
    surface = ("<surface><friction><ode><mu>0.3</mu><mu2>0.2</mu2></ode></friction><contact>"
               "<collide_bitmask>0x06</collide_bitmask></contact></surface>")  # fmt: skip
    parts = "".join(
        f'<visual name="v{k}">{at(f"{k} 0 0 0 0 0")}<geometry>{shape}</geometry>'
        "<material><diffuse>1 0.5 0 1</diffuse></material></visual>"
        for k, shape in enumerate((
            "<box><size>1 2 3</size></box>", "<sphere><radius>2</radius></sphere>",
            "<cylinder><radius>1</radius><length>2</length></cylinder>",
            "<capsule><radius>1</radius><length>3</length></capsule>",
            "<ellipsoid><radii>1 2 3</radii></ellipsoid>",
            "<cone><radius>1</radius><length>2</length></cone>",
            "<mesh><uri>model://robot/a.stl</uri><scale>2 2 2</scale></mesh>", "<empty/>",
        ))
    )  # fmt: skip
    hit = f'<collision name="c">{BALL}{surface}</collision>'
    with pytest.warns(LoadWarning) as caught:
        mechanism = load(tmp_path, model(link("a", more=parts + hit)), quiet=False)
    body = mechanism.bodies["a"]
    kinds = [type(one.shape).__name__ for one in body.visuals]

    assert kinds == ["Box", "Sphere", "Cylinder", "Capsule", "Ellipsoid", "Mesh", "Mesh"]
    np.testing.assert_array_equal(body.visuals[3].position, (3, 0, 0))
    np.testing.assert_array_equal(body.visuals[0].color, (1, 0.5, 0, 1))
    egg = body.visuals[4].shape
    assert (egg.x, egg.y, egg.z) == (1, 2, 3)
    assert body.visuals[6].shape.path == "robot/a.stl"
    found = body.collisions[0].surface
    assert (found.friction, found.kind, found.touches) == (0.3, 6, 6)
    report = mechanism.report
    assert report.left_out == {
        "second coefficient of friction": ["a"],
        "meshes that are not there": ["robot/a.stl"],
    }
    assert report.changed == {"<cone> as a mesh": ["a"]}
    assert len(caught) == 2


def test_facets_are_closed_and_turned_outwards():
    from dynamics.io.facets import cone

    mesh = cone(1, 3, (1, 0, 0))
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    enclosed = np.einsum("ij,ij", a, np.cross(b, c)) / 6.0
    assert 0.96 * np.pi < enclosed < np.pi  # facets lie inside
    edges = {(i, j) for f in mesh.faces.tolist() for i, j in zip(f, f[1:] + f[:1])}
    assert all((j, i) in edges for i, j in edges)
    assert cone(1, 3, (1, 0, 0)).vertices[0].tolist() == pytest.approx([1.5, 0, 0])


# Static models and worlds


def test_static_models_are_the_world(tmp_path):
    box = '<collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision>'
    text = world(
        named("table", "<static>true</static>", at("0 0 0.5 0 0 0"), link("top", more=box)),
        named("ball", at("0 0 3 0 0 0"), link("ball", more=HIT)),
        "<gravity>0 0 -1.6</gravity>",
    )  # fmt: skip
    mechanism = load(tmp_path, text, collide=True)
    fine = mechanism.finalize(timestep=0.01)
    motion = dy.simulate(fine, fine.initial_state(), seconds=3.0)

    assert list(mechanism.bodies) == ["ball::ball"]
    np.testing.assert_array_equal(mechanism.gravity, (0, 0, -1.6))
    assert "table::top" in mechanism.scenery and "table::top" in mechanism.obstacles
    assert motion.final.pose[0, 2] == pytest.approx(1.1, abs=1e-4)  # on the table


def test_ground_planes_are_floors(tmp_path):
    plane = ('<collision name="c"><geometry><plane><normal>0 0 1</normal></plane></geometry>'
             "<surface><friction><ode><mu>0.7</mu></ode></friction></surface></collision>"
             '<visual name="v"><geometry><plane/></geometry></visual>')  # fmt: skip
    flat = f'<link name="l">{plane}</link>'
    ground = named("ground", "<static>1</static>", at("0 0 -1 0 0 0"), flat)
    ball = named("b", link("ball", more=HIT))
    mechanism = load(tmp_path, world(ground, ball), ground=True)
    fine = mechanism.finalize(timestep=0.01)
    motion = dy.simulate(fine, fine.initial_state(), seconds=2.0)

    assert list(mechanism.contacts) == ["ground::l|b::ball"]
    assert mechanism.contacts["ground::l|b::ball"].friction == 0.7
    assert motion.final.pose[0, 2] == pytest.approx(-0.9, abs=1e-4)


def test_models_that_do_not_touch_themselves_touch_others(tmp_path):
    two = link("a", more=HIT) + link("b", pose="0.5 0 0 0 0 0", more=HIT)
    text = world(
        named("m", "<self_collide>false</self_collide>", two),
        named("n", at("1 0 0 0 0 0"), two),
    )
    found = load(tmp_path, text, collide=True)
    assert found.report.left_out == {}
    pairs = {frozenset(one) for one in _touching(found)}

    assert frozenset(("m::a", "m::b")) not in pairs
    assert {frozenset(("n::a", "n::b")), frozenset(("m::b", "n::a"))} <= pairs


def _touching(mechanism):
    """Pairs of bodies that may touch."""
    return [name.split("|") for name in mechanism.finalize().near.candidates.names]


def test_links_without_gravity_stay_bodies_of_their_own(tmp_path):
    # of two fixed links one has a weight: they fall by g / 2, and turn
    two = link("a", more="<gravity>0</gravity>") + link("b", pose="1 0 0 0 0 0")
    text = model(two, joint("j", "fixed", "a", "b"))
    ends = []
    for merge_fixed in (False, True):
        mech = load(tmp_path, text, merge_fixed=merge_fixed)
        assert [one.gravity_scale for one in mech.bodies.values()] == [0.0, 1.0]
        built = mech.finalize(0.01)
        ends.append(dy.simulate(built, built.initial_state(), 0.2).final.pose)
    np.testing.assert_array_equal(*ends)

    # a link without inertia about an axis is a part of the other: their weights are summed up
    thin = link("a", mass=3.0, inertia=(0, 0, 0), more="<gravity>0</gravity>")
    mech = load(tmp_path, model(thin, link("b"), joint("j", "fixed", "a", "b")))
    assert [(one.mass, one.gravity_scale) for one in mech.bodies.values()] == [(4.0, 0.25)]
    what = "links whose gravity acts at the centre of mass of the whole"
    assert mech.report.changed[what] == ["b"]


def test_joints_between_models_of_a_world(tmp_path):
    text = world(
        named("a", link("l")), named("b", link("l", pose="0 0 -1 0 0 0")),
        joint("hinge", "revolute", "a", "b::l", "0 1 0"), joint("hold", "fixed", "world", "a"),
    )  # fmt: skip
    mechanism = load(tmp_path, text)

    assert [(one.kind, one.parent.name, one.child.name) for one in mechanism.joints.values()] == [
        ("revolute", "a::l", "b::l"), ("fixed", "world", "a::l"),
    ]  # fmt: skip


# Includes


def write_model(tmp_path, name, text, config=True):
    """A folder of models as Gazebo's."""
    folder = tmp_path / name
    folder.mkdir()
    (folder / "model.sdf").write_text(text)
    if config:
        (folder / "model.config").write_text(
            '<model><sdf version="1.4">old.sdf</sdf><sdf version="1.9">model.sdf</sdf></model>'
        )


def test_included_models_have_their_names_poses_and_frames(tmp_path):
    write_model(
        tmp_path, "leg", model(at("9 9 9 0 0 0"), link("foot", pose="0 0 -1 0 0 0"), name="leg")
    )
    left = f"<include><uri>model://leg</uri><name>left</name>{at('0 1 0 0 0 0')}</include>"
    right = (f"<include><uri>leg/model.sdf</uri>{at('0 -1 0 0 0 0', 'trunk')}"
             "<placement_frame>foot</placement_frame></include>")  # fmt: skip
    text = model(
        link("trunk", pose="0 0 1 0 0 0"), left, right,
        joint("i", "revolute", "trunk", "left::foot"), joint("j", "revolute", "trunk", "leg::foot"),
    )  # fmt: skip
    where = placed(load(tmp_path, text))

    same(where("left::foot"), (0, 1, -1))  # the pose of <include> replaces that of the model
    same(where("leg::foot"), (0, -1, 1))


def test_an_included_model_keeps_its_placement_frame(tmp_path):
    foot = link("foot", pose="0 0 -1 0 0 0")
    write_model(tmp_path, "leg", model(foot, name="leg", more=' placement_frame="foot"'))
    text = model(link("trunk"), f"<include><uri>leg</uri>{at('0 1 0 0 0 0')}</include>",
                 joint("j", "ball", "trunk", "leg::foot"))  # fmt: skip
    where = placed(load(tmp_path, text))

    same(where("leg::foot"), (0, 1, 0))


def test_models_lie_in_the_folder_that_the_user_names(tmp_path):
    (tmp_path / "models").mkdir()
    write_model(tmp_path / "models", "leg", model(link("foot")), config=False)
    (tmp_path / "worlds").mkdir()
    text = world("<include><uri>model://leg</uri><name>left</name></include>")
    found = load(tmp_path / "worlds", text, within=tmp_path, name="w.world")

    assert list(found.bodies) == ["left::foot"]
    with pytest.raises(FileNotFoundError, match="no model 'model://leg' next to w.world; name"):
        load(tmp_path / "worlds", text, name="w.world")


def test_merged_includes_are_parts_of_the_model(tmp_path):
    leg = model(
        link("foot", pose="0 0 -1 0 0 0"), '<frame name="ankle" attached_to="foot"/>',
        link("toe"), joint("k", "revolute", "foot", "toe"), name="leg",
    )  # fmt: skip
    write_model(tmp_path, "leg", leg)
    text = model(
        link("trunk"), f'<include merge="true"><uri>leg</uri>{at("0 1 0 0 0 0")}</include>',
        joint("j", "fixed", "trunk", "foot"),
    )  # fmt: skip
    mechanism = load(tmp_path, text)
    where = placed(mechanism)

    same(where("foot"), (0, 1, -1))
    same(where("toe"), (0, 1, 0))
    same(where("ankle"), (0, 1, -1))
    assert list(mechanism.bodies) == ["trunk", "foot", "toe"]


def test_joints_of_static_links_take_no_name_of_the_file(tmp_path):
    """Links x::a and y::b stand still, by joints world-x::a and world-y::b if these are free."""
    robot = load(
        tmp_path,
        world(
            named("x", "<static>true</static>", link("a")),
            named("y", "<static>true</static>", link("b")),
            named("world-x", link("c"), joint("a", "revolute", "world", "c", "0 1 0")),
            named("world-y", link("b")),
        ),
    )
    assert list(robot.joints) == ["world-x::a"]
    assert list(robot.bodies) == ["world-x::c", "world-y::b"]


def test_a_base_that_is_fixed_takes_no_name_of_the_file(tmp_path):
    text = world(named("x", link("l")), named("world-x", link("l")))
    robot = load(tmp_path, text, base="fixed", merge_fixed=False)
    assert list(robot.bodies) == ["x::l", "world-x::l"]
    assert list(robot.joints) == ["world-x::l 2", "world-world-x::l"]


def test_static_includes_do_not_move(tmp_path):
    write_model(tmp_path, "leg", model(link("foot"), name="leg"))
    text = world(
        "<include><uri>leg</uri><static>true</static></include>",
        f"<model name='b'>{link('l')}</model>",
    )
    assert list(load(tmp_path, text).bodies) == ["b::l"]


def test_what_is_not_read_is_in_the_report(tmp_path):
    text = world(
        '<light name="sun" type="directional"/>', '<plugin name="p" filename="q"/>',
        named("b", link("l", more='<sensor name="s" type="imu"/>')),
        "<physics><max_step_size>0.001</max_step_size></physics>",
    )  # fmt: skip
    assert load(tmp_path, text).report.left_out == {
        "<light>": ["sun"], "<plugin>": ["p"], "<sensor> of links": ["b::l"],
    }  # fmt: skip


def geometry(shape, more=""):
    """A collision of a shape."""
    return f'<collision name="c"><geometry>{shape}</geometry>{more}</collision>'


@pytest.mark.parametrize(
    "inside, left",
    [
        (geometry("<heightmap/>"), "<heightmap> as a geometry"),
        (geometry("<plane/>"), "<plane> of links that are not static"),
        (geometry("<mesh><uri>https://a.b/c.dae</uri></mesh>"), "meshes on the network"),
        (
            geometry("<mesh><uri>c.dae</uri><submesh/></mesh>"),
            "<submesh> (the whole mesh is taken)",
        ),
        (
            geometry(BALL[10:-11], "<surface><bounce><restitution_coefficient>1"
                     "</restitution_coefficient></bounce></surface>"),
            "<bounce> of surfaces",
        ),
        (
            geometry(BALL[10:-11], "<surface><friction><torsional><coefficient>1</coefficient>"
                     "<use_patch_radius>0</use_patch_radius></torsional></friction></surface>"),
            "torsional friction by <surface_radius>",
        ),
        (
            f'<visual name="v">{BALL}<material><script/></material></visual>',
            "<script> of materials",
        ),
        ("<velocity_decay><linear>1</linear></velocity_decay>", "<velocity_decay> of links"),
        ("<kinematic>1</kinematic>", "<kinematic> of links (they move freely)"),
    ],
)  # fmt: skip
def test_what_is_left_out_of_links_is_named(tmp_path, inside, left):
    (tmp_path / "c.dae").touch()
    assert load(tmp_path, model(link("a", more=inside))).report.left_out == {left: ["a"]}


def test_what_is_left_out_of_files_and_inertia_is_named(tmp_path):
    inertial = '<inertial auto="true"><mass>1</mass><fluid_added_mass/></inertial>'
    own = named("s", "<static>1</static>", link("a"), link("b"), joint("j", "ball", "a", "b"))
    text = world(named("m", f'<link name="a">{inertial}</link>'), own)
    text = text.replace("<world", "<light name='sun'/><world")

    assert load(tmp_path, text).report.left_out == {
        "<light>": ["sun"], "joints of static models": ["s::j"],
        '<inertial auto="true">: it needs its numbers': ["m::a"],
        "<fluid_added_mass> of links": ["m::a"],
    }  # fmt: skip


def test_friction_of_planes_bullet_and_drake_and_torsion(tmp_path):
    drake = ("<drake:proximity_properties><drake:mu_dynamic>0.2</drake:mu_dynamic>"
             "</drake:proximity_properties>")  # fmt: skip
    bullet = "<surface><friction><bullet><friction>0.4</friction></bullet></friction></surface>"
    torsion = ("<surface><friction><torsional><coefficient>0.5</coefficient><patch_radius>0.1"
               "</patch_radius></torsional></friction></surface>")  # fmt: skip
    ball = BALL[10:-11]
    parts = [link(name, more=geometry(ball, more))
             for name, more in (("a", drake), ("b", bullet), ("c", torsion))]  # fmt: skip
    plane = f'<link name="l">{geometry("<plane/>")}</link>'
    ground = named("g", "<static>1</static>", plane)
    mechanism = load(tmp_path, world(named("m", *parts), ground), ground=True)
    found = {name: one.collisions[0].surface for name, one in mechanism.bodies.items()}

    assert found["m::a"].friction == 0.2 and found["m::b"].friction == 0.4
    assert found["m::c"].torsional == pytest.approx(0.05)
    assert [one.friction for one in mechanism.contacts.values()] == [0.2, 0.4, 0.5]


def test_one_link_may_keep_off_the_others(tmp_path):
    links = link("a", more=HIT + "<self_collide>0</self_collide>")
    links += link("b", pose="1 0 0 0 0 0", more=HIT) + link("c", pose="2 0 0 0 0 0", more=HIT)
    pairs = {frozenset(one) for one in _touching(load(tmp_path, model(links), collide=True))}

    assert pairs == {frozenset("bc")}


def test_geometry_may_be_placed_in_any_frame(tmp_path):
    hit = f'<collision name="c">{at("0 0 1 0 0 0", "f")}{BALL}</collision>'
    text = model(
        link("a", pose="1 0 0 0 0 0", more=hit), f'<frame name="f">{at("0 2 0 0 0 0")}</frame>'
    )
    found = load(tmp_path, text).bodies["a"].collisions[0]

    np.testing.assert_allclose(found.position, (-1, 2, 1), atol=ROUNDING)


def test_several_models_of_an_old_file_stand_in_a_world_without_a_name(tmp_path):
    text = model(link("l"), name="a", version="1.4").replace(
        "</sdf>", named("b", link("l")) + "</sdf>"
    )

    assert list(load(tmp_path, text).bodies) == ["a::l", "b::l"]


def test_models_without_meshes_and_old_configs(tmp_path):
    mesh = geometry("<mesh><uri>a.stl</uri></mesh>")
    write_model(tmp_path, "leg", model(link("foot", more=mesh), name="leg"))
    (tmp_path / "leg" / "model.config").write_text(
        '<model><sdf version="x">model.sdf</sdf></model>'
    )
    text = model(link("trunk"), "<include><uri>leg</uri></include>",
                 joint("j", "ball", "trunk", "leg"))  # fmt: skip

    assert load(tmp_path, text, meshes=False).bodies["leg::foot"].collisions == ()
    assert len(load(tmp_path, text).bodies["leg::foot"].collisions) == 1


def test_lights_may_be_included(tmp_path):
    (tmp_path / "sun.sdf").write_text('<sdf version="1.9"><light name="sun"/></sdf>')
    text = world(named("m", link("l")), "<include><uri>sun.sdf</uri></include>")

    assert load(tmp_path, text).report.left_out == {"included <light>": ["sun.sdf"]}


def test_frames_of_worlds_may_be_attached_to_the_world_and_to_merged_models(tmp_path):
    leg = model(link("foot", pose="0 0 -1 0 0 0"), '<frame name="own"/>', name="leg")
    write_model(tmp_path, "leg", leg)
    merged = named("m", '<include merge="true"><uri>leg</uri></include>', link("a"))
    text = world(merged, f'<frame name="f">{at("1 2 3 0 0 0")}</frame>')
    mechanism = load(tmp_path, text)

    assert mechanism.frames["f"].body is mechanism.world
    np.testing.assert_allclose(mechanism.frames["f"].position, (1, 2, 3))
    assert mechanism.frames["m::own"].body.name == "m::foot"


def test_gazebos_sun_and_ground_plane_need_no_folder(tmp_path):
    text = world(
        "<include><uri>model://sun</uri></include>",
        f"<include><uri>model://ground_plane</uri>{at('0 0 -1 0 0 0')}</include>",
        named("b", link("ball", more=HIT)),
    )
    mechanism = load(tmp_path, text, ground=True)

    assert list(mechanism.contacts) == ["ground_plane::link|b::ball"]
    assert mechanism.report.left_out == {"included <light>": ["model://sun"]}
    np.testing.assert_allclose(mechanism.contacts["ground_plane::link|b::ball"].friction, 0.5)
    write_model(tmp_path, "ground_plane", model(link("own"), name="ground_plane"))
    assert "ground_plane::own" in load(tmp_path, text, ground=True).bodies
