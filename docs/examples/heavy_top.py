"""Steady precession of a heavy top by the dual-quaternion integrator, compared with the formula.

The reference point of the integrator lies neither at the centre of mass nor at the tip, so rotation
and translation are coupled in the 6 x 6 inertia; the tip is held by a spherical joint.
"""

import numpy as np

import dynamics as dy
from dynamics import rotation
from dynamics.integrators import Pivot, RigidBody, WorldForce, spatial_inertia

GRAVITY, ARM, TILT, SPIN = 9.81, 0.2, 0.6, 120.0  # m/s^2, m from tip to centre, rad, rad/s
RIM = np.array([0.1, 0.0, 0.0])  # reference point, from the centre of the disc


def precession(disc):
    """Slow rate of precession: J1 cos(tilt) rate^2 - J3 spin rate + m g arm = 0."""
    across, along = disc.inertia[0, 0] + disc.mass * ARM**2, disc.inertia[2, 2]
    weight = disc.mass * GRAVITY * ARM
    return np.roots([across * np.cos(TILT), -along * SPIN, weight]).min()


def main(timestep=1e-3, turns=1):
    """Azimuth (rad) and tilt (rad) of the axis at all nodes, energies, and the rate expected."""
    disc = dy.Cylinder(radius=0.1, length=0.02, mass=1.0)
    rate = precession(disc)
    top = RigidBody(
        spatial_inertia(disc.mass, disc.inertia, -RIM),
        [WorldForce((0.0, 0.0, -disc.mass * GRAVITY), -RIM)],
        pivot=Pivot(-RIM - [0.0, 0.0, ARM]),
    )
    q = rotation.from_axis_angle((0.0, 1.0, 0.0), TILT)
    omega = rotation.rotate(rotation.conjugate(q), (0.0, 0.0, rate))
    omega[2] = SPIN
    steps = round(2 * np.pi * turns / rate / timestep)
    run = top.simulate(top.state(orientation=q, angular_velocity=omega), timestep, steps)
    axis = rotation.rotate(run.orientation, (0.0, 0.0, 1.0))
    azimuth = np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))
    return run.time, azimuth, np.arccos(axis[:, 2]), run.energy(), rate


if __name__ == "__main__":
    time, azimuth, tilt, energy, rate = main()
    print(f"goes round at {azimuth[-1] / time[-1]:.5f} rad/s; by the formula {rate:.5f} rad/s")
    print(
        f"nods by {np.ptp(tilt):.1e} rad, energy within {np.ptp(energy):.1e} J of {energy[0]:.1f}"
    )
    assert abs(azimuth[-1] / time[-1] - rate) < 1e-3 * rate
