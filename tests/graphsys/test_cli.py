"""The command line: what it prints, what it writes, and what it refuses in one line."""

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import graphsys as gs
from graphsys import __main__ as cli
from graphsys import demo
from graphsys.families import body_joint_tree, random_saddle_system, random_system

ROOT = Path(__file__).parents[2]
MATRICES = Path(os.environ.get("GRAPHSYS_DATA", ROOT.parent / "shared" / "data")) / "matrices"

SYSTEM = random_system(gs.ladder(8), 3)
A = SYSTEM.to_scipy()
B = np.random.default_rng(2).standard_normal((48, 2))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a matrix in each format and right-hand sides."""
    monkeypatch.chdir(tmp_path)
    scipy.io.mmwrite("A.mtx", sp.coo_matrix(A))
    scipy.io.mmwrite("dense.mtx", A.toarray())
    scipy.io.mmwrite("b.mtx", B[:, :1])
    sp.save_npz("A.npz", A)
    np.save("A.npy", A.toarray())
    np.save("B.npy", B)
    return tmp_path


def run(capsys, *argv):
    """Exit code, facts that were printed, lines of stderr."""
    code = cli.main([str(word) for word in argv])
    out, err = capsys.readouterr()
    facts = {line[:16].strip(): line[16:] for line in out.splitlines()}
    return code, facts, err.splitlines()


def refused(capsys, *argv):
    """The one line that a refused command leaves, without its beginning."""
    code = cli.main([str(word) for word in argv])
    out, err = capsys.readouterr()
    (line,) = err.splitlines()
    assert code == 1
    assert out == ""
    assert line.startswith("graphsys: error: ")
    return line.removeprefix("graphsys: error: ")


def wrong_usage(capsys, *argv):
    """The last line that wrong usage leaves."""
    with pytest.raises(SystemExit) as caught:
        cli.main([str(word) for word in argv])
    assert caught.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


def started(*argv, cwd=ROOT):
    """A process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "graphsys", *argv],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )


def test_solve_writes_the_solution_of_a_file(folder):
    run = started("solve", "A.mtx", "b.mtx", "--dims", "3", "--out", "x.npy", cwd=folder)

    assert (run.returncode, run.stderr) == (0, "")
    x = np.load(folder / "x.npy")
    assert x.shape == (48,)
    assert np.allclose(A @ x, B[:, 0], rtol=0, atol=1e-12)


def test_a_missing_file_is_one_line_and_exit_code_1(folder):
    run = started("solve", "nothing.mtx", cwd=folder)

    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr.startswith("graphsys: error: cannot read nothing.mtx: ")
    assert run.stderr.count("\n") == 1


def test_a_reader_that_stops_early_sees_no_traceback(folder):
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run(
        [sys.executable, "-m", "graphsys", "info", "A.mtx"],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    os.close(writer)

    assert (run.returncode, run.stderr) == (1, "")


def test_the_demo_solves_three_graphs_to_rounding():
    run = started("demo", "--size", "small")

    assert (run.returncode, run.stderr) == (0, "")
    head, *lines = run.stdout.split("\n\n")[0].splitlines()
    assert head.split()[:4] == ["graph", "nodes", "cycles", "fill-in"]
    assert [line[:14].strip() for line in lines] == ["ladder 50", "net 8x8", "crystal 4x4x4"]
    assert [line.split()[2:4] for line in lines] == [["100", "49"], ["64", "49"], ["64", "81"]]
    assert all(float(line.split()[-1]) <= 1e-14 for line in lines)
    assert "on one thread" in run.stdout


@pytest.mark.parametrize("name", ["A.mtx", "A.npz", "A.npy", "dense.mtx"])
def test_a_matrix_is_read_in_every_format(folder, capsys, name):
    code, facts, err = run(capsys, "solve", name, "--dims", 3)

    assert (code, err) == (0, [])
    assert facts["unknowns"] == "48"
    assert facts["nodes"] == "16"
    assert facts["fill-in"] == str(SYSTEM.analyze().n_fill)
    assert float(facts["backward error"]) <= 1e-15
    assert float(facts["largest |x - 1|"]) <= 1e-13


@pytest.mark.parametrize(
    ("dims", "nodes"), [("3", "16"), ("24,24", "2"), ("sizes.txt", "3"), (None, "16")]
)
def test_block_sizes_are_a_number_a_list_a_file_or_found(folder, capsys, dims, nodes):
    Path("sizes.txt").write_text("12 12,\n24\n")
    _, facts, _ = run(capsys, "solve", "A.mtx", *([] if dims is None else ["--dims", dims]))

    assert facts["nodes"] == nodes


def test_several_right_hand_sides_are_solved_at_once(folder, capsys):
    code, facts, _ = run(capsys, "solve", "A.mtx", "B.npy", "--out", "x.npy", "--ordering", "dfs")

    assert code == 0
    assert facts["order"] == "dfs"
    assert "largest |x - 1|" not in facts
    assert np.allclose(A @ np.load("x.npy"), B, rtol=0, atol=1e-12)


def test_the_name_of_the_output_is_taken_as_it_is(folder, capsys):
    run(capsys, "solve", "A.mtx", "--out", "solution")

    assert np.allclose(np.load("solution"), 1.0)


def test_a_complex_right_hand_side_of_a_real_matrix_is_solved(folder, capsys):
    np.save("b.npy", B[:, 0] + 1j * B[:, 1])
    code, _, err = run(capsys, "solve", "A.mtx", "b.npy", "--out", "x.npy")

    assert (code, err) == (0, [])
    assert np.allclose(A @ np.load("x.npy"), B[:, 0] + 1j * B[:, 1], rtol=0, atol=1e-12)


def test_saddle_point_systems_are_solved(folder, capsys):
    scipy.io.mmwrite(
        "saddle.mtx", sp.coo_matrix(random_saddle_system(body_joint_tree(9)).to_scipy())
    )
    code, facts, _ = run(capsys, "solve", "saddle.mtx", "--dims", ",".join(["5,6"] * 9))

    assert code == 0
    assert float(facts["backward error"]) <= 1e-12


def test_a_loss_of_digits_is_a_warning_beside_the_result(folder, capsys, monkeypatch):
    def solve(self, b, **options):
        warnings.warn("the factors lost digits", gs.InaccurateSolutionWarning, stacklevel=1)
        return np.ones(48)

    monkeypatch.setattr(gs.Factor, "solve", solve)
    code, facts, err = run(capsys, "solve", "A.mtx", "--dims", 3)

    assert code == 0
    assert facts["unknowns"] == "48"
    assert err == ["graphsys: warning: the factors lost digits"]


def test_info_prints_the_explanation(folder, capsys):
    assert cli.main(["info", "A.mtx", "--dims", "3", "--ordering", "amd"]) == 0

    system = gs.System.from_scipy(A, 3)
    assert capsys.readouterr().out == gs.explain(system.analyze("amd")) + "\n"


def test_info_draws_the_fill_in(folder, capsys):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    assert cli.main(["info", "A.mtx", "--plot", "fill.png"]) == 0
    pyplot.close("all")

    assert Path("fill.png").read_bytes().startswith(b"\x89PNG")


def test_warmup_says_in_one_line_what_it_solved(capsys):
    assert cli.main(["warmup"]) == 0

    captured = capsys.readouterr()
    assert re.fullmatch(r"kernels ready: 44 small systems solved in .* s\n", captured.out)
    assert captured.err == ""


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])

    assert caught.value.code == 0
    assert capsys.readouterr().out == f"graphsys {gs.__version__}\n"


@pytest.mark.parametrize("content", [b"", b"no matrix\n", b"%%MatrixMarket matrix\n", b"\x00\xff"])
@pytest.mark.parametrize("name", ["bad.mtx", "bad.npz", "bad.npy"])
def test_a_file_that_is_no_matrix_is_refused(folder, capsys, name, content):
    Path(name).write_bytes(content)

    assert refused(capsys, "solve", name).startswith(f"cannot read {name}: ")
    assert refused(capsys, "info", name).startswith(f"cannot read {name}: ")


def test_a_directory_is_refused(folder, capsys):
    assert refused(capsys, "solve", ".").startswith("cannot read .: ")


def test_a_pickle_is_not_opened(folder, capsys):
    np.save("objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)

    assert refused(capsys, "solve", "objects.npy").startswith("cannot read objects.npy: ")


def test_what_is_no_matrix_is_refused(folder, capsys):
    np.save("vector.npy", np.ones(3))

    assert refused(capsys, "solve", "vector.npy") == (
        "vector.npy holds an array of shape (3,), not a matrix"
    )


def test_a_matrix_that_is_not_square_is_refused(folder, capsys):
    scipy.io.mmwrite("wide.mtx", sp.coo_matrix(np.ones((2, 3))))

    assert refused(capsys, "solve", "wide.mtx") == "A has shape (2, 3), it must be square"


def test_an_entry_that_is_not_finite_is_refused(folder, capsys):
    Path("inf.mtx").write_text("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 inf\n")

    assert refused(capsys, "solve", "inf.mtx").startswith("A[0, 0] is inf")


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ("5", "dims=5 does not divide the 48 rows of A"),
        ("3,3", "dims sum up to 6, A has 48 rows"),
        ("sizes.txt", "dims sum up to 36, A has 48 rows"),
    ],
)
def test_sizes_that_do_not_sum_up_are_refused(folder, capsys, dims, message):
    Path("sizes.txt").write_text("12 12\n12\n")

    assert refused(capsys, "solve", "A.mtx", "--dims", dims) == message


def test_a_singular_matrix_is_refused_by_its_node(folder, capsys):
    dense = A.toarray()
    dense[:, 10] = dense[10, :] = 0.0
    scipy.io.mmwrite("singular.mtx", sp.coo_matrix(dense))
    message = refused(capsys, "solve", "singular.mtx", "--dims", 3, "--out", "x.npy")

    assert "1 of its 48 rows" in message and "3 (1)" in message
    assert not Path("x.npy").exists()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_a_solution_is_judged_by_the_digits_of_its_type(folder, capsys, monkeypatch, dtype):
    sp.save_npz("typed.npz", sp.csr_array(A.astype(dtype)))
    assert cli.main(["solve", "typed.npz", "--dims", "3"]) == 0
    monkeypatch.setattr(gs.Factor, "solve", lambda factor, b: b)  # no solution at all
    assert cli.main(["solve", "typed.npz", "--dims", "3"]) == 1
    assert "error: the backward error" in capsys.readouterr().err


def test_right_hand_sides_of_another_length_are_refused(folder, capsys):
    np.save("b.npy", np.ones(47))

    assert refused(capsys, "solve", "A.mtx", "b.npy") == "b.npy has shape (47,), A has 48 rows"


def test_a_right_hand_side_that_is_not_finite_is_refused(folder, capsys):
    np.save("b.npy", np.where(np.arange(48) == 7, np.nan, 1.0))
    message = refused(capsys, "solve", "A.mtx", "b.npy", "--dims", 3)

    assert message == "b is not finite at node 2"


def test_a_right_hand_side_of_no_numbers_is_refused(folder, capsys):
    np.save("b.npy", np.array(["x"] * 48))

    assert "b" in refused(capsys, "solve", "A.mtx", "b.npy")


def test_a_file_that_cannot_be_written_is_one_line(folder, capsys):
    code = cli.main(["solve", "A.mtx", "--out", "no/such/folder/x.npy"])
    (line,) = capsys.readouterr().err.splitlines()

    assert code == 1
    assert line.startswith("graphsys: error: ")
    assert "no/such/folder/x.npy" in line


def test_an_unknown_kind_of_picture_is_one_line(folder, capsys):
    code = cli.main(["info", "A.mtx", "--plot", "fill.nothing"])
    (line,) = capsys.readouterr().err.splitlines()

    assert code == 1
    assert line.startswith("graphsys: error: Format 'nothing' is not supported")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["solve"], "the following arguments are required: A.mtx"),
        (["frobnicate"], "invalid choice: 'frobnicate'"),
        (["solve", "A.mtx", "--ordering", "rcm"], "invalid choice: 'rcm'"),
        (["demo", "--size", "huge"], "invalid choice: 'huge'"),
        (["solve", "A.mtx", "--dims", "3,x"], "'x' is not a block size"),
        (["solve", "A.mtx", "--dims", "3,-3"], "'-3' is not a block size"),
        (["solve", "A.mtx", "--dims", "2.5"], "'2.5' is neither a size, nor sizes with commas"),
        (["solve", "A.mtx", "--dims", "A.mtx"], "is not a block size; give numbers from 0 up"),
        (["solve", "A.mtx", "--dims", "A.npz"], "nor a readable file"),
    ],
)
def test_wrong_usage_exits_with_2(folder, capsys, argv, message):
    assert message in wrong_usage(capsys, *argv)


def test_the_demo_tells_a_terminal_that_it_compiles(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(cli, "demo", lambda size: iter(["a table"]))

    assert cli.main(["demo"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "a table\n"
    assert "first run compiles" in captured.err


def test_the_demo_leaves_the_environment_as_it_was(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    before = dict(os.environ)
    with demo._one_thread():
        pass

    assert dict(os.environ) == before


def test_the_demo_leaves_lapack_out_beyond_its_size(monkeypatch):
    monkeypatch.setattr(demo, "MOST_DENSE", 10)
    monkeypatch.setattr(demo, "SECONDS", 0.0)
    lines = list(demo.demo("small"))

    assert all(" - " in line for line in lines[1:4])
    assert "on one thread" in " ".join(lines)


@pytest.mark.skipif(not MATRICES.is_dir(), reason="needs the matrices of GRAPHSYS_DATA")
@pytest.mark.parametrize(
    ("name", "unknowns"), [("494_bus", "494"), ("arrow", "100"), ("tumorAntiAngiogenesis_2", "305")]
)
def test_real_matrices_are_solved_from_their_files(capsys, name, unknowns):
    code, facts, err = run(capsys, "solve", MATRICES / f"{name}.mtx")

    assert (code, err) == (0, [])
    assert facts["unknowns"] == unknowns
    assert float(facts["backward error"]) <= 1e-12
