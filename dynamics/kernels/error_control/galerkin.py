"""Error control of orders 4 and 6."""

import math

from dynamics.kernels.base.jit import inlined, kernel
from dynamics.kernels.base.step_info import LENGTH, SPACING
from dynamics.kernels.error_control.run import make_controlled_simulate
from dynamics.kernels.error_control.step import make_controlled_step
from dynamics.kernels.galerkin.body import node
from dynamics.kernels.galerkin.predictor import predict_from_ends
from dynamics.kernels.galerkin.step import advance, arrays_of, interval, load


@kernel
def predict(plan, h, ends, motion, work, info, guess):
    """Unknowns from the velocities at both ends of the last interval and its mean forces."""
    ratio = h / info[LENGTH] if info[LENGTH] > 0.0 else 0.0
    predict_from_ends(plan, ends[1].rule, h, ratio, motion, guess)


@kernel
def keep(plan, work, kept):
    """An interval changes nothing else."""


@kernel
def give_back(plan, work, kept):
    """The same."""


@kernel
def settle(plan, constant, k, length, ends, motion, work, own, info):
    """Length of the interval, and the time over which its first impulses acted."""
    rule = ends[1].rule
    end = rule.weights[rule.s]
    info[SPACING] = (1.0 - end) * length + end * info[LENGTH]
    info[LENGTH] = length


@kernel
def has_event(plan, own):
    """There are no contacts."""
    return False


@kernel
def look_ahead(plan, constant, ends, motion, own, info):
    """No gaps either."""


@kernel
def longest(plan, constant, wanted, own):
    """No impacts."""
    return math.inf


@kernel
def accept(plan, constant, time, half, work, own):
    """Nor events."""


@inlined
def end_pose(plan, ends):
    """Poses at the end of the interval."""
    nodes, method = ends
    return node(plan, nodes, method.rule.s).pose


step = make_controlled_step(
    arrays_of, load, interval, advance, predict, keep, give_back, settle, has_event, look_ahead,
    longest, accept, end_pose,
)  # fmt: skip
simulate = make_controlled_simulate(step)
