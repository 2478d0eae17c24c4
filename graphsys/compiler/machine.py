"""Machine code in this process: object files by LLVM's linker, and callables for Python.

`llvmlite.binding` alone is needed, not numba. All object files go into one execution engine, each
after those that it needs.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from graphsys.compiler import keys, object_layout, store
from graphsys.compiler.lazy_binding import Slot

FASTCALL = 0x80
#: Processor levels that wheels have machine code for, by LLVM's names, the best first, and the
#: features that the host must have; those of a level hold for all before it.
LEVELS = {
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl",
                  "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "x86-64": (),
    "generic": (),
}  # fmt: skip
#: Environment variable that keeps machine code of the installed package from being used.
NOT_SHIPPED = "GRAPHSYS_COMPILE"

# Objects that stubs name. numba gives some of Python's own names another meaning.
for _one in (None, True, False):
    llvm.add_symbol(f"graphsys_{_one}", id(_one))
for _type in (int, float, complex, tuple, np.ndarray):
    llvm.add_symbol(f"graphsys_{_type.__name__}", id(_type))


llvm.add_symbol("graphsys_new_array", object_layout.new_array())


class MethodDefinition(ctypes.Structure):
    """PyMethodDef of CPython."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("code", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    ]


_new = ctypes.pythonapi.PyCFunction_NewEx
_new.argtypes = [ctypes.POINTER(MethodDefinition), ctypes.py_object, ctypes.c_void_p]
_new.restype = ctypes.py_object


def callable_at(address: int, name: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Callable of Python for a stub, which calls ``otherwise`` where arguments do not fit it."""
    text = name.encode()
    made = MethodDefinition(text, address, FASTCALL, None)
    # Python keeps pointers to both and reads them when it clears callables at its end, when this
    # module may be cleared already: they stay for good.
    for kept in (made, text):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    result: Callable[..., Any] = _new(ctypes.byref(made), otherwise, None)
    return result


@cache
def target() -> str:
    """Hash of what machine code depends on apart from its sources: versions, processor, checks."""
    name, features = processor()
    checked = os.environ.get("NUMBA_BOUNDSCHECK") or "0"
    said = repr((
        sys.implementation.cache_tag, np.__version__.split(".")[0], llvmlite.__version__,
        _numba_version(), platform.machine(), sys.platform, name, features, checked,
        os.environ.get("NUMBA_OPT") or "", _compiler(),
    ))  # fmt: skip
    return blake2b(said.encode(), digest_size=6).hexdigest()


@cache
def _compiler() -> str:
    """Hash of the modules that decide on machine code apart from the kernels themselves."""
    digest = blake2b(digest_size=6)
    for name in (
        "backend", "lazy_binding", "machine", "numba_speed", "object_layout", "pipeline", "shared",
        "stubs",
    ):  # fmt: skip
        digest.update(keys.source_of(f"graphsys.compiler.{name}"))
    return digest.hexdigest()


def processor() -> tuple[str, str]:
    """Processor that is compiled for, and its features: this one, or that of numba's settings."""
    name, features = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    if features is None:
        features = "" if name else llvm.get_host_cpu_features().flatten()
    return name or llvm.get_host_cpu_name(), features


def _numba_version() -> str:
    """Version of numba, without importing it."""
    if "numba" in sys.modules:
        return str(sys.modules["numba"].__version__)
    from importlib.metadata import version

    return version("numba")


@cache
def folder() -> Path:
    """Folder of the machine code that this process writes."""
    return store.cache_folder() / f"objects-{target()}"


def build_of() -> dict[str, str]:
    """Properties that machine code in a wheel shares with the process that loads it."""
    return {
        "python": str(sys.implementation.cache_tag),
        "numpy": np.__version__.split(".")[0],
        "machine": platform.machine(),
        "platform": sys.platform,
        "graphsys": _compiler(),
    }


def host_level() -> str:
    """The best of `LEVELS` for this processor."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return "generic"
    has = llvm.get_host_cpu_features()
    return next(
        level for level, needed in LEVELS.items() if all(has.get(feature) for feature in needed)
    )


@cache
def shipped() -> Path | None:
    """Folder of machine code of the installed package that runs here; None without one."""
    builds, level = _builds(), host_level()
    for name in list(LEVELS)[list(LEVELS).index(level) :]:
        if builds.get(name) == build_of():
            return store.SHIPPED / name
    return None


def _builds() -> dict[str, dict[str, str]]:
    """Properties of the machine code that came with the installed package, by level.

    Whoever names a processor, checks bounds or sets `NOT_SHIPPED` gets what he compiles.
    """
    settings = "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_OPT", NOT_SHIPPED
    checked = int(os.environ.get("NUMBA_BOUNDSCHECK") or 0)
    found: dict[str, dict[str, str]] = {}
    if checked or any(map(os.environ.get, settings)) or not store.SHIPPED.is_dir():
        return found
    for name in LEVELS:
        with suppress(OSError, ValueError):
            found[name] = json.loads((store.SHIPPED / name / "manifest.json").read_bytes())
    return found


@cache
def explain_compiling() -> None:
    """Say once why machine code of the installed package is not used, if there is some."""
    builds = _builds()
    if not builds or shipped() is not None:
        return
    fitting = [name for name, build in builds.items() if build == build_of()]
    if fitting:
        why = f"is for processors of level {fitting[-1]}, and this one has {host_level()}"
    else:
        (build, *_), here = builds.values(), build_of()
        differing = [key for key in here if build.get(key) != here[key]]
        why = f"was built for another {' and '.join(differing)}"
    store.warn(
        f"the machine code in {{folder}} {why}: kernels are compiled at their first use, once per "
        "machine. Install graphsys from its sources for machine code that fits",
        str(store.SHIPPED),
    )


def read(name: str, payload: bool = False) -> store.Entry | None:
    """A file of the store, from the installed package or from the cache of this user.

    Files of the package are without what numba needs.
    """
    place = None if payload else shipped()
    entry = None if place is None else store.read(place / name)
    return store.read(folder() / name, payload) if entry is None else entry


def _warn_if_missing(name: str) -> None:
    """Say that there is no file of a name, neither in the installed package nor in the cache."""
    places = [place for place in (shipped(), folder()) if place is not None]
    if not any((place / name).exists() for place in places):
        store.warn(
            f"the machine code in {{folder}} has no {name}; it is compiled again", str(places[0])
        )


class _Engine:
    """LLVM's linker, and the addresses of what it has loaded."""

    def __init__(self) -> None:
        object_layout.check()
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        module = llvm.parse_assembly("")
        self.engine = llvm.create_mcjit_compiler(module, machine)
        self.loaded: dict[str, str] = {}

    def load(self, name: str) -> int | None:
        """Address of the symbol of a file, once all that it needs is loaded; None if missing."""
        entries = {} if name in self.loaded else self._collect(name, {})
        if entries is None:
            return None
        if any(entry.header.get("helpers") for entry in entries.values()):
            from graphsys.compiler import (
                backend,  # imports numba, which makes its functions in C known
            )

            backend.refresh()
        for one, entry in entries.items():
            for needs in entry.header.get("slots", ()):
                Slot.declare(needs)
            self.engine.add_object_file(llvm.ObjectFileRef.from_data(entry.code))
            self.loaded[one] = entry.header["symbol"]
        self.engine.finalize_object()
        return int(self.engine.get_function_address(self.loaded[name]))

    def _collect(self, name: str, found: dict[str, store.Entry]) -> dict[str, store.Entry] | None:
        """Files to load: a file, and before it those that it needs."""
        entry = read(name)
        if entry is None:
            return None
        for needed in entry.header["needs"]:
            if needed not in self.loaded and needed not in found:
                if self._collect(needed, found) is None:
                    _warn_if_missing(needed)
                    return None
        found[name] = entry
        return found


@cache
def engine() -> _Engine:
    """The one engine of this process."""
    return _Engine()
