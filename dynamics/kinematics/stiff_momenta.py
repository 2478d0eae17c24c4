"""Impulses of stiff springs, dampers and servos next to a node, and their slopes.

Those of half an interval that `dynamics.kernels.observables.stiff_forces` adds to the momenta of a
node: ``I = (h/2) held - (h/2) hard (c + (h/2) k) G V`` of each row, (h/2) k of springs alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics.kernels.base import layout
from dynamics.kernels.rows.stiff_forces import KEPT
from dynamics.kinematics.coordinates import free_velocities
from dynamics.kinematics.momenta import places_of, slopes_of, turned_rows

if TYPE_CHECKING:
    from dynamics.model import Model
    from dynamics.state import State

__all__ = ["StiffImpulses", "as_if_under", "with_impulses"]

Float = NDArray[np.float64]


def as_if_under(model: Model, state: State, control: Float) -> State:
    """A state whose servos had other controls in the interval before, and the same momenta.

    Parameters
    ----------
    model : Model
    state : State
    control : ndarray of float, shape (c,)

    Returns
    -------
    State
        The given one where no servo is stiff. Forces at their limits stay.
    """
    late = StiffImpulses(model, state)
    if not late.live or not late.gain.any():
        return state
    constant, places = model.tables.constant, places_of(model.tables, late.rows)
    g, _ = slopes_of(model.tables, state.pose, late.rows)
    asked = np.where(late.control >= 0, control[late.control], 0.0)
    held = late.gain * (constant[places + layout.TARGET] + asked)
    held -= constant[places + layout.IMPLICIT_STIFFNESS] * g
    moved = state.copy()
    kept = moved.contacts[model.late_at + 1 :]
    count = kept.size // KEPT
    served = (late.gain[:count] != 0.0) & (kept[1::KEPT] == 1.0)
    kept[::KEPT][served] = held[:count][served]
    return moved


def with_impulses(model: Model, state: State) -> State:
    """A state whose momenta hold the impulses of stiff forces next to it, with no interval before.

    Parameters
    ----------
    model : Model
    state : State

    Returns
    -------
    State
        The given one where it has no such impulses.
    """
    late = StiffImpulses(model, state)
    if not late.live:
        return state
    moved = state.copy()
    moved.momentum.ravel()[:] += late.impulses(free_velocities(model, state))
    moved.contacts[model.late_at :] = 0.0
    return moved


class StiffImpulses:
    """Impulses of stiff forces at one state, by velocities and by directions.

    Parameters
    ----------
    model : Model
    state : State
    constant : ndarray of float, optional
        Other numbers than those of the model.
    """

    def __init__(self, model: Model, state: State, constant: Float | None = None) -> None:
        tables, plan = model.tables, model.tables.plan
        old = tables.constant
        constant = old if constant is None else constant
        kept = state.contacts[model.late_at :]
        self.tables, self.pose = tables, state.pose
        self.live = bool(kept[:1].any())
        if not self.live:
            return
        n, joints = model.n_bodies, int(plan[layout.JOINTS])
        rotors, groups = joints + int(plan[layout.ROTORS]), int(plan[layout.GROUPS])
        self.rows: list[tuple[int, int, int, int]] = []
        for owner in range(joints, groups):
            group = plan[plan[layout.GROUP_AT] + owner * layout.GROUP_FIELDS :][
                : layout.GROUP_FIELDS
            ].tolist()
            for row in range(
                group[layout.FIRST_ROW], group[layout.FIRST_ROW] + group[layout.N_ROWS]
            ):
                c = int(plan[layout.ROW_CONSTANT_AT]) + row * layout.ROW_SIZE
                if owner < rotors or (
                    old[c + layout.THETA] == 1.0 and old[c + layout.DAMPING] != 0.0
                ):
                    self.rows.append((owner, row, group[layout.A], group[layout.B]))
        places = places_of(tables, self.rows)
        count = (kept.size - 1) // KEPT  # of rows in the groups that may be late
        held, hard = np.zeros((2, len(self.rows)))
        held[:count], hard[:count] = kept[1::KEPT], kept[2::KEPT]
        g, G = slopes_of(tables, self.pose, self.rows)
        self.G: Any = G
        k, self.gain = constant[places + layout.IMPLICIT_STIFFNESS], constant[places + layout.GAIN]
        if constant is not old:
            g_other, _ = slopes_of(tables, self.pose, self.rows, constant)
            held = held + hard * (old[places + layout.IMPLICIT_STIFFNESS] * g - k * g_other)
        stiff_damper = np.where(
            constant[places + layout.THETA] == 1.0, constant[places + layout.DAMPING], 0
        )
        half = 0.5 * float(kept[0])
        springs = np.where(self.gain == 0.0, half * k, 0.0)
        self.steep = half * (
            hard * (constant[places + layout.IMPLICIT_DAMPING] + springs) + stiff_damper
        )
        self.push, self.stiff, self.aimed = half * held, half * hard * k, half * hard * self.gain
        rows = plan[layout.ROW_AT] + layout.ROW_FIELDS * np.array(
            [row for _, row, _, _ in self.rows]
        )
        self.control = plan[rows.astype(np.int64) + layout.CONTROL]
        bodies = constant[: layout.BODY_SIZE * n].reshape(n, layout.BODY_SIZE)
        drag = bodies[:, [layout.DRAG] * 3 + [layout.SPIN_DRAG] * 3]
        self.drag = (half * (bodies[:, layout.DRAG_THETA] == 1.0)[:, None] * drag).ravel()

    def stored(self, late: Float) -> Float:
        """What a state keeps of its last interval, with the numbers that are others.

        Parameters
        ----------
        late : ndarray of float
            What it kept: see `dynamics.kernels.rows.stiff_forces.store_forces`.

        Returns
        -------
        ndarray of float, the same shape
        """
        found = late.copy()
        if self.live:
            held = found[1::KEPT]
            held[:] = self.push[: held.size] / (0.5 * found[0])
        return found

    def impulses(self, twist: Float) -> Float:
        """Sum of I G^T at velocities, shape (6 n,)."""
        if not self.live:
            return np.zeros_like(twist)
        return np.asarray(self._rows(twist) @ self.G - self.drag * twist)

    def _rows(self, twist: Float) -> Float:
        return np.asarray(self.push - self.steep * (self.G @ twist))

    def changes(
        self, twist: Float, dz: Float, dV: Float | None = None, dc: Float | None = None
    ) -> Float:
        """Changes of `impulses`.

        Parameters
        ----------
        twist : ndarray of float, shape (6 n,)
        dz : ndarray of float, shape (k, 6 n)
            Of poses.
        dV : ndarray of float, shape (k, 6 n), optional
            Of the velocities.
        dc : ndarray of float, shape (k, c), optional
            Of the controls of the interval.

        Returns
        -------
        ndarray of float, shape (k, 6 n)
        """
        if not self.live:
            return np.zeros_like(dz)
        turned = turned_rows(self.tables, self.pose, dz, self.rows)
        change = -self.stiff * (self.G @ dz.T).T - self.steep * (turned @ twist)
        if dc is not None and dc.shape[1]:
            change += np.where(self.control >= 0, self.aimed * dc[:, self.control], 0.0)
        out = np.einsum("kri,r->ki", turned, self._rows(twist))
        if dV is not None:
            change -= self.steep * (self.G @ dV.T).T
            out -= self.drag * dV
        return np.asarray(out + change @ self.G)
