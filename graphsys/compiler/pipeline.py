"""The passes of numba that kernels need, and a lowering that keeps variables in LLVM's values.

Kernels own no memory. So their variables need no reference counts, and one that is assigned once is
the value itself wherever it is used: numba instead reserves a place for every variable that more
than one block uses, clears it, and stores and loads whole arrays (seven words each) there. That is
half of what LLVM would have to read and to remove again.
"""

from collections import Counter
from contextlib import contextmanager

from numba import types
from numba.core import analysis, ir, ir_utils, lowering, typed_passes, untyped_passes
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.postproc import PostProcessor


class ValueLower(lowering.Lower):
    """Lowering without reference counts, variables with one assignment as values."""

    def _find_singly_assigned_variable(self):
        super()._find_singly_assigned_variable()
        self._singly_assigned_vars |= single_assignments(self.func_ir.blocks)

    def storevar(self, value, name, argidx=None):
        """Store a variable; its old value needs no release."""
        self._alloca_var(name, self.typeof(name))
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def lower_getitem(self, resty, expr, value, index, signature):
        """Read an element; of a plain vector without the detours that general arrays need."""
        place = self._place(value, index)
        if place is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        dtype = self.typeof(value.name).dtype
        return self.context.cast(self.builder, self.builder.load(place), dtype, resty)

    def lower_setitem(self, target_var, index_var, value_var, signature):
        """Write an element, as `lower_getitem`."""
        place = self._place(target_var, index_var)
        if place is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        kind, dtype = self.typeof(value_var.name), self.typeof(target_var.name).dtype
        value = self.context.cast(self.builder, self.loadvar(value_var.name), kind, dtype)
        return self.builder.store(value, place)

    def _place(self, vector, index):
        """Pointer to an element of a contiguous vector of numbers; None for other arrays."""
        kind, position = self.typeof(vector.name), self.typeof(index.name)
        if (
            self.context.enable_boundscheck
            or not (isinstance(kind, types.Array) and isinstance(position, types.Integer))
            or not isinstance(kind.dtype, (types.Integer, types.Float))
            or (kind.ndim, kind.layout, kind.aligned) != (1, "C", True)
        ):
            return None
        builder, fields = self.builder, self.context.data_model_manager[kind]
        array, at = self.loadvar(vector.name), self.loadvar(index.name)
        at = self.context.cast(builder, at, position, types.intp)
        if position.signed and not getattr(position, "literal_value", -1) >= 0:
            size = builder.extract_value(array, [fields.get_field_position("shape"), 0])
            from_end = builder.icmp_signed("<", at, at.type(0))
            at = builder.select(from_end, builder.add(at, size), at)
        return builder.gep(builder.extract_value(array, fields.get_field_position("data")), [at])


def single_assignments(blocks):
    """Names of variables whose only assignment comes before all that use them, on every path."""
    count, place = Counter(), {}
    for label, block in blocks.items():
        for statement in block.find_insts(ir.Assign):
            count[statement.target.name] += 1
            place[statement.target.name] = label
    dominators = analysis.compute_cfg_from_blocks(blocks).dominators()
    single = {name for name, times in count.items() if times == 1}
    for label, block in blocks.items():
        before = dominators[label]
        seen = set()
        for statement in block.body:
            assigned = statement.target.name if isinstance(statement, ir.Assign) else None
            used = statement.value if assigned is not None else statement
            for variable in used_by(used):
                name = variable.name
                if name in single:
                    at = place[name]
                    if at not in before or (at == label and name not in seen):
                        single.discard(name)
            if assigned is not None:
                seen.add(assigned)
    return single


def used_by(value):
    """Variables that a value of an assignment, or another statement, refers to."""
    if isinstance(value, ir.Var):
        return [value]
    return value.list_vars() if isinstance(value, ir.Inst) else []


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerValues(typed_passes.NativeLowering):
    """`ValueLower`, with blocks in an order in which assignments come before uses."""

    _name = "lower_values"

    @property
    def lowering_class(self):
        """What lowers."""
        return ValueLower

    def run_pass(self, state):
        """Order the blocks, and lower them."""
        state.func_ir.blocks = ir_utils.rename_labels(state.func_ir.blocks)
        return super().run_pass(state)


class Passes(PassManager):
    """Passes, run without reports and repeated checks of what they leave."""

    def _runPass(self, index, pass_, state):
        pass_.analysis = self._analysis
        pass_.run_initialization(state)
        if isinstance(pass_, COMPILING):
            pass_.run_pass(state)
        else:
            with without_lifetimes():
                pass_.run_pass(state)
        pass_.run_finalizer(state)


@contextmanager
def without_lifetimes():
    """Let numba not compute after each pass where variables live, which nothing here asks for."""
    run = PostProcessor.run
    PostProcessor.run = lambda self, emit_dels=False, extend_lifetimes=False: None
    try:
        yield
    finally:
        PostProcessor.run = run


@register_pass(mutates_CFG=True, analysis_only=False)
class Inline(untyped_passes.InlineInlinables):
    """numba's inlining, with the passes of `untyped` for what is inlined."""

    _name = "inline"

    def _do_work(self, state, work_list, block, i, expr, inline_worker):
        inline_worker._compiler_pipeline = untyped
        return super()._do_work(state, work_list, block, i, expr, inline_worker)


#: Passes that may compile other functions.
COMPILING = typed_passes.NopythonTypeInference, LowerValues


def untyped(state, name="untyped"):
    """Passes before types are known, for a function or for one that is inlined."""
    passes = Passes(name)
    if state.func_ir is None:
        passes.add_pass(untyped_passes.TranslateByteCode, "bytecode")
        passes.add_pass(untyped_passes.FixupArgs, "arguments")
    passes.add_pass(untyped_passes.IRProcessing, "definitions")
    passes.add_pass(untyped_passes.RewriteSemanticConstants, "constants")
    passes.add_pass(untyped_passes.DeadBranchPrune, "dead branches")
    passes.add_pass(untyped_passes.GenericRewrites, "rewrites")
    passes.add_pass(Inline, "inlining")
    passes.add_pass(untyped_passes.DeadBranchPrune, "dead branches")
    if state.flags.enable_ssa:
        passes.add_pass(untyped_passes.ReconstructSSA, "single assignments")
        passes.add_pass(untyped_passes.DeadBranchPrune, "dead branches")
    passes.finalize()
    return passes


class KernelCompiler(Compiler):
    """numba's compiler with the passes that kernels need; names do not depend on other kernels."""

    def define_pipelines(self):
        """The passes."""
        passes = Passes("kernel")
        passes.passes.extend(untyped(self.state).passes)
        passes.add_pass(typed_passes.NopythonTypeInference, "nopython frontend")
        passes.add_pass(typed_passes.PreLowerStripPhis, "remove phis nodes")
        passes.add_pass(typed_passes.NopythonRewrites, "nopython rewrites")
        passes.add_pass(LowerValues, "native lowering")
        passes.add_pass(typed_passes.NoPythonBackend, "nopython mode backend")
        passes.finalize()
        return [passes]

    def _compile_bytecode(self):
        self.state.func_id.unique_id = None
        return super()._compile_bytecode()
