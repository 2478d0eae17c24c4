"""An interval of given velocities, without the equations of a step."""

from dynamics.kernels.base.arguments import Inputs, node_of_tuple
from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.layout import BODIES, TWIST, WRENCHES
from dynamics.kernels.rows.poses import move
from dynamics.kernels.stepping.step import end_momentum, evaluate_node, load_state, pointers


@kernel
def follow(
    # Tables:
    plan,
    constant,
    # In:
    h,
    time,
    control,
    wrench,
    state,
    x,
    # Work:
    node,
    trial,
    # Out:
    pose,
    p,
):
    """z <- z + h u and p <- momentum at the end, theory/step (1), (6), for x = (u, 0)."""
    plan, constant = pointer(plan, 0), pointer(constant, 0)
    node, trial = pointers(node_of_tuple(node)), pointers(node_of_tuple(trial))
    n = plan[BODIES]
    load_state(plan, constant, state, node, trial)
    move(n, h, node.pose, x, trial.pose, trial.matrix)
    if plan[WRENCHES] > 0:
        node.f[TWIST * n], trial.f[TWIST * n] = time, time + h
    evaluate_node(plan, constant, trial)
    for i in range(pose.size):
        pose[i] = trial.pose[i]
    inputs = Inputs(control=control, wrench=wrench)
    return end_momentum(plan, constant, h, inputs, node, trial, x, p)
