"""Springs and dampers too stiff for the step: what inertia their rows meet."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.kernels.rows import rows as kinds
from dynamics.parts.joints import Row
from dynamics.tables.finalize import Group
from dynamics.tables.stiffness import mobilities


def mobility(joint):
    group = Group(joint, joint.positions, joint.offset)
    group.source, group.armature = joint, joint.armature
    return mobilities([group])[0]


@pytest.fixture
def pair():
    mechanism = dy.Mechanism()
    inertias = ([[2.0, 0.3, 0.0], [0.3, 3.0, 0.1], [0.0, 0.1, 4.0]], np.diag([0.5, 0.6, 0.7]))
    return mechanism, [mechanism.add_body(mass=m, inertia=J) for m, J in zip((2.0, 3.0), inertias)]


def test_hinge_on_the_world_meets_inertia_and_offset():
    # parallel axes: I + m a^2, and the rotor on top
    mechanism = dy.Mechanism()
    body = mechanism.add_body(mass=2.0, inertia=np.diag([1.0, 2.0, 3.0]))
    arm = {"child_point": (0.0, 0.0, 0.5), "axis": (0.0, 1.0, 0.0)}

    bare = mobility(dy.Revolute(mechanism.world, body, **arm))
    loaded = mobility(dy.Revolute(mechanism.world, body, armature=0.4, **arm))

    np.testing.assert_allclose(bare, [[1.0 / 2.5]], rtol=1e-14)
    np.testing.assert_allclose(loaded, [[1.0 / 2.9]], rtol=1e-14)


def test_slide_between_two_bodies_meets_their_reduced_mass(pair):
    # the line through both centres: no body turns
    _, (a, b) = pair
    joint = dy.Prismatic(a, b, axis=(0.0, 0.0, 1.0), parent_point=(0.0, 0.0, 0.3))

    np.testing.assert_allclose(mobility(joint), [[1.0 / 2.0 + 1.0 / 3.0]], rtol=1e-13)


def test_rows_of_other_kinds_meet_what_the_mass_matrix_says(pair):
    # W is the inverse of the mass matrix of free bodies, seen by the coordinate's Jacobian
    mechanism, (a, b) = pair
    options = {"parent_point": (0.1, -0.2, 0.3), "child_point": (0.2, 0.1, -0.4)}
    turned = {"orientation": rotation.from_axis_angle((1.0, 2.0, 3.0), 0.7)}
    joints = [
        dy.Revolute(a, b, axis=(0.6, 0.0, 0.8), name="hinge", **options, **turned),
        dy.Cylindrical(a, b, axis=(0.0, 0.8, -0.6), name="cylinder", **options),
        dy.Helical(a, b, axis=(0.0, 0.0, 1.0), pitch=0.2, name="screw", **options),
        dy.Spherical(a, b, name="ball", **options),
    ]
    for joint in joints:
        one = mechanism.copy()
        one.add_joint(joint)
        model = one.finalize(0.01)
        kinematics = dy.Kinematics(model)
        M = kinematics.mass_matrix(model.initial_state())
        W = np.linalg.inv(M)[6:, 6:]

        np.testing.assert_allclose(mobility(joint), W, rtol=1e-11, atol=1e-13, err_msg=joint.name)


def test_many_groups_at_once_meet_what_each_meets_alone(pair):
    _, (a, b) = pair
    joints = [
        dy.Revolute(a, b, axis=(0.0, 1.0, 0.0), parent_point=(0.0, 0.1, 0.2)),
        dy.Spherical(a, b, child_point=(0.3, 0.0, 0.0)),
        dy.Prismatic(a, b, axis=(1.0, 0.0, 0.0)),
    ]
    groups = [Group(joint, joint.positions, joint.offset) for joint in joints]
    for group, joint in zip(groups, joints):
        group.source = joint

    for joint, found in zip(joints, mobilities(groups)):
        np.testing.assert_allclose(found, mobility(joint), rtol=1e-13, atol=1e-15)


def test_spring_between_points_meets_the_lightest_direction():
    # 1/m + r^2 / I about the thin axis: 1/2 + 0.25 / 0.1
    mechanism = dy.Mechanism()
    body = mechanism.add_body(mass=2.0, inertia=np.diag([0.1, 0.2, 0.2]))
    spring = dy.Spring(mechanism.world, body, stiffness=1.0, length=1.0, child_point=(0, 0, 0.5))
    group = Group(spring, [Row(kinds.DISTANCE, np.zeros(3), np.zeros(3))])
    group.source = spring

    np.testing.assert_allclose(mobilities([group])[0], [[3.0]], rtol=1e-14)


@pytest.mark.parametrize("timestep, count", [(0.005, 0), (0.01, 2), (0.02, 2)])
def test_mirrored_joints_are_stiff_together(timestep, count):
    # two arms alike: rounding does not decide which of the two is the stiffer one
    mechanism = dy.Mechanism()
    trunk = mechanism.add_body(dy.Box(0.3, 0.3, 0.3, mass=3.0), name="trunk")
    for side in (-1.0, 1.0):
        arm = mechanism.add_body(dy.Box(0.1, 0.1, 0.7, mass=0.3), name=f"arm {side}")
        joint = dy.Revolute(
            trunk, arm, axis=(0.8, 0.6 * side, 0.0), name=f"shoulder {side}", damping=4.0,
            parent_point=(0.0, 0.15 * side, 0.1), child_point=(0.0, 0.0, 0.35),
        )  # fmt: skip
        mechanism.add_joint(joint)

    stiff = mechanism.finalize(timestep).stiff

    assert len(stiff) == count


@pytest.mark.parametrize("anchored", [False, True])
def test_two_springs_between_the_same_two_bodies_count_once_each(anchored):
    # h^2 (k_1 + k_2) (1/m + 1/m) = 1.6 < 2; a soft spring to the world changes little
    mechanism, h, mass = dy.Mechanism((0, 0, 0)), 0.01, 2.0
    one, two = (mechanism.add_body(mass=mass, inertia=[1e3] * 3, name=name) for name in "ab")
    if anchored:
        mechanism.add_force(dy.Spring(mechanism.world, one, stiffness=1e-3, name="anchor"))
    for k in range(2):
        mechanism.add_force(dy.Spring(one, two, stiffness=0.8 / h**2, length=1.0, name=k))
    assert mechanism.finalize(h).stiff == ()
    assert len(mechanism.finalize(h * 1.2).stiff) == 2  # 2.3
