"""Gaussian Markov random field: the coupling of two fields on a map by maximum likelihood.

A Gaussian Markov random field, density exp(-x^T Q x / 2): places are nodes with the values of both
fields, edges tie neighbours. Q is the Kronecker product of Laplacian + RANGE^-2 and C^-1, where C
is [[1, c], [c, 1]]. A determinant says how likely a correlation c makes what was seen.
"""

import numpy as np

import graphsys as gs

RANGE, NOISE = 5.0, 0.1  # in places; standard deviation of what is seen


def precision(graph, c):
    """Q for correlation c."""
    Q, tie = gs.System(graph, 2, symmetric=True), np.linalg.inv([[1, c], [c, 1]])
    for u in graph:
        Q[u, u] = (graph.degree[u] + RANGE**-2) * tie
    for u, v in graph.edges:
        Q[u, v] = -tie
    return Q


def sample(graph, c, rng):
    """Both fields, drawn at random: x = Q^-1 b has covariance Q^-1 where b has Q."""
    root = np.linalg.cholesky(np.linalg.inv([[1, c], [c, 1]]))
    b = {u: root @ rng.standard_normal(2) / RANGE for u in graph}
    for u, v in graph.edges:
        pull = root @ rng.standard_normal(2)
        b[u], b[v] = b[u] + pull, b[v] - pull
    return precision(graph, c).solve(b)


def posterior(factor, graph, c, seen):
    """Mean of the fields, and log density of what was seen, {(node, field): value}."""
    Q, b = precision(graph, c), {u: np.zeros(2) for u in graph}
    before = factor.refactorize(Q.values).slogdet()[1]
    for (u, field), value in seen.items():
        Q[u, u] += np.diag(np.eye(2)[field]) / NOISE**2
        b[u][field] += value / NOISE**2
    after, mean = factor.refactorize(Q.values).slogdet()[1], factor.solve(b)
    misfit = sum(value * (value - mean[u][field]) for (u, field), value in seen.items()) / NOISE**2
    return mean, (before - after - misfit - len(seen) * np.log(2 * np.pi * NOISE**2)) / 2


def main(m=20, truth=0.8):
    """Log densities by correlation, and what was seen of fields with the true one."""
    graph, rng = gs.net(m), np.random.default_rng(0)
    fields, factor = sample(graph, truth, rng), precision(graph, truth).factorize()
    spots = [(u, field) for u in graph for field in (0, 1) if rng.random() < 0.5]
    seen = {(u, field): fields[u][field] + NOISE * rng.standard_normal() for u, field in spots}
    return {c: posterior(factor, graph, c, seen)[1] for c in np.arange(10) / 10}, seen


if __name__ == "__main__":
    evidence, _ = main()
    print(*(f"c = {c}: {value:.1f}" for c, value in evidence.items()), sep="\n")
    assert max(evidence, key=evidence.get) == 0.8, "the correlation of the fields that were drawn"
