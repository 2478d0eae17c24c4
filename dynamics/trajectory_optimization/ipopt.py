"""Ipopt by CasADi: a nonlinear program with derivatives of its own."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics.trajectory_optimization.transcription import Transcription

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
    iterations : int
    seconds, evaluation_seconds : float
        Of processor time: the whole solution, and what our functions took of it.
    """

    z: Float
    multipliers: Float
    bound_multipliers: Float
    status: str
    success: bool
    iterations: int
    seconds: float
    evaluation_seconds: float


def _casadi() -> Any:
    """The module casadi, or a sentence on how to get it."""
    try:
        import casadi
    except ImportError as error:
        raise ImportError(
            "trajectory optimization with contacts needs Ipopt, which comes with casadi: "
            'pip install "graphsys[trajectories]"'
        ) from error
    return casadi


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
    z : ndarray of float, shape (size,)
        Guess.
    bounds : tuple of ndarray of float
        Lower and upper bounds of the variables.
    rows : tuple of ndarray of float
        And of the rows.
    options : mapping
        Of Ipopt.
    warm : Answer, optional
        Multipliers to start from.

    Returns
    -------
    Answer
    """
    ca = _casadi()
    spent = [0.0]
    n, m = made.size, made.rows
    pattern = {
        entries: ca.Sparsity(*entries.shape, entries.starts.tolist(), entries.rows.tolist())
        for entries in (made.jacobian_entries, made.hessian_entries)
    }
    dense, rows_of, scalar = ca.Sparsity.dense(n, 1), ca.Sparsity.dense(m, 1), ca.Sparsity.dense(1)
    none = ca.Sparsity(0, 0)
    jacobian, hessian = (pattern[e] for e in (made.jacobian_entries, made.hessian_entries))

    class Given(ca.Callback):  # type: ignore[misc]
        """A function of numpy arrays, for CasADi."""

        def __init__(self, name: str, inputs: list[Any], outputs: list[Any], function: Any) -> None:
            ca.Callback.__init__(self)
            self.label = name
            self.inputs, self.outputs, self.function = inputs, outputs, function
            self.construct(name, {})

        def get_n_in(self) -> int:
            """Number of arguments."""
            return len(self.inputs)

        def get_n_out(self) -> int:
            """Number of results."""
            return len(self.outputs)

        def get_name_in(self, i: int) -> str:
            """Name of an argument, as `nlpsol` asks for."""
            return ("x", "p", "lam_f", "lam_g")[i]

        def get_name_out(self, i: int) -> str:
            """Name of a result."""
            return ("f", "g")[i] if self.label == "nlp" else f"o{i}"

        def get_sparsity_in(self, i: int) -> Any:
            """Pattern of an argument."""
            return self.inputs[i]

        def get_sparsity_out(self, i: int) -> Any:
            """Pattern of a result."""
            return self.outputs[i]

        def eval(self, arguments: list[Any]) -> list[Any]:
            """Results."""
            start = time.process_time()
            given = [np.array(one.nonzeros()) for one in arguments]
            found = [
                ca.DM(kind, np.ascontiguousarray(value).reshape(-1))
                for kind, value in zip(self.outputs, self.function(*given))
            ]
            spent[0] += time.process_time() - start
            return found

    held: list[Float] = [np.empty(0), np.empty(0)]

    def constraints(x: Float) -> Float:
        """Rows, evaluated once for each x."""
        if not np.array_equal(held[0], x):
            held[:] = [x, made.constraints(x)]
        return held[1]

    nlp = Given(
        "nlp", [dense, none], [scalar, rows_of],
        lambda x, p: (np.array([made.objective(x)]), constraints(x)),
    )  # fmt: skip
    gradient = Given(
        "grad_f", [dense, none], [scalar, dense],
        lambda x, p: (np.array([made.objective(x)]), made.gradient(x)),
    )  # fmt: skip
    slopes = Given(
        "jac_g", [dense, none], [rows_of, jacobian],
        lambda x, p: (constraints(x), made.jacobian(x)),
    )  # fmt: skip
    curvature = Given(
        "hess_lag", [dense, none, scalar, rows_of], [hessian],
        lambda x, p, factor, y: (made.hessian(x, float(factor[0]), y),),
    )  # fmt: skip
    settings = {
        "grad_f": gradient, "jac_g": slopes, "hess_lag": curvature,
        "print_time": False, "no_nlp_grad": True, "calc_lam_p": False, "calc_lam_x": False, "calc_f": False,
        "calc_g": False, "record_time": True, "error_on_fail": False,
    }  # fmt: skip
    settings |= {f"ipopt.{key}": value for key, value in options.items()}
    start = time.process_time()
    solver = ca.nlpsol("solver", "ipopt", nlp, settings)
    given = {"x0": z, "lbx": bounds[0], "ubx": bounds[1], "lbg": rows[0], "ubg": rows[1]}
    if warm is not None:
        given |= {"lam_g0": warm.multipliers, "lam_x0": warm.bound_multipliers}
    found = solver(**given)
    stats = solver.stats()
    return Answer(
        np.array(found["x"]).ravel(),
        np.array(found["lam_g"]).ravel(),
        np.array(found["lam_x"]).ravel(),
        str(stats["return_status"]),
        bool(stats["success"]),
        int(stats["iter_count"]),
        time.process_time() - start,
        spent[0],
    )
