"""Contacts of convex hulls: an arch of stones stands by friction, a thinner one falls.

python docs/examples/arch.py [--plot docs/gallery/arch.png]
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np

import dynamics as dy
from dynamics import rotation

STONES, DEPTH, DENSITY = 11, 0.3, 2400.0  # m, kg/m^3


def stone(thickness):
    """Corners about the centre of mass at the top of an arch of mean radius 1 m, its height, kg."""
    inner, outer, half = 1.0 - thickness / 2, 1.0 + thickness / 2, 0.5 * np.pi / STONES
    area = 0.5 * np.sin(2 * half) * (outer**2 - inner**2)
    height = 2 / 3 * np.cos(half) * (outer**3 - inner**3) / (outer**2 - inner**2)
    ends = [(r, a, y) for r in (inner, outer) for a in (-half, half) for y in (-DEPTH, DEPTH)]
    corners = np.array([(r * np.sin(a), y / 2, r * np.cos(a) - height) for r, a, y in ends])
    return corners, height, DENSITY * DEPTH * area


def arch(thickness, friction=0.8):
    """Model of an arch on the ground."""
    mech, before = dy.Mechanism(), None
    corners, height, mass = stone(thickness)
    x, y, z = np.ptp(corners, axis=0)
    inertia = mass / 12 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])  # as of a box
    for k in range(STONES):
        q = rotation.from_axis_angle((0, 1, 0), np.pi * ((k + 0.5) / STONES - 0.5))
        place = rotation.rotate(q, np.array([0, 0, height]))
        one = mech.add_body(mass=mass, inertia=inertia, name=k, position=place, orientation=q)
        if before is not None:
            mech.add_contact(one, before, shape=corners, against_shape=corners, friction=friction)
        if k in (0, STONES - 1):
            mech.add_contact(one, shape=corners, friction=friction)
        before = one
    return mech.finalize(timestep=0.01)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plot", help="file for a picture")
    plot = parser.parse_args().plot
    fallen, (_, axes) = [], plt.subplots(1, 2, figsize=(8, 2.6), layout="constrained")
    for ax, thickness in zip(axes, (0.107, 0.1)):
        model, (corners, _, _) = arch(thickness), stone(thickness)
        motion = dy.simulate(model, model.initial_state(), 0.5)
        fallen.append(motion.body(STONES // 2)[0][[0, -1], 2] @ [1, -1])
        for k in range(STONES):
            x, q = (array[-1] for array in motion.body(k))
            outline = x + rotation.rotate(np.tile(q, (4, 1)), corners[[0, 2, 6, 4]])
            ax.fill(*outline[:, [0, 2]].T, fc="0.8", ec="0.3")
        ax.set(title=f"{thickness:g} m thick, after 0.5 s", aspect="equal", ylim=(0, 1.1))
    print("the top stone falls {:.0e} m and {:.2f} m".format(*fallen))
    assert fallen[0] < 1e-6 < 0.1 < fallen[1]
    plt.savefig(plot) if plot else None
