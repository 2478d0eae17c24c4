"""LLVM functions that several kernels call: each compiled once, linked by name as kernels are."""

import pickle

from llvmlite import ir
from numba.core.registry import cpu_target

from graphsys.compiler import backend, keys, machine, store


class Shared:
    """Decorator of a function that emits an LLVM function: callers only declare what it emits.

    Parameters
    ----------
    emit : function
        Of a module for LLVM code and of further arguments that tell its functions apart. It gives
        the function it has added to the module.
    """

    def __init__(self, emit):
        self.emit, self.__wrapped__, self.__doc__ = emit, emit, emit.__doc__
        self.__module__, self.__qualname__ = emit.__module__, emit.__qualname__
        self._made = {}

    def __call__(self, module, *arguments):
        """Declaration of the function in a module."""
        made = self.compiled(arguments)
        backend.link(cpu_target.target_context, made)
        found = module.globals.get(made.symbol)
        if found is None:
            found = ir.Function(module, made.kind, made.symbol)
            found.attributes.update(made.attributes)
        return found

    def compiled(self, arguments):
        """The function for some arguments, of this process, of the store, or compiled now."""
        if arguments not in self._made:
            file = self._file(arguments)
            made = self._load(file, arguments) or self._compile(file, arguments)
            self._made[arguments] = backend.Linked.known[made.symbol] = made
        return self._made[arguments]

    def _file(self, arguments):
        return keys.file_name(self, f"{keys.sources(self.__module__)} {arguments}", "kernel")

    def _load(self, file, arguments):
        entry = machine.read(file, payload=True)
        if entry is None:
            return None
        try:
            needs, symbol, kind, attributes, bitcode = pickle.loads(entry.payload)
            backend.require(needs)
        except backend.GONE:
            return None
        except Exception:  # whole, and still not what this process can load
            store.warn_damaged(machine.folder() / file)
            return None
        state = symbol, "object", (entry.code, bitcode)
        library = cpu_target.target_context.codegen().unserialize_library(state)
        return _Function(self, arguments, file, symbol, library, kind, attributes)

    def _compile(self, file, arguments):
        context = cpu_target.target_context
        module = context.create_module(self.__qualname__)
        function = self.emit(module, *arguments)
        function.linkage = ""
        kind, attributes, symbol = function.ftype, sorted(function.attributes), function.name
        library = context.codegen().create_library(symbol)
        library.enable_object_caching()
        library.add_ir_module(module)
        library.finalize()
        _, _, (code, bitcode) = library.serialize_using_object_code()
        called = backend.called_by_name(library)
        payload = [one.place for one in called], symbol, kind, attributes, bitcode
        header = {"symbol": symbol, "needs": [one.file for one in called]}
        store.write(machine.folder() / file, header, code, pickle.dumps(payload, protocol=-1))
        return _Function(self, arguments, file, symbol, library, kind, attributes)


class _Function(backend.Linked):
    """One compiled function."""

    def __init__(self, shared, arguments, file, symbol, library, kind, attributes):
        self.place = (shared.__module__, shared.__qualname__), arguments, symbol
        self.file, self.symbol, self.library = file, symbol, library
        self.kind, self.attributes = kind, attributes
