"""Fuzzer of the solver: random systems, every public function, LAPACK as the judge."""
