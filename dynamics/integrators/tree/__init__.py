"""Variational integrators of trees in minimal coordinates (Fan, Schultz, Murphey 2018)."""

from dynamics.integrators.tree.description import Tree

__all__ = ["Tree"]
