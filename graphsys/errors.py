"""Errors and warnings, each with a sentence in the user's labels."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

__all__ = [
    "InaccurateSolutionWarning",
    "MissingExtraError",
    "NotPositiveDefiniteError",
    "SingularPivotError",
    "UnknownEdgeError",
    "UnknownNodeError",
]


class SingularPivotError(np.linalg.LinAlgError):
    """A pivot block is singular.

    Parameters
    ----------
    message : str
        The full message: node, elimination step, and what to do.
    node : hashable
        Label of the node whose pivot block is singular.
    step : int
        Elimination step of the node.
    ratio : float
        Ratio of the smallest to the largest pivot of the block; 0 if it is exactly singular.
    """

    def __init__(self, message: str, node: Hashable, step: int, ratio: float) -> None:
        super().__init__(message)
        self.node = node
        self.step = step
        self.ratio = ratio

    def __reduce__(self) -> tuple[type, tuple[str, Hashable, int, float]]:
        return type(self), (str(self), self.node, self.step, self.ratio)


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """A matrix has no Cholesky factor.

    Parameters
    ----------
    message : str
        The full message: which row, and what to do.
    row : int
        A row whose pivot is not positive.
    """

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row

    def __reduce__(self) -> tuple[type, tuple[str, int]]:
        return type(self), (str(self), self.row)


class _PlainKeyError(KeyError):
    """A KeyError that shows its sentence, where KeyError shows the sentence's repr."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnknownNodeError(_PlainKeyError):
    """A label names no node of the graph."""


class UnknownEdgeError(_PlainKeyError):
    """Two nodes share no edge, so the system has no block there."""


class MissingExtraError(ImportError):
    """An optional dependency is not installed.

    Parameters
    ----------
    purpose : str
        Feature that needs the package, as the subject of a sentence: ``'ordering "nd"'``.
    package : str
        The package that is missing.
    extra : str
        The extra of graphsys that installs it.
    """

    def __init__(self, purpose: str, package: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed: "
            f'run pip install "graphsys[{extra}]"',
            name=package,
        )
        self.purpose = purpose
        self.package = package
        self.extra = extra

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        return type(self), (self.purpose, self.package, self.extra)


# scipy.linalg.LinAlgWarning is a RuntimeWarning too; importing it costs as much as networkx.
class InaccurateSolutionWarning(RuntimeWarning):
    """The residual of a solution stays above rounding level."""
