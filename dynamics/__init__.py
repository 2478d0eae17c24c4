"""Rigid-body dynamics in maximal coordinates, on the graph-sparse solver `graphsys`.

Describe bodies and joints with labels (`Mechanism`), finalize them into tables (`Model`), step or
`simulate`.
"""

from typing import Any

from dynamics.errors import ConvergenceError, InconsistentStateError, UnknownNameError
from dynamics.moved import install

install()

# What needs the compiler, a solver or a picture is imported when it is first asked for.
_LATER = {
    "Body": "parts.bodies",
    "Box": "parts.shapes",
    "Capsule": "parts.shapes",
    "Compound": "parts.shapes",
    "ComputedTorque": "control.controllers",
    "ConstantVelocity": "parts.joint_types",
    "CentroidalSensor": "parts.sensors",
    "ContactSensor": "parts.sensors",
    "Coupling": "parts.couplings",
    "Custom": "parts.special_joints",
    "Cylinder": "parts.shapes",
    "Cylindrical": "parts.joint_types",
    "Distance": "parts.special_joints",
    "Ellipsoid": "parts.shapes",
    "Event": "tables.error_control",
    "Fixed": "parts.joint_types",
    "FixedOrientation": "parts.joint_types",
    "Floating": "parts.joint_types",
    "ForceTorque": "parts.sensors",
    "FrameSensor": "parts.sensors",
    "FreeAxis": "parts.joint_types",
    "HalfSpace": "parts.contact_primitives",
    "Helical": "parts.special_joints",
    "IMU": "parts.sensors",
    "Job": "studies.jobs",
    "Joint": "parts.joints",
    "JointSensor": "parts.sensors",
    "JointSpace": "kinematics.joint_space",
    "Kinematics": "kinematics.frames",
    "KnifeEdge": "parts.special_joints",
    "Mechanism": "mechanism",
    "Model": "model",
    "Muscle": "parts.muscles",
    "Muscles": "control.muscles",
    "Noise": "parts.sensors",
    "Planar": "parts.joint_types",
    "PlanarAxis": "parts.joint_types",
    "PointOnLine": "parts.joint_types",
    "PointOnPlane": "parts.joint_types",
    "Prismatic": "parts.joint_types",
    "PositionServo": "parts.servos",
    "Potential": "parts.forces",
    "RangeFinder": "parts.sensors",
    "Redundancy": "kinematics.redundancy",
    "ProportionalDerivative": "control.controllers",
    "Revolute": "parts.joint_types",
    "Rod": "parts.shapes",
    "Rope": "parts.forces",
    "Rolling": "parts.special_joints",
    "Sphere": "parts.shapes",
    "Sensitivity": "derivatives.sensitivities",
    "Sensors": "sensors.suite",
    "Spherical": "parts.joint_types",
    "Spring": "parts.forces",
    "State": "state",
    "StepInfo": "state",
    "Thruster": "parts.forces",
    "Trajectory": "trajectory",
    "Universal": "parts.special_joints",
    "VelocityServo": "parts.servos",
    "Wrap": "parts.tendons",
    "Wrench": "parts.forces",
    "compose": "tables.composition",
    "convex_parts": "parts.convex_parts",
    "export_html": "display.viewer",
    "inverse_dynamics": "control.inverse_dynamics",
    "linearize": "derivatives.linearization",
    "load": "io.loading",
    "lqr": "control.controllers",
    "save_urdf": "io.save",
    "sensitivity": "derivatives.sensitivities",
    "separate": "kinematics.contact_queries",
    "random_search": "control.learning",
    "rollouts": "studies.ensemble",
    "simulate": "simulation",
    "simulate_within": "studies.accuracy",
    "suggest_timestep": "studies.accuracy",
    "variant": "studies.variation",
}

# Modules that are public by a name of their own.
_MODULES = {
    "gym": "control.gym",
    "integrators": "integrators",
    "io": "io",
    "rotation": "rotation",
    "trajectory_optimization": "trajectory_optimization",
    "zoo": "zoo",
}

__all__ = [
    "ConvergenceError",
    "InconsistentStateError",
    "UnknownNameError",
    *sorted(_LATER | _MODULES),
]


def __getattr__(name: str) -> Any:
    if name not in _LATER and name not in _MODULES:
        from dynamics.elsewhere import MODULE

        hint = f"; use {MODULE[name]}" if name in MODULE else ""
        raise AttributeError(f"module 'dynamics' has no attribute {name!r}{hint}")
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"dynamics.{_MODULES[name]}")
    return getattr(import_module(f"dynamics.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
