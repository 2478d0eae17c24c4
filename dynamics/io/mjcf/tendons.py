"""Tendons of MuJoCo's model: factors of joints, or points that they run through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics import rotation
from dynamics.io.description import TendonEntry
from dynamics.io.mjcf.options import counted, yields
from dynamics.parts.tendons import Wrap

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
    """True if a tendon has a spring, damper, limits, friction or inertia of its own."""
    m = reader.model
    numbers = [m.tendon_limited, m.tendon_stiffness, m.tendon_damping, m.tendon_frictionloss]
    numbers.append(getattr(m, "tendon_armature", np.zeros(m.ntendon)))
    return any(np.any(one[k]) for one in numbers)


def serves(reader: Reader, k: int) -> bool:
    """True if a servo, a motor that joints cannot take, a sensor or an equality needs a length."""
    m, joints = reader.model, joints_of(reader, k)
    kinds, pulled, driven = reader.mj.mjtTrn, False, False
    for i in range(counted(m, "actuator")):
        kind, at = kinds(m.actuator_trntype[i]), int(m.actuator_trnid[i, 0])
        if kind == kinds.mjTRN_TENDON and at == k:
            pulled = True
            if m.actuator_biastype[i] and np.any(m.actuator_biasprm[i, 1:3]):
                return True  # of a servo, or a muscle
        driven |= kind == kinds.mjTRN_JOINT and at in joints
    for i in range(m.nsensor):
        of_tendon = m.sensor_objtype[i] == reader.mj.mjtObj.mjOBJ_TENDON
        if of_tendon and m.sensor_objid[i] == k:
            return True
    for i in range(m.neq):
        of_tendons = reader.mj.mjtEq(m.eq_type[i]) == reader.mj.mjtEq.mjEQ_TENDON
        if of_tendons and m.eq_active0[i] and k in (m.eq_obj1id[i], m.eq_obj2id[i]):
            return True
    return pulled and (driven or not joints)


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
    if not (acts(reader, k) or serves(reader, k)):
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
    if yields(m, "tendon", k):
        notes.leave_out("yield of springs", name)
    if _merged(reader, entry) and not serves(reader, k):
        notes.merge("tendons of one joint are properties of that joint", name)
        return
    reader.found.tendons[name] = entry


def _merged(reader: Reader, entry: TendonEntry) -> bool:
    """Give the properties of a tendon of one joint to the joint; False where it has others."""
    if len(entry.joints) != 1:
        return False
    ((name, factor),) = entry.joints.items()
    joint = reader.found.joints.get(name)
    if joint is None or joint.kind not in ("revolute", "prismatic"):
        return False
    if entry.limits is not None:
        low, high = np.sort((np.array(entry.limits[0]) - entry.offset) / factor)
        own = joint.limits[0] if joint.limits is not None else (-np.inf, np.inf)
        both = max(float(low), own[0]), min(float(high), own[1])
        if both[0] > both[1]:
            return False
        joint.limits, entry.limits = [both], None
    stiff, before = factor**2 * entry.stiffness, float(joint.stiffness)
    if stiff:
        rest = (entry.rest - entry.offset) / factor
        joint.rest = (before * float(joint.rest) + stiff * rest) / (before + stiff)
    joint.stiffness = before + stiff
    joint.damping += factor**2 * entry.damping
    joint.armature += factor**2 * entry.armature
    joint.friction += abs(factor) * entry.friction
    entry.stiffness = entry.damping = entry.armature = entry.friction = 0.0
    return True


def _run(reader: Reader, k: int, entry: TendonEntry) -> bool:
    """Points of a spatial tendon, and geoms between them; False, and a note, for other parts."""
    m, kinds = reader.model, reader.mj.mjtWrap
    run: list[Any] = []
    divisor = 1.0
    for i in _parts(reader, k):
        kind, at = kinds(m.wrap_type[i]), int(m.wrap_objid[i])
        if kind == kinds.mjWRAP_SITE:
            run.append((reader.links[m.site_bodyid[at]], np.array(m.site_pos[at], np.float64)))
        elif kind == kinds.mjWRAP_PULLEY:
            _keep(entry, run, divisor)
            run, divisor = [], float(m.wrap_prm[i])
        elif kind in (kinds.mjWRAP_SPHERE, kinds.mjWRAP_CYLINDER):
            run.append(_around(reader, at, int(m.wrap_prm[i]), kind == kinds.mjWRAP_CYLINDER))
        else:
            reader.notes.leave_out("tendons with parts of unknown kinds", entry.name)
            return False
    _keep(entry, run, divisor)
    return True


def _keep(entry: TendonEntry, run: list[Any], divisor: float) -> None:
    """Add a run of points, if it has a length."""
    if len(run) > 1:
        entry.path.append(run)
        entry.divisors.append(divisor)


def _around(reader: Reader, geom: int, site: int, cylinder: bool) -> Wrap:
    """Geom that a tendon runs around, in the frame of its link, with the site of its side."""
    m, link = reader.model, reader.links[reader.model.geom_bodyid[geom]]
    turn = rotation.to_matrix(rotation.normalized(m.geom_quat[geom]))
    side = None  # with its own link
    if site >= 0:
        side = reader.links[m.site_bodyid[site]], np.array(m.site_pos[site], np.float64)
    return Wrap(
        link,
        float(m.geom_size[geom, 0]),
        np.array(m.geom_pos[geom], np.float64),
        np.array(turn[:, 2]) if cylinder else None,
        side,
    )


def _parts(reader: Reader, k: int) -> Iterator[int]:
    """Numbers of what a tendon runs through."""
    first = int(reader.model.tendon_adr[k])
    return iter(range(first, first + int(reader.model.tendon_num[k])))
