"""Numbers of the energy balance, kept so that a step can be taken back."""

from dynamics.kernels.base.jit import kernel
from dynamics.kernels.base.step_info import BALANCE, LARGEST_RISE


@kernel
def ledger_of(info):
    """Numbers of the energy balance before a step."""
    a = BALANCE
    return info[a], info[a + 1], info[a + 2], info[a + 3], info[a + 4], info[a + 5], info[a + 6]


@kernel
def restore_ledger(ledger, info):
    """The same numbers again."""
    for i in range(LARGEST_RISE + 1 - BALANCE):
        info[BALANCE + i] = ledger[i]
