"""Couplings of hinges: wheels of any numbers of teeth turn for ever."""

import numpy as np
import pytest

import dynamics as dy


@pytest.mark.parametrize(("a", "b"), [(2, 5), (5, 2), (-7, 3)])
def test_gears_of_any_numbers_of_teeth_turn_for_ever(a, b):
    m = dy.Mechanism((0.0, 0.0, 0.0))
    wheels = [m.add_body(mass=1.0, inertia=[0.1] * 3, name=i) for i in range(2)]
    axes = [m.add_joint(dy.Revolute(m.world, w, [0, 0, 1], name=f"a{w.name}")) for w in wheels]
    m.add_coupling(*axes, ratio=a / b)
    model = m.finalize(0.01)
    state = model.assemble(model.initial_state(), {"a0": 0.3}, {"a0": 5.0})

    found = dy.simulate(model, state, 40.0)

    q = [np.unwrap(found.joint(name), period=4.0 * np.pi) for name in ("a0", "a1")]
    assert q[0][-1] > 30 * 2.0 * np.pi  # full turns
    # to Newton's tolerance of constraints, 1e-10, and the rounding of sums of angles
    assert q[1][0] == pytest.approx(0.3 * a / b, abs=1e-9)
    np.testing.assert_allclose(q[1], a / b * q[0], atol=1e-8)
    np.testing.assert_allclose(found.joint_velocity("a0"), 5.0, rtol=1e-8)


def test_a_follower_goes_where_its_leader_is_told_to_be():
    # 5 rad of the leader are more than half of the 4 pi / 5 that the equation is taken modulo
    m = dy.Mechanism((0.0, 0.0, 0.0))
    wheels = [m.add_body(mass=1.0, inertia=[0.1] * 3, name=i) for i in range(2)]
    axes = [m.add_joint(dy.Revolute(m.world, w, [0, 0, 1], name=f"a{w.name}")) for w in wheels]
    m.add_coupling(*axes, ratio=0.4, offset=0.1)
    model = m.finalize(0.01)

    state = model.assemble(model.initial_state(), {"a0": 5.0})

    turned = model.joint(state, "a1")[0][0] - 2.1
    assert np.sin(turned) == pytest.approx(0.0, abs=1e-9) and np.cos(turned) > 0.0
