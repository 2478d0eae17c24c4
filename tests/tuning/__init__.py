"""Counts of iterations and intervals that heuristics cause; no part of the default run."""
