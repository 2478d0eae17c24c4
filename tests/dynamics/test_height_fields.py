"""Height fields: prisms of their cells, by hand and as MuJoCo's; obstacles of points."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.parts.height_fields import prisms
from dynamics.parts.meshes import corners_of

from .test_mjcf import load, world


def falls(mechanism, ball=0.1, position=(0.0, 0.0, 1.0)):
    """Ball after 2 s, with friction enough to stay."""
    mechanism.add_body(dy.Sphere(ball, mass=1.0), name="ball", position=position)
    mechanism.collide()
    model = mechanism.finalize(0.005)
    return dy.simulate(model, model.initial_state(), 2.0)


def test_a_cell_is_two_prisms_between_its_corners_and_the_bottom():
    one, two = prisms(np.array([0.0, 2.0]), np.array([0.0, 1.0]), np.array([[1, 2], [3, 4.0]]), -1)
    tops = [one.vertices[:3].tolist(), two.vertices[:3].tolist()]
    assert tops == [[[0, 0, 1], [2, 1, 4], [0, 1, 2]], [[0, 0, 1], [2, 0, 3], [2, 1, 4]]]
    for mesh in (one, two):
        assert mesh.vertices[3:, 2].tolist() == [-1] * 3
        corners = mesh.vertices[mesh.faces]
        volume = np.linalg.det(corners).sum() / 6.0  # positive: anticlockwise from outside
        assert volume == pytest.approx(mesh.vertices[:3, 2].mean() + 1.0)
        assert len(corners_of(mesh)) == 6 * 4


def test_a_ball_rests_in_a_valley_of_a_terrain():
    # z = |x| on a grid with a line at 0: walls of 45 degrees, the centre is r sqrt 2 above it
    mechanism = dy.Mechanism()
    x, y = np.linspace(-1, 1, 5), np.linspace(-1, 1, 3)
    made = mechanism.add_terrain(x, y, np.abs(x)[:, None] + 0.0 * y, friction=0.9)
    assert len(made) == len(mechanism.obstacles) == 16
    motion = falls(mechanism, position=(0.0, 0.3, 0.5))
    assert motion.body("ball")[0][-1] == pytest.approx([0, 0.3, 0.1 * np.sqrt(2)], abs=1e-6)
    # about one each: friction of its planes, whose forces change slowly, is no reason to start cold
    assert motion.info["factorizations"] < 4 * motion.info["steps"]


def test_a_ball_rests_on_the_hull_of_points():
    mechanism = dy.Mechanism()
    corners = [[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-0.2, 0)]
    mechanism.add_obstacle(np.array(corners), name="slab", position=(0, 0, 0.3))
    motion = falls(mechanism)
    assert motion.body("ball")[0][-1, 2] == pytest.approx(0.4, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": [0, 0, 1]}, "x of terrain 'hill' must be two or more ascending numbers"),
        ({"y": [0]}, "y of terrain 'hill' must be two or more ascending numbers"),
        ({"heights": np.zeros((2, 2))}, r"heights of terrain 'hill' has shape \(2, 2\)"),
        ({"heights": np.full((3, 2), np.nan)}, "heights of terrain 'hill' must be finite"),
        ({"bottom": 0.5}, "bottom of terrain 'hill' is 0.5, and must be below 0"),
        ({"friction": -1.0}, "friction of terrain 'hill' is -1"),
    ],
)
def test_fields_that_are_none_are_refused(options, message):
    mechanism = dy.Mechanism()
    given = {"x": [0, 1, 2], "y": [0, 1], "heights": np.zeros((3, 2)), "name": "hill"} | options
    with pytest.raises(ValueError, match=message):
        mechanism.add_terrain(**given)
    assert not mechanism.obstacles


def test_obstacles_of_points_that_are_none_are_refused():
    mechanism = dy.Mechanism()
    with pytest.raises(ValueError, match="points of obstacle 'a' lie in a plane"):
        mechanism.add_obstacle(np.eye(3), name="a")
    with pytest.raises(TypeError, match=r"points of shape \(k, 3\) or a geometry, not 'floor'"):
        mechanism.add_obstacle("floor")
    mechanism.add_terrain([0, 1], [0, 1], np.zeros((2, 2)))
    with pytest.raises(ValueError, match="the name 'terrain 0' is in use"):
        mechanism.add_terrain([0, 1], [0, 1], np.zeros((2, 2)))


FIELD = (
    '<geom name="hill" type="hfield" hfield="f" pos="0.1 -0.2 0.3" euler="0 0 20"/>'
    '<body name="ball"><freejoint/><geom size="0.08"/></body>'
)


def touching(overlaps):
    """Height at which a ball comes to touch, by bisection."""
    low, high = 0.2, 1.2
    for _ in range(24):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if overlaps(middle) else (low, middle)
    return high


def test_a_height_field_of_a_file_is_touched_where_mujoco_touches_it(tmp_path, mujoco):
    rng = np.random.default_rng(3)
    heights = np.concatenate([[0.0, 1.0], rng.uniform(size=4 * 5 - 2)])
    text = " ".join(f"{z:.6f}" for z in heights)
    asset = f'<hfield name="f" nrow="4" ncol="5" size="1 0.6 0.4 0.1" elevation="{text}"/>'
    xml = world(FIELD, f"<asset>{asset}</asset>")
    mech = load(tmp_path, xml, collide=True)
    model = mech.finalize(0.005)
    assert len(mech.obstacles) == 2 * 3 * 4
    theirs = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(theirs)

    def here(x, y, z):
        state = model.initial_state()
        model.set_body(state, "ball", position=(x, y, z))
        try:
            dy.simulate(model, state, 0.0)
        except dy.InconsistentStateError:
            return True
        return False

    def there(x, y, z):
        data.qpos[:3] = x, y, z
        mujoco.mj_forward(theirs, data)
        return data.ncon > 0

    for x, y in rng.uniform((-0.5, -0.5), (0.6, 0.2), (8, 2)):
        # 1e-6 of the ball's size is let through here; MuJoCo's convex collisions end at 1e-6
        ours, other = (touching(lambda z: of(x, y, z)) for of in (here, there))  # noqa: B023
        assert ours == pytest.approx(other, abs=1e-5)


def test_a_height_field_that_nothing_touches_is_drawn_and_large_ones_are_left_out(tmp_path, mujoco):
    size = 'nrow="{0}" ncol="{0}" size="1 1 1 0.1"'
    asset = f'<asset><hfield name="f" {size.format(3)}/></asset>'
    mech = load(tmp_path, world(FIELD, asset))
    assert len(mech.scenery) == 8 and not mech.obstacles
    asset = f'<asset><hfield name="f" {size.format(200)}/></asset>'
    large = load(tmp_path, world(FIELD, asset), collide=False)
    assert not large.scenery
    assert large.report.left_out["height fields of more than 20000 points"] == ["hill"]
