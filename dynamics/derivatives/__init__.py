"""Derivatives of steps and motions: linearization, tangents, sensitivities."""
