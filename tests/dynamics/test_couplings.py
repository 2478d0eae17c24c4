"""Couplings of two joints: against closed forms, the reduced equations, and the laws of motion."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dynamics as dy
from dynamics import rotation
from dynamics.parts.couplings import common_period

from .robots import mass_matrix, moved, slopes
from .test_linearization import CLOSE, by_differences, error

TIGHT = {"tolerance": 1e-13}


def arm(ratio=-1.5, offset=0.3, coupled=True):
    """Two rods in the x-z plane, hinged about y; the elbow follows the shoulder."""
    mechanism = dy.Mechanism()
    upper = mechanism.add_body(name="upper", mass=2.0, inertia=[0.06, 0.05, 0.03])
    lower = mechanism.add_body(name="lower", mass=1.0, inertia=[0.03, 0.02, 0.02])
    shoulder = mechanism.add_joint(
        dy.Revolute(mechanism.world, upper, [0, 1, 0], child_point=[0, 0, 0.3], name="shoulder")
    )
    elbow = mechanism.add_joint(
        dy.Revolute(
            upper, lower, [0, 1, 0], parent_point=[0, 0, -0.1], child_point=[0, 0, 0.2],
            name="elbow",
        )
    )  # fmt: skip
    if coupled:
        mechanism.add_coupling(shoulder, elbow, ratio, offset, name="belt")
    return mechanism


def arm_alone(ratio, offset, q, rate, seconds):
    """The arm's one equation J q'' + J' q'^2 / 2 + V' = 0, by Lagrange, solved to 1e-12."""
    n, g = 1.0 + ratio, 9.81
    first, second = 0.05 + 2.0 * 0.3**2 + 0.4**2, 0.02 + 0.2**2

    def slope(_, y):
        bend = ratio * y[0] + offset
        J = first + n * n * second + 2.0 * n * 0.4 * 0.2 * np.cos(bend)
        dJ = -2.0 * n * ratio * 0.4 * 0.2 * np.sin(bend)
        dV = (2.0 * 0.3 + 0.4) * g * np.sin(y[0]) + n * 0.2 * g * np.sin(n * y[0] + offset)
        return [y[1], -(0.5 * dJ * y[1] ** 2 + dV) / J]

    return solve_ivp(slope, (0, seconds), [q, rate], rtol=1e-12, atol=1e-12).y[0, -1]


def test_a_gear_of_two_wheels_has_the_inertia_of_both():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    wheels = [
        mechanism.add_body(name=name, mass=1.0, inertia=[0.2, 0.2, moment])
        for name, moment in (("first", 0.3), ("second", 0.1))
    ]
    first, second = (
        mechanism.add_joint(
            dy.Revolute(mechanism.world, wheel, [0, 0, 1], name=wheel.name[0], actuated=True)
        )
        for wheel in wheels
    )
    mechanism.add_coupling(first, second, -3.0)
    model = mechanism.finalize(0.01, **TIGHT)

    trajectory = dy.simulate(model, model.initial_state(), 1.0, controls=[0.6, 0.0])

    # q'' = tau / (I1 + m^2 I2): constant, and J sin(turn) / turn of an interval is exact to 1e-6
    q = trajectory.joint("f")[-1]
    assert q == pytest.approx(0.5 * 0.6 / (0.3 + 9.0 * 0.1), rel=1e-4)
    assert trajectory.joint("s")[-1] == pytest.approx(-3.0 * q, abs=1e-10)
    # what the second wheel gets is its own inertia times its acceleration
    force = trajectory.reaction("f~s")[-1, 0]
    assert abs(force) == pytest.approx(0.1 * 3.0 * 0.5, rel=1e-3)


@pytest.mark.parametrize(("ratio", "offset"), [(-1.5, 0.3), (2.0, 0.0), (-1.0, 0.5)])
def test_an_elbow_that_follows_the_shoulder_moves_to_second_order(ratio, offset):
    errors = []
    for steps in (50, 100, 200):
        model = arm(ratio, offset).finalize(1.0 / steps, largest_turn=2.0, **TIGHT)
        start = model.assemble(model.initial_state(), {"shoulder": 0.8}, {"shoulder": 0.5})
        trajectory = dy.simulate(model, start, 1.0)
        assert trajectory.constraint_violation().max() < 1e-11
        errors.append(trajectory.joint("shoulder")[-1] - arm_alone(ratio, offset, 0.8, 0.5, 1.0))
    orders = np.log2(np.abs(np.divide(errors[:-1], errors[1:])))

    assert abs(errors[-1]) < 1e-3
    np.testing.assert_allclose(orders, 2.0, atol=0.15)


def test_fingers_share_a_force_and_leave_a_symmetric_hand_alone():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    hand = mechanism.add_body(name="hand", mass=1.0, inertia=[0.01, 0.01, 0.01])
    mechanism.add_joint(dy.Floating(mechanism.world, hand, name="base"))
    fingers = [
        mechanism.add_joint(
            dy.Prismatic(
                hand, mechanism.add_body(name=name, mass=0.2, inertia=[1e-3] * 3), [side, 0, 0],
                parent_point=[0, 0, 0.1], name=f"{name} slide", actuated=name == "left",
            )
        )
        for name, side in (("left", 1.0), ("right", -1.0))
    ]  # fmt: skip
    mechanism.add_coupling(*fingers)
    model = mechanism.finalize(0.01, **TIGHT)
    start = model.initial_state()
    model.set_joint(start, "base", np.zeros(6), [0.0, 0.3, 0.0, 0.0, 0.0, 0.0])

    trajectory = dy.simulate(model, start, 0.5, controls=[0.4])

    # 0.4 N opens two fingers of 0.2 kg: 1 m/s^2 each
    np.testing.assert_allclose(trajectory.joint("left slide")[-1], 0.5 * 0.5**2, rtol=1e-10)
    np.testing.assert_allclose(trajectory.joint("right slide")[-1], 0.5 * 0.5**2, rtol=1e-10)
    x = trajectory.states[-1, :3]
    np.testing.assert_allclose(x, [0.0, 0.15, 0.0], atol=1e-10)


def tree(seed, gravity=(0.0, 0.0, -9.81), coupled=True, floating=False, limits=None):
    """Six bodies with hinges and slides in random places, and two couplings between them."""
    rng = np.random.default_rng(seed)
    mechanism = dy.Mechanism(gravity)
    bodies, joints = [mechanism.world], []
    for i, parent in enumerate([0, 1, 1, 3, 2, 4]):
        moments = rng.uniform(0.5, 1.0, 3) * 0.2
        bodies.append(
            mechanism.add_body(name=f"body {i}", mass=rng.uniform(0.5, 2), inertia=moments)
        )
        axis = rng.normal(size=3)
        if i == 0 and floating:
            mechanism.add_joint(dy.Floating(mechanism.world, bodies[1], name="base"))
            continue
        make = dy.Prismatic if i in (2, 4) else dy.Revolute
        joints.append(
            make(
                bodies[parent], bodies[-1], axis / np.linalg.norm(axis),
                orientation=rotation.normalized(rng.normal(size=4)), name=i,
                parent_point=rng.normal(size=3), child_point=rng.normal(size=3),
                actuated=i == 5, stiffness=1.5 if i == 3 else 0.0, damping=0.2 if i == 4 else 0.0,
                limits=limits if i == 3 else None,
            )
        )  # fmt: skip
        mechanism.add_joint(joints[-1])
    if coupled:  # hinge to hinge, of one chain; slide to hinge, of two branches
        mechanism.add_coupling(mechanism.joints[1], mechanism.joints[3], 0.7, 0.2)
        mechanism.add_coupling(mechanism.joints[2], mechanism.joints[5], -1.3)
    return mechanism


def reduced(mechanism, couplings, values):
    """Accelerations of all one-axis joints at rest: S (S^T M S)^-1 S^T f with q = R q_free + b."""
    bare = mechanism.finalize(0.01)
    names = list(values)
    S = slopes(bare, values)
    R = np.eye(len(names))
    for one in couplings:
        i, j = names.index(one.leader), names.index(one.follower)
        R[j] = one.ratio * R[i]
    R = R[:, [k for k, n in enumerate(names) if n not in {one.follower for one in couplings}]]
    state = moved(bare, values)
    M, f = mass_matrix(bare, state), np.zeros(S.shape[0])
    for i, body in enumerate(bare.bodies):
        f[6 * i : 6 * i + 3] = body.mass * mechanism.gravity
    force = S.T @ f
    for k, name in enumerate(names):
        joint = mechanism.joints[name]
        force[k] -= joint.stiffness[0] * (values[name] - joint.rest[0])
    T = S @ R
    return R @ np.linalg.solve(T.T @ M @ T, R.T @ force)


def accelerations(mechanism, values, h=1e-3):
    """The same from the first step: rate / h, extrapolated; theory/step says even powers of h."""
    found = []
    for part in (1.0, 0.5):
        model = mechanism.finalize(part * h, **TIGHT)
        end, _ = model.step(moved(model, values))
        found.append([model.joint(end, name)[1][0] / (part * h) for name in values])
    return (4.0 * np.array(found[1]) - found[0]) / 3.0


@pytest.mark.parametrize("seed", range(4))
def test_a_tree_from_rest_accelerates_as_its_reduced_equations_say(seed):
    mechanism = tree(seed)
    free = {0: 0.4, 1: -0.3, 2: 0.2, 4: 0.1}
    values = {**free, 3: 0.7 * free[1] + 0.2, 5: -1.3 * free[2]}

    wanted = reduced(tree(seed, coupled=False), mechanism.couplings.values(), values)

    # dampers act with the mean rate, an error of h; the one here is 0.2 on masses of 1: 1e-4 h
    np.testing.assert_allclose(
        accelerations(mechanism, values), wanted, atol=2e-4 * np.abs(wanted).max()
    )


def test_a_free_mechanism_keeps_its_momentum():
    mechanism = tree(1, gravity=(0, 0, 0), floating=True)
    model = mechanism.finalize(0.01, **TIGHT)
    start = model.assemble(
        model.initial_state(), {}, {"base": [0.1, 0.2, -0.1, 0.3, -0.2, 0.4], 1: 0.5, 2: -0.3}
    )

    trajectory = dy.simulate(model, start, 2.0)

    assert np.ptp(trajectory.joint(3)) > 0.1 and np.ptp(trajectory.joint(5)) > 0.1
    momentum = trajectory.momentum()
    # the solver's 1e-13 of a velocity, in each of 200 steps, on 10 kg
    assert np.ptp(momentum, axis=0).max() < 200 * 1e-13 * 10 * 5
    np.testing.assert_allclose(trajectory.joint(3), 0.7 * trajectory.joint(1) + 0.2, atol=1e-10)


def test_energy_does_not_drift():
    model = arm().finalize(0.01, largest_turn=2.0)
    start = model.assemble(model.initial_state(), {"shoulder": 1.0})

    energy = dy.simulate(model, start, 60.0).energy()

    swing = np.ptp(energy[:600])
    assert np.ptp(energy[-600:]) < 1.5 * swing
    assert abs(energy[-600:].mean() - energy[:600].mean()) < 0.05 * swing


@pytest.mark.parametrize("ratio", [2.0, -3.0, 1.0 / 3.0, -1.0, np.pi, -0.3128, np.sqrt(2.0) / 7])
def test_wheels_wind_on_without_end(ratio):
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    joints = [
        mechanism.add_joint(
            dy.Revolute(
                mechanism.world, mechanism.add_body(mass=1.0, inertia=[0.2, 0.2, 0.3]), [0, 0, 1],
                name=name,
            )
        )
        for name in "ab"
    ]  # fmt: skip
    coupling = mechanism.add_coupling(*joints, ratio, 0.1)
    teeth = any(abs(ratio * k - round(ratio * k)) < 1e-9 for k in range(1, 4))
    assert coupling.counter == (None if teeth else "a~b turns")
    model = mechanism.finalize(0.01)
    start = model.assemble(model.initial_state(), {}, {"a": 9.0})

    trajectory = dy.simulate(model, start, 10.0)

    assert trajectory.constraint_violation().max() < 1e-9
    np.testing.assert_allclose(trajectory.joint_velocity("a"), 9.0, rtol=1e-9)
    np.testing.assert_allclose(trajectory.joint_velocity("b"), 9.0 * ratio, rtol=1e-9)
    np.testing.assert_allclose(
        np.diff(trajectory.joint("b")), ratio * np.diff(trajectory.joint("a")), atol=1e-9
    )


def test_jumps_of_sums_of_angles_have_a_common_part():
    def hinge(limits=None):
        mechanism = dy.Mechanism()
        body = mechanism.add_body(dy.Sphere(0.1, mass=1.0))
        return dy.Revolute(mechanism.world, body, [0, 0, 1], limits=limits)

    turn, free = 4.0 * np.pi, hinge()
    for factors, wanted in (
        ([1.0], turn), ([0.7], 0.7 * turn), ([1.0, 2.0], turn), ([2.0, -3.0], turn),
        ([1.0, 1.5], turn / 2), ([0.2, 0.3, 0.5], 0.1 * turn), ([1.0, np.pi], None),
        ([1.0, 1.0 / 1009], None),
    ):  # fmt: skip
        found = common_period([(free, factor) for factor in factors])
        assert found is None if wanted is None else found == pytest.approx(wanted, rel=1e-12)
    assert common_period([(free, 1.0), (free, 2.0)], 1) == turn
    assert common_period([(free, 1.0), (free, 1.5)], 1) is None
    near, far = hinge((-3.0, 6.0)), hinge((-3.0, 7.0))
    assert common_period([(near, np.pi), (near, 1.0)]) == 0.0
    assert common_period([(near, np.pi), (free, 0.5)]) == 0.5 * turn
    assert common_period([(far, np.pi), (free, 1.0)]) is None


def test_counted_turns_are_no_part_of_trees_and_files(tmp_path):
    mechanism = dy.Mechanism()
    parent = mechanism.world
    for name in "ab":
        body = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name=f"{name} link")
        mechanism.add_joint(dy.Revolute(parent, body, [0, 0, 1], name=name))
        parent = body
    mechanism.add_coupling("a", "b", np.pi, 0.1)
    mechanism.finalize(0.01)

    tree = dy.integrators.Tree.from_mechanism(mechanism)
    dy.save_urdf(mechanism, tmp_path / "gear.urdf")  # without a warning

    assert len(tree.constraints) == 1
    again = dy.load(tmp_path / "gear.urdf")
    (coupling,) = again.couplings.values()
    assert (coupling.leader, coupling.follower, coupling.ratio) == ("a", "b", np.pi)


def test_a_rack_runs_on_as_its_wheel_turns():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    wheel, rack = (mechanism.add_body(mass=1.0, inertia=[0.2, 0.2, 0.3]) for _ in range(2))
    turn = mechanism.add_joint(dy.Revolute(mechanism.world, wheel, [0, 0, 1], name="turn"))
    slide = mechanism.add_joint(dy.Prismatic(mechanism.world, rack, [1, 0, 0], name="slide"))
    mechanism.add_coupling(turn, slide, 0.05)
    model = mechanism.finalize(0.01)
    start = model.assemble(model.initial_state(), {}, {"turn": 8.0})

    trajectory = dy.simulate(model, start, 10.0)

    turned = np.unwrap(trajectory.joint("turn"), period=4.0 * np.pi)
    assert trajectory.joint("slide")[-1] == pytest.approx(4.0, rel=2e-3)  # (8 h)^2 / 6
    np.testing.assert_allclose(trajectory.joint("slide"), 0.05 * turned, atol=1e-9)


def test_a_wheel_geared_to_a_loop_is_inertia_of_its_crank():
    # at ratio 1 about parallel axes the discrete equations are those of one body, too
    model, state = dy.zoo.four_bar(tolerance=1e-13)
    crank = model.mechanism.bodies["crank"]
    heavier = dy.variant(model, {"crank": {"inertia": crank.inertia + 0.05 * np.eye(3)}})
    alone, heavy_state = heavier.mechanism, dy.zoo.four_bar()[1]
    geared = dy.zoo.four_bar()[0].mechanism.copy()
    wheel = geared.add_body(name="wheel", mass=1.0, inertia=[0.05, 0.04, 0.04])
    axis = geared.joints["crank ground"]
    turn = geared.add_joint(dy.Revolute(geared.world, wheel, [1, 0, 0], name="turn"))
    geared.add_coupling(axis, turn, name="gear")
    both = geared.finalize(0.01, tolerance=1e-13)
    start = both.assemble(both.initial_state(), {"crank ground": 1.0}, {"crank ground": 2.0})
    plain = alone.finalize(0.01, tolerance=1e-13)
    plain_start = plain.assemble(heavy_state, {}, {"crank ground": 2.0})

    found = dy.simulate(both, start, 2.0)
    wanted = dy.simulate(plain, plain_start, 2.0)

    np.testing.assert_allclose(found.joint("crank ground"), wanted.joint("crank ground"), atol=1e-8)
    assert found.constraint_violation().max() < 1e-10
    report = both.redundancy(start)
    assert (report.redundant, report.n_freedoms) == (3, 1)


def test_gears_in_a_ring_repeat_each_other():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    joints = [
        mechanism.add_joint(
            dy.Revolute(
                mechanism.world, mechanism.add_body(mass=1.0, inertia=[0.2, 0.2, 0.3]), [0, 0, 1],
                name=name, actuated=name == "a",
            )
        )
        for name in "abc"
    ]  # fmt: skip
    for (a, b), ratio in zip(((0, 1), (1, 2), (2, 0)), (2.0, -3.0, -1.0 / 6.0)):
        mechanism.add_coupling(joints[a], joints[b], ratio)
    model = mechanism.finalize(0.01)

    trajectory = dy.simulate(model, model.initial_state(), 1.0, controls=[1.0])

    report = model.redundancy(trajectory.final)
    assert (report.redundant, report.n_freedoms) == (1, 1)
    assert {"a~b", "b~c", "c~a"} <= set(report.loops[0][0])
    wanted = 0.5 / (0.3 * (1.0 + 4.0 + 36.0))
    assert trajectory.joint("a")[-1] == pytest.approx(wanted, rel=1e-4)


def test_a_step_with_couplings_is_linearized_exactly():
    model = tree(2).finalize(0.01, **TIGHT)
    start = model.assemble(model.initial_state(), {0: 0.3, 1: 0.2, 2: -0.1}, {0: 0.5, 2: 0.4})
    control = np.array([0.7])

    A, B = dy.linearize(model, start, control)

    wanted = by_differences(model, start, control)
    assert error(A, wanted[0]) < CLOSE
    assert error(B, wanted[1]) < CLOSE


def test_a_follower_s_force_counts_with_the_ratio_at_its_leader():
    model, bare = tree(3).finalize(), tree(3, coupled=False).finalize()
    values = {0: 0.3, 1: 0.2, 2: -0.1, 3: 0.34, 4: 0.4, 5: 0.13}
    free = [0, 1, 2, 4]

    forces = dy.inverse_dynamics(model, moved(model, values), dict.fromkeys(free, 0.0), free)

    full = dy.inverse_dynamics(bare, moved(bare, values), dict.fromkeys(values, 0.0), list(values))
    wanted = full[free] + np.array([0.0, 0.7 * full[3], -1.3 * full[5], 0.0])
    np.testing.assert_allclose(forces, wanted, atol=1e-9 * np.abs(full).max())


def test_a_follower_at_its_limit_holds_the_leader():
    mechanism = arm(ratio=-1.5, offset=0.0, coupled=False)
    mechanism.joints["elbow"] = replace(mechanism.joints["elbow"], limits=np.array([[-0.6, 0.6]]))
    mechanism.add_coupling(mechanism.joints["shoulder"], mechanism.joints["elbow"], -1.5)
    model = mechanism.finalize(0.01)
    start = model.assemble(model.initial_state(), {"shoulder": 0.3}, {"shoulder": 3.0})

    trajectory = dy.simulate(model, start, 2.0)

    assert np.abs(trajectory.joint("shoulder")).max() < 0.6 / 1.5 + 1e-3
    assert np.abs(trajectory.joint("shoulder")).max() > 0.39
    assert trajectory.constraint_violation().max() < 1e-9


# What is refused


def test_joints_are_coupled_by_name_too():
    mechanism = dy.Mechanism()
    for name in "ab":
        wheel = mechanism.add_body(dy.Cylinder(0.1, 0.02, mass=1.0), name=f"wheel {name}")
        mechanism.add_joint(dy.Revolute(mechanism.world, wheel, (0, 0, 1), name=name))
    made = mechanism.add_coupling("a", "b", ratio=-2.0)
    assert (made.leader, made.follower, made.name) == ("a", "b", "a~b")
    with pytest.raises(dy.UnknownNameError, match="of 'c', which is not a joint.*or its name"):
        mechanism.add_coupling("a", "c")
    with pytest.raises(dy.UnknownNameError, match=r"of \['a', 'b'\], which is not a joint"):
        mechanism.add_coupling(["a", "b"], "b")


def test_what_couples_nothing_is_refused_and_leaves_nothing():
    mechanism = arm(coupled=False)
    shoulder, elbow = mechanism.joints["shoulder"], mechanism.joints["elbow"]
    ball = mechanism.add_joint(
        dy.Spherical(elbow.child, mechanism.add_body(mass=1, inertia=[1, 1, 1]))
    )
    other = arm().joints["elbow"]

    for ratio in (0.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="ratio of coupling 'shoulder~elbow'"):
            mechanism.add_coupling(shoulder, elbow, ratio)
    with pytest.raises(ValueError, match="offset of coupling"):
        mechanism.add_coupling(shoulder, elbow, 1.0, np.nan)
    with pytest.raises(ValueError, match="joint 'shoulder' with itself"):
        mechanism.add_coupling(shoulder, shoulder)
    with pytest.raises(ValueError, match=r"\(spherical\) has 3"):
        mechanism.add_coupling(shoulder, ball)
    with pytest.raises(dy.UnknownNameError, match="'elbow', which is not a joint of this"):
        mechanism.add_coupling(shoulder, other)
    with pytest.raises(ValueError, match="name 'elbow' is in use"):
        mechanism.add_coupling(shoulder, elbow, name="elbow")
    assert mechanism.couplings == {}


@pytest.mark.parametrize(("order", "steps", "slack"), [(4, (25, 50), 0.1), (6, (10, 20), 0.3)])
def test_higher_orders_take_couplings(order, steps, slack):
    errors = []
    for n in steps:
        model = arm(2.0, 0.0).finalize(1.0 / n, order=order, largest_turn=2.4, tolerance=1e-13)
        start = model.assemble(model.initial_state(), {"shoulder": 0.8}, {"shoulder": 0.5})
        trajectory = dy.simulate(model, start, 1.0)
        assert trajectory.constraint_violation().max() < 1e-11
        errors.append(trajectory.joint("shoulder")[-1] - arm_alone(2.0, 0.0, 0.8, 0.5, 1.0))
    # by halves of the step: terms of the next order are some hundredths
    assert np.log2(abs(errors[0] / errors[1])) == pytest.approx(order, abs=slack)
    assert abs(errors[1]) < 1e-5


def test_a_joint_that_is_gone_is_named():
    mechanism = arm()
    del mechanism.joints["elbow"]
    with pytest.raises(dy.UnknownNameError, match="coupling 'belt' is of joint 'elbow'"):
        mechanism.finalize(0.01)
