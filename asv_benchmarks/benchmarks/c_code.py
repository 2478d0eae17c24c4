"""Code of one graph against the compiled kernels: the C file, and `System.compile`.

``python -m benchmarks.c_code [FAMILY NODES]`` in ``asv_benchmarks`` prints microseconds of one
factorization and solution: first called from C, where neither refines, then from Python, where both
do if they have to. All take turns in one process; loops in C call the first two, since a call by
ctypes takes longer than ten nodes. It needs a C compiler (``cc``).
"""

import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import cases, clock
from graphsys import kernels

from .usage import answer_help

ROWS = (
    ("chain", 10), ("tree", 10), ("ladder", 10), ("net", 16), ("chain", 100), ("tree", 100),
    ("ladder", 100), ("mixed tree", 100), ("body/joint chain", 20), ("body/joint tree", 20),
    ("body/joint chain", 60), ("body/joint chain", 200), ("hinge chain", 20), ("hinge tree", 20),
    ("hinge chain", 200),
)  # fmt: skip
ROUNDS, NODES = 30, 50_000  # nodes that one loop factorizes

LOOPS = """
#include <stdint.h>
#define ARRAY(type, name) type *name, int64_t name##_length
#define GIVEN(name) name, name##_length
typedef int64_t (*kernel)(ARRAY(const int64_t, program), ARRAY(const double, values),
  ARRAY(const double, b), double tolerance, ARRAY(double, magnitude), ARRAY(double, work),
  ARRAY(double, arena), ARRAY(double, info), ARRAY(double, x));

void loop_kernel(int64_t count, kernel call, ARRAY(const int64_t, program),
  ARRAY(const double, values), ARRAY(const double, b), ARRAY(double, magnitude),
  ARRAY(double, work), ARRAY(double, arena), ARRAY(double, info), ARRAY(double, x))
{
  for (int64_t i = 0; i < count; i++)
    call(GIVEN(program), GIVEN(values), GIVEN(b), 1e-14, GIVEN(magnitude), GIVEN(work),
      GIVEN(arena), GIVEN(info), GIVEN(x));
}

void loop_file(int64_t count, const double *values, const double *b, double *work, double *x)
{
  for (int64_t i = 0; i < count; i++) graph_factorize_and_solve(values, work, b, x);
}

int64_t work_length(void) { return GRAPH_WORK; }
"""


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def loops(family, nodes):
    """Two functions that factorize and solve so many times, and the solutions they leave."""
    system = cases.system(family, nodes)
    symbolic = system.analyze()
    with tempfile.TemporaryDirectory() as folder:
        source, built = Path(folder, "graph.c"), Path(folder, "graph.so")
        source.write_text(symbolic.to_c() + LOOPS)
        command = ["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", str(built), str(source)]
        subprocess.run([*command, "-lm"], check=True)
        library = ctypes.CDLL(str(built))
    b = np.ones(system.shape[0])
    first, second = np.empty_like(b), np.empty_like(b)
    arena, magnitude, work = map(np.empty, kernels.work_sizes(symbolic.program, 1))
    arrays = [symbolic.program, system.values, b, magnitude, work, arena, np.empty(3), first]
    given = [part for one in arrays for part in (pointer(one), ctypes.c_int64(one.size))]
    address = ctypes.c_void_p(kernels.address("factorize_and_solve"))
    own = np.empty(library.work_length())
    file_given = [pointer(one) for one in (system.values, b, own, second)]

    factor, solver = system.factorize(), system.compile(symbolic)

    def kernel(count, _kept=arrays):
        library.loop_kernel(ctypes.c_int64(count), address, *given)

    def file(count, _kept=own):
        library.loop_file(ctypes.c_int64(count), *file_given)

    def repeated(call, values=system.values):
        def loop(count):
            for _ in range(count):
                call(values, b)

        return loop

    ways = kernel, file, repeated(factor.refactorize_and_solve), repeated(solver.solve_once)
    return ways, (first, second)


def main(rows):
    print("| workload | kernels us | C file us | ratio | Factor us | compiled us | ratio |")
    for family, nodes in rows:
        ways, (first, second) = loops(family, nodes)
        count = max(NODES // nodes, 1)
        least = [float("inf")] * len(ways)
        for _ in range(ROUNDS):
            for k, one in enumerate(ways):
                least[k] = min(least[k], clock.seconds_of(one, count, 1) / count * 1e6)
        assert np.allclose(first, second, rtol=1e-4, atol=1e-4 * np.abs(first).max())
        pairs = [f"{a:.2f} | {b:.2f} | {a / b:.2f}" for a, b in (least[:2], least[2:])]
        print(f"| {family} {nodes} | {' | '.join(pairs)} |", flush=True)


if __name__ == "__main__":
    answer_help(__doc__)
    main([(sys.argv[1], int(sys.argv[2]))] if len(sys.argv) > 2 else ROWS)
