"""What the compiled code of a solve is made of: instructions, loads, arithmetic, index work.

``python -m benchmarks.instructions [FAMILY NODES BLOCK]`` in ``asv_benchmarks`` prints a table for
one call of ``refactorize_and_solve``. A child makes the call, its parent lets it do one instruction
at a time (Linux, x86-64) and looks at which; capstone tells what they are: ``pip install
capstone``. It takes some ten microseconds an instruction, seconds to a minute a row.
"""

import collections
import ctypes
import os
import signal
import sys
import time

import numpy as np

from benchmarks import cases

from .usage import answer_help

ROWS = (
    ("chain", 10, 6), ("chain", 100, 6), ("tree", 100, 6), ("ladder", 100, 6),
    ("body/joint chain", 200, 6), ("body/joint tree", 200, 6), ("mixed tree", 100, 6),
    ("chain", 1000, 1), ("net", 100, 6), ("net", 400, 6), ("crystal", 216, 6),
)  # fmt: skip

TRACE_ME, PEEK_USER, SINGLE_STEP = 0, 3, 9
INSTRUCTION_POINTER = 16 * 8  # in `struct user` of x86-64
LONGEST = 15  # bytes of an instruction

ARITHMETIC = ("add", "sub", "mul", "div", "madd", "msub", "sqrt", "max", "min", "rcp")
SHUFFLES = ("perm", "broadcast", "shuf", "unpck", "blend", "insert", "extract", "align", "movddup")


def trace(call):
    """How often a call of Python does which instruction: {address: times}, {address: bytes}."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.restype = ctypes.c_long
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    child = os.fork()
    if child == 0:
        ptrace(TRACE_ME, 0, None, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        call()
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    os.waitpid(child, 0)
    counts = collections.Counter()
    while True:
        counts[ptrace(PEEK_USER, child, INSTRUCTION_POINTER, None) & (2**64 - 1)] += 1
        ptrace(SINGLE_STEP, child, None, None)
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status) or os.WSTOPSIG(status) == signal.SIGSTOP:
            break
    compiled = [area for area in areas(child) if area[2]]
    code = {}
    with open(f"/proc/{child}/mem", "rb", 0) as memory:
        for address in counts:
            if any(first <= address < last for first, last, _ in compiled):
                memory.seek(address)
                code[address] = memory.read(LONGEST)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return counts, code


def areas(process):
    """(first, last, whether it is code that no file holds) of a process's executable memory."""
    found = []
    with open(f"/proc/{process}/maps") as lines:
        for line in lines:
            place, rights, _, _, _, *path = line.split()
            if "x" in rights:
                first, last = (int(end, 16) for end in place.split("-"))
                found.append((first, last, not path))
    return found


def kind_of(instruction):
    """(kind, operations in floating point, whether it loads, whether it stores)."""
    import capstone

    name = instruction.mnemonic
    vector = name.startswith("v")
    what = "index work and branches"
    operations = 0
    loads = stores = False
    if name not in ("lea", "nop") and not name.startswith("prefetch"):
        for operand in instruction.operands:
            if operand.type == capstone.x86.X86_OP_MEM:
                loads |= bool(operand.access & capstone.CS_AC_READ)
                stores |= bool(operand.access & capstone.CS_AC_WRITE)
    if vector and name[-2:] in ("pd", "sd") and any(part in name for part in ARITHMETIC):
        what = "arithmetic"
        lanes = 1
        if name.endswith("pd"):
            text = instruction.op_str
            lanes = 8 if "zmm" in text else 4 if "ymm" in text else 2
        operations = lanes * (2 if "fm" in name or "fnm" in name else 1)
    elif vector and any(part in name for part in SHUFFLES):
        what = "shuffles"
    elif vector or name.startswith("k"):
        what = "moves and masks"
    return what, operations, loads, stores


def count(call):
    """Instructions of a call by kind; those of Python and libraries as ``outside``."""
    import capstone

    counts, code = trace(call)
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.detail = True
    found = collections.Counter()
    for address, times in counts.items():
        if address not in code:
            found["outside"] += times
            continue
        what, operations, loads, stores = kind_of(next(decoder.disasm(code[address], address)))
        found["compiled"] += times
        found[what] += times
        found["operations"] += times * operations
        found["loads"] += times * loads
        found["stores"] += times * stores
    return found


def nanoseconds(call):
    """The least CPU time of a call."""
    repeats, least = 1, np.inf
    for _ in range(60):
        start = time.process_time_ns()
        for _ in range(repeats):
            call()
        took = time.process_time_ns() - start
        least = min(least, took / repeats)
        if took < 2e6:
            repeats *= 2
    return least


def main(arguments):
    """Print the table, a line a row: figures for a node, of all instructions in percent."""
    rows = ROWS
    if arguments:
        rows = ((arguments[0], int(arguments[1]), int(arguments[2])),)
    print(
        "| workload | ns | instructions | outside | arithmetic | shuffles | moves and masks | "
        "index work and branches | operations | loads | stores | loads an operation |"
    )
    print("| --- |" + " ---: |" * 11)
    for family, n, block in rows:
        system = cases.system(family, n, block)
        factor = system.factorize(system.analyze())
        b = np.ones(factor.shape[0])

        def call(factor=factor, values=system.values, b=b):
            factor.refactorize_and_solve(values, b)

        took = nanoseconds(call)
        found = count(call)
        nodes = len(system.graph.size)
        parts = [
            f"{100 * found[what] / found['compiled']:.0f} %"
            for what in ("arithmetic", "shuffles", "moves and masks", "index work and branches")
        ]
        per_node = [found[what] / nodes for what in ("operations", "loads", "stores")]
        print(
            f"| {family} {n}, {block} | {took / nodes:.0f} | {found['compiled'] / nodes:.0f} | "
            f"{found['outside'] / nodes:.0f} | {' | '.join(parts)} | {per_node[0]:.0f} | "
            f"{per_node[1]:.0f} | {per_node[2]:.0f} | {per_node[1] / per_node[0]:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    answer_help(__doc__)
    main(sys.argv[1:])
