"""Bodies that turn in space: free, on a pivot, and a chain in free flight."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from dynamics import rotation
from dynamics.mechanism import Mechanism
from dynamics.model import Model
from dynamics.parts import joint_types as joints
from dynamics.parts.options import ModelOptions
from dynamics.state import State

X, Y, Z = np.eye(3)
UPRIGHT = (1.0, 0.0, 0.0, 0.0)


def free_top(
    moments: ArrayLike = (1.0, 2.0, 3.0),
    angular_velocity: ArrayLike = (0.1, 2.0, 0.05),
    *,
    timestep: float = 0.01,
    **options: Unpack[ModelOptions],
) -> tuple[Model, State]:
    """Make one free body without forces.

    Parameters
    ----------
    moments : array_like, shape (3,) or (3, 3), optional
        Moments or matrix of inertia, kg m^2.
    angular_velocity : array_like, shape (3,), optional
        Body frame, rad/s.
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        With the body ``"top"``.
    state : State
    """
    mechanism = Mechanism(gravity=(0.0, 0.0, 0.0))
    mechanism.add_body(mass=1.0, inertia=moments, name="top")
    model = mechanism.finalize(timestep, **options)
    state = model.initial_state()
    model.set_body(state, "top", angular_velocity=angular_velocity)
    return model, state


def heavy_top(
    *,
    mass: float = 1.0,
    inertia: ArrayLike = ((0.10, 0.01, 0.005), (0.01, 0.12, -0.01), (0.005, -0.01, 0.05)),
    pivot: ArrayLike = (0.1, -0.05, 0.5),
    orientation: ArrayLike | None = None,
    angular_velocity: ArrayLike = (0.5, 1.3, 12.0),
    timestep: float = 0.01,
    **options: Unpack[ModelOptions],
) -> tuple[Model, State]:
    """Make a top on a pivot at the origin; by default a fast one that is not symmetric.

    Parameters
    ----------
    mass : float, optional
        kg.
    inertia : array_like, shape (3,) or (3, 3), optional
        About the centre of mass, kg m^2.
    pivot : array_like, shape (3,), optional
        Body frame, from the centre of mass, m.
    orientation : array_like, shape (4,), optional
        By default 2.5 rad about x.
    angular_velocity : array_like, shape (3,), optional
        Body frame, rad/s.
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        With the body ``"top"`` and the joint ``"pivot"``.
    state : State
    """
    mechanism = Mechanism()
    top = mechanism.add_body(mass=mass, inertia=inertia, name="top")
    mechanism.add_joint(joints.Spherical(mechanism.world, top, child_point=pivot, name="pivot"))
    model = mechanism.finalize(timestep, **options)
    state = model.initial_state()
    q = rotation.from_axis_angle(X, 2.5) if orientation is None else orientation
    model.set_joint(state, "pivot", rotation.to_rotation_vector(q), angular_velocity)
    return model, state


def spherical_pendulum(
    *, timestep: float = 0.01, **options: Unpack[ModelOptions]
) -> tuple[Model, State]:
    """Make a body of 1 kg on a ball joint half a metre above its centre of mass.

    Parameters
    ----------
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        With the body ``"top"`` and the joint ``"pivot"``.
    state : State
        Turned 0.9 rad about x, with the angular velocity (0.5, 1.3, 2) in its own frame.
    """
    return heavy_top(
        inertia=(0.10, 0.12, 0.05),
        pivot=(0.0, 0.0, 0.5),
        orientation=rotation.from_axis_angle(X, 0.9),
        angular_velocity=(0.5, 1.3, 2.0),
        timestep=timestep,
        **options,
    )


def floating_chain(
    *, timestep: float = 0.01, **options: Unpack[ModelOptions]
) -> tuple[Model, State]:
    """Make three bodies with a revolute and a spherical joint in free flight, no gravity.

    Parameters
    ----------
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        With the bodies ``"a", "b", "c"`` and the joints ``"hinge", "ball"``.
    state : State
        Tumbling.
    """
    mechanism = Mechanism(gravity=(0.0, 0.0, 0.0))
    a = mechanism.add_body(mass=1.0, inertia=(0.10, 0.12, 0.05), name="a", orientation=UPRIGHT)
    b = mechanism.add_body(mass=0.7, inertia=(0.04, 0.05, 0.03), name="b")
    c = mechanism.add_body(mass=1.3, inertia=(0.12, 0.08, 0.10), name="c")
    ends: dict[str, Any] = {"parent_point": -0.5 * Z, "child_point": 0.5 * Z}
    mechanism.add_joint(joints.Revolute(a, b, X, name="hinge", **ends))
    mechanism.add_joint(joints.Spherical(b, c, name="ball", **ends))
    model = mechanism.finalize(timestep, **options)
    state = model.initial_state()
    model.set_body(state, "a", velocity=(0.3, -0.2, 0.1), angular_velocity=(1.0, 0.5, -0.8))
    model.set_joint(state, "hinge", 0.7, 1.1)
    model.set_joint(state, "ball", (0.2, -0.4, 0.3), (-0.6, 0.9, 1.2))
    return model, state
