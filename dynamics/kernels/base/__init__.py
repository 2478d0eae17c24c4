"""Base of all kernels: decorators, the layout of the tables, quaternions, vector types."""
