"""Workspaces of near models, which need no names."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics.kernels.base import layout
from dynamics.tables.model_tables import planar_part
from dynamics.tables.planar import planar_program
from dynamics.tables.workspace import WorkMemory, Workspace

if TYPE_CHECKING:
    from dynamics.kinematics.near_models import NearModel

__all__ = ["NearSpace", "NearWork"]

Float = NDArray[np.float64]

#: Workspaces that are kept: more than a walking robot or a heap of 20 balls has sets of near pairs.
#: With 1, actions of 4 and more hoppers in one vector environment take 1.15 times as long.
SPACES = 64


class NearSpace(Workspace):
    """Workspace for steps of a near model; its arrays lie like those of its `Model`.

    Parameters
    ----------
    near : NearModel
    memory : WorkMemory, optional
        By default its own.
    """

    def __init__(self, near: NearModel, memory: WorkMemory | None = None) -> None:
        arrays = near.arrays
        self.plan, self.constant, self.program = arrays.plan, arrays.constant, arrays.programs[0]
        self.first_order, self.stages = False, None
        self._near, self._model = near, near
        self._memory = WorkMemory() if memory is None else memory
        programs = arrays.programs + planar_program(planar_part(self.plan))
        self._lay(programs, arrays.nnz, int(self.plan[layout.WORK_SIZE]))
        self._step_in(arrays.graph)

    def free(self) -> Workspace:
        """Workspace for a run: another one while a run is in this, whose controller asks."""
        return NearSpace(self._near) if self._memory.running else self


class NearWork(WorkMemory):
    """Memory of the workspaces of near models, and the last of these, in every thread its own."""

    def __init__(self) -> None:
        super().__init__()
        self._spaces: OrderedDict[NearModel, NearSpace] = OrderedDict()

    def arrays(self, *sizes: int) -> list[Float]:
        """As of `WorkMemory`; workspaces in smaller memory of before are forgotten."""
        before, found = self._numbers, super().arrays(*sizes)
        if self._numbers is not before:
            self._spaces.clear()
        return found

    def space(self, near: NearModel) -> NearSpace:
        """Workspace of a near model.

        Parameters
        ----------
        near : NearModel

        Returns
        -------
        NearSpace
        """
        found = self._spaces.get(near)
        if found is None:
            found = self._spaces[near] = NearSpace(near, self)
            if len(self._spaces) > SPACES:
                self._spaces.popitem(last=False)
        self._spaces.move_to_end(near)
        return found
