"""Tendons around spheres, cylinders and rings, and over pulleys."""

import math
import pickle

import numpy as np
import pytest

import dynamics as dy
from dynamics.errors import UnknownNameError

from .test_mjcf import load, world


def three(gravity=(0, 0, 0), joints=False):
    """Free bodies a and b with a tendon's ends, and g with what it runs around."""
    mech = dy.Mechanism(gravity)
    for name, x in (("a", -2.0), ("g", 0.0), ("b", 2.0)):
        mech.add_body(mass=1.0, inertia=[0.3, 0.2, 0.25], name=name, position=(x, 0, 0))
    return mech


def length(mech, poses=None, name="t"):
    """Length of a tendon where bodies are at poses (7,) by name."""
    model = mech.finalize(1e-3)
    state = model.initial_state()
    for body, pose in (poses or {}).items():
        model.set_body(state, body, position=pose[:3], orientation=pose[3:])
    return model.joint(state, name)[0][0]


ENDS = ("a", (0, 0, 0)), ("b", (0, 0, 0))


def around(wrap, ends=ENDS):
    return [ends[0], wrap, ends[1]]


@pytest.mark.parametrize("side", [None, (0, 3, 0), (0, -3, 0.1)])
@pytest.mark.parametrize("axis", [None, (0, 0, 1), (0, 0, -2)])
def test_a_path_over_the_middle_of_a_ball_or_cylinder_by_hand(axis, side):
    # tangents from 2 m off a circle of 1 m: sqrt(3), at 60 degrees; the arc left is 60 degrees
    mech = three()
    mech.add_tendon(path=around(dy.Wrap("g", 1.0, axis=axis, side=side)), name="t")
    assert length(mech) == pytest.approx(2 * math.sqrt(3) + math.pi / 3, abs=1e-14)


def test_a_path_on_a_cylinder_is_a_helix_and_one_that_misses_is_straight():
    mech = three()
    wrap = dy.Wrap("g", 1.0, axis=(0, 0, 1))
    mech.add_tendon(path=around(wrap, (("a", (0, 0, -0.5)), ("b", (0, 0, 1.0)))), name="t")
    mech.add_tendon(path=around(wrap, (("a", (0, 1.2, 0)), ("b", (0, 1.1, 0)))), name="over")
    flat = 2 * math.sqrt(3) + math.pi / 3
    assert length(mech) == pytest.approx(math.hypot(flat, 1.5), abs=1e-14)
    assert length(mech, name="over") == pytest.approx(math.hypot(4.0, 0.1), abs=1e-14)


def test_a_side_keeps_the_path_there_though_the_straight_one_is_free():
    # both ends 1.2 m below the centre: the way over the top goes about the ball
    mech = three()
    ends = ("a", (0, -1.2, 0)), ("b", (0, -1.2, 0))
    mech.add_tendon(path=around(dy.Wrap("g", 1.0, side=(0, 2, 0)), ends), name="t")
    reach = math.hypot(2.0, 1.2)
    spread = 2 * math.pi - 2 * math.atan2(2.0, 1.2)  # over the top, from end to end
    arc = spread - 2 * math.acos(1 / reach)
    assert length(mech) == pytest.approx(2 * math.sqrt(reach**2 - 1) + arc, abs=1e-13)


def test_a_side_that_the_path_does_not_enclose_the_centre_with_leaves_it_straight():
    # from 39 degrees below x up to y and back to 23 degrees below x: no turn about the centre
    mech = three()
    ends = ("a", (3.5, -1.2, 0)), ("b", (1, -1.3, 0))
    mech.add_tendon(path=around(dy.Wrap("g", 1.0, side=(0, 2, 0)), ends), name="t")
    assert length(mech) == pytest.approx(math.hypot(1.5, 0.1), abs=1e-14)


def test_a_path_turns_as_the_one_by_its_side_does():
    # arc of (18): what the turn of p -> side -> q leaves between the tangent points
    rng = np.random.default_rng(0)
    wrapped = 0
    for _ in range(100):
        p, q, side = rng.uniform(-3, 3, (3, 2))
        if min(map(np.linalg.norm, (p, q, side))) < 1.0:
            continue
        mech = three()
        ends = ("a", (*(p - [-2, 0]), 0)), ("b", (*(q - [2, 0]), 0))
        wrap = dy.Wrap("g", 1.0, axis=(0, 0, 1), side=(*side, 0))
        mech.add_tendon(path=around(wrap, ends), name="t")
        line = np.concatenate([np.linspace(p, side, 2000), np.linspace(side, q, 2000)])
        turn = np.unwrap(np.arctan2(line[:, 1], line[:, 0]))[[0, -1]] @ [-1, 1]
        reach = np.linalg.norm(p), np.linalg.norm(q)
        arc = abs(turn) - sum(math.acos(1 / one) for one in reach)
        wanted = np.linalg.norm(p - q)
        if arc > 0.0:
            wrapped += 1
            wanted = sum(math.sqrt(one**2 - 1) for one in reach) + arc
        assert length(mech) == pytest.approx(wanted, abs=1e-12)
    assert 20 < wrapped < 60


def test_a_path_through_a_ring_is_the_shortest_that_meets_it():
    # a ring of 0.5 m whose side lies inside of it; the straight path passes 1 m off its centre
    mech = three()
    ends = ("a", (0.3, 1, 0)), ("b", (0, 1.3, 0))
    wrap = dy.Wrap("g", 0.5, axis=(0, 0, 1), side=(0.1, 0, 0))
    mech.add_tendon(path=around(wrap, ends), name="t")
    angles = np.linspace(0, 2 * np.pi, 400_001)
    ring = 0.5 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    p, q = np.array([-1.7, 1.0]), np.array([2.0, 1.3])
    shortest = np.min(np.linalg.norm(ring - p, axis=1) + np.linalg.norm(ring - q, axis=1))
    assert length(mech) == pytest.approx(shortest, abs=1e-10)  # flat there


def test_pulleys_divide_lengths_and_parts_on_one_body_are_constant():
    mech = three()
    run = [("b", (0, 0, 0)), ("b", (0, 3, 0)), ("a", (0, 3, 0))]
    ball = dy.Wrap("a", 1.0, position=(0, 3, 0))
    last = [("a", (-2, 3, 0)), ball, ("a", (2, 3, 0)), ("b", (0, 3, 0))]
    path = [list(ENDS), run, last]
    mech.add_tendon(path=path, divisors=(1, 2, 4), offset=0.25, name="t")
    wrapped = 2 * math.sqrt(3) + math.pi / 3
    by_hand = 0.25 + 4.0 + (3.0 + 4.0) / 2 + (wrapped + 2.0) / 4
    assert length(mech) == pytest.approx(by_hand, abs=1e-13)


def wound(kind, side, stiffness=4.0):
    """Spinning free bodies that a spring along a wrapped tendon, half of it doubled, holds."""
    mech = three()
    wrap = dy.Wrap("g", 0.8, (0.1, 0.05, 0), (0.2, 0.1, 1) if kind == "cylinder" else None, side)
    path = [
        [("a", (0.2, 0.1, 0.1)), wrap, ("b", (-0.1, 0.2, 0))],
        [("a", (0.2, 0, 0)), ("b", (0, 0, 0.3))],
    ]
    mech.add_tendon(
        path=path, divisors=(1, 2), stiffness=stiffness, rest=3.0, name="t", actuated=True
    )
    return mech


def spun(model, rates=(0.3, -0.4, 0.2)):
    state = model.initial_state()
    for k, name in enumerate("agb"):
        model.set_body(state, name, velocity=np.roll(rates, k), angular_velocity=np.roll(rates, -k))
    return state


CASES = [("sphere", None), ("sphere", (0.1, 2, 0)), ("cylinder", None), ("cylinder", (0, 2, 0)),
         ("sphere", (0.15, 0.05, 0)), ("cylinder", (0.1, 0.0, 0))]  # fmt: skip


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("kind, side", CASES)
def test_a_spring_along_a_wrapped_path_keeps_energy_and_momentum(kind, side, order):
    def drift(h):
        model = wound(kind, side).finalize(h, order=order)
        motion = dy.simulate(model, spun(model), 0.3)
        energy = motion.energy()
        speeds = [motion.body_velocity(name)[0] for name in "agb"]
        assert np.ptp(sum(speeds), axis=0).max() < 1e-7
        assert np.ptp(motion.joint("t")) > 0.02
        return np.abs(energy - energy[0]).max()

    coarse, fine = drift(0.02), drift(0.01)
    assert fine < 0.3 * coarse + 1e-7  # second order or better; the rounding of the slide


@pytest.mark.parametrize("kind, side", CASES)
def test_a_step_with_wrapped_tendons_is_linearized_exactly(kind, side):
    model = wound(kind, side).finalize(1e-2)
    A, B = dy.linearize(model, spun(model), [0.1])

    def at(ways, rates):
        """State with bodies moved in a way and their velocities changed."""
        state = spun(model)
        for name, way, rate in zip("agb", ways, rates):
            k = model.body_number(name)
            v = model.velocities(state)[k]
            model.set_body(state, name, position=state.pose[k, :3] + way, velocity=v[:3] + rate,
                           orientation=state.pose[k, 3:], angular_velocity=v[3:])  # fmt: skip
        return state

    def numbers(state):
        return np.hstack([state.pose[:, :3], model.velocities(state)[:, :3]])

    def slopes(one, other, e):
        return (numbers(one) - numbers(other)) / (2 * e)

    rows = np.array([12 * k + j for k in range(model.n_bodies) for j in (0, 1, 2, 6, 7, 8)])
    e, rng = 1e-5, np.random.default_rng(1)
    ways, rates = rng.normal(size=(2, 3, 3))
    here = [at(s * e * ways, s * e * rates) for s in (1, -1)]
    change = np.zeros(len(A))
    change[rows] = slopes(*here, e).ravel()
    after = [model.step(one, [0.1])[0] for one in here]
    assert slopes(*after, e).ravel() == pytest.approx((A @ change)[rows], abs=1e-5)
    pulled = [model.step(spun(model), [0.1 + s * e])[0] for s in (1, -1)]
    assert slopes(*pulled, e).ravel() == pytest.approx(B[rows, 0], abs=1e-5)


def test_wrapped_models_pickle_copy_and_touch_the_ground():
    mech = wound("cylinder", (0, 2, 0))
    model = mech.finalize(1e-3)
    again = pickle.loads(pickle.dumps(model))
    state = spun(model)
    ends = [dy.simulate(one, state, 0.05).final.pose for one in (model, again)]
    np.testing.assert_array_equal(*ends)
    copied = mech.copy().finalize(1e-3)
    np.testing.assert_array_equal(dy.simulate(copied, state, 0.05).final.pose, ends[0])

    balls = dy.Mechanism()
    for name, x in (("a", -2.0), ("g", 0.0), ("b", 2.0)):
        ball = balls.add_body(dy.Sphere(0.3, mass=1.0), name=name, position=(x, 0, 0.31))
        balls.add_contact(ball)
    balls.add_tendon(
        path=[("a", (0, 0, 0)), dy.Wrap("g", 0.3), ("b", (0, 0, 0))], limits=(0, 4.2), name="t"
    )
    balls.collide()
    ground = balls.finalize(2e-3)
    motion = dy.simulate(ground, ground.initial_state(), 0.2)
    assert np.abs(motion.constraint_violation()).max() < 1e-8


def test_what_is_no_wrap_is_refused():
    mech = three()
    good = dy.Wrap("g", 1.0)
    cases = [
        ([ENDS[0], good], ValueError, "both sides"),
        ([good, *ENDS], ValueError, "both sides"),
        ([ENDS[0], good, good, ENDS[1]], ValueError, "both sides"),
        (around(dy.Wrap("z", 1.0)), UnknownNameError, "'z'"),
        (around(dy.Wrap("g", 0.0)), ValueError, "radius"),
        (around(dy.Wrap("g", np.nan)), ValueError, "radius"),
        (around(dy.Wrap("g", 1.0, axis=(0, 0, 0))), ValueError, "axis"),
        (around(dy.Wrap("g", 1.0, position=(0, np.inf, 0))), ValueError, "position"),
        (around(dy.Wrap("g", 1.0, side=(0, 1))), ValueError, "side"),
        (around("g"), TypeError, "dynamics.Wrap"),
    ]
    for path, error, what in cases:
        with pytest.raises(error, match=what):
            mech.add_tendon(path=path, name="t")
    for divisors in ((), (1, 2), (0,), (-1,), (np.inf,)):
        with pytest.raises(ValueError, match="divisors"):
            mech.add_tendon(path=around(good), divisors=divisors, name="t")
    assert len(mech.tendons) == 0 and "t slider" not in mech


# MuJoCo

ELBOW = (
    '<site name="s0" pos="0.05 .02 2"/><body name="a" pos="0 0 2"><joint name="p" axis="0 1 0"/>'
    '<geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03"/>'
    '<geom name="g" type="{0}" pos="0 0 -.5" mass=".01" contype="0" conaffinity="0"/>'
    '<site name="out" pos="0.1 0 -.5"/><site name="in" pos="0.01 0 -.5"/>'
    '<site name="s1" pos=".08 .01 -.2"/><body name="b" pos="0 0 -0.5">'
    '<joint name="q" axis="0 1 0" damping="0.01"/><geom type="capsule" fromto="0 0 0 0 0 -0.4" '
    'size="0.03"/><site name="s2" pos=".07 .01 -.25"/><site name="s3" pos=".01 0 -.4"/></body>'
    "</body>"
)
GEOMS = {"sphere": 'sphere" size=".06', "cylinder": 'cylinder" size="0.06 .1" euler="90 10 0'}


def test_ways_around_geoms_with_sides_are_those_of_mujoco_4(tmp_path, mujoco):
    if int(mujoco.__version__.split(".")[0]) < 4:
        pytest.skip("older versions choose other ways")
    rng = np.random.default_rng(0)
    for k in range(20):
        sites = "".join(
            f'<site name="{name}" pos="{x[0]:.3f} {x[1]:.3f} {x[2]:.3f}"/>'
            for name, x in zip(("p", "q", "side"), rng.uniform(-0.3, 0.3, (3, 3)))
        )
        text = world(
            f'<geom name="g" type="{("sphere", "cylinder")[k % 2]}" size="0.08 1"/>{sites}'
            '<body name="b"><joint type="slide" axis="1 0 0"/><geom size="0.01" contype="0"/>'
            '<site name="r"/></body>',
            '<tendon><spatial name="t" stiffness="1"><site site="p"/>'
            '<geom geom="g" sidesite="side"/><site site="q"/><site site="r"/></spatial></tendon>',
        )
        model = load(tmp_path, text).finalize(1e-3)
        data = mujoco.MjData(mujoco.MjModel.from_xml_string(text))
        mujoco.mj_forward(data.model, data)
        found = model.joint(model.initial_state(), "t")[0][0]
        assert found == pytest.approx(data.ten_length[0], abs=1e-12)


@pytest.mark.parametrize("pulley", [False, True])
@pytest.mark.parametrize("side", ["", "out", "in"])
@pytest.mark.parametrize("geom", GEOMS)
@pytest.mark.parametrize("start", [(0.3, -0.9), (0.2, 0.8)])
def test_tendons_around_geoms_move_robots_as_in_mujoco(tmp_path, mujoco, geom, side, pulley, start):
    sided = f'sidesite="{side}"' if side else ""
    more = '<pulley divisor="2"/><site site="s0"/><site site="s3"/>' if pulley else ""
    text = world(
        ELBOW.format(GEOMS[geom]),
        '<tendon><spatial name="t" stiffness="40" springlength="0.3" damping="0.5">'
        f'<site site="s0"/><site site="s1"/><geom geom="g" {sided}/><site site="s2"/>{more}'
        "</spatial></tendon>",
    )
    mech = load(tmp_path, text)
    theirs = mujoco.MjModel.from_xml_string(text)
    theirs.opt.timestep, theirs.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(theirs)
    model = mech.finalize(5e-4)
    state = model.initial_state()
    for j, (name, value) in enumerate(zip("pq", start)):
        data.qpos[j] = value
        model.set_joint(state, name, value)
    mujoco.mj_forward(theirs, data)
    assert not mech.report.left_out
    assert model.joint(state, "t")[0][0] == pytest.approx(data.ten_length[0], abs=1e-14)
    for _ in range(1000):
        mujoco.mj_step(theirs, data)
    motion = dy.simulate(model, state, 0.1)
    mujoco.mj_forward(theirs, data)
    apart = np.linalg.norm(motion.frame("s3")[0][-1] - data.site("s3").xpos)
    print(geom, side, pulley, start, apart)
    assert apart < 1e-5
    assert motion.joint("t")[-1] == pytest.approx(data.ten_length[0], abs=1e-5)
