"""Derivatives of models that find their contacts, against differences and declared contacts."""

import math
import pickle

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.kinematics.coordinates import free_velocities
from dynamics.kinematics.momenta import momenta

from .test_contact_gradients import CLOSE, STEP, H, bouncing_ball, model_of, moved, read, run
from .test_linearization import differences, error

BALL, BOX = dy.Sphere(0.2, mass=1.0), dy.Box(0.5, 0.4, 0.3, mass=1.0)
DIE, CAN = dy.Box(0.3, 0.2, 0.25, mass=1.5), dy.Cylinder(0.15, 0.3, mass=0.7)


def over_the_floor(*shapes, seed=0, **options):
    """Shapes above each other that turn as they fall, and the state after some steps."""
    rng = np.random.default_rng(seed)
    mechanism = dy.Mechanism()
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    for k, shape in enumerate(shapes):
        x, y = 0.1 * rng.normal(size=2)
        mechanism.add_body(shape, name=f"b{k}", position=(x, y, 0.35 + 0.45 * k))
    mechanism.collide(friction=0.4, **options)
    model = model_of(mechanism)
    state = model.initial_state()
    for k in range(len(shapes)):
        model.set_body(
            state, f"b{k}", velocity=rng.normal(size=3), angular_velocity=rng.normal(size=3)
        )
    return model, state


def forgotten(model, state):
    """The same bodies with free velocities and no memory: planes will be placed between them."""
    after = moved(model, state, np.zeros(12 * model.n_bodies))
    after.memory = None
    return after


def planes_of(model, state):
    return model.near.entry(state).near.n_bodies - model.n_bodies


def test_a_ball_on_the_floor_has_the_slopes_of_the_contact_that_is_declared():
    found = []
    for declared in (False, True):
        mechanism = dy.Mechanism()
        ball = mechanism.add_body(BALL, name="ball", position=(0, 0, 0.2001))
        if declared:
            mechanism.add_contact(ball, name="floor", friction=0.3)
        else:
            mechanism.add_obstacle(dy.HalfSpace(), name="floor")
            mechanism.collide(friction=0.3)
        model = model_of(mechanism)
        state = model.initial_state()
        model.set_body(state, "ball", velocity=(1, 0, 0))
        found.append(dy.linearize(model, run(model, state, 20))[0])

    assert error(*found) < 1e-12


#: Shapes, seed, steps and planes: balls, without a plane; a corner that hits a face, and rests;
#: three planes at once; two cylinders, whose rims are found apart by another algorithm.
SCENES = [
    ((BALL, BALL), 1, 40, 0), ((BOX, DIE), 1, 20, 1), ((BOX, DIE), 1, 45, 1),
    ((BOX, DIE, DIE), 1, 40, 3), ((CAN, CAN), 1, 20, 1), ((CAN, CAN), 5, 30, 1),
]  # fmt: skip


@pytest.mark.parametrize(("shapes", "seed", "steps", "planes"), SCENES)
def test_a_step_with_contacts_that_it_finds_is_linearized_exactly(shapes, seed, steps, planes):
    model, state = over_the_floor(*shapes, seed=seed)
    state = forgotten(model, run(model, state, steps))
    assert planes_of(model, state) == planes

    A, _ = dy.linearize(model, state)

    after, _ = model.step(state)
    wanted = differences(
        lambda d: read(model, model.step(moved(model, state, d))[0], after), len(A), STEP / 4
    )
    assert error(A, wanted) < CLOSE


@pytest.mark.parametrize(("shapes", "seed"), [((BOX, DIE), 1), ((BOX, CAN, BALL), 7)])
def test_a_motion_is_differentiated_from_one_near_model_to_the_next(shapes, seed):
    model, state = over_the_floor(*shapes, seed=seed)
    state = forgotten(model, state)
    way = np.random.default_rng(seed).normal(size=(12 * model.n_bodies, 1))
    seconds, twist = 25 * H, free_velocities(model, state)

    found = dy.sensitivity(model, state, seconds, [("b1", "mass")], start=way)

    last = found.motion.final
    assert len(found.motion.parts) > 1
    assert planes_of(model, last) > 0
    columns = np.concatenate([found.poses[-1], found.velocities], axis=1).reshape(len(way), 2)

    def heavier(change):
        mass = model.mechanism.bodies["b1"].mass * (1.0 + change[0])
        other = dy.variant(model, {"b1": {"mass": mass}})
        first = state.copy()
        first.momentum[:] = momenta(other.tables, state.pose, twist[None]).reshape(-1, 6)
        return read(other, dy.simulate(other, first, seconds).final, last)

    def started(change):
        return read(
            model,
            dy.simulate(model, moved(model, state, way[:, 0] * change[0]), seconds).final,
            last,
        )

    mass = model.mechanism.bodies["b1"].mass
    assert error(columns[:, 0], differences(heavier, 1, 1e-5)[:, 0] / mass) < 10 * CLOSE
    assert error(columns[:, 1], differences(started, 1, 1e-6)[:, 0]) < 10 * CLOSE


def on_the_floor(*bodies):
    """Shapes at heights and orientations, at rest."""
    mechanism = dy.Mechanism()
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    for k, (shape, height, turn) in enumerate(bodies):
        mechanism.add_body(
            shape, name=f"b{k}", position=(0.02 * k, 0.01 * k, height),
            orientation=rotation.from_rotation_vector(turn),
        )  # fmt: skip
    mechanism.collide(friction=0.4)
    model = model_of(mechanism)
    return model, model.initial_state()


def faces():
    return on_the_floor((BOX, 0.1502, (0, 0, 0)), (DIE, 0.4254, (0, 0, 0)))


def edges():
    """A bar that lies in a corner of itself on the floor, and another across its upper edge."""
    bar, half = dy.Box(1.0, 0.2, 0.2, mass=2.0), 0.1 * math.sqrt(2.0)
    about_x = rotation.from_rotation_vector([math.pi / 4, 0, 0])
    across = rotation.multiply(rotation.from_rotation_vector([0, 0, 1.8]), about_x)
    return on_the_floor(
        (bar, half + 1e-4, (math.pi / 4, 0, 0)),
        (bar, 3 * half + 3e-4, rotation.to_rotation_vector(across)),
    )


def cylinders():
    can = dy.Cylinder(0.15, 0.8, mass=1.0)
    lying = rotation.from_rotation_vector([math.pi / 2, 0, 0])
    across = rotation.multiply(rotation.from_rotation_vector([0, 0, 1.0]), lying)
    return on_the_floor(
        (can, 0.1501, (math.pi / 2, 0, 0)), (can, 0.4504, rotation.to_rotation_vector(across))
    )


def products(model, motion, way, **options):
    """Changes at the end of a motion by products of A."""
    for state in motion:
        A = dy.linearize(model, state, **options)[0]
        if (
            len(way) < A.shape[1]
        ):  # it begins: velocities of the interval before change as those now
            speeds = way.reshape(-1, 2, 6, way.shape[1])[:, 1].reshape(-1, way.shape[1])
            way = np.concatenate([way, speeds])
        way = A @ way
    return way


def columns_of(found, bodies):
    """Changes at the end of a motion, in the maximal coordinates of `linearize`."""
    both = np.concatenate([found.poses[-1], found.velocities], axis=1)
    return both.reshape(12 * bodies, -1)


@pytest.mark.parametrize(("scene", "steps"), [(faces, 100), (edges, 8), (cylinders, 10)])
def test_columns_of_a_plane_are_differences_of_steps_in_which_it_is_elsewhere(scene, steps):
    model, state = scene()
    state = run(model, state, steps)
    entry = model.near.remembered(state)
    near, inner = entry.near, entry.near.model
    assert near.n_bodies == 3

    A, _ = dy.linearize(model, state, memory=True)

    def after(change):
        start = model.near.whole(near, moved(inner, entry.state, change))
        return model.near.remembered(model.step(start)[0]).state

    last, bodies, planes = after(np.zeros(36)), slice(24), slice(36, 48)
    wanted = differences(lambda d: read(inner, after(d), last), 36, STEP)
    assert A.shape == (48, 48)
    assert error(A[bodies, bodies], wanted[bodies, bodies]) < CLOSE
    assert error(A[planes, bodies], wanted[24:, bodies]) < CLOSE
    assert error(A[planes, planes], wanted[24:, 24:]) < CLOSE
    # what a plane does to bodies is a thousandth of what they do: the same noise, 1e3 times as much
    assert error(A[bodies, planes], wanted[bodies, 24:]) < 100 * CLOSE
    assert not A[:, 24:36].any()  # no plane is laid, and nothing bounces


@pytest.mark.parametrize(("scene", "steps"), [(faces, 100), (edges, 8), (cylinders, 10)])
def test_products_along_a_motion_are_exact_with_all_that_it_remembers(scene, steps):
    model, state = scene()
    state = forgotten(model, run(model, state, steps))
    way = np.random.default_rng(0).normal(size=(24, 3))

    found = dy.sensitivity(model, state, 10 * H, start=way)

    motion, last = [state, *list(found.motion)[1:-1]], columns_of(found, 2)
    product = products(model, motion, way, memory=True)
    assert product.shape == (48, 3)
    # planes of rounded shapes turn with the slopes of rows, central differences: 1e-10 a step
    assert error(product[:24], last) < 1e-7
    missed = error(products(model, motion, way), last)
    # at most the inertia of planes, 1e-3; across edges the plane turns with both
    assert missed < 2e-3 if scene is faces else missed > 2e-3


@pytest.mark.parametrize(("shapes", "seed"), [((BOX, DIE), 1), ((BOX, CAN, BALL), 7)])
def test_planes_come_and_go_in_products(shapes, seed):
    model, state = over_the_floor(*shapes, seed=seed)
    n = len(shapes)
    state = forgotten(model, state)
    way = np.random.default_rng(seed).normal(size=(12 * n, 2))

    found = dy.sensitivity(model, state, 30 * H, start=way)

    motion = [state]  # records of a run would find near pairs anew: a plane more, a thousandth
    for _ in range(29):
        motion.append(model.step(motion[-1])[0])
    sizes = {dy.linearize(model, one, memory=True)[0].shape for one in motion}
    assert (18 * n, 18 * n) in sizes and (18 * n + 12, 18 * n) in sizes
    # the same but for planes that are laid, by central differences: 1e-9 over spins of 3 rad/s
    product = products(model, motion, way, memory=True)[: 12 * n]
    assert error(product, columns_of(found, n)) < 1e-7


def test_products_are_exact_for_what_bounces():
    model, state = bouncing_ball()
    state = moved(model, state, np.zeros(12))
    way = np.random.default_rng(0).normal(size=(12, 3))

    found = dy.sensitivity(model, state, 30 * H, start=way)

    motion, last = [state, *list(found.motion)[1:-1]], columns_of(found, 1)
    assert max(one.contacts[0] > 1.0 for one in motion[10:])  # a later impact, too
    assert error(products(model, motion, way, memory=True)[:12], last) < 1e-9


def test_products_with_B_are_slopes_by_the_control_of_a_step_before():
    mechanism = dy.Mechanism()
    cart = mechanism.add_body(dy.Box(0.6, 0.6, 0.1, mass=2.0), name="cart")
    mechanism.add_body(dy.Box(0.2, 0.2, 0.2, mass=1.0), name="load", position=(0, 0, 0.1502))
    mechanism.add_joint(
        dy.Prismatic(mechanism.world, cart, axis=(1, 0, 0), name="slide", actuated=True)
    )
    mechanism.collide(friction=0.4)
    model = model_of(mechanism)
    state = run(model, model.initial_state(), 50, [2.0])

    A, B = dy.linearize(model, state, [2.0], memory=True, chained=True)
    product = B
    after, _ = model.step(state, [2.0])
    for _ in range(4):
        product = dy.linearize(model, after, [2.0], memory=True, chained=True)[0] @ product
        after, _ = model.step(after, [2.0])

    def ended(change):
        first, _ = model.step(state, 2.0 + change)
        return read(model, run(model, first, 4, [2.0]), after)

    assert A.shape == (48, 48)
    assert error(product[:24, 0], differences(ended, 1, 1e-4)[:, 0]) < 10 * CLOSE


def test_models_without_pairs_remember_the_interval_before():
    model, state = dy.zoo.double_pendulum()
    A, _ = dy.linearize(model, state)

    long, _ = dy.linearize(model, state, memory=True)
    joints, _ = dy.linearize(model, state, memory=True, coordinates="joint")

    assert long.shape == (36, 36) and joints.shape == (16, 16)
    np.testing.assert_allclose(long[:24, :24], A, atol=1e-12)
    assert not long[:, 24:].any()


def sliding(*shapes, **options):
    """A pile of boxes on the floor, each faster than the one below."""
    mechanism, top = dy.Mechanism(), 0.0
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    for k, shape in enumerate(shapes):
        half = 0.5 * shape.z
        mechanism.add_body(shape, name=f"b{k}", position=(0.01 * k, 0, top + half + 1e-4))
        top += 2.0 * half + 1e-4
    mechanism.collide(**{"friction": 0.3, **options})
    model = model_of(mechanism)
    state = model.initial_state()
    for k in range(len(shapes)):
        model.set_body(state, f"b{k}", velocity=(1.0 + 0.5 * k, 0.1 * k, 0.0))
    return model, state


PAIRS = [
    ({}, [("floor|b0", "friction"), ("b0|b1", "friction")]),
    ({"torsional": 0.02}, [("b0|b1", "torsional")]),
    ({"compliance": 1e-4}, [("b0|b1", "compliance"), ("floor|b0", "compliance")]),
]


@pytest.mark.parametrize(("options", "parameters"), PAIRS)
def test_a_motion_is_differentiated_by_numbers_of_the_pairs_that_it_finds(options, parameters):
    model, state = sliding(BOX, DIE, **options)
    state = forgotten(model, state)

    found = dy.sensitivity(model, state, 20 * H, parameters)

    last, columns = found.motion.final, columns_of(found, 2)
    assert planes_of(model, last) == 1
    for (name, what), column in zip(parameters, columns.T):
        value = getattr(model.near.contact(model.near.candidates.numbers[name]), what)

        def ended(change, name=name, what=what, value=value):
            other = dy.variant(model, {name: {what: value * (1.0 + change[0])}})
            return read(other, dy.simulate(other, state, 20 * H).final, last)

        assert np.abs(column).max() > 1e-3 * value
        assert error(column, differences(ended, 1, 1e-5)[:, 0] / value) < 10 * CLOSE


def test_friction_of_a_pair_stops_a_box_as_the_formula_says():
    model, state = sliding(BOX)
    found = dy.sensitivity(model, state, 0.2, [("floor|b0", "friction")])
    # x = v t - mu g t^2 / 2 while it slides; it falls by 1e-4 m first, in 4.5 ms, and the impulse
    # that the floor owes comes within a step or two: 2 h^2 / t^2
    assert found.poses[-1, 0, 0, 0] == pytest.approx(-9.81 * 0.2**2 / 2.0, rel=5e-3)

    other = dy.variant(model, {"floor|b0": {"friction": 0.1}})
    copied, heavy = pickle.loads(pickle.dumps(other)), dy.variant(other, {"b0": {"mass": 2.0}})
    for made in (other, copied, heavy):
        start = made.initial_state()
        made.set_body(start, "b0", velocity=(1.0, 0.0, 0.0))
        speed = made.velocities(dy.simulate(made, start, 0.2).final)[0, 0]
        assert speed == pytest.approx(1.0 - 0.1 * 9.81 * 0.2, abs=0.1 * 9.81 * H)


def test_jobs_of_rollouts_have_friction_of_pairs():
    model, state = sliding(BOX)
    jobs = [dy.Job(state, 0.2, parameters={"floor|b0": {"friction": mu}}) for mu in (0.1, 0.2)]
    for mu, motion in zip((0.1, 0.2), dy.rollouts(model, jobs)):
        way = motion.trajectory.final.pose[0, 0]
        assert way == pytest.approx(1.0 * 0.2 - mu * 9.81 * 0.2**2 / 2.0, rel=5e-3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"floor|b9": {"friction": 0.1}}, "no body.*'floor.b9'.*pairs of collide are 'floor.b0'"),
        ({"b0|b1": {"friction": 0.0}}, "friction of contact 'b0.b1' is 0.3 and cannot become 0.0"),
        ({"b0|b1": {"compliance": 1e-4}}, "compliance of contact 'b0.b1' is 0.0 and cannot become"),
        ({"b0|b1": {"restitution": 0.5}}, "restitution of contact 'b0.b1' is 0.5; it is not offer"),
        ({"b0|b1": {"friction": -0.5}}, "friction of contact 'b0.b1' is -0.5, and must not be neg"),
        ({"b0|b1": {"mass": 0.5}}, "'b0.b1' has no number 'mass'; it has"),
    ],
)
def test_numbers_that_pairs_cannot_have_are_refused(parameters, message):
    model, _ = sliding(BOX, DIE)
    with pytest.raises((ValueError, dy.UnknownNameError), match=message):
        dy.variant(model, parameters)


def test_sensitivity_by_a_pair_that_there_is_not_names_those_that_there_are():
    model, state = sliding(BOX, DIE)
    with pytest.raises(dy.UnknownNameError, match="'floor.b9'.*pairs of collide are 'floor.b0'"):
        dy.sensitivity(model, state, H, [("floor|b9", "friction")])
    with pytest.raises(ValueError, match="'rolling' of 'b0.b1' is 0, where equations are others"):
        dy.sensitivity(model, state, H, [("b0|b1", "rolling")])


def test_a_regulator_far_from_the_floor_is_that_of_the_model_without_it():
    gains = []
    for floor in (False, True):
        mechanism = dy.Mechanism()
        cart = mechanism.add_body(dy.Box(0.4, 0.2, 0.2, mass=1.0), name="cart")
        pole = mechanism.add_body(
            dy.Box(0.05, 0.05, 1.0, mass=0.3), name="pole", position=(0, 0, 0.5)
        )
        mechanism.add_joint(
            dy.Prismatic(mechanism.world, cart, axis=(1, 0, 0), name="slide", actuated=True)
        )
        mechanism.add_joint(
            dy.Revolute(cart, pole, axis=(0, 1, 0), child_point=(0, 0, -0.5), name="hinge")
        )
        if floor:
            mechanism.add_obstacle(dy.HalfSpace(point=(0, 0, -0.5)), name="floor")
            mechanism.collide()
        model = mechanism.finalize(0.01)
        gains.append(dy.lqr(model, model.initial_state(), 1.0, 0.1).gain)

    assert error(*gains) < 1e-10
