"""Contacts that make no sense are named."""

import math

import numpy as np
import pytest

import dynamics as dy

from .grounds import H, cube, single


def test_start_in_penetration_is_refused_with_name_and_depth():
    model = single(cube(), (0, 0, 0.2))
    state = model.initial_state()

    with pytest.raises(dy.InconsistentStateError, match="'touch' overlaps by 5.00e-02 m"):
        dy.simulate(model, state, 1.0)

    apart = dy.separate(model, state)
    assert apart.pose[0, 2] == pytest.approx(0.25, abs=1e-8)
    dy.simulate(model, apart, 0.1)


@pytest.mark.parametrize("found", [False, True])
def test_a_step_that_fails_from_a_start_in_penetration_names_only_that(found):
    mechanism = dy.Mechanism()
    body = mechanism.add_body(cube(), name="cube", position=(0, 0, -0.25))  # half a metre deep
    if found:
        mechanism.add_obstacle(dy.HalfSpace(), name="floor")
        mechanism.collide()
    else:
        mechanism.add_contact(body, name="floor")
    model = mechanism.finalize(H)

    reason = r"^contact 'floor.*overlaps by 5.00e-01 m.*dynamics.separate\(model, state\)$"
    for call in (model.step, lambda state: dy.linearize(model, state)):
        with pytest.raises(dy.ConvergenceError, match=reason):
            call(model.initial_state())


def test_separated_bodies_move_by_their_masses():
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    a = mechanism.add_body(dy.Sphere(0.5, mass=1.0), name="a", position=(0, 0, 0))
    b = mechanism.add_body(dy.Sphere(0.5, mass=3.0), name="b", position=(0.8, 0, 0))
    mechanism.add_contact(b, a)
    model = mechanism.finalize(H)

    after = dy.separate(model, model.initial_state())

    np.testing.assert_allclose(after.pose[:, 0], [-0.15, 0.85], atol=1e-8)


def test_a_robot_leaves_the_ground_and_a_wall_as_a_whole():
    # two boxes on a hinge, 0.3 m and 0.4 m deep in the floor and 0.1 m in a wall, and one apart
    mechanism = dy.Mechanism()
    wall = dy.HalfSpace(normal=(1, 0, 0), point=(-0.15, 0, 0))
    for name, x in (("a", 0.0), ("b", 0.5), ("c", 3.0)):
        body = mechanism.add_body(cube(), name=name, position=(x, 0, 0))
        mechanism.add_contact(body, name=f"floor|{name}")
        mechanism.add_contact(body, against_shape=wall, name=f"wall|{name}")
    ends = mechanism.bodies["a"], mechanism.bodies["b"]
    half = {"parent_point": (0.25, 0, 0), "child_point": (-0.25, 0, 0)}
    mechanism.add_joint(dy.Revolute(*ends, (0, 1, 0), name="hinge", **half))
    model = mechanism.finalize(H)
    state = model.initial_state()
    model.set_body(state, "c", position=(3.0, 0, 1))
    model.set_joint(state, "hinge", 0.2)
    after = dy.separate(model, state)

    corner = 0.25 * (np.sin(0.2) + np.cos(0.2)) + 0.25 * np.sin(0.2)  # of b, below the hinge
    moved = after.pose[:, :3] - state.pose[:, :3]
    np.testing.assert_allclose(moved, [[0.1, 0, corner]] * 2 + [[0, 0, 0]], atol=1e-8)
    assert model.joint(after, "hinge")[0] == pytest.approx(0.2, abs=1e-12)


@pytest.mark.parametrize("what", ["friction", "torsional", "rolling", "restitution", "compliance"])
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
def test_coefficients_that_make_no_sense_are_refused(what, value):
    with pytest.raises(ValueError, match=f"{what} of contact 'touch' is"):
        single(cube(), **{what: value})


def test_more_misuse_is_named():
    mechanism = dy.Mechanism()
    a, b = mechanism.add_body(cube(), name="a"), mechanism.add_body(cube(), name="b")
    mechanism.add_joint(dy.Fixed(a, b, parent_point=(0.5, 0, 0), name="weld"))
    for options, match in (
        ({"restitution": 1.5}, "more than 1 adds energy"),
        ({"friction": 0.0, "rolling": 0.1}, "resists turning but not sliding"),
    ):
        with pytest.raises(ValueError, match=match):
            mechanism.add_contact(a, **options)
    with pytest.raises(ValueError, match="'x' is of bodies that joint 'weld' holds rigidly"):
        mechanism.add_contact(a, b, name="x", shape=(0, 0, 0))
    with pytest.raises(ValueError, match="is of 'a' with itself"):
        mechanism.add_contact(a, a)
    with pytest.raises(ValueError, match="normal of a half-space is zero"):
        dy.HalfSpace(normal=(0, 0, 0))
    bare = mechanism.add_body(mass=1.0, inertia=np.eye(3), name="bare")
    with pytest.raises(ValueError, match="body 'bare' has no shape"):
        mechanism.add_contact(bare)


def test_bodies_that_fixed_joints_hold_in_a_chain_or_later_are_refused_too():
    mechanism = dy.Mechanism()
    a, b, c = (mechanism.add_body(cube(), name=name) for name in "abc")
    mechanism.add_contact(a, c, name="x", shape=(0, 0, 0))
    mechanism.add_contact(a, name="floor")
    mechanism.add_joint(dy.Fixed(a, b, parent_point=(0.5, 0, 0), name="one"))
    with pytest.raises(ValueError, match=r"'x' is of bodies that joints \['two', 'one'\] hold"):
        mechanism.add_joint(dy.Fixed(b, c, parent_point=(0.5, 0, 0), name="two"))
    with pytest.raises(ValueError, match="'floor' is of bodies that joint 'base' holds rigidly"):
        mechanism.add_joint(dy.Fixed(mechanism.world, a, name="base"))

    assert list(mechanism.joints) == ["one"]


def test_contact_of_an_unknown_name_lists_those_there_are():
    model = single(cube())
    motion = dy.simulate(model, model.initial_state(), 0.1)

    assert motion.contacts == ["touch"]
    with pytest.raises(dy.UnknownNameError, match=r"no contact 'other'; there are \['touch'\]"):
        motion.contact("other")
    with pytest.raises(dy.UnknownNameError, match="no contact or limit 'other'; there are"):
        model.barrier("other")


def test_velocities_that_have_no_digits_are_refused_with_the_way_out():
    model, _ = dy.zoo.four_bar()
    with pytest.raises(ArithmeticError, match="velocities of state 2 .* smaller timestep"):
        model.workspace._projected(lambda *given: 3, (), ())
