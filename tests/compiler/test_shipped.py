"""Machine code that comes with an installed package: used where it fits, and only there."""

import json
import os
import subprocess
import sys
from importlib import import_module

import pytest

from graphsys.compiler import DISABLE_JIT, Kernel, machine
from graphsys.compiler.kernel import words_of
from graphsys.compiler.packaging import build
from graphsys.compiler.progress import Progress

from .toys import CHECKOUT, Toy

pytestmark = pytest.mark.skipif(DISABLE_JIT, reason="nothing is compiled")

#: A package whose machine code is in a folder of its own.
SHIPPED = """
from pathlib import Path
from graphsys.compiler import store
store.SHIPPED = Path({folder!r})
"""


#: Prints a checksum of a solve and of two motions, and whether numba was there.
RESULTS = """
import sys
from hashlib import sha256
import numpy as np
import graphsys as gs
import dynamics as dy
from graphsys.families import random_system

system = random_system(gs.ladder(40), 6, dominance=10.0)
total = sha256(system.factorize().solve(np.linspace(-1.0, 1.0, system.shape[0])).tobytes())
for model, state in (dy.zoo.double_pendulum(), dy.zoo.quadruped()):
    total.update(dy.simulate(model, state, 50 * model.timestep).states.tobytes())
print(total.hexdigest(), 'numba' in sys.modules)
"""
CAUGHT = {"check": True, "capture_output": True, "text": True}


@pytest.fixture
def shipped(tmp_path):
    """A toy package with machine code, an empty cache, and what makes a process use the first."""
    toy = Toy(tmp_path)
    toy.call()
    folder = tmp_path / "objects" / machine.host_level()
    folder.mkdir(parents=True)
    for path in toy.files():
        path.rename(folder / path.name)
    (folder / "manifest.json").write_text(json.dumps(machine.build_of()))
    return toy, folder, SHIPPED.format(folder=str(folder.parent))


def test_it_is_used_without_numba_and_without_writing(shipped):
    toy, _, start = shipped
    assert toy.call(start=start) == (11.0, [], [], False)
    assert not toy.files()


def test_what_is_not_in_it_is_compiled_into_the_cache(shipped):
    toy, _, start = shipped
    both = "outer(1.0) + other(0.0)"
    assert toy.call(both, start) == (10.0, ["other.kernel", "other.stub"], [], True)
    assert toy.call(both, start) == (10.0, [], [], False)


def test_changed_sources_are_not_answered_by_it(shipped):
    toy, _, start = shipped
    toy.write("inner", "return 20.0 * x")
    assert toy.call(start=start).result == 21.0


@pytest.mark.parametrize("ending", ["kernel", "stub"])
def test_a_damaged_file_is_named_and_compiled_again(shipped, ending):
    toy, folder, start = shipped
    (path,) = folder.glob(f"*outer*.{ending}")
    path.write_bytes(path.read_bytes()[:100])
    result, _, (said,), numba = toy.call(start=start)
    assert (result, numba) == (11.0, True)
    assert path.name in said


@pytest.mark.parametrize("wrong", ["python", "numpy", "machine", "platform", "graphsys"])
def test_that_of_another_build_is_left_alone_with_one_line(shipped, wrong):
    toy, folder, start = shipped
    (folder / "manifest.json").write_text(json.dumps(machine.build_of() | {wrong: "other"}))
    result, _, (said,), numba = toy.call("outer(1.0) + other(0.0)", start)
    assert (result, numba) == (10.0, True)
    assert str(folder.parent) in said and f"built for another {wrong}: kernels are compiled" in said
    assert toy.call("outer(1.0) + other(0.0)", start) == (10.0, [], [], False)


def test_a_processor_below_its_lowest_level_compiles_with_one_line(shipped):
    toy, folder, start = shipped
    folder.rename(folder.parent / "x86-64-v4")
    start += "from graphsys.compiler import machine\nmachine.host_level = lambda: 'x86-64-v3'\n"
    result, _, (said,), numba = toy.call("outer(1.0) + other(0.0)", start)
    assert (result, numba) == (10.0, True)
    assert "is for processors of level x86-64-v4, and this one has x86-64-v3" in said
    assert toy.call("outer(1.0)", start) == (11.0, [], [], False)


def test_a_missing_file_that_others_need_is_named_and_compiled_again(shipped):
    toy, folder, start = shipped
    (path,) = folder.glob("*outer*.kernel")
    path.unlink()
    result, _, (said,), numba = toy.call(start=start)
    assert (result, numba) == (11.0, True)
    assert f"{folder} has no {path.name}" in said


def test_who_names_a_processor_compiles_for_it(shipped):
    toy, _, start = shipped
    assert toy.call(start=start, NUMBA_CPU_NAME="generic").numba


def test_levels_go_from_the_best_to_what_every_processor_has():
    needed = [set(features) for features in machine.LEVELS.values()]
    assert all(better >= worse for better, worse in zip(needed, needed[1:]))
    assert needed[-1] == set()
    assert machine.host_level() in machine.LEVELS


class Terminal:
    """What is written, on a terminal or not."""

    def __init__(self, yes):
        self.yes, self.text = yes, ""

    def isatty(self):
        return self.yes

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize(
    ("seconds", "terminal", "said"), [(3, True, 1), (3, False, 0), (0, True, 0)]
)
def test_a_terminal_is_told_that_kernels_are_compiled(monkeypatch, seconds, terminal, said):
    stream, now = Terminal(terminal), [0.0]
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    progress = Progress()
    with progress:
        now[0] += seconds
        progress.tick()
        assert stream.text.count("compiling kernels, once per machine ... 3 s") == said
    assert stream.text.endswith("\x1b[K") == terminal  # the line is erased
    progress.tick()
    assert stream.text.count("compiling") == said


def test_the_list_names_kernels_with_a_kind_for_each_argument():
    for module, entries in build.kernels().items():
        for name, kinds, role in entries:
            kernel = getattr(import_module(module), name)
            assert isinstance(kernel, Kernel) and f".{role}" in build.CALLED
            assert len(words_of(kinds)) == kernel.py_func.__code__.co_argcount, (module, name)


def test_building_needs_neither_scipy_nor_networkx():
    program = (
        "import runpy, sys\n"
        "from importlib import import_module\n"
        f"build = runpy.run_path({build.__file__!r})\n"
        "build['import_kernels_only']()\n"
        "for module in build['kernels']():\n"
        "    import_module(module)\n"
        "print({'scipy', 'networkx'} & sys.modules.keys())\n"
    )
    said = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, **CAUGHT)
    assert said.stdout.strip() == "set()"


def test_processes_claim_each_thing_once(tmp_path):
    assert [build._claim(tmp_path, what) for what in ("a", "b", "a")] == [True, True, False]


def test_an_outdated_line_says_how_to_write_the_list(monkeypatch, tmp_path):
    listed = {"graphsys.kernels.base.layout": [("work_sizes", "int int int", "stub")]}
    monkeypatch.setattr(build, "kernels", lambda: listed)
    with pytest.raises(RuntimeError, match=r"work_sizes int int int .*packaging\.record"):
        build.compile_shipped(tmp_path)


def test_one_process_makes_the_same_bytes_each_time(tmp_path):
    found = []
    for seed in "12":
        (tmp_path / seed).mkdir()
        toy = Toy(tmp_path / seed)
        collect = (
            "__import__('graphsys.compiler.packaging.build').compiler.packaging.build._collect("
            f"Path({str(toy.code)!r}), Path({str(tmp_path / seed / 'objects')!r}))"
        )
        process = toy.start(
            f"outer(1.0), other(1.0), {collect}",
            "from pathlib import Path\n",
            PYTHONHASHSEED=seed,
        )
        out, error = process.communicate()
        assert process.returncode == 0, error
        files = (tmp_path / seed / "objects").iterdir()
        found.append({path.name: path.read_bytes() for path in files})
    assert len(found[0]) == 5  # two stubs, two kernels, and the manifest
    assert found[0] == found[1]


@pytest.mark.slow
def test_object_files_of_a_level_start_both_packages_without_numba(tmp_path):
    command = [sys.executable, build.__file__, str(tmp_path / "objects"), "--levels", "host"]
    subprocess.run(command, check=True, cwd=CHECKOUT)
    first = SHIPPED.format(folder=str(tmp_path / "objects")) + (
        "import sys\n"
        "from dynamics.warmup import warm_up\n"
        "warm_up()\n"
        "from graphsys.warmup import warm_up\n"
        "warm_up()\n"
        "assert 'numba' not in sys.modules\n"
        "from graphsys.compiler.packaging import build, record\n"
        "other = {*record.called()} ^ {*build.SHIPPED.read_text().splitlines()}\n"
        "assert not other, other\n"
    )
    empty = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "empty")}
    subprocess.run([sys.executable, "-c", first], check=True, cwd=CHECKOUT, env=empty)
    assert not (tmp_path / "empty").exists()

    # numba compiles the same kernels for the same level: the same numbers to the last bit
    program = SHIPPED.format(folder=str(tmp_path / "objects")) + RESULTS
    by_files = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, env=empty, **CAUGHT)
    level = build.environment(machine.host_level(), tmp_path / "compiled")
    by_numba = subprocess.run([sys.executable, "-c", RESULTS], cwd=CHECKOUT, env=level, **CAUGHT)
    assert by_files.stdout.split() == [by_numba.stdout.split()[0], "False"]
    assert by_numba.stdout.split()[1] == "True"
