"""C source of one graph: what is done to which blocks, in elimination order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphsys.c_code.block_functions import PRELUDE, function
from graphsys.kernels.single.refinement import FINE

if TYPE_CHECKING:
    from graphsys.symbolic import Symbolic

#: Most operations on blocks in one file: compilers take some ten seconds for so many.
MOST_CALLS = 20_000
#: Lines of a C function: compilers take more than linear time for longer ones.
LINES = 500
#: Words that are no names in C, nor of functions that the file has itself.
RESERVED = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while".split()
)

HEADER = """\
/* Linear systems A x = b on one graph: {nodes} nodes, {rows} unknowns. Written by graphsys.
 *
 * values  {NAME}_VALUES numbers: the blocks of A, laid out as in graphsys.System.values
 * b, x    {NAME}_ROWS numbers each; they may be the same array, but not for {name}_refine
 * work    {NAME}_WORK numbers: the factors
 *
 * {name}_factorize(values, work)
 *     {NAME}_DONE, {NAME}_DOUBTFUL or {NAME}_SINGULAR
 * {name}_solve(values, work, b, x)
 *     with factors of these values: {NAME}_DONE or {NAME}_NOT_FINITE
 * {name}_factorize_and_solve(values, work, b, x)
 *     both in one pass: any of the four
 * {name}_refine(values, work, b, x)
 *     refines x; its componentwise backward error then, NaN where x is not finite
 *
 * After {NAME}_DOUBTFUL, pivots may have been too small: refine each solution, and trust one whose
 * error is some 1e-15. Nothing is allocated, nothing is kept between calls. GNU C: GCC or Clang.
 */
#include <math.h>

enum {{
  {NAME}_ROWS = {rows}, {NAME}_VALUES = {nnz}, {NAME}_WORK = {work},
  {NAME}_DONE = 0, {NAME}_DOUBTFUL = 1, {NAME}_SINGULAR = 2, {NAME}_NOT_FINITE = 3
}};

int {name}_factorize(const double *values, double *work);
int {name}_solve(const double *values, double *work, const double *b, double *x);
int {name}_factorize_and_solve(const double *values, double *work, const double *b, double *x);
double {name}_refine(const double *values, double *work, const double *b, double *x);
"""

FACTORIZE = """\
static int eliminate(const double *v, double *w, const double *b)
{{
  struct flags flags = {{0}};
  flags.doubtful1 = {doubtful};
  (void)v; (void)w; (void)b;
{calls}
  i4 d = flags.doubtful4, s = flags.singular4;
  i2 e = flags.doubtful2, t = flags.singular2;
  if (s[0] | s[1] | s[2] | s[3] | t[0] | t[1] | flags.singular1) return {NAME}_SINGULAR;
  return d[0] | d[1] | d[2] | d[3] | e[0] | e[1] | flags.doubtful1 ? {NAME}_DOUBTFUL : {NAME}_DONE;
}}

int {name}_factorize(const double *values, double *work)
{{
  return eliminate(values, work, zeros);
}}
"""

BACKWARD = """\
static int backward(double *w, double *x)
{{
  double lost = 0.0;
  (void)w;
{calls}
  for (int i = 0; i < {rows}; i++) lost += 0.0 * x[i];
  return lost == 0.0 ? {NAME}_DONE : {NAME}_NOT_FINITE;
}}
"""

SOLVE = """\
int {name}_solve(const double *values, double *work, const double *b, double *x)
{{
  const double *v = values;
  double *w = work;
  (void)v; (void)w; (void)b;
{calls}
  return backward(work, x);
}}

int {name}_factorize_and_solve(const double *values, double *work, const double *b, double *x)
{{
  int status = eliminate(values, work, b);
  if (status == {NAME}_SINGULAR) return status;
  return backward(work, x) == {NAME}_DONE ? status : {NAME}_NOT_FINITE;
}}
"""

#: Iterative refinement, at most three steps, as long as each at least halves the error.
REFINE = """\
static double residual(const double *v, const double *b, const double *x, double *r, double *s)
{{
  double error = 0.0, lost = 0.0;
  (void)v; (void)x;
  for (int i = 0; i < {rows}; i++) {{ r[i] = b[i]; s[i] = fabs(b[i]); }}
{calls}
  for (int i = 0; i < {rows}; i++) {{
    lost += 0.0 * r[i];
    if (fabs(r[i]) > error * s[i]) error = fabs(r[i]) / s[i];
  }}
  return error + lost;
}}

double {name}_refine(const double *values, double *work, const double *b, double *x)
{{
  double *r = work + {r}, *s = work + {s}, *dx = work + {dx};
  double error = residual(values, b, x, r, s);
  for (int step = 0; step < 3 && error > {fine!r}; step++) {{
    if ({name}_solve(values, work, r, dx) != {NAME}_DONE) break;
    for (int i = 0; i < {rows}; i++) dx[i] += x[i];
    double before = error, after = residual(values, b, dx, r, s);
    if (!(after < before)) break;
    for (int i = 0; i < {rows}; i++) x[i] = dx[i];
    error = after;
    if (after > 0.5 * before) break;
  }}
  return error;
}}
"""

#: Functions that hold the calls: name, arguments, and with what they are called.
PARTS = {
    "eliminate": ("const double *v, double *w, const double *b, struct flags *flags",
                  "v, w, b, &flags"),
    "forward": ("const double *v, double *w, const double *b", "v, w, b"),
    "backward": ("double *w, double *x", "w, x"),
    "residual": ("const double *v, const double *x, double *r, double *s", "v, x, r, s"),
}  # fmt: skip


def source(symbolic: Symbolic, name: str) -> str:
    """Text of a C file that factorizes and solves; see `Symbolic.to_c`.

    Parameters
    ----------
    symbolic : Symbolic
    name : str
        What its functions begin with.
    """
    if not (isinstance(name, str) and name.isascii() and name.isidentifier()) or name in RESERVED:
        raise ValueError(f"name is {name!r}; give a name of C, which its functions begin with")
    count = int(np.square(np.diff(symbolic.front_start)).sum())
    if count > MOST_CALLS:
        raise ValueError(
            f"this graph takes {count:,} block updates, and C code of one graph is for at most "
            f"{MOST_CALLS:,}: call compiled kernels from C instead (graphsys.kernels.header)"
        )
    writer, graph = _Writer(symbolic), symbolic.graph
    lines = {
        "eliminate": (FACTORIZE, writer.eliminate()), "backward": (BACKWARD, writer.backward()),
        "forward": (SOLVE, writer.forward()), "residual": (REFINE, writer.residual()),
    }  # fmt: skip
    r, s, dx = (writer.place((part,), graph.rows) for part in ("r", "s", "dx"))
    names = {
        "name": name, "NAME": name.upper(), "rows": graph.rows, "nnz": graph.nnz,
        "nodes": len(graph.labels), "work": max(writer.used, 1), "r": r, "s": s, "dx": dx,
        "fine": FINE * float(np.finfo(np.float64).eps),
        "doubtful": "-1" if symbolic.precedence.short.size else "0",
    }  # fmt: skip
    zeros = max(writer.zeros, graph.rows, 1)
    text = [HEADER.format(**names), PRELUDE, f"static const double zeros[{zeros}];\n"]
    text += [function(*one) for one in sorted(writer.functions)]
    for kind, (template, body) in lines.items():
        given, arguments = PARTS[kind]
        unused = "".join(f" (void){one};" for one in arguments.replace("&", "").split(", "))
        calls = []
        for first in range(0, len(body), LINES):
            part, here = f"{kind}_part_{first // LINES}", "\n".join(body[first : first + LINES])
            text += [
                f"static __attribute__((noinline))\nvoid {part}({given})\n"
                f"{{\n {unused}\n{here}\n}}\n"
            ]
            calls += [f"  {part}({arguments});"]
        text += [template.format(calls="\n".join(calls), **names)]
    return "\n".join(text)


class _Writer:
    """Calls on the blocks of one graph, and the places of these.

    Nodes that share a pivot block are one *unit*; others are a unit each. Places are text: in the
    user's values ``v`` as long as nothing has updated a block, then in the workspace ``w``.
    """

    def __init__(self, symbolic: Symbolic) -> None:
        graph = symbolic.graph
        position = np.empty(len(graph.labels), np.int64)
        position[symbolic.step_node] = np.arange(position.size)
        groups = {step: step for step in range(position.size)}
        for group in symbolic.precedence.joined:
            steps = sorted(position[list(group)].tolist())
            groups.update((step, steps[0]) for step in steps)
        self.units: list[list[int]] = []  # nodes of each
        self.unit_of: dict[int, int] = {}
        last: list[int] = []
        for step, node in enumerate(symbolic.step_node.tolist()):
            if graph.size[node] == 0:
                continue
            if groups[step] == step:
                self.units.append([])
                last.append(step)
            self.unit_of[step] = self.unit_of.get(groups[step], len(self.units) - 1)
            self.units[self.unit_of[step]].append(node)
            last[self.unit_of[step]] = step
        start, front = symbolic.front_start, symbolic.front
        self.later: list[list[int]] = []
        for unit, step in enumerate(last):
            steps = front[start[step] : start[step + 1]].tolist()
            self.later.append(
                sorted({self.unit_of[k] for k in steps if k in self.unit_of} - {unit})
            )
        self.graph, self.position = graph, position
        self.size = [int(graph.size[nodes].sum()) for nodes in self.units]
        self.functions: set[tuple[str, int, int]] = set()
        self.places: dict[tuple[object, ...], int] = {}
        self.used = self.zeros = 0

    def place(self, key: tuple[object, ...], count: int) -> int:
        """Place in the workspace of ``count`` numbers that are called by a key."""
        if key not in self.places:
            self.places[key] = self.used
            self.used += count
        return self.places[key]

    def call(self, kind: str, rows: int, columns: int, *arguments: str) -> str:
        """Call of a function, which is remembered."""
        self.functions.add((kind, rows, columns))
        name = f"{kind}_{rows}" if kind.startswith("invert") else f"{kind}_{rows}_{columns}"
        return f"  {name}({', '.join(arguments)});"

    def eliminate(self) -> list[str]:
        """LDU factorization, right-looking, and forward substitution with ``b`` along with it."""
        lines, self.block = self._blocks()
        lines += self._gather()
        block, size, reached = self.block, self.size, self._joined()
        begun: set[int] = set()  # units whose pivot block is updated
        for k, later in enumerate(self.later):
            d = size[k]
            inverse = f"w + {self.place(('inverse', k), d * d)}"
            if k in begun:
                magnitude = f"w + {self.places['magnitude', k]}"
                arguments = block[k, k], inverse, magnitude, "flags"
                lines += [self.call("invert_updated", d, d, *arguments)]
            else:
                lines += [self.call("invert", d, d, block[k, k], inverse, "flags")]
            lines += self._forward(k, reached)
            for j in later:
                e = size[j]
                right = f"w + {self.place(('right', k, j), d * e)}"
                lines += [self.call("multiply", d, d, inverse, block[k, j], right, str(e))]
                for i in later:
                    lines += [self._update(i, j, k, right, begun)]
        return lines

    def _update(self, i: int, j: int, k: int, right: str, begun: set[int]) -> str:
        """``A_ij <- A_ij - L_ik W_kj``."""
        rows, columns = self.size[i], self.size[j]
        before, after = self.block.get((i, j)), f"w + {self.place((i, j), rows * columns)}"
        if before is None:
            before, self.zeros = "zeros", max(self.zeros, rows * columns)
        arguments, kind = [self.block[i, k], right, before, after, str(columns)], "subtract"
        if i == j:
            kind = "update_pivot" if i in begun else "begin_pivot"
            begun.add(i)
            arguments += [f"w + {self.place(('magnitude', i), 2 * rows)}"]
        self.block[i, j] = after
        return self.call(kind, rows, self.size[k], *arguments)

    def forward(self) -> list[str]:
        """Forward substitution alone: ``z <- D^-1 y_k, y_j <- y_j - L_jk z``."""
        lines, reached = self._gather(), self._joined()
        return [*lines, *(one for k in range(len(self.size)) for one in self._forward(k, reached))]

    def _forward(self, k: int, reached: set[int]) -> list[str]:
        """Forward substitution with unit k; those that are not ``reached`` are read from ``b``."""
        size, inverse = self.size, f"w + {self.places['inverse', k]}"
        lines = [
            self.call("multiply", size[k], size[k], inverse, self._right_side(k, reached),
                      self._inner(k), "1")
        ]  # fmt: skip
        for j in self.later[k]:
            before = self._right_side(j, reached)
            reached.add(j)
            arguments = self.block[j, k], self._inner(k), before, self._inner(j), "1"
            lines += [self.call("subtract", size[j], size[k], *arguments)]
        return lines

    def _inner(self, k: int) -> str:
        """Place of the unknowns of a unit in the workspace."""
        return f"w + {self.place(('solution', k), self.size[k])}"

    def _right_side(self, k: int, reached: set[int]) -> str:
        return self._inner(k) if k in reached else f"b + {self.graph.row_start[self.units[k][0]]}"

    def _joined(self) -> set[int]:
        """Units of several nodes."""
        return {k for k, nodes in enumerate(self.units) if len(nodes) > 1}

    def _gather(self) -> list[str]:
        """Right-hand sides of joined nodes to the workspace."""
        return [line for k in sorted(self._joined()) for line in self._rows(k, "b")]

    def _blocks(self) -> tuple[list[str], dict[tuple[int, int], str]]:
        """Place of the block of each pair of units that has one; copies where nodes are joined."""
        graph, lines = self.graph, []
        block: dict[tuple[int, int], str] = {}
        for i, nodes in enumerate(self.units):
            offset = 0
            for node in nodes:
                neighbours = range(graph.neighbor_start[node], graph.neighbor_start[node + 1])
                pairs = [(node, int(graph.diagonal_at[node]))]
                pairs += [(int(graph.neighbor[p]), int(graph.block_at[p])) for p in neighbours]
                for other, at in pairs:
                    j = self.unit_of.get(int(self.position[other]))
                    if j is None:
                        continue
                    rows, columns = int(graph.size[node]), int(graph.size[other])
                    if len(nodes) == 1 and len(self.units[j]) == 1:
                        block[i, j] = f"v + {at}"
                        continue
                    to = self.place((i, j), self.size[i] * self.size[j])
                    if (i, j) not in block:
                        block[i, j] = f"w + {to}"
                        count = self.size[i] * self.size[j]
                        lines += [f"  for (int i = 0; i < {count}; i++) w[{to} + i] = 0.0;"]
                    before = self.units[j][: self.units[j].index(other)]
                    to += offset + self.size[i] * int(graph.size[before].sum())
                    lines += [
                        f"  for (int j = 0; j < {columns}; j++)\n"
                        f"    for (int i = 0; i < {rows}; i++)"
                        f" w[{to} + {self.size[i]} * j + i] = v[{at} + {rows} * j + i];"
                    ]
                offset += int(graph.size[node])
        return lines, block

    def backward(self) -> list[str]:
        """Backward substitution: ``x_k <- y_k - sum_j W_kj x_j``."""
        lines: list[str] = []
        joined, size = self._joined(), self.size
        outer = [
            self._inner(k) if k in joined else f"x + {self.graph.row_start[nodes[0]]}"
            for k, nodes in enumerate(self.units)
        ]
        for k in range(len(size) - 1, -1, -1):
            before = self._inner(k)
            for j in self.later[k]:
                right = f"w + {self.places['right', k, j]}"
                arguments = right, outer[j], before, outer[k], "1"
                lines += [self.call("subtract", size[k], size[j], *arguments)]
                before = outer[k]
            if k in joined:
                lines += self._rows(k, "x")
            elif not self.later[k]:
                copy = f"({outer[k]})[i] = ({before})[i];"
                lines += [f"  for (int i = 0; i < {size[k]}; i++) {copy}"]
        return lines

    def _rows(self, unit: int, vector: str) -> list[str]:
        """Rows of joined nodes from ``b`` to the workspace, or from there to ``x``."""
        lines, at = [], self.place(("solution", unit), self.size[unit])
        for node in self.units[unit]:
            rows, row = int(self.graph.size[node]), int(self.graph.row_start[node])
            inner, outer = f"w[{at} + i]", f"{vector}[{row} + i]"
            to, from_ = (inner, outer) if vector == "b" else (outer, inner)
            lines += [f"  for (int i = 0; i < {rows}; i++) {to} = {from_};"]
            at += rows
        return lines

    def residual(self) -> list[str]:
        """``r <- r - A x, s <- s + |A| |x|`` block by block."""
        graph, lines = self.graph, []
        size, row = graph.size.tolist(), graph.row_start.tolist()
        places = [*graph.diagonal_at.tolist()], graph.block_at.tolist()
        for i in range(len(size)):
            neighbours = range(graph.neighbor_start[i], graph.neighbor_start[i + 1])
            blocks = [(i, places[0][i])]
            blocks += [(int(graph.neighbor[p]), places[1][p]) for p in neighbours]
            for j, at in blocks:
                if size[i] and size[j]:
                    arguments = f"v + {at}", f"x + {row[j]}", f"r + {row[i]}", f"s + {row[i]}"
                    lines += [self.call("residual", size[i], size[j], *arguments)]
        return lines
