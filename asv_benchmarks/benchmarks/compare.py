"""One system, solved by graphsys and its peers in turn."""

from dataclasses import asdict, dataclass, field

import numpy as np

from . import cases, clock
from .peers import Graphsys, peers

#: A solution with a larger backward error is no solution: PARDISO may perturb pivots too much.
WRONG = 1e-9


@dataclass(slots=True)
class Measured:
    """A solver on one system; times are CPU seconds.

    Attributes
    ----------
    name, group : str
    analyze : float or None
        System.analyze, klu_analyze, phase 11 of PARDISO, ...; not a number, or None when it was
        saved, where it is part of `factor`.
    factor, solve, both : float
    backward_error : float
        ``|A x - b| / (|A| |x| + |b|)``, maximum norm.
    """

    name: str
    group: str
    analyze: float | None
    factor: float
    solve: float
    both: float
    backward_error: float


@dataclass(slots=True)
class Comparison:
    """What was measured on one system.

    Attributes
    ----------
    family : str
    nodes, block, unknowns : int
        `block` is 0 where the nodes have different sizes.
    operations, entries : float
        Floating-point operations of our factorization, and entries of its factors.
    ours : Measured
    peers : list of Measured
    missing : dict of str to str
        Reason why a peer was not measured.
    """

    family: str
    nodes: int
    block: int
    unknowns: int
    operations: float
    entries: float
    ours: Measured
    peers: list[Measured] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def best(self):
        """The fastest peer whose solution is right, or None."""
        right = [peer for peer in self.peers if peer.backward_error < WRONG]
        return min(right, key=lambda peer: peer.both, default=None)

    def best_of(self, group):
        """Return the fastest setting of a solver whose solution is right, or None."""
        right = [p for p in self.peers if p.group == group and p.backward_error < WRONG]
        return min(right, key=lambda peer: peer.both, default=None)

    def as_dict(self):
        """Return plain lists and numbers, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, d):
        """Return what `as_dict` was made from."""
        ours, them = Measured(**d["ours"]), [Measured(**peer) for peer in d["peers"]]
        return cls(**d | {"ours": ours, "peers": them})


def compare(family, n, block=cases.DIM, groups=None, seconds=clock.SECONDS, analysis=True):
    """Measure refactorize and solve of one right-hand side.

    Parameters
    ----------
    family : str
    n : int
        Nodes, about.
    block : int
    groups : collection of str, optional
        Peers to measure; all by default.
    seconds : float
        CPU seconds for each solver.
    analysis : bool
        Whether to time it.

    Returns
    -------
    Comparison
    """
    system = cases.system(family, n, block)
    A = system.to_scipy()
    b = np.random.default_rng(2).standard_normal(A.shape[0])
    ours = Graphsys()
    ours.analyze(A, system, None)
    symbolic = ours.factor.symbolic
    solvers, missing = [ours], {}
    for peer in peers():
        if groups is None or peer.group in groups:
            reason = _start(peer, A, system, symbolic)
            if reason:
                missing[peer.name] = reason
            else:
                solvers.append(peer)
    timings = clock.measure(solvers, b, seconds)
    norm = abs(A).sum(axis=1).max()
    measured = []
    for solver, timing in zip(solvers, timings):
        x = solver.solve(b)
        residual = np.abs(A @ x - b).max() / (norm * np.abs(x).max() + np.abs(b).max())
        measured.append(
            Measured(
                solver.name,
                solver.group,
                solver.analysis_seconds() if analysis else float("nan"),
                timing.factor,
                timing.solve,
                timing.both,
                float(residual),
            )
        )
        solver.close()
    sizes = set(system.graph.size.tolist())
    return Comparison(
        family,
        len(system.labels),
        sizes.pop() if len(sizes) == 1 else 0,
        A.shape[0],
        symbolic.operations,
        cases.entries(symbolic),
        measured[0],
        measured[1:],
        missing,
    )


def _start(peer, A, system, symbolic):
    """Analyze, or say why not."""
    reason = peer.available()
    if reason is None and symbolic.operations > peer.most_operations:
        reason = f"too slow for {symbolic.operations:.1g} operations"
    reason = reason or peer.unfit(A)
    if reason is None:
        try:
            peer.analyze(A, system, symbolic.step_node)
        except NotImplementedError as unfit:
            reason = str(unfit)
    return reason
