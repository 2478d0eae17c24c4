"""Calls of the C code of one graph by its address, with the least overhead in Python."""

from graphsys.kernels.base.address_table import enter, leave
from graphsys.kernels.base.jit import intrinsic, ir, kernel, types
from graphsys.kernels.base.pointers import place_of
from graphsys.kernels.single.fused_solve import BUSY, MISFIT, _misfit

#: Places in the frame: function, workspace, lengths of values and of b, then the lock.
FUNCTION, WORK, NNZ, ROWS, LOCK, FRAME = range(6)


@intrinsic
def _call(typing, function, values, work, b, x):
    """Status of ``function(values, work, b, x)``, the workspace by its address."""

    def generate(context, builder, signature, arguments):
        double = ir.DoubleType().as_pointer()
        kind = ir.FunctionType(ir.IntType(32), [double] * 4)
        called = builder.inttoptr(arguments[0], kind.as_pointer())
        given = [
            builder.inttoptr(arguments[i], double)
            if isinstance(signature.args[i], types.Integer)
            else place_of(context, builder, signature.args[i], arguments[i])
            for i in range(1, 5)
        ]
        return builder.sext(builder.call(called, given), ir.IntType(64))

    return types.int64(function, values, work, b, x), generate


@kernel
def solve_once(frame, values, b, x):
    """A x = b; a status of the C code, or `MISFIT` or `BUSY`."""
    if _misfit(values, frame[NNZ]) or _misfit(b, frame[ROWS]):
        return MISFIT
    if not enter(frame):
        return BUSY
    status = _call(frame[FUNCTION], values, frame[WORK], b, x)
    leave(frame)
    return status
