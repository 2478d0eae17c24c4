"""The page of a motion: what it holds, that it is safe and offline, and that a browser draws it."""

import re
import shutil
import struct
import subprocess
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import dynamics as dy
import graphsys as gs
from dynamics import rotation
from dynamics.display import viewer
from dynamics.display.viewer import library, looks
from dynamics.parts.geometry import Geometry, Mesh
from dynamics.parts.meshes import read_triangles, triangles_of

from .pages import block, integers_of, scene_of, series_of, time_of

TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def falling_bodies(**options):
    mech = dy.Mechanism()
    shapes = {
        "box": dy.Box(0.4, 0.4, 0.4, mass=1.0),
        "ball": dy.Sphere(0.2, mass=1.0),
        "can": dy.Cylinder(0.1, 0.5, mass=1.0, axis=(1, 0, 0)),
        "pill": dy.Capsule(0.1, 0.5, mass=1.0),
        "wire": dy.Rod(0.5, mass=1.0, radius=0.01),
        "pair": dy.Compound(
            [(dy.Sphere(0.1, mass=1.0), (0, 0, s), (1, 0, 0, 0)) for s in (-0.3, 0.3)]
        ),
    }
    for k, (name, shape) in enumerate(shapes.items()):
        mech.add_body(shape, name=name, position=(0.6 * k - 1.5, 0, 1.0), **options)
    mech.add_body(name="</script><b>", mass=2.0, inertia=(0.1, 0.2, 0.25), position=(0, 1, 1))
    return mech


def motion(mech, seconds=0.5, timestep=0.01):
    model = mech.finalize(timestep)
    return dy.simulate(model, model.initial_state(), seconds)


def poses_of(scene):
    parts = [series_of(scene, scene[name]) for name in ("positions", "orientations")]
    x, q = (part.reshape(len(part), len(scene["bodies"]), -1) for part in parts)
    return np.concatenate([x, q], axis=2)


def test_a_page_holds_all_poses_and_shapes():
    trajectory = motion(falling_bodies())
    scene = scene_of(viewer.page_of(trajectory, "fall", rate=1000.0).html)

    np.testing.assert_allclose(time_of(scene), trajectory.time, atol=5.1e-7)
    for i, name in enumerate(trajectory.model.mechanism.bodies):
        np.testing.assert_allclose(
            poses_of(scene)[:, i], np.hstack(trajectory.body(name)), atol=6e-6 * scene["reach"]
        )  # rounded to 1e-5 of the scene's size
    kinds = [[part["kind"] for part in body["parts"]] for body in scene["bodies"]]
    assert kinds == [["box"], ["sphere"], ["cylinder"], ["capsule"], ["cylinder"],
                     ["sphere", "sphere"], ["box"]]  # fmt: skip


def test_a_four_bar_linkage_is_drawn_as_four_bars_that_meet():
    model, state = dy.zoo.four_bar()
    ground = model.mechanism.scenery["ground"]
    bars = [(ground, ground.position, ground.orientation)]
    bars += [(one.visuals[0], x[:3], x[3:]) for one, x in zip(model.bodies, state.pose)]
    ends = [
        place + side * rotation.rotate(turn, [0.0, 0.5 * look.shape.length, 0.0])
        for look, place, turn in bars
        for side in (1.0, -1.0)
    ]

    apart = np.linalg.norm(np.subtract.outer(ends, ends).diagonal(axis1=1, axis2=3), axis=2)
    assert ((apart < 1e-9).sum(axis=1) == 2).all()  # itself and the end of one other bar


def test_smooth_motion_takes_a_few_bytes_a_pose():
    trajectory = motion(falling_bodies(), 2.0)
    size = {k: len(viewer.page_of(trajectory, rate=k).html) for k in (10.0, 100.0)}
    poses = 7 * (201 - 21)

    # 28 bytes of single precision are 37 in base64
    assert (size[100.0] - size[10.0]) / poses < 8.0


def test_a_body_without_a_shape_is_the_box_of_its_inertia():
    mech = dy.Mechanism()
    box = dy.Box(1.0, 2.0, 3.0, mass=4.0)
    turn = rotation.to_matrix(rotation.from_rpy((0.1, 0.2, 0.3)))
    mech.add_body(name="a", mass=box.mass, inertia=turn @ box.inertia @ turn.T)
    (part,) = scene_of(viewer.page_of(motion(mech, 0.0)).html)["bodies"][0]["parts"]

    assert sorted(part["size"]) == pytest.approx([1, 2, 3])


def test_records_beyond_the_rate_are_left_out_and_the_last_is_kept():
    trajectory = motion(falling_bodies(), 0.105, 0.001)
    time = time_of(scene_of(viewer.page_of(trajectory, rate=50.0).html))

    np.testing.assert_allclose(time, [0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.105])


def test_nothing_in_a_name_ends_the_script_and_nothing_comes_from_a_network():
    page = viewer.page_of(motion(falling_bodies(), 0.0), "<b>title</b>").html

    assert "</script><b>" not in page and "<title>&lt;b&gt;title" in page
    assert page.count("</script>") == 3
    assert not re.search(r"https?://|src=|@import|<link|url\(", page)
    own = block(page, "program").decode().partition("// Data of the scene")[2]
    assert "innerHTML" not in own and "fetch(" not in own and "import(" not in own


def test_a_title_that_looks_like_a_mark_of_the_template_is_text():
    page = viewer.page_of(motion(falling_bodies(), 0.0), "[[SCENE]] [[PROGRAM]]")

    assert "<title>[[SCENE]] [[PROGRAM]]</title>" in page.html
    assert scene_of(page.html)["title"] == "[[SCENE]] [[PROGRAM]]"


def test_the_program_is_three_js_with_its_licence():
    program = block(viewer.page_of(motion(falling_bodies(), 0.0)).html, "program").decode()

    assert program.startswith("/**\n * @license") and "MIT" in program[:200]
    assert "class Page" in program


def test_a_state_is_no_motion_and_the_error_says_what_is(tmp_path):
    model, state = dy.zoo.cart_pole()
    with pytest.raises(TypeError, match=r"not State.*dynamics.simulate\(model, state, 0.0\)"):
        dy.export_html(state, tmp_path / "page.html")
    dy.export_html(dy.simulate(model, state, 0.0), tmp_path / "page.html")


def test_a_missing_three_js_is_named_with_its_extra(monkeypatch, tmp_path):
    library.program.cache_clear()
    trajectory = motion(falling_bodies(), 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(library, "find_spec", lambda name: None)
        with pytest.raises(gs.MissingExtraError, match=r"trimesh.*graphsys\[view\]"):
            trajectory.export_html(tmp_path / "a.html")
        spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
        patch.setattr(library, "find_spec", lambda name: spec)
        with pytest.raises(RuntimeError, match="ships no three.js"):
            trajectory.export_html(tmp_path / "a.html")

    assert not list(tmp_path.iterdir())  # nothing half written


def test_axes_of_joints_are_drawn_where_they_are():
    mech = dy.Mechanism()
    a = mech.add_body(dy.Sphere(0.1, mass=1.0), name="a")
    b = mech.add_body(dy.Sphere(0.1, mass=1.0), name="b")
    turn = rotation.from_rpy((0.4, 0.5, 0.6))
    point = {"parent_point": (0, 0, 1), "orientation": turn}
    mech.add_joint(dy.Revolute(mech.world, a, (0, 0.6, 0.8), name="r", **point))
    mech.add_joint(dy.Prismatic(a, b, (0.6, 0, 0.8), name="p", **point))
    c = mech.add_body(dy.Sphere(0.1, mass=1.0), name="c")
    mech.add_joint(dy.Floating(mech.world, c, name="f"))
    joints = scene_of(viewer.page_of(motion(mech, 0.0)).html)["joints"]

    assert [(one["name"], one["body"], one["point"]) for one in joints] == [
        ("r", -1, [0, 0, 1]), ("p", 0, [0, 0, 1]),
    ]  # fmt: skip
    for one, axis in zip(joints, ((0, 0.6, 0.8), (0.6, 0, 0.8))):
        np.testing.assert_allclose(rotation.rotate(one["axes"][0], (0, 0, 1)), axis, atol=1e-15)


def resting_ball(radius=0.3):
    """A ball that lies on the ground and is pulled sideways, less than it sticks."""
    mech = dy.Mechanism(gravity=(1.0, 0.0, -10.0))
    ball = mech.add_body(dy.Sphere(radius, mass=2.0), name="ball", position=(0, 0, radius + 1e-6))
    mech.add_contact(ball, friction=0.5, name="floor")
    mech.add_joint(dy.FixedOrientation(mech.world, ball, name="upright"))
    return motion(mech, 0.5)


def test_contact_forces_are_in_the_page_where_they_act():
    trajectory = resting_ball()
    scene = scene_of(viewer.page_of(trajectory, rate=1000.0).html)
    points, forces = (
        series_of(scene, scene[what]).reshape(-1, scene["touches"], 3)
        for what in ("points", "forces")
    )

    # m g = 20 N up and 2 N against the pull; at rest that is the motion's median force, drawn as 1
    assert points.shape == (len(trajectory), 1, 3)
    np.testing.assert_allclose(points[-1, 0], [0, 0, 0], atol=1e-4)
    np.testing.assert_allclose(forces[-1, 0], np.array([-2, 0, 20]) / np.hypot(2, 20), atol=1e-4)


def test_without_contacts_the_page_holds_no_forces():
    scene = scene_of(viewer.page_of(motion(falling_bodies(), 0.05)).html)

    assert scene["touches"] == 0 and series_of(scene, scene["forces"]).size == 0
    assert [chart["title"] for chart in scene["curves"]] == ["energy"]


def test_curves_are_those_of_the_motion():
    trajectory = resting_ball()
    scene = scene_of(viewer.page_of(trajectory, rate=1000.0).html)
    energy, _, forces = scene["curves"]
    found = series_of(scene, energy["values"])

    np.testing.assert_allclose(series_of(scene, scene["curve_time"])[:, 0], trajectory.time)
    assert energy["names"] == ["kinetic", "gravitational", "total"]
    assert (energy["unit"], forces["unit"], forces["names"]) == ("J", "N", ["floor"])
    np.testing.assert_allclose(found[:, -1], trajectory.energy(), atol=1e-5 * np.ptp(found))
    assert series_of(scene, forces["values"])[-1] == pytest.approx(20.0, rel=1e-4)


def test_charts_say_how_many_of_all_curves_they_have():
    mech = dy.Mechanism()
    above = mech.world
    for k in range(4):  # 12 coordinates, three per joint
        ball = mech.add_body(dy.Sphere(0.1, mass=1.0), name=k)
        mech.add_joint(dy.Spherical(above, ball, child_point=(0, 0, 0.5), name=f"j{k}"))
        above = ball
    model = mech.finalize(0.01)
    page = viewer.page_of(dy.simulate(model, model.initial_state(), 0.05))
    _, joints = scene_of(page.html)["curves"]

    assert joints["unit"] == "m or rad: 8 of 12" and len(joints["names"]) == 8


def test_curves_of_long_motions_are_thinned_out():
    scene = scene_of(viewer.page_of(motion(falling_bodies(), 7.0), rate=1000.0).html)

    time = series_of(scene, scene["curve_time"])[:, 0]
    assert time.size == 600 and (time[0], time[-1]) == pytest.approx((0.0, 7.0))


# The world


def test_the_ground_is_where_bodies_touch_it_or_below_all_of_them():
    mech = dy.Mechanism()
    ball = mech.add_body(dy.Sphere(0.1, mass=1.0), position=(0, 0, 2.0))
    mech.add_contact(ball, against_shape=dy.HalfSpace((0, 0, 1), (0, 0, 1.5)))
    assert scene_of(viewer.page_of(motion(mech, 0.0)).html)["floor"] == 1.5

    mech = dy.Mechanism()
    mech.add_body(dy.Sphere(0.1, mass=1.0), position=(0, 0, -1.0))
    assert scene_of(viewer.page_of(motion(mech, 0.1)).html)["floor"] < -1.14


def test_obstacles_and_forces_of_pairs_that_are_found_are_drawn():
    mech = dy.Mechanism()
    mech.add_body(dy.Box(0.2, 0.2, 0.2, mass=1.0), name="box", position=(0, 0, 1.61))
    mech.add_obstacle(dy.HalfSpace((0, 0, 1), (0, 0, 0.5)), name="ground")
    mech.add_obstacle(dy.Box(1.0, 1.0, 1.0, mass=1.0), name="table", position=(0, 0, 1.0))
    mech.collide()
    trajectory = motion(mech, 0.5)
    scene = scene_of(viewer.page_of(trajectory, rate=1000.0).html)

    assert scene["floor"] == 0.5
    assert [one["name"] for one in scene["still"]] == ["table"]
    forces = series_of(scene, scene["forces"]).reshape(len(trajectory), scene["touches"], 3)
    up = forces[-1].sum(axis=0)
    assert up[2] > 0.5 and np.abs(up[:2]).max() < 1e-2 * up[2]
    assert not forces[0].any()


def test_slopes_and_static_shapes_are_drawn_once():
    mech = dy.Mechanism()
    slope, post = dy.HalfSpace((0.6, 0, 0.8), (0, 0, 0)), dy.Box(1.0, 2.0, 3.0, mass=1.0)
    capsule = dy.Capsule(0.1, 0.4, mass=1.0, axis=(1, 0, 0))
    for k in range(2):
        ball = mech.add_body(dy.Sphere(0.1, mass=1.0), name=f"ball {k}", position=(9 * k, 5, 9))
        mech.add_contact(ball, against_shape=slope, name=f"slope {k}")
        mech.add_contact(ball, against_shape=post, name=f"post {k}")
        mech.add_contact(ball, against_shape=capsule, name=f"rail {k}")
    scene = scene_of(viewer.page_of(motion(mech, 0.0)).html)

    assert scene["planes"] == [{"point": [0, 0, 0], "normal": [0.6, 0, 0.8]}]
    parts = [part for one in scene["still"] for part in one["parts"]]
    assert [part["kind"] for part in parts] == ["box", "capsule"]
    assert parts[0]["size"] == [1.0, 2.0, 3.0]
    assert parts[1]["size"] == pytest.approx([0.1, 0.4])


def test_an_ellipsoid_is_drawn_as_a_closed_surface_of_its_size():
    (part,) = looks.looks_of(
        dy.Mechanism().add_body(dy.Ellipsoid(0.1, 0.2, 0.3, mass=1.0), name="egg"), 0
    )
    corners = part.surface.vertices[part.surface.faces]
    volume = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6

    assert part.kind == "mesh"
    assert part.surface.vertices.max(axis=0) == pytest.approx([0.1, 0.2, 0.3])
    assert volume == pytest.approx(4 / 3 * np.pi * 0.006, rel=0.05)


@pytest.mark.parametrize("body", [dy.Sphere(0.1, mass=1.0), dy.Capsule(0.1, 0.4, mass=1.0),
                                  dy.Box(0.2, 0.2, 0.2, mass=1.0)])  # fmt: skip
def test_a_static_ball_or_capsule_is_drawn_whatever_touches_it(body):
    mech = dy.Mechanism()
    moving = mech.add_body(body, position=(0.0, 0.0, 5.0), name="body")
    ball, rail = dy.Sphere(0.3, mass=1.0), dy.Capsule(0.2, 0.7, mass=1.0, axis=(1, 0, 0))
    for name, shape in (("ball", ball), ("rail", rail)):
        mech.add_contact(moving, against_shape=shape, name=name)
    scene = scene_of(viewer.page_of(motion(mech, 0.0)).html)

    parts = [part for one in scene["still"] for part in one["parts"]]
    assert [(part["kind"], *part["size"]) for part in parts] == [
        ("sphere", pytest.approx(0.3), 0.0),
        ("capsule", pytest.approx(0.2), pytest.approx(0.7)),
    ]


def test_planes_between_bodies_are_hidden_and_what_they_touch_is_drawn():
    mech = dy.Mechanism()
    box, block = dy.Box(0.2, 0.2, 0.2, mass=1.0), dy.Box(1.0, 1.0, 1.0, mass=1.0)
    body = mech.add_body(box, name="box", position=(0, 0, 0.61))
    mech.add_contact(body, against_shape=block)
    scene = scene_of(viewer.page_of(motion(mech, 0.05)).html)

    assert [one["name"] for one in scene["bodies"]] == ["box"]
    assert scene["joints"] == []  # that of the plane is no joint of the user's
    ((hull,),) = [one["parts"] for one in scene["still"]]
    (mesh,) = scene["meshes"]
    assert hull["kind"] == "mesh" and integers_of(scene, mesh["faces"]).size == 3 * 12
    size = mesh["step"] * np.ptp(integers_of(scene, mesh["vertices"]).reshape(-1, 3), axis=0)
    np.testing.assert_allclose(size, 1.0, rtol=1e-4)


def test_links_with_only_a_trace_of_mass_are_hidden():
    mech = dy.Mechanism()
    heavy = mech.add_body(dy.Sphere(0.1, mass=1.0), name="heavy")
    trace = mech.add_body(name="trace", mass=1e-10, inertia=(1e-12,) * 3)
    mech.add_joint(dy.Revolute(mech.world, trace, (1, 0, 0), name="a"))
    mech.add_joint(dy.Revolute(trace, heavy, (0, 1, 0), name="b"))
    scene = scene_of(viewer.page_of(motion(mech, 0.0)).html)

    assert [one["name"] for one in scene["bodies"]] == ["heavy"]
    assert poses_of(scene).shape == (1, 1, 7)


def test_the_inertia_of_a_link_that_is_fixed_to_another_is_hidden():
    mech = dy.Mechanism()
    shell = mech.add_body(dy.Sphere(0.1, mass=0.1), name="shell")
    inside = mech.add_body(name="inertia", mass=1.0, inertia=(1, 1, 1))
    alone = mech.add_body(name="alone", mass=1.0, inertia=(1, 1, 1))
    mech.add_joint(dy.Fixed(shell, inside, name="a"))
    mech.add_joint(dy.Fixed(inside, alone, name="b", parent_point=(0, 0, 1)))
    scene = scene_of(viewer.page_of(motion(mech, 0.0)).html)

    assert [one["name"] for one in scene["bodies"]] == ["shell", "alone"]
    assert [one["name"] for one in scene["joints"]] == ["a"]


def test_scenery_is_drawn_by_its_name():
    mech = dy.Mechanism()
    mech.add_body(dy.Sphere(0.1, mass=1.0))
    wall = Geometry(dy.Box(1, 2, 3, mass=1.0), np.ones(3), np.eye(4)[0], np.array([1.0, 0, 0, 1]))
    mech.scenery["wall"] = wall
    (still,) = scene_of(viewer.page_of(motion(mech, 0.0)).html)["still"]

    assert still["name"] == "wall" and still["parts"][0]["color"] == [1, 0, 0, 1]
    assert still["parts"][0]["position"] == [1, 1, 1]
    assert mech.copy().scenery == {"wall": wall} and mech.copy().scenery is not mech.scenery


def test_a_motion_that_roams_is_followed_and_another_is_framed():
    mech = dy.Mechanism()
    mech.add_body(dy.Sphere(0.1, mass=1.0))
    short, far = (scene_of(viewer.page_of(motion(mech.copy(), t)).html) for t in (0.1, 2.0))

    assert not short["roams"] and far["roams"]
    assert short["low"] == pytest.approx([-0.1, -0.1, -0.149], abs=1e-3)
    assert short["high"] == pytest.approx([0.1, 0.1, 0.1])


def test_what_cannot_be_shown_is_refused():
    trajectory = motion(falling_bodies(), 0.0)
    with pytest.raises(ValueError, match="rate is 0.0, and must be positive"):
        viewer.page_of(trajectory, rate=0.0)
    nothing = dy.Trajectory(trajectory.model, trajectory.time[:0], trajectory.states[:0])
    assert repr(nothing) == "Trajectory(no states)"
    with pytest.raises(ValueError, match="the trajectory has no records to show"):
        viewer.page_of(nothing)
    trajectory.states[0, 0] = np.nan
    with pytest.raises(ValueError, match="poses that are not finite"):
        viewer.page_of(trajectory)


def test_a_page_is_saved_and_shown_in_a_notebook(tmp_path):
    trajectory = motion(falling_bodies(), 0.05)
    trajectory.export_html(tmp_path / "fall.html", "fall")
    page = viewer.page_of(trajectory, "fall")

    assert (tmp_path / "fall.html").read_text() == page.html
    assert page._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html')
    assert page._repr_html_().count("<") == 2


def test_show_opens_the_page_in_the_browser(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    page = motion(falling_bodies(), 0.05).show("fall")

    (file,) = tmp_path.glob("motion-*.html")
    assert opened == [file.as_uri()] and file.read_text() == page.html


def test_without_a_browser_show_says_where_the_page_is(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    with pytest.warns(UserWarning, match="no browser was found; the page is ") as caught:
        page = motion(falling_bodies(), 0.05).show("fall")

    (file,) = tmp_path.glob("motion-*.html")
    assert str(file) in str(caught[0].message) and file.read_text() == page.html
    assert caught[0].filename == __file__


# Meshes


def write_stl(path):
    data = b"solid but binary".ljust(80) + struct.pack("<I", len(FACES))
    for face in FACES:
        data += struct.pack("<12fH", 0, 0, 0, *TETRAHEDRON[face].ravel(), 0)
    path.write_bytes(data)


def write_text_stl(path):
    corners = ["\n".join(f"vertex {x} {y} {z}" for x, y, z in TETRAHEDRON[f]) for f in FACES]
    facets = "".join(f"facet normal 0 0 0\nouter loop\n{c}\nendloop\nendfacet\n" for c in corners)
    path.write_text(f"solid t\n{facets}endsolid t\n")


def write_obj(path):
    lines = [f"v {x} {y} {z}" for x, y, z in TETRAHEDRON]
    lines += [f"f {a + 1}/1/1 {b + 1} {c - 4}" for a, b, c in FACES]
    path.write_text("\n".join(lines))


@pytest.mark.parametrize(
    ("name", "write"), [("a.stl", write_stl), ("b.STL", write_text_stl), ("c.obj", write_obj)]
)
def test_meshes_are_read(tmp_path, name, write):
    write(tmp_path / name)
    np.testing.assert_array_equal(read_triangles(tmp_path / name), TETRAHEDRON[FACES])
    found = triangles_of(Mesh(name, str(tmp_path), np.full(3, 2.0)))

    np.testing.assert_array_equal(found, 2.0 * TETRAHEDRON[FACES])


def test_a_fine_mesh_is_made_coarser_and_keeps_its_form():
    # A unit sphere of 80 000 triangles: all that is left lies near it, all around.
    a, b = np.meshgrid(np.linspace(0, np.pi, 201), np.linspace(0, 2 * np.pi, 201), indexing="ij")
    points = np.stack([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)], -1).reshape(-1, 3)
    k = (np.arange(200)[:, None] * 201 + np.arange(200)).ravel()
    faces = np.concatenate([np.stack([k, k + 201, k + 1]), np.stack([k + 1, k + 201, k + 202])], 1)
    found = triangles_of(Mesh("", "", np.ones(3), points, faces.T))

    assert 500 < len(found) <= 20_000
    np.testing.assert_allclose(np.linalg.norm(found, axis=-1), 1.0, atol=0.02)
    area = np.cross(found[:, 1] - found[:, 0], found[:, 2] - found[:, 0])
    assert np.linalg.norm(area, axis=1).sum() / 2 == pytest.approx(4 * np.pi, rel=0.05)


def test_a_mesh_of_a_package_is_found_in_the_folders_above(tmp_path):
    folder = tmp_path / "me" / "meshes"
    folder.mkdir(parents=True)
    write_obj(folder / "c.obj")
    (tmp_path / "me" / "urdf").mkdir()

    start, within = str(tmp_path / "me" / "urdf"), str(tmp_path / "me")
    assert triangles_of(Mesh("me/meshes/c.obj", start, np.ones(3), within=within)) is not None
    with pytest.warns(UserWarning, match="lies outside the folder 'urdf' .* within="):
        assert triangles_of(Mesh("me/meshes/c.obj", start, np.ones(3))) is None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [("a.stl", None, "is not there"), ("a.3ds", "x", "'.3ds' are not read"),
     ("a.stl", "solid", "broken"), ("a.obj", "v 0 0 0", "no triangles"),
     ("a.obj", "f 1 2 3", "not drawn"), ("a.obj", "v x", "not drawn")],
)  # fmt: skip
def test_a_mesh_that_is_missing_or_broken_is_named_and_not_drawn(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.warns(UserWarning, match=f"mesh '{name}' is not .*{message}|{message}"):
        assert triangles_of(Mesh(name, str(tmp_path), np.ones(3))) is None


def test_a_body_whose_mesh_is_not_there_is_the_box_of_its_inertia(tmp_path):
    look = Geometry(Mesh("lost.stl", str(tmp_path), np.ones(3)), np.zeros(3), np.eye(4)[0])
    mech = dy.Mechanism()
    mech.add_body(mass=12.0, inertia=(2.0, 2.0, 2.0), name="cube", visuals=(look,))
    with pytest.warns(UserWarning, match="'lost.stl' is not there"):
        (cube,) = scene_of(viewer.page_of(motion(mech, 0.0)).html)["bodies"]

    (part,) = cube["parts"]
    assert part["kind"] == "box"
    np.testing.assert_allclose(part["size"], 1.0)  # m a^2 / 6 = 2 kg m^2


def test_a_body_whose_mesh_is_not_there_is_drawn_by_its_collision_shapes(tmp_path):
    look = Geometry(Mesh("lost.stl", str(tmp_path), np.ones(3)), np.zeros(3), np.eye(4)[0])
    solid = Geometry(dy.Sphere(0.3, mass=1.0), np.ones(3), np.eye(4)[0])
    mech = dy.Mechanism()
    mech.add_body(mass=1.0, inertia=(1, 1, 1), name="a", visuals=(look,), collisions=(solid,))
    with pytest.warns(UserWarning, match="'lost.stl' is not there"):
        (body,) = scene_of(viewer.page_of(motion(mech, 0.0)).html)["bodies"]

    assert [part["kind"] for part in body["parts"]] == ["sphere"]


def test_meshes_and_colors_are_in_the_page():
    mech = dy.Mechanism()
    mesh = Mesh("", "", np.ones(3), TETRAHEDRON, FACES)
    look = Geometry(mesh, np.zeros(3), np.array([1.0, 0, 0, 0]), np.array([1.0, 0, 0, 1]))
    mech.add_body(name="a", mass=1.0, inertia=(1, 1, 1), visuals=(look,))
    scene = scene_of(viewer.page_of(motion(mech, 0.0)).html)
    (part,) = scene["bodies"][0]["parts"]

    assert part["color"] == [1, 0, 0, 1]
    (made,) = scene["meshes"]
    raw = integers_of(scene, made["vertices"]).reshape(-1, 3)
    vertices = made["low"] + made["step"] * raw
    faces = integers_of(scene, made["faces"]).reshape(-1, 3)
    assert part["mesh"] == 0 and len(vertices) == 4
    np.testing.assert_allclose(vertices[faces], TETRAHEDRON[FACES], atol=1e-5)


def test_a_mesh_that_many_bodies_show_is_in_the_page_once():
    mech = dy.Mechanism()
    look = Geometry(Mesh("", "", np.ones(3), TETRAHEDRON, FACES), np.zeros(3), np.eye(4)[0])
    other = Geometry(Mesh("", "", np.full(3, 2.0), TETRAHEDRON, FACES), np.ones(3), np.eye(4)[0])
    for k in range(10):
        mech.add_body(name=k, mass=1.0, inertia=(1, 1, 1), visuals=(look, other))
    scene = scene_of(viewer.page_of(motion(mech, 0.0)).html)

    assert len(scene["meshes"]) == 2  # the other is twice as large
    assert [part["mesh"] for one in scene["bodies"] for part in one["parts"]] == 10 * [0, 1]


def test_a_body_of_ones_own_has_the_color_that_was_given():
    mech = dy.Mechanism()
    two = dy.Compound([
        (dy.Sphere(0.1, mass=1.0), (0, 0, 0.2)), (dy.Box(0.1, 0.1, 0.1, mass=1.0), (0, 0, -0.2)),
    ]).centered()  # fmt: skip
    red = mech.add_body(two, name="red", color=(0.8, 0.2, 0.1))
    clear = mech.add_body(dy.Sphere(0.1, mass=1.0), name="clear", color=(0, 0, 1, 0.5))
    plain = mech.add_body(two, name="plain")
    assert [part.color for part in looks.looks_of(red, 0)] == [(0.8, 0.2, 0.1, 1.0)] * 2
    assert [part.color for part in looks.looks_of(clear, 0)] == [(0.0, 0.0, 1.0, 0.5)]
    assert [part.kind for part in looks.looks_of(red, 0)] == ["sphere", "box"]
    for one, other in zip(looks.looks_of(red, 0), looks.looks_of(plain, 0)):
        assert one.position.tolist() == other.position.tolist()


def test_colors_of_a_mesh_file_are_drawn_unless_the_body_has_its_own(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    made = trimesh.Trimesh(TETRAHEDRON, FACES, process=False)
    made.visual.face_colors = [[255, 0, 0, 255], [0, 0, 255, 255]] * 2
    made.export(tmp_path / "a.ply")
    mesh = Mesh("a.ply", str(tmp_path), np.ones(3))
    red = np.array([1.0, 0, 0, 1])
    for color, own in ((None, True), (red, False)):
        look = Geometry(mesh, np.zeros(3), np.eye(4)[0], color)
        mech = dy.Mechanism()
        mech.add_body(name="a", mass=1.0, inertia=(1, 1, 1), visuals=(look,))
        scene = scene_of(viewer.page_of(motion(mech, 0.0)).html)
        (kept,) = scene["meshes"]
        assert ("colors" in kept) == own
        if own:
            palette = np.array(kept["palette"])[integers_of(scene, kept["colors"])]
            np.testing.assert_allclose(palette, 2 * [[1, 0, 0], [0, 0, 1]])


# A browser


def screenshot(path, asked=""):
    from matplotlib.image import imread

    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("Chromium is not installed")
    picture = path.with_suffix(".png")
    subprocess.run(
        [browser, "--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
         "--enable-unsafe-swiftshader", "--hide-scrollbars", "--window-size=600,400",
         f"--user-data-dir={path.parent / 'profile'}", "--timeout=9000",
         f"--screenshot={picture}", f"{path.as_uri()}#{asked}"],
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    if not picture.exists():
        pytest.skip("Chromium takes no pictures here")
    return imread(picture)[..., :3]


def reds(picture):
    """Rows and columns of pixels that are red."""
    return np.nonzero((picture[..., 0] > 0.5) & (picture[..., 1:].max(axis=-1) < 0.2))


def purples(picture):
    """Rows and columns of pixels in the colour of contact forces."""
    low, green, high = np.moveaxis(picture, -1, 0)
    return np.nonzero((low > 0.75) & (green < 0.1) & (abs(high - 0.6) < 0.05))


@pytest.mark.slow
def test_a_browser_draws_contact_forces_and_joint_axes_when_asked(tmp_path):
    path = tmp_path / "rest.html"
    resting_ball().export_html(path)
    plain, asked = (screenshot(path, f"time=0.5{what}") for what in ("", "&forces&axes"))

    rows, columns = purples(asked)
    assert purples(plain)[0].size == 0
    # an arrow that stands: 20 N up, 2 N aside, from the ground at the picture's middle column
    assert np.ptp(rows) > 3.0 * np.ptp(columns) > 0
    assert abs(columns.mean() - asked.shape[1] / 2) < 0.1 * asked.shape[1]
    orange = (abs(asked - [0.84, 0.37, 0.0]) < 0.05).all(axis=-1)
    assert orange.sum() > 0
    assert not (abs(plain - [0.84, 0.37, 0.0]) < 0.05).all(axis=-1).any()


@pytest.mark.slow
def test_a_browser_draws_the_bodies_where_they_are(tmp_path):
    mech = dy.Mechanism()
    ball = Geometry(dy.Sphere(0.3, mass=1.0), np.zeros(3), np.array([1.0, 0, 0, 0]),
                    np.array([1.0, 0, 0, 1]))  # fmt: skip
    mech.add_body(name="a", mass=1.0, inertia=(1, 1, 1), visuals=(ball,), position=(0, 0, 0.5))
    post = dy.Box(0.1, 0.1, 1.0, mass=1.0)
    mech.add_body(post, name="post", position=(0, 1, 0.5), gravity_scale=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        path = tmp_path / "ball.html"
        motion(mech, 0.3).export_html(path)
        first, last = (reds(screenshot(path, f"time={time}")) for time in ("0", "0.3"))

    # A ball stays round, of one size within its fall, and falls: rows count downwards.
    for rows, columns in (first, last):
        assert rows.size > 100
        assert np.ptp(rows) == pytest.approx(np.ptp(columns), rel=0.15)
    assert np.ptp(last[0]) == pytest.approx(np.ptp(first[0]), rel=0.2)
    assert last[0].mean() > first[0].mean() + 0.3 * np.ptp(first[0])
    assert abs(last[1].mean() - first[1].mean()) < 0.1 * np.ptp(first[0])
