"""Options of joints, bodies, contacts and models in signatures and documentation."""

import inspect
import pydoc

import pytest

import dynamics as dy
from dynamics.parts import bodies, contacts, joint_types, joints, options, special_joints

RECEIVERS = [
    (options.BodyOptions, bodies.body),
    (options.JointOptions, joints.joint),
    (options.ContactOptions, contacts.contact),
    (options.ModelOptions, dy.Model),
]
MAKERS = [
    getattr(module, name)
    for module in (joint_types, special_joints)
    for name in module.__all__
]  # fmt: skip


@pytest.mark.parametrize(("given", "receiver"), RECEIVERS)
def test_options_are_the_keywords_of_their_receiver(given, receiver):
    parameters = inspect.signature(receiver).parameters.values()
    keywords = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    inner = {"name", "user", "n_user", "user_bodies"}  # given by the caller, or of `Custom` alone

    assert set(given.__annotations__) - inner == keywords - inner
    assert len(options._entries(receiver.__doc__, set(given.__annotations__))) > 4


@pytest.mark.parametrize("maker", MAKERS)
def test_help_of_a_joint_shows_every_option_once(maker):
    shown = inspect.signature(maker).parameters
    text = pydoc.plain(pydoc.render_doc(maker))

    assert set(options.JointOptions.__annotations__) <= set(shown)
    assert all(p.kind is not p.VAR_KEYWORD for p in shown.values())
    assert text.count("    stiffness : float or array_like") == 1
    assert text.index("Other Parameters") < text.index("Returns")


def test_help_of_a_mechanism_shows_options():
    assert "friction : float, optional" in dy.Mechanism.add_contact.__doc__
    assert "Coefficient of sliding friction." in dy.Mechanism.add_contact.__doc__
    assert "barrier : float, optional" in dy.Mechanism.finalize.__doc__
    assert "spin_drag : float, optional" in dy.Mechanism.add_body.__doc__


def test_a_rolling_ball_has_no_point_of_its_own():
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="ball")
    with pytest.raises(TypeError, match="rolls about the child's centre of mass"):
        dy.Rolling(mechanism.world, ball, (0, 0, 1), 0.1, child_point=(0, 0, 0.1))
