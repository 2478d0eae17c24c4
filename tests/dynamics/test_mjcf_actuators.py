"""Motors, servos and keyframes of MJCF files, and joints of bodies with several hinges."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.io import MergedLinkWarning, UnsupportedElementWarning

from .robots import pose_of_frame
from .test_mjcf import load, world


def test_motors_that_share_a_joint_keep_their_ranges(tmp_path, mujoco):
    ranges = 'actuatorfrclimited="true" actuatorfrcrange="-5 7"'
    body = (
        f'<body name="b"><joint name="j" {ranges}/><geom size="0.1"/>'
        '<body name="c" pos="0 0 1"><joint name="k"/><geom size="0.1"/></body></body>'
    )
    more = """<actuator>
      <motor name="m" joint="j" ctrlrange="-2 3" ctrllimited="true"/>
      <general name="n" joint="j" gear="2" gainprm="-3" biastype="affine" biasprm="0.5"
        forcerange="-1.5 4" forcelimited="true" ctrlrange="-9 0.1" ctrllimited="true"/>
      <motor name="p" joint="k" gear="0.5" forcerange="-1 2" forcelimited="true"/>
      <motor name="q" joint="k"/></actuator>"""
    text = world(body, more)
    mech = load(tmp_path, text)
    model = mech.finalize()
    theirs = mujoco.MjData(mujoco.MjModel.from_xml_string(text))
    rng = np.random.default_rng(0)

    np.testing.assert_array_equal(mech.joints["j"].control_limits, [[-5, 7]])
    for _ in range(40):
        theirs.ctrl[:] = commands = rng.uniform(-4.0, 4.0, 4)
        mujoco.mj_forward(theirs.model, theirs)
        forces = model.controls(dict(zip("mnpq", commands))).ravel()
        forces[0] = np.clip(forces[0], -5.0, 7.0)  # as a step does
        np.testing.assert_allclose(forces, theirs.qfrc_actuator, rtol=1e-13, atol=1e-13)


def test_force_ranges_of_filters_that_share_a_joint_are_left_out_by_name(tmp_path, mujoco):
    body = '<body name="b"><joint name="j"/><geom size="0.1"/></body>'
    slow = '<general name="m" joint="j" dyntype="filter" forcerange="-1 1" forcelimited="true"/>'
    text = world(body, f'<actuator>{slow}<motor name="n" joint="j"/></actuator>')
    with pytest.warns((UnsupportedElementWarning, MergedLinkWarning)) as caught:
        load(tmp_path, text, quiet=False)

    what = "ranges of forces of actuators with a filter that share a joint"
    assert {what: ["m"]} in [one.message.elements for one in caught]


def test_a_hinge_of_several_keeps_its_limits_spring_damper_rotor_and_motor(tmp_path, mujoco):
    hinge = (
        '<joint name="{}" axis="{}" pos="0.1 0.2 0.3" range="-{} 40" limited="true" damping="{}" '
        'stiffness="3" springref="10" armature="0.01" frictionloss="0.2"/>'
    )
    three = "".join(
        hinge.format(*one) for one in zip("pqr", ("1 0 0", "0 1 0", "0 0 1"), "123", "456")
    )
    body = f'<body name="b">{three}<geom type="box" size="0.1 0.2 0.3"/></body>'
    motor = '<motor name="m" joint="q" gear="50" ctrlrange="-1 1" ctrllimited="true"/>'
    mech = load(tmp_path, world(body, f"<actuator>{motor}</actuator>"), quiet=False)
    joints = mech.joints  # loaded without a warning: the bodies between are ours

    between = "links between hinges of a body that got 1e-07 of the next one's"
    assert mech.report.changed == {between: ["b behind p", "b behind q"]}
    assert list(joints) == ["p", "q", "r"] and not joints["p"].actuated and joints["q"].actuated
    for name, low, damping in zip("pqr", (1, 2, 3), (4, 5, 6)):
        one = joints[name]
        np.testing.assert_allclose(one.limits, np.radians([[-low, 40]]))
        found = [one.damping, one.stiffness, one.rest, one.armature, one.friction]
        np.testing.assert_allclose(np.ravel(found), [damping, 3, np.radians(10), 0.01, 0.2])
    np.testing.assert_array_equal(joints["q"].control_limits, [[-50, 50]])


def test_hinges_without_properties_stay_one_joint_and_driven_ones_do_not(tmp_path, mujoco):
    body = (
        '<body name="b"><joint name="p" axis="1 0 0"/><joint name="q" axis="0 1 0"/>'
        '<geom size="0.1"/></body>'
    )
    motor = '<actuator><motor joint="q"/></actuator>'

    assert list(load(tmp_path, world(body)).joints) == ["p+q"]
    assert list(load(tmp_path, world(body, motor)).joints) == ["p", "q"]


def test_a_joint_of_several_leads_others(tmp_path, mujoco):
    geom = '<geom size="0.1" pos="0 0 -1"/>'
    pair = f'<joint name="p" axis="1 0 0"/><joint name="q" axis="0 1 0"/>{geom}'
    body = f'<body name="a">{pair}</body><body name="b" pos="3 0 0"><joint name="r"/>{geom}</body>'
    equality = '<equality><joint joint1="r" joint2="q" polycoef="0 2"/></equality>'
    (made,) = load(tmp_path, world(body, equality)).couplings.values()

    assert (made.follower, made.leader, made.ratio) == ("r", "q", 2.0)


def with_joint(actuator):
    return actuator.replace(" ", " joint='j' name='m' ", 1)


#: An actuator; the joint's range of controls or its servo; the control for a command of 1.
ACTUATORS = [
    ('<motor gear="-50" ctrlrange="-1 2" ctrllimited="true"/>', [[-100, 50]], [-50]),
    ('<general gainprm="3" gear="2" forcerange="-5 4" forcelimited="true"/>', [[-10, 8]], [6]),
    ('<motor ctrlrange="0 0.5" ctrllimited="true"/>', [[0, 0.5]], [0.5]),
    (
        '<position kp="40" kv="3" gear="2" forcerange="-7 7" forcelimited="true"/>',
        {"stiffness": 40, "damping": 3, "force_limit": 7, "gear": 2}, [1],
    ),
    ('<velocity kv="5" gear="2"/>', {"damping": 5, "force_limit": np.inf, "gear": 2}, [1]),
    (
        '<general gainprm="20" biasprm="8 -40 -2" biastype="affine" ctrlrange="-3 3"/>',
        {"stiffness": 40, "damping": 2, "target": 0.2, "gear": 1}, [0.5],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("actuator", "expected", "control"), ACTUATORS)
def test_actuators_are_motors_or_servos_in_the_units_of_the_file(
    tmp_path, mujoco, actuator, expected, control
):
    body = '<body name="b"><joint name="j"/><geom size="0.1"/></body>'
    more = f"<actuator>{with_joint(actuator)}</actuator>"
    mech = load(tmp_path, world(body, more))
    one = mech.joints["j"]

    np.testing.assert_allclose(mech.finalize().controls([1.0]), control)
    if isinstance(expected, list):
        assert one.actuated and one.servo is None
        np.testing.assert_allclose(one.control_limits, expected)
    else:
        assert not one.actuated
        found = {name: getattr(one.servo, name) for name in expected}
        assert found == pytest.approx(expected)


TENDON = (
    '<tendon><fixed name="t" {}><joint joint="p" coef="1"/><joint joint="q" coef="-0.5"/></fixed>'
    '</tendon><actuator><motor name="m" tendon="t" gear="3" ctrlrange="-1 2"/></actuator>'
)


def arm_of_two():
    """Two hinges about y, q half a metre below p."""
    geom = '<geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03"/>'
    lower = f'<body name="c" pos="0 0 -0.5"><joint name="q" axis="0 1 0"/>{geom}</body>'
    return f'<body name="b"><joint name="p" axis="0 1 0"/>{geom}{lower}</body>'


def test_a_motor_on_a_fixed_tendon_moves_its_joints_as_in_mujoco(tmp_path, mujoco):
    xml = world(arm_of_two(), TENDON.format(""))
    mech = load(tmp_path, xml)
    model = mech.finalize(5e-4)
    assert "tendons" not in mech.report.left_out
    np.testing.assert_allclose(model.controls({"m": 9.0}), [6.0, -3.0])  # clipped to 2
    np.testing.assert_allclose(mech.joints["q"].control_limits, [[-3.0, 1.5]])

    motion = dy.simulate(model, model.initial_state(), 0.25, controls=model.controls([0.7]))
    theirs = mujoco.MjModel.from_xml_string(xml)
    theirs.opt.timestep, theirs.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(theirs)
    data.ctrl[:] = 0.7
    mujoco.mj_step(theirs, data, 2500)
    found = [motion.joint(name)[-1] for name in "pq"]
    np.testing.assert_allclose(found, data.qpos, atol=1e-4)  # h^2 of ours, 2.5e-7, times 100


def test_joints_with_several_actuators_move_as_in_mujoco(tmp_path, mujoco):
    # a servo of position, one of speed and a motor on one hinge, and a motor on a tendon of it
    actuators = (
        '<actuator><position name="a" joint="p" kp="30"/><velocity name="b" joint="p" kv="2"/>'
        '<motor name="c" joint="p" gear="2"/><motor name="d" tendon="t"/>'
        '<velocity name="f" tendon="t" kv="0.5"/><position name="g" tendon="t" kp="2"/>'
        '<position name="e" joint="q" kp="5" kv="1" forcerange="-3 3"/></actuator>'
    )
    tendon = TENDON.format("").partition("<actuator>")[0]
    xml = world(arm_of_two(), tendon + actuators)
    mech = load(tmp_path, xml)
    model = mech.finalize(5e-4)
    commands = {"a": 0.4, "b": 0.2, "c": 0.5, "d": -0.3, "f": 0.4, "g": 0.1, "e": 0.7}
    motion = dy.simulate(model, model.initial_state(), 0.25, controls=model.controls(commands))
    theirs = mujoco.MjModel.from_xml_string(xml)
    theirs.opt.timestep, theirs.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(theirs)
    data.ctrl[:] = list(commands.values())
    mujoco.mj_step(theirs, data, 2500)

    assert not mech.report.left_out
    assert list(mech.actuators) == list(commands)
    found = [motion.joint(name)[-1] for name in "pq"]
    # servos are implicit: of first order in steps of 5e-4
    np.testing.assert_allclose(found, data.qpos, atol=1e-3)


def test_an_actuator_without_a_name_has_that_of_the_joint_that_it_alone_drives(tmp_path, mujoco):
    bodies = "".join(
        f'<body name="b{n}" pos="{k} 0 0"><joint name="{n}"/><geom size="0.1"/></body>'
        for k, n in enumerate("pqrs")
    )
    motors = '<motor joint="p" gear="2"/><motor joint="q"/><motor joint="q"/>'
    named = '<motor joint="r"/><motor name="r" joint="s"/><motor joint="s"/>'
    more = f"<actuator>{motors}{named}</actuator><keyframe><key ctrl='1 2 3 4 5 6'/></keyframe>"
    mech = load(tmp_path, world(bodies, more))
    names = ["p", "actuator 1", "actuator 2", "actuator 3", "r", "actuator 5"]

    assert list(mech.actuators) == names
    np.testing.assert_array_equal(mech.finalize().controls({"p": 3.0, "r": 1.0}), [6, 0, 0, 1])
    assert mech.keyframes["key 0"].commands == dict(zip(names, range(1, 7)))


@pytest.mark.parametrize(("actuator", "expected", "control"), ACTUATORS)
def test_actuators_move_a_joint_as_in_mujoco(tmp_path, mujoco, actuator, expected, control):
    joint = '<joint name="j" axis="0 1 0" ref="20" armature="2" damping="0.1"/>'
    body = f'<body name="b">{joint}<geom size="0.1" pos="0.3 0 0"/></body>'
    more = f"<actuator>{with_joint(actuator)}</actuator>"
    text = world(body, more)
    model = load(tmp_path, text).finalize(1e-3)
    motion = dy.simulate(model, model.initial_state(), 0.5, controls=model.controls({"m": 0.4}))
    theirs = mujoco.MjModel.from_xml_string(text)
    theirs.opt.timestep, theirs.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(theirs)
    data.ctrl[:] = 0.4
    for _ in range(5000):
        mujoco.mj_step(theirs, data)

    # servos are implicit and of first order in the timestep
    moved = data.qpos[0] - theirs.qpos0[0]
    assert motion.joint("j")[-1] == pytest.approx(moved, abs=5e-3 * abs(moved))


@pytest.mark.parametrize(
    ("actuator", "kind"),
    [
        (
            '<general name="m" joint="j" gaintype="muscle" lengthrange="0 1" '
            'gainprm="0.75 1.05 9 1 0.5 1.6 1.5 1.3 1.2"/>',
            "muscles",
        ),
        ('<general name="m" joint="j" biastype="affine" biasprm="0 3 0"/>', "bias of actuators"),
        ('<general name="m" joint="j" gaintype="affine" gainprm="1 2 0"/>', "gain of actuators"),
    ],
)
def test_what_actuators_do_not_do_here_is_named(tmp_path, mujoco, actuator, kind):
    body = '<body name="b"><joint name="j" range="-9 9"/><geom size="0.1" pos="1 0 0"/></body>'
    with pytest.warns(UnsupportedElementWarning) as caught:
        load(tmp_path, world(body, f"<actuator>{actuator}</actuator>"), quiet=False)

    (found,) = [names for key, names in caught[0].message.elements.items() if kind in key]
    assert found == ["m"]


def test_motors_of_the_file_are_taken_or_left_by_name(tmp_path, mujoco):
    body = '<body name="{}"><joint name="{}"/><geom size="0.1"/></body>'
    more = '<actuator><motor name="m" joint="j"/><position name="n" joint="k"/></actuator>'
    text = world(body.format("a", "j") + body.format("b", "k"), more)
    model = load(tmp_path, text, actuated=["k"]).finalize()

    assert model.tables.control_names == ("k",)
    np.testing.assert_array_equal(model.controls([5.0, 0.3]), [0.3])
    np.testing.assert_array_equal(
        model.controls({"n": [0.1, 0.2, 0.3], "m": 5.0}), [[0.1], [0.2], [0.3]]
    )
    with pytest.raises(ValueError, match=r"command of 'm' has shape \(2,\), another one \(3,\)"):
        model.controls({"n": [0.1, 0.2, 0.3], "m": [5.0, 1.0]})
    with pytest.raises(dy.UnknownNameError, match="'x' is not an actuator; .*mechanism.report"):
        model.controls({"x": 1.0})
    with pytest.raises(ValueError, match="commands must be finite, of shape"):
        model.controls([1.0])


def test_a_servo_in_place_of_a_motor_takes_no_commands_of_the_file(tmp_path, mujoco):
    body = '<body name="b"><joint name="j"/><geom size="0.1"/></body>'
    motor = '<actuator><motor name="m" joint="j" gear="9" ctrlrange="-1 1"/></actuator>'
    mech = load(tmp_path, world(body, motor), actuated={"j": dy.PositionServo(5.0)})
    assert mech.actuators == {} and mech.joints["j"].servo.force_limit == [9.0]


def test_a_motor_in_place_of_a_servo_gives_at_most_its_forces(tmp_path, mujoco):
    body = '<body name="{0}" pos="0 0 1"><joint name="{0}" axis="0 1 0"/><geom size="0.1"/></body>'
    text = world(
        "".join(map(body.format, "abc")),
        '<actuator><position name="m" joint="a" kp="5" forcerange="-3 4" gear="2"/>'
        '<velocity name="n" joint="b" kv="5"/><motor name="o" joint="c" gear="7"/></actuator>',
    )
    mech = load(tmp_path, text, actuated=dict.fromkeys("abc", "motor"))

    assert [mech.joints[name].servo for name in "abc"] == [None] * 3
    assert all(mech.joints[name].actuated for name in "abc")
    np.testing.assert_array_equal(mech.joints["a"].control_limits, [[-6.0, 8.0]])
    assert mech.joints["b"].control_limits is None
    assert list(mech.actuators) == ["o"]  # whose commands still are forces
    model = mech.finalize()
    state = model.initial_state()
    np.testing.assert_allclose(dy.inverse_dynamics(model, state, 0.0), 0.0, atol=1e-12)
    with pytest.raises(TypeError, match='"motor" or a servo'):
        load(tmp_path, text, actuated={"a": "servo"})


def test_a_keyframe_is_a_state(tmp_path, mujoco):
    hinge = '<joint name="{}" axis="{}" pos="0.1 0 0.2" {}/>'
    arm = (
        '<body name="arm" pos="0.5 0 0" euler="10 20 30">'
        + hinge.format("p", "1 0 0", 'damping="1" ref="15"') + hinge.format("q", "0 1 0", "")
        + '<geom size="0.1"/><body name="hand" pos="0 0 1"><joint name="s" type="ball"/>'
        '<geom size="0.1"/><body name="tip" pos="0 0 1"><joint name="z" type="slide"/>'
        '<geom size="0.1"/></body></body></body>'
    )  # fmt: skip
    text = world(
        f'<body name="base" pos="0 0 1"><freejoint name="root"/><geom size="0.2"/>{arm}</body>',
        '<actuator><motor name="m" joint="q"/></actuator><keyframe><key name="home" ctrl="0.5" '
        'qpos="1 2 3 0.5 0.5 -0.5 0.5  0.3 -0.4  0.8 0.6 0 0  0.25" '
        'qvel="0.1 0.2 0.3 0.4 0.5 -0.6  0.7 -0.8  0.9 1 -1.1  1.2"/></keyframe>',
    )
    mech = load(tmp_path, text)
    model = mech.finalize()
    state = model.keyframe("home")
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    mujoco.mj_resetDataKeyframe(theirs, data, 0)
    mujoco.mj_forward(theirs, data)

    assert "arm behind p" in mech.bodies  # its damper
    assert np.abs(model.constraint_violation(state)).max() < 1e-12
    for name in ("base", "arm", "hand", "tip"):
        x, R = pose_of_frame(mech, state, model, name)
        np.testing.assert_allclose(x, data.body(name).xpos, atol=1e-12)
        np.testing.assert_allclose(R, data.body(name).xmat.reshape(3, 3), atol=1e-12)
        body, rate = theirs.body(name).id, np.zeros(6)  # turning, then moving, world's axes
        mujoco.mj_objectVelocity(theirs, data, mujoco.mjtObj.mjOBJ_BODY, body, rate, 0)
        ours = model.velocities(state)[model.body_number(mech.frames[name].body.name)]
        np.testing.assert_allclose(ours[:3], rate[3:], atol=1e-8)  # of links without mass
        np.testing.assert_allclose(R @ ours[3:], rate[:3], atol=1e-8)
    assert dict(mech.keyframes["home"].commands) == {"m": 0.5}
    with pytest.raises(dy.UnknownNameError, match="there is no keyframe 'x'; keyframes are"):
        model.keyframe("x")


def test_what_a_keyframe_has_beyond_a_posture_is_left_out_by_name(tmp_path, mujoco):
    body = '<body name="b"><joint name="j"/><geom size="0.1"/></body>'
    held = '<body name="held" mocap="true"/>'
    key = '<keyframe><key name="home" qpos="0.3" {}/></keyframe>'
    for more, what in (('mpos="1 2 3"', "mocap bodies of keyframes"),):
        with pytest.warns((UnsupportedElementWarning, MergedLinkWarning)) as caught:
            mech = load(tmp_path, world(body + held, key.format(more)), quiet=False)
        told = [one.message for one in caught]
        unsupported = [one for one in told if isinstance(one, UnsupportedElementWarning)]
        assert any(one.elements.get(what) == ["home"] for one in unsupported)
        model = mech.finalize()
        assert model.joint(model.keyframe("home"), "j")[0] == pytest.approx([0.3])


@pytest.mark.parametrize("kind", ["motor", "position"])
def test_a_joint_s_own_range_of_forces_limits_its_actuator(tmp_path, mujoco, kind):
    # at a gear of 2 a motor's force of 9 is 18 N m at the joint, a servo's command turns half
    joint = '<joint name="j" actuatorfrcrange="-3 5" actuatorfrclimited="true"/>'
    more = {"motor": 'ctrlrange="-9 9" ctrllimited="true"', "position": 'kp="7"'}[kind]
    text = world(
        f'<body name="b">{joint}<geom size="0.1"/></body>',
        f'<actuator><{kind} name="m" joint="j" gear="2" {more}/></actuator>',
    )
    if kind == "motor":
        found = load(tmp_path, text).joints["j"]
        np.testing.assert_allclose(found.control_limits, [[-3.0, 5.0]])
    else:
        found = load(tmp_path, text).joints["j"]
        np.testing.assert_allclose(found.servo.force_limit, [[-1.5, 2.5]])


@pytest.mark.parametrize("gear", [2, -2])
def test_forces_of_servos_that_differ_both_ways_are_those_of_mujoco(tmp_path, mujoco, gear):
    text = world(
        '<body name="b"><joint name="j" axis="0 1 0"/><geom size="0.1" pos="1 0 0"/></body>',
        f'<actuator><position name="m" joint="j" kp="500" gear="{gear}" forcerange="-30 10"/>'
        "</actuator>",
    )
    model = load(tmp_path, text).finalize(1e-3)
    for command in (-1.0, 1.0):  # one is out of reach of its force
        start = model.initial_state()
        motion = dy.simulate(model, start, 0.5, controls=model.controls([command]))
        theirs = mujoco.MjModel.from_xml_string(text)
        theirs.opt.timestep, theirs.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
        data = mujoco.MjData(theirs)
        data.ctrl[:] = command
        mujoco.mj_step(theirs, data, 5000)
        assert motion.joint("j")[-1] == pytest.approx(data.qpos[0], rel=0.02)


def test_constant_forces_of_actuators_are_added_to_commands(tmp_path, mujoco):
    body = '<body name="b"><joint name="j" axis="0 1 0"/><geom size="0.1" pos="1 0 0"/></body>'
    text = world(
        body,
        '<actuator><general name="m" joint="j" gear="2" biastype="affine" biasprm="3 0 0" '
        'gainprm="4" ctrlrange="-1 2" forcerange="-20 9"/></actuator>',
    )
    mech = load(tmp_path, text)
    model = mech.finalize(1e-3)
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)

    assert not mech.report.left_out
    for command in (0.0, 0.5, 2.0, -1.0):
        data.ctrl[:] = command
        mujoco.mj_forward(theirs, data)
        force = np.clip(model.controls([command]), *mech.joints["j"].control_limits[0])
        assert force == pytest.approx(data.qfrc_actuator)


@pytest.mark.parametrize(("kind", "value"), [("hinge", 0.3), ("slide", -0.2)])
def test_a_joint_that_an_equality_locks_is_fixed_there(tmp_path, mujoco, kind, value):
    body = (
        f'<body name="b" pos="0 0 1"><joint name="j" type="{kind}" axis="0 1 0" pos="0.1 0 0"/>'
        '<geom size="0.1" pos="1 0 0"/></body>'
    )
    text = world(body, f'<equality><joint joint1="j" polycoef="{value} 0 0 0 0"/></equality>')
    mech = load(tmp_path, text)
    model = mech.finalize(1e-3)
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    data.qpos[:] = value
    mujoco.mj_forward(theirs, data)

    assert mech.joints["j"].kind == "fixed" and not mech.report.left_out
    x, R = pose_of_frame(mech, model.initial_state(), model, "b")
    np.testing.assert_allclose(x, data.body("b").xpos, atol=1e-12)
    np.testing.assert_allclose(R, data.body("b").xmat.reshape(3, 3), atol=1e-12)


@pytest.mark.parametrize("start", [0.0, 0.5])
@pytest.mark.parametrize(
    "actuator",
    [
        'general joint="j" dyntype="filter" dynprm="0.05" gainprm="3" gear="2"',
        'general joint="j" dyntype="filterexact" dynprm="0.05" gainprm="3" ctrlrange="-1 0.6"',
        'general joint="j" dyntype="integrator" gainprm="9" actlimited="true" actrange="-0.2 0.6"',
        'general tendon="t" dyntype="filter" dynprm="0.1" gainprm="3"',
        'position joint="j" kp="50" kv="1" timeconst="0.05"',
        'intvelocity joint="j" kp="50" kv="1" actrange="-9 9"',
    ],
)
def test_filters_and_integrators_act_on_commands_of_steps(tmp_path, mujoco, actuator, start):
    text = world(
        '<body name="b"><joint name="j" axis="0 1 0"/><geom size="0.1" pos="1 0 0"/></body>',
        '<tendon><fixed name="t"><joint joint="j" coef="2"/></fixed></tendon>'
        f'<actuator><{actuator} name="m"/></actuator><keyframe><key name="k" act="{start}"/>'
        "</keyframe>",
    )
    mech = load(tmp_path, text)
    h, steps = 1e-3, 250
    model = mech.finalize(h)
    commands = np.repeat([0.8, -0.5], 125)[:, None]
    table = model.controls(commands, filtered=True, activations=mech.keyframes["k"].activations)
    motion = dy.simulate(model, model.keyframe("k"), h * steps, controls=table)
    theirs = mujoco.MjModel.from_xml_string(text)
    theirs.opt.timestep, theirs.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(theirs)
    mujoco.mj_resetDataKeyframe(theirs, data, 0)
    for command in commands[:, 0]:
        data.ctrl[:] = command
        mujoco.mj_step(theirs, data, 10)

    assert not mech.report.left_out
    assert list(mech.keyframes["k"].activations) == ["m"]
    # servos are implicit, of first order in the step; MuJoCo's filters in its own, a tenth
    assert motion.joint("j")[-1] == pytest.approx(data.qpos[0], abs=2e-3)
    assert np.abs(motion.joint("j")).max() > 0.01
    plain = model.controls(commands)
    assert np.abs(plain - table).max() > 0.1
    with pytest.raises(ValueError, match="commands of each step"):
        model.controls([0.3], filtered=True)
    with pytest.raises(dy.UnknownNameError, match="'x' is not an actuator"):
        model.controls(commands, filtered=True, activations={"x": 1.0})
