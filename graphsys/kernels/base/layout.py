"""Layout of the program: all integers the numeric kernels read, in one int64 array.

It is made once by `program.factor_structure` and read forwards. A *row* is a scalar row in
elimination order; supernode s has the p rows ``first:first + p`` as pivots and q later rows below
them. The first ``nodes`` supernodes are single small nodes, which `nodal_ldu` factorizes.

Header, at the places named below, then

=============  ==================================================================================
order          ``rows`` entries: the user's row of each row
starts         for each supernode: where its part of the panels begins
panels         for each supernode: (p, q, first, lower, upper, pivots, runs), then the sizes of its
               pivot blocks and its runs (place among the q rows, length, first row); ``upper`` is
               -1 - a place where only one triangle is stored
nodal          for each of the first ``nodes`` supernodes: its updates, see `nodal_ldu`; where all
               of them are single rows, fronts and updates of `scalar_ldu`, and neither starts nor
               panels
load           for each block of the other supernodes: (source in values, rows, columns,
               destination in arena, leading dimension)
targets_at     for each other supernode: where its targets begin
targets        for each other supernode: how many it has, then for each of them (lower, leading
               dimension, upper, p, first, column runs, runs), then its runs (place among the q
               rows, length, place among the target's rows); the first ``column runs`` of them lie
               among the target's pivots
=============  ==================================================================================

``scalars`` is 1 where all supernodes are single rows of the nodal part, else 0.

Complex numbers, lanes, updates of a part, threads and selected inverses work with panels alone:
`Symbolic.supernodal_program` is the same program with ``nodes`` = 0, of the same factors.

The arena holds two column-major panels a supernode: ``lower`` is (p + q) x p with the pivots'
block on top, ``upper`` is p x q. All lower ones come first, since a substitution reads one kind
only, and memory is fastest where it is read without gaps. After the factorization the pivot blocks
hold their inverses D^-1, the columns below them L (not scaled), the rows to the right W = D^-1 U.

Of a symmetric matrix, U = L^T, of a Hermitian one L^H. A supernode with many rows below stores no
``upper`` panel: kernels compute the columns of W that they need from D^-1 and L. In its place are
copies of the pivot blocks D of at most `SMALL` rows that are weak; others begin with infinity
(`blocks.weak`). ``one_triangle`` counts these supernodes; none is of the first ``nodes``.

After the panels comes ``work``, room for 8 columns of the ``widest`` pivot block, for `WEAK_WORK`
numbers at least and for 256 where that has more than 8 rows, and from its place ``scaled`` on for
the columns of W that update one target; ``arena_size`` counts the panels, ``arena_total`` both.
There are three magnitudes for each row, see `growth`. Where nodes are ``short`` of pivots
(`analysis.pivot_supply`), factors are doubtful whatever these are.
"""

from graphsys.kernels.base.jit import inlined, interpreted, kernel

VERSION = 14

#: Status of kernels that were compiled with another layout, as those in code that a user's numba
#: has cached before an update: nothing was read or written.
STALE = -2

(
    PROGRAM_VERSION,
    ROWS,
    SUPERNODES,
    SYMMETRIC,
    ARENA_SIZE,
    WORK_AT,
    ORDER_AT,
    LOAD_AT,
    LOADS,
    STARTS_AT,
    PANELS_AT,
    WIDEST,
    ARENA_TOTAL,
    NODAL_AT,
    NODES,
    TARGETS_AT,
    SHORT,
    REFINED,
    ONE_TRIANGLE,
    SCALED,
    SCALARS,
    HEADER,
) = range(22)

#: Values of ``program[SYMMETRIC]``, which is 0 where A has no symmetry: A = A^T and A = A^H.
TRANSPOSE, HERMITIAN = 1, 2

PANEL_FIELDS = 7
# Places in a panel.
PIVOTS, BELOW, FIRST, LOWER, UPPER, BLOCKS, RUNS = range(PANEL_FIELDS)
RUN_FIELDS = 3
TARGET_FIELDS = 7
LOAD_FIELDS = 5
#: Fields of the nodal part.
NODE_FIELDS, NEIGHBOUR_FIELDS, UPDATE_FIELDS = 2, 5, 4
#: Fields of its panel that a node begins with: what it reads lies together then. Without them
#: chains and trees of nodes of 2 to 6 rows take 1.01 to 1.11 times as long (tree of 10,000 nodes).
REPEATED = 5
# Places in a node, after these.
NEIGHBOURS, DIAGONAL = range(NODE_FIELDS)

#: Places in ``info``, the result of a factorization: see `ldu.factorize`.
PIVOT_RATIO, WEAKEST, GROWTH = range(3)

#: Columns of the workspace: a block too large to be scaled in place is copied by so many.
WORK_COLUMNS = 8
#: Pivot blocks that `blocks.weak` takes: of weak pivots, none, of large D_kk X_kk.
BY_PIVOTS, NO_BLOCKS, BY_CONDITION = range(3)
#: Workspace of `blocks.weak`: zeros that `nodal_ldu` reads, columns of a block, a pivot block.
WEAK_COLUMNS, WEAK_BLOCK, WEAK_WORK = 8, 72, 136


#: Header of the table of `batch.scalar_ldu`; then two words of each node.
SCALAR_ROWS, SCALAR_SYMMETRIC, SCALAR_VECTORS, SCALAR_FILLS, SCALAR_FILL_AT, SCALAR_HEADER = range(
    6
)


@interpreted
def work_sizes(program, count):
    """Lengths of arena, magnitude and the solve's workspace x for ``count`` right-hand sides."""
    rows = program[ROWS]
    return program[ARENA_TOTAL], 3 * rows, rows * count + program[WIDEST]


def is_nodal(program, dtype) -> bool:
    """True if numbers of a type are factorized by `nodal_ldu` alone: real ones."""
    return bool(0 < program[NODES] == program[SUPERNODES]) and dtype.kind != "c"


@inlined
def only_nodes(program):
    """True if all supernodes are single small nodes: `nodal_ldu` factorizes real numbers alone."""
    return program[NODES] > 0 and program[NODES] == program[SUPERNODES]


@inlined
def only_scalars(program):
    """True if all supernodes are single rows: `scalar_ldu` factorizes real numbers."""
    return program[SCALARS] != 0


@inlined
def targets_of(program, s):
    """How many targets supernode s has, which is not of the first ``nodes``, and their place."""
    at = program[program[TARGETS_AT] + s - program[NODES]]
    return program[at], at + 1


@kernel
def panels_hold(program, s, place):
    """True if a place in the arena lies in one of the panels of supernode s."""
    at = program[program[STARTS_AT] + s]
    p, q, lower, upper = program[at], program[at + 1], program[at + 3], program[at + 4]
    return lower <= place < lower + (p + q) * p or 0 <= upper <= place < upper + p * q
