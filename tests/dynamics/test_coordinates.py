"""Coordinates in and out: trees by placing, loops by closing them, errors by name."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.kinematics import coordinates
from dynamics.kinematics.momenta import momenta
from dynamics.zoo import (
    bricard,
    cart_pole,
    double_pendulum,
    four_bar,
    pendulum,
    random_tree,
    rhombic_chain,
    slider_crank,
)

X, Y, Z = np.eye(3)


def test_a_chain_is_placed_as_one_would_by_hand():
    # links of 1 m at 90 degrees, then -90: down, then along x again
    model, state = pendulum(2, angles=[np.pi / 2, -np.pi / 2])
    np.testing.assert_allclose(state.pose[0, :3], [0.0, 0.0, -0.5], atol=1e-15)
    np.testing.assert_allclose(state.pose[1, :3], [0.5, 0.0, -1.0], atol=1e-15)
    model.set_joint(state, ("joint", 0), np.pi / 2, 2.0)  # rad/s about y: +z goes to +x
    twists = model.velocities(state)
    np.testing.assert_allclose(twists[0], [-1.0, 0, 0, 0, 2.0, 0], atol=1e-14)
    np.testing.assert_allclose(twists[1], [-2.0, 0, -1.0, 0, 2.0, 0], atol=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_every_coordinate_of_a_tree_comes_out_as_it_went_in(seed):
    model, state = random_tree(15, seed)
    rng = np.random.default_rng(seed)
    given = {}
    for joint in model.mechanism.joints.values():
        if joint.n_coordinates:
            given[joint.name] = 0.5 * rng.normal(size=(2, joint.n_coordinates))
            model.set_joint(state, joint.name, *given[joint.name])
    for name, (position, velocity) in given.items():
        found = model.joint(state, name)
        np.testing.assert_allclose(found[0], position, atol=1e-12)
        np.testing.assert_allclose(found[1], velocity, atol=1e-11)
    assert np.abs(model.constraint_violation(state)).max() < 1e-13


@pytest.mark.parametrize("seed", range(4))
def test_joints_placed_at_once_are_where_one_after_another_puts_them(seed):
    model, state = random_tree(15, seed)
    state = dy.simulate(model, state, 5 * model.timestep).final
    other, rng = state.copy(), np.random.default_rng(seed)
    given = [
        (joint.name, *(0.5 * rng.normal(size=(2, joint.n_coordinates))).tolist())
        for joint in model.mechanism.joints.values()
        if joint.n_coordinates
    ][:: 1 + seed % 2]
    coordinates.set_joints(model, state, given)
    for one in given:
        coordinates.set_joint(model, other, *one)
    # 15 bodies in a row at most, each placed to a few roundings of numbers of the size 10
    np.testing.assert_allclose(state.pose, other.pose, atol=1e-13)
    np.testing.assert_allclose(model.velocities(state), model.velocities(other), atol=1e-11)


def test_joints_that_point_at_each_other_are_placed_one_after_another():
    # a floats, b hangs on a and on c: with both joints set, no body stays where it is
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    a, b, c = (mechanism.add_body(dy.Box(0.1, 0.1, 0.4, mass=1.0), name=name) for name in "abc")
    mechanism.add_joint(dy.Revolute(a, b, Y, parent_point=(0, 0, 0.3), name="ab"))
    mechanism.add_joint(dy.Revolute(c, b, Y, parent_point=(0, 0, -0.3), name="cb"))
    model = mechanism.finalize()
    state = model.initial_state()
    coordinates.set_joints(model, state, [("ab", [0.3], [0.0]), ("cb", [-0.5], [0.0])])
    assert model.joint(state, "ab")[0] == pytest.approx([0.3], abs=1e-13)
    assert model.joint(state, "cb")[0] == pytest.approx([-0.5], abs=1e-13)
    assert abs(model.constraint_violation(state)).max() < 1e-13


def test_bodies_that_stay_keep_every_bit():
    model, state = random_tree(12, 2)
    state = dy.simulate(model, state, 5 * model.timestep).final
    before = state.copy()
    names = [j.name for j in model.mechanism.joints.values() if j.n_coordinates][-2:]
    given = [(name, *(part.tolist() for part in model.joint(state, name))) for name in names]
    coordinates.set_joints(model, state, given)
    behind = set().union(
        *(coordinates._descendants(model, model.mechanism.joints[name]) for name in names)
    )
    still = [i for i, body in enumerate(model.bodies) if body.name not in behind]
    assert still
    np.testing.assert_array_equal(state.pose[still], before.pose[still])
    velocities = model.velocities(before)
    np.testing.assert_allclose(model.velocities(state), velocities, rtol=0, atol=1e-11)


@pytest.mark.parametrize("inertia", [1e-3, 1.0, 1e6])
def test_velocities_of_bodies_with_rotors_are_those_of_the_momenta(inertia):
    mechanism = dy.Mechanism()
    last = mechanism.world
    for k in range(4):
        body = mechanism.add_body(dy.Box(0.1, 0.1, 0.4, mass=1.0), name=k)
        armature = [inertia, 0.0, 0.1, 1.0][k]
        mechanism.add_joint(dy.Revolute(last, body, Y, child_point=(0, 0, 0.2), armature=armature))
        last = body
    model = mechanism.finalize()
    state = model.initial_state()
    for seed in range(3):  # the second time with the factors of the first
        rng = np.random.default_rng(seed)
        V = rng.normal(size=(model.n_bodies, 6))
        state.momentum[:] = momenta(model.tables, state.pose, V.reshape(1, -1)).reshape(V.shape)
        # a backward stable solution, of a matrix with condition up to inertia over that of a box
        np.testing.assert_allclose(coordinates.twists_of(model, state), V, atol=1e-8)


def test_a_joint_takes_all_bodies_behind_it_along():
    model, state = random_tree(10, 5)
    names = [j.name for j in model.mechanism.joints.values() if j.n_coordinates]
    before = {name: model.joint(state, name) for name in names}
    model.set_joint(state, names[0], before[names[0]][0] + 0.3, before[names[0]][1])
    for name in names[1:]:
        for now, then in zip(model.joint(state, name), before[name]):
            np.testing.assert_allclose(now, then, atol=1e-12)


def test_bodies_are_placed_from_the_body_that_has_a_position():
    mechanism = dy.Mechanism()
    a = mechanism.add_body(mass=1.0, inertia=[0.1] * 3, name="a")
    b = mechanism.add_body(mass=1.0, inertia=[0.1] * 3, name="b", position=[5.0, 0.0, 0.0])
    mechanism.add_joint(dy.Spherical(a, b, parent_point=X, child_point=-X, name="ball"))
    state = mechanism.finalize().initial_state()
    np.testing.assert_allclose(state.pose[0, :3], [3.0, 0.0, 0.0])


def test_a_body_goes_where_it_is_set():
    model, state = double_pendulum()
    q = rotation.from_rotation_vector([0.1, 0.2, 0.3])
    model.set_body(
        state,
        ("link", 1),
        position=[1, 2, 3],
        orientation=2.0 * q,
        velocity=[4, 5, 6],
        angular_velocity=[7, 8, 9],
    )
    np.testing.assert_allclose(state.pose[1], [1, 2, 3, *q])
    np.testing.assert_allclose(coordinates.twists_of(model, state)[1], [4, 5, 6, 7, 8, 9])


# Loops


@pytest.mark.parametrize("angle", [0.3, 1.0, 2.0, -1.5])
def test_a_four_bar_closes_where_its_crank_is_told(angle):
    model, state = four_bar(1.0)
    state = model.assemble(state, {"crank ground": angle}, {"crank ground": 3.0})
    q, rate = model.joint(state, "crank ground")
    assert q[0] == pytest.approx(angle, abs=1e-11) and rate[0] == pytest.approx(3.0, abs=1e-8)
    assert np.abs(model.constraint_violation(state)).max() < 1e-11
    # the same linkage made at this angle, on the same branch
    _, expected = four_bar(angle, 3.0)
    np.testing.assert_allclose(state.pose[:, :3], expected.pose[:, :3], atol=1e-9)


def test_a_slider_goes_where_geometry_puts_it():
    model, state = slider_crank(0.5, 2.0)
    below = np.arcsin(0.5 * np.sin(0.5))
    q, rate = model.joint(state, "guide")
    reach = 0.5 * np.cos(0.5) + np.cos(below)
    assert state.pose[2, 1] == pytest.approx(reach, abs=1e-11)
    slope = -0.5 * np.sin(0.5) - np.tan(below) * 0.5 * np.cos(0.5)
    assert rate[0] == pytest.approx(2.0 * slope, abs=1e-9)


def test_several_joints_are_told_at_once():
    model, state = rhombic_chain(2)
    told = {("a", 0): 0.5, ("b", 0): 1.2}
    state = model.assemble(state, told)
    for name, angle in told.items():
        assert model.joint(state, name)[0][0] == pytest.approx(angle, abs=1e-11)
    assert np.abs(model.constraint_violation(state)).max() < 1e-11


def test_a_disturbed_loop_closes_again_nearby():
    model, state = bricard()
    rng = np.random.default_rng(0)
    off = state.copy()
    off.pose[:, :3] += 0.02 * rng.normal(size=(5, 3))
    closed = model.assemble(off)
    assert np.abs(model.constraint_violation(closed)).max() <= 1e-10
    assert np.abs(closed.pose - state.pose).max() < 0.2


def test_velocities_are_made_to_fit_the_constraints():
    model, state = four_bar(1.0, 0.0)
    model.set_body(state, "coupler", velocity=[0.3, 1.0, -0.5], angular_velocity=[1.0, 2.0, 3.0])
    state = model.assemble(state)
    twists = model.velocities(state)
    np.testing.assert_allclose(coordinates.twists_of(model, state), twists, atol=1e-7)
    np.testing.assert_allclose(twists[:, [0, 4, 5]], 0.0, atol=1e-8)  # in the plane


# What cannot be


def test_a_joint_that_cannot_be_where_it_is_told_is_named():
    model, state = four_bar()
    q = state.pose[2, 3:]
    outward = -2.0 * np.arctan2(q[1], q[0])  # the tip is 1.8 m from the crank's foot, not 1.4
    with pytest.raises(
        dy.InconsistentStateError, match=r"other coordinates of \['rocker ground'\]"
    ):
        model.assemble(state, {"rocker ground": outward})


def test_velocities_that_exclude_each_other_name_a_joint():
    model, state = four_bar(rate=0.0)
    rates = {"crank ground": [1.0], "rocker ground": [-5.0]}  # one degree of freedom has one rate
    with pytest.raises(dy.InconsistentStateError, match="velocities cannot all .*'(crank|rocker) "):
        model.assemble(state, {}, rates)


def test_a_joint_without_coordinates_is_not_set():
    mechanism = dy.Mechanism()
    a = mechanism.add_body(mass=1.0, inertia=[0.1] * 3, name="a")
    free = np.zeros(1), np.zeros((1, 12))
    mechanism.add_joint(dy.Custom(mechanism.world, a, lambda p, q: free, 1, name="own"))
    model = mechanism.finalize()
    with pytest.raises(dy.InconsistentStateError, match="'own' has no coordinates to set"):
        model.set_joint(model.initial_state(), "own", [])


def test_a_loop_is_not_set_joint_by_joint():
    model, state = four_bar()
    with pytest.raises(dy.InconsistentStateError, match="'crank ground' is on a loop.*assemble"):
        model.set_joint(state, "crank ground", 1.2)


def test_a_loop_that_cannot_close_is_named_at_once():
    mechanism = dy.Mechanism()
    a = mechanism.add_body(mass=1.0, inertia=[0.1] * 3, name="a")
    mechanism.add_joint(dy.Spherical(mechanism.world, a, parent_point=X, name="near"))
    mechanism.add_joint(dy.Spherical(mechanism.world, a, parent_point=-X, name="far"))
    with pytest.raises(dy.InconsistentStateError, match="'near'|'far'"):
        mechanism.finalize().initial_state()


def test_names_that_are_none_are_answered_with_those_there_are():
    model, state = cart_pole()
    with pytest.raises(dy.UnknownNameError, match=r"no body 'card'; bodies are \['cart', 'pole'\]"):
        model.set_body(state, "card", position=[0, 0, 0])
    with pytest.raises(dy.UnknownNameError, match="no joint 'hing'.*'rail', 'hinge'"):
        model.set_joint(state, "hing", 0.0)
    with pytest.raises(dy.UnknownNameError, match="no joint 'hing'"):
        model.joint(state, "hing")


@pytest.mark.parametrize(
    ("position", "velocity"), [([0.1, 0.2], 0.0), (np.nan, 0.0), (0.1, np.inf), ("x", 0.0)]
)
def test_coordinates_are_finite_and_as_many_as_the_joint_has(position, velocity):
    model, state = cart_pole()
    with pytest.raises((ValueError, TypeError)):
        model.set_joint(state, "hinge", position, velocity)


def test_a_flat_linkage_is_closed_though_no_small_move_closes_it():
    # all links along x: no turn changes a length to first order
    mechanism = dy.Mechanism()
    links = [mechanism.add_body(dy.Box(a, 0.1, 0.1, mass=a), name=a) for a in (0.4, 1.0, 0.8)]
    ends = (
        (mechanism.world, links[0], 0.0, -0.2),
        (links[0], links[1], 0.2, -0.5),
        (links[1], links[2], 0.5, -0.4),
        (mechanism.world, links[2], 1.0, 0.4),
    )
    for parent, child, a, b in ends:
        mechanism.add_joint(
            dy.Revolute(parent, child, Y, parent_point=[a, 0, 0], child_point=[b, 0, 0])
        )
    model = mechanism.finalize()
    assert np.abs(model.constraint_violation(model.initial_state())).max() <= 1e-10


@pytest.mark.parametrize("size", [0.3, 1.0])
def test_a_loop_closes_from_afar(size):
    for seed in range(10):
        model, state = bricard()
        rng = np.random.default_rng(seed)
        turn = rotation.from_rotation_vector(size * rng.normal(size=(model.n_bodies, 3)))
        state.pose[:, :3] += size * rng.normal(size=(model.n_bodies, 3))
        state.pose[:, 3:] = rotation.multiply(state.pose[:, 3:], turn)
        assert np.abs(model.constraint_violation(model.assemble(state))).max() <= 1e-10


def test_a_child_that_holds_the_world_is_told_from_a_loop():
    mechanism = dy.Mechanism()
    base, arm = (mechanism.add_body(dy.Box(1.0, 0.1, 0.1, mass=1.0), name=name) for name in "ab")
    mechanism.add_joint(dy.Revolute(mechanism.world, base, Y, name="hinge"))
    mechanism.add_joint(dy.Revolute(arm, base, Y, name="elbow"))
    model = mechanism.finalize()
    message = "'elbow' moves its child 'a', which other joints hold to the world.*as parent"
    with pytest.raises(dy.InconsistentStateError, match=message):
        model.set_joint(model.initial_state(), "elbow", 0.3)


def legs():
    """A trunk that is free, a leg of two hinges, and a second trunk apart."""
    mech = dy.Mechanism()
    trunk = mech.add_body(dy.Box(0.4, 0.2, 0.1, mass=5.0), name="trunk")
    upper, lower = (mech.add_body(dy.Rod(0.3, mass=1.0, radius=0.02), name=n) for n in "ul")
    mech.add_body(dy.Sphere(0.1, mass=1.0), name="apart", position=(2, 0, 0))
    half = {"child_point": (0, 0, 0.15)}
    mech.add_joint(dy.Revolute(trunk, upper, Y, parent_point=(0.2, 0, 0), name="hip", **half))
    mech.add_joint(dy.Revolute(upper, lower, Y, parent_point=(0, 0, -0.15), name="knee", **half))
    return mech


def test_a_body_that_carries_others_keeps_all_coordinates_and_rates():
    model = legs().finalize(0.01)
    state = model.initial_state()
    for name, q, rate in (("hip", 0.4, 1.0), ("knee", -0.9, -2.0)):
        model.set_joint(state, name, q, rate)
    turn = rotation.from_axis_angle(Z, np.pi / 2)
    place = {"position": (1, 2, 3), "orientation": turn, "velocity": (0, 0, 1)}
    model.set_body(state, "l", angular_velocity=(1, 0, 0), carry=True, **place)

    assert state.pose[model.body_number("l")] == pytest.approx([1, 2, 3, *turn])
    assert model.velocities(state)[model.body_number("l")] == pytest.approx([0, 0, 1, 1, 0, 0])
    assert np.abs(model.constraint_violation(state)).max() < 1e-14
    assert np.ravel(model.joint(state, "hip")) == pytest.approx([0.4, 1.0])
    assert np.ravel(model.joint(state, "knee")) == pytest.approx([-0.9, -2.0])
    assert state.pose[model.body_number("apart"), :3] == pytest.approx([2, 0, 0])
    alone = state.copy()
    model.set_body(alone, "l", position=(0, 0, 0))
    assert np.abs(model.constraint_violation(alone)).max() > 1.0


def test_a_body_on_the_world_carries_nothing_and_bad_numbers_change_nothing():
    mech = legs()
    mech.add_joint(dy.Revolute(mech.world, mech.bodies["trunk"], X, name="pin"))
    model = mech.finalize(0.01)
    state = model.initial_state()
    before = state.data.copy()
    message = r"body 'l' cannot carry others, as joint 'pin' holds it or them to the world"
    with pytest.raises(dy.InconsistentStateError, match=message):
        model.set_body(state, "l", position=(0, 0, 1), carry=True)
    with pytest.raises(ValueError, match=r"velocity of body 'l' has shape \(2,\)"):
        model.set_body(state, "l", position=(0, 0, 1), velocity=(0, 0))
    assert (state.data == before).all()


@pytest.mark.parametrize("root", ["fixed", "hinge", "floating"])
def test_joints_that_are_set_within_a_motion_have_these_rates(root):
    """Momenta lack half an interval of what joints bear, also those of bodies that stay."""
    mech = dy.Mechanism()
    base = mech.add_body(dy.Box(0.2, 0.2, 0.2, mass=1.0), name="base")
    if root != "floating":
        make = {"fixed": dy.Fixed(mech.world, base, name="root"),
                "hinge": dy.Revolute(mech.world, base, Y, name="root")}  # fmt: skip
        mech.add_joint(make[root])
    upper, lower = (mech.add_body(dy.Rod(0.3, mass=1.0, radius=0.02), name=n) for n in "ul")
    half = {"child_point": (0, 0, 0.15)}
    mech.add_joint(dy.Revolute(base, upper, Y, parent_point=(0.2, 0, 0), name="hip", **half))
    mech.add_joint(dy.Revolute(upper, lower, X, parent_point=(0, 0, -0.15), name="knee", **half))
    model = mech.finalize(0.01)
    state = model.initial_state()
    for name, q, rate in (("hip", 0.4, 1.0), ("knee", -0.9, -2.0)):
        model.set_joint(state, name, q, rate)
    state = dy.simulate(model, state, 0.2).final

    q, v = dy.JointSpace(model).read(state)
    moved = state.copy()
    dy.JointSpace(model).place(moved, q, v)
    model.set_joint(state, "knee", -0.9, 5.0)

    assert dy.JointSpace(model).read(moved)[1] == pytest.approx(v, abs=1e-12)
    assert np.ravel(model.joint(state, "knee")) == pytest.approx([-0.9, 5.0], abs=1e-12)
    hip = dy.JointSpace(model).names.index("hip")
    assert model.joint(state, "hip")[1] == pytest.approx(v[hip], abs=1e-12)
