"""MJCF files, read and compiled by MuJoCo itself."""

from dynamics.io.mjcf.reader import read_mjcf

__all__ = ["read_mjcf"]
