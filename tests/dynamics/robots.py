"""Joint-space quantities of a model, to compare with libraries that think in joints."""

import warnings

import numpy as np

import dynamics as dy
from dynamics import rotation
from dynamics.io import LoadWarning
from dynamics.kinematics import loop_closure
from dynamics.kinematics.coordinates import twists_of
from dynamics.kinematics.joint_space import JointSpace

#: Sums and products of some ten transformations, each with a few roundings of numbers below 10.
ROUNDING = 1e-13


def rpy_matrix(rpy):
    """Rotation matrix of the angles in a URDF file."""
    return rotation.to_matrix(rotation.from_rpy(rpy))


def load(tmp_path, text, quiet=True, **options):
    """Mechanism from the text of a URDF file."""
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", LoadWarning)
        return dy.load(path, **options)


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
    rest = moved(model, coordinates)
    for name, value in coordinates.items():
        for unit in np.eye(np.size(value)):
            state = rest.copy()
            model.set_joint(state, name, value, unit)
            columns.append(twists_of(model, state).ravel())
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


def mass_matrix(model, state):
    """Of all bodies and rotors, shape (6 n, 6 n)."""
    M = np.zeros((6 * model.n_bodies, 6 * model.n_bodies))
    for i, body in enumerate(model.bodies):
        at = 6 * i
        M[at : at + 3, at : at + 3] = body.mass * np.eye(3)
        M[at + 3 : at + 6, at + 3 : at + 6] = body.inertia
    turning = [joint for joint in model.mechanism.joints.values() if joint.armature.any()]
    if turning:
        J = JointSpace(model, [one.name for one in turning]).slopes(state, np.zeros(len(M))).J
        M += J.T * np.concatenate([one.armature for one in turning]) @ J
    return M


def joint_inertia(model, at):
    """Joint-space inertia with joints at coordinates, see `slopes`."""
    J = slopes(model, at)
    return J.T @ mass_matrix(model, moved(model, at)) @ J


def falling(model, state):
    """Accelerations of all bodies at rest under gravity: free fall without what constraints hold.

    On the motions that the constraints leave, with rows of length one; masses come behind, so that
    a body of nearly no inertia loses no digits.
    """
    G = loop_closure.equations(model, state, {})[1].toarray()
    _, s, Vt = np.linalg.svd(G / np.linalg.norm(G, axis=1, keepdims=True))
    left = Vt[(s > 1e-10 * s.max(initial=0.0)).sum() :].T
    force = np.zeros((model.n_bodies, 6))
    for i, body in enumerate(model.bodies):
        force[i, :3] = body.mass * body.gravity_scale * model.mechanism.gravity
    H = left.T @ mass_matrix(model, state) @ left
    return left @ solved(H, left.T @ force.ravel())


def solved(H, right):
    """H^-1 right of a positive definite matrix, scaled to a diagonal of ones."""
    scale = 1.0 / np.sqrt(np.diag(H))
    return scale * np.linalg.solve(H * np.outer(scale, scale), scale * right)


def numbers(values):
    """Numbers as a URDF file has them, every digit kept."""
    return " ".join(repr(float(x)) for x in np.ravel(values))


def link(name, mass=1.0, xyz=(0, 0, 0), rpy=(0, 0, 0), inertia=(0.1, 0.2, 0.25), more=""):
    """Text of a link; `inertia` holds moments, or a symmetric matrix."""
    matrix = np.diag(inertia) if np.ndim(inertia) == 1 else np.asarray(inertia)
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    values = zip(keys, matrix[np.triu_indices(3)])
    moments = " ".join(f'{key}="{float(value)!r}"' for key, value in values)
    inertial = (
        f'<inertial><origin xyz="{numbers(xyz)}" rpy="{numbers(rpy)}"/>'
        f'<mass value="{float(mass)!r}"/><inertia {moments}/></inertial>'
    )
    return f'<link name="{name}">{inertial if mass else ""}{more}</link>'


def joint(name, kind, parent, child, xyz=(0, 0, 0), rpy=(0, 0, 0), axis=(0, 0, 1), more=""):
    """Text of a joint."""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{numbers(xyz)}" rpy="{numbers(rpy)}"/><axis xyz="{numbers(axis)}"/>'
        f"{more}</joint>"
    )


def robot(*parts):
    """Text of a URDF file."""
    return '<?xml version="1.0"?>\n<robot name="test">' + "\n".join(parts) + "</robot>"


def random_urdf(n, seed=0, kinds=("revolute", "continuous", "prismatic", "fixed")):
    """Tree of n links with random frames, inertia and joints."""
    rng = np.random.default_rng(seed)
    parts = []
    for i in range(n):
        moments = rng.uniform(0.5, 1.0, 3) * 10.0 ** rng.uniform(-3, 0)
        xyz, rpy = rng.normal(size=3), rng.uniform(-3, 3, 3)
        parts.append(link(f"link{i}", rng.uniform(0.1, 3.0), xyz, rpy, moments))
        if i:
            axis = rng.normal(size=3)
            axis /= np.linalg.norm(axis)
            parent = f"link{rng.integers(max(0, i - 3), i)}"
            limit = '<limit lower="-3" upper="3" effort="1" velocity="1"/>'
            parts.append(
                joint(
                    f"joint{i}", kinds[i % len(kinds)], parent, f"link{i}",
                    rng.normal(size=3), rng.uniform(-3, 3, 3), axis, limit,
                )
            )  # fmt: skip
    return robot(*parts)


def four_bar(reach=1.0):
    """Four rods of 1 m in a square, as a tree and one closure (Drake's form)."""
    rod = {"xyz": (0, 0, 0.5), "inertia": (1 / 12, 1 / 12, 1e-3)}
    return robot(
        link("ground", mass=0),
        link("left", **rod), link("top", **rod), link("right", **rod),
        joint("a", "continuous", "ground", "left", axis=(1, 0, 0)),
        joint("b", "continuous", "left", "top", (0, 0, 1), (-np.pi / 2, 0, 0), (1, 0, 0)),
        joint("d", "continuous", "ground", "right", (0, 1, 0), axis=(1, 0, 0)),
        '<loop_joint name="c" type="continuous"><axis xyz="1 0 0"/>'
        f'<link1 link="top" xyz="0 0 {reach}" rpy="0 0 0"/>'
        '<link2 link="right" xyz="0 0 1" rpy="0 0 0"/></loop_joint>',
    )  # fmt: skip
