"""Gymnasium environments: its own checks, and the same motions as `simulate`."""

import copy
import pickle

import numpy as np
import pytest

import dynamics as dy
import graphsys as gs
from dynamics.kinematics.coordinates import set_joints
from dynamics.kinematics.joint_space import JointSpace

gymnasium = pytest.importorskip("gymnasium")


def reward(q, rate, action):
    return 1.0 - q[1] ** 2 - 0.01 * action[0] ** 2


def fallen(q, rate):
    return abs(q[1]) > 0.5


def balance(**options):
    """The cart-pole, to be kept upright."""
    model, _ = dy.zoo.cart_pole()
    return dy.gym.Task(model, reward, terminated=fallen, most=10.0, skip=2, **options)


@pytest.mark.filterwarnings("ignore:.*infinity")
def test_gymnasium_finds_nothing_wrong():
    from gymnasium.utils.env_checker import check_env

    check_env(dy.gym.MechanismEnv(balance()), skip_render_check=True)


def test_steps_are_those_of_the_model():
    task = balance(noise=0.1)
    env = dy.gym.MechanismEnv(task)
    seen, _ = env.reset(seed=3)
    state = env.state
    assert 0.0 < np.abs(seen).max() <= 0.1

    for _ in range(5):
        seen, gained, over, late, info = env.step(np.array([0.25], np.float32))

    end = dy.simulate(task.model, state, 0.1, controls=[2.5]).final
    # A run guesses from one interval more: within tolerance, 1e-10, of impulses over h, and room.
    np.testing.assert_allclose(env.state.pose, end.pose, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(env.state.data, end.data, rtol=0.0, atol=1e-6)
    q, rate = task.space.read(env.state)
    assert np.array_equal(seen, np.concatenate([q, rate]).astype(np.float32))
    assert gained == reward(q, rate, [0.25])
    assert not (over or late or info["failed"])


def test_a_task_finds_its_contacts():
    mech = dy.Mechanism()
    body = mech.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=(0, 0, 0.2))
    mech.add_joint(dy.Prismatic(mech.world, body, (0, 0, 1), name="lift", actuated=True))
    mech.add_obstacle(dy.HalfSpace(), name="floor")
    mech.collide()
    model = mech.finalize(0.01)
    env = dy.gym.MechanismEnv(dy.gym.Task(model, lambda q, rate, action: 0.0, skip=5))
    env.reset(seed=0)
    for _ in range(10):
        env.step(np.array([0.0], np.float32))

    end = dy.simulate(model, model.initial_state(), 0.5).final
    np.testing.assert_allclose(env.state.pose, end.pose, rtol=0.0, atol=1e-6)
    assert env.state.pose[0, 2] == pytest.approx(0.1, abs=1e-4)


def lifted(collide, **options):
    """A ball on a rotor's axis over a floor, which a model finds or is given."""
    mech = dy.Mechanism()
    ball = mech.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=(0, 0, 0.2))
    mech.add_joint(
        dy.Prismatic(mech.world, ball, (0, 0, 1), name="lift", actuated=True, armature=0.3)
    )
    if collide:
        mech.add_obstacle(dy.HalfSpace(), name="floor")
        mech.collide()
    else:
        mech.add_contact(ball, name="floor")
    model = mech.finalize(0.01, **options)
    return dy.gym.Task(model, lambda q, rate, action: 0.0, skip=5, noise=0.0)


ACTIONS = np.array([[0.5], [-1.0], [0.25], [0.0], [3.0]], np.float32)


@pytest.mark.parametrize("collide", [True, False])
def test_actions_go_on_where_the_one_before_ended(collide):
    """A task moves as one run does, bit by bit, though another uses its workspace in between."""
    task = lifted(collide)
    env, other = dy.gym.MechanismEnv(task), dy.gym.MechanismEnv(task)
    env.reset(seed=0)
    other.reset(seed=0)
    for action in ACTIONS:
        seen = env.step(action)[0]
        other.step(-action)

    controls = np.clip(np.repeat(ACTIONS, 5, axis=0), -1.0, 1.0)
    whole = dy.simulate(task.model, task.start, 0.25, controls=controls)
    assert np.array_equal(env.state.data, whole.final.data)
    at = np.concatenate(task.space.read(env.state))
    assert np.array_equal(seen, at.astype(np.float32))


@pytest.mark.parametrize("collide", [True, False])
@pytest.mark.parametrize("senses", [True, False])
def test_what_stands_is_observed_at_rest(collide, senses):
    """Half of a step's fall would be 0.049 m/s."""
    task = lifted(collide)
    if senses:
        sensors = dy.Sensors(task.model, [dy.FrameSensor("ball", quantities="velocity")])
        task = dy.gym.Task(task.model, lambda q, rate, action: 0.0, skip=5, sensors=sensors)
    env, many = dy.gym.MechanismEnv(task), dy.gym.MechanismVectorEnv(task, 2)
    env.reset(seed=0)
    many.reset(seed=0)
    for _ in range(40):
        seen = env.step(np.zeros(1, np.float32))[0]
        both = many.step(np.zeros((2, 1), np.float32))[0]

    assert np.abs(seen[1:]).max() < 1e-6
    assert np.array_equal(both, [seen, seen])
    state = env.state
    assert abs(task.space.read(state)[1][0]) < 1e-6
    assert np.abs(dy.Kinematics(task.model).velocities(state)).max() < 1e-6
    assert state.time == pytest.approx(2.0)


@pytest.mark.parametrize("collide", [True, False])
def test_copies_of_an_environment_go_on_from_the_same_state(collide):
    env = dy.gym.MechanismEnv(lifted(collide))
    env.reset(seed=0)
    env.step(ACTIONS[0])
    other = copy.deepcopy(env)
    one, two = (each.step(ACTIONS[1])[0] for each in (env, other))

    # Another guess: within tolerance, 1e-10, of impulses over h, and room.
    np.testing.assert_allclose(one, two, rtol=0.0, atol=1e-6)
    assert other._states is not env._states


@pytest.mark.parametrize("options", [{"form": "first order"}, {"order": 4}])
def test_actions_of_other_forms_and_orders_go_on_too(options):
    model = dy.zoo.cart_pole()[0].mechanism.copy().finalize(0.01, **options)
    task = dy.gym.Task(model, reward, skip=5, noise=0.0)
    env, other = dy.gym.MechanismEnv(task), dy.gym.MechanismEnv(task)
    env.reset(seed=0)
    other.reset(seed=0)
    for action in ACTIONS:
        env.step(action)
        other.step(-action)

    controls = np.clip(np.repeat(ACTIONS, 5, axis=0), -1.0, 1.0)
    whole = dy.simulate(model, task.start, 0.25, controls=controls)
    # Half kicks taken off and put on again: rounding
    np.testing.assert_allclose(env.state.data, whole.final.data, rtol=0.0, atol=1e-12)


def test_episodes_end_by_falling_and_by_time():
    env = dy.gym.MechanismEnv(balance(seconds=0.1))
    env.reset(seed=0)
    assert [env.step(env.action_space.low)[3] for _ in range(5)] == [False] * 4 + [True]
    env = dy.gym.MechanismEnv(balance())
    env.reset(seed=0)
    ends = [env.step(env.action_space.low)[2] for _ in range(100)]
    assert ends.index(True) < 60


def test_a_step_that_cannot_be_solved_ends_the_episode():
    model, _ = dy.zoo.cart_pole()
    env = dy.gym.MechanismEnv(dy.gym.Task(model, reward, most=1e200))
    env.reset(seed=0)

    seen, _, over, _, info = env.step(np.array([1.0], np.float32))

    assert over and info["failed"]
    assert np.isfinite(seen).all()


def test_a_step_that_cannot_be_solved_ends_the_episode_where_contacts_are_found():
    mech = dy.Mechanism()
    ball = mech.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=(0, 0, 0.2))
    mech.add_joint(dy.Prismatic(mech.world, ball, (0, 0, 1), name="lift", actuated=True))
    mech.add_obstacle(dy.HalfSpace(), name="floor")
    mech.collide()
    env = dy.gym.MechanismEnv(
        dy.gym.Task(mech.finalize(0.01), reward=lambda q, rate, action: 0.0, most=1e200, noise=0.0)
    )
    env.reset(seed=0)
    before = env.state.data

    seen, _, over, _, info = env.step(np.array([1.0], np.float32))

    assert over and info["failed"]
    assert np.isfinite(seen).all()
    assert np.array_equal(env.state.data, before)


def test_joints_placed_at_once_are_where_each_alone_would_be():
    mech = dy.Mechanism()
    parent = mech.world
    for i in range(4):
        body = mech.add_body(dy.Box(0.1, 0.1, 0.4, mass=1.0), name=i, position=(0, 0, -0.5 * i))
        axis = (1, 0, 0) if i % 2 else (0, 1, 0)
        mech.add_joint(dy.Revolute(parent, body, axis, name=("joint", i), armature=0.1))
        parent = body
    model = mech.finalize(0.01)
    space = JointSpace(model)
    rng = np.random.default_rng(0)
    q, rate = rng.uniform(-1.0, 1.0, (2, space.size))
    one, all_of_them = model.initial_state(), model.initial_state()

    for i in range(4):
        model.set_joint(one, ("joint", i), q[i], rate[i])
    space.place(all_of_them, q, rate)

    # momenta and back, four times: some dozen roundings of numbers of 10
    np.testing.assert_allclose(all_of_them.data, one.data, rtol=0.0, atol=1e-12)


def test_joints_are_placed_all_or_none():
    model, state = dy.zoo.double_pendulum()
    before = state.data.copy()

    with pytest.raises(dy.UnknownNameError, match="nobody"):
        set_joints(model, state, [(("joint", 0), [0.5], [0.0]), ("nobody", [0.0], [0.0])])

    assert np.array_equal(state.data, before)


@pytest.mark.parametrize("threads", [1, 3])
def test_many_side_by_side_are_as_many_alone(threads):
    task = balance(noise=0.2, seconds=0.4)
    many = dy.gym.MechanismVectorEnv(task, 5, threads)
    alone = [dy.gym.MechanismEnv(task) for _ in range(5)]
    seen, _ = many.reset(seed=10)
    wanted = [env.reset(seed=10 + i)[0] for i, env in enumerate(alone)]
    assert np.array_equal(seen, wanted)
    rng = np.random.default_rng(0)
    over = np.zeros(5, bool)

    for _ in range(45):  # through two ends of every episode
        actions = rng.uniform(-1.0, 1.0, (5, 1)).astype(np.float32)
        seen, rewards, ends, late, _ = many.step(actions)
        for i, env in enumerate(alone):
            if over[i]:
                one = (env.reset()[0], 0.0, False, False)
            else:
                one = env.step(actions[i])
            assert np.array_equal(seen[i], one[0])
            assert (rewards[i], ends[i], late[i]) == one[1:4]
        over = ends | late
    many.close()


@pytest.mark.parametrize("collide", [False, True])
def test_sensors_are_observed_with_noise_of_each_environment(collide):
    mech = dy.Mechanism()
    body = mech.add_body(dy.Box(0.2, 0.2, 0.2, mass=1.0), name="box", position=(0, 0, 0.3))
    lift = dy.Prismatic(mech.world, body, (0, 0, 1), parent_point=(0, 0, 0.3), actuated=True)
    mech.add_joint(lift)
    if collide:
        mech.add_obstacle(dy.Box(1, 1, 0.2, mass=1.0), position=(0, 0, -0.1), name="floor")
        mech.collide()
    else:
        mech.add_contact(body)
    mech.add_sensor(dy.IMU("box", noise=0.1))
    mech.add_sensor(dy.ContactSensor("box", rate=20.0))
    mech.add_sensor(dy.RangeFinder("box", direction=(0, 0, -1)))
    model = mech.finalize(0.01)
    task = dy.gym.Task(model, lambda q, rate, action: 0.0, sensors=dy.Sensors(model), noise=0.01,
                       skip=5, seconds=0.6)  # fmt: skip
    many = dy.gym.MechanismVectorEnv(task, 2)
    alone = [dy.gym.MechanismEnv(task) for _ in range(2)]
    seen, _ = many.reset(seed=4)
    wanted = [env.reset(seed=4 + i)[0] for i, env in enumerate(alone)]
    assert many.single_observation_space.shape == (2 + 6 + 2 + 1,)
    for _ in range(12):
        np.testing.assert_array_equal(seen, wanted)
        still = np.zeros((2, 1), np.float32)
        seen = many.step(still)[0]
        wanted = [env.step(still[0])[0] for env in alone]

    # At rest after a fall of 0.3 s: noise of 0.1 on the specific force, of each its own.
    assert np.abs(seen[:, 2:8] - [0.0, 0.0, 9.81, 0.0, 0.0, 0.0]).max() < 5 * 0.1
    assert (seen[0, 2:8] != seen[1, 2:8]).all()
    np.testing.assert_allclose(seen[:, 8:], [[9.81, 1.0, 0.1]] * 2, rtol=2e-3)
    again, _ = many.reset(seed=4)
    fresh, _ = dy.gym.MechanismEnv(task).reset(seed=4)
    np.testing.assert_array_equal(again[0], fresh)


def test_environments_have_seeds_of_their_own_or_go_on():
    task = balance(noise=0.2, seconds=0.4)
    many = dy.gym.MechanismVectorEnv(task, 2)
    first, _ = many.reset(seed=[7, 8])
    again, _ = many.reset(seed=[7, None])  # the second goes on with its random numbers

    np.testing.assert_array_equal(first[0], again[0])
    assert not np.array_equal(first[1], again[1])


def test_what_cannot_be_an_environment_is_said():
    model, _ = dy.zoo.double_pendulum()
    with pytest.raises(ValueError, match="takes no controls"):
        dy.gym.Task(model, reward)
    model, state = dy.zoo.slider_crank()
    with pytest.raises(ValueError, match="with loops or couplings cannot be varied; use noise=0"):
        dy.gym.Task(model, reward)
    env = dy.gym.MechanismEnv(dy.gym.Task(model, reward, start=state, noise=0.0))
    assert env.reset()[0].shape == (8,)


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    model, _ = dy.zoo.cart_pole()
    monkeypatch.setattr(dy.gym, "gymnasium", None)

    with pytest.raises(gs.MissingExtraError, match="gym"):
        dy.gym.Task(model, reward)


def leg(**options):
    """A leg whose knee starts at its limit, a hand's breadth above the floor."""
    mech = dy.Mechanism()
    body = mech.add_body(dy.Rod(0.4, mass=1.0, radius=0.02), name="leg", position=(0, 0, 0.23))
    mech.add_joint(dy.Prismatic(mech.world, body, (0, 0, 1), name="lift"))
    mech.add_body(dy.Rod(0.4, mass=1.0, radius=0.02), name="arm")
    mech.add_joint(
        dy.Revolute(
            *mech.bodies.values(), (0, 1, 0), parent_point=(0, 0, 0.2), child_point=(0, 0, -0.2),
            limits=(0.0, 1.0), velocity_limits=(-0.05, 5.0), control_limits=(-30.0, 20.0),
            actuated=True, name="knee",
        )
    )  # fmt: skip
    mech.add_contact(body, name="floor")
    return dy.gym.Task(mech.finalize(0.01), lambda q, rate, action: 0.0, **options)


def test_starts_are_within_limits_and_without_overlap():
    task = leg(noise=0.1)
    for seed in range(20):
        state = task.model.state_of(task.begin(np.random.default_rng(seed)))
        assert 0.0 <= task.model.joint(state, "knee")[0][0] <= 0.1
        assert -0.05 <= task.model.joint(state, "knee")[1][0] <= 0.1
        assert task.model.joint(state, "lift")[0][0] > -0.01  # the gap at 0
    with pytest.raises(dy.InconsistentStateError, match="'floor' overlaps by"):
        leg(start=moved(task, -0.3))


def moved(task, way):
    state = task.model.initial_state()
    task.model.set_joint(state, "lift", way)
    return state


def test_an_action_of_1_is_the_largest_control_that_limits_allow():
    assert leg().most == [30.0] and leg(most=3.0).most == [3.0]
    assert dy.gym.Task(dy.zoo.cart_pole()[0], reward).most == [1.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"skip": 0}, "skip is 0, and must be an integer of at least 1"),
        ({"seconds": -1.0}, "seconds is -1.0, and must be positive"),
        ({"noise": -0.1}, "noise is -0.1, and must be"),
        ({"most": [1.0, 2.0]}, r"most is \[1.0, 2.0\], and must be positive: one number, or 1"),
        ({"most": -1.0}, "most is -1.0, and must be positive"),
    ],
)
def test_numbers_that_make_no_task_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        leg(**options)


def test_what_is_no_task_reward_or_start_is_refused():
    model, _ = dy.zoo.cart_pole()
    for make in (dy.gym.MechanismEnv, lambda task: dy.gym.MechanismVectorEnv(task, 2)):
        with pytest.raises(TypeError, match=r"is of a task, not Model.*gym.Task\(model, reward\)"):
            make(model)
    with pytest.raises(TypeError, match="start must be a state"):
        dy.gym.Task(model, reward, start={"hinge": np.pi})
    with pytest.raises(TypeError, match=r"reward must take \(q, rate, action\)"):
        dy.gym.Task(model, lambda observation, action: 0.0)
    with pytest.raises(TypeError, match=r"terminated must take \(q, rate\)"):
        dy.gym.Task(model, reward, terminated=lambda q: False)
    for given in (None, np.ones(2)):
        task = dy.gym.Task(model, lambda q, rate, action, given=given: given)
        with pytest.raises(TypeError, match="reward returned .*, and must return a number"):
            dy.gym.MechanismEnv(task).reset(seed=0)
    assert repr(balance()) == "Task(4 observations, 1 actions, 500 steps)"


def test_actions_that_are_none_are_refused():
    env, many = dy.gym.MechanismEnv(leg()), dy.gym.MechanismVectorEnv(leg(), 2)
    env.reset(seed=0)
    many.reset(seed=0)
    for bad in (np.zeros(2), [np.nan], "go"):
        with pytest.raises((ValueError, TypeError), match="action"):
            env.step(bad)
        with pytest.raises((ValueError, TypeError), match="action"):
            many.step(bad)
    with pytest.raises(ValueError, match="render_mode is 'human', and must be"):
        dy.gym.MechanismEnv(leg(), render_mode="human")


@pytest.mark.filterwarnings("ignore:.*infinity", "ignore:.*alternative render modes")
def test_pictures_follow_the_motion():
    pytest.importorskip("matplotlib")
    from gymnasium.utils.env_checker import check_env

    env = dy.gym.MechanismEnv(balance(), render_mode="rgb_array")
    check_env(env)
    env.reset(seed=0)
    first = env.render()
    for _ in range(10):
        env.step([1.0])
    assert first.shape == (480, 480, 3) and first.dtype == np.uint8
    assert np.ptp(first) > 100 and (env.render() != first).any()
    assert env.metadata["render_fps"] == pytest.approx(50.0)
    assert dy.gym.MechanismEnv(balance()).render() is None


def test_rewards_and_ends_are_functions():
    model, _ = dy.zoo.cart_pole()
    with pytest.raises(TypeError, match="reward must be a function, not 1.0"):
        dy.gym.Task(model, reward=1.0, most=1.0)
    with pytest.raises(TypeError, match="terminated must be a function, not 0.5"):
        dy.gym.Task(model, reward=lambda q, rate, action: 0.0, terminated=0.5, most=1.0)


@pytest.mark.parametrize("threads", [1, 2])
def test_copies_of_many_side_by_side_go_on_and_closed_ones_too(threads):
    many = dy.gym.MechanismVectorEnv(balance(), 3, threads)
    many.reset(seed=1)
    actions = np.array([[0.3], [-0.2], [0.9]])
    many.step(actions)
    again = pickle.loads(pickle.dumps(many))
    np.testing.assert_array_equal(again.step(actions)[0], many.step(actions)[0])

    for one in (many, again):
        one.close()
        one.close()
    np.testing.assert_array_equal(again.step(actions)[0], many.step(actions)[0])


def test_an_environment_that_was_refused_can_be_closed():
    kind = dy.gym.MechanismVectorEnv
    kind.__new__(kind).close_extras()  # gymnasium 1.1 does, where the constructor raises


def test_numbers_of_environments_threads_and_seeds_are_checked():
    for count in (0, -1, 1.5, True, "2"):
        with pytest.raises(ValueError, match="num_envs is .* an integer of at least 1"):
            dy.gym.MechanismVectorEnv(balance(), count)
        with pytest.raises(ValueError, match="threads is .* an integer of at least 1"):
            dy.gym.MechanismVectorEnv(balance(), 2, threads=count)
    many = dy.gym.MechanismVectorEnv(balance(), 3)
    for seeds in ([1, 2], [1, 2, 3, 4]):
        with pytest.raises(ValueError, match=f"there are {len(seeds)} seeds for 3 environments"):
            many.reset(seed=seeds)
