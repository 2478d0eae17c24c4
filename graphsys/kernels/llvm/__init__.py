"""LLVM functions for small blocks in registers, for one matrix and for eight side by side."""
