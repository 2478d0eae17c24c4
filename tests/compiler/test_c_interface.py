"""Kernels as C functions: what C gets is what Python gets."""

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

import graphsys as gs
from graphsys import families, kernels
from graphsys.compiler import DISABLE_JIT

compiled = pytest.mark.skipif(DISABLE_JIT, reason="kernels are plain Python")
INT = ctypes.c_int64


def vector(array):
    """Pointer and length."""
    return ctypes.c_void_p(array.ctypes.data), INT(array.size)


def sizes_of(symbolic, count):
    """Lengths of arena, magnitude and workspace, by C."""
    sizes = np.zeros(3, np.int64)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, INT, INT, ctypes.c_void_p)
    call(kernels.address("work_sizes"))(*vector(symbolic.program), INT(count), sizes.ctypes.data)
    return sizes


@compiled
@pytest.mark.parametrize(
    "dtype",
    [
        "float64",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("float32", "complex128", "complex64")
        ),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 12])
def test_factorization_and_solves_through_ctypes(dtype, size):
    system = families.random_system(gs.ladder(6), size, dtype=dtype, dominance=3.0)
    symbolic, values = system.analyze(), system.values
    is_complex = np.dtype(dtype).kind == "c"
    table = symbolic.supernodal_program if is_complex else symbolic.program
    n, eps = system.shape[0], np.finfo(dtype).eps
    b = np.random.default_rng(0).standard_normal(2 * n).astype(dtype)
    sizes = sizes_of(symbolic, 2)
    assert tuple(sizes) == kernels.work_sizes(table, 2)
    arena, x, out = np.zeros(sizes[0], dtype), np.zeros(sizes[2], dtype), np.zeros(2 * n, dtype)
    magnitude, info = np.zeros(sizes[1], np.empty(0, dtype).real.dtype), np.zeros(3)

    def function(name, *arguments):
        prototype = ctypes.CFUNCTYPE(INT, *map(type, arguments))
        return prototype(kernels.address(name, dtype))(*arguments)

    program, A = vector(table), system.to_dense()
    bound = 1e3 * n * eps * abs(A).sum(axis=1).max()
    tolerance = ctypes.c_double(64 * eps)
    status = function(
        "factorize", *program, *vector(values), tolerance, *vector(magnitude), *vector(arena),
        *vector(info),
    )  # fmt: skip
    assert status == 0
    assert info[0] > 0.0
    for name, matrix in (("solve", A), ("solve_transposed", A.T)):
        solved = function(
            name, *program, *vector(arena), *vector(b), INT(2), *vector(x), *vector(out)
        )
        assert solved == 0
        for k in range(2):
            residual = matrix @ out[k * n : (k + 1) * n] - b[k * n : (k + 1) * n]
            assert abs(residual).max() < bound
    once = np.zeros(n, dtype)
    status = function(
        "factorize_and_solve", *program, *vector(values), *vector(b[:n]), tolerance,
        *vector(magnitude), *vector(x), *vector(arena), *vector(info), *vector(once),
    )  # fmt: skip
    assert status == 0
    assert abs(A @ once - b[:n]).max() < bound


@compiled
def test_a_singular_pivot_is_told_by_its_row():
    system = gs.System(gs.chain(3), 1)
    for node in system.labels:
        system[node, node] = 0.0 if node == system.labels[-1] else 1.0
    symbolic = system.analyze(ordering=system.labels)
    sizes = sizes_of(symbolic, 1)
    work = [np.zeros(size) for size in (*sizes[1:], sizes[0], 3, 3)]
    arguments = [
        *vector(symbolic.program), *vector(system.values), *vector(np.ones(3)),
        ctypes.c_double(1e-14), *(part for array in work for part in vector(array)),
    ]  # fmt: skip
    call = ctypes.CFUNCTYPE(INT, *map(type, arguments))(kernels.address("factorize_and_solve"))
    assert 1 <= call(*arguments) <= 3  # the three rows may share a pivot block


def test_names_and_types_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="no C function 'refactorize'; there are"):
        kernels.address("refactorize")
    with pytest.raises(ValueError, match="not int64"):
        kernels.address("solve", np.int64)


def test_the_header_names_every_function_and_argument(tmp_path):
    text = kernels.header()
    for name in ("factorize", "solve", "solve_transposed", "factorize_and_solve"):
        for end in ("f64", "f32", "c128"):
            (declared,) = re.findall(rf"\(\*graphsys_{name}_{end}\)\((.*)\);", text)
            assert declared.startswith("const int64_t *program, int64_t program_length")
    assert "graphsys_work_sizes)" in text
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "graphsys.h").write_text(text)
    source = tmp_path / "use.c"
    source.write_text('#include "graphsys.h"\ngraphsys_solve_f64 solve; int main() { return 0; }\n')
    command = [compiler, "-std=c99", "-Wall", "-Werror", "-o", str(tmp_path / "use"), str(source)]
    subprocess.run(command, check=True)
