"""Machine code on disk: that of the present sources, whole, and without numba the next time."""

import os
import sys

import pytest

from graphsys.compiler import DISABLE_JIT

from .toys import Toy

pytestmark = pytest.mark.skipif(DISABLE_JIT, reason="nothing is compiled")

ALL = ["inner.kernel", "middle.kernel", "outer.kernel", "outer.stub"]


@pytest.fixture
def toy(tmp_path):
    return Toy(tmp_path)


def test_the_second_process_compiles_nothing_and_never_imports_numba(toy):
    assert toy.call() == (11.0, ALL, [], True)
    assert toy.call() == (11.0, [], [], False)


def test_arguments_of_other_types_are_compiled_once_more(toy):
    toy.call()
    one = toy.call("outer(1), outer(2.0)")  # 10.0 x of a whole number
    assert one.result == [11.0, 21.0]
    assert one.written == ALL
    assert toy.call("outer(1), outer(2.0)") == ([11.0, 21.0], [], [], False)


def test_an_edited_kernel_and_its_callers_are_compiled_again_and_no_other(toy):
    both = "outer(1.0) + other(0.0)"
    assert toy.call(both).written == sorted([*ALL, "other.kernel", "other.stub"])
    toy.write("middle", "return inner(x) + 1.5", "from .inner import inner")
    assert toy.call(both) == (11.0, ["middle.kernel", "outer.kernel", "outer.stub"], [], True)
    assert toy.call(both) == (11.0, [], [], False)


def test_a_constant_counts_as_the_code_does(toy):
    body = "return ten * x"
    toy.write("inner", body, "ten = 10.0")
    toy.call()
    toy.write("inner", body, "ten = 20.0")
    assert toy.call() == (21.0, ALL, [], True)


def test_comments_and_docstrings_do_not_count(toy):
    toy.write("inner", '"""Ten times x."""\nreturn 10.0 * x')
    toy.call()
    toy.write("inner", '"""10 x."""\n# a comment\n\nreturn 10.0 * x')
    assert toy.call() == (11.0, [], [], False)


def test_code_that_checks_bounds_is_apart_and_raises(toy):
    toy.call()
    assert toy.call(NUMBA_BOUNDSCHECK="1").written == ALL
    toy.write("inner", "return x[3]")
    process = toy.start("outer(__import__('numpy').zeros(3))", NUMBA_BOUNDSCHECK="1")
    assert "IndexError: an index in a kernel is out of bounds" in process.communicate()[1]


@pytest.mark.parametrize(
    ("ending", "damage"),
    [(".kernel", "cut"), (".kernel", "flipped"), (".stub", "empty"), (".stub", "other")],
)
def test_a_damaged_file_is_named_compiled_again_and_replaced(toy, ending, damage):
    toy.call()
    (path,) = toy.files(f"outer-*{ending}")
    data = bytearray(path.read_bytes())
    code = 16 + int.from_bytes(data[8:12], "little") + 50  # after the header
    data[code] ^= 0xFF
    bad = {"empty": b"", "cut": data[:code], "flipped": data, "other": b"x" * 999}
    path.write_bytes(bad[damage])

    result, written, warned, _ = toy.call()

    assert result == 11.0
    assert f"outer{ending}" in written
    (said,) = warned
    assert "is damaged" in said
    assert path.name in said
    assert toy.call() == (11.0, [], [], False)


def test_a_missing_file_of_a_callee_is_named_and_compiled_again(toy):
    by_name = "from graphsys.compiler import backend\nbackend.SMALL = 0\n"
    assert toy.call(start=by_name).written == ALL
    (path,) = toy.files("inner-*.kernel")
    path.unlink()
    result, written, (said,), _ = toy.call(start=by_name)
    assert (result, written) == (11.0, ["inner.kernel", "outer.stub"])
    assert f"has no {path.name}" in said
    assert toy.call() == (11.0, [], [], False)


def test_machine_code_has_no_paths_of_this_machine(toy):
    toy.write("other", "return x ** int(x)")  # in numba's own function, which raises
    assert toy.call("other(3.0)").result == 27.0
    (code,) = (path.read_bytes() for path in toy.files() if path.name.endswith(".kernel"))
    assert b"OverflowError" in code and b"numbers.py" not in code


def test_processes_that_compile_at_once_do_not_disturb_each_other(toy):
    processes = [toy.start() for _ in range(2)]
    for process in processes:
        out, error = process.communicate()
        assert process.returncode == 0, error
        assert out.startswith("[11.0")
    assert toy.call() == (11.0, [], [], False)
    assert len(toy.files()) == len(ALL)


def test_what_nobody_has_used_for_a_month_is_deleted_at_the_next_compilation(toy):
    both = "outer(1.0) + other(0.0)"
    toy.call(both)
    for path in toy.files():
        os.utime(path, (0.0, 0.0))
    toy.call()  # `outer` is used, `other` is not
    toy.write("inner", "return 20.0 * x")
    assert toy.call().result == 21.0
    names = {path.name.rpartition("-")[0].split(".")[-1] for path in toy.files()}
    assert names == {"inner", "middle", "outer"}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits on the size of files")
def test_a_full_disk_leaves_code_in_memory_with_one_warning(toy):
    # a limit on the size of files is what a process sees of a full disk
    limit = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))\n"
    )
    result, _, warned, _ = toy.call(start=limit)

    assert result == 11.0
    (said,) = warned
    assert "cannot be written" in said
    assert "NUMBA_CACHE_DIR" in said
    assert not toy.files()


def test_a_folder_that_cannot_be_made_leaves_code_in_memory_with_one_warning(toy):
    toy.code.write_text("a file, where a folder should be")
    result, _, warned, _ = toy.call()

    assert result == 11.0
    (said,) = warned
    assert "cannot be written" in said
