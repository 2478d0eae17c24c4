"""A state's node in the workspace of a step, to go on from there in another model."""

from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.stepping.step import load_state, place, pointers


@kernel
def load_node(
    # Tables:
    plan,
    constant,
    # In:
    state,
    # Out:
    work,
):  # fmt: skip
    """Work <- the node of a state, in the half that ``info[NODE_SIDE]`` of 0 names."""
    one, at = place(plan, work, 0)
    two, _ = place(plan, work, at)
    load_state(pointer(plan, 0), pointer(constant, 0), state, pointers(one), pointers(two))
