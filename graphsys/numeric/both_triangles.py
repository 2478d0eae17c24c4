"""Symmetric factors with both triangles, for what reads L and W: selected inverse, square root."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsys.kernels.base.layout import ARENA_TOTAL, ONE_TRIANGLE, ROWS
from graphsys.kernels.single.both_triangles import place_upper, write_upper

Array = NDArray[Any]
Ints = NDArray[np.int64]


def wide_program(program: Ints) -> Ints:
    """The program with a place for each upper panel; itself if it has them all."""
    if program[ONE_TRIANGLE] == 0:
        return program
    wide = program.copy()
    place_upper(wide, np.empty(int(program[ROWS]), np.int64))
    wide.setflags(write=False)
    return wide


def wide_factors(program: Ints, wide: Ints, arena: Array) -> Array:
    """Factors of a program in the places of its `wide_program`; the same array if it is that."""
    if wide is program:
        return arena
    total = int(program[ARENA_TOTAL])
    both = np.empty(int(wide[ARENA_TOTAL]), arena.dtype)
    both[:total] = arena[:total]
    write_upper(program, wide, both)
    return both
