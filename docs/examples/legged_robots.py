"""Spring Flamingo, LittleDog and a humanoid of Atlas' size as trees, with data of our own.

Masses and lengths are round numbers of the size of these robots, not those of their makers.
"""

import numpy as np

from dynamics.integrators import Tree, prismatic, revolute
from dynamics.trajectory_optimization import Contact

X, Y, Z = np.eye(3)
#: Spring Flamingo: thigh and shin; heel, toe and sole in the foot's frame; m.
LEG, HEEL, TOE, SOLE = 0.42, -0.06, 0.17, -0.04
#: LittleDog: thigh and shank, m; legs by the side along x and y.
THIGH, SHANK = 0.075, 0.1
LEGS = {"front left": (1, 1), "front right": (1, -1), "hind left": (-1, 1), "hind right": (-1, -1)}


def spring_flamingo():
    """Planar biped of 14 kg: 9 coordinates, motors at hips and knees, springs at the ankles."""
    tree = Tree()
    for above, name, axis in (("world", "x", X), ("x", "z", Z)):
        tree.add_body(name)
        tree.add_joint(above, name, prismatic(axis))
    tree.add_body("body", 12.0, [0.1, 0.1, 0.1], center=[0.0, 0.0, 0.2])
    tree.add_joint("z", "body", revolute(Y))
    for side in ("left", "right"):
        thigh, shin, foot = ((side, part) for part in ("thigh", "shin", "foot"))
        tree.add_body(thigh, 0.46, [0.0125] * 3, center=[0.0, 0.0, -0.22])
        tree.add_joint("body", thigh, revolute(Y))
        tree.add_body(shin, 0.31, [0.0095] * 3, center=[0.0, 0.0, -0.2])
        tree.add_joint(thigh, shin, revolute(Y), position=[0.0, 0.0, -LEG])
        tree.add_body(foot, 0.35, [0.0014] * 3, center=[0.03, 0.0, -0.02])
        spring = {"stiffness": 20.0, "rest": -0.4, "damping": 0.3}
        tree.add_joint(shin, foot, revolute(Y), position=[0.0, 0.0, -LEG], **spring)
    motors = [(side, part) for side in ("left", "right") for part in ("thigh", "shin")]
    feet = [Contact((s, "foot"), [x, 0.0, SOLE]) for s in ("left", "right") for x in (HEEL, TOE)]
    return tree, motors, feet


def little_dog():
    """Quadruped of 2.9 kg: 18 coordinates, three motors in each leg."""
    tree = Tree()
    tree.add_body("trunk", 1.8, [0.0016, 0.0072, 0.0079])
    tree.add_floating_joint("trunk")
    for leg, (ahead, left) in LEGS.items():
        hip, thigh, shank = ((leg, part) for part in ("hip", "thigh", "shank"))
        tree.add_body(hip, 0.07, [2e-5] * 3)
        tree.add_joint("trunk", hip, revolute(X), position=[0.1 * ahead, 0.036 * left, 0.0])
        tree.add_body(thigh, 0.15, [1e-4, 1e-4, 3e-5], center=[0.0, 0.0, -0.037])
        tree.add_joint(hip, thigh, revolute(Y), position=[0.0, 0.024 * left, 0.0])
        tree.add_body(shank, 0.06, [6e-5, 6e-5, 5e-6], center=[0.0, 0.0, -0.045])
        tree.add_joint(thigh, shank, revolute(Y), position=[0.0, 0.0, -THIGH])
    motors = [(leg, part) for leg in LEGS for part in ("hip", "thigh", "shank")]
    return tree, motors, [Contact((leg, "shank"), [0.0, 0.0, -SHANK]) for leg in LEGS]


def humanoid():
    """Humanoid of 154 kg: 30 hinges above its right foot, which six more coordinates would move."""
    tree = Tree()

    def part(above, name, axis, position, mass, size, center=(0.0, 0.0, 0.0)):
        a, b, c = np.square(size)
        inertia = mass / 12.0 * np.array([b + c, a + c, a + b])
        tree.add_body(name, mass, inertia, center=center)
        tree.add_joint(above, name, revolute(axis), position=position)

    joint = [0.1] * 3  # size of a motor
    sole = [0.26, 0.13, 0.05]
    tree.add_body("right foot", 2.4, [0.0039, 0.0140, 0.0169], center=[0.04, 0.0, -0.05])
    tree.add_floating_joint("right foot", position=[0.0, 0.0, 0.08])
    part("right foot", "right ankle", X, [0, 0, 0], 0.1, joint)
    part("right ankle", "right shin", Y, [0, 0, 0], 4.5, [0.1, 0.1, 0.42], [0, 0, 0.24])
    part("right shin", "right thigh", Y, [0, 0, 0.42], 8.2, [0.12, 0.12, 0.4], [0, 0, 0.16])
    part("right thigh", "right hip pitch", Y, [0, 0, 0.38], 0.6, joint)
    part("right hip pitch", "right hip roll", X, [0, 0, 0], 0.6, joint)
    part("right hip roll", "pelvis", Z, [0, 0, 0], 18.0, [0.2, 0.3, 0.2], [0, 0.09, 0.1])
    part("pelvis", "left hip yaw", Z, [0, 0.18, 0], 0.6, joint)
    part("left hip yaw", "left hip roll", X, [0, 0, 0], 0.6, joint)
    part("left hip roll", "left thigh", Y, [0, 0, 0], 8.2, [0.12, 0.12, 0.4], [0, 0, -0.21])
    part("left thigh", "left shin", Y, [0, 0, -0.38], 4.5, [0.1, 0.1, 0.42], [0, 0, -0.18])
    part("left shin", "left ankle", Y, [0, 0, -0.42], 0.1, joint)
    part("left ankle", "left foot", X, [0, 0, 0], 2.4, sole, [0.04, 0, -0.05])
    part("pelvis", "back yaw", Z, [0, 0.09, 0.17], 2.3, [0.15] * 3)
    part("back yaw", "back pitch", Y, [0, 0, 0.05], 0.6, joint)
    part("back pitch", "torso", X, [0, 0, 0.05], 60.0, [0.3, 0.35, 0.5], [0, 0, 0.25])
    part("torso", "head", Y, [0.1, 0, 0.55], 1.5, [0.2] * 3, [0.05, 0, 0.05])
    for side, s in (("left", 1.0), ("right", -1.0)):
        names = ("shoulder yaw", "shoulder roll", "upper arm", "elbow", "forearm", "wrist", "hand")
        names = [f"{side} {name}" for name in names]
        axes, out = (Z, X, Y, X, Y, X, Y), (0.23, 0.14, 0.1, 0.2, 0.12, 0.17, 0.0)
        masses, at = (4.4, 3.0, 4.4, 3.3, 2.4, 0.5, 1.2), (0.08, 0.05, 0.1, 0.05, 0.08, 0.0, 0.08)
        for k, name in enumerate(names):
            place = [0.06, s * out[k], 0.45] if k == 0 else [0.0, s * out[k], 0.0]
            above = names[k - 1] if k else "torso"
            part(above, name, axes[k], place, masses[k], [0.1, 0.2, 0.1], [0.0, s * at[k], 0.0])
    motors = tree.order()[6:]
    corners = [[x, y, -0.08] for x in (-0.09, 0.17) for y in (-0.065, 0.065)]
    return tree, motors, [Contact("right foot", corner, sticking=True) for corner in corners]
