"""Compiler options of every kernel: those of `graphsys`, chosen in one place."""

from graphsys.kernels.jit import DISABLE_JIT, inlined, kernel

__all__ = ["DISABLE_JIT", "inlined", "kernel"]
