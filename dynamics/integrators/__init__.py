"""Integrators that stand alone, one a published method; `dynamics.Model` needs none of them.

- Trees in minimal coordinates, any order (Fan, Schultz, Murphey): `Tree`, `TreeIntegrator`.
- One body with a full 6 x 6 inertia, by dual quaternions: `RigidBody`.
- Springs and constraints by composed mappings and compliant multipliers: `implicit_step`.
"""

from typing import Any

_LATER = {
    "AnchoredSpring": "rigid_body_forces",
    "BodyWrench": "rigid_body_forces",
    "Drag": "rigid_body_forces",
    "Mapping": "compliance",
    "Pivot": "rigid_body_forces",
    "RigidBody": "rigid_body",
    "RigidBodyState": "rigid_body_trajectory",
    "RigidBodyTrajectory": "rigid_body_trajectory",
    "Tree": "tree",
    "TreeIntegrator": "tree_integrator",
    "TreePlan": "tree_optimization",
    "TreeTrajectory": "tree_trajectory",
    "WorldForce": "rigid_body_forces",
    "effective_compliance": "compliance",
    "implicit_step": "compliance",
    "linearize": "tree_linearization",
    "plan": "tree_optimization",
    "prismatic": "tree_twist",
    "revolute": "tree_twist",
    "screw": "tree_twist",
    "spatial_inertia": "rigid_body_forces",
}

__all__ = sorted(_LATER)


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'dynamics.integrators' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"dynamics.integrators.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
