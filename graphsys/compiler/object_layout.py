"""Places of fields in objects of CPython and numpy, which stubs read; checked once per process."""

import ctypes

import numpy as np

#: In an object: its type. In an array (``PyArrayObject_fields``): data, number of dimensions,
#: shape, strides, descriptor, flags.
TYPE, DATA, DIMENSIONS, SHAPE, STRIDES, DESCRIPTOR, FLAGS = 8, 16, 24, 32, 40, 56, 64
#: In a descriptor (``PyArray_Descr``): byte order and number of the type.
ORDER, NUMBER = 26, 28
#: In numpy's table of functions for C: `PyArray_New`, the same in all versions since 1.0.
NEW_ARRAY = 93
#: Flags of an array: contiguous by rows and by columns, aligned, writeable.
C_FLAG, F_FLAG, ALIGNED, WRITEABLE = 1, 2, 0x100, 0x400


def new_array() -> int:
    """Address of `PyArray_New`."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = get(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    return ctypes.c_size_t.from_address(table + NEW_ARRAY * ctypes.sizeof(ctypes.c_void_p)).value


def check() -> None:
    """Find the fields of an array.

    Raises
    ------
    ImportError
        If they are somewhere else than in the versions that this one knows.
    """
    probe = np.zeros((2, 3))
    address, descriptor = id(probe), id(probe.dtype)

    def field(kind: type[ctypes.c_int] | type[ctypes.c_size_t], at: int) -> int:
        return kind.from_address(at).value

    word, number = ctypes.c_size_t, ctypes.c_int
    known = ctypes.sizeof(ctypes.c_void_p) == 8 and (
        field(word, address + TYPE) == id(np.ndarray)
        and field(word, address + DATA) == probe.ctypes.data
        and field(number, address + DIMENSIONS) == 2
        and field(word, field(word, address + SHAPE)) == 2
        and field(word, field(word, address + STRIDES)) == 24
        and field(word, address + DESCRIPTOR) == descriptor
        and field(number, address + FLAGS) & (C_FLAG | F_FLAG) == C_FLAG
        and field(number, descriptor + NUMBER) == probe.dtype.num
        and field(ctypes.c_int, descriptor + ORDER - 2) >> 16 & 0xFF == ord(probe.dtype.byteorder)
    )
    if not known:
        raise ImportError(
            f"arrays of numpy {np.__version__} are laid out in a way that this version of graphsys "
            "does not know; use another version of either, or NUMBA_DISABLE_JIT=1"
        )
