"""Loops of the tree integrator in minimal coordinates."""
