"""Observables of recorded states: energies, coordinates, contacts."""
