"""Sizes and bounds of small blocks: lanes of a vector, rows in registers, pivots."""

#: Elements of a vector whatever the host: LLVM cuts them to the registers it has.
LANES = 8
#: Largest block inverted in registers.
SMALL = 8
#: Most rows of a tile of eight systems: one tile holds all rows of a pivot block.
TILE_ROWS = 8
#: Vectors of a column of a small symmetric front that stay in registers: all columns are updated.
#: Late control matrices of 3 + 1 would take 1.12 times as long to factorize.
KEPT = 2
#: Growth from which on solutions are checked: 64 costs two of sixteen digits. Systems of the
#: benchmarks grow by less than 1.2, positive definite ones not at all.
GROWN = 64.0
#: Largest multiplier for which the diagonal entry stays the pivot. 10 loses too many digits in a
#: mechanism whose loops are nearly redundant; a smaller bound exchanges rows more often.
EXCHANGED = 3.0
