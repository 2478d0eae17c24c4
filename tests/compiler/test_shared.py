"""LLVM functions that kernels share: compiled once, found again, compiled again with an edit."""

import pytest

from graphsys.compiler import DISABLE_JIT

from .toys import Toy

pytestmark = pytest.mark.skipif(DISABLE_JIT, reason="nothing is compiled")

#: Functions ``factor x`` of LLVM, and one that calls such a function twice.
EMITTING = """
from llvmlite import ir

from graphsys.compiler.shared import Shared

NUMBER = ir.DoubleType()

def begun(module, name):
    function = ir.Function(module, ir.FunctionType(NUMBER, [NUMBER]), name)
    return function, ir.IRBuilder(function.append_basic_block())

@Shared
def times(module, factor):
    function, builder = begun(module, f"toy_times_{factor}")
    builder.ret(builder.fmul(function.args[0], NUMBER(float(factor))))
    return function

@Shared
def times_squared(module, factor):
    function, builder = begun(module, f"toy_times_squared_{factor}")
    call = times(module, factor)
    builder.ret(builder.call(call, [builder.call(call, function.args)]))
    return function
"""
INTRINSICS = """
from graphsys.kernels.base.jit import LazyModule, intrinsic, types

emitting = LazyModule("toy.kernels.emitting")

def calling(make, factor):
    def generate(context, builder, signature, arguments):
        return builder.call(make(builder.module, factor), arguments)
    return types.float64(types.float64), generate

@intrinsic
def tenfold(typing, x):
    return calling(emitting.times, 10)

@intrinsic
def twofold(typing, x):
    return calling(emitting.times, 2)

@intrinsic
def hundredfold(typing, x):
    return calling(emitting.times_squared, 10)
"""
ALL = ["inner.kernel", "middle.kernel", "outer.kernel", "outer.stub"]
BOTH = "outer(1.0), other(1.0)"


@pytest.fixture
def toy(tmp_path):
    toy = Toy(tmp_path)
    (toy.kernels / "emitting.py").write_text(EMITTING)
    (toy.kernels / "intrinsics.py").write_text(INTRINSICS)
    toy.write("inner", "return tenfold(x)", "from .intrinsics import tenfold")
    return toy


def test_kernels_share_what_is_compiled_and_a_later_process_finds_it(toy):
    toy.write("other", "return hundredfold(x)", "from .intrinsics import hundredfold")
    shared = ["times.kernel", "times_squared.kernel"]
    both = sorted([*ALL, "other.kernel", "other.stub", *shared])
    assert toy.call(BOTH) == ([11.0, 100.0], both, [], True)
    assert toy.call(BOTH) == ([11.0, 100.0], [], [], False)
    toy.write("other", "return tenfold(x)", "from .intrinsics import tenfold")
    assert toy.call(BOTH) == ([11.0, 10.0], ["other.kernel", "other.stub"], [], True)


def test_other_arguments_are_another_function(toy):
    toy.write("other", "return twofold(x)", "from .intrinsics import twofold")
    outcome = toy.call(BOTH)
    assert outcome.result == [11.0, 2.0]
    assert outcome.written.count("times.kernel") == 2


def test_an_edited_function_and_its_users_are_compiled_again_and_no_other(toy):
    toy.call(BOTH)
    (toy.kernels / "emitting.py").write_text(EMITTING.replace("builder.fmul", "builder.fadd"))
    written = sorted([*ALL, "times.kernel"])
    assert toy.call(BOTH) == ([12.0, 0.0], written, [], True)


@pytest.mark.parametrize("damage", ["cut", "payload", "gone"])
def test_a_file_that_is_damaged_or_gone_is_compiled_again(toy, damage):
    toy.call()
    (path,) = toy.files("times-*.kernel")
    data = bytearray(path.read_bytes())
    if damage == "gone":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(data[:90])
    else:  # which only numba reads: once a kernel that calls it is edited
        data[-1] ^= 0xFF
        path.write_bytes(data)
        toy.write("inner", "return 0.0 + tenfold(x)", "from .intrinsics import tenfold")
    result, written, warned, _ = toy.call()
    assert result == 11.0
    assert "times.kernel" in written
    text = f"has no {path.name}" if damage == "gone" else f"is damaged ({path.name})"
    assert warned
    assert all(text in said for said in warned)
    assert toy.call() == (11.0, [], [], False)


USER = """
from numba import njit
from toy.kernels.other import other

@njit(cache=True)
def user(x):
    return other(x) + 0.5
"""
RUN = """
from user import user
print(user(1.0), sum(user.stats.cache_hits.values()))
"""


def test_functions_of_users_hold_all_they_call(toy):
    """numba loads them from its cache without asking us."""
    toy.write("other", "return hundredfold(x)", "from .intrinsics import hundredfold")
    (toy.folder / "user.py").write_text(USER)
    for hits in (0, 1):
        assert toy.run(RUN).split() == ["100.5", str(hits)]
