"""numba's types of six numbers in vector registers, or of six lanes: see `six`."""

from llvmlite import ir
from numba import types
from numba.core.typeconv import Conversion
from numba.extending import lower_cast, models, register_model

from dynamics.kernels.base.jit import place_of
from dynamics.kernels.base.lane_types import VECTOR as LANES
from dynamics.kernels.base.lane_types import Lanes, lanes, splat

VECTOR = ir.VectorType(ir.DoubleType(), 6)


class Six(types.Type):
    """Type of six numbers in a register."""

    number = types.float64

    def __init__(self):
        super().__init__(name="six")


class SixLanes(types.Type):
    """Type of six lanes in six registers."""

    number = lanes

    def __init__(self):
        super().__init__(name="six lanes")

    def can_convert_from(self, context, other):
        """Six numbers are converted."""
        return Conversion.safe if isinstance(other, Six) else None

    def unify(self, context, other):
        """A variable that holds six numbers, too, holds lanes."""
        return self if isinstance(other, Six) else None

    @staticmethod
    def of_lanes(kind):
        """As of `Lanes`."""
        return Lanes.of_lanes(kind)


six, six_lanes = Six(), SixLanes()


@register_model(Six)
class SixModel(models.PrimitiveModel):
    """Kept as an LLVM vector."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, VECTOR)


@register_model(SixLanes)
class SixLanesModel(models.PrimitiveModel):
    """Kept as six LLVM vectors."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.ArrayType(LANES, 6))


@lower_cast(Six, SixLanes)
def _to_lanes(context, builder, given, wanted, value):
    return joined(builder, [splat(builder, one) for one in numbers(builder, given, value)], wanted)


def numbers(builder, kind, value):
    """The six numbers, or lanes, one by one."""
    if isinstance(kind, Six):
        return [builder.extract_element(value, ir.Constant(ir.IntType(32), i)) for i in range(6)]
    return [builder.extract_value(value, i) for i in range(6)]


def joined(builder, values, kind):
    """A six of what `values_of` gives, a vector of six or six of lanes."""
    if isinstance(kind, Six):
        return values[0]
    made = ir.Constant(ir.ArrayType(LANES, 6), ir.Undefined)
    for i, value in enumerate(values):
        made = builder.insert_value(made, value, i)
    return made


def six_of(kinds):
    """Type of six: of lanes where one of some types is of lanes."""
    of_lanes = (getattr(kind, "dtype", kind) in (lanes, six_lanes) for kind in kinds)
    return six_lanes if any(of_lanes) else six


def places_of(context, builder, signature, arguments, i, result):
    """Places of numbers, as vectors: argument i is the array, the next one where they start."""
    kind = signature.args[i]
    first = place_of(context, builder, kind, arguments[i])
    at = context.cast(builder, arguments[i + 1], signature.args[i + 1], types.int64)
    first = builder.gep(first, [at])
    if result is six:
        return [builder.bitcast(first, VECTOR.as_pointer())]
    return [builder.gep(first, [ir.Constant(ir.IntType(64), j)]) for j in range(6)]


def values_of(context, builder, kinds, arguments, result):
    """Vectors of each argument: one of six numbers, or six of lanes."""
    found, i = [], 0
    while i < len(kinds):
        kind, value = kinds[i], arguments[i]
        if isinstance(kind, (Six, SixLanes)):
            value = context.cast(builder, value, kind, result)
            found.append([value] if result is six else numbers(builder, result, value))
        elif isinstance(kind, (types.Array, types.CPointer)):
            first = place_of(context, builder, kind, value)
            i += 1
            first = builder.gep(first, [context.cast(builder, arguments[i], kinds[i], types.int64)])
            if result is six:
                vector = builder.bitcast(first, VECTOR.as_pointer())
                found.append([builder.load(vector, align=8)])
            else:
                found.append([_lane(context, builder, kind.dtype, first, j) for j in range(6)])
        elif result is six:
            wide = context.cast(builder, value, kind, types.float64)
            found.append([splat(builder, wide, VECTOR)])
        else:
            found.append([context.cast(builder, value, kind, lanes)] * 6)
        i += 1
    return found


def _lane(context, builder, dtype, first, j):
    """The j-th number after a place, in all lanes."""
    value = builder.load(builder.gep(first, [ir.Constant(ir.IntType(64), j)]))
    return context.cast(builder, value, dtype, lanes)
