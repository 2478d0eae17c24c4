"""Rigid body with added mass: a torpedo under water rights itself and reaches a steady speed.

The water that moves with the hull makes it heavier sideways than forward, which only a full 6 x 6
inertia can say. Weight acts at the centre of mass, buoyancy above it; drag and fins are a function.
"""

import numpy as np

import dynamics as dy
from dynamics import rotation
from dynamics.integrators import BodyWrench, Drag, RigidBody, WorldForce, spatial_inertia

WATER, GRAVITY, THRUST = 1000.0, 9.81, 40.0  # kg/m^3, m/s^2, N
LINEAR, QUADRATIC = np.array([2.0, 30.0, 30.0]), np.array([8.0, 200.0, 200.0])  # N s/m, N s^2/m^2
FIN, TAIL = 60.0, np.array([-0.8, 0.0, 0.0])  # N s^2/m^2, m
HULL = dy.Capsule(radius=0.1, length=1.4, density=WATER, axis=(1, 0, 0))  # floats neutrally
CENTER = np.array([0.0, 0.0, -0.02])  # of mass, below that of buoyancy, m


def added_mass():
    """Slender body: as much water sideways as the hull displaces, little forward, none in roll."""
    side, turn = 0.9 * HULL.mass, 0.8 * HULL.inertia[1, 1]
    return np.diag([0.0, turn, turn, 0.05 * HULL.mass, side, side])


def water(time, position, orientation, twist):
    """Wrench of quadratic drag and of tail fins, which push against a cross flow."""
    omega, v = twist[:3], twist[3:]
    lift = -FIN * abs(v[0]) * (v + np.cross(omega, TAIL)) * [0.0, 1.0, 1.0]
    force = -QUADRATIC * abs(v) * v
    return np.concatenate([np.cross(TAIL, lift), force + lift])


def main(timestep=0.02, seconds=40.0):
    """Trajectory of the vehicle, launched from rest, rolled and nose down."""
    weight = HULL.mass * GRAVITY
    body = RigidBody(
        spatial_inertia(HULL.mass, HULL.inertia, CENTER) + added_mass(),
        [
            WorldForce((0.0, 0.0, -weight), CENTER),
            WorldForce((0.0, 0.0, weight)),
            BodyWrench(force=(THRUST, 0.0, 0.0)),
            Drag(np.diag([1.0, 20.0, 20.0, *LINEAR])),
        ],
        external=water,
    )
    start = body.state(orientation=rotation.from_rpy([1.2, 0.3, 0.0]))
    return body.simulate(start, timestep, round(seconds / timestep))


if __name__ == "__main__":
    run = main()
    roll, pitch, yaw = rotation.to_rpy(run.orientation[-1])
    a, b = QUADRATIC[0], LINEAR[0]
    expected = (np.sqrt(b * b + 4 * a * THRUST) - b) / (2 * a)  # a u^2 + b u = thrust
    print(f"roll {roll:.2e}, pitch {pitch:.2e}, yaw {yaw:.3f} rad at {run.position[-1].round(2)} m")
    print(f"{run.twist[-1, 3]:.6f} m/s, by thrust and drag {expected:.6f} m/s")
    assert abs(run.twist[-1, 3] - expected) < 1e-4
