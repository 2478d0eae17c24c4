"""Machine code that calls numba's own functions in C is loaded with numba."""

import pytest

from graphsys.compiler import DISABLE_JIT

from .toys import Toy

pytestmark = pytest.mark.skipif(DISABLE_JIT, reason="nothing is compiled")


def test_kernels_that_reshape_arrays_import_numba_again(tmp_path):
    toy = Toy(tmp_path)
    toy.write("other", "y = x.reshape(x.size)\nreturn y[1]")
    call = "other(__import__('numpy').ones((2, 2)))"
    assert toy.call(call).result == 1.0
    assert toy.call(call) == (1.0, [], [], True)
