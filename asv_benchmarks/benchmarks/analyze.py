"""From a graph to the symbolic factorization."""

from . import cases


class Analyze:
    params = cases.PARAMS
    param_names = cases.PARAM_NAMES

    def setup(self, family, n):
        self.system = cases.system(family, n)
        self.symbolic = self.system.analyze()  # compile before the clock starts

    def time_analyze(self, family, n):
        self.system.analyze(ordering="auto")

    def track_fill(self, family, n):
        return int(self.symbolic.n_fill)

    track_fill.unit = "blocks"

    def track_operations(self, family, n):
        return int(self.symbolic.operations)

    track_operations.unit = "floating-point operations"

    def track_nbytes(self, family, n):
        return int(self.symbolic.nbytes)

    track_nbytes.unit = "bytes"
