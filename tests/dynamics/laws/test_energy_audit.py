"""No energy appears, in an interval or over many: steps where it would are cut, or fail."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.kernels.base.settings import ENERGY_SHARE

from .test_mass_ratios import linked

X, Y, Z = np.eye(3)
#: Rise of the energy over the largest kinetic energy that the audit lets pass.
ENERGY_BOUND = 0.05


def rod_on_a_string(seed, **options):
    """Thin rod on a massless string off its axis: it whips about its own axis."""
    rng = np.random.default_rng(seed)
    m = dy.Mechanism()
    thin = 10.0 ** -rng.uniform(2, 6)
    rod = m.add_body(mass=1.0, inertia=np.diag([1 / 12, 1 / 12, thin]), name="rod")
    m.add_joint(dy.Distance(m.world, rod, 0.5, child_point=(rng.uniform(0.01, 0.2), 0, 0.5)))
    model = m.finalize(1e-3, **options)
    state = model.initial_state()
    model.set_body(
        state, "rod", velocity=rng.normal(size=3), angular_velocity=rng.normal(size=3) * [3, 3, 30]
    )
    return model, model.assemble(state)


def tree(seed, **options):
    """Random tree whose masses lie within 1e-3 and 1e3 kg."""
    rng = np.random.default_rng(seed)
    m = dy.Mechanism()
    bodies = [m.world]
    for i in range(12):
        mass, size = 10 ** rng.uniform(-3, 3), rng.uniform(0.1, 0.6)
        inertia = np.diag(mass * size**2 * rng.uniform(0.3, 0.5, size=3) * 0.3)
        body = m.add_body(mass=mass, inertia=inertia, name=i)
        parent = bodies[rng.integers(len(bodies))]
        kind, axis = rng.integers(3), rng.normal(size=3)
        points = {
            "parent_point": rng.normal(size=3) * 0.3 * (parent is not m.world),
            "child_point": rng.normal(size=3) * 0.3,
            "name": ("j", i),
        }
        if kind == 0:
            m.add_joint(dy.Revolute(parent, body, axis / np.linalg.norm(axis), **points))
        elif kind == 1:
            m.add_joint(dy.Spherical(parent, body, **points))
        else:
            m.add_joint(dy.Universal(parent, body, X, Y, **points))
        bodies.append(body)
    model = m.finalize(0.01, **options)
    state = model.initial_state()
    for joint in m.joints.values():
        q, rate = rng.normal(size=(2, joint.n_coordinates))
        model.set_joint(state, joint.name, 0.7 * q, 3.0 * rate)
    return model, state


def largest_rise(model, state, seconds):
    """Rise of the energy above its start, over the largest kinetic energy."""
    try:
        motion = dy.simulate(model, state, seconds)
    except dy.ConvergenceError as error:
        motion = error.trajectory
    energy = motion.energy()
    return (energy.max() - energy[0]) / motion.energies()["kinetic"].max()


def test_work_of_a_joint_is_what_is_left_of_the_kinetic_energy():
    # one interval of a pendulum, by hand: what gravity's half kick and the start do not explain
    h = 0.02
    m = dy.Mechanism()
    rod = m.add_body(mass=2.0, inertia=[0.3, 0.3, 0.1], name="rod")
    m.add_joint(dy.Revolute(m.world, rod, Y, child_point=(0, 0, 0.5), name="hinge"))
    model = m.finalize(h)
    start = model.initial_state()
    for turn, rate in ((0.3, 2.0), (1.2, -3.0), (-0.5, 0.0)):
        model.set_joint(start, "hinge", turn, rate)
        _, info = model.step(start)
        after, _ = model.step(start)
        v0, w0 = np.split(start.interval_velocity[0], 2)
        v, w = np.split(after.interval_velocity[0], 2)
        s = np.sqrt(1.0 - 0.25 * h**2 * w @ w)
        linear = 2.0 * (v - v0) - 0.5 * h * 2.0 * np.array([0, 0, -9.81])
        work = 0.5 * (v + v0) @ linear + 0.5 * (w + w0) @ (0.3 * (s * w - w0))
        work = min(work, v @ linear + w @ (0.3 * (s * w - w0)))  # nothing moved before
        rise = v @ v - v0 @ v0 + 0.15 * (w @ w - w0 @ w0)
        kinetic = [
            one[:3] @ one[:3] + 0.15 * one[3:] @ one[3:] for one in (np.r_[v, w], np.r_[v0, w0])
        ]
        looked = abs(rise) > 0.05 * sum(kinetic)  # only then the work is computed
        # Newton's tolerance times the impulse
        wanted = max(0.0, min(work, rise)) if looked else 0.0
        assert info.unexplained_energy == pytest.approx(wanted, abs=1e-9)


# seeds whose motions do not depend on rounding: starts that differ by 1e-13 rise alike
@pytest.mark.parametrize("seed", [4, 5, 13])
def test_a_rod_on_a_string_does_not_explode(seed):
    assert largest_rise(*rod_on_a_string(seed, energy_audit="off"), 4.0) > 0.5
    # what an interval may gain: a tenth
    assert largest_rise(*rod_on_a_string(seed), 4.0) < 0.2


def test_a_tree_of_light_and_heavy_bodies_does_not_explode():
    assert largest_rise(*tree(17, energy_audit="off"), 3.0) > 0.5  # whatever the rounding, as above
    for seed in (17, 25):
        assert largest_rise(*tree(seed), 3.0) < 0.1


def test_motions_that_gain_nothing_are_the_same_to_the_bit():
    model, state = dy.zoo.sphere_chain(5)
    off = dy.simulate(model.mechanism.copy().finalize(model.timestep, energy_audit="off"), state, 1)
    found = dy.simulate(model, state, 1.0)
    assert (found.states == off.states).all()
    kinetic = found.energies()["kinetic"].max()
    assert 0.0 <= found.info["unexplained_energy"] < 0.01 * kinetic
    assert 0.0 < found.info["accumulated_energy"] < 0.01 * kinetic
    assert off.info["unexplained_energy"] == off.info["accumulated_energy"] == 0.0


def strict(energy_audit):
    """Model and state whose every interval gives more than an audit with no room allows."""
    m = dy.Mechanism()
    rod = m.add_body(mass=2.0, inertia=[0.3, 0.3, 0.1], name="rod")
    m.add_body(mass=1.0, inertia=[1.0] * 3, name="rests", gravity_scale=0.0)
    m.add_joint(dy.Revolute(m.world, rod, Y, child_point=(0, 0, 0.5), name="hinge"))
    model = m.finalize(0.05, energy_audit=energy_audit)
    model.settings[ENERGY_SHARE] *= 1e-12
    state = model.initial_state()
    model.set_joint(state, "hinge", 0.5, -1.0)
    return model, state


def test_what_cannot_be_cut_fails_and_names_the_body():
    model, state = strict("error")
    with pytest.raises(
        dy.ConvergenceError, match="no force accounts for, even in 1024.*that of 'rod' rises"
    ):
        dy.simulate(model, state, 0.5)
    with pytest.raises(ValueError, match="energy_audit 'maybe' is unknown"):
        strict("maybe")


def test_an_audit_of_single_steps_warns_as_that_of_a_run():
    model, state = strict("warn")
    with pytest.warns(
        RuntimeWarning, match="J appear .* that no force accounts for.*'rod' rises most"
    ):
        for _ in range(10):
            state, _ = model.step(state)


def test_an_audit_that_warns_goes_on():
    model, state = strict("warn")
    with pytest.warns(
        RuntimeWarning, match="J appear .* that no force accounts for.*'rod' rises most"
    ):
        motion = dy.simulate(model, state, 0.5)
    assert len(motion) == 11
    quiet = dy.simulate(*strict("off"), 0.5)
    # cut into 1024 intervals, and not at all: (h omega)^2 / 8, omega^2 = m g l / (J + m l^2)
    far = 0.05**2 * 2.0 * 9.81 * 0.5 / (0.3 + 2.0 * 0.25) / 8.0
    assert np.abs(motion.joint("hinge") - quiet.joint("hinge")).max() < far


@pytest.mark.parametrize("compliance", [1e-6, 1e-4, 1e-2])
def test_a_ball_on_a_compliant_contact_gets_back_no_more_than_it_stored(compliance):
    m = dy.Mechanism()
    ball = m.add_body(shape=dy.Sphere(0.1, mass=1.0), name="ball")
    m.add_contact(ball, compliance=compliance)
    model = m.finalize(0.002)
    assert model.settings[ENERGY_SHARE] > 0.0
    state = model.initial_state()
    model.set_body(state, "ball", position=(0, 0, 0.3))
    motion = dy.simulate(model, state, 1.0)
    energy = motion.energy()
    assert energy.max() <= energy[0] * (1.0 + 1e-6)
    # the contact lifts the ball again, so its work is not small, and none of it appears
    assert np.diff(motion.body("ball")[0][:, 2]).max() > 0.1 * 0.002
    assert motion.info["accumulated_energy"] < 1e-3 * motion.energies()["kinetic"].max()


def balance_of_a_pendulum(model, motion, mass, inertia):
    """T(V) - (work of gravity until the middle), of every interval of a motion of one body."""
    x, V = (
        motion.body("rod")[0],
        np.stack([s.interval_velocity[0] for s in map(motion.__getitem__, range(1, len(motion)))]),
    )
    kinetic = 0.5 * mass * (V[:, :3] ** 2).sum(axis=1) + 0.5 * V[:, 3:] ** 2 @ inertia
    return kinetic + 9.81 * mass * 0.5 * (x[1:, 2] + x[:-1, 2])


@pytest.mark.parametrize("h", [0.02, 0.005])
def test_the_accumulated_energy_is_the_rise_of_what_intervals_hold(h):
    m = dy.Mechanism()
    rod = m.add_body(mass=2.0, inertia=[0.3, 0.3, 0.1], name="rod")
    m.add_joint(dy.Revolute(m.world, rod, Y, child_point=(0, 0, 0.5), name="hinge"))
    model = m.finalize(h, largest_turn=1.0)
    state = model.initial_state()
    model.set_joint(state, "hinge", 2.0, 1.0)
    motion = dy.simulate(model, state, 3.0)
    held = balance_of_a_pendulum(model, motion, 2.0, [0.3, 0.3, 0.1])
    wanted = (held - np.minimum.accumulate(held)).max()
    # sums of 3 s / h numbers of some 20 J
    assert motion.info["accumulated_energy"] == pytest.approx(wanted, abs=1e-11)
    assert wanted < 0.2 * h**2 * motion.energies()["kinetic"].max() / 0.02**2
    now, parts = state, []
    for _ in range(len(motion) - 1):
        now, info = model.step(now)
        parts.append(info.accumulated_energy)
    assert parts[-1] == motion.info["accumulated_energy"] and (np.diff(parts) >= 0.0).all()


def test_a_chain_of_masses_of_a_million_to_one_gains_no_more_than_the_bound():
    # each interval gives less than its bound; without an audit the sum is 0.3 of M g times 1 m
    model, state = linked([10.0**k for k in range(-3, 4)], 3e-4, False, False)
    off = model.mechanism.copy().finalize(3e-4, energy_audit="off")
    rises = []
    for one in (model, off):
        motion = dy.simulate(one, one.state_of(state.data.copy()), 1.5)
        energy = motion.energy()
        rises.append((energy.max() - energy[0]) / motion.energies()["kinetic"].max())
    assert rises[0] <= ENERGY_BOUND < rises[1]


def pushed(how, order):
    """Two links that a motor, a servo, wrenches or a user's function drives; model, inputs."""
    m = dy.Mechanism()
    rng, steps = np.random.default_rng(5), 300
    one = m.add_body(dy.Box(0.1, 0.15, 1.0, mass=1.0), name="one")
    two = m.add_body(dy.Box(0.1, 0.15, 1.0, mass=0.5), name="two")
    options = {"actuated": True} if how == "motor" else {}
    if how == "servo":
        options = {"servo": dy.PositionServo(300.0, 20.0)}
    m.add_joint(dy.Revolute(m.world, one, Y, child_point=0.5 * Z, name="hip", **options))
    m.add_joint(dy.Revolute(one, two, X, parent_point=-0.5 * Z, child_point=0.5 * Z, name="knee"))
    inputs = {}
    if how in ("motor", "servo"):
        inputs["controls"] = (20.0 if how == "motor" else 1.0) * rng.normal(size=(steps, 1))
    elif how == "wrenches":
        inputs["wrenches"] = 5.0 * rng.normal(size=(steps, 12))
    elif how == "function":
        m.add_force(dy.Wrench(two, lambda t, z, u: [9 * np.cos(9 * t), 0, 9, 0, -0.1 * u[4], 0]))
    else:

        def spring(parent, pose):  # 400 N/m to the origin: h omega = 0.3
            return 200.0 * pose[:3] @ pose[:3], np.r_[np.zeros(6), 400.0 * pose[:3], np.zeros(3)]

        m.add_force(dy.Potential(two, spring))
    return m.finalize(0.01, order=order), inputs


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("how", ["motor", "servo", "wrenches", "function", "potential"])
def test_what_users_put_in_is_no_gain(how, order):
    if how == "servo" and order > 2:
        return  # which only order 2 has
    model, inputs = pushed(how, order)
    state = model.initial_state()
    model.set_joint(state, "hip", 0.5)
    motion = dy.simulate(model, state, 3.0, **inputs)
    kinetic = motion.energies()["kinetic"]
    assert how == "potential" or np.ptp(motion.energy()) > 0.3 * kinetic.max()  # work is done
    # the error of the method, (h omega)^2 / 2 of T, h omega at most 0.3 at order 2
    assert motion.info["accumulated_energy"] < 0.03 * kinetic.max()


@pytest.mark.parametrize("order", [4, pytest.param(6, marks=pytest.mark.slow)])
def test_orders_4_and_6_keep_to_the_bound_or_name_the_body(order):
    m = dy.Mechanism()
    rod = m.add_body(mass=2.0, inertia=[0.3, 0.3, 0.1], name="rod")
    m.add_joint(dy.Revolute(m.world, rod, Y, child_point=(0, 0, 0.5), name="hinge"))
    model = m.finalize(0.05, order=order)
    state = model.initial_state()
    model.set_joint(state, "hinge", 0.5, -1.0)
    motion = dy.simulate(model, state, 1.0)
    kinetic = motion.energies()["kinetic"].max()
    assert 0.0 < motion.info["accumulated_energy"] < 0.01 * kinetic

    def push(t, z, u):  # of an energy that its gradient does not have
        return 30.0 * z[2], np.r_[np.zeros(6), 0.0, 0.0, -30.0, np.zeros(3)]

    wrong = m.copy()
    wrong.add_force(dy.Potential(wrong.bodies["rod"], lambda a, z: push(0.0, z, None)))
    model = wrong.finalize(0.05, order=order)
    with pytest.raises(dy.ConvergenceError, match="no force accounts for.*that of 'rod' rises"):
        dy.simulate(model, state, 1.0)
    with pytest.warns(RuntimeWarning, match="J appear .*'rod' rises most"):
        dy.simulate(wrong.copy().finalize(0.05, order=order, energy_audit="warn"), state, 1.0)
