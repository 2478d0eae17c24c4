"""numba's types of eight numbers side by side, one of each of eight simulations: see `lanes`.

Kernels are compiled for them from the same source as for numbers. Arithmetic is that of each lane.
A branch takes one way for all eight: where a condition differs between lanes, the kernel and its
callers end with the status `DIFFER`.
"""

import math
import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typeconv import Conversion
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import lower_builtin, lower_cast, models, register_model

from dynamics.kernels.base.jit import DIFFER
from dynamics.kernels.base.registers import Six, joined, numbers, splat

COUNT = 8
VECTOR = ir.VectorType(ir.DoubleType(), COUNT)
FLAGS = ir.VectorType(ir.IntType(1), COUNT)


class Lanes(types.Type):
    """Type of eight numbers; a number is the same in all lanes."""

    def __init__(self):
        super().__init__(name="lanes")

    def can_convert_from(self, context, other):
        """Numbers are converted."""
        return Conversion.safe if isinstance(other, (types.Float, types.Integer)) else None

    def unify(self, context, other):
        """A variable that holds numbers, too, holds lanes."""
        return self if isinstance(other, (types.Float, types.Integer)) else None

    @staticmethod
    def of_lanes(kind):
        """The type of lanes for a type of numbers."""
        if isinstance(kind, types.BaseTuple):
            return types.Tuple([Lanes.of_lanes(one) for one in kind])
        return lanes if kind == types.float64 else kind


class Conditions(types.Type):
    """Type of eight truth values."""

    def __init__(self):
        super().__init__(name="conditions")

    def can_convert_from(self, context, other):
        """Truth values are converted."""
        return Conversion.safe if isinstance(other, types.Boolean) else None

    def unify(self, context, other):
        """A variable that holds truth values, too, holds conditions."""
        return self if isinstance(other, types.Boolean) else None


class SixLanes(types.Type):
    """Type of six lanes in six registers."""

    def __init__(self):
        super().__init__(name="six lanes")

    @property
    def number(self):
        """Type of one of the six."""
        return lanes

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


lanes, conditions, six_lanes = Lanes(), Conditions(), SixLanes()


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """Kept as an LLVM vector."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, VECTOR)


@register_model(Conditions)
class ConditionsModel(models.PrimitiveModel):
    """Kept as an LLVM vector."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, FLAGS)


@register_model(SixLanes)
class SixLanesModel(models.PrimitiveModel):
    """Kept as six LLVM vectors."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.ArrayType(VECTOR, 6))


@lower_cast(Six, SixLanes)
def _six_to_lanes(context, builder, given, wanted, value):
    parts = [splat(builder, one, VECTOR) for one in numbers(builder, given, value)]
    return joined(builder, parts, wanted)


def agreed(context, builder, flags):
    """What all flags are; where they differ, the kernel ends."""
    bits = builder.bitcast(flags, ir.IntType(COUNT))
    every = builder.icmp_unsigned("==", bits, bits.type(2**COUNT - 1))
    none = builder.icmp_unsigned("==", bits, bits.type(0))
    with builder.if_then(builder.not_(builder.or_(every, none)), likely=False):
        builder.ret(ir.Constant(ir.IntType(32), DIFFER))
    return every


@lower_cast(types.Float, Lanes)
@lower_cast(types.Integer, Lanes)
def _number_to_lanes(context, builder, given, wanted, x):
    return splat(builder, context.cast(builder, x, given, types.float64), VECTOR)


@lower_cast(types.Boolean, Conditions)
def _flag_to_conditions(context, builder, given, wanted, x):
    return splat(builder, builder.trunc(x, ir.IntType(1)) if x.type.width > 1 else x, FLAGS)


@lower_cast(Conditions, types.Boolean)
def _conditions_to_flag(context, builder, given, wanted, x):
    return agreed(context, builder, x)


#: Types of lanes by those of what is the same in all.
WIDE = {types.float64: lanes, types.int64: lanes, types.boolean: conditions}
#: Arguments of a function of two numbers, of which one is eight at least.
PAIRS = [
    (lanes, lanes),
    (lanes, types.float64),
    (types.float64, lanes),
    (lanes, types.int64),
    (types.int64, lanes),
]


def define(function, result, arguments, emit):
    """Define a function of numbers, ``emit(context, builder, *lanes)``, for lanes."""
    signatures = [signature(result, *one) for one in arguments]
    template = type("LaneTemplate", (ConcreteTemplate,), {"key": function, "cases": signatures})
    infer_global(function)(template)
    for one in signatures:

        def lower(context, builder, signature, values):
            wide = [
                context.cast(builder, value, kind, WIDE.get(kind, kind))
                for value, kind in zip(values, signature.args)
            ]
            return emit(context, builder, *wide)

        lower_builtin(function, *one.args)(lower)


def intrinsic_call(name, count):
    """A function that emits LLVM's intrinsic of the name."""

    def emit(context, builder, *values):
        kind = ir.FunctionType(VECTOR, [VECTOR] * count)
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v8f64")
        return builder.call(function, values)

    return emit


def one_by_one(name, count):
    """A function that emits a call of C's function of the name in each lane."""

    def emit(context, builder, *values):
        kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType()] * count)
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        result = ir.Constant(VECTOR, ir.Undefined)
        for i in range(COUNT):
            at = ir.Constant(ir.IntType(32), i)
            numbers = [builder.extract_element(value, at) for value in values]
            result = builder.insert_element(result, builder.call(function, numbers), at)
        return result

    return emit


def compared(sign):
    """A function that emits a comparison; with NaN only "!=" is true."""

    def emit(context, builder, x, y):
        if sign == "!=":
            return builder.fcmp_unordered(sign, x, y)
        return builder.fcmp_ordered(sign, x, y)

    return emit


def larger(context, builder, x, y):
    """The larger one in each lane; y where x is NaN."""
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


def smaller(context, builder, x, y):
    """The smaller one in each lane; y where x is NaN."""
    return builder.select(builder.fcmp_ordered("<", x, y), x, y)


for plain, in_place, sign in (
    (operator.add, operator.iadd, "fadd"),
    (operator.sub, operator.isub, "fsub"),
    (operator.mul, operator.imul, "fmul"),
    (operator.truediv, operator.itruediv, "fdiv"),
):
    for function in (plain, in_place):
        define(
            function, lanes, PAIRS,
            lambda context, builder, x, y, sign=sign: getattr(builder, sign)(x, y),
        )  # fmt: skip
for function, sign in (
    (operator.lt, "<"), (operator.le, "<="), (operator.gt, ">"), (operator.ge, ">="),
    (operator.eq, "=="), (operator.ne, "!="),
):  # fmt: skip
    define(function, conditions, PAIRS, compared(sign))
define(max, lanes, PAIRS, larger)
define(min, lanes, PAIRS, smaller)
define(operator.neg, lanes, [(lanes,)], lambda context, builder, x: builder.fneg(x))
define(abs, lanes, [(lanes,)], intrinsic_call("fabs", 1))
define(math.sqrt, lanes, [(lanes,)], intrinsic_call("sqrt", 1))
define(math.floor, lanes, [(lanes,)], intrinsic_call("floor", 1))
define(math.copysign, lanes, PAIRS, intrinsic_call("copysign", 2))
define(math.atan2, lanes, PAIRS, one_by_one("atan2", 2))
for named in (math.sin, math.cos, math.asin, math.acos, math.tan, math.exp):
    define(named, lanes, [(lanes,)], one_by_one(named.__name__, 1))
define(operator.pow, lanes, [(lanes, types.int64)], one_by_one("pow", 2))
define(bool, types.boolean, [(conditions,)], agreed)
FLAG_PAIRS = [
    (conditions, conditions),
    (conditions, types.boolean),
    (types.boolean, conditions),
]
for function, sign in ((operator.and_, "and_"), (operator.or_, "or_")):
    define(
        function, conditions, FLAG_PAIRS,
        lambda context, builder, x, y, sign=sign: getattr(builder, sign)(x, y),
    )  # fmt: skip
define(
    operator.not_, conditions, [(conditions,)], lambda context, builder, flags: builder.not_(flags)
)


def same_integer(context, builder, x):
    """The integer part that all lanes have; where they differ, the kernel ends."""
    first = builder.extract_element(x, ir.Constant(ir.IntType(32), 0))
    agreed(context, builder, builder.fcmp_ordered("==", x, splat(builder, first, VECTOR)))
    return builder.fptosi(first, ir.IntType(64))


define(int, types.int64, [(lanes,)], same_integer)
