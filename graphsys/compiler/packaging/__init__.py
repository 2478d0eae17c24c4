"""Building wheels with machine code in them; run by hatchling, never imported by graphsys."""
