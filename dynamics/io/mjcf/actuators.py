"""Actuators of MuJoCo's model as motors and servos of joints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics.io.description import JointEntry
from dynamics.parts.actuators import Actuator
from dynamics.parts.servos import PositionServo, VelocityServo

if TYPE_CHECKING:
    from dynamics.io.mjcf.reader import Reader

__all__ = ["actuator_names", "driven_joints", "read_actuator"]

Float = NDArray[np.float64]
#: Joints that actuators drive, and their numbers of coordinates.
DRIVEN = {"revolute": 1, "prismatic": 1, "spherical": 3}


def actuator_names(reader: Reader) -> list[str]:
    """Names of all actuators; one without a name has that of the joint that it alone drives."""
    m = reader.model
    given = [m.actuator(k).name for k in range(m.nu)]
    joints = [_joint_of(reader, k) for k in range(m.nu)]
    alone = [one is not None and one not in given and joints.count(one) == 1 for one in joints]
    return [
        name or (str(joint) if only else f"actuator {k}")
        for k, (name, joint, only) in enumerate(zip(given, joints, alone))
    ]


def _joint_of(reader: Reader, k: int) -> str | None:
    """Name of the joint that an actuator drives."""
    m, kinds = reader.model, reader.mj.mjtTrn
    if kinds(m.actuator_trntype[k]) not in (kinds.mjTRN_JOINT, kinds.mjTRN_JOINTINPARENT):
        return None
    return str(reader.joint_name[m.actuator_trnid[k, 0]])


def driven_joints(reader: Reader) -> set[str]:
    """Joints that an actuator moves or that an equality couples.

    Parameters
    ----------
    reader : Reader

    Returns
    -------
    set of str
    """
    m = reader.model
    driven = {one for k in range(m.nu) if (one := _joint_of(reader, k)) is not None}
    driven |= {reader.joint_name[j] for k in range(m.nu) for j in _pulled_by(reader, k)}
    for k in range(m.neq):
        if reader.mj.mjtEq(m.eq_type[k]) == reader.mj.mjtEq.mjEQ_JOINT and m.eq_active0[k]:
            both = (int(m.eq_obj1id[k]), int(m.eq_obj2id[k]))
            driven |= {reader.joint_name[j] for j in both if j >= 0}
    return driven


def read_actuator(reader: Reader, k: int) -> None:
    """One actuator: a motor whose control is a force, or a servo.

    Its force is ``g u + b0 + b1 l + b2 l'`` of the command u, with length l = gear q.
    Where b1 or b2 is negative, this is a servo with the target that makes the rest zero.

    Parameters
    ----------
    reader : Reader
        Its description gets the actuator, and the joint its motor or servo.
    k : int
        Number of the actuator in MuJoCo's model.
    """
    m, name = reader.model, reader.actuator_name[k]
    pulled = _pulled_by(reader, k)
    if pulled:
        _pull(reader, k, pulled)
        return
    driven = _joint_of(reader, k)
    joint = None if driven is None else reader.found.joints.get(driven)
    if joint is None or joint.kind not in DRIVEN:
        what = reader.mj.mjtTrn(m.actuator_trntype[k]).name[6:].lower()
        reader.notes.leave_out(f"actuators on {what}s that are no joint here", name)
        return
    if not _is_plain(reader, k):
        return
    gain, bias, ends = _law(reader, k)
    gears = np.array(m.actuator_gear[k, : DRIVEN[joint.kind]], np.float64)
    gear = float(gears[0])
    if joint.servo is not None or (joint.actuated and (bias[1] < 0.0 or bias[2] < 0.0)):
        reader.notes.leave_out("actuators of joints that have a servo and another", name)
        return
    if bias[1] > 0.0 or bias[2] > 0.0 or (bias[1:].any() and (gear == 0.0 or gears.size > 1)):
        reader.notes.leave_out("bias of actuators that is no servo here", name)
        bias[:] = 0.0
    if not bias[1:].any():
        j = int(m.actuator_trnid[k, 0])
        scale = _motor(reader, k, (joint, j), gears, gain, float(bias[0]), ends)
    else:
        strength = -float(bias[1] or bias[2])
        scale = np.array([gain / strength])
        target, most = float(bias[0]) / strength, _most_force(reader, k, joint, name)
        if bias[1]:
            start = float(m.qpos0[m.jnt_qposadr[m.actuator_trnid[k, 0]]])
            joint.servo = PositionServo(
                strength, -float(bias[2]), target - gear * start, most, gear
            )
        else:
            joint.servo = VelocityServo(strength, target, most, gear)
    reader.found.actuators.append(Actuator(name, joint.name, scale, ends[0], ends[1]))


def _is_plain(reader: Reader, k: int) -> bool:
    """True of an actuator with constant gain; notes what is left out of it."""
    m, name = reader.model, reader.actuator_name[k]
    if m.actuator_gaintype[k] > 1 or m.actuator_biastype[k] > 1 or m.actuator_dyntype[k] > 3:
        reader.notes.leave_out("actuators that are muscles or of a user's own kind", name)
        return False
    if m.actuator_dyntype[k] != 0:
        reader.notes.leave_out("dynamics of actuators (commands act at once)", name)
    if m.actuator_gaintype[k] == 1 and np.any(m.actuator_gainprm[k, 1:3] != 0.0):
        reader.notes.leave_out("gain of actuators that depends on length or speed", name)
    return True


def _law(reader: Reader, k: int) -> tuple[float, Float, list[float]]:
    """Gain, bias and range of commands of an actuator."""
    m, ends = reader.model, [-np.inf, np.inf]
    if m.actuator_ctrllimited[k]:
        ends = [float(x) for x in m.actuator_ctrlrange[k]]
    bias = np.array(m.actuator_biasprm[k, :3]) * (m.actuator_biastype[k] == 1)
    return float(m.actuator_gainprm[k, 0]), bias, ends


def _pulled_by(reader: Reader, k: int) -> dict[int, float]:
    """Joints of the fixed tendon that an actuator pulls, with their coefficients."""
    m = reader.model
    if reader.mj.mjtTrn(m.actuator_trntype[k]) != reader.mj.mjtTrn.mjTRN_TENDON:
        return {}
    tendon = int(m.actuator_trnid[k, 0])
    at = range(int(m.tendon_adr[tendon]), int(m.tendon_adr[tendon] + m.tendon_num[tendon]))
    if any(m.wrap_type[i] != reader.mj.mjtWrap.mjWRAP_JOINT for i in at):
        return {}  # a spatial one
    found: dict[int, float] = {}
    for i in at:
        j = int(m.wrap_objid[i])
        found[j] = found.get(j, 0.0) + float(m.wrap_prm[i])
    return found


def _pull(reader: Reader, k: int, pulled: dict[int, float]) -> None:
    """An actuator on a fixed tendon: a motor of all its joints, by their coefficients."""
    name = reader.actuator_name[k]
    joints = {j: reader.found.joints.get(reader.joint_name[j]) for j in pulled}
    if any(one is None or DRIVEN.get(one.kind) != 1 for one in joints.values()):
        reader.notes.leave_out("actuators on tendons of joints that are others here", name)
        return
    if not _is_plain(reader, k):
        return
    gain, bias, ends = _law(reader, k)
    if bias[1:].any() or any(one is not None and one.servo is not None for one in joints.values()):
        reader.notes.leave_out("servos on tendons, or of joints that a tendon moves", name)
        return
    gear = float(reader.model.actuator_gear[k, 0])
    scales = {
        one.name: _motor(
            reader, k, (one, j), np.array([pulled[j] * gear]), gain, float(bias[0]), ends
        )
        for j, one in joints.items()
        if one is not None
    }
    (first, scale), *others = scales.items()
    made = Actuator(name, first, scale, ends[0], ends[1], dict(others))
    reader.found.actuators.append(made)


def _motor(
    reader: Reader,
    k: int,
    owner: tuple[JointEntry, int],
    gears: Float,
    gain: float,
    bias: float,
    ends: list[float],
) -> Float:
    """Let a joint take forces, within the ranges of its one motor; its force per command.

    ``owner`` is the joint and its number in MuJoCo's model.
    """
    m, name, scale = reader.model, reader.actuator_name[k], gain * gears
    joint, j = owner
    if bias:
        reader.notes.leave_out("constant forces of actuators", name)
    alone, joint.actuated = not joint.actuated, True
    most = np.sort(np.outer(scale, np.nan_to_num(ends, posinf=1e300, neginf=-1e300)), axis=1)
    limited = bool(m.actuator_ctrllimited[k])
    if m.actuator_forcelimited[k]:
        force = np.sort(np.outer(gears, m.actuator_forcerange[k]), axis=1)
        most, limited = np.clip(most, force[:, :1], force[:, 1:]), True
    if getattr(m, "jnt_actfrclimited", np.zeros(m.njnt))[j]:
        most, limited = np.clip(most, *m.jnt_actfrcrange[j]), True
    if limited and alone:
        joint.control_limits = [(float(low), float(high)) for low, high in most]
    elif limited or joint.control_limits is not None:
        joint.control_limits = None
        reader.notes.leave_out("limits of actuators that share a joint", name)
    return scale


def _most_force(reader: Reader, k: int, joint: JointEntry, name: str) -> float:
    """Largest force of a servo, the same both ways."""
    m, ranges = reader.model, []
    if m.actuator_forcelimited[k]:
        ranges.append(m.actuator_forcerange[k])
    j, gear = int(m.actuator_trnid[k, 0]), abs(float(m.actuator_gear[k, 0]))
    if getattr(m, "jnt_actfrclimited", np.zeros(m.njnt))[j]:
        ranges.append(m.jnt_actfrcrange[j] / gear)
    if any(-low != high for low, high in ranges):
        reader.notes.leave_out("ranges of servos' forces that differ both ways", name)
    return min((float(np.abs(one).max()) for one in ranges), default=np.inf)
