"""C source that factorizes and solves the matrices of one graph: constants instead of tables."""
