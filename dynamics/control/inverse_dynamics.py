"""Inverse dynamics: forces in joints that give accelerations, for trees and loops."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack

from dynamics import rotation
from dynamics.errors import check_model
from dynamics.kernels.base import layout
from dynamics.kernels.rows import forces, stiff_forces
from dynamics.kernels.rows.wrench import add_user_impulses
from dynamics.kernels.stepping import step as stepping
from dynamics.kinematics.joint_space import JointSpace, row_slopes, space_of
from dynamics.kinematics.momenta import momenta, steady_forces
from dynamics.kinematics.plane_placement import look_at
from dynamics.kinematics.spanning_tree import Slopes, soft_rows
from dynamics.state import check_state

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.state import State

__all__ = ["actuated", "inverse_dynamics"]

Float = NDArray[np.float64]

#: Accelerations that miss what was asked for by more than this part of the largest are an error.
REACHED = 1e-6
#: A contact or rope acts where no more than this is left, m.
NEAR = 1e-5
#: Reciprocal condition number, and part of the largest singular value, below which forces or
#: accelerations depend on each other: of two joints that a gear couples, any part may pull.
SINGULAR = 1e-12
#: A joint rests where it is no faster, m/s or rad/s.
STILL = 1e-9


def inverse_dynamics(
    model: Model,
    state: State,
    accelerations: ArrayLike | Mapping[Hashable, ArrayLike],
    joints: Iterable[Hashable] | None = None,
) -> Float:
    """Forces in joints for given accelerations of their coordinates.

    Solves ``M a = f + G^T lam + J^T tau, G a = -G' V, J a = q'' - J' V`` for trees and loops, on
    the null space of the constraints. Coordinates without a given acceleration move freely (partial
    feedback linearization). If the forces are redundant, they are the smallest ones. Springs and
    dampers act, including those of a robot file. Dry friction opposes the rate of a joint or, at
    rest, the given acceleration; if that is 0, too, it is taken as 0. Limits of joints exert no
    force here.

    Parameters
    ----------
    model : Model
    state : State
    accelerations : float or array_like, shape (k,), or mapping
        Second derivatives of the coordinates of ``joints``, m/s^2 or rad/s^2; 0 for the forces that
        hold a posture. Or a mapping by name of any joint with coordinates; the others are free.
    joints : iterable of hashable, optional
        Joints in which forces act; by default the actuated joints or, if there is none, all joints.

    Returns
    -------
    ndarray of float, shape (k,)
        N or N m, along the coordinates of ``joints``, one joint after another.

    Raises
    ------
    ValueError
        If no forces in these joints give these accelerations, or a joint at rest with dry friction
        would move without a given acceleration.
    NotImplementedError
        If something touches, a rope is taut, or a joint has a servo: see ``"motor"`` in
        `dynamics.load`.
    """
    check_model(model, "inverse_dynamics")
    check_state(model, state)
    _check_free(model, state)
    acting = space_of(model, actuated(model) or None if joints is None else joints)
    asked, wanted = _asked(model, acting, accelerations)
    twist = model.workspace.velocities(state.data[None])[0]
    slopes = Slopes(acting.motions, *row_slopes(model, state, twist))
    asked_slopes = slopes if asked is acting else slopes.of(asked.motions)
    free = slopes.free()
    bias = steady_forces(model.tables, state.pose, twist)
    rubbed = _Rubbed(model, twist, asked_slopes, asked, wanted)
    bent = -slopes.held(slopes.bend @ twist)
    pushed = momenta(model.tables, state.pose, np.vstack([free.T, bent]))
    d, k = free.shape[1], acting.size
    kkt, right = np.zeros((d + asked.size, d + k)), np.zeros(d + asked.size)
    kkt[:d, :d], kkt[:d, d:] = free.T @ pushed[:d].T, -(slopes.J @ free).T
    kkt[d:, :d] = asked_slopes.J @ free
    right[:d] = free.T @ (_applied(model, state, twist) + rubbed.force - bias - pushed[d])
    right[d:] = wanted - asked_slopes.swing @ twist - asked_slopes.J @ bent
    found, missed = _solved(kkt, right)
    if missed > REACHED * _size(right):
        raise ValueError(
            f"no forces in the joints {list(acting.names)} give these accelerations of "
            f"{list(asked.names)}; ask for fewer, or let forces act in more joints"
        )
    rubbed.check(bent + free @ found[:d])
    return np.asarray(found[d:])


def _solved(kkt: Float, right: Float) -> tuple[Float, float]:
    """Solution, of several the smallest, and its largest residual."""

    def missed(found: Float) -> float:
        return float(np.abs(kkt @ found - right).max(initial=0.0))

    found = None
    if kkt.shape[0] == kkt.shape[1] > 0:
        lu, pivots, bad = lapack.dgetrf(kkt)
        if bad == 0:
            found = np.asarray(lapack.dgetrs(lu, pivots, right)[0])
            if lapack.dgecon(lu, np.abs(kkt).sum(axis=0).max())[0] > SINGULAR:
                return found, missed(found)
    smallest = np.asarray(np.linalg.lstsq(kkt, right, rcond=SINGULAR)[0], np.float64)
    left = missed(smallest)
    if found is not None and missed(found) < left and left > REACHED * _size(right):
        return found, missed(found)  # masses so different that they looked singular
    return smallest, left


def _size(right: Float) -> float:
    """What accelerations that are missed are compared with."""
    return max(1.0, float(np.abs(right).max(initial=0.0)))


def actuated(model: Model) -> list[Hashable]:
    """Names of the joints that take forces as controls and have coordinates."""
    joints = model.mechanism.joints
    return [
        name
        for name in model.tables.control_start
        if name in model.tables.measure_group and joints[name].servo is None
    ]


def _check_free(model: Model, state: State) -> None:
    """Refuse servos, contacts that touch and taut ropes: they answer what follows."""
    for joint in model.mechanism.joints.values():
        if joint.servo is not None:
            raise NotImplementedError(
                f"joint {joint.name!r} has a servo, whose force depends on the step that follows: "
                "take a model with motors instead, from dynamics.load(file, actuated="
                f"{{{joint.name!r}: 'motor'}}), or from joints with actuated=True for servo="
            )
    whole, near = (model, state), None if model.near is None else model.near.entry(state)
    touching, now = whole if near is None else (near.near.model, near.state)
    touches = touching.tables.contact_touches
    gaps = look_at(touching, now.data[None])[0, : len(touches), 0] if touches else ()
    for (name, _), gap in zip(touches, gaps):
        if gap < NEAR and name not in model.mechanism.joints:
            raise NotImplementedError(
                f"{name!r} touches or is taut, where inverse dynamics is not offered: move it "
                "off, or leave it out of the mechanism"
            )


def _rubbing(model: Model) -> list[Hashable]:
    """Names of the joints with dry friction, found once."""
    if "rubbing" not in model.structures:
        joints = model.mechanism.joints.values()
        model.structures["rubbing"] = [joint.name for joint in joints if joint.friction.any()]
    return cast(list[Hashable], model.structures["rubbing"])


class _Rubbed:
    """Dry friction of joints: known where they move, and where it is asked how they start."""

    def __init__(
        self,
        model: Model,
        twist: Float,
        asked_slopes: Slopes,
        asked: JointSpace,
        wanted: Float,
    ) -> None:
        self.names, self.force = _rubbing(model), np.zeros(twist.size)
        if not self.names:
            return
        self.space = space_of(model, self.names)
        slopes = asked_slopes if self.space is asked else asked_slopes.of(self.space.motions)
        self.J, self.swing = slopes.J, slopes.swing @ twist
        rate = self.J @ twist
        way, self.known = np.where(abs(rate) > STILL, rate, 0.0), abs(rate) > STILL
        for name, (first, count) in self.space.start.items():
            if name in asked.start:
                at_asked = asked.start[name][0]
                start = wanted[at_asked : at_asked + count]
                part = slice(first, first + count)
                way[part] = np.where(self.known[part], way[part], start)
                self.known[part] = True
        joints = model.mechanism.joints
        most = np.concatenate([joints[name].friction for name in self.names])
        self.known |= most == 0.0
        self.force = -slopes.J.T @ (most * np.sign(way))

    def check(self, acceleration: Float) -> None:
        """Refuse accelerations of joints that were at rest and not asked for."""
        if not self.names or self.known.all():
            return
        found = np.where(self.known, 0.0, self.J @ acceleration + self.swing)
        if np.abs(found).max() > REACHED * max(1.0, np.abs(acceleration).max()):
            owners = [name for name in self.names for _ in range(self.space.start[name][1])]
            raise ValueError(
                f"joint {owners[int(np.argmax(np.abs(found)))]!r} is at rest with dry friction, "
                "which may hold it: give its acceleration, too"
            )


def _asked(model: Model, acting: JointSpace, accelerations: Any) -> tuple[JointSpace, Float]:
    """Joints whose accelerations are given, and these."""
    if not isinstance(accelerations, Mapping):
        if np.ndim(accelerations) == 0:
            accelerations = np.full(acting.size, accelerations)
        name = f"accelerations of {list(acting.names)}"
        return acting, rotation.as_numbers(accelerations, (acting.size,), name)
    asked = space_of(model, accelerations)
    parts = [
        rotation.as_numbers(np.atleast_1d(value), (asked.start[name][1],),
                            f"acceleration of {name!r}")
        for name, value in accelerations.items()
    ]  # fmt: skip
    return asked, np.concatenate([*parts, np.zeros(0)])


def _applied(model: Model, state: State, twist: Float) -> Float:
    """Gravity, springs, dampers, drag, compliant joints and users' forces, shape (6 n,)."""
    plan, constant = model.tables.plan, model.tables.constant
    work, f = np.zeros(plan[layout.WORK_SIZE]), np.zeros(layout.TWIST * model.n_bodies)
    node, behind = stepping.node_of(plan, work, 0)
    other, _ = stepping.node_of(plan, work, behind)
    stepping.load_state(plan, constant, state.data, tuple(node), tuple(other))
    f += node.f[: f.size]
    forces.damp(plan, constant, -1.0, -1.0, node.G, twist, f)
    node.g[3 * plan[layout.ALL_ROWS]] = 1.0
    stiff_forces.add_stiff_forces(plan, constant, -1.0, node.g, node.g, node.G, f)  # stiff springs
    if plan[layout.WRENCHES]:
        node.f[f.size] = state.time
        add_user_impulses(plan, 1.0, node.pose, node.f, twist, f)
    for call in model.tables.callbacks:
        call.reraise()
    if model.soft:
        rows = constant[plan[layout.ROW_CONSTANT_AT] :][: layout.ROW_SIZE * model.n_rows]
        rows = rows.reshape(-1, layout.ROW_SIZE)
        soft, rates = soft_rows(model), np.zeros(model.n_rows)
        joints = int(plan[layout.JOINTS])
        rates = model.workspace.measured(0, joints, state.data[None], twist[None])[0, :, 1]
        pull = np.zeros(model.n_rows)
        compliance = rows[soft, layout.COMPLIANCE]
        pull[soft] = -node.g[: model.n_rows][soft] / compliance
        pull[soft] -= rows[soft, layout.DAMPING] * rates[soft]
        # the whole of G^T: theta at the start, 1 - theta at the end
        forces.push(plan, constant, False, node.G, pull, 1.0, f)
        forces.push(plan, constant, True, node.G, pull, 1.0, f)
    return f
