"""Results as Markdown."""

from .cases import DIM

PARTS = {"net": 2, "crystal": 3}


def number(x):
    """Return three digits or so."""
    return f"{x:,.0f}" if x >= 100 else f"{x:.1f}" if x >= 10 else f"{x:.2f}"


def workload(comparison):
    """Return the family with its size, as in "net 30 x 30"."""
    n, sides = comparison.nodes, PARTS.get(comparison.family, 1)
    size = f"{n:,}" if sides == 1 else " × ".join([str(round(n ** (1 / sides)))] * sides)
    return f"{comparison.family} {size}"


def blocks(row, comparison):
    """Return the block size, or what sizes there are."""
    if comparison.block:
        return str(comparison.block)
    return "1–6" if row.family == "mixed tree" else "6 and 5"


def _table(header, lines):
    align = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, align, *lines))


def results(measured):
    """Return the table of all rows: ours, the best peer, and the ratio."""
    header = (
        "workload", "block", "factor µs", "solve µs", "both µs", "best peer", "its µs",
        "ratio", "backward error",
    )  # fmt: skip
    return _table(header, [_line(row, c) for row, c in measured])


def _line(row, c):
    best = c.best
    times = [number(1e6 * t) for t in (c.ours.factor, c.ours.solve, c.ours.both)]
    peer = ["", "", ""]
    if best is not None:
        peer = [best.name, number(1e6 * best.both), f"{best.both / c.ours.both:.1f}×"]
    error = f"{c.ours.backward_error:.0e}"
    return [workload(c), blocks(row, c), *times, *peer, error]


def batches(measured):
    """Return the table of batches, from lists (family, nodes, block, together, one by one)."""
    header = ["workload", "block", "µs a system", "one by one µs", "times as fast"]
    return _table(
        header,
        [
            [
                f"{family} {nodes}",
                str(block),
                number(1e6 * together),
                number(1e6 * alone),
                f"{alone / together:.1f}×",
            ]
            for family, nodes, block, together, alone in measured
        ],
    )


def peers(measured):
    """Return the table of every peer in its fastest setting, in milliseconds."""
    groups = list(dict.fromkeys(p.group for _, c in measured for p in c.peers))
    lines = []
    for row, c in measured:
        cells = [c.best_of(group) for group in groups]
        texts = ["" if p is None else number(1e3 * p.both) for p in cells]
        lines.append([workload(c), blocks(row, c), number(1e3 * c.ours.both), *texts])
    return _table(["workload", "block", "graphsys", *groups], lines)


def analysis(measured):
    """Return the table of analyses: ours beside one factorization, and those of PARDISO and KLU."""
    header = (
        "workload", "graphsys ms", "over its factorization", "PARDISO ms", "PARDISO BSR ms",
        "KLU ms", "PARDISO over graphsys",
    )  # fmt: skip
    lines = []
    for row, c in measured:
        if row.block != DIM:
            continue
        known = {p.name: 1e3 * p.analyze for p in c.peers if p.analyze is not None}
        ours, pardiso = 1e3 * c.ours.analyze, known.get("PARDISO 11")
        texts = [
            number(known[name]) if name in known else ""
            for name in ("PARDISO 11", "PARDISO 11, BSR", "KLU")
        ]
        ratio = "" if pardiso is None else f"{pardiso / ours:.1f}×"
        lines.append(
            [workload(c), number(ours), f"{c.ours.analyze / c.ours.factor:.1f}", *texts, ratio]
        )
    return _table(header, lines)


README_ROWS = (
    ("chain", 1000), ("tree", 1000), ("ladder", 1000), ("body/joint tree", 200),
    ("net", 100), ("net", 900), ("net", 10_000), ("crystal", 216), ("crystal", 1000),
)  # fmt: skip


def readme(measured):
    """Return the short table: times, and ratios to splu and to the best peer."""
    lines = []
    for row, c in measured:
        if row.block == DIM and (row.family, row.nodes) in README_ROWS and c.best is not None:
            splu = c.best_of("splu")
            lines.append(
                [
                    workload(c),
                    f"{number(1e3 * c.ours.both)} ms",
                    "" if splu is None else f"{splu.both / c.ours.both:.0f}×",
                    f"{c.best.both / c.ours.both:.1f}× ({c.best.group})",
                ]
            )
    return _table(["graph", "graphsys", "faster than scipy's `splu`", "than the best peer"], lines)


def machine(described):
    """Return a sentence on the machine."""
    versions = ", ".join(f"{name} {number}" for name, number in described["versions"].items())
    return (
        f"Measured on {described['date']} on {described['processor']}; numpy's `dgemm` reaches "
        f"{described['dgemm'] / 1e9:.0f} GFLOP/s on one thread. {versions}."
    )
