"""README and docs say what is so: their code runs, their names and links exist."""

import re
import shlex
import tomllib

import pytest

import dynamics
import graphsys
from graphsys import kernels

from .source import ROOT, expect_none, text

PUBLIC = (("gs", graphsys), ("dy", dynamics), ("kernels", kernels))
PAGES = ["README.md", *sorted(p.relative_to(ROOT).as_posix() for p in ROOT.glob("docs/**/*.md"))]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text(page), re.M | re.S)


def setup_commands():
    chapter = re.search(r"^## Set-up$(.*?)(?=^## |\Z)", text("README.md"), re.M | re.S)
    fences = re.findall(r"^```\w*\n(.*?)^```$", chapter[1], re.M | re.S)
    return [line for fence in fences for line in fence.splitlines() if line.strip()]


CODE = [(page, n) for page in PAGES for n in range(len(blocks(page, "python")))]
#: An hour of Heun's method in Python; that our energy keeps its band, tests/dynamics tests.
SLOW = {"docs/figures/energy.md", "docs/figures/tolerances.md"}


@pytest.mark.parametrize(
    ("page", "n"),
    [pytest.param(*at, marks=[pytest.mark.slow] if at[0] in SLOW else []) for at in CODE],
)
def test_the_code_runs(page, n, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        exec(compile(blocks(page, "python")[n], f"{page}, code block {n}", "exec"), {})
    except graphsys.MissingExtraError as error:
        pytest.skip(str(error))


def test_readme_shows_code():
    assert ("README.md", 0) in CODE


def test_readme_shows_small_pictures():
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text("README.md"))

    assert len(pictures) >= 2
    expect_none([name for name in pictures if (ROOT / name).stat().st_size > 200_000])


def test_readme_gives_exactly_two_setup_commands():
    demo, tests = setup_commands()

    # not by `-m`, which would take the checkout's sources, without the machine code of the package
    assert demo.endswith("&& .venv/bin/graphsys demo")
    assert tests.endswith("-m tests")
    for command in (demo, tests):
        assert command.startswith("python3 -m venv .venv && .venv/bin/python -m pip install ")


def test_setup_commands_name_extras_that_exist():
    extras = tomllib.loads(text("pyproject.toml"))["project"]["optional-dependencies"]
    words = shlex.split(" ".join(setup_commands()))
    named = [extra for w in words if w.startswith(".[") for extra in w[2:-1].split(",")]

    assert named == ["test"]
    assert set(named) <= set(extras)


def test_every_dependency_has_a_lower_bound_no_upper_one_and_a_reason():
    project = tomllib.loads(text("pyproject.toml"))["project"]
    reasons = text("docs/dependencies.md")
    for requirement in sum(project["optional-dependencies"].values(), project["dependencies"]):
        if requirement.startswith("graphsys["):
            continue
        match = re.fullmatch(r"([\w-]+)(\[\w+\])?>=[\d.]+", requirement)
        assert match, requirement
        assert f"`{match[1]}`" in reasons


def test_graphsys_has_public_names():
    assert "System" in graphsys.__all__


def test_every_public_name_exists_and_is_in_the_api_page():
    api = text("docs/api.md")
    public = [(short, package, name) for short, package in PUBLIC for name in package.__all__]

    expect_none(
        [f"{short}.{name}" for short, package, name in public if not hasattr(package, name)]
    )
    shown = [f"{short}.{name}" for short, _, name in public]
    expect_none([name for name in shown if not re.search(rf"`{re.escape(name)}\b", api)])


def test_every_public_name_in_a_page_exists():
    unknown = [
        f"{page}: {short}.{name}"
        for page in PAGES
        for short, package in PUBLIC
        for name in sorted(set(re.findall(rf"\b{short}\.([A-Za-z_]\w*)", text(page))))
        if not hasattr(package, name)
    ]
    expect_none(unknown)


def test_every_link_in_a_page_leads_somewhere():
    broken = [
        f"{page}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#\s]+)", text(page))
        if "://" not in target and not ((ROOT / page).parent / target).exists()
    ]
    expect_none(broken)


#: A path of the project in a page: `dynamics/io/urdf.py` or `graphsys/kernels/`.
PATH = re.compile(r"`((?:graphsys|dynamics|tests|asv_benchmarks|docs)/[\w./-]*)`")


def test_every_path_in_a_page_exists():
    named = [(page, path) for page in PAGES for path in PATH.findall(text(page))]

    assert len(named) > 50
    expect_none([f"{page}: {path}" for page, path in named if not (ROOT / path).exists()])


def test_architecture_names_every_folder_of_the_packages():
    folders = {p.parent for d in ("graphsys", "dynamics") for p in (ROOT / d).rglob("*.py")}
    named = {ROOT / path for path in PATH.findall(text("docs/architecture.md"))}

    expect_none(sorted(str(f.relative_to(ROOT)) for f in folders - named - {ROOT / "dynamics"}))


def test_architecture_answers_where_with_files():
    rows = re.findall(r"^\| Where .*\? \| (.*) \|$", text("docs/architecture.md"), re.M)

    assert len(rows) >= 5
    expect_none([row for row in rows if not any((ROOT / p).is_file() for p in PATH.findall(row))])
