"""Numbers of a compiled MuJoCo model: those that are none are refused by the element's name."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["check_numbers"]

#: Fields of an element's numbers that MuJoCo takes from the file, causes before what they cause.
FIELDS = {
    "geom": ("pos", "quat", "size", "friction"),
    "joint": ("pos", "axis", "range", "stiffness"),
    "site": ("pos", "quat", "size"),
    "body": ("pos", "quat", "ipos", "iquat", "mass", "inertia"),
    "tendon": ("range", "stiffness", "damping", "frictionloss", "armature"),
    "actuator": ("gear", "gainprm", "biasprm", "ctrlrange", "forcerange"),
}
SHORT = {"joint": "jnt"}
#: Of joints, by degrees of freedom.
OF_FREEDOMS = ("damping", "frictionloss", "armature")


def check_numbers(model: Any, file: str) -> None:
    """Refuse NaN, which MuJoCo lets pass, and infinite numbers other than ranges.

    Parameters
    ----------
    model : mujoco.MjModel
    file : str
        Its name.

    Raises
    ------
    ValueError
        By the name of the first such element.
    """
    if not np.isfinite(model.opt.gravity).all():
        raise ValueError(f"{file}: gravity is {model.opt.gravity}")
    for kind, fields in FIELDS.items():
        for field in fields:
            values = getattr(model, f"{SHORT.get(kind, kind)}_{field}")
            bad = np.isnan(values) if field.endswith("range") else ~np.isfinite(values)
            for k in np.nonzero(bad)[0][:1].tolist():
                raise _error(model, file, kind, k, field, values[k])
    for field in OF_FREEDOMS:
        values = getattr(model, f"dof_{field}")
        for k in np.flatnonzero(~np.isfinite(values))[:1].tolist():
            raise _error(model, file, "joint", int(model.dof_jntid[k]), field, values[k])


def _error(model: Any, file: str, kind: str, k: int, field: str, values: Any) -> ValueError:
    """Error with the label of an element."""
    name = getattr(model, kind)(k).name or f"{kind} {k}"
    return ValueError(f"{file}: {field} of {kind} {name!r} must be finite, not {values}")
