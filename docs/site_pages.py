"""Pages of the site from the Markdown of this folder: menus, cards, pictures, one page per object.

Markdown stays readable on a code host. While Sphinx reads a page, this file adds to it:

- a list after a line ``<!-- cards 2 -->`` becomes a grid of cards, two in a row;
- ``<!-- thumbnails -->`` becomes a grid of the page's own pictures, each a link to its heading;
- the code of gallery and figures is run, and what it draws is shown;
- numbers of equations in parentheses become links to these equations;
- each public name in a table of api.md gets a page with its docstring.
"""

import contextlib
import functools
import importlib
import inspect
import re
from pathlib import Path

DOCS = Path(__file__).parent
DRAWN = Path()  # set by conf.py

#: Pages of each section, in the order of its menu; the sections are those of the index.
MENU = {
    "index": ["learn", "gallery/index", "theory/index", "api", "benchmarks", "developing"],
    "learn": [
        "start",
        "tutorials/index",
        "from_scipy",
        "from_scikit_sparse",
        "from_networkx",
        "from_ipopt",
        "from_qtqp",
        "from_jax",
        "from_torch",
        "from_pytensor",
        "c_code",
        "robots",
        "robot_files",
        "from_mujoco",
        "from_drake",
        "sensors",
        "examples/index",
        "recipes/index",
    ]
    + ["large_systems", "reliability", "citing"],
    "tutorials/index": [
        f"tutorials/{name}"
        for name in ("linear_system", "pendulum", "closed_loop", "contacts", "load_a_robot")
        + ("control", "accuracy")
    ],
    "gallery/index": ["figures/index"],
    "figures/index": ["figures/*"],
    "theory/index": [f"theory/{name}" for name in ("elimination", "step", "how_a_step_is_solved")]
    + [f"theory/{name}" for name in ("joints", "loops", "contacts", "galerkin", "*")]
    + ["papers"],
    "api": ["conventions"],
    "benchmarks": ["alternatives", "robots_compared", "robots_of_others"],
    "developing": ["architecture", "benchmark_notes", "dependencies", "release", "changelog"],
}
PACKAGES = {
    "gs": "graphsys",
    "dy": "dynamics",
    "integrators": "dynamics.integrators",
    "trajectory_optimization": "dynamics.trajectory_optimization",
    **{f"gs.{name}": f"graphsys.{name}" for name in ("ipopt", "jax", "pytensor", "qtqp", "torch")},
    **{f"dy.{name}": f"dynamics.{name}" for name in ("gym", "rotation")},
}
#: A name in the first column of a table of api.md, such as `gs.System` or `gs.jax.solve(...)`.
NAME = re.compile(rf"`({'|'.join(map(re.escape, reversed(PACKAGES)))})\.(\w+)(?:\([^`]*\))?`")


def menu():
    """Section -> its pages, each page once."""
    every = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    sections, placed = {}, {"index"}
    for section, names in MENU.items():
        found = []
        for name in names:
            here = [p for p in sorted(every - placed) if Path(p).match(name)]
            found += [p for p in here if p not in MENU or name == p]
            placed |= set(found)
        sections[section] = found
    return sections


def toctree(entries, caption=""):
    """A table of contents that the page itself does not show."""
    more = f":caption: {caption}\n" if caption else ""
    return "\n```{toctree}\n:hidden:\n" + more + "\n" + "\n".join(entries) + "\n```\n"


def objects():
    """Headings of api.md with the public objects that their tables name: (module, name, kind)."""
    groups, seen = [], set()
    for part in re.split(r"^##? ", (DOCS / "api.md").read_text(encoding="utf-8"), flags=re.M)[1:]:
        title, _, text = part.partition("\n")
        found = []
        for first in re.findall(r"^\| (`.*?) \|", text, re.M):
            for short, name in NAME.findall(first):
                top, *path = [*PACKAGES[short].split("."), name]
                thing = functools.reduce(getattr, path, importlib.import_module(top))
                if not inspect.ismodule(thing) and (short, name) not in seen:
                    seen.add((short, name))
                    kind = "class" if inspect.isclass(thing) else "function"
                    found.append((PACKAGES[short], name, kind))
        groups.append((title, found))
    return groups


def entry(package, name):
    """Name of an object in the menu, with the module that users reach by a short name."""
    short = next(short for short, path in PACKAGES.items() if path == package)
    return f"{short.partition('.')[2]}.{name}" if "." in short else name


def write_reference():
    """One page per public object, in reference/objects, where git ignores them."""
    folder = DOCS / "reference" / "objects"
    folder.mkdir(parents=True, exist_ok=True)
    there = set(folder.glob("*.rst"))
    for _, found in objects():
        for package, name, kind in found:
            title = f"{package}.{name}"
            text = f"{title}\n{'=' * len(title)}\n\n.. auto{kind}:: {title}\n"
            if kind == "class" and package == "dynamics.gym":  # gymnasium documents its own methods
                text += "   :no-inherited-members:\n"
            page = folder / f"{title}.rst"
            there.discard(page)
            if not page.exists() or page.read_text(encoding="utf-8") != text:
                page.write_text(text, encoding="utf-8")
    for page in there:
        page.unlink()


def linked(text):
    """The API page with its names as links to their pages."""

    def link(match):
        title = f"{PACKAGES[match[1]]}.{match[2]}"
        there = (DOCS / "reference" / "objects" / f"{title}.rst").exists()
        return f"[{match[0]}](reference/objects/{title}.rst)" if there else match[0]

    return re.sub(r"^\| `.*?\|", lambda row: NAME.sub(link, row[0]), text, flags=re.M)


def drawn(match, page):
    """Run a piece of a page's code, and show what it has drawn below it."""
    folder = (DRAWN / page).parent
    folder.mkdir(exist_ok=True)
    before = set(folder.iterdir())
    with contextlib.chdir(folder):
        exec(compile(match[1], page, "exec"), {})
    new = sorted(path.name for path in set(folder.iterdir()) - before)
    return match[0] + "".join(f'\n<img src="{name}" alt="what the code draws">\n' for name in new)


def grid(cards, columns):
    """A grid of cards: (title, link, picture, text) each, all but the title may be empty."""
    text = f"\n:::::{{grid}} 1 {min(2, columns)} {columns} {columns}\n:gutter: 3\n\n"
    for title, link, picture, words in cards:
        options = f':link: "{link}"\n' if link else ""
        if link and "." not in link.rpartition("/")[2] and "#" not in link:
            options += ":link-type: doc\n"
        text += f"::::{{grid-item-card}} {title}\n{options}\n{picture}\n\n{words}\n::::\n\n"
    return text + ":::::\n"


ITEM = re.compile(
    r"(!\[[^\]]*\]\([^)]*\))?\s*(?:\*\*)?\[([^\]]+)\]\(([^)]+)\)(?:\*\*)?:?\s*(.*)", re.S
)


def cards(match):
    """A list of pictures, links and words as a grid of cards."""
    made = []
    for item in re.split(r"^- ", match[2], flags=re.M)[1:]:
        picture, title, link, words = ITEM.fullmatch(" ".join(item.split())).groups()
        made.append((title, link.removesuffix(".md"), picture or "", words))
    return grid(made, int(match[1]))


def anchor(title):
    """Anchor of a heading, as code hosts and myst-parser make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def thumbnails(text):
    """A grid of the page's first pictures under each heading, links to them."""
    made = []
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        title, _, rest = part.partition("\n")
        found = re.search(r'<img src="([^"]+)"|!\[[^\]]*\]\(([^)]+)\)', rest)
        if found:
            picture = found[0] + ' alt="">' if found[1] else f"![]({found[2]})"
            made.append((title, f"#{anchor(title)}", picture, ""))
    return "\n".join(["", "::::::{div} thumbnails", grid(made, 3), "::::::", ""])


def paper_figures():
    """The same of the pages of figures, each of which draws one."""
    made = []
    for page in menu()["figures/index"]:
        title = (DOCS / f"{page}.md").read_text(encoding="utf-8").partition("\n")[0][2:]
        made.append((title, Path(page).name, f'<img src="{Path(page).name}.png" alt="">', ""))
    return "\n".join(["", "::::::{div} thumbnails", grid(made, 3), "::::::", ""])


#: What is no prose: fenced code, equations, inline code, links.
APART = re.compile(r"^```.*?^```$|^\$\$.*?\$\$|`[^`\n]*`|\[[^\]]*\]\([^)]*\)", re.M | re.S)

#: Number of an equation in the prose: (3), (3a) or, of a paper, (4.29).
NUMBER = re.compile(r"\((\d+(?:\.\d+)?[a-z]?)\)")


def numbered(text):
    """Anchors at tagged equations, and links to them from their numbers in the prose."""
    numbers = set(re.findall(r"\\tag\{([\w.]+)\}", text))

    def link(match):
        if match[1] not in numbers:
            return match[0]
        return f'<a class="equation" href="#equation-{match[1]}">({match[1]})</a>'

    def apart(match):
        block = match[0]
        tags = re.findall(r"\\tag\{([\w.]+)\}", block)
        marks = "".join(f'<span id="equation-{tag}"></span>' for tag in tags)
        return f"{marks}\n\n{block}" if tags else block

    pieces, at = [], 0
    for found in APART.finditer(text):
        pieces += [NUMBER.sub(link, text[at : found.start()]), apart(found)]
        at = found.end()
    return "".join([*pieces, NUMBER.sub(link, text[at:])])


def plain(app, what, name, thing, options, lines):
    """References as a list, whose numbers are those of one docstring; types without links."""
    lines[:] = [re.sub(r"^\.\. \[(\d+)\] ", r"\1. ", line) for line in lines]
    lines[:] = [re.sub(r"^(:vartype .*?:) (.+)$", r"\1 *\2*", line) for line in lines]


def adapted(name, text):
    """A page of the site from its Markdown."""
    if name.startswith("reference/objects/"):
        return text
    text = re.sub(r"\[([^\]]+)\]\((?:\.\./)+(?:README|LICENSE)[^)]*\)", r"\1", text)
    if name.startswith(("gallery/", "figures/")):
        text = re.sub(r"^```python\n(.*?)^```$", lambda m: drawn(m, name), text, flags=re.M | re.S)
    if name == "figures/index":
        text = text.replace("<!-- thumbnails -->", paper_figures())
    if "<!-- thumbnails -->" in text:
        text = text.replace("<!-- thumbnails -->", thumbnails(text))
    if name == "index":
        text += "\n```{div} front\n```\n"
    text = re.sub(r"^<!-- cards (\d) -->\n+((?:^(?:- |  ).*\n?)+)", cards, text, flags=re.M)
    if name.startswith("theory/"):
        text = numbered(text)
    if name == "api":
        text = linked(text)
        for title, found in objects():
            if found:
                entries = [f"{entry(p, n)} <reference/objects/{p}.{n}>" for p, n, _ in found]
                text += toctree(entries, title)
        return text + toctree(menu()["api"], "Words and layouts")
    pages = menu().get(name)
    return text + toctree([f"/{page}" for page in pages]) if pages else text
