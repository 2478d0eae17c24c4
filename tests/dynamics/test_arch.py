"""The arch of docs/examples/arch.py stands as long as statics finds forces between its stones."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

import dynamics as dy

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "arch.py"


@pytest.fixture(scope="module")
def example():
    pytest.importorskip("matplotlib").use("Agg")
    return runpy.run_path(str(EXAMPLE))


def stands(example, thickness, friction=0.8):
    """Whether pushes at both ends of every joint, with friction, can bear all weights.

    In the plane: of joint j two normal forces and a shear force on the stone before it.
    """
    n = example["STONES"]
    corners, height, mass = example["stone"](thickness)
    ends = np.array([1.0 - thickness / 2, 1.0 + thickness / 2])
    rows, right = np.zeros((3 * n, 3 * (n + 1))), np.zeros(3 * n)
    for j in range(n + 1):
        angle = np.pi * (j / n - 0.5)
        along, normal = (
            np.array([np.sin(angle), np.cos(angle)]),
            np.array([-np.cos(angle), np.sin(angle)]),
        )
        for stone, sign in ((j - 1, 1.0), (j, -1.0)):
            if not 0 <= stone < n:
                continue
            tilt = np.pi * ((stone + 0.5) / n - 0.5)
            centre = height * np.array([np.sin(tilt), np.cos(tilt)])
            for i, (place, force) in enumerate(
                ((ends[0], normal), (ends[1], normal), (1.0, along))
            ):
                arm = place * along - centre
                rows[3 * stone : 3 * stone + 2, 3 * j + i] = sign * force
                rows[3 * stone + 2, 3 * j + i] = sign * (arm[0] * force[1] - arm[1] * force[0])
    right[1::3] = mass * 9.81
    cone = np.zeros((2 * (n + 1), 3 * (n + 1)))
    for j in range(n + 1):
        for k, sign in ((2 * j, 1.0), (2 * j + 1, -1.0)):
            cone[k, 3 * j : 3 * j + 3] = -friction, -friction, sign
    bounds = [(0, None), (0, None), (None, None)] * (n + 1)
    found = linprog(np.zeros(3 * (n + 1)), cone, np.zeros(2 * (n + 1)), rows, right, bounds=bounds)
    return found.status == 0


def test_it_stands_as_long_as_statics_allows(example):
    least, most = 0.09, 0.12
    assert stands(example, most) and not stands(example, least)
    while most - least > 1e-5:
        middle = 0.5 * (least + most)
        least, most = (least, middle) if stands(example, middle) else (middle, most)
    # a little below that of an arch without joints, 0.1075 (Milankovitch 1907)
    assert 0.10 < most < 0.1075

    for thickness, falls in ((most + 5e-4, False), (most - 5e-4, True)):
        model = example["arch"](thickness)
        top = dy.simulate(model, model.initial_state(), 0.5).body(5)[0][:, 2]
        assert top[0] - top[-1] > 1e-4 if falls else abs(top[0] - top[-1]) < 1e-6
