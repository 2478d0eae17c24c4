"""States of the solver of a step and their transitions: `python docs/pictures/states.py`."""

from pathlib import Path

from svg import BLUE, GREY, ORANGE, document, rectangle, text

GREEN, RED = "#2e7d4f", "#b3261e"


def box(x, y, title, *words, color=BLUE, width=220):
    """A state about (x, y): its name, and what it does below."""
    height = 30 + 17 * len(words)
    shape = rectangle(
        x - width / 2, y - height / 2, width, height, "#ffffff",
        f'rx="8" stroke="{color}" stroke-width="2"',
    )  # fmt: skip
    top = y - height / 2 + 20
    body = shape + text(x, top, title, 14, color, more='font-weight="600"')
    return body + "".join(text(x, top + 17 * (i + 1), w, 12) for i, w in enumerate(words))


def arrow(*points, color=GREY, words="", at=None, anchor="middle"):
    """A way through points, with words at a place."""
    way = " ".join(f"{x},{y}" for x, y in points)
    line = (
        f'<polyline points="{way}" fill="none" stroke="{color}" stroke-width="1.8" '
        f'marker-end="url(#{color[1:]})"/>\n'
    )
    return line + (text(*at, words, 12, color, anchor) if words else "")


def tip(color):
    return (
        f'<marker id="{color[1:]}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0 L10 5 L0 10 Z" fill="{color}"/></marker>'
    )


def states():
    """The diagram of docs/theory/how_a_step_is_solved.md."""
    no, yes, go = ORANGE, GREEN, GREY
    left = {"anchor": "start"}
    body = "<defs>" + "".join(map(tip, (no, yes, go))) + "</defs>\n"
    for k, (color, words) in enumerate(((BLUE, "method"), (no, "recovery"), (yes, "acceptance"))):
        body += text(20, 30 + 17 * k, words, 12, color, "start")
    body += box(430, 40, "Step of length h", "begins with 1 interval, or 2 ... 16")
    body += arrow((430, 64), (430, 94))
    body += box(430, 118, "Predictor", "from the last four intervals")
    body += arrow((430, 142), (430, 196), words="no contacts", at=(438, 176), **left)
    body += arrow((360, 142), (360, 168), (165, 168), (165, 196))
    body += text(172, 162, "contacts, limits, dry friction", 12, go, "start")
    words = ("keeps factors while they", "converge; Broyden's updates")
    body += box(430, 228, "Newton's method", *words, width=230)
    body += box(
        165, 228, "Path Newton", "along the central path,", "at most 14 iterations", width=210
    )
    body += arrow((110, 260), (110, 304))
    body += arrow((220, 304), (220, 260))
    body += text(165, 286, "each 2nd one", 12, go)
    words = ("contacts of few bodies that", "are far from balance")
    body += box(165, 336, "Delassus operator", *words, width=210)
    body += arrow((60, 244), (36, 244), (36, 444), (58, 444), color=no)
    body += text(44, 396, "not converged", 12, no, "start")
    words = ("cold start, predictor-corrector;", "then with all contacts")
    body += box(165, 444, "Interior point", *words, width=210)
    body += arrow((430, 260), (430, 536), color=yes, words="solved", at=(438, 424), **left)
    body += arrow((270, 228), (292, 228), (292, 506), (390, 506), (390, 536), color=yes)
    body += arrow((225, 476), (225, 520), (350, 520), (350, 536), color=yes)
    words = ("turn, penetration on the way,", "energy audit, rotation of loops")
    body += box(390, 568, "Checks", *words, width=260, color=yes)
    body += arrow((390, 600), (390, 634), color=yes, words="passed", at=(398, 622), **left)
    body += box(390, 660, "Interval accepted", "momentum at its end", width=260, color=yes)
    words = {"words": "next interval", "at": (60, 652), **left}
    body += arrow((260, 660), (14, 660), (14, 118), (318, 118), **words)
    body += arrow((520, 660), (608, 660), color=yes, words="last one", at=(528, 652), **left)
    body += box(710, 660, "Step solved", "State, StepInfo", width=200, color=yes)
    body += arrow((545, 236), (570, 236), (570, 446), (604, 446), color=no)
    body += arrow((270, 456), (604, 456), color=no, words="failed", at=(460, 450), **left)
    words = "the same interval, loops last"
    body += box(715, 454, "Second elimination order", words, width=218, color=no)
    words = {"words": "failed, or none", "at": (722, 412), **left}
    body += arrow((715, 430), (715, 388), color=no, **words)
    words = ("the step anew, in 2, 4 ... 1024", "(with contacts also 3, 6 ...)")
    body += box(715, 354, "Substeps", *words, width=218, color=no)
    words = {"words": "not solved with 1024", "at": (722, 300), **left}
    body += arrow((715, 322), (715, 276), color=no, **words)
    words = ("contacts only: 100 times,", "then 10 000 times")
    body += box(715, 242, "Relaxed barrier", *words, width=218, color=no)
    body += arrow((715, 210), (715, 164), color=no, words="none left", at=(722, 190), **left)
    body += box(715, 138, "ConvergenceError", "state as before the step", width=218, color=RED)
    words = {"words": "not passed", "at": (540, 560), **left}
    body += arrow((520, 568), (846, 568), (846, 354), (826, 354), color=no, **words)
    for y in (470, 354, 242):
        body += arrow((606, y), (586, y), (586, 118), (542, 118))
    body += text(550, 108, "again", 12, go, "start")
    return document(860, 700, body, "States of the solver of a step")


if __name__ == "__main__":
    (Path(__file__).parent / "states.svg").write_text(states(), encoding="utf-8")
