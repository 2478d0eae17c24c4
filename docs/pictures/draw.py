"""Pictures of the README and of the front page: `python docs/pictures/draw.py`.

`factorization.svg` shows a grid in its elimination order, and the fill-in of its factors.
`mechanism.svg` moves: two legs of Theo Jansen's linkage on one crank, simulated by `dynamics`.
"""

import math
from pathlib import Path

import numpy as np
from svg import BLUE, GREY, INK, ORANGE, PALE, circle, document, line, number, rectangle, text

import dynamics as dy
import graphsys as gs

HERE = Path(__file__).parent


def factorization(side=8):
    """A grid of side x side nodes, its elimination order, and its factors with fill-in."""
    graph = gs.net(side)
    symbolic = gs.System(graph, 1).analyze("amd")
    n = symbolic.step_node.size
    step = np.empty(n, int)
    step[symbolic.step_node] = np.arange(n)
    place = symbolic.graph.index
    gap, left, top = 45.0, 35.0, 62.0
    where = {u: (left + gap * (u % side), top + gap * (u // side)) for u in graph.nodes}
    body = text(192, 30, "a graph, shaded in elimination order", 18)
    for u, v in graph.edges:
        body += line(*where[u], *where[v], GREY, 1.5)
    for u in graph.nodes:
        part = step[place[u]] / (n - 1)
        shade = [round(a + part * (b - a)) for a, b in zip((210, 228, 246), (16, 62, 122))]
        color = "#{:02x}{:02x}{:02x}".format(*shade)
        body += circle(*where[u], 11, color, f'stroke="{BLUE}" stroke-width="1"')
        ink = INK if part < 0.5 else "#ffffff"
        body += text(where[u][0], where[u][1] + 3.5, step[place[u]] + 1, 10, ink)
    x, y, size = 430.0, 46.0, 350.0
    cell = size / n
    body += text(x + size / 2, 30, "its factors with their fill-in", 18)
    body += rectangle(x, y, size, size, "#ffffff", f'stroke="{PALE}" stroke-width="1"')
    drawn = 0.92 * cell
    for k in range(n):
        body += rectangle(x + k * cell, y + k * cell, drawn, drawn, INK)
        for q in range(symbolic.front_start[k], symbolic.front_start[k + 1]):
            j, color = symbolic.front[q], ORANGE if symbolic.fill[q] else BLUE
            body += rectangle(x + j * cell, y + k * cell, drawn, drawn, color)
            body += rectangle(x + k * cell, y + j * cell, drawn, drawn, color)
    names = ((INK, "pivot"), (BLUE, "edge of the graph"), (ORANGE, "fill-in"))
    for at, (color, name) in zip((438, 514, 692), names):
        body += rectangle(at, 412, 11, 11, color) + text(at + 17, 422, name, 16, INK, "start")
    loops = len(graph.edges) - n + 1
    body += text(192, 422, f"{n} nodes, {len(graph.edges)} edges, {loops} loops", 16)
    return document(820, 440, body, "Fill-in of a factorization on a grid")


#: Theo Jansen's lengths, in units of 1/40 m, but for his i, the back of a foot.
A, B, C, D, E, F, G, H, J, K, L, M = (
    38.0, 41.5, 39.3, 40.1, 55.8, 39.4, 36.7, 65.7, 50.0, 61.9, 7.8, 15.0,
)  # fmt: skip
HEEL = 49.0


def meeting(p, r, q, s, side):
    """Where circles of radii r and s about p and q meet, to the left of p q for side = 1."""
    d = math.dist(p, q)
    along = (d * d + r * r - s * s) / (2 * d)
    across = side * math.sqrt(r * r - along * along)
    e = ((q[0] - p[0]) / d, (q[1] - p[1]) / d)
    return (p[0] + along * e[0] - across * e[1], p[1] + along * e[1] + across * e[0])


def leg(mirror, crank):
    """Points of one leg; a mirrored one is solved in the mirror."""
    flip = (lambda p: (-p[0], p[1])) if mirror else (lambda p: p)
    tip, pivot = flip(crank), (-A, -L)
    upper = meeting(tip, J, pivot, B, -1)
    lower = meeting(tip, K, pivot, C, 1)
    back = meeting(pivot, D, upper, E, 1)
    knee = meeting(back, F, lower, G, -1)
    foot = meeting(lower, HEEL, knee, H, 1)
    return {k: flip(p) for k, p in dict(
        pivot=pivot, upper=upper, lower=lower, back=back, knee=knee, foot=foot,
    ).items()}  # fmt: skip


def walker(timestep):
    """Model and state of two legs on one driven crank: 13 bodies, 6 independent loops."""
    mech = dy.Mechanism()
    scale, y = 0.025, (0.0, 1.0, 0.0)
    tip = (M, 0.0)

    def place(p):
        return np.array([scale * p[0], 0.0, scale * p[1]])

    def add(name, *points):
        center = np.mean([place(p) for p in points], axis=0)
        length = max(math.dist(p, q) for p in points for q in points) * scale
        shape = dy.Box(length, 0.02, 0.02, mass=0.5 * length)
        return mech.add_body(shape, name=name, position=center), center

    def pin(one, two, p, **options):
        (a, from_a), (b, from_b) = one, two
        mech.add_joint(dy.Revolute(
            a, b, axis=y, parent_point=place(p) - from_a, child_point=place(p) - from_b, **options,
        ))  # fmt: skip

    ground = (mech.world, np.zeros(3))
    crank = add("crank", (0.0, 0.0), tip)
    motor = dy.VelocityServo(damping=200.0, target=2.0 * math.pi / 4.0)
    pin(ground, crank, (0.0, 0.0), name="motor", servo=motor)
    drawn = [("crank", [(0.0, 0.0), tip])]
    for side in ("left", "right"):
        p = leg(side == "right", tip)
        parts = {
            "j": [tip, p["upper"]],
            "k": [tip, p["lower"]],
            "hip": [p["pivot"], p["upper"], p["back"]],
            "c": [p["pivot"], p["lower"]],
            "f": [p["back"], p["knee"]],
            "shin": [p["lower"], p["knee"], p["foot"]],
        }
        made = {name: add(f"{side} {name}", *points) for name, points in parts.items()}
        drawn += [(f"{side} {name}", points) for name, points in parts.items()]
        pin(crank, made["j"], tip)
        pin(crank, made["k"], tip)
        pin(ground, made["hip"], p["pivot"])
        pin(ground, made["c"], p["pivot"])
        pin(made["hip"], made["j"], p["upper"])
        pin(made["c"], made["k"], p["lower"])
        pin(made["hip"], made["f"], p["back"])
        pin(made["f"], made["shin"], p["knee"])
        pin(made["c"], made["shin"], p["lower"])
    model = mech.finalize(timestep)
    centers = {b.name: np.array(b.position) for b in mech.bodies.values()}
    points = [(name, [place(p) - centers[name] for p in ps]) for name, ps in drawn]
    return model, model.initial_state(), points


def mechanism(period=4.0, frames=48):
    """The linkage over one turn of its crank, as an animation that browsers play on their own."""
    timestep = 0.01
    model, state, parts = walker(timestep)
    motion = dy.simulate(model, state, 2.0 * period)
    assert motion.constraint_violation().max() < 1e-9
    first = round(period / timestep)
    chosen = [first + round(i * period / timestep / frames) for i in range(frames + 1)]

    def screen(p):
        return 410.0 + 100.0 * p[0], 172.0 - 100.0 * p[2]

    paths = {}
    for name, points in parts:
        position, quaternion = motion.body(name)[:2]
        rows = []
        for k in chosen:
            s, _, v, _ = quaternion[k]
            c, d = s * s - v * v, 2.0 * s * v  # a turn about y
            turn = np.array([[c, 0.0, d], [0.0, 1.0, 0.0], [-d, 0.0, c]])
            rows.append([screen(position[k] + turn @ np.array(p)) for p in points])
        paths[name] = np.array(rows)
    timing = f'dur="{period:g}s" repeatCount="indefinite"'
    body = text(410, 30, "two legs of Jansen's linkage: 13 bodies, 6 loops, one driven crank", 18)
    ground = max(path[:, -1, 1].max() for name, path in paths.items() if "shin" in name) + 4
    body += line(20, ground, 800, ground, GREY, 2)
    for name, path in paths.items():
        if "shin" in name:  # what the foot draws
            way = " ".join(f"{number(x)},{number(y)}" for x, y in path[:, -1])
            body += f'<polyline points="{way}" fill="none" stroke="{ORANGE}" stroke-width="2"/>\n'
    for name, path in sorted(paths.items(), key=lambda item: item[0] == "crank"):
        ways = [" ".join(f"{x:.1f},{y:.1f}" for x, y in row) for row in path]
        solid = path.shape[1] == 3
        color = ORANGE if name == "crank" else BLUE
        fill = f'fill="{color}" fill-opacity="0.18"' if solid else 'fill="none"'
        moves = f'<animate attributeName="points" values="{";".join(ways)}" {timing}/>'
        body += (
            f'<polygon points="{ways[0]}" {fill} stroke="{color}" stroke-width="6" '
            f'stroke-linejoin="round" stroke-linecap="round">{moves}</polygon>\n'
        )
    pins = {}
    for path in paths.values():
        for i in range(path.shape[1]):
            pins[tuple(np.round(path[0, i], 1))] = path[:, i]
    for path in pins.values():
        moves = "".join(
            f'<animate attributeName="{c}" values="{";".join(f"{v:.1f}" for v in path[:, i])}" '
            f"{timing}/>"
            for i, c in enumerate(("cx", "cy"))
            if np.ptp(path[:, i]) > 0.05
        )
        x, y = path[0]
        body += (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#ffffff" stroke="{INK}" '
            f'stroke-width="2">{moves}</circle>\n'
        )
    return document(820, 440, body, "A walking linkage in motion")


if __name__ == "__main__":
    (HERE / "factorization.svg").write_text(factorization(), encoding="utf-8")
    (HERE / "mechanism.svg").write_text(mechanism(), encoding="utf-8")
