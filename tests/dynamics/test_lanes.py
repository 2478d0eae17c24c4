"""Eight simulations in the lanes of vector registers: the motions of single ones."""

import pickle
import threading
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import dynamics as dy
from dynamics.kernels.base import layout
from dynamics.kernels.base.jit import CHECKED, bind_all
from dynamics.kernels.base.lanes import LANES
from dynamics.kinematics.lane_runs import LaneRuns, check_lanes
from dynamics.studies.jobs import run_parcel

compiled = pytest.mark.skipif(CHECKED, reason="lanes need compiled kernels")


def poses(result, model):
    return result.trajectory.states[:, : layout.POSE * model.n_bodies]


def both(model, jobs, tolerance, **options):
    """Results in lanes, which are those of single simulations but for rounding."""
    lanes = dy.rollouts(model, jobs, threads=1, lanes=True, **options)
    for one, other in zip(lanes, dy.rollouts(model, jobs, threads=1)):
        assert str(one.error) == str(other.error)
        assert np.allclose(one.trajectory.time, other.trajectory.time, rtol=0, atol=1e-12)
        difference = np.abs(poses(one, model) - poses(other, model)).max()
        assert difference < tolerance, difference
        intervals = one.trajectory.intervals, other.trajectory.intervals
        assert np.array_equal(*intervals)
    return lanes


def pendulums(count, seconds=0.5, every=1):
    """Double pendulums with other angles and rates."""
    model, still = dy.zoo.double_pendulum()
    rng, jobs = np.random.default_rng(0), []
    for _ in range(count):
        state = still.copy()
        for i in range(2):
            model.set_joint(state, ("joint", i), *rng.normal(size=2))
        jobs.append(dy.Job(state, seconds, every=every))
    return model, jobs


@pytest.fixture
def taken(monkeypatch):
    """Steps that were taken in lanes, group after group."""
    counts, advance = [], LaneRuns.advance

    def counted(self, *arguments):
        advance(self, *arguments)
        counts.append(self.together)

    monkeypatch.setattr(LaneRuns, "advance", counted)
    return counts


@compiled
def test_a_group_moves_as_single_simulations_do(taken):
    model, jobs = pendulums(8)
    both(model, jobs, 1e-10)
    assert taken == [50]


@compiled
def test_jobs_that_fill_no_group_are_simulated_too(taken):
    model, jobs = pendulums(11)
    both(model, jobs, 1e-10)
    assert len(taken) == 2  # eight, and three with others in their lanes


def test_records_follow_each_other_by_any_number_of_steps(monkeypatch):
    model, jobs = pendulums(3)
    size = jobs[0].state.data.size
    monkeypatch.setattr("dynamics.kinematics.lane_runs.PORTION", 8 * size * 10)  # 10 steps
    motion = dy.rollouts(model, [dy.Job(job.state, 2.1, every=7) for job in jobs], lanes=True)
    whole = dy.rollouts(model, [dy.Job(job.state, 2.1) for job in jobs], lanes=True)
    for one, other in zip(motion, whole):
        assert np.array_equal(one.trajectory.states, other.trajectory.states[::7])


def test_controls_and_wrenches_of_each_simulation():
    model, still = dy.zoo.cart_pole(0.2)
    rng, jobs = np.random.default_rng(1), []
    for i in range(8):
        steps = (
            rng.normal(size=(50, model.n_controls)) if i % 2 else rng.normal(size=model.n_controls)
        )
        push = {"pole": rng.normal(size=6)} if i % 3 == 0 else None
        jobs.append(dy.Job(still, 0.5, controls=steps, wrenches=push))
    results = both(model, jobs, 1e-10)
    ends = np.array([poses(result, model)[-1] for result in results])
    assert len(np.unique(ends, axis=0)) == 8


@pytest.mark.parametrize(
    "made",
    [
        lambda: dy.zoo.four_bar(),
        lambda: dy.zoo.screw_press(),
        lambda: dy.zoo.free_top(),
        lambda: dy.zoo.exoskeleton(),
        lambda: dy.zoo.shafts(),
    ],
    ids=["loop", "helical", "free", "two loops", "shafts"],
)
def test_mechanisms(made):
    model, state = made()
    rng, jobs = np.random.default_rng(2), []
    for _ in range(8):
        controls = 0.1 * rng.normal(size=model.n_controls)
        jobs.append(dy.Job(state, 40 * model.timestep, controls=controls))
    both(model, jobs, 1e-8)


def ball(height, restitution=0.0):
    mech = dy.Mechanism()
    body = mech.add_body(dy.Sphere(0.1, mass=1.0), name="ball")
    mech.add_contact(body, friction=0.5, restitution=restitution)
    model = mech.finalize(0.01)
    state = model.initial_state()
    model.set_body(state, "ball", position=(0.0, 0.0, height), velocity=(0.3, 0.0, 0.0))
    return model, state


@compiled
def test_contacts_are_solved_one_simulation_after_another(taken):
    model, _ = ball(1.0)
    jobs = [dy.Job(ball(0.3 + 0.05 * i)[1], 0.6) for i in range(8)]
    results = both(model, jobs, 1e-9)
    assert 0 < taken[0] < 60  # in lanes until the first one is near the floor
    lowest = [poses(result, model)[:, 2].min() for result in results]
    assert min(lowest) > 0.1 - 1e-6


def test_a_contact_at_the_start_acts():
    model, state = ball(0.1)
    both(model, [dy.Job(state, 0.1) for _ in range(8)], 1e-9)


def test_limits_and_rate_limits_hold():
    mech = dy.Mechanism(gravity=(0, 0, 0))
    body = mech.add_body(dy.Box(0.1, 0.1, 0.1, mass=1.0), name="slider")
    slide = dy.Prismatic(
        mech.world, body, (1, 0, 0), name="slide", limits=(-1.0, 0.2), velocity_limits=(-1.0, 1.0),
        actuated=True,
    )  # fmt: skip
    mech.add_joint(slide)
    model = mech.finalize(0.01)
    state = model.initial_state()
    jobs = [dy.Job(state, 0.5, controls=[force]) for force in np.linspace(-3.0, 8.0, 8)]
    for result in both(model, jobs, 1e-7):
        way = result.trajectory.joint("slide")
        assert way.max() < 0.2 + 1e-6
        assert np.abs(np.diff(way)).max() < 0.01 * (1.0 + 1e-6)


def test_a_simulation_that_fails_leaves_the_others_alone():
    model, jobs = pendulums(8)
    storm = np.zeros((50, 12))
    storm[20:] = 1e200
    jobs[3] = dy.Job(jobs[3].state, 0.5, wrenches=storm)
    results = dy.rollouts(model, jobs, threads=1, lanes=True)
    wanted = dy.rollouts(model, jobs, threads=1)
    assert [result.ok for result in results] == [i != 3 for i in range(8)]
    assert type(results[3].error) is type(wanted[3].error)
    assert len(results[3].trajectory) == 21
    for one, other in zip(results, wanted):
        assert np.abs(poses(one, model) - poses(other, model)).max() < 1e-9


def test_other_jobs_run_as_ever():
    model, still = dy.zoo.cart_pole(0.2)
    jobs = [dy.Job(still, 0.1, controller=lambda state, time: [time]) for _ in range(2)]
    jobs += [dy.Job(still, 0.1, parameters={"gravity": (0, 0, -1.0)}), dy.Job(still, 0.2)]
    for one, other in zip(
        dy.rollouts(model, jobs, lanes=True), dy.rollouts(model, jobs), strict=True
    ):
        assert np.array_equal(one.trajectory.states, other.trajectory.states)


def test_threads_and_processes_have_the_same_lanes():
    model, jobs = pendulums(20, seconds=0.1)
    wanted = dy.rollouts(model, jobs, threads=1, lanes=True)
    with ProcessPoolExecutor(1) as pool:
        for results in (
            dy.rollouts(model, jobs, threads=2, lanes=True),
            dy.rollouts(model, jobs, pool, lanes=True),
        ):
            for one, other in zip(results, wanted, strict=True):
                assert np.array_equal(one.trajectory.states, other.trajectory.states)


def test_a_start_that_is_refused_leaves_the_others_alone():
    model, jobs = pendulums(8)
    apart = jobs[5].state.copy()
    apart.pose[1, 0] += 0.1
    jobs[5] = dy.Job(apart, 0.5)
    results = dy.rollouts(model, jobs, threads=1, lanes=True)
    assert [result.ok for result in results] == [i != 5 for i in range(8)]
    assert isinstance(results[5].error, dy.InconsistentStateError)


@compiled
def test_an_interrupt_keeps_what_is_done(monkeypatch):
    model, jobs = pendulums(8, seconds=5.0)
    looks = []

    def advance(self, steps, look):
        def interrupted():
            looks.append(1)
            if len(looks) == 2:
                raise KeyboardInterrupt
            look()

        whole(self, steps, interrupted)

    whole = LaneRuns.advance
    monkeypatch.setattr(LaneRuns, "advance", advance)
    monkeypatch.setattr("dynamics.kinematics.lane_runs.PORTION", 8 * jobs[0].state.data.size * 100)
    with pytest.raises(KeyboardInterrupt) as error:
        dy.rollouts(model, jobs, threads=1, lanes=True)
    results = error.value.rollouts
    assert len(results) == 8
    assert [(len(result.trajectory), result.ok) for result in results] == 8 * [(201, False)]


def test_models_that_have_no_lanes_are_refused():
    mech = dy.Mechanism()
    mech.add_body(dy.Sphere(0.1, mass=1.0), name="ball")
    two = mech.copy()
    two.add_body(dy.Sphere(0.1, mass=1.0), name="another")
    two.collide()
    found = two.finalize(0.01, contacts="auto")
    with pytest.raises(ValueError, match="finds its contacts"):
        dy.rollouts(found, [dy.Job(found.initial_state(), 0.1)], lanes=True)
    for options in ({"order": 4}, {"form": "first order"}):
        made = mech.finalize(0.01, **options)
        with pytest.raises(ValueError, match="of another order"):
            dy.rollouts(made, [dy.Job(made.initial_state(), 0.1)], lanes=True)
    check_lanes(dy.zoo.double_pendulum()[0])


@compiled
def test_threads_stop_by_an_event():
    model, jobs = pendulums(8, seconds=5.0)
    stop = threading.Event()
    stop.set()
    found = run_parcel(model, [(job, [0]) for job in jobs], stop, True)
    assert len(found) == LANES
    assert all(str(error).startswith("interrupted") for error, _ in found)


def balance():
    """A task without noise of starts but in its actions."""
    model, _ = dy.zoo.cart_pole()
    return dy.gym.Task(
        model,
        reward=lambda q, rate, action: 1.0 - q[1] ** 2,
        terminated=lambda q, rate: abs(q[1]) > 0.5,
        most=10.0,
        skip=2,
        noise=0.1,
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_environments_in_lanes_are_those_without(threads):
    pytest.importorskip("gymnasium")
    plain = dy.gym.MechanismVectorEnv(balance(), 11)
    lanes = dy.gym.MechanismVectorEnv(balance(), 11, threads, lanes=True)
    assert np.array_equal(plain.reset(seed=0)[0], lanes.reset(seed=0)[0])
    rng, ended = np.random.default_rng(0), 0
    for _ in range(60):
        actions = rng.uniform(-1.0, 1.0, size=plain.action_space.shape)
        wanted, found = plain.step(actions), lanes.step(actions)
        np.testing.assert_allclose(found[0], wanted[0], rtol=0, atol=1e-5)  # of float32
        np.testing.assert_allclose(found[1], wanted[1], rtol=0, atol=1e-6)
        assert np.array_equal(found[2], wanted[2])
        assert np.array_equal(found[4]["failed"], wanted[4]["failed"])
        ended += found[2].sum()
    assert ended > 0  # episodes began anew
    lanes.close()


def test_copies_of_environments_in_lanes_go_on():
    pytest.importorskip("gymnasium")
    model, _ = dy.zoo.exoskeleton()
    env = dy.gym.MechanismVectorEnv(dy.gym.Task(model, nothing, noise=0.0, skip=2), 3, lanes=True)
    env.reset(seed=0)
    actions = np.full(env.action_space.shape, 0.01)
    env.step(actions)
    other = pickle.loads(pickle.dumps(env))
    for one, two in zip(env.step(actions)[:4], other.step(actions)[:4]):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-6)


def nothing(q, rate, action):
    return 0.0


def test_an_environment_that_fails_begins_anew_and_the_others_go_on():
    pytest.importorskip("gymnasium")
    model, _ = dy.zoo.cart_pole()
    task = dy.gym.Task(model, nothing, most=1e200)
    env = dy.gym.MechanismVectorEnv(task, 4, lanes=True)
    env.reset(seed=0)
    actions = np.zeros(env.action_space.shape)
    actions[2] = 1.0
    failed = env.step(actions)[4]["failed"]
    assert failed.tolist() == [False, False, True, False]
    seen, _, ended, _, info = env.step(np.zeros_like(actions))
    assert not info["failed"].any()
    assert not ended.any()
    assert np.isfinite(seen).all()


def test_environments_of_models_that_have_no_lanes_are_refused():
    pytest.importorskip("gymnasium")
    model, _ = dy.zoo.cart_pole()
    other = model.mechanism.finalize(model.timestep, order=4)
    with pytest.raises(ValueError, match="another order"):
        dy.gym.MechanismVectorEnv(dy.gym.Task(other, nothing), 8, lanes=True)


@compiled
def test_all_kernels_of_a_step_compile_for_lanes():
    model, jobs = pendulums(8)
    dy.rollouts(model, jobs, threads=1, lanes=True)
    bind_all()  # also what this model does not need: springs, tendons, loops
