"""Modules under the names that they had before version 0.2; the next release drops these."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["MOVED"]

#: New names of modules whose old ones were in the documentation.
MOVED = {
    "dynamics.dual_quaternion": "dynamics.integrators.dual_quaternion.poses",
    "dynamics.gym": "dynamics.control.gym",
    "dynamics.integrators.rigid_body": "dynamics.integrators.dual_quaternion.rigid_body",
    "dynamics.integrators.rigid_body_forces": "dynamics.integrators.dual_quaternion.forces",
    "dynamics.integrators.tree_integrator": "dynamics.integrators.tree.integrator",
    "dynamics.integrators.tree_linearization": "dynamics.integrators.tree.linearization",
    "dynamics.integrators.tree_optimization": "dynamics.integrators.tree.optimization",
    "dynamics.integrators.tree_twist": "dynamics.integrators.tree.twists",
    "dynamics.joint_space": "dynamics.kinematics.joint_space",
    "dynamics.plot": "dynamics.display.plot",
    "dynamics.shapes": "dynamics.parts.shapes",
}


class _Old(MetaPathFinder, Loader):
    """Imports a module under its old name, with a warning."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Spec of an old name; None for any other."""
        return ModuleSpec(name, self) if name in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module itself in the place of this one."""
        name = module.__name__
        warnings.warn(f"{name} is now {MOVED[name]}", DeprecationWarning, stacklevel=2)
        sys.modules[name] = import_module(MOVED[name])


def install() -> None:
    """Make the old names importable."""
    if not any(isinstance(finder, _Old) for finder in sys.meta_path):
        sys.meta_path.append(_Old())
