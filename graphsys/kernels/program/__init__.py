"""Writing the integer program that the numeric kernels read."""
