"""Robots of gymnasium compared with MuJoCo: motion in the air under commands of their files."""

import re
import shutil
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import dynamics as dy

PAGE = Path(__file__).parents[2] / "docs/from_mujoco.md"
SECONDS = 0.25
#: File and number of motors.
ROBOTS = {
    "ant": 8, "half_cheetah": 6, "hopper": 3, "walker2d_v5": 6, "humanoid": 17,
}  # fmt: skip


def theirs_in_the_air(mujoco, path, timestep, limits):
    """MuJoCo's model without contacts, integrated by Runge and Kutta."""
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep = timestep
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    if not limits:
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    return model


def start_within_limits(mujoco, model, rng):
    """Coordinates next to the file's, in the inner half of the range of limited joints."""
    data = mujoco.MjData(model)
    for j in np.flatnonzero(model.jnt_limited):
        low, high = model.jnt_range[j]
        middle, half = (low + high) / 2, (high - low) / 4
        start = np.clip(data.qpos[model.jnt_qposadr[j]], middle - half, middle + half)
        data.qpos[model.jnt_qposadr[j]] = start
    return data


@pytest.mark.parametrize("limits", [True, False])
@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_of_gymnasium_moves_as_in_mujoco(mujoco, name, limits):
    spec = find_spec("gymnasium")
    if spec is None or spec.origin is None:
        pytest.skip("gymnasium is not installed")
    path = Path(spec.origin).parent / "envs" / "mujoco" / "assets" / f"{name}.xml"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        mech = dy.load(path, without=[] if limits else ["limits"])
        theirs = theirs_in_the_air(mujoco, path, 1e-4, limits)  # may warn of what is deprecated
    rng = np.random.default_rng(3)
    data = start_within_limits(mujoco, theirs, rng)
    h = 5e-4
    model = mech.finalize(h)
    state = model.initial_state()
    mujoco.mj_forward(theirs, data)
    for j in range(theirs.njnt):
        joint = theirs.joint(j).name
        if theirs.jnt_limited[j]:
            at = theirs.jnt_qposadr[j]
            model.set_joint(state, joint, data.qpos[at] - theirs.qpos0[at])

    commands = rng.uniform(*theirs.actuator_ctrlrange.T) * (0.1 if limits else 1.0)
    data.ctrl[:] = commands
    for _ in range(round(SECONDS / 1e-4)):
        mujoco.mj_step(theirs, data)
    motion = dy.simulate(model, state, SECONDS, controls=model.controls(commands))
    moved = apart = 0.0
    for i in range(1, theirs.nbody):
        found = motion.frame(theirs.body(i).name or f"body {i}")[0]
        apart = max(apart, np.linalg.norm(found[-1] - data.xpos[i]))
        moved = max(moved, np.linalg.norm(found[-1] - found[0]))

    print(name, limits, data.nefc, apart, moved)
    assert len(mech.actuators) == ROBOTS[name] == model.n_controls
    assert moved > 0.1
    assert apart < 1e-2


def test_the_code_for_those_who_come_from_mujoco_runs(tmp_path, monkeypatch, mujoco):
    spec = find_spec("gymnasium")
    if spec is None:
        pytest.skip("gymnasium is not installed")
    shutil.copy(Path(spec.origin).parent / "envs/mujoco/assets/ant.xml", tmp_path)
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"^```\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dy.io.UnsupportedElementWarning)  # its camera and light
        exec(compile(code, "docs/from_mujoco.md", "exec"), found := {})
    assert len(found["motion"]) == 201 and (tmp_path / "ant.html").is_file()
    assert found["positions"][-1, 2] < found["positions"][0, 2]
