"""Error control inside a run: impacts by hand, errors over accuracies, laws, refusals."""

import itertools
import warnings

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation

from .laws.random_motions import scene

GRAVITY = 9.81


def fallen(height, restitution=0.0, timestep=0.05, **contact):
    """A ball of 0.1 m that starts so far above the floor."""
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=(0, 0, height + 0.1))
    mechanism.add_contact(ball, restitution=restitution, name="floor", **contact)
    model = mechanism.finalize(timestep)
    return model, model.initial_state()


def wheel(timestep=0.05, inertia=0.5, rate=0.0, gravity=(0, 0, 0), **joint):
    """A wheel on an axle through its centre of mass, with no gravity."""
    mechanism = dy.Mechanism(gravity=gravity)
    body = mechanism.add_body(mass=1.0, inertia=inertia * np.eye(3), name="wheel")
    mechanism.add_joint(dy.Revolute(mechanism.world, body, axis=(0, 1, 0), name="axle", **joint))
    model = mechanism.finalize(timestep)
    state = model.initial_state()
    model.set_joint(state, "axle", 0.0, rate)
    return model, state


# By hand


@pytest.mark.parametrize("accuracy", [1e-3, 1e-5])
def test_a_fall_ends_at_the_time_of_its_impact(accuracy):
    model, state = fallen(1.0)
    motion = dy.simulate(model, state, 0.6, accuracy=accuracy)

    (event,) = motion.events
    # the gap that is left at the impact is at most a tenth of the accuracy, at v = sqrt(2 g z)
    speed = np.sqrt(2.0 * GRAVITY)
    assert abs(event.time - speed / GRAVITY) < 0.1 * accuracy / speed
    assert (event.name, event.kind) == ("floor", "closes")
    assert 0.0 <= motion.contact("floor").gap[-1, 0] < 0.1 * accuracy
    # an impact takes a tenth of the accuracy over the unit of speed, (g 0.1 m / sqrt 2.5)^(1/2)
    assert len(motion) == 13 and motion.info["shortest_interval"] < 0.1 * accuracy / 0.78


@pytest.mark.parametrize("accuracy", [1e-3, 1e-5])
def test_bounces_come_back_as_high_as_newtons_law_says(accuracy):
    # up with e v after the impact, down again after 2 e v / g, up with e^2 v
    model, state = fallen(1.0, restitution=0.6)
    motion = dy.simulate(model, state, 1.2, accuracy=accuracy)

    speed = np.sqrt(2.0 * GRAVITY)
    first = speed / GRAVITY
    second = first * (1.0 + 2.0 * 0.6)
    closes = [event.time for event in motion.events if event.kind == "closes"]
    # an impact may add its tenth of the accuracy over the unit of time, 0.08 s of this ball, to a
    # velocity, which a second of flight makes 1.3 times the accuracy
    np.testing.assert_allclose(closes, [first, second], rtol=0, atol=1.3 * accuracy)
    rest = motion.time[-1] - second
    height = 0.36 * speed * rest - 0.5 * GRAVITY * rest**2
    assert abs(motion.body("ball")[0][-1, 2] - 0.1 - height) < 3.0 * accuracy


def test_a_limit_stops_a_wheel_where_it_is():
    # at 2 rad/s without forces the limit of 0.7 rad is reached after 0.35 s
    model, state = wheel(rate=2.0, limits=(-1.0, 0.7))
    motion = dy.simulate(model, state, 1.0, accuracy=1e-6)

    event = motion.events[0]
    assert abs(event.time - 0.35) < 0.5e-6 * 0.5  # half of the accuracy, at 2 rad/s
    assert (event.name, event.kind) == ("axle", "closes")
    free = motion.time < 0.35
    np.testing.assert_allclose(motion.joint("axle")[free], 2.0 * motion.time[free], atol=1e-6)
    np.testing.assert_allclose(motion.joint("axle")[~free], 0.7, atol=1e-6)


def test_dry_friction_brakes_a_wheel_and_holds_it():
    # 3 rad/s over F / I = 4 rad/s^2: it stands after 0.75 s, at 9 / 8 rad
    model, state = wheel(inertia=0.5, rate=3.0, friction=2.0)
    motion = dy.simulate(model, state, 1.0, accuracy=1e-5)
    free = np.minimum(motion.time, 0.75)
    np.testing.assert_allclose(motion.joint("axle"), 3.0 * free - 2.0 * free**2, rtol=0, atol=1e-5)
    assert motion.events == []  # of contacts and limits alone


def test_a_block_slides_as_far_as_coulomb_lets_it():
    mechanism = dy.Mechanism()
    block = mechanism.add_body(dy.Box(0.5, 0.5, 0.5, mass=1.0), name="block", position=(0, 0, 0.25))
    mechanism.add_contact(block, friction=0.3, name="floor")
    model = mechanism.finalize(0.03)
    state = model.initial_state()
    model.set_body(state, "block", velocity=(1.0, 0.0, 0.0))
    motion = dy.simulate(model, state, 0.6, accuracy=1e-4)

    free = np.minimum(motion.time, 1.0 / (0.3 * GRAVITY))
    way = free - 0.15 * GRAVITY * free**2
    np.testing.assert_allclose(motion.body("block")[0][:, 0], way, rtol=0, atol=1e-4)


def test_a_contact_that_opens_at_once_is_an_event_of_both_kinds():
    # a rod swings against its limit and falls back: the impact takes all of its speed
    mechanism = dy.Mechanism()
    rod = mechanism.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0), name="rod")
    hinge = dy.Revolute(
        mechanism.world, rod, axis=(0, 1, 0), child_point=(0, 0, 0.5), limits=(-0.5, 2.0),
        name="hinge",
    )  # fmt: skip
    mechanism.add_joint(hinge)
    model = mechanism.finalize(0.05)
    state = model.initial_state()
    model.set_joint(state, "hinge", 1.0)
    runs = [dy.simulate(model, state, 1.5, accuracy=e) for e in (1e-4, 1e-6)]

    for motion in runs:
        assert [event.kind for event in motion.events] == ["closes", "opens"]
    assert abs(runs[0].events[0].time - runs[1].events[0].time) < 1e-4
    np.testing.assert_allclose(runs[0].joint("hinge"), runs[1].joint("hinge"), rtol=0, atol=1e-4)


# Families: errors over accuracies


def double_pendulum(order, timestep):
    return dy.zoo.double_pendulum(timestep=timestep, order=order)


def heavy_top(order, timestep):
    return dy.zoo.heavy_top(timestep=timestep, order=order)


def difference(motion, other):
    """Largest difference of positions and of quaternions."""
    size = 7 * motion.model.n_bodies
    return np.abs(motion.states[:, :size] - other.states[:, :size]).max()


@pytest.mark.parametrize("make", [double_pendulum, heavy_top])
@pytest.mark.parametrize(
    "order, accuracies", [(2, [1e-3, 1e-4, 1e-5]), (4, [1e-4, 1e-6, 1e-8]), (6, [1e-6, 1e-8])]
)
def test_errors_stay_below_the_accuracy_and_fall_with_it(make, order, accuracies):
    fine, start = make(6, 0.0025)
    exact = dy.simulate(fine, start, 1.0, every=20)  # errors of 1e-11
    errors, intervals = [], []
    for accuracy in accuracies:
        model, state = make(order, 0.05)
        motion = dy.simulate(model, state, 1.0, accuracy=accuracy)
        errors.append(difference(motion, exact))
        intervals.append(motion.info["intervals"])
    assert (np.array(errors) < accuracies).all()
    # an error per unit of time that is 10 times smaller takes 10^(1/p) times the intervals, if
    # steps are not the longest already
    assert errors[-1] < errors[0] and intervals[-1] > intervals[0]


@pytest.mark.parametrize(
    "name", ["bricard", "double_four_bar", "four_bar", "screw_press", "shafts", "slider_crank"]
)
@pytest.mark.parametrize("order, accuracy", [(2, 1e-5), (4, 1e-7)])
def test_loops_and_couplings_stay_within_the_accuracy(name, order, accuracy):
    make = getattr(dy.zoo, name)
    fine, start = make(timestep=0.0025, order=6)
    exact = dy.simulate(fine, start, 0.5, every=10)
    model, _ = make(timestep=0.025, order=order)
    motion = dy.simulate(model, start, 0.5, accuracy=accuracy)
    assert difference(motion, exact) < 0.5 * accuracy


def test_controls_at_the_nodes_keep_the_accuracy():
    def run(timestep, order, **accuracy):
        model, state = dy.zoo.cart_pole(timestep=timestep, order=order)
        steps = round(1.0 / timestep)
        time = (np.arange(steps)[:, None] + model.nodes) * timestep
        controls = np.sin(3.0 * time)[..., None]
        every = round(0.05 / timestep)
        return dy.simulate(model, state, 1.0, controls=controls, every=every, **accuracy)

    # within a step controls are the polynomial through its nodes: 3 h / 2 to the third over 6 less
    exact = run(0.0025, 6)
    assert difference(run(0.0125, 4, accuracy=1e-7), exact) < 1e-6


# Laws


def test_momentum_is_kept_while_intervals_change():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    shape = dy.Box(0.1, 0.2, 0.5, mass=1.0)
    bodies = [mechanism.add_body(shape, name=k, position=(0, 0, 0.5 * k)) for k in range(4)]
    for one, two in zip(bodies, bodies[1:]):
        ends = {"parent_point": (0, 0, 0.25), "child_point": (0, 0, -0.25)}
        mechanism.add_joint(dy.Spherical(one, two, **ends))
    model = mechanism.finalize(0.05)
    state = model.initial_state()
    model.set_body(state, 3, velocity=(0.0, 6.0, 1.0))
    state = model.assemble(state)
    motion = dy.simulate(model, state, 2.0, accuracy=1e-3)

    assert motion.info["most_intervals"] > 1.5 * motion.info["intervals_per_step"]
    moved = np.abs(motion.momentum() - motion.momentum()[0]).max()
    assert moved < 1e-10 * np.abs(motion.momentum()[0]).max() * motion.info["intervals"]
    assert motion.constraint_violation().max() < 1e-10


def test_energy_changes_by_less_than_the_accuracy_explains():
    model, state = dy.zoo.double_pendulum(timestep=0.05)
    energies = [
        dy.simulate(model, state, 2.0, accuracy=accuracy).energy() for accuracy in (1e-3, 1e-5)
    ]
    # m g times an error of position, of two bodies, in two seconds
    for energy, accuracy in zip(energies, (1e-3, 1e-5)):
        assert np.abs(energy - energy[0]).max() < 2.0 * 2.0 * GRAVITY * accuracy


def test_a_motion_goes_on_to_the_last_bit():
    model, state = dy.zoo.double_pendulum(timestep=0.02, order=4)
    whole = dy.simulate(model, state, 0.4, accuracy=1e-7)
    half = dy.simulate(model, state, 0.2, accuracy=1e-7)
    rest = dy.simulate(model, half.final, 0.2, accuracy=1e-7)
    np.testing.assert_array_equal(rest.final.data, whole.final.data)


def test_records_and_controllers_keep_the_times_of_the_steps():
    model, state = dy.zoo.cart_pole(timestep=0.02)
    seen = []

    def control(state, time):
        seen.append(time)
        return [0.5]

    given = dy.simulate(model, state, 0.2, controls=[0.5], accuracy=1e-6, every=5)
    called = dy.simulate(model, state, 0.2, controller=control, accuracy=1e-6, every=5)
    np.testing.assert_array_equal(called.states, given.states)
    np.testing.assert_allclose(seen, 0.02 * np.arange(10))
    np.testing.assert_allclose(given.time, [0.0, 0.1, 0.2])


def test_contacts_that_models_find_are_located_like_those_that_are_declared():
    def make(found):
        mechanism = dy.Mechanism()
        for k, x in enumerate((0.0, 0.15)):
            position = (x, 0.0, 0.3 + 0.2 * k)
            ball = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name=k, position=position)
            if not found:
                mechanism.add_contact(ball, friction=0.0, name=f"floor|{k}")
        if found:
            mechanism.add_obstacle(dy.HalfSpace(), friction=0.0, name="floor")
            mechanism.collide(friction=0.0)
        else:
            ends = mechanism.bodies[0], mechanism.bodies[1]
            mechanism.add_contact(*ends, friction=0.0, name="0|1")
        model = mechanism.finalize(0.02)
        return model, model.initial_state()

    motions = []
    for found in (False, True):
        model, state = make(found)
        motions.append(dy.simulate(model, state, 0.5, accuracy=1e-5))
    assert motions[0].events[0].name == motions[1].events[0].name == "floor|0"
    assert abs(motions[0].events[0].time - np.sqrt(0.4 / GRAVITY)) < 1e-6
    assert difference(*motions) < 1e-5


def test_the_step_without_accuracy_is_what_it_was():
    model, state = dy.zoo.double_pendulum(timestep=0.02)
    before = dy.simulate(model, state, 0.4)
    dy.simulate(model, state, 0.4, accuracy=1e-5)
    after = dy.simulate(model, state, 0.4)
    np.testing.assert_array_equal(before.states, after.states)
    assert len(before.events) == 0
    assert "rejected_intervals" not in before.info


# Refusals


@pytest.mark.parametrize("accuracy", [0.0, -1e-6, np.nan, np.inf])
def test_an_accuracy_is_positive(accuracy):
    model, state = dy.zoo.double_pendulum(timestep=0.02)
    with pytest.raises(ValueError, match="accuracy is .* must be positive and finite"):
        dy.simulate(model, state, 0.2, accuracy=accuracy)
    with pytest.raises(TypeError, match="accuracy is 'fine', and must be a number"):
        dy.simulate(model, state, 0.2, accuracy="fine")


def test_an_accuracy_that_newton_does_not_allow_is_refused():
    model, state = dy.zoo.double_pendulum(timestep=0.02)
    with pytest.raises(ValueError, match="give the model a smaller tolerance"):
        dy.simulate(model, state, 0.2, accuracy=1e-12)
    model, state = fallen(0.1)
    with pytest.raises(ValueError, match="give the model a smaller contact_tolerance"):
        dy.simulate(model, state, 0.2, accuracy=1e-10)


def test_papers_forms_and_compositions_are_refused():
    mechanism = dy.Mechanism()
    mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="ball")
    paper = mechanism.finalize(0.01, form="first order")
    with pytest.raises(ValueError, match='accuracy needs form="second order"'):
        dy.simulate(paper, paper.initial_state(), 0.1, start="discrete", accuracy=1e-6)
    model, state = dy.zoo.double_pendulum(timestep=0.02)
    with pytest.raises(ValueError, match="accuracy is not offered with compose"):
        dy.simulate(dy.compose(model, "suzuki4"), state, 0.1, accuracy=1e-6)


def test_what_cannot_be_resolved_is_an_error_with_the_motion_before():
    def noise(time, pose, twist):
        """A force that changes within nanoseconds."""
        return [0.0, 0.0, 100.0 * np.sin(1e9 * time**2) if time > 0.1 else 0.0, 0.0, 0.0, 0.0]

    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="ball")
    mechanism.add_force(dy.Wrench(ball, noise, name="noise"))
    model = mechanism.finalize(0.02)
    with pytest.raises(dy.ConvergenceError, match="'ball'") as caught:
        dy.simulate(model, model.initial_state(), 0.4, accuracy=1e-6)
    assert 0.08 < caught.value.trajectory.time[-1] < 0.13


@pytest.mark.parametrize("accuracy", [1e-3, 1e-4])
def test_impacts_of_many_contacts_do_not_end_a_run(accuracy):
    """Two boxes land on the ground and on each other, which no length of intervals resolves."""
    rng = np.random.default_rng(2)
    mechanism = dy.Mechanism()
    for i in range(2):
        mechanism.add_body(
            dy.Box(0.2, 0.16, 0.12, mass=1.0), name=f"box {i}",
            position=(0.02 * i, 0.0, 0.25 + 0.3 * i), orientation=rotation.random(rng),
        )  # fmt: skip
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    mechanism.collide()
    model = mechanism.finalize(0.01)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        motion = dy.simulate(model, model.initial_state(), 0.35, accuracy=accuracy)

    count = motion.info["unresolved_impacts"]
    texts = [str(one.message) for one in found]
    assert texts == ([] if count == 0 else [texts[0]])
    assert all(text.startswith(f"{count} impacts are not known") for text in texts)
    energy = motion.energy()
    assert (np.diff(energy) <= 1e-3 * energy[0]).all() and energy[-1] < 0.8 * energy[0]
    for i in range(2):
        place, turn = motion.body(f"box {i}")
        corners = 0.5 * np.array(list(itertools.product(*[(-d, d) for d in (0.2, 0.16, 0.12)])))
        heights = place[:, None, 2] + rotation.rotate(turn[:, None], corners[None])[..., 2]
        assert heights.min() > -1e-3 * accuracy


@pytest.mark.parametrize("seed", [19, 57])
@pytest.mark.parametrize("accuracy", [1e-3, 1e-5])
def test_an_instant_whose_contacts_are_not_solved_does_not_end_a_run(seed, accuracy):
    """Of 60 random scenes those that ended in a ConvergenceError, in intervals of 1e-12 s."""
    model, state, *_ = scene(seed)

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        motion = dy.simulate(model, state, 0.25, accuracy=accuracy)

    texts = " ".join(str(one.message) for one in found)
    assert motion.info["steps"] == 50
    assert motion.energy().max() <= motion.energy()[0] * (1.0 + accuracy)
    # the run says that such an instant is not known, and where friction was less there
    assert (motion.info["unresolved_impacts"] > 0) == ("impacts are not known" in texts)
    assert (motion.info["less_friction"] > 0) == ("less friction" in texts)


def test_a_force_that_jumps_is_located_by_the_error():
    def pulse(time, pose, twist):
        return [0.0, 0.0, 10.0 if time > 0.1234 else 0.0, 0.0, 0.0, 0.0]

    mechanism = dy.Mechanism(gravity=(0.0, 0.0, 0.0))
    ball = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="ball")
    mechanism.add_force(dy.Wrench(ball, pulse, name="pulse"))
    for order in (2, 4):
        model = mechanism.finalize(0.05, order=order)
        motion = dy.simulate(model, model.initial_state(), 0.5, accuracy=1e-5)
        way = 5.0 * np.maximum(0.0, motion.time - 0.1234) ** 2
        np.testing.assert_allclose(motion.body("ball")[0][:, 2], way, rtol=0, atol=1e-5)


@pytest.mark.parametrize("armature", [0.0, 0.1])
def test_rotors_that_turn_at_the_start_leave_friction_half_an_interval_there(armature):
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    wheel, slide = (mechanism.add_body(dy.Box(0.3, 0.2, 0.1, mass=1.0), name=n) for n in "ws")
    mechanism.add_joint(
        dy.Revolute(mechanism.world, wheel, axis=(0, 1, 0), friction=0.01, name="wheel")
    )
    mechanism.add_joint(
        dy.Prismatic(mechanism.world, slide, axis=(0, 0, 1), armature=armature, name="slide")
    )
    model = mechanism.finalize(0.02)
    state = model.initial_state()
    model.set_joint(state, "wheel", 0.0, 0.6)
    model.set_joint(state, "slide", 0.0, 0.5)

    motion = dy.simulate(model, state, 0.06, accuracy=1e-5)

    slowed = 0.5 * 0.01 / wheel.inertia[1, 1] * motion.time**2
    assert np.abs(motion.joint("wheel") - (0.6 * motion.time - slowed)).max() < 1e-6
