"""The rows of the tables in docs/benchmarks.md and docs/benchmark_notes.md."""

from dataclasses import dataclass

from .cases import DIM


@dataclass(frozen=True, slots=True)
class Row:
    """A system to measure.

    Attributes
    ----------
    family : str
    nodes : int
    block : int
    slow : bool
        Measured only when asked for: seconds for each factorization.
    """

    family: str
    nodes: int
    block: int = DIM
    slow: bool = False

    @property
    def key(self):
        """Name in the saved results."""
        return f"{self.family} {self.nodes} {self.block}"


def _rows():
    for family in ("chain", "tree", "ladder"):
        for nodes in (10, 100, 1000, 10_000):
            yield Row(family, nodes)
        yield Row(family, 100_000, slow=True)
    for family in ("body/joint chain", "body/joint tree", "hinge chain", "hinge tree"):
        for nodes in (20, 200, 2000):
            yield Row(family, nodes)
    for nodes in (100, 1000):
        yield Row("mixed tree", nodes)
    for side in (4, 10, 20, 30, 50, 100):
        yield Row("net", side**2)
    for side in (200, 300):
        yield Row("net", side**2, slow=True)
    for side in (2, 3, 4, 6, 8, 10):
        yield Row("crystal", side**3)
    for side in (15, 20):
        yield Row("crystal", side**3, slow=True)
    for family, nodes in (("chain", 1000), ("ladder", 1000), ("net", 30**2), ("crystal", 6**3)):
        for block in (1, 2, 3, 4, 12):
            yield Row(family, nodes, block)
    for nodes in (5, 10, 20, 50, 100):
        yield Row("complete", nodes)


ROWS = list(_rows())
