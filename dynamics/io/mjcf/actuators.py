"""Actuators of MuJoCo's model as motors and servos of joints."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dynamics import rotation
from dynamics.io.description import JointEntry, TendonEntry, ThrusterEntry
from dynamics.io.mjcf.options import command_at, counted, is_off, output_at
from dynamics.io.mjcf.tendons import joints_of
from dynamics.parts.actuators import Actuator
from dynamics.parts.muscles import Muscle
from dynamics.parts.servos import PositionServo, VelocityServo

if TYPE_CHECKING:
    from dynamics.io.mjcf.reader import Reader

__all__ = ["actuator_names", "driven_joints", "read_actuator"]

Float = NDArray[np.float64]
#: Numbers of a muscle that its active and its passive force share.
OF_BIAS = [0, 1, 2, 3, 5]
#: Types of gain, bias and activation whose force is a function of one command, length and speed.
PLAIN = {"NONE", "FIXED", "AFFINE", "INTEGRATOR", "FILTER", "FILTEREXACT"}
#: Transmissions that no joint here has, by MuJoCo's words.
NO_DRIVE = {
    "body": "adhesion actuators",
    "slidercrank": "actuators of slider-cranks",
    "so3": "orientation actuators",
}
#: Joints that actuators drive, and their numbers of coordinates.
DRIVEN = {"revolute": 1, "prismatic": 1, "spherical": 3, "tendon": 1}


def actuator_names(reader: Reader) -> list[str]:
    """Names of all actuators; one without a name has that of the joint that it alone drives."""
    m = reader.model
    given = [m.actuator(k).name for k in range(counted(m, "actuator"))]
    joints = [_joint_of(reader, k) for k in range(counted(m, "actuator"))]
    alone = [one is not None and one not in given and joints.count(one) == 1 for one in joints]
    return [
        name or (str(joint) if only else reader.name("actuator", k))
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
    driven = {
        one for k in range(counted(m, "actuator")) if (one := _joint_of(reader, k)) is not None
    }
    driven |= {reader.joint_name[j] for k in range(m.ntendon) for j in joints_of(reader, k)}
    for k in range(m.neq):
        if reader.mj.mjtEq(m.eq_type[k]) == reader.mj.mjtEq.mjEQ_JOINT and m.eq_active0[k]:
            both = (int(m.eq_obj1id[k]), int(m.eq_obj2id[k]))
            driven |= {reader.joint_name[j] for j in both if j >= 0}
    return driven


def read_actuator(reader: Reader, k: int) -> None:
    """One actuator, with its filter; see `_read`."""
    m, found, name = reader.model, reader.found.actuators, reader.actuator_name[k]
    before = len(found)
    if is_off(reader.mj, m, k):
        reader.notes.leave_out("actuators that <option> switches off", name)
        return
    delay, poly = (getattr(m, f"actuator_{what}", None) for what in ("delay", "dampingpoly"))
    if delay is not None and delay[k] > 0.0:
        reader.notes.leave_out("delays of actuators", name)
    if poly is not None and np.any(poly[k] != 0.0):
        reader.notes.leave_out("polynomial damping of actuators", name)
    _read(reader, k)
    if len(found) > before and found[-1].muscle is not None:
        return
    if len(found) > before and (kind := int(m.actuator_dyntype[k])):
        active = (-np.inf, np.inf)
        if m.actuator_actlimited[k]:
            active = float(m.actuator_actrange[k, 0]), float(m.actuator_actrange[k, 1])
        what = "integrator" if kind == 1 else "filter"
        time = float(m.actuator_dynprm[k, 0])
        found[-1] = replace(found[-1], activation=what, time_constant=time, active=active)


def _read(reader: Reader, k: int) -> None:
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
    m, name, kinds = reader.model, reader.actuator_name[k], reader.mj.mjtTrn
    tendon = _tendon_of(reader, k)
    joint: JointEntry | TendonEntry | None = None
    if tendon is not None:
        joint = reader.found.tendons.get(reader.tendon_name[tendon])
        pulled = joints_of(reader, tendon)
        if joint is None and pulled and not is_muscle(reader, k):
            _pull(reader, k, pulled)
            return
    elif (driven := _joint_of(reader, k)) is not None:
        joint = reader.found.joints.get(driven)
    elif kinds(m.actuator_trntype[k]) == kinds.mjTRN_SITE:
        _thrust(reader, k)
        return
    if is_muscle(reader, k) and joint is not None and DRIVEN.get(joint.kind) == 1:
        _muscle(reader, k, joint)
        return
    in_parent = kinds(m.actuator_trntype[k]) == kinds.mjTRN_JOINTINPARENT
    if in_parent and joint is not None and joint.kind == "spherical":
        reader.notes.leave_out("actuators of ball joints along axes of their parents", name)
        return
    if joint is None or joint.kind not in DRIVEN:
        what = kinds(m.actuator_trntype[k]).name[6:].lower()
        label = NO_DRIVE.get(what, f"actuators on {what}s that are no joint here")
        reader.notes.leave_out(label, name)
        return
    if not _is_plain(reader, k):
        return
    gain, bias, ends = _law(reader, k)
    gears = np.array(m.actuator_gear[output_at(m, k), : DRIVEN[joint.kind]], np.float64)
    gear = float(gears[0])
    if joint.servo is not None or (joint.actuated and (bias[1] < 0.0 or bias[2] < 0.0)):
        if gears.size > 1:
            reader.notes.leave_out("actuators of ball joints that have a servo and another", name)
            return
        if _own_range(reader, k, joint, int(m.actuator_trnid[k, 0])) is not None:
            what = "ranges of all forces of joints that have a servo and another actuator"
            reader.notes.leave_out(what, joint.name)
        joint = _drive_of_its_own(reader, k, joint)
    if bias[1] > 0.0 or bias[2] > 0.0 or (bias[1:].any() and (gear == 0.0 or gears.size > 1)):
        reader.notes.leave_out("bias of actuators that is no servo here", name)
        bias[:] = 0.0
    constant = np.zeros(1)
    if not bias[1:].any():
        j = int(m.actuator_trnid[k, 0])
        scale = _motor(reader, k, (joint, j), gears, gain, float(bias[0]), ends)
        constant = gears * float(bias[0])
        ends = _within_forces(reader, k, gain, float(bias[0]), ends)
    else:
        strength = -float(bias[1] or bias[2])
        scale = np.array([gain / strength])
        target, most = float(bias[0]) / strength, _most_force(reader, k, joint)
        if bias[1]:
            start = 0.0
            if joint.kind != "tendon":
                start = float(m.qpos0[m.jnt_qposadr[m.actuator_trnid[k, 0]]])
            joint.servo = PositionServo(
                strength, -float(bias[2]), target - gear * start, most, gear
            )
        else:
            joint.servo = VelocityServo(strength, target, most, gear)
    made = Actuator(name, joint.name, scale, ends[0], ends[1], constant=constant)
    reader.found.actuators.append(made)


def is_muscle(reader: Reader, k: int) -> bool:
    """True of an actuator whose gain, bias and activation are those of a muscle."""
    m, mj = reader.model, reader.mj
    return (
        m.actuator_gaintype[k] == int(mj.mjtGain.mjGAIN_MUSCLE)
        and m.actuator_biastype[k] == int(mj.mjtBias.mjBIAS_MUSCLE)
        and m.actuator_dyntype[k] == int(mj.mjtDyn.mjDYN_MUSCLE)
        and np.array_equal(m.actuator_gainprm[k, OF_BIAS], m.actuator_biasprm[k, OF_BIAS])
    )


def _muscle(reader: Reader, k: int, joint: JointEntry | TendonEntry) -> None:
    """A muscle: its joint or tendon takes a force, which `dynamics.Muscles` computes."""
    m, name = reader.model, reader.actuator_name[k]
    first, last, peak, scale, shortest, longest, fastest, _, lengthening = (
        float(x) for x in m.actuator_gainprm[k, :9]
    )
    passive = float(m.actuator_biasprm[k, 7])
    if peak < 0.0:
        peak = scale / max(float(m.actuator_acc0[output_at(m, k)]), 1e-15)
    up, down, smoothing = (float(x) for x in m.actuator_dynprm[k, :3])
    forces = (-np.inf, np.inf)
    if m.actuator_forcelimited[k]:
        forces = float(m.actuator_forcerange[k, 0]), float(m.actuator_forcerange[k, 1])
    low, high = (float(x) for x in m.actuator_lengthrange[output_at(m, k)])
    try:
        muscle = Muscle(
            (low, high), (first, last), peak, shortest, longest, fastest, passive, lengthening,
            (up, down), smoothing, float(m.actuator_gear[output_at(m, k), 0]), forces,
        )  # fmt: skip
    except ValueError as error:
        reader.notes.leave_out(f"muscles: {error}", name)
        return
    if joint.servo is not None:
        joint = _drive_of_its_own(reader, k, joint)
    joint.actuated, joint.control_limits = True, None
    least, most = -np.inf, np.inf
    if m.actuator_ctrllimited[command_at(m, k)]:
        least, most = (float(x) for x in m.actuator_ctrlrange[command_at(m, k)])
    reader.notes.merge("muscles act by controller=dynamics.Muscles(model, commands)", name)
    reader.found.actuators.append(
        Actuator(name, joint.name, np.ones(1), least, most, muscle=muscle)
    )


def _drive_of_its_own(reader: Reader, k: int, one: JointEntry | TendonEntry) -> TendonEntry:
    """Another tendon of the same length, for one more actuator than a joint or tendon takes."""
    m, name = reader.model, f"{reader.actuator_name[k]} drive"
    if isinstance(one, TendonEntry):
        made = TendonEntry(name, one.joints, one.path, one.divisors, one.offset)
    else:
        start = float(m.qpos0[m.jnt_qposadr[m.actuator_trnid[k, 0]]])
        made = TendonEntry(name, {one.name: 1.0}, offset=start)
    reader.found.tendons[name] = made
    return made


def _is_plain(reader: Reader, k: int) -> bool:
    """True of an actuator with constant gain; notes what is left out of it."""
    m, name = reader.model, reader.actuator_name[k]
    others = _other_types(reader, k)
    if others:
        is_part = others == {"muscle"}
        what = "muscles in part" if is_part else f"actuators of type {', '.join(sorted(others))}"
        reader.notes.leave_out(what, name)
        return False
    if m.actuator_dyntype[k] != 0:
        what = "filters of actuators act in model.controls(..., filtered=True) only"
        reader.notes.merge(what, name)
    if m.actuator_gaintype[k] == 1 and np.any(m.actuator_gainprm[k, 1:3] != 0.0):
        reader.notes.leave_out("gain of actuators that depends on length or speed", name)
    return True


def _other_types(reader: Reader, k: int) -> set[str]:
    """Types of gain, bias and activation of an actuator that have no equivalent here."""
    m, mj = reader.model, reader.mj
    types = {
        mj.mjtGain(m.actuator_gaintype[k]).name[7:],
        mj.mjtBias(m.actuator_biastype[k]).name[7:],
        mj.mjtDyn(m.actuator_dyntype[k]).name[6:],
        "PLUGIN" if m.actuator_plugin[k] >= 0 else "NONE",
    }
    return {one.lower() for one in types - PLAIN}


def _law(reader: Reader, k: int) -> tuple[float, Float, list[float]]:
    """Gain, bias and range of commands of an actuator."""
    m, ends = reader.model, [-np.inf, np.inf]
    if m.actuator_ctrllimited[command_at(m, k)]:
        ends = [float(x) for x in m.actuator_ctrlrange[command_at(m, k)]]
    bias = np.array(m.actuator_biasprm[k, :3]) * (m.actuator_biastype[k] == 1)
    return float(m.actuator_gainprm[k, 0]), bias, ends


def _tendon_of(reader: Reader, k: int) -> int | None:
    """Number of the tendon that an actuator pulls."""
    m, kinds = reader.model, reader.mj.mjtTrn
    of_tendon = kinds(m.actuator_trntype[k]) == kinds.mjTRN_TENDON
    return int(m.actuator_trnid[k, 0]) if of_tendon else None


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
    if bias[0]:
        reader.notes.leave_out("constant forces of actuators on tendons", name)
    gear = float(reader.model.actuator_gear[output_at(reader.model, k), 0])
    scales = {
        one.name: _motor(reader, k, (one, j), np.array([pulled[j] * gear]), gain, 0.0, ends)
        for j, one in joints.items()
        if one is not None
    }
    (first, scale), *others = scales.items()
    ends = _within_forces(reader, k, gain, 0.0, ends)
    made = Actuator(name, first, scale, ends[0], ends[1], dict(others))
    reader.found.actuators.append(made)


def _thrust(reader: Reader, k: int) -> None:
    """An actuator on a site: a force and a torque that turn with it, as of a propeller."""
    m, name, site = reader.model, reader.actuator_name[k], int(reader.model.actuator_trnid[k, 0])
    link = reader.links[m.site_bodyid[site]]
    if link is None or m.actuator_trnid[k, 1] >= 0 or m.actuator_biastype[k] != 0:
        what = "actuators on sites of the world, relative to others, or with feedback"
        reader.notes.leave_out(what, name)
        return
    if not _is_plain(reader, k):
        return
    gain, _, ends = _law(reader, k)
    turn = rotation.normalized(m.site_quat[site])
    gear = np.array(m.actuator_gear[output_at(m, k)], np.float64)
    force, torque = rotation.rotate(np.tile(turn, (2, 1)), gear.reshape(2, 3))
    limits = None
    if m.actuator_ctrllimited[command_at(m, k)] or m.actuator_forcelimited[k]:
        low, high = np.sort(gain * np.array(ends)) if gain else (0.0, 0.0)
        if m.actuator_forcelimited[k]:
            low, high = np.clip([low, high], *m.actuator_forcerange[k])
        limits = float(low), float(high)
    point = np.array(m.site_pos[site], np.float64)
    taken = {*reader.found.links, *reader.found.joints, *reader.found.tendons}
    label = f"{name} thruster" if name in taken else name
    reader.found.thrusters.append(ThrusterEntry(label, link, point, force, torque, limits))
    reader.found.actuators.append(Actuator(name, label, np.array([gain]), ends[0], ends[1]))


def _motor(
    reader: Reader,
    k: int,
    owner: tuple[JointEntry | TendonEntry, int],
    gears: Float,
    gain: float,
    bias: float,
    ends: list[float],
) -> Float:
    """Let a joint take forces, within the ranges of its one motor; its force per command.

    ``owner`` is the joint or tendon and its number in MuJoCo's model.
    """
    m, scale = reader.model, gain * gears
    joint, j = owner
    alone, joint.actuated = not joint.actuated, True
    limited = bool(m.actuator_ctrllimited[command_at(m, k)])
    if m.actuator_dyntype[k] == 1:  # what an integrator gives has a range of its own
        limited = bool(m.actuator_actlimited[k])
        ends = [float(x) for x in m.actuator_actrange[k]] if limited else [-np.inf, np.inf]
    most = np.sort(np.outer(scale, np.nan_to_num(ends, posinf=1e300, neginf=-1e300)), axis=1)
    most += bias * gears[:, None]
    if m.actuator_forcelimited[k]:
        force = np.sort(np.outer(gears, m.actuator_forcerange[k]), axis=1)
        most, limited = np.clip(most, force[:, :1], force[:, 1:]), True
    own = _own_range(reader, k, joint, j)
    if own is not None:
        most, limited = np.clip(most, *own), True
    if limited and alone:
        joint.control_limits = [(float(low), float(high)) for low, high in most]
    elif not alone:  # commands are within ranges of their own, see `_within_forces`
        joint.control_limits = None if own is None else [(float(own[0]), float(own[1]))]
        for i in np.flatnonzero(m.actuator_forcelimited[: k + 1] * m.actuator_dyntype[: k + 1]):
            if m.actuator_trnid[i, 0] == m.actuator_trnid[k, 0]:
                what = "ranges of forces of actuators with a filter that share a joint"
                reader.notes.leave_out(what, reader.actuator_name[i])
    return scale


def _within_forces(
    reader: Reader, k: int, gain: float, bias: float, ends: list[float]
) -> list[float]:
    """Range of a motor's commands that keeps its force within its range, too."""
    m = reader.model
    if not m.actuator_forcelimited[k] or m.actuator_dyntype[k] != 0 or gain == 0.0:
        return ends
    low, high = np.sort((m.actuator_forcerange[k] - bias) / gain)
    return [float(x) for x in np.clip(ends, low, high)]


def _own_range(reader: Reader, k: int, one: JointEntry | TendonEntry, j: int) -> Float | None:
    """Range of all forces on a joint or tendon; None where it has none."""
    m, what = reader.model, "jnt"
    if isinstance(one, TendonEntry) and _tendon_of(reader, k) is not None:
        what = "tendon"
    limited = getattr(m, f"{what}_actfrclimited", None)
    if limited is None or not limited[j]:
        return None
    return np.array(getattr(m, f"{what}_actfrcrange")[j], np.float64)


def _most_force(reader: Reader, k: int, joint: JointEntry | TendonEntry) -> Any:
    """Largest force of a servo, or a pair of the least and the largest where they differ."""
    m, low, high = reader.model, -np.inf, np.inf
    if m.actuator_forcelimited[k]:
        low, high = (float(x) for x in m.actuator_forcerange[k])
    j, gear = int(m.actuator_trnid[k, 0]), float(m.actuator_gear[output_at(m, k), 0])
    own = _own_range(reader, k, joint, j)
    if own is not None:
        one, other = np.sort(own / gear)
        low, high = max(low, float(one)), min(high, float(other))
    return high if low == -high else [[low, high]]
