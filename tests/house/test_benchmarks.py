"""The benchmarks: peers of the papers are there, and no class reads another's cache."""

import importlib
import inspect
import sys

import pytest

from .source import ROOT, expect_none


@pytest.fixture
def against(monkeypatch):
    """The module of peers."""
    monkeypatch.syspath_prepend(str(ROOT / "asv_benchmarks"))
    monkeypatch.setitem(sys.modules, "benchmarks", importlib.import_module("benchmarks"))
    return importlib.import_module("benchmarks.against")


@pytest.mark.parametrize("name", ["Ladder", "Net", "Crystal"])
def test_lapack_dense_is_a_peer_as_in_figure_9(against, name):
    sizes, peers = getattr(against, name).params

    assert "LAPACK dense" in peers
    assert any(6 * n <= 2500 for n in sizes)  # the largest that it is timed at


def test_every_class_fills_a_cache_of_its_own(against):
    # asv names a cache by the line of `setup_cache`, so an inherited one is that of another class
    classes = against._Against.__subclasses__()
    lines = [inspect.getsourcelines(cls.setup_cache)[1] for cls in classes]

    assert len(classes) >= 9
    assert len(set(lines)) == len(classes)
    assert all(cls.__name__ in inspect.getsource(cls.setup_cache) for cls in classes)


def test_benchmarks_that_run_as_modules_answer_help():
    folder = ROOT / "asv_benchmarks" / "benchmarks"
    scripts = [p for p in folder.glob("*.py") if '\nif __name__ == "__main__":' in p.read_text()]

    assert len(scripts) > 20
    answers = ("    answer_help(__doc__)\n", "ArgumentParser(description=__doc__")
    expect_none([p.name for p in scripts if not any(one in p.read_text() for one in answers)])
