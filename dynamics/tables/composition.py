"""Orders 4, 6 and 8 from second-order steps of different lengths, for conservative mechanisms."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics.kernels.base import layout
from dynamics.kernels.base.settings import ENERGY_SHARE, LARGEST_TURN, SETTINGS_SIZE
from dynamics.kernels.stepping import composition as composition_step
from dynamics.tables.model_tables import Tables, programs_of, residual_of, solver_sizes, worst_part

if TYPE_CHECKING:
    from dynamics.model import Model

__all__ = ["SCHEMES", "Composition", "check_conservative", "compose"]

Float = NDArray[np.float64]

_SUZUKI = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))

#: Order, and the first half of the fractions of a step up to the middle one, by name.
SCHEMES: dict[str, tuple[int, tuple[float, ...]]] = {
    "suzuki4": (4, (_SUZUKI, _SUZUKI, 1.0 - 4.0 * _SUZUKI)),
    "kahan-li6": (
        6,
        (
            0.39216144400731413927925056,
            0.33259913678935943859974864,
            -0.70624617255763935980996482,
            0.08221359629355080023149045,
            0.79854399093482996339895035,
        ),
    ),
    "kahan-li8": (
        8,
        (
            0.13020248308889008087881763,
            0.56116298177510838456196441,
            -0.38947496264484728640807860,
            0.15884190655515560089621075,
            -0.39590389413323757733623154,
            0.18453964097831570709183254,
            0.25837438768632204729397911,
            0.29501172360931029887096624,
            -0.60550853383003451169892108,
        ),
    ),
}


class Composition:
    """Tables of a composition, with the interface that `Workspace` uses: see `galerkin.Stages`.

    Parameters
    ----------
    tables : Tables
    scheme : str
        Key of `SCHEMES`.
    """

    def __init__(self, tables: Tables, scheme: str) -> None:
        self.base, self.scheme, self.kernel = tables, scheme, composition_step
        half = SCHEMES[scheme][1]
        self.fractions = np.array([*half, *half[-2::-1]])
        self.fractions.setflags(write=False)
        self.tables = (tables.plan, tables.constant, tables.symbolic.program)

    def like(self, tables: Tables) -> Composition:
        """Return the composition for other tables."""
        return Composition(tables, self.scheme)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.base, self.scheme)

    def work(self) -> tuple[Any, ...]:
        """Fractions, room for a state, and the workspace of second-order steps."""
        plan = self.base.plan
        size = layout.state_size(
            *(int(plan[i]) for i in (layout.BODIES, layout.ROWS, layout.SLOTS))
        )
        return self.fractions, np.zeros(size), np.zeros(int(plan[layout.WORK_SIZE]))

    def solver(self) -> tuple[Any, ...]:
        """Arrays of the solver for one thread; contacts are refused."""
        nnz = self.base.symbolic.graph.nnz
        sizes = solver_sizes(programs_of(self.base), nnz)
        return (*(np.zeros(size) for size in sizes), None, None)

    def worst(self, work: tuple[Any, ...]) -> tuple[Hashable, str]:
        """Name of the body or joint with the largest residual of the last step."""
        return worst_part(self.base, residual_of(self.base.plan, work[2]))


def compose(model: Model, scheme: str) -> Model:
    """Model whose steps are symmetric compositions of second-order steps.

    Some of these steps go backwards in time, so the mechanism must be conservative. At equal time
    steps ``order=4`` and ``order=6`` of `Mechanism.finalize` are more accurate and cheaper.
    Compositions serve to check them, and offer order 8.

    Parameters
    ----------
    model : Model
        Of order 2.
    scheme : {"suzuki4", "kahan-li6", "kahan-li8"}
        5, 9 or 17 second-order steps per step.

    Returns
    -------
    Model
        Shares the tables of the given model. Steps are divided only if Newton's method fails.

    Raises
    ------
    ValueError
        For unknown schemes, orders above 2, and mechanisms with dampers, drag, dissipative
        compliance, contacts or limits.

    References
    ----------
    .. [1] E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration, Springer, 2006,
       sec. V.3.2.
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme {scheme!r} is unknown; use {', '.join(map(repr, SCHEMES))}")
    if model.stages is not None or model.form != "second order":
        raise ValueError(
            f"{scheme} composes second-order steps; finalize the mechanism with order=2"
        )
    check_conservative(model)
    # Steps that are cut would not cancel each other's errors.
    settings = model.settings[:SETTINGS_SIZE].copy()
    settings[LARGEST_TURN], settings[ENERGY_SHARE] = math.sin(1.2), 0.0
    stages = Composition(model.tables, scheme)
    return model._replace(order=SCHEMES[scheme][0], stages=stages, settings=settings)


def check_conservative(model: Model) -> None:
    """Refuse whatever loses energy, or takes steps forward in time only.

    Parameters
    ----------
    model : Model

    Raises
    ------
    ValueError
        As `compose`.
    """
    mechanism = model.mechanism

    def refuse(what: str, way_out: str = "use order=4 or order=6 of finalize") -> None:
        raise ValueError(
            f"{what}; compositions go back in time on their way, which only conservative "
            f"mechanisms allow: {way_out}"
        )

    keep = "simulate the model itself, of order 2"  # orders 4 and 6 refuse these, too

    for name in mechanism.wrenches:
        refuse(f"wrench {name!r} is a function of yours, which may lose energy")
    for name in mechanism.contacts:
        refuse(f"contact {name!r} loses energy", keep)
    if mechanism.collisions:
        refuse("contacts of collide lose energy", keep)
    for body in mechanism.bodies.values():
        if body.drag != 0.0 or body.spin_drag != 0.0:
            refuse(f"body {body.name!r} has drag")
    for joint in mechanism.joints.values():
        if (joint.damping != 0.0).any() or np.any(joint.constraint_damping):
            refuse(f"joint {joint.name!r} has a damper")
        if joint.limits is not None or joint.velocity_limits is not None:
            refuse(f"joint {joint.name!r} has limits, where it loses energy", keep)
        if joint.servo is not None:
            refuse(f"joint {joint.name!r} has a servo", keep)
        if joint.friction.any():
            refuse(f"joint {joint.name!r} has friction", keep)
        if joint.soft and joint.theta != 0.5:
            refuse(
                f"the compliance of joint {joint.name!r} loses energy with theta={joint.theta}",
                keep,
            )
    for what in model.stiff:
        refuse(f"the {what} is too stiff for the time step")
    for spring in mechanism.springs.values():
        if spring.damping != 0.0:
            refuse(f"spring {spring.name!r} has a damper")
        if spring.limits is not None:
            refuse(f"{spring.name!r} has limits, where it loses energy", keep)
