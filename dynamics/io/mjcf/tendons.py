"""Tendons of MuJoCo's model: factors of joints, or points that they run through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dynamics.io.description import TendonEntry

if TYPE_CHECKING:
    from dynamics.io.mjcf.reader import Reader

__all__ = ["acts", "joints_of", "read_tendon"]


def joints_of(reader: Reader, k: int) -> dict[int, float]:
    """Joints of a fixed tendon, with their factors; none of a spatial one."""
    m, found = reader.model, dict[int, float]()
    for i in _parts(reader, k):
        if m.wrap_type[i] != reader.mj.mjtWrap.mjWRAP_JOINT:
            return {}
        j = int(m.wrap_objid[i])
        found[j] = found.get(j, 0.0) + float(m.wrap_prm[i])
    return found


def acts(reader: Reader, k: int) -> bool:
    """True if a tendon does more than to pass on the force of a motor to joints."""
    m = reader.model
    numbers = [m.tendon_limited, m.tendon_stiffness, m.tendon_damping, m.tendon_frictionloss]
    numbers.append(getattr(m, "tendon_armature", np.zeros(m.ntendon)))
    if any(np.any(one[k]) for one in numbers):
        return True
    kinds, pulled = reader.mj.mjtTrn, False
    for i in range(m.nu):
        if kinds(m.actuator_trntype[i]) == kinds.mjTRN_TENDON and m.actuator_trnid[i, 0] == k:
            pulled = True
            if m.actuator_biastype[i] and np.any(m.actuator_biasprm[i, 1:3]):
                return True  # a servo
        elif m.actuator_trnid[i, 0] in joints_of(reader, k):
            return True  # joints with motors of their own
    of_tendon = reader.mj.mjtObj.mjOBJ_TENDON
    for i in range(m.nsensor):
        if m.sensor_objtype[i] == of_tendon and m.sensor_objid[i] == k:
            return True
    for i in range(m.neq):
        if reader.mj.mjtEq(m.eq_type[i]) == reader.mj.mjtEq.mjEQ_TENDON and m.eq_active0[i]:
            if k in (m.eq_obj1id[i], m.eq_obj2id[i]):
                return True
    return pulled and not joints_of(reader, k)


def read_tendon(reader: Reader, k: int) -> None:
    """One tendon, or a note that it is left out.

    Parameters
    ----------
    reader : Reader
        Its description gets the tendon.
    k : int
        Number of the tendon in MuJoCo's model.
    """
    m, name, notes = reader.model, reader.tendon_name[k], reader.notes
    if not acts(reader, k):
        if not joints_of(reader, k):
            notes.leave_out("tendons that do nothing", name)
        return
    entry = TendonEntry(name)
    for j, factor in joints_of(reader, k).items():
        kind = reader.mj.mjtJoint(m.jnt_type[j])
        if kind in (reader.mj.mjtJoint.mjJNT_FREE, reader.mj.mjtJoint.mjJNT_BALL):
            notes.leave_out("tendons of joints that turn freely", name)
            return
        if factor != 0.0:
            entry.joints[reader.joint_name[j]] = factor
        entry.offset += factor * float(m.qpos0[m.jnt_qposadr[j]])
    if not joints_of(reader, k) and not _run(reader, k, entry):
        return
    entry.damping, entry.friction = float(m.tendon_damping[k]), float(m.tendon_frictionloss[k])
    entry.armature = float(getattr(m, "tendon_armature", np.zeros(m.ntendon))[k])
    low, high = (float(x) for x in m.tendon_lengthspring[k])
    if m.tendon_stiffness[k] and low != high:
        notes.leave_out("springs of tendons with a dead band", name)
    else:
        entry.stiffness, entry.rest = float(m.tendon_stiffness[k]), low
    if m.tendon_limited[k]:
        entry.limits = [(float(m.tendon_range[k, 0]), float(m.tendon_range[k, 1]))]
    for what in ("tendon_dampingpoly", "tendon_stiffnesspoly"):  # since MuJoCo 4
        values = getattr(m, what, None)
        if values is not None and np.any(values[k] != 0.0):
            notes.leave_out("polynomial damping or stiffness of tendons", name)
    reader.found.tendons[name] = entry


def _run(reader: Reader, k: int, entry: TendonEntry) -> bool:
    """Points of a spatial tendon; False, and a note, where they do not tell its length."""
    m, kinds = reader.model, reader.mj.mjtWrap
    run: list[tuple[str | None, np.ndarray]] = []
    for i in _parts(reader, k):
        kind = kinds(m.wrap_type[i])
        if kind == kinds.mjWRAP_SITE:
            site = int(m.wrap_objid[i])
            link = reader.links[m.site_bodyid[site]]
            run.append((link, np.array(m.site_pos[site], np.float64)))
        elif kind == kinds.mjWRAP_PULLEY and m.wrap_prm[i] == 1.0:
            entry.path += [run] if len(run) > 1 else []
            run = []
        else:
            what = "with pulleys" if kind == kinds.mjWRAP_PULLEY else "that wrap around geoms"
            reader.notes.leave_out(f"tendons {what}", entry.name)
            return False
    entry.path += [run] if len(run) > 1 else []
    return True


def _parts(reader: Reader, k: int) -> Iterator[int]:
    """Numbers of what a tendon runs through."""
    first = int(reader.model.tendon_adr[k])
    return iter(range(first, first + int(reader.model.tendon_num[k])))
