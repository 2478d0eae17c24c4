"""Rows of contacts, limits and dry friction: velocities of points, slopes of gaps, what acts."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.kernels.base import layout
from dynamics.kernels.contacts.rows import bounced, impulses

from .kernel_calls import contact_gaps, contact_rows

X, Y, Z = np.eye(3)
H = 0.01
NORMAL, FRICTION = layout.W_AT, layout.T_AT


def node_of(model, state):
    """Arrays of a node at a state."""
    plan, constant = model.tables.plan, model.tables.constant
    work = np.zeros(2 * int(plan[layout.WORK_SIZE]))
    node, at = model.kernel.node_of(plan, work, 0)
    model.kernel.load_state(
        plan, constant, state.data, node, model.kernel.node_of(plan, work, at)[0]
    )
    return node


def rows_of(model, state, u, reach=np.inf, before=0.0, part=1.0, h=H):
    """Work arrays of all contacts, shape (contacts, CONTACT_WORK)."""
    plan, constant = model.tables.plan, model.tables.constant
    contacts = np.zeros((plan[layout.CONTACTS], layout.CONTACT_WORK))
    contacts[:, layout.ACTIVE_AT], contacts[:, layout.RESTITUTION_AT] = before, part
    found = np.zeros(10)
    node = node_of(model, state)
    assert contact_rows(plan, constant, h, node, u, reach, found, contacts.ravel()) == 0
    return contacts


def two_balls(**options):
    """Two free balls of 2 kg and 5 kg in contact with each other, both friction blocks and more."""
    mech = dy.Mechanism()
    a = mech.add_body(dy.Sphere(0.3, mass=2.0), name="a")
    b = mech.add_body(dy.Sphere(0.2, mass=5.0), name="b")
    options = {"friction": 0.5, "torsional": 0.1, "rolling": 0.1} | options
    mech.add_contact(b, a, name="touch", **options)
    return mech.finalize(H)


def anywhere(model, rng, apart):
    state = model.initial_state()
    way = rng.normal(size=3)
    place = rng.normal(size=3)
    model.set_body(state, "a", position=place, orientation=rotation.random(rng))
    place = place + way * apart / np.linalg.norm(way)
    model.set_body(state, "b", position=place, orientation=rotation.random(rng))
    return state


def test_rows_are_relative_velocities_of_the_nearest_points_and_of_turns():
    model, rng = two_balls(), np.random.default_rng(0)
    for _ in range(10):
        state, u = anywhere(model, rng, 0.7), rng.normal(size=12)
        (work,) = rows_of(model, state, u)
        x, q = state.pose[:, :3], state.pose[:, 3:]
        normal = (x[1] - x[0]) / 0.7
        turns = [rotation.rotate(q[i], u[6 * i + 3 : 6 * i + 6]) for i in range(2)]
        points = [
            u[6 * i : 6 * i + 3] + np.cross(turns[i], reach * normal)
            for i, reach in ((0, 0.3), (1, -0.2))
        ]
        along, about = points[1] - points[0], turns[1] - turns[0]

        assert work[layout.GAP_AT] == pytest.approx(0.2)
        assert work[NORMAL : NORMAL + 12] @ u == pytest.approx(normal @ along)
        blocks = work[FRICTION : FRICTION + 72].reshape(6, 12) @ u
        # two of sliding, across the normal: of length 1, and at right angles
        across = along - (normal @ along) * normal
        assert np.linalg.norm(blocks[:2]) == pytest.approx(np.linalg.norm(across))
        # one of turning about the normal, two of rolling about the same directions as sliding
        assert blocks[2] == pytest.approx(normal @ about) and blocks[3] == 0.0
        rolling = about - (normal @ about) * normal
        assert np.linalg.norm(blocks[4:]) == pytest.approx(np.linalg.norm(rolling))
        assert blocks[:2] @ blocks[4:] == pytest.approx(across @ rolling)


def test_masses_of_rows_are_those_of_balls_by_hand():
    model, rng = two_balls(), np.random.default_rng(1)
    (work,) = rows_of(model, anywhere(model, rng, 0.7), np.zeros(12))
    moments = 0.4 * 2.0 * 0.3**2, 0.4 * 5.0 * 0.2**2
    push = 1 / 2.0 + 1 / 5.0
    slide = push + 0.3**2 / moments[0] + 0.2**2 / moments[1]
    turn = 1 / moments[0] + 1 / moments[1]
    assert work[layout.MASS_AT] == pytest.approx(1.0 / push)
    found = work[layout.BLOCK_MASS_AT : layout.BLOCK_MASS_AT + 3]
    assert found == pytest.approx([1.0 / slide, 1.0 / turn, 1.0 / turn])


@pytest.mark.parametrize("tall", [False, True])
def test_the_row_at_the_end_is_the_slope_of_the_gap_by_the_velocity(tall):
    # the gap of poses x + h v and q (sqrt(1 - |phi|^2), phi), phi = h omega / 2, by differences
    mech = dy.Mechanism()
    shape = dy.Capsule(0.1, 0.6, mass=2.0)
    a = mech.add_body(shape, name="a")
    b = mech.add_body(dy.Sphere(0.2, mass=5.0), name="b")
    mech.add_contact(b, a, name="touch")
    model = mech.finalize(H)
    rng, h = np.random.default_rng(2), 0.1
    plan, constant, found = model.tables.plan, model.tables.constant, np.zeros(10)
    state = anywhere(model, rng, 0.9 if tall else 0.5)
    contacts = rows_of(model, state, np.zeros(12), h=h)

    def end(u):
        after = state.copy()
        for i in range(2):
            phi = 0.5 * h * u[6 * i + 3 : 6 * i + 6]
            turn = np.array([np.sqrt(1.0 - phi @ phi), *phi])
            after.pose[i, :3] += h * u[6 * i : 6 * i + 3]
            after.pose[i, 3:] = rotation.multiply(state.pose[i, 3:], turn)
        work = contacts.copy()
        assert contact_gaps(plan, constant, h, u, node_of(model, after), found, work.ravel()) == 0
        return work[0, layout.GAP_AT], work[0, layout.NEXT_AT : layout.NEXT_AT + 12]

    u = rng.normal(size=12)
    gap, row = end(u)
    d = 1e-6 * np.eye(12)
    slope = np.array([end(u + one)[0] - end(u - one)[0] for one in d]) / 2e-6
    np.testing.assert_allclose(h * row, slope, atol=1e-8)
    assert gap > 0.0


def test_what_can_be_reached_in_an_interval_acts_and_what_is_far_does_not():
    model = two_balls()
    at_rest, state = np.zeros(12), model.initial_state()
    for gap, speed, acts in ((0.01, 2.0, True), (0.5, 2.0, False), (1e-12, 0.0, True)):
        model.set_body(state, "a", position=np.zeros(3))
        model.set_body(state, "b", position=(0.5 + gap) * X)
        for body, way in ((0, 1.0), (1, -1.0)):
            u = at_rest.copy()
            u[6 * body] = way * speed
            (work,) = rows_of(model, state, u, reach=1e-9)
            assert work[layout.ACTIVE_AT] == acts
            assert (work[layout.MASS_AT] > 0.0) == acts  # rows of what does not act stay empty
            assert rows_of(model, state, u)[0, layout.ACTIVE_AT] == 1.0
            (work,) = rows_of(model, state, u, reach=1e-9, before=layout.MUST_ACT)
            assert work[layout.ACTIVE_AT] == layout.MUST_ACT


def boxes_above_each_other():
    """Two boxes with a plane between them, the lower one above the ground: half-spaces alone."""
    mech = dy.Mechanism()
    a = mech.add_body(dy.Box(0.3, 0.2, 0.1, mass=2.0), name="a", position=(0, 0, 0.2))
    b = mech.add_body(dy.Box(0.2, 0.1, 0.1, mass=1.0), name="b", position=(0.1, 0, 0.4))
    mech.add_contact(b, a, name="pair", friction=0.3)
    mech.add_contact(a, name="floor", friction=0.3)
    return mech.finalize(H)


def test_corners_act_if_speeds_along_their_rows_lead_to_the_half_space():
    model, rng, acting = boxes_above_each_other(), np.random.default_rng(5), []
    plan, constant = model.tables.plan, model.tables.constant
    places = plan[layout.CONTACT_AT] + layout.CONTACT_FIELDS * np.arange(plan[layout.CONTACTS])
    units = plan[layout.CONTACT_CONSTANT_AT] + layout.CONTACT_SIZE * np.arange(len(places))
    for scale in np.geomspace(0.03, 30.0, 40):
        state = model.initial_state()
        n = len(state.pose)
        state.pose[:, :3] += 0.02 * rng.normal(size=(n, 3))
        turns = np.concatenate([np.ones((n, 1)), 0.2 * rng.normal(size=(n, 3))], axis=1)
        state.pose[:, 3:] = [
            rotation.multiply(pose[3:], turn / np.linalg.norm(turn))
            for pose, turn in zip(state.pose, turns)
        ]
        u = np.append(scale * rng.normal(size=6 * n), np.zeros(6))  # the world rests
        every = rows_of(model, state, u[:-6], before=layout.MUST_ACT)
        bodies = plan[places[:, None] + [layout.A, layout.B]]
        speeds = np.abs(every[:, :12].reshape(-1, 2, 6) * u.reshape(-1, 6)[bodies]).sum((1, 2))
        way = H * (speeds + H * constant[units + layout.FALL])
        way += 1e-9 * constant[units + layout.CONTACT_LENGTH]
        found = rows_of(model, state, u[:-6], reach=1e-9)[:, layout.ACTIVE_AT]
        np.testing.assert_array_equal(found, every[:, layout.GAP_AT] < way)
        acting.append(found.mean())
    assert min(acting) < 0.3 < 0.9 < max(acting)


def test_a_bounce_reverses_a_part_of_the_speed_where_the_gap_closes_in_the_interval():
    model, state = two_balls(restitution=0.5), two_balls().initial_state()
    u = np.zeros(12)
    u[0], u[6] = 3.0, -1.0  # 4 m/s towards each other
    plan = model.tables.plan
    for gap, part, before, bounce in (
        (0.03, 1.0, 0.0, -2.0),
        (0.03, 0.25, 0.0, -0.5),  # with less of its restitution, as it gave energy
        (0.05, 1.0, 0.0, 0.0),  # not yet
        (0.03, 1.0, layout.MUST_ACT, 0.0),  # it was passed: the gap counts
    ):
        model.set_body(state, "a", position=np.zeros(3))
        model.set_body(state, "b", position=(0.5 + gap) * X)
        work = rows_of(model, state, u, before=before, part=part)
        assert work[0, layout.SPEED_AT] == pytest.approx(bounce)
        assert work[0, layout.RESTITUTION_AT] == (-part if bounce else part)
        assert bounced(plan, work.ravel()) == bool(bounce)
        # at an impact the row at the start counts at the end, on velocities
        found = np.zeros(10)
        contact_gaps(plan, model.tables.constant, H, u, node_of(model, state), found, work.ravel())
        row = work[0, layout.NEXT_AT : layout.NEXT_AT + 12]
        assert row @ u == pytest.approx(-4.0)
    (resting,) = rows_of(model, state, 1e-6 * u)
    assert resting[layout.SPEED_AT] == 0.0


def test_limits_of_a_hinge_by_hand():
    mech = dy.Mechanism()
    arm = mech.add_body(dy.Box(0.1, 0.1, 1.0, mass=3.0), name="arm")
    mech.add_joint(
        dy.Revolute(
            mech.world, arm, Y, child_point=0.5 * Z, name="hinge", friction=0.4,
            limits=[(-0.5, 0.7)], velocity_limits=[(-2.0, 3.0)],
        )
    )  # fmt: skip
    model = mech.finalize(H)
    state = model.initial_state()
    model.set_joint(state, "hinge", 0.2, 1.5)
    u = np.array([0.0, 0, 0, 0, 1.5, 0])
    plan = model.tables.plan
    work = rows_of(model, state, u)
    found = []
    for k in range(len(work)):
        at = plan[layout.CONTACT_AT] + k * layout.CONTACT_FIELDS
        friction = plan[at + layout.BLOCKS] == 1
        row = work[k, (FRICTION if friction else NORMAL) :][:12]
        other = work[k, (NORMAL if friction else FRICTION) :][:12]
        assert not other.any()
        found.append((*np.round([row[6:] @ u, work[k, layout.SPEED_AT]], 12), friction))
        if work[k, layout.SPEED_AT] == 0.0:
            rate = row[6:] @ u
            assert work[k, layout.GAP_AT] == pytest.approx(0.7 if rate > 0.0 else 0.5)
        moment = 3.0 * (1.0 + 0.01) / 12.0
        mass = work[k, layout.BLOCK_MASS_AT if friction else layout.MASS_AT]
        assert mass == pytest.approx(moment)
        assert work[k, layout.ACTIVE_AT] == 1.0
    # two limits of the angle, two of its rate: s = rate + 2 and 3 - rate, dry friction: s = 1
    assert sorted(found) == sorted(
        [(1.5, 0.0, False), (-1.5, 0.0, False), (1.5, 2.0, False), (-1.5, 3.0, False)]
        + [(1.5, 1.0, True)]
    )


@pytest.mark.parametrize("friction", ["round", "linear"])
def test_forces_become_impulses_and_those_that_do_not_act_none(friction):
    mech = dy.Mechanism()
    for name, soft in (("rigid", 0.0), ("apart", 0.0), ("soft", 1e-3)):
        ball = mech.add_body(dy.Sphere(0.1, mass=1.0), name=name)
        options = {"cone": 4} if friction == "linear" else {"torsional": 0.1, "rolling": 0.1}
        mech.add_contact(ball, friction=0.5, compliance=soft, **options)
    model = mech.finalize(H)
    plan = model.tables.plan
    work = np.zeros((3, layout.CONTACT_WORK))
    work[[0, 2], layout.ACTIVE_AT] = 1.0
    c = np.arange(1.0, plan[layout.SLOTS] + 1.0)
    expected = c.copy()
    for k, part in ((0, H), (1, 0.0), (2, 0.5 * H)):
        at = plan[layout.CONTACT_AT] + k * layout.CONTACT_FIELDS
        slot, blocks, facets = plan[[at + layout.SLOT, at + layout.BLOCKS, at + layout.FACETS]]
        places = [slot]
        for i in range(blocks):
            first = slot + layout.CONES + layout.BLOCK * i
            places += [first, first + 1]
        if facets:
            first = slot + layout.CONES + layout.BLOCK * blocks
            places += range(first, first + facets + 1)
        expected[places] *= part
    impulses(plan, model.tables.constant, H, 0.5 * H, work.ravel(), c)
    assert c.tolist() == expected.tolist()


def lying_ball(cone="round", **options):
    """A ball of 2 kg at rest on the ground, and numbers of its contact that say so."""
    mech = dy.Mechanism()
    ball = mech.add_body(dy.Sphere(0.1, mass=2.0), position=0.1 * Z, name="ball")
    mech.add_contact(ball, friction=0.5, cone=cone, **options)
    model = mech.finalize(H)
    state = model.initial_state()
    for _ in range(3):
        state, _ = model.step(state)
    return model, state


@pytest.mark.parametrize("cone", ["round", 4])
@pytest.mark.parametrize(
    ("momentum", "rows"),
    [
        ([0.1, 0.0, -1.0], 3),  # rolls: a push of 2/7 of 0.1 sticks below half of 1
        ([0.0, -0.1, -1.0], 3),
        ([3.0, 0.0, -1.0], 1),  # slides: 2/7 of 3 is more than half of 1
        ([0.0, 3.0, -1.0], 1),
        ([0.1, 0.0, 1.0], 0),  # leaves
    ],
)
def test_velocities_of_a_node_are_momenta_that_closed_contacts_let_pass(cone, momentum, rows):
    model, state = lying_ball(cone)
    state.momentum[0] = [*momentum, 0.0, 0.0, 0.0]
    (work,) = rows_of(model, state, np.zeros(6))
    places = [NORMAL, FRICTION, FRICTION + 12][:rows]
    W = np.array([work[at + 6 : at + 12] for at in places]).reshape(rows, 6)
    lightness = 1.0 / np.array([2.0] * 3 + [0.4 * 2.0 * 0.1**2] * 3)
    free = lightness * state.momentum[0]
    held = lightness[:, None] * W.T @ np.linalg.solve(W * lightness @ W.T, W @ free)
    # rows are held by 1e7 times their masses
    np.testing.assert_allclose(model.velocities(state)[0], free - held, atol=2e-6)


@pytest.mark.parametrize(
    ("spin", "held"),
    [((0.0, 0.0, 0.04), True), ((0.0, 0.0, 0.06), False), ((0.01, 0.0, 0.0), True)],
)
def test_turning_and_rolling_on_the_spot_are_held_up_to_their_bounds(spin, held):
    # a push of 1 N s bears 0.05 N m s about the normal, 0.02 N m s about the ground's directions
    model, state = lying_ball(torsional=0.05, rolling=0.02)
    state.momentum[0] = [0.0, 0.0, -1.0, *spin]
    found = model.velocities(state)[0]
    wanted = np.zeros(3) if held else np.array(spin) / (0.4 * 2.0 * 0.1**2)
    np.testing.assert_allclose(found[3:], wanted, atol=1e-5)
    np.testing.assert_allclose(found[:3], 0.0, atol=1e-6)


@pytest.mark.parametrize(("momentum", "velocity"), [(0.04, 0.0), (-0.04, 0.0), (0.06, 0.03)])
def test_dry_friction_holds_what_it_can_take_in_half_an_interval(momentum, velocity):
    # 10 N times 5 ms
    mech = dy.Mechanism(gravity=(0.0, 0.0, 0.0))
    box = mech.add_body(dy.Box(1.0, 1.0, 1.0, mass=2.0), name="box")
    mech.add_joint(dy.Prismatic(mech.world, box, X, friction=10.0))
    model = mech.finalize(H)
    state = model.initial_state()
    for _ in range(3):
        state, _ = model.step(state)
    state.momentum[0, 0] = momentum
    np.testing.assert_allclose(model.velocities(state)[0, 0], velocity, atol=1e-6)


def test_velocities_of_a_node_pass_while_the_gap_stays_open():
    # its barrier presses a little, far less than what would stop the ball
    model, _ = lying_ball()
    state = model.initial_state()
    model.set_body(state, "ball", position=(0.1 + 0.05) * Z, velocity=-1.0 * Z)
    for _ in range(3):
        state, _ = model.step(state)
    assert 0.0 < state.pose[0, 2] - 0.1 < 0.03
    velocity = state.momentum[0, 2] / 2.0
    assert model.velocities(state)[0, 2] == pytest.approx(velocity) and velocity < -1.0


def test_velocities_of_a_node_pass_what_no_contact_closed():
    # the same ball in the air: numbers of its contact say that it does not press
    model, _ = lying_ball()
    state = model.initial_state()
    model.set_body(state, "ball", position=0.3 * Z)
    state.momentum[0] = [0.1, 0.0, -1.0, 0.0, 0.0, 0.0]
    assert model.velocities(state)[0] == pytest.approx([0.05, 0.0, -0.5, 0.0, 0.0, 0.0])
