"""Newton power flow on an IEEE network: voltages of all buses for given loads and generation.

Buses are nodes, lines edges. At a load bus the angle and the log magnitude of the voltage are
unknown, at a generator bus the angle, at the slack bus nothing: block sizes 2, 1, 0. The first
step analyzes the graph, the others only refactorize.
"""

import networkx as nx
import numpy as np
from pypower.case118 import case118

import graphsys as gs

UNKNOWNS = {1: 2, 2: 1, 3: 0}  # by type of bus: load, generator, slack
STEP = np.array([1j, 1.0])  # dV / V for a step in the angle, and in the log magnitude


def admittances(graph, case):
    """Y of currents = Y @ voltages, per unit: a number for each bus and each way along a line."""
    Y = gs.System(graph, 1, dtype=complex)
    for u, v, r, x, charging, ratio, shift in case["branch"][:, [0, 1, 2, 3, 4, 8, 9]]:
        y, tap = 1 / (r + 1j * x), (ratio or 1.0) * np.exp(1j * np.deg2rad(shift))
        Y[u, u] += (y + 0.5j * charging) / abs(tap) ** 2
        Y[v, v] += y + 0.5j * charging
        Y[u, v] -= y / tap.conjugate()
        Y[v, u] -= y / tap
    for u, conductance, susceptance in case["bus"][:, [0, 4, 5]]:
        Y[u, u] += (conductance + 1j * susceptance) / case["baseMVA"]
    return Y


def main(case):
    """Voltages by bus (complex, per unit), Newton steps, and power lost on the way (MW)."""
    bus, base = case["bus"], case["baseMVA"]
    dim = {u: UNKNOWNS[kind] for u, kind in bus[:, :2].astype(int).tolist()}
    graph = nx.Graph(case["branch"][:, :2].astype(int).tolist())
    Y, jacobian, factor = admittances(graph, case), gs.System(graph, dim), None
    V = dict.fromkeys(dim, np.exp(1j * np.deg2rad(bus[bus[:, 1] == 3, 8].item())))  # flat start
    supply = {u: -(P + 1j * Q) / base for u, P, Q in bus[:, [0, 2, 3]]}
    for u, P, Q, magnitude in case["gen"][:, [0, 1, 2, 5]]:
        supply[u] += (P + 1j * Q) / base
        V[u] *= magnitude / abs(V[u])
    for steps in range(10):
        S = {u: V[u] * current.conj() for u, (current,) in (Y @ V).items()}
        gap = {u: [z.real, z.imag][: dim[u]] for u in dim for z in [supply[u] - S[u]]}
        if abs(jacobian.join(gap)).max() < 1e-10:
            return V, steps, sum(S.values()).real * base
        for u, v in [*zip(dim, dim), *graph.to_directed().edges]:
            slope = V[u] * (Y[u, v].item() * V[v] * STEP).conj() + (u == v) * S[u] * STEP
            jacobian[u, v] = np.stack([slope.real, slope.imag])[: dim[u], : dim[v]]
        factor = factor.refactorize(jacobian.values) if factor else jacobian.factorize()
        for u, step in factor.solve(gap).items():
            V[u] *= np.exp(step @ STEP[: dim[u]])


if __name__ == "__main__":
    voltages, steps, lost = main(case118())
    print(f"{len(voltages)} buses, {steps} Newton steps, {lost:.3f} MW lost on the way")
    assert abs(lost - 132.863) < 1e-3  # as by pypower's runpf
