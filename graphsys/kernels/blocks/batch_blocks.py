"""The block kernels for eight systems at once: numba intrinsics over `lanes`, and NumPy twins.

A block is ``(array, offset, leading dimension)``: the offset counts numbers, leading dimensions and
steps count vectors of eight. Under ``NUMBA_DISABLE_JIT=1`` the twins at the top stand in.
"""

import numpy as np

from graphsys.kernels.base.jit import DISABLE_JIT, LazyModule, intrinsic, types
from graphsys.kernels.base.widths import LANES
from graphsys.kernels.blocks.blocks import _Lower, real_name

lanes = LazyModule("graphsys.kernels.llvm.lanes")
lanes_inverse = LazyModule("graphsys.kernels.llvm.lanes_inverse")
lanes_steps = LazyModule("graphsys.kernels.llvm.lanes_steps")
lanes_update = LazyModule("graphsys.kernels.llvm.lanes_update")


def _block(array, at, row_step, column_step, m, n):
    """View, shape (m, n, 8)."""
    step = array.itemsize
    steps = (step * LANES * row_step, step * LANES * column_step, step)
    return np.lib.stride_tricks.as_strided(array[at:], (m, n, LANES), steps, writeable=True)


def _product_twin(mode, transposed):
    def twin(c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k):
        left = _block(a, a_at, lda, 1, m, k) if transposed else _block(a, a_at, 1, lda, m, k)
        right = _block(b, b_at, row_step, column_step, k, n)
        product = np.einsum("ikl,kjl->ijl", left, right)
        out = _block(c, c_at, 1, ldc, m, n)
        out[...] = out - product if mode == "subtract" else product

    return twin


def _magnitude_twin(s, s_at, a, a_at, lda, m, n):
    """s_i <- max(s_i, max_j |A_ij|)."""
    if n:
        current = _block(s, s_at, 1, 1, m, 1)[:, 0]
        current[...] = np.fmax(
            current, np.fmax.reduce(np.abs(_block(a, a_at, 1, lda, m, n)), axis=1)
        )


def _load_twin(b, b_at, ldb, a, a_at, stride, m, n):
    """B <- blocks of eight systems."""
    out = _block(b, b_at, 1, ldb, m, n)
    for lane in range(LANES):
        at = a_at + lane * stride
        out[:, :, lane] = a[at : at + m * n].reshape((m, n), order="F")


def _invert_twin(d, d_at, ldd, s, s_at, ratio, ratio_at, n):
    """D <- D^-1 with partial pivoting; ratio <- min(ratio, |pivot| / s)."""
    block, current = _block(d, d_at, 1, ldd, n, n), _block(s, s_at, 1, 1, n, 1)[:, 0]
    with np.errstate(all="ignore"):
        for lane in range(LANES):
            rows = np.column_stack([block[:, :, lane], np.eye(n)])
            scale = np.fmax(current[:, lane], np.fmax.reduce(np.abs(rows[:, :n]), axis=1))
            least = ratio[ratio_at + lane]
            for j in range(n):
                pivot = j + int(np.argmax(np.abs(rows[j:, j])))
                rows[[j, pivot]], scale[[j, pivot]] = rows[[pivot, j]], scale[[pivot, j]]
                least = np.minimum(least, np.abs(rows[j, j]) / scale[j])
                rows[j] /= rows[j, j]
                others = np.arange(n) != j
                rows[others] -= np.outer(rows[others, j], rows[j])
            block[:, :, lane] = rows[:, n:]
            ratio[ratio_at + lane] = least if np.isfinite(rows).all() else np.nan


def _update_twin(stored):
    def twin(
        c, c_at, ldc, source, source_at, step, a, a_at, lda, b, b_at, ldb, m, n, k, raises, s, s_at
    ):
        out = np.empty(LANES * m * n, c.dtype)
        if stored:
            _block(out, 0, 1, m, m, n)[...] = _block(source, source_at, 1, step, m, n)
        else:
            _load_twin(out, 0, m, source, source_at, step, m, n)
        if raises:
            _magnitude_twin(s, s_at, out, 0, m, m, n)
        _product_twin("subtract", False)(out, 0, m, a, a_at, lda, b, b_at, 1, ldb, m, n, k)
        _block(c, c_at, 1, ldc, m, n)[...] = _block(out, 0, 1, m, m, n)

    return twin


def _steps_twin(d, d_at, ldd, s, s_at, ratio, ratio_at, n, steps, steps_at):
    """E_1 ... E_n of a block; 1, or 0 where rows must be exchanged."""
    block, current = _block(d, d_at, 1, ldd, n, n), _block(s, s_at, 1, 1, n, 1)[:, 0]
    scale = np.fmax(current, np.fmax.reduce(np.abs(block), axis=1))
    out, rest = _block(steps, steps_at, 1, n, n, n), block.copy()
    worst, losses = np.zeros(LANES, d.dtype), []
    with np.errstate(all="ignore"):
        for j in range(n):
            column = -rest[:, j] / rest[j, j]
            column[j] = 1.0 / rest[j, j]
            worst = np.fmax(worst, np.fmax.reduce(np.abs(column[j + 1 :]), axis=0, initial=0.0))
            losses.append(np.abs(column[j]) * scale[j])
            factor = rest[j].copy()
            rest += column[:, None] * factor
            rest[j] = column[j] * factor
            out[:, j] = column
        if not (worst <= lanes_steps.EXCHANGED).all():
            return 0
        new = 1.0 / np.fmax.reduce(losses) + (sum(losses) - sum(losses))
        view = ratio[ratio_at : ratio_at + LANES]
        view[...] = np.minimum(view, new)
    return 1


def _scale_twin(stored):
    def twin(w, w_at, ldw, steps, steps_at, source, source_at, row_step, column_step, n, columns):
        if stored:
            current = _block(source, source_at, row_step, column_step, n, columns).copy()
        else:
            flat = np.empty(LANES * n * columns, w.dtype)
            _load_twin(flat, 0, n, source, source_at, column_step, n, columns)
            current = _block(flat, 0, 1, n, n, columns)
        for j, column in enumerate(_block(steps, steps_at, n, 1, n, n)):
            factor = current[j].copy()
            current += column[:, None] * factor
            current[j] = column[j] * factor
        _block(w, w_at, 1, ldw, n, columns)[...] = current

    return twin


def _gather_twin(x, x_at, b, b_at, stride, order, order_at, step, rows):
    """x_i <- b[order_i step] of eight systems."""
    places = b_at + order[order_at : order_at + rows] * step
    x[x_at : x_at + LANES * rows] = b[places[:, None] + stride * np.arange(LANES)].ravel()


def _scatter_twin(x, x_at, b, b_at, stride, order, order_at, step, rows):
    """b[order_i step] <- x_i of eight systems."""
    places = b_at + order[order_at : order_at + rows] * step
    b[places[:, None] + stride * np.arange(LANES)] = x[x_at : x_at + LANES * rows].reshape(-1, 8)


def _product(mode, transposed, text):
    def typed(typing, c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k):
        signature = types.none(c, c_at, ldc, a, a_at, lda, b, b_at, row_step, column_step, m, n, k)
        real = real_name(c.dtype)

        def generate(context, builder, signature, arguments):
            low = _Lower(context, builder, signature, arguments)
            function = lanes.product_function(builder.module, real, mode, transposed)
            places = [low.pointer(0, 1), low.integer(2), low.pointer(3, 4), low.integer(5)]
            places.append(low.pointer(6, 7))
            builder.call(function, places + [low.integer(k) for k in range(8, 13)])
            return low.none()

        return signature, generate

    typed.__name__ = f"lanes_{mode}"
    typed.__doc__ = text
    return intrinsic(typed)


@intrinsic
def _magnitude(typing, s, s_at, a, a_at, lda, m, n):
    """s_i <- max(s_i, max_j |A_ij|)."""
    signature = types.none(s, s_at, a, a_at, lda, m, n)
    real = real_name(a.dtype)

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        function = lanes.magnitude_function(builder.module, real)
        places = [low.pointer(0, 1), low.pointer(2, 3)]
        builder.call(function, places + [low.integer(k) for k in range(4, 7)])
        return low.none()

    return signature, generate


@intrinsic
def _load(typing, b, b_at, ldb, a, a_at, stride, m, n):
    """B <- blocks of eight systems."""
    signature = types.none(b, b_at, ldb, a, a_at, stride, m, n)
    real = real_name(a.dtype)

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        function = lanes.load_function(builder.module, real)
        places = [low.pointer(0, 1), low.integer(2), low.pointer(3, 4)]
        builder.call(function, places + [low.integer(k) for k in range(5, 8)])
        return low.none()

    return signature, generate


@intrinsic
def _invert(typing, d, d_at, ldd, s, s_at, ratio, ratio_at, n):
    """D <- D^-1; ratio <- min(ratio, |pivot| / s)."""
    signature = types.none(d, d_at, ldd, s, s_at, ratio, ratio_at, n)
    real = real_name(d.dtype)

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        function = lanes_inverse.inverse_function(builder.module, real)
        places = [low.pointer(0, 1), low.integer(2), low.pointer(3, 4), low.pointer(5, 6)]
        builder.call(function, [*places, low.integer(7)])
        return low.none()

    return signature, generate


def _update(stored, text):
    def typed(
        typing, c, c_at, ldc, source, source_at, step, a, a_at, lda, b, b_at, ldb, m, n, k,
        raises, s, s_at,
    ):  # fmt: skip
        signature = types.none(
            c, c_at, ldc, source, source_at, step, a, a_at, lda, b, b_at, ldb, m, n, k,
            raises, s, s_at,
        )  # fmt: skip
        real = real_name(c.dtype)

        def generate(context, builder, signature, arguments):
            low = _Lower(context, builder, signature, arguments)
            function = lanes_update.update_function(builder.module, real, stored)
            places = []
            for block in (0, 3, 6, 9):
                places += [low.pointer(block, block + 1), low.integer(block + 2)]
            places += [low.integer(k) for k in range(12, 16)]
            builder.call(function, [*places, low.pointer(16, 17)])
            return low.none()

        return signature, generate

    typed.__name__ = "lanes_update"
    typed.__doc__ = text
    return intrinsic(typed)


@intrinsic
def _steps(typing, d, d_at, ldd, s, s_at, ratio, ratio_at, n, steps, steps_at):
    """E_1 ... E_n of a block; 1, or 0 where rows must be exchanged."""
    signature = types.int64(d, d_at, ldd, s, s_at, ratio, ratio_at, n, steps, steps_at)
    real = real_name(d.dtype)

    def generate(context, builder, signature, arguments):
        low = _Lower(context, builder, signature, arguments)
        function = lanes_steps.steps_function(builder.module, real)
        places = [low.pointer(0, 1), low.integer(2), low.pointer(3, 4), low.pointer(5, 6)]
        return builder.call(function, [*places, low.integer(7), low.pointer(8, 9)])

    return signature, generate


def _scale(stored, text):
    def typed(typing, w, w_at, ldw, steps, steps_at, source, source_at, row_step, column_step,
              n, columns):  # fmt: skip
        signature = types.none(
            w, w_at, ldw, steps, steps_at, source, source_at, row_step, column_step, n, columns
        )
        real = real_name(w.dtype)

        def generate(context, builder, signature, arguments):
            low = _Lower(context, builder, signature, arguments)
            function = lanes_steps.scale_function(builder.module, real, stored)
            places = [low.pointer(0, 1), low.integer(2), low.pointer(3, 4), low.pointer(5, 6)]
            builder.call(function, [*places, *(low.integer(k) for k in range(7, 11))])
            return low.none()

        return signature, generate

    typed.__name__ = "lanes_scale"
    typed.__doc__ = text
    return intrinsic(typed)


def _exchange(name, text):  # a name, as the module that emits it imports numba
    def typed(typing, x, x_at, b, b_at, stride, order, order_at, step, rows):
        signature = types.none(x, x_at, b, b_at, stride, order, order_at, step, rows)
        real = real_name(x.dtype)

        def generate(context, builder, signature, arguments):
            low = _Lower(context, builder, signature, arguments)
            made = context.make_array(signature.args[5])(context, builder, arguments[5])
            places = [low.pointer(0, 1), low.pointer(2, 3), low.integer(4)]
            places.append(builder.gep(made.data, [low.integer(6)]))
            function = getattr(lanes, name)(builder.module, real)
            builder.call(function, [*places, low.integer(7), low.integer(8)])
            return low.none()

        return signature, generate

    typed.__name__ = name
    typed.__doc__ = text
    return intrinsic(typed)


if DISABLE_JIT:
    subtract_lanes = _product_twin("subtract", False)
    subtract_lanes_transposed = _product_twin("subtract", True)
    assign_lanes = _product_twin("assign", False)
    assign_lanes_transposed = _product_twin("assign", True)
    update_lanes_stored, update_lanes_values = _update_twin(True), _update_twin(False)
    raise_lanes = _magnitude_twin
    steps_lanes = _steps_twin
    scale_lanes_stored, scale_lanes_values = _scale_twin(True), _scale_twin(False)
    load_lanes = _load_twin
    invert_lanes = _invert_twin
    gather_lanes = _gather_twin
    scatter_lanes = _scatter_twin
else:
    subtract_lanes = _product("subtract", False, "C <- C - A B in every lane.")
    subtract_lanes_transposed = _product("subtract", True, "C <- C - A^T B in every lane.")
    assign_lanes = _product("assign", False, "C <- A B in every lane; C may be B when m <= 8.")
    assign_lanes_transposed = _product("assign", True, "C <- A^T B; C may be B when m <= 8.")
    update_lanes_stored = _update(True, "C <- S - A B of stored blocks, s <- max(s, |S|) by rows.")
    update_lanes_values = _update(False, "C <- S - A B of blocks of eight systems.")
    steps_lanes = _steps
    scale_lanes_stored = _scale(True, "W <- E_n ... E_1 U of stored blocks; W may be U.")
    scale_lanes_values = _scale(False, "W <- E_n ... E_1 U of blocks of eight systems.")
    raise_lanes = _magnitude
    load_lanes = _load
    invert_lanes = _invert
    gather_lanes = _exchange("gather_function", "x_i <- b[order_i step] of eight systems.")
    scatter_lanes = _exchange("scatter_function", "b[order_i step] <- x_i of eight systems.")
