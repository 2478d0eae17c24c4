"""The examples say what is so: their numbers against other programs, dense algebra, differences."""

import os
import runpy
import sys
from importlib import import_module
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation
from scipy.stats import multivariate_normal

import graphsys as gs

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
DATA = Path(os.environ.get("GRAPHSYS_DATA", ROOT.parent / "shared" / "data"))
POSE_GRAPHS = DATA / "pose_graphs"
SCRIPTS = ["markov_field", "plane_frame", "pose_graph", "power_flow"]
EPS = np.finfo(float).eps


@pytest.fixture
def example(monkeypatch):
    """Import an example by name, as a script in its folder would be."""
    monkeypatch.syspath_prepend(EXAMPLES)
    before = set(sys.modules)
    yield import_module
    for name in {path.stem for path in EXAMPLES.glob("*.py")} - before:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_script_runs_and_asserts_its_number(name, monkeypatch, capsys):
    path = EXAMPLES / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(path)])
    monkeypatch.syspath_prepend(EXAMPLES)

    runpy.run_path(str(path), run_name="__main__")

    assert capsys.readouterr().out
    assert "\n    assert " in path.read_text()


def test_every_example_is_on_the_page():
    page = (EXAMPLES / "index.md").read_text()
    for path in EXAMPLES.glob("*.py"):
        assert f"]({path.name})" in page


# Power flow


@pytest.mark.parametrize("name", ["case14", "case30", "case57", "case118", "case300"])
def test_the_voltages_are_those_of_pypower(name, example):
    case = getattr(import_module(f"pypower.{name}"), name)
    ppoption = import_module("pypower.ppoption").ppoption
    runpf = import_module("pypower.runpf").runpf
    result, success = runpf(case(), ppoption(VERBOSE=0, OUT_ALL=0, PF_TOL=1e-12))
    assert success

    voltages, steps, lost = example("power_flow").main(case())

    assert steps <= 6
    bus, flow = result["bus"], result["branch"][:, [13, 15]]
    expected = bus[:, 7] * np.exp(1j * np.deg2rad(bus[:, 8]))
    found = np.array([voltages[label] for label in bus[:, 0]])
    assert abs(found - expected).max() <= 1e-8
    # Power may also be lost in a shunt at a bus: sum over buses what goes to the ground there.
    shunt = (bus[:, 4] * bus[:, 7] ** 2).sum()
    assert lost == pytest.approx(flow.sum() + shunt, rel=1e-8)


# Pose graph


def rough_poses(example, n=12):
    """Poses some way from the optimum, with large errors in the edges."""
    X, (i, j), seen, W = example("poses").helix(n, turn=4, sigma=0.3, seed=3)
    return X, i, j, seen, W


def weighted_errors(t, R, i, j, t_seen, R_seen, root):
    """Residuals whose squares sum up to twice the cost, from quaternions."""
    R_i = R[i].inv()
    turn = (R_seen.inv() * R_i * R[j]).as_quat(canonical=True)
    there = R_seen.inv().apply(R_i.apply(t[j] - t[i]) - t_seen)
    return np.einsum("eab,ea->eb", root, np.hstack([there, turn[:, :3]])).ravel()


def scipy_optimum(X, i, j, seen, W):
    """Least cost that scipy finds from X on, turning poses about the axes of the world."""
    t, R = X[:, :3, 3], Rotation.from_matrix(X[:, :3, :3])
    rest = seen[:, :3, 3], Rotation.from_matrix(seen[:, :3, :3]), np.linalg.cholesky(W)

    def residuals(x):
        step = np.vstack([np.zeros(6), x.reshape(-1, 6)])
        return weighted_errors(t + step[:, :3], Rotation.from_rotvec(step[:, 3:]) * R, i, j, *rest)

    start = np.zeros(6 * (len(X) - 1))
    return least_squares(residuals, start, ftol=1e-14, xtol=1e-14, gtol=1e-12).cost


def test_the_slopes_are_those_of_differences(example):
    poses, pose_graph = example("poses"), example("pose_graph")
    X, i, j, seen, _ = rough_poses(example)
    slopes = pose_graph.errors(X, i, j, seen)[1:]

    h = EPS ** (1 / 3)
    for k, h_k in enumerate(h * np.eye(6)):
        for moving, slope in zip((i, j), slopes):
            for u in range(len(X)):
                step = np.outer(np.arange(len(X)) == u, h_k)
                after, before = (
                    pose_graph.errors(poses.moved(X, s), i, j, seen)[0] for s in (step, -step)
                )
                at = moving == u
                difference = (after - before)[at] / (2 * h)
                # Distances up to about 10: h^2 of truncation, eps / h of rounding.
                assert abs(slope[at, :, k] - difference).max(initial=0.0) <= 100 * h**2


def test_gauss_newton_reaches_the_optimum_of_scipy(example):
    X, (i, j), seen, W = example("poses").helix()

    poses, cost, steps = example("pose_graph").main()

    assert steps <= 10
    assert np.array_equal(poses[0], X[0])
    assert cost == pytest.approx(scipy_optimum(X, i, j, seen, W), rel=1e-8)


@pytest.mark.skipif(not POSE_GRAPHS.is_dir(), reason="no folder of pose graphs is there")
@pytest.mark.parametrize("name", ["tinyGrid3D", "smallGrid3D"])
def test_the_optimum_of_a_file_is_that_of_scipy(name, example):
    path = POSE_GRAPHS / f"{name}.g2o"
    _, (i, j), seen, W = example("g2o").read(path)

    poses, cost, steps = example("pose_graph").main(path)

    assert steps <= 20
    assert np.array_equal(poses[0], example("g2o").read(path)[0][0])
    assert cost == pytest.approx(scipy_optimum(poses, i, j, seen, W), rel=1e-8)


# Plane frame


def textbook_stiffness(frame, EA, EI):
    """Dense stiffness of a frame, each beam by the 6 x 6 matrix of the textbooks and a rotation."""
    at = {node: 3 * k + np.arange(3) for k, node in enumerate(frame)}
    K = np.zeros((3 * len(at), 3 * len(at)))
    for u, v in frame.edges:
        dx, dy = np.subtract(v, u)
        L = np.hypot(dx, dy)
        a, b, c, d, e = EA / L, 12 * EI / L**3, 6 * EI / L**2, 4 * EI / L, 2 * EI / L
        local = np.array(
            [
                [a, 0, 0, -a, 0, 0],
                [0, b, c, 0, -b, c],
                [0, c, d, 0, -c, e],
                [-a, 0, 0, a, 0, 0],
                [0, -b, -c, 0, b, -c],
                [0, c, e, 0, -c, d],
            ]
        )
        turn = np.array([[dx, dy, 0], [-dy, dx, 0], [0, 0, L]]) / L
        T = block_diag(turn, turn)
        rows = np.concatenate([at[u], at[v]])
        K[np.ix_(rows, rows)] += T.T @ local @ T
    return K


def test_the_frame_moves_as_by_dense_algebra_and_its_reactions_carry_the_loads(example):
    plane_frame = example("plane_frame")
    frame = nx.grid_2d_graph([0.0, 5.0, 9.0], [0.0, 3.0, 7.0, 10.0])
    frame.add_edge((0.0, 0.0), (5.0, 3.0))  # a brace
    rng = np.random.default_rng(0)
    loads = {node: 1e4 * rng.standard_normal(3) for node in frame}
    supports = [node for node in frame if node[1] == 0.0]

    moved, reactions = plane_frame.solve(frame, supports, loads)

    K = textbook_stiffness(frame, plane_frame.EA, plane_frame.EI)
    free = np.repeat([node not in supports for node in frame], 3)
    dense = np.zeros(free.size)
    dense[free] = np.linalg.solve(K[np.ix_(free, free)], np.concatenate(list(loads.values()))[free])
    close = EPS * np.linalg.cond(K[np.ix_(free, free)])
    found = np.concatenate([moved[node] for node in frame])
    assert abs(found - dense).max() <= 10 * close * abs(dense).max()
    assert reactions.keys() == set(supports)
    left = np.zeros(3)
    for forces in (loads, reactions):
        for (x, y), (fx, fy, m) in forces.items():
            left += [fx, fy, m + x * fy - y * fx]
    # A row sums up products of stiffness and displacement; arms of moments are up to 10 m.
    assert abs(left).max() <= 100 * EPS * 10 * (abs(K) @ abs(dense)).max()


def test_a_portal_sways_as_by_the_formula(example, monkeypatch):
    plane_frame = example("plane_frame")
    monkeypatch.setattr(plane_frame, "EA", 1e7 * plane_frame.EI)  # the formula knows no elongation
    h, b, force = 4.0, 6.0, 1000.0
    portal = nx.path_graph([(0.0, 0.0), (0.0, h), (b, h), (b, 0.0)])
    loads = {node: np.zeros(3) for node in portal}
    loads[0.0, h][0] = force

    moved, reactions = plane_frame.solve(portal, [(0.0, 0.0), (b, 0.0)], loads)

    k = h / b  # stiffness of the beam over that of a column
    sway = force * h**3 / (12 * plane_frame.EI) * (2 + 3 * k) / (1 + 6 * k)
    assert moved[0.0, h][0] == pytest.approx(sway, rel=1e-6)
    assert reactions[0.0, 0.0][0] == pytest.approx(-force / 2, rel=1e-6)


def test_the_cantilever_and_the_reactions_of_the_storey_frame_are_right(example):
    deflection, sway, rest = example("plane_frame").main()

    assert deflection == pytest.approx(1.0, rel=1e-10)
    assert 0.0 < sway < 32.0 / 500  # what building codes allow
    assert abs(rest).max() <= 1e-10 * (9 * 2.0e4 * 16)  # moment of the wind about the ground


# Markov field


def dense_covariance(graph, c, length):
    laplacian = nx.laplacian_matrix(graph, nodelist=sorted(graph)).toarray()
    inverse = np.linalg.inv(laplacian + np.eye(len(graph)) / length**2)
    return np.kron(inverse, [[1.0, c], [c, 1.0]])


@pytest.mark.parametrize("c", [0.0, 0.4, 0.8])
def test_mean_and_log_density_are_those_of_dense_algebra(c, example):
    markov_field = example("markov_field")
    graph = gs.net(7)
    _, seen = markov_field.main(7)
    prior = dense_covariance(graph, c, markov_field.RANGE)
    rows, values = [2 * u + field for u, field in seen], list(seen.values())
    noisy = prior[np.ix_(rows, rows)] + markov_field.NOISE**2 * np.eye(len(rows))

    factor = markov_field.precision(graph, c).factorize()
    mean, log_density = markov_field.posterior(factor, graph, c, seen)

    expected = prior[:, rows] @ np.linalg.solve(noisy, values)
    bound = 10 * EPS * np.linalg.cond(prior)
    found = np.concatenate([mean[u] for u in sorted(graph)])
    assert abs(found - expected).max() <= bound * abs(expected).max()
    dense = multivariate_normal(np.zeros(len(rows)), noisy).logpdf(values)
    assert log_density == pytest.approx(dense, rel=bound)
    assert log_density == pytest.approx(markov_field.main(7)[0][c], rel=bound)


def test_samples_have_the_covariance_of_the_field(example):
    # A sample is linear in its random numbers: a column for each, their products are the covariance
    class OneOf:
        def __init__(self, k, count):
            self.numbers = iter(np.eye(count)[k])

        def standard_normal(self, size):
            return np.array([next(self.numbers) for _ in range(size)])

    markov_field = example("markov_field")
    graph = gs.net(3)
    count = 2 * (graph.number_of_nodes() + graph.number_of_edges())
    columns = []
    for k in range(count):
        field = markov_field.sample(graph, 0.6, OneOf(k, count))
        columns.append(np.concatenate([field[u] for u in sorted(graph)]))
    M = np.stack(columns, axis=1)

    covariance = dense_covariance(graph, 0.6, markov_field.RANGE)
    bound = 10 * EPS * np.linalg.cond(covariance)
    assert abs(M @ M.T - covariance).max() <= bound * abs(covariance).max()
