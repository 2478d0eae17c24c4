"""The cache directory follows the compiled sources."""

import os
import sys
from pathlib import Path

import pytest

import benchmarks
from benchmarks import numba_cache


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package `toy` with one kernel and one plain module."""
    (tmp_path / "toy" / "kernels").mkdir(parents=True)
    for name in ("__init__.py", "plain.py", "kernels/__init__.py", "kernels/product.py"):
        (tmp_path / "toy" / name).write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "toy"


def test_this_run_uses_the_directory_of_its_sources():
    assert benchmarks.NUMBA_CACHE == Path(os.environ["NUMBA_CACHE_DIR"])
    if "numba" in sys.modules:
        from numba.core import config

        assert os.environ["NUMBA_CACHE_DIR"] == config.CACHE_DIR


def test_a_changed_added_or_renamed_kernel_changes_the_key(package):
    keys = [numba_cache.key(["toy"])]
    (package / "kernels" / "product.py").write_text("x = 2\n")
    keys.append(numba_cache.key(["toy"]))
    (package / "kernels" / "inverse.py").write_text("x = 2\n")
    keys.append(numba_cache.key(["toy"]))
    (package / "kernels" / "inverse.py").rename(package / "kernels" / "pivot.py")
    keys.append(numba_cache.key(["toy"]))

    assert len(set(keys)) == 4


def test_code_that_checks_bounds_has_a_directory_of_its_own(package, monkeypatch):
    monkeypatch.delenv("NUMBA_BOUNDSCHECK", raising=False)
    before = numba_cache.key(["toy"])
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")

    assert numba_cache.key(["toy"]) != before


def test_a_module_outside_kernels_leaves_the_key(package):
    before = numba_cache.key(["toy"])
    (package / "plain.py").write_text("x = 2\n")

    assert numba_cache.key(["toy"]) == before


def test_a_given_directory_becomes_the_parent(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    folder = numba_cache.use()

    assert folder.parent == tmp_path
    assert numba_cache.use() == folder  # a child process adds no second level
    assert os.environ["NUMBA_CACHE_DIR"] == str(folder)


def test_a_directory_nobody_used_for_two_weeks_is_deleted(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    old, other = tmp_path / "graphsys-0123", tmp_path / "other"
    for folder in (old, other):
        folder.mkdir()
        os.utime(folder, (0.0, 0.0))

    numba_cache.use()

    assert not old.exists()
    assert other.exists()


def test_without_a_writable_home_a_temporary_directory_is_used(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    assert numba_cache.use().is_relative_to(tmp_path)
