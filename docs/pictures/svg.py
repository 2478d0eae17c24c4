"""A few elements of SVG as text: what `draw.py` and `states.py` draw with."""

BLUE, ORANGE, GREY, INK, PALE = "#1f5fa8", "#e8871e", "#8a94a0", "#26323f", "#dfe6ee"
FONT = 'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"'


def document(width, height, body, title):
    """A picture on white, which a dark page can show as well."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" {FONT}>\n<title>{title}</title>\n'
        f'<rect width="{width}" height="{height}" rx="10" fill="#ffffff"/>\n{body}</svg>\n'
    )


def number(x):
    """At most two decimals, none where they are zero."""
    return f"{x:.2f}".rstrip("0").rstrip(".")


def line(x1, y1, x2, y2, color, width=1.5, more=""):
    places = " ".join(
        f'{k}="{number(v)}"' for k, v in zip(("x1", "y1", "x2", "y2"), (x1, y1, x2, y2))
    )
    return f'<line {places} stroke="{color}" stroke-width="{width}" {more}/>\n'


def circle(x, y, r, fill, more=""):
    return f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(r)}" fill="{fill}" {more}/>\n'


def rectangle(x, y, w, h, fill, more=""):
    size = f'x="{number(x)}" y="{number(y)}" width="{number(w)}" height="{number(h)}"'
    return f'<rect {size} fill="{fill}" {more}/>\n'


def text(x, y, words, size=13, color=INK, anchor="middle", more=""):
    return (
        f'<text x="{number(x)}" y="{number(y)}" font-size="{size}" fill="{color}" '
        f'text-anchor="{anchor}" {more}>{words}</text>\n'
    )
