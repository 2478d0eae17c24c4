"""Compiler options of every kernel, and what makes compiling them faster, in one place."""

import gc

from numba import config, njit, types
from numba.core import event

from .disk_cache import OnDisk, keep
from .linking import callee, link

#: True under ``NUMBA_DISABLE_JIT=1``: kernels then run as plain Python on the NumPy references.
DISABLE_JIT = bool(config.DISABLE_JIT)

#: No GIL, IEEE arithmetic (NaN must survive), no bounds checks, division by zero
#: gives inf instead of raising: a kernel reports by its status. Nobody calls a kernel as C does.
OPTIONS = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": False,
    "no_cfunc_wrapper": True,
}

#: What operators get in kernels.
PLAIN = types.Number, types.Boolean, types.Array


def _is_operator(function):
    """Whether Python calls it for a sign, such as ``+``, ``<`` or ``[]``, or for ``if``."""
    return function is bool or getattr(function, "__module__", "") in ("operator", "_operator")


def _remembering(get_call_type):
    """What operators make of numbers and arrays, asked for only once.

    numba goes through all that it knows of ``+``, for strings and lists among others, for every sum
    of every kernel, and two to four times: a fifth of the time.
    """
    known = {}

    def remembered(self, context, args, kws):
        plain = all(isinstance(kind, PLAIN) for kind in args)
        if not plain or not _is_operator(self.typing_key):
            return get_call_type(self, context, args, kws)
        key = self, tuple(args)
        if key not in known:
            known[key] = get_call_type(self, context, args, kws)
        return known[key]

    return remembered


class _Compiling(event.Listener):
    """While a kernel is compiled, operators are remembered, and only what that leaves is swept up.

    The garbage collector by itself looks at all there is every now and then: an eighth of the time.
    What else numba compiles is left alone. It compiles one function at a time, whatever the thread.
    """

    kernels: set[object] = set()

    def __init__(self):
        self.depth = 0
        self.was_on = False
        self.anew = types.Function.get_call_type
        self.remembered = _remembering(self.anew)

    def on_start(self, event):
        if event.data["dispatcher"] not in self.kernels:
            return
        if self.depth == 0:
            self.was_on = gc.isenabled()
            gc.disable()
            types.Function.get_call_type = self.remembered
        self.depth += 1

    def on_end(self, event):
        if event.data["dispatcher"] not in self.kernels:
            return
        gc.collect(0)
        self.depth -= 1
        if self.depth == 0:
            types.Function.get_call_type = self.anew
            if self.was_on:
                gc.enable()


event.register("numba:compile", _Compiling())


def _compiled(**options):
    """Decorator that compiles a function as Python calls it, and apart from that for kernels.

    The latter has no code that takes Python's objects apart, a third of the time that a small
    kernel takes to compile. And constants are numbers as any other there: numba else compiles a
    kernel once more for every constant that another calls it with.
    """

    def decorate(function):
        if DISABLE_JIT:
            return function
        outside = njit(**OPTIONS, **options)(function)
        inside = njit(**OPTIONS, **options, no_cpython_wrapper=True)(_namesake(function))

        def get_call_template(arguments, keywords):
            kinds = [types.unliteral(kind) for kind in arguments]
            named = {name: types.unliteral(kind) for name, kind in keywords.items()}
            return inside.get_call_template(kinds, named)

        outside.get_call_template = get_call_template
        outside.get_overload = lambda arguments: callee(inside, arguments)
        outside.inside = inside
        link(outside, inside)
        _Compiling.kernels.update((outside, inside))
        return outside

    return decorate


def _inlined(**options):
    """Decorator that compiles a function as part of each of its callers."""

    def decorate(function):
        if DISABLE_JIT:
            return function
        dispatcher = njit(**OPTIONS, **options)(function)
        keep(dispatcher, OnDisk)
        return dispatcher

    return decorate


def _namesake(function):
    """The same function with a place of its own in numba's cache."""
    made = type(function)(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    made.__qualname__ = f"{function.__qualname__}.inside"
    made.__module__, made.__doc__ = function.__module__, function.__doc__
    return made


#: A kernel that allocates nothing, nor hands an array to Python: nobody has to count references.
kernel = _compiled(_nrt=False)

#: For a kernel with one caller: compiled as part of it, since LLVM optimizes a function anew with
#: every caller that links it.
inlined = _inlined(_nrt=False, inline="always")

#: A kernel that makes arrays.
allocating = _compiled()
