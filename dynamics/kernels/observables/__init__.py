"""What is read off recorded states: energies, coordinates, contacts."""
