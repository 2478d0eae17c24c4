"""Symmetric compositions of the second-order step: order conditions, slopes, what is refused."""

import pickle

import numpy as np
import pytest

import dynamics as dy
from dynamics import zoo
from dynamics.kernels.base import layout
from dynamics.tables.composition import SCHEMES, Composition

X, Y, Z = np.eye(3)


def end(model, state, seconds):
    motion = dy.simulate(model, state, seconds)
    assert motion.constraint_violation().max() < 1e-11
    return motion.states[-1, : layout.POSE * model.n_bodies], motion.info


@pytest.mark.parametrize("scheme", SCHEMES)
def test_fractions_fulfil_the_order_conditions_of_single_powers(scheme):
    # sum gamma = 1, sum gamma^3 = sum gamma^5 = ... = 0 (Hairer, Lubich and Wanner, II.4)
    model, _ = zoo.double_pendulum()
    fractions = Composition(model.tables, scheme).fractions
    assert np.array_equal(fractions, fractions[::-1])
    powers = [np.sum(fractions**p) for p in range(1, SCHEMES[scheme][0], 2)]
    assert np.abs(np.array(powers) - np.eye(len(powers))[0]).max() < 1e-15


#: Slack of the slopes, and steps in a second for two trees and two loops.
ORDERS = {
    "suzuki4": (0.1, (80, 160), (100, 200), (80, 160), (25, 50)),
    "kahan-li6": (0.4, (80, 120), (60, 80), (80, 120), (10, 20)),
    # errors of order 8 soon reach round-off: steps are long, and terms of order 10 some tenths
    "kahan-li8": (0.8, (15, 30), (30, 60), (30, 40), (6, 8)),
}
MADE = [zoo.double_pendulum, zoo.heavy_top, zoo.four_bar, zoo.bricard]


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_orders_hold_on_trees_and_loops(make, scheme):
    slack, *every = ORDERS[scheme]
    steps = every[MADE.index(make)]
    model, state = make(timestep=1 / 640, order=6, tolerance=1e-13, largest_turn=2.4)
    reference, _ = end(model, state, 1.0)
    errors = []
    for n in steps:
        model, state = make(timestep=1 / n, tolerance=1e-13, largest_turn=2.4)
        pose, info = end(dy.compose(model, scheme), state, 1.0)
        errors.append(np.abs(pose - reference).max())
        assert info["intervals"] == n * (2 * len(SCHEMES[scheme][1]) - 1)
    slope = np.log(errors[0] / errors[1]) / np.log(steps[1] / steps[0])
    assert abs(slope - SCHEMES[scheme][0]) < slack
    assert errors[1] < 7e-7  # Suzuki: 2.2e-8, 6.0e-7 and 2.6e-9


def test_order_eight_reaches_round_off_in_few_steps():
    # 17 substeps of 1/60 s leave 1e-10 where 17 * 60 second-order steps leave 1e-5
    model, state = zoo.four_bar(timestep=1 / 640, order=6, tolerance=1e-13)
    reference, _ = end(model, state, 1.0)
    model, state = zoo.four_bar(timestep=1 / 60, tolerance=1e-12)
    pose, _ = end(dy.compose(model, "kahan-li8"), state, 1.0)
    plain, state = zoo.four_bar(timestep=1 / 1020, tolerance=1e-12)
    assert np.abs(pose - reference).max() < 1e-9
    assert np.abs(end(plain, state, 1.0)[0] - reference).max() > 1e-6


def test_a_composed_model_is_stepped_and_measured_like_another():
    model, state = zoo.four_bar(timestep=0.02, tolerance=1e-12)
    composed = dy.compose(model, "suzuki4")
    assert (composed.order, model.order) == (4, 2)
    motion = dy.simulate(composed, state, 0.2)
    again = pickle.loads(pickle.dumps(composed))
    for _ in range(10):
        state, info = again.step(state)
    assert info.intervals == 5
    # A run guesses from one interval more: within tolerance, of multipliers over h^2, and room.
    np.testing.assert_allclose(state.pose, motion.final.pose, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(state.data, motion.final.data, rtol=0.0, atol=1e-6)
    assert np.ptp(motion.energy()) < 1e-3  # 0.13 J at N = 100 and order 2 (docs/theory/step.md)


def test_what_loses_energy_is_refused_by_name():
    def model(body=None, **joint):
        m = dy.Mechanism()
        rod = m.add_body(mass=1.0, inertia=[0.1, 0.1, 0.1], name="rod", **(body or {}))
        m.add_joint(dy.Revolute(m.world, rod, X, child_point=0.5 * Z, name="hinge", **joint))
        return m

    for given, says in (
        (model({"drag": 0.1}), "'rod' has drag"),
        (model(damping=0.1), "'hinge' has a damper"),
        (model(limits=[(-1.0, 1.0)]), "'hinge' has limits"),
        (model(compliance=1e-4, theta=1.0), "'hinge' loses energy with theta"),
        (model(servo=dy.VelocityServo(1.0)), "'hinge' has a servo"),
        (model(friction=0.1), "'hinge' has friction"),
        (model(stiffness=1e7), "is too stiff for the time step"),
    ):
        with pytest.raises(ValueError, match=says):
            dy.compose(given.finalize(0.01), "suzuki4")
    m = model()
    m.add_force(dy.Spring(m.world, m.bodies["rod"], 1.0, 0.1, name="shock"))
    with pytest.raises(ValueError, match="'shock' has a damper"):
        dy.compose(m.finalize(0.01), "suzuki4")
    m = model()
    m.add_force(dy.Rope(m.world, m.bodies["rod"], 1.0, name="rope"))
    with pytest.raises(ValueError, match="'rope' has limits"):
        dy.compose(m.finalize(0.01), "suzuki4")
    m = dy.Mechanism()
    m.add_contact(m.add_body(dy.Sphere(0.1, mass=1.0), position=Z), name="floor")
    with pytest.raises(ValueError, match="'floor' loses energy"):
        dy.compose(m.finalize(0.01), "kahan-li6")
    with pytest.raises(ValueError, match="'yoshida' is unknown; use 'suzuki4'"):
        dy.compose(model().finalize(0.01), "yoshida")
    with pytest.raises(ValueError, match="order=2"):
        dy.compose(model().finalize(0.01, order=4), "suzuki4")


@pytest.mark.parametrize("what", ["suzuki4", 4])
def test_a_variant_of_higher_order_moves_as_one_built_so(what):
    def made(mass):
        m = dy.Mechanism()
        rod = m.add_body(mass=mass, inertia=[0.1 * mass] * 3, name="rod")
        m.add_joint(dy.Revolute(m.world, rod, X, child_point=0.5 * Z, name="hinge"))
        m.add_force(dy.Spring(m.world, rod, 1.0, name="spring"))
        if what == 4:
            return m.finalize(0.01, order=4)
        return dy.compose(m.finalize(0.01), what)

    ends = []
    for model in (dy.variant(made(1.0), {"rod": {"mass": 2.0}}), made(2.0)):
        state = model.initial_state()
        model.set_joint(state, "hinge", 1.0)
        ends.append(dy.simulate(model, state, 0.5).final)

    np.testing.assert_array_equal(ends[0].data, ends[1].data)
    assert abs(ends[0].pose - made(2.0).initial_state().pose).max() > 0.05


def test_a_variant_that_its_order_refuses_is_refused_too():
    m = dy.Mechanism()
    rod = m.add_body(mass=1.0, inertia=[0.1] * 3, name="rod")
    m.add_joint(dy.Revolute(m.world, rod, X, child_point=0.5 * Z, name="hinge"))
    model = dy.compose(m.finalize(0.01), "suzuki4")
    with pytest.raises(ValueError, match="'hinge' has a damper; compositions go back in time"):
        dy.variant(model, {"hinge": {"damping": 0.1}})
    with pytest.raises(ValueError, match="armature of joint 'hinge' needs order=2"):
        dy.variant(model.mechanism.finalize(0.01, order=4), {"hinge": {"armature": 0.1}})


def test_soft_joints_that_keep_energy_are_composed():
    model, state = zoo.double_pendulum(compliance=1e-4, theta=0.5, tolerance=1e-12)
    energy = dy.simulate(dy.compose(model, "suzuki4"), state, 0.5).energy()
    assert np.isfinite(energy).all()


def test_what_no_higher_order_offers_is_left_to_order_two():
    m = dy.Mechanism()
    for name in ("ball", "other ball"):
        m.add_body(dy.Sphere(0.1, mass=1.0), name=name)
    m.collide()
    with pytest.raises(ValueError, match="collide lose energy.* simulate the model itself"):
        dy.compose(m.finalize(0.01), "suzuki4")
