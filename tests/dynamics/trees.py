"""Trees for the tests of the minimal-coordinate integrator, and a dense Lagrangian beside it."""

import numpy as np
from scipy.linalg import expm

from dynamics.integrators.tree.description import Tree
from dynamics.integrators.tree.twists import prismatic, revolute, screw

GRAVITY = 9.81


def random_tree(n, seed=0, branch=3, *, damping=0.0, drag=0.0, drag_area=0.0, stiffness=0.0):
    """n bodies with joints of all kinds; `branch=1` is a chain."""
    rng = np.random.default_rng(seed)
    tree = Tree(gravity=(1.0, -2.0, -9.0))
    for i in range(n):
        A = rng.normal(size=(3, 3))
        tree.add_body(
            i,
            mass=rng.uniform(0.5, 1.5),
            inertia=0.1 * A @ A.T + 0.1 * np.eye(3),
            center=0.2 * rng.normal(size=3),
            drag=drag,
            drag_area=drag_area,
        )
        parent = int(rng.integers(max(0, i - branch), i)) if i else "world"
        axis, point = rng.normal(size=3), 0.3 * rng.normal(size=3)
        twists = revolute(axis, point), prismatic(axis), screw(axis, 0.2, point)
        orientation = rng.normal(size=4)
        tree.add_joint(
            parent,
            i,
            twists[rng.choice(3, p=[0.6, 0.25, 0.15])],
            position=0.5 * rng.normal(size=3),
            orientation=orientation / np.linalg.norm(orientation),
            stiffness=stiffness,
            rest=0.1,
            damping=damping,
        )
    return tree


def pendulum(n, **options):
    """n rods of 1 m and 1 kg in a row that swing about x and hang down at 0."""
    tree = Tree(gravity=(0.0, 0.0, -GRAVITY))
    for i in range(n):
        tree.add_body(i, 1.0, [1 / 12, 1 / 12, 0.01], **options)
        place = (0.0, 0.0, -0.5 if i == 0 else -1.0)
        hinge = revolute([1.0, 0.0, 0.0], [0.0, 0.0, 0.5])
        tree.add_joint(i - 1 if i else "world", i, hinge, position=place)
    return tree


def point_mass(mass, length, **options):
    """One point mass on a massless rod."""
    tree = Tree(gravity=(0.0, 0.0, -GRAVITY))
    tree.add_body("bob", mass, center=(0.0, 0.0, -length))
    tree.add_joint("world", "bob", revolute([0.0, 1.0, 0.0]), **options)
    return tree


def _hat(v):
    w = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.block([[w, np.reshape(v[3:], (3, 1))], [np.zeros((1, 4))]])


def _vee(m):
    return np.array([m[2, 1], m[0, 2], m[1, 0], *m[:3, 3]])


class Lagrangian:
    """K - V by matrix exponentials and body Jacobians, without the kernels."""

    def __init__(self, tree):
        self.tree, self.joints = tree, tree.order()

    def poses(self, q):
        found = {"world": np.eye(4)}
        for label, angle in zip(self.joints, q):
            joint = self.tree.joints[label]
            home = np.eye(4)
            home[:3, :3], home[:3, 3] = joint.rotation, joint.position
            found[label] = found[joint.parent] @ home @ expm(_hat(joint.twist) * angle)
        return found

    def __call__(self, q, speed):
        poses, value = self.poses(q), 0.0
        for label in self.joints:
            body, g = self.tree.bodies[label], poses[label]
            twist, above = np.zeros(6), label
            while above != "world":
                change = np.linalg.inv(g) @ poses[above]
                axis = _vee(change @ _hat(self.tree.joints[above].twist) @ np.linalg.inv(change))
                twist = twist + axis * speed[self.joints.index(above)]
                above = self.tree.joints[above].parent
            center = g[:3, :3] @ body.center + g[:3, 3]
            value += 0.5 * twist @ body.inertia @ twist + body.mass * self.tree.gravity @ center
        for label, angle in zip(self.joints, q):
            joint = self.tree.joints[label]
            value -= 0.5 * joint.stiffness * (angle - joint.rest) ** 2
        return value

    def discrete(self, rule, h, q):
        """L_d(q^0..q^s) (4)."""
        speeds = rule.slope.reshape(len(q), len(q)) @ q / h
        return h * sum(w * self(x, v) for w, x, v in zip(rule.weights, q, speeds))


def differences(f, x, e=1e-5):
    """df/dx by central differences; the derivative's axes are the last."""
    columns = []
    for k in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[k] = e
        columns.append((np.asarray(f(x + step)) - np.asarray(f(x - step))) / (2 * e))
    return np.stack(columns, axis=-1).reshape(*np.shape(columns[0]), *x.shape)
