"""Multifrontal factorization with threshold pivoting and delayed pivots."""
