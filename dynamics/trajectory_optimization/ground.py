"""Ground: height along x as a sum of smooth steps, its slope angle and their derivatives."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ground"]

Float = NDArray[np.float64]


@dataclass
class Ground:
    """Ground z = f(x), the same for all y, with the normal of its surface.

    Attributes
    ----------
    blocks : list of tuple of float
        Center, width, height and edge of each block or gap, m.

    Examples
    --------
    >>> ground = Ground()
    >>> ground.add_block(0.5, width=0.2, height=0.16, edge=0.02)
    >>> ground.add_block(1.0, width=0.1, height=-0.3, edge=0.01)  # a gap
    """

    blocks: list[tuple[float, float, float, float]] = field(default_factory=list)

    def add_block(self, center: float, *, width: float, height: float, edge: float) -> None:
        """Raise the ground on an interval of x, or lower it.

        Parameters
        ----------
        center, width : float
            Middle of the interval and its length between the points of half the height, m.
        height : float
            m; negative for a gap.
        edge : float
            Length over which the height changes as tanh(x / edge), m.

        Raises
        ------
        ValueError
            If a number is not finite, or width or edge are not positive.
        """
        numbers = (float(center), float(width), float(height), float(edge))
        if not np.isfinite(numbers).all() or min(width, edge) <= 0.0:
            raise ValueError(
                f"block at {center}: width {width} and edge {edge} must be positive, all finite"
            )
        self.blocks.append(numbers)

    def height(self, x: Float) -> tuple[Float, Float, Float, Float]:
        """Height and its first three derivatives with respect to x.

        Parameters
        ----------
        x : ndarray of float
            m.

        Returns
        -------
        f, f_x, f_xx, f_xxx : ndarray of float, shape of x
        """
        total = np.zeros((4, *np.shape(x)))
        for center, width, height, edge in self.blocks:
            for sign, place in ((0.5, center - 0.5 * width), (-0.5, center + 0.5 * width)):
                t = np.tanh((x - place) / edge)
                c = 1.0 - t * t
                scale = sign * height
                total[0] += scale * t
                total[1] += scale * c / edge
                total[2] -= scale * 2.0 * t * c / edge**2
                total[3] -= scale * (2.0 * c * c - 4.0 * t * t * c) / edge**3
        return total[0], total[1], total[2], total[3]

    @staticmethod
    def directions(height: tuple[Float, Float, Float, Float]) -> tuple[Float, Float, Float]:
        """Normal and tangents of the surface, and two derivatives with respect to x.

        Parameters
        ----------
        height : tuple of ndarray of float
            From `height`.

        Returns
        -------
        axes, slopes, curvatures : ndarray of float, shape (*x.shape, 3, 3)
            Rows: normal, tangent along x, tangent along y; their first and second derivatives.
        """
        x, f, g, c = height
        one = 1.0 + f * f
        turn = g / one
        bend = c / one - 2.0 * f * g * g / one**2
        axes, slopes, curvatures = (np.zeros((*np.shape(x), 3, 3)) for _ in range(3))
        root = np.sqrt(one)
        axes[..., 0, 0], axes[..., 0, 2] = -f / root, 1.0 / root
        axes[..., 1, 0], axes[..., 1, 2] = 1.0 / root, f / root
        axes[..., 2, 1] = 1.0
        normal, tangent = axes[..., 0, :], axes[..., 1, :]
        turn, bend = turn[..., None], bend[..., None]
        slopes[..., 0, :], slopes[..., 1, :] = -turn * tangent, turn * normal
        curvatures[..., 0, :] = -bend * tangent - turn**2 * normal
        curvatures[..., 1, :] = bend * normal - turn**2 * tangent
        return axes, slopes, curvatures
