"""Single bodies over the ground, for the tests of contacts."""

import dynamics as dy

G, H = 9.81, 0.01


def single(
    own, position=(0, 0, 1), timestep=H, against=None, barrier=5e-9, form="second order", **options
):
    """Model of one body over the ground, or over what it is set against."""
    mechanism = dy.Mechanism()
    body = mechanism.add_body(own, name="body", position=position)
    mechanism.add_contact(body, against_shape=against, name="touch", **options)
    return mechanism.finalize(timestep, barrier=barrier, form=form)


def cube(side=0.5):
    return dy.Box(side, side, side, mass=1.0)
