"""Error control inside a run: intervals as long as the accuracy allows."""
