"""Diagonal blocks of a matrix whose rows are matched with columns: strongly connected components.

R. Tarjan, SIAM J. Computing 1 (1972), without recursion.
"""

from graphsys.kernels.base.jit import kernel

#: Numbers a row that `find_blocks` works with.
WORK_ROWS = 5


@kernel
def find_blocks(
    # Tables (of a square CSR pattern):
    start,
    index,
    row_of,
    # Work:
    work,
    # Out:
    block_of,
):
    """Block of each row, after all blocks that it needs; how many there are.

    A row needs the rows ``row_of`` its columns. ``work`` is (WORK_ROWS, n).
    """
    n, count, clock, held = block_of.size, 0, 0, 0
    number, low, at, path, stack = work[0], work[1], work[2], work[3], work[4]
    for i in range(n):
        number[i], block_of[i] = 0, -1
    for root in range(n):
        if number[root] > 0:
            continue
        depth, path[0] = 0, root
        while depth >= 0:
            i = path[depth]
            if number[i] == 0:
                clock += 1
                number[i] = low[i] = clock
                at[i] = start[i]
                stack[held] = i
                held += 1
            deeper = False
            while at[i] < start[i + 1] and not deeper:
                k = row_of[index[at[i]]]
                at[i] += 1
                if number[k] == 0:
                    deeper = True
                    depth += 1
                    path[depth] = k
                elif block_of[k] < 0:
                    low[i] = min(low[i], number[k])
            if deeper:
                continue
            if low[i] == number[i]:
                k = -1
                while k != i:
                    held -= 1
                    k = stack[held]
                    block_of[k] = count
                count += 1
            depth -= 1
            if depth >= 0:
                low[path[depth]] = min(low[path[depth]], low[i])
    return count
