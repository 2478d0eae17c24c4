"""Sensors: cases worked by hand, their noise, and that reading changes nothing."""

import itertools
import pickle

import numpy as np
import pytest

import dynamics as dy
from dynamics import rotation
from dynamics.parts.geometry import Frame, Geometry, Mesh

G = 9.81
UP, STILL = [0.0, 0.0, G], [0.0, 0.0, 0.0]
H = 0.01


def block(mech, name, position=(0.0, 0.0, 1.0), mass=1.0, size=0.2):
    return mech.add_body(dy.Box(size, size, size, mass=mass), name=name, position=position)


def spinner(rate, arm=0.5, h=H, **options):
    """A body that turns about a vertical axis through its centre of mass."""
    mech = dy.Mechanism()
    body = block(mech, "wheel")
    mech.add_joint(dy.Revolute(mech.world, body, (0, 0, 1), parent_point=(0, 0, 1), name="axle"))
    model = mech.finalize(h, **options)
    state = model.initial_state()
    model.set_joint(state, "axle", 0.0, rate)
    return model, state, dy.Sensors(model, [dy.IMU("wheel", (arm, 0.0, 0.0), name="imu")])


def driven_pile(collide):
    """Two boxes on the ground, and a third one with a motor, so that controllers are called."""
    mech = dy.Mechanism()
    low, high = block(mech, "low", (0, 0, 0.1)), block(mech, "high", (0, 0, 0.3), mass=2.0)
    other = block(mech, "driven", (3, 0, 1))
    mech.add_joint(
        dy.Prismatic(mech.world, other, (1, 0, 0), parent_point=(3, 0, 1), actuated=True)
    )
    if collide:
        mech.add_obstacle(dy.HalfSpace(), name="floor")
        mech.collide(["low", "high"])
    else:
        mech.add_contact(low)
        mech.add_contact(high, low)
    model = mech.finalize(H)
    return model, dy.separate(model, model.initial_state())


# Inertial units


def test_at_rest_an_imu_reads_gravity_upwards():
    mech = dy.Mechanism()
    body = block(mech, "body")
    mech.add_joint(dy.Fixed(mech.world, body, parent_point=(0, 0, 1)))
    model = mech.finalize(H)
    motion = dy.simulate(model, model.initial_state(), 0.1)
    half_turn = (0.0, 1.0, 0.0, 0.0)  # about x: the sensor's z points down
    imus = [dy.IMU("body", (0.1, 0, 0)), dy.IMU("body", orientation=half_turn, name="down")]
    found = dy.Sensors(model, [*imus, dy.IMU(mech.world)]).history(motion)

    np.testing.assert_allclose(found["body imu"], [UP + STILL] * 11, atol=1e-9)
    np.testing.assert_allclose(found["down"], [[0.0, 0.0, -G] + STILL] * 11, atol=1e-9)
    np.testing.assert_allclose(found["world imu"], [UP + STILL] * 11, atol=0.0)


def test_in_free_fall_an_imu_reads_nothing_from_the_first_step_on():
    mech = dy.Mechanism()
    block(mech, "body")
    model = mech.finalize(H)
    motion = dy.simulate(model, model.initial_state(), 0.1)
    found = dy.Sensors(model, [dy.IMU("body")]).history(motion)["body imu"]

    np.testing.assert_allclose(found[0], UP + STILL)  # nothing fell yet
    np.testing.assert_allclose(found[1:], 0.0, atol=1e-9)
    again = dy.simulate(model, motion[4], 0.1)  # goes on
    found = dy.Sensors(model, [dy.IMU("body")]).history(again)["body imu"]
    np.testing.assert_allclose(found, 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("rate", "options", "cuts"),
    [(3.0, {}, 1), (40.0, {}, 4), (3.0, {"order": 4}, 1), (3.0, {"form": "first order"}, 1)],
)
def test_a_spinning_imu_reads_the_rate_and_the_centripetal_acceleration(rate, options, cuts):
    model, state, sensors = spinner(rate, **options)
    motion = dy.simulate(model, state, 0.1)
    found = sensors.history(motion)["imu"]

    assert motion.info["most_intervals"] == cuts
    turn = rate * H / cuts
    # A body turns by asin(omega h) in an interval (theory/step (2)), and the second difference of a
    # point on a circle is 2 r (1 - cos): r omega^2 (1 + (omega h)^2 / 4 + ...).
    np.testing.assert_allclose(found[:, 0], -0.5 * rate**2, rtol=0.3 * turn**2)
    np.testing.assert_allclose(found[2:, [1, 3, 4]], 0.0, atol=0.5 * rate**2 * turn**3)
    np.testing.assert_allclose(found[:, 2], G, rtol=1e-9)
    np.testing.assert_allclose(found[:, 5], rate, rtol=turn**2)


def test_specific_forces_are_of_second_order_a_step_late():
    errors = []
    for h in (0.01, 0.005):
        mech = dy.Mechanism()
        bob = block(mech, "bob", None)
        mech.add_joint(dy.Revolute(mech.world, bob, (0, 1, 0), child_point=(-1.0, 0, 0)))
        model = mech.finalize(h)
        motion = dy.simulate(model, model.initial_state(), 0.5 + h)
        found = dy.Sensors(model, [dy.IMU("bob", (0.3, 0, 0.1))]).history(motion)["bob imu"][-1]
        inertia = bob.mass + bob.inertia[1, 1]
        angle = motion.joint("world-bob")[-2]
        rate = motion.joint_velocity("world-bob")[-2]
        growth = bob.mass * G * np.cos(angle) / inertia  # of the angle, downwards
        arm = np.array([1.3, 0.0, 0.1])  # from the hinge
        alpha, omega = np.array([0.0, growth, 0.0]), np.array([0.0, rate, 0.0])
        acceleration = np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
        gravity = G * np.array([np.sin(angle), 0.0, -np.cos(angle)])
        errors.append(np.abs(found[:3] - (acceleration - gravity)).max())

    assert errors[0] < (0.01 * rate) ** 2 * 3 * G
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


# Forces


def test_a_sensor_under_a_weight_reads_it_in_the_frame_asked_for():
    mech = dy.Mechanism()
    base, load = block(mech, "base"), block(mech, "load", None, mass=3.0)
    mech.add_joint(dy.Fixed(mech.world, base, parent_point=(0, 0, 1)))
    mech.add_joint(
        dy.Fixed(base, load, parent_point=(0.4, 0, 0), child_point=(0, 0, -0.1), name="mount")
    )
    model = mech.finalize(H)
    motion = dy.simulate(model, model.initial_state(), 0.1)
    quarter = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)  # about x: the sensor's y points up
    sensors = [
        dy.ForceTorque("mount"),
        dy.ForceTorque("mount", (-0.4, 0, 0), quarter, name="aside"),
        dy.ForceTorque("mount", quantities="force", name="force"),
    ]
    found = dy.Sensors(model, sensors).history(motion)

    weight = 3.0 * G
    np.testing.assert_allclose(found["mount force"][1:], [[0, 0, weight, 0, 0, 0]] * 10, atol=1e-8)
    # 0.4 m beside the line of the force: r x F = (0.4, 0, 0) x (0, 0, w) = (0, -0.4 w, 0)
    torque = [0.0, 0.0, 0.4 * weight]  # world -y is the sensor's z
    np.testing.assert_allclose(found["aside"][1:], [[0, weight, 0, *torque]] * 10, atol=1e-8)
    assert found["force"].shape == (11, 3)


@pytest.mark.parametrize("kind", ["second order", "first order", "composed"])
def test_force_is_mass_times_specific_force(kind):
    mech = dy.Mechanism()
    arm, load = block(mech, "arm", None), block(mech, "load", None, mass=3.0)
    mech.add_joint(dy.Revolute(mech.world, arm, (0, 1, 0), child_point=(-0.5, 0, 0)))
    mech.add_joint(dy.Fixed(arm, load, parent_point=(0.3, 0, 0), name="mount"))
    model = mech.finalize(H, form="first order" if kind == "first order" else "second order")
    model = dy.compose(model, "suzuki4") if kind == "composed" else model
    motion = dy.simulate(model, model.initial_state(), 0.5)
    found = dy.Sensors(model, [dy.ForceTorque("mount"), dy.IMU("load")]).history(motion)

    # Velocities are solved to 5e-12 of the largest, and forces are their changes over h.
    close = 3.0 * 10.0 * 1e-11 / H
    np.testing.assert_allclose(
        found["mount force"][1:, :3], 3.0 * found["load imu"][1:, :3], atol=close
    )


@pytest.mark.parametrize("order", [4, 6])
def test_forces_of_higher_orders_are_means_over_an_interval(order):
    gaps = []
    for h in (0.01, 0.005):
        mech = dy.Mechanism()
        bob = block(mech, "bob", None)
        mech.add_joint(
            dy.Revolute(mech.world, bob, (0, 1, 0), child_point=(-0.5, 0, 0), name="hinge")
        )
        model = mech.finalize(h, order=order)
        motion = dy.simulate(model, model.initial_state(), 0.3)
        sensors = [dy.ForceTorque("hinge", (0, 0, 0)), dy.IMU("bob")]
        found = dy.Sensors(model, sensors).history(motion)
        force, felt = found["hinge force"][1:, :3], found["bob imu"][1:, :3]
        gaps.append(np.abs(force - felt).max() / np.abs(felt).max())

    # The impulses of a step act at its start and its inner nodes, less than h before its middle, in
    # which the force turns by less than 6 rad/s h.
    assert gaps[0] < 6.0 * 0.01
    assert gaps[0] / gaps[1] == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("collide", [False, True])
def test_contact_sensors_feel_weights(collide):
    model, state = driven_pile(collide)
    motion = dy.simulate(model, state, 0.3)
    sensors = [
        dy.ContactSensor("low", "world", name="ground"),
        dy.ContactSensor("low", "high", name="top"),
        dy.ContactSensor("low"),
        dy.ContactSensor("driven"),
        dy.ContactSensor("high", quantities="touch", threshold=100.0, name="loose"),
    ]
    found = dy.Sensors(model, sensors).history(motion)

    # The plane between the boxes weighs a thousandth of the lighter one.
    ends = {name: readings[-1] for name, readings in found.items()}
    np.testing.assert_allclose(ends["ground"], [3.0 * G, 1.0], rtol=1e-3)
    np.testing.assert_allclose(ends["top"], [2.0 * G, 1.0], rtol=1e-3)
    np.testing.assert_allclose(ends["low contact"], [5.0 * G, 1.0], rtol=1e-3)
    assert ends["driven contact"].tolist() == [0.0, 0.0]
    assert ends["loose"].tolist() == [0.0]


# Ranges


def distance(shape, origin, direction):
    """Distance from a place on the world to a shape on it."""
    mech = dy.Mechanism()
    mech.add_body(dy.Sphere(0.01, mass=1), position=(0, 0, 1e6))
    mech.add_obstacle(shape, name="shape")
    model = mech.finalize(H)
    eye = dy.RangeFinder("world", origin, direction, largest=1e3)
    return dy.Sensors(model, [eye]).read(model.initial_state())["world range"][0]


@pytest.mark.parametrize(
    ("shape", "origin", "direction", "wanted"),
    [
        (dy.Sphere(0.5, mass=1), (-2, 0, 0), (1, 0, 0), 1.5),
        (dy.Sphere(0.5, mass=1), (-2, 0.3, 0), (1, 0, 0), 1.6),
        (dy.Sphere(0.5, mass=1), (-2, 0.6, 0), (1, 0, 0), np.inf),
        (dy.Sphere(0.5, mass=1), (2, 0, 0), (1, 0, 0), np.inf),
        (dy.Sphere(0.5, mass=1), (0, 0, 0), (1, 0, 0), 0.5),
        (dy.Box(1, 2, 4, mass=1), (-2, 0.9, 1.9), (1, 0, 0), 1.5),
        (dy.Box(1, 2, 4, mass=1), (-2, 1.1, 0), (1, 0, 0), np.inf),
        (dy.Box(1, 2, 4, mass=1), (0, 0, 0), (0, 0, 1), 2.0),
        (dy.Box(1, 1, 1, mass=1), (-1.5, 0, -1), (1, 0, 1), np.sqrt(2)),
        (dy.Cylinder(0.5, 2, mass=1), (-2, 0, 0.9), (1, 0, 0), 1.5),
        (dy.Cylinder(0.5, 2, mass=1), (0.4, 0, 3), (0, 0, -1), 2.0),
        (dy.Cylinder(0.5, 2, mass=1), (-2, 0, 1.1), (1, 0, 0), np.inf),
        (dy.Cylinder(0.5, 2, mass=1, axis=(0, 1, 0)), (0, 3, 0), (0, -1, 0), 2.0),
        (dy.Capsule(0.5, 2, mass=1), (0, 0, 3), (0, 0, -1), 1.5),
        (dy.Capsule(0.5, 2, mass=1), (-2, 0, 1.3), (1, 0, 0), 1.6),
        (dy.Capsule(0.5, 2, mass=1), (-2, 0, 0.5), (1, 0, 0), 1.5),
        (dy.Rod(2.0, 0.1, mass=1), (-2, 0, 0.9), (1, 0, 0), 1.9),
        (dy.Rod(2.0, mass=1), (-2, 0, 0), (1, 0, 0), np.inf),
        (dy.Ellipsoid(0.5, 1, 2, mass=1), (0, 3, 0), (0, -1, 0), 2.0),
        (dy.Ellipsoid(0.5, 1, 2, mass=1), (-2, 0.6, 0), (1, 0, 0), 1.6),
        (dy.Ellipsoid(0.5, 1, 2, mass=1), (-2, 1.1, 0), (1, 0, 0), np.inf),
        (dy.HalfSpace(), (0, 0, 3), (0, 1, -1), 3 * np.sqrt(2)),
        (dy.HalfSpace(), (0, 0, 3), (0, 0, 1), np.inf),
        (dy.HalfSpace(), (0, 0, 3), (1, 0, 0), np.inf),
        (dy.HalfSpace(), (0, 0, -3), (0, 0, 1), 3.0),
        (dy.HalfSpace(), (0, 0, -3), (0, 0, -1), np.inf),
        (dy.HalfSpace((0.6, 0, 0.8), (0, 0, 1)), (0, 0, 3), (-0.6, 0, -0.8), 1.6),
        # along edges and seams, and from within
        (dy.Box(1, 1, 1, mass=1), (0.5, 0.5, -3), (0, 0, 1), 2.5),
        (dy.Cylinder(0.5, 2, mass=1), (0, 0, 0), (1, 0, 1), 0.5 * np.sqrt(2)),
        (dy.Cylinder(0.5, 2, mass=1), (0, 0, 0), (0, 0, -1), 1.0),
        (dy.Cylinder(0.5, 2, mass=1), (0.6, 0, 3), (0, 0, -1), np.inf),
        (dy.Capsule(0.5, 2, mass=1), (-2, 0, 1), (1, 0, 0), 1.5),
        (dy.Capsule(0.5, 2, mass=1), (0, 0, 0), (0, 0, 1), 1.5),
        (dy.Capsule(0.5, 2, mass=1), (0, 0, 1.2), (1, 0, 0), np.sqrt(0.21)),
    ],
)  # fmt: skip
def test_a_ray_on_a_shape(shape, origin, direction, wanted):
    assert distance(shape, origin, direction) == pytest.approx(wanted, rel=1e-12)


def test_a_range_finder_sees_ground_obstacles_meshes_and_other_bodies_but_not_its_own():
    mech = dy.Mechanism()
    block(mech, "eye")
    ball = mech.add_body(dy.Sphere(0.25, mass=1), position=(2, 0, 1))
    legs = dy.Compound([(dy.Box(0.2, 0.2, 0.2, mass=1), (0, 0, -0.5), (1.0, 0, 0, 0)),
                        (dy.Box(0.2, 0.2, 0.2, mass=1), (0, 0, 0.5))])  # fmt: skip
    mech.add_body(legs, name="legs", position=(0, 2, 1.5))
    mech.add_contact(ball)
    corners = np.array([[-3.0, -1, 0], [-3, 1, 0], [-3, 0, 3]])
    sheet = Mesh("", "", np.ones(3), corners, np.array([[0, 1, 2]]))
    place = np.zeros(3), np.array([1.0, 0, 0, 0])
    mech.add_obstacle(Geometry(sheet, *place), name="sheet")
    mech.add_obstacle(dy.Box(1, 1, 1, mass=1), position=(0, -2, 1), name="box")
    model = mech.finalize(H)
    state = model.initial_state()
    ways = [(1, 0, 0), (-1, 0, 0), (0, 0, -1), (0, 1, 0), (0, -2, 0), (0, 0, 1)]
    rays = dy.RangeFinder("eye", (0, 0, 0), ways)
    near = dy.RangeFinder("eye", direction=ways, largest=1.6, name="near")
    blind = dy.RangeFinder("eye", direction=(0, 0, 1), nothing=-1.0, noise=0.5, name="blind")
    found = dy.Sensors(model, [rays, near, blind]).read(state)

    np.testing.assert_allclose(found["eye range"], [1.75, 3.0, 1.0, 1.9, 1.5, np.inf])
    assert found["blind"].tolist() == [-1.0]
    np.testing.assert_allclose(found["near"], [np.inf, np.inf, 1.0, np.inf, 1.5, np.inf])
    model.set_body(state, "eye", orientation=rotation.from_axis_angle((0, 0, 1), np.pi / 2))
    found = dy.Sensors(model, [rays]).read(state)["eye range"]
    np.testing.assert_allclose(found, [1.9, 1.5, 1.0, 3.0, 1.75, np.inf])


def test_range_finders_of_one_model_see_each_others_bodies_at_any_construction():
    mech = dy.Mechanism()
    for k, size in enumerate((0.2, 0.6)):
        mech.add_body(dy.Box(size, size, size, mass=1), name=k, position=(2 * k, 0, 1))
    model = mech.finalize(H)
    sensors = [dy.RangeFinder(k, direction=(1 - 2 * k, 0, 0), name=k) for k in range(2)]
    for chosen in (sensors, sensors[:1], sensors[1:]):
        found = dy.Sensors(model, chosen).read(model.initial_state())
        assert {k: d.tolist() for k, d in found.items()} == {
            one.name: [pytest.approx((1.7, 1.9)[one.name])] for one in chosen
        }
    other = mech.copy()
    other.add_obstacle(dy.Box(0.2, 0.2, 0.2, mass=1), position=(1, 0, 1), name="between")
    found = dy.Sensors(other.finalize(H), sensors).read(model.initial_state())
    np.testing.assert_allclose([found[0][0], found[1][0]], 0.9)


def test_a_range_finder_on_the_world_sees_what_contacts_hold():
    mech = dy.Mechanism()
    ball = mech.add_body(dy.Sphere(0.1, mass=1), name="ball", position=(0, 0, 3))
    cube = block(mech, "cube", (2, 0, 3))
    mech.add_contact(ball, against_shape=dy.Box(1, 1, 2, mass=1))
    mech.add_contact(cube, against_shape=dy.Compound([(dy.Box(1, 1, 2, mass=1), (3, 0, 0))]))
    mech.frames["eye"] = Frame("eye", mech.world, np.array([1.5, 0, 0]), np.array([1.0, 0, 0, 0]))
    model = mech.finalize(H)
    both = [(1, 0, 0), (-1, 0, 0), (0, 0, 1)]
    sensors = [
        dy.RangeFinder("eye", direction=both),
        dy.RangeFinder("world", (0, 0, 4), direction=(0, 0, -1), name="top"),
        dy.FrameSensor("eye", quantities=("position", "orientation", "velocity")),
    ]
    found = dy.Sensors(model, sensors).read(model.initial_state())

    np.testing.assert_allclose(found["eye range"], [1.0, 1.0, np.inf])
    np.testing.assert_allclose(found["top"], [0.9])
    assert found["eye pose"].tolist() == [1.5, 0, 0, 1, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("shape", ["box", "capsule", "cylinder", "ellipsoid"])
def test_rays_end_on_the_surface_and_not_before(shape):
    # points on the rays are inside or not, and change there for the first time
    rng = np.random.default_rng(3)
    solid, inside = {
        "box": (dy.Box(1, 2, 3, mass=1), lambda p: (np.abs(p) <= [0.5, 1, 1.5]).all(-1)),
        "capsule": (
            dy.Capsule(0.4, 1.6, mass=1),
            lambda p: np.hypot(np.hypot(*p.T[:2]), np.maximum(np.abs(p[:, 2]) - 0.8, 0)) <= 0.4,
        ),
        "cylinder": (
            dy.Cylinder(0.4, 1.6, mass=1),
            lambda p: (np.hypot(*p.T[:2]) <= 0.4) & (np.abs(p[:, 2]) <= 0.8),
        ),
        "ellipsoid": (
            dy.Ellipsoid(0.5, 1, 1.5, mass=1),
            lambda p: ((p / [0.5, 1, 1.5]) ** 2).sum(-1) <= 1,
        ),
    }[shape]
    mech = dy.Mechanism()
    mech.add_body(dy.Sphere(0.01, mass=1), position=(0, 0, 1e6))
    turned = rotation.random(rng)
    mech.add_obstacle(solid, name="shape", position=(0.1, 0.2, 0.3), orientation=turned)
    model = mech.finalize(H)
    ways = rotation.unit_vector(rng.normal(size=(200, 3)), "ways")
    t = np.linspace(0.0, 5.0, 5001)
    for origin in ([0.2, 0.1, 0.4], [1.5, 1.0, 1.0], [-2.0, 0.5, 0.0]):
        eye = dy.RangeFinder("world", origin, ways, largest=1e3)
        found = dy.Sensors(model, [eye]).read(model.initial_state())["world range"]
        for way, distance in zip(ways, found):
            points = np.array(origin) + t[:, None] * way - [0.1, 0.2, 0.3]
            within = inside(rotation.rotate(rotation.conjugate(turned), points))
            change = np.flatnonzero(within[1:] != within[:-1])
            if not np.isfinite(distance):
                assert not change.size
            elif change.size:
                assert t[change[0]] - 1e-9 <= distance <= t[change[0] + 1] + 1e-9


def test_a_mesh_that_is_not_there_is_not_seen_with_a_warning():
    mech = dy.Mechanism()
    block(mech, "eye")
    lost = Mesh("lost.stl", "/nowhere", np.ones(3))
    mech.scenery["wall"] = Geometry(lost, np.zeros(3), np.array([1.0, 0, 0, 0]))
    with pytest.warns(UserWarning, match="do not see a mesh of 'wall' of the world: its file does"):
        dy.Sensors(mech.finalize(H), [dy.RangeFinder("eye")])


# Encoders and frames


def test_encoders_and_frames_read_what_the_model_says():
    model, state, _ = spinner(2.0)
    motion = dy.simulate(model, state, 0.3)
    every = ("velocity", "position", "angular velocity", "orientation")
    sensors = [
        dy.JointSensor("axle"),
        dy.JointSensor("axle", 0, quantities="velocity", name="rate"),
        dy.FrameSensor("wheel", (0.5, 0, 0), quantities=every),
        dy.FrameSensor("wheel", (0.5, 0, 0), local=True, quantities="velocity", name="own"),
    ]
    found = dy.Sensors(model, sensors).history(motion)

    np.testing.assert_allclose(found["axle encoder"][:, 0], motion.joint("axle"))
    np.testing.assert_allclose(found["axle encoder"][:, 1], motion.joint_velocity("axle"))
    np.testing.assert_allclose(found["rate"][:, 0], motion.joint_velocity("axle"))
    velocity, position, spin, q = np.split(found["wheel pose"], [3, 6, 9], axis=1)
    np.testing.assert_allclose(q, motion.body("wheel")[1])
    arm = rotation.rotate(q, np.tile([0.5, 0, 0], (len(q), 1)))
    np.testing.assert_allclose(position, arm + [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(spin, np.tile([0, 0, 2.0], (len(q), 1)), atol=1e-9)
    np.testing.assert_allclose(velocity, np.cross(spin, arm), atol=1e-9)
    np.testing.assert_allclose(found["own"], np.tile([0, 1.0, 0], (len(q), 1)), atol=1e-9)


def test_frames_seen_from_others_and_their_axes_by_hand():
    model, state, _ = spinner(2.0)
    model.set_joint(state, "axle", np.pi / 2, 2.0)
    every = ("position", "orientation", "velocity", "angular velocity", "x axis", "z axis")
    mech = model.mechanism
    mech.add_frame("post", mech.world, position=(0, 0, 3), orientation=(0, 1, 0, 0))  # z downwards
    rim = (0.5, 0, 0)
    found = dy.Sensors(
        model,
        [
            dy.FrameSensor("wheel", rim, name="world", quantities=every),
            dy.FrameSensor("wheel", rim, name="post", reference="post", quantities=every),
            dy.FrameSensor("wheel", rim, name="own", reference="wheel", quantities=every),
            dy.FrameSensor("post", name="turning", reference="wheel", quantities=every[:4]),
        ],
    ).read(state)

    r = np.sqrt(0.5)
    wanted = {
        "world": [0, 0.5, 1, r, 0, 0, r, -1, 0, 0, 0, 0, 2, 0, 1, 0, 0, 0, 1],
        "post": [0, -0.5, 2, 0, -r, r, 0, -1, 0, 0, 0, 0, -2, 0, -1, 0, 0, 0, -1],
        "own": [0.5, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
        # on the axis, so that it stays there
        "turning": [0, 0, 2, 0, r, -r, 0, 0, 0, 0, 0, 0, -2],
    }
    for name, numbers in wanted.items():
        assert found[name] == pytest.approx(np.array(numbers), abs=1e-12), name


def test_centroids_by_hand():
    mech = dy.Mechanism(gravity=(0, 0, 0))
    for name, x, mass in (("a", 0.0, 1.0), ("b", 3.0, 2.0), ("c", 9.0, 5.0)):
        mech.add_body(dy.Sphere(0.1, mass=mass), name=name, position=(x, 0, 0))
    model = mech.finalize(H)
    state = model.initial_state()
    model.set_body(state, "a", velocity=(0, 3, 0))
    model.set_body(state, "b", angular_velocity=(0, 0, 7))
    sensors = [
        dy.CentroidalSensor(["a", "b"]),
        dy.CentroidalSensor(quantities="center of mass"),
    ]
    found = dy.Sensors(model, sensors).read(state)

    # relative to (2, 0, 0), which moves by 1: a at -2 with 2, b at 1 with -1
    spin = 1.0 * -2.0 * 2.0 + 2.0 * 1.0 * -1.0 + 0.4 * 2.0 * 0.1**2 * 7.0
    assert found["a centroid"] == pytest.approx([2, 0, 0, 0, 1, 0, 0, 0, spin], abs=1e-12)
    assert found["all centroid"] == pytest.approx([51 / 8, 0, 0])


def test_centroids_of_all_bodies_are_those_of_the_model_and_leave_helpers_out():
    model, state = driven_pile(True)
    motion = dy.simulate(model, state, 0.2, controls=[1.0])
    found = dy.Sensors(model, [dy.CentroidalSensor()]).history(motion)["all centroid"]

    kinematics = dy.Kinematics(model)
    for reading, k in zip(found[::5], range(0, len(motion), 5)):
        state = motion[k]
        np.testing.assert_allclose(reading[:3], kinematics.center_of_mass(state), atol=1e-12)
        momentum = kinematics.centroidal_matrix(state) @ kinematics.velocities(state)
        np.testing.assert_allclose(reading[3:6] * model.mechanism.mass, momentum[:3], atol=1e-9)
        np.testing.assert_allclose(reading[6:], momentum[3:], atol=1e-9)


# Online


@pytest.mark.parametrize("collide", [False, True])
def test_reading_in_a_controller_gives_the_history_and_changes_no_bit_of_the_motion(collide):
    model, state = driven_pile(collide)
    sensors = dy.Sensors(
        model,
        [
            dy.IMU("high", (0.1, 0, 0), noise=dy.Noise(0.1, walk=0.02)),
            dy.ContactSensor("low", noise=0.3),
            dy.RangeFinder("driven", direction=(-1, 0, -1)),
            dy.FrameSensor("high", noise=0.01, quantities=("position", "orientation", "velocity")),
            dy.IMU("low", rate=25.0, noise=0.1),
        ],
        seed=5,
    )
    seen = []

    def controller(state, time):
        seen.append(sensors.read(state))
        return [np.sin(10 * time)]

    watched = dy.simulate(model, state, 0.3, controller=controller)
    alone = dy.simulate(model, state, 0.3, controller=lambda state, time: [np.sin(10 * time)])
    history = sensors.copy().history(watched)

    assert np.array_equal(watched.states, alone.states)
    for name, readings in history.items():
        online = np.array([one[name] for one in seen])
        np.testing.assert_array_equal(online, readings[:-1], err_msg=name)
    assert len(np.unique(history["low imu"][:, 0])) == 8  # 0.3 s at 25 samples a second


def test_a_controller_of_a_model_that_finds_contacts_sees_its_states():
    model, state = driven_pile(True)
    seen = []

    def controller(state, time):
        seen.append(state)
        return [0.0]

    motion = dy.simulate(model, state, 0.1, controller=controller)

    assert np.array_equal([one.data for one in seen], motion.states[:-1])
    assert [one.time for one in seen] == pytest.approx(motion.time[:-1])


def test_single_steps_read_as_a_run():
    model, state, sensors = spinner(40.0)
    motion = dy.simulate(model, state, 0.05)
    wanted = sensors.history(motion)["imu"]

    for k in range(5):
        state, _ = model.step(state)
        np.testing.assert_array_equal(sensors.read(state)["imu"], wanted[k + 1])
        np.testing.assert_array_equal(sensors.read(motion[k + 1])["imu"], wanted[k + 1])
    sent = pickle.loads(pickle.dumps(state))
    np.testing.assert_array_equal(sensors.read(sent)["imu"], wanted[5])


def test_records_that_are_far_apart_have_the_same_readings():
    model, state, sensors = spinner(3.0)
    wanted = sensors.history(dy.simulate(model, state, 0.4))["imu"]
    found = sensors.history(dy.simulate(model, state, 0.4, every=4))["imu"]

    np.testing.assert_array_equal(found, wanted[::4])


def test_a_motion_from_a_file_has_the_same_readings(tmp_path):
    model, state, sensors = spinner(40.0)
    motion = dy.simulate(model, state, 0.1)
    motion.save(tmp_path / "motion.npz")
    again = dy.Trajectory.load(tmp_path / "motion.npz", model)

    np.testing.assert_array_equal(sensors.history(again)["imu"], sensors.history(motion)["imu"])


def test_sensors_of_a_mechanism_are_read_by_default():
    mech = dy.Mechanism()
    body = block(mech, "body")
    imu = mech.add_sensor(dy.IMU(body))
    model = mech.finalize(H)
    mech.add_sensor(dy.FrameSensor(body))  # sensors change no tables
    found = dy.Sensors(model).read(model.initial_state())

    assert mech.sensors["body imu"] is imu
    assert {name: len(one) for name, one in found.items()} == {"body imu": 6, "body pose": 7}
    assert dy.Sensors(model, ["body pose"]).sizes == {"body pose": 7}
    assert list(mech.copy().sensors) == ["body imu", "body pose"]


# Noise


def still(noise, seconds, seed=0, **options):
    """Readings of a body at rest: an encoder's, whose exact ones are 0."""
    mech = dy.Mechanism(gravity=(0, 0, 0))
    body = block(mech, "body", None)
    mech.add_joint(dy.Revolute(mech.world, body, (0, 0, 1), name="axle"))
    model = mech.finalize(H)
    sensor = dy.JointSensor("axle", quantities="position", noise=noise, **options)
    motion = dy.simulate(model, model.initial_state(), seconds)
    return dy.Sensors(model, [sensor], seed=seed).history(motion)["axle encoder"][:, 0]


def test_white_noise_has_its_standard_deviation_and_no_correlation():
    found = still(0.3, 100.0)
    n = found.size

    # The standard deviation of an estimate is sigma / sqrt(2 n), that of a mean sigma / sqrt(n).
    assert np.std(found) == pytest.approx(0.3, abs=5 * 0.3 / np.sqrt(2 * n))
    assert abs(found.mean()) < 5 * 0.3 / np.sqrt(n)
    assert abs((found[1:] * found[:-1]).mean()) < 5 * 0.09 / np.sqrt(n)


def test_a_bias_walks_by_its_standard_deviation_of_a_second():
    found = still(dy.Noise(bias=2.0, walk=0.5), 100.0)
    steps, n = np.diff(found), found.size - 1

    assert found[0] == 2.0
    assert np.std(steps) == pytest.approx(0.5 * np.sqrt(H), rel=5 / np.sqrt(2 * n))
    assert abs((steps[1:] * steps[:-1]).mean()) < 5 * 0.25 * H / np.sqrt(n)


def test_a_reset_forgets_held_samples_and_takes_another_seed():
    model, state, _ = spinner(1.0)
    sensors = dy.Sensors(model, [dy.JointSensor("axle", rate=10.0, noise=1.0)])
    first = sensors.read(state)["axle encoder"]
    model.set_joint(state, "axle", 0.5)
    np.testing.assert_array_equal(sensors.read(state)["axle encoder"], first)  # the same sample
    sensors.reset()
    np.testing.assert_allclose(sensors.read(state)["axle encoder"] - first, [0.5, -1.0])
    other = sensors.copy(seed=7)
    sensors.reset(seed=7)

    assert (sensors.seed, other.seed) == (7, 7)
    found = [one.read(state)["axle encoder"] for one in (sensors, other)]
    np.testing.assert_array_equal(*found)
    assert (found[0] - [0.5, 0.0] != first - [0.0, 1.0]).all()


def test_readings_are_rounded_to_their_resolution():
    found = still(dy.Noise(0.3, resolution=0.25), 1.0)

    assert set(np.abs(found / 0.25 - np.round(found / 0.25))) == {0.0}
    assert len(set(found)) > 3


def test_noise_repeats_with_its_seed_and_differs_between_seeds_and_names():
    first, again, other = still(0.3, 1.0), still(0.3, 1.0), still(0.3, 1.0, seed=1)
    named = still(0.3, 1.0, name="axle encoder")

    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, named)
    assert (first != other).all()
    # Independent: the correlation of n pairs has the standard deviation 1 / sqrt(n).
    assert abs(np.corrcoef(first, other)[0, 1]) < 5 / np.sqrt(first.size)
    model, state, _ = spinner(1.0)
    both = [dy.IMU("wheel", noise=1.0, name=name) for name in ("a", "b")]
    found = dy.Sensors(model, both).read(state)
    assert (found["a"] != found["b"]).all()


# Refusals


def test_sensors_on_nothing_are_refused_by_name():
    mech = dy.Mechanism()
    body = block(mech, "body")
    mech.add_joint(dy.Floating(mech.world, body, name="free"))
    mech.add_joint(dy.Fixed(body, block(mech, "load", None), name="weld"))
    for sensor, message in (
        (dy.IMU("bodi"), r"'bodi imu' is on 'bodi', which is neither a body nor a frame; bodies a"),
        (
            dy.ForceTorque("arm"),
            r"on joint 'arm', which does not exist; joints are \['free', 'weld'",
        ),
        (
            dy.ContactSensor("foot"),
            r"on 'foot', which is not a body; bodies are \['body', 'load'\]",
        ),
        (dy.ContactSensor("body", "wall"), "is on 'wall', which is not a body"),
        (dy.FrameSensor("body", reference="eye"), "is on 'eye', which is neither a body nor a fr"),
        (dy.CentroidalSensor(["body", "arm"]), "is on 'arm', which is not a body; bodies are"),
    ):
        with pytest.raises(dy.UnknownNameError, match=message):
            mech.add_sensor(sensor)
        with pytest.raises(dy.UnknownNameError, match=message):
            dy.Sensors(mech.copy().finalize(H), [sensor])
    for sensor, message in (
        (dy.ForceTorque("free"), "on joint 'free', which has no constraints"),
        (dy.JointSensor("weld"), "on joint 'weld', which has no coordinates"),
        (dy.JointSensor("free", 6), "coordinate 6 of joint 'free', which has 6: numbers are from"),
    ):
        with pytest.raises(ValueError, match=message):
            mech.add_sensor(sensor)
    with pytest.raises(TypeError, match=r"a sensor is what dynamics\.IMU and its like return, not"):
        mech.add_sensor("imu")
    mech.add_sensor(dy.IMU("body"))
    with pytest.raises(ValueError, match="there is a sensor 'body imu'; give this one another"):
        mech.add_sensor(dy.IMU("body"))


def test_options_that_make_no_sense_are_refused():
    for make, message in (
        (lambda: dy.IMU("a", quantities="position"), "measures no 'position'; quantities are"),
        (lambda: dy.IMU("a", quantities=()), "must be some of"),
        (lambda: dy.IMU("a", (1.0, 2.0)), r"point of sensor 'a imu' has shape \(2,\), it must"),
        (lambda: dy.IMU("a", rate=0.0), "rate of sensor 'a imu' is 0.0, and must be positive"),
        (lambda: dy.IMU("a", noise=-1.0), "white of a noise is negative"),
        (lambda: dy.Noise(np.ones((2, 2))), r"white of a noise has shape \(2, 2\)"),
        (lambda: dy.RangeFinder("a", direction=(0, 0, 0)), "direction of sensor 'a range' must no"),
        (lambda: dy.RangeFinder("a", direction=np.zeros((0, 3))), r"shape \(0, 3\); give \(3,\)"),
        (lambda: dy.RangeFinder("a", largest=-1.0), "largest of sensor 'a range' is -1.0"),
        (lambda: dy.ContactSensor("a", threshold=0.0), "threshold of sensor 'a contact' is 0.0"),
        (lambda: dy.FrameSensor("a", local=True, reference="b"), "leave out local="),
        (lambda: dy.CentroidalSensor("a"), r"are several; use \['a'\]"),
        (lambda: dy.CentroidalSensor([]), "must be some, each once"),
        (lambda: dy.CentroidalSensor(["a", "a"]), "must be some, each once"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(TypeError, match="sensor 'a imu' has no option 'std'; there are"):
        dy.IMU("a", std=1.0)


def test_suites_that_make_no_sense_are_refused():
    model, _, _ = spinner(1.0)
    for sensors, message in (
        ([dy.IMU("wheel"), dy.IMU("wheel")], "two sensors are called 'wheel imu'"),
        ([dy.IMU("wheel", noise=[1.0, 2.0])], r"white of the noise of sensor 'wheel imu' has sha"),
        ([dy.IMU("wheel", rate=200.0)], "rate of sensor 'wheel imu' is 200 1/s, above one sample"),
    ):
        with pytest.raises(ValueError, match=message):
            dy.Sensors(model, sensors)
    with pytest.raises(ValueError, match="seed is -1, and must be an integer"):
        dy.Sensors(model, seed=-1)
    with pytest.raises(dy.UnknownNameError, match="there is no sensor 'imu'"):
        dy.Sensors(model, ["imu"])
    other, state = driven_pile(False)
    sensors = dy.Sensors(model, [dy.IMU("wheel")])
    with pytest.raises(ValueError, match="the state is of another model: it has"):
        sensors.read(state)
    with pytest.raises(TypeError, match=r"one state; sensors.history\(motion\) reads all"):
        sensors.read(dy.simulate(other, state, H))
    with pytest.raises(ValueError, match="the trajectory is of another model"):
        sensors.history(dy.simulate(other, state, H))


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("soft", [0.0, 1e-3])
def test_contact_sensors_read_the_weight_from_the_first_interval_on(soft, near):
    # which is half as long for impulses as the others; 2 kg at rest, at the depth m g C
    mech, depth = dy.Mechanism(), 2.0 * 9.81 * soft
    mech.add_body(dy.Sphere(0.1, mass=2.0), name="ball", position=(0, 0, 0.1 - depth))
    if near:
        base = mech.add_body(dy.Box(1, 1, 1, mass=1.0), name="base", position=(0, 0, -0.5))
        mech.add_joint(dy.Fixed(mech.world, base, parent_point=(0, 0, -0.5)))
        mech.collide(compliance=soft)
    else:
        mech.add_contact("ball", compliance=soft)
    model = mech.finalize(0.01)
    motion = dy.simulate(model, model.initial_state(), 0.05)
    found = dy.Sensors(model, [dy.ContactSensor("ball", name="foot")]).history(motion)["foot"]
    # rigid contacts leave a gap of the barrier over the force, which closes in the first intervals
    np.testing.assert_allclose(found[1:, 0], 2.0 * 9.81, rtol=1e-6 if soft else 1e-3)


def test_a_controller_feels_pairs_that_part_as_the_record_does():
    """A pair is dropped when it is far: its last force is that of the step before."""
    rng = np.random.default_rng(0)
    mech = dy.Mechanism()
    names = [f"ball {k}" for k in range(4)]
    for k, name in enumerate(names):
        mech.add_body(dy.Sphere(0.1, mass=1.0), name=name, position=(0.25 * k, 0.03 * k, 0.14))
        mech.add_sensor(dy.ContactSensor(name, name=f"at {name}"))
    wheel = mech.add_body(mass=1.0, inertia=np.eye(3), name="wheel", position=(0, 0, 9))
    mech.add_joint(
        dy.Revolute(mech.world, wheel, axis=(0, 1, 0), name="axle", parent_point=(0, 0, 9),
                    actuated=True)
    )  # fmt: skip
    mech.add_obstacle(dy.HalfSpace(), name="floor")
    mech.collide()
    model = mech.finalize(0.005, barrier=1.0)  # forces at a distance: 4 N where a pair is dropped
    state = model.initial_state()
    for name in names:
        model.set_body(state, name, velocity=rng.normal(size=3) * [2, 2, 1])
    sensors, read = dy.Sensors(model), []

    def controller(state, time):
        read.append(sensors.read(state))
        return 0.0

    motion = dy.simulate(model, state, 0.5, controller=controller)

    pairs = [part.pairs for part in motion.parts]
    assert any(set(one) - set(other) for one, other in itertools.pairwise(pairs))
    for name, found in sensors.history(motion).items():
        np.testing.assert_array_equal([one[name] for one in read], found[:-1])
