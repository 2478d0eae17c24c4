"""Meshes of robot files that trimesh reads, and where packages are looked for."""

import sys

import numpy as np
import pytest

import dynamics as dy
import graphsys as gs
from dynamics.parts.geometry import Mesh
from dynamics.parts.meshes import corners_of, found, read_triangles, triangles_of

from .robots import link, load, robot

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
#: pycollada sets shapes of arrays, which numpy 2.5 advises against.
pytestmark = pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")

KINDS = ("dae", "glb", "gltf", "ply")
TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


@pytest.fixture
def trimesh():
    pytest.importorskip("collada", reason="pycollada is not installed")
    return pytest.importorskip("trimesh", reason="trimesh is not installed")


def written(trimesh, folder, kind):
    """File of two tetrahedra, the second one moved by (0, 0, 5)."""
    scene = trimesh.Scene()
    body = trimesh.Trimesh(POINTS, FACES, process=False)
    scene.add_geometry(body)
    scene.add_geometry(body, transform=trimesh.transformations.translation_matrix((0, 0, 5)))
    path = folder / f"two.{kind}"
    if kind == "gltf":
        for name, data in scene.export(file_type="gltf").items():
            (folder / name.replace("model.gltf", path.name)).write_bytes(data)
    elif kind == "glb":
        path.write_bytes(scene.export(file_type="glb"))
    else:
        path.write_bytes(as_bytes(scene.to_geometry().export(file_type=kind)))
    return path


def as_bytes(data):
    return data.encode() if isinstance(data, str) else data


def sorted_points(triangles):
    return np.array(sorted(triangles.reshape(-1, 3).round(6).tolist()))


@pytest.mark.parametrize("kind", KINDS)
def test_all_parts_of_a_scene_are_read_where_the_scene_has_them(tmp_path, trimesh, kind):
    path = written(trimesh, tmp_path, kind)
    expected = np.concatenate([POINTS[FACES], POINTS[FACES] + [0, 0, 5]])

    np.testing.assert_allclose(sorted_points(read_triangles(path)), sorted_points(expected))
    assert len(triangles_of(Mesh(path.name, str(tmp_path), np.full(3, 2.0)))) == 8


def test_the_unit_of_a_collada_file_is_applied(tmp_path, trimesh):
    path = written(trimesh, tmp_path, "dae")
    text = path.read_text()
    path.write_text(text.replace("<asset>", '<asset><unit name="mm" meter="0.001"/>', 1)
                    if "<unit" not in text else text.replace('meter="1"', 'meter="0.001"')
                    .replace('meter="1.0"', 'meter="0.001"'))  # fmt: skip

    assert np.abs(read_triangles(path)).max() == pytest.approx(0.006)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'<?xml version="1.0"?><!DOCTYPE c [<!ENTITY a "b">]><COLLADA/>', "document type"),
        ("<COLLADA/>".encode("utf-16"), "not UTF-8"),
        (b"no xml", "trimesh cannot read it"),
    ],
)
def test_broken_and_hostile_collada_is_refused(tmp_path, trimesh, content, message):
    (tmp_path / "a.dae").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_triangles(tmp_path / "a.dae")


def test_buffers_of_gltf_lie_in_its_folder(tmp_path, trimesh):
    folder = tmp_path / "in"
    folder.mkdir()
    path = written(trimesh, folder, "gltf")
    (buffer,) = [one for one in folder.iterdir() if one.suffix == ".bin"][:1]
    buffer.rename(tmp_path / "out.bin")
    path.write_text(path.read_text().replace(buffer.name, "../out.bin"))

    with pytest.raises(ValueError, match="lies outside its folder"):
        read_triangles(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_trimesh_is_named_with_its_extra(tmp_path, monkeypatch, kind):
    monkeypatch.setitem(sys.modules, "trimesh", None)
    (tmp_path / f"a.{kind}").write_text("x")
    mesh = Mesh(f"a.{kind}", str(tmp_path), np.ones(3))

    with pytest.raises(gs.MissingExtraError, match=r"graphsys\[meshes\]"):
        corners_of(mesh)
    with pytest.warns(UserWarning, match=r"is not drawn: a .* needs trimesh"):
        assert triangles_of(mesh) is None


def test_a_robot_stands_on_meshes_of_collada(tmp_path, trimesh):
    written(trimesh, tmp_path, "dae")
    mesh = '<collision><geometry><mesh filename="two.dae"/></geometry></collision>'
    mech = load(tmp_path, robot(link("b", more=mesh)), ground=True, position=(0, 0, 1))

    assert isinstance(mech, dy.Mechanism)
    lowest = min(touch.other[2] for touch in mech.contacts["ground|b"].touches)
    assert lowest == pytest.approx(0.0)


@pytest.mark.parametrize("place", ["", "src", "src/vendor"])
def test_packages_are_found_below_the_folder_that_the_user_names(tmp_path, place):
    robots, parts = tmp_path / "robots" / "urdf", tmp_path / place / "arm_parts" / "meshes"
    robots.mkdir(parents=True)
    parts.mkdir(parents=True)
    (parts / "a.obj").write_text(TRIANGLE)
    shown = (
        '<visual><geometry><mesh filename="package://arm_parts/meshes/a.obj"/></geometry></visual>'
    )
    mech = load(robots, robot(link("b", more=shown)), within=tmp_path)
    (geometry,) = mech.bodies["b"].visuals

    assert found(geometry.shape) == (parts / "a.obj").resolve()
    assert len(triangles_of(geometry.shape)) == 1


def test_paths_above_the_folder_are_read_where_the_user_names_the_root(tmp_path):
    (tmp_path / "urdf").mkdir()
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "a.obj").write_text(TRIANGLE)
    shown = '<visual><geometry><mesh filename="../meshes/a.obj"/></geometry></visual>'
    text = robot(link("b", more=shown))

    (geometry,) = load(tmp_path / "urdf", text, within=tmp_path).bodies["b"].visuals
    assert len(triangles_of(geometry.shape)) == 1
    with pytest.raises(ValueError, match="lies outside the robot's folder"):
        load(tmp_path / "urdf", text)


TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.obj", TETRAHEDRON + "f 1 2 9", "a face names vertex 9, and there are vertices 1 to 4"),
        ("a.obj", TETRAHEDRON + "f 0 1 2\nv 0 0 9", "a face names vertex 0, and there are"),
        ("a.obj", TETRAHEDRON + "f -6 1 2\nv 9 9 9", "a face names vertex -1, and there are"),
        ("a.obj", TETRAHEDRON + "v 1 2", "vertex 5 has 2 coordinates, not 3"),
        ("a.stl", "solid x\nvertex 1 2\nvertex 1 2 3\nvertex 1 2 3\n", "STL file is broken"),
    ],
)
def test_broken_files_are_refused_by_what_is_wrong(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        read_triangles(tmp_path / name)


def test_a_text_of_capitals_is_an_stl_file(tmp_path):
    corners = "VERTEX 0 0 0\nVERTEX 1E0 0 0\nVERTEX 0 1 0\n"
    (tmp_path / "a.stl").write_text(f"SOLID X\nFACET NORMAL 0 0 1\nOUTER LOOP\n{corners}ENDLOOP\n")
    assert read_triangles(tmp_path / "a.stl").tolist() == [[[0, 0, 0], [1, 0, 0], [0, 1, 0]]]


def test_a_mesh_that_has_changed_is_read_again(tmp_path):
    path = tmp_path / "a.obj"
    for size in (1, 2.5):
        path.write_text(TETRAHEDRON.replace("v 1 0 0", f"v {size} 0 0"))
        assert read_triangles(path).max() == size


def test_the_hull_of_a_mesh_is_found_once_from_its_file_to_its_contact(tmp_path, monkeypatch):
    import scipy.spatial

    rng, sizes, original = np.random.default_rng(5), [], scipy.spatial.ConvexHull
    points = rng.normal(size=(200, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    faces = original(points).simplices + 1
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
    lines += [f"f {i} {j} {k}" for i, j, k in faces.tolist()]
    (tmp_path / "ball.obj").write_text("\n".join(lines))
    mesh = '<geometry><mesh filename="ball.obj"/></geometry>'
    text = robot(link("a", more=f"<collision>{mesh}</collision>"))
    monkeypatch.setattr(
        scipy.spatial, "ConvexHull", lambda one: sizes.append(len(one)) or original(one)
    )
    mech = load(tmp_path, text, collide=True, ground=True, position=(0, 0, 2))
    model = mech.finalize()
    model.step(model.initial_state())

    assert sizes.count(3 * len(faces)) == 1
