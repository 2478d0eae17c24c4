"""Machine code on disk: never that of other sources, never damaged, and never a reason to stop.

numba compares the file of the function that it loads, but the code of a kernel depends on all
kernels it calls. So a key over all of these sources goes with it, and a checksum. What does not fit
is compiled again; where nothing can be written, code is kept in memory. A warning says so, once.
"""

import pickle
import warnings
import zlib
from functools import cache
from hashlib import blake2b
from pathlib import Path

import llvmlite
import numba
from numba import config
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

#: Folder of the kernels that all others call.
SHARED = Path(__file__).parent
#: Bytes of the key of sources, and of the checksum that follows it.
KEY, SUM = 16, 4


@cache
def key_of(folder: Path) -> bytes:
    """Key of all that decides on the machine code of the kernels in a folder."""
    # numba's own key leaves bounds checks out
    digest = blake2b(
        repr((numba.__version__, llvmlite.__version__, bool(config.BOUNDSCHECK))).encode(),
        digest_size=KEY,
    )
    for source in sorted({*SHARED.glob("*.py"), *folder.glob("*.py")}):
        text = source.read_bytes()
        digest.update(f"\0{source.parent.parent.name}/{source.name}\0{len(text)}\0".encode())
        digest.update(text)
    return digest.digest()


@cache
def warn(what: str, folder: str) -> None:
    """Say once per process and folder what is wrong with it."""
    warnings.warn(what.format(folder=folder), RuntimeWarning, stacklevel=3)


def warn_damaged(folder: str) -> None:
    """Say that a file of the cache is not what was written."""
    warn(
        "the machine code in {folder} is damaged; what is needed of it is compiled again and "
        "replaced. If this comes back, delete that folder",
        folder,
    )


class _Files(IndexDataCacheFile):
    """Index and machine code of one kernel; either is taken as missing unless it is whole."""

    def __init__(self, folder, name, stamp, key):
        super().__init__(folder, name, (stamp, key))
        self._folder, self._key = folder, key

    def _load_index(self):
        try:
            return super()._load_index()
        except OSError:
            return {}
        except Exception:  # whatever pickle makes of bytes that it did not write
            warn_damaged(self._folder)
            return {}

    def load(self, key):
        name = self._load_index().get(key)
        if name is None:
            return None
        try:
            data = Path(self._data_path(name)).read_bytes()
        except OSError:
            return None
        key, checksum, code = data[:KEY], data[KEY : KEY + SUM], data[KEY + SUM :]
        if key != self._key and len(key) == KEY:  # written after the index, by other sources
            return None
        if zlib.crc32(code).to_bytes(SUM) != checksum:
            warn_damaged(self._folder)
            return None
        return pickle.loads(code)

    def _save_data(self, name, data):
        code = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(self._key + zlib.crc32(code).to_bytes(SUM) + code)


class OnDisk(FunctionCache):
    """numba's cache of one kernel, with checked files."""

    #: Errors of code that is whole, but of no use any more.
    unusable: tuple[type[Exception], ...] = ()

    def __init__(self, function, key):
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, stamp, key)

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except self.unusable:
            return None
        except Exception:  # whole, and still not what this numba can load
            warn_damaged(self._cache_path)
            return None

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except OSError as error:
            warn(
                f"machine code cannot be written to {{folder}} ({error.strerror}); it is kept in "
                "memory, and the next start compiles again. Free some space there, or name another "
                "folder by NUMBA_CACHE_DIR",
                self._cache_path,
            )


class _InMemory(NullCache):
    """No cache, which is said once, at the first kernel that is compiled."""

    def save_overload(self, sig, data):
        warn(
            "neither {folder} nor the cache folder of this user can be written: machine code is "
            "kept in memory, and every start compiles again. Name a folder by NUMBA_CACHE_DIR",
            "the folder of the installation",
        )


def keep(dispatcher, kind):
    """Keep the machine code of a compiled function in a cache of some kind."""
    function = dispatcher.py_func
    try:
        folder = Path(function.__code__.co_filename).parent
        dispatcher._cache = kind(function, key_of(folder))
    except (OSError, RuntimeError):  # numba's word for: no folder can be written
        dispatcher._cache = _InMemory()
