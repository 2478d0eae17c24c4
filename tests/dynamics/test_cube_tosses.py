"""Recorded tosses of a real cube: what the example reads, fits and finds."""

import importlib
from pathlib import Path

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture
def example(monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module("cube_toss")


def test_the_cube_rests_on_the_table_and_fell_as_things_do(example):
    tosses = example.read()

    assert len(tosses) == 4
    for toss in tosses:
        # it was tracked to about a millimetre
        assert toss.position[-1, 2] == pytest.approx(0.5 * example.WIDTH, abs=1e-3)
        n = toss.touch - 1
        fall = np.polyfit(example.H * np.arange(n), toss.position[:n, 2], 2)[0]
        # a millimetre of error over 0.08 s or more: 8 * 1e-3 / 0.08^2 is the most there can be
        assert -2.0 * fall == pytest.approx(9.81, abs=8e-3 / (example.H * n) ** 2)


def test_corners_and_their_slopes(example):
    rng = np.random.default_rng(0)
    x, q = rng.normal(size=(2, 3)), rotation.random(rng, 2)
    points, slopes = example.corners(x, q)
    change = rng.normal(size=6)

    def moved(t):
        turn = rotation.from_rotation_vector(t * change[3:])
        return example.corners(x + t * change[:3], rotation.multiply(q, turn))[0]

    # central differences of functions of order 1 and step 1e-4: 1e-8 and eps / 1e-4
    np.testing.assert_allclose(slopes @ change, (moved(1e-4) - moved(-1e-4)) / 2e-4, atol=1e-7)
    assert np.linalg.norm(points - x[:, None], axis=-1) == pytest.approx(
        0.5 * np.sqrt(3.0) * example.WIDTH
    )


def test_the_start_of_a_toss_is_that_of_its_free_flight(example):
    model = example.cube()
    for toss in example.read():
        state = example.start(model, toss)
        n = toss.touch
        motion = dy.simulate(model, state, (n - 1) * example.H)
        away = np.linalg.norm(motion.body("cube")[0] - toss.position[:n], axis=1)
        # a fit of ten frames, followed for at most seven more: tracked to a millimetre
        assert away.max() < 5e-3


def test_friction_found_by_the_gradient_costs_less_than_a_tenth_more_or_less(example):
    tosses = example.read()

    mu = example.identify(tosses)

    assert 0.1 < mu < 0.3

    def cost(value):
        r, _ = example.misses([value], tosses)
        return (np.sqrt(1.0 + (r / 0.1) ** 2) - 1.0).sum()

    assert cost(mu) < min(cost(0.9 * mu), cost(1.1 * mu))


def test_slopes_of_the_misses_are_their_differences(example):
    tosses = example.read()[:1]
    errors, slopes = example.misses([0.2], tosses)
    last = tosses[0].touch + 10

    def misses(mu):
        model = dy.variant(example.cube(), {"table": {"friction": mu}})
        motion = dy.simulate(model, example.start(model, tosses[0]), last * example.H)
        return example.corners(*motion.body("cube"))[0][tosses[0].touch :].ravel() / example.WIDTH

    early = slice(0, 24 * 11)
    found = (misses(0.2 + 1e-6) - misses(0.2 - 1e-6)) / 2e-6
    # steps are solved to 1e-9 of velocities of order 1, over 1e-6 of friction: 1e-3 a second, and
    # over 0.1 s and 0.1 m of width that is 1e-3; slopes are of order 1
    assert np.abs(slopes[early, 0] - found).max() < 1e-3 * max(1.0, np.abs(found).max())
    assert errors.size == slopes.shape[0]
