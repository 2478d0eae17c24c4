"""Stubs: functions of CPython's fast calling convention around kernels.

A stub checks the kind of each argument, reads numbers and the fields of arrays, lets go of the
GIL, calls its kernel and makes Python's objects of the result. Where a kind does not fit, it calls
the object that Python hands it as ``self`` with the same arguments.
"""

import sys
from functools import reduce

from llvmlite import ir
from numba import types
from numba.core import cgutils

from graphsys.compiler.kernel import DIFFER, words_of
from graphsys.compiler.object_layout import (  # fmt: skip
    ALIGNED,
    C_FLAG,
    DATA,
    DESCRIPTOR,
    DIMENSIONS,
    F_FLAG,
    FLAGS,
    NUMBER,
    ORDER,
    SHAPE,
    STRIDES,
    TYPE,
    WRITEABLE,
)

BYTE = ir.IntType(8)
POINTER = BYTE.as_pointer()
INT, LONG = ir.IntType(32), ir.IntType(64)
#: numpy's numbers of types, by what `dtype.str` says; some have two on some systems.
NUMBERS = {
    "b1": [0], "i1": [1], "u1": [2], "i2": [3], "u2": [4], "i4": [5], "u4": [6],
    "i8": [7, 9], "u8": [8, 10], "f4": [11], "f8": [12], "c8": [14], "c16": [15],
}  # fmt: skip


class _Stub:
    """Emits one stub."""

    def __init__(self, module, name, context):
        kind = ir.FunctionType(POINTER, [POINTER, POINTER.as_pointer(), LONG])
        self.function = ir.Function(module, kind, name)
        self.module, self.context = module, context
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.misfit = self.function.append_basic_block("misfit")

    def c(self, name, result, *arguments):
        """A function of Python's C interface."""
        kind = ir.FunctionType(result, arguments)
        return cgutils.get_or_insert_function(self.module, kind, name)

    def object(self, name):
        """An object that `machine` knows by its address."""
        name = f"graphsys_{name}"
        found = self.module.globals.get(name)
        if found is None:
            found = ir.GlobalVariable(self.module, BYTE, name)
            found.linkage = "external"
        return found

    def require(self, condition):
        """Continue only if a condition holds."""
        after = self.function.append_basic_block()
        self.builder.cbranch(condition, after, self.misfit)
        self.builder.position_at_end(after)

    def field(self, place, offset, kind):
        """A field of a structure."""
        at = self.builder.gep(place, [LONG(offset)])
        return self.builder.load(self.builder.bitcast(at, kind.as_pointer()))

    def is_of(self, value, type_name):
        """True if an object is of exactly one type."""
        kind = self.field(value, TYPE, POINTER)
        return self.builder.icmp_unsigned("==", kind, self.object(type_name))

    def value(self, item, kind, word):
        """An argument of numba's type, of Python's object."""
        if isinstance(kind, types.Array):
            return self.array(item, kind, word)
        if isinstance(kind, types.BaseTuple):
            return self.tuple(item, kind, word)
        builder = self.builder
        if kind == types.none:
            self.require(builder.icmp_unsigned("==", item, self.object("None")))
            return self.context.get_dummy_value()
        if kind == types.boolean:
            yes = builder.icmp_unsigned("==", item, self.object("True"))
            no = builder.icmp_unsigned("==", item, self.object("False"))
            self.require(builder.or_(yes, no))
            return yes
        if kind == types.int64:
            self.require(self.is_of(item, "int"))
            found = builder.call(self.c("PyLong_AsLongLong", LONG, POINTER), [item])
            with builder.if_then(builder.icmp_signed("==", found, LONG(-1)), likely=False):
                error = builder.call(self.c("PyErr_Occurred", POINTER), [])
                with builder.if_then(builder.icmp_unsigned("!=", error, POINTER(None))):
                    builder.ret(POINTER(None))  # beyond 64 bits
            return found
        if kind == types.float64:
            self.require(self.is_of(item, "float"))
            return builder.call(self.c("PyFloat_AsDouble", ir.DoubleType(), POINTER), [item])
        if kind == types.complex128:
            self.require(self.is_of(item, "complex"))
            parts = [
                builder.call(self.c(f"PyComplex_{part}AsDouble", ir.DoubleType(), POINTER), [item])
                for part in ("Real", "Imag")
            ]
            made = self.context.make_complex(builder, kind)
            made.real, made.imag = parts
            return made._getvalue()
        raise TypeError(f"no stub takes {kind}")

    def tuple(self, item, kind, words):
        builder = self.builder
        self.require(self.is_of(item, "tuple"))
        size = builder.call(self.c("PyTuple_Size", LONG, POINTER), [item])
        self.require(builder.icmp_signed("==", size, LONG(len(kind))))
        get = self.c("PyTuple_GetItem", POINTER, POINTER, LONG)
        values = [
            self.value(builder.call(get, [item, LONG(i)]), one, word)
            for i, (one, word) in enumerate(zip(kind, words))
        ]
        return self.context.make_tuple(builder, kind, values)

    def array(self, item, kind, word):
        """An array's fields, where type, number of dimensions, order and flags are as they must."""
        builder = self.builder
        self.require(self.is_of(item, "ndarray"))
        needed = ALIGNED | (0 if not kind.mutable else WRITEABLE)
        needed |= {"C": C_FLAG, "F": F_FLAG, "A": 0}[kind.layout]
        present = builder.and_(self.field(item, FLAGS, INT), INT(needed))
        descriptor = self.field(item, DESCRIPTOR, POINTER)
        number, order = self.field(descriptor, NUMBER, INT), self.field(descriptor, ORDER, BYTE)
        numbers = [builder.icmp_signed("==", number, INT(i)) for i in NUMBERS[word.split(",")[0]]]
        foreign = BYTE(ord(">" if sys.byteorder == "little" else "<"))
        fits = [
            reduce(builder.or_, numbers),
            builder.icmp_signed("==", self.field(item, DIMENSIONS, INT), INT(kind.ndim)),
            builder.icmp_signed("==", present, INT(needed)),
            builder.icmp_signed("!=", order, foreign),
        ]
        self.require(reduce(builder.and_, fits))
        shape, strides = (
            [
                builder.load(builder.gep(self.field(item, at, LONG.as_pointer()), [LONG(i)]))
                for i in range(kind.ndim)
            ]
            for at in (SHAPE, STRIDES)
        )
        return array_of(
            self.context, builder, kind, self.field(item, DATA, POINTER), shape, strides
        )

    def call(self, fndesc, signature, values):
        """Status and result of a kernel, called without the GIL."""
        builder, context = self.builder, self.context
        thread = builder.call(self.c("PyEval_SaveThread", POINTER), [])
        callee = context.declare_function(self.module, fndesc)
        found = context.call_conv.call_function(
            builder, callee, signature.return_type, signature.args, values
        )
        builder.call(self.c("PyEval_RestoreThread", ir.VoidType(), POINTER), [thread])
        return found

    def raised(self, status):
        """What Python gets where a kernel ends by an error."""
        differ = self.builder.icmp_signed("==", status.code, INT(DIFFER))
        function = self.builder.select(differ, self.object("differ"), self.object("raise"))
        call = self.c("PyObject_CallNoArgs", POINTER, POINTER)
        return self.builder.call(call, [function])

    def end(self, itself, given, count):
        """Hand arguments that do not fit to what Python hands as ``self``."""
        self.builder.position_at_end(self.misfit)
        call = self.c("PyObject_Vectorcall", POINTER, POINTER, POINTER.as_pointer(), LONG, POINTER)
        self.builder.ret(self.builder.call(call, [itself, given, count, POINTER(None)]))

    def result(self, value, kind):
        """Python's object of a result."""
        builder = self.builder
        if isinstance(kind, types.BaseTuple):
            new = builder.call(self.c("PyTuple_New", POINTER, LONG), [LONG(len(kind))])
            put = self.c("PyTuple_SetItem", INT, POINTER, LONG, POINTER)
            for i, one in enumerate(kind):
                item = self.result(builder.extract_value(value, i), one)
                builder.call(put, [new, LONG(i), item])
            return new
        if kind == types.none:
            none = self.object("None")
            builder.call(self.c("Py_IncRef", ir.VoidType(), POINTER), [none])
            return none
        if kind == types.boolean:
            return builder.call(
                self.c("PyBool_FromLong", POINTER, LONG), [builder.zext(value, LONG)]
            )
        if isinstance(kind, types.Integer):
            wide = self.context.cast(builder, value, kind, types.int64)
            return builder.call(self.c("PyLong_FromLongLong", POINTER, LONG), [wide])
        if isinstance(kind, types.Float):
            wide = self.context.cast(builder, value, kind, types.float64)
            return builder.call(self.c("PyFloat_FromDouble", POINTER, ir.DoubleType()), [wide])
        if isinstance(kind, types.Complex):
            wide = self.context.cast(builder, value, kind, types.complex128)
            parts = self.context.make_complex(builder, types.complex128, wide)
            two = [ir.DoubleType()] * 2
            return builder.call(
                self.c("PyComplex_FromDoubles", POINTER, *two), [parts.real, parts.imag]
            )
        raise TypeError(f"no stub gives {kind} to Python")


def add_stub(module, name, context, fndesc, signature, kinds):
    """Add the stub of a compiled kernel to a module."""
    stub = _Stub(module, name, context)
    builder = stub.builder
    itself, given, count = stub.function.args
    stub.require(builder.icmp_signed("==", count, LONG(len(signature.args))))
    values = [
        stub.value(builder.load(builder.gep(given, [LONG(i)])), kind, word)
        for i, (kind, word) in enumerate(zip(signature.args, words_of(kinds)))
    ]
    status, result = stub.call(fndesc, signature, values)
    with builder.if_then(status.is_error, likely=False):
        builder.ret(stub.raised(status))
    builder.ret(stub.result(result, signature.return_type))
    stub.end(itself, given, count)


def add_solution_stub(module, name, context, fndesc, signature, kinds):
    """Add a stub that makes the kernel's last argument, a vector as long as the one before.

    It gives this vector to Python where the kernel returns 0, else None.
    """
    stub = _Stub(module, name, context)
    builder = stub.builder
    itself, given, count = stub.function.args
    *kept, last = signature.args
    stub.require(builder.icmp_signed("==", count, LONG(len(kept))))
    words = words_of(kinds)
    items = [builder.load(builder.gep(given, [LONG(i)])) for i in range(len(kept))]
    values = [stub.value(*one) for one in zip(items, kept, words)]
    shape = stub.field(items[-1], SHAPE, LONG.as_pointer())
    new = builder.call(
        stub.c("graphsys_new_array", POINTER, POINTER, INT, LONG.as_pointer(), INT, POINTER,
               POINTER, INT, INT, POINTER),
        [stub.object("ndarray"), INT(1), shape, INT(NUMBERS[words[-1].split(",")[0]][0]),
         POINTER(None), POINTER(None), INT(0), INT(0), POINTER(None)],
    )  # fmt: skip
    with builder.if_then(builder.icmp_unsigned("==", new, POINTER(None)), likely=False):
        builder.ret(new)
    data = stub.field(new, DATA, POINTER)
    values.append(array_of(context, builder, last, data, [builder.load(shape)]))
    status, result = stub.call(fndesc, signature, values)
    drop = stub.c("Py_DecRef", ir.VoidType(), POINTER)
    with builder.if_then(status.is_error, likely=False):
        builder.call(drop, [new])
        builder.ret(stub.raised(status))
    with builder.if_then(builder.icmp_signed("!=", result, LONG(0)), likely=False):
        builder.call(drop, [new])
        builder.ret(stub.result(None, types.none))
    builder.ret(new)
    stub.end(itself, given, count)


def add_c_function(module, name, context, fndesc, signature, kinds):
    """Add a function around a compiled kernel that C can call.

    A vector is a pointer and an int64 length, a number itself. One number comes back as the result;
    several, all int64, are written to a last argument.
    """
    given = []
    for kind in signature.args:
        if isinstance(kind, types.Array):
            given += [context.get_data_type(kind.dtype).as_pointer(), LONG]
        else:
            given.append(context.get_value_type(kind))
    result = signature.return_type
    several = isinstance(result, types.BaseTuple)
    if several:
        given.append(LONG.as_pointer())
    plain = ir.VoidType() if several or result == types.none else context.get_value_type(result)
    function = ir.Function(module, ir.FunctionType(plain, given), name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    left, values = list(function.args), []
    for kind in signature.args:
        first = left.pop(0)
        if isinstance(kind, types.Array):
            first = array_of(context, builder, kind, first, [left.pop(0)])
        values.append(first)
    callee = context.declare_function(module, fndesc)
    _, value = context.call_conv.call_function(builder, callee, result, signature.args, values)
    if several:
        for i in range(len(result)):
            builder.store(builder.extract_value(value, i), builder.gep(left[0], [LONG(i)]))
    if isinstance(plain, ir.VoidType):
        builder.ret_void()
    else:
        builder.ret(value)


def array_of(context, builder, kind, data, shape, strides=None):
    """numba's array of a pointer, its shape and its strides in bytes, those of a vector if None."""
    size = LONG(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    model = context.data_model_manager[kind]
    made = cgutils.get_null_value(model.get_value_type())
    parts = {"nitems": reduce(builder.mul, shape, LONG(1)), "itemsize": size, "data": data}
    parts |= {"shape": shape, "strides": strides or [size]}
    for name, part in parts.items():
        at = model.get_field_position(name)
        if isinstance(part, list):
            for i, one in enumerate(part):
                made = builder.insert_value(made, one, [at, i])
        else:
            field = made.type.elements[at]
            part = builder.bitcast(part, field) if part.type != field else part
            made = builder.insert_value(made, part, at)
    return made
