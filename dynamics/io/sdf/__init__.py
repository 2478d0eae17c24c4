"""SDF files: models, worlds and frames, on the standard library alone."""

from dynamics.io.sdf.reader import read_sdf

__all__ = ["read_sdf"]
