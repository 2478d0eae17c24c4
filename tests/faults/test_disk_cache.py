"""Machine code on disk: stale, damaged, and where nothing can be written."""

import importlib
import os
import sys
import tempfile
import warnings

import pytest
from numba import config

from graphsys.kernels import disk_cache
from graphsys.kernels.jit import DISABLE_JIT

from .interrupting import script

pytestmark = pytest.mark.skipif(DISABLE_JIT, reason="nothing is compiled")


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A package with two kernels, one of which calls the other, and a folder for machine code."""
    kernels = tmp_path / "toy" / "kernels"
    kernels.mkdir(parents=True)
    for folder in (kernels.parent, kernels):
        (folder / "__init__.py").write_text("")
    write(kernels, "inner", "return 10.0 * x")
    write(kernels, "outer", "return inner(x) + 1.0", "from .inner import inner\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "code"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    forget()


def write(kernels, name, body, imports=""):
    (kernels / f"{name}.py").write_text(
        f"from graphsys.kernels.jit import kernel\n{imports}\n@kernel\ndef {name}(x):\n    {body}\n"
    )


def forget():
    """Forget the package, and what was said of it, as a new process has."""
    for name in [name for name in sys.modules if name.split(".")[0] == "toy"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    disk_cache.key_of.cache_clear()
    disk_cache.warn.cache_clear()


def call(toy):
    """Result of a kernel that is imported anew, hits in the cache, and warnings."""
    forget()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outer = importlib.import_module("toy.kernels.outer").outer
        result = outer(1.0)
    return result, sum(outer.stats.cache_hits.values()), [str(one.message) for one in caught]


def files(toy, ending):
    return sorted((toy / "code").rglob(f"*outer*{ending}"))


def test_a_changed_source_is_never_answered_by_the_code_of_another(toy):
    assert call(toy) == (11.0, 0, [])
    assert call(toy) == (11.0, 1, [])
    write(toy / "toy" / "kernels", "inner", "return 20.0 * x")  # as `git pull` does

    assert call(toy) == (21.0, 0, [])
    assert call(toy) == (21.0, 1, [])


def test_code_that_was_written_before_the_index_of_other_sources_is_not_used(toy):
    # a process that is killed between the index and the code leaves the code of before
    call(toy)
    old = [(path, path.read_bytes()) for path in files(toy, ".nbc")]
    write(toy / "toy" / "kernels", "inner", "return 20.0 * x")
    call(toy)
    for path, code in old:
        path.write_bytes(code)

    assert call(toy) == (21.0, 0, [])


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", ["empty", "cut", "flipped"])
def test_damaged_code_is_compiled_again_and_its_folder_named(toy, ending, damage):
    call(toy)
    for path in files(toy, ending):
        data = bytearray(path.read_bytes())
        data[-len(data) // 3] ^= 0xFF
        path.write_bytes({"empty": b"", "cut": data[: len(data) // 2], "flipped": data}[damage])

    result, _, warned = call(toy)

    assert result == 11.0
    assert len(warned) <= 1  # one folder, one warning; a flip may leave an index readable
    if ending == ".nbc" and damage == "flipped" or damage == "cut":
        assert "is damaged" in warned[0]
        assert str(files(toy, "")[0].parent) in warned[0]
    assert call(toy) == (11.0, 1, [])


def test_a_full_disk_leaves_code_in_memory_with_one_warning(toy):
    # a limit on the size of files is what a process sees of a full disk
    done = script(
        """
        import resource, signal, sys
        import graphsys.kernels.jit
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
        sys.dont_write_bytecode = True
        sys.path.insert(0, sys.argv[1])
        from toy.kernels.outer import outer
        assert outer(1.0) == 11.0
        """,
        toy,
        env=os.environ | {"NUMBA_CACHE_DIR": str(toy / "code")},
    )
    assert done.stderr.count("RuntimeWarning") == 1
    assert "cannot be written" in done.stderr
    assert "NUMBA_CACHE_DIR" in done.stderr
    assert not files(toy, ".nbc")
    assert not list((toy / "code").rglob("*tmp*"))
    assert call(toy) == (11.0, 0, [])


def test_without_any_folder_to_write_code_stays_in_memory_with_one_warning(toy, monkeypatch):
    def read_only(*args, **kwargs):  # how numba tries whether it may write a folder
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryFile", read_only)

    result, hits, warned = call(toy)

    assert (result, hits) == (11.0, 0)
    assert len(warned) == 1
    assert "can be written" in warned[0]
    assert "NUMBA_CACHE_DIR" in warned[0]
