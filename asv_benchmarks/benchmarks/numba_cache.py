"""A numba cache directory named after the compiled sources; shared by the tests and asv.

Numba's on-disk cache looks at one file only: when a kernel calls a kernel of another file and
that file changes, the cached caller keeps the old callee (numba issue 1833). So the cache lives
in a directory whose name is a hash over every file that may hold compiled code, and a change of
any of them starts an empty directory. This module imports neither numba nor graphsys.
"""

import hashlib
import os
import shutil
import tempfile
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("graphsys", "dynamics")
KEPT_SECONDS = 14 * 24 * 3600.0


def sources(packages=PACKAGES):
    """Files that may hold compiled code: those in a `kernels` folder (tests/house holds this)."""
    found = []
    for package in packages:
        spec = find_spec(package)
        for folder in spec.submodule_search_locations if spec else ():
            root = Path(folder)
            found += [
                (f"{package}/{p.relative_to(root)}", p) for p in root.rglob("kernels/**/*.py")
            ]
    return sorted(found)


def key(packages=PACKAGES):
    """Hash over the compiled sources, numba's version and whether bounds are checked."""
    checked = os.environ.get("NUMBA_BOUNDSCHECK", "")  # numba's own key leaves it out
    digest = hashlib.sha256((version("numba") + checked).encode())
    for name, path in sources(packages):
        digest.update(f"\0{name}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def use():
    """Point NUMBA_CACHE_DIR at the directory of the present sources; return that directory.

    To be called before numba is imported. A NUMBA_CACHE_DIR that is set already is kept as the
    parent. Directories that no run has used for two weeks are deleted.
    """
    name = f"graphsys-{key()}"
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given and Path(given).name == name:  # set by the process that started this one
        return Path(given)
    parent = Path(given or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "numba")
    try:
        folder = parent.expanduser() / name
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except (OSError, RuntimeError):  # no home, or not ours to write
        folder = Path(tempfile.mkdtemp(prefix="graphsys-numba-")) / name
        folder.mkdir()
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    _delete_unused(folder.parent)
    return folder


def _delete_unused(parent):
    oldest = time.time() - KEPT_SECONDS
    for folder in parent.glob("graphsys-*"):
        try:
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # another process was faster
            pass
