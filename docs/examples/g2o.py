"""Pose graphs of files in g2o format, in space or in the plane, for `pose_graph.py`."""

from pathlib import Path

import numpy as np
from poses import pose
from scipy.spatial.transform import Rotation


def read(path):
    """Poses of a file, its edges (i, j), X_i^-1 X_j as they saw it, and their information.

    Poses in the plane (SE2) become those of z = 0, where what they lack is 0 and of information 1;
    that of an angle counts for the quaternion's vector part, half as large.
    """
    lines = [line.split() for line in Path(path).read_text().splitlines()]
    flat = any(x[:1] == ["VERTEX_SE2"] for x in lines)
    of_node, of_edge = ("VERTEX_SE2", "EDGE_SE2") if flat else ("VERTEX_SE3:QUAT", "EDGE_SE3:QUAT")
    node = np.array([x[1:] for x in lines if x[:1] == [of_node]], float)
    edge = np.array([x[1:] for x in lines if x[:1] == [of_edge]], float)
    node = node[np.argsort(node[:, 0])]
    axes, numbers = ([0, 1, 5], 3) if flat else (range(6), 7)
    row, column = np.array(axes)[np.array(np.triu_indices(len(axes)))]
    information = np.tile(np.eye(6), (len(edge), 1, 1))
    information[:, row, column] = information[:, column, row] = edge[:, 2 + numbers :]
    if flat:
        information[:, 5] *= 2.0
        information[:, :, 5] *= 2.0
    return (
        _poses(node[:, 1:]),
        np.searchsorted(node[:, 0], edge[:, :2]).T,
        _poses(edge[:, 2 : 2 + numbers]),
        information,
    )


def _poses(x):
    """Poses of (x, y, angle) or of a place and a quaternion, scalar last as in the file."""
    if x.shape[1] == 3:
        place = np.column_stack([x[:, :2], np.zeros(len(x))])
        return pose(place, Rotation.from_euler("z", x[:, 2:]))
    return pose(x[:, :3], Rotation.from_quat(x[:, 3:]))
