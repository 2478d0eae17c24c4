"""Every public function and class of graphsys says what goes in and what comes out."""

import ast
import inspect
import re

import dynamics
import graphsys

from .source import decorators, expect_none, files, is_kernel_file, tree

PUBLIC = {
    name
    for package in (graphsys, dynamics)
    for name in package.__all__
    if not inspect.ismodule(getattr(package, name))
}
#: What public classes have their methods from, by module.
BASES = {
    (f"{base.__module__.replace('.', '/')}.py", base.__name__)
    for package in (graphsys, dynamics)
    for name in package.__all__
    for base in getattr(getattr(package, name), "__mro__", [])
}
MODULES = [name for name in files("graphsys", "dynamics") if not is_kernel_file(name)]


def section(docstring, title):
    """Text of a numpydoc section, None if there is none."""
    match = re.search(
        rf"^{title}\n-{{{len(title)}}}\n(.*?)(?=^\S[^\n]*\n-{{3,}}$|\Z)", docstring, re.M | re.S
    )
    return match and match[1]


def documented_names(docstring, *titles):
    """Names that stand at the margin of these sections: `a, b : int` -> {a, b}."""
    found = set()
    for title in titles:
        for line in re.findall(r"^(\S[^\n]*)$", section(docstring, title) or "", re.M):
            found |= {name.strip(" *") for name in line.split(" :")[0].split(",")}
    return found


def parameters(function):
    a = function.args
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    return [p.arg for p in every if p.arg not in ("self", "cls") and not p.arg.startswith("_")]


def gives_back(function):
    """Whether a call's value is of use: the annotation decides, else a `return` with a value."""
    if function.returns is not None:
        return ast.unparse(function.returns).strip("'\"") not in ("None", "NoReturn", "Never")
    return any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(function))


def missing_in_function(function, full, prefix=""):
    name = prefix + function.name
    if decorators(function) & {"overload", "setter", "deleter"}:
        return []
    docstring = ast.get_docstring(function)
    if not docstring:
        return [f"{name}: no docstring"]
    if decorators(function) & {"property", "cached_property"}:
        return []
    wanted = parameters(function)
    named = documented_names(docstring, "Parameters", "Other Parameters")
    wrong = [f"{name}: there is no parameter {p}" for p in sorted(named - set(wanted))]
    if full:
        wrong += [f"{name}: parameter {p} is not documented" for p in wanted if p not in named]
    results = section(docstring, "Returns") or section(docstring, "Yields")
    if full and wanted and gives_back(function) and not results:
        wrong.append(f"{name}: no Returns section")
    return wrong


def missing_in_class(node, full):
    docstring = ast.get_docstring(node)
    if not docstring:
        return [f"{node.name}: no docstring"]
    wanted, wrong = [], []
    if "dataclass" in decorators(node):
        fields = [n.target.id for n in node.body if isinstance(n, ast.AnnAssign)]
        wanted += [f for f in fields if not f.startswith("_")]
    for function in (n for n in node.body if isinstance(n, ast.FunctionDef)):
        if function.name == "__init__":
            wanted += parameters(function)
            docstring += "\n\n" + (ast.get_docstring(function) or "")
        elif not function.name.startswith("_"):
            wrong += missing_in_function(function, full, f"{node.name}.")
    named = documented_names(docstring, "Parameters", "Attributes")
    if full or named:
        wrong[:0] = [f"{node.name}: {n} is not documented" for n in wanted if n not in named]
    return wrong


def missing(parsed, public):
    """What a module leaves unsaid.

    Everything without a leading underscore has a docstring, which lists no parameter that is not
    there. What `public` names, users see: it lists all its parameters, and its result.
    """
    wrong = []
    for node in parsed.body:
        if getattr(node, "name", "_").startswith("_"):
            continue
        if isinstance(node, ast.FunctionDef):
            wrong += missing_in_function(node, node.name in public)
        elif isinstance(node, ast.ClassDef):
            wrong += missing_in_class(node, node.name in public)
    return wrong


def test_every_public_name_documents_what_goes_in_and_out():
    wrong = [
        f"{name}: {line}"
        for name in MODULES
        for line in missing(tree(name), PUBLIC | {base for module, base in BASES if module == name})
    ]
    expect_none(wrong)


def test_the_rule_sees_what_is_missing():
    code = '''
def a(x, y=1): pass
def b(x, *, y=1):
    """B.

    Parameters
    ----------
    x : int
        One.
    """
    return x
def c(x, *rest: int) -> None:
    """C.

    Parameters
    ----------
    x, *rest, z : int
        One.

    Notes
    -----
    y : this is no parameter.
    """
def _d(x): pass
@dataclass(frozen=True)
class E:
    """E.

    Attributes
    ----------
    n : int
        One.
    """
    n: int
    m: int
    def f(self, z) -> None:
        """F."""
    @property
    def g(self):
        """G."""
        return 1
class H:
    """H.

    Parameters
    ----------
    x : int
        One.
    """
    def __init__(self, x, y): pass
'''
    every = ["a", "b", "c", "_d", "E", "H"]
    assert missing(ast.parse(code), every) == [
        "a: no docstring",
        "b: parameter y is not documented",
        "b: no Returns section",
        "c: there is no parameter z",
        "E: m is not documented",
        "E.f: parameter z is not documented",
        "H: y is not documented",
    ]
    assert missing(ast.parse(code), []) == [
        "a: no docstring",
        "c: there is no parameter z",
        "E: m is not documented",
        "H: y is not documented",
    ]
