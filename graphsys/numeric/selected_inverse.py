"""Selected inverse: the blocks of the inverse where the matrix has blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphsys.errors import UnknownEdgeError
from graphsys.kernels.analysis.elimination import reverse_edges
from graphsys.kernels.base.layout import ARENA_SIZE, SCALARS
from graphsys.kernels.single.scalar_inverse import invert_selected_scalars
from graphsys.kernels.single.selected_inverse import (
    invert_selected,
    mirror_blocks,
    selected_work_size,
    unload,
)
from graphsys.matrix import from_scipy
from graphsys.matrix.block import HERMITIAN
from graphsys.matrix.equilibration import scaled
from graphsys.matrix.graph import BlockGraph
from graphsys.numeric.both_triangles import wide_factors, wide_program
from graphsys.symbolic import Symbolic

if TYPE_CHECKING:
    from graphsys.numeric.factorization import Factorization

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class SelectedInverse:
    """Blocks of A^-1 on the nodes and edges of the graph; comes from `Factor.selected_inverse`.

    ``inverse[u, v]`` is block (u, v) of A^-1, as ``system[u, v]`` is that of A; ``inverse[u, u]``
    is the marginal covariance of node u if A is a precision (information) matrix.

    Attributes
    ----------
    graph : BlockGraph
    values : ndarray, shape (graph.nnz,)
        All blocks, in the layout of `System.values`; read-only.
    """

    graph: BlockGraph
    values: Array

    def __getitem__(self, pair: Any) -> Array:
        """Block (u, v) of A^-1, a read-only view, shape (size of u, size of v).

        Raises
        ------
        UnknownNodeError, UnknownEdgeError
            If u or v is not a node, or no edge joins them.
        """
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"a block is named by two labels, as in inverse[u, v], not by {pair!r}")
        i, j = self.graph.node(pair[0]), self.graph.node(pair[1])
        try:
            at = self.graph.edge_at(i, j)
        except UnknownEdgeError as error:
            raise UnknownEdgeError(f"{error}; solves of unit vectors give others") from None
        rows, columns = int(self.graph.size[i]), int(self.graph.size[j])
        return self.values[at : at + rows * columns].reshape((rows, columns), order="F")

    def diagonal(self) -> Array:
        """Diagonal of A^-1, shape (N,): variances where A is a precision matrix."""
        node = np.repeat(np.arange(self.graph.size.size), self.graph.size)
        place = np.arange(node.size) - self.graph.row_start[node]
        return self.values[self.graph.diagonal_at[node] + place * (self.graph.size[node] + 1)]

    def to_scipy(self, format: str = "csr") -> Any:
        """Scipy sparse array of the blocks, zero where the matrix has none.

        Parameters
        ----------
        format : str
            "csr", "csc", "coo", "bsr", ... as in scipy.

        Returns
        -------
        scipy.sparse.sparray, shape (N, N)
        """
        return from_scipy.to_scipy(self.graph, self.values, from_scipy.offsets(self.graph), format)

    def __repr__(self) -> str:
        return (
            f"SelectedInverse({self.graph.size.size} nodes, {self.graph.neighbor.size // 2} edges)"
        )


def selected_inverse(factorization: Factorization) -> SelectedInverse:
    """Blocks of the inverse from the factors."""
    graph, scaling = factorization.symbolic.graph, factorization.scaling
    if factorization.fronts is not None:
        values = factorization.fronts.selected_inverse()
    else:
        values = _by_supernodes(factorization.symbolic, factorization.arena)
    if scaling is not None:  # A^-1 = C (R A C)^-1 R
        i, j = from_scipy.coordinates(graph)
        values = scaled(values, scaling.column[i] + scaling.row[j])
    values.setflags(write=False)
    return SelectedInverse(graph, values)


def _by_supernodes(symbolic: Symbolic, arena: Array) -> Array:
    """Blocks of the inverse by the factors of all supernodes, in the layout of the values."""
    graph, values = symbolic.graph, np.empty(symbolic.graph.nnz, arena.dtype)
    if symbolic.program[SCALARS] and arena.dtype.kind != "c":
        invert_selected_scalars(symbolic.program, arena, np.empty_like(arena), values)
    else:
        panels = symbolic.supernodal_program
        program = wide_program(panels)
        arena = wide_factors(panels, program, arena)
        inverse = np.empty(int(program[ARENA_SIZE]), arena.dtype)
        work = np.empty(selected_work_size(program), arena.dtype)
        invert_selected(program, arena, work, inverse)
        unload(program, inverse, values)
    if symbolic.symmetric:
        position, reverse = np.empty_like(symbolic.step_node), np.empty_like(graph.neighbor)
        reverse_edges(graph.neighbor_start, graph.neighbor, position, reverse)
        position[symbolic.step_node] = np.arange(position.size)
        mirror_blocks(
            graph.size,
            graph.neighbor_start,
            graph.neighbor,
            graph.block_at,
            reverse,
            position,
            symbolic.symmetric == HERMITIAN,
            values,
        )
    return values
