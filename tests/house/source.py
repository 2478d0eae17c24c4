"""The project's source files, as text and as syntax trees."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


def expect_none(violations):
    """Fail with every violation on a line of its own."""
    assert not violations, "\n".join(["", *violations])


def files(*packages):
    """Python files of the packages, as paths relative to the checkout."""
    return sorted(
        p.relative_to(ROOT).as_posix() for d in packages for p in (ROOT / d).rglob("*.py")
    )


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def tree(name):
    return ast.parse(text(name), filename=name)


def is_kernel_file(name):
    return "kernels" in Path(name).parts[:-1]


def module_of(name):
    """`graphsys/kernels/__init__.py` -> `graphsys.kernels`."""
    return ".".join(Path(name).with_suffix("").parts).removesuffix(".__init__")


def imports(parsed, name):
    """Absolute names of all that a file imports, at any depth of its code."""
    package = module_of(name).split(".")
    if not name.endswith("__init__.py"):
        package = package[:-1]
    found = set()
    for node in ast.walk(parsed):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


def within(imported, *packages):
    """Whether the imported name is one of the packages or lies in one of them."""
    return any(imported == p or imported.startswith(p + ".") for p in packages)


def decorators(function):
    """Last names of a function's decorators: `numba.njit(cache=True)` -> `njit`."""
    names = set()
    for node in function.decorator_list:
        node = node.func if isinstance(node, ast.Call) else node
        names.add(node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", ""))
    return names


@cache
def compiling():
    """Names of decorators that compile: numba's, and those of graphsys/kernels/base/jit.py."""
    names = {"jit", "njit", "vectorize", "guvectorize", "cfunc"}
    jit = "graphsys/kernels/base/jit.py"
    if (ROOT / jit).exists():
        decorators = (node for node in tree(jit).body if isinstance(node, ast.FunctionDef))
        names |= {node.name for node in decorators} - {"intrinsic"}
    return names


def compiled_functions(parsed):
    """Functions that numba compiles."""
    names = compiling()
    return [
        node
        for node in ast.walk(parsed)
        if isinstance(node, ast.FunctionDef) and names & decorators(node)
    ]
