"""Pictures of plans with contacts: postures over the ground, and forces over time (matplotlib)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.display.plot import matplotlib_module, posture
from dynamics.trajectory_optimization.ground import Ground
from dynamics.trajectory_optimization.points import Points, moved

if TYPE_CHECKING:
    from dynamics.integrators.tree.integrator import TreeIntegrator
    from dynamics.trajectory_optimization.plan import ContactPlan
    from dynamics.trajectory_optimization.variables import Contact

__all__ = ["plot_contact_plan"]


def plot_contact_plan(
    plan: ContactPlan,
    integrator: TreeIntegrator,
    contacts: Sequence[Contact],
    ground: Ground | None = None,
    *,
    every: int = 1,
    along: str = "y",
) -> Any:
    """Draw postures, dark to light, with the forces of contacts, and these forces over time.

    Parameters
    ----------
    plan : dynamics.trajectory_optimization.ContactPlan
        From `dynamics.trajectory_optimization.optimize`.
    integrator : dynamics.integrators.TreeIntegrator
        Of the plan.
    contacts : sequence of dynamics.trajectory_optimization.Contact
        Of the plan.
    ground : dynamics.trajectory_optimization.Ground, optional
        Or its obstacles, which are drawn if seen along y.
    every : int
        Control points from one posture to the next.
    along : {"y", "x"}
        Direction in which postures are seen.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    ValueError
        If the plan is that of another tree, or of other contacts.
    graphsys.MissingExtraError
        If matplotlib is not installed.
    """
    n, C = len(integrator.joints), len(contacts)
    if plan.q.shape[1] != n or plan.contact_forces.shape[1] != C:
        raise ValueError(
            f"the plan has {plan.q.shape[1]} coordinates and {plan.contact_forces.shape[1]} "
            f"contacts, the integrator {n} and contacts are {C}"
        )
    pyplot = matplotlib_module("pyplot", "plot_contact_plan")
    a = 0 if along == "y" else 1
    figure, (side, ax) = pyplot.subplots(
        2, 1, figsize=(7.0, 6.0), layout="constrained", height_ratios=(3, 2)
    )
    chosen = range(0, len(plan.q), every)
    points = Points(
        integrator, [(one.body, one.point) for one in contacts], [ground or Ground()] * C
    )
    records = moved(integrator, plan.q)
    x = points.positions(records)
    _, origins = zip(*(integrator.poses(q) for q in plan.q))
    length = 0.2 * (np.array(origins)[..., 2].max() - x[..., 2].min()) or 1.0
    scale = length / max(float(np.abs(plan.contact_forces).max(initial=0.0)), 1e-9)
    colors = pyplot.get_cmap("viridis")(np.linspace(0.0, 0.95, len(plan.q)))
    for k in chosen:
        lines = posture(integrator, plan.q[k])
        lines += [np.stack([origins[k][i], x[k, c]]) for c, i in enumerate(points.body)]
        for line in lines:
            side.plot(line[:, a], line[:, 2], "-", color=colors[k], linewidth=1.2)
    for k in range(len(plan.contact_forces)):
        for c, force in enumerate(plan.contact_forces[k]):
            tip = x[k, c] + scale * force
            side.plot([x[k, c, a], tip[a]], [x[k, c, 2], tip[2]], color="tab:red", linewidth=0.5)
    low, high = side.get_xlim()
    side.set_xlim(low, high)
    places = np.linspace(low, high, 1000)
    level = points.grounds[0].height(places)[0] if a == 0 and C else 0.0 * places
    side.fill_between(places, level, min(0.0, level.min()) - 0.02, color="0.85", zorder=0)
    side.set_aspect("equal")
    side.set(xlabel="xy"[a] + ", m", ylabel="z, m")
    names = [one.body for one in contacts]
    for c, name in enumerate(names):
        words = " ".join(map(str, name)) if isinstance(name, tuple) else str(name)
        if names.count(name) > 1:
            words += f", point {1 + names[:c].count(name)}"
        ax.step(plan.time[:-1], plan.contact_forces[:, c, 2], where="mid", label=words)
    ax.set(xlabel="time, s", ylabel="contact force along z, N")
    ax.legend(fontsize="small", ncols=2)
    for axes in (side, ax):
        axes.spines[["top", "right"]].set_visible(False)
    return figure
