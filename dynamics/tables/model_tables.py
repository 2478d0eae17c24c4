"""Tables that the kernels read, and the maps from names to places in them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

import graphsys.kernels as solver_kernels
from dynamics.kernels.base import layout
from dynamics.tables.planar import planar_program
from dynamics.tables.units import Unit
from dynamics.tables.versions import tables_version

__all__ = [
    "Tables",
    "lasting",
    "planar_part",
    "programs_of",
    "recombination",
    "residual_of",
    "row_units",
    "solver_arrays",
    "solver_sizes",
    "with_own_rows",
    "worst_part",
]

Float = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """A mechanism as arrays; n bodies, j joints with constraints, m rows of them, c controls.

    Attributes
    ----------
    plan : ndarray of int, shape (any,)
        See `dynamics.kernels.base.layout`.
    constant : ndarray of float, shape (any,)
        See there.
    symbolic : graphsys.Symbolic
        Of the graph of bodies and joints.
    fallback : graphsys.Symbolic or None
        The same with loops eliminated last, for steps where the first may fail.
    body_index : dict
        Number of a body by name.
    joint_index : dict
        Number of a joint with constraints, or of a coupling after them, by name.
    row_start : ndarray of int, shape (j + 1,)
        Rows of joint k are ``row_start[k]:row_start[k + 1]``.
    control_names : tuple
        Name of the joint or spring of each control.
    control_start : dict
        First control of a joint or spring by name, and how many it has.
    measure_group : dict
        Groups (positions, rates) of a joint's coordinates by name.
    contact_touches : tuple
        Contact (name, number of the touch) of each pair of features, limits as (joint, coordinate).
    contact_slot : ndarray of int, shape (number of touches + 1,)
        First number of each in `State.contacts`, and after them of dry friction.
    friction_slot : dict
        First number of dry friction by (joint, coordinate).
    cycles : tuple of tuple
        Joints on each independent loop, from the joint or body that opens it.
    units : dict
        Units of the part that a body belongs to, by name of the body: see `dynamics.tables.units`.
    stiff : tuple of str
        Springs and dampers that steps take implicitly: see `dynamics.tables.stiffness`.
    callbacks : tuple
        Keeps users' functions alive.
    """

    plan: Ints
    constant: Float
    symbolic: Any
    fallback: Any
    body_index: dict[Hashable, int]
    joint_index: dict[Hashable, int]
    row_start: Ints
    control_names: tuple[Hashable, ...]
    control_start: dict[Hashable, tuple[int, int]]
    measure_group: dict[Hashable, tuple[int, int]]
    contact_touches: tuple[tuple[Hashable, int], ...]
    contact_slot: Ints
    friction_slot: dict[tuple[Hashable, int], int]
    cycles: tuple[tuple[Hashable, ...], ...]
    units: dict[Hashable, Unit]
    stiff: tuple[str, ...]
    callbacks: tuple[Any, ...]

    @property
    def state_size(self) -> int:
        """Length of a state."""
        slots = self.plan[layout.SLOTS] + self.plan[layout.STIFF_NUMBERS]
        return layout.state_size(
            int(self.plan[layout.BODIES]), int(self.plan[layout.ROWS]), int(slots)
        )

    def __post_init__(self) -> None:
        self.plan.setflags(write=False)
        self.row_start.setflags(write=False)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.callbacks:
            raise TypeError("tables with a user's functions cannot be pickled: see `Model`")
        stored = tuple(getattr(self, one.name) for one in fields(self))
        return _unpickled, (stored, _checksum(stored), tables_version())


def _unpickled(stored: tuple[Any, ...], checksum: int, version: int = 0) -> Tables:
    """Tables that were pickled: kernels read where they say."""
    if version != tables_version() or len(stored) != len(fields(Tables)):
        raise ValueError(
            "this Model was pickled by another version of dynamics, whose tables have another "
            "layout: load the robot file, or run the code that describes the mechanism, and "
            "finalize it again"
        )
    if _checksum(stored) != checksum:
        raise ValueError("this Model is damaged: it differs from the one that was pickled")
    return Tables(*stored)


def _checksum(stored: tuple[Any, ...]) -> int:
    """CRC-32 of all arrays; ``symbolic`` has its own."""
    found = 0
    for table in stored:
        if isinstance(table, np.ndarray):
            found = crc32(np.ascontiguousarray(table).data, found)
    return found


def row_units(tables: Tables) -> Float:
    """Reciprocal units of constraint rows.

    Parameters
    ----------
    tables : Tables

    Returns
    -------
    ndarray of float, shape (m,)
        1/m, 1 of rows in rad.
    """
    first = int(tables.plan[layout.UNITS_AT]) + 1
    return tables.constant[first : first + int(tables.plan[layout.ROWS])]


def recombination(tables: Tables, k: int) -> Float | None:
    """T of the rows T g that steps have in place of those g of a joint, or None.

    Parameters
    ----------
    tables : Tables
    k : int
        Number of the joint: see `dynamics.tables.recombination`.

    Returns
    -------
    ndarray of float, shape (rows, rows), or None
    """
    plan = tables.plan
    group = plan[plan[layout.GROUP_AT] + k * layout.GROUP_FIELDS :][: layout.GROUP_FIELDS]
    if group[layout.MIX] == 0:
        return None
    n, at = int(group[layout.N_ROWS]), int(plan[layout.UNITS_AT] + group[layout.MIX])
    factors = tables.constant[at : at + n * n].reshape(n, n)
    return np.asarray((np.tril(factors, -1) + np.eye(n)) @ np.triu(factors))


def with_own_rows(tables: Tables, values: Float) -> Float:
    """Values of the constraints that joints have, from those of recombined rows.

    Parameters
    ----------
    tables : Tables
    values : ndarray of float, shape (k, m)

    Returns
    -------
    ndarray of float, shape (k, m)
    """
    plan, joints = tables.plan, len(tables.joint_index)
    groups = plan[plan[layout.GROUP_AT] :][: joints * layout.GROUP_FIELDS]
    for k in np.flatnonzero(groups.reshape(-1, layout.GROUP_FIELDS)[:, layout.MIX]).tolist():
        T = recombination(tables, k)
        assert T is not None
        rows = slice(*tables.row_start[k : k + 2].tolist())
        values = values.copy()
        values[:, rows] = np.linalg.solve(T, values[:, rows].T).T
    return values


def planar_part(plan: Ints) -> Ints:
    """Numbers of a plan about the plane of a planar mechanism, none of others: its last ones.

    Parameters
    ----------
    plan : ndarray of int

    Returns
    -------
    ndarray of int
    """
    at = int(plan[layout.PLANAR_AT])
    return plan[at:] if at > 0 else plan[:0]


def programs_of(tables: Tables) -> list[Ints]:
    """Programs of all symbolic factorizations that steps of order 2 may take.

    Parameters
    ----------
    tables : Tables

    Returns
    -------
    list of ndarray of int
    """
    both = [one.program for one in (tables.symbolic, tables.fallback) if one is not None]
    return both + planar_program(planar_part(tables.plan))


def solver_sizes(programs: Sequence[Ints], nnz: int, columns: int = 1) -> tuple[int, ...]:
    """Lengths of matrix values, magnitudes, arena, workspace and status of `graphsys.kernels`.

    Parameters
    ----------
    programs : sequence of ndarray of int
        Of symbolic factorizations of one graph.
    nnz : int
        Entries of all its blocks.
    columns : int, optional
        Right-hand sides at once.

    Returns
    -------
    tuple of int
    """
    sizes = [solver_kernels.work_sizes(one, columns) for one in programs]
    arena, magnitude, work = (max(several) for several in zip(*sizes))
    return nnz, magnitude, arena, work, 3


def solver_arrays(symbolic: Any, fallback: Any = None, columns: int = 1) -> tuple[Float, ...]:
    """Arrays of `solver_sizes`, for a symbolic factorization or two of one graph."""
    programs = [one.program for one in (symbolic, fallback) if one is not None]
    return tuple(np.zeros(size) for size in solver_sizes(programs, symbolic.graph.nnz, columns))


def lasting(plan: Ints) -> int:
    """Count the first numbers of a workspace of order 2 that go from one step to the next.

    Parameters
    ----------
    plan : ndarray of int

    Returns
    -------
    int
    """
    n, rows, every = (int(plan[i]) for i in (layout.BODIES, layout.ROWS, layout.ALL_ROWS))
    m = layout.TWIST * n
    nodes = 2 * layout.node_size(n, every, int(plan[layout.WRENCHES]))
    return nodes + (3 + layout.STORED) * (m + rows) + 6 * m


def settling_columns(plan: Ints, work: Float) -> Float | None:
    """Columns for `dynamics.kernels.contacts.delassus`, after all other work.

    Parameters
    ----------
    plan : ndarray of int
    work : ndarray of float

    Returns
    -------
    ndarray of float, or None
        None without contacts: `dynamics.kernels.stepping.step` is then compiled without them.
    """
    if plan[layout.CONTACTS] == 0:
        return None
    return work[
        work.size
        - 2 * layout.COLUMNS * int(layout.TWIST * plan[layout.BODIES] + plan[layout.ROWS]) :
    ]


def residual_of(plan: Ints, work: Float) -> Float:
    """Residual of the last step, in the workspace of `dynamics.kernels.stepping.step`.

    Parameters
    ----------
    plan : ndarray of int, shape (any,)
    work : ndarray of float, shape (any,)

    Returns
    -------
    ndarray of float, shape (6 n + m,)
    """
    n, rows, every = (int(plan[i]) for i in (layout.BODIES, layout.ROWS, layout.ALL_ROWS))
    unknowns = layout.TWIST * n + rows
    start = 2 * layout.node_size(n, every, int(plan[layout.WRENCHES])) + unknowns
    return work[start : start + unknowns]


def worst_part(tables: Tables, residual: Float, stages: int = 1) -> tuple[Hashable, str]:
    """Name of the body or joint with the largest residual, and which of the two it is.

    Parameters
    ----------
    tables : Tables
    residual : ndarray of float, shape (stages (6 n + m),)
    stages : int, optional

    Returns
    -------
    name : hashable
    what : {"body", "joint"}
    """
    split = layout.TWIST * len(tables.body_index)
    place = int(np.argmax(np.nan_to_num(np.abs(residual), nan=np.inf)))
    place %= residual.size // stages
    if place < split:
        return list(tables.body_index)[place // layout.TWIST], "body"
    joint = int(np.searchsorted(tables.row_start, place - split, side="right")) - 1
    return list(tables.joint_index)[joint], "joint"
