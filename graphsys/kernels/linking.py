"""Kernels call kernels by the names of their symbols, so that each is optimized only once.

numba links every function that a function calls into it, and optimizes all of that once more. Here
the caller only declares a kernel that is too large to be inlined anyway, and LLVM's linker finds
its machine code in the process. Compiled code of others, which numba may load from its own cache
without us, still gets all that it calls linked into it.

Names say all that makes a compiled kernel what it is: module, function, types of the arguments and
numba's options. What the cache holds of a kernel names the kernels it calls, and loading it loads
or compiles those first.
"""

from importlib import import_module

from numba.core import event
from numba.core.caching import CompileResultCacheImpl
from numba.core.compiler import Compiler
from numba.core.imputils import user_function

from .disk_cache import OnDisk, keep

#: Packages whose kernels are called by name.
PACKAGES = "graphsys", "dynamics"
#: Instructions up to which a kernel is linked into its callers all the same, where LLVM may inline
#: it (it inlines up to about 50). The first simulation with an empty cache takes 0.67 of the time
#: that it takes when all is linked (`benchmarks.start.Cold`).
SMALL = 100


class UnlinkableError(Exception):
    """A kernel in the cache calls kernels that are not there any more."""


class NamingCompiler(Compiler):
    """numba's compiler, but a function's name does not depend on what was compiled before."""

    def _compile_bytecode(self):
        self.state.func_id.unique_id = None
        return super()._compile_bytecode()


class _Callers(event.Listener):
    """Functions that numba is compiling, the innermost last, and those that may call by name."""

    def __init__(self):
        self.stack, self.ours = [], set()

    def by_name(self):
        """Whether the innermost may call by name; C functions of users are not in the stack."""
        return bool(self.stack) and self.stack[-1] in self.ours

    def on_start(self, event):
        self.stack.append(event.data["dispatcher"])

    def on_end(self, event):
        self.stack.pop()


_callers = _Callers()
event.register("numba:compile", _callers)


class Callee:
    """One compiled kernel as its callers see it: numba's key for how to call it.

    Parameters
    ----------
    dispatcher : Dispatcher
    arguments : tuple of numba types

    Attributes
    ----------
    symbol : str
    library : CodeLibrary
        Machine code and optimized code.
    """

    #: By symbol.
    known: "dict[str, Callee]" = {}

    def __init__(self, dispatcher, arguments):
        compiled = dispatcher.overloads[arguments]
        self.dispatcher, self.arguments = dispatcher, arguments
        self.symbol, self.library = compiled.fndesc.llvm_func_name, compiled.library
        self._by_name = _named.get(_place(dispatcher)) is dispatcher and self._count() > SMALL
        self._call = user_function(compiled.fndesc, ())
        defined = self._emit, self, self._call.signature
        compiled.target_context.insert_func_defn([defined])
        self.known[self.symbol] = self

    def _count(self):
        """Instructions of the optimized code."""
        function = self.library._get_module_for_linking().get_function(self.symbol)
        return sum(1 for block in function.blocks for _ in block.instructions)

    def _emit(self, context, builder, signature, values):
        """Emit a call, and name the libraries that the caller is to be linked with."""
        if not _callers.by_name():
            context.add_linking_libs([callee.library for callee in self._closure()])
        elif not self._by_name:
            context.add_linking_libs([self.library])
        return self._call(context, builder, signature, values)

    def _closure(self):
        """Kernels that are called by name, directly or not, and this one."""
        found, left = {}, [self]
        while left:
            callee = left.pop()
            if callee.symbol not in found:
                found[callee.symbol] = callee
                left += called_by_name(callee.library)
        return found.values()


def called_by_name(library):
    """Kernels that a library only declares."""
    return [
        Callee.known[function.name]
        for function in library._get_module_for_linking().functions
        if function.is_declaration and function.name in Callee.known
    ]


class _LinkedResults(CompileResultCacheImpl):
    """Compiled kernels on disk, with the names of the kernels they call."""

    def reduce(self, compiled):
        called = called_by_name(compiled.library)
        needs = [(_place(c.dispatcher), c.arguments, c.symbol) for c in called]
        return needs, super().reduce(compiled)

    def rebuild(self, context, reduced):
        needs, payload = reduced
        for (module, name), arguments, symbol in needs:
            import_module(module)
            dispatcher = _named[module, name]
            dispatcher.compile(arguments)
            if callee(dispatcher, arguments).symbol != symbol:
                raise UnlinkableError(symbol)
        return super().rebuild(context, payload)


class LinkedCache(OnDisk):
    """Cache of kernels that call others by name."""

    _impl_class = _LinkedResults
    unusable = UnlinkableError, KeyError, ImportError


#: Dispatchers by module and qualified name, and callees by dispatcher and arguments.
_named: dict[tuple[str, str], object] = {}
_callees: dict[tuple[object, tuple], Callee] = {}


def _place(dispatcher):
    return dispatcher.py_func.__module__, dispatcher.py_func.__qualname__


def link(outside, inside):
    """Let kernels call `inside` by name, and both of them call kernels by name.

    Functions made in functions share a name, and so may functions of users: they are linked.
    """
    module, name = place = _place(inside)
    if module.split(".")[0] in PACKAGES and "<locals>" not in name and place not in _named:
        _named[place] = inside
        inside._compiler.pipeline_class = NamingCompiler
    for dispatcher in (outside, inside):
        _callers.ours.add(dispatcher)
        keep(dispatcher, LinkedCache)


def callee(dispatcher, arguments):
    """What callers need of a compiled kernel."""
    key = dispatcher, tuple(arguments)
    if key not in _callees:
        _callees[key] = Callee(*key)
    return _callees[key]
