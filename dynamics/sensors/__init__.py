"""Readings of sensors from states and recorded motions."""
