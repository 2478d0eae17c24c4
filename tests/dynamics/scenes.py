"""Random scenes of everything: trees of any joints, with springs, limits, friction and a floor."""

import numpy as np

import dynamics as dy
from dynamics import rotation

KINDS = [
    "Fixed", "Prismatic", "Planar", "FixedOrientation", "Revolute", "Cylindrical", "PlanarAxis",
    "FreeAxis", "Spherical", "PointOnLine", "PointOnPlane", "Floating", "Universal", "Helical",
    "Distance",
]  # fmt: skip
WITH_AXIS = {"Prismatic", "Planar", "Revolute", "Cylindrical", "PlanarAxis", "FreeAxis",
             "PointOnLine", "PointOnPlane"}  # fmt: skip
#: Joints whose coordinates are ways and angles of rotors.
TURNED = {"Prismatic", "Revolute", "Cylindrical", "Universal", "Helical", "PlanarAxis"}
#: Seconds of a scene.
SECONDS = 3.0


def direction(rng):
    a = rng.normal(size=3)
    return a / np.linalg.norm(a)


def shape(rng):
    mass = rng.uniform(0.2, 3.0)
    kind = rng.integers(4)
    if kind == 0:
        return dy.Box(*rng.uniform(0.1, 0.5, 3), mass=mass)
    if kind == 1:
        return dy.Sphere(rng.uniform(0.1, 0.3), mass=mass)
    if kind == 2:
        return dy.Capsule(rng.uniform(0.05, 0.15), rng.uniform(0.1, 0.5), mass=mass)
    return dy.Cylinder(rng.uniform(0.05, 0.2), rng.uniform(0.1, 0.5), mass=mass)


def joint(rng, rotors, parent, child, high, name):
    """Any joint, one of a single free axis with a spring, damper, limits and friction perhaps.

    ``rotors`` is a generator of its own, so that scenes with and without them are alike.
    """
    kind = KINDS[rng.integers(len(KINDS))]
    first, second = direction(rng), direction(rng)
    across = np.cross(first, second) / np.linalg.norm(np.cross(first, second))
    axes = (first,) if kind in WITH_AXIS else ()
    axes = {"Helical": (first, 0.1), "Universal": (first, across), "Distance": (0.5,)}.get(
        kind, axes
    )
    options = {
        "parent_point": rng.uniform(-0.4, 0.4, 3) + high,
        "child_point": rng.uniform(-0.4, 0.4, 3),
        "name": name,
    }
    if kind in ("Prismatic", "Revolute"):
        more = {
            "stiffness": rng.uniform(0.0, 20.0),
            "damping": rng.uniform(0.0, 1.0),
            "limits": (-rng.uniform(0.2, 1.0), rng.uniform(0.2, 1.0)),
            "friction": rng.uniform(0.1, 1.0),
            "velocity_limits": (-2.0, 2.0),
        }
        options |= {key: value for key, value in more.items() if rng.random() < 0.4}
    if kind in TURNED and rotors.random() < 0.3:
        options["armature"] = rotors.uniform(0.0, 0.2)
    return getattr(dy, kind)(parent, child, *axes, **options)


def scene(seed):
    """Model and state; joints closed, shapes off the floor."""
    rng, rotors = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    mechanism = dy.Mechanism()
    bodies = []
    for i in range(int(rng.integers(1, 8))):
        drag, spin_drag = rng.choice([0.0, 0.1]), rng.choice([0.0, 0.01])
        made = mechanism.add_body(shape(rng), name=f"b{i}", drag=drag, spin_drag=spin_drag)
        if not bodies:
            if rng.random() < 0.7:
                high = np.array([0.0, 0.0, 3.0])
                mechanism.add_joint(joint(rng, rotors, mechanism.world, made, high, f"j{i}"))
        elif rng.random() < 0.8:
            parent = bodies[rng.integers(len(bodies))]
            mechanism.add_joint(joint(rng, rotors, parent, made, np.zeros(3), f"j{i}"))
        bodies.append(made)
    if len(bodies) > 2 and rng.random() < 0.4:
        stiffness, damping = rng.uniform(1.0, 50.0), rng.uniform(0.0, 2.0)
        ends = bodies[0], bodies[-1]
        mechanism.add_force(dy.Spring(*ends, stiffness=stiffness, damping=damping, length=0.4))
    touching = rng.random() < 0.6
    for body in bodies:
        if touching and rng.random() < 0.6:
            bounce = {"restitution": 0.5} if rng.random() < 0.2 else {}
            friction = rng.choice([0.0, 0.3, 0.8])
            mechanism.add_contact(body, friction=friction, name=f"floor of {body.name}", **bounce)
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    for i, body in enumerate(bodies):
        model.set_body(
            state, body.name, position=rng.uniform(-1.0, 1.0, 3) + [0.0, 0.0, 2.5 + 1.5 * i],
            orientation=rotation.random(rng), velocity=0.5 * rng.normal(size=3),
            angular_velocity=rng.normal(size=3),
        )  # fmt: skip
    return model, dy.separate(model, model.assemble(state))
