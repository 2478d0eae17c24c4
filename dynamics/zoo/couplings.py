"""Mechanisms that turn one motion into another: cart-pole, slider-crank, shafts, screw."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from dynamics import rotation
from dynamics.mechanism import Mechanism
from dynamics.model import Model
from dynamics.parts import joint_types as joints
from dynamics.parts import special_joints
from dynamics.parts.options import ModelOptions
from dynamics.parts.shapes import Box, Cylinder
from dynamics.state import State

X, Y, Z = np.eye(3)


def cart_pole(
    angle: float = 0.0,
    *,
    cart_mass: float = 1.0,
    pole_mass: float = 0.2,
    length: float = 1.0,
    timestep: float = 0.01,
    **options: Unpack[ModelOptions],
) -> tuple[Model, State]:
    """Make a cart on a rail along y with a pole that turns about x and stands up at angle 0.

    Parameters
    ----------
    angle : float, optional
        Angle of the pole, rad.
    cart_mass, pole_mass : float, optional
        kg.
    length : float, optional
        Length of the pole, a thin rod, m.
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        Bodies ``"cart", "pole"``, joints ``"rail"`` (takes a control, N) and ``"hinge"``.
    state : State
        At rest.
    """
    mechanism = Mechanism()
    cart = mechanism.add_body(Box(0.2, 0.4, 0.1, mass=cart_mass), name="cart")
    thin = pole_mass * length**2 / 12
    pole = mechanism.add_body(mass=pole_mass, inertia=(thin, thin, 0.01 * thin), name="pole")
    mechanism.add_joint(joints.Prismatic(mechanism.world, cart, Y, actuated=True, name="rail"))
    mechanism.add_joint(joints.Revolute(cart, pole, X, child_point=-0.5 * length * Z, name="hinge"))
    model = mechanism.finalize(timestep, **options)
    state = model.initial_state()
    model.set_joint(state, "hinge", angle)
    return model, state


def slider_crank(
    angle: float = 0.5,
    rate: float = 0.0,
    *,
    timestep: float = 0.01,
    **options: Unpack[ModelOptions],
) -> tuple[Model, State]:
    """Make a spatial slider-crank: a crank of 0.5 m, a rod of 1 m, a slider on the y axis.

    Parameters
    ----------
    angle, rate : float, optional
        Angle of the crank from the y axis towards z, rad, and its rate, rad/s.
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        Bodies ``"crank", "rod", "slider"``; joints ``"shaft", "pin", "wrist", "guide"``.
    state : State
    """
    mechanism = Mechanism()
    crank = mechanism.add_body(Box(0.1, 0.5, 0.1, mass=0.5), name="crank")
    rod = mechanism.add_body(Box(0.1, 1.0, 0.1, mass=1.0), name="rod")
    slider = mechanism.add_body(Box(0.2, 0.2, 0.2, mass=2.0), name="slider", position=1.5 * Y)
    world = mechanism.world
    mechanism.add_joint(
        joints.Revolute(world, crank, X, child_point=-0.25 * Y, actuated=True, name="shaft")
    )
    mechanism.add_joint(
        joints.Revolute(crank, rod, X, parent_point=0.25 * Y, child_point=-0.5 * Y, name="pin")
    )
    mechanism.add_joint(joints.Revolute(rod, slider, X, parent_point=0.5 * Y, name="wrist"))
    mechanism.add_joint(joints.Prismatic(world, slider, Y, name="guide"))
    model = mechanism.finalize(timestep, **options)
    state = model.initial_state()
    near = np.arcsin(0.5 * np.sin(angle))  # the rod's angle below the axis
    _place(model, state, "crank", 0.0 * Y, angle, 0.5)
    knee = 0.5 * np.array([0.0, np.cos(angle), np.sin(angle)])
    _place(model, state, "rod", knee, -near, 1.0)
    reach = 0.5 * np.cos(angle) + np.cos(near)
    model.set_body(state, "slider", position=reach * Y)
    return model, model.assemble(state, {"shaft": angle}, {"shaft": rate})


def _place(model: Model, state: State, name: str, start: Any, angle: float, length: float) -> None:
    """Put a bar along y with one end at a point, turned about x."""
    middle = start + 0.5 * length * np.array([0.0, np.cos(angle), np.sin(angle)])
    turn = rotation.from_axis_angle(X, angle)
    model.set_body(state, name, position=middle, orientation=turn)


def shafts(
    joint: str = "universal",
    bend: float = 0.5,
    rate: float = 3.0,
    *,
    timestep: float = 0.01,
    **options: Unpack[ModelOptions],
) -> tuple[Model, State]:
    """Make two shafts that meet at the origin at an angle and are coupled there, no gravity.

    Parameters
    ----------
    joint : {"universal", "constant velocity"}, optional
    bend : float, optional
        Angle between the shafts, rad.
    rate : float, optional
        Initial rate of the first shaft, rad/s.
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        Bodies ``"first"`` (along x) and ``"second"`` (in the x-y plane); bearings ``"first
        bearing", "second bearing"`` and the joint ``"coupling"``.
    state : State

    Notes
    -----
    A universal joint turns the second shaft by ``tan(b) = tan(a) / cos(bend)`` for an input angle
    ``a`` from where the cross lies on the axis about which the shafts bend (Hooke's joint); one of
    constant velocity by ``b = a``.
    """
    mechanism = Mechanism(gravity=(0.0, 0.0, 0.0))
    turn = rotation.from_axis_angle(Z, bend)
    along = rotation.rotate(turn, X)
    shape = Cylinder(0.1, 1.0, mass=1.0, axis=X)
    first = mechanism.add_body(shape, name="first", position=-0.5 * X)
    second = mechanism.add_body(shape, name="second", position=0.5 * along, orientation=turn)
    world = mechanism.world
    mechanism.add_joint(
        joints.Revolute(world, first, X, parent_point=-0.5 * X, name="first bearing")
    )
    mechanism.add_joint(
        joints.Revolute(
            world, second, along, parent_point=0.5 * along, orientation=turn, name="second bearing"
        )
    )
    where: dict[str, Any] = {"parent_point": 0.5 * X, "child_point": -0.5 * X, "name": "coupling"}
    if joint == "universal":  # at the start the cross lies on z, the axis of the bend
        mechanism.add_joint(
            special_joints.Universal(
                first, second, Z, np.cross(Z, along), orientation=turn, **where
            )
        )
    elif joint == "constant velocity":
        mechanism.add_joint(joints.ConstantVelocity(first, second, X, **where))
    else:
        raise ValueError(f'joint {joint!r} is unknown; use "universal" or "constant velocity"')
    model = mechanism.finalize(timestep, **options)
    state = model.initial_state()
    return model, model.assemble(state, velocities={"first bearing": rate})


def screw_press(
    pitch: float = 0.1, *, timestep: float = 0.01, **options: Unpack[ModelOptions]
) -> tuple[Model, State]:
    """Make a cylinder of 1 kg that sinks on a screw along z.

    Parameters
    ----------
    pitch : float, optional
        m per turn.
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        With the body ``"nut"`` and the joint ``"screw"``.
    state : State
        At rest. The nut sinks with ``g / (1 + J / (m p^2))``, p = pitch / (2 pi).
    """
    mechanism = Mechanism()
    nut = mechanism.add_body(Cylinder(0.1, 0.2, mass=1.0), name="nut")
    mechanism.add_joint(special_joints.Helical(mechanism.world, nut, Z, pitch, name="screw"))
    model = mechanism.finalize(timestep, **options)
    return model, model.initial_state()
