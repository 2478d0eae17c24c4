"""Cases that the fuzzer found: none is wrong, refused although regular, unclear or crashes.

Those of float32 and complex128 are slow: their kernels take longer to compile than all other cases.
"""

import numpy as np
import pytest

from tests.fuzz import corpus
from tests.fuzz.families import draw
from tests.fuzz.judge import FAULTS
from tests.fuzz.series import examine_case


def marks(family, seed):
    """Slow, or nothing."""
    return () if draw(family, seed).dtype == np.float64 else (pytest.mark.slow,)


CASES = [
    pytest.param(family, int(seed), names, id=f"{family}-{seed}", marks=marks(family, int(seed)))
    for family, cases in corpus.load().items()
    for seed, names in cases.items()
]


@pytest.mark.parametrize(("family", "seed", "names"), CASES)
def test_what_once_failed_does_not_fail_again(family, seed, names):
    faults = {
        name: f"{found.outcome}: {found.detail}"
        for name, found in examine_case(family, seed, names)
        if found.outcome in FAULTS
    }
    assert not faults
