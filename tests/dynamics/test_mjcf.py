"""MJCF files, read by MuJoCo, to mechanisms; MuJoCo's own figures beside ours."""

import warnings

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.io import LoadWarning, MergedLinkWarning, UnsupportedElementWarning
from dynamics.parts.collisions import candidates_of

from .robots import falling, mass_matrix, moved, pose_of_frame, slopes


def load(tmp_path, text, quiet=True, **options):
    path = tmp_path / "robot.xml"
    path.write_text(text)
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", LoadWarning)
        return dy.load(path, **options)


def world(bodies, more=""):
    return f"<mujoco><worldbody>{bodies}</worldbody>{more}</mujoco>"


def random_mjcf(n, seed):
    """Tree of n bodies with random frames, geoms and joints; the first is free."""
    rng = np.random.default_rng(seed)

    def numbers(values):
        return " ".join(repr(float(x)) for x in values)

    children = {i: [] for i in range(n)}
    for i in range(1, n):
        children[int(rng.integers(max(0, i - 3), i))].append(i)

    def body(i):
        quat, axis = rng.normal(size=4), rng.normal(size=3)
        kind = ("hinge", "slide", None)[i % 3]
        joint = "<freejoint name='root'/>" if i == 0 else ""
        if i and kind:
            joint = (
                f'<joint name="j{i}" type="{kind}" axis="{numbers(axis)}" '
                f'pos="{numbers(rng.normal(size=3))}"/>'
            )
        geoms = "".join(
            f'<geom type="{shape}" size="{numbers(rng.uniform(0.1, 0.5, 3)[:k])}" '
            f'pos="{numbers(rng.normal(size=3))}" quat="{numbers(rng.normal(size=4))}"/>'
            for shape, k in (("box", 3), ("capsule", 2))
        )
        return (
            f'<body name="b{i}" pos="{numbers(rng.normal(size=3))}" quat="{numbers(quat)}">'
            f"{joint}{geoms}{''.join(body(k) for k in children[i])}</body>"
        )

    return world(body(0))


@pytest.mark.parametrize("seed", range(3))
def test_frames_masses_and_the_fall_agree_with_mujoco(tmp_path, mujoco, seed):
    text = random_mjcf(8, seed)
    mech = load(tmp_path, text)
    model = mech.finalize()
    theirs = mujoco.MjModel.from_xml_string(text)
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(theirs)
    rng = np.random.default_rng(seed)
    at = {name: rng.uniform(-1, 1) for name, one in mech.joints.items() if one.n_coordinates == 1}
    for name, value in at.items():
        data.joint(name).qpos[0] = value
    mujoco.mj_forward(theirs, data)
    state = moved(model, at)
    fall = falling(model, state).reshape(-1, 6)

    assert len(at) == 5
    assert mech.mass == pytest.approx(theirs.body_mass.sum(), rel=1e-13)
    for name, frame in mech.frames.items():
        x, R = pose_of_frame(mech, state, model, name)
        np.testing.assert_allclose(x, data.body(name).xpos, atol=1e-9)
        np.testing.assert_allclose(R, data.body(name).xmat.reshape(3, 3), atol=1e-9)
        i = model.body_number(frame.body.name)
        slide, turn = np.zeros((3, theirs.nv)), np.zeros((3, theirs.nv))
        mujoco.mj_jac(theirs, data, slide, turn, state.pose[i, :3], theirs.body(name).id)
        R = rotation.to_matrix(state.pose[i, 3:])
        expected = np.concatenate([slide @ data.qacc, R.T @ turn @ data.qacc])
        np.testing.assert_allclose(fall[i], expected, atol=1e-9 * max(1, abs(fall).max()))


def test_ref_limits_springs_and_motors_are_kept(tmp_path, mujoco):
    joint = (
        '<joint name="j" type="hinge" axis="0 1 0" range="-10 30" limited="true" ref="5" '
        'springref="15" stiffness="2" damping="0.5"/>'
    )
    text = world(
        f'<body name="b">{joint}<geom size="0.1"/></body>',
        '<actuator><motor name="m" joint="j"/></actuator>',
    )
    with pytest.warns(MergedLinkWarning, match="coordinates are 0 where the file has ref: 'j'"):
        mech = load(tmp_path, text, quiet=False)
    hip = mech.joints["j"]

    np.testing.assert_allclose(np.degrees(hip.limits), [[-15, 25]])
    np.testing.assert_allclose(np.degrees(hip.rest), [10])
    assert (hip.stiffness[0], hip.damping[0], hip.actuated) == (2.0, 0.5, True)


@pytest.mark.parametrize(
    ("joints", "kind"),
    [
        (("hinge 1 0 0",), "revolute"),
        (("ball 0 0 1",), "spherical"),
        (("hinge 1 0 0", "hinge 0 1 0"), "universal"),
        (("hinge 1 0 0", "hinge 0.3 1 0.2"), "skew universal"),
        (("hinge 1 0 0", "hinge 0 1 0", "hinge 0 0 1"), "spherical"),
        (("hinge 1 0 0", "hinge 0.2 1 0", "hinge 0.3 0.4 1"), "spherical"),
        (("slide 0 0 1", "hinge 0 0 1"), "cylindrical"),
        (("slide 1 0 0", "slide 0 0 1", "hinge 0 1 0"), "planar axis"),
        (("slide 1 0 0", "slide 0.5 0 1", "hinge 0 1 0"), "planar axis"),
        (("slide 1 0 0", "slide 0 0 1"), "planar"),
        (("slide 1 0 0", "slide 0 1 0", "slide 0 0 1"), "fixed orientation"),
        (("slide 1 0 0", "slide 0 1 0", "slide 0 0 1", "hinge 0 0 1"), "free axis"),
        (("slide 1 0 0", "slide 0 1 0", "slide 0 0 1", "ball 0 0 1"), "floating"),
    ],
)
def test_several_joints_of_a_body_are_one_that_leaves_the_same_motions(
    tmp_path, mujoco, joints, kind
):
    entries = "".join(
        f'<joint name="j{k}" type="{one.split()[0]}" axis="{one[len(one.split()[0]) :]}" '
        'pos="0.1 0.2 0.3"/>'
        for k, one in enumerate(joints)
    )
    body = f'<body name="b" pos="1 2 3" euler="10 20 30">{entries}' + (
        '<geom type="box" size="0.1 0.2 0.3" pos="0.3 0.2 0.1" euler="5 6 7"/></body>'
    )
    mech = load(tmp_path, world(body))
    model = mech.finalize()
    theirs = mujoco.MjModel.from_xml_string(world(body))
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    state = model.initial_state()
    fall = falling(model, state)
    slide, turn = np.zeros((3, theirs.nv)), np.zeros((3, theirs.nv))
    mujoco.mj_jac(theirs, data, slide, turn, state.pose[0, :3], 1)
    R = rotation.to_matrix(state.pose[0, 3:])

    (found,) = mech.joints.values()
    assert found.kind == kind
    assert found.n_coordinates == (0 if kind == "skew universal" else theirs.nv)
    expected = np.concatenate([slide @ data.qacc, R.T @ turn @ data.qacc])
    np.testing.assert_allclose(fall, expected, atol=1e-9)


def test_joints_that_are_none_of_ours_are_refused_by_name(tmp_path, mujoco):
    body = (
        '<body name="b"><joint name="p" axis="1 0 0"/><joint name="q" axis="1 0 0" armature="1"/>'
    )
    with pytest.raises(ValueError, match="body 'b' has the joints hinge 'p', hinge 'q'"):
        load(tmp_path, world(body + '<geom size="0.1"/></body>'))


@pytest.mark.parametrize("least_radius", [1e-4, None])
def test_other_joints_have_links_between_them(tmp_path, mujoco, least_radius):
    body = (
        '<body name="b" pos="1 0 0"><joint name="p" axis="1 0 0" range="-50 50" limited="true"/>'
        '<joint name="q" axis="0 1 0" pos="0.1 0.2 0.3"/>'
        '<geom type="box" size="0.1 0.2 0.3"/></body>'
    )
    mech = load(tmp_path, world(body), least_radius=least_radius)
    model = mech.finalize()
    theirs = mujoco.MjModel.from_xml_string(world(body))
    data = mujoco.MjData(theirs)
    data.qpos[:] = 0.3, -0.4
    mujoco.mj_forward(theirs, data)
    state = moved(model, {"p": 0.3, "q": -0.4})

    assert list(mech.bodies) == ["b behind p", "b"]
    np.testing.assert_allclose(mech.joints["p"].limits, np.radians([[-50, 50]]))
    x, R = pose_of_frame(mech, state, model, "b")
    np.testing.assert_allclose(x, data.body("b").xpos, atol=1e-14)
    np.testing.assert_allclose(R, data.body("b").xmat.reshape(3, 3), atol=1e-14)
    J, H = slopes(model, {"p": 0.3, "q": -0.4}), np.zeros((2, 2))
    for column, unit in zip(H, np.eye(2)):
        mujoco.mj_mulM(theirs, data, column, unit)
    # The ball weighs 4e-9 kg beside 48 kg.
    np.testing.assert_allclose(J.T @ mass_matrix(model, state) @ J, H, atol=1e-9 * H.max())


ARMS = """
<body name="a" pos="0 0 1"><joint name="p" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 1 0 0" size="0.05"/></body>
<body name="b" pos="0 0 2"><joint name="q" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 1 0 0" size="0.05"/></body>
"""


@pytest.mark.parametrize(
    ("equality", "kind"),
    [
        ('<connect name="e" body1="a" body2="b" anchor="1 0 1"/>', "spherical"),
        ('<weld name="e" body1="a" body2="b"/>', "fixed"),
        ('<weld name="e" body1="a" body2="b" anchor="0.3 0.2 0.1"/>', "fixed"),
    ],
)
def test_equalities_are_closures_that_hold_at_the_start(tmp_path, mujoco, equality, kind):
    mech = load(tmp_path, world(ARMS, f"<equality>{equality}</equality>"))
    model = mech.finalize(0.01)
    state = model.initial_state()

    assert mech.joints["e"].kind == kind
    np.testing.assert_allclose(state.pose[:, :3], [[0.5, 0, 1], [0.5, 0, 2]], atol=1e-12)
    assert len(model.tables.cycles) == 1


def test_a_joint_equality_couples_joints_on_the_world(tmp_path, mujoco):
    equality = '<equality><joint name="e" joint1="p" joint2="q" polycoef="0 -0.5"/></equality>'
    model = load(tmp_path, world(ARMS, equality)).finalize(0.01)
    trajectory = dy.simulate(model, model.initial_state(), 0.5)

    assert np.ptp(trajectory.joint("q")) > 0.1
    np.testing.assert_allclose(trajectory.joint("p"), -0.5 * trajectory.joint("q"), atol=1e-7)


def test_sites_are_frames_and_geoms_are_looks(tmp_path, mujoco):
    body = (
        '<body name="b" pos="0 0 1"><site name="tip" pos="1 0 0"/><freejoint/>'
        '<geom type="box" size="0.1 0.2 0.3" rgba="1 0 0 1"/>'
        '<geom size="0.5" group="3" mass="0"/><geom size="0.4" contype="0" conaffinity="0"/></body>'
    )
    mech = load(tmp_path, world(body))
    model = mech.finalize()
    b = mech.bodies["b"]

    assert [one.shape.__class__.__name__ for one in b.visuals] == ["Box", "Sphere"]
    assert [one.shape.__class__.__name__ for one in b.collisions] == ["Box", "Sphere"]
    assert (b.visuals[0].shape.x, b.visuals[1].shape.radius, b.collisions[1].shape.radius) == (
        0.2, 0.4, 0.5,
    )  # fmt: skip
    tip = pose_of_frame(mech, model.initial_state(), model, "tip")[0]
    np.testing.assert_allclose(tip, [1, 0, 1], atol=1e-15)


@pytest.mark.parametrize(("what", "kind"), [("connect", "spherical"), ("weld", "fixed")])
def test_equalities_of_sites_are_closures_between_them(tmp_path, mujoco, what, kind):
    sites = ARMS.replace("</body>", '<site name="{}" pos="1 0 0.5"/></body>')
    sites = sites.replace("{}", "s", 1).replace("{}", "t", 1)
    equality = f'<equality><{what} name="e" site1="s" site2="t"/></equality>'
    e = load(tmp_path, world(sites, equality)).joints["e"]

    assert (e.kind, e.parent.name, e.child.name) == (kind, "a", "b")
    # the centres of mass of the arms lie half a metre along them
    np.testing.assert_allclose([e.parent_point, e.child_point], [[0.5, 0, 0.5]] * 2, atol=1e-12)


def test_a_body_without_mass_has_no_part_in_the_weight_of_what_is_fixed_to_it(tmp_path, mujoco):
    inner = '<body name="c" gravcomp="1"><geom size="0.1"/></body>'
    mech = load(tmp_path, world(f'<body name="p"><freejoint/>{inner}</body>'))
    assert [(name, one.gravity_scale) for name, one in mech.bodies.items()] == [("c", 0.0)]


def test_geoms_of_the_world_may_be_called_as_bodies_joints_and_pairs(tmp_path, mujoco):
    static = '<geom name="{}" size="0.1" pos="{} 0 0"/>'
    body = '<body name="{}" pos="{} 3 0"><joint name="{}"/><geom size="0.1"/></body>'
    parts = [static.format("a", 0), static.format("j", 1), static.format("c", 2)]
    parts += [body.format("a", 0, "j"), body.format("b", 5, "c|b")]
    mech = load(tmp_path, world("".join(parts)), collide=True)

    assert list(mech.obstacles) == ["a shape", "j shape", "c"]
    names = mech.finalize().near.candidates.names
    assert names == ("a shape|a", "j shape|a", "c|a", "a shape|b", "j shape|b", "c|b 2", "a|b")


def test_joints_that_are_made_take_no_names_of_the_file(tmp_path, mujoco):
    # the fixed joint of body b would be world-b, and the closure "c closure"
    geom = '<geom size="0.1"/>'
    text = (
        f'<body name="a"><joint name="world-b"/>{geom}<body name="d"><joint name="c"/>{geom}'
        f'<body name="e"><joint name="c closure"/>{geom}</body></body></body>'
        f'<body name="b">{geom}</body>'
    )
    loop = '<equality><connect name="c" body1="a" body2="e" anchor="0 0 0"/></equality>'
    mech = load(tmp_path, world(text, loop))

    names = {"world-b": "revolute", "c": "revolute", "c closure": "revolute",
             "world-b 2": "fixed", "c closure 2": "spherical"}  # fmt: skip
    assert {name: one.kind for name, one in mech.joints.items()} == names


def test_wind_and_mocap_bodies_are_named_and_motors_of_wrapped_tendons_read(tmp_path, mujoco):
    text = """<mujoco><option wind="1 0 0"/><worldbody>
      <body name="hand" mocap="true"><geom size="0.1"/></body>
      <body name="b"><joint name="j"/><geom size="0.1"/><site name="s"/></body>
      <site name="t" pos="0 0 1"/><geom name="round" size="0.1" pos="0 0 0.5"/></worldbody>
      <tendon><spatial name="rope"><site site="s"/><geom geom="round"/><site site="t"/></spatial>
      </tendon>
      <actuator><motor name="pull" tendon="rope"/></actuator></mujoco>"""
    with pytest.warns(UnsupportedElementWarning) as caught:
        mech = load(tmp_path, text, quiet=False)

    assert {
        "option": ["wind"], "motion of mocap bodies": ["hand"],
    }.items() <= caught[0].message.elements.items()  # fmt: skip
    assert mech.joints["rope"].actuated and not mech.joints["j"].actuated


def test_what_is_not_supported_is_named(tmp_path, mujoco):
    text = """<mujoco><option density="1.2"/><worldbody>
      <geom name="floor" type="plane" size="1 1 1"/><light name="sun"/>
      <body name="b"><joint name="j" frictionloss="0.2"/>
        <geom size="0.1"/>
        <camera name="eye"/></body>
      <body name="c"><joint name="k" type="ball" armature="0.1" range="0 1" limited="true"/>
        <geom size="0.1"/></body>
      <body name="d"><joint name="l"/><geom size="0.1"/></body></worldbody>
      <actuator><position name="servo" joint="j"/></actuator>
      <sensor><clock name="s"/></sensor>
      <equality><connect name="off" body1="b" anchor="0 0 0" active="false"/>
        <joint name="poly" joint1="j" joint2="l" polycoef="0 1 2"/></equality></mujoco>"""
    with pytest.warns(UnsupportedElementWarning) as caught:
        mech = load(tmp_path, text, quiet=False)
    named = caught[0].message.elements

    assert mech.report.left_out == named | {"lights": ["sun"]}  # which move nothing
    assert mech.frames["eye"].body is mech.bodies["b"]

    assert named == {
        "sensors of type clock": ["s"],
        "option": ["density"],
        "armature of joints that turn freely": ["k"],
        "limits of ball joints": ["k"],
        "geoms of the world (they need ground= or collide=)": ["floor"],
        "equalities that are not active": ["off"], "equalities of type joint": ["poly"],
    }  # fmt: skip


def test_frictionloss_is_the_friction_of_a_joint(tmp_path, mujoco):
    slide = '<joint name="j" type="slide" axis="1 0 0" frictionloss="0.2"/>'
    ball = '<joint name="k" type="ball" frictionloss="0.3"/>'
    body = '<body name="{}">{}<geom size="0.1"/></body>'
    joints = load(tmp_path, world(body.format("b", slide) + body.format("c", ball))).joints

    np.testing.assert_array_equal(joints["j"].friction, [0.2])
    np.testing.assert_array_equal(joints["k"].friction, [0.3] * 3)


def test_armature_is_that_of_a_joint(tmp_path, mujoco):
    slide = '<joint name="j" type="slide" axis="1 0 0" armature="0.2"/>'
    pair = '<joint name="x" axis="1 0 0" armature="0.1"/><joint name="y" axis="0 1 0"/>'
    body = '<body name="{}">{}<geom size="0.1"/></body>'
    joints = load(tmp_path, world(body.format("b", slide) + body.format("c", pair))).joints

    np.testing.assert_array_equal(joints["j"].armature, [0.2])
    np.testing.assert_array_equal(joints["x+y"].armature, [0.1, 0.0])


@pytest.mark.parametrize(
    ("ranges", "limits"),
    [
        ('ctrlrange="-2 3" ctrllimited="true"', (-2.0, 3.0)),
        ('forcerange="-1 5" forcelimited="true"', (-1.0, 5.0)),
        ('ctrlrange="-2 3" ctrllimited="true" forcerange="-1 5" forcelimited="true"', (-1.0, 3.0)),
        ('ctrlrange="-2 -1" ctrllimited="true" forcerange="1 2" forcelimited="true"', (1.0, 1.0)),
    ],
)
def test_ranges_of_a_motor_limit_its_control(tmp_path, mujoco, ranges, limits):
    body = '<body name="b"><joint name="j"/><geom size="0.1"/></body>'
    more = f'<actuator><motor name="m" joint="j" {ranges}/></actuator>'

    found = load(tmp_path, world(body, more)).joints["j"]

    np.testing.assert_array_equal(found.control_limits, [limits])


def test_what_flags_disable_is_off(tmp_path, mujoco):
    body = (
        '<body name="b"><joint name="j" range="-10 10" limited="true" stiffness="2" damping="3" '
        'frictionloss="4"/><geom size="0.1"/></body>'
    )
    held = '<equality><connect name="e" body1="b" anchor="0 0 1"/></equality>'

    def loaded(*flags):
        given = " ".join(f'{flag}="disable"' for flag in flags)
        return load(tmp_path, world(body, f"<option><flag {given}/></option>{held}"))

    on, off = loaded(), loaded("gravity", "limit", "frictionloss", "equality", *passive(mujoco))

    j, k = on.joints["j"], off.joints["j"]
    assert (on.gravity[2], off.gravity[2]) == (-9.81, 0.0)
    assert j.limits is not None and k.limits is None
    assert (j.stiffness[0], j.damping[0], j.friction[0]) == (2.0, 3.0, 4.0)
    assert (k.stiffness[0], k.damping[0], k.friction[0]) == (0.0, 0.0, 0.0)
    assert "e" in on.joints and "e" not in off.joints
    unbound = loaded("constraint").joints
    assert unbound["j"].limits is None and unbound["j"].friction == [0.0] and "e" not in unbound


def passive(mujoco):
    """Flags of springs and dampers: one of both until MuJoCo 3.3.2."""
    split = hasattr(mujoco.mjtDisableBit, "mjDSBL_SPRING")
    return ("spring", "damper") if split else ("passive",)


def test_an_ellipsoid_comes_to_rest_on_its_shortest_axis(tmp_path, mujoco):
    text = world(
        '<geom type="plane" size="1 1 1"/><body name="egg" pos="0 0 0.3" euler="10 20 0">'
        '<freejoint/><geom type="ellipsoid" size="0.3 0.2 0.1"/></body>'
        '<body name="ball" pos="1 0 0.15"><freejoint/><geom type="ellipsoid" size="0.1 0.1 0.1"/>'
        "</body>"
    )
    theirs = mujoco.MjModel.from_xml_string(text)
    mech = load(tmp_path, text, collide=True)
    model = mech.finalize(0.005)
    motion = dy.simulate(model, model.initial_state(), 3.0)

    egg = mech.bodies["egg"]
    assert isinstance(egg.collisions[0].shape, dy.Ellipsoid)
    assert egg.mass == pytest.approx(theirs.body("egg").mass[0])
    # within the 4 % of the shape where it is not on the axis: it may lean on a neighbouring ball
    assert motion.body("egg")[0][-1, 2] == pytest.approx(0.1, rel=0.05)
    assert motion.body("ball")[0][-1, 2] == pytest.approx(0.1, abs=1e-6)


PAIRED = world(
    '<geom name="floor" type="plane" size="1 1 1" friction="1"/><body name="box" pos="0 0 0.1">'
    '<freejoint/><geom name="block" type="box" size="0.2 0.2 0.1" contype="0" conaffinity="0"/>'
    '<body name="lid" pos="0 0 0.3"><joint type="slide" name="lift" axis="0 0 1"'
    ' limited="true" range="-0.1005 1"/>'
    '<geom name="plate" type="box" size="0.2 0.2 0.1"/></body></body>',
    '<contact><pair geom1="floor" geom2="block" condim="4" friction="0.1 0.1 0.02 0.3 0.3"/>'
    '<pair geom1="block" geom2="plate" condim="1"/></contact>'
    '<keyframe><key name="slide" qpos="0 0 0.1 1 0 0 0 -0.1" qvel="1 0 0 0 0 0 0"/></keyframe>',
)


@pytest.mark.parametrize("options", [{"collide": True}, {"ground": True}])
def test_pairs_of_geoms_touch_with_their_own_friction(tmp_path, mujoco, options):
    # geoms without a contype, also of parent and child: v^2 / (2 mu g) with mu of the pair
    mech = load(tmp_path, PAIRED, **options)
    model = mech.finalize(0.005)
    state = dy.separate(model, model.keyframe("slide"))
    motion = dy.simulate(model, state, 1.5)

    x = motion.body("box")[0][:, 0]
    assert x[-1] - x[0] == pytest.approx(1.0 / (2 * 0.1 * 9.81), rel=0.02)
    names = set(motion.contacts)
    assert "floor|box" in names
    if "collide" in options:  # the plate rests on the block
        assert motion.joint("lift")[-1] == pytest.approx(-0.1, abs=1e-5)
    else:
        with pytest.warns(UnsupportedElementWarning, match=r"pairs \(they need collide=\)"):
            load(tmp_path, PAIRED, quiet=False, **options)


def test_coefficients_of_pairs_are_those_of_their_dimensions(tmp_path, mujoco):
    mech = load(tmp_path, PAIRED, collide=True)
    found = candidates_of(mech)
    options = {name: one for name, one in zip(found.names, found.options)}

    assert set(options) == {"floor|box", "floor|lid", "box|lid"}
    keys = ("friction", "torsional", "rolling")
    assert [options["floor|box"][k] for k in keys] == [0.1, 0.02, 0.0]
    assert [options["box|lid"][k] for k in keys] == [0.0, 0.0, 0.0]
    other = load(tmp_path, PAIRED, collide=True, friction=0.7)
    assert {one["friction"] for one in candidates_of(other).options} == {0.7}


def test_a_file_whose_shapes_may_not_touch_is_without_contacts(tmp_path, mujoco):
    text = world('<body name="b"><joint name="j"/><geom size="0.1" pos="0 0 1"/></body>')
    with pytest.warns(UnsupportedElementWarning, match="no two shapes may touch"):
        mech = load(tmp_path, text, quiet=False, collide=True)
    model = mech.finalize()
    dy.simulate(model, model.initial_state(), 0.1)
