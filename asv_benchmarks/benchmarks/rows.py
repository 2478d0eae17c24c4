"""The rows of the table in docs/benchmarks.md, and what each has to reach."""

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
    goal : float or None
        Least ratio of the best peer's time to ours.
    most_seconds : float or None
        Most CPU seconds that our call may take.
    slow : bool
        Measured only when asked for: seconds for each factorization.
    """

    family: str
    nodes: int
    block: int = DIM
    goal: float | None = None
    most_seconds: float | None = None
    slow: bool = False

    @property
    def key(self):
        """Name in the saved results."""
        return f"{self.family} {self.nodes} {self.block}"


def _rows():
    for family, goal in (("chain", 8.0), ("tree", 10.0), ("ladder", 6.0)):
        yield Row(family, 10, most_seconds=1.5e-6)
        for nodes in (100, 1000, 10_000):
            yield Row(family, nodes, goal=goal)
        yield Row(family, 100_000, goal=6.0, slow=True)
    for family in ("body/joint chain", "body/joint tree"):
        for nodes in (20, 200, 2000):
            yield Row(family, nodes, goal=6.0)
    for nodes in (100, 1000):
        yield Row("mixed tree", nodes, goal=6.0)
    for side, goal in ((4, None), (10, 5.0), (20, None), (30, 3.0), (50, None), (100, 1.8)):
        yield Row("net", side**2, goal=goal)
    for side in (200, 300):
        yield Row("net", side**2, goal=1.0, slow=True)
    for side, goal in ((2, None), (3, 5.0), (4, None), (6, 3.3), (8, None), (10, 2.2)):
        yield Row("crystal", side**3, goal=goal)
    for side in (15, 20):
        yield Row("crystal", side**3, goal=1.0, slow=True)
    for family, nodes in (("chain", 1000), ("ladder", 1000), ("net", 30**2), ("crystal", 6**3)):
        for block in (1, 2, 3, 4, 12):
            yield Row(family, nodes, block, goal=1.0)
    for nodes in (5, 10, 20, 50, 100):
        yield Row("complete", nodes, goal=1.2)


ROWS = list(_rows())

#: Where our factor has more entries than this, other blocks than 6 x 6 have to reach GOAL_LARGE.
LARGE_ENTRIES, GOAL_LARGE = 100_000, 2.0


def goal_of(row, comparison):
    """Return the ratio that a row has to reach, or None."""
    if row.block != DIM and comparison.entries > LARGE_ENTRIES:
        return GOAL_LARGE
    return row.goal
