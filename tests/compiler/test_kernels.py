"""Kernels that call kernels: constants, callers of users, and what numba is left with."""

import gc
import operator

import numpy as np
import pytest
from numba import types
from numba.core.registry import cpu_target

from graphsys.compiler import DISABLE_JIT
from graphsys.compiler.numba_speed import REPLACED, remembering
from graphsys.kernels.base.jit import kernel

from .toys import Toy

pytestmark = pytest.mark.skipif(DISABLE_JIT, reason="kernels are plain Python")


@kernel
def scaled(x, factor, upwards=True):
    """x factor, or x / factor."""
    return x * factor if upwards else x / factor


@kernel
def several(x):
    """3 x + 5 x + x / 2 + x / 4."""
    return scaled(x, 3.0) + scaled(x, 5.0, True) + scaled(x, 2, False) + scaled(x, 4, upwards=False)


def test_kernels_call_kernels_with_constants_defaults_and_names():
    assert several(4.0) == 12.0 + 20.0 + 2.0 + 1.0
    assert scaled(4.0, 3.0) == 12.0  # and Python calls the inner one as well
    assert scaled(4, 2, upwards=False) == 2.0


def test_a_constant_compiles_no_kernel_anew():
    dispatcher = scaled.dispatcher
    for factor in (2, 4, 8):
        for upwards in (True, False):
            dispatcher.get_call_template((types.float64, types.literal(factor)), {})
            kinds = types.float64, types.int64, types.literal(upwards)
            dispatcher.get_call_template(kinds, {})
    one = types.float64, types.int64  # ``upwards`` is left out, or a bool
    assert len([kinds for kinds in dispatcher.overloads if kinds[:2] == one]) == 2
    kinds = [kind for kinds in dispatcher.overloads for kind in kinds]
    assert not any(isinstance(kind, types.Literal) for kind in kinds)


def test_what_an_operator_makes_of_numbers_and_arrays_is_asked_for_once():
    cpu_target.target_context.refresh()
    plus, entry, length = map(
        cpu_target.typing_context.resolve_value_type, (operator.add, operator.getitem, len)
    )
    whole, real, text, row = types.int64, types.float64, types.unicode_type, types.int64[::1]
    asked = []
    remembered = remembering(lambda *call: asked.append(call[0::2]) or len(asked))
    numbers = [(plus, (whole, whole)), (plus, (whole, real)), (entry, (row, whole))]
    others = [(plus, (text, text)), (length, (row,))]

    assert [remembered(of, None, kinds, {}) for of, kinds in numbers + others] == [1, 2, 3, 4, 5]
    assert [remembered(of, None, kinds, {}) for of, kinds in numbers + others] == [1, 2, 3, 6, 7]
    assert asked == numbers + others + others


@pytest.mark.parametrize("on", [True, False])
def test_compiling_leaves_numba_and_the_garbage_collector_as_they_were(on):
    def product(a, b):
        """a b."""
        return a * b

    fresh = kernel(product)
    was_on, before = gc.isenabled(), [getattr(of, name, None) for of, name, _ in REPLACED]
    (gc.enable if on else gc.disable)()
    try:
        assert fresh(2.0, 3.0) == 6.0
        assert gc.isenabled() is on
        with pytest.raises(Exception, match="Failed in nopython mode"):
            fresh(np.zeros(3), None)
        assert gc.isenabled() is on
        assert [getattr(of, name, None) for of, name, _ in REPLACED] == before
    finally:
        (gc.enable if was_on else gc.disable)()


#: A function of a user, cached by numba, that calls a kernel which calls others by name.
USER = """
from numba import njit
from toy.kernels.outer import outer

@njit(cache=True)
def user(x):
    return outer(x) + 0.5
"""
RUN = """
from graphsys.compiler import backend
backend.SMALL = 0
from user import user
print(user(1.0), sum(user.stats.cache_hits.values()))
(compiled,) = user.overloads.values()
print(len(backend.called_by_name(compiled.library)))
"""


def test_functions_of_users_hold_all_they_call(tmp_path):
    """numba loads them from its cache without asking us."""
    toy = Toy(tmp_path)
    (tmp_path / "user.py").write_text(USER)
    for hits in (0, 1):
        assert toy.run(RUN).split() == ["11.5", str(hits), "0"]


def test_a_function_of_a_user_may_be_the_first_that_numba_compiles(tmp_path):
    toy = Toy(tmp_path)
    (tmp_path / "user.py").write_text(USER)
    assert toy.run("from user import user\nprint(user(1.0))") == "11.5\n"


def test_large_kernels_are_declared_and_small_ones_linked(tmp_path):
    toy = Toy(tmp_path)
    call = "outer(1.0)"
    start = "from graphsys.compiler import backend\nbackend.SMALL = {}\n"
    assert toy.call(call, start.format(0)).result == 11.0
    named = [path.read_bytes() for path in toy.files(".kernel") if "outer" in path.name]
    assert b'"needs": ["toy.kernels.middle' in named[0]
    for path in toy.files():
        path.unlink()
    assert toy.call(call, start.format(1000)).result == 11.0
    linked = [path.read_bytes() for path in toy.files(".kernel") if "outer" in path.name]
    assert b'"needs": []' in linked[0]
