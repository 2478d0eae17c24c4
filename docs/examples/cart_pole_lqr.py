"""Linear-quadratic regulator of a cart-pole: the published gains, and a motion from 0.6 rad.

The cart-pole of Bruedigam and Manchester (ICRA 2021): a cart of 0.5 kg, a pole of 1 m and 1 kg,
unit costs of coordinates, rates and force. Their continuous regulator is ``-(1.0 y - 38.09 phi +
2.4 y' - 7.85 phi')``; the gains of steps h and h/2 extrapolate to it.
"""

import numpy as np

import dynamics as dy

PUBLISHED = [-1.0, 38.09, -2.4, 7.85]


def cart_pole(timestep=0.01):
    """A cart on a rail along y, driven, and a pole that stands on it."""
    mechanism = dy.Mechanism()
    cart = mechanism.add_body(dy.Box(0.1, 0.5, 0.1, mass=0.5), name="cart")
    pole = mechanism.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0), name="pole")
    rail = dy.Prismatic(mechanism.world, cart, [0.0, 1.0, 0.0], actuated=True, name="rail")
    hinge = dy.Revolute(cart, pole, [1.0, 0.0, 0.0], child_point=[0.0, 0.0, -0.5], name="hinge")
    mechanism.add_joint(rail)
    mechanism.add_joint(hinge)
    return mechanism.finalize(timestep)


def regulator(timestep):
    """The model, and its feedback with unit costs."""
    model = cart_pole(timestep)
    return model, dy.lqr(model, model.initial_state(), Q=1.0, R=1.0)


def main():
    """Gain of the continuous regulator, and a motion from 0.6 rad."""
    coarse, fine = (regulator(h)[1].gain[0] for h in (1e-3, 5e-4))
    model, feedback = regulator(0.01)
    state = model.initial_state()
    model.set_joint(state, "hinge", 0.6)
    return 2.0 * fine - coarse, dy.simulate(model, state, 20.0, controller=feedback)


if __name__ == "__main__":
    gain, motion = main()
    end = max(abs(motion.joint(name)[-1]) for name in ("rail", "hinge"))
    print(f"continuous gain {np.round(gain, 3)}, published {PUBLISHED}")
    print(f"cart travels {np.ptp(motion.joint('rail')):.2f} m, {end:.1e} m or rad left after 20 s")
    assert np.allclose(gain, PUBLISHED, atol=0.01)
    assert end < 1e-3
