"""The matrix itself, in the layout of `graphsys.matrix.graph.BlockGraph`: residuals and norms."""

from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.blocks.blocks import add_magnitude, subtract_product, subtract_transposed


@kernel
def subtract_matrix_product(
    # Tables (as in BlockGraph):
    size,
    row_start,
    neighbor_start,
    neighbor,
    diagonal_at,
    block_at,
    # In:
    values,
    transposed,
    x,
    x_at,
    # Out:
    r,
):
    """r <- r - A x, or r - A^T x, for one vector; ``x[x_at:]`` and r[x_at:]."""
    if is_scalar(size, row_start[size.size]):  # 0.1 to 0.15 of the time of blocks
        _subtract_scalars(neighbor_start, neighbor, diagonal_at, values, transposed, x, x_at, r)
        return
    for i in range(size.size):
        rows, row = size[i], x_at + row_start[i]
        for p in range(neighbor_start[i] - 1, neighbor_start[i + 1]):
            if p < neighbor_start[i]:
                j, at = i, diagonal_at[i]
            else:
                j, at = neighbor[p], block_at[p]
            columns, column = size[j], x_at + row_start[j]
            if transposed:
                subtract_transposed(
                    r, column, columns, values, at, rows, x, row, rows, columns, 1, rows
                )
            else:
                subtract_product(
                    r, row, rows, values, at, rows, x, column, 1, columns, rows, 1, columns
                )


@inlined
def _subtract_scalars(neighbor_start, neighbor, diagonal_at, values, transposed, x, x_at, r):
    """The same for single rows, whose entries follow each other in ``values``."""
    for i in range(diagonal_at.size):
        at, known = diagonal_at[i], x[x_at + i]
        total = values[at] * known
        at += 1 - neighbor_start[i]
        for p in range(neighbor_start[i], neighbor_start[i + 1]):
            j = x_at + neighbor[p]
            if transposed:
                r[j] -= values[at + p] * known
            else:
                total += values[at + p] * x[j]
        r[x_at + i] -= total


@kernel
def widest_node(size):
    """Most rows of a node; pivot blocks may have fewer."""
    widest = 0
    for i in range(size.size):
        widest = max(widest, size[i])
    return widest


@kernel
def is_scalar(size, rows):
    """True if every node is one row."""
    return widest_node(size) == 1 and rows == size.size


@kernel
def raise_sizes(tables, values, transposed, x, x_at, sizes):
    """d <- d + |A| |x|, s <- s + sum_j |A_ij|, or of A^T: ``sizes`` is d and s, one vector x.

    ``tables`` are those of `BlockGraph.tables`.
    """
    size, row_start, neighbor_start, neighbor, diagonal_at, block_at = tables
    rows = row_start[size.size]
    for i in range(size.size):
        height, first = size[i], row_start[i]
        for p in range(neighbor_start[i] - 1, neighbor_start[i + 1]):
            if p < neighbor_start[i]:
                j, at = i, diagonal_at[i]
            else:
                j, at = neighbor[p], block_at[p]
            for column in range(row_start[j], row_start[j + 1]):
                if transposed:
                    for k in range(height):
                        entry = abs(values[at + k])
                        sizes[column] += entry * abs(x[x_at + first + k])
                        sizes[rows + column] += entry
                else:
                    known = abs(x[x_at + column])
                    for k in range(height):
                        entry = abs(values[at + k])
                        sizes[first + k] += entry * known
                        sizes[rows + first + k] += entry
                at += height


@kernel
def absolute_sums(
    # Tables (as in BlockGraph):
    size,
    row_start,
    neighbor_start,
    neighbor,
    diagonal_at,
    block_at,
    # In:
    values,
    transposed,
    # Out:
    sums,
):
    """Sums of |A_ij| along rows, or along columns where ``transposed``."""
    sums[:] = 0.0
    for i in range(size.size):
        rows = size[i]
        for p in range(neighbor_start[i] - 1, neighbor_start[i + 1]):
            if p < neighbor_start[i]:
                j, at = i, diagonal_at[i]
            else:
                j, at = neighbor[p], block_at[p]
            if not transposed:
                add_magnitude(sums, row_start[i], values, at, rows, rows, size[j])
                continue
            for column in range(row_start[j], row_start[j + 1]):
                total = sums[column]
                for row in range(rows):
                    total += abs(values[at + row])
                sums[column] = total
                at += rows


@kernel
def subtract_outer_products(
    # Tables (as in BlockGraph):
    size,
    row_start,
    neighbor_start,
    neighbor,
    diagonal_at,
    block_at,
    # In:
    y,
    x,
    count,
    # Out:
    values,
):
    """A_ij <- A_ij - sum_c y_ic x_jc for the ``count`` columns c of y and x, flat."""
    rows = row_start[size.size]
    for i in range(size.size):
        for p in range(neighbor_start[i] - 1, neighbor_start[i + 1]):
            if p < neighbor_start[i]:
                j, at = i, diagonal_at[i]
            else:
                j, at = neighbor[p], block_at[p]
            subtract_product(
                values, at, size[i], y, row_start[i], rows, x, row_start[j], rows, 1,
                size[i], size[j], count,
            )  # fmt: skip


@kernel
def transpose_blocks(
    # Tables (as in BlockGraph):
    size,
    neighbor_start,
    neighbor,
    diagonal_at,
    block_at,
    # In:
    values,
    # Work:
    passed,
    # Out:
    transposed,
):
    """A^T in the layout of A; ``passed`` has room for a number per node."""
    for i in range(size.size):
        passed[i] = neighbor_start[i]
    for i in range(size.size):
        _transpose(values, diagonal_at[i], size[i], size[i], transposed, diagonal_at[i])
        for p in range(neighbor_start[i], neighbor_start[i + 1]):
            j = neighbor[p]  # whose neighbors before i have had their turn
            _transpose(values, block_at[p], size[i], size[j], transposed, block_at[passed[j]])
            passed[j] += 1


@inlined
def _transpose(a, at, rows, columns, b, to):
    """B <- A^T."""
    for c in range(columns):
        for r in range(rows):
            b[to + c + columns * r] = a[at + r + rows * c]


@kernel
def is_symmetric(size, row_start, neighbor_start, neighbor, diagonal_at, block_at, values):
    """True if the matrix equals its transpose to the last bit."""
    wrong = 0
    for i in range(size.size):
        n, at = size[i], diagonal_at[i]
        for c in range(n):
            for r in range(c):
                wrong |= values[at + r + n * c] != values[at + c + n * r]
        for p in range(neighbor_start[i], neighbor_start[i + 1]):
            j = neighbor[p]
            if j > i:
                first, last = neighbor_start[j], neighbor_start[j + 1]
                while first < last:  # the place of i among the neighbors of j
                    middle = (first + last) // 2
                    if neighbor[middle] < i:
                        first = middle + 1
                    else:
                        last = middle
                at, across, m = block_at[p], block_at[first], size[j]
                for c in range(m):
                    for r in range(n):
                        wrong |= values[at + r + n * c] != values[across + c + m * r]
    return wrong == 0
