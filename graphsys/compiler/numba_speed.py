"""Faster compilation by numba: fewer type queries, copies and garbage collections.

This reaches into numba: some of its functions are replaced while a kernel is compiled (`REPLACED`).
What a version of numba has not is left out.
"""

import copy
import gc
from contextlib import nullcontext
from functools import lru_cache

import llvmlite.binding as llvm
from numba import types
from numba.core import base, callconv, codegen, errors, event, inline_closurecall, ir, ssa

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


def _without_catching(self, filename=None, lineno=None):
    """Nothing: warnings are not held back until the function is compiled."""
    return nullcontext()


def _same(self, memo):
    """The object itself, for a copy of what holds it."""
    return self


def _variables_in(self, value):
    """Variables in a statement or in its parts: numba's own function with fewer calls."""
    if type(value) is ir.Var:
        return [value]
    if isinstance(value, ir.Inst):
        return value.list_vars()
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return []
    found = []
    for part in value:
        if type(part) is ir.Var:
            found.append(part)
        elif isinstance(part, (ir.Inst, list, tuple, dict)):
            found += _variables_in(self, part)
    return found


def _without_place(self, builder, exc, exc_args=None, loc=None, func_name=None):
    """Raise without a place in the sources: its path differs between builds."""
    return RAISE(self, builder, exc, exc_args)


#: numba's own.
RAISE = callconv.CPUCallConv.return_user_exc
RUN_SSA = getattr(ssa, "_run_ssa", None)
#: Kinds of what no copy changes.
SAME = frozenset(
    (str, int, type(None), bool, ir.Scope, ir.Loc, ir.Var, ir.Const, ir.FreeVar, ir.Global)
)


def _split_variables(self, module):
    """Split structures into numbers, which is what the passes over a module need before all else.

    numba runs the passes over functions twice: alone and in the module.
    """
    module.data_layout = self._codegen._data_layout
    builder = self._codegen._pass_builder()
    for function in module.functions:
        passes = llvm.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.run(function, builder)


class _Mentioned:
    """Names of the variables in statements and blocks, each collected once."""

    def __init__(self):
        self.known = {}  # by identity, with the object, so that no other takes its place

    def in_statement(self, statement):
        """Names in a statement."""
        found = self.known.get(id(statement))
        if found is None:
            names = frozenset(one.name for one in statement.list_vars())
            found = self.known[id(statement)] = statement, names
        return found[1]

    def in_block(self, block):
        """Names in all statements of a block."""
        found = self.known.get(id(block))
        if found is None:
            names = frozenset().union(*map(self.in_statement, block.body))
            found = self.known[id(block)] = block, names
        return found[1]


def _run_ssa(blocks):
    """Static single assignments, where statements without a variable are left as they are.

    numba visits every statement of a function twice for each variable with several assignments.
    """
    mentioned, original = _Mentioned(), ssa._run_block_rewrite

    def rewrite(blocks, states, handler):
        name, after = states["varname"], {}
        for label, block in blocks.items():
            after[label] = block
            if name not in mentioned.in_block(block):
                continue
            states["label"], states["block"] = label, block
            after[label] = made = ir.Block(scope=block.scope, loc=block.loc)
            for one in block.body:
                if name in mentioned.in_statement(one):
                    visit = handler.on_assign if isinstance(one, ir.Assign) else handler.on_other
                    one = visit(states, one)
                made.body.append(one)
        return after

    ssa._run_block_rewrite = rewrite
    try:
        return RUN_SSA(blocks)
    finally:
        ssa._run_block_rewrite = original


def _copied(value):
    """Copy of a statement or block to be changed: names, places and numbers stay as they are."""
    kind = type(value)
    if kind in SAME:
        return value
    if kind is list:
        return [_copied(one) for one in value]
    if kind is tuple:
        return tuple([_copied(one) for one in value])
    if kind is dict:
        return {key: _copied(one) for key, one in value.items()}
    if isinstance(value, (ir.Inst, ir.Block)):
        made = kind.__new__(kind)
        for key, one in value.__dict__.items():
            made.__dict__[key] = _copied(one)
        return made
    return value


class _Copying:
    """Stand-in for the module ``copy`` where numba inlines functions."""

    copy = staticmethod(copy.copy)
    deepcopy = staticmethod(_copied)


def _present(entries):
    """Entries of `REPLACED` that this numba has."""
    return [(of, name, value) for of, name, value in entries if hasattr(of, name) or value is _same]


#: What is replaced: an object, the name of its attribute, and the attribute's value meanwhile.
#:
#: - Names, places and variables stay as they are when an inlined function is copied: a tenth.
#:   The copies are made without the detours of ``copy.deepcopy``, and variables with several
#:   assignments are split with visits to those statements alone that name them: a twelfth, both.
#: - Nobody listens to the lock of LLVM: a twentieth.
#: - Errors carry no place in the sources: wheels that are built elsewhere have the same bytes.
#: - Which of numba's functions take a place in the source is looked up once, and warnings are not
#:   caught around every statement: a tenth.
REPLACED = _present([
    (types.Function, "get_call_type", remembering(types.Function.get_call_type)),
    *((kind, "__deepcopy__", _same) for kind in (ir.Scope, ir.Loc, ir.Var, ir.Const, ir.Global)),
    (ir.Inst, "_rec_list_vars", _variables_in),
    (inline_closurecall, "copy", _Copying),
    (ssa, "_run_ssa", _run_ssa),
    (llvm.ffi.lib._lock, "_cblist", []),
    (codegen.CPUCodeLibrary, "_optimize_functions", _split_variables),
    (callconv.CPUCallConv, "return_user_exc", _without_place),
    (base, "_has_loc", lru_cache(maxsize=None)(getattr(base, "_has_loc", bool))),
    (getattr(errors, "WarningsFixer", None), "catch_warnings", _without_catching),
])  # fmt: skip


class Compiling(event.Listener):
    """While a kernel or stub is compiled, `REPLACED` holds, and only what that leaves is swept up.

    The garbage collector takes an eighth of the time otherwise: it visits all objects repeatedly.
    What else numba compiles is left alone. It compiles one function at a time, whatever the thread.
    """

    kernels: set[object] = set()

    def __init__(self):
        self.depth = 0
        self.was_on = False
        self.originals = []

    def on_start(self, event):
        """Before a function is compiled."""
        if event.data["dispatcher"] in self.kernels:
            self.__enter__()

    def on_end(self, event):
        """When it is, or failed."""
        if event.data["dispatcher"] in self.kernels:
            self.__exit__()

    def __enter__(self):
        if self.depth == 0:
            self.was_on = gc.isenabled()
            gc.disable()
            for of, name, value in REPLACED:
                self.originals.append(getattr(of, name, None))
                setattr(of, name, value)
        self.depth += 1

    def __exit__(self, *_):
        gc.collect(0)
        self.depth -= 1
        if self.depth == 0:
            for (of, name, _), original in zip(REPLACED, self.originals):
                if original is None:
                    delattr(of, name)
                else:
                    setattr(of, name, original)
            self.originals.clear()
            if self.was_on:
                gc.enable()


compiling = Compiling()
event.register("numba:compile", compiling)
