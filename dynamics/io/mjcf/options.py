"""Effects of ``<option>`` and of actuators on other elements of an MJCF file."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["command_at", "counted", "is_off", "output_at", "prepare", "yields"]

#: Numbers of a model by the flags that disable them; versions differ in the flags.
DISABLED = {
    "gravity": ("GRAVITY",),
    "jnt_limited": ("LIMIT", "CONSTRAINT"),
    "dof_frictionloss": ("FRICTIONLOSS", "CONSTRAINT"),
    "eq_active0": ("EQUALITY", "CONSTRAINT"),
    "jnt_stiffness": ("SPRING", "PASSIVE"),
    "dof_damping": ("DAMPER", "PASSIVE"),
    "tendon_limited": ("LIMIT", "CONSTRAINT"),
    "tendon_frictionloss": ("FRICTIONLOSS", "CONSTRAINT"),
    "tendon_stiffness": ("SPRING", "PASSIVE"),
    "tendon_damping": ("DAMPER", "PASSIVE"),
    "actuator_ctrllimited": ("CLAMPCTRL",),
}


def prepare(mujoco: Any, model: Any) -> None:
    """Add the rotors of actuators to their joints, and apply the flags of ``<option>``.

    Parameters
    ----------
    mujoco : module
    model : mujoco.MjModel
        Changed.
    """
    _give_rotors(mujoco, model)
    for field, flags in DISABLED.items():
        found = [getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}", None) for flag in flags]
        if any(flag is not None and model.opt.disableflags & int(flag) for flag in found):
            owner = model.opt if hasattr(model.opt, field) else model
            getattr(owner, field)[:] = 0
    if model.opt.enableflags & int(mujoco.mjtEnableBit.mjENBL_OVERRIDE):
        model.pair_friction[:] = model.opt.o_friction
        model.geom_friction[:] = model.opt.o_friction[[0, 2, 3]]


def counted(model: Any, kind: str) -> int:
    """Number of elements of a kind; some actuators have several commands, or none.

    Parameters
    ----------
    model : mujoco.MjModel
    kind : str
        As of ``model.body(0)``.

    Returns
    -------
    int
    """
    if kind == "actuator":
        return int(getattr(model, "nactuator", model.nu))
    short = {"joint": "jnt", "camera": "cam", "equality": "eq"}.get(kind, kind)
    return int(getattr(model, f"n{short}"))


def command_at(model: Any, k: int) -> int:
    """Place of an actuator's first command in ``ctrl``.

    Parameters
    ----------
    model : mujoco.MjModel
    k : int

    Returns
    -------
    int
    """
    return int(model.actuator_ctrladr[k]) if hasattr(model, "actuator_ctrladr") else k


def output_at(model: Any, k: int) -> int:
    """Place of an actuator's first force in arrays of forces and gears.

    Parameters
    ----------
    model : mujoco.MjModel
    k : int

    Returns
    -------
    int
    """
    return int(model.actuator_outadr[k]) if hasattr(model, "actuator_outadr") else k


def is_off(mujoco: Any, model: Any, k: int) -> bool:
    """True if ``<option>`` or its flags switch an actuator off.

    Parameters
    ----------
    mujoco : module
    model : mujoco.MjModel
    k : int

    Returns
    -------
    bool
    """
    group = int(model.actuator_group[k])
    flag = int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    grouped = 0 <= group < 31 and bool(model.opt.disableactuator >> group & 1)
    return grouped or bool(model.opt.disableflags & flag)


def yields(model: Any, kind: str, k: int) -> bool:
    """True if a spring yields beyond a force (since MuJoCo 4).

    Parameters
    ----------
    model : mujoco.MjModel
    kind : {"jnt", "tendon"}
    k : int

    Returns
    -------
    bool
    """
    limit = getattr(model, f"{kind}_springyield", None)
    stiff = bool(np.any(getattr(model, f"{kind}_stiffness")[k]))
    return limit is not None and stiff and bool(np.any(limit[k] != 0.0))


def _give_rotors(mujoco: Any, m: Any) -> None:
    """Add armature and damping of actuators to their joints and tendons (since MuJoCo 4)."""
    kinds = mujoco.mjtTrn
    for k in range(counted(m, "actuator") if hasattr(m, "actuator_armature") else 0):
        kind, at = kinds(m.actuator_trntype[k]), int(m.actuator_trnid[k, 0])
        squared = float(m.actuator_gear[output_at(m, k), 0]) ** 2
        for what in ("armature", "damping"):
            more = squared * float(getattr(m, f"actuator_{what}")[k])
            if kind in (kinds.mjTRN_JOINT, kinds.mjTRN_JOINTINPARENT):
                getattr(m, f"dof_{what}")[m.dof_jntid == at] += more
            elif kind == kinds.mjTRN_TENDON:
                getattr(m, f"tendon_{what}")[at] += more
