"""A file holds one step of the flow, and a kernel says what it computes."""

import ast
import inspect
import pkgutil
from pathlib import Path

import pytest

import dynamics
import dynamics.integrators
import dynamics.io
import graphsys

from .source import compiled_functions, expect_none, files, is_kernel_file, tree

SOURCES = files("graphsys", "dynamics")
KERNELS = [name for name in SOURCES if is_kernel_file(name)]
MEANINGLESS = {"utils", "util", "helpers", "misc", "common", "tools"}


def test_both_packages_are_looked_at():
    assert "graphsys/__init__.py" in SOURCES
    assert "dynamics/__init__.py" in SOURCES
    assert any(compiled_functions(tree(name)) for name in KERNELS)


def test_every_file_has_a_docstring():
    expect_none([name for name in SOURCES if not ast.get_docstring(tree(name))])


def test_no_file_has_a_meaningless_name():
    expect_none([name for name in SOURCES if Path(name).stem in MEANINGLESS])


def shadowed(name):
    """Names that a package's `__init__.py` exports although a module of its own has that name."""
    parsed = tree(name)
    names = {
        alias.asname or alias.name
        for node in parsed.body
        if isinstance(node, ast.ImportFrom) and node.module and node.module != "__future__"
        for alias in node.names
        if f"{Path(name).parent}/{node.module.rpartition('.')[2]}.py" in SOURCES
    }
    modules = {Path(other).stem for other in SOURCES if Path(other).parent == Path(name).parent}
    return sorted(names & modules)


def test_a_package_exports_nothing_under_the_name_of_its_own_module():
    # `from package import solve` would give the function to one reader, the module to another.
    packages = [name for name in SOURCES if name.endswith("__init__.py")]
    expect_none([f"{name}: {wrong}" for name in packages for wrong in shadowed(name)])


#: Packages that import what they export at its first use.
LATER = [graphsys, dynamics, dynamics.integrators, dynamics.io]


def test_nor_does_one_that_imports_it_later():
    wrong = []
    for package in LATER:
        modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
        both = sorted(modules & set(package._LATER))
        wrong += [
            f"{package.__name__}.{name}" for name in both
            if not inspect.ismodule(package.__getattr__(name))
        ]  # fmt: skip
    expect_none(wrong)


@pytest.mark.parametrize("package", LATER)
def test_a_package_lists_what_it_exports_and_refuses_the_rest(package):
    assert dir(package) == sorted([*package.__all__, *getattr(package, "_LISTED", ())])
    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'ask'"):
        getattr(package, "ask")  # noqa: B009


def test_names_of_other_programs_lead_to_those_here():
    with pytest.raises(AttributeError, match="no attribute 'Hinge'; use dynamics.Revolute$"):
        dynamics.Hinge  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'solve'; use graphsys.spsolve\(A, b\)"):
        graphsys.solve  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'Cholesky'; use graphsys.cholesky"):
        graphsys.Cholesky  # noqa: B018
    for way in graphsys._ELSEWHERE.values():
        assert hasattr(graphsys, way.split("(")[0].split(".")[0]), way


#: Modules that users reach by a short name.
SHORT = [f"gs.{name}" for name in ("ipopt", "jax", "pytensor", "qtqp", "torch")] + [
    f"dy.{name}" for name in ("gym", "rotation", "trajectory_optimization", "zoo")
]


@pytest.mark.parametrize("short", SHORT)
def test_a_module_lists_what_it_exports_and_no_imports(short):
    package, name = short.split(".")
    package = {"gs": graphsys, "dy": dynamics}[package]
    module = getattr(package, name)

    assert name in dir(package)
    assert dir(module) == sorted(module.__all__)
    assert all(callable(getattr(module, one)) for one in module.__all__)


def unclear(parsed):
    """Compiled functions without one line that says what they compute, or with a `raise`."""
    wrong = []
    for function in compiled_functions(parsed):
        docstring = ast.get_docstring(function) or ""
        first, *rest = docstring.split("\n")
        if not first or (rest and rest[0]):
            wrong.append(f"{function.name}: the docstring's first line must say what it computes")
        if any(isinstance(node, ast.Raise) for node in ast.walk(function)):
            wrong.append(f"{function.name}: raises; a kernel gives a status back")
    return wrong


def test_every_kernel_says_in_one_line_what_it_computes_and_raises_nothing():
    expect_none([f"{name}: {line}" for name in KERNELS for line in unclear(tree(name))])


def test_the_rule_sees_an_unclear_kernel():
    code = """
@kernel
def a(x):
    '''x <- 0.

    For x of any length.'''
@njit(cache=True)
def b(x):
    pass
@numba.njit
def c(x):
    '''One,
    two.'''
@njit
def d(x):
    '''x.'''
    raise ValueError
def e(x):
    raise ValueError
"""
    assert [line.split(":")[0] for line in unclear(ast.parse(code))] == ["b", "c", "d"]
