"""The time loop of a run with error control, where a workspace is the last of three."""

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.collisions import watch as watching
from dynamics.kernels.error_control.arguments import control_of_tuple
from dynamics.kernels.error_control.touch import keep_events, take_back_events
from dynamics.kernels.stepping.run import make_simulate


@kernel
def keep(watch, state, work, info):
    """`watch.keep`, of events too."""
    own = control_of_tuple(work[0])
    keep_events(own.held, own.count, own.last)
    return watching.keep(watch, state, work[2], info)


@kernel
def taken_back(watch, bodies, h, state, work, info):
    """`watch.taken_back`, of events too."""
    if watching.taken_back(watch, bodies, h, state, work[2], info):
        own = control_of_tuple(work[0])
        take_back_events(own.held, own.count, own.last)
        return True
    return False


@kernel
def full(work):
    """Whether a quarter of the room for events is left at most: they are to be read."""
    own = control_of_tuple(work[0])
    return 4 * own.count[0] > 3 * own.events.shape[0]


def make_controlled_simulate(step):
    """Kernel `simulate` of the module of a ``step``, as `stepping.run.make_simulate`."""
    return make_simulate(step, keep, taken_back, full)
