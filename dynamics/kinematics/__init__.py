"""Positions and velocities without a step: coordinates, loop closure, momenta, contact queries."""
