"""numba's type of six numbers in one vector register, and LLVM code of it and of lanes: `six`.

Nothing here imports `lane_types`, which extends functions of numba: that must not happen while
numba compiles a function that calls them.
"""

from llvmlite import ir
from numba import types
from numba.extending import models, register_model

from dynamics.kernels.base.jit import LazyModule, place_of

lane_types = LazyModule("dynamics.kernels.base.lane_types")

VECTOR = ir.VectorType(ir.DoubleType(), 6)


class Six(types.Type):
    """Type of six numbers in a register."""

    number = types.float64

    def __init__(self):
        super().__init__(name="six")


six = Six()


@register_model(Six)
class SixModel(models.PrimitiveModel):
    """Kept as an LLVM vector."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, VECTOR)


def splat(builder, x, vector):
    """The same number in all places of a vector."""
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, x, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, undefined, zeros)


def holds_lanes(kind):
    """Whether a type, or that of an array's items, is of lanes."""
    return hasattr(getattr(kind, "dtype", kind), "of_lanes")


def six_of(kinds):
    """Type of six: of lanes if one of some types is of lanes."""
    return lane_types.six_lanes if any(map(holds_lanes, kinds)) else six


def numbers(builder, kind, value):
    """The six numbers, or lanes, one by one."""
    if kind == six:
        return [builder.extract_element(value, ir.Constant(ir.IntType(32), i)) for i in range(6)]
    return [builder.extract_value(value, i) for i in range(6)]


def joined(builder, values, kind):
    """A six of what `values_of` gives, a vector of six or six of lanes."""
    if kind == six:
        return values[0]
    made = ir.Constant(ir.ArrayType(values[0].type, 6), ir.Undefined)
    for i, value in enumerate(values):
        made = builder.insert_value(made, value, i)
    return made


def places_of(context, builder, signature, arguments, i, result):
    """Places of numbers, as vectors: argument i is the array, the next one where they start."""
    kind = signature.args[i]
    first = place_of(context, builder, kind, arguments[i])
    at = context.cast(builder, arguments[i + 1], signature.args[i + 1], types.int64)
    first = builder.gep(first, [at])
    if result == six:
        return [builder.bitcast(first, VECTOR.as_pointer())]
    return [builder.gep(first, [ir.Constant(ir.IntType(64), j)]) for j in range(6)]


def values_of(context, builder, kinds, arguments, result):
    """Vectors of each argument: one of six numbers, or six of lanes."""
    found, i = [], 0
    while i < len(kinds):
        kind, value = kinds[i], arguments[i]
        if isinstance(kind, (types.Array, types.CPointer)):
            first = place_of(context, builder, kind, value)
            i += 1
            first = builder.gep(first, [context.cast(builder, arguments[i], kinds[i], types.int64)])
            if result == six:
                vector = builder.bitcast(first, VECTOR.as_pointer())
                found.append([builder.load(vector, align=8)])
            else:
                found.append([_lane(context, builder, kind.dtype, first, j) for j in range(6)])
        elif kind == six or kind == result:
            value = context.cast(builder, value, kind, result)
            found.append([value] if result == six else numbers(builder, result, value))
        elif result == six:
            wide = context.cast(builder, value, kind, types.float64)
            found.append([splat(builder, wide, VECTOR)])
        else:
            found.append([context.cast(builder, value, kind, lane_types.lanes)] * 6)
        i += 1
    return found


def _lane(context, builder, dtype, first, j):
    """The j-th number after a place, in all lanes."""
    value = builder.load(builder.gep(first, [ir.Constant(ir.IntType(64), j)]))
    return context.cast(builder, value, dtype, lane_types.lanes)
