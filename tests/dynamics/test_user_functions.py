"""Potentials and constraints by users' functions of the poses of any number of bodies."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation

from .test_control import accelerations
from .test_linearization import CLOSE, by_differences, differences, error

INERTIA = [0.1, 0.2, 0.25]
#: Off-centre points, so that all slopes by rotation vectors count.
POINTS = np.array([[0.1, -0.2, 0.3], [0.2, 0.1, -0.1], [-0.3, 0.1, 0.2], [0.1, 0.3, 0.1]])
PLACES = np.array([[-1.0, 0.1, 0.0], [0.2, 1.1, 0.3], [1.1, 0.0, -0.2], [0.0, -0.5, 1.2]])


def cross(a):
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def point_of(pose, arm):
    """A point of a body in the world, and its slopes, shape (3, 6)."""
    Q = rotation.to_matrix(pose[3:])
    return pose[:3] + Q @ arm, np.hstack([np.eye(3), -Q @ cross(arm)])


def distance(one, other):
    """Distance of two points, with slopes by both, shape (1, 6) each."""
    (a, A), (b, B) = one, other
    gap = b - a
    length = np.linalg.norm(gap)
    return length, -gap[None] @ A / length, gap[None] @ B / length


def rope(*poses):
    """Length of a rope from body to body, less 3 m."""
    ends = [point_of(pose, arm) for pose, arm in zip(poses, POINTS)]
    length, slopes = -3.0, np.zeros((1, 6 * len(poses)))
    for k in range(len(poses) - 1):
        way, before, after = distance(ends[k], ends[k + 1])
        length += way
        slopes[:, 6 * k : 6 * k + 6] += before
        slopes[:, 6 * k + 6 : 6 * k + 12] += after
    return [length], slopes


def area(pose_a, pose_b, pose_c):
    """Twice the area of a triangle of bodies, less 2 m^2, and the distance of the first two."""
    (a, A), (b, B), (c, C) = (
        point_of(pose, arm) for pose, arm in zip((pose_a, pose_b, pose_c), POINTS)
    )
    normal = np.cross(b - a, c - a)
    size = np.linalg.norm(normal)
    n = normal / size
    G = np.zeros((2, 18))
    G[0, :6], G[0, 6:12], G[0, 12:] = (
        n @ cross(c - b) @ A, n @ cross(a - c) @ B, n @ cross(b - a) @ C,
    )  # fmt: skip
    way, G[1, :6], G[1, 6:12] = distance((a, A), (b, B))
    return [size - 2.0, way - 1.5], G


def volume(*poses):
    """Six times the volume of a tetrahedron of four bodies, less 1 m^3."""
    (a, A), (b, B), (c, C), (d, D) = (point_of(p, r) for p, r in zip(poses, POINTS))
    u, v, w = b - a, c - a, d - a
    U, V, W = np.cross(v, w), np.cross(w, u), np.cross(u, v)
    return [u @ U - 1.0], np.hstack([-(U + V + W) @ A, U @ B, V @ C, W @ D])[None]


SHAPES = {
    "rope": (rope, 3, 1),
    "area": (area, 3, 2),
    "volume": (volume, 4, 1),
    "chain": (rope, 4, 1),
}


def scene(gravity=(0.0, 0.0, 0.0)):
    """Four bodies with different masses that nothing joins."""
    mechanism = dy.Mechanism(gravity=gravity)
    for k, place in enumerate(PLACES):
        mechanism.add_body(
            mass=1.0 + 0.5 * k, inertia=INERTIA, name=f"b{k}", position=place,
            orientation=rotation.normalized(np.array([1.0, 0.1 * k, 0.2, -0.1])),
        )  # fmt: skip
    return mechanism


def constrained(what, order=2, h=0.01, anchored=False, **options):
    """The scene with a constraint of that shape, moving."""
    function, n, count = SHAPES[what]
    mechanism = scene()
    bodies = list(mechanism.bodies.values())
    if anchored:
        mechanism.add_joint(dy.Revolute(mechanism.world, bodies[0], (0, 0.6, 0.8), name="hinge",
                                        child_point=(0.5, 0, 0), parent_point=(-0.5, 0, 0),
                                        damping=0.1, actuated=True))  # fmt: skip
        mechanism.add_joint(dy.Spherical(bodies[1], bodies[3], name="ball",
                                         child_point=(0, 0.4, 0)))  # fmt: skip
    mechanism.add_joint(
        dy.Custom(bodies=bodies[:n], constraint=function, count=count, name="user", **options)
    )
    model = mechanism.finalize(h, order=order, tolerance=1e-13)
    return model, moving(model)


def moving(model, seed=0):
    """A state with random velocities, its constraints closed."""
    state, rng = model.initial_state(), np.random.default_rng(seed)
    for body in model.bodies:
        model.set_body(
            state, body.name, velocity=rng.normal(size=3), angular_velocity=rng.normal(size=3)
        )
    return model.assemble(state)


# By hand


def test_a_rope_over_a_pulley_falls_as_atwood_s_machine_does():
    # masses 1 and 3 kg on a rope over a body that is held: a = g (3 - 1) / (3 + 1)
    mechanism = dy.Mechanism(gravity=(0, 0, -10.0))
    held = mechanism.add_body(mass=5.0, inertia=INERTIA, name="pulley", position=(0, 0, 2.0))
    mechanism.add_joint(dy.Fixed(mechanism.world, held, parent_point=(0, 0, 2.0)))
    left, right = (
        mechanism.add_body(mass=m, inertia=INERTIA, name=name, position=(0, 0, z))
        for m, name, z in ((1.0, "left", 0.0), (3.0, "right", 1.0))
    )

    def over(a, pulley, b):
        return [2.0 * pulley[2] - a[2] - b[2] - 3.0], np.array(
            [[0, 0, -1.0, 0, 0, 0, 0, 0, 2.0, 0, 0, 0, 0, 0, -1.0, 0, 0, 0]]
        )

    rope = dy.Custom(bodies=[left, held, right], constraint=over, name="rope")
    mechanism.add_joint(rope)
    assert (rope.parent, rope.child, rope.bodies) == (left, held, (left, held, right))
    model = mechanism.finalize(0.01)
    motion = dy.simulate(model, model.initial_state(), 1.0)

    # momentum of constant acceleration is exact, positions too
    assert motion.body("left")[0][-1] == pytest.approx([0.0, 0.0, 2.5], abs=1e-11)
    assert motion.body("right")[0][-1] == pytest.approx([0.0, 0.0, -1.5], abs=1e-11)
    # tension 2 m1 m2 g / (m1 + m2)
    assert motion.reaction("rope")[2:] == pytest.approx(-15.0, rel=1e-10)


def test_a_function_of_one_body_and_one_with_the_world_take_their_poses():
    mechanism = dy.Mechanism(gravity=(0, 0, -9.81))
    a, b = (mechanism.add_body(mass=1.0, inertia=INERTIA, name=name) for name in "ab")
    seen = []

    def plane(pose):
        seen.append(pose)
        return [pose[2]], np.array([[0, 0, 1.0, 0, 0, 0]])

    def level(world, one, other):
        seen.append(world)
        G = np.zeros((1, 18))
        G[0, 8], G[0, 14] = 1.0, 1.0
        return [one[2] + other[2] - world[2]], G

    mechanism.add_joint(dy.Custom(bodies=[a], constraint=plane, name="plane"))
    mechanism.add_joint(dy.Custom(bodies=[mechanism.world, a, b], constraint=level, name="level"))
    mechanism.add_force(
        dy.Potential(bodies=[b], function=lambda p: (p[0], np.array([1.0, 0, 0, 0, 0, 0])))
    )
    model = mechanism.finalize(0.01)
    motion = dy.simulate(model, model.initial_state(), 1.0)

    assert motion.body("a")[0][-1] == pytest.approx([0, 0, 0], abs=1e-12)
    assert motion.body("b")[0][-1] == pytest.approx([-0.5, 0, 0], abs=1e-12)
    assert {pose.shape for pose in seen} == {(7,)}
    assert all((pose == [0, 0, 0, 1, 0, 0, 0]).all() for pose in seen[1::2] if pose[0] == 0.0)


def test_a_function_is_called_once_at_each_pose_though_it_has_several_groups_of_rows():
    calls = []

    def counted(*poses):
        calls.append(np.array(poses))
        return volume(*poses)

    mechanism = scene()
    bodies = list(mechanism.bodies.values())
    mechanism.add_joint(dy.Custom(bodies=bodies, constraint=counted))
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    calls.clear()
    for _ in range(3):
        state, _ = model.step(state)
    assert all((one != other).any() for one, other in zip(calls, calls[1:]))


# Against equal mechanisms


@pytest.mark.parametrize("order", [2, 4, 6])
def test_a_sum_of_pair_potentials_moves_bodies_as_the_springs_do(order):
    def energy(*poses):
        ends = [point_of(pose, arm) for pose, arm in zip(poses, POINTS)]
        total, slopes = 0.0, np.zeros(6 * len(poses))
        for i, j in ((0, 1), (1, 2), (0, 2), (2, 3)):
            way, before, after = distance(ends[i], ends[j])
            total += 0.5 * 20.0 * (way - 1.0) ** 2
            slopes[6 * i : 6 * i + 6] += 20.0 * (way - 1.0) * before[0]
            slopes[6 * j : 6 * j + 6] += 20.0 * (way - 1.0) * after[0]
        return total, slopes

    motions = []
    for users in (True, False):
        mechanism = scene()
        bodies = list(mechanism.bodies.values())
        if users:
            mechanism.add_force(dy.Potential(bodies=bodies, function=energy, name="V"))
        for i, j in () if users else ((0, 1), (1, 2), (0, 2), (2, 3)):
            mechanism.add_force(
                dy.Spring(bodies[i], bodies[j], stiffness=20.0, length=1.0,
                          parent_point=POINTS[i], child_point=POINTS[j])
            )  # fmt: skip
        model = mechanism.finalize(0.01, order=order, tolerance=1e-13)
        motions.append(dy.simulate(model, moving(model), 0.5))
    mine, theirs = motions
    # 50 steps whose Newton iterations end within 1e-13 of the units, twice
    n = 7 * model.n_bodies
    assert np.abs(mine.states[:, :n] - theirs.states[:, :n]).max() < 1e-10
    assert mine.energy() == pytest.approx(theirs.energy(), abs=1e-9)
    momentum = mine.momentum()
    assert np.abs(momentum - momentum[0]).max() < 1e-11  # translations and rotations keep V


@pytest.mark.parametrize("order", [2, 4, 6])
@pytest.mark.parametrize("anchored", [False, True])
def test_two_distances_as_one_constraint_are_two_rods(order, anchored):
    def rods(pose_a, pose_b, pose_c):
        ends = [point_of(pose, arm) for pose, arm in zip((pose_a, pose_b, pose_c), POINTS)]
        G = np.zeros((2, 18))
        one, G[0, :6], G[0, 6:12] = distance(ends[0], ends[1])
        two, G[1, 6:12], G[1, 12:] = distance(ends[1], ends[2])
        return [one - 1.6, two - 1.5], G

    motions = []
    for users in (True, False):
        mechanism = scene(gravity=(0, 0, -9.81))
        bodies = list(mechanism.bodies.values())[:3]
        if anchored:
            mechanism.add_joint(dy.Spherical(mechanism.world, bodies[1], child_point=(0, 0, 0.4),
                                             parent_point=(0.2, 1.1, 0.7)))  # fmt: skip
        if users:
            mechanism.add_joint(dy.Custom(bodies=bodies, constraint=rods, count=2, name="rods"))
        for k in () if users else (0, 1):
            mechanism.add_joint(
                dy.Distance(bodies[k], bodies[k + 1], (1.6, 1.5)[k], name=f"rod {k}",
                            parent_point=POINTS[k], child_point=POINTS[k + 1])
            )  # fmt: skip
        model = mechanism.finalize(0.01, order=order, tolerance=1e-13)
        motions.append(dy.simulate(model, moving(model), 0.5))
    mine, theirs = motions
    n = 7 * model.n_bodies
    assert np.abs(mine.states[:, :n] - theirs.states[:, :n]).max() < 1e-9
    both = np.hstack([theirs.reaction("rod 0"), theirs.reaction("rod 1")])
    assert mine.reaction("rods") == pytest.approx(both, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("compliance", [1e-2, 1e-8])
def test_a_compliant_constraint_is_a_stiff_spring_along_its_value(compliance):
    # two free masses and a third between them: g = x1 + x3 - 2 x2, G M^-1 G^T = 1 + 2 + 1/3
    def bend(a, b, c):
        G = np.zeros((1, 18))
        G[0, [0, 6, 12]] = 1.0, -2.0, 1.0
        return [a[0] + c[0] - 2.0 * b[0]], G

    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    bodies = [
        mechanism.add_body(mass=m, inertia=INERTIA, name=f"b{m}", position=(0.1 * m, 0, 0))
        for m in (1.0, 2.0, 3.0)
    ]
    mechanism.add_joint(
        dy.Custom(bodies=bodies, constraint=bend, name="bend", compliance=compliance)
    )
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    model.set_body(state, "b1.0", velocity=(0.1, 0, 0))
    motion = dy.simulate(model, state, 1.0)
    omega = np.sqrt((1.0 + 4.0 / 2.0 + 1.0 / 3.0) / compliance)
    g = motion.body("b1.0")[0] + motion.body("b3.0")[0] - 2.0 * motion.body("b2.0")[0]
    # the trapezoidal rule: omega_h = (2/h) atan(h omega / 2), amplitude of g' over omega
    angle = 2.0 * np.arctan(0.5 * 0.01 * omega) * np.arange(101)
    assert g[:, 0] == pytest.approx(0.1 / omega * np.sin(angle), abs=1e-11)
    energy = motion.energy()
    assert np.abs(energy - energy[0]).max() < 1e-12


# Laws


@pytest.mark.parametrize("what", SHAPES)
@pytest.mark.parametrize("order", [2, 4, 6])
def test_a_constraint_keeps_its_value_and_the_momenta(what, order):
    model, state = constrained(what, order)
    motion = dy.simulate(model, state, 1.0)
    momentum, energy = motion.momentum(), motion.energy()
    assert np.abs(motion.constraint_violation()).max() < 1e-11
    assert np.abs(momentum - momentum[0]).max() < 1e-11
    # (h omega)^2 of the energy at order 2 with omega of about 3 rad/s
    assert np.abs(energy - energy[0]).max() < {2: 3e-3, 4: 1e-5, 6: 1e-7}[order] * energy[0]
    assert motion.info["accumulated_energy"] < 1e-3 * energy[0]


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("what", ["rope", "area"])
def test_steps_are_of_their_order(what, order):
    ends = []
    for steps in (10, 20, 40):
        model, state = constrained(what, order, h=0.2 / steps)
        ends.append(dy.simulate(model, state, 0.2).states[-1, : 7 * model.n_bodies])
    one, two = (np.abs(ends[k] - ends[k + 1]).max() for k in (0, 1))
    assert np.log2(one / two) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize("what", SHAPES)
def test_the_slopes_here_are_those_of_differences(what):
    function, n, count = SHAPES[what]
    poses = [np.r_[PLACES[k], rotation.normalized(np.array([1.0, 0.1, k, -0.3]))] for k in range(n)]

    def moved(change):
        after = []
        for k, pose in enumerate(poses):
            d = change[6 * k : 6 * k + 6]
            turn = rotation.multiply(pose[3:], rotation.from_rotation_vector(d[3:]))
            after.append(np.r_[pose[:3] + d[:3], turn])
        return np.asarray(function(*after)[0])

    assert error(function(*poses)[1], differences(moved, 6 * n)) < CLOSE


@pytest.mark.parametrize("what", SHAPES)
@pytest.mark.parametrize("options", [{}, {"compliance": 1e-2, "constraint_damping": 0.7}])
@pytest.mark.parametrize("anchored", [False, True])
def test_a_step_has_the_derivatives_of_differences(what, options, anchored):
    model, state = constrained(what, anchored=anchored, **options)
    for _ in range(2):
        state, _ = model.step(state)
    control = np.full(model.n_controls, 0.3)
    A, B = dy.linearize(model, state, control)
    wanted = by_differences(model, state, control)
    assert error(A, wanted[0]) < CLOSE
    assert error(B, wanted[1]) < CLOSE


@pytest.mark.parametrize("rank", [1, 2])
def test_a_compliance_that_couples_its_values_keeps_them(rank):
    rows = np.array([[1.0, 0.4], [0.3, -0.2]])[:, :rank]
    soft = {"compliance": 1e-2 * rows @ rows.T, "constraint_damping": [[0.7, 0.2], [0.2, 0.3]]}
    model, state = constrained("area", anchored=True, **soft)
    assert model.mechanism.joints["user"].soft
    motion = dy.simulate(model, state, 0.3)
    if rank == 1:  # across the range it is rigid
        held = np.array([-rows[1, 0], rows[0, 0]])
        assert max(abs(model.constraint_violation(state)[-2:] @ held) for state in motion) < 1e-11
    control = np.full(model.n_controls, 0.3)
    A, B = dy.linearize(model, motion[5], control)
    wanted = by_differences(model, motion[5], control)
    assert error(A, wanted[0]) < CLOSE
    assert error(B, wanted[1]) < CLOSE


def test_a_potential_of_four_bodies_has_the_derivatives_of_differences():
    mechanism = scene()
    bodies = list(mechanism.bodies.values())

    def energy(*poses):
        (value,), slopes = volume(*poses)
        return 0.5 * value**2, value * slopes[0]

    mechanism.add_force(dy.Potential(bodies=bodies, function=energy))
    model = mechanism.finalize(0.01, tolerance=1e-13)
    state = moving(model)
    A, _ = dy.linearize(model, state)
    assert error(A, by_differences(model, state, np.zeros(0))[0]) < CLOSE


def test_joint_coordinates_have_them_too():
    mechanism = dy.Mechanism()
    rods = []
    for k in range(3):
        rod = mechanism.add_body(
            mass=1.0, inertia=INERTIA, name=f"rod {k}", position=(float(k), 0.0, -0.5)
        )
        mechanism.add_joint(
            dy.Revolute(mechanism.world, rod, (0, 1, 0), name=f"j{k}", actuated=True,
                        parent_point=(k, 0, 0), child_point=(0, 0, 0.5))
        )  # fmt: skip
        rods.append(rod)
    held = rope(*(np.r_[rod.position, 1.0, 0, 0, 0] for rod in rods))[0][0]
    mechanism.add_joint(
        dy.Custom(bodies=rods, constraint=lambda *p: (rope(*p)[0][0:1] - held, rope(*p)[1]),
                  name="rope")
    )  # fmt: skip
    model = mechanism.finalize(0.01, tolerance=1e-13)
    state = model.assemble(model.initial_state(), {}, {"j0": 0.7, "j1": -0.4})
    assert model.redundancy(state).n_freedoms == 2

    wanted = {"j0": 0.3, "j1": -0.1}
    force = dy.inverse_dynamics(model, state, wanted)
    space, found = accelerations(model, state, force)
    # second-order error of steps of 1e-4 s
    assert found[:2] == pytest.approx([0.3, -0.1], abs=1e-5)
    _, B = dy.linearize(model, state, force, coordinates="joint")
    still, _ = model.step(state, force)
    q, v = space.read(still)
    change = 1e-6 * np.array([0.3, -0.5, 0.2])
    moved, _ = model.step(state, force + change)
    assert np.concatenate(space.read(moved)) - np.r_[q, v] == pytest.approx(B @ change, abs=1e-12)


# Elimination


def test_a_long_row_of_overlapping_cliques_costs_what_its_length_does():
    def bend(a, b, c):
        G = np.zeros((1, 18))
        G[0, [2, 8, 14]] = 1.0, -2.0, 1.0
        return [a[2] - 2.0 * b[2] + c[2]], G

    def cost(n):
        mechanism = dy.Mechanism()
        row = [
            mechanism.add_body(mass=1.0, inertia=INERTIA, name=k, position=(k, 0, 0))
            for k in range(n)
        ]
        for k in range(n - 2):
            mechanism.add_joint(dy.Custom(bodies=row[k : k + 3], constraint=bend, name=f"c{k}"))
        return mechanism.finalize(0.01).tables.symbolic.operations

    assert cost(80) - cost(40) == pytest.approx(2 * (cost(40) - cost(20)), rel=0.05)


def test_the_constraint_is_a_clique_of_the_graph():
    model, _ = constrained("volume")
    symbolic = model.tables.symbolic
    # the bodies first: the first one joins the three others and the constraint by fill-in
    assert symbolic.order[-1] == "user"
    neighbors = set(map(frozenset, model.mechanism.graph().edges()))
    names = list(model.mechanism.bodies)
    assert neighbors == {frozenset((a, b)) for a in names for b in names if a != b}


def test_what_hangs_on_a_tree_may_be_held_by_a_function_of_absolute_places():
    # a, b, c are fixed to d, which turns about a hinge: the sum of their heights holds that hinge
    mechanism = dy.Mechanism()
    d = mechanism.add_body(mass=1.0, inertia=INERTIA, name="d")
    mechanism.add_joint(dy.Revolute(mechanism.world, d, (0, 1, 0), name="hinge"))
    arms = [mechanism.add_body(mass=1.0, inertia=INERTIA, name=name) for name in "abc"]
    for k, one in enumerate(arms):
        mechanism.add_joint(dy.Fixed(d, one, parent_point=(1.0 + k, 0, 0)))

    def heights(*poses):
        G = np.zeros((1, 18))
        G[0, 2::6] = 1.0
        return [sum(pose[2] for pose in poses)], G

    mechanism.add_joint(dy.Custom(bodies=arms, constraint=heights, name="heights"))
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    motion = dy.simulate(model, state, 0.1)
    assert np.abs(motion.states[-1, :7] - state.data[:7]).max() < 1e-12
    assert model.redundancy(state).redundant == 0


def test_set_joint_carries_what_a_function_joins():
    mechanism = scene()
    bodies = list(mechanism.bodies.values())
    mechanism.add_joint(dy.Revolute(mechanism.world, bodies[0], (0, 0, 1), name="hinge"))
    mechanism.add_joint(dy.Custom(bodies=bodies, constraint=volume, name="user"))
    model = mechanism.finalize(0.01)
    state = model.assemble(model.initial_state())
    before = volume(*state.pose)[0][0]
    model.set_joint(state, "hinge", 0.5)
    assert volume(*state.pose)[0][0] == pytest.approx(before, abs=1e-12)


def test_bodies_that_collide_may_have_them():
    mechanism = dy.Mechanism()
    balls = [
        mechanism.add_body(dy.Sphere(0.1, mass=1.0), name=f"ball {k}", position=(k, 0, 0.5))
        for k in range(3)
    ]
    box = mechanism.add_body(dy.Box(0.2, 0.2, 0.2, mass=1.0), name="box", position=(0, 0, 0.11))
    other = mechanism.add_body(dy.Box(0.2, 0.2, 0.2, mass=1.0), name="other", position=(2, 0, 0.3))
    mechanism.add_obstacle(dy.HalfSpace(), name="ground")
    mechanism.collide(friction=0.3)

    def middle(a, b, c):
        G = np.zeros((3, 18))
        for j in range(3):
            G[j, [j, 6 + j, 12 + j]] = 1.0, -2.0, 1.0
        return a[:3] - 2.0 * b[:3] + c[:3], G

    mechanism.add_joint(dy.Custom(bodies=balls, constraint=middle, count=3, name="rail"))
    model = mechanism.finalize(0.01)
    motion = dy.simulate(model, model.initial_state(), 1.0)
    places = [motion.body(ball.name)[0] for ball in balls]
    assert np.abs(places[0] - 2.0 * places[1] + places[2]).max() < 1e-9
    assert min(place[-1, 2] for place in places) > 0.09
    assert motion.body(box.name)[0][-1, 2] > 0.09 and motion.body(other.name)[0][-1, 2] > 0.09


# Parts of a mechanism


def test_parts_print_copy_and_keep_their_bodies():
    mechanism = scene()
    bodies = list(mechanism.bodies.values())
    well = dy.Potential(bodies=bodies[:3], function=lambda *p: (0.0, np.zeros(18)))
    assert well.name == "potential b0~b1~b2"
    assert (well.parent, well.child, well.bodies) == (*bodies[:2], tuple(bodies[:3]))
    assert replace(well, name="other").bodies == well.bodies
    assert dy.Potential(bodies[0], np.zeros).bodies == (mechanism.world, bodies[0])
    hold = dy.Custom(bodies=bodies, constraint=volume)
    assert hold.name == "b0-b1-b2-b3" and hold.n_rows == 1
    assert replace(hold, name="other").bodies == tuple(bodies)
    assert dy.Custom(*bodies[:2], np.zeros, 1).bodies == tuple(bodies[:2])
    mechanism.add_force(well)
    mechanism.add_joint(hold)
    copied = mechanism.copy()
    assert copied.joints[hold.name] is hold and copied.potentials[well.name] is well
    model = copied.finalize(0.01)
    with pytest.raises(TypeError, match="has a Python function"):
        pickle.dumps(model)
    with pytest.raises(ValueError, match="tree"):
        dy.integrators.Tree.from_mechanism(copied)
    with pytest.raises(ValueError, match="is of 4 bodies"):
        copied.add_sensor(dy.ForceTorque(hold.name))


@pytest.mark.parametrize("make", [
    lambda bodies, **k: dy.Potential(bodies=bodies, function=np.zeros, **k),
    lambda bodies, **k: dy.Custom(bodies=bodies, constraint=np.zeros, **k),
])  # fmt: skip
def test_bodies_that_make_no_sense_are_refused(make):
    mechanism = scene()
    a, b = list(mechanism.bodies.values())[:2]
    with pytest.raises(ValueError, match="'mine' joins 'b0' with itself"):
        make([a, b, a], name="mine")
    with pytest.raises(ValueError, match="no body that moves"):
        make([mechanism.world])
    with pytest.raises(ValueError, match="no body that moves"):
        make([])
    with pytest.raises(TypeError, match=r"use what add_body returned, or mechanism.bodies\['b1'\]"):
        make([a, "b1"])
    for none in (a, "b0", 3, mechanism.world):
        with pytest.raises(TypeError, match="must be a list of bodies"):
            make(none)
    with pytest.raises(TypeError, match="leave out"):
        make([a, b], child=a)
    other = dy.Mechanism().add_body(mass=1.0, inertia=INERTIA, name="b0")
    part = make([a, b, other] if other is not a else [])
    add = mechanism.add_force if isinstance(part, dy.Potential) else mechanism.add_joint
    with pytest.raises(dy.UnknownNameError, match="'b0', which is not a body of this mechanism"):
        add(part)


def test_what_is_no_function_is_refused():
    a, b = list(scene().bodies.values())[:2]
    with pytest.raises(TypeError, match="needs a function"):
        dy.Custom(bodies=[a, b])
    with pytest.raises(TypeError, match="needs a function"):
        dy.Potential(bodies=[a, b])
    with pytest.raises(TypeError, match="child or bodies"):
        dy.Potential()
    with pytest.raises(ValueError, match="at least one constraint"):
        dy.Custom(bodies=[a, b], constraint=np.zeros, count=0)


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (
            (np.zeros(1), np.zeros((1, 12))),
            r"shapes \(1,\) and \(1, 12\), not \(1,\) and \(1, 18\)",
        ),
        ((np.zeros(2), np.zeros((1, 18))), r"shapes \(2,\) and \(1, 18\)"),
        (([np.nan], np.zeros((1, 18))), "not finite"),
        (([0.0], np.full((1, 18), np.inf)), "not finite"),
    ],
)
def test_results_of_another_shape_and_infinite_ones_are_refused(result, sentence, order):
    mechanism = scene()
    bodies = list(mechanism.bodies.values())[:3]
    mechanism.add_joint(dy.Custom(bodies=bodies, constraint=lambda *p: result, name="bad"))
    model = mechanism.finalize(0.01, order=order)
    for _ in range(2):  # the second time, too: what was raised is forgotten
        with pytest.raises(ValueError, match=f"joint 'bad'.*{sentence}"):
            model.initial_state()


@pytest.mark.parametrize("order", [2, 4])
def test_an_exception_of_a_potential_comes_through_once(order):
    calls = []

    def energy(*poses):
        calls.append(0)
        if len(calls) == 20:
            raise RuntimeError("enough")
        return 0.0, np.zeros(6 * len(poses))

    mechanism = scene(gravity=(0, 0, -9.81))
    bodies = list(mechanism.bodies.values())
    mechanism.add_force(dy.Potential(bodies=bodies, function=energy))
    model = mechanism.finalize(0.01, order=order)
    state = model.initial_state()
    with pytest.raises(RuntimeError, match="enough"):
        dy.simulate(model, state, 1.0)
    dy.simulate(model, state, 0.1)
    mechanism = scene()
    bodies = list(mechanism.bodies.values())[:3]
    wrong = dy.Potential(bodies=bodies, function=lambda *p: (0.0, np.zeros(12)), name="V")
    mechanism.add_force(wrong)
    model = mechanism.finalize(0.01, order=order)
    with pytest.raises(ValueError, match=r"gradient of potential 'V' has shape \(12,\).*\(18,\)"):
        dy.simulate(model, model.initial_state(), 0.1)


def started(add):
    """Motion of two balls with what is added to them."""
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=(0, 0, 1))
    add(mechanism, ball, mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="other"))
    model = mechanism.finalize(0.01)
    return dy.simulate(model, model.initial_state(), 0.05)


@pytest.mark.parametrize("given", [9.81, None, np.zeros(12)])
def test_functions_that_return_too_little_are_told_what_to_return(given):
    def wrong(*poses):
        return given

    with pytest.raises(TypeError, match="of the potential 'V' gave .*return energy, gradient"):
        started(lambda m, a, b: m.add_force(dy.Potential(a, wrong, name="V")))
    with pytest.raises(TypeError, match="contact 'touch' gave .*return distance, normal, point"):
        started(lambda m, a, b: m.add_contact(a, b, distance=wrong, name="touch"))
    with pytest.raises(TypeError, match="of joint 'held' gave .*return values, jacobian"):
        started(lambda m, a, b: m.add_joint(dy.Custom(a, b, wrong, name="held")))
