"""Random MJCF files beside MuJoCo: postures, motions, sensors, Jacobians and mass matrices."""

import warnings

import numpy as np
import pytest

import dynamics as dy

from .mjcf_families import Family

SECONDS, STEP, FINE = 0.15, 2e-3, 2e-4
#: Rounding, and MuJoCo's own error, m and rad.
NEAR = 2e-6


@pytest.fixture(params=range(12))
def pair(request, mujoco, tmp_path):
    """A random file, MuJoCo's model and data at its keyframe, and our mechanism."""
    family = Family(request.param)
    model = mujoco.MjModel.from_xml_string(family.text)
    if model.nv == 0:
        pytest.skip("nothing moves")
    rng, data = np.random.default_rng(request.param), mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv) * 0.4, 1.0)
    data.qvel[:], data.ctrl[:] = rng.normal(size=model.nv), rng.uniform(-1, 1, model.nu)
    key = "".join(
        f' {name}="{" ".join(map(repr, values.tolist()))}"'
        for name, values in (("qpos", data.qpos), ("qvel", data.qvel), ("ctrl", data.ctrl))
        if values.size
    )
    path = tmp_path / "family.xml"
    path.write_text(
        family.text.replace("</mujoco>", f'<keyframe><key name="k"{key}/></keyframe></mujoco>')
    )
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep, model.opt.integrator = FINE, mujoco.mjtIntegrator.mjINT_RK4
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        mechanism = dy.load(path)
    return family, data, mechanism


def apart(data, motion):
    """Largest distance and turn between MuJoCo's bodies and those at a motion's end."""
    most = 0.0
    for i in range(1, data.model.nbody):
        x, q = motion.frame(data.model.body(i).name)
        turn = min(np.linalg.norm(q[-1] - data.xquat[i]), np.linalg.norm(q[-1] + data.xquat[i]))
        most = max(most, np.linalg.norm(x[-1] - data.xpos[i]), turn)
    return most


def test_random_files_move_as_in_mujoco(mujoco, pair):
    """Errors fall with the step: by a half with servos, which are implicit, or else a quarter."""
    _, data, mechanism = pair
    given = mechanism.keyframes["k"].commands
    motions = []
    for h in (STEP, STEP / 2):
        model = mechanism.finalize(h)
        state = model.keyframe("k")
        assert apart(data, dy.simulate(model, state, 0.0)) < 1e-9
        controls = model.controls(given) if mechanism.actuators else None
        motions.append(dy.simulate(model, state, SECONDS, controls=controls))
    for _ in range(round(SECONDS / FINE)):
        mujoco.mj_step(data.model, data)

    change = np.abs(motions[0].final.pose - motions[1].final.pose).max()
    assert apart(data, motions[1]) <= 2.0 * change + NEAR


def test_sensors_of_random_files_read_as_in_mujoco(pair):
    _, data, mechanism = pair
    model = mechanism.finalize(STEP)
    found = dy.Sensors(model).read(model.keyframe("k"))
    for name, reading in found.items():
        wanted = data.sensor(name).data
        if str(name).startswith("accelerometer"):
            continue  # of the step before
        sign = np.sign(reading @ wanted) if str(name).startswith("quat") else 1.0
        np.testing.assert_allclose(sign * reading, wanted, atol=1e-7, err_msg=str(name))


def test_jacobians_and_mass_matrices_of_random_files_are_mujocos(mujoco, pair):
    family, data, mechanism = pair
    m, model = data.model, mechanism.finalize(STEP)
    state, kinematics = model.keyframe("k"), dy.Kinematics(model)
    names = [name for name in family.joints if name in kinematics.columns]
    ours = [kinematics.columns[name].start for name in names]
    theirs = [m.joint(name).dofadr[0] for name in names]

    for site in family.sites:
        linear, angular = np.zeros((2, 3, m.nv))
        mujoco.mj_jacSite(m, data, linear, angular, m.site(site).id)
        wanted = np.vstack([linear, angular])[:, theirs]
        found = kinematics.jacobian(state, site)[:, ours]
        np.testing.assert_allclose(found, wanted, atol=1e-9, err_msg=site)
    M = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, data, M)
    found = kinematics.mass_matrix(state)[np.ix_(ours, ours)]
    # links without mass get a trace of it, and slides of tendons up to 1e-5 of a body's
    near = 2e-5 * mechanism.mass
    np.testing.assert_allclose(found, M[np.ix_(theirs, theirs)], rtol=0.0, atol=near)
    np.testing.assert_allclose(kinematics.velocities(state)[ours], data.qvel[theirs], atol=1e-8)
