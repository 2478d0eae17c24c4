"""Many simulations: the same motions wherever they run, and failures that lose nothing."""

import copy
import multiprocessing
import os
import pickle
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import dynamics as dy
from dynamics.kernels.base import layout
from dynamics.studies.jobs import Local
from dynamics.studies.variation import carried
from dynamics.tables.versions import tables_version

from ..mpi import mpiexec


def pendulums(count=256, seconds=0.5):
    """Double pendulums that start with random angles and rates."""
    model, still = dy.zoo.double_pendulum()
    rng = np.random.default_rng(0)
    jobs = []
    for _ in range(count):
        state = still.copy()
        for i in range(2):
            model.set_joint(state, ("joint", i), *rng.normal(size=2))
        jobs.append(dy.Job(state, seconds))
    return model, jobs


def random_pushes(model, rng):
    """A policy: a new force every step."""
    return lambda state, time: rng.normal(size=model.n_controls)


class OddError(Exception):
    """An error of the user's, which unpickling cannot make again."""

    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


def fails_late(state, time):
    if time > 0.095:
        raise OddError("too", "late")
    return [0.0]


def same(results, wanted):
    assert len(results) == len(wanted)
    for one, other in zip(results, wanted):
        assert str(one.error) == str(other.error)
        assert type(one.error) is type(other.error)
        assert (one.trajectory is None) == (other.trajectory is None)
        if one.trajectory is not None:
            assert np.array_equal(one.trajectory.states, other.trajectory.states)
            assert np.array_equal(one.trajectory.time, other.trajectory.time)


@pytest.fixture(scope="module")
def processes():
    """Two processes that import everything anew, as a cluster's do."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def mixed(count=12):
    """Good jobs, ones with other numbers and random forces, and ones that fail in every way."""
    model, still = dy.zoo.cart_pole(0.2)
    open_ = still.copy()
    open_.pose[1, 2] += 0.1
    storm = np.zeros((30, 1))
    storm[20:] = 1e200
    jobs = []
    for i in range(count):
        jobs.append(dy.Job(still, 0.3, policy=random_pushes))
        jobs.append(dy.Job(still, 0.3, parameters={"pole": {"mass": 0.1 + 0.1 * i}}))
    jobs[3:3] = [dy.Job(open_, 0.3), dy.Job(still, 0.3, controls=storm)]
    jobs[9:9] = [
        dy.Job(still, 0.3, controller=fails_late),
        dy.Job(still, 0.3, parameters={"pole": {"mass": -1.0}}),
        dy.Job(still, -1.0),
    ]
    return model, jobs


def test_256_double_pendulums_move_alike_in_threads_and_processes(processes):
    model, jobs = pendulums()

    alone = dy.rollouts(model, jobs, threads=1)

    assert all(result.ok for result in alone)
    for i in (0, 255):
        motion = dy.simulate(model, jobs[i].state, jobs[i].seconds)
        assert np.array_equal(alone[i].trajectory.states, motion.states)
    same(dy.rollouts(model, jobs), alone)
    same(dy.rollouts(model, jobs, threads=3), alone)
    same(dy.rollouts(model, jobs, processes), alone)


def test_jobs_that_begin_within_a_motion_are_the_same_wherever_they_run(processes):
    mechanism = dy.Mechanism()
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    for k in range(2):
        box = dy.Box(0.2, 0.2, 0.1, mass=1.0)
        mechanism.add_body(box, name=k, position=(0.01 * k, 0.0, 0.06 + 0.11 * k))
    mechanism.collide()
    boxes = mechanism.finalize(0.01)
    for model, state in (dy.zoo.double_pendulum(), (boxes, boxes.initial_state())):
        jobs = [dy.Job(dy.simulate(model, state, 0.5).final, 0.5)]

        alone = dy.rollouts(model, jobs, threads=1)

        same(dy.rollouts(model, jobs, processes), alone)
        assert alone[0].job.state.memory is jobs[0].state.memory


def test_failures_are_values_and_lose_nothing(processes):
    model, jobs = mixed()

    alone = dy.rollouts(model, jobs, threads=1)

    wrong = {i: result for i, result in enumerate(alone) if not result.ok}
    assert list(wrong) == [3, 4, 9, 10, 11]
    assert isinstance(wrong[3].error, dy.InconsistentStateError)
    assert wrong[3].trajectory is None
    assert isinstance(wrong[4].error, dy.ConvergenceError)
    assert wrong[4].error.step == 20
    assert len(wrong[4].trajectory) == 21
    assert str(wrong[9].error) == "OddError: too late"
    assert len(wrong[9].trajectory) == 11
    assert isinstance(wrong[10].error, ValueError)
    assert "seconds is -1.0" in str(wrong[11].error)
    same(dy.rollouts(model, jobs, threads=2), alone)
    same(dy.rollouts(model, jobs, processes), alone)


def test_random_numbers_belong_to_the_job_not_to_the_worker():
    model, jobs = mixed()
    pushed = [i for i, job in enumerate(jobs) if job.policy]

    one = dy.rollouts(model, jobs, threads=1, seed=1)
    two = dy.rollouts(model, jobs, threads=2, seed=1)
    other = dy.rollouts(model, jobs, threads=1, seed=2)

    assert np.array_equal(one[pushed[0]].trajectory.states, two[pushed[0]].trajectory.states)
    assert not np.array_equal(one[pushed[0]].trajectory.states, other[pushed[0]].trajectory.states)
    ends = {one[i].trajectory.states[-1].tobytes() for i in pushed}
    assert len(ends) == len(pushed)
    fixed = [dy.Job(jobs[0].state, 0.1, policy=random_pushes, seed=7) for _ in range(2)]
    twins = dy.rollouts(model, fixed, threads=1)
    assert np.array_equal(twins[0].trajectory.states, twins[1].trajectory.states)


def test_other_numbers_are_those_of_a_mechanism_that_was_built_with_them():
    model, state = dy.zoo.cart_pole(0.4, pole_mass=0.2)
    wanted, start = dy.zoo.cart_pole(0.4, pole_mass=0.7)

    result = dy.rollouts(model, [dy.Job(state, 1.0, parameters={"pole": {"mass": 0.7}})])[0]

    motion = dy.simulate(wanted, start, 1.0)
    assert np.array_equal(result.trajectory.states, motion.states)
    assert np.array_equal(result.trajectory.energy(), motion.energy())


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_make_the_variant_of_a_job_once(threads, monkeypatch):
    model, state = dy.zoo.cart_pole()
    made = []

    def counted(*given):
        made.append(dy.variant(*given))
        return made[-1]

    monkeypatch.setattr("dynamics.studies.jobs.variant", counted)
    jobs = [dy.Job(state, 0.1, parameters={"pole": {"mass": 0.1 + 0.1 * i}}) for i in range(4)]
    results = dy.rollouts(model, jobs, threads=threads)
    assert len(made) == 4
    for job, result in zip(jobs, results):
        alone = dy.variant(model, job.parameters)
        start = carried(model, state, alone)
        expected = dy.simulate(alone, start, 0.1)
        assert (result.trajectory.model.tables.constant == alone.tables.constant).all()
        assert (result.trajectory.states == expected.states).all()
        assert (result.trajectory.energy() == expected.energy()).all()
        assert all(result.trajectory.model is not one for one in made)  # which hold work arrays


def test_a_variant_stays_in_its_process():
    model, _ = dy.zoo.cart_pole()
    assert pickle.loads(pickle.dumps(Local(model))).model is None


def test_a_variant_shares_the_graph_while_its_pattern_stays():
    model, state = dy.zoo.damped_pendulum()
    name = next(iter(model.mechanism.joints))

    stiff = dy.variant(model, {name: {"stiffness": 3.0}, "gravity": [0.0, 0.0, -1.0]})
    heavy = dy.variant(model, {next(iter(model.mechanism.bodies)): {"mass": 3.0}})

    assert heavy.symbolic is model.symbolic
    assert stiff.symbolic is not model.symbolic
    assert np.array_equal(stiff.mechanism.gravity, [0.0, 0.0, -1.0])
    assert model.mechanism.gravity[2] != -1.0
    here, there = model.velocities(state), heavy.velocities(carried(model, state, heavy))
    assert np.abs(here - there).max() < 1e-14


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"nobody": {"mass": 1.0}}, "there is no body, joint, spring or contact 'nobody'"),
        ({"pole": {"weight": 1.0}}, "'pole' has no number 'weight'; it has"),
        ({"pole": 2.0}, "parameters of 'pole' must be a mapping"),
        ({"pole": {"mass": 0.0}}, "mass of body 'pole' is 0.0"),
        ({"hinge": {"damping": -1.0}}, "damping of joint 'hinge' is negative"),
        ({"hinge": {"stiffness": np.nan}}, "stiffness of joint 'hinge' must be"),
    ],
)
def test_numbers_that_nothing_has_are_refused(parameters, message):
    model, _ = dy.zoo.cart_pole()

    with pytest.raises((ValueError, dy.UnknownNameError), match=message):
        dy.variant(model, parameters)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"controls": {"rial": 1.0}}, "job 1: 'rial' is not actuated; actuated are"),
        ({"wrenches": {"cat": np.zeros(6)}}, "job 1: there is no body 'cat'; bodies are"),
        ({"parameters": {"pol": {"mass": 1.0}}}, "job 1: there is no body, joint, spring or con"),
    ],
)
def test_names_that_nothing_has_are_told_before_anything_runs(options, message):
    model, state = dy.zoo.cart_pole()
    ran = []
    jobs = [dy.Job(state, 0.1, controller=lambda state, time: ran.append(time) or [0.0])]
    with pytest.raises(dy.UnknownNameError, match=message):
        dy.rollouts(model, [*jobs, dy.Job(state, 0.1, **options)])
    assert not ran
    whole = {"gravity": (0, 0, -1.0), "pole": {"mass": 0.3}, "hinge": {"damping": 0.1}}
    good = dy.Job(state, 0.1, controls={"rail": 1.0}, parameters=whole)
    assert dy.rollouts(model, [good])[0].ok


def test_one_job_is_no_list_and_results_are_short_in_print():
    model, state = dy.zoo.cart_pole()
    with pytest.raises(TypeError, match="jobs is one job; give a list"):
        dy.rollouts(model, dy.Job(state, 0.1))
    fine, late = dy.rollouts(
        model, [dy.Job(state, 0.1), dy.Job(state, 0.2, controller=fails_late)], threads=1
    )
    assert repr(fine) == f"Rollout({fine.trajectory!r})"
    assert repr(late) == "Rollout(failed: RuntimeError: OddError: too late)"


def test_progress_is_told_and_no_jobs_are_no_trouble():
    model, jobs = pendulums(10, 0.02)
    seen = []

    dy.rollouts(model, jobs, threads=2, progress=seen.append)

    assert seen[-1] == 1.0 and seen == sorted(seen)
    assert dy.rollouts(model, []) == []
    with pytest.raises(ValueError, match="threads is 0"):
        dy.rollouts(model, jobs, threads=0)


class Dying(Executor):
    """Loses its workers after a few parcels."""

    def __init__(self):
        self.left = 3

    def submit(self, function, /, *args, **kwargs):
        self.left -= 1
        future = Future()
        if self.left == 0:
            future.set_exception(OSError("the worker died"))
        elif self.left < 0:
            raise RuntimeError("cannot schedule new futures after shutdown")
        else:
            future.set_result(function(*args))
        return future


def test_workers_that_die_leave_the_results_of_the_others():
    model, jobs = pendulums(64, 0.02)

    results = dy.rollouts(model, jobs, Dying())

    assert len(results) == 64
    first = [result.ok for result in results].index(False)
    assert first > 0
    assert str(results[first].error) == "the worker died"
    assert "cannot schedule" in str(results[-1].error)


def hangs_down(time, state):
    return state.pose[0, 4:].sum()  # of the quaternion of a turn about one axis


hangs_down.terminal = 2


def test_events_and_accuracy_of_jobs_are_those_of_simulate(processes):
    model, jobs = pendulums(3, 1.0)
    events, found = {"down": hangs_down}, []
    jobs = [dy.Job(job.state, 1.0, accuracy=1e-4, events=events) for job in jobs]
    for results in (dy.rollouts(model, jobs, threads=2), dy.rollouts(model, jobs, processes)):
        for job, result in zip(jobs, results):
            alone = dy.simulate(model, job.state, 1.0, accuracy=1e-4, events=events)
            assert np.array_equal(result.trajectory.states, alone.states)
            assert [e[:3] for e in result.trajectory.events] == [e[:3] for e in alone.events]
            found += result.trajectory.events
    assert found and all(isinstance(event, dy.Event) for event in found)


def test_any_pool_of_threads_will_do():
    model, jobs = pendulums(8, 0.1)

    with ThreadPoolExecutor(2) as pool:
        same(dy.rollouts(model, jobs, pool), dy.rollouts(model, jobs, threads=1))


def test_python_controllers_measure_in_threads_without_disturbing_each_other():
    model, upright = dy.zoo.cart_pole(0.0)
    feedback = dy.lqr(model, upright, 1.0, 0.1)
    jobs = []
    for angle in np.linspace(-0.4, 0.4, 16):
        state = upright.copy()
        model.set_joint(state, "hinge", angle)
        jobs.append(dy.Job(state, 1.0, controller=feedback))

    same(dy.rollouts(model, jobs, threads=4), dy.rollouts(model, jobs, threads=1))


@pytest.mark.parametrize("order", [2, 4])
def test_models_states_and_tables_pickle(order):
    model, state = dy.zoo.double_pendulum(order=order)

    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(other.step(state)[0].data, model.step(state)[0].data)
        assert not other.tables.plan.flags.writeable
    again = pickle.loads(pickle.dumps(state))
    assert np.array_equal(again.data, state.data) and again.time == state.time
    again.pose[0, 0] = 7.0
    assert again.data[0] == 7.0


def test_models_of_another_version_are_refused(monkeypatch):
    model, _ = dy.zoo.double_pendulum()
    new = pickle.dumps(model)
    make, (stored, checksum, _) = model.tables.__reduce__()

    with pytest.raises(ValueError, match="another version of dynamics"):
        make(stored, checksum)  # as those wrote it that knew no version
    with pytest.raises(ValueError, match="another version of dynamics"):
        make(stored[:-1], checksum, tables_version())
    monkeypatch.setattr(layout, "HEADER", layout.HEADER + 1)
    tables_version.cache_clear()
    try:
        with pytest.raises(ValueError, match=r"another version .* finalize it again"):
            pickle.loads(new)
    finally:
        monkeypatch.undo()
        tables_version.cache_clear()
    pickle.loads(new)


def custom():
    """A model with a user's constraint."""
    mechanism = dy.Mechanism()
    body = mechanism.add_body(mass=1.0, inertia=[0.1, 0.1, 0.1], name="body")

    def plane(a, b):
        slope = np.zeros((1, 12))
        slope[0, 8] = 1.0
        return b[2:3], slope

    mechanism.add_joint(dy.Custom(mechanism.world, body, plane, 1, name="plane"))
    return mechanism.finalize()


def test_a_user_s_function_cannot_leave_its_process(processes):
    model = custom()
    job = dy.Job(model.initial_state(), 0.05)

    with pytest.raises(TypeError, match="'plane' has a Python function .* cannot be pickled"):
        pickle.dumps(model)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(model.tables)
    with pytest.raises(TypeError, match="cannot be pickled"):
        dy.rollouts(model, [job], processes)
    assert dy.rollouts(model, [job, job], threads=2)[1].ok


@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_gives_the_same_results():
    distributed = pytest.importorskip("distributed")
    model, jobs = mixed(6)
    alone = dy.rollouts(model, jobs, threads=1)

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        results = dy.rollouts(model, jobs, executor)

    same(results, alone)


def test_workers_of_mpi_give_the_same_results():
    pytest.importorskip("mpi4py")
    script = Path(__file__).with_name("mpi_rollouts.py")

    # one process hands out, two work; the job of mass 0 fails on both sides alike
    assert mpiexec(3, "-m", "mpi4py.futures", script) == "same 6 failed [0]\n"


def dies(state, time):
    os._exit(3)


def test_a_process_that_dies_is_an_error_of_its_jobs():
    model, still = dy.zoo.cart_pole(0.2)
    jobs = [dy.Job(still, 0.02), dy.Job(still, 0.02, controller=dies)]

    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        results = dy.rollouts(model, jobs, pool)

    assert len(results) == 2
    assert not results[1].ok
    assert "terminated abruptly" in str(results[1].error)


@pytest.mark.parametrize("lanes", [False, True])
def test_the_first_state_keeps_the_controls_that_led_to_it(lanes):
    model, still = dy.zoo.cart_pole()
    state, _ = model.step(still, [0.5])
    results = dy.rollouts(model, [dy.Job(state, 0.1) for _ in range(2)], threads=1, lanes=lanes)
    for result in results:
        assert np.array_equal(result.trajectory[0].controls, state.controls)
