"""Modules that are imported at the first use of an attribute."""

from importlib import import_module
from types import ModuleType
from typing import Any


class LazyModule:
    """A module by its name, such as ``LazyModule("numba.types")``.

    Parameters
    ----------
    name : str
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        if self._module is None:
            self._module = import_module(self._name)
        value = getattr(self._module, attribute)
        setattr(self, attribute, value)
        return value

    def __repr__(self) -> str:
        return f"LazyModule({self._name!r})"
