"""The default tolerance: energy and closure of loops that it promises."""

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
