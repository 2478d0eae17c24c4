"""Rigid-body dynamics on the graph-sparse solver `graphsys`: not written yet."""
