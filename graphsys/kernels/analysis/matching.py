"""Maximum matching of rows with columns, by phases of depth-first searches.

Pothen and Fan, ACM Trans. Math. Software 16 (1990), with lookahead for free columns. In a phase a
column is seen once, so a phase takes time linear in the entries.
"""

from graphsys.kernels.base.jit import kernel

#: Numbers a row that `match` works with.
WORK_ROWS = 4


@kernel
def match(
    # Tables (of a square CSR pattern):
    start,
    index,
    # Work:
    work,
    # Out:
    row_of,
    column_of,
):
    """Match as many rows with columns as there can be, those on the diagonal first.

    ``column_of`` a row and ``row_of`` a column are -1 where there is none. ``work`` is
    (WORK_ROWS, n).
    """
    n = column_of.size
    ahead, at, seen, path = work[0], work[1], work[2], work[3]
    for i in range(n):
        row_of[i] = column_of[i] = -1
        ahead[i], seen[i] = start[i], 0
    for i in range(n):
        for e in range(start[i], start[i + 1]):
            if index[e] == i:
                row_of[i] = column_of[i] = i
    phase = gained = 1
    while gained > 0:
        gained = 0
        for root in range(n):
            if column_of[root] >= 0:
                continue
            depth, path[0], at[root] = 0, root, start[root]
            while depth >= 0:
                i, free = path[depth], -1
                while free < 0 and ahead[i] < start[i + 1]:
                    if row_of[index[ahead[i]]] < 0:
                        free = index[ahead[i]]
                    ahead[i] += 1
                if free >= 0:  # every row of the path takes the column that led to the next one
                    while depth >= 0:
                        i = path[depth]
                        free, column_of[i] = column_of[i], free
                        row_of[column_of[i]] = i
                        depth -= 1
                    gained += 1
                    continue
                while at[i] < start[i + 1] and seen[index[at[i]]] == phase:
                    at[i] += 1
                if at[i] == start[i + 1]:
                    depth -= 1
                    continue
                column = index[at[i]]
                seen[column] = phase
                depth += 1
                path[depth] = row_of[column]
                at[path[depth]] = start[path[depth]]
        phase += 1
