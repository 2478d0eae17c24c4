"""Closed loops of revolute joints in space; their constraints are redundant, and stay so."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from dynamics import rotation
from dynamics.mechanism import Mechanism
from dynamics.model import Model
from dynamics.parts import joint_types as joints
from dynamics.parts.bodies import WORLD
from dynamics.parts.geometry import Geometry
from dynamics.parts.options import ModelOptions
from dynamics.parts.shapes import Box, Capsule
from dynamics.state import State

X, Y, Z = np.eye(3)
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


def _bar(length: float, position: Any = (0.0, 0.0, 0.0)) -> Geometry:
    """Look of a bar along y, with a round end at each of its hinges."""
    return Geometry(Capsule(0.03, length, mass=1.0, axis=Y), np.asarray(position), UPRIGHT)


def _hinge(
    mechanism: Mechanism,
    parent: Any,
    child: Any,
    axis: Any,
    ends: Any,
    name: Any,
    zero: Any = None,
) -> None:
    """Revolute joint about an axis of the world; at angle 0 as placed, or the child at ``zero``."""
    turn = UPRIGHT if parent is WORLD else rotation.conjugate(parent.orientation)
    mechanism.add_joint(
        joints.Revolute(
            parent,
            child,
            rotation.rotate(turn, axis),
            parent_point=ends[0],
            child_point=ends[1],
            orientation=rotation.multiply(turn, child.orientation if zero is None else zero),
            name=name,
        )
    )


def four_bar(
    angle: float = 1.0,
    rate: float = 2.0,
    lengths: tuple[float, float, float, float] = (0.4, 1.0, 0.8, 1.0),
    *,
    timestep: float = 0.01,
    **options: Unpack[ModelOptions],
) -> tuple[Model, State]:
    """Make a four-bar linkage in the y-z plane with four spatial revolute joints.

    Parameters
    ----------
    angle, rate : float, optional
        Angle of the crank from the y axis towards z, rad, and its rate, rad/s.
    lengths : tuple of float, optional
        Lengths of crank, coupler, rocker and ground, m; also their masses, kg.
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        Bodies ``"crank", "coupler", "rocker"``, rods along their y axes; joints ``"crank ground",
        "crank coupler", "rocker coupler", "rocker ground"``; the coordinate of the first is the
        crank's angle, those of the others start at 0.
    state : State
    """
    crank, coupler, rocker, ground = lengths
    tip = crank * np.array([0.0, np.cos(angle), np.sin(angle)])
    foot = ground * Y
    span = np.linalg.norm(foot - tip)
    toward = (foot - tip) / span
    along = (coupler**2 - rocker**2 + span**2) / (2.0 * span)
    if not coupler > abs(along):
        raise ValueError(f"bars of {lengths} m do not close at the crank angle {angle}")
    knee = tip + along * toward + np.sqrt(coupler**2 - along**2) * np.cross(X, toward)
    mechanism = Mechanism()
    bars = {}
    for name, length, start, end in (
        ("crank", crank, 0.0 * X, tip),
        ("coupler", coupler, tip, knee),
        ("rocker", rocker, foot, knee),
    ):
        turn = np.arctan2(end[2] - start[2], end[1] - start[1])
        bars[name] = mechanism.add_body(
            mass=length,
            inertia=length**3 * np.array([1 / 12, 0.02, 1 / 12]),
            name=name,
            position=0.5 * (start + end),
            orientation=rotation.from_axis_angle(X, turn),
            visuals=(_bar(length),),
        )
    mechanism.scenery["ground"] = _bar(ground, 0.5 * foot)
    a, b, c = 0.5 * crank * Y, 0.5 * coupler * Y, 0.5 * rocker * Y
    _hinge(mechanism, mechanism.world, bars["crank"], X, (0.0 * X, -a), "crank ground", UPRIGHT)
    _hinge(mechanism, bars["crank"], bars["coupler"], X, (a, -b), "crank coupler")
    _hinge(mechanism, bars["rocker"], bars["coupler"], X, (c, b), "rocker coupler")
    _hinge(mechanism, mechanism.world, bars["rocker"], X, (foot, -c), "rocker ground")
    model = mechanism.finalize(timestep, **options)
    return model, model.assemble(model.initial_state(), velocities={"crank ground": rate})


def four_bar_windows(
    n: int, speed: float = 1.0, *, timestep: float = 0.01, **options: Unpack[ModelOptions]
) -> tuple[Model, State]:
    """Make n windows of 2 n + 1 rods of 1 m and 1 kg, upright (IFToMM benchmark A02).

    Parameters
    ----------
    n : int
    speed : float, optional
        Velocity of the couplers along x, m/s.
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        Bodies ``("crank", i)`` and ``("coupler", i)``, joints ``("ground", i), ("left", i),
        ("right", i)``, all about z; gravity along -y.
    state : State

    References
    ----------
    .. [1] IFToMM TC for Multibody Dynamics, Library of Computational Benchmark Problems, A02.
    """
    mechanism = Mechanism(gravity=(0.0, -9.81, 0.0))
    inertia = (1e-3, 1 / 12, 1 / 12)
    up = rotation.from_axis_angle(Z, 0.5 * np.pi)
    cranks = [
        mechanism.add_body(
            mass=1.0,
            inertia=inertia,
            name=("crank", i),
            position=(i, 0.5, 0.0),
            orientation=up,
        )
        for i in range(n + 1)
    ]
    couplers = [
        mechanism.add_body(mass=1.0, inertia=inertia, name=("coupler", i), position=(i + 0.5, 1, 0))
        for i in range(n)
    ]
    for i, crank in enumerate(cranks):
        _hinge(mechanism, mechanism.world, crank, Z, (i * X, -0.5 * X), ("ground", i))
    for i, coupler in enumerate(couplers):
        _hinge(mechanism, cranks[i], coupler, Z, (0.5 * X, -0.5 * X), ("left", i))
        _hinge(mechanism, cranks[i + 1], coupler, Z, (0.5 * X, 0.5 * X), ("right", i))
    model = mechanism.finalize(timestep, **options)
    state = model.initial_state()
    for i in range(n + 1):
        model.set_body(state, ("crank", i), velocity=0.5 * speed * X, angular_velocity=-speed * Z)
    for i in range(n):
        model.set_body(state, ("coupler", i), velocity=speed * X)
    return model, state


def double_four_bar(
    *, timestep: float = 0.01, **options: Unpack[ModelOptions]
) -> tuple[Model, State]:
    """Make two four-bar windows of five rods, which align repeatedly (Kinon et al. 2023).

    Parameters
    ----------
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        See `four_bar_windows`.
    state : State
    """
    return four_bar_windows(2, timestep=timestep, **options)


def rhombic_chain(
    n: int,
    half_angle: float = np.pi / 8,
    *,
    timestep: float = 0.01,
    **options: Unpack[ModelOptions],
) -> tuple[Model, State]:
    """Make n rhombi of four links of 1 m and 1 kg, tip to tip along x, from rest.

    Parameters
    ----------
    n : int
    half_angle : float, optional
        Between a link and the x axis, rad.
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        Bodies of segment i are ``("A1", i), ("B1", i), ("A2", i), ("B2", i)``: A above and B
        below, 1 in front and 2 at the back; joints ``("a", i)`` to ``("e", i)``, all about y.
    state : State

    References
    ----------
    .. [1] J. Bruedigam, Z. Manchester, "Linear-Time Variational Integrators in Maximal
       Coordinates", WAFR 2020, sec. 5.
    """
    mechanism = Mechanism()
    up = rotation.from_axis_angle(Y, -half_angle)
    down = rotation.from_axis_angle(Y, half_angle)
    c, s = np.cos(half_angle), np.sin(half_angle)
    left, right = -0.5 * X, 0.5 * X
    parent: Any = mechanism.world
    at = 0.0 * X
    for i in range(n):
        A1, B1, A2, B2 = (
            mechanism.add_body(
                Box(1.0, 0.1, 0.1, mass=1.0),
                name=(name, i),
                orientation=turn,
                position=(2.0 * c * i + x, 0.0, z),
            )
            for name, turn, x, z in (
                ("A1", up, 0.5 * c, 0.5 * s),
                ("B1", down, 0.5 * c, -0.5 * s),
                ("A2", down, 1.5 * c, 0.5 * s),
                ("B2", up, 1.5 * c, -0.5 * s),
            )
        )
        _hinge(mechanism, parent, A1, Y, (at, left), ("a", i))
        _hinge(mechanism, parent, B1, Y, (at, left), ("b", i))
        _hinge(mechanism, A1, A2, Y, (right, left), ("c", i))
        _hinge(mechanism, B1, B2, Y, (right, left), ("d", i))
        _hinge(mechanism, A2, B2, Y, (right, right), ("e", i))
        parent, at = A2, right
    model = mechanism.finalize(timestep, **options)
    return model, model.initial_state()


def bricard(*, timestep: float = 0.01, **options: Unpack[ModelOptions]) -> tuple[Model, State]:
    """Make a Bricard linkage: five rods and six hinges, movable despite 6 n - m = 0 freedoms.

    Parameters
    ----------
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        Bodies ``("rod", i)``, i = 0..4, joints ``("hinge", i)``, i = 0..5; gravity along -y.
    state : State
        At rest.

    References
    ----------
    .. [1] IFToMM TC for Multibody Dynamics, Library of Computational Benchmark Problems, A04.
    """
    mechanism = Mechanism(gravity=(0.0, -9.81, 0.0))
    points = np.array(
        [[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float
    )
    rods = []
    for i in range(5):
        edges = np.where(points[i + 1] != points[i], 1.0, 0.1)
        rods.append(
            mechanism.add_body(
                Box(*edges.tolist(), mass=1.0),
                name=("rod", i),
                position=0.5 * (points[i] + points[i + 1]),
            )
        )
    sixth = Box(0.1, 0.1, 1.0, mass=1.0)  # the rod that the world is
    mechanism.scenery["ground"] = Geometry(sixth, 0.5 * points[5], UPRIGHT)
    ends: list[Any] = [mechanism.world, *rods, mechanism.world]
    middles = [0.0 * X, *[0.5 * (points[i] + points[i + 1]) for i in range(5)], 0.0 * X]
    for i, axis in enumerate((Y, Z, X, Y, Z, X)):
        pair = (i, i + 1) if i < 5 else (6, 5)  # a joint to the world has it as the parent
        arms = [points[i] - middles[k] for k in pair]
        _hinge(mechanism, ends[pair[0]], ends[pair[1]], axis, arms, ("hinge", i))
    model = mechanism.finalize(timestep, **options)
    return model, model.initial_state()
