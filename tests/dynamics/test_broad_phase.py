"""Pairs of shapes that are near: those of a test of all pairs, at a cost that is linear in both."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynamics as dy
from dynamics import rotation
from dynamics.kernels.base import layout
from dynamics.kernels.collisions import broad_phase as bp
from dynamics.kernels.collisions import carry, watch
from dynamics.kinematics import near_models
from dynamics.kinematics.near_run import NearRun
from dynamics.parts.geometry import Geometry
from dynamics.tables import near_graph, near_tables
from dynamics.tables.collisions import ShapeTables
from dynamics.tables.model_tables import lasting

SHAPES = (
    dy.Box(0.2, 0.16, 0.12, mass=1.0), dy.Sphere(0.1, mass=1.0), dy.Capsule(0.05, 0.2, mass=1.0),
    dy.Cylinder(0.08, 0.2, mass=1.0), dy.Box(3.0, 0.01, 0.01, mass=1.0), dy.Sphere(1e-3, mass=1.0),
)  # fmt: skip


def searched(near, state):
    """Search for the near pairs of a state."""
    search = near.search()
    watch.renew(search.arrays(), near.model.n_bodies, near.model.timestep, state)
    return search


def pairs_of_all(near, search):
    """Near pairs by a test of each pair, with the bounds and the allowances of a search."""
    bounds, n = near.shapes.bounds, near.model.n_bodies
    placed, allowance, found = search.grid.placed, np.append(search.watch.allowance, 0.0), []
    for k, (i, j) in enumerate(bounds.pairs):
        enough = allowance[min(n, bounds.shapes[i, bp.BODY])]
        enough = enough + allowance[min(n, bounds.shapes[j, bp.BODY])]
        if bounds.shapes[j, bp.HALF_SPACE]:
            i, j = j, i
        if bounds.shapes[i, bp.HALF_SPACE]:
            gap = bp.above(bounds.sizes[j], placed[j], placed[i])
        else:
            gap = bp.apart(placed[i], placed[j], bounds.sizes[i], bounds.sizes[j], enough)
        if gap < enough:
            found.append(k)
    return tuple(found)


def random_scene(rng, n, obstacles, scale):
    """Moving bodies, static shapes, half-spaces; pairs are left out at random."""
    mechanism = dy.Mechanism()
    for k in range(obstacles):
        x, q = rng.normal(size=3) * scale, rotation.random(rng)
        shape = dy.HalfSpace() if rng.random() < 0.3 else SHAPES[rng.integers(6)]
        mechanism.add_obstacle(shape, name=f"o{k}", position=x, orientation=q)
    for k in range(n):
        q, more = rotation.random(rng), {}
        if rng.random() < 0.3:  # several shapes of one body
            chosen = [SHAPES[i] for i in rng.integers(6, size=2)]
            places = rng.normal(size=(2, 3)) * 0.2
            more["collisions"] = [Geometry(*one, q) for one in zip(chosen, places)]
        x = rng.normal(size=3) * scale
        mechanism.add_body(SHAPES[rng.integers(6)], name=k, position=x, orientation=q, **more)
    out = rng.integers(n, size=(n, 2)).tolist()
    mechanism.collide(without=[(i, j) for i, j in out if i != j and {i, j} != {0, 1}])
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    for k in range(n):
        moves = rng.normal(size=(2, 3)) * rng.choice([0.0, 1.0, 30.0])
        model.set_body(state, k, velocity=moves[0], angular_velocity=moves[1])
    for of in (state.interval_velocity, state.interval_velocity_before):
        of[:] = rng.normal(size=of.shape) * rng.choice([0.0, 1.0, 30.0])
    return model, state


@given(
    st.integers(0, 2**32 - 1),
    st.integers(3, 30),
    st.integers(0, 6),
    st.sampled_from([0.2, 1.0, 20.0]),
)
def test_near_pairs_are_those_of_a_test_of_all_pairs(seed, n, obstacles, scale):
    model, state = random_scene(np.random.default_rng(seed), n, obstacles, scale)
    search = searched(model.near, state.data)

    assert search.pairs == pairs_of_all(model.near, search)
    assert searched(model.near, state.data).pairs == search.pairs


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("at", ["pose", "interval_velocity"])
def test_a_search_ends_for_any_state(bad, at):
    model, state = random_scene(np.random.default_rng(1), 12, 3, 0.3)
    getattr(state, at)[3, 0] = bad
    with np.errstate(all="ignore"):
        search = searched(model.near, state.data)
        assert search.pairs == pairs_of_all(model.near, search)


def test_pairs_with_the_ground_stay_and_others_go():
    """A ball that leaves the ground and another ball; a slope on a body is no ground."""
    mechanism = dy.Mechanism()
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    for k in range(2):
        mechanism.add_body(dy.Sphere(0.1, mass=1.0), name=k, position=(0.21 * k, 0, 0.101))
    cart = mechanism.add_body(
        dy.Box(1, 1, 0.1, mass=5.0), name="cart", position=(0.0, 0.0, 0.06),
        collisions=[Geometry(dy.HalfSpace(), np.array([0, 0, -0.01]), np.array([1.0, 0, 0, 0]))],
    )  # fmt: skip
    mechanism.collide(without=[(cart, "floor")])
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    search = searched(model.near, state.data)
    names = [model.near.contact(k).name for k in search.pairs]
    grounded = [k for k, name in zip(search.pairs, names) if "floor" in str(name)]
    assert len(grounded) == 2 < len(search.pairs)

    state.pose[:2, 2] += 5.0
    state.pose[1, 0] += 5.0
    watch.renew(search.arrays(), model.n_bodies, model.timestep, state.data)

    assert list(search.pairs) == grounded
    assert searched(model.near, state.data).pairs == ()


def test_a_few_pairs_that_are_near_no_more_stay_until_another_appears():
    """Balls in a row: of 5 near pairs 2 may stay, and the third that leaves takes them with it."""
    mechanism = dy.Mechanism()
    for k in range(7):
        mechanism.add_body(dy.Sphere(0.1, mass=1.0), name=k, position=(0.21 * k, 0, 0))
    mechanism.collide()
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    state.pose[6, 0] += 5.0  # near to none
    search = searched(model.near, state.data)

    def renewed():
        again = watch.renew(search.arrays(), model.n_bodies, model.timestep, state.data)
        return bool(again), [model.near.contact(k).name for k in search.pairs]

    row = [f"{k}|{k + 1}" for k in range(5)]
    assert renewed() == (False, row)
    state.pose[4:6, 1] += 1.0  # the two balls stay together
    assert renewed() == (False, row)
    state.pose[5, 1] += 1.0
    assert renewed() == (False, row)  # 3 pairs are near, 2 are spare
    state.pose[0, 1] += 1.0
    assert renewed() == (True, row[1:3])
    state.pose[6, :2] = state.pose[4, :2] + [0.21, 0.0]
    assert renewed() == (True, [*row[1:3], "4|6"])


def test_numbers_among_others():
    cases = [([], [], True), ([1], [], False), ([1, 4], [0, 1, 4], True), ([1, 5], [1, 4], False)]
    for some, others, wanted in cases:
        some, others = np.array([*some, 9]), np.array([*others, 9])
        assert bp.are_among(some, some.size - 1, others, others.size - 1) == wanted


def lattice(side, sizes):
    """Balls of some radii by turns in a cube, all of which may touch."""
    rng, n = np.random.default_rng(0), side**3
    radius = rng.permutation(np.resize(sizes, n))
    table = np.zeros((n, bp.SHAPE_SIZE))
    table[:, bp.HALF : bp.HALF + 3] = radius[:, None]
    table[:, bp.TURN], table[:, bp.RADIUS] = 1.0, radius
    shapes = np.stack([np.arange(n), np.zeros(n, np.int64)], axis=1)
    one, two = np.triu_indices(n, 1)
    start = np.searchsorted(one, np.arange(n + 1))
    bounds = bp.Shapes(
        shapes, table, np.stack([one, two], axis=1), start, two, np.arange(one.size),
        np.zeros(0, np.int64), np.zeros(n), radius,
    )  # fmt: skip
    state = np.zeros(layout.POSE * n)
    poses = state.reshape(n, layout.POSE)
    poses[:, :3], poses[:, 3] = 0.21 * np.array(list(np.ndindex(side, side, side))), 1.0
    return bounds, state


@pytest.mark.parametrize(
    ("sizes", "density", "cells"),
    [([0.1], (0.25 / 0.21) ** 3, 14), ([0.1, 0.05, 0.02, 0.01], (0.25 / 0.21) ** 3 / 4, 3 * 27)],
)
def test_the_cost_of_a_search_is_linear_in_bodies_and_near_pairs(sizes, density, cells):
    """Each body looks into so many cells, in none of which are more, at any number of bodies.

    Of its own grid these are 13 of the 26 neighbours and its own cell, of a coarser one 27. The
    table of hashes is at most a quarter full, so that other cells add a quarter of a body to each.
    """
    for side in (3, 6, 10):
        bounds, state = lattice(side, sizes)
        n = side**3
        grid = ShapeTables(bounds, *[np.zeros(0)] * 2, np.zeros(0, np.int64)).grid()
        count = near_pairs(bounds, grid, n, state, np.full(n, 0.01))
        assert grid.counts[bp.TESTED] < cells * (density + 0.25) * n
        assert sizes != [0.1] or count == 3 * side**2 * (side - 1)  # neighbours along the axes


def near_pairs(bounds, grid, n, state, allowance):
    """`broad_phase.near_pairs` by way of a watch with these allowances."""
    flags, rule = np.zeros(watch.FLAGS_SIZE, np.int64), np.array([0.0, 0.0])
    ways, moved = 0.5 * allowance, np.concatenate([state, np.zeros(18 * n)])
    pairs, none = np.zeros(len(bounds.pairs), np.int64), np.zeros(0)
    watched = (
        np.zeros(layout.POSE * n), np.zeros(n), np.zeros(n), ways, flags, pairs, none, none, none,
        (rule, tuple(bounds), tuple(grid)),
    )  # fmt: skip
    watch.renew(watched, n, 0.01, moved)
    return int(flags[watch.COUNT])


def test_keys_are_sorted():
    rng = np.random.default_rng(0)
    for count in range(40):
        keys = rng.integers(20, size=count)
        wanted = np.sort(keys)
        bp.heap_sort(keys, count)
        np.testing.assert_array_equal(keys, wanted)


# Runs


def test_a_run_leaves_compiled_code_only_where_the_near_pairs_change(monkeypatch):
    """Two balls roll side by side for meters: the list is made anew often, with the same pairs."""
    mechanism = dy.Mechanism()
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    for k in range(2):
        mechanism.add_body(SHAPES[1], name=k, position=(0, 0.205 * k, 0.1001))
    mechanism.collide(friction=0.0)
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    for k in range(2):
        model.set_body(state, k, velocity=(5.0, 0, 0))
    changes, steps = [], []
    change, simulate = NearRun._change, NearRun._record
    monkeypatch.setattr(NearRun, "_change", lambda run: (changes.append(1), change(run))[1])
    monkeypatch.setattr(
        NearRun, "_record", lambda run, *given: (steps.append(1), simulate(run, *given))[1]
    )
    motion = dy.simulate(model, state, 1.0)

    assert motion.states[-1][0] > 4.9 and len(motion.parts[0].pairs) == 3
    assert not changes and len(steps) <= 10  # portions of the run


def test_steps_read_no_more_of_a_workspace_than_is_kept_for_taking_them_back(monkeypatch):
    mechanism, rng = dy.Mechanism(), np.random.default_rng(0)
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    for k in range(4):
        at = (*rng.uniform(-0.05, 0.05, 2), 0.2 + 0.27 * k)
        mechanism.add_body(SHAPES[k], name=k, position=at, orientation=rotation.random(rng))
    mechanism.collide()
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    motion = dy.simulate(model, state, 0.4)
    assert len(motion.parts) > 3 and motion.info["intervals"] > 40
    advance = NearRun.advance

    def poisoned(run, done, count):
        for k in range(count):
            run.space.work[lasting(run.space.plan) :] = np.nan
            if advance(run, done + k, 1) == 0:
                return k
        return count

    monkeypatch.setattr(NearRun, "advance", poisoned)
    np.testing.assert_array_equal(dy.simulate(model, state, 0.4).states, motion.states)


def test_a_run_goes_on_in_another_near_model_whatever_its_workspace_held(monkeypatch):
    mechanism, rng = dy.Mechanism(), np.random.default_rng(0)
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    parent = None
    for k in range(4):
        at = (*rng.uniform(-0.05, 0.05, 2), 0.2 + 0.27 * k)
        body = mechanism.add_body(
            SHAPES[k], name=k, position=at, orientation=rotation.random(rng)
        )  # fmt: skip
        if k == 1:
            mechanism.add_joint(
                dy.Revolute(
                    parent, body, (1, 0, 0), parent_point=(0, 0, 0.135), child_point=(0, 0, -0.135),
                    stiffness=1e6, damping=1.0, armature=0.1,
                )
            )  # fmt: skip
        parent = body
    mechanism.add_force(dy.Wrench(body, lambda time, z, u: [0, 0, -0.1, 0, 0, 0]))
    mechanism.collide()
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    motion = dy.simulate(model, state, 0.4)
    assert len(motion.parts) >= 3
    load_node = near_models.load_node

    def poisoned(plan, constant, state, given, work):
        work[: lasting(plan)] = np.nan
        load_node(plan, constant, state, given, work)

    monkeypatch.setattr(near_models, "load_node", poisoned)
    np.testing.assert_array_equal(dy.simulate(model, state, 0.4).states, motion.states)


def test_near_models_are_kept_up_to_a_size_and_made_again_the_same(monkeypatch):
    mechanism = dy.Mechanism()
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    for k in range(4):
        mechanism.add_body(SHAPES[1], name=k, position=(0, 0, 0.2 + 0.35 * k))
    mechanism.collide()
    motions = []
    for kept in (near_models.KEPT, 1.0):
        monkeypatch.setattr(near_models, "KEPT", kept)
        model = mechanism.copy().finalize(0.01)
        motions.append(dy.simulate(model, model.initial_state(), 0.5))
        sets = {part.pairs for part in motions[-1].parts}
        assert len(model.near._models) == (1 if kept == 1.0 else len(sets)) and len(sets) > 3
    np.testing.assert_array_equal(motions[0].states, motions[1].states)


def heap():
    """Model and start of four boxes that fall on each other, next to a motor."""
    mechanism = dy.Mechanism()
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    for k in range(4):
        mechanism.add_body(SHAPES[0], name=k, position=(0, 0.01 * k, 0.2 + 0.27 * k))
    slider = mechanism.add_body(SHAPES[1], name="slider", position=(5, 0, 5))
    joint = dy.Prismatic(mechanism.world, slider, (1, 0, 0), parent_point=(5, 0, 5), actuated=True)
    mechanism.add_joint(joint)
    mechanism.collide()
    model = mechanism.finalize(0.01)
    return model, model.initial_state()


def test_a_run_reads_nothing_that_another_near_model_left_in_their_memory():
    model, state = heap()
    motion = dy.simulate(model, state, 0.5)
    memory = model.near.memory
    assert len(model.near._models) > 3 and memory._numbers.size > 0
    memory._numbers[:] = np.nan
    np.testing.assert_array_equal(dy.simulate(model, state, 0.5).states, motion.states)


def test_a_run_inside_a_run_has_memory_of_its_own():
    model, state = heap()
    wanted = dy.simulate(model, state, 0.4, controller=lambda now, time: [0.0])
    seen = []

    def look_ahead(now, time):
        seen.append(dy.simulate(model, now, 0.2, every=20).final.data)
        return [0.0]

    found = dy.simulate(model, state, 0.4, controller=look_ahead)
    np.testing.assert_array_equal(found.states, wanted.states)
    assert len(seen) == 40 and not model.near.memory.running
    np.testing.assert_array_equal(seen[0], dy.simulate(model, state, 0.2).final.data)


def test_planes_that_appear_add_their_energy_to_the_balance():
    model, state = heap()
    motion = dy.simulate(model, state, 0.4)
    near = model.near.of(motion.parts[-1].pairs)
    after = near.model.state_of(motion.parts[-1].states[-1].copy())
    rng = np.random.default_rng(0)
    after.interval_velocity[:] = rng.normal(size=after.interval_velocity.shape)
    one = np.flatnonzero(near.places.plane >= 0)[0]
    planes, others = near.places.plane[[one]], np.delete(near.numbers, one)
    rows = near.model.tables.constant[: layout.BODY_SIZE * after.n].reshape(after.n, -1)[planes]
    v, omega = np.split(after.interval_velocity[planes], 2, axis=1)
    gravity = rows[:, layout.GRAVITY : layout.GRAVITY + 3]
    kinetic = 0.5 * rows[:, layout.MASS] @ (v**2).sum(axis=1)
    kinetic += 0.5 * rows[:, layout.INERTIA] @ (omega**2).sum(axis=1)
    wanted = kinetic + 0.5 * model.timestep * rows[:, layout.MASS] @ (gravity * v).sum(axis=1)
    found = carry.energy_of_others(
        near.model.tables.constant, after.data, after.n, model.timestep, near.numbers,
        near.places.plane, others,
    )  # fmt: skip
    assert found == pytest.approx(wanted.item(), rel=1e-12)


# Tables


def test_rows_keep_what_was_added_while_they_grow():
    rows, wanted = near_tables.Rows(int, 2), np.arange(100).reshape(50, 2)
    for k in range(50):
        rows.add(wanted[k : k + 1])
    np.testing.assert_array_equal(rows[np.arange(50)], wanted)


@pytest.mark.parametrize("bodies", [3, 9])
def test_pairs_of_equal_shapes_have_the_parts_of_pairs_made_one_by_one(bodies, monkeypatch):
    rng = np.random.default_rng(bodies)
    mechanism = dy.Mechanism()
    for name, shape in (("floor", dy.HalfSpace()), ("table", SHAPES[0])):
        mechanism.add_obstacle(shape, name=name)
    for k in range(bodies):
        # of three shapes; every fourth is in another frame of its body
        where = rotation.random(rng) if k % 4 == 3 else np.array([1.0, 0.0, 0.0, 0.0])
        own = (Geometry(SHAPES[k % 3], np.zeros(3), where),)
        at = (0.5 * k, 0.0, 1.0)
        mechanism.add_body(None, name=k, mass=1.0, inertia=[1, 1, 1], position=at, collisions=own)
    mechanism.collide()
    model = mechanism.finalize(0.01)
    near, single = near_models.NearModels(model), near_models.NearModels(model)
    monkeypatch.setattr(single, "_pair_kind", lambda k: k)
    every = np.arange(len(near.candidates.pairs))
    for chosen in (every[::3], every):  # some, then also what is like them
        one, other = near.of(tuple(chosen.tolist())), single.of(tuple(chosen.tolist()))
        np.testing.assert_array_equal(one.arrays.plan, other.arrays.plan)
        np.testing.assert_array_equal(one.arrays.constant, other.arrays.constant)
        np.testing.assert_array_equal(one.arrays.slots, other.arrays.slots)
        for a, b in zip(one.placing, other.placing):
            np.testing.assert_array_equal(a, b)
        assert one.model.tables.contact_touches == other.model.tables.contact_touches
        assert one.model.tables.units == other.model.tables.units
        assert list(one.model.tables.body_index) == list(other.model.tables.body_index)
    assert len(near._alike) < len(every) or bodies == 3


def linked(loop):
    """Two boxes on hinges next to two free shapes; with ``loop`` a rod closes a loop."""
    mechanism, parent = dy.Mechanism(), None
    mechanism.add_obstacle(dy.HalfSpace(), name="floor")
    for k in range(2):
        body = mechanism.add_body(SHAPES[0], name=f"box {k}", position=(0.25 * k, 0, 0.2))
        joint = dy.Revolute(parent or mechanism.world, body, (0, 1, 0), parent_point=(0.12, 0, 0.2))
        mechanism.add_joint(joint)
        parent = body
    if loop:
        mechanism.add_joint(dy.Spherical(mechanism.world, parent, parent_point=(0.25, 0, 0.2)))
    for k in range(2):
        at = (0.1, 0.0, 0.4 + 0.23 * k)
        mechanism.add_body(SHAPES[k], name=f"free {k}", position=at)
    mechanism.collide()
    return mechanism.finalize(0.01)


@pytest.mark.parametrize("loop", [False, True])
def test_arrays_of_a_near_model_are_those_of_its_symbolic_factorization(loop):
    """One compiled call writes what System.analyze finds in the same order, with planes or not."""
    model = linked(loop)
    near = model.near
    every = tuple(range(len(near.candidates.pairs)))
    for pairs in ((), every[:1], every[::2], every):
        made = near.of(pairs)
        tables = made.model.tables
        both = [one for one in (tables.symbolic, tables.fallback) if one is not None]
        assert len(made.arrays.programs) == len(both) == 1 + loop
        for program, symbolic in zip(made.arrays.programs, both):
            np.testing.assert_array_equal(program, symbolic.program)
        for mine, theirs in zip(made.arrays.graph, tables.symbolic.graph.tables(), strict=True):
            np.testing.assert_array_equal(mine, theirs)
        assert made.arrays.nnz == tables.symbolic.graph.nnz
        assert made.n_bodies == len(tables.body_index) and made.state_size == tables.state_size
    assert near.tables.ordered and made.n_bodies > model.n_bodies


@pytest.mark.parametrize("size", ["entries", "length"])
def test_room_for_graphs_grows_where_fronts_or_programs_do_not_fit(size, monkeypatch):
    model, small = linked(True), linked(True)
    every = tuple(range(len(model.near.candidates.pairs)))
    near, tables = model.near.of(every), small.near.tables
    wanted, nodes = near.arrays.programs, near.arrays.graph[0].size
    given = {"entries": 10**4, "length": 10**5} | {size: 20}
    monkeypatch.setattr(near_graph, "ROOM", (0, 0))
    tables._room = room = near_graph.GraphRoom(2, nodes, 100, tables._room.widest, **given)
    for one, other in zip(small.near.of(every).arrays.programs, wanted):
        np.testing.assert_array_equal(one, other)
    assert tables._room is not room and getattr(tables._room, size) > 20


def test_workspaces_of_a_run_and_of_its_model_lie_alike():
    """Errors name the body with the largest residual, which the run has left in their memory."""
    model, state = heap()
    motion = dy.simulate(model, state, 0.3)
    near = model.near.of(motion.parts[-1].pairs)
    space, named = near.space, near.model.workspace
    for mine, theirs in ((space.work, named.work), *zip(space.solver, named.solver)):
        assert mine.ctypes.data == theirs.ctypes.data and mine.size == theirs.size
