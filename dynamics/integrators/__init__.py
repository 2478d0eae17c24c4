"""Integrators that stand alone, one file a published method; `dynamics.Model` needs none of them."""
