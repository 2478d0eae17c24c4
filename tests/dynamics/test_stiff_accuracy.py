"""Stiff springs, dampers and drags in runs with an accuracy: second order, by hand and by trees."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

import dynamics as dy

from .mjcf_families import Family
from .test_error_control import wheel

#: Inertia of the wheel, rate of a damper and frequency of a spring with which steps of 0.05 s are
#: stiff: h c / I = 10, (h omega)^2 = 9.
INERTIA, RATE, OMEGA = 0.5, 200.0, 60.0
DAMPED = {"inertia": INERTIA, "damping": RATE * INERTIA}
SPRUNG = {"inertia": INERTIA, "stiffness": OMEGA**2 * INERTIA}


def test_a_stiff_damper_slows_a_wheel_as_it_should():
    model, state = wheel(rate=5.0, **DAMPED)
    assert model.stiff
    counts = []
    for accuracy in (1e-3, 1e-5):
        motion = dy.simulate(model, state, 0.1, accuracy=accuracy)

        # q = (v / r) (1 - exp(-r t)) and q' = v exp(-r t)
        angle, rate = (one[0] for one in model.joint(motion.final, "axle"))
        assert abs(angle - 5.0 / RATE) < accuracy * 0.1
        assert abs(rate) < accuracy
        counts.append(motion.info["intervals_per_step"])

    # of second order: intervals are as many as one over the root of the accuracy
    assert counts[1] / counts[0] == pytest.approx(10.0, rel=0.15)


@pytest.mark.parametrize("accuracy", [1e-2, 1e-3])
def test_a_stiff_spring_swings_and_keeps_its_energy(accuracy):
    model, state = wheel(rate=1.0, **SPRUNG)
    assert model.stiff

    motion = dy.simulate(model, state, 0.5, accuracy=accuracy)

    angle = motion.joint("axle")
    assert np.abs(angle - np.sin(OMEGA * motion.time) / OMEGA).max() < 0.5 * accuracy
    assert np.ptp(motion.energy()) < 2.0 * accuracy * motion.energy()[0]


def test_a_stiff_tendon_swings_between_two_wheels():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    for name in "ab":
        body = mechanism.add_body(mass=1.0, inertia=INERTIA * np.eye(3), name=name + " wheel")
        mechanism.add_joint(dy.Revolute(mechanism.world, body, axis=(0, 1, 0), name=name))
    mechanism.add_tendon({"a": 1.0, "b": 2.0}, stiffness=OMEGA**2 * INERTIA / 5.0, name="tendon")
    model = mechanism.finalize(0.05)
    assert model.stiff
    state = model.initial_state()
    model.set_joint(state, "a", 0.0, 1.0)

    motion = dy.simulate(model, state, 0.5, accuracy=1e-3)

    # s = a + 2 b: I s'' = -5 k s; 2 a - b has no force
    swing = np.sin(OMEGA * motion.time) / OMEGA
    drift = 2.0 * motion.time
    assert np.abs(motion.joint("a") - (swing + 2.0 * drift) / 5.0).max() < 1e-3
    assert np.abs(motion.joint("b") - (2.0 * swing - drift) / 5.0).max() < 1e-3
    assert np.ptp(motion.joint("a") - 0.8 * motion.time) > 0.3 / OMEGA


def test_a_stiff_drag_stops_a_ball():
    mechanism = dy.Mechanism()
    mechanism.add_body(dy.Sphere(0.1, mass=0.1), name="ball", drag=40.0)
    model = mechanism.finalize(0.05)
    assert model.tables.plan[dy.kernels.base.layout.STIFF_NUMBERS] > 0
    state = model.initial_state()
    model.set_body(state, "ball", velocity=(3.0, 0.0, 0.0))

    motion = dy.simulate(model, state, 0.2, accuracy=1e-5)

    # x' = v exp(-r t), and falls with g / r; r = c / m = 400
    x, _, z = motion.final.pose[0, :3]
    assert abs(x - 3.0 / 400.0) < 0.2e-5
    assert abs(z + 9.81 / 400.0 * (0.2 - 1.0 / 400.0)) < 0.2e-5


@pytest.mark.parametrize("numbers", [DAMPED, SPRUNG])
def test_states_go_on_from_runs_without_an_accuracy_and_back(numbers):
    model, state = wheel(rate=5.0, **numbers)
    first = dy.simulate(model, state, 0.2).final
    assert first.contacts[model.late_at] > 0.0  # forces of half an interval are not in its momenta

    fine = dy.simulate(model, first, 0.1, accuracy=1e-4)
    last = dy.simulate(model, fine.final, 0.2)

    for before, after in ((first, fine[0]), (fine.final, last[0])):
        np.testing.assert_allclose(
            model.velocities(after), model.velocities(before), rtol=1e-12, atol=1e-14
        )
    assert fine.final.contacts[model.late_at] == 0.0
    q, v = (float(one[0]) for one in model.joint(first, "axle"))
    angle = fine.joint("axle")[-1]
    if numbers is SPRUNG:
        exact = q * np.cos(OMEGA * 0.1) + v / OMEGA * np.sin(OMEGA * 0.1)
    else:
        exact = q + v / RATE * (1.0 - np.exp(-RATE * 0.1))
    assert abs(angle - exact) < 1e-5


def unit(axis):
    return axis / np.linalg.norm(axis)


def tree(seed):
    """Boxes of all sizes on hinges and slides, some of them stiff, and a start."""
    rng = np.random.default_rng(seed)
    mechanism = dy.Mechanism()
    bodies = [mechanism.world]
    for k in range(int(rng.integers(2, 6))):
        size, mass = 10 ** rng.uniform(-1.2, 0.0), 10 ** rng.uniform(-2.5, 0.5)
        body = mechanism.add_body(dy.Box(size, 0.4 * size, 0.3 * size, mass=mass), name=f"b{k}")
        parent = bodies[int(rng.integers(len(bodies)))]
        kind = dy.Revolute if rng.random() < 0.7 else dy.Prismatic
        mechanism.add_joint(
            kind(
                parent, body, axis=unit(rng.normal(size=3)), name=f"j{k}",
                stiffness=10 ** rng.uniform(-1.0, 2.5), damping=10 ** rng.uniform(-3.0, 0.5),
                parent_point=0.2 * rng.normal(size=3), child_point=0.5 * size * rng.normal(size=3),
            )
        )  # fmt: skip
        bodies.append(body)
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    for k in range(len(bodies) - 1):
        model.set_joint(state, f"j{k}", 0.3 * rng.normal(), 0.5 * rng.normal())
    return model, state


@pytest.mark.parametrize("seed", [1, 2, 6, 9, 10, 12])
def test_trees_with_stiff_joints_reach_any_accuracy(seed):
    model, state = tree(seed)
    assert model.stiff

    ends = [
        dy.simulate(model, state, 0.1, accuracy=accuracy).final.pose
        for accuracy in (1e-2, 1e-3, 1e-4, 1e-5)
    ]

    for accuracy, end in zip((1e-2, 1e-3, 1e-4), ends):
        assert np.abs(end - ends[-1]).max() < 0.1 * accuracy


def test_near_models_go_with_stiff_dampers():
    ends = []
    for declared in (False, True):
        mechanism = dy.Mechanism()
        rod = mechanism.add_body(dy.Capsule(0.05, 0.5, mass=1.0), name="rod")
        ball = mechanism.add_body(dy.Sphere(0.1, mass=0.05), name="ball")
        mechanism.add_joint(
            dy.Revolute(mechanism.world, rod, axis=(0, 1, 0), child_point=(0, 0, 0.3), name="a")
        )
        mechanism.add_joint(
            dy.Revolute(
                rod, ball, axis=(0, 1, 0), parent_point=(0, 0, -0.4), child_point=(0.1, 0, 0),
                damping=1.0, name="b",
            )
        )  # fmt: skip
        if declared:
            mechanism.add_contact(
                ball, against_shape=dy.HalfSpace(point=(0, 0, -0.82)), name="floor"
            )
        else:
            mechanism.add_obstacle(dy.HalfSpace(point=(0, 0, -0.82)), name="floor")
            mechanism.collide()
        model = mechanism.finalize(0.02)
        assert model.stiff
        state = model.initial_state()
        model.set_joint(state, "a", 0.8)
        motion = dy.simulate(model, state, 0.6, accuracy=1e-4)
        assert motion.contacts  # near the floor, without touching it
        ends.append(motion.final.pose)

    assert np.abs(ends[0] - ends[1]).max() < 1e-6


@pytest.mark.parametrize("numbers", [{"damping": 300.0}, {"stiffness": 2e3, "damping": 30.0}])
def test_stiff_tendons_are_of_second_order(numbers):
    mechanism = dy.Mechanism()
    upper = mechanism.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0), name="upper")
    lower = mechanism.add_body(dy.Box(0.1, 0.1, 0.6, mass=0.5), name="lower")
    mechanism.add_joint(
        dy.Revolute(mechanism.world, upper, axis=(0, 1, 0), child_point=(0, 0, 0.5), name="a")
    )
    mechanism.add_joint(
        dy.Revolute(
            upper, lower, axis=(0, 1, 0), parent_point=(0, 0, -0.5), child_point=(0, 0, 0.3),
            name="b",
        )
    )  # fmt: skip
    mechanism.add_tendon({"a": 1.0, "b": -0.7}, name="t", **numbers)
    model = mechanism.finalize(0.02)
    assert model.stiff
    state = model.initial_state()
    model.set_joint(state, "a", 1.0)
    model.set_joint(state, "b", 0.5)

    ends = [
        dy.simulate(model, state, 0.2, accuracy=accuracy).final.pose
        for accuracy in (1e-2, 1e-3, 1e-5)
    ]

    for accuracy, end in zip((1e-2, 1e-3), ends):
        assert np.abs(end - ends[-1]).max() < 0.1 * accuracy


def test_events_are_located_in_parts_of_steps_with_stiff_dampers():
    model, state = wheel(rate=5.0, **DAMPED)

    motion = dy.simulate(
        model, state, 0.1, accuracy=1e-5, events=lambda time, s: model.joint(s, "axle")[0][0] - 0.01
    )

    # 0.01 = (v / r) (1 - exp(-r t))
    (event,) = motion.events
    assert abs(event.time + np.log(1.0 - 0.01 * RATE / 5.0) / RATE) < 1e-6


SERVOS = {
    # I q'' = gain u - k q - c q' as a system in (q, q', u)
    "position": (
        dy.PositionServo(OMEGA**2 * INERTIA, 0.2 * OMEGA * INERTIA, target=0.5),
        (OMEGA**2, 0.2 * OMEGA),
    ),
    "velocity": (dy.VelocityServo(RATE * INERTIA, target=0.5), (0.0, RATE)),
}


@pytest.mark.parametrize("name", SERVOS)
def test_servos_follow_commands_at_second_order(name):
    servo, (k, c) = SERVOS[name]
    model, state = wheel(inertia=INERTIA, servo=servo)
    commands = np.array([0.5, 0.5, -1.5, -1.5])
    A = np.array([[0.0, 1.0, 0.0], [-k, -c, k or c], [0.0, 0.0, 0.0]])
    step, wanted = scipy.linalg.expm(0.05 * A), [np.zeros(3)]
    for command in commands:
        wanted.append(step @ [*wanted[-1][:2], 0.5 + command])
    counts = []
    for accuracy in (1e-3, 1e-5):
        motion = dy.simulate(model, state, 0.2, controls=commands[:, None], accuracy=accuracy)

        assert np.abs(motion.joint("axle") - np.array(wanted)[:, 0]).max() < accuracy
        counts.append(motion.info["intervals_per_step"])

    # intervals are as many as one over the root of the accuracy
    assert counts[1] / counts[0] == pytest.approx(10.0, rel=0.15)


def test_torques_of_servos_are_those_of_the_closed_form():
    model, state = wheel(inertia=INERTIA, servo=dy.VelocityServo(RATE * INERTIA, target=0.5))
    motion = dy.simulate(model, state, 0.1, accuracy=1e-5)

    # I q'' = c (v - q'), from rest
    torque = RATE * INERTIA * 0.5 * np.exp(-RATE * motion.time[1:])
    found = motion.motor_force("axle")[1:]
    assert np.abs(found - torque).max() < RATE * INERTIA * 1e-5  # the accuracy of the rate


def test_servos_that_reach_their_limit_follow_the_closed_form_at_second_order():
    # I q'' = min(F, k (1 - q)): F until q = 1 - F / k, then a swing about 1
    k, F, omega, end = 200.0, 150.0, np.sqrt(200.0 / INERTIA), 0.1
    reached, rate = 1.0 - F / k, np.sqrt(2.0 * F / INERTIA * (1.0 - F / k))
    swing = omega * (end - rate * INERTIA / F)
    wanted = 1.0 + (reached - 1.0) * np.cos(swing) + rate / omega * np.sin(swing)
    model, state = wheel(inertia=INERTIA, servo=dy.PositionServo(k, target=1.0, force_limit=F))
    counts = []
    for accuracy in (1e-3, 1e-5):
        motion = dy.simulate(model, state, end, accuracy=accuracy)

        assert abs(motion.joint("axle")[-1] - wanted) < accuracy * end
        counts.append(motion.info["intervals_per_step"])

    # intervals are as many as one over the root of the accuracy, but for those at the limit
    assert counts[1] / counts[0] < 11.0


def test_the_work_of_servos_next_to_limits_is_that_of_their_own_intervals():
    """Half of an impulse at a node is that of the interval before, also within a pair."""
    servo = dy.PositionServo(10.0, 1.5, target=0.35, force_limit=5.0, gear=-2.0)
    model, state = wheel(0.02, inertia=0.05, rate=3.0, servo=servo, limits=(-0.2, 0.4))

    motion = dy.simulate(model, state, 0.2, accuracy=1e-4)

    def slope(_, z):
        return z[1], -2.0 * np.clip(10.0 * (0.35 + 2.0 * z[0]) + 3.0 * z[1], -5.0, 5.0) / 0.05

    exact = scipy.integrate.solve_ivp(slope, (0.0, 0.2), (0.0, 3.0), rtol=1e-10, max_step=1e-3)
    assert motion.events == []
    assert abs(motion.joint("axle")[-1] - exact.y[0, -1]) < 0.2e-4


def test_torques_of_servos_are_cut_at_their_limit():
    servo = dy.VelocityServo(RATE * INERTIA, target=0.5, force_limit=40.0)
    model, state = wheel(inertia=INERTIA, servo=servo)
    motion = dy.simulate(model, state, 0.1, accuracy=1e-5)

    # q' = F t / I until c (v - q') = F; from then on the rest of v falls by exp(-c t / I)
    cut = (0.5 - 40.0 / (RATE * INERTIA)) * INERTIA / 40.0
    torque = 40.0 * np.exp(-RATE * np.maximum(motion.time[1:] - cut, 0.0))
    found = motion.motor_force("axle")[1:]
    assert np.abs(found - torque).max() < RATE * INERTIA * 1e-5  # the accuracy of the rate


def test_servos_next_to_compliant_contacts_stay_of_first_order_and_the_error_says_so():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    wheel = mechanism.add_body(mass=1.0, inertia=INERTIA * np.eye(3), name="wheel")
    servo = dy.PositionServo(1e3, 1.0, target=1.0)
    mechanism.add_joint(
        dy.Revolute(mechanism.world, wheel, axis=(0, 1, 0), servo=servo, name="axle")
    )
    ball = mechanism.add_body(dy.Sphere(0.1, mass=2.0), name="ball", position=(0, 0, 1))
    mechanism.add_contact(ball, compliance=1e-3, name="floor")
    model = mechanism.finalize(0.5)

    with pytest.raises(dy.ConvergenceError, match="compliant contacts .* first order"):
        dy.simulate(model, model.initial_state(), 0.5, accuracy=1e-5)


def arm(**servo):
    """Two rods with servos for hinges, and a start."""
    mechanism = dy.Mechanism()
    upper = mechanism.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0), name="upper")
    lower = mechanism.add_body(dy.Box(0.1, 0.1, 0.6, mass=0.5), name="lower")
    made = dy.PositionServo(target=0.2, **servo)
    mechanism.add_joint(
        dy.Revolute(
            mechanism.world, upper, axis=(0, 1, 0), child_point=(0, 0, 0.5), servo=made, name="a"
        )
    )
    mechanism.add_joint(
        dy.Revolute(
            upper, lower, axis=(0, 1, 0), parent_point=(0, 0, -0.5), child_point=(0, 0, 0.3),
            servo=made, name="b",
        )
    )  # fmt: skip
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    model.set_joint(state, "a", 1.0)
    model.set_joint(state, "b", 0.5, 1.0)
    return model, state


@pytest.mark.parametrize("damping", [0.0, 3.0])
def test_servos_with_limits_pass_where_these_are_reached(damping):
    model, state = arm(stiffness=40.0, damping=damping, force_limit=5.0)

    ends = [
        dy.simulate(model, state, 0.2, accuracy=accuracy).final.pose
        for accuracy in (1e-2, 1e-3, 1e-6)
    ]

    for accuracy, end in zip((1e-2, 1e-3), ends):
        assert np.abs(end - ends[-1]).max() < 0.2 * accuracy


def test_springs_that_start_far_out_of_balance_drown_in_rounding_and_the_error_says_so():
    mechanism = dy.Mechanism()
    rod = mechanism.add_body(dy.Box(0.02, 0.02, 0.1, mass=0.01), name="rod")
    mechanism.add_joint(
        dy.Revolute(
            mechanism.world, rod, axis=(0, 1, 0), child_point=(0, 0, 0.05), name="hinge",
            stiffness=1e4, damping=10.0,
        )
    )  # fmt: skip
    model = mechanism.finalize(0.02)
    state = model.initial_state()
    model.set_joint(state, "hinge", 1.0)

    with pytest.raises(
        dy.ConvergenceError, match="spring of joint 'hinge' .* start where they are"
    ):
        dy.simulate(model, state, 0.1, accuracy=1e-6)


@pytest.mark.parametrize("seed", [3, 20, 21, 43])
def test_robots_of_files_reach_any_accuracy(seed):
    """Springs of massless links between hinges, and servos with force limits on other joints."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "robot.xml"
        path.write_text(Family(seed).text)
        model = dy.load(path).finalize(0.005)
    state = model.initial_state()

    ends = [
        dy.simulate(model, state, 0.2, accuracy=accuracy).final.pose
        for accuracy in (1e-2, 1e-3, 1e-5)
    ]

    for accuracy, end in zip((1e-2, 1e-3), ends):
        assert np.abs(end - ends[-1]).max() < accuracy
