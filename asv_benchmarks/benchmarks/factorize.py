"""From values to a numeric factorization, with new memory and in the memory of the last one."""

from . import cases


class Factorize:
    params = cases.PARAMS
    param_names = cases.PARAM_NAMES

    def setup(self, family, n):
        self.system = cases.system(family, n)
        self.symbolic = self.system.analyze()
        self.system.factorize(self.symbolic)  # compile before the clock starts

    def time_factorize(self, family, n):
        self.system.factorize(self.symbolic)


class Refactorize:
    params = cases.PARAMS
    param_names = cases.PARAM_NAMES

    def setup(self, family, n):
        system = cases.system(family, n)
        self.values = system.values
        self.factor = system.factorize(system.analyze())
        self.factor.refactorize(self.values)

    def time_refactorize(self, family, n):
        self.factor.refactorize(self.values)
