"""Galerkin-Lobatto steps of orders 4 and 6."""
