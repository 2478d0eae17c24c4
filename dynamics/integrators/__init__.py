"""Integrators that stand alone, one a published method; `dynamics.Model` needs none of them.

- Trees in minimal coordinates, any order (Fan, Schultz, Murphey): `Tree`, `TreeIntegrator`.
- One body with a full 6 x 6 inertia, by dual quaternions: `RigidBody`.
- Springs and constraints by composed mappings and compliant multipliers: `implicit_step`.
"""

from typing import Any

_LATER = {
    "AnchoredSpring": "dual_quaternion.forces",
    "BodyWrench": "dual_quaternion.forces",
    "Drag": "dual_quaternion.forces",
    "Mapping": "compliance",
    "Pivot": "dual_quaternion.forces",
    "RigidBody": "dual_quaternion.rigid_body",
    "RigidBodyState": "dual_quaternion.trajectory",
    "RigidBodyTrajectory": "dual_quaternion.trajectory",
    "Tree": "tree.description",
    "TreeIntegrator": "tree.integrator",
    "TreePlan": "tree.optimization",
    "TreeTrajectory": "tree.trajectory",
    "WorldForce": "dual_quaternion.forces",
    "effective_compliance": "compliance",
    "implicit_step": "compliance",
    "linearize": "tree.linearization",
    "plan": "tree.optimization",
    "prismatic": "tree.twists",
    "revolute": "tree.twists",
    "screw": "tree.twists",
    "spatial_inertia": "dual_quaternion.forces",
}

__all__ = sorted(_LATER)


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'dynamics.integrators' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"dynamics.integrators.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
