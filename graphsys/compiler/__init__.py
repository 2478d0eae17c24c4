"""Compiles kernels once, keeps their machine code, and calls it from Python without numba.

A kernel is a Python function that numba compiles. Its machine code is stored as an object file,
and so is a small function that takes Python's arguments apart and calls it (its *stub*). A later
process loads both with LLVM's linker in milliseconds and imports numba only where a kernel is
called with arguments of types that it was not compiled for.

==============  ==================================================================================
module          what belongs there
==============  ==================================================================================
`kernel`        the decorators' objects: kernels, inlined functions, intrinsics
`lazy`          modules that are imported at the first use of an attribute
`keys`          hash of all code that a kernel is made of
`store`         object files on disk: whole, checked, atomically written
`machine`       loading object files; machine code as a callable of Python
`lazy_binding`  kernels that are loaded or compiled when another kernel first calls them
`object_layout` places of fields in objects of CPython and numpy
`backend`       numba: compiling, linking kernels by name, writing the object files
`pipeline`      numba's passes that kernels need, and what it makes LLVM's code of
`shared`        LLVM functions that several kernels call: each compiled once
`stubs`         code between Python's arguments and a kernel
`ahead`         a second process that compiles what a first motion or solution needs later
`progress`      a line on the terminal while kernels are compiled
`packaging`     object files of the kernels that users meet first, for wheels; hatchling runs it
`numba_speed`   what makes numba itself faster, apart from everything else
==============  ==================================================================================
"""

from graphsys.compiler.kernel import (
    DIFFER,
    DISABLE_JIT,
    Hint,
    Inlined,
    Interpreted,
    Intrinsic,
    Kernel,
    LanesDifferError,
    Lazy,
    bind_all,
    compile_all,
)
from graphsys.compiler.lazy import LazyModule

__all__ = [
    "DIFFER",
    "DISABLE_JIT",
    "Inlined",
    "Interpreted",
    "Hint",
    "Intrinsic",
    "Kernel",
    "LanesDifferError",
    "Lazy",
    "LazyModule",
    "bind_all",
    "compile_all",
]
