"""Derivatives of a step against differences of the step itself."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.derivatives.linearization import joint_directions
from dynamics.derivatives.tangents import Directions, Tangent
from dynamics.kernels.base import layout
from dynamics.kernels.rows import curvature, poses, rows
from dynamics.kinematics import coordinates
from dynamics.kinematics.coordinates import free_velocities
from dynamics.kinematics.joint_space import JointSpace

from .test_joints import ALL, model_of

#: Weights of sixth-order central differences. With steps of 2e-3 of smooth functions of order 1
#: the error is about 1e-14, and the noise of a step solved to 1e-13 is 1e-10.
SIXTH = [(side * m, side * w) for m, w in ((1, 0.75), (2, -0.15), (3, 1 / 60)) for side in (1, -1)]
STEP = 2e-3
CLOSE = 1e-7


def differences(function, size, step=STEP):
    """Jacobian of a vector function at 0."""
    columns = []
    for j in range(size):
        e = np.zeros(size)
        column = 0.0
        for m, w in SIXTH:
            e[j] = m * step
            column = column + w / step * function(e)
        columns.append(column)
    return np.array(columns).T


def error(found, wanted):
    """Largest difference, over the largest entry."""
    return np.abs(found - wanted).max(initial=0.0) / max(1e-9, np.abs(wanted).max(initial=0.0))


def by_differences(model, state, control, step=STEP):
    """A and B of a step in maximal coordinates."""
    k = 12 * model.n_bodies
    space = model.workspace
    V = space.velocities(state.data[None])[0].reshape(-1, 6)

    def after(change):
        d = change[:k].reshape(-1, 12)
        moved = state.copy()
        moved.pose[:, :3] += d[:, :3]
        turn = rotation.from_rotation_vector(d[:, 3:6])
        moved.pose[:, 3:] = rotation.multiply(moved.pose[:, 3:], turn)
        coordinates.set_twists(model, moved, V + d[:, 6:], list(range(model.n_bodies)))
        end, _ = model.step(moved, control + change[k:])
        return end, space.velocities(end.data[None])[0].reshape(-1, 6)

    still, _ = after(np.zeros(k + model.n_controls))

    def change_of(change):
        end, twist = after(change)
        turn = rotation.multiply(rotation.conjugate(still.pose[:, 3:]), end.pose[:, 3:])
        return np.hstack([end.pose[:, :3], rotation.to_rotation_vector(turn), twist]).ravel()

    J = differences(change_of, k + model.n_controls, step)
    return J[:, :k], J[:, k:]


def jointed(name, seed=1, **options):
    """A body on a spherical joint and another behind the joint of that name; all forces act."""
    rng = np.random.default_rng(seed)
    mechanism = dy.Mechanism()
    a = mechanism.add_body(mass=1.0, inertia=[0.1, 0.2, 0.25], name="a", drag=0.3, spin_drag=0.05)
    b = mechanism.add_body(mass=2.0, inertia=[0.3, 0.2, 0.25], name="b", drag=0.1)
    mechanism.add_joint(
        dy.Spherical(mechanism.world, a, child_point=(0.1, 0.2, 0.5), name="pivot", stiffness=2.0,
                     damping=0.2)
    )  # fmt: skip
    _, count, make = ALL[name]
    forces = {"stiffness": 3.0, "damping": 0.3, "actuated": True, "rest": 0.1} if count else {}
    mechanism.add_joint(
        make(
            a,
            b,
            parent_point=[0.3, -0.1, 0.2],
            child_point=[-0.2, 0.4, 0.1],
            name="joint",
            orientation=rotation.from_rotation_vector([0.4, -0.7, 0.9]),
            **forces,
            **options,
        )  # fmt: skip
    )
    mechanism.add_force(
        dy.Spring(
            mechanism.world,
            b,
            stiffness=5.0,
            damping=0.4,
            length=0.3,
            actuated=True,
            name="rope",
            parent_point=(0.0, 0.0, 1.0),
            child_point=(0.1, 0.1, 0.1),
        )  # fmt: skip
    )
    model = mechanism.finalize(0.01, tolerance=1e-13)
    state = model.initial_state()
    for body in "ab":
        model.set_body(
            state, body, velocity=rng.normal(size=3), angular_velocity=rng.normal(size=3)
        )
    if name in ("Distance", "Custom"):
        model.set_body(state, "b", position=state.pose[0, :3] + [0.5, 0.6, -0.9])
    state = model.assemble(state)
    for _ in range(2):
        state, _ = model.step(state, rng.normal(size=model.n_controls))
    return model, state, rng.normal(size=model.n_controls)


@pytest.mark.parametrize("name", ALL)
def test_the_second_derivatives_of_every_row_are_those_of_its_slopes(name):
    model = model_of(name)
    plan, constant, n = model.tables.plan, model.tables.constant, model.n_bodies
    every = int(plan[layout.MEASURED_ROWS])
    rng = np.random.default_rng(2)
    state = model.initial_state()
    state.pose[:, :3] += 0.3 * rng.normal(size=(n, 3))
    turn = rotation.from_rotation_vector(0.7 * rng.normal(size=(n, 3)))
    state.pose[:, 3:] = rotation.multiply(state.pose[:, 3:], turn)

    def slopes(change):
        d = change.reshape(2, 6)
        pose, matrix = np.zeros(7 * (n + 1)), np.zeros(9 * (n + 1))
        table = pose[: 7 * n].reshape(n, 7)
        table[:, :3] = state.pose[:, :3] + d[:, :3]
        turn = rotation.from_rotation_vector(d[:, 3:])
        table[:, 3:] = rotation.multiply(state.pose[:, 3:], turn)
        pose[7 * n + 3] = 1.0
        poses.rotation_matrices(n, pose, matrix)
        g, G = np.zeros(every), np.zeros(12 * every)
        rows.evaluate(plan, constant, 0, int(plan[layout.MEASURES]), pose, matrix, g, G)
        return G, pose, matrix

    wanted = differences(lambda change: slopes(change)[0], 12).reshape(every, 12, 12)
    _, pose, matrix = slopes(np.zeros(12))
    groups = plan[plan[layout.GROUP_AT] :].reshape(-1)
    work, H = np.zeros(200), np.zeros(144)
    for k in range(int(plan[layout.MEASURES])):
        group = groups[k * layout.GROUP_FIELDS :][: layout.GROUP_FIELDS]
        assert (group[layout.A], group[layout.B]) == (0, 1)
        for row in range(group[layout.FIRST_ROW], group[layout.FIRST_ROW] + group[layout.N_ROWS]):
            curvature.hessian(plan, constant, k, int(row), pose, matrix, work, H)
            # a user's Jacobian is differenced inside: (6e-6)^2 and eps / 6e-6
            assert np.abs(H.reshape(12, 12).T - wanted[row]).max() < 1e-9


@pytest.mark.parametrize("name", ALL)
def test_a_step_with_any_joint_and_all_forces_is_linearized_exactly(name):
    model, state, control = jointed(name)

    A, B = dy.linearize(model, state, control)

    wanted = by_differences(model, state, control)
    assert error(A, wanted[0]) < CLOSE
    assert error(B, wanted[1]) < CLOSE


@pytest.mark.parametrize("theta", [0.5, 1.0])
@pytest.mark.parametrize("name", ["Revolute", "Spherical", "Prismatic", "Distance"])
def test_so_is_one_with_compliant_joints(name, theta):
    model, state, control = jointed(name, compliance=1e-3, theta=theta, constraint_damping=2.0)

    A, B = dy.linearize(model, state, control)

    wanted = by_differences(model, state, control)
    assert error(A, wanted[0]) < CLOSE
    assert error(B, wanted[1]) < CLOSE


@pytest.mark.parametrize("make", [dy.zoo.four_bar, dy.zoo.slider_crank])
def test_so_is_one_of_a_loop_with_redundant_constraints(make):
    model, state = make(tolerance=1e-12)
    control = np.full(model.n_controls, 0.7)

    A, B = dy.linearize(model, state, control)

    wanted = by_differences(model, state, control)
    assert error(A, wanted[0]) < CLOSE
    assert error(B, wanted[1]) < CLOSE


def test_so_is_one_that_is_cut_into_intervals():
    model, state = dy.zoo.double_pendulum(rates=(9.0, -12.0), tolerance=1e-13, timestep=0.05)
    _, info = model.step(state)
    assert info.intervals > 1

    A, _ = dy.linearize(model, state)

    # the step is coarse: its sixth derivatives are not of order 1, but (2e-3 * 12 * .05)^6 is small
    assert error(A, by_differences(model, state, np.zeros(0))[0]) < CLOSE


def by_joints(model, state, space, control):
    """A and B of a step of a tree in joint coordinates."""
    k = space.size
    position, velocity = space.read(state)

    def after(change):
        moved = state.copy()
        dq, dv = change[:k], change[k : 2 * k]
        for name, (first, count) in space.start.items():
            part = slice(first, first + count)
            q = position[part] + dq[part]
            if model.mechanism.joints[name].kind == "spherical":
                turn = rotation.multiply(
                    rotation.from_rotation_vector(position[part]),
                    rotation.from_rotation_vector(dq[part]),
                )
                q = rotation.to_rotation_vector(turn)
            model.set_joint(moved, name, q, velocity[part] + dv[part])
        return space.read(model.step(moved, control + change[2 * k :])[0])

    here = after(np.zeros(2 * k + model.n_controls))

    def change_of(change):
        q, v = after(change)
        return np.concatenate([space.difference(q, here[0]), v])

    J = differences(change_of, 2 * k + model.n_controls)
    return J[:, : 2 * k], J[:, 2 * k :]


@pytest.mark.parametrize("name", ["Revolute", "Cylindrical", "Universal", "Spherical", "Helical"])
def test_joint_coordinates_of_a_tree_need_no_knowledge_of_bodies(name):
    model, state, control = jointed(name)

    A, B = dy.linearize(model, state, control, coordinates="joint")

    wanted = by_joints(model, state, JointSpace(model), control)
    assert error(A, wanted[0]) < CLOSE
    assert error(B, wanted[1]) < CLOSE


@pytest.mark.parametrize("seed", range(3))
def test_a_random_tree_is_linearized_in_its_joints(seed):
    model, state = dy.zoo.random_tree(4, seed, tolerance=1e-13)
    kinds = {joint.kind for joint in model.mechanism.joints.values()}
    assert "constant velocity" not in kinds  # its spin is not the rate of its coordinates

    A, _ = dy.linearize(model, state, coordinates="joint")

    wanted, _ = by_joints(model, state, JointSpace(model), np.zeros(0))
    assert error(A, wanted) < CLOSE


def test_on_a_loop_all_coordinates_move_as_one_does():
    model, state = dy.zoo.four_bar(tolerance=1e-12)
    one, every = JointSpace(model, ["crank ground"]), JointSpace(model)

    small, _ = dy.linearize(model, state, coordinates=["crank ground"])
    full, _ = dy.linearize(model, state, coordinates="joint")

    def spread(at):
        """How all coordinates and rates follow the crank's."""
        twist = model.workspace.velocities(at.data[None])[0]
        dz, dV = joint_directions(one, at, twist)
        slopes = every.slopes(at, twist)
        return np.vstack([slopes.J @ dz.T, slopes.J @ dV.T + slopes.swing @ dz.T])

    end, _ = model.step(state)
    assert small.shape == (2, 2) and full.shape == (8, 8)
    assert error(full @ spread(state), spread(end) @ small) < 1e-9
    assert np.linalg.matrix_rank(full, tol=1e-9) == 2


def test_a_small_motion_follows_the_linearization_over_many_steps():
    model, state = dy.zoo.double_pendulum(angles=(0.0, 0.0), rates=(0.0, 0.0), tolerance=1e-13)
    space = JointSpace(model)
    A, _ = dy.linearize(model, state, coordinates="joint")
    moved = state.copy()
    model.set_joint(moved, ("joint", 0), 1e-5)

    end = dy.simulate(model, moved, 1.0).final

    wanted = np.linalg.matrix_power(A, 100) @ [1e-5, 0.0, 0.0, 0.0]
    # cubic terms are (1e-5)^2 of the linear ones
    assert np.abs(np.concatenate(space.read(end)) - wanted).max() < 1e-13


def test_the_determinant_of_a_variational_step_without_damping_is_one():
    model, state = dy.zoo.double_pendulum()

    A, _ = dy.linearize(model, state, coordinates="joint")

    # momenta p = M(q) q' keep the volume: det A = det M(q) / det M(q_next)
    after, _ = model.step(state)
    masses = [np.linalg.det(mass_matrix(model, one)) for one in (state, after)]
    assert abs(np.linalg.det(A) * masses[1] / masses[0] - 1.0) < 1e-9


def mass_matrix(model, state):
    """Joint-space inertia."""
    slopes = JointSpace(model).slopes(state, np.zeros(6 * model.n_bodies))
    along = slopes.along()
    M = np.zeros((6 * model.n_bodies,) * 2)
    for i, body in enumerate(model.bodies):
        M[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = body.mass * np.eye(3)
        M[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = body.inertia
    return along.T @ M @ along


def test_what_joints_do_not_measure_is_said():
    mechanism = dy.Mechanism()
    mechanism.add_body(mass=1.0, inertia=[0.1, 0.1, 0.1], name="free")
    model = mechanism.finalize()

    with pytest.raises(ValueError, match="6 freedoms, and joint coordinates measure 0"):
        dy.linearize(model, model.initial_state(), coordinates="joint")
    with pytest.raises(dy.UnknownNameError, match="there is no joint 'elbow' with coordinates"):
        dy.linearize(model, model.initial_state(), coordinates=["elbow"])


def test_a_user_s_exception_comes_through():
    calls = []

    def constraint(a, b):
        calls.append(0)
        if len(calls) > 60:
            raise RuntimeError("enough")
        slope = np.zeros((1, 12))
        slope[0, 8] = 1.0
        return b[2:3] - 0.1 * b[0:1] ** 2 * 0.0, slope

    mechanism = dy.Mechanism()
    body = mechanism.add_body(mass=1.0, inertia=[0.1, 0.1, 0.1], name="body")
    mechanism.add_joint(dy.Custom(mechanism.world, body, constraint, 1, name="plane"))
    model = mechanism.finalize()
    state = model.initial_state()
    calls[:] = [0] * 40

    with pytest.raises(RuntimeError, match="enough"):
        dy.linearize(model, state)


@pytest.mark.parametrize("options", [{"order": 4}, {"form": "first order"}])
def test_other_integrators_are_refused(options):
    model, state = dy.zoo.double_pendulum(**options)

    with pytest.raises(NotImplementedError, match="order 2"):
        dy.linearize(model, state)


def test_velocities_by_the_second_order_of_elimination_have_slopes_by_it_too():
    # two joints hold the same of the one body that the first order eliminates before them
    model, state = dy.zoo.random_tree(9, 396, branch=2, loops=1, every_kind=True)
    dp = np.random.default_rng(0).normal(size=(2, 6 * model.n_bodies))
    still = np.zeros_like(dp)

    twist, found = Tangent(model, 2).projected(state, Directions(still, dp, still))

    assert model.workspace.projector is model.tables.fallback.program
    for change, slope in zip(dp, found):  # velocities are linear in momenta
        moved = state.copy()
        moved.momentum.ravel()[:] += change
        np.testing.assert_allclose(free_velocities(model, moved) - twist, slope, atol=1e-8)
