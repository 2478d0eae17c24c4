"""Loaded robots on a floor: which shapes touch it, and with which friction."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.__main__ import main
from dynamics.io.collision_meshes import CORNERS
from dynamics.parts.geometry import Surface

from .robots import joint, link, load, robot
from .test_mjcf import load as load_mjcf
from .test_mjcf import world

BOX = '<collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>'
BALL = '<collision><origin xyz="0 0 -0.5"/><geometry><sphere radius="0.1"/></geometry></collision>'
SLIDING = '<contact><lateral_friction value="0.7"/><rolling_friction value="0.01"/></contact>'


def test_a_body_rests_on_the_ground_by_its_collision_shape(tmp_path):
    mech = load(tmp_path, robot(link("b", more=BOX)), ground=True, position=(0, 0, 0.3))
    model = mech.finalize(0.01)
    motion = dy.simulate(model, model.initial_state(), 1.0)

    assert list(mech.contacts) == ["ground|b"]
    assert motion.final.pose[0, 2] == pytest.approx(0.1, abs=1e-6)
    assert mech.report.read["contacts"] == ["ground|b"]


def test_the_floor_may_be_a_half_space_of_yours(tmp_path):
    floor = dy.HalfSpace(point=(0, 0, -1))
    model = load(tmp_path, robot(link("b", more=BOX)), ground=floor).finalize(0.01)
    motion = dy.simulate(model, model.initial_state(), 2.0)

    assert motion.final.pose[0, 2] == pytest.approx(-0.9, abs=1e-6)


@pytest.mark.parametrize(
    ("more", "given", "friction", "rolling"),
    [
        ("", None, 0.5, 0.0),
        (SLIDING, None, 0.7, 0.01),
        (SLIDING, 0.2, 0.2, 0.01),
        (SLIDING, 0.0, 0.0, 0.0),
    ],
)
def test_friction_is_that_of_the_file_or_of_the_argument(tmp_path, more, given, friction, rolling):
    text = robot(link("b", more=BOX + more))
    (made,) = load(tmp_path, text, ground=True, friction=given).contacts.values()

    assert (made.friction, made.rolling) == (friction, rolling)


@pytest.mark.parametrize("mu", ["<mu1>0.9</mu1>", '<mu1 value="0.9"/><mu2 value="0.9"/>'])
def test_friction_in_the_words_of_gazebo_is_read(tmp_path, mu):
    text = robot(link("b", more=BOX), f'<gazebo reference="b">{mu}</gazebo>')
    mech = load(tmp_path, text, ground=True)

    assert mech.contacts["ground|b"].friction == 0.9 and "<gazebo>" not in mech.report.left_out


def test_every_shape_of_every_body_that_moves_touches(tmp_path):
    text = robot(
        link("world", more=BOX), link("post", more=BOX), link("arm", more=BOX + BALL),
        joint("a", "fixed", "world", "post"),
        joint("b", "continuous", "post", "arm", (0, 0, 3)),
    )  # fmt: skip
    mech = load(tmp_path, text, ground=True)

    assert list(mech.contacts) == ["ground|arm", "ground|arm 2"]
    assert [len(one.touches) for one in mech.contacts.values()] == [8, 1]


def test_the_floor_of_an_mjcf_file_has_its_place_its_friction_and_its_filters(tmp_path, mujoco):
    text = world(
        '<geom name="slope" type="plane" size="1 1 1" euler="0 30 0" pos="0 0 -1" condim="1" '
        'friction="0.3" conaffinity="0" contype="2"/>'
        '<body name="b"><freejoint/><geom size="0.1" friction="0.8 0.01 0.001" conaffinity="2"/>'
        '<geom size="0.2" conaffinity="4"/><geom size="0.3" condim="4" conaffinity="3"/></body>'
    )
    mech = load_mjcf(tmp_path, text, ground=True)
    one, two = mech.contacts.values()

    assert list(mech.contacts) == ["slope|b", "slope|b 2"]
    assert (one.friction, one.torsional, one.rolling) == (0.8, 0.0, 0.0)
    assert (two.friction, two.torsional, two.rolling) == (1.0, 0.005, 0.0)  # MuJoCo's own default
    np.testing.assert_allclose(one.touches[0].second_first, [0.5, 0, np.sqrt(0.75)], atol=1e-12)
    np.testing.assert_allclose(one.touches[0].first, [0, 0, -1])
    left_out = load_mjcf(tmp_path, text).report.left_out
    assert left_out["geoms of the world (they need ground= or collide=)"] == ["slope"]


def test_bodies_that_a_file_keeps_off_the_world_touch_no_floor(tmp_path, mujoco):
    from .test_mjcf import load as load_mjcf

    body = '<body name="{}" pos="{} 0 1"><freejoint/><geom size="0.1"/></body>'
    text = f"""<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
      {body.format("a", 0)}{body.format("b", 1)}</worldbody>
      <contact><exclude body1="world" body2="a"/></contact></mujoco>"""
    found = load_mjcf(tmp_path, text, ground=True)

    assert list(found.contacts) == ["floor|b"] and not found.report.left_out
    pairs = load_mjcf(tmp_path, text, collide=True).finalize().near.candidates.names
    assert pairs == ("floor|b", "a|b")


def test_a_file_that_switches_contacts_off_has_none(tmp_path, mujoco):
    body = (
        '<geom type="plane" size="1 1 1"/><body pos="0 0 1"><freejoint/><geom size="0.1"/></body>'
    )
    text = world(body, '<option><flag contact="disable"/></option>')
    assert load_mjcf(tmp_path, text).finalize().n_bodies == 1
    for options in ({"ground": True}, {"collide": True}, {"ground": dy.HalfSpace()}):
        with pytest.raises(ValueError, match="robot.xml switches contacts off, by <flag contact="):
            load_mjcf(tmp_path, text, **options)


def test_surfaces_without_sliding_friction_take_none_of_the_other():
    ice, rubber = Surface(0.1, 0.2, 0.3, dimensions=1), Surface(0.9, dimensions=1)

    assert ice.against(rubber) == {"friction": 0.0, "torsional": 0.0, "rolling": 0.0}


def test_a_mesh_touches_by_the_corners_that_lie_farthest(tmp_path):
    angles = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    rings = [
        (r * np.cos(a), r * np.sin(a), z) for z, r in ((-0.2, 0.1), (0.0, 0.2)) for a in angles
    ]
    lines = [f"v {x} {y} {z}" for x, y, z in rings]
    lines += [f"f {k + 1} {(k + 1) % 100 + 1} {k + 101}" for k in range(100)]
    (tmp_path / "foot.obj").write_text("\n".join(lines))
    mesh = '<collision><geometry><mesh filename="foot.obj"/></geometry></collision>'
    lost = mesh.replace("foot", "lost")
    mech = load(tmp_path, robot(link("b", more=mesh + lost)), ground=True)
    points = np.array([one.other for one in mech.contacts["ground|b"].touches])

    assert len(points) <= 26 and points[:, 2].min() == pytest.approx(-0.2)
    assert np.ptp(points[:, :2], axis=0) == pytest.approx(0.4)
    left = "collision meshes that are not there", "meshes that are not there"
    assert mech.report.left_out == dict.fromkeys(left, ["lost.obj"])
    assert mech.report.changed == {CORNERS: ["b: foot.obj, of 200"]}


def test_collision_meshes_that_are_not_kept_are_named_where_shapes_touch(tmp_path, mujoco):
    pytest.importorskip("pxr", reason="usd-core is not installed")
    from . import sdf, usd
    from .test_mjcf import load as load_mjcf

    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3"
                                    "\nf 2 3 4\n")  # fmt: skip
    mesh = '<collision><geometry><mesh filename="a.obj"/></geometry></collision>'
    ball = '<geometry><sphere radius="0.1"/></geometry>'
    in_urdf = robot(link("a", more=f"{mesh}<collision>{ball}</collision>"))
    of_sdf = '<collision name="{}"><geometry>{}</geometry></collision>'.format
    both = of_sdf("c", "<mesh><uri>a.obj</uri></mesh>") + of_sdf(
        "d", "<sphere><radius>0.1</radius></sphere>"
    )
    in_usd = usd.body(
        "a",
        usd.prim("Mesh", "m", "point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]",
                 "int[] faceVertexCounts = [3]", "int[] faceVertexIndices = [0, 1, 2]",
                 apis=(usd.SOLID,)),
        usd.prim("Sphere", "s", apis=(usd.SOLID,)),
    )  # fmt: skip
    in_mjcf = (
        '<mujoco><asset><mesh name="a" file="a.obj"/></asset><worldbody><body name="a"><freejoint/>'
        '<geom name="m" type="mesh" mesh="a"/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    for loader, text, name in (
        (load, in_urdf, "a"), (sdf.load, sdf.model(sdf.link("a", more=both)), "a"),
        (usd.load, usd.file(in_usd), "a/m"), (load_mjcf, in_mjcf, "m"),
    ):  # fmt: skip
        found = loader(tmp_path, text, ground=True, meshes=False)
        assert found.report.left_out == {"collision meshes, as meshes=False": [name]}
        assert not loader(tmp_path, text, meshes=False).report.left_out


def test_what_cannot_stand_on_a_ground_is_refused(tmp_path):
    bare = robot(link("b"))
    with pytest.raises(ValueError, match="no body that moves has a collision shape"):
        load(tmp_path, bare, ground=True)
    lost = '<collision><geometry><mesh filename="lost.stl"/></geometry></collision>'
    message = r"shapes or points of yours \(left out: collision meshes .* 'lost.stl'\)"
    with pytest.raises(ValueError, match=message):
        load(tmp_path, robot(link("b", more=lost)), ground=True)
    with pytest.raises(ValueError, match="give ground=True, too"):
        load(tmp_path, bare, friction=0.3)
    with pytest.raises(TypeError, match="must be True, False or a dynamics.HalfSpace"):
        load(tmp_path, bare, ground=0.5)
    negative = SLIDING.replace("0.7", "-0.7")
    with pytest.raises(ValueError, match="link 'b': a coefficient of friction is negative"):
        load(tmp_path, robot(link("b", more=negative)))


@pytest.mark.parametrize("size", [1e30, 1e200])
def test_meshes_that_are_huge_are_refused_on_a_ground(tmp_path, size):
    corners = [(x, y, z) for x in (0, size) for y in (0, size) for z in (0, size)]
    text = "".join(f"v {x:g} {y:g} {z:g}\n" for x, y, z in corners)
    (tmp_path / "m.obj").write_text(text + "f 1 2 3\nf 4 5 6\nf 6 7 8\nf 1 3 7\n")
    mesh = '<collision><geometry><mesh filename="m.obj"/></geometry></collision>'
    for options in ({"ground": True}, {"ground": True, "collide": True}):
        with pytest.raises(ValueError, match=r"body 'b'|ground.b.* reaches .* keep shapes within"):
            load(tmp_path, robot(link("b", more=mesh)), **options).finalize()


def test_contacts_refuse_shapes_beyond_the_digits_of_gaps():
    for size in (1e9, 1e30):
        mechanism = dy.Mechanism()
        a, b = (mechanism.add_body(mass=1.0, inertia=np.eye(3), name=name) for name in "ab")
        ball, box = dy.Sphere(size, mass=1.0), dy.Box(size, size, size, mass=1.0)
        for ends, shapes in (
            ((a,), {"shape": ball}), ((a,), {"shape": (0, 0, size)}),
            ((a,), {"shape": dy.Compound([(box, (0, 0, 0)), (ball, (1, 0, 0))])}),
            ((a, b), {"shape": box, "against_shape": box}),
        ):  # fmt: skip
            with pytest.raises(ValueError, match=r"of contact 'touch' reaches .* m from the body"):
                mechanism.add_contact(*ends, name="touch", **shapes)
        assert not mechanism.contacts


def test_the_command_line_puts_a_robot_on_the_ground(tmp_path, capsys):
    (tmp_path / "box.urdf").write_text(robot(link("b", 2.0, more=BOX)))
    path = str(tmp_path / "box.urdf")
    options = ["--ground", "--friction", "0", "--seconds", "0.1", "--quiet"]

    assert main(["simulate", path, *options]) == 1  # it starts half in the ground
    assert "contact 'ground|b' overlaps by 1.00e-01 m" in capsys.readouterr().err
    assert main(["simulate", path, *options, "--separate"]) == 0
    assert "energy      1.962 J at the start" in " ".join(capsys.readouterr().out.splitlines())


def test_the_command_line_takes_controls_and_an_order(tmp_path, capsys):
    text = robot(
        link("world"), link("rod"), joint("j", "continuous", "world", "rod"),
        '<transmission name="t"><joint name="j"/></transmission>',
    )  # fmt: skip
    (tmp_path / "rod.urdf").write_text(text)
    ends = []
    for order in ("2", "4"):
        out = tmp_path / f"{order}.npz"
        options = ["--controls", "j=0.5", "--order", order, "--gravity", "0", "0", "0", "--quiet"]
        assert main(["simulate", str(tmp_path / "rod.urdf"), "--out", str(out), *options]) == 0
        model = load(tmp_path, text, gravity=(0, 0, 0)).finalize(0.01, order=int(order))
        ends.append(dy.Trajectory.load(out, model).joint("j")[-1])
    capsys.readouterr()

    # 0.5 N m about z on 0.25 kg m^2 for 10 s: 100 rad; errors are (h omega)^2 and its square
    assert abs(ends[0] - 100.0) < 1.0 and abs(ends[1] - 100.0) < 1e-4
    assert main(["simulate", str(tmp_path / "rod.urdf"), "--controls", "k=1"]) == 1
    assert "'k' is not actuated" in capsys.readouterr().err
