"""Motions by rates on a spanning tree, against dense null spaces of all constraints."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dynamics as dy
from dynamics.kinematics.joint_space import JointSpace

RANK = 1e-8


def free_body():
    """A chain of two that floats and one body alone."""
    mechanism = dy.Mechanism()
    a, b, c = (
        mechanism.add_body(dy.Box(0.1, 0.2, 0.5, mass=1.0 + k), name=name)
        for k, name in enumerate("abc")
    )
    mechanism.add_joint(dy.Revolute(a, b, (0, 1, 0), parent_point=(0, 0, 0.3), name="j"))
    mechanism.add_joint(dy.Floating(mechanism.world, a, name="base"))
    mechanism.add_joint(dy.Floating(c, mechanism.world, name="alone"))
    model = mechanism.finalize()
    return model, model.initial_state()


def bushing():
    """A pendulum whose hinge yields across its axis."""
    mechanism = dy.Mechanism()
    a, b = (mechanism.add_body(dy.Box(0.1, 0.2, 0.5, mass=1.0), name=name) for name in "ab")
    mechanism.add_joint(dy.Revolute(mechanism.world, a, (0, 1, 0), name="hinge"))
    mechanism.add_joint(dy.Fixed(a, b, parent_point=(0, 0, 0.4), name="weld"))
    mechanism.add_joint(
        dy.Revolute(a, mechanism.world, (0, 1, 0), parent_point=(0, 0, 0.1), compliance=1e-4,
                    child_point=(0, 0, 0.1), name="soft")
    )  # fmt: skip
    model = mechanism.finalize()
    return model, model.initial_state()


MODELS = {
    "tree": lambda: dy.zoo.random_tree(12),
    "pendulum": lambda: dy.zoo.pendulum(3),
    "floating": lambda: dy.zoo.floating_chain(),
    "four-bar": lambda: dy.zoo.four_bar(),
    "windows": lambda: dy.zoo.four_bar_windows(3),
    "Bricard": lambda: dy.zoo.bricard(),
    "slider-crank": lambda: dy.zoo.slider_crank(0.5, 2.0),
    "quadruped": lambda: dy.zoo.quadruped(),
    "free bodies": free_body,
    "bushing": bushing,
}


def slopes_of(name):
    """A model and its Jacobians after twenty steps."""
    model, state = MODELS[name]()
    state = dy.simulate(model, state, 20 * model.timestep).final
    return model, JointSpace(model).slopes(state)


def dense(slopes):
    """Orthonormal null space of the constraints, by all of their rows."""
    G = slopes.G.toarray()
    if not G.shape[0]:
        return np.eye(G.shape[1])
    _, s, Vt = np.linalg.svd(G)
    return Vt[int((s > RANK * s[0]).sum()) :].T


@pytest.mark.parametrize("name", MODELS)
def test_free_motions_span_the_null_space_of_the_constraints(name):
    model, slopes = slopes_of(name)
    null, free = dense(slopes), slopes.free()
    assert free.shape == null.shape
    basis = np.linalg.qr(free)[0]
    # two orthonormal bases of one space: the cosines of all angles between them are 1
    np.testing.assert_allclose(np.linalg.svd(basis.T @ null)[1], 1.0, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_motions_along_coordinates_are_those_of_the_pseudoinverse(name):
    model, slopes = slopes_of(name)
    null = dense(slopes)
    J = slopes.J.toarray() @ null
    if np.linalg.matrix_rank(J, tol=1e-8) < null.shape[1]:
        with pytest.raises(ValueError, match=f"have {null.shape[1]} freedoms"):
            slopes.along()
    else:
        np.testing.assert_allclose(slopes.along(), null @ np.linalg.pinv(J, 1e-8), atol=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_what_is_seen_of_motions_is_their_product(name):
    model, slopes = slopes_of(name)
    S = np.random.default_rng(2).standard_normal((4, 6 * model.n_bodies))
    try:
        along = slopes.along()
    except ValueError:
        with pytest.raises(ValueError, match="freedoms"):
            slopes.seen(S)
    else:
        np.testing.assert_allclose(slopes.seen(S), S @ along, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_held_motions_change_constraints_as_wanted(name):
    model, slopes = slopes_of(name)
    rng = np.random.default_rng(1)
    wanted = slopes.G @ rng.standard_normal((6 * model.n_bodies, 3))
    np.testing.assert_allclose(slopes.G @ slopes.held(wanted), wanted, atol=1e-8)
    vector = slopes.held(wanted[:, 0])
    np.testing.assert_allclose(vector, slopes.held(wanted)[:, 0], atol=1e-10)


@given(st.integers(1, 15), st.integers(0, 2**16))
@example(1, 31)  # one body that is welded to the world: no coordinates
@settings(max_examples=25, deadline=None)
def test_kinetic_energy_of_random_trees_is_that_of_their_bodies(n, seed):
    model, state = dy.zoo.random_tree(n, seed=seed)
    kinematics = dy.Kinematics(model)
    v = kinematics.velocities(state)
    M = kinematics.mass_matrix(state)
    assert kinematics.centroidal_matrix(state).shape == (6, kinematics.size)
    assert kinematics.jacobian(state, model.bodies[-1]).shape == (6, kinematics.size)
    twists = model.velocities(state)
    energy = sum(
        0.5 * body.mass * twist[:3] @ twist[:3] + 0.5 * twist[3:] @ body.inertia @ twist[3:]
        for body, twist in zip(model.bodies, twists)
    )
    assert 0.5 * v @ M @ v == pytest.approx(energy, rel=1e-9, abs=1e-12)


def test_trees_need_no_singular_values(monkeypatch):
    model, state = dy.zoo.random_tree(20)

    def refuse(*_args, **_options):
        raise AssertionError("a dense decomposition of a tree")

    monkeypatch.setattr(np.linalg, "svd", refuse)
    monkeypatch.setattr(np.linalg, "lstsq", refuse)
    kinematics = dy.Kinematics(model)
    kinematics.jacobian(state, model.bodies[-1].name)
    kinematics.mass_matrix(state)
    dy.inverse_dynamics(model, state, 0.0)


def test_threads_do_not_disturb_each_other():
    from concurrent.futures import ThreadPoolExecutor

    model, state = dy.zoo.random_tree(20)
    kinematics, states = dy.Kinematics(model), [state]
    for _ in range(15):
        states.append(dy.simulate(model, states[-1], 2 * model.timestep).final)
    alone = [kinematics.mass_matrix(one) for one in states]
    with ThreadPoolExecutor(8) as threads:
        for M, expected in zip(threads.map(kinematics.mass_matrix, states * 8), alone * 8):
            np.testing.assert_array_equal(M, expected)
