"""Whether the intervals of a step may have several lengths."""

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.layout import CONTACTS, SOFT_CONTACTS


@kernel
def keeps_intervals(plan):
    """Whether intervals that are solved stay where a later one of their step fails.

    Rigid contacts alone are indifferent to the lengths of intervals: what acts as a force would not
    balance gravity where these vary, and motions without contacts are to be reversible.
    """
    return plan[CONTACTS] > 0 and plan[SOFT_CONTACTS] == 0
