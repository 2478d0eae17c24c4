"""Planar mechanisms: steps solve equations in the plane alone while nothing acts out of it."""

import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import dynamics as dy
import graphsys as gs
from dynamics.kernels.base import layout
from dynamics.kernels.contacts.refinement import LEFT
from dynamics.kernels.interval.panels import factorize_panels, solve_panels
from dynamics.tables import finalize
from dynamics.tables.model_tables import planar_part
from tests.dynamics.kernel_calls import planar_place

H = 0.01
EYE = np.eye(3)


def is_planar(model):
    return model.tables.plan[layout.PLANAR_AT] > 0


def lists_of(model):
    """Unknowns in the plane, unknowns out of it, places of blocks."""
    part, head = planar_part(model.tables.plan), layout.PLANAR_HEADER
    inner, outer, entries = part[:3].tolist()
    after = head + inner + 2 * outer
    return (
        part[head : head + inner].tolist(), part[head + inner : after : 2].tolist(),
        part[after : after + entries].tolist(),
    )  # fmt: skip


def in_plane_alone(space):
    """Whether the last factors in a workspace are those of the equations in the plane."""
    return space.work[planar_place(space.plan) + layout.TAKEN] == 1.0


@pytest.fixture
def both(monkeypatch):
    """Finalize a mechanism twice: as it is, and so that steps solve all equations together."""

    def made(mechanism, **options):
        model = mechanism.finalize(H, **options)
        with monkeypatch.context() as patch:
            patch.setattr(finalize, "planar_numbers", lambda *_: np.zeros(0, np.int64))
            whole = mechanism.finalize(H, **options)
        assert is_planar(model) and not is_planar(whole)
        return model, whole

    return made


def link(mechanism, name, along, mass=1.0):
    """Box of 1 m along an axis of its frame."""
    sides = np.array([0.08, 0.1, 0.12])
    sides[along] = 1.0
    return mechanism.add_body(dy.Box(*sides, mass=mass), name=name)


def chain(n, axis=1, turns=True, gravity=(3.0, 2.0, -9.0), **options):
    """Hinges and links of 1 m in a plane across an axis; every second frame by a quarter turn."""
    normal, along = EYE[axis], EYE[(axis + 1) % 3]
    mechanism = dy.Mechanism(gravity=np.array(gravity) * (normal == 0.0))
    above, point = mechanism.world, np.zeros(3)
    for k in range(n):
        turn = dy.rotation.from_axis_angle(EYE[k % 3], 0.5 * np.pi * (turns and k % 2))
        back = np.round(dy.rotation.to_matrix(turn).T)
        own = back @ along
        body = link(mechanism, k, int(np.argmax(np.abs(own))), 1.0 + 0.1 * k)
        hinge = dy.Revolute(
            above, body, normal, parent_point=point, child_point=-0.5 * own, orientation=turn,
            name=("hinge", k), **options,
        )  # fmt: skip
        mechanism.add_joint(hinge)
        above, normal, along, point = body, back @ normal, own, 0.5 * own
    return mechanism


def started(model, seed=0):
    """Random angles and rates of all hinges."""
    rng, state = np.random.default_rng(seed), model.initial_state()
    for name in model.mechanism.joints:
        if name[0] == "hinge":
            model.set_joint(state, name, *rng.uniform(-0.5, 0.5, 2))
    return state


def walker(leg_shape=None, **contact):
    """Torso that a joint holds to the plane across y, and two legs that touch the ground."""
    mechanism = dy.Mechanism()
    torso = mechanism.add_body(dy.Box(0.3, 0.2, 0.4, mass=4.0), name="torso")
    mechanism.add_joint(
        dy.PlanarAxis(mechanism.world, torso, (0, 1, 0), parent_point=(0, 0, 1.1), name="root")
    )
    for side, lean in (("left", 0.1), ("right", -0.1)):
        leg = mechanism.add_body(leg_shape or dy.Capsule(0.05, 0.7, mass=1.0), name=side)
        hip = dy.Revolute(
            torso, leg, (0, 1, 0), parent_point=(lean, 0, -0.2), child_point=(0, 0, 0.4),
            name=("hinge", side), actuated=True, limits=(-0.6, 0.6), damping=0.2, friction=0.1,
            armature=0.01,
        )  # fmt: skip
        mechanism.add_joint(hip)
        mechanism.add_contact(leg, name=("foot", side), **contact)
    return mechanism


def solved_in_panels(model, values, b):
    """Solution of the equations in the plane, given the values of all blocks."""
    part = planar_part(model.tables.plan)
    inner, outer, entries, groups = part[: layout.PANEL_GROUPS + 1].tolist()
    at = np.cumsum([layout.PLANAR_HEADER + inner + 2 * outer, entries, entries, inner])
    places, targets, _ = (part[i:j].copy() for i, j in zip(at, at[1:]))
    records, panels = part[at[-1] :].copy(), np.empty(2 * layout.PANEL * groups)
    assert factorize_panels(groups, entries, records, places, targets, values, panels) == 0
    order = np.searchsorted(part[layout.PLANAR_HEADER :][:inner], part[at[2] : at[3]])
    y, x = np.append(b[order], 0.0), np.empty_like(b)
    solve_panels(groups, records, panels, y)
    x[order] = y[:-1]
    return x


def compare(models, states, seconds, tolerance, determined=True, **inputs):
    """Assert equal motions and reactions within the errors of all steps, tenfold; the motions.

    A step leaves momenta and velocities within ``tolerance`` over units, which are 1 to 10 here.
    Reactions out of the plane may not be ``determined``: both joints and pairs of contacts can
    carry a moment.
    """
    one, other = (
        dy.simulate(model, state, seconds, **inputs) for model, state in zip(models, states)
    )
    error = 10.0 * tolerance * len(other)
    for name in models[0].mechanism.bodies:
        for here, there in zip(one.body(name), other.body(name)):
            assert np.abs(here - there).max() <= error
        for here, there in zip(one.body_velocity(name), other.body_velocity(name)):
            assert np.abs(here - there).max() <= 10.0 * error
    for name in models[0].mechanism.joints:
        apart = np.abs(one.reaction(name) - other.reaction(name))
        if not determined:
            apart = apart[:, [row for row in (0, 2) if apart.shape[1] == 5]]
        assert apart.max(initial=0.0) <= 10.0 * error / H
    return one, other


def test_panels_need_no_refinement_with_contacts_and_limits():
    # stiff contacts and limits, up to 1e11 effective masses: `contacts.refinement` takes what
    # leaves a thousandth of the right-hand side in momenta
    model = walker().finalize(H)
    assert planar_part(model.tables.plan)[layout.PANEL_GROUPS] > 0
    state, rng, stiffest = model.initial_state(), np.random.default_rng(0), 0.0
    space, n = model.workspace, layout.TWIST * model.n_bodies
    graph, inner = model.tables.symbolic.graph, np.array(lists_of(model)[0])
    whole = gs.System.from_edges(*np.stack(graph.pairs()), graph.size)
    for _ in range(60):
        state, _ = model.step(state, rng.uniform(-30.0, 30.0, 2))
        whole.values = values = space.step_solver[0][: graph.nnz]
        matrix = whole.to_dense()[np.ix_(inner, inner)]
        b = np.where(inner < n, rng.normal(size=inner.size), 0.0)
        rest = b - matrix @ solved_in_panels(model, values, b)
        assert np.abs(rest[inner < n]).max() <= LEFT * np.abs(b).max()
        stiffest = max(stiffest, np.abs(matrix).max())
    assert stiffest > 1e6  # masses are 1 to 4


def test_a_double_pendulum_has_two_velocities_a_spin_and_two_rows_of_each_link():
    # rows of a hinge: three of its point along x, y, z, then two turns across y
    model = chain(2, turns=False).finalize(H)
    inner, outer, _ = lists_of(model)

    assert inner == [0, 2, 4, 6, 8, 10, 12, 14, 17, 19]
    assert outer == [1, 3, 5, 7, 9, 11, 13, 15, 16, 18, 20, 21]


def test_the_turn_about_the_normal_is_found_in_turned_frames():
    # frame 1 by a quarter turn about y, frame 3 about x: its third axis is along y
    inner, _, _ = lists_of(chain(4).finalize(H))

    assert inner[:12] == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 23]


def test_blocks_in_the_plane_are_those_of_the_whole_matrix():
    model = dy.zoo.double_four_bar()[0]
    graph = model.tables.symbolic.graph
    inner, outer, entries = lists_of(model)
    whole = gs.System.from_edges(*np.stack(graph.pairs()), graph.size)
    whole.values = 1.0 + np.arange(graph.nnz)
    matrix = whole.to_dense()
    blocks = matrix[np.ix_(inner, inner)]

    assert sorted(entries) == sorted((blocks[blocks > 0.0] - 1.0).astype(int).tolist())
    assert len(inner) + len(outer) == graph.rows


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize(
    "options",
    [
        {}, {"stiffness": 20.0, "damping": 1.0}, {"stiffness": 1e5, "damping": 10.0},
        {"armature": 0.1}, {"compliance": 1e-6}, {"turns": False},
    ],
)  # fmt: skip
def test_chains_move_as_by_all_equations(both, axis, options):
    models = both(chain(4, axis, **options))
    states = [started(model, axis) for model in models]
    compare(models, states, 0.5, 5e-12)

    assert in_plane_alone(models[0].workspace)


@pytest.mark.parametrize("options", [{"limits": (-0.6, 0.6)}, {"friction": 0.3}])
@pytest.mark.parametrize("axis", range(3))
def test_limits_and_dry_friction_act_in_the_plane(both, axis, options):
    models = both(chain(4, axis, **options))
    states = [started(model, axis) for model in models]
    compare(models, states, 0.5, 1e-9)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("double_pendulum", {}), ("four_bar", {}), ("double_four_bar", {}), ("cart_pole", {}),
        ("slider_crank", {}), ("rhombic_chain", {"n": 3}),
    ],
)  # fmt: skip
def test_linkages_move_as_by_all_equations(both, name, options):
    model, state = getattr(dy.zoo, name)(**options)
    models = both(model.mechanism)
    compare(models, [state, state], 0.5, 5e-12)

    assert in_plane_alone(models[0].workspace)


@pytest.mark.parametrize("leg", [None, dy.Box(0.1, 0.2, 0.8, mass=1.0)], ids=["capsule", "box"])
@pytest.mark.parametrize(
    "contact", [{"friction": 0.7}, {"friction": 0.5, "cone": 4}, {"restitution": 0.4}]
)
def test_walkers_touch_the_ground_as_by_all_equations(both, leg, contact):
    # corners of a box lie out of the plane, in pairs that press alike
    models = both(walker(leg, **contact))
    states = [started(model) for model in models]
    controls = np.random.default_rng(0).normal(size=(60, 2)) * 5.0
    one, _ = compare(models, states, 0.6, 1e-9, leg is None, controls=controls)

    assert one.contact(("foot", "left")).normal_force.max() > 1.0


def random_tree(seed):
    """Boxes on hinges, slides and welds in a plane, some with springs, limits, friction, rotors."""
    rng = np.random.default_rng(seed)
    axis = seed % 3
    normal, across = EYE[axis], EYE[[k for k in range(3) if k != axis]]
    mechanism = dy.Mechanism(gravity=across.T @ rng.uniform(-8.0, 8.0, 2))
    ends = [mechanism.world]
    for k in range(int(rng.integers(2, 7))):
        body = mechanism.add_body(dy.Box(*rng.uniform(0.1, 0.5, 3), mass=rng.uniform(0.3, 3.0)))
        options = {
            "parent_point": across.T @ rng.uniform(-0.5, 0.5, 2),
            "child_point": across.T @ rng.uniform(-0.3, 0.3, 2), "name": ("joint", k),
        }  # fmt: skip
        kind, parent = rng.random(), ends[rng.integers(len(ends))]
        if kind < 0.1:
            mechanism.add_joint(dy.Fixed(parent, body, **options))
        else:
            options |= {"damping": rng.uniform(0.0, 1.0), "stiffness": rng.uniform(0.0, 30.0)}
            more = [{}, {"limits": (-0.5, 0.5)}, {"friction": 0.2}, {"armature": 0.05}]
            options |= more[rng.integers(4)]
            if kind < 0.7:
                mechanism.add_joint(dy.Revolute(parent, body, normal, **options))
            else:
                mechanism.add_joint(dy.Prismatic(parent, body, across[0], **options))
        ends.append(body)
    return mechanism


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_under_random_wrenches_move_as_by_all_equations(both, seed):
    # every third step is free of wrenches, so that both ways of solving alternate
    models = both(random_tree(seed))
    wrenches = np.random.default_rng(seed).normal(size=(40, 6 * models[0].n_bodies))
    wrenches[::3] = 0.0
    states = [model.initial_state() for model in models]
    compare(models, states, 0.4, 1e-9, wrenches=wrenches)


def test_a_wrench_sideways_is_carried_by_the_joints(both):
    # all equations, while it changes; 1 N at the second link's centre: 1 N in both hinges
    models = both(chain(2, turns=False))
    states = [started(model) for model in models]
    wrenches = np.zeros((50, 12))
    wrenches[:, 7] = np.sin(np.arange(50))
    one, _ = compare(models, states, 0.5, 5e-12, wrenches=wrenches)

    assert not in_plane_alone(models[0].workspace)
    sideways = one.reaction(("hinge", 0))[1:, 1]
    before, after = wrenches[:-1, 7], wrenches[1:, 7]
    assert np.abs(sideways[1:] + 0.5 * (before + after)).max() < 1e-9


def test_gravity_across_the_plane_is_carried_by_the_joints(both):
    # links at rest that hang along z: 2 m/s^2 across takes 2.1 kg * 2 m/s^2 in the first hinge
    mechanism = dy.Mechanism(gravity=(0.0, 2.0, -9.0))
    above, point = mechanism.world, np.zeros(3)
    for k, mass in enumerate((1.0, 1.1)):
        body = link(mechanism, k, 2, mass)
        mechanism.add_joint(
            dy.Revolute(
                above, body, (0, 1, 0), parent_point=point, child_point=(0, 0, 0.5),
                name=("hinge", k),
            )
        )  # fmt: skip
        above, point = body, np.array([0.0, 0.0, -0.5])
    models = both(mechanism)
    one, _ = compare(models, [model.initial_state() for model in models], 0.2, 5e-12)
    assert np.abs(one.reaction(("hinge", 0))[-1, :3] - [0.0, -4.2, 18.9]).max() < 1e-9
    assert in_plane_alone(models[0].workspace)  # once reactions are those of the interval before

    states = [started(model) for model in models]
    compare(models, states, 0.5, 5e-12)


def test_a_start_out_of_the_plane_is_closed_by_all_equations(both):
    models = both(chain(3, turns=False))
    states = [started(model) for model in models]
    for state in states:  # 1e-7 rad about x, 1e-7 m along y: less than what a start may be off
        tilt = dy.rotation.from_rotation_vector((1e-7, 0, 0))
        state.pose[1, 3:] = dy.rotation.multiply(tilt, state.pose[1, 3:])
        state.pose[2, 1] += 1e-7
    one, _ = compare(models, states, 0.3, 5e-12)

    assert np.abs(one.body(2)[0][1:, 1]).max() < 1e-11
    assert in_plane_alone(models[0].workspace)  # in the end


def test_derivatives_are_those_of_all_equations(both):
    models = both(chain(3, actuated=True))
    one, other = (
        dy.linearize(model, started(model), np.array([0.3, -0.2, 0.1])) for model in models
    )
    for here, there in zip(one, other):
        assert np.abs(here - there).max() <= 1e-9 * np.abs(there).max()


def stacked():
    """The second link one width beside the first."""
    mechanism = dy.Mechanism()
    one, two = link(mechanism, 0, 0), link(mechanism, 1, 0)
    mechanism.add_joint(dy.Revolute(mechanism.world, one, (0, 1, 0), child_point=(-0.5, 0, 0)))
    mechanism.add_joint(
        dy.Revolute(one, two, (0, 1, 0), parent_point=(0.5, 0.1, 0), child_point=(-0.5, 0, 0))
    )
    return mechanism


def with_products():
    """A link whose principal axes are oblique to the hinge."""
    mechanism = chain(1)
    J = np.array([[0.2, 0.01, 0.0], [0.01, 0.3, 0.0], [0.0, 0.0, 0.3]])
    body = mechanism.add_body(mass=1.0, inertia=J, name="oblique")
    mechanism.add_joint(dy.Revolute(mechanism.bodies[0], body, (0, 1, 0), name="last"))
    return mechanism


def with_joint(joint, **options):
    """A chain of two links, and a third by another joint."""
    mechanism = chain(2, turns=False)
    body = link(mechanism, "last", 2)
    mechanism.add_joint(joint(mechanism.bodies[1], body, *options.pop("axis", ()), **options))
    return mechanism


def with_force(force):
    """A chain of two links with another force."""
    mechanism = chain(2, turns=False)
    mechanism.add_force(force(*mechanism.bodies.values()))
    return mechanism


def free():
    """Two links that nothing holds to a plane."""
    mechanism = dy.Mechanism()
    one, two = link(mechanism, 0, 0), link(mechanism, 1, 0)
    mechanism.add_joint(dy.Revolute(one, two, (0, 1, 0)))
    return mechanism


def drag(time, pose, twist):
    return -0.1 * twist


@pytest.mark.parametrize(
    "make",
    [
        stacked, with_products, free, lambda: chain(1), lambda: with_joint(dy.Spherical),
        lambda: with_joint(dy.Revolute, axis=((1, 0, 0),)),
        lambda: with_joint(dy.Revolute, axis=((0, 0.6, 0.8),)),
        lambda: with_joint(dy.Cylindrical, axis=((0, 1, 0),)),
        lambda: with_joint(
            dy.Revolute, axis=((0, 1, 0),), compliance=1e-6 * (np.eye(5) + 0.1 * np.ones((5, 5)))
        ),
        lambda: with_force(lambda one, two: dy.Spring(one, two, 10.0, parent_point=(0, 0.1, 0))),
        lambda: with_force(lambda one, two: dy.Wrench(two, drag)),
    ],
    ids=[
        "points apart", "oblique inertia", "free", "one body", "ball", "axis in the plane",
        "oblique axis", "slides across", "mixed rows", "spring apart", "a function of a user",
    ],
)  # fmt: skip
def test_mechanisms_without_a_plane_of_symmetry_are_not_planar(make):
    assert not is_planar(make().finalize(H))


def test_a_spring_in_the_plane_keeps_a_mechanism_planar(both):
    models = both(with_force(lambda one, two: dy.Spring(one, two, 10.0, length=0.2)))
    compare(models, [started(model) for model in models], 0.5, 5e-12)


def test_higher_orders_solve_all_equations():
    assert not is_planar(chain(2).finalize(H, order=4))


def test_near_models_are_planar_unless_planes_lie_between_bodies(both):
    # capsules on the ground add no equation; two boxes that are near touch a plane, which is a body
    mechanism = dy.Mechanism()
    for k, x in enumerate((0.0, 0.55)):
        body = mechanism.add_body(dy.Box(0.4, 0.2, 0.2, mass=1.0), name=k)
        slide = dy.PlanarAxis(
            mechanism.world, body, (0, 1, 0), parent_point=(x, 0, 0.3), name=("slide", "held")[k]
        )
        mechanism.add_joint(slide)
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    mechanism.collide(friction=0.5)
    models = both(mechanism)
    states = [model.initial_state() for model in models]
    for model, state in zip(models, states):  # they meet after 0.15 s
        model.set_joint(state, "slide", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    motion, _ = compare(models, states, 0.4, 1e-9, determined=False)
    seen = set()
    for part in motion.parts:
        near = models[0].near.of(part.pairs).model
        assert is_planar(near) == (near.n_bodies == 2)
        seen.add(near.n_bodies)
    assert seen == {2, 3}


@pytest.mark.parametrize("name", ["half_cheetah", "hopper", "walker2d"])
def test_robots_of_gymnasium_are_planar(both, name):
    spec = find_spec("gymnasium")
    if spec is None or find_spec("mujoco") is None:
        pytest.skip("gymnasium or mujoco is not installed")
    path = Path(spec.origin).parent / "envs" / "mujoco" / "assets" / f"{name}.xml"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        mechanism = dy.load(path, collide=True)
    models = both(mechanism)
    states = [dy.separate(model, model.initial_state()) for model in models]
    commands = np.random.default_rng(0).uniform(-1.0, 1.0, (6, len(models[0].tables.control_names)))
    compare(models, states, 0.3, 1e-9, controls=np.repeat(commands, 5, axis=0))
