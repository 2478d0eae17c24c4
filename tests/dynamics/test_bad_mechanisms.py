"""What is refused, and that the sentence names what was wrong."""

import numpy as np
import pytest

import dynamics as dy

X, Y, Z = np.eye(3)
GOOD = {"mass": 1.0, "inertia": [0.1, 0.1, 0.1]}


def pair():
    """A mechanism with two bodies."""
    mechanism = dy.Mechanism()
    return mechanism, mechanism.add_body(name="a", **GOOD), mechanism.add_body(name="b", **GOOD)


@pytest.mark.parametrize("mass", [0.0, -1.0, np.nan, np.inf])
def test_a_mass_is_positive_and_finite(mass):
    with pytest.raises(ValueError, match="mass of body 'b' is .* must be positive"):
        dy.Mechanism().add_body(mass=mass, inertia=[0.1] * 3, name="b")


@pytest.mark.parametrize(
    ("inertia", "why"),
    [
        ([0.1, 0.1, 0.0], "not positive definite.*a thin rod needs a radius="),
        ([0.1, 0.1, -0.1], "not positive definite"),
        ([0.1, 0.1, 0.3], "triangle inequality"),
        ([[0.1, 0.01, 0], [0.0, 0.1, 0], [0, 0, 0.1]], "not symmetric"),
        ([0.1, 0.1], "3 x 3"),
        ([0.1, np.nan, 0.1], "finite"),
    ],
)
def test_an_inertia_is_that_of_a_rigid_body(inertia, why):
    with pytest.raises(ValueError, match=f"inertia of body 'b'.*{why}"):
        dy.Mechanism().add_body(mass=1.0, inertia=inertia, name="b")


def test_a_flat_body_and_a_rod_are_rigid_bodies():
    mechanism = dy.Mechanism()
    mechanism.add_body(mass=1.0, inertia=[0.1, 0.1, 0.2])  # a disc: the limit of the inequality


def test_a_body_needs_a_mass_and_an_inertia_or_a_shape():
    with pytest.raises(ValueError, match="needs a shape, or both"):
        dy.Mechanism().add_body(mass=1.0, name="b")
    with pytest.raises(ValueError, match="drag of body 'b'"):
        dy.Mechanism().add_body(name="b", drag=-1.0, **GOOD)


def test_a_shape_whose_centre_of_mass_is_elsewhere_is_told_how_to_move_it():
    shape = dy.Compound([(dy.Sphere(0.1, mass=1.0), (0.0, 0.0, 0.3))])
    with pytest.raises(ValueError, match=r"body 'b': the origin .* lies at .*use shape.centered"):
        dy.Mechanism().add_body(shape, name="b")
    centred = dy.Mechanism().add_body(shape.centered(), name="b")
    np.testing.assert_allclose(centred.shape.center_of_mass, 0.0, atol=1e-15)


def test_an_unknown_option_of_a_model_is_named_with_the_one_that_is_meant():
    mechanism = dy.Mechanism()
    mechanism.add_body(name="b", **GOOD)
    for word, meant in (("dt", "timestep"), ("oder", "order")):
        with pytest.raises(TypeError, match=f"finalize takes no {word}=; use {meant}="):
            mechanism.finalize(**{word: 0.01})
    mechanism.add_body(name="c", **GOOD)  # nothing was finalized


def test_a_color_is_three_or_four_numbers_for_a_shape():
    ball = dy.Sphere(0.1, mass=1.0)
    mechanism = dy.Mechanism()
    for color in ([0.1, 0.2], [0.1, 0.2, 1.1], [-0.1, 0.2, 0.3], np.zeros((2, 2))):
        with pytest.raises(ValueError, match="color of body 'b'"):
            mechanism.add_body(ball, name="b", color=color)
    with pytest.raises(TypeError, match="color of body 'b' must hold real numbers, not 'red'"):
        mechanism.add_body(ball, name="b", color="red")
    with pytest.raises(ValueError, match="color of body 'b' is that of its shape"):
        mechanism.add_body(name="b", color=[1, 0, 0], **GOOD)
    with pytest.raises(TypeError, match="takes no colour=; use color="):
        mechanism.add_body(ball, name="b", colour=[1, 0, 0])


def test_names_differ():
    mechanism, a, b = pair()
    with pytest.raises(ValueError, match="name 'a' is in use; give another one by name="):
        mechanism.add_body(name="a", **GOOD)
    mechanism.add_joint(dy.Fixed(a, b, name="j"))
    with pytest.raises(ValueError, match="name 'j' is in use"):
        mechanism.add_joint(dy.Spherical(a, b, name="j"))
    with pytest.raises(ValueError, match="name 'world' is in use"):
        mechanism.add_body(name="world", **GOOD)
    with pytest.raises(ValueError, match="name 'b' is in use"):
        mechanism.add_force(dy.Spring(a, b, name="b"))


def test_nothing_is_joined_with_itself():
    _, a, _ = pair()
    with pytest.raises(ValueError, match="joint 'j' joins 'a' with itself"):
        dy.Revolute(a, a, X, name="j")
    with pytest.raises(ValueError, match="spring 's' joins 'a' with itself"):
        dy.Spring(a, a, name="s")


def test_bodies_of_another_mechanism_are_refused():
    mechanism, a, _ = pair()
    _, _, stranger = pair()
    with pytest.raises(dy.UnknownNameError, match="joint 'j' holds 'b', which is not a body"):
        mechanism.add_joint(dy.Fixed(a, stranger, name="j"))
    with pytest.raises(dy.UnknownNameError, match="force 's' holds"):
        mechanism.add_force(dy.Spring(a, stranger, name="s"))


def test_axes_are_normalized_with_a_notice():
    _, a, b = pair()
    with pytest.warns(UserWarning, match="axis of joint 'j' has length 2"):
        joint = dy.Revolute(a, b, [0.0, 0.0, 2.0], name="j")
    np.testing.assert_allclose(joint.positions[0].axis, Z)


@pytest.mark.parametrize("axis", [[0, 0, 0], [0, np.nan, 1], [1, 0], "x"])
def test_axes_that_are_none_are_refused(axis):
    _, a, b = pair()
    with pytest.raises((ValueError, TypeError), match="axis of joint 'j'"):
        dy.Prismatic(a, b, axis, name="j")


def test_orientations_that_are_none_are_refused():
    _, a, b = pair()
    with pytest.raises(ValueError, match="orientation|quaternion|length"):
        dy.Fixed(a, b, orientation=[0, 0, 0, 0], name="j")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"stiffness": [1.0, 2.0]}, "stiffness of joint 'j' must be one finite number"),
        ({"damping": -1.0}, "damping of joint 'j' is negative"),
        ({"damping": np.nan}, "damping of joint 'j'"),
        ({"rest": np.inf}, "rest of joint 'j'"),
        ({"compliance": -1e-3}, "compliance of joint 'j'"),
        ({"constraint_damping": np.nan}, "constraint_damping of joint 'j'"),
        ({"theta": 0.4}, "theta of joint 'j'"),
        ({"limits": [1.0, 0.0]}, "limits of joint 'j'"),
        (
            {"servo": dy.PositionServo(1.0, target=[0.1, 0.2])},
            "target of the servo of joint 'j' has 2 numbers; it must be one, or one per free axis",
        ),
        ({"parent_point": [0.0, 0.0]}, "parent_point of joint 'j'"),
        ({"child_point": [0.0, np.nan, 0.0]}, "child_point of joint 'j'"),
    ],
)
def test_what_a_joint_is_given_is_checked(options, why):
    _, a, b = pair()
    with pytest.raises(ValueError, match=why):
        dy.Revolute(a, b, X, name="j", **options)


def test_what_special_joints_are_given_is_checked():
    _, a, b = pair()
    with pytest.raises(ValueError, match="axes of joint 'j' must be perpendicular"):
        dy.Universal(a, b, X, [0.6, 0.8, 0.0], name="j")
    with pytest.raises(ValueError, match="pitch of joint 'j' is 0.0"):
        dy.Helical(a, b, X, 0.0, name="j")
    with pytest.raises(ValueError, match="length of joint 'j'"):
        dy.Distance(a, b, -1.0, name="j")
    with pytest.raises(ValueError, match="joint 'j' needs at least one"):
        dy.Custom(a, b, lambda p, q: None, 0, name="j")
    with pytest.raises(ValueError, match="stiffness of spring 's'"):
        dy.Spring(a, b, stiffness=-1.0, name="s")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: dy.PositionServo(-1.0), "stiffness of a PositionServo is -1.0"),
        (lambda: dy.PositionServo(0.0), "stiffness and damping of a PositionServo are 0"),
        (lambda: dy.VelocityServo([0.0, 0.0]), "damping of a VelocityServo are 0"),
        (lambda: dy.VelocityServo(1.0, target=np.nan), "target of a VelocityServo is nan"),
        (lambda: dy.PositionServo(1.0, force_limit=0.0), "force_limit .* must be positive"),
        (lambda: dy.PositionServo(1.0, force_limit=[[2.0, 1.0]]), "must be .least, largest"),
        (lambda: dy.PositionServo(1.0, gear=0.0), "gear of a PositionServo is 0.0"),
    ],
)
def test_a_servo_has_gains_a_target_a_limit_and_a_gear(make, why):
    with pytest.raises(ValueError, match=why):
        make()


def test_a_custom_constraint_gives_what_it_promised():
    mechanism, a, _ = pair()
    mechanism.add_joint(
        dy.Custom(mechanism.world, a, lambda p, q: (np.zeros(2), np.zeros((2, 12))), 1, name="j")
    )
    model = mechanism.finalize()
    with pytest.raises(ValueError, match=r"constraint of joint 'j' gave shapes \(2,\)"):
        model.step(model.initial_state())
    mechanism, a, _ = pair()
    nowhere = np.zeros(1), np.full((1, 12), np.nan)
    mechanism.add_joint(dy.Custom(mechanism.world, a, lambda p, q: nowhere, 1, name="j"))
    model = mechanism.finalize()
    with pytest.raises(ValueError, match="constraint of joint 'j' gave values that are not finite"):
        model.step(model.initial_state())


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"timestep": 0.0}, "timestep is 0.0"),
        ({"timestep": np.nan}, "timestep is nan"),
        ({"tolerance": -1.0}, "tolerance is -1.0"),
        ({"largest_turn": 0.0}, "largest_turn is 0.0"),
        ({"integrator": "euler"}, "integrator 'euler' is unknown"),
        ({"form": "third order"}, "form 'third order' is unknown"),
    ],
)
def test_settings_of_a_model_are_checked(options, why):
    mechanism, _, _ = pair()
    with pytest.raises(ValueError, match=why):
        mechanism.finalize(**options)


def test_a_mechanism_without_a_body_is_refused():
    with pytest.raises(ValueError, match="has no body"):
        dy.Mechanism().finalize()
    with pytest.raises(ValueError, match="gravity"):
        dy.Mechanism(gravity=[0, 0, np.nan])


@pytest.mark.parametrize("bad", [np.zeros(5), [np.nan] * 6, "push"])
def test_wrenches_that_are_none_are_refused(bad):
    mechanism, _, _ = pair()
    model = mechanism.finalize()
    with pytest.raises((ValueError, TypeError), match="wrench on 'a'"):
        model.step(model.initial_state(), wrenches={"a": bad})
    with pytest.raises(ValueError, match="three of force and three of torque"):
        model.step(model.initial_state(), wrenches={"a": [0, 0, 1]})
    with pytest.raises(dy.UnknownNameError, match="no body 'c'"):
        model.step(model.initial_state(), wrenches={"c": np.zeros(6)})
    with pytest.raises(ValueError, match=r"wrenches of all bodies .* must be \(12,\)"):
        model.step(model.initial_state(), wrenches=np.zeros(6))


def test_a_body_with_no_joint_and_a_mechanism_in_parts_are_fine():
    mechanism, a, _ = pair()
    mechanism.add_joint(dy.Revolute(mechanism.world, a, X, child_point=Z, name="j"))
    model = mechanism.finalize()
    final = dy.simulate(model, model.initial_state(), 1.0).final
    assert final.pose[1, 2] == pytest.approx(-0.5 * 9.81, abs=1e-9)


def test_a_joint_with_only_free_axes_holds_nothing():
    mechanism, a, b = pair()
    mechanism.add_joint(dy.Floating(a, b, stiffness=1.0, name="loose"))
    assert mechanism.finalize().n_rows == 0


def test_a_joint_in_place_of_its_name_is_refused_with_the_name():
    model, state = dy.zoo.cart_pole()
    hinge = model.mechanism.joints["hinge"]
    with pytest.raises(dy.UnknownNameError, match="^give a joint by its name, 'hinge'$"):
        model.set_joint(state, hinge, 0.3)
    with pytest.raises(dy.UnknownNameError, match="there is no joint 3; joints are"):
        model.set_joint(state, 3, 0.3)


def test_a_robot_moved_by_one_body_is_told_of_carry():
    model, state = dy.zoo.cart_pole()
    model.set_body(state, "pole", position=(0, 0, 5))
    with pytest.raises(dy.InconsistentStateError, match=r"set_body\(state, name, ..., carry=True"):
        dy.simulate(model, state, 0.1)


def test_bodies_joints_and_states_are_shown_in_a_few_words():
    mechanism, a, b = pair()
    joint = mechanism.add_joint(dy.Revolute(mechanism.world, a, Y, name="pin"))
    mechanism.add_joint(dy.Spherical(a, b, name=("j", 1)))
    state = mechanism.finalize().initial_state()
    assert repr(a) == "Body('a', 1 kg)"
    assert repr(joint) == "Joint('pin', revolute of 'world' and 'a')"
    assert repr(mechanism.joints["j", 1]) == "Joint(('j', 1), spherical of 'a' and 'b')"
    assert repr(state) == "State(2 bodies, at 0 s)"


@pytest.mark.parametrize("value", ["90deg", None])
def test_a_coordinate_or_a_control_that_is_no_number_is_refused_by_name(value):
    mechanism, a, _ = pair()
    mechanism.add_joint(dy.Revolute(mechanism.world, a, Y, name="pin", actuated=True))
    model = mechanism.finalize()
    state = model.initial_state()
    with pytest.raises(TypeError, match="position of joint 'pin' must hold real numbers"):
        model.set_joint(state, "pin", value)
    with pytest.raises(TypeError, match="control of 'pin' must hold real numbers"):
        model.step(state, {"pin": value})
    with pytest.raises(TypeError, match="control of 'pin' must hold real numbers"):
        dy.simulate(model, state, 0.1, controls={"pin": value})


@pytest.mark.parametrize("write", ["save", "export_html"])
def test_a_file_in_a_folder_that_is_not_there_is_refused_by_its_name(write, tmp_path):
    pytest.importorskip("trimesh")
    model, state = dy.zoo.double_pendulum()
    motion = dy.simulate(model, state, 0.1)
    with pytest.raises(FileNotFoundError, match="there is no folder .*away; make it first"):
        getattr(motion, write)(tmp_path / "away" / "motion.npz")


@pytest.mark.parametrize(
    ("label", "take"),
    [
        ("simulate", lambda mechanism, state: dy.simulate(mechanism, state, 1.0)),
        ("Kinematics", lambda mechanism, state: dy.Kinematics(mechanism)),
        ("JointSpace", lambda mechanism, state: dy.JointSpace(mechanism)),
        ("Sensors", lambda mechanism, state: dy.Sensors(mechanism)),
        ("linearize", lambda mechanism, state: dy.linearize(mechanism, state)),
        ("lqr", lambda mechanism, state: dy.lqr(mechanism, state, 1.0, 1.0)),
        (
            "ProportionalDerivative",
            lambda mechanism, state: dy.ProportionalDerivative(mechanism, 1.0, 1.0),
        ),
    ],
)
def test_a_mechanism_in_place_of_a_model_is_told_to_be_finalized(label, take):
    model, state = dy.zoo.double_pendulum()
    with pytest.raises(TypeError, match=rf"{label} takes a model, not Mechanism\(.*finalize"):
        take(model.mechanism, state)
