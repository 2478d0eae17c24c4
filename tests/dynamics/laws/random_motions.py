"""Random scenes of bodies that hit each other, random mechanisms, and laws of their motion.

`python -m tests.dynamics.laws.random_motions --scenes 1000 --mechanisms 200 --seed 0` examines many
and prints how many moved, how many stopped with which error, and which broke a law.
"""

import argparse
import re
import sys
import time
import warnings
from collections import Counter
from itertools import combinations

import numpy as np

import dynamics as dy
from dynamics import rotation
from dynamics.kernels.contacts.geometry import ROUND
from dynamics.kernels.interval.energy_balance import UNSEEN

H = 0.005
#: Rise of the energy, relative to the largest kinetic energy, that the audit does not cut away.
MOST_RISE = 0.1
#: Depth, relative to the smaller shape, that MuJoCo's distance may report of shapes that touch.
DEPTH = 1e-4
#: The same between nodes, relative to both: the chord of what slides or rolls round another, see
#: "Fast bodies" in docs/theory/contacts.md, and of what turns.
PASSES = 0.15
#: The same in steps that were cut, where shapes turn and bounce between nodes.
THROUGH = 1.0
#: Poses between two nodes at which distances are measured.
BETWEEN = 4
STONE = np.array(
    [(0.1, 0, 0), (-0.1, 0.02, 0), (0, 0.1, 0.03), (0, -0.1, 0), (0, 0, 0.12), (0.01, 0, -0.1)]
)
KINDS = "sphere", "capsule", "box", "cylinder", "hull"


def shape(kind, size, mass):
    """A shape of about a size, what touches where it is not that, and its size."""
    if kind == "sphere":
        return dy.Sphere(size, mass=mass), None, size
    if kind == "capsule":
        return dy.Capsule(0.5 * size, size, mass=mass), None, 0.5 * size
    if kind == "box":
        return dy.Box(1.6 * size, size, 0.7 * size, mass=mass), None, 0.35 * size
    if kind == "cylinder":
        return dy.Cylinder(0.6 * size, size, mass=mass), None, 0.5 * size
    points = STONE * (size / 0.1)
    return dy.Box(size, size, size, mass=mass), points, 0.5 * size


def bounce(rng, *names):
    """A restitution, or none for shapes that touch a plane between them."""
    kinds = {name.split()[0] for name in names}
    offered = kinds <= {"sphere", "capsule"} or kinds == {"sphere", "box"}
    return {"restitution": rng.uniform()} if offered and rng.random() < 0.5 else {}


def scene(seed):
    """Two to five bodies thrown at each other, half of them over a floor; model, state, geometry.

    Speeds are up to 50 m/s, coefficients of friction up to 1, restitutions up to 1.
    """
    rng = np.random.default_rng(seed)
    floor = rng.random() < 0.5
    m = dy.Mechanism(gravity=(0, 0, -9.81 if floor or rng.random() < 0.5 else 0.0))
    speed, geometry, bodies = 50.0 ** rng.uniform(-0.5, 1.0), [], []
    for k in range(int(rng.integers(2, 6))):
        kind, size = str(rng.choice(KINDS)), rng.uniform(0.05, 0.3)
        own, touching, inner = shape(kind, size, 10.0 ** rng.uniform(-1.5, 1.5))
        at = rng.normal(size=3)
        at *= (0.45 + 0.9 * k) / np.linalg.norm(at)
        at[2] = abs(at[2]) + 0.6 if floor else at[2]
        turn = rng.normal(size=4)
        body = m.add_body(
            own, name=f"{kind} {k}", position=at, orientation=turn / np.linalg.norm(turn)
        )
        bodies.append((body, touching))
        geometry.append((body.name, kind, size, inner))
    friction = float(rng.choice([0.0, rng.uniform(0.0, 1.0)]))
    for (one, own), (other, others) in combinations(bodies, 2):
        m.add_contact(
            one, other, shape=own, against_shape=others, friction=friction,
            name=f"{one.name}|{other.name}", **bounce(rng, one.name, other.name),
        )  # fmt: skip
    for body, own in bodies if floor else []:
        m.add_contact(body, shape=own, friction=friction, name=f"{body.name}|floor")
    model = m.finalize(H)
    state = model.initial_state()
    middle = np.mean([body.position for body, _ in bodies], axis=0)
    for body, _ in bodies:
        aim = middle - body.position + 0.1 * rng.normal(size=3)
        aim *= speed * rng.uniform(0.3, 1.0) / max(np.linalg.norm(aim), 1e-3)
        spin = rng.normal(size=3) * rng.uniform(0.0, 10.0)
        model.set_body(state, body.name, velocity=aim, angular_velocity=spin)
    return model, state, geometry, floor


def tree(seed):
    """Random tree: masses of 1e-3 to 1e3 kg, springs of some joints to 1e8 N/m."""
    rng = np.random.default_rng(seed)
    m = dy.Mechanism()
    bodies = [m.world]
    for k in range(int(rng.integers(2, 12))):
        mass, size = 10.0 ** rng.uniform(-3, 3), rng.uniform(0.1, 0.6)
        inertia = mass * size**2 * rng.uniform(0.3, 0.5, size=3)
        body = m.add_body(mass=mass, inertia=inertia, name=k)
        parent = bodies[rng.integers(len(bodies))]
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        stiff = 10.0 ** rng.uniform(0, 8) if rng.random() < 0.3 else 0.0
        options = {
            "parent_point": rng.normal(size=3) * 0.3 * (parent is not m.world),
            "child_point": rng.normal(size=3) * 0.3,
            "name": ("joint", k),
        }
        kind = rng.integers(4)
        if kind == 0:
            m.add_joint(dy.Revolute(parent, body, axis, stiffness=stiff, **options))
        elif kind == 1:
            m.add_joint(dy.Spherical(parent, body, **options))
        elif kind == 2:
            m.add_joint(dy.Prismatic(parent, body, axis, stiffness=stiff, **options))
        else:
            m.add_joint(dy.Universal(parent, body, (1, 0, 0), (0, 1, 0), **options))
        bodies.append(body)
    return m, rng


def mechanism(seed, timestep=0.01):
    """A random tree that moves, or one of three that is closed to a loop and starts at rest."""
    m, rng = tree(seed)
    closed = len(m.bodies) > 2 and rng.random() < 1.0 / 3.0
    model = m.copy().finalize(timestep)
    state = model.initial_state()
    for name, joint in m.joints.items():
        q, rate = rng.normal(size=(2, joint.n_coordinates))
        model.set_joint(state, name, 0.5 * q, 0.0 * rate if closed else 2.0 * rate)
    if not closed:
        return model, state
    ends = rng.choice(len(m.bodies), 2, replace=False).tolist()
    x, q = state.pose[:, :3], state.pose[:, 3:]
    at = x[ends[0]] + 0.2 * rng.normal(size=3)
    one, other = rotation.rotate(rotation.conjugate(q[ends]), at - x[ends])
    pair = (m.bodies[k] for k in ends)
    m.add_joint(dy.Spherical(*pair, parent_point=one, child_point=other, name="loop"))
    model = m.finalize(timestep)
    state = model.initial_state()
    for k in m.bodies:
        model.set_body(state, k, position=x[k], orientation=q[k])
    return model, state


def reach(kind, size, way):
    """How far a shape reaches from its origin along a unit vector in its frame."""
    along, across = abs(way[2]), np.hypot(way[0], way[1])
    if kind == "sphere":
        return size
    if kind == "capsule":
        return 0.5 * size * (1.0 + along)
    if kind == "box":
        return 0.5 * size * np.abs(way) @ (1.6, 1.0, 0.7)
    if kind == "cylinder":
        return size * (0.5 * along + 0.6 * across)
    return (STONE * (size / 0.1) @ way).max()


def rounded(kind, size):
    """By how much contacts see a shape smaller than it is: rims, and ends of capsules."""
    return ROUND * size * {"cylinder": 0.6, "capsule": 0.25 * 0.5}.get(kind, 0.0)


class Distances:
    """Distances between the shapes of a scene, by MuJoCo."""

    def __init__(self, geometry, floor):
        import mujoco

        self.mujoco, self.geometry, spec = mujoco, geometry, mujoco.MjSpec()
        kinds = mujoco.mjtGeom
        for name, kind, size, _ in geometry:
            body = spec.worldbody.add_body(name=name, mocap=True)
            if kind == "sphere":
                body.add_geom(type=kinds.mjGEOM_SPHERE, size=[size, 0, 0])
            elif kind == "capsule":
                body.add_geom(type=kinds.mjGEOM_CAPSULE, size=[0.5 * size, 0.5 * size, 0])
            elif kind == "box":
                half = 0.5 * size * np.array([1.6, 1.0, 0.7])
                body.add_geom(type=kinds.mjGEOM_BOX, size=half)
            elif kind == "cylinder":
                body.add_geom(type=kinds.mjGEOM_CYLINDER, size=[0.6 * size, 0.5 * size, 0])
            else:
                points = STONE * (size / 0.1)
                spec.add_mesh(name=name, uservert=points.ravel())
                body.add_geom(type=kinds.mjGEOM_MESH, meshname=name)
        self.model, self.floor = spec.compile(), floor
        self.data = mujoco.MjData(self.model)
        self.ids = [int(self.model.body_geomadr[1 + k]) for k in range(len(geometry))]

    def least(self, x, q, size):
        """Smallest distance of two shapes, relative to a function of their sizes, and the pair."""
        self.data.mocap_pos[:], self.data.mocap_quat[:] = x, q
        self.mujoco.mj_kinematics(self.model, self.data)
        found, ends = [], np.zeros(6)
        for (a, one), (b, other) in combinations(zip(self.ids, self.geometry, strict=True), 2):
            gap = self.mujoco.mj_geomDistance(self.model, self.data, a, b, 0.5, ends)
            gap += rounded(*one[1:3]) + rounded(*other[1:3])
            found.append((gap / size((one[3], other[3])), one[0], other[0]))
        for k, (name, kind, size, inner) in enumerate(self.geometry if self.floor else []):
            # MuJoCo 3's own distance of an upright cylinder is wrong by its radius now and then
            up = rotation.rotate(rotation.conjugate(q[k])[None], np.array([[0.0, 0.0, 1.0]]))[0]
            gap = x[k, 2] - reach(kind, size, -up) + rounded(kind, size)
            found.append((gap / inner, name, "floor"))
        return min(found)


def run(model, state, seconds):
    """Motion, and the error that ended it or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", ".* solved with less friction", RuntimeWarning)
        try:
            return dy.simulate(model, state, seconds), None
        except dy.ConvergenceError as error:
            return error.trajectory, error


def rise(motion, over=np.minimum.accumulate):
    """Rise of the energy over what it was least, relative to the largest kinetic energy.

    Of two nodes in a row the larger one counts: the velocity at a node is the mean of those before
    and after, which is small where a body bounces or rocks from one edge to the other. What the
    audit cannot see of all energies does not count: structures creep within Newton's tolerance.
    """
    energy, parts = motion.energy(), motion.energies()
    energy = np.maximum(energy[1:], energy[:-1]) if energy.size > 1 else energy
    rise = (energy - over(energy)).max(initial=0.0)
    unseen = UNSEEN * sum(np.abs(part).max() for part in parts.values())
    return float(max(0.0, rise - unseen) / max(parts["kinetic"].max(), np.finfo(float).tiny))


def broken_in_scene(seed):
    """Laws that a scene breaks, and the error that ended it or None."""
    model, state, geometry, floor = scene(seed)
    distances = Distances(geometry, floor)
    names = [name for name, *_ in geometry]
    motion, error = run(model, state, 1.0)
    x, q = (np.stack(part, axis=1) for part in zip(*map(motion.body, names), strict=True))
    broken = []
    if not np.isfinite(motion.states).all():
        return ["not finite"], error
    if (most := rise(motion)) > MOST_RISE:
        broken.append(f"energy rises by {most:.3f}")
    worst = {"at": (np.inf, 0, 0, 0), "after": (np.inf, 0, 0, 0)}
    for k in range(len(x) - 1):
        for part in np.arange(BETWEEN) / BETWEEN:
            near = np.where((q[k] * q[k + 1]).sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)
            turn = (1.0 - part) * q[k] + part * near * q[k + 1]
            turn /= np.linalg.norm(turn, axis=1, keepdims=True)
            where, size = ("after", sum) if part else ("at", min)
            found = distances.least((1.0 - part) * x[k] + part * x[k + 1], turn, size)
            worst[where] = min(worst[where], (*found, k))
    for (where, (least, *pair, k)), most in zip(worst.items(), (DEPTH, PASSES), strict=True):
        straight = where == "at" or model.step(motion[k])[1].intervals == 1
        if least < -(most if straight else THROUGH):
            broken.append(f"{pair} overlap by {-least:.1e} {where} node {k}")
    return broken, error


def broken_in_mechanism(seed):
    """Laws that a mechanism breaks, and the error that ended it or None."""
    motion, error = run(*mechanism(seed), 2.0)
    if not np.isfinite(motion.states).all():
        return ["not finite"], error
    broken = []
    if (most := rise(motion, first)) > MOST_RISE:
        # of order 2 where springs are barely resolved: less than a tenth of it at a quarter step
        finer, _ = run(*mechanism(seed, 0.0025), motion.time[-1])
        if (less := rise(finer, first)) > max(0.1 * most, 0.1 * MOST_RISE):
            broken.append(f"energy rises by {most:.3f}, at a quarter of the step by {less:.3f}")
    gap = motion.constraint_violation().max() / max(1.0, np.abs(motion.states).max())
    if not gap <= 1e-9:
        broken.append(f"joints open by {gap:.1e}")
    return broken, error


def first(energy):
    """What conservative motions keep, while the energy at nodes goes up and down with springs."""
    return energy[0]


def reason(error):
    """First words of an error, without numbers and names."""
    return re.sub(r"'[^']*'|[-+\d.e]+\d", "_", str(error))[:70]


def examine(broken_in, seeds):
    """Faults by seed, and how many runs ended with which error."""
    faults, stops = {}, Counter()
    for seed in seeds:
        try:
            broken, error = broken_in(seed)
        except Exception as unexpected:
            broken, error = [f"{type(unexpected).__name__}: {unexpected}"[:200]], None
        if broken:
            faults[seed] = broken
        if error is not None:
            stops[reason(error)] += 1
    return faults, stops


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=0)
    parser.add_argument("--mechanisms", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    failed = 0
    for what, count, law in (
        ("scenes", given.scenes, broken_in_scene),
        ("mechanisms", given.mechanisms, broken_in_mechanism),
    ):
        start = time.perf_counter()
        faults, stops = examine(law, range(given.seed, given.seed + count))
        print(f"{count} {what}, {sum(stops.values())} stopped, {len(faults)} faults, "
              f"{time.perf_counter() - start:.0f} s")  # fmt: skip
        for words, times in stops.most_common():
            print(f"  stopped {times}: {words}")
        for seed, broken in faults.items():
            print(f"  seed {seed}: {'; '.join(broken)}")
        failed += len(faults)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
