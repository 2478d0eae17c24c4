"""USD: frames, units, masses, shapes, joints, drives and filters of UsdPhysics."""

import math

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.io import LoadWarning

from .robots import load as load_urdf
from .robots import pose_of_frame
from .usd import BODY, MASS, SOLID, body, file, joint, load, place, prim

pytest.importorskip("pxr", reason="usd-core is not installed")

HALF = float(np.sqrt(0.5))
Z_QUARTER = (HALF, 0, 0, HALF)
X, Y, Z = np.eye(3)
#: Numbers of a USD file are in single precision; those of one or two digits come back exactly, and
#: quaternions of quarter turns to 2^-24 of 1.
SINGLE = 1.2e-7


def turned(vector):
    """Matrix of a rotation vector."""
    return rotation.to_matrix(rotation.from_rotation_vector(np.asarray(vector, np.float64)))


def pose_at(mechanism, name, coordinates=None):
    """Position and rotation matrix of a frame with joints at coordinates."""
    fine = mechanism.finalize(timestep=0.01)
    state = fine.initial_state()
    for one, value in (coordinates or {}).items():
        fine.set_joint(state, one, value)
    return pose_of_frame(mechanism, state, fine, name)


# Frames and units


def test_frames_of_bodies_go_down_the_tree_of_prims(tmp_path):
    inner = body("b", at=place((1, 0, 0), Z_QUARTER))
    text = file(prim("Xform", "top", place((0, 0, 2), Z_QUARTER), inner))
    x, R = pose_at(load(tmp_path, text), "b")

    np.testing.assert_allclose(x, (0, 1, 2), atol=1e-15)  # 1 along the turned x axis
    np.testing.assert_allclose(R, turned(np.pi * Z), atol=1e-15)


def test_units_and_the_upward_axis_of_the_file(tmp_path):
    # Centimetres and grams, y upwards: y becomes z, z becomes -y.
    ball = prim("Sphere", "s", "double radius = 10", apis=(SOLID,))
    text = file(
        prim("PhysicsScene", "scene", "float physics:gravityMagnitude = 500"),
        body("b", ball, mass=2000, inertia=(1e4, 2e4, 3e4), center=(0, 100, 50),
             at=place((100, 200, 300))),
        up="Y", meters=0.01, kilograms=0.001,
    )  # fmt: skip
    mechanism = load(tmp_path, text)
    found = mechanism.bodies["b"]
    x, R = pose_at(mechanism, "b")

    np.testing.assert_allclose(mechanism.gravity, (0, 0, -5), atol=5e-15)
    assert found.mass == pytest.approx(2.0)
    np.testing.assert_allclose(found.inertia, np.diag((1e-3, 2e-3, 3e-3)), rtol=1e-12)
    np.testing.assert_allclose(x, (1, -3, 2), atol=1e-14)
    np.testing.assert_allclose(R, turned(np.pi / 2 * X), atol=1e-15)
    np.testing.assert_allclose(mechanism.frames["b"].position, (0, -1, -0.5), atol=1e-15)
    assert found.collisions[0].shape.radius == pytest.approx(0.1)


def test_lengths_without_a_unit_are_centimetres(tmp_path):
    with pytest.warns(LoadWarning, match="without metersPerUnit are centimetres"):
        mechanism = load(tmp_path, file(body("b", at=place((100, 0, 0))), meters=None), quiet=False)

    np.testing.assert_allclose(pose_at(mechanism, "b")[0], (1, 0, 0), atol=1e-15)


def test_positions_and_bases_of_free_bodies(tmp_path):
    text = file(body("b", at=place((0, 1, 0))))
    free, fixed = load(tmp_path, text, position=(5, 0, 0)), load(tmp_path, text, base="fixed")

    np.testing.assert_allclose(pose_at(free, "b")[0], (5, 1, 0))
    assert fixed.joints["world-b"].kind == "fixed"


# Masses and shapes


def test_masses_come_from_bodies_colliders_and_densities(tmp_path):
    heavy = prim("Cube", "c", "double size = 1", "float physics:mass = 6", apis=(SOLID, MASS))
    dense = prim("Cube", "d", "double size = 2", place((1, 0, 0)), "float physics:density = 0.5",
                 apis=(SOLID, MASS))  # fmt: skip
    text = file(
        prim("Xform", "a", heavy, dense, apis=(BODY,)),
        prim("Sphere", "b", "double radius = 0.5", apis=(BODY, SOLID)),
    )
    bodies = load(tmp_path, text).bodies

    # 6 kg at 0 and 0.5 x 8 kg at 1: the centre is at 0.4.
    assert bodies["a"].mass == pytest.approx(10.0)
    one, two, away = 6 / 6, 4 * 4 / 6, 6 * 0.4**2 + 4 * 0.6**2
    np.testing.assert_allclose(
        bodies["a"].inertia, np.diag((one + two, one + two + away, one + two + away)), rtol=1e-6
    )
    assert bodies["b"].mass == pytest.approx(1000 * np.pi / 6, rel=1e-6)  # water by default


def test_meshes_have_the_mass_of_what_they_enclose(tmp_path):
    points = [(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1)]
    faces = [0, 2, 3, 1, 4, 5, 7, 6, 0, 1, 5, 4, 2, 6, 7, 3, 0, 4, 6, 2, 1, 3, 7, 5]
    mesh = "\n".join([
        f"point3f[] points = {points}", f"int[] faceVertexIndices = {faces}",
        f"int[] faceVertexCounts = {[4] * 6}", place(scale=(1, 2, 3)),
    ])  # fmt: skip
    text = file(prim("Mesh", "box", mesh, apis=(BODY, SOLID)))
    mechanism = load(tmp_path, text)
    found = mechanism.bodies["box"]

    assert found.mass == pytest.approx(6000, rel=1e-6)
    np.testing.assert_allclose(found.inertia, 500 * np.diag((13, 10, 5)), rtol=1e-6, atol=1e-3)
    np.testing.assert_allclose(mechanism.frames["box"].position, (-0.5, -1, -1.5), rtol=1e-6)
    shown = found.collisions[0]
    corners = shown.position + shown.shape.vertices
    np.testing.assert_allclose(corners.max(axis=0), (0.5, 1, 1.5), rtol=1e-6)
    open_box = text.replace(f"{[4] * 6}", f"{[4] * 5}").replace(", 1, 3, 7, 5]", "]")
    with pytest.raises(ValueError, match="open.usda: /box is open and has no volume"):
        load(tmp_path, open_box, name="open.usda")


def test_shapes_with_scales_and_colors(tmp_path):
    parts = [
        prim("Cube", "cube", "double size = 1", place(scale=(1, -2, 3))),
        prim("Sphere", "ball", "double radius = 2", place(scale=(2, 2, 2))),
        prim("Sphere", "egg", "double radius = 1", place(scale=(1, 2, 3))),
        prim("Cylinder", "rod", "double radius = 1", "double height = 4",
             'uniform token axis = "X"', place(scale=(3, 2, 2))),
        prim("Capsule", "pill", "double radius = 1", "double height = 4", place((1, 0, 0))),
        prim("Cone", "cone", "double radius = 1", "double height = 4"),
        prim("Sphere", "guide", 'uniform token purpose = "guide"'),
        prim("Sphere", "gone", 'token visibility = "invisible"', apis=(SOLID,)),
    ]  # fmt: skip
    red = "color3f[] primvars:displayColor = [(1, 0, 0.5)]\nfloat[] primvars:displayOpacity = [0.5]"
    parts.append(prim("Cube", "red", "double size = 1", red))
    found = load(tmp_path, file(body("b", *parts))).bodies["b"]
    shapes = [one.shape for one in found.visuals]

    names = ["Box", "Sphere", "Ellipsoid", "Cylinder", "Capsule", "Mesh", "Box"]
    assert [type(one).__name__ for one in shapes] == names
    assert [type(one.shape).__name__ for one in found.collisions] == ["Sphere"]  # the unseen one
    assert (shapes[0].x, shapes[0].y, shapes[0].z) == pytest.approx((1, 2, 3))
    assert shapes[1].radius == pytest.approx(4)
    assert (shapes[2].x, shapes[2].y, shapes[2].z) == pytest.approx((1, 2, 3))
    assert (shapes[3].radius, shapes[3].length, *shapes[3].axis) == pytest.approx((2, 12, 1, 0, 0))
    np.testing.assert_allclose(found.visuals[4].position, (1, 0, 0))
    np.testing.assert_array_equal(found.visuals[6].color, (1, 0, 0.5, 0.5))


def test_sheared_cubes_are_meshes_and_other_sheared_shapes_are_named(tmp_path):
    # A cube of 1 m, turned by 45 degrees about z, then stretched threefold along x: a rhomb with
    # corners at (+-3, 0) and (0, +-1) times sqrt(1/2), 1 m high, of 3 m^3.
    turned = place(orient=(math.cos(math.pi / 8), 0, 0, math.sin(math.pi / 8)))
    shapes = [
        prim("Cube", "cube", turned, "double size = 1", apis=(SOLID,)),
        prim("Cylinder", "can", turned, 'uniform token axis = "X"', apis=(SOLID,)),
    ]
    stretched = place(scale=(3, 1, 1))
    numbers = "float physics:density = 2"
    text = file(prim("Xform", "a", stretched, numbers, shapes[0], apis=(BODY, MASS)))
    mechanism = load(tmp_path, text)
    (one,) = mechanism.bodies["a"].collisions
    top = one.shape.vertices[one.shape.vertices[:, 2] > 0.0]

    half = np.sqrt(0.5)
    expected = [(-3 * half, 0, 0.5), (0, -half, 0.5), (0, half, 0.5), (3 * half, 0, 0.5)]
    np.testing.assert_allclose(top[np.lexsort(top.round(6).T[::-1])], expected, atol=1e-6)
    assert mechanism.bodies["a"].mass == pytest.approx(6.0, rel=1e-6)
    # about z of two triangles of base b = 6 half and height half: m (b^2 / 24 + (2 half)^2 / 24)
    Izz = 6.0 * ((6 * half) ** 2 + (2 * half) ** 2) / 24
    assert mechanism.bodies["a"].inertia[2, 2] == pytest.approx(Izz, rel=1e-6)
    assert mechanism.report.changed == {"sheared cubes are meshes": ["/a/cube"]}

    text = file(prim("Xform", "a", stretched, numbers, shapes[1], apis=(BODY, MASS)))
    changed = load(tmp_path, text).report.changed
    assert changed["sheared shapes are taken without their shear"] == ["/a/can"]


def test_colors_and_friction_of_materials(tmp_path):
    shader = prim("Shader", "shader", 'uniform token info:id = "UsdPreviewSurface"',
                  "color3f inputs:diffuseColor = (0, 1, 0)", "token outputs:surface")  # fmt: skip
    material = prim(
        "Material", "mat", shader, "token outputs:surface.connect = </mat/shader.outputs:surface>",
        "float physics:dynamicFriction = 0.3", apis=("PhysicsMaterialAPI",),
    )  # fmt: skip
    ball = prim("Sphere", "s", "rel material:binding = </mat>", apis=(SOLID, "MaterialBindingAPI"))
    found = load(tmp_path, file(body("b", ball), material)).bodies["b"]

    np.testing.assert_array_equal(found.visuals[0].color, (0, 1, 0, 1))
    assert found.collisions[0].surface.friction == 0.3


# Static shapes and contacts


def test_a_ball_comes_to_rest_on_a_static_box_and_on_a_plane(tmp_path):
    ball = prim("Sphere", "ball", "double radius = 0.1", place((0, 0, 2)), apis=(BODY, SOLID))
    for ground, height in (
        (prim("Cube", "box", "double size = 1", apis=(SOLID,)), 0.6),
        (prim("Plane", "plane", 'uniform token axis = "Z"', apis=(SOLID,)), 0.1),
    ):
        mechanism = load(tmp_path, file(ball, ground), collide=True)
        fine = mechanism.finalize(timestep=0.01)
        motion = dy.simulate(fine, fine.initial_state(), seconds=2.0)
        assert motion.final.pose[0, 2] == pytest.approx(height, abs=1e-4)
    floor = load(tmp_path, file(ball, ground), ground=True)
    assert list(floor.contacts) == ["plane|ball"]


def test_bodies_that_do_not_move_are_the_world(tmp_path):
    still = body("a", "bool physics:kinematicEnabled = 1")
    off = body("b", "bool physics:rigidBodyEnabled = 0")
    mechanism = load(tmp_path, file(still, off, body("c")))

    assert list(mechanism.bodies) == ["c"]
    assert mechanism.frames["a"].body is mechanism.world


def test_groups_and_filtered_pairs_do_not_touch(tmp_path):
    def ball(name, *parts, apis=()):
        return prim("Sphere", name, "double radius = 0.1", *parts, apis=(BODY, SOLID, *apis))

    group = prim("PhysicsCollisionGroup", "g", "rel collection:colliders:includes = [</a>, </b>]",
                 "rel physics:filteredGroups = </g>")  # fmt: skip
    pair = "rel physics:filteredPairs = </d>"
    text = file(
        ball("a"), ball("b", place((1, 0, 0))),
        ball("c", place((2, 0, 0)), pair, apis=("PhysicsFilteredPairsAPI",)),
        ball("d", place((3, 0, 0))), group,
    )  # fmt: skip
    mechanism = load(tmp_path, text, collide=True)
    a, b, c, d = (mechanism.bodies[name].collisions[0].surface for name in "abcd")

    assert not a.meets(b) and a.meets(c) and b.meets(d) and c.meets(d)
    names = mechanism.finalize().near.candidates.names
    assert names == ("a|c", "a|d", "b|c", "b|d")


# Joints


@pytest.mark.parametrize(
    "kind, axis, value, x, R",
    [
        ("Revolute", "X", 0.3, (0, 0, 0), turned(0.3 * X)),
        ("Revolute", "Z", 0.3, (0, 0, 0), turned(0.3 * Z)),
        ("Prismatic", "Y", 0.3, (0, 0.3, 0), np.eye(3)),
    ],
)
def test_joints_move_the_second_body_along_the_axis_of_the_first(tmp_path, kind, axis, value, x, R):
    # The joint is 1 above a, and 2 above b, turned by a quarter in a.
    text = file(
        body("a"), body("b", at=place((0, 0, -1), Z_QUARTER)),
        joint("Fixed", "w", "", "/a"),
        joint(kind, "j", "/a", "/b", axis=axis, pos0=(0, 0, 1), rot0=Z_QUARTER, pos1=(0, 0, 2)),
    )  # fmt: skip
    found = pose_at(load(tmp_path, text), "b", {"j": value})
    quarter = turned(np.pi / 2 * Z)

    np.testing.assert_allclose(found[1], quarter @ R, atol=SINGLE)
    x = np.array((0, 0, 1)) + quarter @ (np.array(x) + R @ (0, 0, -2))
    np.testing.assert_allclose(found[0], x, atol=2 * SINGLE)


def test_limits_are_degrees_and_units_of_length(tmp_path):
    text = file(
        body("a"), body("b"), body("c"),
        joint("Revolute", "i", "/a", "/b", "float physics:lowerLimit = -90",
              "float physics:upperLimit = 180", axis="X"),
        joint("Prismatic", "j", "/b", "/c", "float physics:lowerLimit = -50", axis="X"),
        meters=0.01,
    )  # fmt: skip
    joints = load(tmp_path, text).joints

    np.testing.assert_allclose(joints["i"].limits, [(-np.pi / 2, np.pi)], rtol=1e-15)
    np.testing.assert_allclose(joints["j"].limits, [(-0.5, np.inf)], rtol=1e-15)


def test_drives_are_servos_and_motors_in_si_units(tmp_path):
    def drive(name, what, axis="angular"):
        lines = [f"float drive:{axis}:physics:{key} = {value}" for key, value in what.items()]
        kind = "Revolute" if axis == "angular" else "Prismatic"
        apis = (f"PhysicsDriveAPI:{axis}",)
        return joint(kind, f"{name}_joint", "/a", f"/{name}", *lines, axis="X", apis=apis)

    text = file(
        body("a"), body("p"), body("v"), body("m"), body("s"),
        drive("p", {"stiffness": 2, "damping": 1, "targetPosition": 90, "maxForce": 4}),
        drive("v", {"damping": 1, "targetVelocity": 180}),
        drive("m", {"maxForce": 4}),
        drive("s", {"stiffness": 2, "targetPosition": 3, "maxForce": 4}, "linear"),
        meters=0.1, kilograms=10,
    )  # fmt: skip
    joints = load(tmp_path, text).joints
    torque, degree = 10 * 0.1**2, np.pi / 180

    servo = joints["p_joint"].servo
    assert (servo.stiffness, servo.damping) == pytest.approx((2 * torque / degree, torque / degree))
    assert (servo.target, servo.force_limit) == pytest.approx((np.pi / 2, 4 * torque))
    assert joints["v_joint"].servo.target == pytest.approx(np.pi)
    assert joints["m_joint"].actuated and joints["m_joint"].servo is None
    np.testing.assert_allclose(joints["m_joint"].control_limits, [(-4 * torque, 4 * torque)])
    servo = joints["s_joint"].servo
    assert (servo.stiffness, servo.target) == pytest.approx((2 * 10, 0.3))
    assert servo.force_limit == pytest.approx(4 * 10 * 0.1)


def free(*axes, limits=None):
    """Limits of a joint of six freedoms that locks all others."""
    every = [f"{what}{axis}" for what in ("trans", "rot") for axis in "XYZ"]
    lines, apis = [], []
    for one in every:
        if one not in axes or one in (limits or {}):
            low, high = (limits or {}).get(one, (1, -1))
            apis.append(f"PhysicsLimitAPI:{one}")
            lines += [f"float limit:{one}:physics:low = {low}",
                      f"float limit:{one}:physics:high = {high}"]  # fmt: skip
    return lines, apis


@pytest.mark.parametrize(
    "axes, kinds",
    [
        ((), ["fixed"]),
        (("rotY",), ["revolute"]),
        (("rotX", "rotZ"), ["universal"]),
        (("rotX", "rotY", "rotZ"), ["spherical"]),
        (("transX",), ["prismatic"]),
        (("transX", "rotX"), ["cylindrical"]),
        (("transX", "transY", "rotZ"), ["planar axis"]),
        (("transX", "transY"), ["planar"]),
        (("transX", "transY", "transZ"), ["fixed orientation"]),
        (("transX", "transY", "transZ", "rotX"), ["free axis"]),
        (("transX", "rotY", "rotZ"), ["prismatic", "universal"]),
        (("transX", "transY", "transZ", "rotX", "rotY", "rotZ"), []),
    ],
)
def test_joints_of_six_freedoms_are_what_their_limits_leave(tmp_path, axes, kinds):
    lines, apis = free(*axes)
    text = file(body("a"), body("b"), joint("", "j", "/a", "/b", *lines, apis=apis))
    joints = load(tmp_path, text, base="fixed" if kinds else None).joints

    found = [one.kind for name, one in joints.items() if not name.startswith("world")]
    assert found == kinds


def test_two_angles_of_six_freedoms_have_their_limits_and_drives(tmp_path):
    lines, apis = free("rotX", "rotY", limits={"rotX": (-90, 180)})
    lines.append("float drive:rotY:physics:stiffness = 1")
    text = file(
        body("a"),
        body("b"),
        joint("", "j", "/a", "/b", *lines, apis=[*apis, "PhysicsDriveAPI:rotY"]),
    )
    mechanism = load(tmp_path, text, base="fixed")
    made = mechanism.joints["j"]

    np.testing.assert_allclose(made.limits, [(-np.pi / 2, np.pi), (-np.inf, np.inf)])
    np.testing.assert_allclose(made.servo.stiffness, (0, 180 / np.pi))
    R = pose_at(mechanism, "b", {"j": (0.3, 0.4)})[1]
    np.testing.assert_allclose(R, turned(0.3 * X) @ turned(0.4 * Y), atol=1e-12)


def test_balls_with_limits_are_three_hinges(tmp_path):
    lines, apis = free("rotX", "rotY", "rotZ", limits={"rotZ": (-10, 10)})
    text = file(body("a"), body("b"), joint("", "j", "/a", "/b", *lines, apis=apis))
    mechanism = load(tmp_path, text, base="fixed")

    assert [n for n in mechanism.joints if not n.startswith("world")] == ["j 1", "j 2", "j 3"]
    np.testing.assert_allclose(mechanism.joints["j 3"].limits, [(-np.pi / 18, np.pi / 18)])
    R = pose_at(mechanism, "b", {"j 1": 0.3, "j 2": 0.4, "j 3": 0.1})[1]
    np.testing.assert_allclose(R, turned(0.3 * X) @ turned(0.4 * Y) @ turned(0.1 * Z), atol=1e-12)


def test_joints_in_any_sense_keep_their_coordinates(tmp_path):
    # The world is the second body: b hangs on it, and its coordinate is the world's in b.
    text = file(
        body("b", at=place((0, 0, 1))), joint("Revolute", "j", "/b", "", axis="Y", pos1=(0, 0, 1))
    )
    R = pose_at(load(tmp_path, text), "b", {"j": 0.3})[1]

    np.testing.assert_allclose(R, turned(-0.3 * Y), atol=1e-12)


def test_joints_on_prims_that_are_no_bodies(tmp_path):
    # A frame of the world, and one on the body: both are where their prims are.
    mark = prim("Xform", "mark", place((1, 2, 3)))
    grip = prim("Xform", "grip", place((0, 0, 1)))
    text = file(
        mark, body("b", grip, at=place((1, 2, 2))), joint("Revolute", "j", "/mark", "/b/grip")
    )
    x = pose_at(load(tmp_path, text), "b", {"j": np.pi})[0]

    np.testing.assert_allclose(x, (1, 2, 4), atol=1e-6)  # half a turn about x at the mark


def test_loops_close(tmp_path):
    # A parallelogram of rods of 1 and 2 m; the last joint is out of the articulation.
    hinge = "bool physics:excludeFromArticulation = 1"
    text = file(
        body("crank"), body("rod", at=place((0, 0, 1))), body("rocker", at=place((2, 0, 1))),
        joint("Revolute", "d", "", "/rocker", hinge, axis="Y", pos0=(2, 0, 0), pos1=(0, 0, -1)),
        joint("Revolute", "a", "", "/crank", axis="Y"),
        joint("Revolute", "b", "/crank", "/rod", axis="Y", pos0=(0, 0, 1)),
        joint("Revolute", "c", "/rod", "/rocker", axis="Y", pos0=(2, 0, 0)),
    )  # fmt: skip
    mechanism = load(tmp_path, text)
    fine = mechanism.finalize(timestep=0.01)
    state = fine.assemble(fine.initial_state(), {"a": 0.3})
    motion = dy.simulate(fine, state, seconds=1.0)

    R = pose_of_frame(mechanism, state, fine, "rocker")[1]
    np.testing.assert_allclose(R, turned(0.3 * Y), atol=1e-9)
    assert motion.constraint_violation().max() < 1e-9


def test_a_posture_away_from_zero_is_a_keyframe(tmp_path):
    half = (float(np.cos(0.2)), 0.0, float(np.sin(0.2)), 0.0)  # 0.4 about y
    text = file(
        body("a"), body("b", at=place((0, 0, 0), half)), joint("Fixed", "w", "", "/a"),
        joint("Revolute", "j", "/a", "/b", axis="Y"),
    )  # fmt: skip
    mechanism = load(tmp_path, text)
    fine = mechanism.finalize(timestep=0.01)
    state = fine.keyframe("start")

    np.testing.assert_allclose(
        pose_of_frame(mechanism, state, fine, "b")[1], turned(0.4 * Y), atol=1e-9
    )
    np.testing.assert_allclose(pose_at(mechanism, "b")[1], np.eye(3), atol=1e-12)


def test_the_same_robot_as_urdf_moves_the_same(tmp_path):
    urdf = """<robot name="r">
      <link name="base"><inertial><mass value="3"/>
        <inertia ixx="0.1" iyy="0.2" izz="0.15"/></inertial></link>
      <link name="arm"><inertial><origin xyz="0 0 -0.25"/><mass value="1"/>
        <inertia ixx="0.02" iyy="0.03" izz="0.015"/></inertial></link>
      <link name="slider"><inertial><mass value="0.5"/>
        <inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial></link>
      <joint name="hip" type="continuous"><parent link="base"/><child link="arm"/>
        <origin xyz="0 0.125 0.25"/><axis xyz="0 1 0"/></joint>
      <joint name="rail" type="prismatic"><parent link="arm"/><child link="slider"/>
        <origin xyz="0 0 -0.5"/><axis xyz="1 0 0"/><limit lower="-1" upper="1"/></joint>
    </robot>"""
    limits = "float physics:lowerLimit = -1\nfloat physics:upperLimit = 1"
    hip = place((0, 0.125, 0.25))
    parts = [
        body("base", mass=3, inertia=(0.1, 0.2, 0.15)),
        body("arm", inertia=(0.02, 0.03, 0.015), center=(0, 0, -0.25), at=hip),
        body("slider", mass=0.5, inertia=(0.01,) * 3, at=place((0, 0.125, -0.25))),
        joint("Revolute", "hip", "/r/base", "/r/arm", axis="Y", pos0=(0, 0.125, 0.25)),
        joint("Prismatic", "rail", "/r/arm", "/r/slider", limits, axis="X", pos0=(0, 0, -0.5)),
    ]
    usd = file(prim("Xform", "r", *parts))
    ends = []
    for made in (load_urdf(tmp_path, urdf, base="fixed"), load(tmp_path, usd, base="fixed")):
        fine = made.finalize(timestep=0.01)
        state = fine.initial_state()
        fine.set_joint(state, "hip", 0.5)
        ends.append(dy.simulate(fine, state, seconds=0.5).final.pose)

    np.testing.assert_allclose(ends[1], ends[0], atol=1e-9)  # same numbers to rounding, 50 steps


# Composition and reports


def test_references_instances_and_binary_files(tmp_path):
    from pxr import Usd

    arm = file(prim("Xform", "arm", body("link")), more='defaultPrim = "arm"')
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.usda").write_text(arm)
    meta = "prepend references = @./parts/arm.usda@"
    text = file(
        prim("Xform", "left", place((1, 0, 0)), meta=meta),
        prim("Xform", "right", place((2, 0, 0)), meta=meta + "\ninstanceable = true"),
    )
    for name in ("robot.usda", "robot.usdc"):
        if name.endswith("c"):
            Usd.Stage.Open(str(tmp_path / "robot.usda")).Export(str(tmp_path / name))
            mechanism = dy.load(tmp_path / name)
        else:
            mechanism = load(tmp_path, text)
        assert list(mechanism.bodies) == ["left/link", "right/link"]
        np.testing.assert_allclose(pose_at(mechanism, "right/link")[0], (2, 0, 0))


def test_what_is_not_read_is_in_the_report(tmp_path):
    text = file(
        body("a"), body("b", "vector3f physics:velocity = (1, 0, 0)"),
        joint("Distance", "d", "/a", "/b"),
        joint("Fixed", "off", "/a", "/b", "bool physics:jointEnabled = 0"),
        joint("Revolute", "j", "/a", "/b", "float physics:breakForce = 5", axis="X",
              apis=("PhysxJointAPI",)),
    )  # fmt: skip
    report = load(tmp_path, text).report

    assert report.left_out == {
        "velocities of bodies at the start": ["b"], "PhysxJointAPI": ["j"],
        "distances without limits": ["d"], "joints that are not enabled": ["off"],
        "breakForce of joints": ["j"],
    }  # fmt: skip


# What is left out, and odd files


def test_what_is_left_out_is_named(tmp_path):
    ball = prim("Sphere", "s", apis=(SOLID,))
    plane = prim("Plane", "p", apis=(SOLID,))
    two = prim("Capsule_1", "two", "double radiusTop = 1", "double radiusBottom = 2")
    same = prim("Cylinder_1", "same", "double radiusTop = 1", "double radiusBottom = 1",
                "double height = 2")  # fmt: skip
    lines, apis = free("rotX", "rotY", "rotZ", "transX", limits={"distance": (0, 1)})
    drive = "float drive:{}:physics:{} = 1"
    text = file(
        prim("PhysicsScene", "one"), prim("PhysicsScene", "second"),
        body("a", ball, plane, two, same, prim("BasisCurves", "curve"), prim("Mesh", "empty")),
        body("b"), body("c"), body("d"), body("e"),
        joint("Spherical", "cone", "/a", "/b", "float physics:coneAngle0Limit = 30",
              "float physics:coneAngle1Limit = 30"),
        joint("Revolute", "push", "/b", "/c", "uniform token drive:angular:physics:type = "
              '"acceleration"', drive.format("angular", "stiffness"), axis="X",
              apis=("PhysicsDriveAPI:angular",)),
        joint("Revolute", "weak", "/c", "/d", drive.format("angular", "stiffness"),
              drive.format("angular", "targetVelocity"), "float drive:angular:physics:maxForce = 0",
              axis="X", apis=("PhysicsDriveAPI:angular",)),
        joint("", "locked", "/d", "/e", drive.format("rotX", "stiffness"), *free("rotY")[0],
              apis=[*free("rotY")[1], "PhysicsDriveAPI:rotX"]),
    )  # fmt: skip
    report = load(tmp_path, text).report

    assert report.left_out == {
        "further scenes": ["/second"], "planes of bodies": ["/a/p"],
        "Capsule_1 of two radii as a geometry": ["/a/two"],
        "BasisCurves as a geometry": ["/a/curve"], "meshes without faces": ["/a/empty"],
        "cones of ball joints": ["cone"],
        "drives by acceleration (their gains are of no mass)": ["push"],
        "target velocities of drives with a stiffness": ["weak"],
        "drives whose maxForce is 0": ["weak"], "drives of axes that are locked": ["locked"],
    }  # fmt: skip


def test_limits_and_drives_of_slides_in_a_plane_are_left_out_by_name(tmp_path):
    lines, apis = free("transX", "transY", limits={"transX": (-1, 1)})
    lines.append("float drive:transY:physics:stiffness = 1")
    apis.append("PhysicsDriveAPI:transY")
    text = file(body("a"), body("b"), joint("", "j", "/a", "/b", *lines, apis=apis))

    assert load(tmp_path, text, base="fixed").report.left_out == {
        "limits of planar without turning joints": ["j"],
        "drives of planar without turning joints": ["j"],
    }


@pytest.mark.parametrize("kind, R", [("Revolute", turned(np.pi / 2 * Z)), ("Prismatic", np.eye(3))])
def test_a_joint_without_a_range_is_fixed_there(tmp_path, kind, R):
    ends = ["float physics:lowerLimit = 90", "float physics:upperLimit = 90"]
    text = file(body("a"), body("b"), joint(kind, "j", "/a", "/b", *ends, axis="Z"))
    mechanism = load(tmp_path, text, base="fixed")
    x, turn = pose_at(mechanism, "b")

    assert mechanism.joints["j"].kind == "fixed"
    np.testing.assert_allclose(turn, R, atol=1e-12)
    np.testing.assert_allclose(x, (0, 0, 0 if kind == "Revolute" else 90))


def test_meshes_count_for_masses_when_they_are_not_kept(tmp_path):
    points = [(0, 0, 0), (6, 0, 0), (0, 1, 0), (0, 0, 1)]  # 1 m^3, inside out
    mesh = "\n".join([
        f"point3f[] points = {points}", "int[] faceVertexCounts = [3, 3, 3, 3]",
        "int[] faceVertexIndices = [0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 3, 2]",
    ])  # fmt: skip
    text = file(prim("Mesh", "a", mesh, apis=(BODY, SOLID)))
    found = load(tmp_path, text, meshes=False).bodies["a"]
    left = load(
        tmp_path, text.replace("point3f", 'uniform token orientation = "leftHanded"\npoint3f', 1)
    )

    assert found.mass == pytest.approx(1000.0, rel=1e-6) and found.visuals == ()
    assert left.bodies["a"].mass == pytest.approx(1000.0, rel=1e-6)


def test_colliders_that_are_off_and_shapes_of_static_prims_do_not_touch(tmp_path):
    off = prim("Sphere", "s", "bool physics:collisionEnabled = 0", apis=(SOLID,))
    wide = prim("Cylinder", "w", "double radius = 1", "double height = 2", place(scale=(1, 2, 1)))
    point = prim("Capsule", "p", "double radius = 1", "double height = 0")
    seen = prim("Cube", "table", "double size = 1", place((5, 0, 0)))
    mechanism = load(tmp_path, file(body("a", off, wide, point), seen))
    found = mechanism.bodies["a"]

    assert found.collisions == () and len(found.visuals) == 3
    assert found.visuals[1].shape.radius == pytest.approx(2)
    assert type(found.visuals[2].shape).__name__ == "Sphere"
    assert list(mechanism.scenery) == ["table"] and mechanism.obstacles == {}


def test_groups_that_are_inverted_or_merged(tmp_path):
    def ball(name, x):
        parts = "double radius = 0.1", place((x, 0, 0))
        return prim("Sphere", name, *parts, apis=(BODY, SOLID))

    def group(name, members, *parts):
        inside = f"rel collection:colliders:includes = [{members}]"
        return prim("PhysicsCollisionGroup", name, inside, *parts)

    text = file(
        ball("a", 0), ball("b", 1), ball("c", 2), ball("d", 3),
        group("ga", "</a>", "rel physics:filteredGroups = </gb>",
              "bool physics:invertFilteredGroups = 1"),
        group("gb", "</b>"), group("gc", "</c>", 'string physics:mergeGroup = "m"'),
        group("gd", "</d>, </c>", 'string physics:mergeGroup = "m"'),
    )  # fmt: skip
    mechanism = load(tmp_path, text, collide=True)
    a, b, c, d = (mechanism.bodies[name].collisions[0].surface for name in "abcd")

    assert a.meets(b) and not a.meets(c) and not a.meets(d)
    assert b.meets(c) and c.meets(d)
    assert mechanism.report.left_out == {}
    twice = load(tmp_path, file(ball("a", 0), group("g", "</a>"), group("h", "</a>")))
    assert twice.report.left_out == {"second collision groups of colliders": ["/a"]}


def test_filtered_pairs_of_bodies_below_a_prim_and_of_static_shapes(tmp_path):
    pair = "rel physics:filteredPairs = [</robot>, </table>]"
    ball = prim("Sphere", "s", apis=(SOLID,))
    robot = prim("Xform", "robot", body("a", ball), body("b", ball, at=place((5, 0, 0))))
    table = prim("Cube", "table", "double size = 1", apis=(SOLID,))
    own = body("c", pair, ball, at=place((0, 5, 0)))
    own = own.replace('"PhysicsMassAPI"', '"PhysicsMassAPI", "PhysicsFilteredPairsAPI"')
    far = body("d", ball, at=place((0, 0, 9)))  # what may touch all others
    mechanism = load(tmp_path, file(robot, table, own, far), collide=True)

    pairs = ["a|b", "a|d", "b|d", "c|d", "table|a", "table|b", "table|d"]
    assert sorted(mechanism.finalize().near.candidates.names) == pairs
    assert not mechanism.report.left_out


def test_filtered_pairs_of_a_collider_leave_other_colliders_of_its_body(tmp_path):
    pair = "rel physics:filteredPairs = [</B>, </floor>]"
    apis = (SOLID, "PhysicsFilteredPairsAPI")
    first = prim("Sphere", "one", pair, place(), "double radius = 0.1", apis=apis)
    second = prim("Sphere", "two", place((0, 0, 1)), "double radius = 0.1", apis=(SOLID,))
    ball = prim("Sphere", "one", "double radius = 0.1", apis=(SOLID,))
    floor = prim("Plane", "floor", 'uniform token axis = "Z"', apis=(SOLID,))
    text = file(body("A", first, second), body("B", ball, at=place((3, 0, 0))), floor)

    mechanism = load(tmp_path, text, collide=True)
    names = mechanism.finalize().near.candidates
    touching = [{names.solids[i].labels[-1] for i in pair} for pair in names.pairs]
    assert touching == [{"/floor", "/A/two"}, {"/floor", "/B/one"}, {"/A/two", "/B/one"}]
    assert list(load(tmp_path, text, ground=True).contacts) == ["floor|A", "floor|B"]


def test_restitution_and_gravity_without_a_size(tmp_path):
    material = prim("Material", "m", "float physics:restitution = 0.5",
                    "float physics:staticFriction = 0.7", apis=("PhysicsMaterialAPI",))  # fmt: skip
    ball = prim("Sphere", "s", "rel material:binding = </m>", apis=(SOLID, "MaterialBindingAPI"))
    scene = prim("PhysicsScene", "scene", "vector3f physics:gravityDirection = (1, 0, 0)")
    mechanism = load(tmp_path, file(body("a", ball), material, scene, meters=0.01))

    np.testing.assert_allclose(mechanism.gravity, (9.81, 0, 0))
    assert mechanism.bodies["a"].collisions[0].surface.friction == 0.7
    assert mechanism.report.left_out == {"restitution of materials": ["/m"]}


def test_variants_and_classes_are_composed(tmp_path):
    arm = prim("Xform", "arm", meta="prepend inherits = </_base>").replace(
        "{\n\n}", '{\nvariantSet "size" = {\n"big" {\n' + body("big") + "\n}\n}\n}"
    ).replace("prepend inherits", 'prepend variantSets = "size"\nvariants = '
              '{\nstring size = "big"\n}\nprepend inherits')  # fmt: skip
    base = prim("Xform", "_base", body("small")).replace('def Xform "_base', 'class Xform "_base')
    mechanism = load(tmp_path, file(base, arm))

    assert set(mechanism.bodies) == {"big", "small"}


def test_drives_of_two_angles_turn_round_with_their_joint(tmp_path):
    lines, apis = free("rotX", "rotY", limits={"rotX": (-90, 90)})
    lines.append("float drive:rotY:physics:stiffness = 1")
    apis.append("PhysicsDriveAPI:rotY")
    text = file(
        body("a"), body("b"), joint("Fixed", "w", "", "/b"),
        joint("", "j", "/a", "/b", *lines, apis=apis),
    )  # fmt: skip
    made = load(tmp_path, text).joints["j"]

    assert made.parent.name == "b"
    np.testing.assert_allclose(made.servo.stiffness, (180 / np.pi, 0))
    np.testing.assert_allclose(made.limits, [(-np.inf, np.inf), (-np.pi / 2, np.pi / 2)])


def test_distances_are_ropes_and_rods(tmp_path):
    # A ball hangs on a rope of 50 cm, and another on a rod of 1 m, each from its rim.
    ends = "float physics:maxDistance = {}", "float physics:minDistance = {}"
    text = file(
        body("a", at=place((0, 0, -20))), body("b", at=place((100, 0, -110))),
        joint("Distance", "rope", "", "/a", ends[0].format(50), pos1=(0, 0, 10)),
        joint("Distance", "rod", "", "/b", ends[0].format(100), ends[1].format(100),
              pos0=(100, 0, 0), pos1=(0, 0, 10)),
        meters=0.01,
    )  # fmt: skip
    mechanism = load(tmp_path, text)
    fine = mechanism.finalize(timestep=0.01)
    motion = dy.simulate(fine, fine.initial_state(), seconds=1.0)

    assert mechanism.joints["rod"].kind == "distance"
    assert mechanism.report.read["ropes"] == ["rope"]
    np.testing.assert_allclose(motion.final.pose[:, 2], (-0.6, -1.1), atol=1e-6)
    with pytest.raises(ValueError, match="joint 'rope' has the distances 60.0 and 50.0"):
        both = "\n".join((ends[0].format(50), ends[1].format(60)))
        load(tmp_path, file(body("a"), joint("Distance", "rope", "", "/a", both)))


def test_distances_within_one_body_hold_nothing(tmp_path):
    most = "float physics:maxDistance = 1"
    text = file(
        body("a", mass=1), body("b", mass=1), joint("Fixed", "w", "/a", "/b"),
        joint("Distance", "d", "/a", "/b", most),
    )  # fmt: skip
    report = load(tmp_path, text, merge_fixed=True).report

    assert report.left_out == {"distances of links that are one body": ["d"]}


def test_bodies_with_a_mass_alone_are_small_balls(tmp_path):
    text = file(prim("Xform", "a", "float physics:mass = 2", apis=(BODY, MASS)), meters=0.01)
    with pytest.warns(LoadWarning, match="balls of 0.1 m as USD says: 'a'"):
        found = load(tmp_path, text, quiet=False).bodies["a"]

    np.testing.assert_allclose(found.inertia, 2 * 0.4 * 0.1**2 * np.eye(3), rtol=1e-6)


def test_principal_axes_turn_the_inertia(tmp_path):
    axes = f"quatf physics:principalAxes = {Z_QUARTER}"
    found = load(tmp_path, file(body("a", axes, inertia=(1, 2, 2.5)))).bodies["a"]

    np.testing.assert_allclose(found.inertia, np.diag((2, 1, 2.5)), atol=SINGLE)


def test_a_posture_that_joints_forbid_is_named(tmp_path):
    text = file(
        body("a"), body("b", at=place((1, 0, 0))), joint("Fixed", "w", "", "/a"),
        joint("Revolute", "j", "/a", "/b", axis="Y"),
    )  # fmt: skip
    mechanism = load(tmp_path, text)
    what = "joints that hold bodies elsewhere than the file places them"

    assert mechanism.keyframes == {} and mechanism.report.changed[what] == ["j"]
    np.testing.assert_allclose(pose_at(mechanism, "b")[0], 0.0)


def test_a_posture_of_three_hinges_is_a_keyframe(tmp_path):
    lines, apis = free("rotX", "rotY", "rotZ", limits={"rotX": (-90, 90)})
    half = (float(np.cos(0.2)), 0.0, 0.0, float(np.sin(0.2)))  # 0.4 about z
    parts = body("a"), joint("Fixed", "w", "", "/a")
    ball = joint("", "j", "/a", "/b", *lines, apis=apis)
    straight = load(tmp_path, file(*parts, body("b"), ball))
    turn = load(tmp_path, file(*parts, body("b", at=place((0, 0, 0), half)), ball))
    fine = turn.finalize(timestep=0.01)
    state = fine.keyframe("start")

    assert straight.keyframes == {}
    R = pose_of_frame(turn, state, fine, "b")[1]
    np.testing.assert_allclose(R, turned(0.4 * Z), atol=1e-9)


def test_static_shapes_may_be_called_as_bodies(tmp_path):
    ball = prim("Sphere", "s", "double radius = 0.1", apis=(SOLID,))
    robot = prim("Xform", "robot", body("table", ball, at=place((0, 0, 2))), body("floor", ball))
    table = prim("Cube", "table", "double size = 1", place((5, 0, 0)), apis=(SOLID,))
    floor = prim("Plane", "floor", place((0, 0, -1)), apis=(SOLID,))
    mechanism = load(tmp_path, file(robot, table, floor), collide=True)

    assert set(mechanism.bodies) == {"table", "floor"}
    assert {"table shape", "floor shape"} <= set(mechanism.obstacles)


def test_point_instancers_are_left_out_with_all_below_them(tmp_path):
    ball = prim("Sphere", "ball", apis=(BODY, SOLID))
    many = prim("PointInstancer", "many", "rel prototypes = </many/ball>", ball)
    mechanism = load(tmp_path, file(body("a"), many, joint("Fixed", "j", "/a", "/many/ball")))

    assert list(mechanism.bodies) == ["a"] and not mechanism.joints
    assert mechanism.report.left_out == {
        "point instancers": ["/many"], "joints of bodies that are not read": ["j"],
    }  # fmt: skip


def test_prims_that_move_over_time_stand_where_they_begin(tmp_path):
    moves = (
        "double3 xformOp:translate.timeSamples = {3: (0, 0, 5), 9: (0, 0, 1)}\n"
        'uniform token[] xformOpOrder = ["xformOp:translate"]'
    )
    text = file(body("a", at=moves))
    mech = load(tmp_path, text)
    np.testing.assert_array_equal(mech.finalize().initial_state().pose[0, :3], [0, 0, 5])
    assert mech.report.changed == {"prims that move over time stand where they begin": ["a"]}


def test_prims_of_unknown_types_are_left_out_by_name(tmp_path):
    text = file(body("a"), prim("PhysxPhysicsGearJoint", "gear"))
    assert load(tmp_path, text).report.left_out == {"PhysxPhysicsGearJoint": ["gear"]}
