"""Kernels that Python runs where compiling would take longer."""

import pytest

from graphsys.compiler import DISABLE_JIT

from .toys import Toy

pytestmark = pytest.mark.skipif(DISABLE_JIT, reason="kernels are plain Python")

SMALL, LARGE = (f"other(__import__('numpy').ones({size}))" for size in (3, 2000))
COMPILE = "from graphsys.kernels.base.jit import compile_all\ncompile_all()\n"
CODE = ["other.kernel", "other.stub"]


@pytest.fixture
def toy(tmp_path):
    toy = Toy(tmp_path)
    toy.write("other", "x[0] += 1.0\nreturn x[0] + x.size", decorator="interpreted")
    return toy


def test_python_runs_them_where_arrays_are_small(toy):
    assert toy.call(SMALL) == (5.0, [], [], False)
    assert toy.call(LARGE) == (2002.0, CODE, [], True)


def test_machine_code_is_used_where_there_is_some(toy):
    assert toy.call(SMALL, COMPILE) == (5.0, CODE, [], True)
    (path,) = toy.files(".stub")
    path.write_bytes(path.read_bytes()[:90])
    assert "is damaged" in toy.call(SMALL).warned[0]


def test_python_gives_what_machine_code_gives(toy):
    text = f"type({SMALL}).__name__"
    assert toy.call(text).result == toy.call(text, COMPILE).result == "float"


def test_when_the_time_for_python_is_over_they_are_compiled(toy):
    toy.write(
        "other", "for _ in range(int(1e7)):\n    x[0] += 1.0\nreturn x[0]", decorator="interpreted"
    )
    assert toy.call(f"[{SMALL}, {SMALL}]").written == CODE


def test_kernels_that_call_them_compile_them(toy):
    toy.write("outer", "return other(x)", "from .other import other")
    written = ["other.kernel", "outer.kernel", "outer.stub"]
    assert toy.call(SMALL.replace("other", "outer")) == (5.0, written, [], True)
