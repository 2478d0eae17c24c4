"""Networks of practice: power flow, pose graphs, circuits, power-law graphs, against every peer.

``python -m benchmarks.networks [file.m | file.g2o ...] [only=WORD]`` in ``asv_benchmarks`` prints
the table of `docs/benchmark_notes.md`. Files are cases of MATPOWER and pose graphs.
"""

import re
import sys
from pathlib import Path

import networkx as nx
import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array, hstack, vstack
from scipy.spatial import Delaunay

import graphsys as gs

from . import clock
from .block_triangular import circuit
from .interface import Solver, analyzed
from .pardiso import Pardiso
from .peers import SuperLU
from .suitesparse import CHOLMOD, KLU, UMFPACK
from .usage import answer_help

#: A solution with a larger componentwise backward error is no solution.
WRONG = 1e-9
#: Rows from which SuperLU, which takes ten times as long as the best peer, is left out.
LARGE = 2_000


def transmission_network(buses, seed=0, branches=1.4):
    """Branches (m, 2) of a network, so many for each bus: 1.4 as in practice.

    A spanning tree of a Delaunay triangulation, and the shortest of its other edges at random.
    """
    rng = np.random.default_rng(seed)
    place = rng.random((buses, 2))
    corners = Delaunay(place).simplices
    edges = np.unique(np.sort(corners[:, [[0, 1], [1, 2], [0, 2]]].reshape(-1, 2)), axis=0)
    length = np.linalg.norm(place[edges[:, 0]] - place[edges[:, 1]], axis=1)
    graph = nx.Graph()
    graph.add_weighted_edges_from(
        (u, v, w)
        for (u, v), w in zip(edges.tolist(), length * rng.uniform(0.5, 2, length.size), strict=True)
    )
    tree = nx.minimum_spanning_tree(graph)
    others = sorted((w, u, v) for u, v, w in graph.edges(data="weight") if not tree.has_edge(u, v))
    tree.add_edges_from((u, v) for _, u, v in others[: int(branches * buses) - buses + 1])
    return np.array(tree.edges)


def power_flow(branches, impedance, kind, voltage):
    """Jacobian of Newton's method by blocks, and as users of scipy have it.

    Parameters
    ----------
    branches : ndarray of int, shape (m, 2)
    impedance : ndarray of complex, shape (m,)
    kind : ndarray of int, shape (n,)
        Unknowns of each bus: 2 at a load, 1 at a generator, 0 at the slack bus.
    voltage : ndarray of complex, shape (n,)

    Returns
    -------
    System, csr_array
        The second has all angles first.
    """
    n, (u, v) = kind.size, branches.T
    ends = np.concatenate([u, v]), np.concatenate([v, u])
    Y = csr_array((np.tile(-1 / impedance, 2), ends), shape=(n, n))
    Y = (Y - diags_array(Y.sum(axis=1)) + diags_array(np.full(n, 0.01j))).tocsr()
    V, current = diags_array(voltage), Y @ voltage
    angle = 1j * V @ (diags_array(current) - Y @ V).conj()
    size = V @ (Y @ V).conj() + diags_array(current.conj() * voltage)  # of log |V|
    load, free = np.flatnonzero(kind == 2), np.flatnonzero(kind > 0)
    J = vstack([
        hstack([angle.real.tocsr()[free][:, free], size.real.tocsr()[free][:, load]]),
        hstack([angle.imag.tocsr()[load][:, free], size.imag.tocsr()[load][:, load]]),
    ]).tocsr()  # fmt: skip
    J.sort_indices()
    by_bus = np.argsort(np.concatenate([free, load]), kind="stable")
    return gs.System.from_scipy(J[by_bus][:, by_bus], kind[kind > 0]), J


def made_power_flow(buses, seed=0, branches=1.4):
    branches = transmission_network(buses, seed, branches)
    rng = np.random.default_rng(seed)
    reactance = 10.0 ** rng.uniform(-2.5, -0.5, len(branches))
    kind = np.where(rng.random(buses) < 0.15, 1, 2)
    kind[0] = 0
    voltage = rng.uniform(0.95, 1.05, buses) * np.exp(1j * rng.uniform(-0.1, 0.1, buses))
    return power_flow(branches, reactance * (0.2 + 1j), kind, voltage)


def matpower(path):
    """Jacobian at the voltages of a MATPOWER case; parallel branches are one."""
    text = Path(path).read_text()

    def table(name):
        rows = re.search(rf"mpc\.{name} = \[(.*?)\];", text, re.DOTALL).group(1)
        return np.array([row.split() for row in rows.replace(";", "").strip().splitlines()], float)

    bus, branch = table("bus"), table("branch")
    branch = branch[branch[:, 10] > 0]
    ends = np.searchsorted(np.sort(bus[:, 0]), branch[:, :2])
    bus = bus[np.argsort(bus[:, 0])]
    kind = np.array([0, 2, 1, 0, 0])[bus[:, 1].astype(int)]
    voltage = bus[:, 7] * np.exp(1j * np.deg2rad(bus[:, 8]))
    return power_flow(ends, branch[:, 2] + 1j * branch[:, 3], kind, voltage)


def pose_graph(edges, nodes, seed=0):
    """Normal equations of a pose graph: errors of poses that see each other, and of the first."""
    rng = np.random.default_rng(seed)
    i, j = np.asarray(edges).T
    J = rng.normal(size=(i.size, 6, 12)) / 6.0 + np.hstack([-np.eye(6), np.eye(6)])
    of_i, of_j = J[:, :, :6], J[:, :, 6:]
    system = gs.System.from_edges(i, j, np.full(nodes, 6), symmetric=True)
    system.add(i, i, of_i.transpose(0, 2, 1) @ of_i)
    system.add(j, j, of_j.transpose(0, 2, 1) @ of_j)
    system.add(i, j, of_i.transpose(0, 2, 1) @ of_j)
    system.add([0], [0], np.eye(6)[None])
    return system, system.to_scipy()


def loops(nodes, closures, seed=0):
    """Edges of a path, and loops over 20 to 200 poses."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, nodes - 200, closures)
    return np.vstack([
        np.column_stack([np.arange(nodes - 1), np.arange(1, nodes)]),
        np.column_stack([first, first + rng.integers(20, 201, closures)]),
    ])  # fmt: skip


def helix(nodes, turn):
    """Edges to the next pose and to that a turn above."""
    return np.array([(k, k + d) for d in (1, turn) for k in range(nodes - d)])


def g2o(path):
    edges = [line.split()[1:3] for line in Path(path).read_text().splitlines() if "EDGE" in line]
    name, edges = np.unique(np.array(edges, int), return_inverse=True)
    return pose_graph(edges.reshape(-1, 2), name.size)


def mixed_circuit(nodes, seed=0):
    """Modified nodal analysis: resistors between neighbours in a plane, sources of both kinds.

    Controlled currents depend on the voltage of a resistor near by.
    """
    rng = np.random.default_rng(seed)
    edges = transmission_network(nodes, seed)
    y = 10.0 ** rng.uniform(-3.0, 1.0, len(edges))
    sources, count = nodes // 20, nodes // 10
    at, row = rng.choice(nodes, sources, replace=False), nodes + np.arange(sources)
    chosen = rng.integers(0, len(edges), count)
    near = {int(u): k for k, u in enumerate(edges[:, 0])}
    to = edges[chosen, 1]
    over = edges[[near.get(int(u), k) for u, k in zip(to, chosen, strict=True)]]
    ends, gain = edges.T.ravel(), 10.0 ** rng.uniform(-3.0, 0.0, count)
    i = np.concatenate([ends, ends, at, row, to, to])
    j = np.concatenate([ends, edges[:, ::-1].T.ravel(), row, at, over[:, 0], over[:, 1]])
    value = np.concatenate([y, y, -y, -y, np.ones(2 * sources), gain, -gain])
    A = csr_array(coo_array((value, (i, j)), shape=(nodes + sources,) * 2))
    A.sort_indices()
    return A


def power_law(nodes, edges=2, seed=0):
    """Laplacian of a Barabási-Albert graph whose first node is grounded."""
    L = nx.laplacian_matrix(nx.barabasi_albert_graph(nodes, edges, seed=seed)).astype(float)
    L = csr_array(L + coo_array(([1.0], ([0], [0])), shape=L.shape))
    L.sort_indices()
    return L


#: Systems in blocks and matrices, by name: made by these functions.
NETWORKS = {
    "power flow 2,000": lambda: made_power_flow(2000),
    "power flow 10,000": lambda: made_power_flow(10_000),
    "power flow 10,000, 1.8 branches": lambda: made_power_flow(10_000, branches=1.8),
    "poses 15,000, 2,500 loops": lambda: pose_graph(loops(15_000, 2500), 15_000),
    "poses 15,000, 5,000 loops": lambda: pose_graph(loops(15_000, 5000), 15_000),
    "poses 15,000, helix": lambda: pose_graph(helix(15_000, 50), 15_000),
    **{f"circuit {n:,}": lambda n=n: (None, circuit(n)) for n in (300, 1000, 3000)},
    **{f"circuit in a plane {n:,}": lambda n=n: (None, mixed_circuit(n)) for n in (1000, 10_000)},
    **{f"power law {n:,}": lambda n=n: (gs.System.from_scipy(power_law(n), 1, symmetric=True),
                                        power_law(n)) for n in (1000, 5000, 10_000)},
}  # fmt: skip


class Blocks(Solver):
    """This package by blocks: `Factor.refactorize_and_solve`."""

    group, name = "graphsys", "blocks"

    def __init__(self, system, ordering="auto"):
        self.system, self.ordering = system, ordering

    def analyze(self, A, system, order):
        factor = self.system.factorize(self.system.analyze(self.ordering))
        self.factor, self.values = factor, self.system.values.copy()
        self.refactorize, self.solve = factor.refactorize, factor.solve
        self.at_once = factor.refactorize_and_solve


class Splu(Solver):
    """This package by `gs.splu` of a scipy matrix."""

    group, name = "graphsys", "splu"

    def analyze(self, A, system, order):
        self.factor, self.values = gs.splu(A), A
        self.factor.refactorize(A)  # which analyzes the pattern, the first time
        self.refactorize, self.solve = self.factor.refactorize, self.factor.solve


def competitors(A):
    """Every peer in the settings that fit."""
    peers, pattern = [KLU(), UMFPACK(), Pardiso(11)], (A != 0).astype(float)
    if A.shape[0] < LARGE:
        peers += [SuperLU("COLAMD"), SuperLU("MMD_AT_PLUS_A")]
    stored = A.diagonal().all()  # PARDISO wants all of the diagonal where a pattern is symmetric
    if stored and abs(pattern - pattern.T).max() == 0.0:
        peers.append(Pardiso(1))
    if stored and abs(A - A.T).max() == 0.0:
        peers += [CHOLMOD(), Pardiso(2), Pardiso(-2)]
    return [peer for peer in peers if peer.available() is None]


def compare(system, A, seconds=clock.SECONDS):
    """Names, CPU seconds of refactorize and solve, and backward errors of all solvers in turns."""
    A = csr_array(A)
    solvers = [Splu(), *competitors(A)]
    if system is not None:
        solvers.insert(0, Blocks(system))
    b, scalar = np.ones(A.shape[0]), gs.System.from_scipy(A, 1)
    usable = analyzed(solvers, A, scalar, np.arange(A.shape[0]))
    times = clock.measure(usable, b, seconds)
    found = {}
    for solver, timing in zip(usable, times, strict=True):
        x, M = solver.solve(b), system.to_scipy() if isinstance(solver, Blocks) else A
        error = np.max(np.abs(M @ x - b) / (abs(M) @ np.abs(x) + np.abs(b)))
        found[solver.name] = timing.both, error, solver
    return found


def row(name, system, A):
    """One row of the table, in microseconds: ours by blocks and by `splu`, the fastest peers."""
    found = compare(system, A)
    ours = {key: v[0] for key, v in found.items() if v[2].group == "graphsys"}
    peers = sorted((v[0], key) for key, v in found.items() if key not in ours and v[1] < WRONG)
    worst = max(v[1] for key, v in found.items() if key in ours)
    for *_, solver in found.values():
        solver.close()
    cells = [f"{1e6 * ours[key]:,.0f}" if key in ours else "" for key in ("blocks", "splu")]
    cells += [f"{1e6 * t:,.0f} ({key})" for t, key in peers[:2]]
    ratio = peers[0][0] / min(ours.values())
    numbers = f"{A.shape[0]:,} | {A.nnz:,}"
    return f"| {name} | {numbers} | {' | '.join(cells)} | {ratio:.1f} | {worst:.0e} |"


class Networks:
    params = (list(NETWORKS),)
    param_names = ("network",)
    timeout = 600

    def track_over_best_peer(self, name):
        """Speed of refactorize and solve over that of the fastest peer."""
        found = compare(*NETWORKS[name]())
        ours = min(v[0] for v in found.values() if v[2].group == "graphsys")
        peers = [v[0] for v in found.values() if v[2].group != "graphsys" and v[1] < WRONG]
        return min(peers) / ours

    track_over_best_peer.unit = "times as fast as the best peer"


def main():
    """Print rows of the table."""
    cases = dict(NETWORKS)
    for given in sys.argv[1:]:
        if given.startswith("only="):
            cases = {name: make for name, make in cases.items() if given[5:] in name}
        else:
            read = g2o if given.endswith(".g2o") else matpower
            cases[Path(given).stem] = lambda read=read, given=given: read(given)
    for name, make in cases.items():
        print(row(name, *make()), flush=True)


if __name__ == "__main__":
    answer_help(__doc__)
    main()
