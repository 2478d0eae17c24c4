"""Slopes and inverse dynamics with users' forces and bodies of 6 x 6, against differences."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation

from .test_control import accelerations
from .test_linearization import CLOSE, by_differences, error

RNG = np.random.default_rng(3)
#: These forces bend more than springs do: half the step, 1/64 of the error of differences.
STEP = 1e-3
WATER = 0.2 * (lambda a: a @ a.T)(RNG.normal(size=(6, 6)))
FULL = dy.integrators.spatial_inertia(2.0, np.diag([0.3, 0.4, 0.2]), [0.1, -0.2, 0.4]) + WATER


def magnet(time, pose_a, pose, twist_a, twist):
    """A force that depends on all it is given, and on none of it linearly."""
    gap = pose[:3] - pose_a[:3]
    slip = twist[:3] - twist_a[:3]
    force = -0.2 * np.hypot(3.0, slip) * slip - gap * np.sin(time + gap[0])
    torque = -0.1 * np.hypot(1.0, twist[3:]) * twist[3:] + 0.3 * np.cross(twist_a[3:], pose[4:])
    return np.concatenate([force, torque])


def wind(time, pose, twist):
    nose = rotation.rotate(pose[3:], np.array([1.0, 0.0, 0.0]))
    air = np.array([2.0 * np.cos(3.0 * time), 1.0, 0.0]) - twist[:3]
    return np.concatenate([(nose @ air) * air, np.cross([0.2, 0.0, 0.1], twist[3:])])


def well(pose_a, pose):
    """E = (1/4) |x - (1, 0, 0)|^4 + q_z of the body."""
    gap = pose[:3] - [1.0, 0.0, 0.0]
    slopes = np.zeros(12)
    slopes[6:9] = (gap @ gap) * gap
    s, x, y, z = pose[3:]
    slopes[9:] = 0.5 * np.array([-y, x, s])
    return 0.25 * (gap @ gap) ** 2 + z, slopes


def pair(what, joint=dy.Cylindrical, h=0.01):
    """Two bodies on joints, moving, with forces of that kind."""
    mechanism = dy.Mechanism()
    heavy = {"inertia": FULL, "center_of_mass": [0.1, -0.2, 0.4]}
    a = mechanism.add_body(mass=1.0, inertia=[0.1, 0.2, 0.25], name="a", drag=0.3)
    b = mechanism.add_body(
        mass=2.0, name="b", **(heavy if what == "inertia" else {"inertia": [0.3, 0.2, 0.25]})
    )
    mechanism.add_joint(
        dy.Spherical(mechanism.world, a, child_point=(0.1, 0.2, 0.5), name="pivot", damping=0.1,
                     actuated=True)
    )  # fmt: skip
    if joint is not None:
        mechanism.add_joint(
            joint(
                a,
                b,
                [0.6, 0.0, 0.8],
                parent_point=[0.3, -0.1, 0.2],
                child_point=[-0.2, 0.4, 0.1],
                name="joint",
            )
        )
    forces = {
        "wind": lambda: dy.Wrench(b, wind),
        "magnet": lambda: dy.Wrench(b, magnet, parent=a),
        "well": lambda: dy.Potential(b, well),
        "inertia": lambda: dy.Spring(a, b, stiffness=5.0, damping=0.4, length=0.3),
    }
    mechanism.add_force(forces[what]())
    model = mechanism.finalize(h, tolerance=1e-13)
    state = model.initial_state()
    rng = np.random.default_rng(1)
    for body in "ab":
        model.set_body(
            state, body, velocity=rng.normal(size=3), angular_velocity=rng.normal(size=3)
        )
    state = model.assemble(state)
    for _ in range(2):
        state, _ = model.step(state, rng.normal(size=model.n_controls))
    return model, state, rng.normal(size=model.n_controls)


@pytest.mark.parametrize("what", ["wind", "magnet", "well", "inertia"])
@pytest.mark.parametrize("joint", [dy.Cylindrical, None], ids=["joined", "free"])
def test_slopes_are_those_of_differences(what, joint):
    model, state, control = pair(what, joint)
    A, B = dy.linearize(model, state, control)
    wanted = by_differences(model, state, control, STEP)
    assert error(A, wanted[0]) < CLOSE
    assert error(B, wanted[1]) < CLOSE


@pytest.mark.parametrize("what", ["magnet", "inertia"])
def test_joint_coordinates_know_them_too(what):
    # 10 numbers: (q, q') of a spherical and a cylindrical joint, A of one step is I + O(h)
    model, state, control = pair(what)
    A, _ = dy.linearize(model, state, control, coordinates="joint")
    A_half, _ = dy.linearize(*pair(what, h=0.005)[:2], control, coordinates="joint")
    assert A.shape == (10, 10)
    assert np.abs(A - np.eye(10)).max() < 0.2
    assert np.abs(A_half - np.eye(10)).max() < 0.12


@pytest.mark.parametrize("what", ["wind", "magnet", "well", "inertia"])
def test_a_motion_changes_with_a_mass_as_its_differences_do(what):
    model, state, _ = pair(what)
    found = dy.sensitivity(model, state, 0.1, [("a", "mass")], start=np.eye(24)[:, 18:20])
    ends = []
    for side in (1.0, -1.0):
        other = dy.variant(model, {"a": {"mass": 1.0 + side * 1e-4}})
        start = state.copy()
        twist = model.velocities(state)
        for i, body in enumerate("ab"):
            other.set_body(start, body, velocity=twist[i, :3], angular_velocity=twist[i, 3:])
        motion = dy.simulate(other, start, 0.1)
        ends.append(motion.final.pose[:, :3])
    # differences of a smooth function by 1e-4: the third derivative times 1e-8, of order 1
    wanted = (ends[0] - ends[1]) / 2e-4
    np.testing.assert_allclose(found.poses[-1, :, :3, 0], wanted, atol=1e-6)


def test_velocities_that_act_too_strongly_on_each_other_are_named():
    # the half impulse of either's velocity, 50 v, is 0.97 of what holds the other: 50 + m
    def thick(time, pose_a, pose, twist_a, twist):
        return np.concatenate([1e4 * twist_a[:3] - 1e4 * twist[:3], np.zeros(3)])

    mechanism = dy.Mechanism(gravity=(0.0, 0.0, 0.0))
    a, b = (
        mechanism.add_body(mass=m, inertia=[0.1] * 3, name=name)
        for m, name in ((1.0, "a"), (2.0, "b"))
    )
    mechanism.add_force(dy.Wrench(b, thick, parent=a))
    model = mechanism.finalize(0.01)
    with pytest.raises(ArithmeticError, match="wrenches of two bodies.*shorter timestep"):
        dy.linearize(model, model.initial_state())


@pytest.mark.parametrize("what", ["wind", "magnet", "well", "inertia"])
def test_inverse_dynamics_knows_them(what):
    model, state, _ = pair(what)
    wanted = np.array([1.0, -2.0, 0.5])

    torque = dy.inverse_dynamics(model, state, wanted)

    every, found = accelerations(model, state, torque)
    first, count = every.start["pivot"]
    assert np.abs(found[first : first + count] - wanted).max() < 1e-5


def test_what_a_function_raises_comes_out_of_inverse_dynamics():
    mechanism = dy.Mechanism()
    body = mechanism.add_body(mass=1.0, inertia=[0.1] * 3, name="b")
    mechanism.add_joint(dy.Revolute(mechanism.world, body, (0, 1, 0), name="hinge"))
    calls = []

    def tired(time, pose, twist):
        calls.append(time)
        raise RuntimeError("no more")

    mechanism.add_force(dy.Wrench(body, tired))
    model = mechanism.finalize()
    with pytest.raises(RuntimeError, match="no more"):
        dy.inverse_dynamics(model, model.initial_state(), [1.0])
    assert calls == [0.0]
