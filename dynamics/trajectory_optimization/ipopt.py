"""Ipopt by CasADi, for a program that has derivatives of its own (extra ``trajectories``)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import graphsys as gs
from dynamics.trajectory_optimization.entries import Entries
from dynamics.trajectory_optimization.transcription import Transcription

try:
    import casadi
    from casadi import Callback
except ImportError:  # `minimize` says so
    casadi, Callback = None, object

__all__ = ["Answer", "minimize"]

Float = NDArray[np.float64]


class Answer(NamedTuple):
    """Answer of Ipopt.

    Attributes
    ----------
    z : ndarray of float
        Variables.
    multipliers, bound_multipliers : ndarray of float
        Of the rows and of the variables' bounds.
    status : str
        Ipopt's return status.
    success : bool
        Whether Ipopt calls z optimal, to its tolerance or to its acceptable one.
    iterations : int
        Of the interior-point method.
    seconds, evaluation_seconds : float
        Of processor time: in all, and for the functions and their derivatives.
    """

    z: Float
    multipliers: Float
    bound_multipliers: Float
    status: str
    success: bool
    iterations: int
    seconds: float
    evaluation_seconds: float


class _Function(Callback):
    """A function of arrays for CasADi, named as `nlpsol` wants it; it counts its time."""

    def __init__(
        self,
        name: str,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        values: Sequence[Callable[..., Any]],
        failed: list[BaseException],
    ) -> None:
        Callback.__init__(self)
        self.inputs, self.outputs, self.values = inputs, outputs, values
        self.results = ("f", "g") if name == "nlp" else ("first", "second")
        self.failed, self.seconds = failed, 0.0
        self.construct(name, {})

    def get_n_in(self) -> int:
        """Number of arguments."""
        return len(self.inputs)

    def get_n_out(self) -> int:
        """Number of results."""
        return len(self.outputs)

    def get_name_in(self, i: int) -> str:
        """Name of an argument."""
        return ("x", "p", "lam_f", "lam_g")[i]

    def get_name_out(self, i: int) -> str:
        """Name of a result."""
        return self.results[i]

    def get_sparsity_in(self, i: int) -> Any:
        """Pattern of an argument."""
        return self.inputs[i]

    def get_sparsity_out(self, i: int) -> Any:
        """Pattern of a result."""
        return self.outputs[i]

    def has_eval_buffer(self) -> bool:
        """Whether `eval_buffer` is there."""
        return True

    def eval_buffer(self, given: Sequence[Any], wanted: Sequence[Any]) -> int:
        """Write the nonzeros of each result that is wanted, in the order of its pattern.

        An exception cannot pass through Ipopt: it is kept, and this and all further calls fail.
        """
        if self.failed:
            return 1
        start = time.process_time()
        try:
            inputs = [np.empty(0) if one is None else np.frombuffer(one, float) for one in given]
            for buffer, values in zip(wanted, self.values):
                if buffer is not None:
                    np.frombuffer(buffer, float)[:] = np.ravel(values(*inputs))
        except BaseException as error:  # Ctrl-C too
            self.failed.append(error)
            return 1
        self.seconds += time.process_time() - start
        return 0


def _functions(made: Transcription, failed: list[BaseException]) -> dict[str, _Function]:
    """The program and its derivatives; rows are evaluated once for each x."""
    held: list[Float] = [np.empty(0), np.empty(0)]

    def rows(x: Float, p: Float) -> Float:
        if not np.array_equal(held[0], x):
            held[:] = [x.copy(), made.constraints(x)]
        return held[1]

    def pattern(entries: Entries) -> Any:
        return casadi.Sparsity(*entries.shape, entries.starts.tolist(), entries.rows.tolist())

    def objective(x: Float, p: Float) -> float:
        return made.objective(x)

    def hessian(x: Float, p: Float, factor: Float, y: Float) -> Float:
        return made.hessian(x, float(factor[0]), y)

    x, y, one = (casadi.Sparsity.dense(k, 1) for k in (made.size, made.height, 1))
    given, by_x = [x, casadi.Sparsity(0, 0)], pattern(made.jacobian_entries)
    table: dict[str, tuple[list[Any], list[Any], list[Callable[..., Any]]]] = {
        "nlp": (given, [one, y], [objective, rows]),
        "grad_f": (given, [one, x], [objective, lambda x, p: made.gradient(x)]),
        "jac_g": (given, [y, by_x], [rows, lambda x, p: made.jacobian(x)]),
        "hess_lag": ([*given, one, y], [pattern(made.hessian_entries)], [hessian]),
    }
    return {name: _Function(name, *parts, failed) for name, parts in table.items()}


def minimize(
    made: Transcription,
    z: Float,
    bounds: tuple[Float, Float],
    rows: tuple[Float, Float],
    options: Mapping[str, Any],
    warm: Answer | None = None,
) -> Answer:
    """Solve a transcription from a guess.

    Parameters
    ----------
    made : Transcription
        Functions and derivatives.
    z : ndarray of float, shape (size,)
        Guess.
    bounds, rows : tuple of ndarray of float
        Least and largest values of the variables and of the rows.
    options : mapping
        Of Ipopt.
    warm : Answer, optional
        Multipliers to start from.

    Returns
    -------
    Answer

    Raises
    ------
    graphsys.MissingExtraError
        If casadi is not installed.
    """
    if casadi is None:
        raise gs.MissingExtraError("optimize", "casadi", "trajectories")
    failed: list[BaseException] = []
    functions = _functions(made, failed)
    settings: dict[str, Any] = dict(functions)
    program = settings.pop("nlp")
    settings["no_nlp_grad"] = True
    quiet = ("print_time", "calc_lam_p", "calc_lam_x", "calc_f", "calc_g", "error_on_fail")
    settings |= dict.fromkeys(quiet, False)
    settings |= {f"ipopt.{key}": value for key, value in options.items()}
    start = time.process_time()
    solver = casadi.nlpsol("solver", "ipopt", program, settings)
    given = {"x0": z, "lbx": bounds[0], "ubx": bounds[1], "lbg": rows[0], "ubg": rows[1]}
    if warm is not None:
        given |= {"lam_g0": warm.multipliers, "lam_x0": warm.bound_multipliers}
    found = solver(**given)
    stats = solver.stats()
    if failed:
        raise failed[0]
    if stats["return_status"] == "NonIpopt_Exception_Thrown":
        raise KeyboardInterrupt
    return Answer(
        found["x"].full().ravel(),
        found["lam_g"].full().ravel(),
        found["lam_x"].full().ravel(),
        str(stats["return_status"]),
        bool(stats["success"]),
        int(stats["iter_count"]),
        time.process_time() - start,
        sum(one.seconds for one in functions.values()),
    )
