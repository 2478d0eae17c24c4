"""Hash of all code that a kernel is made of: its own, and that of all functions it may call.

Byte code is hashed, not text, so comments and docstrings do not count, and no source file is
needed. Names are looked up as Python would: functions of kernels packages are followed, and
constants count by their values.
"""

from __future__ import annotations

import marshal
import re
import sys
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from types import CodeType, FunctionType, ModuleType
from typing import Any

from graphsys.compiler.lazy import LazyModule

#: Bytes of a key.
SIZE = 12


def key_of(function: FunctionType) -> str:
    """Key of a function and all that it may call, hexadecimal."""
    found: dict[int, tuple[str, bytes]] = {}
    left = [function]
    while left:
        one = left.pop()
        if id(one) in found:
            continue
        digest, more = _own(one)
        found[id(one)] = f"{one.__module__}.{one.__qualname__}", digest
        left += more
    total = blake2b(digest_size=SIZE)
    for name, digest in sorted(found.values()):
        total.update(name.encode() + b"\0" + digest)
    return total.hexdigest()


def file_name(function: Any, code: str, role: str) -> str:
    """Name of the file of a function's machine code, by all that decides on it.

    Parameters
    ----------
    function : Kernel or Shared
    code : str
        Key of its code, and what it is compiled for.
    role : str
        Ending.
    """
    digest = blake2b(f"{code} {role}".encode(), digest_size=10).hexdigest()
    place = f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "")
    return f"{place}-{digest}.{role}"


#: What `_own` found, by function; functions are kept so that no other object gets their id.
_known: dict[int, tuple[FunctionType, bytes, list[FunctionType]]] = {}


def _own(function: FunctionType) -> tuple[bytes, list[FunctionType]]:
    """Digest of a function alone, and the functions that it refers to."""
    if id(function) not in _known:
        digest, more = blake2b(digest_size=SIZE), _References()
        names: set[str] = set()
        _add_code(digest, function.__code__, names)
        more.add("defaults", (function.__defaults__, function.__kwdefaults__))
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            more.add(name, cell.cell_contents)
        for name in sorted(names & function.__globals__.keys()):
            value = function.__globals__[name]
            if isinstance(value, ModuleType):
                for attribute in sorted(names & vars(value).keys()):
                    more.add(f"{name}.{attribute}", vars(value)[attribute])
            else:
                more.add(name, value)
        digest.update(repr(more.constants).encode())
        _known[id(function)] = function, digest.digest(), more.functions
    return _known[id(function)][1:]


def _add_code(digest: Any, code: CodeType, names: set[str]) -> None:
    """Hash byte code and constants, but neither docstring nor places in the source."""
    doc = code.co_consts[0] if code.co_consts and isinstance(code.co_consts[0], str) else None
    digest.update(repr((code.co_name, code.co_argcount, code.co_varnames, code.co_names)).encode())
    digest.update(code.co_code)
    names.update(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add_code(digest, constant, names)
        elif constant is not doc:
            digest.update(repr(constant).encode() + b"\0")


class _References:
    """Functions and constants that a function refers to."""

    def __init__(self) -> None:
        self.functions: list[FunctionType] = []
        self.constants: list[tuple[str, str]] = []

    def add(self, name: str, value: Any) -> None:
        if isinstance(value, LazyModule):
            self.constants.append((name, f"{value._name} {sources(value._name)}"))
            return
        function = getattr(value, "py_func", value)
        if isinstance(function, FunctionType):
            if _is_ours(function.__module__):
                self.functions.append(function)
            options = getattr(value, "targetoptions", "")
            self.constants.append((name, f"{function.__module__}.{function.__qualname__}{options}"))
        elif isinstance(value, dict):
            for key, entry in value.items():
                self.add(f"{name}[{key!r}]", entry)
        elif isinstance(value, (tuple, list)):
            for i, entry in enumerate(value):
                self.add(f"{name}[{i}]", entry)
        elif isinstance(value, (type, ModuleType)):
            self.constants.append((name, f"{getattr(value, '__module__', '')}.{value.__name__}"))
            if isinstance(value, type) and _is_ours(value.__module__):
                members = vars(value).items()
                self.functions += [one for _, one in members if isinstance(one, FunctionType)]
        elif hasattr(value, "tobytes") and hasattr(value, "dtype"):
            self.constants.append((name, f"{value.dtype}{value.shape}{value.tobytes()!r}"))
        elif isinstance(value, (int, float, complex, str, bytes, frozenset, type(None))):
            self.constants.append((name, repr(value)))
        else:  # of no value that is the same in another process
            self.constants.append((name, type(value).__qualname__))


def _is_ours(module: str | None) -> bool:
    """True if code of a module is followed: not that of numpy, numba or Python itself."""
    top = (module or "").split(".")[0]
    return top not in {"numpy", "numba", "llvmlite", "scipy"} | sys.stdlib_module_names


#: An import at the top of a module: whence, and the names.
IMPORT = re.compile(r"^(?:from|import) ([\w.]+)(?: import (\([^)]*\)|.*))?$", re.MULTILINE)


def sources(module: str) -> str:
    """Hash of a module that emits code and of all that it imports of its package of kernels."""
    return _emitting(module) if _is_ours(module) else ""


@cache
def _emitting(module: str) -> str:
    """Hash of the sources of a module and of those that it imports, within one top folder."""
    path = module.split(".")
    top = ".".join(path[: path.index("kernels") + 1] if "kernels" in path else path[:-1])
    texts: dict[str, bytes] = {}
    left = [module]
    while left:
        name = left.pop()
        if name in texts or not name.startswith(top + "."):
            continue
        texts[name] = source_of(name)
        for start, names in IMPORT.findall(texts[name].decode(errors="replace")):
            left.append(start)
            if start.startswith(top) and _is_package(start):
                left += [f"{start}.{one}" for one in re.findall(r"\w+", names)]
    digest = blake2b(digest_size=SIZE)
    for name, text in sorted(texts.items()):
        digest.update(name.encode() + b"\0" + text)
    return digest.hexdigest()


def _is_package(name: str) -> bool:
    spec = find_spec(name)
    return spec is not None and spec.submodule_search_locations is not None


def source_of(module: str) -> bytes:
    """Source of a module, imported or not, in a folder or an archive; else its byte code."""
    spec = find_spec(module)
    loader: Any = spec.loader if spec else None
    with suppress(AttributeError, ImportError, OSError):
        return bytes(loader.get_data(spec.origin))  # type: ignore[union-attr]
    with suppress(AttributeError, ImportError):
        return marshal.dumps(loader.get_code(module))
    return b""
