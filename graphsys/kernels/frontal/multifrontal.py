"""Multifrontal factorization: one dense front for each supernode, children first.

A front holds what the matrix has in the rows and columns of its supernode, and the *contribution
blocks* of its children. It gives its pivots, and what is left is its own contribution block. Rows
and columns whose pivots were too small are part of that block, and the parent tries them again
(I. S. Duff, J. K. Reid, The multifrontal solution of unsymmetric sets of linear equations, SIAM J.
Sci. Stat. Comput. 5, 1984).

Supernodes are numbered in a postorder, so contribution blocks lie on a stack. Each has a header
among integers: where the header below it begins, rows n, delayed ones d, first row in elimination
order that follows (or the number of rows), place of the block, then its n rows and its n columns.
"""

from graphsys.kernels.base.jit import inlined, kernel
from graphsys.kernels.base.layout import (
    ORDER_AT,
    PANEL_FIELDS,
    ROWS,
    STARTS_AT,
    SUPERNODES,
    SYMMETRIC,
)
from graphsys.kernels.base.pointers import pointer
from graphsys.kernels.blocks.blocks import add_block, copy_block
from graphsys.kernels.frontal.front import LARGEST, LEAST, factorize_front, leading_dimension, room

#: Fields of a header on the stack of contribution blocks, and places among them.
HEADER = 5
PREVIOUS, LEFT, DELAYED, FOLLOWING, BLOCK = range(HEADER)
#: Fields of the table of fronts: rows and columns, pivots, place of the factors, of the names.
FRONT_FIELDS = 4
SIZE, PIVOTS, FACTORS, NAMES = range(FRONT_FIELDS)

#: What a factorization returns where an array is shorter than ``info[NEEDED]``.
FRONT_FULL, STACK_FULL, HEADERS_FULL, FACTORS_FULL, NAMES_FULL = range(-1, -6, -1)
#: What it returns after more delayed pivots or larger products l d l^T than allowed.
STOPPED = -6
#: Fields of ``info``: those of a front, length that an array needs, number of delayed pivots; then
#: where the factorization goes on: supernode, place of the uppermost header, ends of the stack, the
#: headers, the factors and the names. All begin at 0.
INFO = 10
NEEDED, ALL_DELAYED, NEXT, TOP, STACK_END, HEADERS_END, FACTORS_END, NAMES_END = range(2, INFO)
#: Bits of a row in the place of an entry in its front; the others are its column.
ROW_BITS = 32
LOW = 2**ROW_BITS - 1
#: Bits of the first entry of a run in the matrix's values; the others are how many they are.
SOURCE_BITS = 40
SOURCE_LOW = 2**SOURCE_BITS - 1
#: Fewer entries of a run, or rows of a contribution block, are added one by one: never or always
#: would take 1.27 (late control of 3 + 1) and 1.11 times as long (crystal of 10^3 nodes of 3).
FEW = 8


@kernel
def front_sizes(program):
    """Numbers of factors and names without delays; rows and `room` of the largest front."""
    factors = names = largest = 0
    for s in range(program[SUPERNODES]):
        at = program[program[STARTS_AT] + s]
        p, m = program[at], program[at] + program[at + 1]
        factors += _factor_size(m, p, program[SYMMETRIC] != 0)
        names += 2 * m + p
        largest = max(largest, m)
    return factors, names, largest, room(largest)


@kernel
def list_entries(
    # Tables:
    program,
    # In:
    row,
    column,
    chosen,
    # Work:
    position,
    owner,
    # Out:
    start,
    source,
    target,
):
    """Runs of entries of each front: which of the matrix, and their rows and column in the front.

    The entries are the ``chosen`` ones, ascending: of a symmetric matrix, those of either triangle.
    ``start`` (supernodes + 1,) is where the runs of each front begin. Entries of a run follow each
    other in the matrix's values and in a column of the front. ``source`` and ``target`` have room
    for single ones.
    """
    table = pointer(program, 0)
    rows, count, symmetric = program[ROWS], program[SUPERNODES], program[SYMMETRIC] != 0
    order = pointer(program, program[ORDER_AT])
    for k in range(rows):
        position[order[k]] = k
    for s in range(count):
        at = table[program[STARTS_AT] + s]
        start[s] = 0
        for k in range(table[at + 2], table[at + 2] + table[at]):
            owner[k] = s
    start[count] = 0
    for k in range(chosen.size):
        start[owner[min(position[row[chosen[k]]], position[column[chosen[k]]])]] += 1
    total = 0
    for s in range(count):  # where the entries of each front end, then begin
        total += start[s]
        start[s] = total
    start[count] = total
    for k in range(chosen.size - 1, -1, -1):
        e = chosen[k]
        s = owner[min(position[row[e]], position[column[e]])]
        start[s] -= 1
        source[start[s]] = e
    runs = source_end = 0
    for s in range(count):
        at = table[program[STARTS_AT] + s]
        p, first = table[at], table[at + 2]
        for i in range(p):
            owner[first + i] = i  # from here on, places in the front
        run = at + PANEL_FIELDS + table[at + 5]
        for _ in range(table[at + 6]):
            for i in range(table[run + 1]):
                owner[table[run + 2] + i] = p + table[run] + i
            run += 3
        single, start[s], following = start[s], runs, -1
        for t in range(single, start[s + 1]):
            entry = source[t]
            i, j = owner[position[row[entry]]], owner[position[column[entry]]]
            if symmetric and i < j:
                i, j = j, i
            place = i + (j << ROW_BITS)
            if place == following and entry == source_end:
                source[runs - 1] += 1 << SOURCE_BITS
            else:
                source[runs], target[runs] = entry + (1 << SOURCE_BITS), place
                runs += 1
            following, source_end = place + 1, entry + 1
    start[count] = runs


@inlined
def _factor_size(m, pivots, symmetric):
    """L, and D or U, of a front."""
    return pivots * (m + 2) if symmetric else pivots * (2 * m - pivots)


@kernel
def factorize_fronts(
    # Tables:
    program,
    start,
    source,
    target,
    # In:
    values,
    threshold,
    weak,
    most_delayed,
    largest,
    # Work:
    front,
    stack,
    headers,
    place,
    # Out:
    factors,
    names,
    fronts,
    info,
):
    """L and U of all fronts; 0, 1 + a row without a pivot, `STOPPED`, or which array is too short.

    ``start``, ``source`` and ``target`` are from `list_entries`. ``info`` is 0 at first. Called
    again with a longer array that holds what the short one did, it goes on where it was.
    """
    table = pointer(program, 0)
    entries, sources, targets = pointer(start, 0), pointer(source, 0), pointer(target, 0)
    symmetric = program[SYMMETRIC] != 0
    if info[NEXT] == 0:
        info[LEAST], info[LARGEST], info[ALL_DELAYED] = 1.0, 0.0, 0.0
        for field in range(NEXT, INFO):
            info[field] = 0.0
        info[TOP] = -1.0
    top, stack_end, headers_end = int(info[TOP]), int(info[STACK_END]), int(info[HEADERS_END])
    factors_end, names_end = int(info[FACTORS_END]), int(info[NAMES_END])
    for s in range(int(info[NEXT]), program[SUPERNODES]):
        at = table[program[STARTS_AT] + s]
        p, q, first = table[at], table[at + 1], table[at + 2]
        delayed, child = 0, top
        below, headers_below = stack_end, headers_end  # without the children
        while child >= 0 and headers[child + FOLLOWING] < first + p:
            delayed += headers[child + DELAYED]
            below, headers_below = headers[child + BLOCK], child
            child = headers[child + PREVIOUS]
        f, m = p + delayed, p + delayed + q
        ld = leading_dimension(m, symmetric)
        short = 0
        if room(m) > front.size:
            short, info[NEEDED] = FRONT_FULL, room(m)
        elif below + m * m > stack.size:
            short, info[NEEDED] = STACK_FULL, below + m * m
        elif headers_below + HEADER + 2 * m > headers.size:
            short, info[NEEDED] = HEADERS_FULL, headers_below + HEADER + 2 * m
        elif factors_end + _factor_size(m, f, symmetric) > factors.size:
            short, info[NEEDED] = FACTORS_FULL, factors_end + _factor_size(m, f, symmetric)
        elif names_end + 2 * m + f > names.size:
            short, info[NEEDED] = NAMES_FULL, names_end + 2 * m + f
        if short < 0:
            info[NEXT], info[TOP], info[STACK_END], info[HEADERS_END] = (
                s, top, stack_end, headers_end,
            )  # fmt: skip
            info[FACTORS_END], info[NAMES_END] = factors_end, names_end
            return short
        ids = names[names_end : names_end + 2 * m + f]
        following = _load(program, at, m, ld, delayed, front, place, ids)
        for t in range(entries[s], entries[s + 1]):
            first_row = delayed + (targets[t] & LOW)
            to = (delayed + (targets[t] >> ROW_BITS)) * ld + first_row
            entry, count = sources[t] & SOURCE_LOW, sources[t] >> SOURCE_BITS
            if count < FEW:
                own, some = pointer(front, to), pointer(values, entry)
                for i in range(count):
                    own[i] += some[i]
            else:
                add_block(front, to, ld, values, entry, count, count, 1)
        # Children are on top of the stack, the last one first.
        child, new = top, 0
        while child >= 0 and headers[child + FOLLOWING] < first + p:
            new = _add_child(headers, child, stack, m, ld, new, symmetric, front, place, ids)
            headers_end, stack_end = child, headers[child + BLOCK]
            child = headers[child + PREVIOUS]
        top = child
        pivots = factorize_front(
            front, m, ld, f, threshold, weak, program[SYMMETRIC], ids, ids[2 * m :], info
        )  # fmt: skip
        if pivots < f and q == 0:
            info[NEXT] = 0
            return 1 + ids[pivots]
        row = FRONT_FIELDS * s
        fronts[row + SIZE], fronts[row + PIVOTS] = m, pivots
        fronts[row + FACTORS], fronts[row + NAMES] = factors_end, names_end
        factors_end = _store(front, m, ld, pivots, symmetric, ids[2 * m :], factors, factors_end)
        names_end += 2 * m + f
        left = m - pivots
        info[ALL_DELAYED] += f - pivots
        if info[ALL_DELAYED] > most_delayed or info[LARGEST] > largest:
            info[NEXT] = 0
            return STOPPED
        if left == 0:
            continue
        headers[headers_end + PREVIOUS], headers[headers_end + LEFT] = top, left
        headers[headers_end + DELAYED] = f - pivots
        headers[headers_end + FOLLOWING], headers[headers_end + BLOCK] = following, stack_end
        for i in range(left):
            headers[headers_end + HEADER + i] = ids[pivots + i]
            headers[headers_end + HEADER + left + i] = ids[m + pivots + i]
        copy_block(stack, stack_end, left, front, pivots * ld + pivots, ld, left, left)
        top = headers_end
        headers_end += HEADER + 2 * left
        stack_end += left * left
    return 0


@inlined
def _load(program, at, m, ld, delayed, front, place, ids):
    """A front of zeros and its names; returns the first row after the supernode's, or all rows."""
    table, places = pointer(program, 0), pointer(place, 0)
    rows, columns = pointer(ids, 0), pointer(ids, m)
    p, first = table[at], table[at + 2]
    for i in range(m * ld):
        front[i] = 0.0
    for i in range(p):
        places[first + i] = delayed + i
        rows[delayed + i] = columns[delayed + i] = first + i
    run, following = at + PANEL_FIELDS + table[at + 5], program[ROWS]
    for _ in range(table[at + 6]):
        to, count, row = p + delayed + table[run], table[run + 1], table[run + 2]
        following = min(following, row)
        for i in range(count):
            places[row + i] = to + i
            rows[to + i] = columns[to + i] = row + i
        run += 3
    return following


@inlined
def _add_child(headers, at, stack, m, ld, new, symmetric, front, place, ids):
    """Adds a contribution block to its parent's front; returns the place after its delayed rows.

    Rows of a symmetric block are in the same order in both: delayed ones first.
    """
    left, delayed, block = headers[at + LEFT], headers[at + DELAYED], headers[at + BLOCK]
    rows, columns = pointer(headers, at + HEADER), pointer(headers, at + HEADER + left)
    places = pointer(place, 0)
    for i in range(delayed):
        ids[new + i], ids[m + new + i] = rows[i], columns[i]
    for i in range(left):  # names become places in the front
        rows[i] = columns[i] = new + i if i < delayed else places[rows[i]]
    if symmetric and left >= FEW:
        _add_runs(headers, at + HEADER, left, stack, block, ld, front)
        return new + delayed
    for j in range(left):
        column, parent = pointer(stack, block + j * left), pointer(front, columns[j] * ld)
        for i in range(j if symmetric else 0, left):
            parent[rows[i]] += column[i]
    return new + delayed


@inlined
def _add_runs(headers, at, left, stack, block, ld, front):
    """Adds the lower triangle of a contribution block by runs of rows that follow each other."""
    rows = pointer(headers, at)
    begin = 0
    while begin < left:
        end = begin + 1
        while end < left and rows[end] == rows[end - 1] + 1:
            end += 1
        other = begin  # the square on the diagonal first, above which nothing is read
        while other < left:
            last = other + 1
            while last < left and rows[last] == rows[last - 1] + 1:
                last += 1
            add_block(
                front, rows[begin] * ld + rows[other], ld,
                stack, block + begin * left + other, left, last - other, end - begin,
            )  # fmt: skip
            other = last
        begin = end


@inlined
def _store(front, m, ld, pivots, symmetric, double, factors, at):
    """Factors of a front: L with U above, or L, D and what is beside D; returns the place after."""
    copy_block(factors, at, m, front, 0, ld, m, pivots)
    at += m * pivots
    if not symmetric:
        copy_block(factors, at, pivots, front, pivots * ld, ld, pivots, m - pivots)
        return at + pivots * (m - pivots)
    for k in range(pivots):
        factors[at + 2 * k], factors[at + 2 * k + 1] = front[k * ld + k], 0.0
        if double[k] != 0:
            factors[at + 2 * k + 1] = front[k * ld + k + 1]
            factors[at + (k - pivots) * m + k + 1] = 0.0
    return at + 2 * pivots
