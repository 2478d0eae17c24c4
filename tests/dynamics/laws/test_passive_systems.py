"""Systems without input make no energy: those that once did, at random."""

from itertools import combinations

import numpy as np
import pytest

import dynamics as dy

from .random_motions import rise, run

X, Y, Z = np.eye(3)
#: Share of the largest kinetic energy that the audit lets pass, and a fifth of it: nodes see other
#: velocities than intervals.
BOUND = 0.06


def rod_on_a_rope(seed, order=2):
    """Thin rod at rest on a `Distance` joint off its axis."""
    rng = np.random.default_rng(seed)
    m = dy.Mechanism()
    thin = 10.0 ** -rng.uniform(2, 6)
    rod = m.add_body(mass=1.0, inertia=np.diag([1 / 12, 1 / 12, thin]), name="rod")
    m.add_joint(dy.Distance(m.world, rod, 0.5, child_point=(rng.uniform(0.01, 0.2), 0, 0.5)))
    model = m.finalize(1e-3 if seed % 2 else 1e-2, order=order)
    return model, model.initial_state()


def rod_at_order_4(seed):
    return rod_on_a_rope(seed, order=4)


def light_cart_pole(seed):
    rng = np.random.default_rng(seed)
    m = dy.Mechanism()
    cart = m.add_body(dy.Box(0.2, 0.2, 0.1, mass=1.0), name="cart")
    pole = m.add_body(dy.Box(0.02, 0.02, 1.0, mass=1e-6), name="pole")
    m.add_joint(dy.Prismatic(m.world, cart, X, name="slide"))
    m.add_joint(dy.Revolute(cart, pole, Y, child_point=(0, 0, -0.5), name="hinge"))
    model = m.finalize(10.0 ** rng.uniform(-4, -2))
    state = model.initial_state()
    model.set_joint(state, "hinge", rng.uniform(-3, 3), 5.0 * rng.normal())
    model.set_joint(state, "slide", 0.0, rng.normal())
    return model, state


def leg_with_rods(seed):
    """A humanoid's leg whose ankle two rods on ball joints hold; the rods turn about themselves."""
    rng = np.random.default_rng(seed)
    m = dy.Mechanism()
    thigh = m.add_body(mass=4.0, inertia=[0.06, 0.06, 0.01], name="thigh")
    shin = m.add_body(mass=2.0, inertia=[0.03, 0.03, 0.004], name="shin")
    foot = m.add_body(mass=0.6, inertia=[0.002, 0.002, 0.001], name="foot")
    m.add_joint(dy.Spherical(m.world, thigh, child_point=(0, 0, 0.2), name="hip"))
    ends = {"parent_point": (0, 0, -0.2), "child_point": (0, 0, 0.2)}
    m.add_joint(dy.Revolute(thigh, shin, Y, name="knee", **ends))
    ends = {"parent_point": (0, 0, -0.2), "child_point": (-0.03, 0, 0.04)}
    m.add_joint(dy.Universal(shin, foot, X, Y, name="ankle", **ends))
    for side in (-1, 1):
        moment = 0.1 * 0.4**2 / 12
        rod = m.add_body(
            mass=0.1, inertia=[moment, moment, 10.0 ** -rng.uniform(5, 8)], name=f"rod {side}",
            position=(0.05, 0.04 * side, -0.6),
        )  # fmt: skip
        for body, point, end in (
            (shin, (0.05, 0.04 * side, 0.15), 0.2),
            (foot, (0.02, 0.04 * side, 0.04), -0.2),
        ):
            options = {"parent_point": point, "child_point": (0, 0, end)}
            m.add_joint(dy.Spherical(body, rod, name=f"{body.name} {side}", **options))
    model = m.finalize(0.002)
    rates = {"hip": 4.0 * rng.normal(size=3), "knee": [4.0 * rng.normal()]}
    return model, model.assemble(model.initial_state(), velocities=rates)


def linkage(seed):
    """Planar chain of bars between two pins, at times with a bar across, at rest."""
    rng = np.random.default_rng(seed)
    m = dy.Mechanism()
    n = int(rng.integers(3, 7))
    nodes = [np.array([x, 0.0, z]) for x, z in rng.normal(size=(n + 1, 2))]
    before, at, bars = m.world, nodes[0], []
    for i in range(n):
        middle, way = 0.5 * (nodes[i] + nodes[i + 1]), nodes[i + 1] - nodes[i]
        mass = 10.0 ** rng.uniform(-1, 1)
        bar = m.add_body(mass=mass, inertia=[mass * way @ way / 12] * 3, position=middle, name=i)
        ends = {"parent_point": at, "child_point": -0.5 * way}
        m.add_joint(dy.Revolute(before, bar, Y, name=("joint", i), **ends))
        before, at = bar, 0.5 * way
        bars.append(bar)
    m.add_joint(dy.Revolute(m.world, before, Y, parent_point=nodes[n], child_point=at, name="end"))
    i, j = sorted(rng.choice(n, 2, replace=False))
    if j > i + 1:
        length = float(np.linalg.norm(bars[j].position - bars[i].position))
        m.add_joint(dy.Distance(bars[i], bars[j], length, name="across"))
    model = m.finalize(0.01)
    state = model.initial_state()
    for bar in bars:
        model.set_body(state, bar.name, position=bar.position)
    return model, model.assemble(state)


def convex_bodies(seed):
    """Four convex bodies with friction that are thrown at each other over a floor."""
    rng = np.random.default_rng(seed)
    m = dy.Mechanism()
    bodies = []
    for k in range(4):
        size, mass, kind = rng.uniform(0.1, 0.3), rng.uniform(0.2, 3.0), rng.integers(3)
        shape = (
            dy.Box(size, 1.3 * size, 0.8 * size, mass=mass),
            dy.Cylinder(0.5 * size, size, mass=mass),
            dy.Capsule(0.4 * size, size, mass=mass),
        )[kind]
        turn, at = rng.normal(size=4), [0.5 * (k % 2), 0.5 * (k // 2), 0.6 + 0.2 * k]
        turn /= np.linalg.norm(turn)
        bodies.append(m.add_body(shape, name=k, position=at, orientation=turn))
    for one, other in combinations(bodies, 2):
        m.add_contact(one, other, friction=rng.uniform(0, 1), name=(one.name, other.name))
    for body in bodies:
        m.add_contact(body, friction=0.5, name=f"floor {body.name}")
    model = m.finalize(0.005 if seed % 2 else 0.0025)
    state = model.initial_state()
    middle = np.mean([body.position for body in bodies], axis=0)
    for body in bodies:
        speed, spin = rng.uniform(2, 20), 5.0 * rng.normal(size=3)
        aim = speed * (middle - body.position)
        model.set_body(state, body.name, velocity=aim, angular_velocity=spin)
    return model, state


def ragdoll(seed):
    """Nine capsules on ball joints that fall on stairs."""
    rng = np.random.default_rng(seed)
    m = dy.Mechanism()
    torso = m.add_body(dy.Capsule(0.12, 0.4, mass=20.0), name="torso", position=(0.2, 0, 3.2))
    parts = [torso]

    def limb(parent, parent_point, child_point, length, radius, mass):
        name = f"part {len(parts)}"
        parts.append(m.add_body(dy.Capsule(radius, length, mass=mass), name=name))
        ends = {"parent_point": parent_point, "child_point": (0, 0, child_point)}
        m.add_joint(dy.Spherical(parent, parts[-1], damping=0.05, name=f"joint {name}", **ends))
        return parts[-1]

    for side in (-1, 1):
        upper = limb(torso, (0, 0.2 * side, 0.2), 0.17, 0.25, 0.05, 2.0)
        limb(upper, (0, 0, -0.17), 0.17, 0.25, 0.04, 1.2)
        thigh = limb(torso, (0, 0.1 * side, -0.3), 0.24, 0.35, 0.07, 7.0)
        limb(thigh, (0, 0, -0.24), 0.24, 0.35, 0.05, 3.5)
    for i in range(5):
        stair = dy.Box(0.35, 3.0, 0.2 * (6 - i) + 0.01, mass=1e3)
        at = np.array([0.35 * i, 0.0, 0.1 * (6 - i)])
        step = m.add_body(stair, name=f"stair {i}", position=at)
        m.add_joint(dy.Fixed(m.world, step, name=f"held {i}", parent_point=at))
        for part in parts:
            m.add_contact(part, step, friction=0.6, name=(part.name, i))
    for part in parts:
        m.add_contact(part, friction=0.6, name=f"floor {part.name}")
    model = m.finalize(0.005)
    state = model.initial_state()
    velocity = rng.normal(size=3) + [2.0, 0.0, 0.0]
    for part in parts:
        model.set_body(state, part.name, velocity=velocity)
    return model, state


def bouncing_bodies(seed):
    """Boxes and spheres of restitution 1, with friction, where Newton's law may give energy."""
    rng = np.random.default_rng(seed)
    m = dy.Mechanism()
    bodies = []
    for k in range(int(rng.integers(1, 5))):
        size, mass = rng.uniform(0.05, 0.2), 10.0 ** rng.uniform(-1, 1)
        ball = rng.random() < 0.5
        shape = (
            dy.Sphere(size, mass=mass) if ball else dy.Box(size, 1.2 * size, 0.7 * size, mass=mass)
        )
        bodies.append(m.add_body(shape, name=k, position=[0.6 * k, 0, rng.uniform(0.5, 1.0)]))
    for body in bodies:
        m.add_contact(body, restitution=1.0, friction=0.3, name=f"floor {body.name}")
    for one, other in combinations(bodies, 2):
        if isinstance(one.shape, dy.Sphere) or isinstance(other.shape, dy.Sphere):
            m.add_contact(one, other, restitution=1.0, name=(one.name, other.name))
    model = m.finalize(0.005)
    state = model.initial_state()
    for body in bodies:
        velocity, spin = 2.0 * rng.normal(size=3), 3.0 * rng.normal(size=3)
        model.set_body(state, body.name, velocity=velocity, angular_velocity=spin)
    return model, state


CASES = {
    rod_on_a_rope: (6, 40), rod_at_order_4: (4, 40), light_cart_pole: (3, 20),
    leg_with_rods: (3, 30), linkage: (10, 1500), convex_bodies: (4, 40), ragdoll: (1, 10),
    bouncing_bodies: (10, 1500),
}  # fmt: skip


def check(make, seeds):
    stops = 0
    for seed in seeds:
        motion, error = run(*make(seed), 2.0)
        assert np.isfinite(motion.states).all()
        assert rise(motion) < BOUND, seed
        stops += error is not None
    print(f"{make.__name__}: {len(seeds)} motions, {stops} stopped")
    assert stops <= len(seeds) // 100


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_no_energy_appears(make):
    check(make, range(CASES[make][0]))


@pytest.mark.slow
@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_no_energy_appears_in_many(make):
    check(make, range(*CASES[make]))


def test_a_bounce_that_friction_feeds_has_less_restitution():
    # Newton's law with friction gives energy to some; the others move as without an audit
    fed = 0
    for seed in range(40):
        model, state = bouncing_bodies(seed)
        off = model.mechanism.copy().finalize(0.005, energy_audit="off")
        free, _ = run(off, off.state_of(state.data.copy()), 1.0)
        motion, error = run(model, state, 1.0)
        assert error is None
        assert rise(motion) < BOUND
        same = len(motion) == len(free) and (motion.states == free.states).all()
        fed += rise(free) > BOUND
        assert same or rise(free) > 0.02 or free.info["most_intervals"] > 1
    assert fed >= 2
