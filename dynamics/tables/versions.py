"""Version of the tables of a model: a checksum of all places and numbers that kernels agree on."""

from __future__ import annotations

from functools import cache
from zlib import crc32

from dynamics.kernels.base import layout, settings, step_info
from dynamics.kernels.contacts import geometry
from dynamics.kernels.rows import rows

__all__ = ["tables_version"]


@cache
def tables_version() -> int:
    """CRC-32 of the names and values of layouts and kinds; another one needs other kernels."""
    found = []
    for module in (layout, settings, step_info, geometry, rows):
        for name, value in sorted(vars(module).items()):
            if name.isupper() and isinstance(value, (int, tuple)):
                found.append(f"{module.__name__}.{name}={value}")
    return crc32("\n".join(found).encode())
