"""Factorization and substitution of many matrices of one graph, eight side by side."""
