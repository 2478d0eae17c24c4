"""Derivatives of one interval along many directions."""
