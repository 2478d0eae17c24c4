"""Arithmetic and branches of eight numbers in the lanes of vector registers."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dynamics.kernels.base.copying import copy
from dynamics.kernels.base.jit import CHECKED, LanesDifferError, kernel, pointer
from dynamics.kernels.base.lanes import LANES, as_lanes, as_numbers, every, some, where
from dynamics.kernels.base.run_totals import (
    FIRST_UNEXPLAINED,
    LESS_FRICTION_STEPS,
    RELAXED_STEPS,
    STEPS,
    TOTALS_SIZE,
)
from dynamics.kernels.base.six import (
    add,
    largest,
    load_six,
    minus,
    most_of,
    multiplied,
    nothing,
    plus,
    plus_multiple,
    products,
    put,
    total_of,
)
from dynamics.kernels.base.step_info import (
    FRICTION,
    INFO_SIZE,
    RELAXATION,
    UNEXPLAINED_INTERVALS,
)
from dynamics.kernels.stepping.run import record_step
from graphsys.matrix.vectors import aligned

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(CHECKED, reason="lanes need compiled kernels")


def lanes_of(values):
    """An array whose every eight numbers are one vector of lanes."""
    values = np.asarray(values, np.float64)
    made = aligned(values.size, np.dtype(np.float64))
    made[:] = values.ravel()
    return made


@kernel
def _functions(x, y, out):
    a, b = x[0], y[0]
    out[0], out[1], out[2], out[3] = a + b, a - b, a * b, a / b
    out[4], out[5], out[6], out[7] = 2.0 * a, a + 1, -a, abs(a)
    out[8], out[9], out[10], out[11] = max(a, b), min(a, 0.5), math.sqrt(b), math.floor(a)
    out[12], out[13], out[14] = math.atan2(a, b), math.sin(a), math.copysign(b, a)
    out[15] = where(a < b, a, 7.0)
    out[16] = where((a < b) | (a > 1.0), a, b)
    out[17] = where(not a < b, 1.0, 0.0)
    total = 0.0
    for i in range(3):  # a number that becomes lanes
        total += a * i
    out[18], out[19] = total, a**2


@kernel
def functions(x, y, out):
    """Functions of lanes."""
    _functions(as_lanes(x), as_lanes(y), as_lanes(out))


def test_functions_are_those_of_each_lane():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=LANES), rng.uniform(0.1, 2.0, size=LANES)
    out = lanes_of(np.zeros((20, LANES)))
    functions(lanes_of(a), lanes_of(b), out)
    wanted = [
        a + b, a - b, a * b, a / b, 2 * a, a + 1, -a, abs(a), np.maximum(a, b), np.minimum(a, 0.5),
        np.sqrt(b), np.floor(a), np.arctan2(a, b), np.sin(a), np.copysign(b, a),
        np.where(a < b, a, 7.0), np.where((a < b) | (a > 1), a, b), np.where(a < b, 0.0, 1.0),
        3 * a, a**2,
    ]  # fmt: skip
    np.testing.assert_allclose(out.reshape(20, LANES), wanted, rtol=1e-14)


@kernel
def _branch(x, out):
    out[0] = x[0]
    if x[0] > 0.0:
        return 1
    out[0] = 0.0
    return 0


@kernel
def branch(x, out):
    """A branch on lanes."""
    return _branch(as_lanes(x), as_lanes(out))


@pytest.mark.parametrize("signs", range(0, 256, 17))
def test_a_branch_is_taken_by_all_lanes_or_refused(signs):
    x = np.array([1.0 if signs >> i & 1 else -1.0 for i in range(LANES)])
    out = lanes_of(np.zeros(LANES))
    if signs in (0, 255):
        assert branch(lanes_of(x), out) == (signs == 255)
        return
    with pytest.raises(LanesDifferError):
        branch(lanes_of(x), out)


def test_no_lane_of_a_branch_is_true_for_nan():
    assert branch(lanes_of(np.full(LANES, np.nan)), lanes_of(np.zeros(LANES))) == 0


@kernel
def _asked(x):
    return every(x[0] > 0.0), some(x[0] > 0.0), every(True), some(False)


@kernel
def asked(x):
    """What holds in every lane, and in some."""
    return _asked(as_lanes(x))


def test_every_and_some():
    x = np.full(LANES, -1.0)
    assert asked(lanes_of(x)) == (False, False, True, False)
    x[3] = 1.0
    assert asked(lanes_of(x)) == (False, True, True, False)
    assert asked(lanes_of(abs(x))) == (True, True, True, False)


@kernel
def _whole(x):
    return int(x[0])


@kernel
def whole(x):
    """An integer of lanes."""
    return _whole(as_lanes(x))


def test_an_integer_is_the_same_in_all_lanes():
    assert whole(lanes_of(np.full(LANES, 3.0))) == 3
    with pytest.raises(LanesDifferError):
        whole(lanes_of(np.arange(LANES)))


@kernel
def _sixes(x, y, out):
    a, b = load_six(x, 0), load_six(y, 6)
    put(out, 0, plus(nothing(), 2.0, x, 0))
    put(out, 6, plus_multiple(a, y[0], b))
    put(out, 12, minus(multiplied(a, a, b), b))
    put(out, 18, largest(nothing(), products(b, x, 6, y, 0)))
    add(out, 18, a)
    out[24], out[25] = total_of(a), most_of(largest(nothing(), a))


@kernel
def sixes(x, y, out):
    """Six numbers at once, of lanes or of one simulation."""
    _sixes(as_lanes(x), as_lanes(y), as_lanes(out))


@kernel
def plain_sixes(x, y, out):
    """The same of numbers."""
    _sixes(pointer(x, 0), pointer(y, 0), pointer(out, 0))


def test_sixes_of_lanes_are_those_of_numbers():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 12, LANES))
    out = lanes_of(np.zeros((26, LANES)))
    sixes(lanes_of(x), lanes_of(y), out)
    for lane in range(LANES):
        one = np.zeros(26)
        plain_sixes(x[:, lane].copy(), y[:, lane].copy(), one)
        np.testing.assert_allclose(out.reshape(26, LANES)[:, lane], one, rtol=0, atol=1e-14)


@kernel
def _numbers(x):
    y = as_numbers(x)
    total = 0.0
    for i in range(y.size):
        total += y[i] * i
    return total


@kernel
def numbers(x):
    """Numbers of an array of lanes."""
    return _numbers(as_lanes(x))


def test_numbers_of_lanes():
    x = np.arange(3.0 * LANES)
    assert numbers(lanes_of(x)) == (x * x).sum()


def test_kernels_of_numbers_are_compiled_without_lanes(tmp_path):
    # Lanes extend numba's functions. If numba met both versions of one in a function that it
    # compiles, it would refuse that function.
    code = (
        "import sys, numpy as np\n"
        "from tests.dynamics.test_lane_types import plain_sixes\n"
        "x, y, out = np.ones(12), np.ones(12), np.zeros(26)\n"
        "plain_sixes(x, y, out)\n"
        "assert out[0] == 2.0\n"
        "assert 'dynamics.kernels.base.registers' in sys.modules\n"
        "assert 'dynamics.kernels.base.lane_types' not in sys.modules\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, cwd=ROOT)


@kernel
def _counted(info, totals, state, record):
    record_step(0, 2, 0.01, info, state, totals, record)


@kernel
def counted(info, totals, state, record, out):
    """Totals after a step that is not recorded."""
    copy(totals, out)
    _counted(as_lanes(info), as_lanes(out), as_lanes(state), as_lanes(record))


def test_totals_of_a_step_never_differ_between_lanes():
    # A kernel that ended after it had counted a step would count that step twice.
    values = np.zeros((2, INFO_SIZE, LANES))
    info, totals = values[0], values[1, :TOTALS_SIZE]
    info[UNEXPLAINED_INTERVALS], info[RELAXATION, ::2], info[FRICTION, 1::2] = 1.0, 10.0, 0.5
    totals[FIRST_UNEXPLAINED, :4], totals[STEPS] = 3.0, 7.0
    out = lanes_of(totals)
    counted(*map(lanes_of, (info, totals, np.zeros((1, LANES)))), np.zeros((1, 3 * LANES)), out)
    found = out.reshape(TOTALS_SIZE, LANES)
    assert found[STEPS].tolist() == 8 * [8.0]
    assert found[FIRST_UNEXPLAINED].tolist() == 4 * [3.0] + 4 * [8.0]
    assert found[RELAXED_STEPS].tolist() == 4 * [1.0, 0.0]
    assert found[LESS_FRICTION_STEPS].tolist() == 4 * [0.0, 1.0]
