"""Reports and pictures of an analysis."""
