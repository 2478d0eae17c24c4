"""Problems of others with figures that nobody here wrote, as far as a second-order method reaches.

Two runs with steps h and h/2 are extrapolated (Richardson), which leaves errors of h^4.
"""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.zoo import double_four_bar, heavy_top, pendulum

X, Y, Z = np.eye(3)


def extrapolated(read, h):
    """What `read` finds at step h/2 and at h, put together."""
    coarse, fine = (np.asarray(read(step)) for step in (h, 0.5 * h))
    return (4.0 * fine - coarse) / 3.0


def test_a01_simple_pendulum():
    # IFToMM A01: 1 kg on a massless bar of 1 m from (-1, 0); ADAMS, and DOP853 to 5e-7
    def read(h):
        mechanism = dy.Mechanism(gravity=(0.0, -9.81, 0.0))
        ball = mechanism.add_body(mass=1.0, inertia=[1e-3] * 3, name="ball", position=-X)
        mechanism.add_joint(dy.Distance(mechanism.world, ball, 1.0, name="bar"))
        model = mechanism.finalize(h, tolerance=1e-12)
        motion = dy.simulate(model, model.initial_state(), 10.0, every=round(0.5 / h))
        return motion.body("ball")[0][[1, 2, 4, 10, 20], :2]

    expected = [
        (-0.391049, -0.920370),
        (0.986292, -0.165011),
        (-0.793566, -0.608484),
        (-0.942305, -0.334754),
        (-0.275087, -0.961419),
    ]
    np.testing.assert_allclose(extrapolated(read, 2e-3), expected, atol=1e-6)


def test_a02_four_bar_windows_after_ten_seconds():
    # N = 2: exact reduction to one freedom; ten seconds through all change points
    def read(h):
        model, state = double_four_bar(timestep=h, tolerance=1e-12)
        motion = dy.simulate(model, state, 10.0, every=round(10.0 / h))
        tip = 2.0 * motion.body(("crank", 0))[0][-1, :2]
        return np.concatenate([tip, 2.0 * motion.body_velocity(("crank", 0))[0][-1, :2]])

    expected = [0.32845811154, 0.94451853818, 1.42305147020, -0.49486884548]
    np.testing.assert_allclose(extrapolated(read, 1e-3), expected, atol=1e-5)


def test_heavy_top_of_bruels_and_cardona_keeps_its_spin():
    # m = 15, J = diag(.234, .469, .234), spin 150 rad/s: omega_y stays exactly
    model, state = heavy_top(
        mass=15.0,
        inertia=(0.234375, 0.46875, 0.234375),
        pivot=-Y,
        orientation=(1.0, 0.0, 0.0, 0.0),
        angular_velocity=(0.0, 150.0, -4.61538),
        timestep=1e-3,
        tolerance=1e-12,
    )
    motion = dy.simulate(model, state, 1.0)
    assert np.abs(motion.body_velocity("top")[1][:, 1] - 150.0).max() < 1e-6
    assert np.abs(motion.momentum()[:, 5] - motion.momentum()[0, 5]).max() < 1e-6
    energy = motion.energy()
    assert np.ptp(energy) < 1e-4 * energy[0]


def test_a_cone_precesses_steadily():
    # Kinon et al. 2023: inclination pi/3, spin 135.6 rad/s, precession exactly 10 rad/s
    def read(h):
        tilt = rotation.from_axis_angle(X, np.pi / 3)
        # precession 10 about z, seen in the body: 10 (0, sin 60, cos 60), and the spin
        omega = 10.0 * rotation.rotate(rotation.conjugate(tilt), Z) + 135.6 * Z
        model, state = heavy_top(
            mass=0.706858347058,
            inertia=(0.000530143760293, 0.000530143760293, CONE_AXIS),
            pivot=-0.075 * Z,
            orientation=tilt,
            angular_velocity=omega,
            timestep=h,
            tolerance=1e-12,
        )
        return dy.simulate(model, state, 0.5, every=round(0.05 / h)).body("top")[0]

    t = 0.05 * np.arange(11)
    s = np.sin(np.pi / 3)
    expected = 0.075 * np.transpose([s * np.sin(10.0 * t), -s * np.cos(10.0 * t), np.full(11, 0.5)])
    np.testing.assert_allclose(extrapolated(read, 5e-4), expected, atol=1e-6)


#: 3/10 m r^2 of a cone of 0.05 m: its moment about the axis.
CONE_AXIS = 0.3 * 0.706858347058 * 0.05**2


@pytest.mark.parametrize(
    ("moments", "omega", "h", "expected"),
    [
        ((2.0, 1.0, 3.0), (1.0, 1e-3, 0.0), 0.05, (14.365712219, 43.097136657)),
        ((0.03, 0.001, 0.1), (15.0, 0.01, 0.0), 1e-3, (0.151321463, 0.453964388, 0.756607313)),
    ],
)
def test_dzhanibekovs_nut_turns_over_when_elliptic_integrals_say(moments, omega, h, expected):
    def read(h):
        mechanism = dy.Mechanism(gravity=(0.0, 0.0, 0.0))  # the second is that of no rigid body
        mechanism.add_body(mass=1.0, inertia=moments, name="top", any_inertia=True)
        model = mechanism.finalize(h, tolerance=1e-14, largest_turn=2.0)
        state = model.initial_state()
        model.set_body(state, "top", angular_velocity=omega)
        motion = dy.simulate(model, state, 1.02 * expected[-1])
        about = motion.body_velocity("top")[1][:, 0]
        at = np.flatnonzero(np.sign(about[1:]) != np.sign(about[:-1]))
        times = []
        for k in at:  # the zero of the cubic through four nodes
            poly = np.polyfit(np.arange(-1.0, 3.0), about[k - 1 : k + 3], 3)
            roots = np.roots(poly)
            real = roots[np.abs(roots.imag) < 1e-9].real
            times.append(h * (k + real[np.argmin(np.abs(real - 0.5))]))
        return times

    # the moment of turning over amplifies by some thousand (it leaves a saddle)
    np.testing.assert_allclose(extrapolated(read, h), expected, rtol=2e-5)


@pytest.mark.parametrize(("degrees", "factor"), [(90.0, 1.18034), (60.0, 1.07318), (30.0, 1.01741)])
def test_a_pendulum_takes_longer_the_further_it_swings(degrees, factor):
    # complete elliptic integral over pi/2; T0 = 2 pi sqrt(I / (m g l/2)), I about the pivot
    def read(h):
        model, state = pendulum(1, angles=np.pi / 2 - np.radians(degrees), timestep=h)
        motion = dy.simulate(model, state, 2.2)
        angle = motion.joint(("joint", 0)) - np.pi / 2
        k = np.flatnonzero((angle[1:] > 0.0) & (angle[:-1] <= 0.0))[0]
        rate = motion.joint_velocity(("joint", 0))
        mean = 0.5 * (rate[k] + rate[k + 1])
        return [(motion.time[k] - angle[k] / mean) / 0.25]  # a quarter of its period

    inertia = 1.01 / 12 + 0.25
    period = extrapolated(read, 1e-3)[0]
    assert period / (2.0 * np.pi * np.sqrt(inertia / (9.81 * 0.5))) == pytest.approx(
        factor, abs=2e-5
    )


def pitch(motion, i):
    """Angle of link i from +x about +y, unwrapped."""
    x = rotation.rotate(motion.body(("link", i))[1], X)
    return np.unwrap(np.arctan2(-x[:, 2], x[:, 0]))


def test_single_and_double_pendulum_from_horizontal():
    # DOP853 of the planar minimal coordinates
    def read(h):
        one, start = pendulum(1, timestep=h, tolerance=1e-12)
        single = dy.simulate(one, start, 5.0, every=round(0.01 / h))
        two, start = pendulum(2, timestep=h, tolerance=1e-12)
        double = dy.simulate(two, start, 2.0, every=round(0.01 / h))
        return [
            *pitch(single, 0)[[100, 200, 500]],
            *pitch(double, 0)[[100, 200]],
            *pitch(double, 1)[[100, 200]],
        ]

    expected = [3.13401855181, 0.0302955381549, 2.95246564742]
    expected += [2.77512040603, 1.65532336263, 2.39077703846, 1.17875439653]
    np.testing.assert_allclose(extrapolated(read, 2e-3), expected, atol=2e-6)


def test_twelve_links():
    # joint i at (pi/12) sin(1.7 i) from the hanging chain, i = 1..12
    def read(h):
        bends = np.pi / 12 * np.sin(1.7 * np.arange(1, 13))
        bends[0] += np.pi / 2
        model, state = pendulum(12, angles=bends, timestep=h, tolerance=1e-12)
        motion = dy.simulate(model, state, 2.0, every=round(0.01 / h))
        return [[pitch(motion, i)[k] for i in range(4)] for k in (100, 200)]

    expected = [
        (1.59408631395, 1.60057621021, 1.67555478010, 1.56053904335),
        (1.461629284, 1.56901221289, 1.58522094444, 1.55006976394),
    ]
    np.testing.assert_allclose(extrapolated(read, 1e-3), expected, atol=1e-6)
