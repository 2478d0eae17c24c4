"""Errors of a simulation, each with a sentence in the user's labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

__all__ = ["ConvergenceError", "InconsistentStateError", "UnknownNameError"]


def unknown_words(
    label: str, given: Iterable[str], known: Iterable[str], hints: Mapping[str, str]
) -> str:
    """Sentence on the first keyword argument that nothing takes: the one that is meant, or all."""
    word = next(iter(given))
    known = sorted(known)
    meant = [hints[word]] if word in hints else get_close_matches(word, known, 1)
    way = f"use {meant[0]}=" if meant else "it takes " + ", ".join(f"{one}=" for one in known)
    return f"{label} takes no {word}=; {way}"


def check_model(model: Any, label: str) -> None:
    """Refuse what is no model, a mechanism mostly."""
    if not hasattr(model, "tables"):
        raise TypeError(
            f"{label} takes a model, not {model!r}; use model = mechanism.finalize(timestep)"
        )


class UnknownNameError(KeyError):
    """No body, joint, force or contact of the mechanism has the name."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class InconsistentStateError(ValueError):
    """A state violates joints or limits, and no nearby state satisfies them."""


class ConvergenceError(ArithmeticError):
    """The equations of a step could not be solved; the state before the step is kept.

    Parameters
    ----------
    message : str
        The full message: body or joint, step, residual, and what to do.
    step : int
        Number of the step, from 0.
    residual : float
        Largest residual after the last iteration.
    name : hashable
        Label of the body or joint with that residual.

    Attributes
    ----------
    trajectory : Trajectory or None
        The motion before the step, if it was recorded.
    """

    def __init__(
        self, message: str, step: int = 0, residual: float = float("nan"), name: Hashable = None
    ) -> None:
        super().__init__(message)
        self.trajectory: Any = None
        self.step = step
        self.residual = residual
        self.name = name

    def __reduce__(self) -> tuple[type, tuple[str, int, float, Hashable]]:
        return type(self), (str(self), self.step, self.residual, self.name)
