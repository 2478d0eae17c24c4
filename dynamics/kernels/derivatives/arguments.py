"""Arrays that derivatives of an interval hand on together; sizes as in `base.arguments`.

k is the number of directions (columns), BENDS and W_SIZE are those of `derivatives.contacts`.
"""

from typing import Any, NamedTuple

from dynamics.kernels.base.jit import record


@record
class Solution(NamedTuple):
    """Solution of an interval."""

    x: Any  # (N,): velocities and h mu
    before: Any  # (m,): velocities of the interval before
    c: Any  # (SLOTS,): numbers of contacts, with impulses


@record
class Directions(NamedTuple):
    """Small changes at the start of an interval, by rows."""

    dz: Any  # (k, m): poses (position, rotation vector)
    dp: Any  # (k, m): momenta
    dbefore: Any  # (k, m): velocities of the interval before, for impacts
    dc: Any  # (k, controls): controls


@record
class Given(NamedTuple):
    """Further changes, column after column; the first two are overwritten."""

    r: Any  # (k N,): residuals of the unknowns
    contacts: Any  # (k SLOTS,): residuals of contacts
    end: Any  # (k m,): momenta at the end


@record
class Curvature(NamedTuple):
    """Work arrays of second derivatives of a row."""

    work: Any  # of `hessian`
    H: Any  # (144,): derivatives of the 12 slopes by the 12 directions of both bodies
    along: Any  # (12,): derivative of a force by these directions
    pair: Any  # (144,): derivatives of the forces of a group of rows by these directions


@record
class ContactWork(NamedTuple):
    """Work arrays of derivatives of a contact."""

    slopes: Any  # (12 W_SIZE,): derivatives of the rows W
    push: Any  # (144,): derivatives of W^T lambda
    bends: Any  # (12 BENDS,): derivatives of W u and N u_before
    row: Any  # (W_SIZE,): rows W
    pose: Any  # (7,): pose that differences move
    nearest: Any  # (NEAREST_SIZE,): see `layout`


@record
class Factors(NamedTuple):
    """Matrix of an interval and its factors, as `graphsys.kernels` takes them."""

    values: Any  # (nnz,): blocks of the matrix
    magnitude: Any  # largest magnitudes of pivot rows
    factors: Any  # block LDU factors
    workspace: Any  # of substitutions
    status: Any  # of factorizations


@record
class Columns(NamedTuple):
    """Right-hand sides and solutions, column after column."""

    b: Any  # (k N,)
    d: Any  # (k N,): corrections
    dx: Any  # (k N,): solutions
