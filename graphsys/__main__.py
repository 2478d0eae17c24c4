"""Command line: `python -m graphsys demo | solve | info | warmup`."""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp

import graphsys
from graphsys.analysis.ordering import NAMES
from graphsys.demo import SIZES, demo
from graphsys.display.report import explain, in_words
from graphsys.files import check_writable, whole_file
from graphsys.numeric.diagnosis import without_options
from graphsys.system import System

#: What reading a file of any content may raise.
UNREADABLE = (OSError, ValueError, TypeError, KeyError, EOFError, OverflowError, BadZipFile)
#: What a command may refuse in words; the rest is a mistake of ours and shows its traceback.
REFUSED = (OSError, ValueError, TypeError, ImportError, OverflowError, MemoryError)
#: Backward error of a failure of `solve`: 1e-8, in single precision 100 machine epsilons.
LARGEST_ERROR = {"f": 1e-5, "d": 1e-8, "D": 1e-8}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.

    Returns
    -------
    int
        0 where all went well, 1 where the input was refused. Wrong usage exits with 2.
    """
    arguments = _parser().parse_args(argv)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", graphsys.InaccurateSolutionWarning)
        try:
            for option in ("out", "plot"):
                if getattr(arguments, option, None) is not None:
                    check_writable(getattr(arguments, option), f"--{option}")
            arguments.run(arguments)
            sys.stdout.flush()
            code = 0
        except BrokenPipeError:  # as by `| head`: there is no reader any more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 1
        except REFUSED as error:
            _complain("error", without_options(error) or type(error).__name__)
            code = 1
    for warning in caught:
        _complain("warning", str(warning.message))
    return code


def _complain(kind: str, message: str) -> None:
    print(f"graphsys: {kind}:", " ".join(message.split()), file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphsys", description="Direct solver for block-sparse linear systems on graphs."
    )
    parser.add_argument("--version", action="version", version=f"graphsys {graphsys.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    parts = commands.add_parser(
        "demo", help="solve example systems, and compare with SuperLU and LAPACK"
    )
    parts.add_argument("--size", choices=tuple(SIZES), default="medium", help="size of the graphs")
    parts.set_defaults(run=_demo)

    parts = commands.add_parser("solve", help="solve A x = b")
    _add_matrix(parts)
    parts.add_argument("b", nargs="?", type=Path, metavar="b.mtx", help="right-hand sides: Matrix "
                       "Market, .npy or .npz; by default A times a vector of ones")  # fmt: skip
    parts.add_argument("--out", type=Path, metavar="x.npy", help="save x in numpy's format")
    parts.set_defaults(run=_solve)

    parts = commands.add_parser("info", help="describe the symbolic factorization of A")
    _add_matrix(parts)
    parts.add_argument("--plot", type=Path, metavar="fill.png", help="save a picture of the "
                       "fill-in")  # fmt: skip
    parts.set_defaults(run=_info)

    parts = commands.add_parser("warmup", help="compile the most used kernels ahead of time")
    parts.set_defaults(run=_warm_up)
    return parser


def _add_matrix(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "A", type=Path, metavar="A.mtx", help="matrix: Matrix Market or scipy's .npz"
    )
    parser.add_argument("--dims", type=_dims, metavar="SIZES", help="block sizes: one for all, a "
                        "list with commas, or a text file; by default consecutive rows of similar "
                        "pattern are a block")  # fmt: skip
    parser.add_argument(
        "--ordering",
        choices=NAMES,
        default="auto",
        help="elimination order: the best of them (auto), depth-first search (dfs), minimum degree "
        "(amd) or nested dissection (nd)",
    )


def _dims(text: str) -> int | list[int]:
    """Block sizes from the command line."""
    if "," not in text and not text.isdecimal():
        try:
            words = Path(text).read_text(encoding="utf-8").replace(",", " ").split()
        except (OSError, ValueError) as error:
            raise argparse.ArgumentTypeError(
                f"{text!r} is neither a size, nor sizes with commas, nor a readable file ({error})"
            ) from None
    else:
        words = text.replace(",", " ").split()
    wrong = [word for word in words if not word.isdecimal()]
    if wrong:
        raise argparse.ArgumentTypeError(
            f"{wrong[0]!r} is not a block size; give numbers from 0 up"
        )
    return int(text) if text.isdecimal() else [int(word) for word in words]


def _demo(arguments: argparse.Namespace) -> None:
    if sys.stderr.isatty():
        print(
            "The first run compiles the kernels, which takes about half a minute; later ones find "
            "them compiled.",
            file=sys.stderr,
        )
    for line in demo(arguments.size):
        print(line, flush=True)


def _system(arguments: argparse.Namespace) -> System:
    A = _read(arguments.A)
    return System.from_scipy(A if sp.issparse(A) else _from_dense(A, arguments.A), arguments.dims)


def _from_dense(A: Any, path: Path) -> Any:
    if A.ndim != 2:
        raise ValueError(f"{path} holds an array of shape {A.shape}, not a matrix")
    return sp.csr_array(A)


def _solve(arguments: argparse.Namespace) -> None:
    system = _system(arguments)
    ones = np.ones(system.shape[0], system.dtype)
    b = system @ ones if arguments.b is None else _right_hand_sides(arguments.b, system)
    if b.dtype.kind == "c" and system.dtype.kind != "c":
        wider = System(system.graph, dtype=complex)
        wider.values = system.values
        system = wider
    system.analyze(arguments.ordering)
    factor = system.factorize()
    x = factor.solve(b)
    symbolic, report = factor.symbolic, factor.report
    error = factor.backward_error(x, b)
    _print_table(
        unknowns=f"{system.shape[0]:,}",
        nodes=f"{len(system.labels):,}",
        order=symbolic.ordering,
        **{"fill-in": f"{symbolic.n_fill:,}"},
        operations=in_words(symbolic.operations),
        refinements=report.refinements,
        **{
            "pivot ratio": f"{factor.pivot_ratio:.1e}",
            "pivot growth": f"{factor.pivot_growth:.1e}",
            "delayed pivots": f"{factor.delayed_pivots:,}",
            "backward error": f"{error:.1e}",
        },
    )
    if arguments.b is None:
        _print_table(**{"largest |x - 1|": f"{np.abs(x - ones).max(initial=0.0):.1e}"})
    if arguments.out is not None:
        with whole_file(arguments.out) as temporary, temporary.open("wb") as file:
            np.save(file, x)
    largest = LARGEST_ERROR[system.dtype.char]
    if not error <= largest:
        raise ValueError(
            f"the backward error {error:.1e} is above {largest:.0e}: the matrix is singular to "
            "working precision, or close to it"
        )


def _print_table(**facts: object) -> None:
    for name, value in facts.items():
        print(f"{name:<16}{value}")


def _right_hand_sides(path: Path, system: System) -> Any:
    b = _read(path)
    b = b.toarray() if sp.issparse(b) else b
    if b.ndim == 2 and b.shape[1] == 1:
        b = b[:, 0]
    if b.ndim not in (1, 2) or b.shape[0] != system.shape[0]:
        raise ValueError(f"{path} has shape {b.shape}, A has {system.shape[0]} rows")
    return b


def _info(arguments: argparse.Namespace) -> None:
    symbolic = _system(arguments).analyze(arguments.ordering)
    print(explain(symbolic))
    if arguments.plot is not None:
        from graphsys.display.plot import plot_fill

        with whole_file(arguments.plot) as temporary:
            plot_fill(symbolic)[0].figure.savefig(temporary, dpi=150)


def _warm_up(arguments: argparse.Namespace) -> None:
    from graphsys.warmup import warm_up

    start = time.perf_counter()
    solved = warm_up()
    print(f"kernels ready: {solved} small systems solved in {time.perf_counter() - start:.1f} s")


def _read(path: Path) -> Any:
    """Array or scipy sparse array that a file holds."""
    try:
        if path.suffix == ".npz":
            return sp.load_npz(path)
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False)
        from scipy.io import mmread

        return mmread(path, spmatrix=False)
    except UNREADABLE as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"cannot read {path}: {reason}") from error


if __name__ == "__main__":
    sys.exit(main())
