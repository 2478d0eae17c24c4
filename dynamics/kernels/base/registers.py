"""numba's type of six numbers in one vector register: see `six`."""

from llvmlite import ir
from numba import types
from numba.extending import models, register_model

VECTOR = ir.VectorType(ir.DoubleType(), 6)


class Six(types.Type):
    """Type of six numbers in a register."""

    def __init__(self):
        super().__init__(name="six")


six = Six()


@register_model(Six)
class SixModel(models.PrimitiveModel):
    """Kept as an LLVM vector."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, VECTOR)
