"""Build backend of wheels: hatchling's, which needs numba to compile kernels, but not for editing.

See `hook`.
"""

import tomllib
from pathlib import Path

from hatchling import build as hatchling_build
from hatchling.build import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]

#: Of the package's dependencies, those that compiling takes.
KERNELS_NEED = "numpy", "numba"


def get_requires_for_build_wheel(config_settings=None):
    """hatchling's requirements, and those of kernels, which are compiled."""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    return [
        *hatchling_build.get_requires_for_build_wheel(config_settings),
        *(one for one in project["dependencies"] if one.startswith(KERNELS_NEED)),
    ]
