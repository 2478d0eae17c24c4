"""Dual-quaternion variational integrator of one rigid body with a full 6 x 6 inertia."""
