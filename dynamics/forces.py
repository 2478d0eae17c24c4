"""Forces beside those of joints: springs and dampers between points, and users' own."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics import rotation

__all__ = ["Rope", "Spring"]

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Spring:
    """A spring and damper between two points, along the line that joins them.

    Parameters
    ----------
    parent, child : Body or world
    stiffness : float, optional
        N/m.
    damping : float, optional
        N s/m.
    length : float, optional
        Where the spring is at rest, m.
    parent_point, child_point : array_like, shape (3,), optional
        Body frames, m.
    name : hashable, optional
    actuated : bool, optional
        Whether a control pushes the points apart, N.
    limits : tuple of float, optional
        Least and largest distance of the points, m, either of them infinite: see `Rope`.
    limit_compliance : float, optional
        How far a force stretches the limits, m/N; 0 is rigid.
    """

    parent: Any
    child: Any
    stiffness: float = 0.0
    damping: float = 0.0
    length: float = 0.0
    parent_point: ArrayLike = (0.0, 0.0, 0.0)
    child_point: ArrayLike = (0.0, 0.0, 0.0)
    name: Hashable = None
    actuated: bool = False
    limits: tuple[float, float] | None = None
    limit_compliance: float = 0.0

    def __post_init__(self) -> None:
        if self.name is None:
            object.__setattr__(self, "name", f"{self.parent.name}~{self.child.name}")
        label = f"spring {self.name!r}"
        if self.parent is self.child:
            raise ValueError(f"{label} joins {self.parent.name!r} with itself")
        for what in ("stiffness", "damping", "length", "limit_compliance"):
            value = getattr(self, what)
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(f"{what} of {label} is {value}, and must not be negative")
        for what in ("parent_point", "child_point"):
            point = rotation.as_numbers(getattr(self, what), (3,), f"{what} of {label}")
            object.__setattr__(self, what, point)
        if self.limits is not None:
            low, high = map(float, self.limits)
            if not (low <= high and high > 0.0):
                raise ValueError(f"limits of {label} must be (lower, upper), in order")
            object.__setattr__(self, "limits", (low if low > 0.0 else -math.inf, high))


def Rope(
    parent: Any, child: Any, length: float, *, compliance: float = 0.0, **options: Any
) -> Spring:
    """Keep two points within a distance: a rope, or with ``compliance`` an elastic band.

    Parameters
    ----------
    parent, child : Body or world
    length : float
        m.
    compliance : float, optional
        m/N; 0 does not stretch.
    **options
        ``parent_point, child_point, name`` and the rest of `Spring`.

    Returns
    -------
    Spring
        For `Mechanism.add_force`; `Trajectory.contact` tells its slack and its tension.
    """
    return Spring(parent, child, limits=(-math.inf, length), limit_compliance=compliance, **options)
