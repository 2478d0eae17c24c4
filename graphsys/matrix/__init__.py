"""Block matrices on a graph: labels, blocks, vectors, conversion from and to scipy and networkx."""
