"""Robots of generated shapes: a walking quadruped, and an exoskeleton on an arm."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from dynamics import rotation
from dynamics.mechanism import Mechanism
from dynamics.model import Model
from dynamics.parts import joint_types as joints
from dynamics.parts.options import ModelOptions
from dynamics.parts.shapes import Box, Cylinder
from dynamics.state import State

X, Y, Z = np.eye(3)
LEGS = ("FR", "FL", "RR", "RL")
#: Length of thigh and of calf, m.
LINK = 0.2
#: Length of the upper arm, m.
UPPER_ARM = 0.3087


def quadruped(
    mechanism: Mechanism | None = None,
    *,
    stiffness: Sequence[float] = (100.0, 80.0, 60.0),
    damping: Sequence[float] = (5.0, 4.0, 3.0),
    friction: float = 0.2,
    stance: Sequence[float] = (0.0, 1.0, -1.5),
    timestep: float = 0.005,
    **options: Unpack[ModelOptions],
) -> tuple[Model, State]:
    """Make a quadruped with masses and lengths of a Unitree A1, of boxes and cylinders.

    Its controller is in the joints: springs to 0 and dampers, integrated implicitly. The control
    ``stiffness * target`` of a joint makes of them the proportional-derivative law ``stiffness *
    (target - q) - damping * q'``, so that a gait is a table of controls.

    Parameters
    ----------
    mechanism : Mechanism, optional
        By default the generated one; or that of a robot file with bodies ``"trunk", "FR_calf"``...
        and joints ``"FR_hip_joint", "FR_thigh_joint", "FR_calf_joint"``..., which is changed: it
        gets feet, springs and controls, and loses its joints' limits and friction.
    stiffness, damping : sequence of float, optional
        Gains of hip, thigh and calf, N m/rad and N m s/rad.
    friction : float, optional
        Coefficient of friction of the feet.
    stance : sequence of float, optional
        Angles of hip, thigh and calf at the start, rad.
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        Bodies ``"trunk", "FR_hip", "FR_thigh", "FR_calf"``... of the legs FR, FL, RR and RL; twelve
        controls, those of FR_hip_joint, FR_thigh_joint, FR_calf_joint first; contacts ``"FR_foot"``
        ... with the ground.
    state : State
        At rest, the lowest foot 0.1 mm above the ground.
    """
    mechanism = _standing() if mechanism is None else mechanism
    for leg in LEGS:
        for k, part in enumerate(("hip", "thigh", "calf")):
            name = f"{leg}_{part}_joint"
            mechanism.joints[name] = replace(
                mechanism.joints[name],
                stiffness=np.array([stiffness[k]]), damping=np.array([damping[k]]),
                rest=np.zeros(1), friction=np.zeros(1), actuated=True,
                limits=None, velocity_limits=None,
            )  # fmt: skip
        knee = mechanism.joints[f"{leg}_calf_joint"]
        mechanism.add_contact(
            knee.child, shape=knee.child_point - LINK * Z, friction=friction, name=f"{leg}_foot"
        )
    model = mechanism.finalize(timestep, **options)
    state = model.initial_state()
    for leg in LEGS:
        for part, angle in zip(("hip", "thigh", "calf"), stance):
            model.set_joint(state, f"{leg}_{part}_joint", angle)
    gaps = [_gap(model, state, f"{leg}_foot") for leg in LEGS]
    state.pose[:, 2] += 1e-4 - min(gaps)
    return model, state


def _gap(model: Model, state: State, name: str) -> float:
    """Height of a foot above the ground."""
    contact = model.mechanism.contacts[name]
    pose = state.pose[model.body_number(contact.child.name)]
    return float(pose[2] + rotation.rotate(pose[3:], contact.touches[0].other)[2])


def _standing() -> Mechanism:
    """Trunk and legs of the generated quadruped."""
    mechanism = Mechanism()
    trunk = mechanism.add_body(Box(0.267, 0.194, 0.114, mass=4.713), name="trunk")
    for leg in LEGS:
        front, side = 1.0 if leg[0] == "F" else -1.0, 1.0 if leg[1] == "L" else -1.0
        hip = mechanism.add_body(Cylinder(0.046, 0.04, axis=Y, mass=0.696), name=f"{leg}_hip")
        thigh = mechanism.add_body(Box(0.034, 0.0245, LINK, mass=1.013), name=f"{leg}_thigh")
        calf = mechanism.add_body(Box(0.016, 0.016, LINK, mass=0.166), name=f"{leg}_calf")
        for part, parent, child, axis, point, top in (
            ("hip", trunk, hip, X, (0.183 * front, 0.047 * side, 0.0), 0.0 * Z),
            ("thigh", hip, thigh, Y, (0.0, 0.085 * side, 0.0), 0.5 * LINK * Z),
            ("calf", thigh, calf, Y, (0.0, 0.0, -0.5 * LINK), 0.5 * LINK * Z),
        ):
            mechanism.add_joint(
                joints.Revolute(
                    parent, child, axis, parent_point=point, child_point=top,
                    name=f"{leg}_{part}_joint",
                )
            )  # fmt: skip
    return mechanism


def exoskeleton(
    mechanism: Mechanism | None = None,
    *,
    scale: float = 1.0,
    spastic: bool = False,
    timestep: float = 0.005,
    **options: Unpack[ModelOptions],
) -> tuple[Model, State]:
    """Make an exoskeleton with four joints on an arm; two cuffs close loops.

    Shoulder and elbow flexion, ``"sFE"`` and ``"eFE"``, have springs to 0 and dampers; controls
    ``stiffness * target + damping * target'`` make of them proportional-derivative control. The
    other joints of the shoulder, ``"sAA"`` and ``"sIE"``, are held at 0 by stiffer ones.

    Parameters
    ----------
    mechanism : Mechanism, optional
        By default the generated one; or that of a robot file with the same names of bodies and
        joints, which is changed.
    scale : float, optional
        Factor of the gains: 100 N m/rad and 10 N m s/rad at the shoulder, 50 and 5 at the elbow.
    spastic : bool, optional
        Whether the patient's elbow resists: a spring of 10 N m/rad to -pi/4, a damper of 2.
    timestep : float, optional
        s.
    **options
        Those of `Mechanism.finalize`.

    Returns
    -------
    model : Model
        Bodies ``"sAA_Unit", "sFE_Unit", "sIE_Unit", "eFE_Unit"`` of the exoskeleton, ``"upper_arm",
        "lower_arm"``; joints ``"shoulder", "elbow"`` of the arm, ``"upper cuff", "lower cuff"``;
        two controls, of sFE and eFE.
    state : State
        At rest, shoulder at pi/4 and elbow at -pi/4.
    """
    mechanism = _donned() if mechanism is None else mechanism
    for name, stiffness, damping, moved in (
        ("sAA", 1000.0, 100.0, False),
        ("sFE", 100.0 * scale, 10.0 * scale, True),
        ("sIE", 1000.0, 100.0, False),
        ("eFE", 50.0 * scale, 5.0 * scale, True),
    ):
        mechanism.joints[name] = replace(
            mechanism.joints[name], stiffness=np.array([stiffness]), damping=np.array([damping]),
            rest=np.zeros(1), actuated=moved,
        )  # fmt: skip
    _put_on(mechanism, spastic)
    model = mechanism.finalize(timestep, **options)
    quarter = 0.25 * np.pi
    still: dict[Hashable, Any] = {
        "sAA": 0.0,
        "sIE": 0.0,
        "upper cuff": np.zeros(3),
        "lower cuff": np.zeros(3),
    }
    state = model.assemble(
        model.initial_state(),
        {**still, "sFE": quarter, "eFE": -quarter, "elbow": -quarter},
        {**still, "sFE": quarter, "eFE": quarter, "elbow": quarter},
    )
    return model, state


def _put_on(mechanism: Mechanism, spastic: bool) -> None:
    """Joints of the arm, and cuffs instead of the welds that hold it to the exoskeleton."""
    upper, lower = (mechanism.joints.pop(name) for name in ("sIE_to_upper", "eFe_to_lower"))
    motors = [mechanism.joints[name] for name in ("sAA", "sFE", "sIE", "eFE")]
    turn = motors[0].offset
    for motor in motors[1:3]:
        turn = rotation.multiply(turn, motor.offset)
    bend = rotation.rotate(motors[3].offset, motors[3].positions[0].axis)
    along = upper.child_point / np.linalg.norm(upper.child_point)
    mechanism.add_joint(
        joints.Spherical(
            motors[0].parent, upper.child, parent_point=motors[0].parent_point,
            child_point=upper.child_point - UPPER_ARM * along, orientation=turn, name="shoulder",
        )
    )  # fmt: skip
    mechanism.add_joint(
        joints.Revolute(
            upper.child, lower.child, bend, parent_point=upper.child_point,
            child_point=lower.child_point, orientation=motors[3].offset, name="elbow",
            stiffness=10.0 * spastic, damping=2.0 * spastic, rest=-0.25 * np.pi * spastic,
        )
    )  # fmt: skip
    for name, weld, axis in (
        ("upper cuff", upper, bend),
        ("lower cuff", lower, motors[3].positions[0].axis),
    ):
        mechanism.add_joint(
            joints.PlanarAxis(
                weld.parent, weld.child, axis, parent_point=weld.parent_point - weld.child_point,
                stiffness=100.0, damping=1.0, name=name,
            )
        )  # fmt: skip


def _donned() -> Mechanism:
    """Exoskeleton and arm, stretched out along x and welded to each other."""
    mechanism = Mechanism()
    made: dict[str, Any] = {"world": mechanism.world}
    for name, *sizes, mass in (
        ("sAA_Unit", 0.3, 0.1, 0.3, 6.712),
        ("sFE_Unit", 0.3, 0.1, 0.1, 3.487),
        ("sIE_Unit", 0.2, 0.1, 0.1, 1.663),
        ("eFE_Unit", 0.15, 0.1, 0.1, 0.494),
        ("upper_arm", UPPER_ARM, 0.08, 0.08, 2.25),
        ("lower_arm", 0.25, 0.06, 0.06, 1.5),
    ):
        made[name] = mechanism.add_body(Box(*sizes, mass=mass), name=name)
    # Of each body: where the joint sits on its parent and on itself, from the centres of mass.
    to_shoulder, to_elbow = (-0.105, 0.0, -0.12), (0.03, 0.0, -0.108)
    for name, parent, child, axis, point, own in (
        ("sAA", "world", "sAA_Unit", X, (0.0, 0.0, 0.0), (0.128, 0.0, -0.13)),
        ("sFE", "sAA_Unit", "sFE_Unit", -Z, (0.128, 0.0, -0.13), to_shoulder),
        ("sIE", "sFE_Unit", "sIE_Unit", X, UPPER_ARM * X + to_shoulder, to_elbow),
        ("eFE", "sIE_Unit", "eFE_Unit", -Z, to_elbow, (-0.056, 0.0, -0.08)),
    ):
        mechanism.add_joint(
            joints.Revolute(
                made[parent], made[child], axis, parent_point=point, child_point=own, name=name
            )
        )
    for name, parent, child, point, half in (
        ("sIE_to_upper", "sIE_Unit", "upper_arm", to_elbow, 0.5 * UPPER_ARM),
        ("eFe_to_lower", "eFE_Unit", "lower_arm", (-0.056, 0.0, -0.08), -0.125),
    ):
        ends: dict[str, Any] = {"parent_point": point, "child_point": half * X}
        mechanism.add_joint(joints.Fixed(made[parent], made[child], name=name, **ends))
    return mechanism
