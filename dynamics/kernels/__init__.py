"""Compiled kernels of `dynamics`: flat arrays in, a status out; nothing allocates or raises."""
