"""System: a matrix of blocks on a graph, by label and as one flat array."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphsys.errors import UnknownEdgeError
from graphsys.kernels.single.matrix import is_symmetric, subtract_matrix_product
from graphsys.matrix import from_scipy as cutting
from graphsys.matrix.assembly import Chosen, graph_of_blocks
from graphsys.matrix.block import (
    HERMITIAN,
    Block,
    as_block,
    as_dtype,
    as_numbers,
    as_symmetry,
    as_values,
    mirrored,
    symmetric_block,
)
from graphsys.matrix.checksums import Sealed
from graphsys.matrix.from_networkx import attribute_blocks
from graphsys.matrix.graph import block_graph, graph_of_edges
from graphsys.matrix.vectors import check_rows, join, split

if TYPE_CHECKING:
    from graphsys.compiled_solver import CompiledSolver
    from graphsys.factor import Factor
    from graphsys.symbolic import Symbolic

__all__ = ["System"]

Array = NDArray[Any]

#: What the text of a system says of its symmetry.
KINDS: dict[bool | str, str] = {False: "", True: ", symmetric", HERMITIAN: ", Hermitian"}


class System(Sealed):
    """Square matrix with a block for each node and for each direction of each edge of a graph.

    Parameters
    ----------
    graph : networkx.Graph, networkx.DiGraph, scipy sparse adjacency, or BlockGraph
        Nodes and edges; weights are ignored, and the graph is not changed.
    dims : int, sequence of int, mapping of label to int, or str
        Block size of each node, 0 or more: one for all, in the order of the nodes, by label, or
        the name of the node attribute that holds them.
    nodelist : iterable of hashable, optional
        Order of the nodes, as in networkx; labels of the rows for a scipy adjacency.
    dtype : float64, float32, complex128 or complex64
        Type of the entries; an integer type stands for float64.
    blocks : mapping of (label, label) to array_like, optional
        Blocks to set; (u, u) is a diagonal block. All others are zero.
    symmetric : bool or "hermitian"
        Keep A equal to its transpose (True), or to its conjugate transpose: setting block (u, v)
        also sets (v, u), and blocks that are symmetric up to rounding are made exactly symmetric.
        For real numbers both are the same.

    Attributes
    ----------
    graph : BlockGraph
        Tables of the graph, with the layout of `values`.
    labels : tuple of hashable, length n
    shape : tuple of int
        (N, N), N the sum of the block sizes.
    dtype : numpy.dtype
    symmetric : bool or "hermitian"
    entry_at : ndarray of int, shape (e,), or None
        With `from_scipy`: place in `values` of each entry of the matrix in canonical CSR.

    Raises
    ------
    TypeError, ValueError, UnknownNodeError, UnknownEdgeError
        If graph, dims or a block is not as above, with the label.

    Examples
    --------
    >>> import networkx
    >>> system = System(networkx.path_graph(["a", "b"]), {"a": 2, "b": 1})
    >>> system["a", "a"] = [[4.0, 1.0], [0.0, 4.0]]
    >>> system["b", "b"] += 2.0
    >>> system
    System(2 nodes, 1 edges, 3 unknowns, float64)
    """

    __array_ufunc__ = None  # numpy leaves array @ system to `__rmatmul__`

    def __init__(
        self,
        graph: Any,
        dims: Any = None,
        *,
        nodelist: Iterable[Hashable] | None = None,
        dtype: Any = float,
        blocks: Mapping[tuple[Any, Any], Any] | None = None,
        symmetric: bool | str = False,
    ) -> None:
        self.graph = block_graph(graph, dims, nodelist=nodelist)
        self.dtype = as_dtype(dtype)
        self.symmetric = as_symmetry(symmetric, self.dtype)
        n_rows = self.graph.rows
        self.shape = (n_rows, n_rows)
        self._values = np.zeros(self.graph.nnz, dtype=self.dtype)
        self._entries: cutting.Entries | None = None
        self._block_pattern: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
        self._offsets: Any = None
        self._symbolic: Symbolic | None = None
        if blocks is not None:
            self._set_blocks(blocks)

    @classmethod
    def from_attributes(
        cls,
        graph: Any,
        dims: Any,
        *,
        block: str = "block",
        diagonal: str = "block",
        nodelist: Iterable[Hashable] | None = None,
        dtype: Any = float,
        symmetric: bool | str = False,
    ) -> System:
        """System from blocks that are attributes of a networkx graph.

        Block (u, v) is ``graph[u][v][block]`` and block (u, u) is ``graph.nodes[u][diagonal]``;
        without the attribute it is zero.

        Parameters
        ----------
        graph : networkx.DiGraph, or networkx.Graph where `symmetric`
            An undirected edge has no direction: the block of edge u - v is block (u, v) with u
            before v in `nodelist`.
        dims, nodelist, dtype, symmetric
            As for `System`.
        block, diagonal : str
            Names of the edge attribute and of the node attribute.

        Returns
        -------
        System

        Raises
        ------
        TypeError, ValueError
            If the graph is undirected and the system not symmetric, or no block is found.
        """
        system = cls(graph, dims, nodelist=nodelist, dtype=dtype, symmetric=symmetric)
        index = system.graph.index
        system._set_blocks(attribute_blocks(graph, index, block, diagonal, symmetric))
        return system

    @classmethod
    def from_scipy(
        cls,
        A: Any,
        dims: Any = None,
        *,
        labels: Iterable[Hashable] | None = None,
        symmetric: bool | str = False,
    ) -> System:
        """System from a scipy sparse matrix.

        Parameters
        ----------
        A : scipy sparse matrix or array, shape (N, N)
            Of any format; duplicates are summed, and an unsymmetric pattern gets zero blocks. For a
            symmetric matrix one triangle is enough. A is not changed.
        dims : int, sequence of int, mapping of label to int, or None
            Block sizes with sum N. With None the blocks of a BSR matrix are the nodes; otherwise
            nodes are up to 8 consecutive rows of similar pattern, whose blocks contain at most as
            many zeros as entries. N labels make N nodes.
        labels : iterable of hashable, optional
            Labels of the nodes; 0, 1, ... by default.
        symmetric : bool or "hermitian"
            As for `System`.

        Returns
        -------
        System

        Raises
        ------
        TypeError, ValueError
            If A is not sparse, square, finite and of a supported dtype, or dims do not fit.
        """
        if dims is None and (blocks := cutting.square_blocks(A)) is not None:
            graph = blocks.graph(labels)
            system = cls(graph, dtype=blocks.numbers.dtype, symmetric=symmetric)
            if system._add_blocks(blocks, system._values):
                system._block_pattern = blocks.start, blocks.j
            else:
                rows = cutting.both_triangles(cutting.canonical(A), symmetric)
                system._entries = cutting.entries_at(system.graph, rows)
                system._set_entries(rows)
            return system
        return cls._from_rows(cutting.canonical(A), dims, labels, symmetric)

    @classmethod
    def _from_rows(cls, rows: Any, dims: Any, labels: Any, symmetric: bool | str) -> System:
        """`from_scipy` for a canonical CSR array."""
        rows = cutting.both_triangles(rows, symmetric)
        system = cls(cutting.cut(rows, dims, labels), dtype=rows.dtype, symmetric=symmetric)
        system._entries = cutting.entries_at(system.graph, rows)
        system._set_entries(rows)
        return system

    @classmethod
    def from_edges(
        cls,
        i: Any,
        j: Any,
        dims: Any,
        *,
        labels: Iterable[Hashable] | None = None,
        dtype: Any = float,
        symmetric: bool | str = False,
    ) -> System:
        """System from pairs of node numbers, without values; the fastest constructor.

        Parameters
        ----------
        i, j : array_like of int, shape (m,)
            Nodes of each edge, from 0, in any order and direction; repeats and i == j are allowed.
        dims : int, sequence of int, or mapping of label to int
            Block sizes as for `System`.
        labels : iterable of hashable, optional
            Labels of the nodes; 0, 1, ... by default, as many as `dims` has.
        dtype, symmetric
            As for `System`.

        Returns
        -------
        System

        Raises
        ------
        TypeError, ValueError
            If i and j are not numbers of nodes, or dims do not fit.

        Examples
        --------
        >>> System.from_edges([0, 1], [1, 2], [2, 1, 2])
        System(3 nodes, 2 edges, 5 unknowns, float64)
        """
        return cls(graph_of_edges(i, j, dims, labels), dtype=dtype, symmetric=symmetric)

    @classmethod
    def from_blocks(
        cls,
        rows: Any,
        cols: Any,
        blocks: Any,
        dims: Any = None,
        *,
        labels: Iterable[Hashable] | None = None,
        dtype: Any = None,
        symmetric: bool | str = False,
    ) -> System:
        """System from blocks at pairs of nodes, like a sparse matrix in COO format.

        Parameters
        ----------
        rows, cols : array_like or sequence of hashable, length m
            Labels of the nodes of each block, which define the graph; repeated blocks are summed.
        blocks : array_like, shape (m, r, c), (r, c) or (m,)
            One block per pair, one for all, or scalars.
        dims : optional
            Block sizes as for `System`; by default r for every node.
        labels : iterable of hashable, optional
            Order of the nodes, including those without a block. By default integers are sorted, and
            other labels are in the order in which they first appear.
        dtype : optional
            By default that of the blocks.
        symmetric : bool or "hermitian"
            As for `System`: give each edge in one direction only.

        Returns
        -------
        System

        Raises
        ------
        TypeError, ValueError
            As for `add`.

        Examples
        --------
        >>> import numpy as np
        >>> System.from_blocks([0, 0, 1], [0, 1, 1], np.ones((3, 2, 2)), symmetric=True)
        System(2 nodes, 1 edges, 4 unknowns, float64, symmetric)
        """
        numbers = as_numbers(blocks, None, "blocks")
        if numbers.ndim == 1:  # scalars
            numbers = numbers[:, None, None]
        if numbers.ndim not in (2, 3):
            raise ValueError(
                f"blocks has shape {numbers.shape}, it must be (m, r, c), (r, c) or (m,)"
            )
        kind = np.result_type(numbers.dtype) if dtype is None else dtype
        graph, i, j = graph_of_blocks(rows, cols, numbers.shape[-2], dims, labels)
        system = cls(graph, dtype=kind, symmetric=symmetric)
        Chosen(graph, i, j).put(numbers, system._values, system.symmetric, adding=True)
        return system

    def add(self, rows: Any, cols: Any, blocks: Any) -> None:
        """Add many blocks; blocks that are given several times are summed.

        Parameters
        ----------
        rows, cols : array_like or sequence of hashable, length m
            Labels of the nodes u and v of each block (u, v).
        blocks : array_like, shape (m, r, c) or (r, c)
            One block per pair, or one for all; for nodes of one unknown also scalars, shape (m,)
            or (). In a symmetric system block (v, u) gets the transpose, in a Hermitian one the
            conjugate transpose: give each edge in one direction only.

        Raises
        ------
        UnknownNodeError, UnknownEdgeError
            For a label that is not a node, or two that share no edge.
        TypeError, ValueError
            For numbers that are not finite or of the wrong type or shape, and for pairs of nodes
            with different sizes. The system does not change then.
        """
        Chosen.named(self.graph, rows, cols).put(blocks, self._values, self.symmetric, adding=True)

    def set(self, rows: Any, cols: Any, blocks: Any) -> None:
        """Set many blocks; of blocks that are given several times the last one is used.

        Parameters
        ----------
        rows, cols, blocks
            As for `add`.

        Raises
        ------
        UnknownNodeError, UnknownEdgeError, TypeError, ValueError
            As `add`.
        """
        Chosen.named(self.graph, rows, cols).put(blocks, self._values, self.symmetric, adding=False)

    def places(self, rows: Any, cols: Any) -> NDArray[np.int64]:
        """Indices in `values` of the entries of many blocks, to be computed once and reused.

        Parameters
        ----------
        rows, cols : array_like or sequence of hashable, length m
            Labels of the nodes u and v of each block (u, v), all blocks of one shape (r, c).

        Returns
        -------
        ndarray of int, shape (m, r, c)
            ``system.values[places] = blocks`` sets, ``numpy.add.at(system.values, places, blocks)``
            adds. Neither is checked, and neither changes block (v, u) of a symmetric system.

        Raises
        ------
        UnknownNodeError, UnknownEdgeError, ValueError
            As `add`.

        Examples
        --------
        >>> import numpy as np
        >>> system = System.from_blocks([0, 0, 1], [0, 1, 1], np.eye(2))
        >>> places = system.places([0, 1], [0, 1])
        >>> system.values[places] = [[[2.0, 1.0], [0.0, 2.0]], [[3.0, 0.0], [0.0, 3.0]]]
        >>> print(system[0, 0])
        [[2. 1.]
         [0. 2.]]
        """
        return Chosen.named(self.graph, rows, cols).places()

    def set_from_scipy(self, A: Any) -> None:
        """Set all blocks from a scipy sparse matrix; fast for the pattern of `from_scipy`.

        Parameters
        ----------
        A : scipy sparse matrix or array, shape (N, N)
            Missing entries become zero. For a symmetric matrix one triangle is enough.

        Raises
        ------
        ValueError
            If A has the wrong shape, an entry outside the blocks, or one not finite.
        """
        if (blocks := cutting.square_blocks(A)) is not None and A.shape == self.shape:
            values = np.zeros_like(self._values)
            if self._add_blocks(blocks, values):
                self._values[...] = values
                return
        rows = cutting.canonical(A)
        if rows.shape != self.shape:
            raise ValueError(f"A has shape {rows.shape}, the system has {self.shape}")
        self._set_entries(cutting.both_triangles(rows, self.symmetric))

    def _add_blocks(self, blocks: cutting.SquareBlocks, values: Array) -> bool:
        """Add the blocks of a BSR matrix to values, if they are blocks here and need no checks."""
        numbers = blocks.numbers
        plain = not self.symmetric and numbers.dtype == self.dtype
        if not plain or (self.graph.size != numbers.shape[1]).any():
            return False
        try:
            Chosen(self.graph, blocks.i, blocks.j).put(numbers, values, False, adding=True)
        except (UnknownEdgeError, ValueError):  # the wrong entry has a name in CSR
            return False
        return True

    @property
    def entry_at(self) -> NDArray[np.int64] | None:
        """With `from_scipy`: place in `values` of each entry of the matrix in canonical CSR.

        For a matrix that was given by one triangle, the entries of both.
        """
        if self._entries is None and self._block_pattern is not None:
            self._entries = cutting.entries_of_blocks(self.graph, *self._block_pattern)
        return None if self._entries is None else self._entries.at

    def _set_entries(self, rows: Any) -> None:
        """`set_from_scipy` for a canonical CSR array of this shape."""
        entries = self._entries
        if entries is None or not entries.fit(rows):
            entries = cutting.entries_at(self.graph, rows)
        numbers = as_numbers(rows.data, self.dtype, "A")
        if self.symmetric or numbers.dtype != rows.dtype:
            values = np.zeros(self.graph.nnz, dtype=self.dtype)
            values[entries.at] = numbers
            self.values = values  # checked
        else:
            self._values[...] = 0.0
            self._values[entries.at] = numbers

    def __getitem__(self, pair: Any) -> Block:
        """Block (u, v) as a view, shape (size of u, size of v); see `Block`."""
        u, v = self._pair(pair)
        block = self._block(self.graph.node(u), self.graph.node(v)).view(Block)
        block._place = (self, u, v)
        return block

    def __setitem__(self, pair: Any, block: Any) -> None:
        """Set block (u, v) to an array of its shape; a scalar is accepted for a 1 x 1 block."""
        u, v = self._pair(pair)
        i, j = self.graph.node(u), self.graph.node(v)
        place = self._block(i, j)
        numbers = as_block(block, place.shape, self.dtype, u, v)
        if self.symmetric and i == j:
            across = mirrored(numbers, self.symmetric)
            numbers = symmetric_block(numbers, across, u, u, self.symmetric)
        place[...] = numbers
        if self.symmetric and i != j:
            self._block(j, i)[...] = mirrored(place, self.symmetric)

    @property
    def values(self) -> Array:
        """All blocks in one flat array, shape (nnz,), in the layout of `BlockGraph`.

        It may be written in place, without checks. Assigning an array of the same length to the
        attribute copies and checks it.
        """
        return self._values

    @values.setter
    def values(self, values: Any) -> None:
        """Copy values in, checked; the system is left as it is where they are refused."""
        numbers = as_values(values, self.dtype, self.graph.nnz)
        cutting.check_finite(self.graph, numbers)
        symmetric = self.symmetric
        if symmetric == HERMITIAN or symmetric and not is_symmetric(*self.graph.tables(), numbers):
            numbers = cutting.symmetric_values(self.graph, numbers, symmetric)
        self._values[...] = numbers

    def to_scipy(self, format: str = "csr") -> Any:
        """Convert to a scipy sparse array; zeros in the blocks are stored.

        Parameters
        ----------
        format : str
            "csr", "csc", "coo", "bsr", ... as in scipy.

        Returns
        -------
        scipy.sparse.sparray, shape (N, N)
        """
        return cutting.to_scipy(self.graph, self._values, self._pattern(), format)

    def to_dense(self) -> Array:
        """Dense array, shape (N, N)."""
        return np.asarray(self.to_scipy().toarray())

    def toarray(self) -> Array:
        """Dense array, shape (N, N); scipy's name for `to_dense`."""
        return self.to_dense()

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Label of each node, length n."""
        return self.graph.labels

    @property
    def nnz(self) -> int:
        """Number of stored entries, those of all blocks."""
        return self.graph.nnz

    @property
    def T(self) -> System:
        """Transposed system, a copy."""
        other = self.copy()
        other._values = cutting.transposed(self.graph, self._values)
        other._entries = other._block_pattern = None
        return other

    @property
    def H(self) -> System:
        """Conjugate transpose of the system, a copy."""
        other = self.T
        np.conjugate(other._values, out=other._values)
        return other

    def matvec(self, x: Any) -> Any:
        """Product A x, for `scipy.sparse.linalg.aslinearoperator`.

        Parameters
        ----------
        x : array_like, shape (N,) or (N, k)

        Returns
        -------
        ndarray, shape of x
        """
        return self @ x

    def rmatvec(self, x: Any) -> Any:
        """Product with the conjugate transpose, for `scipy.sparse.linalg.aslinearoperator`.

        Parameters
        ----------
        x : array_like, shape (N,) or (N, k)

        Returns
        -------
        ndarray, shape of x
        """
        return (np.conj(np.asarray(x)).T @ self).T.conj()

    def __rmatmul__(self, x: Any) -> Any:
        """Product x A, x of shape (N,) or (k, N)."""
        vector = np.asarray(x)
        if vector.dtype.kind not in "iufc":
            raise TypeError(f"x is not an array of numbers but of type {vector.dtype}")
        if vector.ndim not in (1, 2) or vector.shape[-1] != self.shape[0]:
            raise ValueError(f"x has shape {vector.shape}, its last axis must be {self.shape[0]}")
        return self._times(vector, True)

    def __matmul__(self, x: Any) -> Any:
        """Product A x; x of shape (N,) or (N, k), or {label: vector}, and so is the result."""
        if isinstance(x, Mapping):
            return self.split(self @ self.join(x))
        vector = np.asarray(x)
        if vector.dtype.kind not in "iufc":
            raise TypeError(f"x is not an array of numbers but of type {vector.dtype}")
        check_rows(self.graph, vector)
        return self._times(vector, False)

    def _times(self, x: Array, transposed: bool) -> Any:
        """A x, or x A."""
        if x.ndim == 2 or np.result_type(x, self.dtype) != self.dtype:
            A = self.to_scipy()
            return x @ A if transposed else A @ x
        x, y = np.require(x, self.dtype, ["C", "A", "W"]), np.zeros(self.shape[0], self.dtype)
        subtract_matrix_product(*self.graph.tables(), self._values, transposed, x, 0, y)
        return np.subtract(0.0, y, out=y)  # not -y, for -0.0

    def split(self, x: Any) -> dict[Hashable, Array]:
        """Split a vector into the vectors of the nodes.

        Parameters
        ----------
        x : array_like, shape (N,) or (N, k)

        Returns
        -------
        dict of label to ndarray, shape (size,) or (size, k)
            Views of x.
        """
        return split(self.graph, x)

    def join(self, vectors: Mapping[Any, Any]) -> Array:
        """Join the vectors of the nodes into one array: the inverse of `split`.

        Parameters
        ----------
        vectors : mapping of label to array_like, shape (size,) or (size, k)
            The same k for all; a scalar is accepted for shape (1,). Nodes of size 0 may be omitted.

        Returns
        -------
        ndarray, shape (N,) or (N, k)
        """
        return join(self.graph, vectors, self.dtype)

    def analyze(
        self, ordering: Any = "auto", zero_diagonal: Any = None, *, effort: float = 10.0
    ) -> Symbolic:
        """Compute the symbolic factorization, which later calls of `factorize` use.

        Parameters
        ----------
        ordering : {"auto", "dfs", "amd", "nd"} or sequence of labels, optional
            "dfs" is a depth-first search, "amd" approximate minimum degree, "nd" nested dissection
            by level sets and METIS (extra ``nd``); "auto" uses the one with the fewest operations
            of those worth trying. A sequence with every node once is used as given.
        zero_diagonal : iterable of labels, optional
            Nodes whose diagonal block is zero. By default they follow from the values.
        effort : float, optional
            Time that "auto" may spend on nested dissection, in units of a numeric factorization of
            the matrix: 0 for a single solve, `numpy.inf` for many thousand factorizations.

        Returns
        -------
        Symbolic
        """
        from graphsys.symbolic import analyze

        self._symbolic = analyze(
            self.graph,
            ordering,
            zero_diagonal=zero_diagonal,
            effort=effort,
            values=self._values,
            symmetric=self.symmetric,
        )
        return self._symbolic

    def factorize(
        self,
        symbolic: Symbolic | None = None,
        *,
        refine: bool | None = None,
        redundant: bool = False,
        threads: int = 1,
        precision: str = "double",
    ) -> Factor:
        """Compute the numeric factorization.

        Parameters
        ----------
        symbolic : Symbolic, optional
            By default that of the last `analyze`, or a new one. It defines the elimination order:
            ``system.factorize(system.analyze(ordering="amd"))``.
        refine, redundant, threads, precision
            As for `Factor`.

        Returns
        -------
        Factor
        """
        from graphsys.factor import Factor

        return Factor(
            self._analyzed(symbolic),
            self._values,
            refine=refine,
            redundant=redundant,
            threads=threads,
            precision=precision,
        )

    def compile(self, symbolic: Symbolic | None = None) -> CompiledSolver:
        """Compile a solver for the matrices of this graph.

        It compiles the code of `Symbolic.to_c`, which takes a second, and stores it on disk for
        later processes. It pays for small systems of mixed block sizes, such as bodies and joints,
        that are solved many thousand times.

        Parameters
        ----------
        symbolic : Symbolic, optional
            By default that of the last `analyze`, or a new one.

        Returns
        -------
        CompiledSolver
            Its ``solve_once(values, b)`` returns the solution of A x = b.

        Raises
        ------
        RuntimeError
            Without a C compiler (``cc``, ``gcc``, ``clang``, the environment variable ``CC``, or
            the package ``ziglang``), or if it fails.
        ValueError
            If the graph has too many block updates (`Symbolic.to_c`), and for numbers other than
            float64.
        NotImplementedError
            If kernels are plain Python (``NUMBA_DISABLE_JIT=1``).

        Examples
        --------
        >>> import graphsys as gs
        >>> system = gs.System(gs.chain(2), 1, blocks={(0, 0): 4, (0, 1): 1, (1, 0): 2, (1, 1): 3})
        >>> solver = system.compile()  # doctest: +SKIP
        >>> solver.solve_once(system.values, [9.0, 7.0])  # doctest: +SKIP
        array([2., 1.])
        """
        from graphsys.compiled_solver import FLOAT, CompiledSolver

        if self.dtype != FLOAT:
            raise ValueError(f"compiled code is for float64, this system is of {self.dtype}")
        return CompiledSolver(self._analyzed(symbolic))

    def _analyzed(self, symbolic: Symbolic | None) -> Symbolic:
        """The one that is given, that of the last `analyze`, or a new one."""
        from graphsys.symbolic import Symbolic, analyze

        symbolic = self._symbolic if symbolic is None else symbolic
        if symbolic is None:
            return analyze(self.graph, values=self._values, symmetric=self.symmetric)
        kind: type = type(symbolic)
        if not issubclass(kind, Symbolic):
            raise TypeError(
                f"symbolic is a {kind.__name__}: give what system.analyze(ordering=...) returns"
            )
        symmetric = as_symmetry(symbolic.symmetric, self.dtype)
        if not symbolic.graph.lies_like(self.graph) or symmetric != self.symmetric:
            raise ValueError(f"{symbolic!r} is not of this system: use what its analyze() returns")
        return symbolic

    def solve(self, b: Any, **options: Any) -> Any:
        """Factorize and solve A x = b.

        Parameters
        ----------
        b : array_like, shape (N,) or (N, k), or {label: vector}
        **options
            As for `Factor.solve`.

        Returns
        -------
        ndarray, or dict, as b
        """
        return self.factorize().solve(b, **options)

    def copy(self) -> System:
        """Return a copy with its own values and the same graph."""
        other = System.__new__(type(self))
        other.__dict__.update(self.__dict__, _values=self._values.copy())
        return other

    def _state(self) -> dict[str, Any]:
        return self.__dict__ | {"_offsets": None}  # made again when needed

    def __repr__(self) -> str:
        return (
            f"System({len(self.labels)} nodes, {self.graph.neighbor.size // 2} edges, "
            f"{self.shape[0]} unknowns, {self.dtype}{KINDS[self.symmetric]})"
        )

    def _pair(self, pair: Any) -> tuple[Any, Any]:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"a block is named by two labels, as in system[u, v], not by {pair!r}")
        return pair

    def _block(self, i: int, j: int) -> Array:
        """Block (i, j), nodes by index, as a plain view."""
        at = self.graph.edge_at(i, j)
        rows, columns = int(self.graph.size[i]), int(self.graph.size[j])
        return self._values[at : at + rows * columns].reshape((rows, columns), order="F")

    def _set_blocks(self, blocks: Mapping[tuple[Any, Any], Any]) -> None:
        for pair, block in blocks.items():
            self[pair] = block
        if self.symmetric:  # a block given both ways must agree with itself
            for (u, v), block in blocks.items():
                if u != v and (v, u) in blocks:
                    shape = self[u, v].shape
                    forward = as_block(block, shape, self.dtype, u, v)
                    backward = as_block(blocks[v, u], shape[::-1], self.dtype, v, u)
                    across = mirrored(backward, self.symmetric)
                    self[u, v] = symmetric_block(forward, across, u, v, self.symmetric)

    def _pattern(self) -> Any:
        """CSR array of places in `values`: it depends on the graph alone, so it is kept."""
        if self._offsets is None:
            self._offsets = cutting.offsets(self.graph)
        return self._offsets
