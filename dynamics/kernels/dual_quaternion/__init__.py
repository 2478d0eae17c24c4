"""Loops of the dual-quaternion integrator."""
