"""Steps and runs: substeps, the choice of their number, compositions of higher order."""
