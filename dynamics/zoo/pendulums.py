"""Chains and trees that hang from the world."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from dynamics import rotation
from dynamics.mechanism import Mechanism
from dynamics.model import Model
from dynamics.parts import joint_types as joints
from dynamics.parts import special_joints
from dynamics.parts.bodies import Body
from dynamics.parts.joints import Joint
from dynamics.parts.options import ModelOptions
from dynamics.parts.shapes import Box, Sphere
from dynamics.state import State

X, Y, Z = np.eye(3)

#: Joints of a random tree, and how often each is drawn.
LIKELY = {
    "Revolute": 0.3,
    "Spherical": 0.15,
    "Prismatic": 0.1,
    "Cylindrical": 0.1,
    "Universal": 0.1,
    "Helical": 0.05,
    "Planar": 0.05,
    "PlanarAxis": 0.05,
    "ConstantVelocity": 0.05,
    "Fixed": 0.05,
}
#: Those that a tree of every kind draws from as well, closing joints too.
MORE = (
    "FixedOrientation", "FreeAxis", "PointOnLine", "PointOnPlane", "Floating", "Distance",
    "KnifeEdge",
)  # fmt: skip


def pendulum(
    n: int = 1,
    joint: str = "revolute",
    *,
    angles: ArrayLike = 0.0,
    damping: float = 0.0,
    timestep: float = 0.01,
    **options: Unpack[ModelOptions],
) -> tuple[Model, State]:
    """Make a chain of boxes of 1 m and 1 kg that swings about y; all angles 0 is straight along +x.

    Parameters
    ----------
    n : int, optional
        Number of links.
    joint : {"revolute", "spherical"}, optional
    angles : float or array_like, shape (n,), optional
        Angle of each link relative to the one before, about y, rad; a first angle of pi/2 hangs
        down.
    damping : float, optional
        N m s/rad, in every joint.
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        Bodies and joints are called ``("link", i)`` and ``("joint", i)``.
    state : State
        At rest.
    """
    mechanism = Mechanism()
    parent: Any = mechanism.world
    for i in range(n):
        link = mechanism.add_body(Box(1.0, 0.1, 0.1, mass=1.0), name=("link", i))
        where: dict[str, Any] = {
            "parent_point": 0.5 * X if i else 0.0 * X,
            "child_point": -0.5 * X,
            "name": ("joint", i),
            "damping": damping,
        }
        if joint == "revolute":
            mechanism.add_joint(joints.Revolute(parent, link, Y, **where))
        elif joint == "spherical":
            mechanism.add_joint(joints.Spherical(parent, link, **where))
        else:
            raise ValueError(f'joint {joint!r} is unknown; use "revolute" or "spherical"')
        parent = link
    model = mechanism.finalize(timestep, **options)
    state = model.initial_state()
    for i, angle in enumerate(np.broadcast_to(np.asarray(angles, float), (n,))):
        if angle != 0.0:
            model.set_joint(state, ("joint", i), angle if joint == "revolute" else angle * Y)
    return model, state


def double_pendulum(
    angles: tuple[float, float] = (1.2, 0.4),
    rates: tuple[float, float] = (0.5, -0.7),
    *,
    compliance: float = 0.0,
    theta: float = 0.5,
    timestep: float = 0.01,
    **options: Unpack[ModelOptions],
) -> tuple[Model, State]:
    """Make two rods of 1 m and 1 kg that swing about x and hang down at angle 0.

    Parameters
    ----------
    angles, rates : tuple of float, optional
        Angles of the first and second rod in the world, rad, and their rates, rad/s.
    compliance, theta : float, optional
        Of both joints: see `Joint`.
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        Bodies and joints are called ``("link", i)`` and ``("joint", i)``.
    state : State
    """
    mechanism = Mechanism()
    parent: Any = mechanism.world
    for i in range(2):
        link = mechanism.add_body(mass=1.0, inertia=[1 / 12, 1 / 12, 0.01], name=("link", i))
        mechanism.add_joint(
            joints.Revolute(
                parent,
                link,
                X,
                parent_point=-0.5 * Z if i else 0.0 * Z,
                child_point=0.5 * Z,
                name=("joint", i),
                compliance=compliance,
                theta=theta,
            )
        )
        parent = link
    model = mechanism.finalize(timestep, **options)
    state = model.initial_state()
    model.set_joint(state, ("joint", 0), angles[0], rates[0])
    model.set_joint(state, ("joint", 1), angles[1] - angles[0], rates[1] - rates[0])
    return model, state


def damped_pendulum(
    angle: float = 1.5,
    damping: float = 0.5,
    *,
    timestep: float = 0.01,
    **options: Unpack[ModelOptions],
) -> tuple[Model, State]:
    """Make one thin rod of 1 m and 1 kg with a damper in its hinge; it hangs down at angle 0.

    Parameters
    ----------
    angle : float, optional
        rad.
    damping : float, optional
        N m s/rad.
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        With the joint ``"hinge"``.
    state : State
        At rest.
    """
    mechanism = Mechanism()
    rod = mechanism.add_body(mass=1.0, inertia=[1 / 12, 1 / 12, 0.01], name="rod")
    mechanism.add_joint(
        joints.Revolute(mechanism.world, rod, X, child_point=0.5 * Z, damping=damping, name="hinge")
    )
    model = mechanism.finalize(timestep, **options)
    state = model.initial_state()
    model.set_joint(state, "hinge", angle)
    return model, state


def sphere_chain(
    n: int,
    *,
    tilt: float = 0.0,
    height: float = 1.0,
    timestep: float = 0.01,
    **options: Unpack[ModelOptions],
) -> tuple[Model, State]:
    """Make n balls of 1 kg and radius 0.25 m in a row, joined where they touch, in free flight.

    Parameters
    ----------
    n : int
    tilt : float, optional
        Angle between the row and the x axis, rad.
    height : float, optional
        Height of the lowest point of the first ball, m.
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        Bodies and joints are called ``("ball", i)`` and ``("joint", i)``.
    state : State
        Moving along y at 1 m/s.
    """
    mechanism = Mechanism()
    row = rotation.from_axis_angle(Y, -tilt)
    balls: list[Body] = []
    for i in range(n):
        place = rotation.rotate(row, 0.5 * i * X) + (0.25 + height) * Z
        made = Sphere(0.25, mass=1.0)
        balls.append(mechanism.add_body(made, name=("ball", i), position=place, orientation=row))
        if i:
            mechanism.add_joint(
                joints.Spherical(
                    balls[i - 1],
                    balls[i],
                    parent_point=0.25 * X,
                    child_point=-0.25 * X,
                    name=("joint", i - 1),
                )
            )
    model = mechanism.finalize(timestep, **options)
    state = model.initial_state()
    for i in range(n):
        model.set_body(state, ("ball", i), velocity=Y)
    return model, state


def random_tree(
    n: int,
    seed: int = 0,
    *,
    branch: int = 3,
    loops: int = 0,
    every_kind: bool = False,
    timestep: float = 0.01,
    **options: Unpack[ModelOptions],
) -> tuple[Model, State]:
    """Make a tree of random bodies and joints, with loops closed by random joints.

    Parameters
    ----------
    n : int
        Number of bodies.
    seed : int, optional
    branch : int, optional
        The parent of a body is one of the last ``branch`` bodies; 1 gives a chain.
    loops : int, optional
        Number of joints that close loops, placed so that the state satisfies them.
    every_kind : bool, optional
        Whether all types of joints are equally likely; by default the common ones only.
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        Bodies are numbers, joints ``(parent, child)`` and ``("loop", i)``.
    state : State
        Random coordinates and rates; with loops at rest.
    """
    rng = np.random.default_rng(seed)
    mechanism = Mechanism()
    bodies: list[Any] = []
    made: list[Joint] = []
    for i in range(n):
        turn = rotation.to_matrix(rotation.random(rng))
        inertia = turn @ np.diag(rng.uniform(0.1, 0.2, size=3)) @ turn.T
        body = mechanism.add_body(
            mass=rng.uniform(0.5, 1.5), inertia=0.5 * (inertia + inertia.T), name=i
        )
        parent = bodies[rng.integers(max(0, i - branch), i)] if i else mechanism.world
        kind = _kind(rng, every_kind)
        made.append(mechanism.add_joint(_random_joint(kind, parent, body, rng, (parent.name, i))))
        bodies.append(body)
    placed = mechanism.copy().finalize(timestep)
    state = placed.initial_state()
    for joint in made:
        if joint.n_coordinates:
            size = joint.n_coordinates
            rates = np.zeros(size) if loops else 0.5 * rng.normal(size=size)
            placed.set_joint(state, joint.name, 0.5 * rng.normal(size=size), rates)
    if every_kind:  # rods of some length are not closed yet
        state = placed.assemble(state)
    if not loops:
        model = mechanism.finalize(timestep, **options)
        return model, model.state_of(state.data.copy())
    for k in range(loops):
        a, b = rng.choice(n + 1, size=2, replace=False)
        ends = int(min(a, b)), int(max(a, b))
        _close(mechanism, state, bodies, ends, ("loop", k), rng, every_kind)
    model = mechanism.finalize(timestep, **options)
    start = model.state_of(np.zeros(model.state_size))
    for i in range(n):
        model.set_body(start, i, position=state.pose[i, :3], orientation=state.pose[i, 3:])
    return model, start


def _kind(rng: np.random.Generator, every_kind: bool) -> str:
    """Name of a joint for a random tree."""
    if every_kind:
        return str(rng.choice((*LIKELY, *MORE)))
    return str(rng.choice(list(LIKELY), p=list(LIKELY.values())))


def _random_joint(kind: str, parent: Any, child: Any, rng: np.random.Generator, name: Any) -> Joint:
    """A joint of some kind between random points."""
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    across = np.cross(axis, rng.normal(size=3))
    points = 0.4 * rng.normal(size=(2, 3))
    return _joint(kind, parent, child, axis, across, points, rotation.random(rng), name)


def _joint(
    kind: str,
    parent: Any,
    child: Any,
    axis: Any,
    across: Any,
    points: Any,
    orientation: Any,
    name: Any,
) -> Joint:
    """A joint with the arguments that its kind takes."""
    arguments: tuple[Any, ...] = (axis,)
    options = {"parent_point": points[0], "child_point": points[1], "name": name}
    if kind in ("Spherical", "Fixed", "FixedOrientation", "Floating"):
        arguments = ()
    elif kind == "Universal":
        arguments = (axis, across / np.linalg.norm(across))
    elif kind == "Helical":
        arguments = (axis, 0.3)
    elif kind == "Distance":
        arguments = (0.5,)
    if kind not in ("Distance", "KnifeEdge"):
        options["orientation"] = orientation
    special = kind in special_joints.__all__
    made: Joint = getattr(special_joints if special else joints, kind)(
        parent, child, *arguments, **options
    )
    return made


def _close(
    mechanism: Mechanism,
    state: State,
    bodies: list[Any],
    ends: tuple[int, int],
    name: Any,
    rng: np.random.Generator,
    every_kind: bool,
) -> None:
    """A joint between two bodies (the last number is the world) that fits where they are."""
    n = len(bodies)
    first, second = (bodies[i] if i < n else mechanism.world for i in ends)
    poses = np.vstack([state.pose, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])[list(ends)]
    point = poses[:, :3].mean(axis=0) + 0.1 * rng.normal(size=3)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    kinds = ("Revolute", "Spherical", "PointOnPlane")
    kind = _kind(rng, True) if every_kind else kinds[rng.integers(3)]
    across = np.cross(axis, [axis[1], axis[2], -axis[0]])
    apart = 0.25 * axis if kind == "Distance" else np.zeros(3)
    points = [
        rotation.rotate(rotation.conjugate(pose[3:]), point + side - pose[:3])
        for pose, side in zip(poses, (-apart, apart))
    ]
    turn = rotation.multiply(rotation.conjugate(poses[0, 3:]), poses[1, 3:])
    mechanism.add_joint(_joint(kind, first, second, axis, across, points, turn, name))
