"""Trajectory optimization: swing-up of a cart-pole with the least integral of squared forces.

Kelly's cart-pole (SIAM Review 59, 2017, sec. 6): 1 m to the right in 2 s, at most 20 N. States at
the ends of Simpson steps and forces are the variables; scipy's SLSQP has the exact derivatives of
each step.
"""

import numpy as np

from dynamics.integrators import Tree, TreeIntegrator, plan, prismatic, revolute

SECONDS = 2.0


def cart_pole():
    """A cart of 1 kg on a rail along x, and 0.3 kg on a rod of 0.5 m that hangs down at 0."""
    tree = Tree(gravity=(0.0, 0.0, -9.81))
    tree.add_body("cart", 1.0)
    tree.add_body("pole", 0.3, center=(0.0, 0.0, -0.5))
    tree.add_joint("world", "cart", prismatic([1.0, 0.0, 0.0]))
    tree.add_joint("cart", "pole", revolute([0.0, -1.0, 0.0]))
    return tree


def main(steps=40):
    """The plan, and the gap at the end when the forces drive the pole without it."""
    integrator = TreeIntegrator(cart_pole(), SECONDS / steps, "simpson", actuated=["cart"])
    found = plan(
        integrator, [0.0, 0.0], [1.0, np.pi], steps,
        most_force=20.0, least_q=[-2.0, -np.inf], most_q=[2.0, np.inf],
    )  # fmt: skip
    place = integrator.rule.place[:, None]
    between = (1.0 - place) * found.forces[:-1, None] + place * found.forces[1:, None]
    run = integrator.simulate([0.0, 0.0], [0.0, 0.0], steps, between)
    return found, np.abs(run.q[-1] - [1.0, np.pi]).max()


if __name__ == "__main__":
    swing, gap = main()
    print(
        f"{swing.iterations} iterations, cost {swing.cost:.3f} N^2 s, "
        f"largest force {np.abs(swing.forces).max():.2f} N, end missed by {gap:.1e}"
    )
    assert abs(swing.cost - 58.8) < 0.1
    assert gap < 1e-4
