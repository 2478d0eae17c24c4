"""LLVM functions that several kernels call: each compiled once, and linked by name like a kernel."""

from llvmlite import ir
from numba.core.registry import cpu_target

from graphsys.compiler import backend, keys
from graphsys.compiler.library import Library


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
        library, described = backend.load(file)
        return None if library is None else _Function(self, arguments, file, library, *described)

    def _compile(self, file, arguments):
        context = cpu_target.target_context
        module = context.create_module(self.__qualname__)
        function = self.emit(module, *arguments)
        function.linkage = ""
        library = Library(context.codegen(), function.name)
        library.add_ir_module(module)
        library.finalize()
        described = function.name, function.ftype, sorted(function.attributes)
        backend.save(file, function.name, library, described)
        return _Function(self, arguments, file, library, *described)


class _Function(backend.Linked):
    """One compiled function."""

    def __init__(self, shared, arguments, file, library, symbol, kind, attributes):
        self.place = (shared.__module__, shared.__qualname__), arguments, symbol
        self.file, self.symbol, self.library = file, symbol, library
        self.kind, self.attributes = kind, attributes
