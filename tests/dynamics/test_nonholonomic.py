"""Rolling without slip and knife edges, against motion in closed form."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation

X, Y, Z = np.eye(3)


def rolling(shape, h, gravity=(0.0, 0.0, -9.81), tilt=0.0, order=2, **options):
    """A body of radius 0.25 m on the plane z = 0, and its first state."""
    mechanism = dy.Mechanism(gravity)
    turn = rotation.from_axis_angle(X, tilt)
    height = 0.25 * (np.cos(tilt) if "axis" in options else 1.0)
    body = mechanism.add_body(shape, name="b", position=height * Z, orientation=turn)
    mechanism.add_joint(dy.Rolling(mechanism.world, body, Z, 0.25, name="contact", **options))
    model = mechanism.finalize(h, order=order, tolerance=1e-12, largest_turn=2.0)
    return model, model.initial_state()


BALL = dy.Sphere(0.25, mass=2.0)
#: A disc that stands on its rim, its axis along y; y = 0 upright, tilted about x.
DISC = dy.Cylinder(0.25, 0.01, mass=2.0, axis=Y)


@pytest.mark.parametrize("order", [2, 4, 6])
def test_a_ball_rolls_down_with_five_sevenths_of_what_it_would_slide_with(order):
    slope = 0.3
    gravity = 9.81 * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    model, state = rolling(BALL, 0.005, gravity, order=order)
    motion = dy.simulate(model, state, 1.0)
    a = 5.0 / 7.0 * 9.81 * np.sin(slope)
    np.testing.assert_allclose(motion.body("b")[0][:, 0], 0.5 * a * motion.time**2, atol=2e-4)
    v, omega = motion.body_velocity("b")
    spin = rotation.rotate(motion.body("b")[1], omega)
    np.testing.assert_allclose(v[:, 0], 0.25 * spin[:, 1], atol=1e-10)  # no slip at any node
    np.testing.assert_allclose(motion.body("b")[0][:, 2], 0.25, atol=1e-12)


def test_a_ball_rolls_straight_on_whatever_its_spin_about_the_vertical():
    model, state = rolling(BALL, 0.01)
    omega = np.array([0.0, 4.0, 3.0])
    model.set_body(state, "b", velocity=[1.0, 0.0, 0.0], angular_velocity=omega)
    motion = dy.simulate(model, state, 5.0)
    longer = 1.0 + (0.01 * np.linalg.norm(omega)) ** 2 / 24.0  # chord and arc of a step
    np.testing.assert_allclose(motion.body("b")[0][-1], [5.0 * longer, 0.0, 0.25], atol=1e-4)
    assert np.ptp(motion.energy()) < 1e-8


def test_an_upright_disc_rolls_straight_on():
    model, state = rolling(DISC, 0.01, axis=Y)
    model.set_body(state, "b", velocity=[1.0, 0.0, 0.0], angular_velocity=[0.0, 4.0, 0.0])
    motion = dy.simulate(model, state, 1.0)
    longer = 1.0 + (0.01 * 4.0) ** 2 / 24.0  # chord and arc of a step
    np.testing.assert_allclose(motion.body("b")[0][-1], [longer, 0.0, 0.25], atol=1e-7)


def wobble(h, seconds=2.0, order=2):
    """A leaning disc that rolls in loops, down to 67 degrees and up again."""
    model, state = rolling(DISC, h, tilt=0.2, axis=Y, order=order)
    model.set_body(state, "b", angular_velocity=[0.1, 10.0, 0.3])
    state = model.assemble(state)
    return dy.simulate(model, state, seconds)


def test_a_leaning_disc_rolls_to_second_order():
    ends = [wobble(h).body("b")[0][-1] for h in (0.01, 0.005, 0.0025, 0.00125)]
    gaps = np.linalg.norm(np.diff(ends, axis=0), axis=1)
    assert np.abs(np.log2(gaps[:-1] / gaps[1:]) - 2.0).max() < 0.1


@pytest.mark.parametrize("order", [4, 6])
def test_a_leaning_disc_rolls_to_higher_orders(order):
    exact = wobble(0.4 / 320, 0.4, 6)
    gaps = []
    for steps in (20, 40):
        motion = wobble(0.4 / steps, 0.4, order)
        place = np.hstack([motion.states[-1, :7], motion.twists[-1]])
        gaps.append(np.abs(place - np.hstack([exact.states[-1, :7], exact.twists[-1]])).max())
    assert np.log2(gaps[0] / gaps[1]) == pytest.approx(order, abs=0.2)
    # errors of order 2 come down to this motion
    slow = [np.abs(wobble(h, 0.4).states[-1, :7] - exact.states[-1, :7]).max()
            for h in (0.005, 0.0025)]  # fmt: skip
    assert np.log2(slow[0] / slow[1]) == pytest.approx(2.0, abs=0.05)


def test_a_leaning_disc_keeps_its_energy():
    motion = wobble(0.005, 20.0)
    energy = motion.energy()
    assert np.ptp(energy) < 2e-2 * np.ptp(motion.energies()["kinetic"])
    early, late = energy[: len(energy) // 4], energy[-len(energy) // 4 :]
    assert abs(early.mean() - late.mean()) < 0.25 * np.ptp(energy)
    # the rim touches the plane all the time
    q = motion.body("b")[1]
    lean = rotation.rotate(q, Y)[:, 2]
    height = 0.25 * np.sqrt(1.0 - lean**2)
    np.testing.assert_allclose(motion.body("b")[0][:, 2], height, atol=1e-11)


def skate(h, slope=0.2, rate=2.0, order=2):
    """A blade on an inclined plane, turning: it drifts across the slope, not down."""
    mechanism = dy.Mechanism(9.81 * np.array([np.sin(slope), 0.0, -np.cos(slope)]))
    body = mechanism.add_body(mass=1.0, inertia=[0.1, 0.1, 0.1], name="b")
    mechanism.add_joint(dy.PlanarAxis(mechanism.world, body, Z, name="plane"))
    mechanism.add_joint(dy.KnifeEdge(mechanism.world, body, Y, name="blade"))
    model = mechanism.finalize(h, order=order, tolerance=1e-12, largest_turn=2.0)
    state = model.initial_state()
    model.set_body(state, "b", angular_velocity=rate * Z)
    return dy.simulate(model, state, 5.0)


@pytest.mark.parametrize(
    ("order", "steps"), [(2, (0.02, 0.01, 0.005)), (4, (0.1, 0.05, 0.025)), (6, (0.2, 0.1, 0.05))]
)
def test_a_blade_on_a_slope_drifts_across_it(order, steps):
    # x = a sin^2(w t), y = a (w t - sin(2 w t) / 2), a = g sin(slope) / (2 w^2)
    errors = []
    for h in steps:
        motion = skate(h, order=order)
        a, wt = 9.81 * np.sin(0.2) / 8.0, 2.0 * motion.time
        expected = a * np.array([np.sin(wt) ** 2, wt - 0.5 * np.sin(2.0 * wt)])
        errors.append(np.abs(motion.body("b")[0][:, :2].T - expected).max())
    assert errors[0] < 2e-3
    assert np.abs(np.log2(np.divide(errors[:-1], errors[1:])) - order).max() < 0.1


def test_a_sleigh_comes_to_run_straight_ahead():
    # Chaplygin: a blade behind the centre of mass; all energy ends in running straight
    mechanism = dy.Mechanism((0.0, 0.0, 0.0))
    body = mechanism.add_body(mass=1.0, inertia=[0.1, 0.1, 0.1], name="b")
    mechanism.add_joint(dy.PlanarAxis(mechanism.world, body, Z, name="plane"))
    mechanism.add_joint(dy.KnifeEdge(mechanism.world, body, Y, child_point=-0.3 * X, name="blade"))
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    # the blade's point must not move along y: v_y = 0.3 omega
    model.set_body(state, "b", velocity=[0.2, 0.6, 0.0], angular_velocity=[0.0, 0.0, 2.0])
    motion = dy.simulate(model, state, 20.0)
    energy = motion.energy()
    assert np.abs(energy / energy[0] - 1.0).max() < 1e-3
    v, omega = motion.body_velocity("b")
    assert abs(omega[-1, 2]) < 1e-3
    assert np.linalg.norm(v[-1]) == pytest.approx(np.sqrt(2.0 * energy[0]), rel=1e-3)


@pytest.mark.parametrize("order", [2, 4, 6])
def test_a_blade_between_bodies_that_turn_does_not_slip_and_keeps_momentum(order):
    mechanism = dy.Mechanism((0.0, 0.0, 0.0))
    plate = mechanism.add_body(dy.Box(2.0, 2.0, 0.1, mass=3.0), name="plate")
    turned = rotation.from_axis_angle(np.array([0.6, 0.0, 0.8]), 0.7)
    skate = mechanism.add_body(
        mass=1.0, inertia=[0.1, 0.2, 0.15], name="skate", position=[0.4, 0.1, 0.2],
        orientation=turned,
    )  # fmt: skip
    mechanism.add_joint(dy.KnifeEdge(plate, skate, Y, child_point=-0.3 * X, name="blade"))
    model = mechanism.finalize(0.005, order=order, tolerance=1e-12)
    state = model.initial_state()
    model.set_body(state, "plate", velocity=[0.3, -0.2, 0.1], angular_velocity=[0.5, -0.4, 1.0])
    model.set_body(state, "skate", velocity=[1.0, 0.4, 0.1], angular_velocity=[0.5, -0.4, 2.0])
    motion = dy.simulate(model, model.assemble(state), 1.0)

    (xa, qa), (xb, qb) = motion.body("plate"), motion.body("skate")
    (va, wa), (vb, wb) = motion.body_velocity("plate"), motion.body_velocity("skate")
    turn = rotation.rotate
    slip = []
    for k in range(len(motion)):
        arm = turn(qb[k], -0.3 * X)
        of_skate = vb[k] + np.cross(turn(qb[k], wb[k]), arm)
        of_plate = va[k] + np.cross(turn(qa[k], wa[k]), xb[k] + arm - xa[k])
        slip.append(turn(qb[k], Y) @ (of_skate - of_plate))
    np.testing.assert_allclose(slip, 0.0, atol=1e-10)
    momentum = motion.momentum()
    assert np.abs(momentum[0]).min() > 0.01
    np.testing.assert_allclose(momentum, momentum[:1].repeat(len(motion), 0), atol=1e-9)


def test_velocities_that_slip_are_projected():
    model, state = rolling(BALL, 0.01)
    model.set_body(state, "b", velocity=[1.0, 0.0, 0.0])
    v = model.velocities(model.assemble(state))[0]
    assert v[0] == pytest.approx(5.0 / 7.0) and v[4] == pytest.approx(5.0 / 7.0 / 0.25)


def test_assembling_leaves_free_what_only_velocities_hold():
    model, state = rolling(BALL, 0.01)
    model.set_body(state, "b", position=[3.0, -2.0, 0.5])
    closed = model.assemble(state)
    np.testing.assert_allclose(closed.pose[0, :3], [3.0, -2.0, 0.25], atol=1e-12)


def test_freedoms_are_counted_in_velocities():
    model, state = rolling(BALL, 0.01)
    assert model.redundancy(state).n_freedoms == 3


def test_what_cannot_be_is_refused():
    mechanism = dy.Mechanism()
    body = mechanism.add_body(BALL, name="b")
    with pytest.raises(ValueError, match="joint 'j' holds velocities"):
        dy.KnifeEdge(mechanism.world, body, Y, compliance=1e-3, name="j")
    with pytest.raises(ValueError, match="radius of joint 'j' is 0"):
        dy.Rolling(mechanism.world, body, Z, 0.0, name="j")


def test_an_open_rod_behind_a_sleigh_is_closed():
    mechanism = dy.Mechanism()
    sleigh = mechanism.add_body(dy.Box(0.4, 0.2, 0.1, mass=2.0), name="sleigh")
    mechanism.add_joint(dy.KnifeEdge(mechanism.world, sleigh, [0.0, 1.0, 0.0], name="blade"))
    cart = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="cart", position=-0.7 * X)
    mechanism.add_joint(dy.Distance(sleigh, cart, 0.5, name="rod"))
    model = mechanism.finalize(0.01)
    closed = model.assemble(model.initial_state())  # no pose opens the blade: a row of zeros
    np.testing.assert_allclose(np.linalg.norm(closed.pose[0, :3] - closed.pose[1, :3]), 0.5)
