"""Who imports whom; lint-imports holds the layers, this holds what it cannot say."""

import ast
import subprocess
import sys

from .source import compiled_functions, expect_none, files, imports, is_kernel_file, tree, within

SOURCES = files("graphsys", "dynamics")
KERNELS_MAY_IMPORT = (
    "numpy",
    "numba",
    "llvmlite",
    "math",
    "operator",
    "ctypes",
    "typing",
    "graphsys.kernels",
)
ALSO = {
    "graphsys/kernels/base/jit.py": ("graphsys.compiler",),
    "graphsys/kernels/base/pointers.py": ("os",),
}
#: XLA calls its machine code after the interpreter has ended, when no kernel's stub can run.
LLVM_ALONE = "graphsys/interop/exit_guard.py"
#: The package that compiles kernels imports numba, but nothing of ours.
COMPILER = "graphsys/compiler/"


def foreign(parsed, name):
    """Imports that the house does not allow in this file."""
    found = imports(parsed, name)
    if name.startswith("graphsys/"):
        wrong = {i for i in found if within(i, "dynamics")}
    else:
        inside = {i for i in found if within(i, "graphsys")}
        wrong = {i for i in inside if i != "graphsys" and not within(i, "graphsys.kernels")}
    if name.startswith(COMPILER):
        wrong |= {i for i in found if within(i, "graphsys") and not within(i, "graphsys.compiler")}
    elif is_kernel_file(name):
        also = ("dynamics.kernels",) if name.startswith("dynamics/") else ()
        also += ALSO.get(name, ())
        wrong |= {i for i in found if not within(i, *KERNELS_MAY_IMPORT, *also)}
    else:
        wrong |= {i for i in found if within(i, "numba", "llvmlite", "graphsys.kernels.base.jit")}
        wrong |= {i for i in found if within(i, "graphsys.compiler.backend")}
        if name == LLVM_ALONE:
            wrong -= {"llvmlite.binding"}
    return sorted(wrong)


def test_a_file_imports_only_what_the_house_allows():
    expect_none([f"{name}: {i}" for name in SOURCES for i in foreign(tree(name), name)])


def test_compiled_code_lies_in_kernels_only():
    plain = [name for name in SOURCES if not is_kernel_file(name)]
    expect_none([f"{name}: {f.name}" for name in plain for f in compiled_functions(tree(name))])


def test_the_rule_sees_a_foreign_import():
    cases = [
        ("graphsys/system.py", "import dynamics.parts.bodies", ["dynamics.parts.bodies"]),
        ("graphsys/system.py", "def f():\n    from dynamics import x", ["dynamics.x"]),
        ("graphsys/system.py", "from numba import njit", ["numba.njit"]),
        ("graphsys/system.py", "from .kernels import ldu\nimport scipy", []),
        (
            "graphsys/kernels/single/ldu.py",
            "from ...matrix.graph import BlockGraph",
            ["graphsys.matrix.graph.BlockGraph"],
        ),
        ("graphsys/kernels/single/ldu.py", "import os, math", ["os"]),
        ("graphsys/compiler/keys.py", "import numba\nfrom .lazy import LazyModule", []),
        (
            "graphsys/compiler/keys.py",
            "from graphsys.matrix.graph import x",
            ["graphsys.matrix.graph.x"],
        ),
        ("graphsys/kernels/single/ldu.py", "from .jit import kernel\nimport numpy as np", []),
        ("graphsys/kernels/__init__.py", "from . import ldu\nfrom .. import x", ["graphsys.x"]),
        ("dynamics/model.py", "from graphsys.symbolic import x", ["graphsys.symbolic.x"]),
        ("dynamics/model.py", "import graphsys as gs\nimport graphsys.kernels.single.ldu", []),
        ("dynamics/kernels/body.py", "from graphsys import kernels\nimport scipy", ["scipy"]),
    ]
    for name, code, wrong in cases:
        assert foreign(ast.parse(code), name) == wrong, (name, code)


def loaded_by(statement, names):
    code = f"import sys\n{statement}\nprint(*[n for n in {names!r} if n in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.split()


def test_import_graphsys_loads_no_heavy_package():
    names = ["numba", "llvmlite", "matplotlib", "pymetis", "pypower", "dynamics"]

    assert loaded_by("import math, llvmlite", names) == ["llvmlite"]
    assert loaded_by("import graphsys", names) == []


def test_a_first_solution_and_a_robot_file_need_few_parts_of_scipy():
    names = ["scipy.linalg", "scipy.sparse.csgraph", "scipy.sparse.linalg", "scipy.spatial"]
    always = loaded_by("import scipy.sparse", names)  # scipy 1.15 loads most of itself
    names = [name for name in names if name not in always]

    assert loaded_by("import scipy.spatial", names) != []
    assert loaded_by("import graphsys.symbolic, graphsys.factor", names) == []
    use = "from dynamics import io, rotation\nrotation.from_rpy([0.1, 0.2, 0.3])"
    assert loaded_by(f"import dynamics.model, dynamics.io.urdf\n{use}", names) == []
