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


def mechanism():
    """The tree as a mechanism."""
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
    return m


def by_joints(s, N):
    """Coordinates and rates at the end, of the tree in joint coordinates."""
    motors = [(name, "body") for name in MOTORS]
    made = TreeIntegrator(Tree.from_mechanism(mechanism()), SECONDS / N, s, actuated=motors)
    at = [made.index((name, "body")) for name in NAMES]
    q, v = np.empty(5), np.empty(5)
    q[at], v[at] = START, RATES
    time = (np.arange(N)[:, None] + made.rule.place) * made.timestep
    run = made.simulate(q, v, N, push(time))
    return np.concatenate([run.q[-1, at], run.velocity[-1, at]])


def by_bodies(order, N):
    """The same of the mechanism in maximal coordinates."""
    model = mechanism().finalize(SECONDS / N, order=order, tolerance=1e-13, largest_turn=2.4)
    state = model.initial_state()
    for name, q, v in zip(NAMES, START, RATES, strict=True):
        model.set_joint(state, name, q, v)
    time = (np.arange(N)[:, None] + model.nodes) * model.timestep
    motion = dy.simulate(model, state, SECONDS, controls=push(time))
    found = [model.joint(motion.final, name) for name in NAMES]
    return np.concatenate([[q[0] for q, _ in found], [v[0] for _, v in found]])


def by_hand():
    """The tree without a mechanism."""
    tree = Tree()
    for k, (name, parent, kind, axis, p, q, spring, damper, rest) in enumerate(LINKS):
        tree.add_body((name, "body"), *body(k))
        twist = revolute(axis, q) if kind == "turn" else prismatic(axis)
        tree.add_joint(
            parent if parent == "world" else (parent, "body"), (name, "body"), twist,
            position=np.subtract(p, q), stiffness=spring, damping=damper, rest=rest,
        )  # fmt: skip
    return tree


def test_the_tree_of_a_mechanism_is_the_one_made_by_hand():
    made, hand = Tree.from_mechanism(mechanism()), by_hand()
    assert list(made.bodies) == list(hand.bodies)
    for name, one in hand.bodies.items():
        other = made.bodies[name]
        assert other.mass == one.mass
        assert np.allclose(other.inertia, one.inertia, atol=1e-15)
        assert not other.drag.any() and not other.center.any()
    for name, joint in hand.joints.items():
        other = made.joints[name]
        assert other.parent == joint.parent
        for what in ("twist", "rotation", "position", "stiffness", "rest", "damping"):
            assert np.allclose(getattr(other, what), getattr(joint, what), atol=1e-15)


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


def joint_of(kind, parent, child, **options):
    """A joint of some kind, at general places and with a general offset."""
    offset = np.array([0.8, 0.2, -0.4, 0.4])
    options |= {"parent_point": (0.1, 0.2, -0.3), "child_point": (0.0, -0.1, 0.25)}
    axes = () if kind is dy.FixedOrientation else ((0.6, 0.0, 0.8),)
    axes += ((0.0, 1.0, 0.0),) if kind is dy.Universal else ()
    orientation = offset / np.linalg.norm(offset)
    return kind(parent, child, *axes, orientation=orientation, name="middle", **options)


@pytest.mark.parametrize(
    "kind",
    [dy.Revolute, dy.Prismatic, dy.Cylindrical, dy.Planar, dy.PlanarAxis, dy.FixedOrientation,
     dy.FreeAxis, dy.Universal],
)  # fmt: skip
def test_joints_of_several_coordinates_become_chains_with_the_same_coordinates(kind):
    m = dy.Mechanism(gravity=(0.3, -0.2, -9.81))
    parts = [m.add_body(mass=a, inertia=b, name=k) for k, (a, b) in enumerate(map(body, range(3)))]
    m.add_joint(dy.Revolute(m.world, parts[0], (0, 1, 0), name="first", damping=0.1))
    middle = joint_of(kind, parts[0], parts[1])
    count = middle.n_coordinates
    spring = {"stiffness": 3.0 + np.arange(count), "damping": 0.2, "rest": 0.1 * np.arange(count)}
    m.add_joint(joint_of(kind, parts[0], parts[1], **spring))
    m.add_joint(dy.Revolute(parts[1], parts[2], (1, 0, 0), child_point=(0, 0, 0.3), name="last"))
    start, rates = 0.2 + 0.1 * np.arange(count + 2), 0.5 - 0.3 * np.arange(count + 2)

    def by_maximal(N):
        model = m.copy().finalize(0.2 / N, order=6, tolerance=1e-13)
        state, k = model.initial_state(), 0
        for joint in m.joints.values():
            places = slice(k, k := k + joint.n_coordinates)
            model.set_joint(state, joint.name, start[places], rates[places])
        final = dy.simulate(model, state, 0.2).final
        return np.concatenate([np.concatenate(model.joint(final, name)) for name in m.joints])

    tree = TreeIntegrator(Tree.from_mechanism(m), 0.01, 4)
    run = tree.simulate(start, rates, 20)
    last = np.concatenate(
        [
            [run.q[-1, 0], run.velocity[-1, 0]],
            run.q[-1, 1:-1],
            run.velocity[-1, 1:-1],
            [run.q[-1, -1], run.velocity[-1, -1]],
        ]
    )
    assert list(tree.joints) == [0, *((1, k) for k in range(count - 1)), 1, 2]
    coarse, fine = (np.abs(by_maximal(N) - last).max() for N in (5, 10))
    assert fine < 1e-8
    assert coarse < 1e-10 or coarse / fine > 2.0**5.5


def test_drag_gravity_and_couplings_of_a_mechanism_are_those_of_its_tree():
    m = dy.Mechanism()
    options = {"drag": 0.3, "spin_drag": 0.02, "gravity_scale": 0.5}
    a, b = (m.add_body(dy.Box(0.1, 0.2, 0.8, mass=1.0), name=name, **options) for name in "ab")
    left = m.add_joint(dy.Revolute(m.world, a, (1, 0, 0), child_point=(0, 0, 0.4), name="left"))
    right = m.add_joint(dy.Prismatic(a, b, (0, 0, 1), child_point=(0, 0, 0.4), name="right"))
    m.add_coupling(left, right, 0.3, 0.05)
    tree = TreeIntegrator(Tree.from_mechanism(m), 0.005, 2)
    q, v = np.array([0.4, 0.3 * 0.4 + 0.05]), np.array([1.0, 0.3])
    run = tree.simulate(q, v, 40)

    model = m.copy().finalize(0.005, order=4)
    state = model.assemble(model.initial_state(), {"left": q[0]}, {"left": v[0]})
    final = dy.simulate(model, state, 0.2).final
    found = [x[0] for name in m.joints for x in model.joint(final, name)]
    assert np.abs(np.array(found)[[0, 2, 1, 3]] - [*run.q[-1], *run.velocity[-1]]).max() < 1e-7


def refused():
    """Mechanisms that are no trees, and why."""

    def pair(child=(), joint=dy.Revolute, **options):
        m = dy.Mechanism()
        a, b = (m.add_body(dy.Box(0.1, 0.1, 0.5, mass=1.0), name=name) for name in "ab")
        m.add_joint(dy.Revolute(m.world, a, (0, 1, 0), name="first"))
        axes = () if joint is dy.Spherical else ((0, 1, 0),)
        m.add_joint(joint(a, b, *axes, name="second", **options))
        return m, a, b

    m, a, b = pair()
    m.add_joint(dy.Revolute(m.world, b, (0, 1, 0), name="third"))
    yield m, "'third' closes a loop|'second' closes a loop"
    m, a, b = pair()
    m.add_body(dy.Sphere(0.1, mass=1.0), name="c")
    yield m, "body 'c' has no joint"
    m, a, b = pair()
    m.add_joint(
        dy.Revolute(m.add_body(dy.Sphere(0.1, mass=1.0), name="c"), b, (0, 1, 0), name="up")
    )
    yield m, "'up' is reached from its child 'b'"
    m, a, b = pair()
    m.add_force(dy.Spring(a, b, 1.0, name="rope"))
    yield m, "no springs, and the mechanism has 'rope'"
    yield pair(joint=dy.Spherical)[0], r"'second' \(spherical\) is not a chain of hinges"
    yield pair(joint=dy.Helical, pitch=0.1)[0], r"'second' \(helical\) is not a chain of hinges"
    yield (
        pair(limits=(-1.0, 1.0), armature=0.1)[0],
        r"'second' has armature, limits.*without=\['armature', 'limits'\].*least_q=",
    )
    yield pair(friction=1.0)[0], r"'second' has friction.*without=\['friction'\].*out$"
    yield pair(servo=dy.PositionServo(1.0))[0], "'second' has a servo.*'second': 'motor'"
    yield pair(compliance=1e-3)[0], "'second' is compliant"


@pytest.mark.parametrize(("m", "sentence"), list(refused()))
def test_mechanisms_that_are_no_trees_are_refused(m, sentence):
    with pytest.raises(ValueError, match=sentence):
        Tree.from_mechanism(m)
