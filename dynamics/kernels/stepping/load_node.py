"""A state's node in the workspace of a step, to go on from there in another model."""

from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.layout import BODIES, ROWS, STORED, TWIST
from dynamics.kernels.stepping.step import load_state, place, pointers


@kernel
def load_node(
    # Tables:
    plan,
    constant,
    # In:
    state,
    given,
    # Out:
    work,
):  # fmt: skip
    """Work <- the node of a state, in the half that ``info[NODE_SIDE]`` of 0 names.

    Of what a step reads beyond that, users' impulses of the last interval are ``given``, those of
    more bodies 0, and earlier velocities 0.
    """
    one, at = place(plan, work, 0)
    two, at = place(plan, work, at)
    for node in (one, two):
        for i in range(node.g.size):
            node.g[i] = 0.0
        for i in range(node.f.size):
            node.f[i] = 0.0
    load_state(pointer(plan, 0), pointer(constant, 0), state, pointers(one), pointers(two))
    m = TWIST * plan[BODIES]
    at += (3 + STORED) * (m + plan[ROWS])
    for i in range(at, at + 6 * m):
        work[i] = 0.0
    for i in range(given.size):
        work[at + 4 * m + i] = given[i]
