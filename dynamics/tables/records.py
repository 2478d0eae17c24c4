"""Records of the plan and the constants as structured types of numpy; places are those of `layout`.

A field is as long as there are numbers up to the next one. `view` writes and reads many records at
once: ``view(constant, ROW, at, n)["stiffness"] = 1.0``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics.kernels.base import layout

__all__ = [
    "BODY",
    "CONTACT",
    "CONTACT_CONSTANTS",
    "GROUP",
    "GROUP_CONSTANTS",
    "HEADER",
    "ROW",
    "ROW_CONSTANTS",
    "view",
]


def _record(kind: type, size: int, /, **places: int) -> np.dtype[Any]:
    """Structured type of ``size`` numbers with fields that begin at some places."""
    names = sorted(places, key=places.__getitem__)
    ends = [*(places[name] for name in names[1:]), size]
    lengths = [end - places[name] for name, end in zip(names, ends)]
    return np.dtype([(name, kind, (k,) if k > 1 else ()) for name, k in zip(names, lengths)])


def view(numbers: NDArray[Any], record: np.dtype[Any], first: int, count: int) -> NDArray[Any]:
    """Records in an array of numbers.

    Parameters
    ----------
    numbers : ndarray, shape (k,)
        A plan or constants.
    record : dtype
    first : int
        Place of the first record.
    count : int

    Returns
    -------
    ndarray of record, shape (count,)
        Which shares the memory of the numbers.
    """
    length = record.itemsize // numbers.itemsize
    return numbers[first : first + count * length].view(record)


HEADER = _record(
    np.int64, layout.HEADER,
    bodies=layout.BODIES, joints=layout.JOINTS, groups=layout.GROUPS, rows=layout.ROWS,
    all_rows=layout.ALL_ROWS, group_at=layout.GROUP_AT, row_at=layout.ROW_AT,
    group_constant_at=layout.GROUP_CONSTANT_AT, row_constant_at=layout.ROW_CONSTANT_AT,
    controls=layout.CONTROLS, work_size=layout.WORK_SIZE, body_at=layout.BODY_AT,
    measures=layout.MEASURES, measured_rows=layout.MEASURED_ROWS, contacts=layout.CONTACTS,
    contact_at=layout.CONTACT_AT, contact_constant_at=layout.CONTACT_CONSTANT_AT,
    slots=layout.SLOTS, fallback_at=layout.FALLBACK_AT, fallback_size=layout.FALLBACK_SIZE,
    added=layout.ADDED, added_at=layout.ADDED_AT, wrenches=layout.WRENCHES,
    wrench_at=layout.WRENCH_AT, rotors=layout.ROTORS, soft=layout.SOFT, holding=layout.HOLDING,
    dragged=layout.DRAGGED, units_at=layout.UNITS_AT, stiff_numbers=layout.STIFF_NUMBERS,
    soft_contacts=layout.SOFT_CONTACTS, planar_at=layout.PLANAR_AT,
)  # fmt: skip
BODY = _record(
    np.float64, layout.BODY_SIZE,
    mass=layout.MASS, inertia=layout.INERTIA, gravity=layout.GRAVITY, drag=layout.DRAG,
    spin_drag=layout.SPIN_DRAG, largest_inertia=layout.LARGEST_INERTIA,
    lightness=layout.LIGHTNESS, pace=layout.PACE, impulse=layout.IMPULSE, extent=layout.EXTENT,
    drag_theta=layout.DRAG_THETA,
)  # fmt: skip
GROUP = _record(
    np.int64, layout.GROUP_FIELDS,
    a=layout.A, b=layout.B, n_rows=layout.N_ROWS, first_row=layout.FIRST_ROW,
    diagonal_at=layout.DIAGONAL_AT, aj_at=layout.AJ_AT, ja_at=layout.JA_AT, bj_at=layout.BJ_AT,
    jb_at=layout.JB_AT, callback=layout.CALLBACK, turns=layout.TURNS, equation=layout.EQUATION,
    pinned=layout.PINNED, next=layout.NEXT, mix=layout.MIX,
)  # fmt: skip
GROUP_CONSTANTS = _record(
    np.float64, layout.GROUP_SIZE,
    point_a=layout.POINT_A, point_b=layout.POINT_B, offset=layout.OFFSET,
)  # fmt: skip
ROW = _record(np.int64, layout.ROW_FIELDS, kind=layout.KIND, control=layout.CONTROL)
ROW_CONSTANTS = _record(
    np.float64, layout.ROW_SIZE,
    axis=layout.AXIS, second=layout.SECOND, rest=layout.REST, pitch=layout.PITCH,
    compliance=layout.COMPLIANCE, damping=layout.DAMPING, stiffness=layout.STIFFNESS,
    theta=layout.THETA, regularization=layout.REGULARIZATION, pull=layout.PULL,
    least=layout.LEAST, most=layout.MOST, period=layout.PERIOD, armature=layout.ARMATURE,
    implicit_stiffness=layout.IMPLICIT_STIFFNESS, implicit_damping=layout.IMPLICIT_DAMPING,
    gain=layout.GAIN, target=layout.TARGET,
)  # fmt: skip
CONTACT = _record(
    np.int64, layout.CONTACT_FIELDS,
    a=layout.A, b=layout.B, kind=layout.CONTACT_KIND, blocks=layout.BLOCKS, slot=layout.SLOT,
    ab_at=layout.AB_AT, ba_at=layout.BA_AT, callback=layout.CONTACT_CALLBACK,
    limited_row=layout.LIMITED_ROW, facets=layout.FACETS, of_plane=layout.OF_PLANE,
)  # fmt: skip
CONTACT_CONSTANTS = _record(
    np.float64, layout.CONTACT_SIZE,
    point_a=layout.CONTACT_A, second_a=layout.SECOND_A, point_b=layout.CONTACT_B,
    second_b=layout.SECOND_B, radius_a=layout.RADIUS_A, radius_b=layout.RADIUS_B,
    frame_a=layout.FRAME_A, restitution=layout.RESTITUTION, softness=layout.SOFTNESS,
    limit=layout.LIMIT, sign=layout.SIGN, friction=layout.FRICTION, of_rate=layout.OF_RATE,
    energy=layout.ENERGY, pace=layout.CONTACT_PACE, turning_pace=layout.TURNING_PACE,
    length=layout.CONTACT_LENGTH, fall=layout.FALL,
)  # fmt: skip
