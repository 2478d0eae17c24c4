"""What a mechanism or a run would not do is refused, in a sentence that names the way out."""

from dataclasses import replace

import numpy as np
import pytest

import dynamics as dy

X, Y, Z = np.eye(3)


def pendulum(**options):
    mechanism = dy.Mechanism()
    rod = mechanism.add_body(dy.Box(0.1, 0.1, 1.0, mass=1.0), name="rod")
    mechanism.add_joint(
        dy.Revolute(mechanism.world, rod, Y, child_point=(0, 0, 0.5), name="pin", **options)
    )
    return mechanism


def test_a_finalized_mechanism_takes_no_changes_but_its_copy_does():
    mechanism = pendulum()
    mechanism.gravity = (0, 0, -1.0)
    model = mechanism.finalize(0.01)
    rod, pin = mechanism.bodies["rod"], mechanism.joints["pin"]

    with pytest.raises(ValueError, match=r"change gravity: .* mechanism.copy\(\) .*variant"):
        mechanism.gravity = (0, 0, 0)
    with pytest.raises(ValueError, match="add body 'b': the mechanism is finalized"):
        mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="b")
    with pytest.raises(ValueError, match="add joint 'more'"):
        mechanism.add_joint(dy.Fixed(mechanism.world, rod, name="more"))
    with pytest.raises(ValueError, match="add force 's'"):
        mechanism.add_force(dy.Spring(mechanism.world, rod, name="s"))
    with pytest.raises(ValueError, match="add contact 'c'"):
        mechanism.add_contact(rod, name="c")
    for thing in (rod, pin):
        with pytest.raises(AttributeError, match="which never changes: .* dynamics.variant"):
            thing.name = "other"
    with pytest.raises(AttributeError, match="cannot change mass of body 'rod'"):
        rod.mass = 2.0
    for change in (
        lambda: mechanism.bodies.pop("rod"),
        lambda: mechanism.joints.update(pin=replace(pin)),
        lambda: mechanism.contacts.setdefault("c", None),
        mechanism.bodies.clear,
    ):
        with pytest.raises(ValueError, match="cannot replace .*mechanism.copy.* dynamics.variant"):
            change()
    with pytest.raises(AttributeError, match="cannot change timestep of a model.* finalize"):
        model.timestep = 0.1
    for array in (mechanism.gravity, rod.inertia, pin.stiffness, pin.damping, pin.child_point):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0

    other = mechanism.copy()
    other.gravity = (0, 0, 0)
    other.add_contact(other.bodies["rod"], name="c")

    assert list(mechanism.contacts) == [] and list(other.contacts) == ["c"]
    assert model.mechanism.gravity[2] == -1.0
    assert dy.variant(model, {"gravity": (0, 0, -2.0)}).mechanism.gravity[2] == -2.0
    assert other.finalize(0.01).n_bodies == 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"frictionloss": 1.0}, "joint 'pin' takes no frictionloss=; use friction="),
        ({"mu": 0.1}, "joint 'pin' takes no mu=; use friction="),
        ({"k": 1.0}, "joint 'pin' takes no k=; use stiffness="),
        ({"actuatd": True}, "joint 'pin' takes no actuatd=; use actuated="),
        ({"colour": 1}, "joint 'pin' takes no colour=; it takes actuated=, armature="),
    ],
)
def test_unknown_words_of_joints_are_answered_with_the_word_for_it(options, sentence):
    with pytest.raises(TypeError, match=sentence):
        pendulum(**options)


@pytest.mark.parametrize(("old", "new"), [("spring", "stiffness"), ("damper", "damping")])
def test_old_words_of_joints_warn_and_mean_the_new_ones(old, new):
    with pytest.warns(DeprecationWarning, match=f"{old}= of joint 'pin' is now {new}="):
        pin = pendulum(**{old: 2.0}).joints["pin"]
    assert getattr(pin, new) == 2.0
    model = pendulum().finalize()
    with pytest.warns(DeprecationWarning, match=f"{old}= of joint 'pin' is now {new}="):
        other = dy.variant(model, {"pin": {old: 3.0}})
    assert getattr(other.mechanism.joints["pin"], new) == 3.0
    with pytest.raises(TypeError, match=f"both {new}= and its old name {old}="):
        dy.variant(model, {"pin": {old: 3.0, new: 3.0}})


def test_unknown_words_of_bodies_and_contacts_are_answered():
    mechanism = pendulum()
    with pytest.raises(TypeError, match="body 'b' takes no pos=; use position="):
        mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="b", pos=(0, 0, 1))
    with pytest.raises(TypeError, match="contact 'c' takes no mu=; use friction="):
        mechanism.add_contact(mechanism.bodies["rod"], name="c", mu=0.3)


@pytest.mark.parametrize("limits", [1.0, (1.0,), (1.0, 2.0, 3.0), (2.0, 1.0), (0.0, np.nan)])
def test_limits_are_a_lower_and_an_upper_end(limits):
    with pytest.raises(ValueError, match=r"^limits of joint 'pin' must be 1 pair \(lower, upper\)"):
        pendulum(limits=limits)
    if np.shape(limits) != (2,):
        mechanism = pendulum()
        with pytest.raises(ValueError, match=r"^limits of spring 's' must be \(lower, upper\)"):
            dy.Spring(mechanism.world, mechanism.bodies["rod"], name="s", limits=limits)


def test_names_in_place_of_things_are_refused():
    mechanism = pendulum()
    rod = mechanism.bodies["rod"]
    with pytest.raises(TypeError, match="shape of body 'body 1' is 'box', .* name="):
        mechanism.add_body("box")
    with pytest.raises(TypeError, match="shape of body 'b' is 'box'"):
        mechanism.add_body("box", name="b", mass=1.0, inertia=[1.0, 1.0, 1.0])
    with pytest.raises(TypeError, match="add_joint takes what dynamics.Revolute .* not 'pin'"):
        mechanism.add_joint("pin")
    with pytest.raises(TypeError, match="add_joint takes"):
        mechanism.add_joint(dy.Spring(mechanism.world, rod))
    with pytest.raises(TypeError, match="add_force takes a dynamics.Spring.* not"):
        mechanism.add_force(dy.Fixed(mechanism.world, rod))
    way_out = r"has 'rod', which is no Body; .* or mechanism.bodies\['rod'\]"
    for make in (
        lambda: dy.Revolute(mechanism.world, "rod", X),
        lambda: dy.Spring(mechanism.world, "rod"),
        lambda: dy.Rope("rod", mechanism.world, 1.0),
        lambda: dy.Thruster("rod", force=X),
        lambda: dy.Wrench("rod", lambda *_: np.zeros(6)),
        lambda: dy.Potential("rod", lambda *_: (0.0, np.zeros(6))),
        lambda: dy.Potential(bodies=[rod, "rod"], function=lambda *_: (0.0, np.zeros(12))),
    ):
        with pytest.raises(TypeError, match=way_out):
            make()
    with pytest.raises(dy.UnknownNameError, match=r"no body 'rood' for a contact; .*\['rod'\]"):
        mechanism.add_contact("rood")
    with pytest.raises(TypeError, match="such as a half-space, is against_shape="):
        mechanism.add_contact(rod, dy.HalfSpace())


def test_contacts_take_bodies_by_name():
    mechanism = dy.Mechanism()
    one, two = (mechanism.add_body(dy.Sphere(0.1, mass=1.0), name=name) for name in "ab")
    contact = mechanism.add_contact("a", "b")
    assert contact.child is one and contact.parent is two
    ground = mechanism.add_contact("a", "world")
    assert ground.child is one and ground.parent is mechanism.world


def test_a_run_takes_a_model_and_at_least_a_step():
    mechanism = pendulum()
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    with pytest.raises(TypeError, match=r"simulate takes a model, .* mechanism.finalize"):
        dy.simulate(mechanism, state, 1.0)
    with pytest.raises(ValueError, match="seconds is 0.001, less than one step of 0.01 s"):
        dy.simulate(model, state, 0.001)
    with pytest.raises(ValueError, match="seconds is 0.05, less than the 10 steps"):
        dy.simulate(model, state, 0.05, every=10)
    assert len(dy.simulate(model, state, 0.0)) == 1
    assert len(dy.simulate(model, state, 0.1, every=10)) == 2


def test_setting_a_joint_takes_along_what_rods_hold_behind_it():
    # a rod of 0.5 m hangs a ball from the pendulum: neither it nor a hinge behind it may open
    mechanism = pendulum()
    rod = mechanism.bodies["rod"]
    ball = mechanism.add_body(dy.Sphere(0.05, mass=1.0), name="ball")
    arm = mechanism.add_body(dy.Box(0.3, 0.05, 0.05, mass=0.5), name="arm")
    mechanism.add_joint(
        dy.Distance(
            rod, ball, 0.5, parent_point=(0, 0, -0.5), child_point=(0, 0, 0.05), name="rope"
        )
    )
    mechanism.add_joint(dy.Revolute(ball, arm, Y, parent_point=(0.05, 0, 0), name="hinge"))
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    model.set_joint(state, "hinge", 0.3, 0.7)
    before = state.copy()

    model.set_joint(state, "pin", 1.1, 2.0)

    assert np.abs(model.constraint_violation(state)).max() < 1e-12
    assert model.joint(state, "hinge")[0] == pytest.approx(0.3, abs=1e-12)
    assert model.joint(state, "pin")[0] == pytest.approx(1.1, abs=1e-12)
    assert model.joint(state, "pin")[1] == pytest.approx(2.0, abs=1e-9)
    assert model.joint(state, "hinge")[1] == pytest.approx(0.7, abs=1e-9)
    distances = [
        np.linalg.norm(one.pose[1:, :3] - one.pose[0, :3], axis=1) for one in (before, state)
    ]
    np.testing.assert_allclose(*distances, rtol=1e-12)  # all behind the pin moves as one
    dy.simulate(model, state, 0.02)
