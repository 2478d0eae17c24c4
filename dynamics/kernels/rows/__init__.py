"""Rows and forces: scalar functions of two poses, their slopes and their curvature."""
