"""Inertia that dampers meet at links with a trace of mass, such as those between hinges of a file.

The poses of its neighbours determine where such a link is, so that it has no motion of its own. A
damper of its joint meets the inertia of the bodies at the ends of the chain: with the screws S of
all joints between, and the mobility Y of one end relative to the other, ``(S^T Y^-1 S)^-1``, at
coordinates 0. Without it the damper would count as stiff, and its steps as of first order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.parts.bodies import WORLD

__all__ = ["chain_mobilities", "light_links"]

Float = NDArray[np.float64]
TRACE = 1e-6  #: mass over that of the heaviest body; files' massless links have 1e-7 of the next
SCREWS = ("revolute", "prismatic")
ROUNDED = 1e-12  #: eigenvalues below are rounding: inverses of inertias lose four digits of 16


def chain_mobilities(bodies: Iterable[Any], joints: Iterable[Any]) -> dict[Hashable, float]:
    """Inverse inertias of joints in chains through links with a trace of mass.

    Parameters
    ----------
    bodies : iterable of Body
    joints : iterable of Joint

    Returns
    -------
    dict of float
        By name of joint, 1/kg or 1/(kg m^2).
    """
    at = light_links(bodies, joints)
    if not at:
        return {}
    graph = nx.MultiGraph()
    for joint in {id(one): one for some in at.values() for one in some}.values():
        if len(joint.bodies) == 2:
            graph.add_edge(joint.parent.name, joint.child.name, key=joint.name, joint=joint)
    found: dict[Hashable, float] = {}
    for links in nx.connected_components(graph.subgraph(at)):
        chain = _chain(links, at)
        if chain is not None:
            found |= _mobilities(*chain)
    return found


def light_links(bodies: Iterable[Any], joints: Iterable[Any]) -> dict[Hashable, list[Any]]:
    """Joints of each link with a trace of mass.

    Parameters
    ----------
    bodies : iterable of Body
    joints : iterable of Joint

    Returns
    -------
    dict of list of Joint
        By name of link.
    """
    masses = {body.name: body.mass for body in bodies}
    most = TRACE * max(masses.values())
    at: dict[Hashable, list[Any]] = {name: [] for name, mass in masses.items() if mass < most}
    for joint in joints if at else ():
        for body in joint.bodies:
            if body.name in at:
                at[body.name].append(joint)
    return at


def _chain(links: set[Hashable], at: dict[Hashable, list[Any]]) -> tuple[Any, list[Any]] | None:
    """First body and joints of a chain through these links; None where they branch."""
    if any(len(at[name]) != 2 for name in links):
        return None
    ends = [
        (body, joint)
        for name in links
        for joint in at[name]
        for body in joint.bodies
        if body.name not in links
    ]
    if len(ends) != 2 or any(j.kind not in SCREWS for name in links for j in at[name]):
        return None
    here, joint = ends[0] if ends[0][0] is not WORLD else ends[1]
    first, joints = here, [joint]
    while True:
        here = joint.child if joint.parent is here else joint.parent
        if here.name not in links:
            return first, joints
        joint = next(one for one in at[here.name] if one is not joint)
        joints.append(joint)


def _mobilities(first: Any, joints: list[Any]) -> dict[Hashable, float]:
    """Inverse inertias of the joints of a chain, in the frame of its first body."""
    here, R, x, screws = first, np.eye(3), np.zeros(3), []
    for joint in joints:
        turn = rotation.to_matrix(joint.offset)
        if joint.parent is here:
            parent, at, here = R, x + R @ joint.parent_point, joint.child
            R = R @ turn
            x = at - R @ joint.child_point
        else:
            at, here = x + R @ joint.child_point, joint.parent
            R = parent = R @ turn.T
            x = at - R @ joint.parent_point
        axis = joint.positions[0].axis
        if joint.kind == "revolute":
            n = parent @ turn @ axis
            screws.append([*np.cross(at, n), *n])
        else:
            screws.append([*(parent @ axis), 0.0, 0.0, 0.0])
    if here is first:
        return {}
    Y = _mobility(first, np.eye(3), np.zeros(3))
    if here is not WORLD:
        Y = Y + _mobility(here, R, x)
    S = np.array(screws).T
    M = S.T @ np.linalg.solve(Y, S) + np.diag([float(joint.armature[0]) for joint in joints])
    scale = 1.0 / np.sqrt(np.diag(M))
    if np.linalg.eigvalsh(scale[:, None] * M * scale)[0] <= ROUNDED:
        return {}  # the ends do not determine where the links are, as where axes lie in a plane
    return dict(zip([joint.name for joint in joints], np.diag(np.linalg.inv(M)).tolist()))


def _mobility(body: Any, R: Float, x: Float) -> Float:
    """Twist at the origin, in its axes, per wrench there of a body at a pose."""
    T = np.eye(6)
    T[:3, 3:] = [[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]]
    free = np.zeros((6, 6))
    free[:3, :3] = np.eye(3) / body.mass
    free[3:, 3:] = R @ np.linalg.inv(body.inertia) @ R.T
    return np.asarray(T @ free @ T.T)
