"""Joint-space quantities of a model, to compare with libraries that think in joints."""

import numpy as np

from dynamics import closing, rotation


def pose_of_frame(mechanism, state, model, name):
    """Position and rotation matrix of a named frame in the world."""
    frame = mechanism.frames[name]
    x, q = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    if frame.body is not mechanism.world:
        pose = state.pose[model.body_number(frame.body.name)]
        x, q = pose[:3], pose[3:]
    turned = rotation.multiply(q, frame.orientation)
    return x + rotation.rotate(q, frame.position), rotation.to_matrix(turned)


def moved(model, coordinates):
    """State with joints at coordinates, at rest."""
    state = model.initial_state()
    for name, value in coordinates.items():
        model.set_joint(state, name, value)
    return state


def slopes(model, coordinates):
    """Velocities of all bodies for each unit rate: shape (6 n, number of coordinates)."""
    columns = []
    for name, value in coordinates.items():
        for unit in np.eye(np.size(value)):
            state = moved(model, coordinates)
            model.set_joint(state, name, value, unit)
            columns.append(model.twists_of(state).ravel())
    return np.array(columns).T


def floating_slopes(state, x):
    """Velocities of all bodies for unit velocities of a frame at x, along the world's axes."""
    J = np.zeros((6 * len(state.pose), 6))
    for i, pose in enumerate(state.pose):
        R = rotation.to_matrix(pose[3:])
        J[6 * i : 6 * i + 3, :3] = np.eye(3)
        for k, axis in enumerate(np.eye(3)):
            J[6 * i : 6 * i + 3, 3 + k] = np.cross(axis, pose[:3] - x)
            J[6 * i + 3 : 6 * i + 6, 3 + k] = R.T @ axis
    return J


def mass_matrix(model):
    """Of all bodies, shape (6 n, 6 n)."""
    M = np.zeros((6 * model.n_bodies, 6 * model.n_bodies))
    for i, body in enumerate(model.bodies):
        at = 6 * i
        M[at : at + 3, at : at + 3] = body.mass * np.eye(3)
        M[at + 3 : at + 6, at + 3 : at + 6] = body.inertia
    return M


def falling(model, state):
    """Accelerations of all bodies at rest under gravity: the KKT system of the constraints."""
    M = mass_matrix(model)
    G = closing._equations(model, state, {})[1].toarray()
    m = len(G)
    force = np.zeros((model.n_bodies, 6))
    for i, body in enumerate(model.bodies):
        force[i, :3] = body.mass * body.gravity_scale * model.mechanism.gravity
    # Scaled by the square roots of the masses, so that small moments lose no digits.
    S = np.linalg.inv(np.linalg.cholesky(M))
    GS = G @ S.T
    K = np.block([[np.eye(len(M)), GS.T], [GS, np.zeros((m, m))]])
    solved = np.linalg.lstsq(K, np.concatenate([S @ force.ravel(), np.zeros(m)]), rcond=None)[0]
    return S.T @ solved[: len(M)]
