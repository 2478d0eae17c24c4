"""Model predictive control through contact: a block is pushed to a goal, again after a kick.

python docs/examples/push_mpc.py

The pusher can only push. Each plan is a least-squares problem of scipy, whose Jacobian is made
of the exact linearizations of all steps, through contact and dry friction.
"""

import numpy as np
from scipy.optimize import least_squares

import dynamics as dy

H, HORIZON, HELD = 0.02, 40, 5  # s; steps of a plan, and steps that a force is held for
GOAL, MOST, PUSH = 0.6, 20.0, 8.0  # m, N


def scene():
    """A pusher on a rail with a motor, and a block that slides with friction."""
    mech = dy.Mechanism()
    pusher = mech.add_body(dy.Sphere(0.05, mass=0.5), name="pusher", position=(-0.12, 0, 0.1))
    block = mech.add_body(dy.Sphere(0.1, mass=1.0), name="block", position=(0.05, 0, 0.1))
    for body, options in ((pusher, {"actuated": True}), (block, {"friction": 6.0})):
        at = body.position
        rail = dy.Prismatic(
            mech.world, body, (1, 0, 0), parent_point=at, name=f"{body.name} rail", **options
        )
        mech.add_joint(rail)
    mech.add_contact(pusher, block, friction=0.0, name="push")
    return mech.finalize(H)


def plan(model, state, guess):
    """Forces of the next steps that bring the block to the goal, shape (steps / held,)."""

    def run(forces):
        return dy.simulate(model, state, H * HORIZON, controls=np.repeat(forces, HELD)[:, None])

    def residuals(forces):
        motion = run(forces)
        block, pusher = motion.joint("block rail")[1:], motion.joint("pusher rail")[1:]
        return np.concatenate([3.0 * (block - GOAL), 0.3 * (block - pusher), 0.01 * forces])

    def jacobian(forces):
        motion, slopes = run(forces), np.zeros((4, len(forces)))
        blocks, closes = [], []
        for k in range(HORIZON):
            A, B = dy.linearize(model, motion[k], [forces[k // HELD]], coordinates="joint")
            slopes = A @ slopes
            slopes[:, k // HELD] += B[:, 0]
            blocks.append(3.0 * slopes[1])
            closes.append(0.3 * (slopes[1] - slopes[0]))
        return np.vstack([*blocks, *closes, 0.01 * np.eye(len(forces))])

    # a block that sticks feels no small change: begin with a push, too
    starts = guess, np.full(len(guess), PUSH)
    found = [
        least_squares(residuals, x, jacobian, bounds=(-MOST, MOST), max_nfev=5) for x in starts
    ]
    return min(found, key=lambda one: one.cost).x


def control(seconds=2.4, kick=-3.0):
    """Places of the block, one a plan; half way it is kicked back."""
    model = scene()
    state, guess = model.initial_state(), np.full(HORIZON // HELD, PUSH)
    places, plans = [], round(seconds / (H * HELD))
    for k in range(plans):
        if k == plans // 2:
            model.set_joint(state, "block rail", model.joint(state, "block rail")[0], kick)
        guess = plan(model, state, guess)
        motion = dy.simulate(model, state, H * HELD, controls=[guess[0]])
        state, guess = motion.final, np.append(guess[1:], guess[-1])
        places.append(motion.joint("block rail")[-1].item())
    return np.array(places)


if __name__ == "__main__":
    places = control()
    half = len(places) // 2
    print(
        f"block at {places[half - 1]:.3f} m, kicked back to {places[half:].min():.3f} m, ", end=""
    )
    print(f"then at {places[-1]:.3f} m; the goal is {GOAL} m")
    assert abs(places[half - 1] - GOAL) < 0.03 and abs(places[-1] - GOAL) < 0.03
    assert places[half:].min() < GOAL - 0.05
