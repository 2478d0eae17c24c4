"""Cases that the fuzzer found: none is wrong, refused although regular, unclear or crashes."""

import pytest

from tests.fuzz import corpus
from tests.fuzz.judge import FAULTS
from tests.fuzz.series import examine_case

CASES = [
    (family, int(seed), names)
    for family, cases in corpus.load().items()
    for seed, names in cases.items()
]


@pytest.mark.parametrize(("family", "seed", "names"), CASES, ids=[f"{f}-{s}" for f, s, _ in CASES])
def test_what_once_failed_does_not_fail_again(family, seed, names):
    faults = {
        name: f"{found.outcome}: {found.detail}"
        for name, found in examine_case(family, seed, names)
        if found.outcome in FAULTS
    }
    assert not faults
