"""Contacts in motion: the figures of the literature, cost, a user's own distance."""

import math

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.studies.variation import carried

from .grounds import G, H, cube, single

# Figures of docs/theory/contacts.md and of Bruedigam et al. 2023, Fig. 7 (d)


@pytest.mark.parametrize("barrier", [5e-5, 5e-7, 5e-9])
def test_dropped_box_rests_the_barrier_over_its_force_off_the_ground(barrier):
    model = single(cube(), (0, 0, 0.65), barrier=barrier, friction=0.3)

    motion = dy.simulate(model, model.initial_state(), 2.0)
    gap = motion.contact("touch").gap.min(axis=1)

    # four corners bear a quarter of the weight each: 4.08e-5, 4.08e-7 and 4.08e-9 m. The barrier is
    # that part of the weight times the unit of length, the radius of gyration 0.5 / sqrt(6)
    kappa = barrier * G * 0.5 / math.sqrt(6.0)
    assert model.barrier("touch") == pytest.approx(kappa, rel=1e-12)
    assert gap.min() > 0.0
    # velocities are solved to 1e-9 of sqrt(G 0.5 / sqrt(6)) = 1.4 m/s, gaps to that times H
    assert gap[-1] == pytest.approx(4.0 * kappa / G, rel=1e-3, abs=1.4e-9 * H)
    assert motion.contact("touch").normal_force[-1].sum() == pytest.approx(G, rel=1e-6)


def test_point_that_drops_never_passes_the_plane():
    # with unknowns of unit impulse the fraction to the boundary was once inverted: it went below
    for height in (0.0, 1e-9, 1e-3, 0.1, 0.4, 3.0):
        model = single(dy.Sphere(0.1, mass=1.0), (0, 0, height), shape=(0.0, 0.0, 0.0))
        motion = dy.simulate(model, model.initial_state(), 1.5)

        assert motion.body("body")[0][1:, 2].min() > 0.0


@pytest.mark.parametrize("degrees", [0.0, 30.0, 45.0, 200.0])
def test_box_slides_as_far_and_as_straight_in_every_direction(degrees):
    direction = math.radians(degrees)
    # the papers' form starts with a whole kick: first order; half a kick gives v^2 / (2 mu g)
    for timestep, form, distance in (
        (0.01, "first order", 0.66959),
        (0.005, "first order", 0.67458),
        (0.01, "second order", 0.67958),
        (0.005, "second order", 0.67958),
    ):
        model = single(cube(), (0, 0, 0.25 + 4e-9), timestep, form=form, friction=0.3)
        state = model.initial_state()
        model.set_body(
            state, "body", velocity=(2.0 * math.cos(direction), 2.0 * math.sin(direction), 0.0)
        )
        x, y, _ = dy.simulate(model, state, 1.0).body("body")[0][-1]

        # the last, partial step: mu g h^2 / 8
        assert math.hypot(x, y) == pytest.approx(distance, abs=4e-5)
        assert math.remainder(math.atan2(y, x) - direction, 2.0 * math.pi) == pytest.approx(
            0.0, abs=math.radians(1e-3)
        )


def test_sphere_that_slides_ends_up_rolling_at_five_sevenths():
    model = single(dy.Sphere(0.25, mass=1.0), (0, 0, 0.25 + 1e-9), friction=0.3)
    state = model.initial_state()
    model.set_body(state, "body", velocity=(2.0, 0.0, 0.0))

    motion = dy.simulate(model, state, 2.0)
    v, omega = motion.body_velocity("body")

    assert v[-1, 0] == pytest.approx(10.0 / 7.0, rel=5e-4)
    assert 0.25 * omega[-1, 1] == pytest.approx(v[-1, 0], rel=1e-4)


def tumble(seed):
    """A box thrown at the ground: its motion."""
    rng = np.random.default_rng(seed)
    model = single(dy.Box(0.5, 0.3, 0.2, mass=1.0), friction=0.4)
    state = model.initial_state()
    model.set_body(
        state, "body", orientation=rotation.random(rng), velocity=2.0 * rng.normal(size=3),
        angular_velocity=5.0 * rng.normal(size=3),
    )  # fmt: skip
    return dy.simulate(model, state, 4.8)


def tumble_all(seeds):
    iterations, deepest = [], np.inf
    for seed in seeds:
        motion = tumble(seed)
        iterations.append(motion.info["iterations"] / motion.info["steps"])
        deepest = min(deepest, motion.contact("touch").gap.min())
    return np.mean(iterations), deepest


def test_tumbling_boxes_take_few_iterations_and_never_fail():
    mean, deepest = tumble_all(range(40))

    assert mean <= 3.0
    assert deepest > 0.0


@pytest.mark.slow
def test_ten_thousand_tumbling_boxes_never_fail():
    mean, deepest = tumble_all(range(10_000))

    assert mean <= 3.0
    assert deepest > 0.0


def spheres(n, degrees):
    """Chain of spheres on ball joints over flat ground, sloped by some degrees, sliding across."""
    mechanism = dy.Mechanism()
    angle, previous = math.radians(degrees), None
    turn = rotation.from_axis_angle((0, 1, 0), -angle)
    for i in range(n):
        at = (0.5 * i * math.cos(angle), 0.0, 1.25 + 0.5 * i * math.sin(angle))
        ball = mechanism.add_body(
            dy.Sphere(0.25, mass=1.0), name=f"s{i}", position=at, orientation=turn
        )
        mechanism.add_contact(ball, friction=0.5)
        if previous is not None:
            mechanism.add_joint(
                dy.Spherical(previous, ball, parent_point=(0.25, 0, 0), child_point=(-0.25, 0, 0))
            )
        previous = ball
    model = mechanism.finalize(H)
    state = model.initial_state()
    for i in range(n):
        model.set_body(state, f"s{i}", velocity=(0, 1, 0))
    return model, state


@pytest.mark.parametrize(
    ("n", "degrees"), [(1, 0), (5, 0), (20, 0), (100, 0), (1, 30), (5, 30), (20, 30), (44, 30)]
)
def test_chain_of_spheres_falls_without_passing_the_ground(n, degrees):
    model, state = spheres(n, degrees)

    motion = dy.simulate(model, state, 10.0 if n < 40 else 4.0)

    lowest = motion.states[:, 2 : 7 * n : 7].min() - 0.25
    assert lowest > 0.0
    assert motion.constraint_violation().max() < 1e-10


@pytest.mark.slow
def test_chain_of_two_hundred_spheres_falls_from_a_slope():
    model, state = spheres(200, 30)

    motion = dy.simulate(model, state, 10.0, every=10)

    assert motion.states[:, 2 : 7 * 200 : 7].min() - 0.25 > 0.0
    assert motion.constraint_violation().max() < 1e-10


def test_operations_of_an_iteration_are_linear_in_contacts():
    counts = [spheres(n, 0)[0].symbolic.operations for n in (10, 20, 30, 60)]

    assert counts[1] - counts[0] == counts[2] - counts[1]
    assert counts[3] - counts[2] == 3 * (counts[2] - counts[1])


def test_contacts_with_the_ground_add_nothing_to_the_graph():
    mechanism = dy.Mechanism()
    for i in range(3):
        mechanism.add_body(cube(), name=i)
    before = mechanism.finalize(H).symbolic.operations
    mechanism = mechanism.copy()
    for body in mechanism.bodies.values():
        mechanism.add_contact(body)

    assert mechanism.finalize(H).symbolic.operations == before


# A user's own distance


def bowl(pose_a, pose_b):
    """A ball of 0.1 m within a sphere of 1 m."""
    out = pose_b[:3]
    far = np.linalg.norm(out)
    normal = -out / far if far > 0.0 else np.array([0.0, 0.0, 1.0])
    return 1.0 - far - 0.1, normal, out - 0.1 * normal


def test_ball_stays_in_a_bowl_of_a_users_distance():
    model = single(dy.Sphere(0.1, mass=1.0), (0.5, 0, 0), distance=bowl, friction=0.3)

    motion = dy.simulate(model, model.initial_state(), 6.0)
    x = motion.body("body")[0]

    assert np.linalg.norm(x, axis=1).max() < 0.9
    assert x[:, 2].min() == pytest.approx(-0.9, abs=1e-3)
    assert motion.contact("touch").gap.min() > 0.0


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ((math.nan, (0, 0, 1), (0, 0, 0)), "distance of contact 'touch' gave values"),
        ((0.1, (0, 0, 2), (0, 0, 0)), "gave a normal that is not a unit vector"),
        ((0.1, (0, 1), (0, 0, 0)), r"gave no normal and point of shape \(3,\)"),
    ],
)
def test_distance_that_makes_no_sense_is_named(given, match):
    model = single(dy.Sphere(0.1, mass=1.0), distance=lambda a, b: given)

    with pytest.raises(ValueError, match=match):
        dy.simulate(model, model.initial_state(), 0.1)


def test_error_of_a_users_distance_comes_through_in_mid_motion():
    def brittle(pose_a, pose_b):
        if pose_b[2] < 0.5:
            raise ZeroDivisionError("mine")
        return pose_b[2], np.array([0.0, 0.0, 1.0]), pose_b[:3]

    model = single(dy.Sphere(0.1, mass=1.0), distance=brittle)
    with pytest.raises(ZeroDivisionError, match="mine"):
        dy.simulate(model, model.initial_state(), 1.0)


# Compliant contacts


def on_a_spring(what, timestep):
    """A weight of 2 kg on a compliant contact, rope or limit of 7.07 rad/s, compressed at rest."""
    mass, soft = 2.0, 1e-2
    sag = mass * 9.81 * soft
    mech = dy.Mechanism()
    if what == "contact":
        mech.add_body(dy.Sphere(0.1, mass=mass), name="weight", position=(0, 0, 0.1 - sag))
        mech.add_contact("weight", compliance=soft, friction=0.5)
    else:
        inert = {"mass": mass, "inertia": 0.01 * np.eye(3)}
        weight = mech.add_body(name="weight", position=(0, 0, -1.0 - sag), **inert)
        mech.add_force(dy.Rope(mech.world, weight, 1.0, compliance=soft))
    model = mech.finalize(timestep)
    return model, model.initial_state(), (mass * soft) ** -0.5


@pytest.mark.parametrize("what", ["contact", "rope"])
def test_velocities_on_compliant_contacts_are_rates_of_positions(what):
    h, speed = 0.005, 0.5
    model, state, omega = on_a_spring(what, h)
    model.set_body(state, "weight", velocity=(0, 0, speed))
    motion = dy.simulate(model, state, 1.0)
    z, v = motion.body("weight")[0][:, 2], motion.body_velocity("weight")[0][:, 2]
    assert motion.info["most_intervals"] == 1  # energy comes back from the contact
    # it stays in touch: central differences miss (h omega)^2 / 6, nodes about as much
    rates = (z[2:] - z[:-2]) / (2.0 * h)
    assert np.ptp(rates) > speed
    np.testing.assert_allclose(v[1:-1], rates, atol=(h * omega) ** 2 * speed)


@pytest.mark.parametrize("what", ["contact", "rope"])
def test_velocities_given_on_a_compliant_contact_are_those_of_the_state(what):
    model, state, _ = on_a_spring(what, 0.005)
    state = dy.simulate(model, state, 0.1).final
    for velocity in ([0.3, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, -0.1]):
        model.set_body(state, "weight", velocity=velocity)
        np.testing.assert_allclose(model.velocities(state)[0, :3], velocity, atol=1e-12)
    # a state that another model takes over goes on as it would have
    state = dy.simulate(model, state, 0.1).final
    kept = carried(model, state, dy.variant(model, {"weight": {"mass": 2.0}}))
    np.testing.assert_allclose(kept.data, state.data, atol=1e-14)


@pytest.mark.parametrize("overlap", [0.01, 0.05, 0.1])
def test_a_motion_may_start_in_a_compressed_contact(overlap):
    # energy comes from the contact: (overlap / C)^2 C / 2 lifts and moves 2 kg
    soft, mech = 1e-3, dy.Mechanism()
    mech.add_body(dy.Sphere(0.2, mass=2.0), name="ball", position=(0, 0, 0.2 - overlap))
    mech.add_contact("ball", compliance=soft)
    model = mech.finalize(1e-3)
    motion = dy.simulate(model, model.initial_state(), 0.05)
    omega, sag = (2.0 * soft) ** -0.5, 2.0 * 9.81 * soft
    t = motion.time
    depth = sag + (overlap - sag) * np.cos(omega * t)
    touching = depth > 0.0
    # forces at the end of an interval damp by omega^2 h / 2 and lag by half an interval
    close = 1e-3 * omega * (1.0 + omega * t) * abs(overlap - sag)
    z = motion.body("ball")[0][:, 2]
    assert (np.abs(0.2 - z - depth)[touching] <= close[touching]).all()


@pytest.mark.parametrize("what", ["contact", "rope"])
def test_a_weight_on_a_compliant_contact_has_the_energy_of_its_spring(what):
    # at rest: k d = m g, and m g z + k d^2 / 2; moving: m v^2 / 2 more
    model, state, _ = on_a_spring(what, 0.005)
    depth = 2.0 * 9.81 * 1e-2
    height = 0.1 - depth if what == "contact" else -1.0 - depth
    wanted = 2.0 * 9.81 * height + 0.5 * depth**2 / 1e-2
    assert model.energy(state) == pytest.approx(wanted, rel=1e-14)
    model.set_body(state, "weight", velocity=(0, 0, 0.5))
    assert model.energy(state) == pytest.approx(wanted + 0.25, rel=1e-14)
    model.set_body(state, "weight", position=(0, 0, 0.0 if what == "rope" else 0.2))
    assert model.energy(state) == pytest.approx(2.0 * 9.81 * state.pose[0, 2] + 0.25, abs=1e-14)


def bouncing(h, shape=None, soft=1e-3):
    """A body of 2 kg that falls 0.1 m onto a compliant floor: model and start."""
    mech = dy.Mechanism()
    mech.add_body(shape or dy.Sphere(0.1, mass=2.0), name="body")
    mech.add_contact("body", compliance=soft, name="floor")
    model = mech.finalize(h)
    state = model.initial_state()
    model.set_body(state, "body", position=(0, 0, 0.2))
    return model, state


@pytest.mark.parametrize(
    "shape, touches", [(dy.Sphere(0.1, mass=2.0), 1), (dy.Box(0.2, 0.2, 0.2, mass=2.0), 4)]
)
def test_a_bounce_without_friction_loses_energy_of_the_order_of_its_forces(shape, touches):
    # forces at the end of an interval (implicit Euler): a loss of first order, and never a gain
    losses = []
    for h in (1e-3, 1e-4):
        model, state = bouncing(h, shape)
        motion = dy.simulate(model, state, 0.35)
        energy, depth = motion.energy(), np.maximum(0.0, 0.1 - motion.body("body")[0][:, 2])
        elastic = 0.5 * touches * depth**2 / 1e-3
        np.testing.assert_allclose(motion.energies()["elastic"], elastic, atol=1e-12)
        assert elastic.max() > 2.0 * 9.81 * 0.1
        assert energy.max() <= energy[0] * (1.0 + 1e-12)
        assert motion.contact("floor").gap[-1].min() > 0.0
        losses.append(energy[0] - energy[-1])
    assert losses[0] / losses[1] == pytest.approx(10.0, rel=0.1)
    assert losses[1] < 0.02 * 2.0 * 9.81 * 0.1


def test_energies_at_nodes_are_the_balance_that_the_audit_keeps():
    # T(V) - (work of gravity until the middle) + (gamma_prev^2 + gamma^2) / (4 k) of an interval
    h, soft, mass = 1e-3, 1e-3, 2.0
    model, state = bouncing(h, soft=soft)
    motion = dy.simulate(model, state, 0.3)
    energy, z = motion.energy(), motion.body("body")[0][:, 2]
    force = motion.contact("floor").normal_force[:, 0]
    V = motion.states[1:, 7 + 6 + 2]
    np.testing.assert_allclose(V, np.diff(z) / h, rtol=1e-9, atol=1e-12)
    held = 0.5 * mass * V**2 + mass * 9.81 * 0.5 * (z[1:] + z[:-1])
    held += 0.25 * soft * (force[1:] ** 2 + force[:-1] ** 2)
    # velocities at nodes differ from that of the interval by half of what forces change in it
    most = 0.5 * mass * (h * force.max() / mass) ** 2 + np.abs(np.diff(energy))
    assert (np.abs(held - 0.5 * (energy[1:] + energy[:-1])) <= most).all()
    assert force.max() > 4.0 * mass * 9.81
    rise = (held - np.minimum.accumulate(held)).max()
    assert motion.info["accumulated_energy"] == pytest.approx(rise, abs=1e-12)


@pytest.mark.parametrize("shape", [dy.Sphere(0.1, mass=2.0), dy.Box(0.2, 0.2, 0.2, mass=2.0)])
def test_near_pairs_store_energy_as_contacts_do(shape):
    motions = []
    for found in (True, False):
        mech = dy.Mechanism()
        one = mech.add_body(shape, name="body")
        base = mech.add_body(dy.Box(0.6, 0.6, 0.2, mass=1.0), name="base", position=(0, 0, -0.1))
        mech.add_joint(dy.Fixed(mech.world, base, parent_point=(0, 0, -0.1)))
        if found:
            mech.collide(compliance=1e-3)
        else:
            mech.add_contact(one, base, compliance=1e-3)
        model = mech.finalize(1e-3)
        state = model.initial_state()
        model.set_body(state, "body", position=(0, 0, 0.2))
        motion = dy.simulate(model, state, 0.3)
        each = [model.energy(motion[k]) for k in range(0, len(motion), 20)]
        np.testing.assert_allclose(each, motion.energy()[::20], rtol=0, atol=1e-12)
        assert motion.energies()["elastic"].max() > 1.9
        motions.append(motion)
    apart = np.abs(motions[0].energy() - motions[1].energy()).max()
    assert apart < 0.02 * motions[0].energy()[0]


def beside_a_top(mech, h):
    """Finalize with a free body whose 100 rad/s divide each step into intervals of h / 8."""
    mech.add_body(mass=1.0, inertia=[1.0] * 3, position=(5, 0, 0), gravity_scale=0.0, name="top")
    model = mech.finalize(h)
    state = model.initial_state()
    model.set_body(state, "top", angular_velocity=(0, 0, 100.0))
    return model, state


@pytest.mark.parametrize("near", [False, True])
def test_velocities_in_cut_steps_count_the_half_interval_of_compliant_contacts(near):
    # at rest: what gravity gives in half an interval is what the contact has left to give
    soft, mech = 1e-4, dy.Mechanism()
    mech.add_body(dy.Sphere(0.1, mass=2.0), name="ball", position=(0, 0, 0.1 - 2.0 * 9.81 * soft))
    if near:
        base = mech.add_body(dy.Box(1, 1, 1, mass=1.0), name="base", position=(0, 0, -0.5))
        mech.add_joint(dy.Fixed(mech.world, base, parent_point=(0, 0, -0.5)))
        mech.collide(compliance=soft)
    else:
        mech.add_contact("ball", compliance=soft)
    model, state = beside_a_top(mech, 0.01)
    motion = dy.simulate(model, state, 1.0)
    assert motion.info["intervals_per_step"] == 8.0
    ways = np.diff(motion.body("ball")[0][-3:, 2]) / 0.01
    v = motion.body_velocity("ball")[0][-1, 2]
    # g (h - h / 8) / 2 = 0.043 m/s with the half of a whole step
    assert abs(v - ways[-1]) < 2e-4
    number = model.body_number("ball")
    assert model.velocities(motion.final)[number, 2] == pytest.approx(v, abs=1e-12)
    after, _ = model.step(motion.final)
    assert abs(model.velocities(after)[number, 2]) < 2e-4


def test_velocities_on_a_compliant_contact_stay_where_another_body_on_a_stiff_spring_is_set():
    mech, sag = dy.Mechanism(), 2.0 * 9.81 * 1e-2
    mech.add_body(dy.Sphere(0.1, mass=2.0), name="weight", position=(0, 0, 0.1 - sag))
    mech.add_contact("weight", compliance=1e-2)
    light = mech.add_body(mass=1e-3, inertia=[1e-3] * 3, name="light", position=(3, 0, 0))
    slide = {"parent_point": (3, 0, 0), "stiffness": 1e4, "damping": 10.0}
    mech.add_joint(dy.Prismatic(mech.world, light, (0, 0, 1), name="slide", **slide))
    model = mech.finalize(0.01)
    assert len(model.stiff) == 2
    state = model.initial_state()
    model.set_body(state, "weight", velocity=(0, 0, 0.5))
    state = dy.simulate(model, state, 0.35).final
    before = model.velocities(state)[0]
    assert abs(before[2]) > 0.01
    model.set_joint(state, "slide", 0.0, 0.0)
    np.testing.assert_allclose(model.velocities(state)[0], before, atol=1e-12)


def test_a_weight_at_rest_on_a_compliant_contact_stays_where_intervals_change_their_length():
    # the impulse of a node is that of half an interval before and after it, whatever their lengths
    soft, mech = 1e-3, dy.Mechanism()
    mech.add_body(dy.Sphere(0.1, mass=2.0), name="ball", position=(0, 0, 0.1 - 2.0 * 9.81 * soft))
    mech.add_contact("ball", compliance=soft, friction=0.5)
    model, state = beside_a_top(mech, 0.01)
    whole, _ = model.step(model.initial_state())
    assert whole.interval == (0.01, 0.005)
    for start in (state, whole):
        model.set_body(start, "top", angular_velocity=(0, 0, 100.0))
        after = start
        for _ in range(3):
            after, info = model.step(after)
            # Newton's tolerance, over the unit of speed of some m/s
            assert np.abs(model.velocities(after)[0, :3]).max() < 1e-8
        assert info.intervals == 8
        model.set_body(after, "top", angular_velocity=(0, 0, 0.0))
        after, info = model.step(after)
        assert info.intervals == 1
        assert np.abs(model.velocities(after)[0, :3]).max() < 1e-8


def test_steps_on_compliant_planes_are_those_of_a_run():
    # boxes that fall onto each other; a plane that both press stays where the last step left it
    rng = np.random.default_rng(0)
    for soft in 10.0 ** rng.uniform(-5, -2.5, 3):
        mech, names = dy.Mechanism(), range(3)
        for k in names:
            turn = rotation.from_rotation_vector(0.3 * rng.normal(size=3))
            shape = dy.Box(*rng.uniform(0.2, 0.5, 3), mass=rng.uniform(0.5, 2))
            place = (0.05 * k, 0, 0.4 + 0.6 * k)
            body = mech.add_body(shape, name=k, position=place, orientation=turn)
            mech.add_contact(body, compliance=soft, friction=0.3)
            for other in range(k):
                mech.add_contact(
                    mech.bodies[other], body, compliance=soft, friction=0.3, name=(other, k)
                )
        model = mech.finalize(0.005)
        state = model.initial_state()
        motion = dy.simulate(model, state, 0.6)
        assert motion.contact((0, 1)).normal_force.max() > 1.0
        for _ in range(120):
            state, _ = model.step(state)
        assert np.array_equal(state.data, motion.final.data)
        # a box that is set elsewhere leaves its planes, which are placed anew, and falls
        model.set_body(state, 2, position=(0, 0, 3.0), velocity=(0, 0, 0))
        after, _ = model.step(state)
        number = model.body_number(2)
        assert after.pose[number, 2] == pytest.approx(3.0 - 0.5 * 9.81 * 0.005**2, abs=1e-6)


@pytest.mark.parametrize("what", ["contact", "rope"])
def test_a_compliant_contact_in_a_run_with_an_accuracy_stores_energy_and_takes_no_impact(what):
    # implicit forces: errors, and the loss of the bounce, are of the order of the accuracy
    found = []
    for accuracy in (1e-2, 1e-3):
        mech = dy.Mechanism()
        mech.add_body(dy.Sphere(0.1, mass=2.0), name="body")
        if what == "contact":
            mech.add_contact("body", compliance=1e-3, friction=0.5, name="soft")
        else:
            body = mech.bodies["body"]
            mech.add_force(dy.Rope(mech.world, body, 1.0, compliance=1e-3, name="soft"))
        model = mech.finalize(0.01)
        state = model.initial_state()
        height = 0.2 if what == "contact" else -0.9
        model.set_body(state, "body", position=(0, 0, height))
        motion = dy.simulate(model, state, 0.35, accuracy=accuracy)
        energy = motion.energy()
        assert [event.kind for event in motion.events] == ["closes", "opens"]
        assert motion.info["unresolved_impacts"] == 0
        assert energy.max() <= energy[0] + 1e-9
        found.append((energy[0] - energy[-1], motion.events))
    # falls 0.1 m, then half a period and the phase until m g is borne, twice
    t, w = np.sqrt(0.2 / 9.81), (2.0 * 1e-3) ** -0.5
    borne = np.arctan2(9.81 / w, np.sqrt(2.0 * 9.81 * 0.1))
    events = [event.time for event in found[1][1]]
    np.testing.assert_allclose(events, [t, t + (np.pi + 2.0 * borne) / w], atol=1e-3)
    assert found[0][0] / found[1][0] == pytest.approx(10.0, rel=0.3)
