"""Arrays that kernels hand on together: named tuples, each declared once with the shapes of fields.

Sizes: n bodies, m = 6 n velocities, r constraint rows, R rows of all groups that steps read, and
N = m + r unknowns. Kernels of a step hold pointers instead of arrays (`jit.pointer`). From Python
an argument is a plain tuple, which a kernel turns into a named one (`node_of_tuple`).
"""

from typing import Any, NamedTuple

from dynamics.kernels.base.jit import kernel, pointer, record
from dynamics.kernels.base.layout import BODIES, POSE, ROWS, SLOTS, TWIST


@record
class Node(NamedTuple):
    """Bodies at one end of an interval, and rows and forces there; the world is body n."""

    pose: Any  # (7 (n + 1),): x (m, world frame), quaternion
    matrix: Any  # (9 (n + 1),): rotation matrices, row-major
    g: Any  # (3 R + 1,): values of rows, then what stiff forces need of each row and a share
    G: Any  # (12 R,): slopes of each row by the twists of its bodies
    f: Any  # (m,): conservative forces, then the time and users' wrenches, if there are any


@kernel
def node_of_tuple(node):
    """The named tuple of (pose, matrix, g, G, f)."""
    pose, matrix, g, G, f = node
    return Node(pose, matrix, g, G, f)


@record
class Motion(NamedTuple):
    """Numbers of a state that an interval changes."""

    p: Any  # (m,): momenta
    u: Any  # (m,): velocities of the last interval
    u_prev: Any  # (m,): velocities of the interval before
    mu: Any  # (r,): multipliers of constraints, forces
    c: Any  # (SLOTS,): numbers of contacts: see `layout`
    stiff: Any  # (STIFF_NUMBERS,): numbers of stiff forces: see `stiff_forces`


@kernel
def motion_of(plan, state):
    """The motion in a state, after its poses."""
    m = TWIST * plan[BODIES]
    at = POSE * plan[BODIES]
    after = at + 3 * m + plan[ROWS]
    return Motion(
        p=pointer(state, at),
        u=pointer(state, at + m),
        u_prev=pointer(state, at + 2 * m),
        mu=pointer(state, at + 3 * m),
        c=pointer(state, after),
        stiff=pointer(state, after + plan[SLOTS]),
    )


@record
class Inputs(NamedTuple):
    """Forces of the user in one step."""

    control: Any  # (controls,)
    wrench: Any  # (m,), or (0,) if there are none


@record
class Place(NamedTuple):
    """Place of an interval in a step."""

    time: Any  # at its start, s
    end: Any  # time at its end, s
    length: Any  # s
    index: Any  # intervals of the step before it
    count: Any  # intervals of the step
    last: Any  # whether no finer division follows: any turn is accepted
    moving: Any  # whether u is the velocity of an interval, and not of a state given by the user
    guess: Any  # (N,) of each stage: first guess of Newton's method; None: the predictor's


@record
class Work(NamedTuple):
    """Work arrays of an interval; ``r`` and ``dx`` are ``rhs`` and ``solution`` of the solver."""

    x: Any  # (N,): velocities and h mu
    r: Any  # (N,): residual
    dx: Any  # (N,): change of x
    kept: Any  # (STORED N,): x before an iteration, then changes for Broyden's method
    kick: Any  # (2 m,): momenta with the impulses at the start, users' part of these
    given: Any  # (2 m,): users' impulses of the last interval at the start of the step, of this one
    past: Any  # (m,): three such, u_prev and the velocities of the two intervals before that
    dc: Any  # (SLOTS,): change of the numbers of contacts
    kept_c: Any  # (SLOTS,): these numbers before a start of path Newton
    contacts: Any  # ((CONTACT_WORK + 1) contacts + 37 + ISLAND_SIZE n + DELASSUS_WORK,): work


@record
class Planar(NamedTuple):
    """Newton's equations in the plane of a planar mechanism: see `interval.planar`."""

    table: Any  # plan from place PLANAR_AT on
    program: Any  # of their block graph; (0,) where the mechanism is not planar
    state: Any  # (PLANAR_STATE,)
    values: Any  # (entries,): blocks of their matrix
    rhs: Any  # (inner,)
    solution: Any  # (inner,)
    panels: Any  # (2 PANEL groups,): see `interval.panels`


@record
class Solver(NamedTuple):
    """Matrix of an interval and its factors, as `graphsys.kernels` takes them."""

    values: Any  # (nnz,): blocks of the matrix
    magnitude: Any  # largest magnitudes of pivot rows
    factors: Any  # block LDU factors
    workspace: Any  # of substitutions
    status: Any  # of factorizations: pivot ratio, first row of its block, growth
    rhs: Any  # (N,)
    solution: Any  # (N,)
    columns: Any  # right-hand sides of `delassus` side by side; None without contacts
    matrix: Any  # tables of the block graph; empty without contacts
    planar: Any  # `Planar`
    schedule: Any  # of the factorization of eight side by side; None of one: see `lanes`


@record
class Frames(NamedTuple):
    """Frames of a group of rows; vectors are tuples of three, quaternions of four."""

    a: Any  # body
    b: Any  # body
    point_a: Any  # in the frame of a, m
    point_b: Any  # in the frame of b, m
    off: Any  # rotation of the group's frame in the frame of a
    r: Any  # from the centre of mass of a to the point on b, world frame, m
    gap: Any  # from the point on a to that on b, world frame, m
    rho: Any  # relative rotation of both frames
