"""What `kernels.jit` adds to numba: one compilation for all constants, less work meanwhile."""

import gc
import operator

import numpy as np
import pytest
from numba import types
from numba.core.registry import cpu_target

from graphsys.kernels.jit import DISABLE_JIT, _remembering, kernel

compiled = pytest.mark.skipif(DISABLE_JIT, reason="kernels are plain Python")


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


@compiled
def test_a_constant_compiles_no_kernel_anew():
    for factor in (2, 4, 8):
        for upwards in (True, False):
            scaled.get_call_template((types.float64, types.literal(factor)), {})
            scaled.get_call_template((types.float64, types.int64, types.literal(upwards)), {})
    inside = scaled.inside  # ``upwards`` is left out, or a bool
    assert len([kinds for kinds in inside.overloads if kinds[1] == types.int64]) == 2
    assert not any(isinstance(kind, types.Literal) for kinds in inside.overloads for kind in kinds)


@compiled
def test_what_an_operator_makes_of_numbers_and_arrays_is_asked_for_once():
    cpu_target.target_context.refresh()
    plus, entry, length = map(
        cpu_target.typing_context.resolve_value_type, (operator.add, operator.getitem, len)
    )
    whole, real, text, row = types.int64, types.float64, types.unicode_type, types.int64[::1]
    asked = []
    remembered = _remembering(lambda *call: asked.append(call[0::2]) or len(asked))
    numbers = [(plus, (whole, whole)), (plus, (whole, real)), (entry, (row, whole))]
    others = [(plus, (text, text)), (length, (row,))]

    assert [remembered(of, None, kinds, {}) for of, kinds in numbers + others] == [1, 2, 3, 4, 5]
    assert [remembered(of, None, kinds, {}) for of, kinds in numbers + others] == [1, 2, 3, 6, 7]
    assert asked == numbers + others + others


@compiled
@pytest.mark.parametrize("on", [True, False])
def test_numba_and_the_garbage_collector_are_behind_compiling_as_they_were_before(on):
    def product(a, b):
        """a b."""
        return a * b

    fresh = kernel(product)
    was_on, asks = gc.isenabled(), types.Function.get_call_type
    (gc.enable if on else gc.disable)()
    try:
        assert fresh(2.0, np.float32(3.0)) == 6.0
        assert gc.isenabled() is on
        with pytest.raises(Exception, match="Failed in nopython mode"):
            fresh("a", None)
        assert gc.isenabled() is on
        assert types.Function.get_call_type is asks
    finally:
        (gc.enable if was_on else gc.disable)()
