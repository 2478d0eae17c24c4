"""The default tolerance: what it promises, and that no smaller number is behind it."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.zoo import double_four_bar, four_bar, four_bar_windows, free_top, rhombic_chain


def test_a_free_top_keeps_its_energy_to_1e_9_over_ten_thousand_steps():
    # the discrete equations keep it exactly: all of the error is Newton's
    model, state = free_top(timestep=0.05)
    motion = dy.simulate(model, state, 500.0, every=10)
    energy = motion.energy()

    assert motion.info["intervals_per_step"] == 1.0
    assert np.abs(energy / energy[0] - 1.0).max() < 1e-9


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("make", [four_bar, double_four_bar, four_bar_windows, rhombic_chain])
def test_loops_stay_closed_to_1e_11(make, order):
    sizes = (3,) if make in (four_bar_windows, rhombic_chain) else ()
    model, state = make(*sizes, order=order)
    motion = dy.simulate(model, state, 5.0)

    assert motion.constraint_violation().max() < 1e-11


def test_the_extra_digits_cost_less_than_a_factorization():
    # the last digits come from factors that are kept: at most half an iteration a step
    for make in (four_bar, double_four_bar):
        loose, fine = (
            dy.simulate(*make(**options), 5.0).info for options in ({"tolerance": 1e-10}, {})
        )

        assert fine["factorizations"] <= 1.01 * loose["factorizations"]
        assert fine["iterations"] <= loose["iterations"] + 0.5 * loose["steps"]
