"""Islands of bodies that touch: what connects bodies, and that islands do not feel each other."""

import networkx as nx
import numpy as np

import dynamics as dy
from dynamics import rotation
from dynamics.kernels.base import layout
from dynamics.kernels.contacts import islands, rows

from .kernel_calls import with_list
from .test_collide import SHAPES, heap

H = 0.01


def balls(n, spacing=1.0):
    """Balls in a row, each with a contact with the next one."""
    mechanism = dy.Mechanism()
    made = [
        mechanism.add_body(dy.Sphere(0.2, mass=1.0), name=i, position=(spacing * i, 0, 1))
        for i in range(n)
    ]
    for a, b in zip(made, made[1:]):
        mechanism.add_contact(b, a)
    return mechanism, made


def work_of(model, acting):
    """Work arrays of contacts of which some act."""
    plan = model.tables.plan
    contacts = np.zeros(layout.CONTACT_WORK * int(plan[layout.CONTACTS]))
    contacts[layout.ACTIVE_AT :: layout.CONTACT_WORK] = acting
    return with_list(plan, contacts)


def record(model, work, body):
    at = islands.record_of(model.tables.plan, body)
    return work[at : at + layout.ISLAND_SIZE]


def labels(model, acting):
    """Number of the island of each body."""
    work = work_of(model, acting)
    islands.find_islands(model.tables.plan, work)
    n = int(model.tables.plan[layout.BODIES])
    return [int(record(model, work, k)[layout.ISLAND]) for k in range(n)]


def test_contacts_that_act_unite_their_bodies():
    model = balls(5)[0].finalize(H)
    assert labels(model, [0, 0, 0, 0]) == [0, 1, 2, 3, 4]
    assert labels(model, [1, 0, 1, 1]) == [0, 0, 2, 2, 2]
    assert labels(model, [1, 1, 1, 1]) == [0, 0, 0, 0, 0]


def no_energy(one, two, three):
    return 0.0, np.zeros(18)


def test_joints_springs_couplings_and_functions_unite_their_bodies_but_not_the_world():
    mechanism, made = balls(12)
    world = mechanism.world
    for body in made[:2]:
        mechanism.add_contact(body)  # of the ground
    mechanism.add_joint(dy.Spherical(made[0], made[3], name="joint"))
    mechanism.add_force(dy.Spring(made[1], made[4], stiffness=10.0, length=3.0))
    geared = [
        mechanism.add_joint(
            dy.Revolute(world, made[k], (0, 0, 1), parent_point=(k, 0, 1), name=f"pin {k}")
        )
        for k in (5, 7)
    ]
    mechanism.add_coupling(*geared, 2.0)
    mechanism.add_force(dy.Potential(function=no_energy, bodies=[made[k] for k in (8, 9, 11)]))
    model = mechanism.finalize(H)
    acting = np.zeros(int(model.tables.plan[layout.CONTACTS]))
    found = labels(model, acting)
    assert found == [0, 1, 2, 0, 1, 5, 6, 5, 8, 8, 10, 8]
    acting[-2:] = 1.0  # the ground connects nothing
    assert labels(model, acting) == found


def test_islands_are_the_connected_components():
    rng = np.random.default_rng(4)
    mechanism, made = balls(9)
    for k in range(14):
        a, b = rng.choice(9, 2, replace=False)
        mechanism.add_contact(made[a], made[b], name=f"contact {k}")
    model = mechanism.finalize(H)
    plan = model.tables.plan
    table = plan[plan[layout.CONTACT_AT] :][: plan[layout.CONTACTS] * layout.CONTACT_FIELDS]
    ends = table.reshape(-1, layout.CONTACT_FIELDS)[:, [layout.A, layout.B]]
    for _ in range(30):
        acting = rng.random(len(ends)) < 0.25
        graph = nx.Graph()
        graph.add_nodes_from(range(9))
        graph.add_edges_from(ends[acting].tolist())
        wanted = {k: min(part) for part in nx.connected_components(graph) for k in part}
        assert labels(model, acting) == [wanted[k] for k in range(9)]


def test_planes_of_near_pairs_are_in_the_island_of_their_body():
    model, state = heap(8, SHAPES, side=2)
    motion = dy.simulate(model, state, 0.5)
    pairs = max((part.pairs for part in motion.parts), key=len)
    plan = model.near.of(pairs).arrays.plan
    n = int(plan[layout.BODIES])
    first = plan[plan[layout.BODY_AT] + n :][:n].tolist()

    assert n > 8
    assert first[:8] == list(range(8))
    groups = plan[plan[layout.GROUP_AT] :][: plan[layout.GROUPS] * layout.GROUP_FIELDS]
    ties = groups.reshape(-1, layout.GROUP_FIELDS)[:, [layout.A, layout.B]].tolist()
    assert [first[plane] for plane, _ in ties] == [body for _, body in ties]


def test_an_island_is_open_if_any_of_its_bodies_was_and_its_contacts_are_listed():
    model = balls(6)[0].finalize(H)
    plan, work = model.tables.plan, work_of(model, [1, 0, 0, 0, 1])
    islands.find_islands(plan, work)
    for body in (0, 2, 4):
        record(model, work, body)[layout.PHASE] = layout.SETTLED
    islands.keep_open(plan, work)
    assert rows.acting_contacts(plan, work) == 0

    work[layout.CONTACT_WORK + layout.ACTIVE_AT] = layout.MUST_ACT  # of 1 and 2
    islands.enter(plan, work, 1, layout.OPEN)
    islands.list_between_open(plan, work)
    islands.find_islands(plan, work)
    islands.keep_open(plan, work)

    assert [record(model, work, k)[layout.ISLAND] for k in range(6)] == [0, 0, 0, 3, 4, 4]
    listed = [rows.acting_contact(plan, work, j) for j in range(rows.acting_contacts(plan, work))]
    assert listed == [0, 1]
    assert islands.count(plan, work, layout.OPEN) == 2  # that and ball 3, which nothing settled
    assert islands.count(plan, work, layout.SETTLED) == 1


def scene(parts):
    """Boxes that fall on each other, and balls that roll, far apart from each other."""
    mechanism = dy.Mechanism()
    if "boxes" in parts:
        for k in range(3):
            box = mechanism.add_body(
                dy.Box(0.3, 0.25, 0.2, mass=1.0), name=f"box {k}",
                position=(0.05 * k, 0, 0.16 + 0.3 * k),
                orientation=rotation.from_axis_angle((1, 0.3 * k, 0), 0.3),
            )  # fmt: skip
            mechanism.add_contact(box, friction=0.4)
        for k in range(2):
            ends = mechanism.bodies[f"box {k + 1}"], mechanism.bodies[f"box {k}"]
            mechanism.add_contact(*ends, friction=0.4)
    if "balls" in parts:
        for k in range(2):
            ball = mechanism.add_body(
                dy.Sphere(0.1, mass=0.5), name=f"ball {k}", position=(10 + 0.3 * k, 0, 0.1)
            )
            mechanism.add_contact(ball, friction=0.4)
        mechanism.add_contact(mechanism.bodies["ball 1"], mechanism.bodies["ball 0"])
    model = mechanism.finalize(H)
    state = model.initial_state()
    if "balls" in parts:
        model.set_body(state, "ball 0", velocity=(2, 0, 0))
    return model, state


def test_parts_of_a_scene_move_as_they_do_alone():
    both = dy.simulate(*scene(("boxes", "balls")), 0.5)
    for part in ("boxes", "balls"):
        alone = dy.simulate(*scene((part,)), 0.5)
        for name in alone.model.tables.body_index:
            # each step within the tolerance of contacts, 1e-9 of speeds; impacts make it more
            apart = np.abs(both.body(name)[0] - alone.body(name)[0]).max()
            assert apart < 1e-5, name


def test_a_step_that_ends_in_a_cycle_says_how_exact_it_is():
    mechanism = dy.Mechanism()
    for k in range(6):
        angle = 0.25 if k == 0 else 0.0
        low = 0.02 * np.sin(angle) + 0.1 * np.cos(angle) + 1e-4
        box = mechanism.add_body(
            dy.Box(0.02, 0.1, 0.2, mass=1.0), name=k,
            position=(0.1 * k + 0.1 * np.sin(angle), 0, low),
            orientation=rotation.from_axis_angle((0, 1, 0), angle),
        )  # fmt: skip
        mechanism.add_contact(box, friction=0.5)
        if k > 0:
            mechanism.add_contact(box, mechanism.bodies[k - 1], friction=0.5)
    model = mechanism.finalize(H)
    state = model.initial_state()
    for _ in range(80):
        state, info = model.step(state)
        assert info.residual <= 1e3 * 1e-9
    for k in range(6):
        _, x, y, _ = state.pose[k, 3:]
        assert 1.0 - 2.0 * (x * x + y * y) < 0.95  # all of them have fallen
