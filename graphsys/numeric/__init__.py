"""Numeric factorization and solves: stability, refinement, batches, inverses and diagnosis."""
