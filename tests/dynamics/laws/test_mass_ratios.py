"""Masses of 1e-3 and 1e3 kg side by side: the error of a motion stays that of the method."""

import numpy as np
import pytest

import dynamics as dy

X, Y, Z = np.eye(3)
MASSES = {
    "in turn, light first": [1e-3, 1e3] * 3,
    "in turn, heavy first": [1e3, 1e-3] * 3,
    "light end": [1e3] * 5 + [1e-3],
    "light start": [1e-3] + [1e3] * 5,
}


def linked(masses, timestep, tree, contact):
    """Links of 1 m, each hinged to the one before, or to that of half its number."""
    m = dy.Mechanism()
    links = [m.add_body(dy.Box(0.1, 0.15, 1.0, mass=mass), name=i) for i, mass in enumerate(masses)]
    for i, link in enumerate(links):
        options = {"child_point": 0.5 * Z, "name": f"j{i}"}
        parent = m.world
        if i > 0:
            parent, options["parent_point"] = links[(i - 1) // 2 if tree else i - 1], -0.5 * Z
        m.add_joint(dy.Revolute(parent, link, Y if i % 2 else X, **options))
    if contact:  # far below: steps are those of contacts
        ground = dy.HalfSpace(normal=Z, point=(0, 0, -50))
        m.add_contact(links[-1], against_shape=ground, friction=0.5)
    model = m.finalize(timestep)
    state = model.initial_state()
    for i in range(len(masses)):
        model.set_joint(state, f"j{i}", 0.4 + 0.2 * i)
    return model, state


@pytest.mark.parametrize("contact", [False, True])
@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("masses", MASSES.values(), ids=MASSES)
def test_the_energy_error_falls_with_the_square_of_the_timestep(masses, tree, contact):
    errors = []
    for timestep in (0.005, 0.0025):
        model, state = linked(masses, timestep, tree, contact)
        errors.append(np.ptp(dy.simulate(model, state, 1.0).energy()))

    # fourfold, but for the next order and for what a node more of the fine motion sees
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


@pytest.mark.parametrize("masses", MASSES.values(), ids=MASSES)
def test_residuals_of_light_bodies_count_over_their_own_mass(masses):
    model, state = linked(masses, 0.01, False, True)
    fine = model.mechanism.finalize(0.01, contact_tolerance=1e-12, tolerance=1e-12)

    found, wanted = (dy.simulate(one, state, 1.0) for one in (model, fine))

    # a step leaves 1e-9 units of speed, sqrt(g 0.5 m) = 2.2 m/s, of each body; a hundred steps add
    # them at random, and a second makes as many metres of them
    for i in range(len(masses)):
        np.testing.assert_allclose(found.body(i)[0], wanted.body(i)[0], atol=2.2e-8)
