"""Base of all kernels: decorators, array pointers, vector widths, the layout of the program."""
