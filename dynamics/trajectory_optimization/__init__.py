"""Contact-implicit trajectory optimization of trees in joint coordinates (Fan 2018, section 6).

`optimize` moves a `TreeIntegrator` to a goal over a `Ground`, touching it with `Contact` points
when and where the optimizer chooses. Ipopt comes with the extra ``trajectories``.
"""

from dynamics.trajectory_optimization.ground import Ground
from dynamics.trajectory_optimization.optimization import optimize
from dynamics.trajectory_optimization.plan import ContactPlan
from dynamics.trajectory_optimization.variables import Contact

__all__ = ["Contact", "ContactPlan", "Ground", "optimize"]


def __dir__() -> list[str]:
    return list(__all__)
