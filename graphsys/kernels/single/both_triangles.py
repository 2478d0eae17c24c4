"""Upper panels of symmetric factors that store one triangle: W = D^-1 L^T of all rows below."""

from graphsys.kernels.base.jit import kernel
from graphsys.kernels.base.layout import (
    ARENA_SIZE,
    ARENA_TOTAL,
    BELOW,
    FIRST,
    NODES,
    ONE_TRIANGLE,
    PIVOTS,
    STARTS_AT,
    SUPERNODES,
    TARGET_FIELDS,
    UPPER,
    WORK_AT,
    targets_of,
)
from graphsys.kernels.single.ldu import write_columns


@kernel
def place_upper(program, super_of_row):
    """Places after the arena for the upper panels that the program lacks: they are added to it.

    ``super_of_row`` is workspace.
    """
    end = program[ARENA_TOTAL]
    for s in range(program[SUPERNODES]):
        at = program[program[STARTS_AT] + s]
        super_of_row[program[at + FIRST] : program[at + FIRST] + program[at + PIVOTS]] = s
        if program[at + UPPER] < 0:
            program[at + UPPER] = end
            end += program[at + PIVOTS] * program[at + BELOW]
    for s in range(program[NODES], program[SUPERNODES]):
        targets, at = targets_of(program, s)
        for _ in range(targets):
            target = program[program[STARTS_AT] + super_of_row[program[at + 4]]]
            program[at + 2] = program[target + UPPER]
            at += TARGET_FIELDS + 3 * program[at + 6]
    program[ARENA_SIZE] = program[ARENA_TOTAL] = end
    program[ONE_TRIANGLE] = 0


@kernel
def write_upper(
    # Tables:
    program,
    wide,
    # In and out:
    arena,
):
    """Upper panels in the places of program ``wide``, which has one for each supernode."""
    for s in range(program[SUPERNODES]):
        at = program[program[STARTS_AT] + s]
        if program[at + UPPER] < 0:
            write_columns(
                program, at, arena, 0, wide[at + UPPER], 0, program[at + BELOW], program[WORK_AT]
            )
