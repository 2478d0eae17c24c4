"""Lazy kernels: nothing is compiled before one is called, whoever calls it and in what process."""

import signal
import threading
from types import SimpleNamespace

import pytest

from graphsys.compiler import DISABLE_JIT, lazy_binding
from graphsys.compiler.lazy_binding import as_text, from_text

from .toys import Toy

pytestmark = pytest.mark.skipif(DISABLE_JIT, reason="nothing is compiled")

MIDDLE = "return inner(x) + 0.5"
OUTER = ["outer.kernel", "outer.stub"]
REST = ["inner.kernel", "middle.kernel"]


@pytest.fixture
def toy(tmp_path):
    """`outer` calls `middle`, which is lazy, for positive numbers."""
    toy = Toy(tmp_path)
    toy.write("middle", MIDDLE, "from .inner import inner", 'lazy("float")')
    toy.write("outer", "return middle(x) + 0.5 if x > 0.0 else 0.0", "from .middle import middle")
    return toy


def test_a_lazy_kernel_is_compiled_when_it_is_first_called(toy):
    assert toy.call("outer(-1.0)") == (0.0, OUTER, [], True)
    assert toy.call("outer(-1.0)") == (0.0, [], [], False)
    assert toy.call("outer(1.0)") == (11.0, REST, [], True)
    assert toy.call("outer(1.0)") == (11.0, [], [], False)


def test_python_calls_it_as_any_other(toy):
    call = "__import__('toy.kernels.middle').kernels.middle.middle(1.0)"
    assert toy.call(call) == (10.5, [*REST, "middle.stub"], [], True)


def test_an_edit_of_what_it_calls_compiles_all_callers_again(toy):
    toy.call("outer(1.0)")
    toy.write("inner", "return 20.0 * x")
    assert toy.call("outer(1.0)") == (21.0, sorted([*OUTER, *REST]), [], True)


def test_without_its_file_it_is_compiled_again(toy):
    toy.call("outer(1.0)")
    (path,) = toy.files("middle-*.kernel")
    path.unlink()
    assert toy.call("outer(-1.0)") == (0.0, [], [], False)
    assert toy.call("outer(1.0)") == (11.0, ["middle.kernel"], [], True)


def test_small_callers_that_become_part_of_others_keep_it_lazy(toy):
    toy.write("other", "return outer(x) - 1.0", "from .outer import outer")
    written = ["other.kernel", "other.stub", "outer.kernel"]
    assert toy.call("other(-1.0)") == (-1.0, written, [], True)
    assert toy.call("other(1.0)") == (10.0, REST, [], True)


def test_all_can_be_compiled_ahead(toy):
    bind = "__import__('graphsys.kernels.base.jit').kernels.base.jit.bind_all()"
    assert toy.call(f"outer(-1.0), {bind}").written == sorted([*OUTER, *REST])
    assert toy.call("outer(1.0)") == (11.0, [], [], False)


def test_c_gets_it_with_its_caller(toy):
    call = (
        "__import__('ctypes').CFUNCTYPE(*2 * [__import__('ctypes').c_double])"
        "(outer.address('float', 'c'))(1.0)"
    )
    assert toy.call(call) == (11.0, sorted(["outer.c", "outer.kernel", *REST]), [], True)
    assert toy.call(call) == (11.0, [], [], False)


def test_a_result_of_another_kind_than_declared_is_an_error(toy):
    toy.write("middle", MIDDLE, "from .inner import inner", 'lazy("int")')
    error = toy.start("outer(1.0)").communicate()[1]
    assert "TypeError: <lazy toy.kernels.middle.middle> returns float64, not int" in error
    assert toy.call("outer(-1.0)").result == 0.0


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
print(user(1.0), user(-1.0), sum(user.stats.cache_hits.values()))
"""
SLOTS = "print('graphsys_bind' in str(user.inspect_asm()))"


def test_functions_of_users_hold_it(toy):
    """numba loads them from its cache without asking us."""
    (toy.folder / "user.py").write_text(USER)
    assert toy.run(RUN + SLOTS).split() == ["11.5", "0.5", "0", "False"]
    assert toy.run(RUN).split() == ["11.5", "0.5", "1"]


def test_functions_of_users_call_it_themselves(toy):
    (toy.folder / "user.py").write_text(USER.replace("outer", "middle"))
    for hits in "01":
        assert toy.run(RUN).split() == ["11.0", "-9.0", hits]


INTERRUPTED = """
import signal, time
from toy.kernels.outer import outer
from graphsys.compiler.lazy_binding import Slot
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
bind = Slot.bind
def interrupted(self):
    signal.raise_signal(signal.SIGINT)
    bind(self)
Slot.bind = interrupted
value = None
try:
    begun = time.perf_counter()
    value = outer(1.0)
    time.sleep(60.0)
except KeyboardInterrupt:
    print(value, time.perf_counter() - begun < 30.0)
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def test_ctrl_c_while_it_is_compiled_comes_after_the_call(toy):
    assert toy.run(INTERRUPTED).split() == ["11.0", "True", "True"]


THREADS = """
from concurrent.futures import ThreadPoolExecutor
from toy.kernels.outer import outer
outer(-1.0)
with ThreadPoolExecutor(4) as threads:
    print(*set(threads.map(outer, 8 * [1.0])))
"""


def test_threads_may_be_the_first_to_call_it(toy):
    assert toy.run(THREADS).split() == ["11.0"]


def test_equal_places_have_the_same_text():
    one, two = "a word", "".join(["a", " word"])
    assert as_text((one, one)) == as_text((one, two))
    assert from_text(as_text((one, (1, 2.0)))) == (one, (1, 2.0))


def test_two_signals_at_once_are_held_back_as_one(monkeypatch):
    """The second may come while the first is handled: an event's lock would wait for itself."""
    before, sent = signal.getsignal(signal.SIGINT), []

    def interrupt():
        signal.getsignal(signal.SIGINT)(signal.SIGINT, None)

    class Interrupted(threading.Event):
        def set(self):
            interrupt()
            super().set()

    class Timer:
        def __init__(self, seconds, function):
            self.start = lambda: sent.append(function)

    names = {name: getattr(threading, name) for name in ("current_thread", "main_thread")}
    monkeypatch.setattr(
        lazy_binding, "threading", SimpleNamespace(Event=Interrupted, Timer=Timer, **names)
    )
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    try:
        with lazy_binding._without_signals():
            interrupt()
            interrupt()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert sent == [lazy_binding._interrupt_main_thread]
