"""Rigid-body dynamics in maximal coordinates, on the graph-sparse solver `graphsys`.

Describe bodies and joints with labels (`Mechanism`), finalize them into tables (`Model`), step or
`simulate`.
"""

from typing import Any

from dynamics.errors import ConvergenceError, InconsistentStateError, UnknownNameError

# What needs the compiler, a solver or a picture is imported when it is first asked for.
_LATER = {
    "Body": "bodies",
    "Box": "shapes",
    "Capsule": "shapes",
    "Compound": "shapes",
    "ComputedTorque": "control",
    "ConstantVelocity": "joint_types",
    "Coupling": "couplings",
    "Custom": "special_joints",
    "Cylinder": "shapes",
    "Cylindrical": "joint_types",
    "Distance": "special_joints",
    "Fixed": "joint_types",
    "FixedOrientation": "joint_types",
    "Floating": "joint_types",
    "FreeAxis": "joint_types",
    "HalfSpace": "features",
    "Helical": "special_joints",
    "Job": "jobs",
    "Joint": "joints",
    "KnifeEdge": "special_joints",
    "Mechanism": "mechanism",
    "Model": "model",
    "Planar": "joint_types",
    "PlanarAxis": "joint_types",
    "PointOnLine": "joint_types",
    "PointOnPlane": "joint_types",
    "Prismatic": "joint_types",
    "PositionServo": "servos",
    "Potential": "forces",
    "Redundancy": "redundancy",
    "ProportionalDerivative": "control",
    "Revolute": "joint_types",
    "Rod": "shapes",
    "Rope": "forces",
    "Rolling": "special_joints",
    "Sphere": "shapes",
    "Sensitivity": "sensitivities",
    "Spherical": "joint_types",
    "Spring": "forces",
    "State": "state",
    "StepInfo": "state",
    "Trajectory": "trajectory",
    "Universal": "special_joints",
    "VelocityServo": "servos",
    "Wrench": "forces",
    "compose": "composition",
    "export_html": "viewer",
    "gym": "gym",
    "inverse_dynamics": "inverse",
    "io": "io",
    "linearize": "linearization",
    "load": "io.loading",
    "lqr": "control",
    "save_urdf": "io.save",
    "sensitivity": "sensitivities",
    "separate": "touching",
    "random_search": "learning",
    "rollouts": "ensemble",
    "simulate": "simulation",
    "simulate_within": "accuracy",
    "suggest_timestep": "accuracy",
    "variant": "variation",
    "zoo": "zoo",
}

__all__ = ["ConvergenceError", "InconsistentStateError", "UnknownNameError", *sorted(_LATER)]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'dynamics' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"dynamics.{_LATER[name]}")
    return module if name == _LATER[name] else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
