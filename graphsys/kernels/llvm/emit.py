"""Emitting LLVM vector code: the few instructions, loops and masks that the kernels are made of.

Vectors have `LANES` elements whatever the host: LLVM cuts them to the registers it has, and `tile`
picks how many accumulators fit in those.
"""

import llvmlite.binding as llvm
from llvmlite import ir
from numba import config

from graphsys.kernels.base.widths import LANES, SMALL

__all__ = ["LANES", "SMALL"]

I1, I8, I32, I64 = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)
REAL = {"f64": ir.DoubleType(), "f32": ir.FloatType()}
BYTES = {"f64": 8, "f32": 4}
#: Smallest normal numbers.
TINY = {"f64": 2.0**-1022, "f32": 2.0**-126}


def host_has(feature):
    """True if numba compiles for a processor with an LLVM feature such as "avx512f"."""
    if config.CPU_FEATURES is not None:
        return f"+{feature}" in config.CPU_FEATURES.split(",")
    if config.CPU_NAME is not None:  # another processor, of which no more is known
        return False
    return bool(llvm.get_host_cpu_features().get(feature))


def tile(real):
    """Vectors and columns of the register tile that fit this host: (max vectors, max columns).

    ``vectors * columns`` accumulators, ``vectors`` of the left factor and one spare have to fit.
    """
    if host_has("avx512f"):
        return 4, 6
    if host_has("avx2") or llvm.get_default_triple().split("-")[0] in ("aarch64", "arm64"):
        return (1, 6) if real == "f64" else (2, 6)
    return (1, 2) if real == "f64" else (1, 4)


def integer(value):
    return ir.Constant(I64, value)


def vector_type(real, lanes=LANES):
    return ir.VectorType(REAL[real], lanes)


def _suffix(real, lanes):
    return f"v{lanes}{real}" if lanes else real


def declare(module, name, result, arguments):
    found = module.globals.get(name)
    if found is None:
        found = ir.Function(module, ir.FunctionType(result, arguments), name)
    return found


def constant_mask(lanes, test):
    return ir.Constant(ir.VectorType(I1, lanes), [int(test(lane)) for lane in range(lanes)])


class Emitter:
    """An `ir.IRBuilder` with the few vector instructions used here."""

    def __init__(self, builder, real, lanes=LANES):
        self.b = builder
        self.real = real
        self.lanes = lanes
        self.element = REAL[real]
        self.vector = vector_type(real, lanes)
        self.align = BYTES[real]

    def intrinsic(self, base, result, *arguments, vector=True):
        name = f"llvm.{base}.{_suffix(self.real, self.lanes if vector else 0)}"
        function = declare(self.b.module, name, result, [argument.type for argument in arguments])
        return self.b.call(function, arguments)

    def fma(self, x, y, z):
        return self.intrinsic("fmuladd", self.vector, x, y, z)

    def splat(self, scalar):
        lane0 = self.b.insert_element(ir.Constant(self.vector, ir.Undefined), scalar, integer(0))
        zeros = ir.Constant(ir.VectorType(I32, self.lanes), [0] * self.lanes)
        return self.b.shuffle_vector(lane0, ir.Constant(self.vector, ir.Undefined), zeros)

    def constant(self, values):
        return ir.Constant(self.vector, [ir.Constant(self.element, v) for v in values])

    def fill(self, value):
        return self.constant([value] * self.lanes)

    def at(self, pointer, *offsets):
        """Pointer moved by the sum of i64 offsets."""
        total = offsets[0]
        for offset in offsets[1:]:
            total = self.b.add(total, offset)
        return self.b.gep(pointer, [total])

    def here(self, value):
        """Pointer or i64 that LLVM takes for a new one: it computes what depends on it later."""
        kind = ir.FunctionType(value.type, [value.type])
        return self.b.asm(kind, "", "=r,0", [value], True)

    def forget(self):
        """Fence: later loads come from memory. LLVM would keep all of it on the stack."""
        self.b.asm(ir.FunctionType(ir.VoidType(), []), "", "~{memory}", [], True)

    def prefetch(self, pointer):
        """Ask for the cache line at a pointer."""
        pointer = self.b.bitcast(pointer, I8.as_pointer())
        read, often, data = I32(0), I32(3), I32(1)
        arguments = [pointer, read, often, data]
        kinds = [argument.type for argument in arguments]
        function = declare(self.b.module, "llvm.prefetch.p0", ir.VoidType(), kinds)
        self.b.call(function, arguments)

    def load_scalar(self, pointer):
        return self.b.load(pointer, align=self.align)

    def _as_vector(self, pointer):
        return self.b.bitcast(pointer, self.vector.as_pointer())

    def load(self, pointer, mask=None):
        """Vector at a pointer; lanes outside the mask are 0."""
        pointer = self._as_vector(pointer)
        if mask is None:
            return self.b.load(pointer, align=self.align)
        name = f"llvm.masked.load.{_suffix(self.real, self.lanes)}.p0"
        arguments = [pointer, ir.Constant(I32, self.align), mask, self.fill(0.0)]
        function = declare(self.b.module, name, self.vector, [a.type for a in arguments])
        return self.b.call(function, arguments)

    def store(self, value, pointer, mask=None):
        pointer = self._as_vector(pointer)
        if mask is None:
            self.b.store(value, pointer, align=self.align)
            return
        name = f"llvm.masked.store.{_suffix(self.real, self.lanes)}.p0"
        arguments = [value, pointer, ir.Constant(I32, self.align), mask]
        function = declare(self.b.module, name, ir.VoidType(), [a.type for a in arguments])
        self.b.call(function, arguments)

    def first_lanes(self, count):
        """Mask of the lanes below a run-time i64 count."""
        wide = ir.VectorType(I32, self.lanes)
        count = self.b.trunc(count, I32)
        lane0 = self.b.insert_element(ir.Constant(wide, ir.Undefined), count, integer(0))
        zeros = ir.Constant(wide, [0] * self.lanes)
        splat = self.b.shuffle_vector(lane0, ir.Constant(wide, ir.Undefined), zeros)
        lanes = ir.Constant(wide, list(range(self.lanes)))
        return self.b.icmp_signed("<", lanes, splat)

    def loop(self, name, start, stop, step, carried):
        """Blocks of ``for x in range(start, stop, step)`` carrying values; see `Loop`."""
        return Loop(self, name, start, stop, step, carried)


class Loop:
    """A counted loop with carried values: ``with loop as (x, values): loop.carry(new values)``.

    After the block, `results` holds the carried values; a loop may run zero times.
    """

    def __init__(self, emit, name, start, stop, step, carried):
        self.emit, self.name, self.stop, self.step = emit, name, stop, step
        self.start, self.carried = start, carried

    def __enter__(self):
        b = self.emit.b
        before = b.block
        self.head = b.append_basic_block(f"{self.name}.head")
        self.body = b.append_basic_block(f"{self.name}.body")
        self.after = b.append_basic_block(f"{self.name}.after")
        b.branch(self.head)
        b.position_at_end(self.head)
        self.index = b.phi(I64)
        self.index.add_incoming(self.start, before)
        self.results = []
        for value in self.carried:
            phi = b.phi(value.type)
            phi.add_incoming(value, before)
            self.results.append(phi)
        b.cbranch(b.icmp_signed("<", self.index, self.stop), self.body, self.after)
        b.position_at_end(self.body)
        self.values = self.results
        return self.index, self.results

    def carry(self, values, step=None):
        self.values = values
        if step is not None:
            self.step = step

    def __exit__(self, *raised):
        b = self.emit.b
        following = b.add(self.index, self.step)
        self.index.add_incoming(following, b.block)
        for phi, value in zip(self.results, self.values, strict=True):
            phi.add_incoming(value, b.block)
        b.branch(self.head)
        b.position_at_end(self.after)


def private_function(module, name, result, arguments, names):
    """New function private to the module, or None when it is there already."""
    if name in module.globals:
        return module.globals[name], None
    function = ir.Function(module, ir.FunctionType(result, arguments), name)
    function.linkage = "linkonce_odr"
    function.attributes.add("nounwind")
    function.attributes.add("noinline")
    function.attributes.add("optsize")  # no unrolling: the bodies are tiles already
    for argument, label in zip(function.args, names, strict=True):
        argument.name = label
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    return function, builder


def cases(builder, value, numbers, skip=False):
    """Code for each number that an i64 may be: ``for number in cases(...)``, then what follows all.

    It must be one of them unless others may ``skip`` to what follows.
    """
    after = builder.append_basic_block("after")
    never = after if skip else builder.append_basic_block("never")
    switch = builder.switch(value, never)
    for number in numbers:
        block = builder.append_basic_block(f"case.{number}")
        switch.add_case(integer(number), block)
        builder.position_at_end(block)
        yield number
        if not builder.block.is_terminated:
            builder.branch(after)
    if not skip:
        builder.position_at_end(never)
        builder.unreachable()
    builder.position_at_end(after)


def tile_cases(builder, rows, columns, most_rows, most_columns):
    """`cases` of the sizes of a tile, from 1 on."""
    step = most_columns + 1
    sizes = [step * m + n for m in range(1, most_rows + 1) for n in range(1, step)]
    for case in cases(builder, builder.add(builder.mul(rows, integer(step)), columns), sizes):
        yield divmod(case, step)
