"""Runs: what goes in, what is recorded, what happens when a step fails."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import interrupts
from dynamics.kernels.stepping import step as kernel
from dynamics.zoo import cart_pole, damped_pendulum, double_pendulum, four_bar, free_top, pendulum


def test_states_are_recorded_at_every_so_manieth_step():
    model, state = double_pendulum()
    every, all_of_them = (dy.simulate(model, state, 1.0, every=k) for k in (10, 1))
    assert len(every) == 11 and len(all_of_them) == 101
    np.testing.assert_allclose(every.time, np.linspace(0.0, 1.0, 11), atol=1e-15)
    np.testing.assert_array_equal(every.states, all_of_them.states[::10])
    assert every.info["steps"] == 100


def test_the_first_state_is_left_as_it_is():
    model, state = double_pendulum()
    before = state.data.copy()
    dy.simulate(model, state, 0.1)
    model.step(state)
    np.testing.assert_array_equal(state.data, before)


def test_no_time_is_no_step():
    model, state = double_pendulum()
    assert len(dy.simulate(model, state, 0.0)) == 1


def test_a_run_goes_on_where_another_ended():
    model, state = double_pendulum()
    whole = dy.simulate(model, state, 1.0)
    first = dy.simulate(model, state, 0.5)
    second = dy.simulate(model, first.final, 0.5)
    assert second.time[-1] == pytest.approx(1.0)
    assert np.array_equal(second.states, whole.states[50:])


# Controls


def test_a_table_of_controls_is_one_row_a_step():
    model, state = cart_pole()
    table = np.array([[1.0], [2.0], [-1.0], [0.5], [3.0]])
    motion = dy.simulate(model, state, 0.05, controls=table)
    again = dy.simulate(model, state, 0.05, controls=table[:, None])  # at the middle of each step
    assert np.array_equal(again.states, motion.states)
    for k in range(5):
        state, _ = model.step(state, table[k])
        np.testing.assert_allclose(state.pose, motion[k + 1].pose, atol=1e-14)


def test_controls_by_name_are_those_of_all_steps():
    model, state = cart_pole()
    by_name = dy.simulate(model, state, 0.05, controls={"rail": 3.0})
    assert (by_name.states == dy.simulate(model, state, 0.05, controls=[3.0]).states).all()
    with pytest.raises(dy.UnknownNameError, match="'rial' is not actuated; actuated are"):
        dy.simulate(model, state, 0.05, controls={"rial": 3.0})


def test_wrenches_by_name_are_those_of_all_steps():
    model, state = cart_pole()
    name, push = model.bodies[1].name, [3.0, 0, 0, 0, 0.1, 0]
    by_name = dy.simulate(model, state, 0.05, wrenches={name: push})
    all_of = dy.simulate(model, state, 0.05, wrenches=[0.0] * 6 + push)
    assert (by_name.states == all_of.states).all() and not (all_of.states[-1] == state.data).all()


def two_motors():
    """A hinge and a ball joint, both driven."""
    mech = dy.Mechanism()
    one, two = (mech.add_body(dy.Box(0.1, 0.1, 0.5, mass=1.0), name=name) for name in "ab")
    down = {"parent_point": (0, 0, -0.25), "child_point": (0, 0, 0.25), "actuated": True}
    mech.add_joint(dy.Revolute(mech.world, one, (0, 1, 0), name="hinge", **down))
    mech.add_joint(dy.Spherical(one, two, name="ball", **down))
    model = mech.finalize(0.01)
    return model, model.initial_state()


def test_controls_and_wrenches_by_name_may_change_from_step_to_step():
    model, state = two_motors()
    rng = np.random.default_rng(0)
    hinge, ball, push = rng.normal(size=5), rng.normal(size=(5, 3)), rng.normal(size=(5, 6))
    both = np.column_stack([hinge, ball]), np.hstack([np.zeros((5, 6)), push])
    wanted = dy.simulate(model, state, 0.05, controls=both[0], wrenches=both[1])
    for one in (hinge, hinge[:, None]):
        controls = {"ball": ball, "hinge": one}
        motion = dy.simulate(model, state, 0.05, controls=controls, wrenches={"b": push})
        assert np.array_equal(motion.states, wanted.states)

    steady = dy.simulate(model, state, 0.05, controls={"hinge": hinge, "ball": [1.0, 0.0, 2.0]})
    table = np.column_stack([hinge, np.tile([1.0, 0.0, 2.0], (5, 1))])
    assert np.array_equal(steady.states, dy.simulate(model, state, 0.05, controls=table).states)
    one_step = dy.simulate(model, state, 0.01, controls={"hinge": [1.0]})
    assert np.array_equal(
        one_step.states, dy.simulate(model, state, 0.01, controls=[1, 0, 0, 0]).states
    )


@pytest.mark.parametrize(
    ("controls", "sentence"),
    [
        ({"ball": np.ones(5)}, r"control of 'ball' has shape \(5,\), it must be \(3,\)"),
        ({"ball": np.ones((5, 2))}, r"control of 'ball' has shape \(5, 2\), it must be \(5, 3\)"),
        ({"hinge": [0.0, np.nan] * 5}, "control of 'hinge'"),
        ({"hinge": []}, "control of 'hinge'"),
        ({"hinge": np.ones(4)}, "controls of 'hinge', 'ball' have 4 rows for 5 steps"),
        (
            {"hinge": np.ones(6), "ball": np.ones((5, 3))},
            "control of 'ball' has 5 rows and control of 'hinge' has 6",
        ),
    ],
)
def test_controls_by_name_of_another_shape_are_refused(controls, sentence):
    model, state = two_motors()
    with pytest.raises(ValueError, match=sentence):
        dy.simulate(model, state, 0.05, controls=controls)
    with pytest.raises(ValueError, match="wrench on 'a' has 3 rows and wrench on 'b' has 5"):
        dy.simulate(model, state, 0.05, wrenches={"a": np.ones((3, 6)), "b": np.ones((5, 6))})


def test_inputs_that_contradict_or_are_no_numbers_are_refused():
    model, state = cart_pole()
    both = {"controller": lambda state, time: [0.0], "controls": [1.0]}
    with pytest.raises(ValueError, match="those of a controller, or given: leave out one"):
        dy.simulate(model, state, 0.05, **both)
    with pytest.raises(TypeError, match="every is 2.5, and must be an integer"):
        dy.simulate(model, state, 0.05, every=2.5)
    with pytest.raises(TypeError, match="seconds is '3', and must be a number"):
        dy.simulate(model, state, "3")
    with pytest.raises(TypeError, match=r"job 0 is a State; use dynamics.Job\(state, seconds\)"):
        dy.rollouts(model, [state])


def test_a_step_takes_controls_at_its_nodes():
    model, state = cart_pole(order=4)
    rng = np.random.default_rng(0)
    table = rng.normal(size=(3, model.nodes.size, 1))
    end = state
    for row in table:
        end, _ = model.step(end, row)

    run = dy.simulate(model, state, 3 * model.timestep, controls=table)
    np.testing.assert_allclose(end.pose, run.final.pose, rtol=0.0, atol=1e-10)
    with pytest.raises(ValueError, match=r"control has shape \(2, 2\), it must be"):
        model.step(state, np.zeros((2, 2)))


def test_controls_shorter_than_the_run_are_refused_by_name():
    model, state = cart_pole()
    with pytest.raises(ValueError, match="controls of 'rail' have 3 rows for 5 steps"):
        dy.simulate(model, state, 0.05, controls=np.ones((3, 1)))
    with pytest.raises(ValueError, match="wrenches have 2 rows for 5 steps"):
        dy.simulate(model, state, 0.05, wrenches=np.ones((2, 12)))


def test_a_controller_sees_state_and_time_of_its_step():
    model, state = cart_pole(0.05)
    seen = []

    def push(now, time):
        seen.append((time, model.joint(now, "hinge")[0][0]))
        return {"rail": 20.0 * model.joint(now, "hinge")[0][0]}

    motion = dy.simulate(model, state, 0.3, controller=push)
    np.testing.assert_allclose([time for time, _ in seen], motion.time[:-1], atol=1e-14)
    np.testing.assert_allclose([angle for _, angle in seen], motion.joint("hinge")[:-1], atol=1e-14)


def test_a_controller_of_constants_is_the_table_of_them():
    model, state = cart_pole(0.05)
    one = dy.simulate(model, state, 0.3, controller=lambda state, time: [2.0])
    other = dy.simulate(model, state, 0.3, controls=[2.0])
    np.testing.assert_allclose(one.states, other.states, atol=1e-14)


def test_a_linear_feedback_holds_the_pole_upright():
    model, state = cart_pole(0.2)

    def feedback(now, time):
        (y, v), (angle, rate) = (
            (q[0], dq[0]) for q, dq in (model.joint(now, name) for name in ("rail", "hinge"))
        )
        # about x, a positive angle leans to -y
        return [2.0 * y + 4.0 * v - 40.0 * angle - 10.0 * rate]

    motion = dy.simulate(model, state, 10.0, controller=feedback)
    assert abs(motion.joint("hinge")[-1]) < 1e-2


def test_what_a_controller_raises_is_raised():
    model, state = cart_pole()

    def broken(now, time):
        raise LookupError("no plan for this") if time > 0.05 else None
        return [0.0]

    with pytest.raises((LookupError, TypeError)):
        dy.simulate(model, state, 0.3, controller=broken)


@pytest.mark.parametrize(
    "given", [{"controls": [1.0, 2.0]}, {"controls": [np.nan]}, {"wrenches": [1.0]}]
)
def test_inputs_of_another_shape_are_refused(given):
    model, state = cart_pole()
    with pytest.raises(ValueError, match="must be finite"):
        dy.simulate(model, state, 0.1, **given)


@pytest.mark.parametrize("seconds", [-1.0, np.nan, np.inf])
def test_times_that_are_none_are_refused(seconds):
    model, state = cart_pole()
    with pytest.raises(ValueError, match="seconds is"):
        dy.simulate(model, state, seconds)
    with pytest.raises(ValueError, match="every is 0"):
        dy.simulate(model, state, 1.0, every=0)


# Progress, saving


def test_progress_goes_from_nothing_to_all(capsys):
    model, state = double_pendulum()
    parts = []
    dy.simulate(model, state, 5.0, progress=parts.append)
    assert parts == sorted(parts) and parts[-1] == 1.0 and len(parts) > 50
    dy.simulate(model, state, 0.1, progress=True)
    assert "100 %" in capsys.readouterr().out


def test_progress_changes_nothing():
    model, state = double_pendulum()
    quiet = dy.simulate(model, state, 2.0, every=5)
    shown = dy.simulate(model, state, 2.0, every=5, progress=lambda part: None)
    assert np.array_equal(shown.states, quiet.states)


def test_a_trajectory_comes_back_from_its_file(tmp_path):
    model, state = double_pendulum()
    motion = dy.simulate(model, state, 0.5)
    motion.save(tmp_path / "motion.npz")
    back = dy.Trajectory.load(tmp_path / "motion.npz", model)
    np.testing.assert_array_equal(back.states, motion.states)
    np.testing.assert_array_equal(back.energy(), motion.energy())


def test_a_file_of_another_mechanism_is_refused(tmp_path):
    model, state = double_pendulum()
    dy.simulate(model, state, 0.1).save(tmp_path / "motion.npz")
    with pytest.raises(ValueError, match="another mechanism"):
        dy.Trajectory.load(tmp_path / "motion.npz", four_bar()[0])
    (tmp_path / "noise.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match="no trajectory"):
        dy.Trajectory.load(tmp_path / "noise.npz", model)
    with pytest.raises(FileNotFoundError):
        dy.Trajectory.load(tmp_path / "none.npz", model)


# What a trajectory tells


def test_reactions_of_a_hanging_chain_are_the_weights_below():
    model, state = pendulum(3, angles=[np.pi / 2, 0.0, 0.0])
    motion = dy.simulate(model, state, 0.1)
    for i in range(3):
        force = motion.reaction(("joint", i))[-1]
        np.testing.assert_allclose(force[:3], [0.0, 0.0, 9.81 * (3 - i)], atol=1e-8)
        np.testing.assert_allclose(force[3:], 0.0, atol=1e-8)


def test_momentum_and_energy_of_a_trajectory_are_those_of_its_states():
    model, state = double_pendulum()
    motion = dy.simulate(model, state, 0.3)
    for k in (0, 10, 30):
        assert motion.energy()[k] == pytest.approx(model.energy(motion[k]), abs=1e-12)
        v = model.velocities(motion[k])
        np.testing.assert_allclose(motion.momentum()[k, :3], v[:, :3].sum(axis=0), atol=1e-12)


def test_turns_of_a_shaft_are_counted():
    model, state = damped_pendulum(0.0, 0.0)
    model.set_joint(state, "hinge", 0.0, 30.0)  # round and round
    motion = dy.simulate(model, state, 3.0)
    angle = motion.joint("hinge")
    assert angle[-1] > 12.0 * np.pi
    slopes = motion.joint_velocity("hinge")
    np.testing.assert_allclose(np.diff(angle), 0.005 * (slopes[1:] + slopes[:-1]), atol=1e-2)


# Failure


def hopeless():
    """A top that turns more than half a turn even in the smallest interval."""
    return free_top(angular_velocity=(1e6, 2e6, 0.0), timestep=0.01)


def test_a_step_that_fails_names_its_body_and_keeps_the_state():
    model, state = hopeless()
    before = state.data.copy()
    with pytest.raises(dy.ConvergenceError, match="step 0 at 0 s.*'top'") as caught:
        model.step(state)
    np.testing.assert_array_equal(state.data, before)
    assert caught.value.name == "top" and caught.value.residual == caught.value.residual


def test_a_run_that_fails_keeps_the_motion_before():
    model, state = cart_pole()
    blow = np.zeros((20, 12))
    blow[10:, 9] = 1e12  # a torque on the pole that no step can follow
    with pytest.raises(dy.ConvergenceError, match="step 1[01] at") as caught:
        dy.simulate(model, state, 0.2, wrenches=blow)
    kept = caught.value.trajectory
    assert len(kept) in (11, 12) and np.isfinite(kept.states).all()
    np.testing.assert_array_equal(kept.states[:11], dy.simulate(model, state, 0.1).states)


def test_a_start_that_violates_a_joint_names_it():
    model, state = four_bar()
    state.pose[1, 0] += 0.01
    with pytest.raises(dy.InconsistentStateError, match="'crank coupler'|'rocker coupler'"):
        dy.simulate(model, state, 0.1)


def test_a_reaction_is_that_of_a_joint_with_constraints():
    model, state = double_pendulum()
    motion = dy.simulate(model, state, 0.0)
    with pytest.raises(dy.UnknownNameError, match="there is no joint 'knee' with constraints"):
        motion.reaction("knee")


def test_a_state_of_another_model_is_refused():
    model, _ = four_bar()
    with pytest.raises(ValueError, match="another model: it has 60 numbers, this model's have 95"):
        model.step(double_pendulum()[1])
    assert repr(model) == "Model(3 bodies, 20 constraints, 1 loops, timestep 0.01 s)"
    with pytest.raises(ValueError, match="this model's have"):
        dy.simulate(model, double_pendulum()[1], 0.1)
    _, state = four_bar()
    state.pose[0, 0] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        dy.simulate(model, state, 0.1)


def test_a_run_crosses_into_compiled_code_a_few_times(monkeypatch):
    # Portions get longer until each takes about PORTION seconds, after which Ctrl-C is looked for.
    monkeypatch.setattr(interrupts, "PORTION", np.inf)
    model, state = double_pendulum()
    calls = []
    simulate = kernel.simulate
    monkeypatch.setattr(kernel, "simulate", lambda *a: calls.append(1) or simulate(*a))
    dy.simulate(model, state, 100.0)
    assert len(calls) <= 2 + np.log(10_000) / np.log(interrupts.GROWTH)


def test_the_largest_turn_cuts_steps_and_says_so():
    model, state = free_top(angular_velocity=(0.0, 0.0, 40.0), timestep=0.01)
    motion = dy.simulate(model, state, 1.0)
    assert motion.info["intervals"] >= 400  # 0.4 rad a step, at most 0.15 an interval
    uncut, start = free_top(angular_velocity=(0.0, 0.0, 40.0), timestep=0.01, largest_turn=1.0)
    assert dy.simulate(uncut, start, 1.0).info["intervals"] == 100


def test_a_controller_that_returns_nothing_is_refused():
    model, state = two_motors()
    with pytest.raises(ValueError, match="the controller returned None; it must return"):
        dy.simulate(model, state, 0.05, controller=lambda state, time: None)


@pytest.mark.parametrize("controller", [lambda state: 0.0, lambda: 0.0, 3.0])
def test_what_takes_no_state_and_time_is_no_controller(controller):
    model, state = two_motors()
    with pytest.raises(TypeError, match=r"controller must (take \(state, time\)|be a function)"):
        dy.simulate(model, state, 0.05, controller=controller)


@pytest.mark.parametrize("collide", [False, True])
def test_a_controller_of_a_mechanism_without_controls_is_refused(collide):
    mechanism = dy.Mechanism()
    mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=(0, 0, 1))
    if collide:
        mechanism.add_obstacle(dy.HalfSpace(), name="floor")
        mechanism.collide()
    model = mechanism.finalize()
    with pytest.raises(ValueError, match="no joint takes controls, so the controller would not"):
        dy.simulate(model, model.initial_state(), 0.05, controller=lambda state, time: [])
