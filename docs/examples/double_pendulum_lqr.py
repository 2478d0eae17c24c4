"""Linear-quadratic regulator of an acrobot: the torque in its elbow holds it upright.

The acrobot of Bruedigam and Manchester (ICRA 2021): links of 1 m and 2 m, 1 kg each, one torque
between them. They cost every body's angle and spin; here these are mapped to joint coordinates.
"""

import numpy as np

import dynamics as dy


def acrobot(timestep=0.01):
    """Two links that stand up at 0, the elbow driven."""
    x, z = np.eye(3)[[0, 2]]
    mechanism = dy.Mechanism()
    upper = mechanism.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0), name="upper")
    lower = mechanism.add_body(dy.Box(0.1, 0.1, 2.0, mass=1.0), name="lower")
    shoulder = dy.Revolute(mechanism.world, upper, x, child_point=-0.5 * z, name="shoulder")
    elbow = dy.Revolute(
        upper, lower, x, parent_point=0.5 * z, child_point=-z, actuated=True, name="elbow"
    )
    mechanism.add_joint(shoulder)
    mechanism.add_joint(elbow)
    return mechanism.finalize(timestep)


def main(angle=0.1):
    """The feedback, and a motion from links that lean by (-angle, 0) in the world."""
    model = acrobot()
    bodies = np.array([[1.0, 0.0], [1.0, 1.0]])  # angles of the bodies from those of the joints
    Q = np.kron(np.eye(2), bodies.T @ bodies)
    feedback = dy.lqr(model, model.initial_state(), Q, R=1.0)
    state = model.initial_state()
    model.set_joint(state, "shoulder", -angle)
    model.set_joint(state, "elbow", angle)
    return feedback, dy.simulate(model, state, 10.0, controller=feedback)


if __name__ == "__main__":
    feedback, motion = main()
    lean = np.abs(motion.joint("shoulder"))
    poles = np.abs(np.linalg.eigvals(feedback.closed_loop))
    print(f"gain {np.round(feedback.gain[0], 2)}, slowest mode keeps {poles.max():.4f} a step")
    print(f"the shoulder leans {lean.max():.3f} rad at most, {lean[-1]:.1e} rad after 10 s")
    assert poles.max() < 1.0
    assert lean[-1] < 1e-3
