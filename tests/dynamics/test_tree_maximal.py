"""One tree in joint coordinates and in maximal ones: the same motion, to the order of both."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.integrators import Tree, TreeIntegrator, prismatic, revolute

SECONDS = 0.5
#: Name, parent, kind, axis, point on the parent, point on the child, spring, damper, rest.
LINKS = (
    ("trunk", "world", "turn", (0.6, 0.0, 0.8), (0, 0, 0), (0.1, 0.0, 0.4), 2.0, 0.3, 0.2),
    ("left", "trunk", "turn", (1, 0, 0), (0.2, 0.1, -0.4), (0.0, 0.1, 0.3), 1.0, 0.1, -0.1),
    ("right", "trunk", "slide", (0, 0.6, 0.8), (-0.2, 0, -0.3), (0, 0, 0.2), 30.0, 0.5, 0.05),
    ("finger", "right", "turn", (0, 1, 0), (0, 0.1, -0.2), (0.1, 0, 0.2), 0.5, 0.05, 0.0),
    ("thumb", "right", "turn", (0, 0, 1), (0.1, 0, -0.2), (0.2, 0.1, 0.0), 0.0, 0.02, 0.0),
)
NAMES = [link[0] for link in LINKS]
START, RATES = np.array([0.4, -0.3, 0.1, 0.5, 0.2]), np.array([1.0, -2.0, 0.3, 1.5, -1.0])
MOTORS = ["left", "right", "thumb"]


def body(k):
    """Mass and full inertia about the centre of mass."""
    A = np.random.default_rng(k).normal(size=(3, 3))
    return 1.0 + 0.3 * k, 0.003 * A @ A.T + 0.1 * np.eye(3)


def push(t):
    """Forces of the motors at times of any shape."""
    return np.stack([np.cos(5.0 * t), 3.0 * np.sin(4.0 * t), 0.2 * t], axis=-1)


def by_joints(s, N):
    """Coordinates and rates at the end, of the tree in joint coordinates."""
    tree = Tree()
    for k, (name, parent, kind, axis, p, q, spring, damper, rest) in enumerate(LINKS):
        tree.add_body(name, *body(k))
        twist = revolute(axis, q) if kind == "turn" else prismatic(axis)
        tree.add_joint(
            parent, name, twist, position=np.subtract(p, q), stiffness=spring, damping=damper,
            rest=rest,
        )  # fmt: skip
    made = TreeIntegrator(tree, SECONDS / N, s, actuated=MOTORS)
    at = [made.index(name) for name in NAMES]
    q, v = np.empty(5), np.empty(5)
    q[at], v[at] = START, RATES
    time = (np.arange(N)[:, None] + made.rule.place) * made.timestep
    run = made.simulate(q, v, N, push(time))
    return np.concatenate([run.q[-1, at], run.velocity[-1, at]])


def by_bodies(order, N):
    """The same of the mechanism in maximal coordinates."""
    m = dy.Mechanism()
    parts = {"world": m.world}
    for k, (name, parent, kind, axis, p, q, spring, damper, rest) in enumerate(LINKS):
        mass, inertia = body(k)
        parts[name] = m.add_body(mass=mass, inertia=inertia, name=(name, "body"))
        joint = dy.Revolute if kind == "turn" else dy.Prismatic
        m.add_joint(
            joint(parts[parent], parts[name], axis, parent_point=p, child_point=q, name=name,
                  stiffness=spring, damping=damper, rest=rest, actuated=name in MOTORS)
        )  # fmt: skip
    model = m.finalize(SECONDS / N, order=order, tolerance=1e-13, largest_turn=2.4)
    state = model.initial_state()
    for name, q, v in zip(NAMES, START, RATES, strict=True):
        model.set_joint(state, name, q, v)
    time = (np.arange(N)[:, None] + model.nodes) * model.timestep
    motion = dy.simulate(model, state, SECONDS, controls=push(time))
    found = [model.joint(motion.final, name) for name in NAMES]
    return np.concatenate([[q[0] for q, _ in found], [v[0] for _, v in found]])


@pytest.mark.parametrize(("order", "N", "most"), [(2, 80, 1e-2), (4, 20, 1e-4), (6, 10, 1e-5)])
def test_a_branched_tree_moves_alike_in_joint_and_in_maximal_coordinates(order, N, most):
    # springs, dampers, and forces of motors that vary within a step
    exact = by_joints(5, 40)
    for run in (lambda n: by_joints(order // 2, n), lambda n: by_bodies(order, n)):
        coarse, fine = (np.abs(run(n) - exact).max() for n in (N, 2 * N))
        assert fine < most
        assert abs(np.log2(coarse / fine) - order) < 0.1 * order


def test_what_is_left_between_the_two_is_round_off():
    assert np.abs(by_bodies(6, 160) - by_joints(5, 40)).max() < 1e-10
