"""Models in several threads, each with a workspace of its own, and in several processes."""

from __future__ import annotations

import threading
from typing import Any

from dynamics.kernels.stepping import step as kernel
from dynamics.tables.workspace import Workspace

__all__ = ["Shared"]


class _Workspaces(threading.local):
    """Workspace of a model, another one in every thread that asks."""

    def __init__(self, model: Any) -> None:
        self.mine = Workspace(model)


class Shared:
    """Mixin of a model: one workspace per thread, and copies for other processes."""

    stages: Any  # of other steps than the second-order one: `galerkin.Stages` or a composition

    def prepare(self) -> None:
        """Make workspaces, the first one now, the others when threads ask."""
        self._workspaces = _Workspaces(self)

    @property
    def workspace(self) -> Workspace:
        """Workspace of the calling thread."""
        return self._workspaces.mine

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        refuse_callbacks(state["mechanism"])
        for name in ("_workspaces", "kernel"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.kernel = kernel if self.stages is None else self.stages.kernel
        self.prepare()


def refuse_callbacks(mechanism: Any) -> None:
    """Refuse what no other process can call.

    Parameters
    ----------
    mechanism : Mechanism

    Raises
    ------
    TypeError
        Where a joint or contact has a function of the user.
    """
    names = [name for name, joint in mechanism.joints.items() if joint.user is not None]
    names += [name for name, one in mechanism.contacts.items() if one.distance is not None]
    if names:
        raise TypeError(
            f"{names[0]!r} has a Python function that this process has compiled, so the model "
            "cannot be pickled: build it in each process, or use threads"
        )
