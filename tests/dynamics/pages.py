"""What a page of a motion holds, unpacked as its own program does."""

import base64
import gzip
import json
import re
import struct

import numpy as np


def block(page, name):
    """Unpacked bytes of one of the page's two blocks."""
    text = re.search(rf'<script id="{name}" type="application/octet-stream">(.*?)</script>', page)
    return gzip.decompress(base64.b64decode(text[1]))


def scene_of(page):
    """JSON of the scene of a page, given as text, and the bytes of its arrays."""
    data = block(page, "scene")
    (length,) = struct.unpack_from("<I", data)
    return {**json.loads(data[4 : 4 + length]), "data": data[4 + length :]}


def series_of(scene, ref):
    """Numbers of a time series, as `decode.js` reads them, shape (records, columns)."""
    k, m = ref["shape"]
    planes = np.frombuffer(scene["data"], np.uint8, 4 * k * m, ref["at"]).reshape(4, -1)
    steps = np.ascontiguousarray(planes.T).view("<i4").reshape(k, m)
    return ref["unit"] * np.cumsum(steps, axis=0, dtype=np.int64)


def integers_of(scene, ref):
    return np.frombuffer(scene["data"], f"<u{ref['bytes']}", ref["count"], ref["at"])


def time_of(scene):
    return series_of(scene, scene["time"])[:, 0]
