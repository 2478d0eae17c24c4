"""Faster compilation by numba: fewer type queries, copies and garbage collections.

This reaches into numba: `types.Function.get_call_type`, and how scopes and places in the source are
copied, are replaced while a kernel is compiled. What a version of numba has not is left out.
"""

import gc

from numba import types
from numba.core import event, ir

#: What operators get in kernels.
PLAIN = types.Number, types.Boolean, types.Array


def _is_operator(function):
    """True if Python calls it for a sign, such as ``+``, ``<`` or ``[]``, or for ``if``."""
    return function is bool or getattr(function, "__module__", "") in ("operator", "_operator")


def remembering(get_call_type):
    """Result types of operators on numbers and arrays, computed only once.

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


def _same(self, memo):
    """The object itself, for a copy of what holds it."""
    return self


#: numba copies an inlined function block by block, and with each block all names of the function:
#: a tenth of the time. Names and places stay as they are.
SHARED = [getattr(ir, name) for name in ("Scope", "Loc") if hasattr(ir, name)]


class Compiling(event.Listener):
    """While a kernel is compiled, operators are remembered, and only what that leaves is swept up.

    The garbage collector takes an eighth of the time otherwise: it visits all objects repeatedly.
    What else numba compiles is left alone. It compiles one function at a time, whatever the thread.
    """

    kernels: set[object] = set()

    def __init__(self):
        self.depth = 0
        self.was_on = False
        self.original = getattr(types.Function, "get_call_type", None)
        self.remembered = remembering(self.original)

    def on_start(self, event):
        """Before a function is compiled."""
        if event.data["dispatcher"] not in self.kernels:
            return
        if self.depth == 0:
            self.was_on = gc.isenabled()
            gc.disable()
            if self.original is not None:
                types.Function.get_call_type = self.remembered
            for kind in SHARED:
                kind.__deepcopy__ = _same
        self.depth += 1

    def on_end(self, event):
        """When it is, or failed."""
        if event.data["dispatcher"] not in self.kernels:
            return
        gc.collect(0)
        self.depth -= 1
        if self.depth == 0:
            if self.original is not None:
                types.Function.get_call_type = self.original
            for kind in SHARED:
                del kind.__deepcopy__
            if self.was_on:
                gc.enable()


event.register("numba:compile", Compiling())
