"""Kernels as numba compiles them: each once, linked by name, and written as an object file.

numba links every function that a function calls into it, and optimizes all of that once more. Here
the caller only declares a kernel that is too large to be inlined anyway, and LLVM's linker finds
its machine code in the process. Compiled code of others, which numba may load from its own cache
without us, still gets all that it calls linked into it.

Symbols say all that makes a compiled kernel what it is: module, function and types of arguments.
"""

from __future__ import annotations

import pickle
from functools import cache
from importlib import import_module
from itertools import islice
from operator import attrgetter
from typing import Any

import numpy as np
from llvmlite import ir
from numba import from_dtype, njit, types
from numba.core import cgutils, event, typing
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.imputils import user_function
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from graphsys.compiler import machine, store
from graphsys.compiler.kernel import Intrinsic, Kernel, Lazy, words_of
from graphsys.compiler.lazy_binding import PREFIX, Slot, as_text, from_text
from graphsys.compiler.numba_speed import Compiling, compiling
from graphsys.compiler.pipeline import KernelCompiler
from graphsys.compiler.progress import progress
from graphsys.compiler.stubs import add_c_function, add_solution_stub, add_stub

#: No GIL, IEEE arithmetic (NaN must survive), no bounds checks, division by zero gives inf instead
#: of raising: a kernel reports by its status. Neither C nor Python calls it but by its stub.
OPTIONS = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": False,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
}
#: Instructions up to which a kernel is linked into its callers all the same, where LLVM may inline
#: it (it inlines up to about 50). The first simulation with an empty cache takes 0.67 of the time
#: that it takes when all is linked (`benchmarks.start.Cold`).
SMALL = 100
#: How names of numba's own functions in C begin, which are there only when it is imported.
HELPERS = b"numba_", b"NRT_"


class UnlinkableError(Exception):
    """Machine code on disk calls kernels that are not there any more."""


#: What comes of loading such code.
GONE = UnlinkableError, KeyError, ImportError, AttributeError


class _Callers(event.Listener):
    """Functions that numba is compiling, the innermost last, and those that may call by name."""

    def __init__(self):
        self.stack, self.ours = [], set()

    def by_name(self):
        """True if the innermost may call by name; C functions of users are not in the stack."""
        return bool(self.stack) and self.stack[-1] in self.ours

    def on_start(self, event):
        self.stack.append(event.data["dispatcher"])
        progress.tick()

    def on_end(self, event):
        if self.stack:  # a user's function may have begun before this module was imported
            self.stack.pop()


_callers = _Callers()
event.register("numba:compile", _callers)

#: Kernels by module and qualified name, dispatchers by kernel, callees by dispatcher and arguments.
_named: dict[tuple[str, str], Kernel] = {}
_dispatchers: dict[Kernel, object] = {}
_callees: dict[tuple, Callee | LazyCallee] = {}


def dispatcher_of(kernel: Kernel) -> Any:
    """numba's dispatcher of a kernel, made at the first call.

    Constants are numbers as any other: numba else compiles a kernel once more for every constant
    that another calls it with. Functions made in functions share a name: they are linked.
    """
    if kernel not in _dispatchers:
        made = njit(**OPTIONS | kernel.targetoptions)(kernel.py_func)
        place = kernel.__module__, kernel.__qualname__
        if "<locals>" not in place[1] and _named.setdefault(place, kernel) is kernel:
            made._compiler.pipeline_class = KernelCompiler
        if "inline" not in kernel.targetoptions:
            compile_for = made.get_call_template

            def get_call_template(arguments, keywords):
                kinds = [types.unliteral(kind) for kind in arguments]
                named = {name: types.unliteral(kind) for name, kind in keywords.items()}
                return compile_for(kinds, named)

            made.get_call_template = get_call_template
            made.get_overload = lambda arguments: callee(made, kernel, arguments)
            if isinstance(kernel, Lazy):
                _make_lazy(made, kernel)
        _callers.ours.add(made)
        made._cache = Files(kernel)
        Compiling.kernels.add(made)
        _dispatchers[kernel] = made
    return _dispatchers[kernel]


def intrinsic_type(made: Intrinsic) -> Any:
    """numba's type of an intrinsic."""
    real = intrinsic(made.py_func)
    cpu_target.typing_context.refresh()
    return cpu_target.typing_context.resolve_value_type(real)


def refresh() -> None:
    """Let LLVM's linker know numba's functions in C."""
    cpu_target.target_context.refresh()


class Linked:
    """Machine code that its callers may link by name.

    Attributes
    ----------
    symbol : str
    library : CodeLibrary
        Machine code and optimized code.
    file : str
        Name of its file in the store.
    place : tuple
        Module and qualified name of its kernel or `shared.Shared`, arguments, and symbol.
    """

    #: By symbol.
    known: dict[str, Linked] = {}


class Callee(Linked):
    """One compiled kernel as its callers see it: numba's key for how to call it.

    Parameters
    ----------
    dispatcher : Dispatcher
    kernel : Kernel
    arguments : tuple of numba types
    """

    def __init__(self, dispatcher, kernel, arguments):
        compiled = dispatcher.overloads[arguments]
        result = types.unliteral(compiled.signature.return_type)
        if isinstance(kernel, Lazy) and result != _result_of(kernel, arguments):
            raise TypeError(f"{kernel!r} returns {result}, not {kernel.result}")
        self.symbol, self.library = compiled.fndesc.llvm_func_name, compiled.library
        self.file = kernel.file_of(_text(arguments), "kernel")
        place = kernel.__module__, kernel.__qualname__
        self.place = place, arguments, self.symbol
        self._by_name = _named.get(place) is kernel and self._is_large()
        self._call = user_function(compiled.fndesc, ())
        defined = self._emit, self, self._call.signature
        compiled.target_context.insert_func_defn([defined])
        self.known[self.symbol] = self

    def _is_large(self):
        """Whether the optimized code has more than `SMALL` instructions."""
        function = self.library._get_module_for_linking().get_function(self.symbol)
        found = (one for block in function.blocks for one in block.instructions)
        return next(islice(found, SMALL, None), None) is not None

    def _emit(self, context, builder, signature, values):
        """Emit a call, and name the libraries that the caller is to be linked with."""
        link(context, self, self._by_name)
        return self._call(context, builder, signature, values)


class LazyCallee:
    """A kernel that is loaded or compiled at its first call, as its callers see it.

    Parameters
    ----------
    dispatcher : Dispatcher
    kernel : Lazy
    arguments : tuple of numba types
    """

    def __init__(self, dispatcher, kernel, arguments):
        file = kernel.file_of(_text(arguments), "kernel")
        place = kernel.__module__, kernel.__qualname__, arguments
        self.needs = [PREFIX + file, file, as_text(place)]
        cpu_target.target_context.insert_func_defn([(self._emit, self, arguments)])

    def _emit(self, context, builder, signature, values):
        """Emit a call of what the slot points to, once it is filled."""
        Slot.declare(self.needs)
        symbol, byte, call = self.needs[0], ir.IntType(8).as_pointer(), context.call_conv
        slot = builder.module.globals.get(symbol)
        if slot is None:
            slot = ir.GlobalVariable(builder.module, byte, symbol)
        with builder.if_then(cgutils.is_null(builder, builder.load(slot)), likely=False):
            kind = ir.FunctionType(ir.IntType(32), [slot.type])
            bind = cgutils.get_or_insert_function(builder.module, kind, "graphsys_bind")
            with builder.if_then(
                cgutils.is_null(builder, builder.call(bind, [slot])), likely=False
            ):
                builder.ret(ir.Constant(ir.IntType(32), 1))
        kind = call.get_function_type(signature.return_type, signature.args)
        target = builder.bitcast(builder.load(slot), kind.as_pointer())
        status, result = call.call_function(
            builder, target, signature.return_type, signature.args, values
        )
        with cgutils.if_unlikely(builder, status.is_error):
            call.return_status_propagate(builder, status)
        return result


def _result_of(kernel, arguments):
    """Type of a lazy kernel's result; where arguments hold lanes, numbers of the result do, too."""
    result = type_of(words_of(kernel.result)[0])
    found = (kind.of_lanes for kind in _parts(arguments) if hasattr(kind, "of_lanes"))
    of_lanes = next(found, None)
    return result if of_lanes is None else of_lanes(result)


def _parts(kinds):
    """All types in some types: of arrays and pointers, and in tuples."""
    for kind in kinds:
        yield kind
        if isinstance(kind, types.BaseTuple):
            yield from _parts(kind)
        elif isinstance(kind, (types.Array, types.CPointer)):
            yield kind.dtype


def _make_lazy(dispatcher, kernel):
    """Compile callers of a lazy kernel without it, those that cannot link by name apart."""
    template, overload = dispatcher.get_call_template, dispatcher.get_overload

    def get_call_template(arguments, keywords):
        if not _callers.by_name():
            return template(arguments, keywords)
        kinds, name = [types.unliteral(kind) for kind in arguments], kernel.__qualname__
        pysig, kinds = dispatcher._compiler.fold_argument_types(kinds, keywords)
        signature = typing.signature(_result_of(kernel, kinds), *kinds)
        return typing.make_concrete_template(name, name, [signature]), pysig, kinds, {}

    def get_overload(arguments):
        if not _callers.by_name():
            return overload(arguments)
        return callee(dispatcher, kernel, arguments, LazyCallee)

    dispatcher.get_call_template, dispatcher.get_overload = get_call_template, get_overload


def link(context, callee, by_name=True):
    """Name the libraries that a caller is to be linked with, which numba is compiling."""
    if not _callers.by_name():
        context.add_linking_libs(_closure(callee))
    elif not by_name:
        context.add_linking_libs([callee.library])


def _closure(callee):
    """Libraries of all that is called by name, directly or not, and of the callee itself."""
    found, left = {}, [callee]
    while left:
        one = left.pop()
        if one.symbol in found:
            continue
        found[one.symbol] = one.library
        left += called_by_name(one.library)
        for symbol, _, place in slots_of(one.library):
            made = compiled_lazy(*from_text(place))
            found[symbol] = _filled(symbol, made.symbol)
            left.append(made)
    return list(found.values())


@cache
def _filled(slot, symbol):
    """Library that defines a slot as the address of a kernel."""
    context, byte = cpu_target.target_context, ir.IntType(8).as_pointer()
    module = context.create_module(slot)
    kernel = ir.Function(module, ir.FunctionType(ir.VoidType(), []), symbol)
    word = ir.GlobalVariable(module, byte, slot)
    word.initializer, word.global_constant, word.linkage = kernel.bitcast(byte), True, "weak_odr"
    library = context.codegen().create_library(slot)
    library.add_ir_module(module)
    library.finalize()
    return library


def called_by_name(library):
    """What a library only declares."""
    return [
        Linked.known[function.name]
        for function in library._get_module_for_linking().functions
        if function.is_declaration and function.name in Linked.known
    ]


def require(places):
    """Load or compile what a library calls by name (`Linked.place`)."""
    for (module, qualified), arguments, symbol in places:
        called = attrgetter(qualified)(import_module(module))
        if isinstance(called, Kernel):
            dispatcher = dispatcher_of(called)
            dispatcher.compile(arguments)
            made = callee(dispatcher, called, arguments)
        else:
            made = called.compiled(arguments)
        if made.symbol != symbol:
            raise UnlinkableError(symbol)


def callee(dispatcher, kernel, arguments, kind=Callee):
    """Interface of a kernel for its callers, or of a compiled one for its stub."""
    key = dispatcher, tuple(arguments), kind
    if key not in _callees:
        _callees[key] = kind(dispatcher, kernel, tuple(arguments))
    return _callees[key]


def slots_of(library):
    """What declares the slots that a library reads (`Slot.needs`)."""
    names = (one.name for one in library._get_module_for_linking().global_variables)
    return [Slot.known[name].needs for name in names if name.startswith(PREFIX)]


@global_compiler_lock
def compiled_lazy(module, qualified, arguments):
    """A lazy kernel, compiled now: `LazyCallee` says what its slot's text has of it."""
    kernel = attrgetter(qualified)(import_module(module))
    dispatcher = dispatcher_of(kernel)
    dispatcher.compile(arguments)
    return callee(dispatcher, kernel, arguments)


def _text(arguments):
    """Types of arguments as text that is the same in every process."""
    return ", ".join(
        _place_of(kind) if isinstance(kind, types.Dispatcher) else str(kind) for kind in arguments
    )


def _place_of(kind):
    function = kind.dispatcher.py_func
    return f"{function.__module__}.{function.__qualname__}"


class Files:
    """Files of one kernel, in the form of a cache of numba."""

    def __init__(self, kernel):
        self.kernel = kernel

    def load_overload(self, arguments, context):
        """Compiled kernel from disk, with the kernels that it calls; or None."""
        name = self.kernel.file_of(_text(arguments), "kernel")
        entry = machine.read(name, payload=True)
        if entry is None:
            return None
        try:
            for slot in entry.header["slots"]:
                Slot.declare(slot)
            needs, reduced = pickle.loads(entry.payload)
            require(needs)
            (library, how, (_, shared)), *rest = reduced
            return CompileResult._rebuild(context, (library, how, (entry.code, shared)), *rest)
        except GONE:
            return None
        except Exception:  # whole, and still not what this numba can load
            store.warn_damaged(machine.folder() / name)
            return None

    def save_overload(self, arguments, made):
        """Write what numba made of a kernel; numba's own rules of what can be stored hold."""
        if made.lifted or made.library.has_dynamic_globals or made.objectmode:
            return
        called = called_by_name(made.library)
        (library, how, (code, shared)), *rest = made._reduce()
        reduced = (library, how, (b"", shared)), *rest
        store.write(
            machine.folder() / self.kernel.file_of(_text(arguments), "kernel"),
            {
                "symbol": made.fndesc.llvm_func_name,
                "needs": [c.file for c in called],
                "slots": slots_of(made.library),
                "helpers": any(name in code for name in HELPERS),
            },
            code,
            pickle.dumps(([c.place for c in called], reduced), protocol=-1),
        )


def type_of(word):
    """numba's type of an argument by a word of `kernel.words_of`."""
    if isinstance(word, list):
        return types.Tuple([type_of(inner) for inner in word])
    if "," not in word:
        return {"int": types.int64, "float": types.float64, "bool": types.boolean,
                "None": types.none, "complex": types.complex128}[word]  # fmt: skip
    dtype, rest = word.split(",")
    kind = from_dtype(np.dtype(dtype))
    return types.Array(kind, int(rest[:-2]), rest[-2], readonly=rest[-1] == "r")


#: What emits a function around a kernel, by its role.
ROLES = {"stub": add_stub, "solution": add_solution_stub, "c": add_c_function}


@global_compiler_lock
def compiled(kernel: Kernel, kinds: str, role: str, name: str) -> int:
    """Address of a function around a kernel for some kinds of arguments; it is written to disk."""
    dispatcher = dispatcher_of(kernel)
    arguments = tuple(map(type_of, words_of(kinds)))
    dispatcher.compile(arguments)
    result = dispatcher.overloads[arguments]
    made = callee(dispatcher, kernel, arguments)
    symbol = f"{role}.{made.symbol}"
    context = result.target_context
    library = context.codegen().create_library(symbol)
    library.enable_object_caching()
    module = context.create_module(symbol)
    with compiling:
        ROLES[role](module, symbol, context, result.fndesc, result.signature, kinds)
        library.add_ir_module(module)
        library.finalize()
    address = library.get_pointer_to_function(symbol)
    if _named.get((kernel.__module__, kernel.__qualname__)) is kernel:
        header = {"symbol": symbol, "needs": [made.file]}
        store.write(machine.folder() / name, header, library._get_compiled_object())
    return address
