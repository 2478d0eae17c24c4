"""Loops of the symbolic analysis: elimination tree, minimum degree, pivot supply."""
