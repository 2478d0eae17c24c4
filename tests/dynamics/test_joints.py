"""Every joint: what it holds, what it leaves free, its slopes, and motion known in closed form."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.kernels.base import layout
from dynamics.kernels.rows import rows
from dynamics.kinematics import coordinates

X, Y, Z = np.eye(3)
AXIS = np.array([0.36, -0.48, 0.8])
ACROSS = np.array([0.8, 0.6, 0.0])
TURN = rotation.from_rotation_vector([0.4, -0.7, 0.9])


def distance_of(pose_a, pose_b):
    """|p_b - p_a| - 1 between centres of mass, as a user would write it."""
    r = pose_b[:3] - pose_a[:3]
    length = np.linalg.norm(r)
    slope = np.zeros((1, 12))
    slope[0, :3], slope[0, 6:9] = -r / length, r / length
    return np.array([length - 1.0]), slope


#: Name: (rows, coordinates, joint of two bodies).
JOINTS = {
    "Fixed": (6, 0, lambda a, b, **k: dy.Fixed(a, b, **k)),
    "Prismatic": (5, 1, lambda a, b, **k: dy.Prismatic(a, b, AXIS, **k)),
    "Planar": (4, 2, lambda a, b, **k: dy.Planar(a, b, AXIS, **k)),
    "FixedOrientation": (3, 3, lambda a, b, **k: dy.FixedOrientation(a, b, **k)),
    "Revolute": (5, 1, lambda a, b, **k: dy.Revolute(a, b, AXIS, **k)),
    "Cylindrical": (4, 2, lambda a, b, **k: dy.Cylindrical(a, b, AXIS, **k)),
    "PlanarAxis": (3, 3, lambda a, b, **k: dy.PlanarAxis(a, b, AXIS, **k)),
    "FreeAxis": (2, 4, lambda a, b, **k: dy.FreeAxis(a, b, AXIS, **k)),
    "Spherical": (3, 3, lambda a, b, **k: dy.Spherical(a, b, **k)),
    "PointOnLine": (2, 4, lambda a, b, **k: dy.PointOnLine(a, b, AXIS, **k)),
    "PointOnPlane": (1, 5, lambda a, b, **k: dy.PointOnPlane(a, b, AXIS, **k)),
    "Floating": (0, 6, lambda a, b, **k: dy.Floating(a, b, **k)),
    "ConstantVelocity": (4, 2, lambda a, b, **k: dy.ConstantVelocity(a, b, AXIS, **k)),
    "Universal": (4, 2, lambda a, b, **k: dy.Universal(a, b, AXIS, ACROSS, **k)),
    "Helical": (5, 1, lambda a, b, **k: dy.Helical(a, b, AXIS, 0.3, **k)),
    "Distance": (1, 0, lambda a, b, orientation=None, **k: dy.Distance(a, b, 1.3, **k)),
    "Custom": (1, 0, lambda a, b, orientation=None, **k: dy.Custom(a, b, distance_of, 1, **k)),
}
#: Those that hold velocities too.
ROLLING = {
    "Rolling": (3, 0, lambda a, b, orientation, child_point, **k: dy.Rolling(a, b, AXIS, 0.3, **k)),
    "Disc": (
        3,
        0,
        lambda a, b, orientation, child_point, **k: dy.Rolling(a, b, AXIS, 0.3, axis=ACROSS, **k),
    ),
    "KnifeEdge": (1, 0, lambda a, b, orientation, **k: dy.KnifeEdge(a, b, ACROSS, **k)),
}
ALL = JOINTS | ROLLING
MEASURED = [name for name, (_, count, _) in JOINTS.items() if count]
MODELS = {}


def model_of(name):
    """Two bodies that float, joined by one joint; finalized once."""
    if name not in MODELS:
        mechanism = dy.Mechanism()
        a = mechanism.add_body(mass=1.0, inertia=[0.1, 0.2, 0.25], name="a", position=0 * X)
        b = mechanism.add_body(mass=2.0, inertia=[0.3, 0.2, 0.25], name="b")
        mechanism.add_joint(
            ALL[name][2](
                a,
                b,
                parent_point=[0.3, -0.1, 0.2],
                child_point=[-0.2, 0.4, 0.1],
                orientation=TURN,
                name="joint",
            )
        )
        MODELS[name] = mechanism.finalize()
    return MODELS[name]


def random_state(model, seed):
    """Poses and velocities that no joint looked at; turns below half a turn."""
    rng = np.random.default_rng(seed)
    state, twists = model.initial_state(), np.zeros((model.n_bodies, 6))
    for i in range(model.n_bodies):
        state.pose[i, :3] = rng.normal(size=3)
        state.pose[i, 3:] = rotation.from_rotation_vector(0.8 * rng.normal(size=3))
        twists[i] = rng.normal(size=6)
    coordinates.set_twists(model, state, twists, list(range(model.n_bodies)))
    return state


def groups(model):
    """Numbers of the groups of rows: the constraint, if there is one, and the coordinates."""
    return range(int(model.tables.plan[layout.MEASURES]))


def values(model, group, state):
    """Rows of one group, their slopes (rows, 12) and kinds."""
    twists = np.zeros((1, 6 * model.n_bodies))
    found = model.workspace.measured(group, group + 1, state.data[None], twists)[0, :, 0]
    plan = model.tables.plan
    first = plan[plan[layout.GROUP_AT] + group * layout.GROUP_FIELDS + layout.FIRST_ROW]
    slopes = model.workspace.G.reshape(-1, 12)[first : first + found.size].copy()
    kinds = plan[plan[layout.ROW_AT] + layout.ROW_FIELDS * np.arange(first, first + found.size)]
    return found, slopes, kinds


def moved(model, state, body, axis, by):
    """The state with one body displaced (0, 1, 2) or turned in its own frame (3, 4, 5)."""
    after = state.copy()
    if axis < 3:
        after.pose[body, axis] += by
    else:
        turn = rotation.from_rotation_vector(by * np.eye(3)[axis - 3])
        after.pose[body, 3:] = rotation.multiply(after.pose[body, 3:], turn)
    return after


@pytest.mark.parametrize("name", ALL)
def test_rows_and_coordinates_of_a_joint_are_those_of_table_b2(name):
    rows_held, coordinates, _ = ALL[name]
    model = model_of(name)
    joint = model.mechanism.joints["joint"]
    assert (joint.n_rows, joint.n_coordinates) == (rows_held, coordinates)
    assert model.n_rows == rows_held


@pytest.mark.parametrize("name", [name for name, held in ALL.items() if held[0]])
def test_rows_of_a_joint_are_independent(name):
    # rank(J_a) = rank(J_b) = rank(J) = number of rows on the manifold
    model = model_of(name)
    start = random_state(model, 2)
    if name == "Custom":
        start.pose[1, :3] = start.pose[0, :3] + [0.6, 0.0, 0.8]
    state = model.assemble(start)
    G = values(model, 0, state)[1]
    for part in (G, G[:, :6], G[:, 6:]):
        singular = np.linalg.svd(part, compute_uv=False)
        assert singular.min() > 1e-2 * singular.max()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ALL)
def test_slopes_of_every_row_are_those_of_differences(name, seed):
    model, eps = model_of(name), 1e-5
    state = random_state(model, seed)
    for group in groups(model):
        _, G, kinds = values(model, group, state)
        for body in range(2):
            for axis in range(6):
                ahead = values(model, group, moved(model, state, body, axis, eps))[0]
                behind = values(model, group, moved(model, state, body, axis, -eps))[0]
                slope = (ahead - behind) / (2.0 * eps)
                # rates are slopes of no value; for headings see the next test
                rates = (rows.SPIN, rows.EDGE, rows.ROLL)
                here = ~np.isin(kinds, (*rates, rows.HEADING_A, rows.HEADING_B))
                # truncation eps^2/6 times third derivatives below 100, round-off 1e-16/eps
                np.testing.assert_allclose(G[here, 6 * body + axis], slope[here], atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_slopes_of_headings_are_those_of_differences_where_the_cross_is_square(seed):
    # off the manifold a heading has no meaning: compare along motions that keep the cross square
    model, eps = model_of("Universal"), 1e-5
    state = model.assemble(random_state(model, seed))
    free = np.eye(12) - np.linalg.pinv(values(model, 0, state)[1]) @ values(model, 0, state)[1]
    _, G, _ = values(model, 1, state)
    slope = np.empty((2, 12))
    for k in range(12):
        ahead = values(model, 1, moved(model, state, k // 6, k % 6, eps))[0]
        behind = values(model, 1, moved(model, state, k // 6, k % 6, -eps))[0]
        slope[:, k] = (ahead - behind) / (2.0 * eps)
    np.testing.assert_allclose(G @ free, slope @ free, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", MEASURED)
def test_coordinates_that_go_in_come_out(name, seed):
    model = model_of(name)
    rng = np.random.default_rng(seed)
    count = JOINTS[name][1]
    q, rates = 0.7 * rng.normal(size=count), rng.normal(size=count)
    state = model.initial_state()
    model.set_body(state, "a", orientation=rotation.random(rng), angular_velocity=[1.0, 2.0, 3.0])
    model.set_joint(state, "joint", q, rates)
    found, found_rates = model.joint(state, "joint")
    np.testing.assert_allclose(found, q, atol=1e-13)
    np.testing.assert_allclose(found_rates, rates, atol=1e-12)
    assert np.abs(model.constraint_violation(state)).max(initial=0.0) < 1e-14


@pytest.mark.parametrize("name", MEASURED)
def test_rates_are_how_coordinates_change(name):
    # move both bodies with their velocities by +-eps; a rotation vector changes by J_r^-1 omega,
    # which is omega at the small turns of this state up to its square
    model, eps = model_of(name), 1e-5
    count = JOINTS[name][1]
    state = model.initial_state()
    spinning = any(row.kind == rows.SPIN for row in model.mechanism.joints["joint"].rates)
    q = (1e-6 if spinning else 0.4) * np.arange(1, count + 1)
    model.set_joint(state, "joint", q, 0.5 - 0.3 * np.arange(count))
    rates = model.joint(state, "joint")[1]
    found = []
    for h in (eps, -eps):
        after = state.copy()
        twists = model.velocities(state)
        after.pose[:, :3] += h * twists[:, :3]
        turn = rotation.from_rotation_vector(h * twists[:, 3:])
        after.pose[:, 3:] = rotation.multiply(state.pose[:, 3:], turn)
        found.append(model.joint(after, "joint")[0])
    np.testing.assert_allclose((found[0] - found[1]) / (2.0 * eps), rates, atol=1e-5)


# Worked by hand


def hung(joint):
    """A body on the world by a joint, and its first state."""
    mechanism = dy.Mechanism()
    body = mechanism.add_body(mass=1.0, inertia=[0.1, 0.1, 0.1], name="b")
    mechanism.add_joint(joint(mechanism.world, body))
    model = mechanism.finalize()
    return model, model.initial_state()


def test_a_hinge_at_a_quarter_turn():
    model, state = hung(lambda w, b: dy.Revolute(w, b, Z, child_point=[-0.5, 0, 0], name="j"))
    model.set_joint(state, "j", np.pi / 2, 3.0)
    np.testing.assert_allclose(state.pose[0], [0, 0.5, 0, 0.7071, 0, 0, 0.7071], atol=5e-5)
    np.testing.assert_allclose(model.velocities(state)[0], [-1.5, 0, 0, 0, 0, 3.0], atol=1e-14)


def test_a_slider_at_a_quarter_metre():
    model, state = hung(lambda w, b: dy.Prismatic(w, b, [0.6, 0.8, 0.0], name="j"))
    model.set_joint(state, "j", 0.25, 2.0)
    np.testing.assert_allclose(state.pose[0, :3], [0.15, 0.2, 0.0], atol=1e-15)
    np.testing.assert_allclose(model.velocities(state)[0, :3], [1.2, 1.6, 0.0], atol=1e-15)


def test_a_screw_turns_a_quarter_on_a_quarter_of_its_pitch():
    model, state = hung(lambda w, b: dy.Helical(w, b, Z, 0.1, name="j"))
    model.set_joint(state, "j", 0.025, 0.1)
    np.testing.assert_allclose(state.pose[0], [0, 0, 0.025, 0.7071, 0, 0, 0.7071], atol=5e-5)
    assert model.velocities(state)[0, 5] == pytest.approx(2.0 * np.pi, abs=1e-12)


def test_a_screw_counts_its_turns():
    model, state = hung(lambda w, b: dy.Helical(w, b, Z, 0.1, name="j"))
    model.set_joint(state, "j", 0.73)  # 7.3 turns
    assert model.joint(state, "j")[0] == pytest.approx(0.73, abs=1e-15)
    assert np.abs(model.constraint_violation(state)).max() < 1e-14


def test_a_cross_turns_about_its_first_axis_then_its_second():
    # a quarter about x brings y to z, then a quarter about the carried y = z takes x to y
    model, state = hung(lambda w, b: dy.Universal(w, b, X, Y, name="j"))
    model.set_joint(state, "j", [np.pi / 2, np.pi / 2])
    q = state.pose[0, 3:]
    np.testing.assert_allclose(rotation.rotate(q, Y), Z, atol=1e-15)
    np.testing.assert_allclose(rotation.rotate(q, X), Y, atol=1e-15)


def test_points_three_four_apart_are_five_apart():
    model, state = hung(lambda w, b: dy.Distance(w, b, 5.0, name="j"))
    np.testing.assert_allclose(state.pose[0, :3], [0.0, 0.0, -5.0])  # hung where it may be
    model.set_body(state, "b", position=[3.0, 4.0, 0.0])
    assert model.constraint_violation(state)[0] == pytest.approx(0.0, abs=1e-15)
    model.set_body(state, "b", position=[6.0, 8.0, 0.0])
    assert model.constraint_violation(state)[0] == pytest.approx(5.0, abs=1e-15)


# Motion in closed form


def test_a_cross_turns_the_second_shaft_as_hooke_found():
    # the cross lies on the axis of the bend at the start: tan b = tan a / cos(bend)
    bend = 0.5
    model, state = dy.zoo.shafts("universal", bend, timestep=0.005)
    motion = dy.simulate(model, state, 2.0)
    a, b = motion.joint("first bearing"), motion.joint("second bearing")
    assert a.max() > 5.0
    expected = np.arctan2(np.sin(a) / np.cos(bend), np.cos(a))
    other = np.arctan2(np.sin(a) * np.cos(bend), np.cos(a))
    error = min(np.abs(np.exp(1j * b) - np.exp(1j * angle)).max() for angle in (expected, other))
    assert error < 1e-9  # geometry holds as far as the constraints do


def test_a_rzeppa_joint_turns_both_shafts_alike():
    model, state = dy.zoo.shafts("constant velocity", 0.5)
    motion = dy.simulate(model, state, 2.0)
    a, b = motion.joint("first bearing"), motion.joint("second bearing")
    assert np.abs(a).max() > 5.0
    np.testing.assert_allclose(b, a, atol=1e-9)
    np.testing.assert_allclose(motion.joint_velocity("second bearing"), 3.0, atol=1e-9)


def test_a_nut_sinks_on_its_screw_with_the_acceleration_of_its_reduced_mass():
    pitch = 0.4
    model, state = dy.zoo.screw_press(pitch, timestep=0.002)
    motion = dy.simulate(model, state, 0.5)
    p, inertia = pitch / (2.0 * np.pi), 0.5 * 0.1**2
    a = 9.81 / (1.0 + inertia / p**2)
    # second order in h: the turn of a step enters as (h omega)^2 / 24
    np.testing.assert_allclose(
        motion.joint("screw"), -0.5 * a * motion.time**2, atol=2e-3 * 0.5 * a * 0.25
    )


def test_a_users_constraint_moves_like_the_joint_of_the_same_function():
    def rod(joint):
        mechanism = dy.Mechanism()
        ball = mechanism.add_body(mass=1.0, inertia=[0.1] * 3, name="b", position=[1.0, 0, 0])
        mechanism.add_joint(joint(mechanism.world, ball))
        model = mechanism.finalize(tolerance=1e-12)
        return dy.simulate(model, model.initial_state(), 1.0).states

    mine = rod(lambda a, b: dy.Custom(a, b, distance_of, 1, name="j"))
    theirs = rod(lambda a, b: dy.Distance(a, b, 1.0, name="j"))
    np.testing.assert_allclose(mine, theirs, atol=1e-10)


def test_a_users_exception_leaves_what_was_asked_for():
    def broken(pose_a, pose_b):
        if pose_b[0] < 1.0:
            raise LookupError("no table for this pose")
        return distance_of(pose_a, pose_b)

    mechanism = dy.Mechanism()
    ball = mechanism.add_body(mass=1.0, inertia=[0.1] * 3, name="b", position=[1.0, 0, 0])
    mechanism.add_joint(dy.Custom(mechanism.world, ball, broken, 1, name="j"))
    model = mechanism.finalize()
    state = model.initial_state()
    with pytest.raises(LookupError, match="no table") as caught:
        dy.simulate(model, state, 0.1)
    assert caught.value.args == ("no table for this pose",)
    model.set_body(state, "b", position=[0.5, 0.0, 0.0])
    with pytest.raises(LookupError, match="no table"):
        model.constraint_violation(state)
