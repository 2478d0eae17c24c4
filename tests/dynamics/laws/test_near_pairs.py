"""Contacts that models find by themselves: the motion is that with every pair declared."""

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.kinematics import near_models
from dynamics.parts.separating_planes import LIGHT

BALL, BOX = dy.Sphere(0.1, mass=1.0), dy.Box(0.2, 0.16, 0.12, mass=1.0)
PILL, DRUM = dy.Capsule(0.05, 0.2, mass=1.0), dy.Cylinder(0.08, 0.2, mass=1.0)
SHAPES = (BOX, BALL, PILL, DRUM)
UPRIGHT = (1.0, 0.0, 0.0, 0.0)


def scene(places, found, gravity=(0, 0, -9.81), floor=True, **options):
    """Bodies (shape, position, orientation) on a floor; pairs are found, or all are declared."""
    mechanism = dy.Mechanism(gravity=gravity)
    bodies = [
        mechanism.add_body(shape, name=k, position=x, orientation=q)
        for k, (shape, x, q) in enumerate(places)
    ]
    if found:
        if floor:
            mechanism.add_obstacle(dy.HalfSpace(), name="floor")
        mechanism.collide(**options)
    else:
        for j, body in enumerate(bodies):
            if floor:
                mechanism.add_contact(body, name=f"floor|{j}", friction=0.5)
            for i in range(j):
                mechanism.add_contact(bodies[i], body, name=f"{i}|{j}", friction=0.5)
    return mechanism.finalize(0.01)


def heap(n, shapes, seed):
    """Bodies turned at random, one above the other."""
    rng = np.random.default_rng(seed)
    places = []
    for k in range(n):
        at = [*rng.uniform(-0.05, 0.05, 2), 0.2 + 0.27 * k]
        places.append((shapes[k % len(shapes)], at, rotation.random(rng)))
    return places


def poses(model, seconds, n):
    motion = dy.simulate(model, model.initial_state(), seconds)
    return motion.states[:, : 7 * n], motion


def check_steps(places, seconds):
    """Every step of a run is that of the model with all pairs declared, from the same state.

    Up to the solver's tolerance and the barrier of pairs that are not near, 1e-8 m in what follows.
    A step that the one cuts into intervals and the other does not ends elsewhere, so that whole
    motions of a heap come apart.
    """
    model, declared = scene(places, True), scene(places, False)
    motion = dy.simulate(model, model.initial_state(), seconds)
    alike = 0
    for k in range(len(motion) - 1):
        start, state = motion[k], declared.initial_state()
        for what in ("pose", "momentum", "interval_velocity", "interval_velocity_before"):
            getattr(state, what)[:] = getattr(start, what)
        (_, found), (after, wanted) = model.step(start), declared.step(state)
        if found.intervals == wanted.intervals:
            alike += 1
            np.testing.assert_allclose(motion[k + 1].pose, after.pose, rtol=0.0, atol=1e-6)
    assert alike >= 0.9 * (len(motion) - 1)
    assert any(len(part.pairs) > 2 for part in motion.parts)
    return motion


@pytest.mark.parametrize("seed", range(4))
def test_a_heap_of_balls_moves_as_with_every_pair_declared(seed):
    """It falls, breaks up and rolls away, through several sets of near pairs."""
    motion = check_steps(heap(6, [BALL], seed), 1.0)

    assert len(motion.parts) > 3 and max(len(part.pairs) for part in motion.parts) < 21


def test_any_two_shapes_meet_as_with_the_pair_declared():
    """Up to the first impact: what follows depends on the last digits, as edges and corners hit."""
    places = heap(4, SHAPES, 1)
    found, motion = poses(scene(places, True), 0.2, 4)
    declared, _ = poses(scene(places, False), 0.2, 4)

    assert len(motion.parts) > 1
    np.testing.assert_allclose(found, declared, rtol=0.0, atol=1e-6)


def test_a_tower_rests_as_with_every_pair_declared():
    """Boxes and drums; the planes between them appear while these fall by two centimetres each."""
    heights = [0.08, 0.26, 0.44, 0.62]
    places = [(s, (0, 0, z), UPRIGHT) for s, z in zip((BOX, DRUM, BOX, DRUM), heights)]
    found, motion = poses(scene(places, True), 1.0, 4)
    declared, _ = poses(scene(places, False), 1.0, 4)

    sizes = [len(part.pairs) for part in motion.parts]
    assert min(sizes) < max(sizes) == 4
    np.testing.assert_allclose(found[-1], declared[-1], rtol=0.0, atol=1e-5)


@pytest.mark.parametrize(("part", "steps"), [(1e-6, 1.0), (0.01, 1.5), (1.0, 8.0), (100.0, 2.0)])
def test_the_motion_does_not_depend_on_the_allowances(monkeypatch, part, steps):
    """With the least, many steps are taken back; with the largest, all pairs are near."""
    monkeypatch.setattr(near_models, "PART", part)
    monkeypatch.setattr(near_models, "STEPS", steps)
    motion = check_steps(heap(5, [BALL], 7), 0.8)

    assert (len(motion.parts) == 1) == (part == 100.0)


def flying_together(seed, found):
    """Eight shapes that fly into each other in free space: their model, motion and mass."""
    rng, n = np.random.default_rng(seed), 8
    corners = np.array(list(np.ndindex(2, 2, 2))) - 0.5
    places = [(SHAPES[k % 4], 0.8 * corners[k], rotation.random(rng)) for k in range(n)]
    model = scene(places, found, gravity=(0, 0, 0), floor=False)
    state = model.initial_state()
    for k in range(n):
        aim = -corners[k] + rng.normal(size=3) * 0.1
        model.set_body(state, k, velocity=aim, angular_velocity=rng.normal(size=3))
    return model, dy.simulate(model, state, 1.0), n * np.linalg.norm(corners[0])


@pytest.mark.parametrize("seed", range(6))
def test_energy_never_grows_and_momentum_is_kept(seed):
    _, motion, scale = flying_together(seed, True)
    energy, momentum = motion.energy(), motion.momentum()

    assert len({part.pairs for part in motion.parts}) > 3
    assert energy[-1] < 0.9 * energy[0]  # they did meet
    # planes store some of the bodies' energy for an impact
    assert (energy[1:] - np.minimum.accumulate(energy)[:-1]).max() < 0.03 * energy[0]
    assert np.abs(momentum - momentum[0]).max() < 2e-3 * scale  # planes weigh a thousandth


@pytest.mark.parametrize("seed", range(3))
def test_planes_of_declared_pairs_have_what_bodies_lack_of_momentum(seed):
    _, motion, scale = flying_together(seed, False)
    linear, bodies = motion.momentum()[:, :3], motion.twists[:, : 6 * 8].reshape(-1, 8, 6)
    alone = bodies[:, :, :3].sum(axis=1)  # of 1 kg each

    np.testing.assert_allclose(linear, linear[[0]] * np.ones((len(linear), 1)), atol=1e-8 * scale)
    planes = motion.twists[:, 6 * 8 :].reshape(len(linear), -1, 6)[:, :, :3].sum(axis=1)
    np.testing.assert_allclose(alone + LIGHT * planes, linear, atol=1e-8 * scale)


@pytest.mark.parametrize("seed", range(2))
def test_energy_with_that_of_planes_never_grows(seed):
    """Where they are not laid anew: rows are those of the start, and corners of a plane that turns
    by a leave them by up to a^2 / 2."""
    model, motion, _ = flying_together(seed, False)
    energy = motion.energy()

    omega = np.abs(motion.twists.reshape(len(motion), -1, 6)[:, :, 3:]).max()
    waver = 1e-6 + (model.timestep * omega) ** 2 / 2
    assert energy[-1] < 0.9 * energy[0]
    assert np.diff(energy).max() < waver * energy[0]


@pytest.mark.parametrize("speed", [1.0, 30.0, 200.0])
def test_no_pair_that_gets_in_touch_within_a_step_is_missed(speed):
    """A ball hits another one that stands far away, which hits a wall of a centimetre."""
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    mechanism.add_body(BALL, name="one")
    mechanism.add_body(BALL, name="other", position=(1.0, 0, 0))
    mechanism.add_obstacle(dy.Box(0.01, 5.0, 5.0, mass=1.0), name="wall", position=(1.5, 0, 0))
    mechanism.collide(friction=0.0)
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    model.set_body(state, "one", velocity=(speed, 0, 0))
    motion = dy.simulate(model, state, max(0.1, np.ceil(3.0 / speed * 100) / 100))

    x, y = (motion.body(name)[0][:, 0] for name in ("one", "other"))
    assert (y - x).min() > 0.2 and y.max() < 1.395
    assert y[-1] > 1.3  # it is there


@pytest.mark.parametrize("lower", [0.0, 0.3])
def test_a_limb_that_is_hit_within_a_step_does_not_pass_its_neighbour(lower):
    """A fast ball hits a bat at rest, which swings by a large angle in one step and meets a post.

    Nothing of that is in sight before the step: it is taken back, and solved with the post.
    """
    mechanism = dy.Mechanism(gravity=(0, 0, 0))
    bat = mechanism.add_body(dy.Capsule(0.02, 1.0, mass=0.2), name="bat", position=(0, 0, -0.5))
    ends = {"parent_point": (0, 0, 0), "child_point": (0, 0, 0.5)}
    mechanism.add_joint(dy.Revolute(mechanism.world, bat, axis=(0, 1, 0), name="hinge", **ends))
    mechanism.add_body(BALL, name="ball", position=(0.5, 0, -0.9 + lower))
    mechanism.add_obstacle(dy.Sphere(0.05, mass=1.0), name="post", position=(-0.5, 0, -0.5))
    mechanism.collide(friction=0.0)
    model = mechanism.finalize(0.01)
    state = model.initial_state()
    model.set_body(state, "ball", velocity=(-80.0, 0, 0))
    motion = dy.simulate(model, state, 0.1)

    angle = motion.joint("hinge").ravel()
    post = np.array([-0.5, 0, -0.5])
    for turn in angle:
        way = np.array([-np.sin(turn), 0, -np.cos(turn)])
        nearest = np.clip(post @ way, 0.0, 1.0) * way
        assert np.linalg.norm(post - nearest) > 0.07 - 1e-9
    assert abs(angle[-1]) > 0.5  # it is there


@pytest.mark.slow
def test_a_large_heap_of_mixed_shapes_falls_and_keeps_apart():
    """Sixty of them, side by side and above each other: every step is solved."""
    rng, places = np.random.default_rng(3), []
    for k in range(60):
        column = np.array([k % 4, k // 4 % 5, k // 20]) - [1.5, 2.0, 0.0]
        at = 0.3 * column + [0, 0, 0.3] + rng.uniform(-0.02, 0.02, 3)
        places.append((SHAPES[k % 4], at, rotation.random(rng)))
    model = scene(places, True)

    motion = dy.simulate(model, model.initial_state(), 1.0)

    least = min(motion.contact(pair).gap.min() for pair in motion.near_pairs)
    assert len(motion.near_pairs) > 100 and least > 0.0
    energy = motion.energy()
    # half a step's fall of each of 60 kg, m (h g)^2 = 0.01 J, and planes that give back
    assert np.diff(energy).max() < 60 * (0.01 * 9.81) ** 2 + 0.01 * np.ptp(energy)
