"""Motions on which simulators die: whips, flat linkages, long runs, whatever is put together."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamics as dy
from dynamics.kernels.base import layout
from dynamics.kinematics import redundancy
from dynamics.zoo import double_pendulum, pendulum, random_tree, rhombic_chain

from .mjcf_families import Family
from .scenes import SECONDS, scene

#: Constraints are closed to the tolerance of Newton's method.
CLOSED = 1e-10
EPS = np.finfo(float).eps


@pytest.mark.parametrize("n", [1, 2, 5, 10, 20, 50, pytest.param(100, marks=pytest.mark.slow)])
def test_chains_dropped_from_horizontal_keep_their_energy(n):
    model, state = pendulum(n)
    motion = dy.simulate(model, state, 10.0, every=2)
    energy = motion.energy()
    scale = 0.5 * 9.81 * n**2  # from horizontal to hanging
    assert np.isfinite(motion.states).all()
    assert np.abs(energy - energy[0]).max() < 0.1 * scale
    assert motion.constraint_violation().max() <= CLOSED
    assert motion.info["steps"] == 1000


@pytest.mark.parametrize("n", [2, 10, 50])
def test_chains_of_ball_joints_dropped_from_horizontal_keep_their_energy(n):
    model, state = pendulum(n, "spherical")
    motion = dy.simulate(model, state, 10.0, every=2)
    energy = motion.energy()
    assert np.abs(energy - energy[0]).max() < 0.1 * 0.5 * 9.81 * n**2
    assert motion.constraint_violation().max() <= CLOSED


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 5, 10, 20, 50, 100])
def test_chains_dropped_from_horizontal_live_for_a_minute(n):
    model, state = pendulum(n)
    motion = dy.simulate(model, state, 60.0, every=10)
    assert np.isfinite(motion.states).all()
    assert motion.constraint_violation().max() <= CLOSED


@pytest.mark.parametrize("n", [1, 2, 5, 10, pytest.param(20, marks=pytest.mark.slow)])
def test_rhombi_pass_their_flat_positions(n):
    model, state = rhombic_chain(n)
    motion = dy.simulate(model, state, 10.0, every=2)
    assert np.isfinite(motion.states).all()
    assert motion.constraint_violation().max() <= CLOSED


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("wider", [0.0, 0.004, 0.005, 0.012, 0.016])
def test_energy_of_rhombi_stays_within_a_hundredth_at_every_step(n, wider):
    # without the cuts of `loop_curvature` seven of these are off by 1.1 to 2.3 %
    half_angle = np.pi / 8 * (1.0 + wider)
    model, state = rhombic_chain(n, half_angle)
    energy = dy.simulate(model, state, 10.0).energy()
    scale = 4.0 * 9.81 * np.cos(half_angle) * n**2  # from horizontal to hanging
    assert np.abs(energy - energy[0]).max() < 0.01 * scale


@pytest.mark.parametrize("tolerance", [1e-6, 1e-8, 1e-10])
def test_every_tolerance_will_do(tolerance):
    # paper, Fig. 10, where integrators in minimal coordinates fail
    for n in (2, 10, 20):
        model, state = pendulum(n, tolerance=tolerance)
        motion = dy.simulate(model, state, 10.0, every=10)
        assert np.abs(motion.energy()).max() < 0.1 * 0.5 * 9.81 * n**2
        assert motion.constraint_violation().max() <= tolerance


@pytest.mark.slow
def test_a_double_pendulum_keeps_its_energy_for_an_hour():
    # WAFR 2020, Fig. 4a; MuJoCo's Euler has lost 98 % by then
    model, state = pendulum(2)
    motion = dy.simulate(model, state, 3600.0)
    error = motion.energy() / (0.5 * 9.81 * 4)
    assert np.abs(error).max() < 1e-2
    tenth = len(error) // 10
    assert abs(error[:tenth].mean() - error[-tenth:].mean()) < 2e-4  # no drift
    assert motion.constraint_violation().max() <= CLOSED


@pytest.mark.parametrize("scale", [1e-3, 1e-2, 1e2, 1e3])
def test_small_and_large_mechanisms_move_alike(scale):
    # lengths by s, masses by s^3, time by sqrt(s): the same motion
    def angles(s):
        mechanism = dy.Mechanism()
        parent = mechanism.world
        for i in range(3):
            box = dy.Box(s, 0.1 * s, 0.1 * s, mass=s**3)
            link = mechanism.add_body(box, name=i)
            mechanism.add_joint(
                dy.Revolute(
                    parent,
                    link,
                    [0.0, 1.0, 0.0],
                    parent_point=[0.5 * s if i else 0.0, 0.0, 0.0],
                    child_point=[-0.5 * s, 0.0, 0.0],
                    name=("joint", i),
                )
            )
            parent = link
        model = mechanism.finalize(0.01 * np.sqrt(s), tolerance=1e-10 * min(1.0, s))
        final = dy.simulate(model, model.initial_state(), np.sqrt(s)).final
        return np.ravel([model.joint(final, ("joint", i))[0] for i in range(3)])

    np.testing.assert_allclose(angles(scale), angles(1.0), atol=1e-6)


@pytest.mark.parametrize("ratio", [1e-4, 1e4])
def test_light_and_heavy_bodies_hang_on_each_other(ratio):
    mechanism = dy.Mechanism()
    parent = mechanism.world
    for i, mass in enumerate((1.0, ratio, 1.0)):
        link = mechanism.add_body(dy.Box(1.0, 0.1, 0.1, mass=mass), name=i)
        mechanism.add_joint(
            dy.Spherical(
                parent,
                link,
                parent_point=[0.5 if i else 0.0, 0.0, 0.0],
                child_point=[-0.5, 0.0, 0.0],
                name=("joint", i),
            )
        )
        parent = link
    model = mechanism.finalize()
    motion = dy.simulate(model, model.initial_state(), 5.0)
    energy = motion.energy()
    assert np.abs(energy).max() < 0.05 * 9.81 * (2.0 + ratio) * 2.0
    assert motion.constraint_violation().max() <= CLOSED


def ends_closed(model, state):
    """Whether ten seconds end with closed joints, or where they have to: `strained`, `jammed`."""
    try:
        motion = dy.simulate(model, state, 10.0, every=100)
    except dy.ConvergenceError as error:
        motion = error.trajectory
        end = dy.simulate(model, state, error.trajectory.info["steps"] * model.timestep).final
        if not strained(model, end) and not jammed(model, state, end):
            return False
    return motion.constraint_violation().max() <= CLOSED * max(1.0, np.abs(motion.states).max())


def strained(model, state):
    """Whether the rounding of loads that redundant constraints share exceeds Newton's tolerance.

    These loads are not unique, and nothing bounds them: see docs/theory/loops.md.
    """
    loads = np.abs(state.multipliers).max(initial=0.0)
    return EPS * loads > CLOSED and model.redundancy(state).redundant > 0


def jammed(model, start, end):
    """Whether a velocity that no constraint forbids at the start, to rounding, opens them later.

    Such a structure is mobile in an instant only: what it yields grows with its displacement.
    """
    none = [np.linalg.svd(jacobian(model, state), compute_uv=False) for state in (start, end)]
    rank = np.count_nonzero(none[0] > 1e-14 * none[0][0])
    return rank < none[0].size and none[1][rank] > 1e-13 * none[1][0]


def jacobian(model, state):
    """Of all constraints, dense."""
    zeros = np.zeros((1, 6 * model.n_bodies))
    joints = int(model.tables.plan[layout.JOINTS])
    model.workspace.measured(0, joints, state.data[None], zeros)
    slopes = model.workspace.G.reshape(-1, 2, 6).copy()
    return redundancy._jacobian(model, list(range(len(model.tables.joint_index))), slopes)


@settings(max_examples=25)
@given(n=st.integers(1, 12), seed=st.integers(0, 2**31), branch=st.integers(1, 4))
def test_random_trees_move(n, seed, branch):
    model, state = random_tree(n, seed, branch=branch)
    motion = dy.simulate(model, state, 10.0, every=100)
    assert motion.info["steps"] == 1000
    assert motion.constraint_violation().max() <= CLOSED * max(1.0, np.abs(motion.states).max())


@settings(max_examples=25)
@given(
    n=st.integers(2, 10),
    seed=st.integers(0, 2**31),
    branch=st.integers(1, 3),
    loops=st.integers(1, 4),
)
def test_random_trees_with_loops_move(n, seed, branch, loops):
    assert ends_closed(*random_tree(n, seed, branch=branch, loops=loops))


@pytest.mark.parametrize(
    ("n", "seed", "branch", "loops", "every_kind"),
    [
        (11, 67, 3, 2, False),  # a loop's joint eliminated before its loop: a pivot like round-off
        (9, 396, 2, 1, True),  # two joints that hold the same of the one body before them
        (4, 384, 2, 2, False),  # bodies that slide away: constraints nearly dependent, 1e-6
    ],
)
def test_pivots_that_vanish_do_not_stop_a_motion(n, seed, branch, loops, every_kind):
    model, state = random_tree(n, seed, branch=branch, loops=loops, every_kind=every_kind)
    motion = dy.simulate(model, state, 10.0, every=100)
    assert motion.info["steps"] == 1000
    assert motion.constraint_violation().max() <= CLOSED * max(1.0, np.abs(motion.states).max())


def survives(seed, every_kind):
    rng = np.random.default_rng(seed)
    n, loops, branch = int(rng.integers(2, 14)), int(rng.integers(0, 5)), int(rng.integers(1, 5))
    return ends_closed(*random_tree(n, seed, branch=branch, loops=loops, every_kind=every_kind))


@pytest.mark.parametrize("every_kind", [False, True])
def test_random_mechanisms_move(every_kind):
    assert all(survives(seed, every_kind) for seed in range(40))


@pytest.mark.slow
@pytest.mark.parametrize("every_kind", [False, True])
def test_hundreds_of_random_mechanisms_move(every_kind):
    assert [seed for seed in range(400) if not survives(seed, every_kind)] == []


def lives(seed):
    """Whether a scene of everything moves: joints closed, nothing below the floor."""
    model, state = scene(seed)
    motion = dy.simulate(model, state, SECONDS)
    size = max(1.0, np.abs(motion.states).max())
    gaps = [motion.contact(name).gap.min() for name in model.mechanism.contacts]
    return motion.constraint_violation().max() <= CLOSED * size and min(gaps, default=0.0) > -1e-9


@pytest.mark.parametrize("seed", range(8))
def test_scenes_of_everything_move(seed):
    assert lives(seed)


@pytest.mark.slow
def test_a_hundred_scenes_of_everything_move():
    # seeds 67 and 96 make no scene: contacts that no motion parts, or that a joint holds
    assert [seed for seed in range(8, 120) if seed not in (67, 96) and not lives(seed)] == []


def test_intervals_of_hard_steps_are_reported():
    model, state = pendulum(20)
    motion = dy.simulate(model, state, 10.0, every=100)
    assert motion.info["most_intervals"] > 1
    assert motion.info["intervals"] > motion.info["steps"]
    assert double_pendulum()[0].step(double_pendulum()[1])[1].intervals == 1


@pytest.mark.parametrize(
    "seed",
    [
        77,
        355,
        520,
        694,
        1537,
        *(pytest.param(s, marks=pytest.mark.slow) for s in (866, 1039, 1180)),
    ],
)
def test_random_robots_that_are_wedged_go_on(seed, tmp_path):
    """Trees on a floor whose bodies hit each other with a friction of 1: MuJoCo's default."""
    path = tmp_path / "robot.xml"
    floor = '<worldbody><geom name="floor" type="plane" size="0 0 1" pos="0 0 -1.2"/>'
    path.write_text(Family(seed).text.replace("<worldbody>", floor, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # steps with less friction
        model = dy.load(path, collide=True).finalize(0.005)
        motion = dy.simulate(model, model.initial_state(), 1.0)
    assert motion.info["steps"] == 200
    assert np.isfinite(motion.energy()).all()
    assert motion.constraint_violation().max() <= 1e-9
