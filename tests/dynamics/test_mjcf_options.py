"""Flags of MJCF's ``<option>``, priorities of geoms, and what came with MuJoCo 4."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.io import UnsupportedElementWarning

from .test_mjcf import load

ROD = '<geom type="capsule" size="0.05" fromto="0 0 0 0.4 0 0" mass="1" contype="0"/>'
ARM = (
    f'<body name="upper"><joint name="j" axis="0 1 0"/>{ROD}<site name="s" pos="0.1 0 0"/>'
    f'<body name="lower" pos="0.4 0 0"><joint name="k" axis="0 1 0"/>{ROD}</body></body>'
    '<site name="t" pos="0 0 0.2"/>'
)


def text_of(bodies, more="", option="<option/>"):
    return f"<mujoco>{option}<worldbody>{bodies}</worldbody>{more}</mujoco>"


def apart(mujoco, tmp_path, text, commands=None, seconds=0.25, **options):
    """Largest difference of poses from MuJoCo's after a motion."""
    try:
        theirs = mujoco.MjModel.from_xml_string(text)
    except ValueError as error:
        pytest.skip(f"this MuJoCo does not know it: {error}")
    mech = load(tmp_path, text, **options)
    model = mech.finalize(1e-3)
    controls = None if commands is None else model.controls(commands)
    motion = dy.simulate(model, model.initial_state(), seconds, controls=controls)
    theirs.opt.timestep, theirs.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(theirs)
    for name, value in (commands or {}).items():
        data.ctrl[theirs.actuator(name).id] = value
    for _ in range(round(seconds / 1e-4)):
        mujoco.mj_step(theirs, data)
    most = 0.0
    for i in range(1, theirs.nbody):
        x, q = motion.frame(theirs.body(i).name)
        turn = np.minimum(abs(q[-1] - data.xquat[i]).max(), abs(q[-1] + data.xquat[i]).max())
        most = max(most, abs(x[-1] - data.xpos[i]).max(), turn)
    return most


def left_out(tmp_path, text):
    """Elements that a warning names."""
    with pytest.warns(UnsupportedElementWarning) as caught:
        load(tmp_path, text, quiet=False)
    return next(
        one.message.elements
        for one in caught
        if issubclass(one.category, UnsupportedElementWarning)
    )


def test_contacts_of_neighbours_are_left_out_by_name(mujoco, tmp_path):
    option = '<option><flag filterparent="disable"/></option>'
    assert left_out(tmp_path, text_of(ARM, option=option)) == {
        "option": ["contacts of neighbours (filterparent)"]
    }


def test_commands_beyond_their_range_count_where_clamping_is_off(mujoco, tmp_path):
    motor = '<actuator><motor name="m" joint="j" gear="2" ctrlrange="-1 1"/></actuator>'
    off = '<option><flag clampctrl="disable"/></option>'

    assert apart(mujoco, tmp_path, text_of(ARM, motor, off), {"m": 2.0}) < 1e-4
    assert apart(mujoco, tmp_path, text_of(ARM, motor), {"m": 2.0}) < 1e-4


@pytest.mark.parametrize(
    "option",
    ['<option><flag actuation="disable"/></option>', '<option actuatorgroupdisable="2"/>'],
)
def test_actuators_that_are_switched_off_do_nothing_and_are_named(mujoco, tmp_path, option):
    servo = '<actuator><position name="m" joint="j" kp="50" group="2"/></actuator>'
    text = text_of(ARM, servo, option)

    assert apart(mujoco, tmp_path, text) < 1e-4
    assert left_out(tmp_path, text) == {"actuators that <option> switches off": ["m"]}


def test_another_group_of_actuators_stays_on(mujoco, tmp_path):
    servo = '<actuator><position name="m" joint="j" kp="50" group="3"/></actuator>'
    text = text_of(ARM, servo, '<option actuatorgroupdisable="2"/>')
    assert list(load(tmp_path, text).actuators) == ["m"]


SLOPE = '<geom name="floor" type="plane" size="5 5 0.1" euler="0 20 0" {}/>'
BLOCK = (
    '<body name="block" pos="0.0684 0 0.188" euler="0 20 0"><freejoint/>'
    '<geom type="box" size="0.1 0.1 0.2"/></body>'
)


@pytest.mark.parametrize("way", [{"ground": True}, {"collide": True}])
@pytest.mark.parametrize(
    ("floor", "option"),
    [
        ('friction="0.05 0 0" priority="1"', "<option/>"),
        ('friction="2 0 0" priority="-1" condim="3"', "<option/>"),
        ('condim="1" priority="1"', "<option/>"),
        ("", '<option o_friction="0.05 0.05 0 0 0"><flag override="enable"/></option>'),
    ],
)
def test_surfaces_of_higher_priority_and_overrides_give_the_friction(
    mujoco, tmp_path, floor, option, way
):
    # friction in MuJoCo creeps by 1e-3 m; the block slides by 0.25 m or stays
    text = text_of(SLOPE.format(floor) + BLOCK, option=option)
    assert apart(mujoco, tmp_path, text, seconds=0.4, **way) < 2e-3


BALLS = "".join(
    f'<body name="{name}" pos="{x} 0 0.15"><freejoint/><geom size="0.1"/></body>'
    for name, x in (("a", 0), ("b", 0.4))
)
STATIC = (
    '<body name="base" pos="0 0 -0.1" euler="0 3 0"><body name="floor" pos="0.1 0 0.1">{}</body>'
    "</body>"
)
FLOORS = {
    "plane": '<geom type="plane" size="1 1 1"/>',
    "height field": '<geom type="hfield" hfield="flat"/>',
    "box": '<geom type="box" size="1 1 0.1" pos="0 0 -0.1"/>',
}
FLAT = '<asset><hfield name="flat" nrow="3" ncol="3" size="1 1 0.1 0.1"/></asset>'


@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.parametrize("excluded", ["floor", "world"])
def test_floors_of_bodies_that_do_not_move_touch(mujoco, tmp_path, floor, excluded):
    # the ball that is excluded falls by 0.31 m; that of the world's own geoms excludes nothing
    more = f'{FLAT}<contact><exclude body1="{excluded}" body2="a"/></contact>'
    text = text_of(STATIC.format(FLOORS[floor]) + BALLS, more)
    ways = [{"collide": True}] + [{"ground": True}] * (floor == "plane")
    for way in ways:
        # contacts of MuJoCo are soft
        assert apart(mujoco, tmp_path, text, **way) < 5e-3
        path = tmp_path / "static.xml"
        path.write_text(text)
        assert not dy.load(path, **way).report.left_out


def test_a_floor_of_yours_has_no_priority(tmp_path, mujoco):
    block = BLOCK.replace("<geom", '<geom priority="-3" friction="0.3 0 0"')
    mech = load(tmp_path, text_of(block), ground=True)
    (contact,) = mech.contacts.values()
    assert contact.friction == 0.3


def test_urdf_files_keep_no_priorities_and_say_so(tmp_path, mujoco):
    block = BLOCK.replace("<geom", '<geom priority="2" friction="0.3 0 0"')
    mech = load(tmp_path, text_of(block))
    with pytest.warns(UnsupportedElementWarning, match="priorities of surfaces: 'block'"):
        dy.save_urdf(mech, tmp_path / "copy.urdf")


@pytest.mark.parametrize(
    "what", ['armature="0.05"', 'damping="0.1"', 'armature="0.02" damping="1"']
)
@pytest.mark.parametrize(
    "actuator",
    [
        '<motor name="m" joint="j" gear="-5" {}/>',
        '<general name="m" joint="j" gear="2" gainprm="4" {}/>',
        '<motor name="m" tendon="fixed" gear="2" {}/>',
        '<motor name="m" tendon="spatial" gear="2" {}/>',
    ],
)
def test_rotors_of_actuators_move_with_their_joints(mujoco, tmp_path, actuator, what):
    tendons = (
        '<tendon><fixed name="fixed"><joint joint="j" coef="1"/><joint joint="k" coef="-2"/>'
        '</fixed><spatial name="spatial"><site site="s"/><site site="t"/></spatial></tendon>'
    )
    text = text_of(ARM, f"{tendons}<actuator>{actuator.format(what)}</actuator>")
    assert apart(mujoco, tmp_path, text, {"m": 0.5}) < 1e-4


def test_a_weld_without_torque_is_a_ball(mujoco, tmp_path):
    bodies = (
        f'<body name="a" pos="0 0 1"><joint axis="0 1 0"/>{ROD}</body>'
        f'<body name="b" pos="0 0 1.5"><freejoint/>{ROD}</body>'
    )
    stiff = 'solref="-1e6 -2e3" solimp="0.9999 0.9999 0.001 0.5 2"'
    weld = f'<equality><weld {stiff} body1="a" body2="b" torquescale="0"/></equality>'
    assert apart(mujoco, tmp_path, text_of(bodies, weld)) < 1e-4


UNNAMED = (
    f'<body name="body 2"><joint name="joint 1" axis="0 1 0"/>{ROD}'
    f'<body pos="0.4 0 0"><joint axis="0 1 0"/>{ROD}</body></body>'
)


def test_elements_without_a_name_take_none_of_the_file(mujoco, tmp_path):
    more = (
        '<actuator><motor joint="joint 1"/><motor name="actuator 0" joint="joint 1"/></actuator>'
        '<sensor><jointpos joint="joint 1"/><jointvel name="sensor 0" joint="joint 1"/></sensor>'
    )
    mech = load(tmp_path, text_of(UNNAMED, more))
    assert list(mech.bodies) == ["body 2", "body 2 2"]
    assert list(mech.joints) == ["joint 1", "joint 1 2"]
    assert list(mech.actuators) == ["actuator 0 2", "actuator 0"]
    assert list(mech.sensors) == ["sensor 0 2", "sensor 0"]


BALL = f'<body name="ball" pos="1 0 0" euler="20 30 40"><joint name="q" type="ball"/>{ROD}</body>'


@pytest.mark.parametrize(
    ("actuator", "kind"),
    [
        ('<motor name="m" jointinparent="q" gear="1 2 3"/>', "actuators of ball joints along axes"),
        ('<motor name="m" joint="j" delay="0.01" nsample="20"/>', "delays of actuators"),
        ('<motor name="m" joint="j" damping="1 2"/>', "polynomial damping of actuators"),
        ('<pid name="m" joint="j" kp="5" ki="1" kv="1"/>', "actuators of type pid"),
        ('<dcmotor name="m" joint="j" motorconst="0.5" resistance="1"/>', "of type dcmotor"),
        ('<orientation name="m" joint="q" kp="5" kv="1"/>', "orientation actuators"),
        ('<adhesion name="m" body="upper" gain="5" ctrlrange="0 1"/>', "adhesion actuators"),
    ],
)
def test_actuators_that_act_in_other_ways_are_left_out_by_name(mujoco, tmp_path, actuator, kind):
    text = text_of(
        ARM + BALL, f'<actuator>{actuator}<motor name="n" joint="k" gear="3"/></actuator>'
    )
    try:
        theirs = mujoco.MjModel.from_xml_string(text)
    except ValueError as error:
        pytest.skip(f"this MuJoCo does not know it: {error}")
    command = " ".join(["0"] * (theirs.nu - 1) + ["7"])
    text = text.replace("</mujoco>", f'<keyframe><key ctrl="{command}"/></keyframe></mujoco>')
    (found,) = [names for key, names in left_out(tmp_path, text).items() if kind in key]
    assert found == ["m"]
    mech = load(tmp_path, text)
    assert mech.keyframes["key 0"].commands["n"] == 7.0  # whatever commands are before
    assert mech.finalize().controls({"n": 2.0})[-1] == 6.0


@pytest.mark.parametrize(
    ("bodies", "more", "kind", "name"),
    [
        (
            ARM.replace('name="j"', 'name="j" stiffness="2" springyield="1"'),
            "",
            "yield of springs",
            "j",
        ),
        (
            ARM,
            '<tendon><spatial name="S" stiffness="9" springyield="1"><site site="s"/>'
            '<site site="t"/></spatial></tendon>',
            "yield of springs",
            "S",
        ),
        (
            SLOPE.format('surfacevel="1 0 0 0 0 0"') + BLOCK,
            "",
            "speeds of surfaces of geoms",
            "floor",
        ),
        (SLOPE.format('adhesion="9"') + BLOCK, "", "adhesion of geoms", "floor"),
        (
            ARM.replace('name="j"', 'name="j" actuatorfrcrange="-1 1"'),
            '<actuator><motor joint="j"/><position joint="j"/></actuator>',
            "ranges of all forces of joints that have a servo and another actuator",
            "j",
        ),
    ],
)  # fmt: skip
def test_what_has_no_counterpart_is_left_out_by_name(mujoco, tmp_path, bodies, more, kind, name):
    text = text_of(bodies, more)
    try:
        mujoco.MjModel.from_xml_string(text)
    except ValueError as error:
        pytest.skip(f"this MuJoCo does not know it: {error}")
    assert left_out(tmp_path, text)[kind] == [name]


@pytest.mark.parametrize("data", ["dist normal", "depth", "point"])
def test_rangefinders_that_read_more_than_distances_are_left_out_by_name(mujoco, tmp_path, data):
    text = text_of(ARM, f'<sensor><rangefinder name="far" site="s" data="{data}"/></sensor>')
    try:
        mujoco.MjModel.from_xml_string(text)
    except ValueError as error:
        pytest.skip(f"this MuJoCo does not know it: {error}")
    assert left_out(tmp_path, text) == {"sensors of type rangefinder": ["far"]}
