"""Blocks of given nodes, added to a system or set in it."""

import numpy as np

from graphsys.kernels.base.jit import interpreted
from graphsys.kernels.blocks.prefetch import AHEAD, fetch_block


@interpreted
def find_blocks(i, j, neighbor_start, neighbor, diagonal_at, block_at, at):
    """Places of blocks (i[k], j[k]), -1 where there is none: a search among the neighbours of i."""
    for k in range(i.size):
        if i[k] == j[k]:
            at[k] = diagonal_at[i[k]]
            continue
        first, end = neighbor_start[i[k]], neighbor_start[i[k] + 1]
        last = end
        while first < last:
            middle = (first + last) // 2
            if neighbor[middle] < j[k]:
                first = middle + 1
            else:
                last = middle
        at[k] = block_at[first] if first < end and neighbor[first] == j[k] else -1


@interpreted
def blocks_fit(i, j, rows, columns, step, blocks, symmetric, hermitian, slack):
    """True if all numbers are finite, and diagonal blocks symmetric where they have to be.

    Block k is row-major at ``blocks[step * k:]``, for the nodes i[k] and j[k]. Entries may differ
    by ``slack`` times the largest one of their block.
    """
    wrong = 0
    for e in range(blocks.size):
        wrong |= not abs(blocks[e]) < np.inf
    if not symmetric or wrong != 0:
        return wrong == 0
    for k in range(i.size):
        if i[k] != j[k]:
            continue
        at, gap, most = step * k, 0.0, 0.0
        for r in range(rows):
            for c in range(columns):
                entry = blocks[at + columns * r + c]
                across = blocks[at + columns * c + r]
                gap = max(gap, abs(entry - (across.conjugate() if hermitian else across)))
                most = max(most, abs(entry))
        if gap > slack * most:
            return False
    return True


@interpreted
def put_blocks(
    i, j, at, across, rows, columns, step, blocks, symmetric, hermitian, adding, values
):  # fmt: skip
    """A_ij <- A_ij + B_k, or B_k unless ``adding``, for all blocks k of `blocks_fit`.

    Block k lies at ``values[at[k]:]``. If symmetric, A_ji gets the transpose, at ``across[k]``, and
    a diagonal block the mean of it and its transpose; the conjugate transpose if ``hermitian``.
    """
    for k in range(i.size):
        if k + AHEAD < i.size:
            fetch_block(values, at[k + AHEAD], rows * columns)
            if symmetric:
                fetch_block(values, across[k + AHEAD], rows * columns)
        start, place = step * k, at[k]
        diagonal = symmetric and i[k] == j[k]
        for c in range(columns):
            for r in range(rows):
                entry = blocks[start + columns * r + c]
                if diagonal:
                    other = blocks[start + columns * c + r]
                    entry = entry / 2 + (other.conjugate() if hermitian else other) / 2
                values[place] = values[place] + entry if adding else entry
                place += 1
        if symmetric and not diagonal:
            place = across[k]
            for e in range(start, start + rows * columns):
                entry = blocks[e].conjugate() if hermitian else blocks[e]
                values[place] = values[place] + entry if adding else entry
                place += 1
