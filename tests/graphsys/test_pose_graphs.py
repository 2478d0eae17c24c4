"""Pose graphs of the examples: files in the plane, and loops from which odometry drifts away."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.graphsys.test_examples import example  # noqa: F401


def torus(poses, rings=20, around=16, sigma=0.15):
    """Poses along a thread that winds round a torus; each sees the next, and the next winding."""
    rng = np.random.default_rng(0)
    n = rings * around
    small, large = 2 * np.pi * np.arange(n) / around, 2 * np.pi * np.arange(n) / n
    out = 10.0 + 3.0 * np.cos(small)
    t = np.column_stack([out * np.cos(large), out * np.sin(large), 3.0 * np.sin(small)])
    X = poses.pose(t, Rotation.from_euler("zy", np.column_stack([large, -small])))
    i = np.concatenate([np.arange(n - 1), np.arange(n)])
    j = np.concatenate([np.arange(1, n), (np.arange(n) + around) % n])
    noise = sigma * rng.standard_normal((i.size, 6))
    seen = poses.moved(np.linalg.inv(X[i]) @ X[j], noise)
    start = X[:1]
    for k in range(n - 1):
        start = np.concatenate([start, start[-1:] @ seen[k]])
    spread = sigma * np.repeat([1.0, 0.5], 3)
    return start, (i, j), seen, np.tile(np.diag(spread**-2), (i.size, 1, 1))


def test_a_torus_converges_from_odometry(example, monkeypatch):  # noqa: F811
    poses, pose_graph = example("poses"), example("pose_graph")
    monkeypatch.setattr(poses, "helix", lambda: torus(poses))

    _, cost, _ = pose_graph.main()  # undamped, from odometry: no convergence in 50 steps

    freedom = 6 * 320  # 639 edges less 319 poses; half of chi^2, within six standard deviations
    assert abs(cost - freedom / 2) < 6 * np.sqrt(freedom / 2)


def test_a_square_in_the_plane_by_hand(example, tmp_path):  # noqa: F811
    # four sides of 1 with quarter turns close: nothing is left to move
    path = tmp_path / "square.g2o"
    vertices = [(0, 0, 0, 0), (1, 1, 0, np.pi / 2), (2, 1, 1, np.pi), (3, 0, 1, -np.pi / 2)]
    edges = [(0, 1), (1, 2), (2, 3), (3, 0)]
    path.write_text(
        "".join(f"VERTEX_SE2 {k} {x} {y} {angle}\n" for k, x, y, angle in vertices)
        + "".join(f"EDGE_SE2 {i} {j} 1 0 {np.pi / 2} 1 0 0 1 0 1000\n" for i, j in edges)
    )
    X, _, _, W = example("g2o").read(path)
    poses, cost, _ = example("pose_graph").main(path)

    assert np.array_equal(np.diag(W[0]), [1, 1, 1, 1, 1, 4000])
    assert poses == pytest.approx(X, abs=1e-9) and cost == pytest.approx(0.0, abs=1e-15)
