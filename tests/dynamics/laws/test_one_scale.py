"""Lengths by L, masses by M, times by sqrt(L): the same motion from 1 mm, 1 mg to 100 m, 1e9 kg."""

import math

import numpy as np
import pytest

import dynamics as dy
from dynamics.integrators.dual_quaternion.forces import Pivot, WorldForce, spatial_inertia
from dynamics.integrators.dual_quaternion.rigid_body import RigidBody
from dynamics.integrators.tree.description import Tree
from dynamics.integrators.tree.integrator import TreeIntegrator
from dynamics.integrators.tree.twists import prismatic, revolute
from dynamics.parts.separating_planes import LIGHT

X, Y, Z = np.eye(3)
G, BARRIER = 9.81, 5e-9
SCALES = [(1e-3, 1e-6), (1e-3, 1e9), (0.03, 1e-2), (100.0, 1e9), (100.0, 1e-6)]


def chain(L, M):
    m, last = dy.Mechanism(), None
    for i in range(4):
        link = m.add_body(dy.Box(0.1 * L, 0.2 * L, L, mass=M * (1 + i)), name=i)
        options = {"child_point": 0.5 * L * Z, "name": f"j{i}"}
        if last is not None:
            options["parent_point"] = -0.5 * L * Z
        m.add_joint(dy.Revolute(last or m.world, link, Y if i % 2 else X, **options))
        last = link
    return m, {"j0": 0.4, "j1": 1.0}, {}


def tumbling_cube(L, M):
    m = dy.Mechanism()
    place = {"position": [0.0, 0.0, 0.7 * L], "orientation": [0.98, 0.1, 0.12, 0.02]}
    m.add_contact(m.add_body(dy.Box(L, L, L, mass=M), name=0, **place), friction=0.4)
    return m, {}, {0: ([0.5, 0.0, 0.0], [1.0, 0.5, 0.2])}


def block_on_slope(L, M):
    # at 90 % of its friction
    m, angle = dy.Mechanism(), math.atan(0.45)
    up, half = np.array([math.sin(angle), 0.0, math.cos(angle)]), 0.5 * angle
    block = m.add_body(
        dy.Box(L, L, 0.5 * L, mass=M), name=0, position=0.25 * L * up,
        orientation=[math.cos(half), 0.0, math.sin(half), 0.0],
    )  # fmt: skip
    ground = dy.HalfSpace(normal=up, point=(0, 0, 0))
    m.add_contact(block, against_shape=ground, friction=0.5, name="slope")
    return m, {}, {}


def falling_spheres(L, M):
    m, last = dy.Mechanism(), None
    for i in range(3):
        place = L * np.array([0.1 * i, 0.05 * i, 0.6 + 1.1 * i])
        ball = m.add_body(dy.Sphere(0.5 * L, mass=M * (1 + i)), name=i, position=place)
        options = {"torsional": 0.05 * L, "rolling": 0.01 * L} if i == 1 else {}
        m.add_contact(ball, friction=0.3, restitution=0.0 if i else 0.5, **options)
        if last is not None:
            m.add_contact(ball, last, friction=0.3)
        last = ball
    return m, {}, {}


def box_on_box(L, M):
    m = dy.Mechanism()
    low = m.add_body(dy.Box(L, L, L, mass=M), name=0, position=[0.0, 0.0, 0.5 * L])
    small = dy.Box(0.8 * L, 0.8 * L, 0.5 * L, mass=0.3 * M)
    high = m.add_body(small, name=1, position=[0.1 * L, 0.0, 1.3 * L])
    m.add_contact(low, friction=0.5)
    m.add_contact(high, low, friction=0.5)
    return m, {}, {}


def limited_arm(L, M):
    """Dry friction, limits of an angle, a way and a rate, and a rope that gets taut."""
    m, T = dy.Mechanism(), math.sqrt(L)
    a, b = (m.add_body(dy.Box(L, 0.1 * L, 0.1 * L, mass=M), name=i) for i in range(2))
    ends = {"child_point": -0.5 * L * X}
    m.add_joint(
        dy.Revolute(m.world, a, Y, name="hip", friction=0.1 * G * M * L, limits=[(-1, 0.7)], **ends)
    )
    m.add_joint(
        dy.Prismatic(
            a, b, X, name="slide", parent_point=0.5 * L * X, limits=[(0.0, 0.2 * L)],
            velocity_limits=[(-2.0 * L / T, 0.5 * L / T)], **ends,
        )
    )  # fmt: skip
    weight = m.add_body(dy.Sphere(0.1 * L, mass=0.5 * M), name=2, position=-2.0 * L * X)
    m.add_force(dy.Rope(m.world, weight, 2.2 * L, name="rope", parent_point=-2.0 * L * X))
    return m, {}, {2: ([0.5, 0.0, 2.0], [0.0, 0.0, 0.0])}


def four_bar(L, M):
    """A parallelogram on its side, with a spring across."""
    m, T, turn = dy.Mechanism(), math.sqrt(L), 0.6
    way, tilt = np.array([math.cos(turn), 0.0, -math.sin(turn)]), math.cos(0.5 * turn)
    tilted = [tilt, 0.0, math.sin(0.5 * turn), 0.0]
    arm, bar = (dy.Rod(size * L, radius=0.02 * L, mass=size * M, axis=X) for size in (0.5, 1.0))
    one = m.add_body(arm, name=0, position=0.25 * L * way, orientation=tilted)
    top = m.add_body(bar, name=1, position=L * (0.5 * way + 0.5 * X))
    two = m.add_body(arm, name=2, position=L * (0.25 * way + X), orientation=tilted)
    arms, bars = 0.25 * L * X, 0.5 * L * X
    m.add_joint(dy.Revolute(m.world, one, Y, child_point=-arms, name="a"))
    m.add_joint(dy.Revolute(one, top, Y, parent_point=arms, child_point=-bars, name="b"))
    m.add_joint(dy.Revolute(top, two, Y, parent_point=bars, child_point=arms, name="c"))
    m.add_joint(dy.Revolute(m.world, two, Y, parent_point=L * X, child_point=-arms, name="d"))
    m.add_force(
        dy.Spring(one, two, stiffness=5 * M / T**2, length=L, damping=0.1 * M / T, name="s")
    )
    return m, {}, {}


def weightless_cubes(L, M):
    m = dy.Mechanism(gravity=(0.0, 0.0, 0.0))
    place = {"orientation": [0.98, 0.1, 0.12, 0.02]}
    one = m.add_body(dy.Box(L, L, L, mass=M), name=0)
    two = m.add_body(dy.Box(L, L, L, mass=2.0 * M), name=1, position=[1.3 * L, 0.1 * L, 0], **place)
    m.add_contact(one, two, friction=0.4)
    return m, {}, {0: ([2.0, 0.0, 0.0], [0.3, 0.5, 0.2])}


def finalized(make, L, M, h=0.005, **options):
    """Model, and its first state."""
    m, joints, bodies = make(L, M)
    T = math.sqrt(L)
    model = m.finalize(h * T, **options)
    state = model.initial_state()
    for name, angle in joints.items():
        model.set_joint(state, name, angle)
    for name, (v, omega) in bodies.items():
        v, omega = L / T * np.array(v), np.array(omega) / T
        model.set_body(state, name, velocity=v, angular_velocity=omega)
    return model, state


def motion(make, L, M, seconds, h=0.005, **options):
    """Positions over L and orientations, shape (bodies, steps, 7)."""
    model, state = finalized(make, L, M, h, **options)
    found = dy.simulate(model, state, round(seconds / h) * h * math.sqrt(L))
    poses = [found.body(body.name) for body in model.bodies]
    return np.array([np.hstack([x / L, q]) for x, q in poses]), found


SCENES = [
    chain, tumbling_cube, block_on_slope, falling_spheres, box_on_box, limited_arm,
    weightless_cubes,
    four_bar,
]  # fmt: skip


@pytest.mark.parametrize("make", SCENES)
def test_a_scene_moves_alike_from_a_millimetre_to_a_hundred_metres(make):
    base, _ = motion(make, 1.0, 1.0, 0.7)
    for L, M in SCALES:
        found, _ = motion(make, L, M, 0.7)
        assert np.abs(found - base).max() < 1e-6, (L, M)


@pytest.mark.parametrize("make", [block_on_slope, falling_spheres])
def test_powers_of_two_change_no_bit(make):
    # 2^-10 m, 2^-20 kg and 2^-5 s: every number of the solver is another one's multiple
    base, _ = motion(make, 1.0, 1.0, 0.5)
    found, _ = motion(make, 2.0**-10, 2.0**-20, 0.5)
    np.testing.assert_array_equal(found, base)


@pytest.mark.parametrize("order", [4, 6])
def test_higher_orders_move_alike_at_any_scale(order):
    base, _ = motion(chain, 1.0, 1.0, 0.5, order=order)
    for L, M in SCALES[::3]:
        assert np.abs(motion(chain, L, M, 0.5, order=order)[0] - base).max() < 1e-6, (L, M)


def test_slopes_of_a_step_are_alike_at_any_scale():
    # of positions over L and velocities over sqrt(L); angles have no unit
    def scaled(L, M):
        model, state = finalized(tumbling_cube, L, M)
        for _ in range(60):  # onto the ground
            state, _ = model.step(state)
        A, _ = dy.linearize(model, state)
        units = np.repeat([L, 1.0, math.sqrt(L), 1.0 / math.sqrt(L)], 3)
        return A * units / units[:, None]

    base = scaled(1.0, 1.0)
    for L, M in SCALES:
        assert np.abs(scaled(L, M) - base).max() < 1e-6 * np.abs(base).max(), (L, M)


@pytest.mark.parametrize(("L", "M"), [(1e-3, 1e-6), (0.05, 1e-3), (100.0, 1e9)])
def test_a_block_on_a_slope_at_nine_tenths_of_its_friction_stays(L, M):
    _, found = motion(block_on_slope, L, M, 1.0)

    # the two upper and the two lower corners bear F each: the centre of mass is 0.25 L off the
    # slope, 0.5 L from either
    model, r, tangent = found.model, 0.9, 0.45
    weight = M * G / math.hypot(1.0, tangent)
    forces = np.repeat(0.25 * weight * (1.0 + np.array([-0.5, 0.5]) * tangent), 2)
    slope, kappa = found.contact("slope"), model.barrier("slope")
    order = np.argsort(slope.gap[-1])[:4][::-1]
    np.testing.assert_allclose(slope.normal_force[-1][order], forces, rtol=1e-3)
    # velocities are solved to 1e-9 of their unit, gaps to that times the timestep
    solved = 1e-9 * math.sqrt(kappa / (BARRIER * M)) * model.timestep
    np.testing.assert_allclose(slope.gap[-1][order], kappa / forces, rtol=1e-3, atol=solved)
    # theory/contacts: creep kappa / (h mu F (1 / r - r)) of each; those that bear more hold back
    creeps = kappa / (model.timestep * 0.5 * forces * (1.0 / r - r))
    way = np.linalg.norm(found.body(0)[0][-1] - found.body(0)[0][0])
    assert 0.9 * creeps.min() < way / found.time[-1] < creeps.max()
    assert way < 2e-5 * L


def fallen(side, mass, heavy=None, below=0.0):
    """Motion of a tilted cube onto the ground, or onto a heavy one of 1 m at a place."""
    m = dy.Mechanism()
    cube = m.add_body(
        dy.Box(side, side, side, mass=mass), name=0, position=[0, 0, below + side],
        orientation=[0.98, 0.1, 0.12, 0.02],
    )  # fmt: skip
    if heavy is not None:
        base = m.add_body(dy.Box(1.0, 1.0, 1.0, mass=1e3), name=1, position=heavy)
        m.add_contact(base, friction=0.4)
    ends = (cube, base) if below > 0.0 else (cube,)
    m.add_contact(*ends, friction=0.4, name="touch")
    h = 0.005 * math.sqrt(side)
    model = m.finalize(h)
    return dy.simulate(model, model.initial_state(), 300 * h)


def test_a_light_cube_beside_a_heavy_one_moves_as_alone():
    side = 1e-3
    alone, beside = fallen(side, 1e-6), fallen(side, 1e-6, heavy=[0.6, 0.0, 0.5])

    assert np.abs(beside.body(0)[0] - alone.body(0)[0]).max() < 1e-6 * side
    assert np.abs(beside.body(0)[1] - alone.body(0)[1]).max() < 1e-6


def test_a_light_cube_comes_to_rest_on_one_a_million_times_as_heavy():
    side, mass = 0.1, 1e-3
    alone, on = fallen(side, mass), fallen(side, mass, heavy=[0.0, 0.0, 0.5], below=1.0)

    # the plane between them has a thousandth of its mass and inertia
    off = np.abs(on.body(0)[0] - alone.body(0)[0] - Z).max()
    assert off < 10.0 * LIGHT * side
    # from the floor to the base kappa over a quarter of the weights, from there twice that of the
    # lighter one; heights are solved to 1e-9 units of speed a step
    light, heavy = side / math.sqrt(6.0), 1.0 / math.sqrt(6.0)
    assert on.model.barrier("touch") == pytest.approx(BARRIER * mass * G * light, rel=1e-12)
    wanted = 4.0 * BARRIER * (2.0 * light + heavy)
    solved = 2.0 * 1e-9 * math.sqrt(G * heavy) * on.model.timestep
    hovering = on.body(0)[0][-1, 2] - 1.0 - 0.5 * side
    assert hovering == pytest.approx(wanted, rel=2e-3, abs=solved)


@pytest.mark.parametrize(("side", "mass"), [(1e-3, 1e-6), (7.0, 1e6), (100.0, 1e9)])
def test_a_cube_of_any_size_falls_and_rests(side, mass):
    m = dy.Mechanism()
    m.add_contact(
        m.add_body(dy.Box(side, side, side, mass=mass), name=0, position=[0, 0, side]),
        friction=0.5, name="floor",
    )  # fmt: skip
    model = m.finalize(0.02 * math.sqrt(side))

    found = dy.simulate(model, model.initial_state(), 4.0 * math.sqrt(side))

    floor = found.contact("floor")
    assert floor.gap.min() > 0.0
    # kappa over a quarter of the weight, the unit of length being side / sqrt(6); velocities are
    # solved to 1e-9 of their unit, gaps to that times the timestep
    unit = side / math.sqrt(6.0)
    solved = 1e-9 * math.sqrt(G * unit) * model.timestep
    gaps = np.sort(floor.gap[-1])[:4]
    np.testing.assert_allclose(gaps, 4.0 * BARRIER * unit, rtol=1e-3, atol=solved)
    assert floor.normal_force[-1].sum() == pytest.approx(mass * G, rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ratio", [100, 1000])
def test_a_cube_falls_on_one_a_thousand_times_as_large_as_on_a_half_space(ratio, seed):
    rng = np.random.default_rng(seed)
    turn = np.r_[1.0, 0.3 * rng.normal(size=3)]
    velocity, spin = rng.normal(size=3) * [0.5, 0.5, 0.2], rng.normal(size=3)
    paths = []
    for large in (True, False):
        m, side = dy.Mechanism(), 0.1 * ratio
        small = m.add_body(
            dy.Box(0.1, 0.1, 0.1, mass=1.0), name="small", position=0.1 * Z, orientation=turn
        )
        if large:
            shape = dy.Box(side, side, 0.1 * side, mass=ratio)
            big = m.add_body(shape, name="big", position=-0.05 * side * Z)
            m.add_joint(dy.Fixed(m.world, big, name="held", parent_point=-0.05 * side * Z))
            m.add_contact(small, big, friction=0.4, name="touch")
        else:
            m.add_contact(small, friction=0.4)
        model = m.finalize(0.005)
        state = model.initial_state()
        model.set_body(state, "small", velocity=velocity, angular_velocity=spin)
        paths.append(dy.simulate(model, state, 0.3).body("small")[0])
    # the plane has a thousandth of the cube's inertia, at 1000 times a tenth of it
    assert np.abs(paths[0] - paths[1]).max() < 0.1 * (0.1 if ratio > 100 else 0.02)


def test_shapes_too_different_in_size_are_refused_with_a_way_out():
    m = dy.Mechanism()
    small = m.add_body(dy.Box(0.1, 0.1, 0.1, mass=1.0), name="small", position=Z)
    large = dy.Box(300.0, 300.0, 1.0, mass=1.0)
    with pytest.raises(ValueError, match="'floor' differ 24.. times in size.*use a HalfSpace"):
        m.add_contact(small, against_shape=large, name="floor")
    assert list(m.contacts) == []


def tree_motion(L, M):
    """Coordinates of a slider, a hinge and a hinge: angles, and lengths over L."""
    tree = Tree(gravity=(0.0, 0.0, -9.81))
    for i in range(3):
        tree.add_body(i, M, (M * L**2 / 12 * np.array([1, 1, 0.1])).tolist())
        twist = prismatic(X) if i == 0 else revolute(Y if i == 1 else X, 0.5 * L * Z)
        options = {"damping": 0.1 * M / np.sqrt(L)} if i == 0 else {}
        tree.add_joint(i - 1 if i else "world", i, twist, position=-L * (i > 0) * Z, **options)
    model = TreeIntegrator(tree, 0.01 * np.sqrt(L), "simpson")
    q, v = np.array([0.0, 0.9, -0.4]), np.array([0.3 * np.sqrt(L), 1.0 / np.sqrt(L), 0.0])
    found = model.simulate(q, v, 200).q.copy()
    found[:, 0] /= L
    return found


def body_motion(L, M):
    """Positions of a body on a pivot, over L, by dual quaternions."""
    inertia = spatial_inertia(M, M * L**2 * np.diag([0.3, 0.2, 0.1]))
    body = RigidBody(inertia, [WorldForce((0, 0, -9.81 * M))], pivot=Pivot((0, 0, -0.5 * L)))
    rate = np.array([1.0, 0.5, 4.0]) / np.sqrt(L)
    state = body.state(
        position=0.5 * L * Z, angular_velocity=rate, velocity=np.cross(rate, 0.5 * L * Z)
    )
    return body.simulate(state, 0.005 * np.sqrt(L), 200).position / L


@pytest.mark.parametrize("motion", [tree_motion, body_motion])
@pytest.mark.parametrize(("L", "M"), SCALES)
def test_integrators_of_papers_move_alike_at_any_scale(motion, L, M):
    # a tolerance of 1e-12 rad or m is 1e-9 of a millimetre; two hundred steps
    np.testing.assert_allclose(motion(L, M), motion(1.0, 1.0), rtol=0.0, atol=1e-6)


def test_units_are_those_of_the_bodies_that_joints_hold_together():
    m = dy.Mechanism()
    rod = dy.Rod(1.0, radius=0.01, mass=2.0)
    one, two = (m.add_body(rod, name=name) for name in ("one", "two"))
    ends = {"parent_point": (0, 0, 0.5), "child_point": (0, 0, -0.5)}
    m.add_joint(dy.Revolute(one, two, X, **ends))
    cube = m.add_body(dy.Box(0.6, 0.6, 0.6, mass=1.0), name="cube", position=X)
    m.add_contact(two, cube, shape=None, name="touch")

    model = m.finalize(0.01)
    units = model.tables.units

    # joints 0.5 m off the rods' centres, beyond their gyration; a cube's gyration is side / sqrt(6)
    gyration = 0.6 / math.sqrt(6.0)
    assert units["one"] == units["two"]
    assert units["one"] == pytest.approx((0.5, math.sqrt(G * 0.5), 2.0, 2.0 * G * 0.5))
    assert units["cube"] == pytest.approx((gyration, math.sqrt(G * gyration), 1.0, G * gyration))
    assert units["touch plane"] == units["cube"]  # the lighter part's
    assert model.barrier("touch") == pytest.approx(BARRIER * G * gyration)
