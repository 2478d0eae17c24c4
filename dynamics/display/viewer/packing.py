"""Arrays and JSON of a page as one compressed block of bytes; `decode.js` reads it.

Layout: the length of the JSON text (uint32), the text, then the arrays it refers to.
"""

from __future__ import annotations

import gzip
import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Packer"]

LARGEST = 2.0**30  #: integer of a fixed-point number, so that differences fit 32 bits


class Packer:
    """Collects the arrays of a scene."""

    def __init__(self) -> None:
        self._data: list[bytes] = []
        self._at = 0

    def series(self, values: Any, unit: float) -> dict[str, Any]:
        """Keep numbers over time, shape (records, columns), rounded to a unit.

        Differences from record to record are small integers, and their bytes lie plane by plane:
        smooth motions compress to a tenth of their single-precision numbers.
        """
        x = np.asarray(values, np.float64)
        x = x.reshape(len(x), -1)
        unit = max(unit, float(np.abs(x).max(initial=0.0)) / LARGEST) or 1.0
        steps = np.diff(np.rint(x / unit).astype(np.int64), axis=0, prepend=0).astype("<i4")
        planes = np.ascontiguousarray(steps).view(np.uint8).reshape(-1, 4).T
        return {"at": self._keep(planes.tobytes()), "shape": list(x.shape), "unit": unit}

    def integers(self, values: NDArray[Any]) -> dict[str, Any]:
        """Keep unsigned integers in 2 or 4 bytes each."""
        size = 2 if values.max(initial=0) < 2**16 else 4
        raw = np.asarray(values, f"<u{size}").tobytes()
        return {"at": self._keep(raw), "count": int(values.size), "bytes": size}

    def packed(self, scene: dict[str, Any]) -> bytes:
        """JSON of a scene and all arrays, compressed."""
        text = json.dumps(scene, allow_nan=False).encode("utf-8")
        head = struct.pack("<I", len(text))
        return gzip.compress(b"".join([head, text, *self._data]), 9, mtime=0)

    def _keep(self, raw: bytes) -> int:
        at = self._at
        self._data.append(raw)
        self._at += len(raw)
        return at
