"""Mechanisms from robot files (URDF, MJCF, SDF, USD) and back (URDF)."""

from typing import Any

from dynamics.io.notes import (
    ImplausibleInertiaWarning,
    LoadWarning,
    MergedLinkWarning,
    UnsupportedElementWarning,
)

_LATER = {"LoadReport": "report", "load": "loading", "save_urdf": "save"}

__all__ = [
    "ImplausibleInertiaWarning",
    "LoadWarning",
    "MergedLinkWarning",
    "UnsupportedElementWarning",
    *sorted(_LATER),
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'dynamics.io' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"dynamics.io.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
