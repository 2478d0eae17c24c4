"""Springs, dampers, servos: nothing grows at any stiffness, dampers damp, soft ones are exact."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dynamics as dy
from dynamics.studies.variation import carried

X, Y, Z = np.eye(3)


def slider(h, mass=1.0, gravity=0.0, **options):
    m = dy.Mechanism((0.0, 0.0, gravity))
    body = m.add_body(mass=mass, inertia=[0.1] * 3, name="body")
    m.add_joint(dy.Prismatic(m.world, body, Z, name="slide", **options))
    return m.finalize(h)


def motion(model, x, v, steps, **options):
    state = model.initial_state()
    model.set_joint(state, "slide", x, v)
    found = dy.simulate(model, state, steps * model.timestep, **options)
    return found.joint("slide"), found.joint_velocity("slide")


@given(
    st.floats(-2.0, 12.0), st.floats(-3.0, 3.0), st.floats(-4.0, -1.0), st.floats(0.0, 8.0),
    st.floats(-1.0, 1.0),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_no_spring_and_damper_lets_an_oscillator_grow(stiffness, mass, step, damping, v):
    h, k, m = 10.0**step, 10.0**stiffness, 10.0**mass
    c = 10.0**damping - 1.0
    x, v = motion(slider(h, m, stiffness=k, damping=c), 0.1, v, 100)
    energy = 0.5 * m * v**2 + 0.5 * k * x**2
    # half kicks keep H + O((h omega)^2 H): within (h omega)^2 / 4 of it, which is 1/2 at the bound
    assert energy.max() <= energy[0] * (1.0 + 1e-9) / (1.0 - 0.5) + 1e-300


@pytest.mark.parametrize("k", [1e5, 1e8, 1e12])
def test_a_stiff_spring_is_implicit_euler_by_hand(k):
    h = 0.01
    x, _ = motion(slider(h, stiffness=k), 0.1, 0.3, 20)
    q, u = 0.1, 0.3
    for i, found in enumerate(x[1:]):
        part = h if i > 0 else 0.5 * h  # the first node has no interval before it
        u = (u - part * k * q) / (1.0 + part * h * k)
        q += h * u
        assert found == pytest.approx(q, abs=1e-12)


@pytest.mark.parametrize("c", [190.0, 210.0, 1e3, 1e6, 1e9])
def test_dampers_stop_what_they_damp_and_never_turn_it_round(c):
    h = 0.01
    model = slider(h, damping=c)
    _, v = motion(model, 0.0, 1.0, 30)
    y = h * c
    part = 1.0 / (1.0 + y) if model.stiff else (2.0 - y) / (2.0 + y)
    assert bool(model.stiff) == (y > 2.0)
    expected = part ** np.arange(31.0)
    if model.stiff:  # half an interval after the first node, and after the last one
        expected[1:] *= (1.0 + y) / (1.0 + 0.5 * y) ** 2
    # Newton's tolerance is 1e-10 of the largest velocity, or of 1 m/s
    np.testing.assert_allclose(v, expected, atol=2e-10)
    assert (v >= -2e-10).all()


@pytest.mark.parametrize("drag", [1e3, 1e6])
def test_drag_of_any_size_stops_a_body(drag):
    m = dy.Mechanism((0.0, 0.0, 0.0))
    m.add_body(mass=1.0, inertia=[0.1] * 3, drag=drag, spin_drag=drag, name="body")
    model = m.finalize(0.01)
    state = model.initial_state()
    model.set_body(state, "body", velocity=[1.0, 0.0, 0.0], angular_velocity=[0.0, 1.0, 0.0])
    v, w = dy.simulate(model, state, 0.1).body_velocity("body")
    assert (v[1:, 0] >= -1e-9).all() and (np.diff(v[:, 0]) <= 1e-9).all() and v[-1, 0] < 1e-9
    assert (w[1:, 1] >= -1e-9).all() and w[-1, 1] < 1e-9


def test_soft_springs_and_dampers_are_the_explicit_ones_to_the_bit():
    h, k, c = 0.01, 1.9e4, 20.0
    model = slider(h, stiffness=k, damping=c)
    assert model.stiff == ()
    x, v = motion(model, 0.1, 0.0, 50)
    q, p = 0.1, 0.0
    for found in x[1:]:
        u = (p - 0.5 * h * k * q) / (1.0 + 0.5 * h * c)
        q, p = q + h * u, u - 0.5 * h * c * u
        p -= 0.5 * h * k * q
        assert found == pytest.approx(q, abs=1e-13)


def test_springs_that_share_a_body_add_up_to_what_is_stiff():
    def chain(k):
        m = dy.Mechanism((0.0, 0.0, 0.0))
        last = m.world
        for i in range(6):
            body = m.add_body(mass=1.0, inertia=[0.1] * 3, name=i)
            m.add_joint(dy.Prismatic(last, body, X, stiffness=k, child_point=(-1.0, 0, 0)))
            last = body
        return m.finalize(0.01)

    # h^2 k (1/m + 1/m) of a spring, and as much of each of its two neighbours: 6 h^2 k / m
    assert chain(0.32e4).stiff == ()
    assert len(chain(0.34e4).stiff) == 3  # those with two such neighbours
    model = chain(1e6)
    state = model.initial_state()
    rng = np.random.default_rng(1)
    state.momentum[:, 0] = rng.normal(size=6)
    energy = sum(dy.simulate(model, state, 2.0).energies().values())
    assert energy.max() <= energy[0] * (1.0 + 1e-9)


@pytest.mark.parametrize("k", [1e4, 1e6, 1e8])
def test_a_pendulum_on_a_stiff_spring_becomes_one_on_a_rod(k):
    def swing(hold):
        m = dy.Mechanism()
        ball = m.add_body(mass=1.0, inertia=[0.01] * 3, name="ball")
        hold(m, ball)
        model = m.finalize(0.005)
        state = model.initial_state()
        model.set_body(state, "ball", position=[1.0, 0.0, 0.0])
        return dy.simulate(model, state, 3.0)

    spring = swing(lambda m, b: m.add_force(dy.Spring(m.world, b, stiffness=k, length=1.0)))
    rod = swing(lambda m, b: m.add_joint(dy.Distance(m.world, b, 1.0)))
    energy = sum(spring.energies().values())
    assert energy.max() <= energy[0] + 1e-3 * 9.81  # of half kicks of gravity, (h omega)^2 / 8
    # three weights stretch the spring by 30 / k; what it loses shifts the phase as much again
    apart = np.linalg.norm(spring.body("ball")[0] - rod.body("ball")[0], axis=1).max()
    assert apart < 1e3 / k


def arm(h, **options):
    m = dy.Mechanism()
    rod = m.add_body(mass=1.0, inertia=[1.0 / 12, 1.0 / 12, 1e-3], name="rod")
    m.add_joint(dy.Revolute(m.world, rod, Y, child_point=(0, 0, 0.5), name="hinge", **options))
    return m, m.finalize(h)


def test_position_servo_holds_for_gains_that_a_held_force_cannot_have():
    _, model = arm(0.005, servo=dy.PositionServo(1e4, 200.0, target=0.4))
    turned = dy.simulate(model, model.initial_state(), 2.0).joint("hinge")
    # gravity's 9.81 / 2 sin 0.4 over the stiffness
    assert turned[-1] == pytest.approx(0.4 - 0.5 * 9.81 * np.sin(turned[-1]) / 1e4, abs=1e-9)
    assert turned.max() < 0.41
    _, model = arm(0.005, actuated=True)
    with pytest.raises(ValueError, match="kd of joint 'hinge' is too high.*PositionServo"):
        dy.ProportionalDerivative(model, 1e4, 200.0, 0.4)
    with pytest.warns(RuntimeWarning, match="errors grow"):
        dy.ProportionalDerivative(model, 1e3, 0.0, 0.4)


@pytest.mark.parametrize("gear", [1.0, -3.0, 50.0])
def test_a_servo_sees_its_joint_through_the_gear_and_pushes_no_harder_than_its_limit(gear):
    h, limit = 0.01, 2.0
    model = slider(h, servo=dy.PositionServo(1e6, 1e3, force_limit=limit, gear=gear))
    x, v = motion(model, 0.0, 0.0, 20, controls=[gear])
    # the control is the target: 1 m of the joint; at first the force is cut
    t = h * np.arange(1.0, 6.0)
    acceleration = limit * abs(gear)
    reached = v[1:6] < 0.9 * np.sqrt(2.0 * acceleration)
    np.testing.assert_allclose(v[1:6][reached], acceleration * t[reached], rtol=1e-9)
    # where the force turns round, the node before it took that of its last interval for both halves
    assert np.abs(np.diff(v)).max() <= 2.0 * h * acceleration * (1.0 + 1e-9)


# positions rounded by 1e-16 m are forces of 1e-7 N, at velocities of 1e-9 m/s
@example(8.9375, 1.546875, 0.5)
@example(9.337689, 1.368101, 0.971344)
@example(8.369437, 1.515193, 0.573814)
@given(st.floats(0.0, 10.0), st.floats(0.0, 2.0), st.floats(-1.5, 1.5))
@settings(max_examples=30, deadline=None)
def test_servos_of_any_gain_settle_at_their_target(stiffness, damping, target):
    k = 10.0**stiffness
    c = 10.0**damping * np.sqrt(k)
    x, v = motion(slider(0.01, servo=dy.PositionServo(k, c)), 0.0, 0.5, 300, controls=[target])
    energy = 0.5 * v**2 + 0.5 * k * (x - target) ** 2
    assert (energy <= energy[0] * (1.0 + 1e-9)).all() and energy[-1] < energy[0]
    if min(0.5 * c, k / c) > 5.0:  # both roots decay by 5 / s at least
        assert x[-1] == pytest.approx(target, abs=1e-4)


def test_velocity_servo_reaches_its_rate_and_is_named_where_it_cannot_be():
    model = slider(0.01, servo=dy.VelocityServo(1e7, target=0.5))
    _, v = motion(model, 0.0, 0.0, 10, controls=[0.25])
    np.testing.assert_allclose(v[2:], 0.75, atol=1e-6)
    m = dy.Mechanism()
    body = m.add_body(mass=1.0, inertia=[0.1] * 3)
    with pytest.raises(ValueError, match="no coordinates that a servo could drive"):
        dy.Spherical(m.world, body, servo=dy.VelocityServo(1.0))
    with pytest.raises(ValueError, match="leave out actuated"):
        dy.Revolute(m.world, body, X, servo=dy.VelocityServo(1.0), actuated=True)
    with pytest.raises(TypeError, match="must be a dynamics.PositionServo"):
        dy.Revolute(m.world, body, X, servo=3.0)
    with pytest.raises(ValueError, match="must be finite and not negative"):
        dy.PositionServo(-1.0)
    with pytest.raises(ValueError, match="gear of a PositionServo"):
        dy.PositionServo(1.0, gear=0.0)


def test_what_only_order_2_takes_implicitly_is_refused_beyond_it():
    m = dy.Mechanism()
    body = m.add_body(mass=1.0, inertia=[0.1] * 3, name="body")
    m.add_joint(dy.Prismatic(m.world, body, Z, stiffness=1e6, name="slide"))
    with pytest.raises(ValueError, match="spring of joint 'slide' is too stiff for order=4"):
        m.copy().finalize(0.01, order=4)
    m.copy().finalize(0.0019, order=4)
    m = dy.Mechanism()
    body = m.add_body(mass=1.0, inertia=[0.1] * 3, name="body")
    m.add_joint(dy.Prismatic(m.world, body, Z, servo=dy.VelocityServo(1.0), name="slide"))
    with pytest.raises(ValueError, match="servo of joint 'slide' needs order=2"):
        m.finalize(0.01, order=4)


@pytest.mark.parametrize("what", ["spring", "servo", "cut"])
def test_slopes_of_steps_with_late_forces_are_those_of_differences(what):
    servo = dy.PositionServo(3e3, 40.0, target=0.3, force_limit=5.0 if what == "cut" else np.inf)
    options = {"servo": servo} if what != "spring" else {"stiffness": 1e5, "damping": 1e3}
    _, model = arm(0.01, **options)
    if what == "spring":
        assert len(model.stiff) == 2
    state = model.initial_state()
    model.set_joint(state, "hinge", 0.2, -0.7)
    control = np.full(model.n_controls, 0.1)
    A, B = dy.linearize(model, state, control, coordinates=["hinge"])

    def after(q, w, u):
        start = model.initial_state()
        model.set_joint(start, "hinge", q, w)
        end, _ = model.step(start, np.full(model.n_controls, u))
        return np.array([x[0] for x in model.joint(end, "hinge")])

    d = 1e-5
    columns = [
        (after(0.2 + d * a, -0.7 + d * b, 0.1 + d * c)
         - after(0.2 - d * a, -0.7 - d * b, 0.1 - d * c)) / (2 * d)
        for a, b, c in np.eye(3)
    ]  # fmt: skip
    # Newton's tolerance over the width of the differences
    np.testing.assert_allclose(A, np.array(columns[:2]).T, atol=1e-4)
    if model.n_controls:
        np.testing.assert_allclose(B, np.array(columns[2:]).T, atol=1e-4)


@pytest.mark.parametrize("drag", [0.0, 500.0])
def test_slopes_of_two_steps_are_the_product_and_those_of_differences(drag):
    def pair(stiffness=2e4):
        m = dy.Mechanism()
        rod = m.add_body(
            mass=1.0,
            inertia=[1.0 / 12, 1.0 / 12, 1e-3],
            drag=drag,
            spin_drag=0.1 * drag,
            name="rod",
        )
        servo = dy.PositionServo(3e3, 40.0, target=0.3)
        m.add_joint(dy.Revolute(m.world, rod, Y, child_point=(0, 0, 0.5), name="hinge"))
        end = m.add_body(mass=0.3, inertia=[0.02] * 3, name="end")
        m.add_joint(dy.Revolute(rod, end, X, child_point=(0, 0.2, 0.5), name="elbow", servo=servo))
        options = {"stiffness": stiffness, "damping": 300.0, "length": 1.95, "name": "rope"}
        m.add_force(dy.Spring(m.world, end, parent_point=(0.3, 0, 1), **options))
        return m.finalize(0.01)

    model = pair()
    assert model.stiff
    start = model.initial_state()
    model.set_joint(start, "hinge", 0.2, -0.7)
    middle, info = model.step(start, [0.1])
    assert info.intervals == 1
    one = dy.linearize(model, start, [0.1], coordinates="joint")
    two = dy.linearize(model, middle, [0.1], coordinates="joint")

    def after(x, u, other=model):
        now = other.initial_state()
        for i, name in enumerate(("hinge", "elbow")):
            other.set_joint(now, name, x[i], x[2 + i])
        for _ in range(2):
            now, _ = other.step(now, [u])
        read = [other.joint(now, name) for name in ("hinge", "elbow")]
        return np.array([q[0] for q, _ in read] + [v[0] for _, v in read])

    d, x = 1e-5, np.array([0.2, 0.0, -0.7, 0.0])
    A = np.array([(after(x + e, 0.1) - after(x - e, 0.1)) / (2 * d) for e in d * np.eye(4)]).T
    # Newton's tolerance over the width of the differences
    np.testing.assert_allclose(two[0] @ one[0], A, atol=1e-4)
    found = dy.sensitivity(model, start, 0.02, [("rope", "stiffness")], controls=[0.1])
    change = (after(x, 0.1, pair(2e4 + 10.0)) - after(x, 0.1, pair(2e4 - 10.0))) / 20.0
    # differences: Newton's tolerance over their width
    assert found.velocities[0, 4, 0] == pytest.approx(change[2], abs=2e-10)


@pytest.mark.parametrize("k", [3e4, 1e6, 1e9])
@pytest.mark.parametrize("how", ["joint", "spring", "servo", "damped"])
def test_a_weight_at_rest_on_a_stiff_spring_reports_rest_and_its_energy(how, k):
    def weight(m):
        body = m.add_body(mass=1.0, inertia=[0.1] * 3, name="body")
        if how == "spring":
            m.add_force(dy.Spring(m.world, body, stiffness=k, length=1.0))
            m.add_joint(dy.Prismatic(m.world, body, Z, name="slide"))
        elif how == "servo":
            servo = dy.PositionServo(k, 300.0, target=-1.0)
            m.add_joint(dy.Prismatic(m.world, body, Z, name="slide", servo=servo))
        else:
            damper = 1e4 if how == "damped" else 0.0
            options = {"stiffness": k, "damping": damper, "rest": -1.0}
            m.add_joint(dy.Prismatic(m.world, body, Z, name="slide", **options))

    m = dy.Mechanism()
    weight(m)
    model = m.finalize(0.01)
    assert model.stiff or how == "servo"
    start, low = model.initial_state(), -1.0 - 9.81 / k
    model.set_joint(start, "slide", low)
    held = dy.simulate(model, start, 0.1)
    model.set_joint(start, "slide", low - 1e-4)
    settled = dy.simulate(model, start, 20.0 if how == "damped" else 5.0)
    # ten times Newton's tolerance, and half an interval's force of the last digits of a length
    still = 1e-9 + 4.0 * 0.005 * k * 2.0**-52
    for motion, nodes in ((held, slice(None)), (settled, slice(-10, None))):
        if how == "damped" and motion is settled and k < 1e6:
            continue  # creeps at k / c
        assert np.abs(motion.joint_velocity("slide")[nodes]).max() < still
        stored = 0.0 if how == "servo" else 0.5 * 9.81**2 / k
        np.testing.assert_allclose(motion.energy()[nodes], 9.81 * low + stored, rtol=1e-9)


def test_bits_of_stiff_motions_do_not_depend_on_how_they_are_cut():
    m = dy.Mechanism()
    rod = m.add_body(mass=1.0, inertia=[1.0 / 12, 1.0 / 12, 1e-3], name="rod")
    options = {"stiffness": 1e5, "damping": 1e3, "name": "hinge"}
    m.add_joint(dy.Revolute(m.world, rod, Y, child_point=(0, 0, 0.5), **options))
    second = m.add_body(mass=0.5, inertia=[0.1] * 3, name="second")
    servo = dy.PositionServo(1e4, 200.0, force_limit=30.0)
    m.add_joint(dy.Revolute(rod, second, Y, child_point=(0, 0, 0.5), servo=servo))
    model = m.finalize(0.01)
    start = model.initial_state()
    model.set_joint(start, "hinge", 0.3)
    whole = dy.simulate(model, start, 0.4, controls=[0.5])
    shown = dy.simulate(model, start, 0.4, controls=[0.5], progress=lambda part: None)
    assert (shown.states == whole.states).all()
    half = dy.simulate(model, start, 0.2, controls=[0.5])
    rest = dy.simulate(model, half.final, 0.2, controls=[0.5])
    assert (rest.states == whole.states[20:]).all()
    now = start
    for expected in whole.states[1:]:
        now, _ = model.step(now, [0.5])
        assert (now.data == expected).all()
    # and a state alone, without the solver's memory, holds all of the forces
    alone = dy.simulate(model, model.state_of(half.final.data.copy()), 0.2, controls=[0.5])
    np.testing.assert_allclose(alone.states[-1], whole.states[-1], rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("k", [1e4, 1e7])
def test_two_bodies_on_a_stiff_spring_keep_their_momentum(k):
    m = dy.Mechanism((0.0, 0.0, 0.0))
    a = m.add_body(mass=1.0, inertia=[0.1, 0.2, 0.3], name="a")
    b = m.add_body(mass=0.5, inertia=[0.05] * 3, name="b")
    m.add_force(
        dy.Spring(a, b, stiffness=k, length=0.4, damping=0.1 * k, parent_point=(0.1, 0.2, 0.0))
    )
    m.add_joint(dy.Spherical(a, b, parent_point=(0.3, 0, 0), child_point=(0, 0.3, 0), damping=1e3))
    model = m.finalize(0.01)
    assert len(model.stiff) >= 2
    state = model.initial_state()
    state.momentum[:] = np.random.default_rng(3).normal(size=(2, 6))
    found = dy.simulate(model, state, 3.0).momentum()
    # theory/step: off by the square of Newton's tolerance a step, so rounding remains
    np.testing.assert_allclose(found, np.broadcast_to(found[0], found.shape), atol=1e-11)


def test_the_torque_of_a_servo_is_that_of_its_law_at_what_is_reported():
    k, c, drag = 2e4, 300.0, 40.0
    h = 0.01
    model = slider(h, servo=dy.PositionServo(k, c), damping=drag)
    # the target runs away at 0.5 m/s: drag is what is left to push against
    targets = 0.5 * h * np.arange(1.0, 601.0)[:, None]
    x, v = motion(model, 0.0, 0.0, 600, controls=targets)
    assert v[-1] == pytest.approx(0.5, abs=1e-9)
    assert k * (targets[-1, 0] - x[-1]) - c * v[-1] == pytest.approx(drag * 0.5, abs=1e-6)


@pytest.mark.parametrize("how", ["spring", "servo", "damper"])
def test_cuts_of_steps_do_not_move_what_a_stiff_force_holds(how):
    # the rotor alone has its steps cut: its motor brakes it from 4 intervals a step to 1 and back
    m = dy.Mechanism()
    body = m.add_body(mass=1.0, inertia=[0.1] * 3, name="body")
    if how == "spring":
        options = {"stiffness": 1e6, "rest": -1.0}
    elif how == "servo":
        options = {"servo": dy.PositionServo(1e6, 300.0, target=-1.0)}
    else:
        options = {"damping": 1e4}
    m.add_joint(dy.Prismatic(m.world, body, Z, name="slide", **options))
    rotor = m.add_body(dy.Box(0.1, 0.2, 0.3, mass=1.0), name="rotor", gravity_scale=0.0)
    m.add_joint(dy.Revolute(m.world, rotor, Z, name="pin", actuated=True))
    model = m.finalize(0.01)
    start = model.initial_state()
    low = 0.0 if how == "damper" else -1.0 - 9.81 / 1e6
    rate = -9.81 / 1e4 if how == "damper" else 0.0
    model.set_joint(start, "slide", low, rate)
    model.set_joint(start, "pin", 0.0, 60.0)
    J = rotor.inertia[2, 2]
    controls = np.zeros((200, model.n_controls))
    controls[:, -1] = np.where(np.arange(200) < 100, -60.0, 60.0) * J
    motion = dy.simulate(model, start, 2.0, controls=controls)
    assert motion.info["most_intervals"] == 4 and motion.info["intervals_per_step"] < 3.0
    # h f alone would give it (1/4) h g = 0.02 m/s at each of four cuts
    np.testing.assert_allclose(motion.joint_velocity("slide"), rate, atol=1e-9)
    np.testing.assert_allclose(motion.joint("slide"), low + rate * motion.time, atol=1e-10)


@pytest.mark.parametrize("floor", [False, True])
@pytest.mark.parametrize(
    ("mass", "stiffness", "damping", "most", "target", "speed"),
    [
        (0.00774, 1181.27264, 9.67839, 1.15927, -0.1305, 13.35545),
        (0.29578, 5042.59398, 194.68399, 7.71334, -0.82451, -5.31034),
        (0.02868, 16738.61752, 185.84561, 1.18409, 0.21459, 15.13924),
        (0.00132, 6761.07088, 14.13534, 0.12165, 0.65766, 1.0928),
    ],
)
def test_servos_that_could_cross_their_whole_range_in_a_step_do_not_stop_the_motion(
    mass, stiffness, damping, most, target, speed, floor
):
    """A light arm on a box: from one limit of its force, Newton's method leads to the other."""
    mech = dy.Mechanism()
    base = mech.add_body(dy.Box(0.4, 0.4, 0.2, mass=10.0), name="base", position=(0, 0, 0.1001))
    arm = mech.add_body(dy.Box(0.02, 0.02, 0.2, mass=mass), name="arm")
    servo = dy.PositionServo(stiffness, damping, force_limit=most)
    ends = dict(parent_point=(0, 0, 0.1), child_point=(0, 0, -0.1), axis=(0, 1, 0))
    mech.add_joint(dy.Revolute(base, arm, name="joint", servo=servo, **ends))
    if floor:
        mech.add_obstacle(dy.HalfSpace(), name="floor", friction=0.5)
        mech.collide()
    model = mech.finalize(timestep=0.004)
    state = model.initial_state()
    model.set_joint(state, "joint", 0.0, speed)

    angle = dy.simulate(model, state, 0.5, controls={"joint": target}).joint("joint")

    # it holds the arm's weight; what is left of the start falls by exp(-stiffness t / damping)
    offset = 2.0 * mass * 9.81 * 0.1 / stiffness + 4.0 * np.exp(-0.5 * stiffness / damping)
    assert abs(angle[-1] - target) < offset + 1e-6


@pytest.mark.parametrize("changes", [{}, {"ball": {"mass": 2.0}}, {"rope": {"stiffness": 1.2e5}}])
def test_a_variant_goes_on_with_what_stiff_forces_have_left(changes):
    # a ball that swings on a stiff spring, whose force bends its path at every node
    mech = dy.Mechanism()
    ball = mech.add_body(mass=1.0, inertia=[0.1] * 3, name="ball", position=(0, 0, -1))
    options = {"stiffness": 1e5, "damping": 10.0, "length": 1.0, "name": "rope"}
    mech.add_force(dy.Spring(mech.world, ball, **options))
    model = mech.finalize(0.01)
    assert model.stiff
    state = model.initial_state()
    model.set_body(state, "ball", velocity=(3.0, 0, 0))
    state = dy.simulate(model, state, 0.05).final
    other = dy.variant(model, {"ball": {"mass": 1.0}} | changes)
    after = carried(model, state, other)
    assert other.stiff == model.stiff
    # products of the projection, at some m/s
    np.testing.assert_allclose(other.velocities(after), model.velocities(state), atol=1e-11)
    if not changes:  # steps are solved to 5e-12 m/s and stretch by that over (h^2 k / m) each
        found, wanted = (dy.simulate(*one, 0.1).final for one in ((other, after), (model, state)))
        np.testing.assert_allclose(found.data, wanted.data, rtol=1e-9, atol=1e-9)
