"""Analysis of a graph: elimination orders, elimination trees, cycles, pivot supply."""
