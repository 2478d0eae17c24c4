"""Benchmarks of graphsys; asv imports this package before any of its modules."""

import os

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ.setdefault(f"{_name}_NUM_THREADS", "1")
