"""Links without mass between joints of a robot file: one joint, or hinges that stay."""

import warnings

import numpy as np
import pytest

import dynamics as dy
from dynamics.io import MergedLinkWarning, massless
from dynamics.kinematics import loop_closure
from dynamics.tables.trace_links import chain_mobilities

from . import sdf
from .robots import falling, joint, link, load, moved, pose_of_frame, robot

AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "s": (0.6, 0, 0.8)}
LIMIT = '<limit lower="-1" upper="{}" effort="5" velocity="{}"/><dynamics damping="{}"/>'


def chain(axes, kinds="continuous", offset=(0, 0, 0), more=None, last=1.0):
    """Base on the world, hinges about the axes with massless links between, and a rod."""
    names = ["base", *(f"m{k}" for k in range(1, len(axes))), "rod"]
    parts = [link("base", 2.0), link("rod", last, (0.1, 0.2, 0.3))]
    parts += [link(name, mass=0) for name in names[1:-1]]
    for k, axis in enumerate(axes):
        place = ((0.3, 0.1, 0.2), (0.1, 0.2, 0.3)) if k == 0 else (offset, (0, 0, 0))
        extra = "" if more is None else more.format(k + 1, k + 2, 0.1 * (k + 1))
        parts.append(joint("abcd"[k], kinds, names[k], names[k + 1], *place, AXES[axis], extra))
    return robot(*parts)


def test_two_hinges_that_meet_squarely_are_a_cross_with_the_limits_of_both(tmp_path):
    text = chain("xy", "revolute", more=LIMIT)
    with pytest.warns(MergedLinkWarning, match=r"hinges that are one joint now: 'a\+b'"):
        mech = load(tmp_path, text, quiet=False)
    made = mech.joints["a+b"]

    assert list(mech.bodies) == ["base", "rod"] and made.kind == "universal"
    np.testing.assert_array_equal(made.limits, [[-1, 1], [-1, 2]])
    np.testing.assert_array_equal(made.velocity_limits, [[-2, 2], [-3, 3]])
    np.testing.assert_array_equal(made.damping, [0.1, 0.2])


@pytest.mark.parametrize("axes", ["xy", "zx", "sy"])
def test_a_cross_moves_as_its_hinges(tmp_path, axes):
    at = {"a": 0.3, "b": -0.7}
    cross = load(tmp_path, chain(axes)).finalize()
    hinges = load(tmp_path, chain(axes), least_radius=1e-4).finalize()
    one, other = moved(cross, {"a+b": list(at.values())}), moved(hinges, at)

    for x, y in zip(*(pose_of_frame(m.mechanism, s, m, "rod")
                      for m, s in ((cross, one), (hinges, other)))):  # fmt: skip
        np.testing.assert_allclose(x, y, atol=1e-12)
    ball = slice(6, 12)  # base, ball, rod
    fall = np.delete(falling(hinges, other), ball)
    np.testing.assert_allclose(falling(cross, one), fall, atol=1e-6)


def test_three_free_hinges_that_meet_are_a_ball_joint(tmp_path):
    mech = load(tmp_path, chain("xyz"))

    assert list(mech.bodies) == ["base", "rod"]
    assert mech.joints["a+b+c"].kind == "spherical"
    model = mech.finalize()
    x, R = pose_of_frame(mech, model.initial_state(), model, "rod")
    hinges = load(tmp_path, chain("xyz"), least_radius=1e-4)
    y, S = pose_of_frame(hinges, hinges.finalize().initial_state(), hinges.finalize(), "rod")
    np.testing.assert_allclose(x, y, atol=1e-14)
    np.testing.assert_allclose(R, S, atol=1e-14)


@pytest.mark.parametrize(
    ("axes", "options"),
    [
        ("xyz", {"kinds": "revolute", "more": LIMIT}),  # a ball joint has no limits of hinges
        ("xs", {}),  # not perpendicular
        ("xy", {"offset": (0.1, 0, 0.2)}),  # they do not meet
        ("xx", {"offset": (0, 0.1, 0)}),  # parallel, but apart
    ],
)
def test_other_hinges_stay_and_fall_as_with_small_balls(tmp_path, axes, options):
    text = chain(axes, **options)
    with pytest.warns(MergedLinkWarning, match="got 1e-07 of the next one's: 'm1'"):
        mech = load(tmp_path, text, quiet=False)
    model = mech.finalize()
    at = dict(zip("abc", (0.3, -0.4, 0.5)[: len(axes)]))
    balls = load(tmp_path, text, least_radius=1e-4).finalize()

    assert list(mech.joints) == list(at)
    assert mech.mass == pytest.approx(3.0, rel=1e-7)  # up to two links, of 1e-7 kg each
    # the balls have 4e-9 kg, the body 1 kg
    np.testing.assert_allclose(
        falling(model, moved(model, at)), falling(balls, moved(balls, at)), atol=1e-5
    )


def test_hinges_with_motors_keep_their_names_and_controls(tmp_path):
    mech = load(tmp_path, chain("xyz", "revolute", more=LIMIT), actuated=["b"])

    assert [name for name, one in mech.joints.items() if one.actuated] == ["b"]
    np.testing.assert_array_equal(mech.joints["c"].limits, [[-1, 3]])
    np.testing.assert_array_equal(mech.joints["b"].control_limits, [[-5, 5]])


@pytest.mark.parametrize("text", [chain("xx"), chain("xyzx"), chain("xy", last=0)])
def test_links_whose_place_nothing_determines_are_refused_by_name(tmp_path, text):
    with pytest.raises(ValueError, match=r"link '(m1|rod)' moves and has no mass"):
        load(tmp_path, text)


def test_rates_of_hinges_between_massless_links_can_be_asked_for(tmp_path):
    model = load(tmp_path, chain("xyz", "revolute", more=LIMIT), base="fixed").finalize()
    rates = {"a": 1.0, "b": -2.0, "c": 3.0}
    state = model.assemble(model.initial_state(), {"a": 0.1, "b": 0.2, "c": 0.3}, rates)

    motion = dy.simulate(model, state, 0.0)
    for name, rate in rates.items():
        assert motion.joint_velocity(name)[0] == pytest.approx(rate, abs=1e-7)


def test_the_trace_of_mass_makes_no_difference(tmp_path, monkeypatch):
    ends = []
    traces = np.array([massless.TRACE, 1e-9, 1e-12])
    for trace in traces:
        monkeypatch.setattr(massless, "TRACE", trace)
        text = chain("xyz", "revolute", more=LIMIT)
        model = load(tmp_path, text, base="fixed", without="limits").finalize(1e-3)
        state = model.initial_state()
        for name, rate in zip("abc", (1.0, -2.0, 3.0)):
            model.set_joint(state, name, 0.0, rate)
        motion = dy.simulate(model, state, 0.3)
        assert motion.constraint_violation().max() < 1e-12
        ends.append(motion.final.pose[-1])

    apart = np.abs(np.subtract(ends, ends[-1])).max(axis=1)
    assert (apart <= traces + 1e-10).all()  # rounding of 300 steps


@pytest.mark.parametrize("servo", [dy.VelocityServo(2.0), dy.PositionServo(10.0, 1.0)])
def test_servos_between_links_without_mass_leave_newtons_steps_their_digits(tmp_path, servo):
    mech = load(tmp_path, chain("xyz"), base="fixed", actuated={"b": servo})
    model = mech.finalize(2e-3)
    state = model.initial_state()
    for name, rate in zip("abc", (1.0, -2.0, 3.0)):
        model.set_joint(state, name, 0.1, rate)
    motion = dy.simulate(model, state, 0.3, controls=[0.5])

    assert motion.info["intervals"] == motion.info["steps"] == 150
    assert motion.info["iterations"] < 300  # one per step and a few; 360 with a trace of 1e-9


CART = (0.0, 1e-20, 1e-6)  # moments, kg m^2: none, what files write for none, and some


def test_point_masses_get_a_trace_of_inertia_that_makes_no_difference(tmp_path):
    ends = []
    for moment in CART:
        parts = [link("cart", 10.0, inertia=(moment,) * 3)]
        parts.append(link("pole", 1.0, (0, 0, -0.5), inertia=(moment,) * 3))
        parts.append(joint("slide", "prismatic", "world", "cart", axis=(1, 0, 0)))
        parts.append(joint("pin", "continuous", "cart", "pole", axis=(0, 1, 0)))
        mechanism = load(tmp_path, robot(link("world", mass=0), *parts))
        model = mechanism.finalize(0.01)
        state = model.initial_state()
        model.set_joint(state, "pin", 0.5)
        ends.append(dy.simulate(model, state, 1.0).final.pose)
        points = ["cart", "pole"] if moment < 1e-10 else []
        named = mechanism.report.changed.get("point masses that got an inertia of 1e-08 m r^2", [])
        assert named == points

    # The pole moves as a point on its rod: 1e-6 kg m^2 against m l^2 = 0.25 kg m^2 is 4e-6 of it.
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)
    np.testing.assert_allclose(ends[0], ends[2], atol=4e-6)


def test_point_masses_that_turn_about_themselves_are_refused(tmp_path):
    text = robot(
        link("base"), link("bob", 1.0, inertia=(0, 0, 0)),
        joint("j", "spherical", "base", "bob", (0, 0, 1)),
    )  # fmt: skip
    with pytest.raises(ValueError, match="link 'bob' moves and has no inertia about some axis"):
        load(tmp_path, text)


@pytest.mark.parametrize("damping", [0.0, 1e3])
def test_loops_through_massless_links_close(tmp_path, mujoco, damping):
    # a base on three slides, as that of gymnasium's Fetch, with an arm whose hand a weld holds
    slides = "".join(
        f'<joint name="s{k}" type="slide" axis="{axis}" damping="{damping}" armature="1e-4"/>'
        for k, axis in enumerate(("1 0 0", "0 1 0", "0 0 1"))
    )
    arm, close = "", ""
    for k, axis in enumerate(("0 0 1", "0 1 0", "1 0 0", "0 1 0", "1 0 0", "0 1 0", "0 0 1")):
        arm += (
            f'<body name="l{k}" pos="0.1 0.05 0.1"><joint name="h{k}" axis="{axis}" damping="5"/>'
            '<geom type="box" size="0.05 0.04 0.05"/>'
        )
        close += "</body>"
    text = (
        '<mujoco><worldbody><body name="hand" mocap="true" pos="0.7 0.35 1.0"><geom size="0.02"/>'
        f'</body><body name="base" pos="0 0 0.3">{slides}<geom type="box" size="0.2 0.2 0.2"/>'
        f'{arm}{close}</body></worldbody><equality><weld body1="hand" body2="l6" '
        'relpose="0 0 0 1 0 0 0"/></equality></mujoco>'
    )
    path = tmp_path / "robot.xml"
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dy.io.LoadWarning)
        mech = dy.load(path)
    model = mech.finalize(1e-3)
    motion = dy.simulate(model, model.initial_state(), 0.2)

    assert len(mech.bodies) == 11 and len(model.tables.cycles) == 1
    assert np.abs(motion.constraint_violation()).max() < 1e-10
    assert min(np.ptp(motion.joint(f"s{k}")) for k in range(3)) > 0.01


@pytest.mark.parametrize("tiny", [1e-10, 1e-13, 1e-16])
def test_rates_of_joints_with_rotors_and_massless_links_are_kept(tiny):
    mech = dy.Mechanism()
    bodies = [
        mech.add_body(mass=mass, inertia=[0.1 * mass] * 3, name=name)
        for name, mass in (("a", tiny), ("b", tiny), ("c", 1.0))
    ]
    ends = [mech.world, *bodies]
    for name, axis, one, other in zip("pqr", np.eye(3), ends, ends[1:]):
        mech.add_joint(dy.Revolute(one, other, axis, name=name, armature=0.1))
    model = mech.finalize()
    state = model.initial_state()
    for name, rate in zip("pqr", (1.0, 2.0, 3.0)):
        model.set_joint(state, name, 0.1, rate)  # of momenta that M^-1 cannot tell

    rates = [model.joint(state, name)[1][0] for name in "pqr"]
    assert rates == pytest.approx([1.0, 2.0, 3.0], rel=1e-7)


@pytest.mark.parametrize("timestep", [2e-3, 5e-4, 2e-4])
@pytest.mark.parametrize("springs", ["", 'stiffness="10"', 'stiffness="10" armature="0.02"'])
def test_a_trunk_with_limbs_on_three_hinges_each_falls(tmp_path, mujoco, springs, timestep):
    # forces of joints over a trace of mass, times rounding, are more than the tolerance
    limbs, motors = "", ""
    for name, y, z in (("l", 0.1, -0.04), ("r", -0.1, -0.04), ("a", 0.15, 0.2), ("b", -0.15, 0.2)):
        hinges = "".join(
            f'<joint name="{name}{axis}" axis="{way}" pos="0 0 {height}" {springs}/>'
            for axis, way, height in zip("xyz", ("1 0 0", "0 1 0", "0 0 1"), (0.0, 0.0, 0.03))
        )
        limbs += (
            f'<body name="{name}" pos="0 {y} {z}">{hinges}<geom type="capsule" '
            f'fromto="0 0 0 0 0.01 -0.3" size="0.05"/><body pos="0 0.01 -0.35">'
            f'<joint name="{name}k" axis="0 1 0" {springs}/>'
            '<geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.04"/></body></body>'
        )
        motors += f'<motor joint="{name}x"/>'
    path = tmp_path / "robot.xml"
    path.write_text(
        '<mujoco><worldbody><body pos="0 0 1.4"><freejoint name="root"/><geom type="capsule" '
        'fromto="0 -.07 0 0 .07 0" size="0.07"/><geom size="0.09" pos="0 0 0.2"/>'
        f"{limbs}</body></worldbody><actuator>{motors}</actuator></mujoco>"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dy.io.LoadWarning)
        mech = dy.load(path)
    model = mech.finalize(timestep)
    state = model.initial_state()
    for name in ("ly", "ry", "lk", "rk", "ax", "bz"):
        model.set_joint(state, name, -0.7)
    motion = dy.simulate(model, state, 0.05)

    assert sum(" behind " in str(name) for name in mech.bodies) == 8
    assert np.abs(motion.constraint_violation()).max() < 1e-11
    masses = np.array([one.mass for one in mech.bodies.values()])
    height = masses @ (motion.final.pose[:, 2] - motion[0].pose[:, 2]) / masses.sum()
    assert height == pytest.approx(-0.5 * 9.81 * 0.05**2, abs=1e-8)


def test_links_that_carry_a_frame_stay_between_their_hinges(tmp_path):
    # As URDF the two hinges are one cross; in SDF a frame is attached to the link between.
    parts = [sdf.link("a"), sdf.link("b", 0.0, (0, 0, 0)), sdf.link("c")]
    hinges = [sdf.joint("j", "revolute", "a", "b", "1 0 0"),
              sdf.joint("k", "revolute", "b", "c", "0 1 0")]  # fmt: skip
    mech = sdf.load(tmp_path, sdf.model(*parts, *hinges))
    assert list(mech.joints) == ["j+k"]

    frame = '<frame name="mark" attached_to="b"><pose>0 0 0.1 0 0 0</pose></frame>'
    mech = sdf.load(tmp_path, sdf.model(*parts, *hinges, frame))
    assert list(mech.joints) == ["j", "k"]
    model = mech.finalize()
    state = model.initial_state()
    model.set_joint(state, "j", np.pi / 2)
    model.set_joint(state, "k", 1.0)
    position = pose_of_frame(mech, state, model, "mark")[0]
    np.testing.assert_allclose(position, [0, -0.1, 0], atol=1e-15)


def damped(kinds="continuous", damping=0.3, **options):
    """A rod on two damped hinges that pass each other, with a massless link between."""
    more = f'<dynamics damping="{damping}"/>'
    text = robot(
        link("m", mass=0), link("rod", 1.5, (0.1, 0.2, -0.4), (0.1, 0.2, 0.3)),
        joint("a", kinds, "base", "m", (0.3, 0.1, 0.2), (0.1, 0.2, 0.3), AXES["x"], more),
        joint("b", kinds, "m", "rod", (0.1, 0, 0.05), axis=AXES["y"], more=more),
        link("base", mass=0),
    )  # fmt: skip
    return lambda tmp_path: load(tmp_path, text, base="fixed", **options)


def test_dampers_meet_the_inertia_at_the_ends_of_a_chain(tmp_path):
    # Held by the world, hinges about x and y cross 0.5 m above the centre of a body.
    mech = dy.Mechanism()
    body = mech.add_body(mass=2.0, inertia=[0.3, 0.4, 0.5], name="body")
    tiny = mech.add_body(mass=1e-7, inertia=[1e-8] * 3, name="tiny")
    mech.add_joint(dy.Revolute(mech.world, tiny, (1, 0, 0), name="a"))
    hinge = {"child_point": (0, 0, 0.5), "armature": 0.1, "name": "b"}
    mech.add_joint(dy.Revolute(tiny, body, (0, 1, 0), **hinge))
    found = chain_mobilities(mech.bodies.values(), mech.joints.values())

    expected = {"a": 1 / (0.3 + 2.0 * 0.5**2), "b": 1 / (0.4 + 2.0 * 0.5**2 + 0.1)}
    assert found == pytest.approx(expected, rel=1e-12)

    # Backwards, with a turned frame, a slide, and both ends free: with the slide along z and the
    # hinge about x through both centres the inertias are the reduced ones, m M / (m + M) and so on.
    mech = dy.Mechanism()
    one = mech.add_body(mass=2.0, inertia=[0.3, 0.4, 0.5], name="one")
    two = mech.add_body(mass=3.0, inertia=[0.6, 0.6, 0.6], name="two")
    tiny = mech.add_body(mass=1e-7, inertia=[1e-8] * 3, name="tiny")
    turn = (np.sqrt(0.5), 0, 0, np.sqrt(0.5))  # x of tiny is y of one
    mech.add_joint(dy.Revolute(tiny, one, (0, -1, 0), orientation=turn, name="a"))
    mech.add_joint(dy.Prismatic(tiny, two, (0, 0, 1), name="b"))
    found = chain_mobilities(mech.bodies.values(), mech.joints.values())
    assert found == pytest.approx({"a": 1 / 0.3 + 1 / 0.6, "b": 1 / 2.0 + 1 / 3.0}, rel=1e-12)


def test_damped_hinges_of_a_massless_link_have_the_order_of_the_method(tmp_path):
    mech = damped()(tmp_path)
    ends = []
    for step, order in ((0.02, 2), (0.01, 2), (0.005, 2), (0.005, 4)):
        model = mech.finalize(step, order=order)
        assert model.stiff == ()
        state = model.initial_state()
        model.set_joint(state, "a", 0.5, 1.0)
        ends.append(dy.simulate(model, state, 1.0).final.pose[model.body_number("rod")])
    errors = [np.abs(one - ends[-1]).max() for one in ends[:-1]]
    assert errors[0] < 1e-3
    for coarse, fine in zip(errors, errors[1:]):
        assert np.log2(coarse / fine) == pytest.approx(2.0, abs=0.1)

    stiff = damped(damping=300.0)(tmp_path).finalize(0.02).stiff  # of the rod itself
    assert stiff == ("damper of joint 'a'", "damper of joint 'b'")


def test_velocities_of_links_without_mass_fulfil_their_joints_where_contacts_act(tmp_path):
    # factors of the projection had no digits next to the floor: rates of joints were 0.7 m/s
    can = '<origin xyz="0 0.1 0"/><geometry><cylinder radius="0.05" length="0.08"/></geometry>'
    slide = '<limit lower="-0.56" upper="1.47"/><dynamics damping="0.27"/>'
    text = robot(
        link("trunk", 2.9, inertia=(0.2, 0.25, 0.3)),
        link("slide", 1.6, inertia=(0.25, 0.17, 0.23)), link("light", 0),
        link("fork", 1.8, (-0.07, -0.12, 0.03), (0, -1.57, 0), (0.15, 0.19, 0.07)),
        link("tip", 0.86, (-0.1, -0.19, 0.04), (0, 1.57, 0.3), (0.09, 0.1, 0.09),
             f"<collision>{can}</collision>"),
        joint("a", "prismatic", "trunk", "slide", (0.1, 0.2, -0.1), (0.3, 1.0, -0.7),
              (0.7, -2.35, -0.06), slide),
        joint("b", "revolute", "slide", "light", (-0.23, -0.38, -0.32), (-1.52, 3.08, -1.34),
              (-1, 0, 0), '<limit lower="-1.68" upper="2.32"/>'),
        joint("c", "continuous", "light", "fork", (-0.23, -0.26, -0.24), (0, 1.57, 0.3),
              (-0.2, -1, 0)),
        joint("d", "fixed", "fork", "tip"),
    )  # fmt: skip
    floor = dy.HalfSpace((0, 0, 1), (0, 0, -1.1))
    model = load(tmp_path, text, collide=True, ground=floor).finalize(0.005)
    motion = dy.simulate(model, dy.separate(model, model.initial_state()), 0.5)

    for k in range(len(motion)):
        G = loop_closure.equations(model, motion[k], {})[1]
        assert np.abs(G @ motion.twists[k]).max() < 1e-6
    energy = motion.energy()
    assert (np.diff(energy) < 1e-6 * np.ptp(energy)).all()
