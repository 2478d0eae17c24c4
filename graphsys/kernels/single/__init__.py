"""Factorization, substitution and refinement of one matrix."""
