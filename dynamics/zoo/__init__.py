"""Ready mechanisms with a start, shared by tests, benchmarks and documentation.

Every function gives ``(model, state)``; ``timestep=`` and the other options go to
`Mechanism.finalize`.
"""

from dynamics.zoo.couplings import cart_pole, screw_press, shafts, slider_crank
from dynamics.zoo.loops import bricard, double_four_bar, four_bar, four_bar_windows, rhombic_chain
from dynamics.zoo.pendulums import (
    damped_pendulum,
    double_pendulum,
    pendulum,
    random_tree,
    sphere_chain,
)
from dynamics.zoo.robots import exoskeleton, quadruped
from dynamics.zoo.tops import floating_chain, free_top, heavy_top, spherical_pendulum

__all__ = [
    "bricard",
    "cart_pole",
    "damped_pendulum",
    "double_four_bar",
    "double_pendulum",
    "exoskeleton",
    "floating_chain",
    "four_bar",
    "four_bar_windows",
    "free_top",
    "heavy_top",
    "pendulum",
    "quadruped",
    "random_tree",
    "rhombic_chain",
    "screw_press",
    "shafts",
    "slider_crank",
    "sphere_chain",
    "spherical_pendulum",
]


def __dir__() -> list[str]:
    return list(__all__)
