"""Stiffness method: sway and reactions of a plane frame of eight storeys under wind and dead load.

Joints are nodes, named by their place (x, y) in m, with displacements (u, w, rotation); beams after
Euler and Bernoulli are edges. A clamped support does not move: its block has size 0.
"""

import networkx as nx
import numpy as np

import graphsys as gs

EA, EI = 4.8e9, 2.56e8  # N and N m^2: concrete, 0.2 m x 0.8 m
DEAD, WIND = 2.5e4, 2.0e4  # N/m on floors, N on joints of the windward column


def stiffness(start, end):
    """Forces (N, N, N m) on the ends of a beam per displacement (m, m, rad), shape (6, 6)."""
    (x, y), length = np.subtract(end, start), np.hypot(*np.subtract(end, start))
    c, s, a, b = x / length, y / length, x / length**2, y / length**2
    # Elongation, and rotations of the ends against the line between them:
    strain = np.array([[-c, -s, 0, c, s, 0], [-b, a, 1, b, -a, 0], [-b, a, 0, b, -a, 1]])
    return strain.T @ [[EA, 0, 0], [0, 4 * EI, 2 * EI], [0, 2 * EI, 4 * EI]] @ strain / length


def solve(frame, supports, loads):
    """Displacements by node, and what the supports add to the loads."""
    free = {u: 0 if u in supports else 3 for u in frame}
    held, whole = (gs.System(frame, dim, symmetric=True) for dim in (free, 3))
    for system in held, whole:
        for u, v in frame.edges:
            K, (m, n) = stiffness(u, v), system[u, v].shape
            system[u, u] += K[:m, :m]
            system[v, v] += K[3 : 3 + n, 3 : 3 + n]
            system[u, v] += K[:m, 3 : 3 + n]
    clamped = dict.fromkeys(supports, np.zeros(3))
    moved = held.solve({u: loads[u] for u in frame if free[u]}) | clamped
    return moved, {u: force - loads[u] for u, force in (whole @ moved).items() if not free[u]}


def main():
    """Cantilever's deflection over F L^3 / (3 E I), frame's sway (m), loads plus reactions (N)."""
    mast, push = nx.path_graph([(3 * k, 4 * k) for k in range(9)]), np.array([0.8, -0.6, 0])
    moved, _ = solve(mast, [(0, 0)], dict.fromkeys(mast, 0 * push) | {(24, 32): push})
    deflection = moved[24, 32] @ push / (40**3 / (3 * EI))
    frame = nx.grid_2d_graph(range(0, 24, 6), range(0, 36, 4))
    loads = {(x, y): np.array([WIND * (x == 0), 0, 0]) for x, y in frame}
    for left, right in (sorted(beam) for beam in frame.edges if beam[0][1] == beam[1][1]):
        loads[left] -= [0, DEAD * 6 / 2, DEAD * 6**2 / 12]  # as were the floor clamped there
        loads[right] -= [0, DEAD * 6 / 2, -DEAD * 6**2 / 12]
    moved, reactions = solve(frame, [(x, y) for x, y in frame if y == 0], loads)
    forces = [*loads.items(), *reactions.items()]
    rest = sum(np.array([fx, fy, m + x * fy - y * fx]) for (x, y), (fx, fy, m) in forces)
    return deflection, moved[0, 32][0], rest


if __name__ == "__main__":
    deflection, sway, rest = main()
    print(f"the roof sways {1e3 * sway:.1f} mm; loads and reactions leave {max(abs(rest)):.0e} N")
    assert abs(deflection - 1) < 1e-10 and max(abs(rest)) < 1e-3
