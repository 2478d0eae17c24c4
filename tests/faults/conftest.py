"""Simulators that some tests compare with, where they are installed."""

import pytest


@pytest.fixture(scope="session")
def mujoco():
    return pytest.importorskip("mujoco", reason="MuJoCo (the extra mjcf) is not installed")
