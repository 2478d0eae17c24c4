"""Log-log pictures of time over nodes: ours, the peers, and the machine's limit."""

from .cases import DIM

#: Okabe and Ito's colours: told apart by colour-blind readers.
COLORS = {
    "graphsys": "#0072B2",
    "splu": "#D55E00",
    "KLU": "#CC79A7",
    "UMFPACK": "#E69F00",
    "PARDISO": "#009E73",
    "LAPACK band": "#56B4E9",
    "LAPACK dense": "#6E6E6E",
}
GREY = "#9A9A9A"
LABELS = {"splu": "SciPy splu", "PARDISO": "MKL PARDISO"}


def curves(comparisons):
    """Return {solver: (nodes, seconds)} of one family, every solver in its fastest setting."""
    found = {}
    for c in sorted(comparisons, key=lambda c: c.nodes):
        points = {"graphsys": c.ours} | {p.group: c.best_of(p.group) for p in c.peers}
        for name, measured in points.items():
            if measured is not None:
                nodes, seconds = found.setdefault(name, ([], []))
                nodes.append(c.nodes)
                seconds.append(measured.both)
    return found


def draw(ax, comparisons, rate, title, names=None):
    """Draw one family.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    comparisons : list of Comparison
    rate : float
        Operations a second that the machine can do.
    title : str
    names : collection of str, optional
        Solvers to draw; all by default.
    """
    found = curves(comparisons)
    ends = []
    for name, (nodes, seconds) in found.items():
        if names is not None and name not in names:
            continue
        ours = name == "graphsys"
        ax.plot(
            nodes, seconds, color=COLORS[name], marker="o", markersize=5 if ours else 3.5,
            linewidth=2.6 if ours else 1.4, zorder=3 if ours else 2,
        )  # fmt: skip
        ends.append([nodes[-1], seconds[-1], LABELS.get(name, name), COLORS[name], ours])
    comparisons = sorted(comparisons, key=lambda c: c.nodes)
    nodes = [c.nodes for c in comparisons]
    limit = [c.operations / rate for c in comparisons]
    ax.plot(nodes, limit, color=GREY, linestyle=(0, (4, 3)), linewidth=1.2)
    ends.append([nodes[-1], limit[-1], "machine's limit", GREY, False])
    ax.set(xscale="log", yscale="log", xlabel="nodes")
    ax.set_title(title, loc="left", fontsize=11)
    ax.grid(which="major", color="#E6E6E6", linewidth=0.7)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.yaxis.set_major_formatter(_duration)
    ax.minorticks_off()
    ax.set_ylim(top=2.5 * ax.get_ylim()[1])  # room for names
    _label(ax, ends)


def _duration(seconds, _):
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
        if seconds >= 0.999 * unit:
            return f"{seconds / unit:g} {name}"
    return f"{seconds:g} s"


def _label(ax, ends):
    """Write each solver's name at the end of its curve; names that would overlap move apart."""
    from matplotlib.patheffects import withStroke

    figure = ax.figure
    figure.canvas.draw()
    to_pixels, height = ax.transData.transform, 11.5 * figure.dpi / 72
    right = max(x for x, *_ in ends)
    placed = {}
    for x in {x for x, *_ in ends}:
        column = sorted((e for e in ends if e[0] == x), key=lambda e: e[1])
        at = [to_pixels((e[0], e[1]))[1] for e in column]
        wanted = sum(at) / len(at)
        for k in range(1, len(at)):
            at[k] = max(at[k], at[k - 1] + height)
        moved = wanted - sum(at) / len(at)
        for e, y in zip(column, at):
            placed[e[2]] = y + moved
    for x, seconds, text, color, ours in ends:
        if x == right:
            where = {"ha": "left", "va": "center"}
            shift = 7, (placed[text] - to_pixels((x, seconds))[1]) * 72 / figure.dpi
        else:  # above the end of a curve that stops early, over whatever passes there
            where, shift = {"ha": "right", "va": "bottom"}, (2, 4)
        written = ax.annotate(
            text,
            (x, seconds),
            xytext=shift,
            textcoords="offset points",
            fontsize=9.5,
            color=color,
            fontweight="bold" if ours else "normal",
            annotation_clip=False,
            zorder=4,
            **where,
        )
        written.set_path_effects([withStroke(linewidth=3, foreground="white")])


def families(measured):
    """Return {family: comparisons} of the rows with blocks of 6, or mixed ones."""
    found = {}
    for row, c in measured:
        if row.block == DIM:
            found.setdefault(row.family, []).append(c)
    return {family: rows for family, rows in found.items() if len(rows) > 2}


def save_family(path, family, comparisons, rate):
    """Save the picture of one family as PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.4), dpi=130)
    ax = figure.add_axes((0.1, 0.12, 0.7, 0.77))
    sizes = "6 and 5" if "joint" in family else "6 × 6"
    draw(ax, comparisons, rate, f"{family}: refactorize and solve, blocks {sizes}")
    figure.savefig(path)


def save_pair(path, measured, rate, names=("graphsys", "splu", "PARDISO", "LAPACK dense")):
    """Save the README's picture, a ladder and a net, as PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 4.2), dpi=130)
    found = families(measured)
    for left, family in ((0.07, "ladder"), (0.57, "net")):
        ax = figure.add_axes((left, 0.13, 0.31, 0.77))
        ax.set(xlim=(6, 1.6 * max(c.nodes for c in found[family])), ylim=(2e-7, 1))
        draw(ax, found[family], rate, f"{family}, blocks 6 × 6", names)
    figure.savefig(path)
