"""Thrusters: forces and torques that turn with a body and grow with a control."""

import numpy as np
import pytest

import dynamics as dy

from .test_mjcf import load, world


def flyer(**options):
    """One body with a thruster off its centre, in space."""
    mech = dy.Mechanism((0, 0, 0))
    body = mech.add_body(mass=2.0, inertia=[0.1, 0.2, 0.3], name="body")
    mech.add_joint(dy.Floating(mech.world, body, name="free"))
    thruster = dy.Thruster(
        body, force=(0.1, 0, 2.0), torque=(0, 0.05, 0.1), point=(0.1, 0.2, 0.3), name="jet",
        **options,
    )  # fmt: skip
    mech.add_force(thruster)
    return mech


def test_a_force_off_the_centre_gives_the_accelerations_of_newton_and_euler():
    model = flyer().finalize(1e-4)
    turn = dy.rotation.from_rotation_vector([0.3, -0.2, 0.5])
    state = model.initial_state()
    model.set_body(state, "body", orientation=turn)
    after, _ = model.step(state, {"jet": 3.0})

    v, omega = np.split(model.velocities(after)[0], 2)
    force, arm = 3.0 * np.array([0.1, 0, 2.0]), np.array([0.1, 0.2, 0.3])
    torque = 3.0 * np.array([0, 0.05, 0.1]) + np.cross(arm, force)
    assert v / 1e-4 == pytest.approx(dy.rotation.rotate(turn, force) / 2.0, abs=1e-3)
    assert omega / 1e-4 == pytest.approx(torque / [0.1, 0.2, 0.3], abs=1e-3)


@pytest.mark.parametrize("order", [2, 4, 6])
def test_power_of_a_thruster_is_the_change_of_energy(order):
    model = flyer().finalize(1e-3, order=order)
    motion = dy.simulate(model, model.initial_state(), 0.5, controls={"jet": 1.5})
    x, q = motion.body("body")
    v, omega = motion.body_velocity("body")
    force = dy.rotation.rotate(q, np.tile(1.5 * np.array([0.1, 0, 2.0]), (len(q), 1)))
    arm = dy.rotation.rotate(q, np.tile([0.1, 0.2, 0.3], (len(q), 1)))
    spin = dy.rotation.rotate(q, omega)
    torque = dy.rotation.rotate(q, np.tile(1.5 * np.array([0, 0.05, 0.1]), (len(q), 1)))
    power = np.sum(force * (v + np.cross(spin, arm)) + torque * spin, axis=1)
    work = np.sum((power[1:] + power[:-1]) / 2) * 1e-3

    assert x[-1] @ x[-1] > 0.01
    assert motion.energy()[-1] == pytest.approx(work, rel=1e-4)


def test_controls_are_cut_and_steps_are_linearized_exactly():
    model = flyer(control_limits=(-1.0, 2.0)).finalize(1e-2)
    state = model.initial_state()
    cut, full = (model.step(state, {"jet": u})[0] for u in (9.0, 2.0))
    assert np.array_equal(cut.data, full.data)

    space = dy.JointSpace(model)
    at = np.array([0.1, -0.2, 0.3, 0.2, 0.1, -0.3, 0.5, 0.1, -0.2, 0.7, -0.4, 0.3])
    space.place(state, at[:6], at[6:])
    A, B = dy.linearize(model, state, [0.5])

    def after(u):
        one = model.step(state, [u])[0]
        return np.concatenate([one.pose[0, :3], model.velocities(one)[0]])

    slope = (after(0.5 + 1e-4) - after(0.5 - 1e-4)) / 2e-4
    assert slope == pytest.approx(B[[0, 1, 2, *range(6, 12)], 0], abs=1e-7)
    turn = np.zeros(3)
    for k in range(3):  # its direction turns with the body
        turn[:] = 0.0
        turn[k] = 1e-5
        moved = []
        for sign in (1.0, -1.0):
            other = state.copy()
            q = dy.rotation.multiply(
                state.pose[0, 3:], dy.rotation.from_rotation_vector(sign * turn)
            )
            omega = model.velocities(state)[0]
            model.set_body(other, "body", orientation=q, velocity=omega[:3],
                           angular_velocity=omega[3:])  # fmt: skip
            moved.append(model.velocities(model.step(other, [0.5])[0])[0])
        assert (moved[0] - moved[1]) / 2e-5 == pytest.approx(A[6:, 3 + k], abs=1e-5)


def test_models_with_thrusters_have_variants():
    model = flyer().finalize()
    other = dy.variant(model, {"body": {"mass": 4.0}})
    states = [one.step(one.initial_state(), {"jet": 1.0})[0] for one in (model, other)]
    v = [one.velocities(state)[0, :3] for one, state in zip((model, other), states)]
    assert v[0] == pytest.approx(2.0 * v[1], abs=1e-6)  # it turns less, too


def test_what_is_no_thruster_is_refused():
    mech = dy.Mechanism()
    body = mech.add_body(mass=1.0, inertia=[1, 1, 1], name="b")
    for options, what in (
        ({}, "neither force nor torque"),
        ({"force": (np.nan, 0, 0)}, "force of thruster"),
        ({"force": (1, 0, 0), "control_limits": (2, 1)}, "in order"),
        ({"force": (1, 0, 0), "control_limits": 2}, "must be .lower, upper"),
    ):
        with pytest.raises(ValueError, match=what):
            dy.Thruster(body, **options)
    with pytest.raises(ValueError, match="does not move"):
        dy.Thruster(mech.world, force=(1, 0, 0))
    with pytest.raises(TypeError, match="Thruster"):
        mech.add_force("jet")


def test_a_quadrotor_flies_as_in_mujoco(tmp_path, mujoco):
    rotors = "".join(
        f'<site name="s{k}" pos="{x} {y} 0.02" euler="{5 * k} 3 0"/>'
        for k, (x, y) in enumerate(((0.1, 0.1), (0.1, -0.1), (-0.1, -0.1), (-0.1, 0.1)))
    )
    motors = "".join(
        f'<motor name="m{k}" site="s{k}" gear="0 0 1 0 0 {0.02 * (-1) ** k}" ctrlrange="0 5" '
        'ctrllimited="true"/>'
        for k in range(4)
    )
    text = world(
        '<body name="drone" pos="0 0 1"><freejoint/><geom type="box" size="0.1 0.12 0.03"/>'
        f"{rotors}</body>",
        f"<actuator>{motors}</actuator>",
    )
    mech = load(tmp_path, text)
    theirs = mujoco.MjModel.from_xml_string(text)
    theirs.opt.timestep, theirs.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(theirs)
    data.ctrl[:] = commands = [2.5, 3.0, 2.8, 9.0]  # the last is cut to 5
    model = mech.finalize(1e-3)
    motion = dy.simulate(model, model.initial_state(), 0.25, controls=model.controls(commands))
    mujoco.mj_step(theirs, data, 2500)
    mujoco.mj_forward(theirs, data)

    assert not mech.report.left_out and mech.report.read["thrusters"] == ["m0", "m1", "m2", "m3"]
    x, q = motion.frame("drone")
    assert np.linalg.norm(x[-1] - data.body("drone").xpos) < 1e-5
    assert dy.rotation.to_matrix(q[-1]) == pytest.approx(
        data.body("drone").xmat.reshape(3, 3), abs=1e-4
    )
    assert np.linalg.norm(x[-1] - x[0]) > 0.05
