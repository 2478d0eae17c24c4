"""Concave meshes as convex parts: shapes by hand, what falls through them, refusals."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import dynamics as dy
import graphsys as gs
from dynamics.__main__ import main
from dynamics.io.collision_meshes import CORNERS, HULLS, PARTS, TURNED, UNFIT
from dynamics.parts import closed_surfaces
from dynamics.parts import convex_parts as cp
from dynamics.parts.closed_surfaces import closed_surface
from dynamics.parts.convex_hulls import outermost
from dynamics.parts.geometry import Geometry, Mesh

pytest.importorskip("coacd")
pytestmark = pytest.mark.filterwarnings("ignore::dynamics.io.LoadWarning")

L = ([(0, 0), (3, 0), (3, 1), (1, 1), (1, 3), (0, 3)], [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)])
#: A U, open upwards; the notch is from x = 1 to 2 and above y = 1.
U = (
    [(0, 0), (3, 0), (3, 3), (2, 3), (2, 1), (1, 1), (1, 3), (0, 3)],
    [(0, 1, 4), (1, 2, 3), (1, 3, 4), (0, 4, 5), (0, 5, 6), (0, 6, 7)],
)


def prism(outline, triangles, height=1.0, scale=0.1):
    """Prism of an outline in the xy plane, from z = 0 up."""
    flat, n = np.array(outline, float), len(outline)
    points = np.vstack([np.column_stack([flat, np.full(n, z)]) for z in (0.0, height)])
    below = [(c, b, a) for a, b, c in triangles]
    above = [(a + n, b + n, c + n) for a, b, c in triangles]
    sides = []
    for i in range(n):
        j = (i + 1) % n
        sides += [(i, j, j + n), (i, j + n, i + n)]
    faces = np.array(below + above + sides)
    return SimpleNamespace(vertices=scale * points, faces=faces)


def torus(big=1.0, small=0.3, around=20, about=10):
    """Torus about z."""
    u, v = np.meshgrid(np.arange(around), np.arange(about), indexing="ij")
    a, b = 2 * np.pi * u / around, 2 * np.pi * v / about
    far = big + small * np.cos(b)
    points = np.stack([far * np.cos(a), far * np.sin(a), small * np.sin(b)], axis=-1)

    def at(i, j):
        return (i % around) * about + j % about

    one = np.stack([at(u, v), at(u + 1, v), at(u + 1, v + 1)], axis=-1).reshape(-1, 3)
    two = np.stack([at(u, v), at(u + 1, v + 1), at(u, v + 1)], axis=-1).reshape(-1, 3)
    return SimpleNamespace(vertices=points.reshape(-1, 3), faces=np.vstack([one, two]))


def volume(shape):
    corners = shape.vertices[shape.faces]
    return np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0


def volumes(parts):
    return sum(volume(part.shape) for part in parts)


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    """A cache of these tests' own."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gs, "cache_folder", lambda: folder)
        yield folder / "convex-parts"


def test_convex_mesh_is_its_own_part():
    cube = prism([(0, 0), (1, 0), (1, 1), (0, 1)], [(0, 1, 2), (0, 2, 3)])

    (part,) = dy.convex_parts(cube, position=(1, 2, 3))

    assert part.position.tolist() == [1, 2, 3]
    assert volume(part.shape) == pytest.approx(0.001)


@pytest.mark.parametrize(("name", "shape", "count"), [("L", L, 2), ("U", U, 3)])
def test_brackets_are_cut_at_their_corners(name, shape, count):
    # cuts may lie off the corners by what the concavity allows: part of half the size, 0.15 m
    mesh = prism(*shape)
    parts = dy.convex_parts(mesh, concavity=0.02)

    assert len(parts) >= count
    assert volume(mesh) < volumes(parts) * (1 + 1e-3)  # cuts take some 1e-4 away
    assert volumes(parts) < volume(mesh) + 0.02 * 0.15 * 4 * 0.1 * 0.3


def test_parts_of_a_torus_are_nearly_as_large_as_it():
    mesh = torus()
    parts = dy.convex_parts(mesh)

    assert volume(mesh) == pytest.approx(2 * np.pi**2 * 0.3**2, rel=0.1)
    # 26 corners a part lose 6 to 8 % of what CoACD's parts hold, 3 to 5 % more than the torus
    assert 0.93 < volumes(parts) / volume(mesh) < 1.05
    assert max(len(part.shape.vertices) for part in parts) == 26


def test_few_corners_hold_more_than_those_that_lie_farthest_in_fixed_directions():
    rng = np.random.default_rng(0)
    half = np.array([1.0, 0.5, 0.2])
    points = rng.normal(size=(400, 3))
    points *= half / np.linalg.norm(points, axis=1)[:, None]  # on an ellipsoid
    ways = np.array([w for w in np.ndindex(3, 3, 3) if w != (1, 1, 1)]) - 1.0
    fixed = points[np.unique(np.argmax(points @ ways.T, axis=0))]

    few = outermost(points)
    assert len(few) == 26
    assert ConvexHull(fixed).volume < ConvexHull(few).volume < ConvexHull(points).volume
    assert np.array_equal(outermost(points[:26]), points[:26])
    assert len(outermost(points * [1.0, 1.0, 0.0])) == 26  # flat
    cube = np.array(list(np.ndindex(2, 2, 2)), float)
    assert len(outermost(np.repeat(cube, 9, axis=0))) == 8


def test_ball_falls_through_a_torus(tmp_path):
    drop = dy.Mechanism()
    for part in dy.convex_parts(torus()):
        drop.add_obstacle(part)
    drop.add_body(dy.Sphere(0.4, mass=1.0), name="ball", position=(0.05, 0, 1.0))
    drop.collide(friction=0.2)
    model = drop.finalize(0.01)

    motion = dy.simulate(model, model.initial_state(), 1.0)

    assert motion.body("ball")[0][-1, 2] < -1.0


def test_ball_comes_to_rest_in_a_notch():
    drop = dy.Mechanism()
    upright = np.sqrt([0.5, 0.5, 0.0, 0.0])  # the outline's y up
    for part in dy.convex_parts(prism(*U), orientation=upright):
        drop.add_obstacle(part)
    drop.add_body(dy.Sphere(0.04, mass=1.0), name="ball", position=(0.15, -0.05, 0.4))
    drop.collide(friction=0.5)
    model = drop.finalize(0.005)

    motion = dy.simulate(model, model.initial_state(), 0.5)

    # the floor of the notch is at 0.1; the concavity allows 0.05 of half the size, 0.15
    assert motion.body("ball")[0][-1, 2] == pytest.approx(0.1 + 0.04, abs=0.05 * 0.15)


def test_bracket_hangs_over_a_rail():
    parts = dy.convex_parts(prism(*U), position=(-0.15, -0.15, -0.05))
    fall = dy.Mechanism((0, 9.81, 0))  # the notch opens against gravity's way: upside down
    fall.add_body(name="bracket", mass=1.0, inertia=[0.01, 0.01, 0.01], collisions=tuple(parts))
    fall.add_obstacle(dy.Box(0.06, 1.0, 0.5, density=1.0), name="rail", position=(0, 0.7, 0))
    fall.collide(friction=0.3)
    model = fall.finalize(0.005)

    motion = dy.simulate(model, model.initial_state(), 0.6)

    # notch's floor at y = -0.05 of the body, the rail's top at 0.2; a hull would stop at 0.05
    assert motion.body("bracket")[0][-1, 1] == pytest.approx(0.25, abs=0.05 * 0.15)


def test_open_flat_and_huge_meshes_are_refused():
    mesh = torus()
    cases = {
        r"open \(3 of 600 edges\)": SimpleNamespace(vertices=mesh.vertices, faces=mesh.faces[1:]),
        "flat": SimpleNamespace(vertices=mesh.vertices * [1, 1, 0], faces=mesh.faces),
        "200,000 triangles": SimpleNamespace(
            vertices=mesh.vertices, faces=np.tile(mesh.faces, (600, 1))
        ),
    }
    for what, bad in cases.items():
        with pytest.raises(ValueError, match=what):
            dy.convex_parts(bad)


def test_what_is_no_mesh_is_refused(tmp_path):
    mesh = torus()
    with pytest.raises(TypeError, match="file, a geometry"):
        dy.convex_parts(3)
    with pytest.raises(TypeError, match="convex already"):
        dy.convex_parts(Geometry(dy.Sphere(1.0, mass=1.0), np.zeros(3), np.array([1.0, 0, 0, 0])))
    with pytest.raises(FileNotFoundError, match="no file"):
        dy.convex_parts(tmp_path / "none.stl")
    (tmp_path / "a.stl").write_text("solid")
    with pytest.raises(ValueError, match="'a.stl': the STL file is broken"):
        dy.convex_parts(tmp_path / "a.stl")
    for vertices, faces, what in (
        (mesh.vertices[:, :2], mesh.faces, "vertices"),
        (mesh.vertices * np.nan, mesh.faces, "finite"),
        (mesh.vertices, mesh.faces.astype(float), "faces"),
        (mesh.vertices, mesh.faces + 1, "200 vertices"),
    ):
        with pytest.raises(ValueError, match=what):
            dy.convex_parts(SimpleNamespace(vertices=vertices, faces=faces))
    for concavity in (0.0, 2.0, np.nan):
        with pytest.raises(ValueError, match=r"from 0\.01 to 1"):
            dy.convex_parts(mesh, concavity=concavity)


def test_parts_come_from_the_cache(cache, monkeypatch):
    mesh = prism(*L)
    first = dy.convex_parts(mesh)
    monkeypatch.setattr(cp, "_run", lambda *_: pytest.fail("computed again"))

    again = dy.convex_parts(mesh)
    assert [p.shape.vertices.tolist() for p in again] == [p.shape.vertices.tolist() for p in first]


@pytest.mark.parametrize("damage", [b"", b"no archive", "cut", "other arrays"])
def test_damaged_cache_is_computed_again(cache, damage):
    mesh = prism(*L, height=2.0)
    for path in cache.glob("*"):
        path.unlink()
    first = dy.convex_parts(mesh)
    (path,) = cache.glob("*")
    if damage == "other arrays":
        np.savez(path, count=[3], points=np.zeros((2, 3)))
    else:
        path.write_bytes(path.read_bytes()[:200] if damage == "cut" else damage)

    with pytest.warns(RuntimeWarning, match="damaged"):
        again = dy.convex_parts(mesh)
    assert [p.shape.vertices.tolist() for p in again] == [p.shape.vertices.tolist() for p in first]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dy.convex_parts(mesh)


def test_cache_that_cannot_be_written_is_a_warning(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(gs, "cache_folder", lambda: tmp_path / "file")
    with pytest.warns(RuntimeWarning, match="cannot be kept"):
        assert len(dy.convex_parts(prism(*L))) >= 2


def test_missing_extra_is_named(monkeypatch):
    def missing(name):
        raise cp.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(cp.metadata, "version", missing)
    with pytest.raises(gs.MissingExtraError, match=r"graphsys\[convex\]"):
        dy.convex_parts(prism(*L))


def test_failure_of_the_library_is_an_error(monkeypatch, cache):
    monkeypatch.setattr(cp, "WORKER", "import os; print('no luck'); os._exit(3)")
    with pytest.raises(ValueError, match=r"ended with 3 \(no luck\)"):
        dy.convex_parts(prism(*L, height=3.0))


def test_progress_is_shown_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    lines = ["iter 0 ---- waiting pool: 1", "Processing [50.0%]", "Processing [25.0%]", "other"]
    cp._watch(lines, "mesh 'a.stl'", lambda line: None)
    assert "mesh 'a.stl' into convex parts: round 1, 50 %" in capsys.readouterr().err


def stl(path, mesh):
    """Text file of a mesh."""
    corners = mesh.vertices[mesh.faces]
    facets = ("".join(f"vertex {x} {y} {z}\n" for x, y, z in one) for one in corners.tolist())
    path.write_text("solid a\n" + "".join(f"facet\n{one}endfacet\n" for one in facets))


def robot(folder, mesh, name="hook"):
    """File of one link with a mesh."""
    stl(folder / "hook.stl", mesh)
    path = folder / f"{name}.urdf"
    path.write_text(
        '<robot name="a"><link name="hook"><inertial><mass value="1"/><inertia ixx="0.01" '
        'iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial><collision><origin xyz='
        '"0 0 0.1"/><geometry><mesh filename="hook.stl"/></geometry></collision></link></robot>'
    )
    return path


def test_load_cuts_collision_meshes(tmp_path):
    path = robot(tmp_path, prism(*U))

    whole = dy.load(path, collide=True, ground=True)
    cut = dy.load(path, collide=True, ground=True, decompose=True)

    # the hull of the U has its notch, 1 x 2 of 3 x 3, too
    assert whole.report.changed == {HULLS: ["hook: hook.stl, hull 1.29 times its volume"]}
    assert len(whole.bodies["hook"].collisions) == 1
    parts = cut.bodies["hook"].collisions
    assert cut.report.read[PARTS] == ["hook"] * len(parts)
    assert len(parts) >= 3
    assert {tuple(part.position) for part in parts} == {(0.0, 0.0, 0.1)}
    cut.finalize(0.01)


def test_command_line_cuts_collision_meshes(tmp_path, capsys):
    path = robot(tmp_path, prism(*U))
    assert main(["info", str(path), "--ground", "--collide", "--decompose", "0.1"]) == 0
    assert PARTS in capsys.readouterr().out


def test_load_leaves_open_meshes_as_hulls(tmp_path):
    mesh = prism(*U)
    path = robot(tmp_path, SimpleNamespace(vertices=mesh.vertices, faces=mesh.faces[1:]))

    with pytest.warns(dy.io.MergedLinkWarning, match="meshes that are open"):
        found = dy.load(path, decompose=True)
    assert len(found.bodies["hook"].collisions) == 1
    # 28 triangles have 42 edges
    assert found.report.changed == {UNFIT.format("open"): ["hook: hook.stl, 3 of 42 edges"]}


def turned(mesh, *faces):
    """The mesh with some faces, or all, the other way round."""
    made = mesh.faces.copy()
    chosen = list(faces) or slice(None)
    made[chosen] = made[chosen][:, ::-1]
    return SimpleNamespace(vertices=mesh.vertices, faces=made)


@pytest.mark.parametrize("faces", [(), (3,), (0, 5, 6, 20), tuple(range(1, 28))])
def test_faces_that_wind_inward_are_turned(tmp_path, faces):
    mesh = prism(*U)
    wrong = turned(mesh, *faces)
    vertices, found, count = closed_surface(Mesh("", "", np.ones(3), **vars(wrong)), "mesh")
    assert count == (len(faces) or 28)
    assert volume(SimpleNamespace(vertices=vertices, faces=found)) == pytest.approx(volume(mesh))

    report = dy.load(robot(tmp_path, wrong), collide=True, ground=True).report
    assert report.changed == {
        TURNED: [f"hook: hook.stl, {count} of 28"],
        HULLS: ["hook: hook.stl, hull 1.29 times its volume"],
    }


def test_cavities_stay_cavities_and_pieces_turn_by_themselves():
    cube = prism([(0, 0), (1, 0), (1, 1), (0, 1)], [(0, 1, 2), (0, 2, 3)], scale=1.0)
    hole = SimpleNamespace(vertices=0.25 + 0.5 * cube.vertices, faces=cube.faces[:, ::-1])
    aside = SimpleNamespace(vertices=cube.vertices + [2, 0, 0], faces=cube.faces)

    def volume_of(*parts):
        start = np.cumsum([0, *(len(part.vertices) for part in parts)])
        vertices = np.vstack([part.vertices for part in parts])
        faces = np.vstack([part.faces + k for part, k in zip(parts, start)])
        mesh = Mesh("", "", np.ones(3), vertices, faces)
        vertices, faces, count = closed_surface(mesh, "mesh")
        return volume(SimpleNamespace(vertices=vertices, faces=faces)), count

    assert volume_of(cube, hole) == (pytest.approx(7 / 8), 0)
    assert volume_of(turned(cube), turned(hole)) == (pytest.approx(7 / 8), 24)
    assert volume_of(turned(cube, 0), aside) == (pytest.approx(2.0), 1)


def test_inverted_meshes_are_cut_like_their_mirror_images():
    mesh = prism(*L)
    assert volumes(dy.convex_parts(turned(mesh))) == volumes(dy.convex_parts(mesh))


def test_only_what_touches_is_checked(tmp_path):
    path = robot(tmp_path, turned(prism(*U), 0))
    assert dy.load(path).report.changed == {}
    assert dy.load(path, ground=True).report.changed == {}  # its hull touches a plane as it does


def test_huge_meshes_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(closed_surfaces, "MOST", 20)
    found = dy.load(robot(tmp_path, prism(*U)), collide=True, ground=True)
    assert found.report.changed == {
        UNFIT.format("of more than 20 triangles"): ["hook: hook.stl, 28"]
    }


def test_hulls_of_many_corners_are_named(tmp_path):
    turn = 2 * np.pi * np.arange(20) / 20
    disc = prism(
        np.column_stack([np.cos(turn), np.sin(turn)]), [(0, k, k + 1) for k in range(1, 19)]
    )
    found = dy.load(robot(tmp_path, disc), collide=True, ground=True)
    assert found.report.changed == {CORNERS: ["hook: hook.stl, of 40"]}


@pytest.mark.parametrize("option", ["collide", "ground"])
def test_meshes_without_meaning_are_refused_by_name(tmp_path, option):
    mesh = prism(*U)
    path = robot(tmp_path, mesh)
    whole = (tmp_path / "hook.stl").read_text()
    cases = {
        "numbers that are not finite": whole.replace("vertex 0.0 ", "vertex nan ", 1),
        "the STL file is broken": "solid a\nendsolid a\n",
    }
    for message, text in cases.items():
        (tmp_path / "hook.stl").write_text(text)
        with pytest.raises(ValueError, match=f"hook.urdf: mesh 'hook.stl' of 'hook': .*{message}"):
            dy.load(path, **{option: True})
        assert len(dy.load(path).bodies) == 1


def test_meshes_that_touch_others_are_there_and_have_a_volume(tmp_path):
    mesh = prism(*U)
    path = robot(tmp_path, SimpleNamespace(vertices=mesh.vertices * [1, 1, 0], faces=mesh.faces))
    with pytest.raises(ValueError, match="mesh 'hook.stl' of 'hook' lies in a plane"):
        dy.load(path, collide=True, ground=True)
    flat = dy.load(path, ground=True).contacts["ground|hook"]
    assert len(flat.touches) == 8  # corners of the outline
    (tmp_path / "hook.stl").unlink()
    with pytest.raises(FileNotFoundError, match="mesh 'hook.stl' of 'hook' is not there"):
        dy.load(path, collide=True, ground=True)


def test_world_meshes_of_mjcf_are_cut(tmp_path):
    pytest.importorskip("mujoco")
    stl(tmp_path / "u.stl", prism(*U))
    path = tmp_path / "a.xml"
    path.write_text(
        '<mujoco><asset><mesh name="u" file="u.stl"/></asset><worldbody>'
        '<geom name="bracket" type="mesh" mesh="u"/><body name="ball" pos="0.15 0.3 0.05">'
        '<freejoint/><geom size="0.04"/></body></worldbody></mujoco>'
    )
    # MuJoCo reads binary STL files only
    corners = prism(*U).vertices[prism(*U).faces].astype("<f4")
    data = np.zeros(len(corners), [("n", "<f4", 3), ("c", "<f4", (3, 3)), ("a", "<u2")])
    data["c"] = corners
    (tmp_path / "u.stl").write_bytes(bytes(80) + np.uint32(len(data)).tobytes() + data.tobytes())

    found = dy.load(path, collide=True, decompose=True, gravity=(0, -9.81, 0))

    names = list(found.obstacles)
    assert names[:3] == ["bracket", "bracket 2", "bracket 3"]
    model = found.finalize(0.005)
    motion = dy.simulate(model, model.initial_state(), 0.5)
    assert motion.body("ball")[0][-1, 1] == pytest.approx(0.14, abs=0.05 * 0.15)


def test_mirrored_meshes_are_turned(tmp_path):
    shape = prism(*L)
    mesh = Mesh("", "", np.array([-1.0, 1.0, 1.0]), shape.vertices, shape.faces)
    parts = dy.convex_parts(Geometry(mesh, np.zeros(3), np.array([1.0, 0, 0, 0])))
    assert volumes(parts) == pytest.approx(volume(shape), rel=0.1)
    assert np.vstack([part.shape.vertices for part in parts])[:, 0].max() < 1e-9
