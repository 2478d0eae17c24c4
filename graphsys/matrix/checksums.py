"""Checksums of pickled tables: compiled code trusts them, so damaged ones must not reach it."""

from __future__ import annotations

import copy
from typing import Any
from zlib import crc32

import numpy as np

_PLAIN = (bool, int, float, complex, str, range, np.generic, np.dtype)
_SEAL = "checksum"


def checksum(*parts: Any) -> int:
    """CRC-32 of all arrays, numbers and words in parts, and in what they contain.

    Parameters
    ----------
    *parts : object
        Containers and objects of this package are looked into, except for those with a checksum of
        their own; labels of another type than numbers and words are left out.
    """
    return _fed(0, parts, set())


def check(name: str, stored: object, *parts: Any) -> None:
    """ValueError where parts are not as they were stored.

    Parameters
    ----------
    name : str
        Class of what was stored.
    stored : int
        Their `checksum` then.
    *parts : object
    """
    if checksum(*parts) != stored:
        raise ValueError(f"this {name} is damaged: it differs from the one that was pickled")


class Sealed:
    """Base of classes whose pickles carry a checksum, and whose copies share no numbers."""

    def __copy__(self) -> Any:
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        other = memo[id(self)] = type(self).__new__(type(self))
        other.__dict__.update(copy.deepcopy(self._state(), memo))  # never outside memory: no seal
        return other

    def __getstate__(self) -> dict[str, Any]:
        state = self._state()
        return state | {_SEAL: checksum(state)}

    def _state(self) -> dict[str, Any]:
        """Attributes that copies and pickles have."""
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        check(type(self).__name__, state.pop(_SEAL, None), state)
        self.__dict__.update(state)


def _fed(crc: int, part: Any, seen: set[int]) -> int:
    if isinstance(part, np.ndarray):
        crc = crc32(f"{part.dtype.str}{part.shape}".encode(), crc)
        if part.size == 0 or part.dtype.hasobject:
            return crc
        return crc32(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data, crc)
    if isinstance(part, _PLAIN):
        return crc32(f"{type(part).__name__}{part!r}".encode(), crc)
    if isinstance(part, dict):
        part = list(part.items())
    elif isinstance(part, (set, frozenset)):
        part = sorted(part)
    elif isinstance(part, (tuple, list)) and len(kinds := set(map(type, part))) == 1:
        (kind,) = kinds
        if kind in (int, float, str):  # many labels at once: the same text
            text = kind.__name__ + kind.__name__.join(map(repr, part))
            return crc32(text.encode(), crc)
    elif not isinstance(part, (tuple, list)):
        ours = type(part).__module__.split(".")[0] == __name__.split(".")[0]
        if not ours or "__reduce__" in vars(type(part)) or id(part) in seen:
            return crc
        seen.add(id(part))
        part = _attributes(part)
    for item in part:
        crc = _fed(crc, item, seen)
    return crc


def _attributes(thing: object) -> list[tuple[str, Any]]:
    """Names and values of all attributes."""
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    attributes = {name: getattr(thing, name) for name in slots if hasattr(thing, name)}
    return sorted((attributes | getattr(thing, "__dict__", {})).items())
