"""Trajectory optimization."""
