"""Joints of files that follow others: URDF's mimic and MJCF's equality of joints."""

import warnings

import numpy as np
import pytest

import dynamics as dy
from dynamics.io import UnsupportedElementWarning

from .robots import joint, link, load, robot
from .test_couplings import accelerations, reduced

#: A hand of two fingers of two bones each behind a wrist; one motor's worth of freedom a finger.
GRIPPER = robot(
    link("base"), link("hand", 0.5, (0.05, 0, 0.02)),
    *(link(f"{side}{i}", 0.2, (0.1, 0.01, 0), inertia=(1e-3, 1.5e-3, 2e-3))
      for side in "lr" for i in (1, 2)),
    joint("wrist", "continuous", "base", "hand", (0, 0, 1), (0.3, 0.1, 0), (0, 1, 0)),
    joint("l1", "continuous", "hand", "l1", (0.1, 0.05, 0), (0.2, 0.1, 0.4), (0, 0, 1)),
    joint("l2", "continuous", "l1", "l2", (0.2, 0, 0), (0, 0.3, 0), (0, 0, 1),
          more='<mimic joint="l1" multiplier="0.8" offset="0.1"/>'),
    joint("r1", "continuous", "hand", "r1", (0.1, -0.05, 0), (0.1, 0.1, -0.4), (0, 0, -1),
          more='<mimic joint="l1"/>'),
    joint("r2", "prismatic", "r1", "r2", (0.2, 0, 0), (0.5, 0.3, 0), (1, 0, 0),
          more='<mimic joint="r1" multiplier="-0.05"/>'),
)  # fmt: skip


def test_mimic_joints_of_urdf_accelerate_as_the_reduced_equations_say(tmp_path):
    mechanism = load(tmp_path, GRIPPER, base="fixed")
    bare = load(tmp_path, GRIPPER, base="fixed")
    bare.couplings.clear()
    q = 0.3
    values = {"wrist": 0.4, "l1": q, "l2": 0.8 * q + 0.1, "r1": q, "r2": -0.05 * q}

    wanted = reduced(bare, mechanism.couplings.values(), values)

    found = accelerations(mechanism, values)
    # extrapolated: h^4 of the motion's scale, and round-off 1e-13 / h
    np.testing.assert_allclose(found, wanted, atol=1e-6 * np.abs(wanted).max())


def test_a_motor_for_all_joints_is_none_of_followers(tmp_path):
    for motor in (True, dy.PositionServo(300.0, 8.0)):
        mechanism = load(tmp_path, GRIPPER, base="fixed", actuated=motor)
        assert list(mechanism.finalize(0.005).tables.control_start) == ["wrist", "l1"]
    # a servo on a follower, whose target is 0, would hold the leader half way
    model = mechanism.finalize(0.005)
    start = model.assemble(model.initial_state())
    motion = dy.simulate(model, start, 2.0, controls={"l1": 0.4})
    gravity = dy.variant(model, {"gravity": (0, 0, 0)})
    free = dy.simulate(gravity, start, 2.0, controls={"l1": 0.4})
    assert free.joint("l1")[-1] == pytest.approx(0.4, abs=1e-3)
    assert free.joint("r1")[-1] == pytest.approx(0.4, abs=1e-3)
    assert motion.joint("r1")[-1] == pytest.approx(motion.joint("l1")[-1], abs=1e-9)

    named = load(tmp_path, GRIPPER, base="fixed", actuated=["l1", "r1"])
    assert list(named.finalize(0.005).tables.control_start) == ["l1", "r1"]


def test_urdf_written_and_read_again_has_its_couplings(tmp_path):
    mechanism = load(tmp_path, GRIPPER, base="fixed")
    dy.save_urdf(mechanism, tmp_path / "copy.urdf")
    again = dy.load(tmp_path / "copy.urdf", base="fixed")

    def told(one):
        return {(c.leader, c.follower, c.ratio, c.offset) for c in one.couplings.values()}

    assert told(again) == told(mechanism) and len(told(again)) == 3


def test_a_second_coupling_of_a_joint_is_no_urdf(tmp_path):
    mechanism = load(tmp_path, GRIPPER, base="fixed")
    extra = mechanism.add_coupling(mechanism.joints["wrist"], mechanism.joints["l2"], name="more")
    with pytest.warns(UnsupportedElementWarning, match=str(extra.name)):
        dy.save_urdf(mechanism, tmp_path / "copy.urdf")


@pytest.mark.parametrize(
    ("factor", "kept"), [(-1.0, False), (1.0, True), (0.5, True)]  # as PR2's grippers have it
)  # fmt: skip
def test_limits_that_leave_a_follower_one_place_are_left_out(tmp_path, factor, kept):
    limit = '<limit lower="0" upper="0.5"/>'
    follow = f'<mimic joint="j" multiplier="{factor}"/>' + limit
    text = robot(
        link("a"), link("b"), link("c"), joint("j", "revolute", "a", "b", more=limit),
        joint("k", "revolute", "a", "c", axis=(1, 0, 0), more=follow),
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mechanism = load(tmp_path, text, quiet=False)
    left_out = [one.message.elements for one in caught]

    said = {"limits of followers that those of leaders exclude": ["k"]}
    assert left_out == ([] if kept else [said])
    assert (mechanism.joints["k"].limits is not None) == kept
    model = mechanism.finalize(0.01)
    motion = dy.simulate(model, model.initial_state(), 0.1)
    assert abs(motion.joint("k") - factor * motion.joint("j")).max() < 1e-9


@pytest.mark.parametrize(
    ("kind", "follow", "said"),
    [
        ("revolute", 'joint="j" multiplier="0"', "mimic (needs two joints that move, and a mu"),
        ("revolute", 'joint="k"', "mimic (needs two joints of one axis)"),
        ("floating", 'joint="j"', "mimic (needs two joints of one axis)"),
    ],
)
def test_a_mimic_that_couples_nothing_is_left_out_by_name(tmp_path, kind, follow, said):
    limit = '<limit lower="0" upper="0.5"/>'
    text = robot(
        link("a"), link("b"), link("c"), joint("j", "revolute", "a", "b", more=limit),
        joint("k", kind, "a", "c", axis=(1, 0, 0), more=f"<mimic {follow}/>{limit}"),
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mechanism = load(tmp_path, text, quiet=False)
    left_out = [one.message.elements for one in caught if hasattr(one.message, "elements")]

    assert any(what.startswith(said) and k == ["k"] for one in left_out for what, k in one.items())
    assert not mechanism.couplings


MJCF = """<mujoco><compiler angle="radian"/><option timestep="1e-4"/><worldbody>
<body name="a" pos="0 0 1"><joint name="p" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 .5 0 0" size="0.05"/>
  <body name="b" pos=".5 0 0"><joint name="q" axis="0 .6 .8"/>
    <geom type="capsule" fromto="0 0 0 .4 .1 0" size="0.04"/>
    <body name="c" pos=".4 .1 0"><joint name="s" type="slide" axis="1 0 0"/>
      <geom type="box" size=".1 .05 .05"/></body></body></body>
</worldbody><equality>
  <joint joint1="q" joint2="p" polycoef="0 -0.7" solref="0.0005 1" solimp="0.9999 0.9999 0.001"/>
  <joint joint1="s" joint2="q" polycoef="0 0.3" solref="0.0005 1" solimp="0.9999 0.9999 0.001"/>
</equality></mujoco>"""


def test_equalities_of_mjcf_accelerate_as_in_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo (the extra mjcf) is not installed")
    path = tmp_path / "robot.xml"
    path.write_text(MJCF)
    values = {"p": 0.2, "q": -0.14, "s": -0.042}
    theirs = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(theirs)
    data.qpos[:] = list(values.values())
    mujoco.mj_forward(theirs, data)
    mechanism, bare = dy.load(path), dy.load(path)
    bare.couplings.clear()

    found = accelerations(mechanism, values)

    assert len(mechanism.couplings) == 2
    wanted = reduced(bare, mechanism.couplings.values(), values)
    np.testing.assert_allclose(found, wanted, atol=1e-6 * np.abs(wanted).max())
    # MuJoCo's equalities are soft: 1 - 0.9999 of what they should hold is let through
    np.testing.assert_allclose(data.qacc, found, atol=1e-3 * np.abs(found).max())


# Where they start


def follows(leader, multiplier, offset):
    """Text of a <mimic>."""
    return f'<mimic joint="{leader}" multiplier="{multiplier}" offset="{offset}"/>'


def test_followers_start_where_their_leaders_at_0_put_them_and_the_base_stays(tmp_path):
    # Fingers on a hand that floats: b = -2 a + 0.3 and c = b + 0.1 are 0.3 and 0.4 for a = 0.
    mimics = ["", follows("a", -2.0, 0.3), follows("b", 1.0, 0.1)]
    parts = [
        text
        for name, more in zip("abc", mimics)
        for text in (link(f"{name} tip", xyz=(0.2, 0, 0.1)),
                     joint(name, "continuous", "hand", f"{name} tip", more=more))
    ]  # fmt: skip
    mech = load(tmp_path, robot(link("hand"), *parts), position=(0.1, 0.2, 0.3))
    model = mech.finalize()
    state = model.initial_state()

    hand = state.pose[model.body_number("hand")]
    np.testing.assert_array_equal(hand, [0.1, 0.2, 0.3, 1, 0, 0, 0])
    for name, q in zip("abc", (0.0, 0.3, 0.4)):
        assert model.joint(state, name)[0] == pytest.approx(q, abs=1e-15)


def test_leaders_start_next_to_0_where_limits_of_their_followers_hold(tmp_path):
    # 0.5 <= b = -2 a <= 1 asks for -0.5 <= a <= -0.25; the leader's own limits allow all of it.
    def limits(low, high):
        return f'<limit lower="{low}" upper="{high}"/>'

    leads, led = limits(-1, 1), limits(0.5, 1) + follows("a", -2.0, 0.0)
    text = robot(link("hand"), link("a tip"), joint("a", "revolute", "hand", "a tip", more=leads),
                 link("b tip"), joint("b", "revolute", "hand", "b tip", more=led))  # fmt: skip
    model = load(tmp_path, text).finalize()
    state = model.initial_state()

    assert model.joint(state, "a")[0] == pytest.approx(-0.25, abs=1e-15)
    assert model.joint(state, "b")[0] == pytest.approx(0.5, abs=1e-15)
    assert not state.pose[model.body_number("hand"), :3].any()
