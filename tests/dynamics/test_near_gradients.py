"""Derivatives of models that find their contacts, against differences and declared contacts."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.derivatives.near_tangents import near_step
from dynamics.kinematics.coordinates import free_velocities
from dynamics.kinematics.momenta import momenta

from .test_contact_gradients import CLOSE, STEP, H, model_of, moved, read, run
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


def test_products_along_a_motion_miss_no_more_than_the_inertia_of_planes():
    mechanism = dy.Mechanism()
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    mechanism.add_body(BOX, name="b0", position=(0, 0, 0.1502))
    mechanism.add_body(DIE, name="b1", position=(0.02, 0.01, 0.4254))
    mechanism.collide(friction=0.4)
    model = model_of(mechanism)
    state = run(model, model.initial_state(), 100)
    step = near_step(model, state, np.zeros(0), np.zeros(12))
    assert planes_of(model, state) == 1
    assert step.slopes == {}  # pressed from both sides
    way = np.random.default_rng(0).normal(size=(24, 3))

    found = dy.sensitivity(model, state, 5 * H, start=way)

    product = way
    for k in range(5):
        product = dy.linearize(model, found.motion[k])[0] @ product
    last = np.concatenate([found.poses[-1], found.velocities], axis=1).reshape(24, 3)
    # a thousandth of the mass of the lighter box
    assert error(product, last) < 2e-3


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
