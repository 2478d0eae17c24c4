"""Systems made of 100,000 blocks, by every constructor, against PARDISO's phase 11.

``python -m benchmarks.constructors`` in ``asv_benchmarks`` prints the table of
`docs/benchmark_notes.md`.
"""

import networkx as nx
import numpy as np

import graphsys as gs

from .clock import fastest
from .networks import loops
from .pardiso import Pardiso
from .usage import answer_help

GRAPHS = {
    "poses": (loops(30_000, 5_000), 30_000),
    "net": (np.array(nx.convert_node_labels_to_integers(gs.net(142)).edges), 142**2),
}


def given(name, size):
    """Labels of the nodes of all blocks, and the blocks."""
    edges, nodes = GRAPHS[name]
    (i, j), diagonal, rng = edges.T, np.arange(nodes), np.random.default_rng(0)
    rows, cols = np.concatenate([diagonal, i, j]), np.concatenate([diagonal, j, i])
    blocks = rng.normal(size=(rows.size, size, size))
    blocks[:nodes] += 20.0 * np.eye(size)
    return rows, cols, blocks


def constructors(name, size):
    """Functions that make the system, by name."""
    rows, cols, blocks = given(name, size)
    (i, j), nodes = GRAPHS[name][0].T, GRAPHS[name][1]
    shuffled = np.random.default_rng(0).permutation(rows.size)
    ends, mixed = (rows[shuffled], cols[shuffled]), blocks[shuffled]
    A = gs.System.from_blocks(rows, cols, blocks).to_scipy()
    entries, bsr, sizes = A.tocoo(), A.tobsr((size, size)), np.full(nodes, size)
    return {
        "from_edges": lambda: gs.System.from_edges(i, j, sizes),
        "from_blocks": lambda: gs.System.from_blocks(rows, cols, blocks),
        "from_blocks, shuffled": lambda: gs.System.from_blocks(*ends, mixed),
        "CSR with dims": lambda: gs.System.from_scipy(A, size),
        "CSR": lambda: gs.System.from_scipy(A),
        "COO with dims": lambda: gs.System.from_scipy(entries, size),
        "BSR": lambda: gs.System.from_scipy(bsr),
    }


def phase_11(name, size, blocks=False):
    """Seconds of PARDISO's analysis, `mtype` 11."""
    system = gs.System.from_blocks(*given(name, size))
    pardiso = Pardiso(11, blocks=blocks)
    pardiso.analyze(system.to_scipy(), system, np.arange(len(system.labels)))
    seconds = pardiso.analysis_seconds()
    pardiso.close()
    return seconds


class Constructors:
    params = (list(GRAPHS), [1, 3, 6], list(constructors("net", 1)))
    param_names = ("graph", "block", "constructor")

    def setup(self, name, size, constructor):
        self.make = constructors(name, size)[constructor]
        self.make()

    def time_constructor(self, name, size, constructor):
        self.make()


def main():
    """Print rows of the table, in milliseconds."""
    for name in GRAPHS:
        for size in (1, 3, 6):
            made = constructors(name, size)
            cells = [f"{1e3 * fastest(make, 0.3):.1f}" for make in made.values()]
            for blocks in (False, True) if size > 1 and Pardiso.lib else (False,):
                cells.append(f"{1e3 * phase_11(name, size, blocks):.0f}" if Pardiso.lib else "")
            print(f"| {name}, {size} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    answer_help(__doc__)
    main()
