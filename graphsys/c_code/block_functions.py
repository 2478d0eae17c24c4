"""C functions on blocks of fixed size, as text: inverse, products, updates, residuals.

Blocks are stored by columns without gaps. Up to `REGISTERS` rows, a column is vectors of 4, 2 and 1
numbers, as in `graphsys.kernels.llvm.columns`, and a block stays in registers: of plain loops over
so few numbers GCC 12 makes an inverse three times as slow. Larger blocks are plain loops. Vectors
are GNU C, which GCC and Clang compile for any processor.
"""

from graphsys.kernels.base.widths import EXCHANGED

#: Most rows, and columns, of blocks in registers.
REGISTERS = 8

#: What each file begins with. Flags are all bits set where a pivot is in doubt, or singular; they
#: lie apart by width, because a wide load after a narrow store waits for the cache.
PRELUDE = """\
typedef double v1;
typedef double v2 __attribute__((vector_size(16), aligned(8), may_alias));
typedef double v4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef long long i1;
typedef long long i2 __attribute__((vector_size(16), aligned(8), may_alias));
typedef long long i4 __attribute__((vector_size(32), aligned(8), may_alias));

struct flags { i4 doubtful4, singular4; i2 doubtful2, singular2; i1 doubtful1, singular1; };

/* Row j of n columns, and of the one after them, in exchange for the one from j on that is largest
 * in column j; from[k] is where row k came from. */
static __attribute__((noinline, unused))
void exchange(double *c, int step, int *from, int j, int n)
{
  int p = j;
  for (int r = j + 1; r < n; r++)
    if (fabs(c[step * j + r]) > fabs(c[step * j + p])) p = r;
  int row = from[j]; from[j] = from[p]; from[p] = row;
  for (int k = 0; k <= n; k++) {
    double t = c[step * k + j]; c[step * k + j] = c[step * k + p]; c[step * k + p] = t;
  }
}
"""

#: Conditions of `graphsys.numeric.factorization`, on s = largest magnitude of a row / its pivot.
#: Both are squared: ratios below 0.125 are doubtful, those below 64 machine epsilons singular.
DOUBTFUL, SINGULAR, GROWN = "64.0", "4951760157141521099596496896.0", "64.0"


def function(kind: str, rows: int, columns: int) -> str:
    """Text of a function; ``columns`` are those of the left factor, or rows of the inverse.

    Parameters
    ----------
    kind : {"invert", "invert_updated", "multiply", "subtract", "begin_pivot", "update_pivot", \
"residual"}
    rows, columns : int
    """
    wide = max(rows, columns) > REGISTERS
    if kind.startswith("invert"):
        if wide:
            return "\n".join(_invert_loops(kind, rows)) + "\n"
        return "\n".join([*_invert(kind, rows, True), "", *_invert(kind, rows, False)]) + "\n"
    write_product = _product_loops if wide else _product
    return "\n".join(write_product(kind, rows, columns)) + "\n"


def pieces(rows: int) -> list[tuple[int, int]]:
    """First row and width of the vectors that hold a column."""
    found, row = [], 0
    for width in (4, 2, 1):
        while rows - row >= width:
            found.append((row, width))
            row += width
    return found


def _entry(name: str, row: int, parts: list[tuple[int, int]]) -> str:
    """One number of a column in vectors."""
    first, width = next(part for part in parts if part[0] <= row < sum(part))
    return f"{name}{first}[{row - first}]" if width > 1 else f"{name}{first}"


def _all(width: int, value: str) -> str:
    return f"(v{width}){{{', '.join([value] * width)}}}" if width > 1 else value


def _load(width: int, place: str) -> str:
    return f"*(const v{width} *)({place})"


def _store(width: int, place: str) -> str:
    return f"*(v{width} *)({place})"


def _raise(width: int, s: str, x: str) -> str:
    """S <- max(s, |x|), number by number."""
    if width == 1:
        return f"{s} = fabs({x}) > {s} ? fabs({x}) : {s};"
    i = f"i{width}"
    return (
        f"{{ {i} t = ({i}){x} & 0x7fffffffffffffffLL, l = ({i})((v{width})t > {s}); "
        f"{s} = (v{width})((t & l) | (({i}){s} & ~l)); }}"
    )


def _beyond(width: int, x: str, limit: str) -> str:
    """All bits set where x is beyond a limit, or no number."""
    return f"~(i{width})({x} <= {limit})" if width > 1 else f"-(i1)!({x} <= {limit})"


def _signature(kind: str, rows: int, columns: int | None = None) -> list[str]:
    """First lines of a function."""
    name = f"{kind}_{rows}" + ("" if columns is None else f"_{columns}")
    given = {
        "invert": "const double *a, double *d, struct flags *flags",
        "invert_updated": "const double *a, double *d, const double *s, struct flags *flags",
        "multiply": "const double *a, const double *b, double *c, int columns",
        "subtract": "const double *a, const double *b, const double *c, double *d, int columns",
        "residual": "const double *a, const double *b, double *r, double *s",
    }
    given["update_pivot"] = given["begin_pivot"] = given["subtract"] + ", double *s"
    text = {
        "invert": "d <- a^-1 with rows exchanged inside; flags of its pivots",
        "invert_updated": "as invert; s: magnitudes of rows so far, and in the matrix",
        "multiply": "c <- a b",
        "subtract": "d <- c - a b",
        "begin_pivot": "d <- c - a b; s <- magnitudes of rows of c, twice",
        "update_pivot": "d <- c - a b; s <- max(s, magnitudes of rows of c)",
        "residual": "r <- r - a b; s <- s + |a| |b|",
    }
    return [f"/* {text[kind]} */", f"static void {name}({given[kind]})", "{"]


def _invert(kind: str, n: int, exchanging: bool) -> list[str]:
    """Gauss-Jordan elimination in registers, as `kernels.llvm.inverse`.

    The function that most blocks need looks at the end if a multiplier was beyond `EXCHANGED`, and
    begins again with the one that exchanges rows.
    """
    parts, updated = pieces(n), kind == "invert_updated"
    lines = _signature(kind, n)
    if exchanging:
        lines = [lines[1].replace(f"void {kind}", f"__attribute__((noinline)) void {kind}_by_rows")]
        lines += ["{", f"  int from[{n}] = {{{', '.join(map(str, range(n)))}}};"]
    for k in range(n):
        lines += [f"  v{w} c{k}_{r} = {_load(w, f'a + {n * k + r}')};" for r, w in parts]
    for r, w in parts:
        start = _load(w, f"s + {r}") if updated else _all(w, "0.0")
        lines += [f"  v{w} s{r} = {start}, e{r} = {_all(w, '0.0')};"]
        lines += [f"  {_raise(w, f's{r}', f'c{k}_{r}')}" for k in range(n)]
        if updated:
            grown = _beyond(w, f"s{r}", f"{GROWN} * {_load(w, f's + {n + r}')}")
            lines += [f"  flags->doubtful{w} |= {grown};"]
        if not exchanging:
            lines += [f"  i{w} l{r} = {'{0}' if w > 1 else '0'};"]
    lines += [f"  double p = {_entry('c0_', 0, parts)};"]
    for j in range(n):
        lines += _invert_step(j, n, parts, exchanging)
    if not exchanging:
        large = " | ".join(f"l{r}[{q}]" if w > 1 else f"l{r}" for r, w in parts for q in range(w))
        given = "a, d, s, flags" if updated else "a, d, flags"
        lines += [f"  if (__builtin_expect(({large}) < 0, 0)) {{"]
        lines += [f"    {kind}_by_rows_{n}({given});", "    return;", "  }"]
    for k in range(n):
        place = f"d + {n} * from[{k}]" if exchanging else f"d + {n * k}"
        lines += [f"  {_store(w, f'{place} + {r}')} = -c{k}_{r} * e{r};" for r, w in parts]
    for r, w in parts:
        lines += [f"  v{w} q{r} = (e{r} * s{r}) * (e{r} * s{r});"]
        lines += [f"  flags->doubtful{w} |= {_beyond(w, f'q{r}', DOUBTFUL)};"]
        lines += [f"  flags->singular{w} |= {_beyond(w, f'q{r}', SINGULAR)};"]
    return [*lines, "}"]


def _invert_step(j: int, n: int, parts: list[tuple[int, int]], exchanging: bool) -> list[str]:
    """Pivot j: multipliers, its row times these out of the others."""
    lines = ["  {", "    double inverse = -1.0 / p;"]
    lines += [f"    v{w} m{r} = c{j}_{r} * inverse;" for r, w in parts]
    below = [(r, w) for r, w in parts if r + w > j + 1]
    if exchanging and below:
        lines += _exchange(j, n, parts)
    for r, w in below if not exchanging else ():
        if w == 1:
            lines += [f"    l{r} |= -(i1)(m{r} * m{r} > {EXCHANGED**2});"]
        else:  # the sign of what is left of the limit; rows that are done have none
            limits = ", ".join("1e300" if r + q <= j else str(EXCHANGED**2) for q in range(w))
            lines += [f"    l{r} |= (i{w})((v{w}){{{limits}}} - m{r} * m{r});"]
    lines += [f"    {_entry('m', j, parts)} = 0.0; {_entry('e', j, parts)} = inverse;"]
    if j + 1 < n:  # the next pivot ahead of its column: the division waits for it
        left, above = _entry(f"c{j}_", j + 1, parts), _entry(f"c{j + 1}_", j, parts)
        corner = _entry(f"c{j + 1}_", j + 1, parts)
        lines += [f"    p = {corner} + ({left} * inverse) * {above};"]
    for q in range(n):
        if q != j:
            steps = " ".join(f"c{q}_{r} += m{r} * f;" for r, _ in parts)
            lines += [f"    {{ double f = {_entry(f'c{q}_', j, parts)}; {steps} }}"]
    lines += [f"    c{j}_{r} = m{r};" for r, _ in parts]
    return [*lines, f"    {_entry(f'c{j}_', j, parts)} = 1.0;", "  }"]


def _exchange(j: int, n: int, parts: list[tuple[int, int]]) -> list[str]:
    """Row j in exchange for another one, through memory, where a multiplier is too large."""
    large = " | ".join(
        f"(fabs(m{r}{f'[{q}]' * (w > 1)}) > {EXCHANGED})"
        for r, w in parts
        for q in range(w)
        if r + q > j
    )
    vectors = [(f"c{k}_", n * k) for k in range(n)] + [("s", n * n)]
    stores = [f"{_store(w, f'b + {at + r}')} = {x}{r};" for x, at in vectors for r, w in parts]
    loads = [f"{x}{r} = {_load(w, f'b + {at + r}')};" for x, at in vectors for r, w in parts]
    return [
        f"    if ({large}) {{",
        f"      double b[{n * (n + 1)}];",
        *(f"      {one}" for one in stores),
        f"      exchange(b, {n}, from, {j}, {n});",
        *(f"      {one}" for one in loads),
        f"      inverse = -1.0 / {_entry(f'c{j}_', j, parts)};",
        *(f"      m{r} = c{j}_{r} * inverse;" for r, _ in parts),
        "    }",
    ]


def _invert_loops(kind: str, n: int) -> list[str]:
    """Gauss-Jordan elimination of a block in memory."""
    updated = kind == "invert_updated"
    before = f"""\
  double c[{n * (n + 1)}], *scale = c + {n * n};
  int from[{n}];
  for (int r = 0; r < {n}; r++) {{ from[r] = r; scale[r] = {"s[r]" if updated else "0.0"}; }}
  for (int k = 0; k < {n}; k++)
    for (int r = 0; r < {n}; r++) {{
      double x = c[{n} * k + r] = a[{n} * k + r];
      if (fabs(x) > scale[r]) scale[r] = fabs(x);
    }}"""
    grown = f"""\
  for (int r = 0; r < {n}; r++)
    flags->doubtful1 |= {_beyond(1, "scale[r]", f"{GROWN} * s[{n} + r]")};"""
    steps = f"""\
  for (int j = 0; j < {n}; j++) {{
    double most = 0.0;
    for (int r = j + 1; r < {n}; r++)
      if (fabs(c[{n} * j + r]) > most) most = fabs(c[{n} * j + r]);
    if (most > {EXCHANGED} * fabs(c[{n} * j + j])) exchange(c, {n}, from, j, {n});
    double inverse = 1.0 / c[{n} * j + j], q = (inverse * scale[j]) * (inverse * scale[j]);
    flags->doubtful1 |= {_beyond(1, "q", DOUBTFUL)};
    flags->singular1 |= {_beyond(1, "q", SINGULAR)};
    c[{n} * j + j] = 1.0;
    for (int k = 0; k < {n}; k++) c[{n} * k + j] *= inverse;
    double m[{n}];
    for (int r = 0; r < {n}; r++) {{
      m[r] = r == j ? 0.0 : c[{n} * j + r];
      c[{n} * j + r] -= m[r];
    }}
    for (int k = 0; k < {n}; k++) {{
      double f = c[{n} * k + j];
      for (int r = 0; r < {n}; r++) c[{n} * k + r] -= m[r] * f;
    }}
  }}
  for (int k = 0; k < {n}; k++)
    for (int r = 0; r < {n}; r++) d[{n} * from[k] + r] = c[{n} * k + r];"""
    return [*_signature(kind, n), before, *[grown] * updated, steps, "}"]


def _product(kind: str, n: int, k: int) -> list[str]:
    """Products with the left block in registers, column by column of the right one."""
    parts = pieces(n)
    lines = _signature(kind, n, k)
    for q in range(k):
        lines += [f"  const v{w} a{q}_{r} = {_load(w, f'a + {n * q + r}')};" for r, w in parts]
    if kind == "residual":
        for r, w in parts:
            lines += [f"  v{w} x{r} = {_load(w, f'r + {r}')}, y{r} = {_load(w, f's + {r}')};"]
            for q in range(k):
                size = (
                    "y += fabs(t);".replace("y", f"y{r}")
                    if w == 1
                    else f"y{r} += (v{w})((i{w})t & 0x7fffffffffffffffLL);"
                )
                lines += [f"  {{ v{w} t = a{q}_{r} * b[{q}]; x{r} -= t; {size} }}"]
            lines += [f"  {_store(w, f'r + {r}')} = x{r}; {_store(w, f's + {r}')} = y{r};"]
        return [*lines, "}"]
    watched = kind.endswith("_pivot")
    if watched:
        for r, w in parts:
            start = _load(w, f"s + {r}") if kind == "update_pivot" else _all(w, "0.0")
            lines += [f"  v{w} s{r} = {start};"]
    step = f"c += {n}" if kind == "multiply" else f"c += {n}, d += {n}"
    lines += [f"  for (int j = 0; j < columns; j++, b += {k}, {step}) {{"]
    totals = []
    for r, w in parts:
        if kind == "multiply":
            half = (k + 1) // 2 if k >= 4 else k  # two sums in turn: each waits for itself
            sums = [(f"x{r}", range(half)), (f"y{r}", range(half, k))]
            for name, places in sums[: 1 + (half < k)]:
                first, *more = places
                lines += [f"    v{w} {name} = a{first}_{r} * b[{first}];"]
                lines += [f"    {name} += a{q}_{r} * b[{q}];" for q in more]
            totals += [f"    {_store(w, f'c + {r}')} = x{r}{f' + y{r}' * (half < k)};"]
        else:
            lines += [f"    v{w} x{r} = {_load(w, f'c + {r}')};"]
            lines += [f"    {_raise(w, f's{r}', f'x{r}')}"] * watched
            lines += [f"    x{r} -= a{q}_{r} * b[{q}];" for q in range(k)]
            totals += [f"    {_store(w, f'd + {r}')} = x{r};"]
    lines += [*totals, "  }"]  # at last: the result may take the place of b
    if watched:
        lines += [f"  {_store(w, f's + {r}')} = s{r};" for r, w in parts]
    if kind == "begin_pivot":
        lines += [f"  {_store(w, f's + {n + r}')} = s{r};" for r, w in parts]
    return [*lines, "}"]


def _product_loops(kind: str, n: int, k: int) -> list[str]:
    """Products by plain loops."""
    lines = _signature(kind, n, k)
    if kind == "residual":
        return [
            *lines,
            f"  for (int q = 0; q < {k}; q++)",
            f"    for (int i = 0; i < {n}; i++) {{",
            f"      double t = a[{n} * q + i] * b[q];",
            "      r[i] -= t; s[i] += fabs(t);",
            "    }",
            "}",
        ]
    target = "c" if kind == "multiply" else "d"
    if kind == "begin_pivot":
        lines += [f"  for (int r = 0; r < {n}; r++) s[r] = 0.0;"]
    step = "" if kind == "multiply" else f", d += {n}"
    lines += [f"  for (int j = 0; j < columns; j++, b += {k}, c += {n}{step}) {{"]
    lines += [f"    double x[{n}];"]
    lines += [f"    for (int r = 0; r < {n}; r++) x[r] = {'0.0' if target == 'c' else 'c[r]'};"]
    if kind.endswith("_pivot"):
        lines += [f"    for (int r = 0; r < {n}; r++) if (fabs(x[r]) > s[r]) s[r] = fabs(x[r]);"]
    sign = "+" if kind == "multiply" else "-"
    lines += [f"    for (int q = 0; q < {k}; q++)"]
    lines += [f"      for (int r = 0; r < {n}; r++) x[r] {sign}= a[{n} * q + r] * b[q];"]
    lines += [f"    for (int r = 0; r < {n}; r++) {target}[r] = x[r];", "  }"]
    if kind == "begin_pivot":
        lines += [f"  for (int r = 0; r < {n}; r++) s[{n} + r] = s[r];"]
    return [*lines, "}"]
