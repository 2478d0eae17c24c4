"""Curves, graphs and animations show what was simulated."""

import sys

import numpy as np
import pytest

import dynamics as dy
import graphsys as gs
from dynamics.display.animation import animate
from dynamics.display.plot import plot_mechanism, plot_plan, plot_trajectory
from dynamics.integrators import Tree, TreeIntegrator, TreePlan, prismatic, revolute

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib (the extra plot) is missing")
matplotlib.use("Agg")


@pytest.fixture
def close():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture(scope="module")
def motion():
    """Double pendulum of 1 m rods, for half a second."""
    mech = dy.Mechanism()
    rods = [
        mech.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0), name=name) for name in ("upper", "lower")
    ]
    at = {"child_point": (0, 0, 0.5)}
    mech.add_joint(dy.Revolute(mech.world, rods[0], (1, 0, 0), name="shoulder", **at))
    down = {"parent_point": (0, 0, -0.5), **at}
    mech.add_joint(dy.Spherical(*rods, name="elbow", **down))
    model = mech.finalize(0.01)
    state = model.initial_state()
    model.set_joint(state, "shoulder", 1.0)
    return dy.simulate(model, state, 0.5)


def curves(ax):
    return {line.get_label(): line.get_ydata() for line in ax.get_lines()}


def test_panels_show_the_arrays_of_the_trajectory(motion, close):
    energy, momentum, violation, joints, reactions = motion.plot().axes

    np.testing.assert_array_equal(curves(energy)["total"], motion.energy())
    assert set(curves(energy)) == {"kinetic", "gravitational", "total"}
    np.testing.assert_array_equal(curves(momentum)["linear z, N s"], motion.momentum()[:, 2])
    np.testing.assert_array_equal(
        violation.get_lines()[0].get_ydata(), np.maximum(motion.constraint_violation(), 1e-18)
    )
    assert set(curves(joints)) == {"shoulder", "elbow 0", "elbow 1", "elbow 2"}
    np.testing.assert_array_equal(curves(joints)["shoulder"], motion.joint("shoulder"))
    np.testing.assert_array_equal(
        curves(reactions)["elbow"], np.linalg.norm(motion.reaction("elbow"), axis=1)[1:]
    )


def test_panels_and_joints_are_chosen_by_name(motion, close):
    (ax,) = plot_trajectory(motion, "joints", joints=["elbow"]).axes
    assert set(curves(ax)) == {"elbow 0", "elbow 1", "elbow 2"}
    with pytest.raises(ValueError, match="there is no panel 'speed'; there are"):
        motion.plot("speed")
    with pytest.raises(ValueError, match="there is no joint 'knee'"):
        motion.plot("joints", joints=["knee"])


def test_a_free_body_has_no_panel_of_constraints(close):
    mech = dy.Mechanism()
    mech.add_body(dy.Sphere(0.1, mass=1.0), name="a")
    model = mech.finalize(0.01)
    assert len(dy.simulate(model, model.initial_state(), 0.1).plot().axes) == 2


def test_the_graph_of_a_loop_has_one_dashed_edge_and_one_opener(close):
    mech = dy.Mechanism()
    a, b, c = (mech.add_body(dy.Sphere(0.1, mass=1.0), name=name) for name in "abc")
    for parent, child in ((a, b), (b, c), (c, a)):
        mech.add_joint(dy.Spherical(parent, child))
    ax = mech.plot()
    styles = [line.get_linestyle()[0] for line in ax.collections if hasattr(line, "get_segments")]
    counts = [len(line.get_segments()) for line in ax.collections if hasattr(line, "get_segments")]
    names = [text.get_text() for text in ax.get_legend().get_texts()]

    assert counts == [5, 1] and styles[0] != styles[1]  # six edges: three bodies, three joints
    assert [name for name in names if "opens a loop" in name] != []
    assert {text.get_text() for text in ax.texts} == {"a", "b", "c", "a-b", "b-c", "c-a"}


def test_the_graph_of_a_tree_hangs_on_the_world_without_a_dashed_edge(motion, close):
    ax = plot_mechanism(motion.model.mechanism)
    assert sum(len(c.get_segments()) for c in ax.collections if hasattr(c, "get_segments")) == 4
    assert "world" in {text.get_text() for text in ax.texts}
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["body", "joint"]


def test_a_coupling_is_an_arrow_from_leader_to_follower_with_its_ratio(close):
    mechanism = dy.Mechanism()
    box = dy.Box(0.1, 0.1, 0.1, mass=1.0)
    a, b, c = (mechanism.add_body(box, name=name) for name in "abc")
    lead, follow, last = (
        mechanism.add_joint(dy.Revolute(mechanism.world, body, (0, 0, 1), name=name))
        for body, name in ((a, "lead"), (b, "follow"), (c, "last"))
    )
    mechanism.add_coupling(lead, follow, -2.5)
    mechanism.add_coupling(lead, last, 0.5)

    ax = mechanism.plot()

    notes = [one for one in ax.texts if one.get_text() or one.arrow_patch is not None]
    place = {one.get_text(): one.xy for one in notes}
    arrows = [(one.xyann, one.xy) for one in notes if one.arrow_patch is not None]
    assert {"-2.5", "0.5"} <= set(place)
    expected = [(place["lead"], place["follow"]), (place["lead"], place["last"])]
    np.testing.assert_array_equal(arrows, expected)
    assert "coupling" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_an_animation_moves_the_lines_of_bodies_and_is_shown_in_a_notebook(motion, close):
    film = motion.animate(rate=10.0)
    ax = film.figure.axes[0]
    film.movie._func(5)
    upper, lower = (np.array(line.get_data_3d()).T for line in ax.get_lines())

    x, q = motion.body("upper")
    np.testing.assert_allclose(upper[1], x[50], atol=1e-14)  # joint, centre, joint
    np.testing.assert_allclose(upper[0], 0.0, atol=1e-10)
    np.testing.assert_allclose(upper[2], lower[0], atol=1e-8)
    assert ax.get_title() == "0.50 s"
    page = film._repr_html_()
    assert page.count("data:image/png;base64") == 6 and "<script" in page


def test_bodies_without_joints_are_as_long_as_their_shapes(close):
    mechanism = dy.Mechanism(gravity=(0.0, 0.0, 0.0))
    shapes = {
        "box": (dy.Box(0.1, 0.2, 0.6, mass=1.0), 0.6),
        "can": (dy.Cylinder(0.1, 0.5, mass=1.0, axis=(1, 0, 0)), 0.5),
        "ball": (dy.Sphere(0.2, mass=1.0), 0.4),
        "point": (None, 0.0),
    }
    for name, (shape, _) in shapes.items():
        given = {} if shape is not None else {"mass": 1.0, "inertia": [0.1] * 3}
        mechanism.add_body(shape, name=name, **given)
    hub = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="hub")
    for k, direction in enumerate(np.eye(3)):
        spoke = mechanism.add_body(dy.Sphere(0.1, mass=0.1), name=("spoke", k))
        mechanism.add_joint(dy.Spherical(hub, spoke, parent_point=direction))
    model = mechanism.finalize(0.01)
    film = dy.simulate(model, model.initial_state(), 0.02).animate()
    assert film.to_html().count("data:image/png;base64") == 1

    lines = [np.array(line.get_data_3d()).T for line in film.figure.axes[0].get_lines()]
    for (_, length), line in zip(shapes.values(), lines):
        assert line.shape == (3, 3) and np.linalg.norm(line[2] - line[0]) == pytest.approx(length)
    star = lines[len(shapes)]  # out to each joint and back to the centre
    np.testing.assert_allclose(star[::2], np.eye(3), atol=1e-12)
    np.testing.assert_allclose(star[1::2], 0.0, atol=1e-12)


def test_an_animation_is_saved(motion, close, tmp_path):
    pytest.importorskip("PIL")
    animate(motion, rate=5.0, view=(20.0, 30.0)).save(tmp_path / "film.gif", writer="pillow")
    assert (tmp_path / "film.gif").read_bytes()[:3] == b"GIF"
    with pytest.raises(ValueError, match="rate is -1.0"):
        animate(motion, rate=-1.0)


def test_a_film_without_its_program_is_refused_with_the_way_out(motion, close, tmp_path):
    from matplotlib.animation import writers

    if writers.is_available("ffmpeg"):
        pytest.skip("ffmpeg is installed")
    film = animate(motion, rate=5.0)
    film.to_html()  # matplotlib warns of films that nobody draws
    with pytest.raises(ValueError, match="film.mp4 needs the program ffmpeg.*save a .gif"):
        film.save(tmp_path / "film.mp4")
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_extra_is_named(motion, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (motion.plot, motion.animate, motion.model.mechanism.plot):
        with pytest.raises(gs.MissingExtraError, match="plot"):
            draw()


def test_a_frame_of_the_world_stays(motion):
    from dynamics.parts.bodies import WORLD
    from dynamics.parts.geometry import Frame

    place, turn = np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.0, 0.0])
    motion.model.mechanism.frames["mark"] = Frame("mark", WORLD, place, turn)
    x, q = motion.frame("mark")

    assert x.shape == (len(motion), 3) and (x == place).all() and (q == turn).all()


def test_a_frame_moves_with_its_body(motion):
    from dynamics.parts.geometry import Frame

    mech = motion.model.mechanism
    mech.frames["tip"] = Frame(
        "tip", mech.bodies["lower"], np.array([0, 0, -0.5]), np.array([0.0, 1.0, 0.0, 0.0])
    )
    x, q = motion.body("lower")
    tip, turned = motion.frame("tip")

    z = 1.0 - 2.0 * (q[:, 1] ** 2 + q[:, 2] ** 2)  # the last entry of the rotation matrix
    np.testing.assert_allclose(tip[:, 2], x[:, 2] - 0.5 * z, atol=1e-14)
    np.testing.assert_allclose(turned[:, 1], q[:, 0], atol=1e-15)
    with pytest.raises(dy.UnknownNameError, match="no frame 'tool'"):
        motion.frame("tool")


def test_postures_of_a_plan_are_drawn_from_joint_to_joint_to_centre_and_pin(close):
    # a cart, massless and so not drawn, and two links of 1 m below it, the tip of the lower pinned
    tree = Tree()
    tree.add_body("cart"), tree.add_joint("world", "cart", prismatic([1, 0, 0]))
    for above, name, z in (("cart", ("arm", "upper"), 0.0), (("arm", "upper"), "lower", -1.0)):
        tree.add_body(name, 1.0, center=[0, 0, -0.5])
        tree.add_joint(above, name, revolute([0, -1, 0]), position=[0, 0, z])
    tree.add_pin("tip", "lower", point_a=[0, 0, -1], point_b=[1, 0, -1], axes=[[1, 0, 0]])
    integrator = TreeIntegrator(tree, 0.1, actuated=["cart", ("arm", "upper")])
    q = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, np.pi / 2]])  # straight down; lower link along x
    forces = np.array([[1.0, 2.0], [3.0, 4.0]])
    made = TreePlan(np.array([0.0, 0.1]), q, 0.0 * q, forces, 0.0, 0.0, 1)

    side, below = plot_plan(made, integrator).axes
    lines = [np.column_stack(line.get_data()) for line in side.lines]
    upper = [[[0, 0], [0, -0.5]], [[0, 0], [0, -1]]]
    down, across = (
        ([[0, -1], [0, -1.5]], [[0, -1], [0, -2]]),
        ([[0, -1], [0.5, -1]], [[0, -1], [1, -1]]),
    )
    for found, expected in ((lines[:4], down), (lines[4:], across)):
        for line in (*upper, *expected):
            assert any(np.abs(line - one).max() < 1e-12 for one in found)
    assert len(lines) == 8
    assert [line.get_label() for line in below.lines] == ["cart", "arm upper"]
    assert below.lines[1].get_ydata().tolist() == [2.0, 4.0]
    with pytest.raises(ValueError, match="3 coordinates and 2 forces, the integrator 3 and 3"):
        plot_plan(made, TreeIntegrator(tree, 0.1))
