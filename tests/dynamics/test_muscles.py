"""Muscles: curves, activation, and motion compared with MuJoCo's."""

import numpy as np
import pytest

import dynamics as dy
from dynamics.errors import UnknownNameError
from dynamics.parts import muscles

from .test_mjcf import load, world


def table(*all_of):
    names = muscles.Muscle.__dataclass_fields__
    return {name: np.array([getattr(one, name) for one in all_of], float) for name in names}


PLAIN = dy.Muscle((0.0, 2.0), range=(0.0, 2.0), peak=10.0, fastest=1.0)  # l is the length, m


@pytest.mark.parametrize(
    "length, rate, activation, force",
    [
        (1.0, 0.0, 1.0, 10.0),  # the peak
        (1.0, 0.0, 0.25, 2.5),
        (0.5, 0.0, 1.0, 0.0),  # as short as it is active
        (0.75, 0.0, 1.0, 5.0),  # between: half of it
        (0.625, 0.0, 1.0, 1.25),  # a quadratic: (1/2)^2 / 2
        (1.0, -1.0, 1.0, 0.0),  # as fast as it shortens
        (1.0, -0.5, 1.0, 2.5),  # (1 - 1/2)^2
        (1.0, 0.2, 1.0, 12.0),  # lengthening: 1.2 from v = 0.2 on
        (1.0, 0.1, 1.0, 11.5),  # 1.2 - 0.1^2 / 0.2
        (1.6, 0.0, 1.0, 10 * 1.3 * 1.5),  # passive alone: 1.3 (2 - 1/2) at the end of the range
        (1.3, 0.0, 0.0, 10 * 1.3 * 0.5),  # half of the first part
        (0.4, 0.0, 0.0, 0.0),
    ],
)
def test_the_force_of_a_muscle_by_hand(length, rate, activation, force):
    given = [np.array([value]) for value in (length, rate, activation)]
    assert muscles.muscle_force(table(PLAIN), *given) == pytest.approx([-force], abs=1e-14)


def test_activation_rises_and_falls_with_its_time_constants():
    one = table(dy.Muscle((0, 1), times=(0.01, 0.04)))
    rise = muscles.activated(one, np.zeros(1), np.ones(1), 1e-5)
    fall = muscles.activated(one, np.ones(1), np.zeros(1), 1e-5)
    assert rise == pytest.approx([1e-5 / (0.01 * 0.5)], rel=1e-2)
    assert fall == pytest.approx([1 - 1e-5 / (0.04 / 2.0)], rel=1e-6)
    # (1/2 + 3 a / 2) da / (1 - a) = dt / 0.01 from 0 to a; Runge and Kutta's error is STEP^4 / 120
    a = muscles.activated(one, np.zeros(1), np.ones(1), 0.03)[0]
    assert -0.02 * np.log(1 - a) - 0.015 * a == pytest.approx(0.03, rel=2e-3)


def test_a_muscle_of_ones_own_along_a_tendon_pulls_and_begins_again():
    mech = dy.Mechanism(gravity=(0, 0, 0))
    ball = mech.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=(0, 0, -1))
    mech.add_joint(dy.Prismatic(mech.world, ball, (0, 0, 1), parent_point=(0, 0, -1), name="rail"))
    mech.add_tendon(path=[("world", (0, 0, 0)), (ball, (0, 0, 0))], name="t", actuated=True)
    model = mech.finalize(1e-3)
    muscle = dy.Muscles(model, {"t": 0.5}, muscles={"t": PLAIN}, activations={"t": 0.5})
    motion = dy.simulate(model, model.initial_state(), 0.1, controller=muscle)

    # 5 N at first; less by shortening, (1 + v)^2, and by length
    rise = motion.joint("rail")[-1]
    assert 0.015 < rise < 0.5 * 5.0 * 0.1**2
    assert muscle.force[0] < 0.0 and muscle.activation == pytest.approx([0.5], abs=1e-12)
    again = dy.simulate(model, model.initial_state(), 0.1, controller=muscle)
    np.testing.assert_array_equal(again.final.pose, motion.final.pose)


def test_the_energy_of_a_motion_is_the_work_of_its_muscle():
    # forces are held over a step: energy at nodes oscillates by (h omega)^2
    missed, ends = [], []
    for h in (0.002, 0.001, 0.0005):
        mech = dy.Mechanism()
        low, high = (0, 0, -0.3), (0, 0, 0.3)
        a, b = (mech.add_body(mass=1.0, inertia=[0.03, 0.02, 0.01], name=name) for name in "ab")
        mech.add_joint(dy.Revolute(mech.world, a, (0, 1, 0), child_point=high, name="p"))
        ends_of = {"parent_point": low, "child_point": high}
        mech.add_joint(dy.Revolute(a, b, (0, 1, 0), name="q", **ends_of))
        mech.add_tendon({"p": 1.0, "q": -0.5}, name="t", actuated=True)
        model = mech.finalize(h)
        state = model.initial_state()
        model.set_joint(state, "p", 0.3)
        muscle = dy.Muscle(lengths=(-0.5, 1.0), peak=30.0, fastest=3.0)
        acting = dy.Muscles(
            model, lambda time: [0.5 + 0.4 * np.sin(8.0 * time)], muscles={"t": muscle}
        )
        motion = dy.simulate(model, state, 0.4, controller=acting)
        work = np.concatenate(
            [[0.0], np.cumsum(motion.controls[:, 0] * np.diff(motion.joint("t")))]
        )
        energy = motion.energy()
        missed.append(np.abs(energy - energy[0] - work).max())
        ends.append(motion.joint("q")[-1])
        assert np.ptp(work) > 0.5
        np.testing.assert_array_equal(motion.motor_force("t")[1:], motion.controls[:, 0])
    np.testing.assert_allclose(np.divide(missed[:-1], missed[1:]), 4.0, rtol=0.1)
    assert (ends[0] - ends[1]) / (ends[1] - ends[2]) == pytest.approx(4.0, rel=0.1)


def test_what_is_no_muscle_is_refused():
    with pytest.raises(TypeError):
        dy.Muscle()
    for name, value in {
        "lengths": (1.0, 1.0), "range": (1.0, 0.5), "peak": -1.0, "fastest": 0.0,
        "times": (0.0, 0.1), "smoothing": -1.0, "passive": -1.0, "lengthening": 0.9,
        "shortest": 1.0, "longest": 1.0, "gear": 0.0, "forces": (1.0, 0.0),
    }.items():  # fmt: skip
        with pytest.raises(ValueError, match=name):
            dy.Muscle(**{"lengths": (0.5, 1.0), name: value})
    for name, value in {"peak": np.nan, "lengths": (0.0, np.inf), "times": 0.1}.items():
        with pytest.raises(ValueError, match=name):
            dy.Muscle(**{"lengths": (0.5, 1.0), name: value})
    mech = dy.Mechanism()
    body = mech.add_body(dy.Sphere(0.1, mass=1.0), name="b")
    mech.add_joint(dy.Prismatic(mech.world, body, (0, 0, 1), name="j", actuated=True))
    model = mech.finalize()
    one = {"j": PLAIN}
    for given, error, what in (
        (lambda: dy.Muscles(model), ValueError, "no muscle"),
        (lambda: dy.Muscles(model, muscles={"k": PLAIN}), UnknownNameError, "'k'"),
        (lambda: dy.Muscles(model, {"k": 1.0}, muscles=one), UnknownNameError, "'k'"),
        (lambda: dy.Muscles(model, [1.0, 2.0], muscles=one), ValueError, "shape"),
        (lambda: dy.Muscles(model, [np.nan], muscles=one), ValueError, "finite"),
        (lambda: dy.Muscles(model, muscles=one, activations={"k": 1}), UnknownNameError, "'k'"),
        (lambda: dy.Muscles(model, muscles=one, activations={"j": np.inf}), ValueError, "finite"),
    ):
        with pytest.raises(error, match=what):
            given()


ARM = (
    '<site name="s0" pos="0.05 .02 2"/><body name="a" pos="0 0 2">'
    '<joint name="p" axis="0 1 0" damping=".1"/>'
    '<geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03"/>'
    '<geom name="g" type="cylinder" size="0.03 .1" euler="90 0 0" pos="0 0 -.5" mass=".01" '
    'contype="0" conaffinity="0"/>'
    '<site name="s1" pos=".06 .01 -.2"/><site name="s1b" pos="-.06 .01 -.2"/>'
    '<body name="b" pos="0 0 -0.5"><joint name="q" axis="0 1 0" damping=".1"/>'
    '<geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03"/><site name="s2" '
    'pos=".05 .01 -.15"/><site name="s2b" pos="-.05 .01 -.15"/></body></body>'
)
MUSCLES = (
    '<tendon><spatial name="t"><site site="s0"/><site site="s1"/><geom geom="g"/>'
    '<site site="s2"/></spatial><spatial name="u"><site site="s1b"/><geom geom="g"/>'
    '<site site="s2b"/></spatial></tendon><actuator>'
    '<muscle name="flex" tendon="t" force="200" lengthrange="0.4 0.75"/>'
    '<muscle name="ext" tendon="u" scale="20" lengthrange="0.2 0.5" tausmooth="0.3"/>'
    '<muscle name="j" joint="p" force="50" gear=".05" lengthrange="-.1 .1" '
    'forcelimited="true" forcerange="-15 0"/><motor name="m" joint="q"/></actuator>'
)
COMMANDS = {"flex": 0.7, "ext": 0.3, "j": 0.4, "m": 0.2}


def test_muscles_of_a_file_move_an_arm_as_in_mujoco(tmp_path, mujoco):
    text = world(ARM, MUSCLES)
    mech = load(tmp_path, text)
    assert not mech.report.left_out
    theirs = mujoco.MjModel.from_xml_string(text)
    theirs.opt.timestep, theirs.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(theirs)
    data.ctrl[:], data.qpos[:] = list(COMMANDS.values()), (0.2, -0.6)
    for _ in range(2500):
        mujoco.mj_step(theirs, data)
    mujoco.mj_forward(theirs, data)

    def apart(h):
        model = mech.finalize(h)
        state = model.initial_state()
        model.set_joint(state, "p", 0.2)
        model.set_joint(state, "q", -0.6)
        acting = dy.Muscles(model, COMMANDS)
        motion = dy.simulate(model, state, 0.25, controller=acting)
        assert acting.activation == pytest.approx(data.act, abs=1e-6)
        return np.array([motion.joint("p")[-1], motion.joint("q")[-1]]) - data.qpos

    coarse, fine = apart(2e-3), apart(1e-3)
    print(coarse, fine)
    assert np.abs(fine).max() < 1e-4
    assert np.abs(fine).max() < 0.35 * np.abs(coarse).max()  # second order: a quarter


def test_commands_of_muscles_vary_with_time_and_are_clipped(tmp_path, mujoco):
    mech = load(tmp_path, world(ARM, MUSCLES.replace('force="200"', 'force="200" ctrlrange="0 .5"'
                                                     ' ctrllimited="true"')))  # fmt: skip
    model = mech.finalize(1e-3)
    state = model.initial_state()
    ends = [
        dy.simulate(model, state, 0.05, controller=dy.Muscles(model, one)).final.pose
        for one in ({"flex": 0.5}, {"flex": 0.9}, lambda time: {"flex": 0.9}, {"flex": 0.4})
    ]
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_array_equal(ends[0], ends[2])
    assert np.abs(ends[3] - ends[0]).max() > 1e-6
    with pytest.raises(ValueError, match="'flex' is a muscle.*dynamics.Muscles"):
        model.controls({"m": 1.0})
    with pytest.raises(UnknownNameError, match="'x'"):
        dy.Muscles(model, {"x": 1.0})
    with pytest.raises(ValueError, match="finite"):
        dy.Muscles(model, {"flex": np.nan})
    bare = load(tmp_path, world(ARM, MUSCLES), actuated=False).finalize()
    with pytest.raises(ValueError, match="no muscle"):
        dy.Muscles(bare)


def test_muscles_in_part_are_left_out_by_name(tmp_path, mujoco):
    parts = 'gainprm="0.75 1.05 9 1 0.5 1.6 1.5 1.3 1.2"'
    more = (
        f'<actuator><general name="half" joint="p" gaintype="muscle" lengthrange="0 1" {parts}/>'
        "</actuator>"
    )
    mech = load(tmp_path, world(ARM, more))
    assert mech.report.left_out == {"muscles in part": ["half"]}
    assert not mech.actuators
