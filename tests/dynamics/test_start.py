"""What a first simulation compiles."""

import os
import subprocess
import sys

import numpy as np
import pytest

import dynamics as dy
from dynamics.kernels.base import layout
from dynamics.zoo import double_pendulum

FIRST = """
import dynamics as dy
from dynamics.zoo import double_pendulum

dy.simulate(*double_pendulum(), 0.1)
"""


def test_contacts_have_room_to_settle_and_others_nothing():
    model, _ = double_pendulum()
    assert model.workspace.step_solver[-1] is None
    mechanism = dy.Mechanism()
    ball = mechanism.add_body(dy.Sphere(0.1, mass=1.0), name="ball", position=(0.0, 0.0, 0.1))
    mechanism.add_contact(ball)
    space = mechanism.finalize(0.01).workspace
    columns = space.step_solver[5]
    assert columns.size == 2 * layout.COLUMNS * 6
    assert np.shares_memory(columns, space.work)


@pytest.mark.slow
def test_a_mechanism_without_contacts_compiles_nothing_of_them(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    subprocess.run([sys.executable, "-c", FIRST], check=True, env=environment)
    kernels = {".".join(path.name.split(".")[2:4]) for path in tmp_path.rglob("*.kernel")}
    wanted = {"stepping.step", "interval.equations", "single.ldu", "single.substitution"}
    assert wanted <= kernels
    assert not [name for name in kernels if name.startswith("contacts.")]
