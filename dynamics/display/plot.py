"""Curves of a motion, plans of trees, and the graph of a mechanism, with matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

import graphsys as gs
from dynamics.kernels.tree import layout as tree_layout
from dynamics.parts.bodies import WORLD

if TYPE_CHECKING:
    from dynamics.integrators import TreeIntegrator, TreePlan
    from dynamics.mechanism import Mechanism
    from dynamics.trajectory import Trajectory

__all__ = ["matplotlib_module", "plot_mechanism", "plot_plan", "plot_trajectory"]

#: Okabe and Ito's blue, vermilion and green: distinguishable for colour-blind readers.
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
#: So many curves have names of their own in a legend.
MOST_CURVES = 10
#: Up to so many nodes a picture of a graph shows their names.
MOST_LABELS = 40


def matplotlib_module(name: str, what: str) -> Any:
    """Return a module of matplotlib.

    Parameters
    ----------
    name : str
        Of the module, as "pyplot".
    what : str
        Who needs it.

    Returns
    -------
    module

    Raises
    ------
    graphsys.MissingExtraError
        If matplotlib is not installed.
    """
    try:
        return import_module(f"matplotlib.{name}")
    except ImportError:
        raise gs.MissingExtraError(what, "matplotlib", "plot") from None


def plot_trajectory(
    trajectory: Trajectory, *what: str, joints: Sequence[Hashable] | None = None
) -> Any:
    """Draw curves over time, a panel each.

    Parameters
    ----------
    trajectory : Trajectory
    *what : {"energy", "momentum", "violation", "joints", "reactions"}
        Panels; by default all that the mechanism has something for.
    joints : sequence of hashable, optional
        Names of the joints of the last two panels; by default the first few.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    ValueError
        For a panel that there is not.
    graphsys.MissingExtraError
        If matplotlib is not installed.
    """
    panels: dict[str, Callable[[Any, Trajectory, Any], None]] = {
        "energy": _energy, "momentum": _momentum, "violation": _violation,
        "joints": _joints, "reactions": _reactions,
    }  # fmt: skip
    unknown = [name for name in what if name not in panels]
    if unknown:
        raise ValueError(f"there is no panel {unknown[0]!r}; there are {list(panels)}")
    mechanism = trajectory.model.mechanism
    if not what:
        held = trajectory.model.n_rows > 0
        moved = any(joint.positions for joint in mechanism.joints.values())
        has = {"violation": held, "joints": moved, "reactions": held}
        what = tuple(name for name in panels if has.get(name, True))
    pyplot = matplotlib_module("pyplot", "plot")
    size = (7.0, 0.6 + 2.1 * len(what))
    figure, axes = pyplot.subplots(
        len(what), 1, sharex=True, squeeze=False, figsize=size, layout="constrained"
    )
    for name, ax in zip(what, axes[:, 0]):
        panels[name](ax, trajectory, joints)
        ax.spines[["top", "right"]].set_visible(False)
        _legend(ax)
    axes[-1, 0].set_xlabel("time, s")
    return figure


def _legend(ax: Any) -> None:
    """Names of curves, the first few."""
    handles, labels = ax.get_legend_handles_labels()
    if len(handles) > 1:
        ax.legend(
            handles[:MOST_CURVES], labels[:MOST_CURVES], loc="center left",
            bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small",
        )  # fmt: skip


def _energy(ax: Any, trajectory: Trajectory, joints: Any) -> None:
    parts = trajectory.energies()
    for name, values in parts.items():
        if np.any(values):
            ax.plot(trajectory.time, values, linewidth=1.0, label=name)
    total = np.sum(list(parts.values()), axis=0)
    ax.plot(trajectory.time, total, "k", linewidth=1.5, label="total")
    ax.set_ylabel("energy, J")


def _momentum(ax: Any, trajectory: Trajectory, joints: Any) -> None:
    momentum = trajectory.momentum()
    for i, name in enumerate("xyz"):
        ax.plot(trajectory.time, momentum[:, i], color=f"C{i}", label=f"linear {name}, N s")
    for i, name in enumerate("xyz"):
        label = f"angular {name}, N m s"
        ax.plot(trajectory.time, momentum[:, 3 + i], "--", color=f"C{i}", label=label)
    ax.set_ylabel("momentum")


def _violation(ax: Any, trajectory: Trajectory, joints: Any) -> None:
    values = trajectory.constraint_violation()
    ax.semilogy(trajectory.time, np.maximum(values, 1e-18), color=VERMILION)
    ax.set_ylabel("violation, m or rad")


def _joints(ax: Any, trajectory: Trajectory, joints: Any) -> None:
    known = trajectory.model.mechanism.joints
    for name in _chosen(trajectory, joints, [n for n, one in known.items() if one.positions]):
        values = trajectory.joint(name).reshape(len(trajectory), -1)
        for i, column in enumerate(values.T):
            label = str(name) if values.shape[1] == 1 else f"{name} {i}"
            ax.plot(trajectory.time, column, linewidth=1.0, label=label)
    ax.set_ylabel("coordinate, m or rad")


def _reactions(ax: Any, trajectory: Trajectory, joints: Any) -> None:
    index = trajectory.model.tables.joint_index
    for name in _chosen(trajectory, joints, list(index)):
        if name in index:
            size = np.linalg.norm(trajectory.reaction(name), axis=1)
            ax.plot(trajectory.time[1:], size[1:], linewidth=1.0, label=str(name))
    ax.set_ylabel("reaction, N or N m")


def _chosen(trajectory: Trajectory, joints: Any, default: list[Hashable]) -> list[Hashable]:
    if joints is None:
        return default[:MOST_CURVES]
    mechanism = trajectory.model.mechanism
    known = [*mechanism.joints, *mechanism.couplings]
    unknown = [name for name in joints if name not in known]
    if unknown:
        raise ValueError(f"there is no joint {unknown[0]!r}; joints are {known}")
    return list(joints)


def plot_plan(plan: TreePlan, integrator: TreeIntegrator) -> Any:
    """Draw a planned motion of a tree: postures seen along y, dark to light, and forces over time.

    A posture is a line from each joint to those below it, to the centre of mass of its body and to
    the points where pins hold it.

    Parameters
    ----------
    plan : dynamics.integrators.TreePlan
    integrator : dynamics.integrators.TreeIntegrator
        Of the same tree; of the phase whose pins are to be drawn.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    ValueError
        For another number of coordinates or forces than the plan's.
    graphsys.MissingExtraError
        If matplotlib is not installed.
    """
    n, driven = plan.q.shape[1], [integrator.joints[i] for i in integrator.columns]
    if (n, plan.forces.shape[1]) != (len(integrator.joints), len(driven)):
        raise ValueError(
            f"the plan has {n} coordinates and {plan.forces.shape[1]} forces, the integrator "
            f"{len(integrator.joints)} and {len(driven)}"
        )
    pyplot = matplotlib_module("pyplot", "plot_plan")
    figure, (side, ax) = pyplot.subplots(
        2, 1, figsize=(7.0, 6.0), layout="constrained", height_ratios=(3, 2)
    )
    colors = pyplot.get_cmap("viridis")(np.linspace(0.0, 0.95, len(plan.q)))
    for q, color in zip(plan.q, colors):
        for line in posture(integrator, q):
            side.plot(line[:, 0], line[:, 2], "o-", color=color, markersize=2.0, linewidth=1.2)
    side.set_aspect("equal", "datalim")
    side.set(xlabel="x, m", ylabel="z, m")
    for name, values in zip(driven, plan.forces.T):
        words = " ".join(map(str, name)) if isinstance(name, tuple) else str(name)
        ax.plot(plan.time, values, label=words)
    ax.set(xlabel="time, s", ylabel="force, N m or N")
    for axes in (side, ax):
        axes.spines[["top", "right"]].set_visible(False)
    _legend(ax)
    return figure


def posture(integrator: TreeIntegrator, q: Any) -> list[Any]:
    """Lines between points of the bodies that have a mass.

    Parameters
    ----------
    integrator : dynamics.integrators.TreeIntegrator
        Of the tree.
    q : array_like, shape (n,)
        Coordinates.

    Returns
    -------
    list of ndarray of float, shape (2, 3)
        Ends in the world's frame, m.
    """
    (parent, body, _), (kind, ends, pin) = integrator.tables.tree, integrator.tables.pins
    body = body.reshape(-1, tree_layout.BODY)
    turns, origins = integrator.poses(q)
    heavy = body[:, tree_layout.MASS] > 0.0
    center = body[:, tree_layout.CENTER : tree_layout.CENTER + 3]
    at = [(int(i), center[i]) for i in np.flatnonzero(heavy)]
    points = pin.reshape(-1, tree_layout.PIN)[:, tree_layout.PIN_A : tree_layout.PIN_A + 3]
    at += [(i, x) for i, x, k in zip(ends[::2], points, kind) if k == tree_layout.AT_POINT]
    lines = [np.stack([origins[i], origins[i] + turns[i] @ x]) for i, x in at]
    below = [i for i, j in enumerate(parent) if j >= 0 and heavy[j]]
    return lines + [np.stack([origins[parent[i]], origins[i]]) for i in below]


def plot_mechanism(mechanism: Mechanism, ax: Any = None) -> Any:
    """Draw a mechanism as the graph that is solved: bodies round, joints square.

    Edges of the spanning forest are solid; those that close a loop are dashed, and the nodes that
    open a loop, where fill-in of the block factorization begins, are vermilion. A dotted arrow
    leads from the leader of a coupling to its follower, with their ratio.

    Parameters
    ----------
    mechanism : Mechanism
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    graphsys.MissingExtraError
        If matplotlib is not installed.
    """
    pyplot = matplotlib_module("pyplot", "plot")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(7.0, 6.0), layout="constrained")
    graph = nx.Graph()
    bodies, joints = list(mechanism.bodies), list(mechanism.joints)
    if any(WORLD in one.bodies for one in mechanism.joints.values()):
        bodies = [WORLD.name, *bodies]
    graph.add_nodes_from([*bodies, *joints])
    for joint in mechanism.joints.values():
        graph.add_edges_from((body.name, joint.name) for body in joint.bodies)
    symbolic = gs.System(graph, 1).analyze("dfs") if len(graph) else None
    openers = set(symbolic.loop_openers) if symbolic is not None else set()
    place = _layout(graph)
    tree = _forest(symbolic)
    solid = [edge for edge in graph.edges if frozenset(edge) in tree]
    closing = [edge for edge in graph.edges if frozenset(edge) not in tree]
    draw = {"ax": ax, "pos": place}
    nx.draw_networkx_edges(graph, edgelist=solid, width=1.5, **draw)
    nx.draw_networkx_edges(
        graph, edgelist=closing, width=1.5, style="dashed", edge_color=VERMILION, **draw
    )
    area = float(np.clip(9000.0 / max(len(graph), 1), 12.0, 260.0))
    for nodes, shape, color, label in (
        (bodies, "o", BLUE, "body"), (joints, "s", GREEN, "joint"),
    ):  # fmt: skip
        for these, paint, what in (
            ([n for n in nodes if n not in openers], color, label),
            ([n for n in nodes if n in openers], VERMILION, f"{label}, opens a loop"),
        ):
            if these:
                ax.scatter(
                    *np.array([place[n] for n in these]).T, s=area, marker=shape, c=paint,
                    label=what, zorder=2,
                )  # fmt: skip
    for one in mechanism.couplings.values():
        _coupled(ax, place[one.leader], place[one.follower], one.ratio, len(graph) <= MOST_LABELS)
    if mechanism.couplings:
        ax.plot([], [], ":", color=BLUE, label="coupling")
    if len(graph) <= MOST_LABELS:
        for node, (x, y) in place.items():
            ax.annotate(
                str(node), (x, y), (0.0, 0.6 * np.sqrt(area)), textcoords="offset points",
                ha="center", fontsize="small",
            )  # fmt: skip
    ax.set_axis_off()
    ax.set_aspect("equal", "datalim")
    ax.margins(0.12)
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, 0.0), ncols=4, frameon=False)
    return ax


def _coupled(ax: Any, leader: Any, follower: Any, ratio: float, named: bool) -> None:
    """Arrow of a coupling, bent so that it does not cover the graph's edges."""
    bend = {"arrowstyle": "-|>", "linestyle": ":", "color": BLUE, "shrinkA": 8.0, "shrinkB": 8.0}
    ax.annotate("", follower, leader, arrowprops={"connectionstyle": "arc3,rad=0.3", **bend})
    if named:
        run = np.subtract(follower, leader)
        top = np.add(leader, 0.5 * run) + 0.15 * np.array([run[1], -run[0]])
        ax.annotate(f"{ratio:.3g}", top, color=BLUE, fontsize="small", ha="center")


def _forest(symbolic: Any) -> set[frozenset[Hashable]]:
    """Edges of the spanning forest of a depth-first search, by their ends."""
    if symbolic is None:
        return set()
    order = symbolic.order
    return {frozenset((order[k], order[p])) for k, p in enumerate(symbolic.parent) if p >= 0}


def _layout(graph: Any) -> dict[Hashable, Any]:
    """Places of nodes, the same in every run: distances in the picture are those in the graph."""
    places: dict[Hashable, Any] = {}
    right = 0.0
    for part in nx.connected_components(graph):
        piece = graph.subgraph(sorted(part, key=str))
        found = nx.kamada_kawai_layout(piece) if len(piece) > 1 else {n: np.zeros(2) for n in part}
        width = np.sqrt(len(piece))
        for node, (x, y) in found.items():
            places[node] = np.array([right + width * (1.0 + x), width * y])
        right += 2.0 * width + 1.0
    return places
