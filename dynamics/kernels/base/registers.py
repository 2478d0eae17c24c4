"""numba's type of a few numbers in one vector register: see `six`."""

from llvmlite import ir
from numba import types
from numba.extending import models, register_model


class Numbers(types.Type):
    """Type of a few numbers in a register."""

    def __init__(self, count):
        super().__init__(name=f"numbers{count}")
        self.vector = ir.VectorType(ir.DoubleType(), count)


six, four = Numbers(6), Numbers(4)
VECTOR = six.vector


@register_model(Numbers)
class NumbersModel(models.PrimitiveModel):
    """Kept as an LLVM vector."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, kind.vector)
