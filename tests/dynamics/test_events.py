"""Event functions of users: zeros by hand, orders of convergence, laws, refusals."""

import signal

import numpy as np
import pytest
from scipy.special import ellipk

import dynamics as dy
from dynamics.kinematics import near_models
from dynamics.kinematics.event_location import RESOLUTION

GRAVITY = 9.81
WAYS = [{}, {"accuracy": 1e-6}]


def event(function, **attributes):
    """A function with attributes."""

    def made(time, state):
        return function(time, state)

    vars(made).update(attributes)
    return made


def height(of, body=0, **attributes):
    """Height of a body's centre of mass over some other height, m."""
    return event(lambda time, state: state.pose[body, 2] - of, **attributes)


def thrown(speed=6.0, timestep=0.05, **options):
    """A ball that is thrown upwards from the origin, with no floor."""
    mechanism = dy.Mechanism()
    mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="ball")
    model = mechanism.finalize(timestep, **options)
    state = model.initial_state()
    model.set_body(state, "ball", velocity=(1.0, 0.0, speed))
    return model, state


def pendulum(angle=1.0, timestep=0.05, **options):
    """A pendulum at rest, its quarter of a period, s, and its rate at the lowest point, rad/s."""
    mass, length, inertia = 1.5, 0.5, 0.02
    mechanism = dy.Mechanism()
    bob = mechanism.add_body(mass=mass, inertia=inertia * np.eye(3), name="bob")
    hinge = dy.Revolute(
        mechanism.world, bob, axis=(0, 1, 0), child_point=(0, 0, length), name="hinge"
    )
    mechanism.add_joint(hinge)
    model = mechanism.finalize(timestep, **options)
    state = model.initial_state()
    model.set_joint(state, "hinge", angle)
    frequency = np.sqrt(mass * GRAVITY * length / (inertia + mass * length**2))
    modulus = np.sin(0.5 * angle)
    return model, state, ellipk(modulus**2) / frequency, 2.0 * frequency * modulus


def angle_of(model):
    return lambda time, state: model.joint(state, "hinge")[0][0]


def bouncing(**options):
    """A ball of 0.1 m that falls 1 m to a floor."""
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=(0, 0, 1.1))
    mechanism.add_contact(ball, restitution=0.6, name="floor")
    model = mechanism.finalize(0.05, **options)
    return model, model.initial_state()


def found_of(motion):
    return [(one.name, one.kind) for one in motion.events]


# By hand


@pytest.mark.parametrize("order", [2, 4, 6])
@pytest.mark.parametrize("way", WAYS)
def test_a_ball_passes_a_height_on_its_way_up_and_down(order, way):
    model, state = thrown(order=order)
    motion = dy.simulate(model, state, 1.2, events=height(1.0), **way)

    root = np.sqrt(6.0**2 - 2.0 * GRAVITY)
    times = [one.time for one in motion.events]
    assert found_of(motion) == [(0, "rises"), (0, "falls")]
    # all orders are exact under a constant force; zeros are found within a part of a step, and
    # the momentum of each of 24 steps is rounded
    most = 2.0 * RESOLUTION * model.timestep + 24 * 6.0 * np.spacing(1.0)
    np.testing.assert_allclose(times, [(6.0 - root) / GRAVITY, (6.0 + root) / GRAVITY], 0, most)
    for one in motion.events:
        assert one.state.time == one.time
        np.testing.assert_allclose(one.state.pose[0, 0], one.time, 0, most)
        np.testing.assert_allclose(one.state.pose[0, 2], 1.0, 0, 6.0 * most)
    assert len(motion) == 25


def test_direction_and_names_are_those_of_the_user():
    model, state = thrown()
    up, down = height(1.0, direction=1), height(1.0, direction=-0.5)
    motion = dy.simulate(model, state, 1.2, events={"up": up, ("down", 1): down})
    assert found_of(motion) == [("up", "rises"), (("down", 1), "falls")]
    motion = dy.simulate(model, state, 1.2, events=[down, up])
    assert found_of(motion) == [(1, "rises"), (0, "falls")]


def test_a_terminal_event_ends_the_motion_between_two_records():
    model, state = thrown()
    root = np.sqrt(6.0**2 - 2.0 * GRAVITY)
    for terminal, end in ((True, (6.0 - root) / GRAVITY), (2, (6.0 + root) / GRAVITY)):
        motion = dy.simulate(model, state, 1.2, every=4, events=height(1.0, terminal=terminal))
        np.testing.assert_allclose(motion.time[:-1], 0.2 * np.arange(len(motion) - 1))
        assert motion.time[-1] == motion.final.time == motion.events[-1].time
        assert abs(motion.time[-1] - end) < 1e-11
        assert motion.time[-2] < end and end - motion.time[-2] < 0.2
        np.testing.assert_array_equal(motion.final.data, motion.events[-1].state.data)
        assert len(motion.events) == int(terminal)
        np.testing.assert_allclose(motion.twists[-1, 2], 6.0 - GRAVITY * end, rtol=1e-10)
        np.testing.assert_allclose(motion.twists[-1, 0], 1.0, rtol=1e-12)


def test_a_zero_at_the_start_is_none_and_one_at_a_node_is_one():
    # z - 6 t = 0 at the start, and the ball is below it from there on; t - 0.1 at the second node
    model, state = thrown()
    line = event(lambda time, state: state.pose[0, 2] - 6.0 * time)
    node = event(lambda time, state: round(time / 0.05, 6) - 2.0)
    motion = dy.simulate(model, state, 1.2, events=[line, node])
    assert found_of(motion) == [(1, "rises")]
    assert abs(motion.events[0].time - 0.1) < 1e-6


def test_events_of_one_step_come_in_the_order_of_time_and_none_after_the_end():
    # t = 0.13, 0.12 and 0.11 lie in one step
    model, state = thrown()
    clocks = [event(lambda time, state, end=end: time - end) for end in (0.13, 0.12, 0.11)]
    clocks[1].terminal = True
    motion = dy.simulate(model, state, 1.2, events=clocks)
    assert found_of(motion) == [(2, "rises"), (1, "rises")]
    np.testing.assert_allclose([one.time for one in motion.events], [0.11, 0.12], 0, 1e-11)


def test_a_motion_goes_on_from_a_terminal_event_without_finding_it_again():
    model, state = thrown()
    end = height(1.0, terminal=True)
    first = dy.simulate(model, state, 1.2, events=end)
    second = dy.simulate(model, first.final, 1.2, events=end)
    root = np.sqrt(6.0**2 - 2.0 * GRAVITY)
    assert [one.kind for one in second.events] == ["falls"]
    assert abs(second.time[-1] - (6.0 + root) / GRAVITY) < 1e-10


def test_a_height_after_an_impact_is_passed_when_newtons_law_says():
    model, state = bouncing()
    motion = dy.simulate(model, state, 1.0, accuracy=1e-6, events={"up": height(0.3, direction=1)})

    speed = np.sqrt(2.0 * GRAVITY)
    rise = 0.6 * speed
    end = (speed + rise - np.sqrt(rise**2 - 2.0 * GRAVITY * 0.2)) / GRAVITY
    assert [one[0] for one in found_of(motion)][:3] == ["floor", "floor", "up"]
    # errors of 1e-6 m and 1e-7 m / (0.08 s) of the impact, at the speed there
    most = (1e-6 + 0.2 * 1e-7 / 0.08) / np.sqrt(rise**2 - 2.0 * GRAVITY * 0.2)
    assert abs(motion.events[2].time - end) < most


def test_contacts_after_a_terminal_event_are_left_out():
    # the impact is at 0.4515 s, in the step that the event ends at 0.4507 s
    model, state = bouncing()
    stop = event(lambda time, state: time - 0.4507, terminal=True)
    motion = dy.simulate(model, state, 1.0, accuracy=1e-4, events=stop)
    assert found_of(motion) == [(0, "rises")]
    whole = dy.simulate(model, state, 0.5, accuracy=1e-4)
    assert 0.4507 < whole.events[0].time < 0.4516


# Families: orders of convergence


@pytest.mark.parametrize("order, timestep", [(2, 0.02), (4, 0.04), (6, 0.08)])
def test_times_have_the_order_of_the_method(order, timestep):
    # also the part of a step in which a zero lies changes the error, by that of a step at most
    errors = []
    for part in (1.0, 0.25):
        model, state, quarter, _ = pendulum(timestep=part * timestep, order=order)
        motion = dy.simulate(model, state, 1.92, events=angle_of(model))
        assert [one.kind for one in motion.events] == ["falls", "rises"]
        times = np.array([one.time for one in motion.events])
        errors.append(np.abs(times - quarter * np.array([1.0, 3.0])))
    np.testing.assert_allclose(np.log2(errors[0] / errors[1]) / 2.0, order, rtol=0, atol=0.4)


@pytest.mark.parametrize("order, accuracy", [(2, 1e-4), (2, 1e-6), (4, 1e-6), (6, 1e-8)])
def test_times_have_the_accuracy(order, accuracy):
    model, state, quarter, rate = pendulum(order=order)
    motion = dy.simulate(model, state, 1.9, accuracy=accuracy, events=angle_of(model))
    for one, exact in zip(motion.events, quarter * np.array([1.0, 3.0]), strict=True):
        assert abs(one.time - exact) < accuracy * exact / rate


def cart(order, **options):
    mechanism = dy.Mechanism()
    body = mechanism.add_body(dy.Box(0.1, 0.1, 0.1, mass=2.0), name="cart")
    rail = dy.Prismatic(mechanism.world, body, axis=(1, 0, 0), name="rail", actuated=True)
    mechanism.add_joint(rail)
    model = mechanism.finalize(0.1, order=order, **options)
    return model, model.initial_state()


@pytest.mark.parametrize("way", WAYS)
def test_controls_of_the_step_act_in_its_part(way):
    # 2 kg under k N in step k: velocity h (0 + .. + 6) / 2 = 1.05 m/s and position
    # h^2 sum(i (6 - i + 1/2)) / 2 = 0.01 * (6.5 * 21 - 91) / 2 = 0.2275 m after 7 steps
    model, state = cart(2)
    table = np.arange(10.0)[:, None]
    passed = event(lambda time, state: state.pose[0, 0] - 0.25)
    calls = []

    def push(state, time):
        calls.append(time)
        return [len(calls) - 1.0]

    given = dy.simulate(model, state, 1.0, controls=table, events=passed, **way)
    called = dy.simulate(model, state, 1.0, controller=push, events=passed, **way)
    length = (np.sqrt(1.05**2 + 2.0 * 3.5 * (0.25 - 0.2275)) - 1.05) / 3.5
    assert abs(given.events[0].time - (0.7 + length)) < 1e-11
    assert called.events[0].time == given.events[0].time
    assert len(calls) == 10


def test_wrenches_of_the_step_act_in_its_part():
    model, state = cart(2)
    wrenches = np.zeros((10, 6))
    wrenches[:, 0] = np.arange(10.0)
    passed = event(lambda time, state: state.pose[0, 0] - 0.25)
    motion = dy.simulate(model, state, 1.0, wrenches=wrenches, events=passed)
    length = (np.sqrt(1.05**2 + 2.0 * 3.5 * (0.25 - 0.2275)) - 1.05) / 3.5
    assert abs(motion.events[0].time - (0.7 + length)) < 1e-11


@pytest.mark.parametrize("order", [4, 6])
def test_controls_at_nodes_act_in_a_part_as_their_polynomial(order):
    # 2 kg under 12 t N: t^3 m, of which order 4 makes no error; 0.25 m at 4^(-1/3) s
    model, state = cart(order)
    times = 0.1 * (np.arange(10)[:, None] + model.nodes)
    passed = event(lambda time, state: state.pose[0, 0] - 0.25)
    motion = dy.simulate(model, state, 1.0, controls=12.0 * times[..., None], events=passed)
    assert abs(motion.events[0].time - 0.25 ** (1.0 / 3.0)) < 1e-11


@pytest.mark.parametrize("part", [0.1, 1e-6])
def test_controls_act_in_parts_of_steps_of_near_models(part, monkeypatch):
    monkeypatch.setattr(near_models, "PART", part)
    monkeypatch.setattr(near_models, "STEPS", 1.0)
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    slider = mechanism.add_body(dy.Sphere(0.1, mass=2.0), name="slider")
    mechanism.add_body(dy.Sphere(0.1, mass=2.0), name="ball", position=(0.9, 0, 0))
    rail = dy.Prismatic(mechanism.world, slider, axis=(1, 0, 0), name="rail", actuated=True)
    mechanism.add_joint(rail)
    mechanism.collide()
    model = mechanism.finalize(0.1)
    passed = event(lambda time, state: state.pose[0, 0] - 0.25)
    calls = []

    def push(state, time):
        calls.append(time)
        return [len(calls) - 1.0]

    runs = [{"controls": np.arange(10.0)[:, None]}, {"controller": push}]
    for run in runs:
        motion = dy.simulate(model, model.initial_state(), 1.0, events=passed, **run)
        # as on a rail without a ball, but for the barrier: 5e-9 of the unit of energy
        length = (np.sqrt(1.05**2 + 2.0 * 3.5 * (0.25 - 0.2275)) - 1.05) / 3.5
        assert abs(motion.events[0].time - (0.7 + length)) < 5e-9
    assert len(calls) == 10


def test_a_controller_is_not_called_after_a_terminal_event():
    model, state = cart(2)
    times = []

    def push(state, time):
        times.append(time)
        return [1.0]

    stop = event(lambda time, state: time - 0.35, terminal=True)
    motion = dy.simulate(model, state, 1.0, controller=push, events=stop)
    np.testing.assert_allclose(times, [0.0, 0.1, 0.2, 0.3])
    np.testing.assert_allclose(motion.time, [0.0, 0.1, 0.2, 0.3, 0.35])


# Laws


BOX = dy.Box(0.12, 0.12, 0.12, mass=1.0)
BALL = dy.Sphere(0.06, mass=1.0)


def tower(found, shape=BOX, timestep=0.01):
    """Three bodies that fall on each other, and on a floor."""
    mechanism = dy.Mechanism()
    bodies = []
    for k in range(3):
        position = (0.01 * k, 0, 0.1 + 0.16 * k)
        bodies.append(mechanism.add_body(shape, name=k, position=position))
    if found:
        mechanism.add_obstacle(dy.HalfSpace(), name="floor")
        mechanism.collide()
    else:
        mechanism.add_contact(bodies[0], name="floor|0")
        for one, two in zip(bodies, bodies[1:]):
            mechanism.add_contact(one, two, name=f"{one.name}|{two.name}")
    model = mechanism.finalize(timestep)
    return model, model.initial_state()


def speed_of(model, body, least, **attributes):
    """Vertical speed of a body over some other, m/s."""
    return event(lambda time, state: model.velocities(state)[body, 2] - least, **attributes)


@pytest.mark.parametrize("make", [lambda: thrown(), lambda: bouncing(), lambda: tower(True)])
@pytest.mark.parametrize("way", [{}, {"accuracy": 1e-3}])
def test_a_motion_is_the_same_to_the_last_bit_with_events(make, way):
    model, state = make()
    plain = dy.simulate(model, state, 0.2, every=2, **way)

    def spoils(time, state):
        """Writes into what it is given."""
        found = state.pose[0, 2] - 0.08
        state.data[:] = np.nan
        return found

    watched = dy.simulate(model, state, 0.2, every=2, events=[height(0.08), spoils], **way)
    np.testing.assert_array_equal(watched.states, plain.states)
    np.testing.assert_array_equal(watched.time, plain.time)
    np.testing.assert_array_equal(watched.intervals, plain.intervals)
    more = [dy.simulate(model, one.final, 0.05, **way).states for one in (plain, watched)]
    np.testing.assert_array_equal(*more)


@pytest.mark.parametrize("part", [0.1, 1e-6])
def test_events_of_contacts_that_models_find_are_those_of_declared_ones(part, monkeypatch):
    # also where allowances are so small that steps are taken back and near models change
    monkeypatch.setattr(near_models, "PART", part)
    monkeypatch.setattr(near_models, "STEPS", 1.0)
    motions = []
    for found in (False, True):
        model, state = tower(found, BALL)
        events = {"speed": speed_of(model, 2, -1.0, terminal=2), "low": height(0.31, 2)}
        motions.append(dy.simulate(model, state, 0.4, events=events))
    declared, near = motions
    assert found_of(near) == [("speed", "falls"), ("low", "falls"), ("speed", "rises")]
    assert found_of(near) == found_of(declared)
    # steps of balls agree to 2e-8 m, see theory/contacts; they fall with 0.1 m/s or more
    for one, other in zip(near.events, declared.events):
        assert abs(one.time - other.time) < 2e-8 * len(near) / 0.1


@pytest.mark.parametrize("part", [0.1, 1e-6])
@pytest.mark.parametrize("way", [{}, {"accuracy": 1e-3}])
def test_a_motion_with_planes_between_boxes_ends_at_an_event_with_its_contacts(
    part, way, monkeypatch
):
    monkeypatch.setattr(near_models, "PART", part)
    monkeypatch.setattr(near_models, "STEPS", 1.0)
    model, state = tower(True)
    # the lowest box lies, the next has just hit it, the third has fallen 0.1 m
    stop = height(0.32, 2, terminal=True)
    motion = dy.simulate(model, state, 0.4, events=stop, **way)
    before = motion[len(motion) - 2]
    assert before.pose[2, 2] > 0.32 >= motion.final.pose[2, 2] > 0.32 - 3.0 * RESOLUTION * 0.02
    # a free fall, but for the barrier of the plane below: 5e-9 of the unit of energy
    assert abs(motion.time[-1] - np.sqrt(0.2 / GRAVITY)) < 5e-9
    for name in ("floor|0", "0|1"):
        assert 0.0 < motion.contact(name).gap[-1].min() < 1e-3
    forces = motion.contact("floor|0").normal_force
    assert forces.shape[0] == len(motion) and forces[-1].sum() > 0.0
    rest = dy.simulate(model, motion.final, 0.1, **way)
    np.testing.assert_array_equal(rest.states[0], motion.final.data)
    assert rest.contact("1|2").gap[-1].min() < 1e-3


def test_events_of_contacts_that_models_find_have_the_accuracy():
    # the boxes fall 0.04 m and 0.08 m to their first impact, at the times of a free fall
    model, state = tower(True)
    motion = dy.simulate(
        model, state, 0.15, every=3, accuracy=1e-3, events=height(0.07, terminal=True)
    )
    assert abs(motion.time[-1] - np.sqrt(2.0 * 0.03 / GRAVITY)) < 1e-10
    assert len(motion) == 4


def test_events_of_a_composition_have_its_order():
    errors = []
    for timestep in (0.05, 0.025):
        model, state, quarter, _ = pendulum(timestep=timestep)
        model = dy.compose(model, "suzuki4")
        motion = dy.simulate(model, state, 1.0, events=angle_of(model))
        errors.append(abs(motion.events[0].time - quarter))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.5)


# Refusals


def fails(time, state):
    if time > 0.12:
        raise KeyError("no such thing")
    return 1.0


BROKEN = [
    (lambda time, state: np.nan if time > 0.12 else 1.0, "gave nan at 0.15 s"),
    (lambda time, state: state.pose[0], r"gave array\(.*at 0 s"),
    (lambda time, state: [1.0], r"gave \[1.0\] at 0 s"),
    (lambda time, state: None, "gave None at 0 s"),
    (lambda time, state: 1j, "gave 1j at 0 s"),
    # only within a step
    (lambda time, state: np.inf if 0.105 < time < 0.145 else time - 0.12, r"gave inf at 0\.1"),
]


@pytest.mark.parametrize("function, message", BROKEN)
def test_an_event_that_gives_no_number_is_named(function, message):
    model, state = thrown()
    with pytest.raises(ValueError, match=f"event 'mine' {message}") as caught:
        dy.simulate(model, state, 1.0, events={"mine": function})
    assert caught.value.trajectory.time[-1] <= 0.15 + 1e-12
    plain = dy.simulate(model, state, 0.2)  # the model is as it was
    np.testing.assert_array_equal(plain.states[:2], dy.simulate(model, state, 0.05).states)


def test_what_an_event_raises_comes_through_with_its_name_and_the_motion():
    model, state = thrown()
    with pytest.raises(KeyError, match="no such thing") as caught:
        dy.simulate(model, state, 1.0, events=[height(5.0), fails])
    assert caught.value.__notes__ == ["raised by event 1 at 0.15 s"]
    np.testing.assert_allclose(caught.value.trajectory.time, [0.0, 0.05, 0.1, 0.15])


def test_ctrl_c_in_an_event_ends_the_run_with_the_motion():
    def interrupts(time, state):
        if time > 0.12:
            signal.raise_signal(signal.SIGINT)
        return 1.0

    model, state = thrown()
    with pytest.raises(KeyboardInterrupt) as caught:
        dy.simulate(model, state, 1.0, events=interrupts)
    np.testing.assert_allclose(caught.value.trajectory.time, [0.0, 0.05, 0.1, 0.15])


def test_what_is_no_event_is_refused_before_the_motion():
    model, state = thrown()
    with pytest.raises(TypeError, match="events are functions of"):
        dy.simulate(model, state, 1.0, events=1.0)
    with pytest.raises(TypeError, match="event 'low' is 3, and must be a function"):
        dy.simulate(model, state, 1.0, events={"low": 3})
    for attributes in (
        {"direction": "up"}, {"direction": np.nan}, {"terminal": -1}, {"terminal": 1.5},
        {"terminal": "yes"}, {"terminal": np.nan},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="event 0 has direction .* must be a number"):
            dy.simulate(model, state, 1.0, events=[height(1.0, **attributes)])


def test_the_papers_form_is_refused():
    model, state = thrown(form="first order")
    with pytest.raises(ValueError, match='events need form="second order"'):
        dy.simulate(model, state, 1.0, events=height(1.0))
