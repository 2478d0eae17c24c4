"""How far two convex shapes are apart: by hand, and against MuJoCo's distances."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.parts.contact_primitives import core_of
from dynamics.parts.convex_hulls import Core, separation
from dynamics.parts.geometry import Geometry, Mesh
from dynamics.parts.separating_planes import LIGHT

SIGNS = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
UNIT = 0.5 * SIGNS
PLATE = np.array([(0.1, 0.1, 0), (-0.1, 0.1, 0), (-0.1, -0.1, 0), (0.1, -0.1, 0)])


def moved(core, x, q):
    points = x + rotation.rotate(np.broadcast_to(q, (len(core.points), 4)), core.points)
    return Core(points, core.radius, rotation.rotate(q, core.axis), core.rim)


def test_cubes_are_apart_by_faces_edges_and_corners():
    turned = rotation.rotate(
        np.broadcast_to(rotation.from_axis_angle((0, 0, 1), np.pi / 4), (8, 4)), UNIT
    )
    edge = np.sqrt(0.5)
    for points, shift, distance, normal in (
        (UNIT, (0.3, 0.2, 1.25), 0.25, (0, 0, 1)),  # faces
        (turned, (0.5 + edge + 0.1, 0, 0), 0.1, (1, 0, 0)),  # an edge and a face
        (UNIT, (1.3, 1.4, 0.1), 0.5, (0.6, 0.8, 0)),  # edges
        (UNIT, (1.2, 1.3, 1.6), 0.7, np.array([2, 3, 6]) / 7),  # corners
        (UNIT, (0.1, 0.2, 0.9), -0.1, (0, 0, 1)),  # faces, overlapping
        (UNIT, (0.0, 0.3, 1.0), 0.0, (0, 0, 1)),  # faces, touching
    ):
        found = separation(Core(UNIT), Core(points + np.array(shift)))

        assert found.distance == pytest.approx(distance, abs=1e-9)
        np.testing.assert_allclose(found.normal, normal, atol=1e-7)


def test_rounded_shapes_are_apart_by_their_radii():
    ball = core_of(dy.Sphere(0.3, mass=1.0))
    corner = separation(Core(UNIT), moved(ball, np.array([0.7, 0.8, 1.1]), np.eye(4)[0]))

    assert corner.distance == pytest.approx(0.4)
    np.testing.assert_allclose(corner.normal, np.array([2, 3, 6]) / 7, atol=1e-7)
    # a cylinder along x beside a cube that is turned: sides touch between corners of its polygon
    can = core_of(dy.Cylinder(0.3, 1.0, mass=1.0, axis=(1, 0, 0)))
    for angle in (0.01, 0.3, 0.73):
        q = rotation.from_axis_angle((1, 0, 0), angle)
        away = rotation.rotate(q, np.array([0.0, 0.0, 0.5 + 0.3 + 1e-3]))
        found = separation(moved(Core(UNIT), np.zeros(3), q), moved(can, away, np.eye(4)[0]))

        assert found.distance == pytest.approx(1e-3, abs=1e-9)
    # standing on a cube
    standing = moved(can, np.array([0.1, 0.1, 1.0]), rotation.from_axis_angle((0, 1, 0), np.pi / 2))
    assert separation(Core(UNIT), standing).distance == pytest.approx(0.0, abs=1e-12)


def shape_of(kind, rng):
    """A shape here, and as MJCF says it."""
    x, y, z = rng.uniform(0.1, 0.5, 3)
    if kind == "box":
        return dy.Box(x, y, z, mass=1.0), f'type="box" size="{x / 2} {y / 2} {z / 2}"'
    if kind == "capsule":
        return dy.Capsule(x, z, mass=1.0), f'type="capsule" size="{x} {z / 2}"'
    return dy.Sphere(x, mass=1.0), f'type="sphere" size="{x}"'


@pytest.mark.parametrize("kinds", [("box", "box"), ("box", "capsule"), ("box", "sphere")])
def test_distances_are_those_of_mujoco(mujoco, kinds):
    rng = np.random.default_rng(0)
    tried = 0
    for _ in range(40):
        shapes, words = zip(*(shape_of(kind, rng) for kind in kinds))
        geoms = "".join(f'<body><freejoint/><geom mass="1" {one}/></body>' for one in words)
        theirs = mujoco.MjModel.from_xml_string(
            f'<mujoco><option ccd_tolerance="1e-10"/><worldbody>{geoms}</worldbody></mujoco>'
        )
        data = mujoco.MjData(theirs)
        poses = rng.normal(size=(2, 3)) * 0.5, rotation.random(rng, 2)
        data.qpos = np.hstack(poses).ravel()
        mujoco.mj_forward(theirs, data)
        wanted = mujoco.mj_geomDistance(theirs, data, 0, 1, 10.0, np.zeros(6))
        if wanted <= 0.0:  # depths of overlap are not told to this accuracy
            continue
        tried += 1

        found = separation(*(moved(core_of(one), *at) for one, at in zip(shapes, zip(*poses))))

        assert found.distance == pytest.approx(wanted, abs=1e-6)
    assert tried > 10


def two(one, other, **options):
    mechanism = dy.Mechanism()
    a = mechanism.add_body(one, name="a")
    b = mechanism.add_body(other, name="b", position=(0, 0, 3))
    mechanism.add_contact(b, a, name="touch", **options)
    return mechanism


BOX, BALL = dy.Box(0.4, 0.3, 0.2, mass=1.0), dy.Sphere(0.1, mass=1.0)


def test_points_and_meshes_stand_for_their_hulls(tmp_path):
    (tmp_path / "cube.obj").write_text(
        "".join(f"v {x} {y} {z}\n" for x, y, z in UNIT)
        + "f 1 2 4\nf 1 4 3\nf 5 8 6\nf 5 7 8\nf 1 5 2\nf 2 5 6\nf 3 4 8\nf 3 8 7\n"
    )
    here = np.array([0.1, 0.2, 0.3]), rotation.from_axis_angle((0, 0, 1), 0.4)
    mesh = Geometry(Mesh("cube.obj", str(tmp_path), np.array([0.4, 0.3, 0.2])), *here)
    box = Geometry(BOX, *here)

    found = [two(BOX, BALL, shape=shape).contacts["touch"].plane.other for shape in (mesh, box)]

    np.testing.assert_allclose(
        np.unique(found[0].points.round(12), axis=0), np.unique(found[1].points.round(12), axis=0)
    )
    with pytest.raises(ValueError, match="'touch': mesh 'none.obj': its file does not exist"):
        two(BOX, BALL, shape=Geometry(Mesh("none.obj", str(tmp_path), np.ones(3)), *here))


def test_what_is_not_convex_or_thin_is_named():
    many = dy.Compound([(BOX, (0.3, 0, 0)), (BOX, (-0.3, 0, 0))])
    with pytest.raises(ValueError, match="'touch': contact of Compound with Box is not offered"):
        two(BOX, many)
    with pytest.raises(ValueError, match="points of contact 'touch' lie in a plane"):
        two(BOX, BALL, shape=PLATE)
    with pytest.raises(ValueError, match="points of contact 'touch' have shape"):
        two(BOX, BALL, shape=np.zeros((0, 3)))
    with pytest.raises(ValueError, match="give finite numbers"):
        two(BOX, BALL, shape=np.full((5, 3), np.nan))
    with pytest.raises(ValueError, match="restitution of contact 'touch' is 0.5; it is not"):
        two(BOX, BOX, restitution=0.5)
    with pytest.raises(ValueError, match="the name 'touch plane' is in use"):
        mechanism = dy.Mechanism()
        a = mechanism.add_body(BOX, name="a")
        b = mechanism.add_body(BOX, name="touch plane")
        mechanism.add_contact(a, b, name="touch")


def test_a_plane_weighs_little_and_is_one_body_and_joint_more():
    mechanism = two(BOX, dy.Box(0.1, 0.1, 0.1, mass=0.2))

    assert list(mechanism.bodies) == ["a", "b", "touch plane"]
    assert list(mechanism.joints) == ["touch tie"]
    assert mechanism.mass == pytest.approx(1.2 + LIGHT * 0.2)
