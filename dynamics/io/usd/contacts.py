"""Friction, collision groups and filtered pairs of USD's colliders."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamics.io.notes import Notes
from dynamics.io.usd.stage import Stage, authored
from dynamics.parts.geometry import Surface

__all__ = ["Surfaces"]

#: Bits of a filter of shapes: one is of those in no group.
MOST_GROUPS = 60


class Surfaces:
    """Reader of surfaces.

    Parameters
    ----------
    stage : Stage
    groups : list of pxr.UsdPhysics.CollisionGroupDesc
    notes : Notes
    """

    def __init__(self, stage: Stage, groups: list[Any], notes: Notes) -> None:
        self.stage, self.notes = stage, notes
        if len(groups) > MOST_GROUPS:
            for one in groups[MOST_GROUPS:]:
                notes.leave_out(f"collision groups beyond {MOST_GROUPS}", one.primPath)
        paths = [one.primPath for one in groups[:MOST_GROUPS]]
        self.bit = {str(path): 1 << (k + 1) for k, path in enumerate(paths)}
        self.every = sum(self.bit.values()) + 1
        self.touches: dict[str, int] = {}
        group = stage.pxr.UsdPhysics.CollisionGroup
        table = group.ComputeCollisionGroupTable(stage.stage)
        for one in paths:
            met = [self.bit[str(two)] for two in paths if table.IsCollisionEnabled(one, two)]
            self.touches[str(one)] = 1 + sum(met)

    def read(self, collider: Any) -> Surface | None:
        """Friction and filters of a collider; None where the file says nothing.

        Parameters
        ----------
        collider : pxr.UsdPhysics.ShapeDesc

        Returns
        -------
        Surface or None

        Raises
        ------
        ValueError
            For friction that is negative or not finite.
        """
        friction = self._friction(collider)
        inside = [str(one) for one in collider.collisionGroups if str(one) in self.bit]
        if len(inside) > 1:
            self.notes.leave_out("second collision groups of colliders", collider.primPath)
        if friction is None and not self.bit:
            return None
        kind, touches = 1, self.every
        if inside:
            kind, touches = self.bit[inside[0]], self.touches[inside[0]]
        return Surface(0.5 if friction is None else friction, kind=kind, touches=touches)

    def _friction(self, collider: Any) -> float | None:
        """Coefficient of sliding friction of a collider's material."""
        for path in collider.materials:
            prim = self.stage.stage.GetPrimAtPath(path)
            if not prim or not prim.HasAPI(self.stage.pxr.UsdPhysics.MaterialAPI):
                continue
            bounce = prim.GetAttribute("physics:restitution")
            if bounce.HasAuthoredValue() and bounce.Get() > 0.0:
                self.notes.leave_out("restitution of materials", path)
            for name in ("dynamicFriction", "staticFriction"):
                one = prim.GetAttribute(f"physics:{name}")
                if one.HasAuthoredValue():
                    value = authored(one.Get())
                    if not 0.0 <= value < np.inf:
                        raise ValueError(f"{self.stage.name(prim)} has the friction {value}")
                    return value
        return None
