"""Between Python and a kernel: every kind of value comes through, all else is refused."""

import enum
import gc
import sys
import weakref

import numpy as np
import pytest

from graphsys.compiler import DISABLE_JIT
from graphsys.kernels.base.jit import kernel

pytestmark = pytest.mark.skipif(DISABLE_JIT, reason="kernels are plain Python")


@kernel
def several(a, b, c, d):
    """Values of four kinds, and None."""
    return a, b, c, d, None


@kernel
def total(x):
    """Sum of a vector."""
    s = x[0] - x[0]
    for i in range(x.size):
        s += x[i]
    return s


@kernel
def trace(a):
    """Sum of the diagonal."""
    s = 0.0
    for i in range(min(a.shape)):
        s += a[i, i]
    return s


@kernel
def fill(x, value):
    """x_i <- value."""
    for i in range(x.size):
        x[i] = value


@kernel
def doubled(positive, b, out):
    """out <- 2 b; 0, or 1 where the first number is not above 0."""
    if not positive[0] > 0.0:
        return 1
    for i in range(b.size):
        out[i] = 2.0 * b[i]
    return 0


@kernel
def nested(pair, more):
    """Of tuples in tuples."""
    return pair[0] + more[0][1], more[1][0]


@kernel
def scaled(x, factor=2.0, upwards=True):
    """x factor, or x / factor."""
    return x * factor if upwards else x / factor


@kernel
def is_none(x):
    """Whether x is None."""
    return x is None


class Count(enum.IntEnum):
    FOUR = 4


def test_numbers_of_every_kind_come_back_as_python_has_them():
    given = 2**62 + 1, 0.1, True, 1.5 - 2.5j
    result = several(*given)
    assert result == (*given, None)
    assert [type(one) for one in result] == [int, float, bool, complex, type(None)]
    assert several(-1, -0.0, False, 0j)[:3] == (-1, 0.0, False)
    assert is_none(None) is True
    assert is_none(1) is False


def test_numbers_of_numpy_are_those_of_python():
    assert scaled(np.float64(4.0)) == scaled(4.0) == 8.0
    assert scaled(np.int32(4), np.int64(3)) == 12
    assert scaled(Count.FOUR, 3) == 12  # and of subclasses
    assert scaled(4.0, 2.0, np.bool_(False)) == 2.0


def test_defaults_and_names():
    assert scaled(4.0, upwards=False) == 2.0
    assert scaled(x=3.0, factor=3.0) == 9.0
    with pytest.raises(TypeError, match="missing a required argument"):
        scaled(factor=2.0)
    with pytest.raises(TypeError, match="too many"):
        scaled(1.0, 2.0, True, 3)


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "i4", "u1", "c16"])
def test_vectors_of_all_types(kind):
    x = np.array([1, 2, 3], kind)
    assert total(x) == 6
    assert total(x[::2]) == 4  # with gaps
    assert total(x[::-1]) == 6
    x.flags.writeable = False
    assert total(x) == 6
    assert total(x[:1]) == 1


def test_matrices_in_any_order():
    a = np.arange(12.0).reshape(3, 4)
    assert trace(a) == trace(a.T) == trace(a.T.copy().T) == 15.0
    assert trace(np.repeat(a, 2, axis=1)[:, ::2]) == 15.0


def test_what_a_kernel_writes_is_written():
    x = np.zeros(6)
    fill(x[1::2], 3.0)
    assert x.tolist() == [0.0, 3.0] * 3
    with pytest.raises(Exception, match="readonly|read-only|Cannot modify"):
        locked = np.zeros(3)
        locked.flags.writeable = False
        fill(locked, 1.0)


def test_tuples_in_tuples():
    assert nested((1.0, 2), ((3, 4.0), (True,))) == (5.0, True)
    with pytest.raises(Exception, match="out of bounds|index|getitem"):
        nested((1.0,), ((3,), (True,)))


def test_subclasses_of_arrays_are_arrays():
    class Own(np.ndarray):
        pass

    assert total(np.arange(4.0).view(Own)) == 6.0


@pytest.mark.parametrize("bad", ["text", [1.0, 2.0], {1: 2}, object()])
def test_other_objects_are_refused_by_name(bad):
    with pytest.raises(TypeError, match=f"kernels take no {type(bad).__name__}"):
        total(bad)


def test_arrays_of_a_foreign_byte_order_or_out_of_line_are_refused():
    foreign = ">" if sys.byteorder == "little" else "<"
    total(np.arange(3.0))
    with pytest.raises(TypeError, match="kernels take no arrays of"):
        total(np.arange(3.0).astype(f"{foreign}f8"))
    raw = np.zeros(25, np.uint8)[1:].view("f8")
    with pytest.raises(TypeError, match="unaligned"):
        total(raw)
    with pytest.raises(TypeError, match="kernels take no arrays of"):
        total(np.array([None, 1], object))


def test_whole_numbers_beyond_64_bits_are_an_error():
    assert scaled(3, 2) == 6
    with pytest.raises(OverflowError):
        scaled(2**70, 2)
    assert scaled(3, 2) == 6


def test_nothing_is_kept_alive_or_lost():
    x = np.zeros(1000)
    fill(x, 1.0)  # what is made for the first call stays
    several(2**40, 0.5, True, 1j)
    gc.collect()
    gc.disable()  # garbage of others holds None as well
    try:
        seen, before, holders = weakref.ref(x), sys.getrefcount(None), sys.getrefcount(x)
        for _ in range(1000):
            fill(x, 1.0)
            several(2**40, 0.5, True, 1j)
        assert abs(sys.getrefcount(None) - before) < 100
    finally:
        gc.enable()
    assert sys.getrefcount(x) == holders
    del x
    gc.collect()
    assert seen() is None


def test_an_entry_takes_what_it_was_made_for():
    code = scaled.entry("misfit", 1.0, 2.0, True)
    assert code(3.0, 4.0, True) == 12.0
    assert code(3, 4, True) == code(3.0, 4.0) == code([]) == code() == "misfit"
    assert scaled(3, 4) == 12
    assert scaled.entry("misfit", 1.0, 2.0, True) is code  # nothing grows with every factor


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_a_solution_is_made_as_long_as_the_argument_before(dtype):
    one, b = np.ones(1, dtype).real.copy(), np.arange(8.0).astype(dtype)
    entry = doubled.solution_entry(one, b, b)
    for given in (b, np.ones(12, dtype), np.arange(20.0).astype(dtype)[::2].copy()):
        x = entry(one, given)
        assert type(x) is np.ndarray and x.dtype == dtype and x.flags.carray and x.base is None
        assert np.array_equal(x, 2.0 * given)
    other = b.real.astype(np.float32 if dtype == np.float64 else np.int64)
    for misfit in ((one,), (one, b, b), (one, b.tolist()), (one, other), (one, b[::2].copy()[::2])):
        assert entry(*misfit) is None
    kept = sys.getrefcount(b), sys.getrefcount(None)
    for _ in range(1000):
        assert entry(-one, b) is None
        x = entry(one, b)
    assert sys.getrefcount(b) == kept[0] and sys.getrefcount(x) == 2
    assert abs(sys.getrefcount(None) - kept[1]) < 100  # garbage of others holds None as well


def test_arrays_that_are_laid_out_otherwise_are_refused(monkeypatch):
    from graphsys.compiler import object_layout

    object_layout.check()
    monkeypatch.setattr(object_layout, "DIMENSIONS", object_layout.FLAGS)
    with pytest.raises(ImportError, match="laid out"):
        object_layout.check()
